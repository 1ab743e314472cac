"""LPBoost: the largest soft margin over a family, by column generation.

Also what all totally corrective classifiers share: they solve a program over whole examples, so they run in this
process, and every fitted one has a duality gap.
"""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.lpboost import Margin, hard, in_c, in_nu
from electorate.algorithms.protocol import Booster
from electorate.estimators.classifier import BoostedClassifier, _keep_winner, _two_probabilities, shares
from electorate.exact import Floats
from electorate.model.decisions import Link
from electorate.theory import training as proved
from electorate.theory.bounds import HINGE
from electorate.training.classification import groups_of
from electorate.training.column_generation import LPBench
from electorate.training.fit import train
from electorate.training.lazy_inputs import refuse_lazy
from electorate.training.worker_data import Outline

DEFAULT_NU = 0.2  # of 0.05 to 0.7 the best held-out error of stumps over four small data sets
INACCURATE = 1e-6  # a duality gap that solvers reach however small tol is


class TotallyCorrectiveClassifier(BoostedClassifier):
    """Subclasses define `_train`."""

    _one_vs_rest = True
    _failed = ""  # the message of a solver that gave up

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X with labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of labels
        sample_weight : array-like, optional
            An integer weight k equals k copies of the row; rows of weight 0 are dropped.
        """
        refuse_lazy(self, X)
        super().fit(X, y, sample_weight)
        self._warn()
        return self

    def _booster(self, n_labels: int) -> Booster:
        raise TypeError(f"{type(self).__name__} solves a program: it has no booster")

    # ------------------------------------------------------------ the program's solution

    @property
    def gap_(self) -> float:
        """The duality gap, an upper bound on the distance of the objective from the optimum.

        With several classes, the largest gap. For the form in C and for RQPBoost, the gap is relative to the objective
        if that is larger than 1.
        """
        gaps = self.history_["gap"]
        labels = self.history_.get("label", np.zeros(len(gaps))).tolist()
        last = list({label: k for k, label in enumerate(labels)}.values())
        return float(gaps[last].max(initial=0.0))

    @property
    def certificate_(self) -> str:
        """The statement that the duality gap proves about this model."""
        raise NotImplementedError

    def _warn(self) -> None:
        """Warn if the program was not solved."""

    @property
    def estimator_errors_(self) -> Floats:
        """The weighted error of each voter when it was found."""
        history = self.history_
        used = np.flatnonzero(history["kept"] > 0)
        label = history["label"][used] if "label" in history else np.zeros(len(used))
        place = np.array([int(np.sum(label[:k] == label[k])) for k in range(len(used))], dtype=np.int64)
        return np.asarray(history["error"][used][np.lexsort((label, place))])

    # ------------------------------------------------------------ votes

    def _checked_probabilities(self, decision: Floats) -> Floats:
        """A class's share of the votes; its share among the shares where classes are fitted one by one."""
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            return vote_shares(decision, float(self._totals()[0]))
        return one_of_many(decision, self._totals())

    def _totals(self) -> Floats:
        """The sum of all steps; for more than two classes, of the steps of each."""
        sizes, about = np.abs(self.steps_), self.ensemble_.about
        if self.n_classes_ <= 2:
            return np.array([sizes.sum()])
        return np.array([sizes[about == k].sum() for k in range(self.n_classes_)])

    def _link(self) -> Link:
        return share_link(self._totals())


def vote_shares(decision: Floats, total: float) -> Floats:
    """Both classes' shares of the votes."""
    share = np.clip(decision / total, -1.0, 1.0) if total > 0 else np.zeros(len(decision))
    return _two_probabilities(np.asarray(0.5 * (1.0 + share)), decision)


def share_link(totals: Floats) -> Link:
    """The link of `vote_shares` and `one_of_many`."""
    largest = float(totals.max(initial=0.0))
    return Link("ramp", 1 / largest if largest > 0 else 0.0)


def one_of_many(decision: Floats, totals: Floats) -> Floats:
    """Shares that sum to 1 and fall in the order of the decision."""
    largest = max(float(totals.max(initial=0.0)), np.finfo(np.float64).tiny)
    return _keep_winner(shares(0.5 * (1.0 + np.clip(decision / largest, -1.0, 1.0))), decision)


@dataclass(eq=False, repr=False, kw_only=True)
class LPBoostClassifier(TotallyCorrectiveClassifier):
    """LPBoost: the weights with the largest soft margin over a whole family of voters, by a linear program.

    [1]_; the baseline of the QuadBoost paper. Each round adds the best voter of the family under the dual weights to
    the program, and solves it again with HiGHS, through SciPy or, warm-started, through highspy if it is installed
    (`pip install electorate[lp]`). The duality gap bounds how far the model is from the
    optimum over the family.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier or None, default=None
        The voters. None means :class:`Stumps`. Outputs are from -1 to 1.
    C : float or None, default=None
        The form in C: min sum(alpha) + C sum(xi), y f + xi >= 1. `C=inf` is the hard margin: the largest
        smallest margin with sum(alpha) = 1. The slack of a row of weight s costs C s, so C depends on the scale of
        the sample weights: C times their sum must be at most 1e9. If it is small, the model is constant, with a
        warning.
    nu : float or None, default=None
        The form in nu: max rho - sum(xi) / (nu n), y f >= rho - xi, sum(alpha) = 1: about a share nu of the
        rows may fall short of the margin rho. In (0, 1]; up to 1 / n it is the hard margin. If neither C nor nu
        is given, 0.2.
    n_estimators : int, default=500
        The largest number of rounds, and of voters.
    tol : float, default=1e-4
        Stop when the duality gap is at most this; in the form in C, relative to the objective where that is
        larger than 1.
    solver : {"auto", "scipy", "highspy"}, default="auto"
        "auto" uses highspy where it is installed. Objective and certificate are the same; where several weights
        are optimal the solvers may choose different ones.
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
        Per round: step (of the new voter), edge and error (under the dual weights it was found with),
        objective, gap, train_error, n_voters, kept (1 if the voter has a weight in the end), seconds.
    stop_reason_ : str
        Why training ended: `converged`, `n_estimators`, `no_edge`, `solver` (it gave up), `time_limit` or
        `callback`.
    feature_importances_ : ndarray
        The share of the steps that belongs to splits on each column.
    digest_ : str
        SHA-256 of the model. Models with equal digests are equal.
    seen_ : Seen
        Hashes of the training rows, so that `certificate` can refuse them as held-out rows. Not part of the
        model.

    See Also
    --------
    RLPBoostClassifier : The same program over the voters of AdaBoost.
    QuadBoostClassifier : Quadratic risk with L1, L2 or Linf penalties.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    More than two classes are fitted one against the rest on shared bins. `predict_proba` is the share of a class in
    the votes, (1 + f / sum(alpha)) / 2; it is not calibrated. Stages replay the voters with their final weights.
    Where one label has all but a millionth of the weight, the model is the constant voter (`no_edge`).

    References
    ----------
    .. [1] A. Demiriz, K. P. Bennett and J. Shawe-Taylor, "Linear programming boosting via column generation",
       Machine Learning 46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(nu=0.2).fit(X, y)
    >>> model.stop_reason_, model.gap_ <= 1e-4
    ('converged', True)
    """

    C: float | None = None
    nu: float | None = None
    n_estimators: int = 500
    tol: float = 1e-4
    solver: str = "auto"

    _guarantees = proved.Guarantees(rounds=proved.lpboost, loss=HINGE)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TotallyCorrectiveClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right"), None],
        "nu": [Interval(Real, 0, 1, closed="right"), None],
        "solver": [StrOptions({"auto", "scipy", "highspy"})],
    }

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        if self.C is not None and self.nu is not None:
            raise ValueError(f"C={self.C} and nu={self.nu} are two forms of one program: give one of them")
        bench = LPBench(self, place, outline, self._margin)
        train(bench, groups_of(self, outline.classes), context, data)
        self._failed, self._total = bench.failed, bench.examples.weights.given
        self._no_margin = np.inf == self.C and min(bench.margins, default=np.inf) <= 0

    def _margin(self, mass: Floats) -> Margin:
        if np.inf == self.C:
            return hard(mass)
        if self.C is not None:
            return in_c(mass, float(self.C))
        return in_nu(mass, float(self.nu if self.nu is not None else DEFAULT_NU))

    def _warn(self) -> None:
        found: list[str] = []
        if self._failed:
            found.append(
                f"the solver gave up ({self._failed}); the model is that of the program before, with a gap of "
                f"{self.gap_:.3g}"
            )
        elif self.stop_reason_ == "n_estimators":
            found.append(
                f"n_estimators={self.n_estimators} rounds ended with a duality gap of {self.gap_:.3g}, above tol: give "
                "more rounds, or a larger tol"
            )
        elif self.stop_reason_ == "converged" and self.gap_ > max(self.tol, INACCURATE):
            found.append(f"rounding leaves a duality gap of {self.gap_:.3g}, above tol={self.tol:g}")
            if self.C is not None and np.isfinite(self.C):
                found[0] += f": C={self.C:g} is large for a total sample weight of {self._total:.4g}; use a smaller C"
        if self._no_margin:
            found.append(
                "the hard margin (C=inf) is infeasible: no weights of the voters found put every row on its right "
                f"side; the model has the largest smallest margin there is (gap {self.gap_:.3g}); use a finite C, or nu"
            )
        for text in found:
            warnings.warn(f"{type(self).__name__}: {text}", ConvergenceWarning, stacklevel=3)
        if self.n_classes_ > 1 and not self.ensemble_.n_voters and self.C is not None:
            warnings.warn(
                f"{type(self).__name__}: C={self.C} is so small, for a total sample weight of {self._total:.4g}, that "
                "no voter is worth its weight: the model is constant; use a larger C",
                UserWarning,
                stacklevel=3,
            )

    @property
    def certificate_(self) -> str:
        form = "the smallest margin" if np.inf == self.C else "the objective"
        family = self.estimator_
        if self.n_classes_ == 1:
            return "one class: there is nothing to decide"
        if getattr(family, "exhaustive", False):
            where = f"over all voters of {family!r}: its search is exhaustive"
        else:
            where = f"over the columns found: the search of {family!r} is not exhaustive"
        return f"{form} is within {self.gap_:.3g} of the optimum {where}"
