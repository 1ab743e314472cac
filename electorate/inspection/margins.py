"""From a fitted model and rows to their margins: what the votes are, how far they could reach, what training proves.

The arithmetic of margins is in theory/margins.py; here models are asked for votes, steps and history.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from electorate.algorithms.costs import GivenCost
from electorate.data import inputs
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.estimators.adaboost_r import AdaBoostRClassifier
from electorate.estimators.deepboost import DeepBoostClassifier
from electorate.estimators.medboost import COSTS, MedBoostRegressor
from electorate.estimators.quadboost import QuadBoostClassifier
from electorate.estimators.quadboost_cv import QuadBoostClassifierCV
from electorate.estimators.real_adaboost import RealAdaBoostClassifier
from electorate.estimators.vadaboost import Penalised
from electorate.grid import UNITS
from electorate.model.ensemble import LEAF, Ensemble
from electorate.theory.margins import KINDS, Graph, Margins, MarginTable, Proof, logistic, normalised
from electorate.training.dask_inputs import is_dask

Floats = NDArray[np.float64]
Turn = list[tuple[int, float, float]]  # in a round: voter, its weight before, and after
ROWS_AT_ONCE = 4096  # of a regressor's voters
TINY = 5e-324
NOBODY = np.zeros(1)  # reaches nothing


def margins(model: Any, X: Any, y: Any, *, kind: str | None = None, sample_weight: Any = None) -> Margins:
    """The margins of rows under a fitted model.

    Parameters
    ----------
    model : a fitted classifier, MedBoostRegressor or LocMedBoostRegressor
        For ``kind="logistic"`` also any other classifier with a decision_function in log-odds.
    X, y : rows, and their labels or targets
    kind : {"normalised", "logistic", "award"}, optional
        "normalised": y f over the largest possible f, eq. 21 of the AdaBoost_R paper; for more than two classes the
        votes for the label minus those for the strongest other one. "logistic": (exp(y f) - 1) / (exp(y f) + 1), eq. 9,
        for two classes. "award": the average award of a median vote. By default "award" for a regressor, else
        "normalised".
    sample_weight : array-like, optional

    Returns
    -------
    Margins
        With ``values``, ``minimum``, ``quantile``, ``area``, ``margin_error(theta)`` and, for the training rows of an
        exponential loss or of MedBoost, ``bound(theta)``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, margins
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = margins(AdaBoostClassifier(n_estimators=100).fit(X, y), X, y)
    >>> bool(found.margin_error(0.05) <= found.bound(0.05))
    True
    """
    case = _case(model, X, y, kind, sample_weight)
    return case.last()


def staged_margins(
    model: Any, X: Any, y: Any, *, kind: str | None = None, sample_weight: Any = None
) -> Iterator[Margins]:
    """:func:`margins` after every round."""
    return _case(model, X, y, kind, sample_weight).stages()


def margin_table(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    kind: str | None = None,
    sample_weight: Any = None,
    bayes: Graph | None = None,
) -> MarginTable:
    """The margins of the same rows under several models, side by side; with those of the Bayes rule if they are given.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, AdaBoostRClassifier, margin_table
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(noise=0.2).sample(300, 0)
    >>> models = {"discrete": AdaBoostClassifier().fit(X, y), "AdaBoost_R": AdaBoostRClassifier().fit(X, y)}
    >>> sorted(margin_table(models, X, y, kind="logistic", bayes=XD6(noise=0.2).bayes_margins()))
    ['AdaBoost_R', 'Bayes', 'discrete']
    """
    graphs: dict[str, Graph] = {
        name: margins(model, X, y, kind=kind, sample_weight=sample_weight) for name, model in models.items()
    }
    return MarginTable(graphs if bayes is None else {**graphs, "Bayes": bayes})


def _case(model: Any, X: Any, y: Any, kind: str | None, sample_weight: Any) -> Any:
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind={kind!r}: one of {', '.join(map(repr, KINDS))}")
    model = model.best_estimator_ if isinstance(model, QuadBoostClassifierCV) else model
    check_is_fitted(model)
    if is_dask(X):
        raise TypeError("margins are computed in this process: compute the Dask collection first")
    if isinstance(model, MedBoostRegressor):
        if kind not in (None, "award"):
            raise ValueError(f"kind={kind!r} is about labels, and {type(model).__name__} predicts numbers: use 'award'")
        return _Medians(model, X, y, sample_weight)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no margins: give a classifier, or a MedBoostRegressor")
    if kind == "award":
        raise ValueError(f"kind='award' is for MedBoostRegressor: use 'normalised' for {type(model).__name__}")
    return _Votes(model, X, y, kind or "normalised", sample_weight)


# ---------------------------------------------------------------- classifiers


class _Votes:
    """The margins of a vote by weighted sum."""

    def __init__(self, model: Any, X: Any, y: Any, kind: str, sample_weight: Any) -> None:
        self.model, self.X, self.kind = model, X, kind
        self.n_classes = len(model.classes_)
        if self.n_classes < 2:
            raise ValueError("the model knows one class only: there is no margin between classes")
        if kind == "logistic" and self.n_classes > 2:
            raise ValueError("kind='logistic', eq. 9, is for two classes: use 'normalised'")
        if kind == "normalised" and not hasattr(model, "ensemble_"):
            raise TypeError(f"the steps of {type(model).__name__} are not known: use kind='logistic'")
        self.codes = _codes(model, y)
        self.weights = inputs.check_weight(sample_weight, len(self.codes))
        if not np.any(self.weights > 0):
            raise ValueError("sample_weight is zero for every row: no margins are left")

    def last(self) -> Margins:
        ours = hasattr(self.model, "ensemble_")
        rounds = int(_rounds(self.model)[-1]) if ours and _n_voters(self.model) else 0
        reach = list(_reaches(self.model))[-1:] if self.kind == "normalised" else []
        return self._margins(_votes(self.model, self.X), self._reach(*reach), rounds)

    def stages(self) -> Iterator[Margins]:
        """Reaches are not asked for where they are not needed: some voters have none."""
        reaches = _reaches(self.model) if self.kind == "normalised" else repeat(NOBODY)
        for number, votes in enumerate(_stages(self.model, self.X), 1):
            yield self._margins(votes, self._reach(next(reaches)), number)

    def _reach(self, by_class: Floats = NOBODY) -> float:
        """The largest score there can be. One against the rest: votes for a class, and as many against another."""
        return float(by_class[0]) if len(by_class) == 1 else 2 * float(by_class.max())

    def _margins(self, votes: Floats, reach: float, rounds: int) -> Margins:
        if votes.shape[1] != len(self.codes):
            raise ValueError(f"y has {len(self.codes)} labels, but X has {votes.shape[1]} rows")
        scores = self._scores(votes)
        values = logistic(scores) if self.kind == "logistic" else normalised(scores, reach)
        found = log_mean(self.model, rounds)
        proof = found if isinstance(found, str) else Proof(found, reach, self.kind == "logistic")
        return Margins(values, self.weights, scores, self.kind, proof)

    def _scores(self, votes: Floats) -> Floats:
        """y f; for more than two classes the votes for the label minus those for the strongest other one."""
        if self.n_classes == 2:
            return np.where(self.codes == 1, votes[0], -votes[0])
        rows = np.arange(len(self.codes))
        others = votes.copy()
        others[self.codes, rows] = -np.inf
        return np.asarray(votes[self.codes, rows] - others.max(axis=0))


def _codes(model: Any, y: Any) -> NDArray[np.int64]:
    """Labels as places in classes_."""
    distinct, place = np.unique(column_or_1d(y), return_inverse=True)
    known = {label: code for code, label in enumerate(model.classes_.tolist())}
    for label in distinct.tolist():
        if label not in known:
            raise ValueError(f"y holds the label {label!r}, which is not among the classes of the model")
    return np.array([known[label] for label in distinct.tolist()], dtype=np.int64)[place.ravel()]


def _votes(model: Any, X: Any) -> Floats:
    """[output, row] of f, in the papers' scale."""
    if hasattr(model, "_votes"):
        return np.asarray(model._votes(X) / UNITS)
    decision = np.asarray(model.decision_function(X), dtype=np.float64)
    return np.atleast_2d(decision.T)


def _stages(model: Any, X: Any) -> Iterator[Floats]:
    """The same after every round."""
    if isinstance(model, QuadBoostClassifier):
        return (votes / UNITS for votes in model._stages(X))
    if hasattr(model, "_staged_votes"):
        return (votes / UNITS for _, votes in model._staged_votes(X))
    return (np.atleast_2d(np.asarray(decision).T) for decision in model.staged_decision_function(X))


def _n_voters(model: Any) -> int:
    return len(model.ensemble_.steps)


def _rounds(model: Any) -> NDArray[Any]:
    return np.asarray(getattr(model.ensemble_, "rounds", np.arange(1, _n_voters(model) + 1)))


def _reaches(model: Any) -> Iterator[Floats]:
    """After every round, the largest possible votes: one number, or one per class fitted against the rest."""
    about = np.asarray(model.ensemble_.about)
    sizes = _sizes(model)
    reach = np.zeros(1 if not len(about) or about.max() < 0 else len(model.classes_))
    for turn in _turns(model):
        for voter, before, after in turn:
            reach[max(int(about[voter]), 0)] += (abs(after) - abs(before)) * sizes[voter]
        yield np.maximum(reach, 0.0)


def _turns(model: Any) -> Iterator[Turn]:
    """Round by round, whose weight changed, from what to what."""
    if isinstance(model, QuadBoostClassifier):
        yield from ([(int(place), old, new) for place, old, new in turn] for turn in model.moves_.changes())
        return
    rounds, steps = _rounds(model), model.ensemble_.steps
    first = _first_of(model)
    weights: dict[int, float] = {}
    for number in np.unique(rounds).tolist():
        turn: Turn = []
        for event in np.flatnonzero(rounds == number).tolist():
            voter = int(first[event])
            before = weights.get(voter, 0.0)
            weights[voter] = before + float(steps[event])
            turn.append((voter, before, weights[voter]))
        yield turn


def _first_of(model: Any) -> NDArray[np.int64]:
    """[event]: the event in which its voter first came. Only DeepBoost moves voters again; elsewhere copies count."""
    ensemble = model.ensemble_
    if not isinstance(model, DeepBoostClassifier):
        return np.arange(_n_voters(model))
    met: dict[tuple[int, int], int] = {}
    first = []
    for event, (about, number) in enumerate(zip(ensemble.about.tolist(), ensemble.rounds.tolist(), strict=True)):
        history = model.history_
        mine = history["voter"] if about < 0 else history["voter"][history["label"] == about]
        first.append(met.setdefault((about, int(mine[number - 1])), event))
    return np.array(first, dtype=np.int64)


def _sizes(model: Any) -> Floats:
    """The most that each voter can say for a label and against another; for two classes max |h|."""
    ensemble = model.ensemble_
    if isinstance(ensemble, Ensemble):
        return _tree_sizes(ensemble)
    if getattr(getattr(ensemble, "speech", None), "kind", "label") == "log_odds" and not hasattr(ensemble, "family"):
        raise ValueError(
            f"{type(model).__name__} hears the log-odds of wrapped classifiers, which have no largest value: use "
            "kind='logistic'"
        )
    return np.ones(_n_voters(model))


def _tree_sizes(ensemble: Ensemble) -> Floats:
    if not ensemble.n_voters:
        return np.zeros(0)
    value = np.where((ensemble.column == LEAF)[:, None], ensemble.value, 0.0)
    apart = np.abs(value).max(axis=1)
    if ensemble.n_outputs > 1 and ensemble.about[0] < 0:
        apart = value.max(axis=1) - value.min(axis=1)
    return np.asarray(np.maximum.reduceat(apart, ensemble.offsets[:-1]))


# ---------------------------------------------------------------- what training proves


def log_mean(model: Any, rounds: int) -> float | str:
    """A bound on the logarithm of the mean of exp(-y f) over the training rows after some rounds, or why there is none.

    Exponential losses minimise that mean. AdaBoost_R's weights bound it, by eq. 12 to 14.
    """
    if len(model.classes_) != 2:
        return "the theorems are about two classes"
    history = getattr(model, "history_", {})
    if isinstance(model, AdaBoostRClassifier):
        return _log_mean_r(model, rounds)
    if isinstance(model, AdaBoostClassifier | RealAdaBoostClassifier | Penalised) and "objective" in history:
        found = math.log(max(TINY, float(history["objective"][rounds - 1]))) if rounds else 0.0
        return _log_mean_penalised(history, rounds, found / 2) if isinstance(model, Penalised) else found
    return f"{type(model).__name__} does not keep the mean of exp(-y f)"


def _log_mean_penalised(history: Mapping[str, Floats], rounds: int, bound: float) -> float:
    """As history keeps it; of files that lack it, the root of cost (3), which is at least the mean."""
    known = float(history["log_mean"][rounds - 1]) if rounds and "log_mean" in history else math.nan
    return known if math.isfinite(known) else bound


def _log_mean_r(model: Any, rounds: int) -> float | str:
    """Eq. 14: exp(-y f) <= prod (1 - mu y h / h*) / sqrt(1 - mu^2), whose mean is known: the objective.

    With a learning rate mu is tanh(rate artanh mu). A voter that says infinity has the step 0, and
    1 <= (1 - mu y h / h*) / (1 - |mu|). One that is always right leaves the weights, and lowers exp(-y f).
    """
    history = model.history_
    if "objective" not in history:
        return "the history of the model is not known"
    if not rounds:
        return 0.0
    edge, step = history["edge"][:rounds], history["step"][:rounds]
    used = np.abs(edge) < 1 - 1e-15
    mu = np.tanh(model.learning_rate * np.arctanh(edge[used]))
    lost = np.where(step[used] == 0, np.log1p(-np.abs(mu)), 0.5 * np.log1p(-mu * mu))
    return math.log(max(TINY, float(history["objective"][rounds - 1]))) - math.fsum(lost)


# ---------------------------------------------------------------- medians


class _Medians:
    """The average awards of a vote by weighted median (section 3 of the LocMedBoost paper)."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.model = model
        self.n_rows, self.say = model._say(X)
        self.y = column_or_1d(np.asarray(y, dtype=np.float64))
        if len(self.y) != self.n_rows or not np.all(np.isfinite(self.y)):
            raise ValueError(f"y must hold a finite number for each of the {self.n_rows} rows")
        self.weights = inputs.check_weight(sample_weight, self.n_rows)
        if not np.any(self.weights > 0):
            raise ValueError("sample_weight is zero for every row: no margins are left")
        self.cost: Any = (
            COSTS[model.cost](model.eps_) if isinstance(model.cost, str) else GivenCost(model.eps_, model.cost)
        )

    def last(self) -> Margins:
        vote = self.model.vote_
        scores, alone = np.zeros(self.n_rows), np.full(self.n_rows, np.nan)
        finite = vote.steps[: len(vote.steps) - int(vote.decides)]
        for low in range(0, self.n_rows if vote.n_voters else 0, ROWS_AT_ONCE):
            high = min(low + ROWS_AT_ONCE, self.n_rows)
            awards = self._awards(low, high)
            scores[low:high] = awards[:, : len(finite)] @ finite
            if vote.decides:
                alone[low:high] = self._alone(low, high, awards[:, -1])
        return self._margins(scores, alone, vote.n_voters)

    def stages(self) -> Iterator[Margins]:
        """All awards are held in memory."""
        vote = self.model.vote_
        if not vote.n_voters:
            return
        awards = self._awards(0, self.n_rows)
        scores, nobody = np.zeros(self.n_rows), np.full(self.n_rows, np.nan)
        for t in range(vote.n_voters):
            if vote.decides and t == vote.n_voters - 1:
                yield self._margins(scores, self._alone(0, self.n_rows, awards[:, t]), t + 1)
                return
            scores = scores + awards[:, t] * vote.steps[t]
            yield self._margins(scores, nobody, t + 1)

    def _awards(self, low: int, high: int) -> Floats:
        """[row, voter]: the confidence times 1 - 2 C_eps(h(x), y), eq. 4."""
        said, sure = self.say(low, high)
        y = self.y[low:high]
        awards = np.stack([self.cost.award(np.ascontiguousarray(said[:, t]), y) for t in range(said.shape[1])], axis=1)
        return awards if sure is None else awards * sure

    def _alone(self, low: int, high: int, awards: Floats) -> Floats:
        """What a voter with an infinite step earns where it is sure at all (line 8); elsewhere the others count."""
        sure = self.say(low, high)[1]
        return awards if sure is None else np.where(sure[:, -1] > 0, awards, np.nan)

    def _margins(self, scores: Floats, alone: Floats, voters: int) -> Margins:
        vote = self.model.vote_
        decides = vote.decides and voters == vote.n_voters
        reach = float(vote.steps[: voters - int(decides)].sum())
        values = scores / reach if reach > 0 else np.zeros(self.n_rows)
        values = np.where(np.isnan(alone), values, alone)
        log_z = self.model.history_["log_z"][:voters]
        proof: Proof | str = Proof(float(log_z.sum()), reach, False)
        if decides:
            proof = "the last step is infinite (line 8 of Figure 1)"
        return Margins(values, self.weights, scores, "award", proof)
