"""Any scikit-learn classifier or regressor as a voter.

Wrapped voters get X as it was passed to `fit` and are fitted one after another in this process. Their sums are exact
like all others, but their predictions are outside the determinism guarantee: no digest, no model file.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import has_fit_parameter

from electorate.data.row_subset import take_rows
from electorate.data.sparse_format import check_sparse
from electorate.families.splits import label_outputs, log_odds_outputs
from electorate.families.trees import Search, Voter

Array = NDArray[np.float64]
LeafOutputs = tuple[NDArray[np.int32], Array]  # the leaf of every row, and [leaf, output]


@dataclass(frozen=True)
class ClassifierReader:
    """The outputs of a classifier fitted on these classes: by label, or the half log-odds of its probabilities."""

    classes: NDArray[Any]
    kind: str  # "label" or "log_odds"
    smoothing: float

    def of(self, fitted: Any, X: Any) -> LeafOutputs:
        """Rows with the same output share a leaf."""
        n_labels = len(self.classes)
        if self.kind == "label":
            return self._codes(fitted, fitted.predict(X)), label_outputs(np.eye(n_labels, dtype=np.int64))
        proba = np.zeros((X.shape[0], n_labels))
        proba[:, self._codes(fitted, fitted.classes_)] = fitted.predict_proba(X)
        if not np.all(np.isfinite(proba)):
            raise ValueError(f"{type(fitted).__name__} gave probabilities that are not finite")
        distinct, place = np.unique(np.clip(proba, self.smoothing, None), axis=0, return_inverse=True)
        return place.astype(np.int32).ravel(), log_odds_outputs(distinct)

    def _codes(self, fitted: Any, labels: Any) -> NDArray[np.int32]:
        """Labels as positions in `classes`."""
        given = np.asarray(labels)
        codes = np.minimum(np.searchsorted(self.classes, given), len(self.classes) - 1)
        known = self.classes[codes] == given
        if not np.all(known):
            raise ValueError(f"{type(fitted).__name__} predicted {given[~known].tolist()[0]!r}, which is not a class")
        return codes.astype(np.int32)


class _WrappedEstimator:
    """The family of one estimator, fitted to the weights of every round. draws: to rows drawn by them instead."""

    def __init__(self, estimator: Any, X: Any, y: NDArray[Any], random_state: Any, draws: bool = False) -> None:
        if not draws and not has_fit_parameter(estimator, "sample_weight"):
            name = type(estimator).__name__
            todo = (
                f" Resampled({name}(...)) trains it on rows drawn by their weights." if is_classifier(estimator) else ""
            )
            raise ValueError(f"{name} doesn't support sample_weight.{todo}")
        self.estimator = estimator
        self.X = X
        self.y = y
        self.random = check_random_state(random_state)
        self.draws = draws

    def skip(self, rounds: int) -> None:
        """Draw what earlier rounds have drawn."""
        for _ in range(rounds):
            self._clone()
            if self.draws:
                self.random.random_sample(len(self.y))

    def _clone(self) -> Any:
        estimator = clone(self.estimator)
        _set_random_states(estimator, self.random)
        return estimator


class Wrapped(_WrappedEstimator):
    """The family of one classifier."""

    fitted_elsewhere: ClassVar[bool] = True

    def __init__(self, estimator: Any, X: Any, y: NDArray[Any], reader: ClassifierReader, random_state: Any) -> None:
        super().__init__(estimator, X, y, random_state)
        if reader.kind == "log_odds" and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict_proba, and a booster of real-valued voters needs it: "
                "use AdaBoostClassifier"
            )
        self.reader = reader

    def best(self, search: Search) -> Voter:
        return self._fit(self._clone(), search)

    def constant(self, search: Search) -> Voter:
        self.skip(1)
        return self._fit(DummyClassifier(strategy="prior"), search)

    def _fit(self, fitted: Any, search: Search) -> Voter:
        engine: Any = search.engine
        fitted.fit(self.X, self.y, sample_weight=engine.weights())
        return row_voter(fitted, engine)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> Array:
        assert voter.outputs is not None
        return voter.outputs


def row_voter(fitted: Any, engine: Any) -> Voter:
    """A voter that has no splits: rows with the same output share a leaf."""
    leaf, outputs = engine.evaluate(fitted)
    return Voter([], list(range(len(outputs))), engine.leaf_sums(leaf, len(outputs)), fitted, outputs)


class WrappedRegressor(_WrappedEstimator):
    """The family of one regressor: MedBoost passes the weights, AdaBoost.R2 draws rows, as scikit-learn does."""

    by_histograms: ClassVar[bool] = False

    def __init__(
        self, estimator: Any, X: Any, y: NDArray[Any], random_state: Any, draws: bool = False, own: bool = False
    ) -> None:
        super().__init__(estimator, X, y, random_state, draws)
        self.own = own  # whether it has confidences of its own

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        fitted, engine, n_rows = self._clone(), search.engine, len(self.y)
        weights = engine.weights(kappa)  # type: ignore[attr-defined]
        if self.draws:
            rows = self.random.choice(n_rows, size=n_rows, replace=True, p=weights)
            fitted.fit(take_rows(self.X, rows), self.y[rows])
        else:
            fitted.fit(self.X, self.y, sample_weight=weights)
        voter = Voter([], [], np.zeros((0, 0), dtype=np.int64), fitted, finite_predictions(fitted, self.X))
        return voter, own_confidences(fitted, self.X)[:, None] if self.own else np.zeros((0, 2))


def finite_predictions(fitted: Any, X: Any) -> Array:
    """The predictions of a regressor."""
    found = np.asarray(fitted.predict(X), dtype=np.float64)
    found = found.ravel() if found.ndim == 2 and found.shape[1] == 1 else found
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise ValueError(f"{type(fitted).__name__} must predict one finite number per row")
    return found


def own_confidences(fitted: Any, X: Any) -> Array:
    """The confidences of a regressor that has them itself, from 0 to 1."""
    sure = np.asarray(fitted.confidence(X), dtype=np.float64)
    if sure.shape != (X.shape[0],) or not np.all((sure >= 0) & (sure <= 1)):
        raise ValueError(f"{type(fitted).__name__}.confidence must give one number from 0 to 1 per row")
    return sure


class Resampled(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Boost a classifier without sample_weight: each voter is fitted to rows drawn in proportion to the weights.

    Parameters
    ----------
    estimator : classifier
    random_state : int, RandomState or None
        The seed of the draw. A booster sets a new one for every voter.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from electorate import AdaBoostClassifier, Resampled
    >>> AdaBoostClassifier(Resampled(KNeighborsClassifier())).estimator
    Resampled(estimator=KNeighborsClassifier())
    """

    def __init__(self, estimator: Any = None, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Resampled":
        refuse_classes(self.estimator, "Resampled.estimator")
        random = check_random_state(self.random_state)
        y = np.asarray(y)
        n_rows = len(y)
        odds = np.full(n_rows, 1 / n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        rows = random.choice(n_rows, size=n_rows, p=odds / odds.sum())
        for label in np.unique(y[odds > 0]):  # a class that was not drawn still gets a row
            drawn, counts = np.unique(y[rows], return_counts=True)
            if label not in drawn:
                spare = np.flatnonzero(np.isin(y[rows], drawn[counts > 1]))
                rows[spare[random.randint(len(spare))]] = np.flatnonzero((y == label) & (odds > 0))[0]
        self.estimator_ = clone(self.estimator).fit(take_rows(X, rows), y[rows])
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(check_sparse(X)))

    @property
    def predict_proba(self) -> Callable[[Any], NDArray[np.float64]]:
        fitted = getattr(self, "estimator_", self.estimator)
        return fitted.predict_proba


# ---------------------------------------------------------------- instances, not classes


def refuse_classes(value: Any, name: str) -> None:
    """Look at a parameter and at what it holds: the items of lists, the parameters of estimators."""
    if isinstance(value, type):
        if hasattr(value, "get_params"):
            raise InvalidParameterError(
                f"{name} is the class {value.__name__}: pass an instance, {value.__name__}() with its parameters"
            )
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            refuse_classes(item, f"{name}[{place}]")
    elif hasattr(value, "get_params"):
        for parameter, held in value.get_params(deep=False).items():
            refuse_classes(held, f"{name}.{parameter}")
