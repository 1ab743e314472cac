"""A check-up of a table before training: what is odd about its columns and its target, and how they are cleaned."""
