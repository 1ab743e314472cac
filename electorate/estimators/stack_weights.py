"""The weights of the models of a stack: least squares over their out-of-fold predictions, with QuadBoost's L1 penalty.

Weights are not negative. All sums over rows are exact, so that the order of the rows does not matter, and a row of
weight k is the same as k rows.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from electorate.data.row_subset import take_rows
from electorate.data.split import deal_rows
from electorate.data.weights import Weights, read_weights
from electorate.exact import Floats, Ints

NEGLIGIBLE = 1e-12  # of the largest product of a column with the target: a slope
DEPENDENT = 1e-13  # of the square of a column: what is left of it beside the others
LARGEST = 1e200  # a penalty beyond which no column has a weight


def weigh_probabilities(proba: Floats, codes: NDArray[np.int64], weight: Floats | None, lam: float) -> Floats:
    """Weights that add up to 1, one per model. proba: [model, row, class]; codes: the classes of the rows.

    They minimise the mean over rows and classes of (t - f)^2 + 2 lam sum alpha over alpha >= 0, where t is 1 for the
    row's class and -1 for the others, and f = sum_j alpha_j (2 p_j - 1): a Brier score with QuadBoost's L1 penalty.
    """
    n_models, _, n_classes = proba.shape
    wanted = np.where(np.arange(n_classes) == codes[:, None], 1.0, -1.0)
    outputs = 2 * proba - 1
    if n_classes == 2:  # both classes have the same equations
        wanted, outputs = wanted[:, 1:], outputs[:, :, 1:]
    each = None if weight is None else np.repeat(weight, wanted.shape[1])
    return _shares(outputs.reshape(n_models, -1), wanted.ravel(), each, lam)


def weigh_predictions(predicted: Floats, target: Floats, weight: Floats | None, lam: float) -> Floats:
    """Weights that add up to 1, one per model, by least squares. predicted: [model, row]."""
    equal = np.full(len(predicted), 1 / len(predicted))
    counted = target if weight is None else target[weight > 0]
    if counted.min() == counted.max():
        return equal
    power = -math.frexp(float(np.abs(counted).max()))[1]  # squares of targets in any unit must be finite
    target, predicted = np.ldexp(target, power), np.ldexp(predicted, power)
    weights = read_weights(np.ones(len(target)) if weight is None else weight)
    centre = weights.mean(target)
    spread = math.sqrt(weights.mean(np.square(target - centre)))
    if spread == 0:
        return equal
    return _shares((predicted - centre) / spread, (target - centre) / spread, weight, lam)


def _shares(outputs: Floats, target: Floats, weight: Floats | None, lam: float) -> Floats:
    """outputs: [model, row]."""
    bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
    if len(bad):
        raise ValueError(f"model {bad[0] + 1} of the stack has predictions that are not finite numbers: leave it out")
    weights = read_weights(np.ones(len(target)) if weight is None else weight)
    alpha = penalised_least_squares(outputs, target, weights, lam)
    if not np.any(alpha > 0):  # no model helps: the one of least loss
        with np.errstate(over="ignore"):
            losses = [weights.mean(np.square(output - target)) for output in outputs]
        alpha[np.argmin(losses)] = 1.0
    return np.asarray(alpha / alpha.sum())


def penalised_least_squares(columns: Floats, target: Floats, weights: Weights, lam: float) -> Floats:
    """The alpha >= 0 that minimise the mean of (t - sum_j alpha_j x_j)^2 + 2 lam sum alpha. columns: [j, row]."""
    n_columns = len(columns)
    power = np.frexp(np.abs(columns).max(axis=1, initial=0.0))[1]
    columns = np.ldexp(columns, -power[:, None])  # products must be finite
    gram = np.empty((n_columns, n_columns))
    for j in range(n_columns):
        for k in range(j + 1):
            gram[j, k] = gram[k, j] = weights.mean(columns[j] * columns[k])
    products = np.array([weights.mean(column * target) for column in columns])
    with np.errstate(over="ignore"):
        penalty = np.minimum(np.ldexp(lam, -power), LARGEST)
        return np.asarray(np.ldexp(nonnegative_minimum(gram, products - penalty), -power))


def nonnegative_minimum(gram: Floats, linear: Floats) -> Floats:
    """The x >= 0 that minimise x'Gx - 2 c'x, by an active set of positive numbers; G may be singular.

    One number after the other is raised from 0 to where the slope along it ends, while the positive ones follow with
    slopes of 0. One that falls to 0 on the way leaves the set, and may come back in a later turn. At the end the
    Karush-Kuhn-Tucker conditions hold: c - Gx is 0 where x > 0, and nowhere positive.
    """
    size = np.sqrt(np.diag(gram))
    size[size == 0] = 1.0
    gram, linear = gram / np.outer(size, size), linear / size
    least = NEGLIGIBLE * float(np.maximum(linear, 0.0).max(initial=0.0))
    x = np.zeros(len(linear))
    objective = 0.0
    barred = np.zeros(len(linear), dtype=np.bool_)  # columns that only rounding errors would raise
    with threadpool_limits(1):
        while True:
            slope = np.where((x > 0) | barred, -np.inf, linear - gram @ x)
            entering = int(np.argmax(slope))
            if slope[entering] <= least:
                return np.asarray(x / size)
            rises = _raise(gram, linear, x, entering)
            before, objective = objective, float(x @ gram @ x - 2 * (linear @ x))
            barred[entering] = not rises or objective >= before


def _raise(gram: Floats, linear: Floats, x: Floats, entering: int) -> bool:
    """Raise one number of x in place until its slope is 0; False if nothing ends the rise."""
    while True:
        others = np.flatnonzero(x > 0)
        others = others[others != entering]
        follow = -np.linalg.solve(gram[np.ix_(others, others)], gram[others, entering])
        curvature = gram[entering, entering] + float(gram[entering, others] @ follow)
        slope = linear[entering] - float(gram[entering] @ x)
        end = slope / curvature if curvature > DEPENDENT else np.inf
        falls = np.flatnonzero(follow < 0)
        limits = -x[others[falls]] / follow[falls]
        step = min(end, float(limits.min(initial=np.inf)))
        if not np.isfinite(step):
            return False
        x[others] += step * follow
        x[entering] += step
        if step == end:
            break
        x[others[falls[np.argmin(limits)]]] = 0.0
    used = np.flatnonzero(x > 0)
    solved = np.linalg.solve(gram[np.ix_(used, used)], linear[used])  # without the rounding errors of the path
    if np.all(solved > 0):
        x[used] = solved
    return True


# ---------------------------------------------------------------- out-of-fold predictions

SEED = 1992  # of the hashes


@dataclass(frozen=True)
class TrainingRows:
    """X as it was given, labels or targets, and weights or None; all weights are positive."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None

    def take(self, rows: Ints) -> "TrainingRows":
        return TrainingRows(take_rows(self.X, rows), self.y[rows], None if self.weight is None else self.weight[rows])

    def fit(self, estimator: Any) -> Any:
        """A clone of the estimator, fitted to the rows; weights are passed on only if there are some."""
        weighted = {} if self.weight is None else {"sample_weight": self.weight}
        return clone(estimator).fit(self.X, self.y, **weighted)

    def folds(self, strata: Ints, n_parts: int) -> Iterator[tuple["TrainingRows", Ints]]:
        """Yield the training rows and the positions of the rows to predict, of every fold that has both."""
        n_parts = min(n_parts, len(self.y))  # more would be empty
        part = deal_rows(self.X, strata, n_parts, SEED)
        for number in range(n_parts):
            predicted = part == number
            if predicted.any() and not predicted.all():
                yield self.take(np.flatnonzero(~predicted)), np.flatnonzero(predicted)

    def cross_predict(
        self, estimator: Any, strata: Ints, n_parts: int, predict: Callable[[Any, Any], Floats], n_outputs: int
    ) -> Floats:
        """[row, output] by models that were trained without the row; NaN for rows that no fold predicts.

        predict: the outputs of a fitted model for some rows.
        """
        found = np.full((len(self.y), n_outputs), np.nan)
        for training, rows in self.folds(strata, n_parts):
            found[rows] = predict(training.fit(estimator), take_rows(self.X, rows))
        return found
