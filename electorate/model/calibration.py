"""Probabilities from decisions: one number, the temperature, is fitted by the log loss on rows not used in training.

Probabilities are the softmax of the temperature times the decisions. The order of the classes stays as it is, so that
predictions do not change.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from electorate.modelfile import Contents, expect, require

Floats = NDArray[np.float64]
LOWEST, HIGHEST = -12.0, 12.0  # of the logarithm of the temperature


def log_probabilities(decision: Floats, temperature: float) -> Floats:
    """[row, class]. decision: one number per row for two classes, positive for the second; else a column per class."""
    if decision.ndim == 1:
        scaled = temperature * decision
        return np.column_stack([log_expit(-scaled), log_expit(scaled)])
    return np.asarray(log_softmax(temperature * decision, axis=1))


def fit_temperature(decision: Floats, codes: NDArray[np.int64], weight: Floats | None = None) -> float:
    """The temperature of the least log loss; 1 without rows.

    codes: the classes of the rows, from 0 on. The labels are smoothed as if one more row had another class than its
    own, so that the temperature is finite where every row is classified correctly (Platt 1999).
    """
    if not len(codes):
        return 1.0
    n_classes = 2 if decision.ndim == 1 else decision.shape[1]
    is_counted = weight is not None and np.array_equal(weight, np.rint(weight))  # a weight of k is the row k times
    other = 1 / ((float(np.sum(weight)) if is_counted else len(codes)) + 2)  # type: ignore[arg-type]

    def loss(logarithm: float) -> float:
        known = log_probabilities(decision, float(np.exp(logarithm)))
        own = known[np.arange(len(codes)), codes]
        rest = (known.sum(axis=1) - own) / max(1, n_classes - 1)
        return -float(np.average((1 - other) * own + other * rest, weights=weight))

    spread = float(np.sqrt(np.mean(np.square(decision)))) or 1.0  # decisions may be in any unit
    centre = -np.log(spread)
    found = minimize_scalar(loss, bounds=(centre + LOWEST, centre + HIGHEST), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x))


def read_temperature(contents: Contents, model: Any) -> None:
    """Set the temperature of a model from a file that is not trusted, if it has one."""
    if "temperature" in contents.arrays:
        model.temperature_ = float(require(contents, "temperature", "<f8", (1,))[0])
        expect(0 < model.temperature_ < np.inf, "the temperature is not a positive number")
