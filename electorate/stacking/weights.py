"""The weights of the models of a stack: QuadBoost-L1 over their out-of-fold predictions, one column per model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.estimators.quadboost_regressor import QuadBoostRegressor
from electorate.voters.columns import Columns

Floats = NDArray[np.float64]
MOST_CELLS = 2**20  # rows times classes that weights are computed from; of more rows, evenly spaced ones are used
ROUNDS = 1_000  # a few models take a few dozen


def weigh_probabilities(proba: Floats, codes: NDArray[np.int64], weight: Floats | None, lam: float) -> Floats:
    """Weights that add up to 1, one per model. proba: [model, row, class]; codes: the classes of the rows.

    They minimise the mean over rows and classes of (t - f)^2 + 2 lam sum |alpha|, where t is 1 for the row's class and
    -1 for the others, and f = sum_j alpha_j (2 p_j - 1): a Brier score with QuadBoost's L1 penalty.
    """
    n_models, n_rows, n_classes = proba.shape
    used = evenly_spaced(n_rows, max(1, MOST_CELLS // n_classes))
    wanted = np.where(np.arange(n_classes) == codes[used, None], 1.0, -1.0)
    outputs = 2 * proba[:, used] - 1
    if n_classes == 2:  # both classes have the same equations
        wanted, outputs = wanted[:, 1:], outputs[:, :, 1:]
    each = None if weight is None else np.repeat(weight[used], wanted.shape[1])
    return _shares(outputs.reshape(n_models, -1).T, wanted.ravel(), each, lam)


def weigh_predictions(predicted: Floats, target: Floats, weight: Floats | None, lam: float) -> Floats:
    """Weights that add up to 1, one per model, by least squares. predicted: [model, row]."""
    used = evenly_spaced(len(target), MOST_CELLS)
    some = None if weight is None else weight[used]
    centre = float(np.average(target[used], weights=some))
    spread = float(np.sqrt(np.average(np.square(target[used] - centre), weights=some)))
    if spread == 0:
        return np.full(len(predicted), 1 / len(predicted))
    return _shares((predicted[:, used].T - centre) / spread, (target[used] - centre) / spread, some, lam)


def evenly_spaced(n_rows: int, most: int) -> NDArray[np.int64]:
    """The positions of all rows, or of `most` of them."""
    return np.arange(n_rows) if n_rows <= most else np.linspace(0, n_rows - 1, most).astype(np.int64)


def _shares(outputs: Floats, target: Floats, weight: Floats | None, lam: float) -> Floats:
    """outputs: [row, model]. Models whose weight is negative beside the others are left out, until none is."""
    left = np.arange(outputs.shape[1])
    while True:
        alpha = _quad_l1(outputs[:, left], target, weight, lam)
        if np.all(alpha >= 0) or not np.any(alpha > 0):
            break
        left = left[alpha > 0]
    shares = np.zeros(outputs.shape[1])
    if not np.any(alpha > 0):  # no model helps: the one of least loss
        losses = np.average(np.square(outputs - target[:, None]), axis=0, weights=weight)
        shares[np.argmin(losses)] = 1.0
        return shares
    shares[left] = alpha / alpha.sum()
    return shares


def _quad_l1(outputs: Floats, target: Floats, weight: Floats | None, lam: float) -> Floats:
    """The weight of each column."""
    model: Any = QuadBoostRegressor(
        Columns(), penalty="l1", lam=lam, reweight="cyclic", n_estimators=ROUNDS, fit_intercept=False, n_jobs=1
    ).fit(outputs, target, sample_weight=weight)
    alpha = np.zeros(outputs.shape[1])
    for voter, step in zip(model.ensemble_.fitted, model.steps_, strict=True):
        alpha[voter.column] += model.scale_ * step * voter.sign / voter.scale
    return alpha
