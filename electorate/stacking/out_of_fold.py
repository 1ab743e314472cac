"""Out-of-fold predictions: of every row, by a model that was trained without it.

Folds depend on the contents of the rows, not on their order: equal rows are in the same fold, so that a row of weight k
and k such rows give the same model.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from electorate.data.row_subset import take_rows
from electorate.data.split import deal_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
