"""Models that are weighted means of other models."""
