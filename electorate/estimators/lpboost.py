"""LPBoost behind a scikit-learn face: the largest soft margin over a family, by column generation.

Also what all totally corrective classifiers share: they solve a program over whole examples, so they run in this
process, and every fitted one says how far from the optimum it can be.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.programs import Margin, Normalised, hard, in_c, in_nu, master_of
from electorate.algorithms.protocol import Booster
from electorate.data import inputs
from electorate.data.all_reduce import run_locally
from electorate.data.bins import Bins, find_bins
from electorate.data.seen_rows import seen_of
from electorate.data.weights import Weights
from electorate.engines.distinct import DistinctBins, DistinctRows, distinct_rows
from electorate.engines.shard import Examples
from electorate.estimators.classifier import BoostedClassifier
from electorate.model.casting import from_casts
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import Outcome, history_of
from electorate.model.row_ensemble import RowEnsemble
from electorate.model.text import column_names
from electorate.theory import training as proved
from electorate.theory.bounds import HINGE
from electorate.threads import ThreadPool, count_jobs
from electorate.training.callbacks import Hooks
from electorate.training.column_generation import Candidate, Generation
from electorate.training.worker_data import ClassPlan, problem_steps
from electorate.voters.by_rows import ByRows, Hearing
from electorate.voters.trees import Search, Voter
from electorate.voters.wrapped import Speech, Wrapped

DEFAULT_NU = 0.2  # of 0.05 to 0.7 the best held-out error of stumps over four small data sets
INACCURATE = 1e-6  # a duality gap that solvers reach however small tol is
NO_BINS = Bins([], {}, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64))
NO_COUNTS = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True)
class Task:
    """Rows with labels 0..K-1 and weights."""

    table: Any
    labels: NDArray[np.int64]
    weights: Weights
    classes: NDArray[Any]
    given: NDArray[np.float64]  # the sample weights, without those of the classes

    @property
    def groups(self) -> list[NDArray[np.int64]]:
        """Labels as 0 and 1: as they are, or each one against the rest."""
        n = len(self.classes)
        return [np.arange(2)] if n == 2 else [(np.arange(n) == label).astype(np.int64) for label in range(n)]


class TotallyCorrectiveClassifier(BoostedClassifier):
    """Subclasses define `_solve(task, context, data)`, which sets the fitted attributes."""

    early_stopping = False
    warm_start = False
    _one_vs_rest = True
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        name: BoostedClassifier._parameter_constraints[name]
        for name in (
            *("estimator", "n_estimators", "class_weight", "max_bins", "categorical_features", "tol", "n_jobs"),
            "random_state",
        )
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X with labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of labels
        sample_weight : array-like, optional
            A whole weight k is the row k times; rows of weight 0 are left out.
        """
        refuse_dask(self, X)
        before = dict(self.__dict__)
        try:
            self._validate_family()
            context = self._init_callback_context(max_subtasks=None)
            task = self._task(X, y, sample_weight)
            context.max_subtasks = self.n_estimators * len(task.groups)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
            self._solve(task, context, (X, y))
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
        except BaseException:
            self._restore(before)
            raise
        self._warn()
        return self

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        given = self._given(X, y, sample_weight, reset=True)
        self.seen_ = seen_of([(given.table, given.labels, given.weight)])
        if getattr(self, "ensemble", None) is not None:  # whose rows chose the voters
            self.seen_ = self.seen_.and_also(getattr(self.ensemble, "seen_", None))
        problem = run_locally(problem_steps(given, ClassPlan(self.class_weight)))
        examples = run_locally(problem.read_steps())
        return Task(examples.table, examples.labels, examples.weights, problem.classes, given.weight)

    def _solve(self, task: Task, context: Any, data: tuple[Any, Any]) -> None:
        raise NotImplementedError

    def _booster(self, n_labels: int) -> Booster:
        raise TypeError(f"{type(self).__name__} solves a program: it has no booster")

    # ------------------------------------------------------------ what the fit says of itself

    @property
    def gap_(self) -> float:
        """The duality gap: at most so far is the objective from the optimum. Of several classes, the largest.

        Of the form in C and of RQPBoost relative to the objective where that is larger than 1.
        """
        last = _last_of_each(self.history_)
        return float(self.history_["gap"][last].max(initial=0.0))

    @property
    def certificate_(self) -> str:
        """What the duality gap proves of this model."""
        raise NotImplementedError

    def _warn(self) -> None:
        """A program that was not solved is not passed over in silence."""

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        """The weighted error of each voter when it was found."""
        history = self.history_
        kept = np.flatnonzero(history["kept"] > 0)
        label = history["label"][kept] if "label" in history else np.zeros(len(kept))
        place = np.array([int(np.sum(label[:k] == label[k])) for k in range(len(kept))], dtype=np.int64)
        return np.asarray(history["error"][kept][np.lexsort((label, place))])

    # ------------------------------------------------------------ votes

    def _checked_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """A class's share of the votes; its share among the shares where classes are fitted one by one."""
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        about = self.ensemble_.about
        if self.n_classes_ == 2:
            return vote_shares(decision, float(np.abs(self.steps_).sum()))
        totals = np.array([np.abs(self.steps_[about == k]).sum() for k in range(self.n_classes_)])
        return one_of_many(decision, totals)


def refuse_dask(model: Any, X: Any) -> None:
    if hasattr(X, "__dask_graph__"):
        raise ValueError(
            f"{type(model).__name__} solves its program over all examples at once, in one process, and X is a Dask "
            "collection: call X.compute() first, or use AdaBoostClassifier, which runs on the cluster"
        )


def vote_shares(decision: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Both classes' shares of the votes; where rounding made a positive decision an even chance, it stays larger."""
    share = np.clip(decision / total, -1.0, 1.0) if total > 0 else np.zeros(len(decision))
    second: NDArray[np.float64] = 0.5 * (1.0 + share)
    np.maximum(second, np.nextafter(0.5, 1.0), out=second, where=decision > 0)
    return np.asarray(np.stack([1.0 - second, second], axis=1))


def one_of_many(decision: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares that sum to 1 and fall in the order of the decision."""
    largest = max(float(totals.max(initial=0.0)), np.finfo(np.float64).tiny)
    share = 0.5 * (1.0 + np.clip(decision / largest, -1.0, 1.0))
    total = share.sum(axis=1, keepdims=True)
    proba = np.divide(share, total, out=np.full_like(share, 1.0 / share.shape[1]), where=total > 0)
    winner = np.argmax(decision, axis=1)
    lost = np.flatnonzero(np.argmax(proba, axis=1) != winner)
    proba[lost, winner[lost]] = np.nextafter(proba[lost].max(axis=1, initial=0.0), 2.0)
    return np.asarray(proba)


def joined_history(outcomes: list[Outcome]) -> dict[str, NDArray[Any]]:
    """Round by round; where classes were fitted one by one, with the label each row is about."""
    empty = {name: np.empty(0) for name in ("step", "edge", "error", "objective", "gap", "train_error")}
    empty |= {"n_voters": np.empty(0, dtype=np.int64), "seconds": np.empty(0), "kept": np.empty(0)}
    if len(outcomes) == 1:
        return {**empty, **history_of(outcomes[0].rows)} if outcomes[0].rows else empty
    longest = max(len(outcome.rows) for outcome in outcomes)
    rows = [
        {**outcome.rows[t], "label": label}
        for t in range(longest)
        for label, outcome in enumerate(outcomes)
        if t < len(outcome.rows)
    ]
    return {"label": np.empty(0), **(history_of(rows) if rows else empty)}


def _last_of_each(history: dict[str, NDArray[Any]]) -> list[int]:
    """The last row of each class."""
    n = len(history["gap"])
    labels = history["label"].tolist() if "label" in history else [0.0] * n
    return sorted({label: k for k, label in enumerate(labels)}.values())


# ---------------------------------------------------------------- searching under given weights


class BinSearch:
    """The best voter of a family over bins, under given weights."""

    def __init__(self, family: Any, engine: DistinctBins, bins: Bins) -> None:
        self.family = family
        self.engine = engine
        self.bins = bins
        self.mass = engine.mass

    @property
    def signs(self) -> NDArray[np.float64]:
        return self.engine.signs

    def best(self, weights: NDArray[np.float64]) -> Candidate:
        return self._heard(self.family.best(self._search(weights)))

    def constant(self, weights: NDArray[np.float64]) -> Candidate:
        return self._heard(self.family.constant(self._search(weights)))

    def _search(self, weights: NDArray[np.float64]) -> Search:
        return Search(self.engine.sums(weights), self.bins, self.engine.counts, self.engine.shard)

    def _heard(self, voter: Voter) -> Candidate:
        outputs = scaled(self.family.outputs(voter, self.engine.n_counted, "label"))
        return Candidate(voter, outputs, self.engine.outputs(voter, outputs))


class RowsSearch:
    """The best voter of a family that looks at whole rows; make(group): the family as the loop wants it."""

    def __init__(self, make: Callable[[NDArray[np.int64]], Any], engine: DistinctRows) -> None:
        self.make = make
        self.engine = engine
        self.mass = engine.mass
        self.family: Any = None

    def start(self, group: NDArray[np.int64]) -> None:
        self.engine.start(group)
        self.family = self.make(group)

    @property
    def signs(self) -> NDArray[np.float64]:
        return self.engine.signs

    def best(self, weights: NDArray[np.float64]) -> Candidate:
        return self._heard(self.family.best(self._search(weights)))

    def constant(self, weights: NDArray[np.float64]) -> Candidate:
        return self._heard(self.family.constant(self._search(weights)))

    def _search(self, weights: NDArray[np.float64]) -> Search:
        return Search(self.engine.sums(weights), NO_BINS, NO_COUNTS, self.engine)

    def _heard(self, voter: Voter) -> Candidate:
        assert voter.said is not None
        return Candidate(voter, voter.said, self.engine.outputs(voter, voter.said))


def scaled(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Into -1 to 1: what voters of other scales say must not count for more."""
    largest = float(np.abs(outputs).max(initial=0.0))
    if not np.isfinite(largest):
        raise ValueError("a leaf says infinity, which no margin can hold: give the family a smoothing above 0")
    return np.asarray(outputs / largest) if largest > 1 else outputs


# ---------------------------------------------------------------- LPBoost


class LPBoostClassifier(TotallyCorrectiveClassifier):
    """LPBoost: the voters' weights that maximise the soft margin, over a whole family of voters, by a linear program.

    Demiriz, Bennett and Shawe-Taylor 2002; the baseline of the QuadBoost paper. Each round the family's best voter
    under the program's dual weights enters, and all weights are solved for again (HiGHS, through SciPy, or warm-started
    through highspy where that is installed: ``pip install electorate[lp]``). The duality gap says how far the model can
    be from the optimum over the family.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier or None, default=None
        What votes. None means :class:`Stumps`. Voters say -1 to 1.
    C : float or None, default=None
        The form in C: min sum(alpha) + C sum(xi), y f + xi >= 1. ``C=inf`` is the hard margin: the largest smallest
        margin with sum(alpha) = 1. A row of weight s pays C s, so C depends on the scale of the sample weights: C times
        their sum must be at most 1e9, and a small one makes the model constant, with a warning.
    nu : float or None, default=None
        The form in nu: max rho - sum(xi) / (nu n), y f >= rho - xi, sum(alpha) = 1: about a share nu of the rows may
        fall short of the margin rho. In (0, 1]; up to 1 / n it is the hard margin. If neither C nor nu is given, 0.2.
    n_estimators : int, default=500
        The largest number of rounds: searches, and voters that enter.
    tol : float, default=1e-4
        Stop when the duality gap is at most this (in C relative to the objective where that is larger than 1).
    solver : {"auto", "scipy", "highspy"}, default="auto"
        Objective and certificate are the same; where several weights are optimal the solvers may choose others.
    class_weight, max_bins, categorical_features, n_jobs, random_state
        As in :class:`AdaBoostClassifier`.

    Attributes
    ----------
    steps_ : ndarray
        alpha, one per voter that has a weight.
    gap_ : float
        The duality gap.
    certificate_ : str
        What it proves: over the whole family where its search is exhaustive, else over the columns found.
    history_ : dict of ndarray
        Per round: step (the new voter's weight), edge and error (under the dual weights it was found by), objective,
        gap, train_error, n_voters, kept (1 if the voter has a weight in the end), seconds.
    stop_reason_ : str
        ``converged``, ``n_estimators``, ``no_edge``, ``solver`` (it gave up), ``time_limit`` or ``callback``.

    Notes
    -----
    More than two classes are fitted one against the rest on shared bins. ``predict_proba`` is a class's share of the
    votes, (1 + f / sum(alpha)) / 2; it is not calibrated. Stages replay the voters with their final weights. Where one
    label has all but a millionth of the weight the model is the constant voter (``no_edge``), whatever the form.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(nu=0.2).fit(X, y)
    >>> model.stop_reason_, model.gap_ <= 1e-4
    ('converged', True)
    """

    _guarantees = proved.Guarantees(rounds=proved.lpboost, loss=HINGE)

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **TotallyCorrectiveClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right"), None],
        "nu": [Interval(Real, 0, 1, closed="right"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "scipy", "highspy"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        C: float | None = None,
        nu: float | None = None,
        n_estimators: int = 500,
        tol: float = 1e-4,
        solver: str = "auto",
        class_weight: Any = None,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.nu = nu
        self.n_estimators = n_estimators
        self.tol = tol
        self.solver = solver
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, task: Task, context: Any, data: tuple[Any, Any]) -> None:
        if self.C is not None and self.nu is not None:
            raise ValueError(f"C={self.C} and nu={self.nu} are two forms of one program: give one of them")
        self._no_margin, self._failed, self._total = False, "", task.weights.given
        if self._is_native:
            self._solve_over_bins(task, context, data)
        else:
            self._solve_over_rows(task, context, data)

    def _solve_over_bins(self, task: Task, context: Any, data: tuple[Any, Any]) -> None:
        table = task.table
        with ThreadPool(count_jobs(self.n_jobs, table.n_rows * table.n_columns)) as pool:
            categorical = inputs.category_columns(table, self.categorical_features, table.category_columns())
            bins = find_bins(table, task.weights.whole, categorical, self.max_bins, pool)
        n_outputs = 1 if len(task.classes) == 2 else len(task.classes)

        def make(outcomes: list[Outcome]) -> dict[str, Any]:
            runs = _filled(outcomes, task)
            ensemble = from_casts([run.casts for run in runs], bins, n_outputs)
            return {"bins_": bins, **self._fitted(task, ensemble, runs)}

        def searches() -> BinSearch:
            examples = Examples(table, task.labels, len(task.classes), task.weights)
            return BinSearch(self._family(), DistinctBins(examples, bins), bins)

        self._run(task, context, data, make, searches)

    def _solve_over_rows(self, task: Task, context: Any, data: tuple[Any, Any]) -> None:
        X, family, classes = task.table, self._family(), task.classes
        two = np.arange(2) if len(classes) > 2 else classes
        speech: Any = Hearing(two, "any", type(self).__name__) if self._by_rows else Speech(two, "label", 0.0)

        def make(outcomes: list[Outcome]) -> dict[str, Any]:
            runs = _filled(outcomes, task)
            casts = [run.casts for run in runs]
            if not self._by_rows:
                return self._fitted(task, ForeignEnsemble(casts, speech, X.shape[1]), runs)
            nothing = np.zeros(X.shape[1], dtype=np.int64)
            bins = Bins([np.empty(0)] * X.shape[1], {}, nothing.astype(np.bool_), nothing)
            return {"bins_": bins, **self._fitted(task, RowEnsemble(casts, speech, X.shape[1], family), runs)}

        def searches() -> RowsSearch:
            kept, labels, mass = distinct_rows(X, task.labels, task.weights)
            rows = X[kept]
            engine = DistinctRows(labels, len(classes), mass, lambda voter: speech.of(voter, rows))

            def family_of(group: NDArray[np.int64]) -> Any:
                if self._by_rows:
                    return ByRows(family, rows, speech, column_names(self))
                return Wrapped(family, rows, two[group[labels]], speech, self.random_state)

            return RowsSearch(family_of, engine)

        self._run(task, context, data, make, searches)

    def _run(self, task: Task, context: Any, data: tuple[Any, Any], make: Any, searches: Any) -> None:
        """Once, or once per class; nothing of the model changes before all is done."""
        with Hooks(self, context, data, make, len(task.groups)) as hooks:
            if len(task.classes) == 1:
                hooks.finished.append(Outcome(stop_reason="no_edge"))
                return
            examples = searches()
            for group in task.groups:
                (examples if isinstance(examples, RowsSearch) else examples.engine).start(group)
                hooks.finished.append(self._run_one(examples, hooks))

    def _run_one(self, examples: Any, hooks: Hooks) -> Outcome:
        hooks.prepare()
        hooks.replay(Outcome())
        margin = self._margin(examples.mass)
        generation = Generation(examples, margin, master_of(margin, self.solver))
        outcome = generation.run(self.n_estimators, self.tol, lambda outcome: hooks.after(outcome))
        self._failed = generation.failed or self._failed
        if np.inf == self.C and isinstance(margin, Normalised):
            self._no_margin |= margin.rho(generation.margins) <= 0
        return outcome

    def _margin(self, mass: NDArray[np.float64]) -> Margin:
        if np.inf == self.C:
            return hard(mass)
        if self.C is not None:
            return in_c(mass, float(self.C))
        return in_nu(mass, float(self.nu if self.nu is not None else DEFAULT_NU))

    def _fitted(self, task: Task, ensemble: Any, outcomes: list[Outcome]) -> dict[str, Any]:
        longest = max(outcomes, key=lambda outcome: len(outcome.rows))
        unsolved = [outcome.stop_reason for outcome in outcomes if outcome.stop_reason != "converged"]
        return {
            "classes_": task.classes,
            "n_classes_": len(task.classes),
            "estimator_": self._family(),
            "ensemble_": ensemble,
            "history_": joined_history(outcomes),
            "stop_reason_": unsolved[0] if unsolved else longest.stop_reason,
        }

    def _warn(self) -> None:
        name = type(self).__name__
        if self._failed:
            said = f"the solver gave up ({self._failed}); the model is that of the program before"
            warnings.warn(f"{name}: {said}, with a gap of {self.gap_:.3g}", ConvergenceWarning, stacklevel=4)
        elif self.stop_reason_ == "n_estimators":
            said = f"n_estimators={self.n_estimators} rounds ended with a duality gap of {self.gap_:.3g}, above tol"
            warnings.warn(f"{name}: {said}: give more rounds, or a larger tol", ConvergenceWarning, stacklevel=4)
        elif self.stop_reason_ == "converged" and self.gap_ > max(self.tol, INACCURATE):
            said = f"rounding leaves a duality gap of {self.gap_:.3g}, above tol={self.tol:g}"
            if self.C is not None and np.isfinite(self.C):
                said += f": C={self.C:g} is large for a total sample weight of {self._total:.4g}; use a smaller C"
            warnings.warn(f"{name}: {said}", ConvergenceWarning, stacklevel=4)
        if self._no_margin:
            said = (
                "the hard margin (C=inf) is infeasible: no weights of the voters found put every row on its right side"
            )
            advice = f"the model has the largest smallest margin there is (gap {self.gap_:.3g}); use a finite C, or nu"
            warnings.warn(f"{name}: {said}; {advice}", ConvergenceWarning, stacklevel=4)
        if self.n_classes_ > 1 and not self.ensemble_.n_voters and self.C is not None:
            said = (
                f"C={self.C} is so small, for a total sample weight of {self._total:.4g}, that no voter is worth its "
                "weight: the model is constant; use a larger C"
            )
            warnings.warn(f"{name}: {said}", UserWarning, stacklevel=4)

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


def _filled(outcomes: list[Outcome], task: Task) -> list[Outcome]:
    """One outcome per class, those still to come empty."""
    wanted = len(task.groups) if len(task.classes) > 1 else 1
    return [*outcomes, *(Outcome() for _ in range(wanted - len(outcomes)))]
