"""Probabilities from decisions: one number, the temperature, is fitted by the log loss on rows not used in training.

Probabilities are the softmax of the temperature times the decisions. The order of the classes stays as it is, so that
predictions do not change.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from electorate.data.weights import read_weights
from electorate.exact import Floats, Ints
from electorate.model.decisions import ABSENT
from electorate.modelfile import Contents, expect, require

LOWEST, HIGHEST = -12.0, 12.0  # of the logarithm of the temperature
LARGEST = 1e280  # in a file: decisions times a temperature must be finite


def log_probabilities(decision: Floats, temperature: float) -> Floats:
    """[row, class]. decision: one number per row for two classes, positive for the second; else a column per class."""
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
