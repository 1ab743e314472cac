"""Decision functions, from summed votes in units of the grid, and calibrated probabilities from decisions.

Votes may be on a device: operators only, so that decisions stay there.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from electorate.data.weights import read_weights
from electorate.exact import UNITS, Floats, Ints
from electorate.modelfile import Contents, expect, require

ABSENT = -1e6  # the decision about a class that is not in the training rows


def plain(votes: Any, n_classes: int, total: float) -> Any:
    """The sum of the votes: of two classes one number per row, else a column per class."""
    f = votes / UNITS
    return f[0] if n_classes == 2 else f.T.copy(order="C")


def as_samme(votes: Any, n_classes: int, total: float) -> Any:
    """Return decisions on the scale of scikit-learn's AdaBoost: shares of all steps, whose sum is `total`."""
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


# ---------------------------------------------------------------- probabilities

LOWEST, HIGHEST = -12.0, 12.0  # of the logarithm of the temperature
LARGEST = 1e280  # in a file: decisions times a temperature must be finite


def log_probabilities(decision: Floats, temperature: float) -> Floats:
    """[row, class]. decision: one number per row for two classes, positive for the second; else a column per class."""
    from scipy.special import log_expit, log_softmax  # models without a temperature predict without SciPy

    if decision.ndim == 1:
        scaled = temperature * decision
        return np.column_stack([log_expit(-scaled), log_expit(scaled)])
    return np.asarray(log_softmax(temperature * decision, axis=1))


def fit_temperature(decision: Floats, codes: Ints, weight: Floats | None = None) -> float:
    """The temperature of the least log loss; 1 without rows that count. The order of the rows does not matter.

    codes: the classes of the rows, from 0 on. The labels are smoothed as if one more row had another class than its
    own, so that the temperature is finite where every row is classified correctly (Platt 1999): a class that the model
    knows, since no temperature gives `ABSENT` ones a probability that counts.
    """
    from scipy.optimize import minimize_scalar

    if not np.any(np.ones(len(codes)) if weight is None else weight):
        return 1.0
    weights = read_weights(np.ones(len(codes)) if weight is None else weight)
    is_known = np.ones((len(codes), 2), dtype=np.bool_) if decision.ndim == 1 else decision > ABSENT
    n_others = np.maximum(1, is_known.sum(axis=1) - 1)
    other = 1 / (weights.n_counted + 2)

    def loss(logarithm: float) -> float:
        known = log_probabilities(decision, float(np.exp(logarithm)))
        own = known[np.arange(len(codes)), codes]
        rest = (np.where(is_known, known, 0.0).sum(axis=1) - own) / n_others
        return -weights.mean((1 - other) * own + other * rest)

    squares = np.square(decision)
    if decision.ndim > 1:
        squares = np.where(is_known, squares, 0.0).sum(axis=1) / is_known.sum(axis=1)
    spread = math.sqrt(weights.mean(squares)) or 1.0  # decisions may be in any unit
    centre = -np.log(spread)
    found = minimize_scalar(loss, bounds=(centre + LOWEST, centre + HIGHEST), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x))


def read_temperature(contents: Contents, model: Any) -> None:
    """Set the temperature of a model from a file that is not trusted, if it has one."""
    if "temperature" in contents.arrays:
        model.temperature_ = float(require(contents, "temperature", "<f8", (1,))[0])
        expect(0 < model.temperature_ <= LARGEST, "the temperature is out of range")
