"""The kinds of cases that tools/fuzz.py runs."""
