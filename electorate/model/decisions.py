"""Decision functions, from summed votes in units of the grid.

Votes may be on a device: operators only, so that decisions stay there.
"""

from typing import Any, NamedTuple

import numpy as np

from electorate.exact import UNITS, Floats, Ints

ABSENT = -1e6  # the decision about a class that is not in the training rows


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


def for_all_classes(decision: Any, places: Ints, n_classes: int) -> Floats:
    """Decisions about some of the classes as [row, class] for all of them; one column if there are two.

    places: of the classes that the model was trained with, in order; the decisions about the others are `ABSENT`.
    """
    decision = np.asarray(decision, dtype=np.float64)
    if len(places) == 2:
        second = decision if decision.ndim == 1 else decision[:, 1] - decision[:, 0]
        if n_classes == 2:
            return np.array(second)[:, None]
        decision = np.column_stack([np.zeros_like(second), second])
    if n_classes == 2:  # one class in the training rows
        return np.full((len(decision), 1), -ABSENT if places[0] else ABSENT)
    found = np.full((len(decision), n_classes), ABSENT)
    found[:, places] = decision if len(places) > 1 else 0.0
    return found


# ---------------------------------------------------------------- links


class Link(NamedTuple):
    """The probability of a class by its decision d, for two classes that of the second; u is scale * d.

    kind: "logistic", 1 / (1 + exp(-u)); "ramp", (1 + u) / 2 between 0 and 1; "odds", s(1 + u) / (s(1 + u) + s(1 - u))
    with the logistic function s. For more than two classes these are divided by their sum. "softmax": exp(u) divided by
    the sum of exp(u) over the classes.
    """

    kind: str
    scale: float
