"""Classifiers that come with a bound from their own training rows."""
