"""Re-weight the voters of a fitted ensemble and keep few of them: electorate's models, forests, bagging, AdaBoost.

The weights solve a linear program (the soft margin), a quadratic program, or the Lasso. A limit or the accuracy on
held-out rows decides how many voters stay.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from electorate import kernels
from electorate.algorithms.lpboost import in_nu
from electorate.data import inputs
from electorate.data.row_subset import take_rows
from electorate.data.seen_rows import seen_of
from electorate.data.split import DrawCandidates, draw, hash_rows
from electorate.data.weights import read_weights
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.estimators.guarantees import Certified
from electorate.estimators.lpboost import one_of_many, share_link, vote_shares
from electorate.estimators.voting import VotingClassifier
from electorate.exact import Bools, Floats, Ints, on_grid
from electorate.export.exported import Exported
from electorate.model.decisions import Link
from electorate.model.ensemble import Ensemble
from electorate.model.foreign_ensemble import RowEnsemble
from electorate.model.voter_outputs import Picks, VoterOutputs, count_rows, rows_of
from electorate.theory.bounds import HINGE
from electorate.theory.training import Guarantees
from electorate.training.lazy_inputs import refuse_lazy
from electorate.training.totally_corrective import (
    VoterMatrix,
    counted_rows,
    first_of_each,
    lasso,
    pool_of_voters,
    weigh_linear,
    weigh_quadratic,
)

Strengths = Sequence[float]  # of regularisation, in (0, 1]


def _by_margin(matrix: VoterMatrix, strengths: Strengths) -> Iterator[Floats]:
    """LPBoost with nu = strength."""
    for nu in strengths:
        yield weigh_linear(matrix, in_nu(matrix.mass, nu), "auto", 1e-6).alpha


def _by_square(matrix: VoterMatrix, strengths: Strengths) -> Iterator[Floats]:
    """RQPBoost with one weight per distinct voter, and C = 1 / (strength^2 n); n is the total weight of the rows."""
    for strength in strengths:
        yield weigh_quadratic(matrix, 1.0 / (strength**2 * float(matrix.mass.sum())), 1e-5).alpha


def _by_lasso(matrix: VoterMatrix, strengths: Strengths) -> Iterator[Floats]:
    """QuadBoost-L1 with lam = strength times the smallest lam that empties the model."""
    pool = pool_of_voters(matrix)
    empty = float(np.abs(pool.mu).max(initial=0.0))
    return lasso(pool, [strength * empty for strength in strengths], 1e-6)


class Program(NamedTuple):
    """weigh: the weights for each strength. text: the strength, or its square inverted, as the program's parameter."""

    weigh: Callable[[VoterMatrix, Strengths], Iterator[Floats]]
    strengths: Strengths
    text: str


PROGRAMS = {
    "lp": Program(_by_margin, (0.6, 0.5, 0.4, 0.3, 0.2, 0.1), "nu={0:g}"),
    "qp": Program(_by_square, (0.5, 0.2, 0.1, 0.05), "C={1:g}/n"),
    "quad-l1": Program(
        _by_lasso,
        (0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001),
        "lam={0:g} times the smallest that empties the model",
    ),
}


@dataclass(frozen=True)
class ThinningChoice:
    """One strength of regularisation, the number of voters it leaves, and their accuracy on the held-out rows.

    strength is in (0, 1], and a larger one regularises more. It is nu for "lp", 1 / sqrt(C n) for "qp" (n is the total
    weight), and lam divided by the smallest lam that empties the model for "quad-l1".
    """

    strength: float
    n_voters: int
    score: float


def thin(
    model: Any,
    X: Any,
    y: Any,
    *,
    by: str = "quad-l1",
    max_voters: int | None = None,
    sample_weight: Any = None,
    validation_fraction: float = 0.25,
    random_state: Any = 0,
) -> "ThinnedClassifier":
    """Return a smaller ensemble made of some voters of a fitted one, with new weights.

    Parameters
    ----------
    model : a fitted ensemble
        One of electorate's classifiers, or scikit-learn's RandomForestClassifier, ExtraTreesClassifier,
        BaggingClassifier or AdaBoostClassifier.
    X, y : array-like
        Rows that determine the weights. Use rows that the model was not fitted to: on its training rows, a voter that
        overfits looks better than it is.
    by : str, default="quad-l1"
        The program that weights the voters; as in :class:`ThinnedClassifier`.
    max_voters : int, optional
        The largest number of voters.
    sample_weight : array-like, optional
        Weights of the rows.
    validation_fraction : float, default=0.25
        The fraction of the rows by which the strength of the penalty is chosen.
    random_state : int, RandomState instance or None, default=0
        The seed of that split.

    Returns
    -------
    ThinnedClassifier
        Fitted. Its ``estimator`` is an unfitted clone of ``model``, so it does not keep the other voters alive.

    See Also
    --------
    ThinnedClassifier : Fits the ensemble and thins it, in one estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from electorate import thin
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X[:300], y[:300])
    >>> len(thin(forest, X[300:], y[300:], max_voters=10).kept_) <= 10
    True
    """
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} is no classifier, so not an ensemble that can be re-weighted")
    if hasattr(model, "steps_") and not len(model.steps_):
        raise ValueError(f"thin: this {type(model).__name__} has no voters")
    thinned = ThinnedClassifier(
        clone(model), by=by, max_voters=max_voters, validation_fraction=validation_fraction, random_state=random_state
    )
    thinned._validate_params()
    refuse_lazy(thinned, X)
    thinned._weigh(model, X, y, sample_weight, thinned._seed())
    return thinned


@dataclass
class _Search:
    """The choice of the strength of regularisation, by accuracy on held-out rows. Runs: see `VoterOutputs`."""

    outputs: list[Floats]  # [run][voter, row]
    labels: Ints
    counts: Ints
    given: float
    program: Program
    max_voters: int | None
    tried: list[ThinningChoice] = field(default_factory=list)

    def choose(self, judge: Bools) -> ThinningChoice:
        """judge[row]: whether a row is held out. Where none is, all rows both weigh and judge."""
        held, learn = np.flatnonzero(judge), np.flatnonzero(~judge)
        if not len(held):
            held = learn
        paths = [self.weigh(run, learn, self.program.strengths) for run in range(len(self.outputs))]
        for strength, *alphas in zip(self.program.strengths, *paths, strict=False):  # a path may end early
            votes = np.array([a @ outputs[:, held] for a, outputs in zip(alphas, self.outputs, strict=True)])
            predicted = votes[0] > 0 if len(votes) == 1 else np.argmax(votes, axis=0)
            score = float(np.average(predicted == self.labels[held], weights=self.counts[held]))
            size = len(set().union(*(np.flatnonzero(a).tolist() for a in alphas)))
            self.tried.append(ThinningChoice(strength, size, score))
        best = max(self.tried, key=lambda choice: (choice.score, -choice.n_voters))
        if self.max_voters is not None:
            return best
        near = best.score - np.sqrt(best.score * (1 - best.score) / len(held))
        return min((c for c in self.tried if c.score >= near and c.n_voters), key=lambda c: c.n_voters, default=best)

    def weigh(self, run: int, rows: Any, strengths: Strengths) -> list[Floats]:
        """Return for each strength alpha of all voters, with at most max_voters of them, by these rows.

        Where too many voters have a weight, the heaviest are weighed again by themselves. A strength that leaves more
        than twice as many voters as wanted ends the path: later ones leave more.
        """
        outputs, n_runs = self.outputs[run][:, rows], len(self.outputs)
        voters, _ = first_of_each(outputs)
        second = self.labels[rows] == (1 if n_runs == 1 else run)
        matrix = VoterMatrix.of(outputs, second, self.counts[rows], self.given).only(voters)
        n = len(voters)
        most = n if self.max_voters is None else max(1, min(self.max_voters // n_runs, n))
        alphas: list[Floats] = []
        for strength, found in zip(strengths, self.program.weigh(matrix, strengths), strict=False):
            alpha, chosen = np.zeros(len(outputs)), found
            if np.count_nonzero(found) > most:
                heaviest = np.sort(np.argsort(-np.abs(found), kind="stable")[:most])
                chosen = np.zeros(n)
                chosen[heaviest] = next(self.program.weigh(matrix.only(heaviest), [strength]))
            alpha[voters] = chosen
            alphas.append(np.asarray(on_grid(alpha)))
            if np.count_nonzero(found) > 2 * most:
                break
        return alphas


def _set_aside(rows: Any, labels: Ints, part: float, seed: int) -> Bools:
    """Whether each row is drawn: a part of the distinct rows of each class, at least one, never all.

    The draw depends on what rows hold. Equal rows are on the same side, so neither the order of the rows nor weights
    instead of repeated rows change it.
    """
    hashes = hash_rows(rows, seed)
    kernels.fold(labels.astype(np.float64), hashes)
    distinct, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    once = np.ones(len(distinct), dtype=np.int64)
    drawn = draw(DrawCandidates(distinct, once, labels[first], int(labels.max()) + 1), part)
    return np.asarray(drawn[place] > 0)


def _without_voters(model: Any) -> Any:
    """The model as the reader of X: without its voters."""
    reader = object.__new__(type(model))
    left_out = {"ensemble_", "estimators_", "estimators_features_", "history_", "_hooks", "_skl_callbacks"}
    reader.__dict__.update({name: value for name, value in model.__dict__.items() if name not in left_out})
    if hasattr(model, "ensemble_"):
        reader.ensemble_ = None
    return reader


@dataclass(eq=False, repr=False)
class ThinnedClassifier(Certified, Exported, VotingClassifier, BaseEstimator):
    """An ensemble of few voters: fits an ensemble, then re-weights its voters on other rows and drops most of them.

    Parameters
    ----------
    estimator : an ensemble or None, default=None
        One of electorate's classifiers, or scikit-learn's RandomForestClassifier, ExtraTreesClassifier,
        BaggingClassifier or AdaBoostClassifier. ``fit`` fits a clone of it. To thin an ensemble that is fitted already,
        use :func:`thin`, or wrap it in scikit-learn's ``FrozenEstimator``: then all rows determine the weights. None
        means :class:`AdaBoostClassifier` with 100 rounds.
    by : {"quad-l1", "lp", "qp"}, default="quad-l1"
        The program that the weights solve: the Lasso, min mean (y - f)^2 + 2 lam sum|alpha| (QuadBoost-L1); the soft
        margin (LPBoost); or RQPBoost, with one weight per distinct voter.
    max_voters : int or None, default=None
        The most voters to keep; for more than two classes at least one per class. The strength of regularisation is the
        one with the best held-out accuracy; if it leaves more voters, only those with the largest weights are kept
        and re-weighted. None: the fewest voters with a held-out accuracy within one standard error of the best.
    weighing_fraction : float, default=0.25
        The part of every class that determines the weights. The ensemble is fitted to the other rows. Where a class has
        one distinct row only, the ensemble is fitted to all rows, and all determine the weights.
    validation_fraction : float, default=0.25
        The part of these rows that chooses the strength. Afterwards all of them determine the weights.
    random_state : int, RandomState or None, default=0
        Seed of the two splits. They depend on the contents of the rows, not on their order; equal rows stay together.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    n_voters_in_ : int
        How many voters the ensemble had.
    kept_ : ndarray
        The positions of the remaining voters in the ensemble.
    weights_ : ndarray of shape (1 or classes, voters)
        Their weights.
    tried_ : list of ThinningChoice
        For each strength tried: ``strength``, ``n_voters`` and ``score``, the held-out accuracy. A strength is in
        (0, 1], and a larger one regularises more. It is nu for "lp", 1 / sqrt(C n) for "qp" (n is the total weight of
        the rows), and lam divided by the smallest lam that empties the model for "quad-l1".
    summary_ : str
        The number of voters that are left, the program with its parameter, and the held-out accuracy.

    Notes
    -----
    Probabilities are the shares of the votes; they are not calibrated. The stages of ``staged_predict`` are the voter
    with the largest weight (of each class), the two largest, and so on.

    See Also
    --------
    thin : Thins a fitted ensemble.
    RLPBoostClassifier, RQPBoostClassifier : Re-weight the voters without dropping any on purpose.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from electorate import ThinnedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> small = ThinnedClassifier(RandomForestClassifier(50, random_state=0), max_voters=10).fit(X, y)
    >>> len(small.kept_) <= 10
    True
    """

    estimator: Any = None
    _: KW_ONLY
    by: str = "quad-l1"
    max_voters: int | None = None
    weighing_fraction: float = 0.25
    validation_fraction: float = 0.25
    random_state: Any = 0

    _guarantees = Guarantees(loss=HINGE)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "by": [StrOptions(set(PROGRAMS))],
        "max_voters": [Interval(Integral, 1, None, closed="left"), None],
        "weighing_fraction": [Interval(Real, 0, 1, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble, re-weight its voters and keep few of them.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of labels
        sample_weight : array-like, optional
            A weight of k is the row k times; rows of weight 0 are left out.
        """
        refuse_lazy(self, X)
        table = inputs.check_table(self, X, reset=True)
        labels = inputs.check_labels(self, y, table.n_rows)
        weight = inputs.check_weight(sample_weight, table.n_rows)
        used = np.flatnonzero(read_weights(weight).times)
        classes, codes = np.unique(labels[used], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has one class only ({classes[0]!r}): ThinnedClassifier needs two classes or more")
        given, seed = inputs.indexable(X), self._seed()
        frozen = isinstance(self.estimator, FrozenEstimator)
        fitting = weighing = used
        if not frozen:
            aside = _set_aside(take_rows(given, used), codes, self.weighing_fraction, seed)
            if len(np.unique(codes[aside])) == len(classes):
                fitting, weighing = used[~aside], used[aside]
        weights = [None if sample_weight is None else weight[rows] for rows in (fitting, weighing)]
        if frozen:
            model = self.estimator.estimator
            check_is_fitted(model)
        else:
            weighted = {} if weights[0] is None else {"sample_weight": weights[0]}
            model = clone(self._ensemble()).fit(take_rows(given, fitting), labels[fitting], **weighted)
        self._weigh(model, take_rows(given, weighing), labels[weighing], weights[1], seed + 1)
        if not frozen:
            self.seen_ = seen_of([(rows_of(model, X), labels, weight)])
        return self

    def _ensemble(self) -> Any:
        return AdaBoostClassifier(n_estimators=100) if self.estimator is None else self.estimator

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _weigh(self, model: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> None:
        """Weigh the voters of a fitted model by these rows, and keep few: sets the fitted attributes."""
        voters, rows = VoterOutputs(model), rows_of(model, X)
        if len(model.classes_) == 1:
            raise ValueError("The ensemble was fitted to one class only: there is nothing to re-weight.")
        if self.max_voters is not None and self.max_voters < voters.n_runs:
            raise ValueError(
                f"max_voters={self.max_voters}: the ensemble has {voters.n_runs} classes, and each needs a voter of "
                f"its own; use max_voters={voters.n_runs} or more"
            )
        n_rows = count_rows(rows)
        labels, weight = inputs.check_labels(self, y, n_rows), inputs.check_weight(sample_weight, n_rows)
        codes = inputs.encode_labels(labels, np.asarray(model.classes_), weight, "y")
        weights = read_weights(weight)
        used, counts = counted_rows(weights)
        outputs = [voters.outputs(rows, run)[:, used] for run in range(voters.n_runs)]
        program = PROGRAMS[self.by]
        search = _Search(outputs, codes[used], counts, weights.given, program, self.max_voters)
        choice = search.choose(_set_aside(rows, codes, self.validation_fraction, seed)[used])
        alphas = [search.weigh(run, slice(None), [choice.strength])[0] for run in range(voters.n_runs)]
        picks: Picks = [
            [(int(t), float(a[t])) for t in np.argsort(-np.abs(a), kind="stable") if a[t] != 0] for a in alphas
        ]
        self.tried_, self.n_voters_in_ = search.tried, voters.n_voters
        self.classes_, self.n_classes_ = np.asarray(model.classes_), len(model.classes_)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        self.ensemble_ = voters.chosen(picks)
        self.kept_ = np.array(sorted({t for run in picks for t, _ in run}), dtype=np.int64)
        self.weights_ = np.array(alphas)[:, self.kept_]
        self.summary_ = (
            f"kept {len(self.kept_)} of {voters.n_voters} voters of {type(model).__name__}; weights: {self.by}, "
            f"{program.text.format(choice.strength, choice.strength**-2)}; accuracy on held-out rows before the final "
            f"weighting: {choice.score:.4f}"
        )
        self._input_model = _without_voters(model)
        self.seen_ = seen_of([(rows, labels, weight)]).and_also(getattr(model, "seen_", None))

    # ------------------------------------------------------------ the fitted model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kept_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._ensemble()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    # what VotingClassifier, and the functions that explain models, read of a model

    n_jobs = 1

    @property
    def _is_native(self) -> bool:
        return isinstance(self.ensemble_, Ensemble)

    @property
    def _by_rows(self) -> bool:
        return isinstance(self.ensemble_, RowEnsemble)

    @property
    def bins_(self) -> Any:
        """The bins of the ensemble, where its voters are over bins."""
        if not hasattr(self._input_model, "bins_"):
            raise AttributeError("the voters of the thinned ensemble are not over bins")
        return self._input_model.bins_

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Errors in X name this class, but for voters by rows, whose options are those of the model."""
        if not hasattr(self._input_model, "_check_rows"):
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)
        return self._input_model._check_rows(X, reset=reset) if self._by_rows else super()._check_rows(X, reset=reset)

    def _checked_probabilities(self, decision: Floats) -> Floats:
        """The classes' shares of the votes."""
        totals = np.abs(self.weights_).sum(axis=1)
        return vote_shares(decision, float(totals[0])) if self.n_classes_ == 2 else one_of_many(decision, totals)

    def _link(self) -> Link:
        return share_link(np.abs(self.weights_).sum(axis=1))
