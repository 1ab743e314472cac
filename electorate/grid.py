"""The grid of votes: steps, and steps times leaf values, are multiples of 2^-40.

Sums of such numbers are exact whatever their order, so tables, staged replay and resumed fits agree to the bit.
"""

from typing import Any

import numpy as np

UNITS = 2.0**40
LONGEST = 2.0**21  # what all votes of an ensemble may add up to: 2^61 units


def on_grid(value: Any) -> Any:
    """The nearest multiple of 2^-40 of a number, or of each number of an array."""
    if isinstance(value, float) and abs(value) < LONGEST:
        return round(value * UNITS) / UNITS
    return np.rint(value * UNITS) / UNITS
