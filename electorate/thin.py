"""thin: re-weigh the voters of any fitted ensemble and keep few of them: ours, a forest, bagging, AdaBoost.

Weights come from a linear program (the soft margin), a quadratic one, or the Lasso; how many voters stay, from a limit
or from a score on rows held out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from electorate import decisions
from electorate.boosting.grid import on_grid
from electorate.boosting.reweigh import Normal, Said, first_of_each, lasso, soft_margin, weigh_linear, weigh_quadratic
from electorate.data.weights import read_weights
from electorate.engines.gram import PoolState
from electorate.engines.pool import Pool
from electorate.engines.shard import counts_of
from electorate.ensemble import Ensemble
from electorate.estimators import inputs
from electorate.estimators.certified import Certified
from electorate.estimators.lpboost import one_of_many, refuse_dask, vote_shares
from electorate.estimators.seen import seen_of
from electorate.voices import Picks, Voices, rows_of, voices_of

Floats = NDArray[np.float64]
Strengths = Sequence[float]  # of regularisation, in (0, 1]
Weigher = Callable[[Said, Strengths], Iterator[Floats]]  # alpha for each strength


def _by_margin(said: Said, strengths: Strengths) -> Iterator[Floats]:
    """nu = strength: the share of the rows that may fall short of the margin."""
    for nu in strengths:
        yield weigh_linear(said, soft_margin(said, nu), "auto", 1e-6).alpha


def _by_square(said: Said, strengths: Strengths) -> Iterator[Floats]:
    """C such that the rows together can weigh 1 / strength^2."""
    for strength in strengths:
        yield weigh_quadratic(said, 1.0 / (strength**2 * float(said.mass.sum())), 1e-5).alpha


def _by_lasso(said: Said, strengths: Strengths) -> Iterator[Floats]:
    """lam = strength times the one that empties the model."""
    normal = Normal.of(said)
    empty = float(np.abs(normal.mu).max(initial=0.0))
    return lasso(PoolState(normal), [strength * empty for strength in strengths], 1e-6)


WEIGHERS: dict[str, tuple[Weigher, tuple[float, ...]]] = {
    "lp": (_by_margin, (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)),
    "qp": (_by_square, (0.5, 0.2, 0.1, 0.05)),
    "quad-l1": (_by_lasso, (0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)),
}


@dataclass(frozen=True)
class Rows:
    """Rows as one run of the voters hears them."""

    said: Floats  # [voter, row]
    second: NDArray[np.bool_]
    counts: NDArray[np.int64]
    given: float

    def part(self, rows: NDArray[np.int64]) -> "Rows":
        return Rows(self.said[:, rows], self.second[rows], self.counts[rows], self.given)

    @property
    def examples(self) -> Said:
        return Said.of(self.said, self.second, self.counts, self.given)


@dataclass(frozen=True)
class Choice:
    """One way to weigh: how strongly regularised, how many voters, and what they scored on the rows held out."""

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
    """A smaller ensemble out of a fitted one: its voters, weighed anew, most of them left out.

    Parameters
    ----------
    model : a fitted ensemble
        One of electorate's, or scikit-learn's RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier or
        AdaBoostClassifier.
    X, y : rows to weigh the voters by
        Best are rows that the model was not fitted to: on its own, a voter that has learned them by heart looks better
        than it is.
    by : {"quad-l1", "lp", "qp"}, default="quad-l1"
        The Lasso, min mean (y - f)^2 + 2 lam sum|alpha| (QuadBoost-L1); the soft margin (LPBoost); or RQPBoost.
    max_voters : int or None, default=None
        The most voters to keep. Of all strengths of regularisation the one with the best held-out accuracy is taken;
        where it leaves more voters, the heaviest are weighed again by themselves. None: the fewest voters whose
        held-out accuracy is within one standard error of the best.
    sample_weight : array-like, optional
    validation_fraction : float, default=0.25
        The part of the rows held out to choose by; afterwards all rows weigh.
    random_state : int, RandomState or None, default=0
        For that split.

    Returns
    -------
    ThinnedClassifier
        With predict, predict_proba, decision_function, staged versions, ``kept_``, ``weights_`` and ``summary_``.

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
    _refuse(model, by, max_voters, validation_fraction, X)
    voices, rows = voices_of(model), rows_of(model, X)
    n_rows = rows.n_rows if hasattr(rows, "n_rows") else rows.shape[0]
    labels, counts, given, used = _labelled(model, y, sample_weight, n_rows)
    runs = [
        Rows(voices.said(rows, run)[:, used], labels == (1 if voices.n_runs == 1 else run), counts, given)
        for run in range(voices.n_runs)
    ]
    search = _Search(runs, labels, WEIGHERS[by], max_voters)
    choice = search.choose(validation_fraction, check_random_state(random_state))
    alphas = [search.weigh(run, [choice.strength])[0] for run in runs]
    thinned = _thinned(model, voices, alphas, by, search.tried, choice)
    marked = (rows, inputs.check_labels(thinned, y, n_rows), inputs.check_weight(sample_weight, n_rows))
    thinned.seen_ = seen_of([marked]).and_also(getattr(model, "seen_", None))
    return thinned


def _refuse(model: Any, by: str, max_voters: int | None, fraction: float, X: Any) -> None:
    check_is_fitted(model)
    if by not in WEIGHERS:
        raise ValueError(f"by={by!r}: use one of {sorted(WEIGHERS)}")
    if max_voters is not None and max_voters < 1:
        raise ValueError(f"max_voters={max_voters}: keep at least one voter")
    if not 0 < fraction < 1:
        raise ValueError(f"validation_fraction={fraction}: it must be between 0 and 1")
    if len(getattr(model, "classes_", ())) == 1:
        raise ValueError("the model knows one class only: there is nothing to weigh")
    refuse_dask(ThinnedClassifier(), X)


def _labelled(model: Any, y: Any, sample_weight: Any, n_rows: int) -> tuple[Any, Any, float, Any]:
    """Labels as places in classes_, whole numbers in proportion to the weights, their sum, and the rows that count."""
    given = inputs.check_labels(ThinnedClassifier(), y, n_rows)
    weight = inputs.check_weight(sample_weight, n_rows)
    labels = inputs.encode_labels(given, np.asarray(model.classes_), weight, "y")
    weights = read_weights(weight)
    used = np.flatnonzero(weights.times)
    counts = counts_of(weights)
    return labels[used], counts[used] if len(counts) else np.ones(len(used), dtype=np.int64), weights.given, used


class _Search:
    """How strongly to regularise: by accuracy on rows held out."""

    def __init__(
        self,
        runs: list[Rows],
        labels: NDArray[np.int64],
        weigher: tuple[Weigher, tuple[float, ...]],
        max_voters: int | None,
    ) -> None:
        self.runs = runs
        self.labels = labels
        self.weigher, self.strengths = weigher
        self.max_voters = max_voters
        self.tried: list[Choice] = []

    def choose(self, fraction: float, random: np.random.RandomState) -> Choice:
        split = StratifiedShuffleSplit(1, test_size=fraction, random_state=random)
        try:
            learn, judge = next(split.split(self.labels, self.labels))
        except ValueError as error:
            raise ValueError(f"the rows cannot be split to choose by: {error}; give more of every class") from error
        paths = [self.weigh(run.part(learn), self.strengths) for run in self.runs]
        for strength, *alphas in zip(self.strengths, *paths, strict=False):  # paths end once they are crowded
            votes = np.array([a @ run.said[:, judge] for a, run in zip(alphas, self.runs, strict=True)])
            said = votes[0] > 0 if len(votes) == 1 else np.argmax(votes, axis=0)
            score = float(np.average(said == self.labels[judge], weights=self.runs[0].counts[judge]))
            size = len(set().union(*(np.flatnonzero(a).tolist() for a in alphas)))
            self.tried.append(Choice(strength, size, score))
        return self._best(len(judge))

    def _best(self, n: int) -> Choice:
        best = max(self.tried, key=lambda choice: (choice.score, -choice.n_voters))
        if self.max_voters is not None:
            return best
        near = best.score - np.sqrt(best.score * (1 - best.score) / n)
        return min((c for c in self.tried if c.score >= near and c.n_voters), key=lambda c: c.n_voters, default=best)

    def weigh(self, rows: Rows, strengths: Strengths) -> list[Floats]:
        """For each strength, alpha of all voters, with no more of them than wanted.

        Strengths that follow one that leaves twice too many voters are not tried: they leave still more.
        """
        voters = first_of_each(rows.said)
        said = rows.examples.only(voters)
        alphas: list[Floats] = []
        for strength, found in zip(strengths, self.weigher(said, strengths), strict=False):
            alpha = np.zeros(len(rows.said))
            alpha[voters] = self._heaviest(said, found, strength)
            alphas.append(np.asarray(on_grid(alpha)))
            if np.count_nonzero(found) > 2 * self._most(found):
                break
        return alphas

    def _most(self, alpha: Floats) -> int:
        """How many voters a run may keep."""
        return len(alpha) if self.max_voters is None else max(1, self.max_voters // len(self.runs))

    def _heaviest(self, said: Said, alpha: Floats, strength: float) -> Floats:
        """Where too many voters have a weight, the heaviest are weighed again by themselves."""
        most = self._most(alpha)
        if np.count_nonzero(alpha) <= most:
            return alpha
        kept = np.sort(np.argsort(-np.abs(alpha), kind="stable")[:most])
        fewer = np.zeros(len(alpha))
        fewer[kept] = next(self.weigher(said.only(kept), [strength]))
        return fewer


def _thinned(
    model: Any, voices: Voices, alphas: list[Floats], by: str, tried: list[Choice], choice: Choice
) -> "ThinnedClassifier":
    picks: Picks = [[(int(t), float(a[t])) for t in np.argsort(-np.abs(a), kind="stable") if a[t] != 0] for a in alphas]
    thinned = ThinnedClassifier()
    thinned.classes_ = np.asarray(model.classes_)
    thinned.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        thinned.feature_names_in_ = model.feature_names_in_
    thinned.ensemble_ = voices.chosen(picks)
    thinned.kept_ = np.array(sorted({t for run in picks for t, _ in run}), dtype=np.int64)
    thinned.weights_ = np.array(alphas)[:, thinned.kept_]
    thinned.tried_ = tried
    thinned.summary_ = (
        f"kept {len(thinned.kept_)} of {voices.n_voters} voters of {type(model).__name__}, weighed by {by!r} at "
        f"strength {choice.strength:g}; held-out accuracy of such weights {choice.score:.4f}"
    )
    thinned._door = _door_of(model)
    return thinned


def _door_of(model: Any) -> Any:
    """What turns X into what the voters see: the model without its voters."""
    door = object.__new__(type(model))
    left_out = {"ensemble_", "estimators_", "estimators_features_", "history_", "_hooks", "_skl_callbacks"}
    door.__dict__.update({name: value for name, value in model.__dict__.items() if name not in left_out})
    if hasattr(model, "ensemble_"):
        door.ensemble_ = None
    return door


class ThinnedClassifier(Certified, ClassifierMixin, BaseEstimator):
    """What `thin` returns: the voters that stay, with weights of their own. It is fitted already, and only predicts.

    Attributes
    ----------
    classes_, n_features_in_ : as in the ensemble it comes from
    kept_ : ndarray of the places of the voters in that ensemble
    weights_ : ndarray, [1 or class, voter of kept_]
    tried_ : list of Choice
        Strength, number of voters and held-out accuracy of all that was tried.
    summary_ : str
    """

    classes_: NDArray[Any]
    n_features_in_: int
    ensemble_: Any
    kept_: NDArray[np.int64]
    weights_: Floats
    tried_: list[Choice]
    summary_: str
    _door: Any
    seen_: Any

    def fit(self, X: Any, y: Any) -> "ThinnedClassifier":
        raise TypeError("a thinned ensemble is made by thin(model, X, y): it is fitted already")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kept_")

    def decision_function(self, X: Any) -> Floats:
        """The votes: one number per row for two classes, positive for the second; else a column per class."""
        check_is_fitted(self)
        rows = rows_of(self._door, X)
        if isinstance(self.ensemble_, Ensemble):
            return self._decision(self.ensemble_.votes(rows.n_rows, self._door._reader(rows), Pool(1)))
        return self._decision(self.ensemble_.votes(rows))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """The decision function of the heaviest voter, the two heaviest, and so on."""
        check_is_fitted(self)
        rows = rows_of(self._door, X)
        if isinstance(self.ensemble_, Ensemble):
            stages = self.ensemble_.staged_votes(rows.n_rows, self._door._reader(rows))
        else:
            stages = self.ensemble_.staged_votes(rows)
        for _, votes in stages:
            yield self._decision(votes)

    def _decision(self, votes: NDArray[np.int64]) -> Floats:
        return decisions.plain(votes, len(self.classes_), 0.0)

    def predict(self, X: Any) -> NDArray[Any]:
        return self._classes_of(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        for decision in self.staged_decision_function(X):
            yield self._classes_of(decision)

    def _classes_of(self, decision: Floats) -> NDArray[Any]:
        best = decision > 0 if len(self.classes_) == 2 else np.argmax(decision, axis=1)
        return np.asarray(self.classes_.take(best))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' shares of the votes; not calibrated."""
        decision = self.decision_function(X)
        totals = np.abs(self.weights_).sum(axis=1)
        if len(self.classes_) == 2:
            return vote_shares(decision, float(totals[0]))
        return one_of_many(decision, totals)
