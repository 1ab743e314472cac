"""The grid of votes: steps, and steps times leaf values, are multiples of 2^-40.

Sums of such numbers are exact whatever their order, so tables, staged replay and resumed fits agree to the bit.
"""

from typing import Any

import numpy as np

UNITS = 2.0**40
MOST_VOTES = 2.0**21  # what all votes together stay under: 2^61 units fit in 64 bits


def on_grid(value: Any) -> Any:
    """The nearest multiple of 2^-40 of a number, or of each number of an array."""
    return np.rint(value * UNITS) / UNITS
