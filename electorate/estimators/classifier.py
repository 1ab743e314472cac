"""What all boosted classifiers share: labels, classes, and how votes become decisions and probabilities."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.protocol import Booster
from electorate.data import inputs
from electorate.data.row_subset import take_rows
from electorate.data.split import deal_rows
from electorate.estimators.base import BoostedModel, StopsEarly
from electorate.estimators.voting import VotingClassifier
from electorate.exact import AnyArray, Floats
from electorate.families.trees import Stumps
from electorate.model.decisions import Link, fit_temperature, log_probabilities, read_temperature
from electorate.model.voter_outputs import count_rows
from electorate.model.voter_view import Voters
from electorate.modelfile import Contents
from electorate.training.classification import fit_classifier, groups_of
from electorate.training.fit import warn_of_traps
from electorate.training.lazy_inputs import refuse_lazy_for
from electorate.training.worker_data import NO_WEIGHT, ClassPlan, ClassWorkerData, Outline, has_formulas

FOLD_SEED = 1992  # of the hashes that deal rows to the folds of cross-fitting


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedClassifier(VotingClassifier, BoostedModel):
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

    def _has_formulas(self) -> bool:
        return has_formulas(self._booster(2))

    def _searching(self, bench: Any, booster: Any, past: Any) -> Any:
        """The family as this algorithm searches it."""
        return bench.family

    def _default_family(self) -> Any:
        return Stumps()

    def _probabilities(self, decision: Floats) -> Floats:
        """Return for more than two classes the probability of each class alone, divided by their sum."""
        return shares(self._likely(decision))

    def _likely(self, decision: Floats) -> Floats:
        """The probability of a class, by its decision alone; for two classes, of the second one."""
        return np.asarray(expit(self._log_odds_factor * decision))

    def _link(self) -> Link:
        """Return the link of the probabilities, for exports."""
        return Link("logistic", self._log_odds_factor)

    # ------------------------------------------------------------ fitting

    @property
    def _is_native(self) -> bool:
        return hasattr(self._family(), "best") and not self._by_rows

    def _read_y(self, y: Any, n_rows: int) -> AnyArray:
        return inputs.check_labels(self, y, n_rows)

    def _plan(self, resumes: bool) -> ClassPlan:
        return ClassPlan(self.class_weight, self.classes_ if resumes else None)

    def _count_runs(self, outline: Outline) -> int:
        return len(groups_of(self, outline.classes))

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        fit_classifier(self, place, outline, context, data)
        warn_of_traps(self)

    # ------------------------------------------------------------ attributes

    @property
    def estimator_errors_(self) -> Floats:
        history, ensemble = self.history_, self.ensemble_
        if "label" not in history:
            return history["error"][: ensemble.n_voters]
        kept = np.bincount(ensemble.about, minlength=self.n_classes_)  # of each class, the first so many rounds
        return history["error"][history["n_voters"] <= kept[history["label"].astype(np.int64)]]

    @property
    def estimators_(self) -> Any:
        return Voters(self) if self._is_native or self._by_rows else list(self.ensemble_.fitted)

    # ------------------------------------------------------------ calibration

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None, *, cv: int | None = None) -> Self:
        """Calibrate the probabilities: they are then the softmax of a temperature times the decisions.

        Predictions, decisions and the digest do not change. The temperature minimises the log loss. `fit` resets it.

        Parameters
        ----------
        X, y, sample_weight : as for fit
            Rows that were not used to fit. With `cv`, the rows of the fit.
        cv : int, optional
            The number of folds of cross-fitting: the decisions are those of `cv` models that are trained like this one,
            each without the rows of a fold. Then no rows have to be set aside.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if cv is not None and not (isinstance(cv, Integral) and cv >= 2):
            raise ValueError(f"calibrate: cv is {cv!r}: it must be an integer of at least 2, or None")
        refuse_lazy_for(f"{type(self).__name__}.calibrate", X)
        X = inputs.indexable(X)
        labels = self._read_y(y, count_rows(self._check_rows(X, reset=False)))
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(f"calibrate: the model has not been trained with the class {unknown[:1].tolist()[0]!r}")
        weight = None if sample_weight is None else inputs.check_weight(sample_weight, len(labels))
        if weight is not None:
            used = np.flatnonzero(weight)
            if not len(used):
                raise ValueError(NO_WEIGHT)
            X, labels, weight = take_rows(X, used), labels[used], weight[used]
        decision = self.decision_function(X) if cv is None else cross_fitted(self, X, labels, weight, cv)
        self.temperature_ = fit_temperature(decision, np.searchsorted(self.classes_, labels), weight)
        if cv is None:
            self._add_seen(X, labels)
        return self

    def _validate_family(self) -> None:
        super()._validate_family()
        self.__dict__.pop("temperature_", None)

    def _more_arrays(self) -> dict[str, AnyArray]:
        return {"temperature": np.array([self.temperature_])} if hasattr(self, "temperature_") else {}

    def _read_more(self, contents: Contents) -> None:
        read_temperature(contents, self)

    def _calibrated_probabilities(self, decision: Floats) -> Floats:
        if not hasattr(self, "temperature_") or self.n_classes_ == 1:
            return self._checked_probabilities(decision)
        return calibrated_probabilities(decision, self.temperature_, self.n_classes_)

    def _calibrated_link(self) -> Link:
        if not hasattr(self, "temperature_"):
            return self._link()
        return Link("logistic" if self.n_classes_ == 2 else "softmax", self.temperature_)

    def _checked_probabilities(self, decision: Floats) -> Floats:
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            return _two_probabilities(self._likely(decision), decision)
        return _keep_winner(self._probabilities(decision), decision)


ROUND_BY_ROUND: dict[str, list[Any]] = {  # constraints of classifiers that are trained round by round
    **BoostedClassifier._parameter_constraints,
    **StopsEarly._parameter_constraints,
    "scoring": [StrOptions({"loss", "error"})],
}


@dataclass(eq=False, repr=False, kw_only=True)
class StagewiseClassifier(BoostedClassifier, StopsEarly):
    """A classifier whose steps stay as they are, times a learning rate."""

    n_estimators: int = 50
    learning_rate: float = 1.0
    scoring: str = "loss"

    _on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ROUND_BY_ROUND,
        # steps are multiples of 2^-40: a smaller rate would round them away
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
    }


def cross_fitted(model: BoostedClassifier, X: Any, labels: AnyArray, weight: Floats | None, n_folds: int) -> Floats:
    """The decision of every row by a model that is trained like this one without the rows of its fold."""
    decision = np.empty(len(labels) if model.n_classes_ == 2 else (len(labels), model.n_classes_))
    fold = deal_rows(X, np.searchsorted(model.classes_, labels), n_folds, FOLD_SEED)
    for number in range(n_folds):
        learn, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        weighted = {} if weight is None else {"sample_weight": weight[learn]}
        rare = np.setdiff1d(model.classes_, labels[learn]).tolist()
        if rare:
            raise ValueError(f"calibrate: the class {rare[0]!r} has too few distinct rows for cv={n_folds}")
        if len(test):
            other = clone(model).fit(take_rows(X, learn), labels[learn], **weighted)
            decision[test] = other.decision_function(take_rows(X, test))
    return decision


def calibrated_probabilities(decision: Floats, temperature: float, n_classes: int) -> Floats:
    """The softmax of the temperature times the decisions; the largest probability is that of the predicted class."""
    if n_classes == 1:
        return np.ones((len(decision), 1))
    proba = np.exp(log_probabilities(decision, temperature))
    return _two_probabilities(proba[:, 1], decision) if n_classes == 2 else _keep_winner(proba, decision)


def samme_probabilities(decision: Floats, n_classes: int) -> Floats:
    """Return the probabilities of SAMME: the softmax of the decisions over K - 1."""
    return np.asarray(softmax(decision / (n_classes - 1), axis=1))


def samme_link(n_classes: int) -> Link:
    """Return the link of `samme_probabilities`."""
    return Link("softmax", 1 / max(n_classes - 1, 1))


def _two_probabilities(second: Floats, decision: Floats) -> Floats:
    """Both probabilities; where rounding made a positive decision an even chance, the second stays the larger."""
    np.maximum(second, np.nextafter(0.5, 1.0), out=second, where=decision > 0)
    proba = np.empty((len(second), 2))
    proba[:, 1] = second
    np.subtract(1.0, second, out=proba[:, 0])
    return proba


def _keep_winner(proba: Floats, decision: Floats) -> Floats:
    """Break ties that rounding made in favour of the predicted class, so that argmax gives the prediction."""
    winner = np.argmax(decision, axis=1)
    lost = np.flatnonzero(np.argmax(proba, axis=1) != winner)
    proba[lost, winner[lost]] = np.nextafter(proba[lost].max(axis=1, initial=0.0), 2.0)
    return proba


def shares(values: Floats) -> Floats:
    """Rows divided by their sums; equal shares where the sum is 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(values, total, out=np.full_like(values, 1 / values.shape[1]), where=total > 0))
