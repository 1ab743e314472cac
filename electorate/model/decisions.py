"""How votes decide: from their sums, in units of the grid, to the numbers that decision functions give.

Votes may be on a device: operators only, so that decisions stay there.
"""

from typing import Any

from electorate.grid import UNITS


def plain(votes: Any, n_classes: int, total: float) -> Any:
    """The sum of the votes: of two classes one number per row, else a column per class."""
    f = votes / UNITS
    return f[0] if n_classes == 2 else f.T.copy(order="C")


def as_samme(votes: Any, n_classes: int, total: float) -> Any:
    """On the scale of scikit-learn's AdaBoost: shares of all steps, whose sum is `total`; rows add up to 0."""
    if n_classes == 1 or total == 0:
        return (votes[0] if n_classes == 2 else votes.T) * 0.0 + 0.0
    f = votes / (UNITS * total)
    if n_classes == 2:
        return 2 * f[0]
    others = n_classes - 1
    return (f * (n_classes / others) - 1 / others).T.copy(order="C")
