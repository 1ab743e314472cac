"""RLPBoost and RQPBoost: new weights for the voters of an ensemble, by one program.

Raetsch, Onoda and Mueller 2001, as the VadaBoost paper compares with them: on the voters that AdaBoost found.
"""

import warnings
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.lpboost import in_nu
from electorate.algorithms.totally_corrective import rlp
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.estimators.classifier import BoostedClassifier
from electorate.estimators.lpboost import DEFAULT_NU, TotallyCorrectiveClassifier
from electorate.exact import AnyArray, Floats
from electorate.model.trace import Trace, joined_history
from electorate.model.voter_outputs import VoterOutputs, rows_of
from electorate.theory.bounds import HINGE
from electorate.theory.training import Guarantees
from electorate.training.callbacks import TimeLimit
from electorate.training.classification import groups_of
from electorate.training.column_generation import COLUMNS, TWO
from electorate.training.totally_corrective import VoterMatrix, Weighed, weigh_again, weigh_linear, weigh_quadratic
from electorate.training.worker_data import Outline


@dataclass(eq=False, repr=False, kw_only=True)
class ReweighedClassifier(TotallyCorrectiveClassifier):
    """Subclasses define `_weigh(voters)`."""

    ensemble: Any = None
    n_estimators: int = 100
    tol: float = 1e-9
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TotallyCorrectiveClassifier._parameter_constraints,
        "ensemble": [HasMethods(["_check_rows", "_family"]), None],
    }
    _program = ""

    def _weigh(self, voters: VoterMatrix) -> Weighed:
        raise NotImplementedError

    def _family(self) -> Any:
        return super()._family() if self.ensemble is None else self.ensemble._family()

    def _stored_parameters(self) -> dict[str, Any]:
        """Store the family of the voters in place of the ensemble, which a file does not hold."""
        parameters = super()._stored_parameters()
        return parameters if self.ensemble is None else {**parameters, "ensemble": None, "estimator": self._family()}

    def _validate_family(self) -> None:
        if self.ensemble is not None:
            check_is_fitted(self.ensemble)
            if self.estimator is not None:
                raise ValueError("estimator is what AdaBoost would boost, and ensemble has voters already: give one")
        super()._validate_family()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        super().fit(X, y, sample_weight)
        if self.ensemble is not None:  # whose rows chose the voters
            self.seen_ = self.seen_.and_also(getattr(self.ensemble, "seen_", None))
        return self

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        base = self._base(place.data.given.weight, outline.classes, *data)
        outputs, n_classes = VoterOutputs(base), len(outline.classes)
        groups = [TWO if group is None else group for _, group in groups_of(self, outline.classes)]
        examples = place.data.examples["train"]
        picks, traces, self._failed = weigh_again(
            outputs, rows_of(base, data[0]), examples, groups if base.ensemble_.n_voters else [], self._weigh
        )
        self.ensemble_ = outputs.chosen(picks or [[] for _ in range(outputs.n_runs)])
        self.classes_, self.n_classes_ = outline.classes, n_classes
        self.estimator_ = self._family()
        if hasattr(base, "bins_"):
            self.bins_ = base.bins_
        self.history_ = joined_history(traces or [Trace(COLUMNS)])
        solved = "solver" if self._failed else "converged"
        ended = solved if self.ensemble_.n_voters else "no_edge"
        self.stop_reason_ = "time_limit" if self.ensemble is None and base.stop_reason_ == "time_limit" else ended

    def _base(self, weight: Floats, classes: AnyArray, X: Any, y: Any) -> Any:
        """The ensemble whose voters are weighed. weight: of the rows, without those of the classes."""
        if self.ensemble is None:
            same = {field.name: getattr(self, field.name) for field in fields(BoostedClassifier) if field.name != "tol"}
            limits = [one.rest() for one in getattr(self, "_skl_callbacks", []) if isinstance(one, TimeLimit)]
            return AdaBoostClassifier(**same).set_callbacks(*limits).fit(X, y, sample_weight=weight)
        if not np.array_equal(self.ensemble.classes_, classes):
            raise ValueError(
                f"the ensemble has the classes {self.ensemble.classes_.tolist()!r}, and y has "
                f"{classes.tolist()!r}: use rows of the same classes"
            )
        return self.ensemble

    def _warn(self) -> None:
        if self._failed:
            text = f"{self._failed}; the model has a duality gap of {self.gap_:.3g}"
            warnings.warn(f"{type(self).__name__}: {text}", ConvergenceWarning, stacklevel=4)

    @property
    def certificate_(self) -> str:
        if not self.ensemble_.n_voters:
            return "no voters: there was nothing to weigh"
        return f"{self._program} is within {self.gap_:.3g} of its optimum over the voters of the ensemble"


@dataclass(eq=False, repr=False, kw_only=True)
class RLPBoostClassifier(ReweighedClassifier):
    """RLPBoost: the largest soft margin over the voters of an ensemble, by a linear program.

    max rho - C sum(xi), y f >= rho - xi, sum(alpha) = 1, alpha >= 0 [1]_.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier or None, default=None
        The voters of the AdaBoost. None means :class:`Stumps`.
    ensemble : a fitted model of electorate or None, default=None
        A model; its voters are re-weighted instead.
    C : float or None, default=None
        The cost of a row for each unit below the margin; at least 1 / n, where n is the sum of the weights.
        None: 1 / (nu n), which does not depend on the scale of the weights.
    nu : float from 0 to 1, default=0.2
        About this share of the rows may fall short of the margin. Not used with `C`.
    n_estimators : int, default=100
        The rounds of AdaBoost.
    solver : {"auto", "scipy", "highspy"}, default="auto"
        "auto" uses highspy where it is installed. Objective and certificate are the same; where several weights
        are optimal the solvers may choose different ones.
    tol : float, default=1e-9
        The duality gap at which the solver stops.
    class_weight : dict, "balanced" or None, default=None
        Factors by which sample weights are multiplied, by class. "balanced" gives every class the same total
        weight.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    n_jobs : int or None, default=None
        The number of threads. None means all CPUs that are available to this process, or fewer for small tables.
        The model does not depend on it.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the model is trained. This algorithm is trained on the CPU: "cuda" raises, "auto" is the same as "cpu".
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    classes_ : ndarray
        The classes of positive weight.
    n_classes_ : int
        The number of classes.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        alpha, one per voter that has a weight.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    gap_ : float
        The duality gap, an upper bound on the distance of the objective from the optimum.
    certificate_ : str
        The statement that the gap proves: over the whole family if its search is exhaustive, else over the voters
        found.
    history_ : dict of ndarray
        A row for every voter that has a weight; edge and error are under the sample weights. Of voters with the
        same outputs on every row only the first is used.
    stop_reason_ : str
        Why training ended: `converged`, `no_edge`, `solver` (it gave up) or `time_limit` (of the rounds of AdaBoost;
        other callbacks do not see them).
    feature_importances_ : ndarray
        The share of the steps that belongs to splits on each column.
    digest_ : str
        SHA-256 of the model. Models with equal digests are equal.
    seen_ : Seen
        Hashes of the training rows, so that `certificate` can refuse them as held-out rows. Not part of the
        model.

    See Also
    --------
    RQPBoostClassifier : The same with a quadratic penalty.
    LPBoostClassifier : The largest soft margin.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    References
    ----------
    .. [1] G. Raetsch, T. Onoda and K.-R. Mueller, "Soft margins for AdaBoost", Machine Learning 42, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import RLPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RLPBoostClassifier(n_estimators=50).fit(X, y).gap_ < 1e-8
    True
    """

    C: float | None = None
    nu: float = DEFAULT_NU
    solver: str = "auto"

    _guarantees = Guarantees(loss=HINGE)

    _program = "RLPBoost's objective"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ReweighedClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "solver": [StrOptions({"auto", "scipy", "highspy"})],
    }

    def _weigh(self, voters: VoterMatrix) -> Weighed:
        margin = in_nu(voters.mass, float(self.nu)) if self.C is None else rlp(voters.mass, float(self.C))
        return weigh_linear(voters, margin, self.solver, self.tol)


@dataclass(eq=False, repr=False, kw_only=True)
class RQPBoostClassifier(ReweighedClassifier):
    """RQPBoost: weights of the voters of an ensemble by a quadratic program.

    min sum(alpha^2) + C sum(xi), y f >= 1 - xi, alpha >= 0 [1]_, with a weight for every voter of the ensemble, which
    for AdaBoost is every round: a voter that occurs k times has k equal weights, and `steps_` has their sum. The
    program is solved by an interior point method of electorate; no other package is needed.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier or None, default=None
        The voters of the AdaBoost. None means :class:`Stumps`.
    ensemble : a fitted model of electorate or None, default=None
        A model; its voters are re-weighted instead.
    C : float, default=1.0
        The cost of a row for each unit below a margin of 1. For a row of weight s it is C s, so C depends on the
        scale of the sample weights: C times their sum must be from 1e-6 to 1e9.
    n_estimators : int, default=100
        The rounds of AdaBoost.
    tol : float, default=1e-9
        The duality gap at which the solver stops.
    class_weight : dict, "balanced" or None, default=None
        Factors by which sample weights are multiplied, by class. "balanced" gives every class the same total
        weight.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    n_jobs : int or None, default=None
        The number of threads. None means all CPUs that are available to this process, or fewer for small tables.
        The model does not depend on it.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the model is trained. This algorithm is trained on the CPU: "cuda" raises, "auto" is the same as "cpu".
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    classes_ : ndarray
        The classes of positive weight.
    n_classes_ : int
        The number of classes.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        alpha, one per distinct voter that has a weight: the sum of the weights of its copies.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    gap_ : float
        The duality gap, an upper bound on the distance of the objective from the optimum.
    certificate_ : str
        The statement that the gap proves: over the whole family if its search is exhaustive, else over the voters
        found.
    kkt_residual_ : float
        How far the optimality conditions are from holding.
    history_ : dict of ndarray
        A row for every voter that has a weight; edge and error are under the sample weights. Of voters with the
        same outputs on every row the first has the sum of their weights.
    stop_reason_ : str
        Why training ended: `converged`, `no_edge`, `solver` (it gave up) or `time_limit` (of the rounds of AdaBoost;
        other callbacks do not see them).
    feature_importances_ : ndarray
        The share of the steps that belongs to splits on each column.
    digest_ : str
        SHA-256 of the model. Models with equal digests are equal.
    seen_ : Seen
        Hashes of the training rows, so that `certificate` can refuse them as held-out rows. Not part of the
        model.

    See Also
    --------
    RLPBoostClassifier : The largest soft margin, by a linear program.
    LPBoostClassifier : The largest soft margin.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    References
    ----------
    .. [1] G. Raetsch, T. Onoda and K.-R. Mueller, "Soft margins for AdaBoost", Machine Learning 42, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import RQPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RQPBoostClassifier(n_estimators=50).fit(X, y).kkt_residual_ < 1e-6
    True
    """

    C: float = 1.0

    _guarantees = Guarantees(loss=HINGE)

    _program = "RQPBoost's objective"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ReweighedClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def _weigh(self, voters: VoterMatrix) -> Weighed:
        return weigh_quadratic(voters, float(self.C), self.tol)

    @property
    def kkt_residual_(self) -> float:
        """How far the optimality conditions are from holding; of several classes, the largest."""
        return float(self.history_["residual"].max(initial=0.0)) if "residual" in self.history_ else 0.0
