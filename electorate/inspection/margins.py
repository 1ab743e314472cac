"""Margins of rows under a fitted model: its votes, their largest possible values, and the proved bounds.

theory/margins.py has the arithmetic; this module reads votes, steps and history from models.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from electorate.algorithms.costs import GivenCost
from electorate.data import inputs
from electorate.estimators.medboost import COSTS
from electorate.exact import UNITS, Floats
from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.moves import Moves, Turn, changes, first_moves
from electorate.theory.margins import KINDS, Graph, Margins, MarginTable, Proof, logistic, normalised
from electorate.theory.training import COST_3, MEAN_EXP, MEAN_WEIGHT, Guarantees, log_mean_exp
from electorate.training.lazy_inputs import is_scanned, refuse_lazy_for
from electorate.training.scanned_rows import require_columns

ROWS_AT_ONCE = 4096  # of a regressor's voters


def margins(model: Any, X: Any, y: Any, *, kind: str | None = None, sample_weight: Any = None) -> Margins:
    """The margins of rows under a fitted model.

    Parameters
    ----------
    model : a fitted classifier, MedBoostRegressor or LocMedBoostRegressor
        For ``kind="logistic"`` also any other classifier with a decision_function in log-odds.
    X, y : rows, and their labels or targets
        A table of :func:`scan` and its target are read batch by batch.
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
    if is_scanned(X):
        return _scanned_margins(model, (X, y, sample_weight), kind)
    return _case(model, X, y, kind, sample_weight).last()


def staged_margins(
    model: Any, X: Any, y: Any, *, kind: str | None = None, sample_weight: Any = None
) -> Iterator[Margins]:
    """Yield the margins after every round.

    Parameters
    ----------
    model : estimator
        A fitted estimator of electorate.
    X : array-like, sparse matrix or dataframe
        Rows.
    y : array-like
        Their labels or targets.
    kind : str, optional
        The kind of margin; None means that of the algorithm's paper. See :func:`margins`.
    sample_weight : array-like, optional
        Weights of the rows.

    Returns
    -------
    iterator of Margins
        One per round; see :func:`margins`.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.inspection import staged_margins
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(noise=0.1).sample(100, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    >>> len([found.minimum for found in staged_margins(model, X, y)])
    5
    """
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
    """Return the margins of the same rows under several models.

    Parameters
    ----------
    models : mapping of str to fitted estimators
        The models and their names.
    X : array-like, sparse matrix or dataframe
        Rows.
    y : array-like
        Their labels or targets.
    kind : str, optional
        The kind of margin; None means that of the algorithm's paper. See :func:`margins`.
    sample_weight : array-like, optional
        Weights of the rows.
    bayes : Graph, optional
        The margins of the Bayes rule, where they are known.

    Returns
    -------
    MarginTable
        A mapping from names to margin graphs; "Bayes" is among them where it is given.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, AdaBoostRClassifier
    >>> from electorate.inspection import margin_table
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


def _case(model: Any, X: Any, y: Any, kind: str | None, sample_weight: Any) -> "VoteMargins | AwardMargins":
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind={kind!r}: one of {', '.join(map(repr, KINDS))}")
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    name = type(model).__name__
    refuse_lazy_for("staged_margins" if is_scanned(X) else "margins", X)
    if hasattr(model, "vote_") and hasattr(model, "eps_"):
        if kind not in (None, "award"):
            raise ValueError(f"kind={kind!r} is about labels, and {name} predicts numbers: use 'award'")
        return AwardMargins(model, X, y, sample_weight)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{name} has no margins: give a classifier, or a MedBoostRegressor")
    if kind == "award":
        raise ValueError(f"kind='award' is for MedBoostRegressor: use 'normalised' for {name}")
    return VoteMargins(model, X, y, kind or "normalised", sample_weight)


def _scanned_margins(model: Any, given: tuple[Any, Any, Any], kind: str | None) -> Margins:
    """The margins of a scanned table, batch by batch. given: X, y and weights, or None."""
    X, y, weight = given
    require_columns(X, y, weight)
    found, weights = [], []
    for batch in X.batches([*y.read, *([] if weight is None else weight.read)], what="margins"):
        with batch.named():
            found.append(_case(model, X.table(batch), y.values(batch), kind, None).last())
        weights.append(found[-1].weights if weight is None else weight.values(batch))
    if not found:
        raise ValueError(inputs.NO_ROWS)
    values, scores = (np.concatenate([getattr(one, name) for one in found]) for name in ("values", "scores"))
    return replace(found[0], values=values, scores=scores, weights=_check_weight(np.concatenate(weights), len(values)))


def _check_weight(sample_weight: Any, n_rows: int) -> Floats:
    weights = inputs.check_weight(sample_weight, n_rows)
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every row: no margins are left")
    return weights


# ---------------------------------------------------------------- classifiers


class VoteMargins:
    """The margins of a vote by weighted sum."""

    def __init__(self, model: Any, X: Any, y: Any, kind: str, sample_weight: Any) -> None:
        self.model, self.X, self.kind = model, X, kind
        if len(model.classes_) < 2:
            raise ValueError("the model has one class only: there is no margin between classes")
        if kind == "logistic" and len(model.classes_) > 2:
            raise ValueError("kind='logistic', eq. 9, is for two classes: use 'normalised'")
        if kind == "normalised" and not hasattr(model, "ensemble_"):
            raise TypeError(f"the steps of {type(model).__name__} are not known: use kind='logistic'")
        labels, place = np.unique(column_or_1d(y), return_inverse=True)
        known = {label: code for code, label in enumerate(model.classes_.tolist())}
        for label in labels.tolist():
            if label not in known:
                raise ValueError(f"y holds the label {label!r}, which is not among the classes of the model")
        self.codes = np.array([known[label] for label in labels.tolist()], dtype=np.int64)[place.ravel()]
        self.weights = _check_weight(sample_weight, len(self.codes))

    def last(self) -> Margins:
        """Return the margins after the last round."""
        has_voters = hasattr(self.model, "ensemble_") and len(self.model.ensemble_.steps) > 0
        rounds = int(self.model.ensemble_.rounds[-1]) if has_voters else 0
        reach = [0.0, *_reaches(self.model)][-1] if self.kind == "normalised" else 0.0
        return self._margins(votes_of(self.model, self.X), reach, rounds)

    def stages(self) -> Iterator[Margins]:
        """Yield the margins after every round. Reaches are computed where they are needed: some voters have none."""
        reaches = _reaches(self.model) if self.kind == "normalised" else repeat(0.0)
        for number, votes in enumerate(_staged_votes(self.model, self.X), 1):
            yield self._margins(votes, next(reaches), number)

    def _margins(self, votes: Floats, reach: float, rounds: int) -> Margins:
        """Scores are y f; for more than two classes the votes for the label minus those for the strongest other one."""
        codes, rows = self.codes, np.arange(len(self.codes))
        if votes.shape[1] != len(codes):
            raise ValueError(f"y has {len(codes)} labels, but X has {votes.shape[1]} rows")
        if len(self.model.classes_) == 2:
            scores = np.where(codes == 1, votes[0], -votes[0])
        else:
            others = votes.copy()
            others[codes, rows] = -np.inf
            scores = np.asarray(votes[codes, rows] - others.max(axis=0))
        values = logistic(scores) if self.kind == "logistic" else normalised(scores, reach)
        found = log_mean(self.model, rounds)
        proof = found if isinstance(found, str) else Proof(found, reach, self.kind == "logistic")
        return Margins(values, self.weights, scores, self.kind, proof)


def votes_of(model: Any, X: Any) -> Floats:
    """[output, row] of f, in the papers' scale."""
    if hasattr(model, "_votes"):
        return np.asarray(model._votes(X) / UNITS)
    return np.atleast_2d(np.asarray(model.decision_function(X), dtype=np.float64).T)


def _staged_votes(model: Any, X: Any) -> Iterator[Floats]:
    """Yield the votes after every round."""
    if hasattr(model, "moves_"):
        return (votes / UNITS for votes in model._votes_by_round(X))
    if hasattr(model, "_staged_votes"):
        return (votes / UNITS for _, votes in model._staged_votes(X))
    return (np.atleast_2d(np.asarray(decision).T) for decision in model.staged_decision_function(X))


def _reaches(model: Any) -> Iterator[float]:
    """Yield the largest score there can be after every round.

    One against the rest: the votes for a class, and as many against another.
    """
    about = np.asarray(model.ensemble_.about)
    sizes = _sizes(model)
    reach = np.zeros(1 if not len(about) or about.max() < 0 else len(model.classes_))
    for turn in _turns(model):
        for voter, before, after in turn:
            reach[max(int(about[voter]), 0)] += (abs(after) - abs(before)) * sizes[voter]
        most = np.maximum(reach, 0.0)
        yield float(most[0]) if len(most) == 1 else 2 * float(most.max())


def _turns(model: Any) -> Iterator[Turn]:
    """Yield for every round the voters whose weights changed, from what to what."""
    if hasattr(model, "moves_"):
        moves: Moves = model.moves_
        return moves.changes()
    steps, first = model.ensemble_.steps, first_moves(model.ensemble_, getattr(model, "history_", {}))
    now, weights = np.zeros(len(steps)), np.zeros(len(steps))
    for event, voter in enumerate(first.tolist()):
        now[voter] += steps[event]
        weights[event] = now[voter]
    return changes(model.ensemble_.rounds, first, weights)


def _sizes(model: Any) -> Floats:
    """The largest difference that each voter makes between a label and another; for two classes max |h|."""
    ensemble = model.ensemble_
    if not isinstance(ensemble, Ensemble):
        if has_log_odds(ensemble):
            raise ValueError(
                f"{type(model).__name__} uses the log-odds of wrapped classifiers, which have no largest value: use "
                "kind='logistic'"
            )
        return np.ones(len(ensemble.steps))
    if not ensemble.n_voters:
        return np.zeros(0)
    value = np.where((ensemble.column == LEAF)[:, None], ensemble.value, 0.0)
    apart = np.abs(value).max(axis=1)
    if ensemble.n_outputs > 1 and ensemble.about[0] < 0:
        apart = value.max(axis=1) - value.min(axis=1)
    return np.asarray(np.maximum.reduceat(apart, ensemble.offsets[:-1]))


def has_log_odds(ensemble: Any) -> bool:
    """Whether the outputs of the voters are log-odds of wrapped classifiers, which have no largest value."""
    kind = getattr(getattr(ensemble, "reader", None), "kind", "label")
    return kind == "log_odds" and not hasattr(ensemble, "family")


def log_mean(model: Any, rounds: int) -> float | str:
    """A bound on the logarithm of the mean of exp(-y f) over the training rows after some rounds, or why there is none.

    Exponential losses minimise that mean. AdaBoost_R's weights bound it, by eq. 12 to 14.
    """
    if len(getattr(model, "classes_", ())) != 2:
        return "the theorems are about two classes"
    objective, history = getattr(model, "_guarantees", Guarantees()).objective, getattr(model, "history_", {})
    if objective not in (MEAN_EXP, MEAN_WEIGHT, COST_3) or "objective" not in history:
        return f"{type(model).__name__} does not store the mean of exp(-y f)"
    return log_mean_exp(objective, history, getattr(model, "learning_rate", 1.0), rounds)


# ---------------------------------------------------------------- medians


class AwardMargins:
    """The average awards of a vote by weighted median (section 3 of the LocMedBoost paper)."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.model = model
        self.n_rows, self.outputs = model._outputs(X)
        self.y = column_or_1d(np.asarray(y, dtype=np.float64))
        if len(self.y) != self.n_rows or not np.all(np.isfinite(self.y)):
            raise ValueError(f"y must hold a finite number for each of the {self.n_rows} rows")
        self.weights = _check_weight(sample_weight, self.n_rows)
        cost, eps = model.cost, model.eps_
        self.cost: Any = COSTS[cost](eps) if isinstance(cost, str) else GivenCost(eps, cost)

    def last(self) -> Margins:
        """Return the margins after the last round."""
        vote = self.model.vote_
        scores, alone = np.zeros(self.n_rows), np.full(self.n_rows, np.nan)
        finite = vote.steps[: len(vote.steps) - int(vote.decides)]
        for low in range(0, self.n_rows if vote.n_voters else 0, ROWS_AT_ONCE):
            rows = slice(low, min(low + ROWS_AT_ONCE, self.n_rows))
            awards, alone[rows] = self._awards(rows)
            scores[rows] = awards[:, : len(finite)] @ finite
        return self._margins(scores, alone, vote.n_voters)

    def stages(self) -> Iterator[Margins]:
        """Yield the margins after every round. All awards are held in memory."""
        vote = self.model.vote_
        if not vote.n_voters:
            return
        awards, alone = self._awards(slice(0, self.n_rows))
        scores, nothing = np.zeros(self.n_rows), np.full(self.n_rows, np.nan)
        for t in range(vote.n_voters):
            if vote.decides and t == vote.n_voters - 1:
                yield self._margins(scores, alone, t + 1)
                return
            scores = scores + awards[:, t] * vote.steps[t]
            yield self._margins(scores, nothing, t + 1)

    def _awards(self, rows: slice) -> tuple[Floats, Any]:
        """[row, voter]: the confidence times 1 - 2 C_eps(h(x), y), eq. 4; and the awards of a voter that decides.

        A voter with an infinite step decides where it has any confidence (line 8); elsewhere, NaN, the others count.
        """
        outputs, confidences = self.outputs(rows.start, rows.stop)
        y, columns = self.y[rows], range(outputs.shape[1])
        awards = np.stack([self.cost.award(np.ascontiguousarray(outputs[:, t]), y) for t in columns], axis=1)
        if confidences is not None:
            awards = awards * confidences
        if not self.model.vote_.decides:
            return awards, np.nan
        last = awards[:, -1]
        return awards, last if confidences is None else np.where(confidences[:, -1] > 0, last, np.nan)

    def _margins(self, scores: Floats, alone: Floats, voters: int) -> Margins:
        vote = self.model.vote_
        decides = vote.decides and voters == vote.n_voters
        reach = float(vote.steps[: voters - int(decides)].sum())
        values = scores / reach if reach > 0 else np.zeros(self.n_rows)
        values = np.where(np.isnan(alone), values, alone)
        proof: Proof | str = Proof(float(self.model.history_["log_z"][:voters].sum()), reach, False)
        if decides:
            proof = "the last step is infinite (line 8 of Figure 1)"
        return Margins(values, self.weights, scores, "award", proof)
