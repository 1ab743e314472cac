"""Any scikit-learn regressor as a voter, fitted one after another in this process.

MedBoost gives it the weights; AdaBoost.R2 gives it rows drawn with the weights as odds, as scikit-learn does.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import has_fit_parameter

from electorate.voters.trees import Search, Voter

Array = NDArray[np.float64]


class WrappedRegressor:
    """The family of one regressor. draws: rows instead of weights."""

    by_histograms: ClassVar[bool] = False

    def __init__(self, estimator: Any, X: Any, y: Array, random_state: Any, draws: bool) -> None:
        if not draws and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"{type(estimator).__name__} doesn't support sample_weight.")
        self.estimator = estimator
        self.X = X
        self.y = y
        self.random = check_random_state(random_state)
        self.draws = draws

    def skip(self, rounds: int) -> None:
        """Draw what rounds that are already there have drawn."""
        for _ in range(rounds):
            _set_random_states(clone(self.estimator), self.random)
            if self.draws:
                self.random.random_sample(len(self.y))

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        fitted = clone(self.estimator)
        _set_random_states(fitted, self.random)
        weights = search.engine.weights(kappa)  # type: ignore[attr-defined]
        if self.draws:
            rows = self.random.choice(len(self.y), size=len(self.y), replace=True, p=weights)
            fitted.fit(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows))
        else:
            fitted.fit(self.X, self.y, sample_weight=weights)
        return Voter([], [], np.zeros((0, 0), dtype=np.int64), fitted, said_by(fitted, self.X)), np.zeros((0, 2))


def said_by(fitted: Any, X: Any) -> Array:
    said = np.asarray(fitted.predict(X), dtype=np.float64)
    said = said.ravel() if said.ndim == 2 and said.shape[1] == 1 else said
    if said.ndim != 1 or not np.all(np.isfinite(said)):
        raise ValueError(f"{type(fitted).__name__} must predict one finite number per row")
    return said
