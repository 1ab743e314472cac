"""What all boosted classifiers share: labels, classes, and how votes become decisions and probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.protocol import Booster
from electorate.data import inputs
from electorate.estimators.base import BoostedModel, StopsEarly
from electorate.model import decisions
from electorate.model.ensemble import Read
from electorate.model.voter_view import Voters
from electorate.threads import ThreadPool, count_jobs
from electorate.training.classification import fit_classifier, groups_of
from electorate.training.dask_inputs import row_by_row
from electorate.training.worker_data import ClassPlan, ClassWorkerData, Outline
from electorate.voters.trees import Stumps

FEW_CLASSES = 100  # up to that many, predict holds the votes of all rows at once
VOTES_AT_ONCE = 2**20


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedClassifier(ClassifierMixin, BoostedModel):
    """Subclasses define `_booster`."""

    class_weight: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoostedModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _worker_data = ClassWorkerData

    # ------------------------------------------------------------ what a classifier adds

    _one_vs_rest = False  # one binary problem per class, where the algorithm is for two labels
    _log_odds_factor = 2.0  # of a decision

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

    def _decision(self, votes: NDArray[np.int64], total: float) -> NDArray[np.float64]:
        """total: of the steps."""
        return decisions.plain(votes, self.n_classes_, total)

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """For more than two classes: what is likely of each class alone, divided by the sum."""
        return shares(self._likely(decision))

    def _likely(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of a class, by its decision alone; for two classes, of the second one."""
        return np.asarray(expit(self._log_odds_factor * decision))

    # ------------------------------------------------------------ fitting

    @property
    def _is_native(self) -> bool:
        return hasattr(self._family(), "best") and not self._by_rows

    def _read_y(self, y: Any, n_rows: int) -> NDArray[Any]:
        return inputs.check_labels(self, y, n_rows)

    def _plan(self, resumes: bool) -> ClassPlan:
        return ClassPlan(self.class_weight, self.classes_ if resumes else None)

    def _count_runs(self, outline: Outline) -> int:
        return len(groups_of(self, outline.classes))

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        fit_classifier(self, place, outline, context, data)

    # ------------------------------------------------------------ attributes

    @property
    def steps_(self) -> NDArray[np.float64]:
        """The papers' alpha, one per voter."""
        return self.ensemble_.steps

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

    # ------------------------------------------------------------ prediction

    @row_by_row
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes: one number per row for two classes, positive for the second; else a column per class."""
        check_is_fitted(self)
        return self._decision(self._votes(X), self._total_step())

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The decision function after every round."""
        check_is_fitted(self)
        totals = np.cumsum(np.abs(self.steps_))
        for n_voters, votes in self._staged_votes(X):
            yield self._decision(votes, float(totals[n_voters - 1]))

    def _total_step(self) -> float:
        """The sum of all steps, by which decisions are divided where a booster does so."""
        return float(np.abs(self.steps_).sum())

    def _votes_in_blocks(self, X: Any) -> Iterator[NDArray[np.int64]]:
        """Yield the votes of successive blocks of rows, of up to VOTES_AT_ONCE votes each."""
        table = self._check_rows(X, reset=False)
        native = self._is_native
        n_rows = table.n_rows if native else table.shape[0]
        at_once = max(1, VOTES_AT_ONCE // self.n_classes_)
        jobs = count_jobs(self.n_jobs, n_rows * table.n_columns) if native else 1
        with ThreadPool(jobs) as pool:
            for low in range(0, n_rows, at_once):
                high = min(low + at_once, n_rows)
                if native:
                    yield self.ensemble_.votes(high - low, _shifted(self._reader(table), low), pool)
                else:
                    yield self.ensemble_.votes(table[low:high])

    def _staged_votes(self, X: Any) -> Iterator[tuple[int, NDArray[np.int64]]]:
        table = self._check_rows(X, reset=False)
        if not self._is_native:
            return self.ensemble_.staged_votes(table)
        return self.ensemble_.staged_votes(table.n_rows, self._reader(table))

    @row_by_row
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes; of equals, the first."""
        check_is_fitted(self)
        if self.n_classes_ <= FEW_CLASSES:
            return self._classes_of(self.decision_function(X))
        total = self._total_step()
        blocks = [self._classes_of(self._decision(votes, total)) for votes in self._votes_in_blocks(X)]
        return np.concatenate(blocks)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The predictions after every round."""
        for decision in self.staged_decision_function(X):
            yield self._classes_of(decision)

    @row_by_row
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes; not calibrated."""
        return self._checked_probabilities(self.decision_function(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The probabilities after every round."""
        for decision in self.staged_decision_function(X):
            yield self._checked_probabilities(decision)

    @row_by_row
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _classes_of(self, decision: NDArray[np.float64]) -> NDArray[Any]:
        best = decision > 0 if self.n_classes_ == 2 else np.argmax(decision, axis=1)
        return np.asarray(self.classes_.take(best, axis=0))

    def _checked_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            return _two_probabilities(self._likely(decision), decision)
        return _keep_winner(self._probabilities(decision), decision)


@dataclass(eq=False, repr=False, kw_only=True)
class RoundsClassifier(BoostedClassifier, StopsEarly):
    """A classifier that is trained round by round."""

    scoring: str = "loss"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoostedClassifier._parameter_constraints,
        **StopsEarly._parameter_constraints,
        "scoring": [StrOptions({"loss", "error"})],
    }


@dataclass(eq=False, repr=False, kw_only=True)
class StagewiseClassifier(RoundsClassifier):
    """A classifier whose steps stay as they are, times a learning rate."""

    n_estimators: int = 50
    learning_rate: float = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RoundsClassifier._parameter_constraints,
        # steps are multiples of 2^-40: a smaller rate would round them away
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
    }


def _shifted(read: Read, by: int) -> Read:
    """Return a reader of the rows after the first `by`."""
    return lambda low, high: read(low + by, high + by)


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


def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows divided by their sums; equal shares where the sum is 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(values, total, out=np.full_like(values, 1 / values.shape[1]), where=total > 0))
