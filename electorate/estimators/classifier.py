"""What all boosted classifiers share: labels, classes, and how votes become decisions and probabilities."""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.protocol import Booster
from electorate.data import inputs
from electorate.estimators.base import BoostedModel
from electorate.estimators.voting import VotingClassifier
from electorate.model.voter_view import Voters
from electorate.training.classification import fit_classifier, groups_of
from electorate.training.fit import validation_seed
from electorate.training.worker_data import ClassPlan, ClassWorkerData, Outline
from electorate.voters.trees import Stumps


class BoostedClassifier(VotingClassifier, BoostedModel):
    """Subclasses define `_booster` and, for more than two classes, `_probabilities`.

    The constructor is that of algorithms without parameters of their own; others define theirs.
    """

    class_weight: Any
    scoring: str

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BoostedModel._parameter_constraints,
        # steps are multiples of 2^-40: a smaller rate would round them away
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "scoring": [StrOptions({"loss", "error"})],
    }
    _worker_data = ClassWorkerData

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        class_weight: Any = None,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        scoring: str = "loss",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ------------------------------------------------------------ what a classifier adds

    _one_vs_rest = False  # one binary problem per class, where the algorithm is for two labels
    _log_odds_factor = 2.0  # for two classes: decision to log-odds

    def _booster(self, n_labels: int) -> Booster:
        raise NotImplementedError

    def _chosen_booster(self, bench: Any, group: Any, n_labels: int) -> Booster:
        """The booster of a run, where it takes other runs to choose it."""
        return self._booster(n_labels)

    def _searching(self, bench: Any, booster: Any, past: Any) -> Any:
        """The family as this algorithm searches it."""
        return bench.family

    def _default_family(self) -> Any:
        return Stumps()

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """For more than two classes."""
        raise NotImplementedError

    # ------------------------------------------------------------ fitting

    @property
    def _is_native(self) -> bool:
        return hasattr(self._family(), "best") and not self._by_rows

    def _read_y(self, y: Any, n_rows: int) -> NDArray[Any]:
        return inputs.check_labels(self, y, n_rows)

    def _plan(self, resumes: bool, has_validation: bool) -> ClassPlan:
        classes = self.classes_ if resumes else None
        if not self._needs_validation or has_validation:
            return ClassPlan(self.class_weight, classes)
        return ClassPlan(self.class_weight, classes, self.validation_fraction, validation_seed(self))

    def _count_runs(self, outline: Outline) -> int:
        return len(groups_of(self, outline.classes))

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        fit_classifier(self, place, outline, context, data)

    # ------------------------------------------------------------ attributes

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        history, ensemble = self.history_, self.ensemble_
        if "label" not in history:
            return history["error"][: ensemble.n_voters]
        kept = np.bincount(ensemble.about, minlength=self.n_classes_)  # of each class, the first so many rounds
        return history["error"][history["n_voters"] <= kept[history["label"].astype(np.int64)]]

    @property
    def estimators_(self) -> Any:
        return Voters(self) if self._is_native or self._by_rows else list(self.ensemble_.fitted)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.ensemble_.importances()

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after every round."""
        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _checked_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            return _two_probabilities(expit(self._log_odds_factor * decision), decision)
        return _keep_winner(self._probabilities(decision), decision)


def _two_probabilities(second: NDArray[np.float64], decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both probabilities; where rounding made a positive decision an even chance, the second stays the larger."""
    np.maximum(second, np.nextafter(0.5, 1.0), out=second, where=decision > 0)
    proba = np.empty((len(second), 2))
    proba[:, 1] = second
    np.subtract(1.0, second, out=proba[:, 0])
    return proba


def _keep_winner(proba: NDArray[np.float64], decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where rounding made equal what was not, the winner keeps the larger number: argmax agrees with predict."""
    winner = np.argmax(decision, axis=1)
    lost = np.flatnonzero(np.argmax(proba, axis=1) != winner)
    proba[lost, winner[lost]] = np.nextafter(proba[lost].max(axis=1, initial=0.0), 2.0)
    return proba


def one_vs_rest_probabilities(decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-2 f)) of each class, divided by their sum; for two classes the sum is 1."""
    alone = expit(2 * decision)
    total = alone.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(alone, total, out=np.full_like(alone, 1 / alone.shape[1]), where=total > 0))
