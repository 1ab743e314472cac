"""What each voter of a fitted ensemble says of each row, from -1 to 1: ours, or one of scikit-learn's.

A program that re-weighs voters needs nothing else. For more than two classes every voter speaks about each class
against the rest; a run is one such question.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from electorate.algorithms.protocol import Step
from electorate.data.sparse_format import check_sparse
from electorate.grid import UNITS
from electorate.model.ensemble import NODE_ARRAYS, Ensemble
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import Cast
from electorate.model.row_ensemble import RowEnsemble
from electorate.threads import ThreadPool
from electorate.voters.trees import Voter

Floats = NDArray[np.float64]
Picks = list[list[tuple[int, float]]]  # of each run, (voter, step)


class VoterOutputs(Protocol):
    """said: [voter, row] of one run. steps: of each run, (voter, step) as the model has them now."""

    n_voters: int
    n_runs: int

    def said(self, rows: Any, run: int) -> Floats: ...

    def current(self, run: int) -> Floats: ...

    def chosen(self, picks: Picks) -> Any:
        """The ensemble of these voters with these steps: votes(rows) are [run, row] in units of the grid."""
        ...


def n_runs_of(n_classes: int) -> int:
    return 1 if n_classes == 2 else n_classes


# ---------------------------------------------------------------- ours


class OverBins:
    """The voters of one of our models over bins. Rows are tables."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.ensemble: Ensemble = model.ensemble_
        self.n_voters = self.ensemble.n_voters
        self.n_runs = n_runs_of(len(model.classes_))
        self.values = [self._values(t) for t in range(self.n_voters)]

    def _values(self, t: int) -> Floats:
        """[node, run] of one voter, from -1 to 1."""
        low, high = self.ensemble.offsets[t : t + 2]
        value = self.ensemble.value[low:high]
        leaves = self.ensemble.column[low:high] < 0
        return np.where(leaves[:, None], _into_range(value, value[leaves]), 0.0)

    def said(self, table: Any, run: int) -> Floats:
        said = np.zeros((self.n_voters, table.n_rows))
        read = self.model._reader(table)
        for t in range(self.n_voters):
            if self._speaks(t, run):
                alone = self.chosen([[(t, 1.0)] if r == run else [] for r in range(self.n_runs)])
                said[t] = alone.votes(table.n_rows, read, ThreadPool(1))[run] / UNITS
        return said

    def _speaks(self, t: int, run: int) -> bool:
        return int(self.ensemble.about[t]) in (-1, run)

    def current(self, run: int) -> Floats:
        return np.where(np.isin(self.ensemble.about, (-1, run)), np.abs(self.ensemble.steps), 0.0)

    def chosen(self, picks: Picks) -> Ensemble:
        """A voter about several classes is there once for each."""
        order = _in_turn(picks)
        parts = [slice(*self.ensemble.offsets[t : t + 2].tolist()) for t, _, _ in order]
        arrays = {name: [getattr(self.ensemble, name)[part] for part in parts] for name in NODE_ARRAYS}
        value = [np.zeros((part.stop - part.start, self.n_runs)) for part in parts]
        for (t, _, run), own in zip(order, value, strict=True):
            own[:, run] = self.values[t][:, run]
        nodes = {name: np.concatenate([getattr(self.ensemble, name)[:0], *a]) for name, a in arrays.items()}
        nodes["value"] = np.concatenate([np.zeros((0, self.n_runs)), *value])
        by_category = nodes["members"] >= 0
        sets = self.ensemble.sets[nodes["members"][by_category]]
        nodes["members"][by_category] = np.arange(len(sets))
        return Ensemble(
            offsets=np.cumsum([0, *(part.stop - part.start for part in parts)]),
            steps=np.array([step for _, step, _ in order], dtype=np.float64),
            rounds=_rounds(order),
            about=np.array([run if self.n_runs > 1 else -1 for _, _, run in order], dtype=np.int32),
            sets=sets,
            n_columns=self.ensemble.n_columns,
            **nodes,
        )


class OverRows:
    """The voters of one of our models of wrapped classifiers, or of voters by rows. Rows are what they see."""

    def __init__(self, model: Any) -> None:
        self.committee: ForeignEnsemble = model.ensemble_
        self.n_voters = self.committee.n_voters
        self.n_runs = n_runs_of(len(model.classes_))

    def said(self, X: Any, run: int) -> Floats:
        said = np.zeros((self.n_voters, X.shape[0]))
        for t, fitted in enumerate(self.committee.fitted):
            if int(self.committee.about[t]) in (-1, run):
                leaf, outputs = self.committee.speech.of(fitted, X)
                about = run if outputs.shape[1] > 1 else 0
                said[t] = _into_range(outputs, outputs)[leaf, about]
        return said

    def current(self, run: int) -> Floats:
        return np.where(np.isin(self.committee.about, (-1, run)), np.abs(self.committee.steps), 0.0)

    def chosen(self, picks: Picks) -> ForeignEnsemble:
        nobody = np.zeros((0, 0), dtype=np.int64)
        runs = [
            [
                Cast(Voter([], [], nobody, self.committee.fitted[t]), np.empty((0, 1)), Step(step, np.nan, np.nan))
                for t, step in run
            ]
            for run in picks
        ]
        if isinstance(self.committee, RowEnsemble):
            return RowEnsemble(runs, self.committee.speech, self.committee.n_columns, self.committee.family)  # type: ignore[arg-type]
        return OneVsRestView(runs, self.committee.speech, self.committee.n_columns)


class OneVsRestView(ForeignEnsemble):
    """A committee whose voters speak about one class against the rest, whatever they were fitted for."""

    def staged_votes(self, X: Any) -> Any:
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for t in range(self.n_voters):
            leaf, outputs = self.speech.of(self.fitted[t], X)
            run = max(int(self.about[t]), 0)
            said = _into_range(outputs, outputs)[:, run if outputs.shape[1] > 1 else 0]
            votes[run] += np.rint(self.steps[t] * said * UNITS).astype(np.int64)[leaf]
            yield t + 1, votes


def _into_range(values: Floats, leaves: Floats) -> Floats:
    """Outputs from -1 to 1. One of several labels: +1 for that class, -1 for the others; else by the largest size."""
    if leaves.shape[1] > 1 and np.all((leaves == 0) | (leaves == 1)):
        return 2.0 * values - 1.0
    return np.asarray(values / max(1.0, float(np.abs(leaves).max(initial=0.0))))


def _in_turn(picks: Picks) -> list[tuple[int, float, int]]:
    """(voter, step, run), the first of every run, then the second, and so on."""
    longest = max(map(len, picks), default=0)
    return [(*run[k], r) for k in range(longest) for r, run in enumerate(picks) if k < len(run)]


def _rounds(order: list[tuple[int, float, int]]) -> NDArray[np.int32]:
    met: dict[int, int] = {}
    rounds = []
    for _, _, run in order:
        met[run] = met.get(run, 0) + 1
        rounds.append(met[run])
    return np.array(rounds, dtype=np.int32)


# ---------------------------------------------------------------- scikit-learn's


class FromSklearn:
    """The members of a scikit-learn ensemble. Rows are arrays, as the ensemble gives them to its members.

    Members with predict_proba say 2 p - 1 of a class, as forests and bagging hear them; of AdaBoost +-1.
    """

    def __init__(self, model: Any) -> None:
        check_is_fitted(model)
        members = getattr(model, "estimators_", None)
        if members is None or not hasattr(model, "classes_") or not isinstance(model.classes_, np.ndarray):
            raise TypeError(
                f"{type(model).__name__} is no ensemble that can be re-weighed: give one of electorate's models, or a "
                "forest, bagging or AdaBoost classifier of scikit-learn's, fitted to one target"
            )
        self.model = model
        self.members = list(members)
        self.columns = getattr(model, "estimators_features_", None)
        self.by_label = hasattr(model, "estimator_weights_") or not hasattr(self.members[0], "predict_proba")
        weights = getattr(model, "estimator_weights_", np.ones(len(self.members)))[: len(self.members)]
        self.weights = np.asarray(weights, dtype=np.float64)
        self.n_voters = len(self.members)
        self.n_runs = n_runs_of(len(model.classes_))

    def said(self, X: Any, run: int) -> Floats:
        return np.array([self.one(t, X, run) for t in range(self.n_voters)])

    def one(self, t: int, X: Any, run: int) -> Floats:
        """What one member says of a class (the second of two) against the rest."""
        member = self.members[t]
        seen = X if self.columns is None else X[:, self.columns[t]]
        label = run if self.n_runs > 1 else 1
        if self.by_label:
            return np.where(self._codes(member.predict(seen)) == label, 1.0, -1.0)
        proba = member.predict_proba(seen)
        mine = np.flatnonzero(self._codes(member.classes_) == label)
        return np.asarray(2.0 * proba[:, mine[0]] - 1.0) if len(mine) else np.full(len(proba), -1.0)

    def _codes(self, labels: Any) -> NDArray[np.int64]:
        """Labels as places in classes_: forests and bagging number them already."""
        labels = np.asarray(labels)
        inner = np.asarray(self.members[0].classes_)
        if np.array_equal(inner, np.arange(len(inner))) and not np.array_equal(inner, self.model.classes_):
            return labels.astype(np.int64)
        return np.searchsorted(self.model.classes_, labels)

    def current(self, run: int) -> Floats:
        return self.weights

    def chosen(self, picks: Picks) -> "Members":
        return Members(self, picks)


class Members:
    """Some members of a scikit-learn ensemble with weights of their own."""

    def __init__(self, voters: FromSklearn, picks: Picks) -> None:
        used = sorted({t for run in picks for t, _ in run})
        place = {t: k for k, t in enumerate(used)}
        self.voters = _fewer(voters, used)
        self.picks = [[(place[t], step) for t, step in run] for run in picks]
        order = _in_turn(self.picks)
        self.steps = np.array([step for _, step, _ in order], dtype=np.float64)
        self.about = np.array([run if len(picks) > 1 else -1 for _, _, run in order], dtype=np.int32)
        self.fitted = [self.voters.members[t] for t, _, _ in order]
        self.n_voters = len(order)

    def votes(self, X: Any) -> NDArray[np.int64]:
        votes = np.zeros((len(self.picks), X.shape[0]), dtype=np.int64)
        for _, after in self.staged_votes(X):
            votes = after
        return votes

    def staged_votes(self, X: Any) -> Any:
        votes = np.zeros((len(self.picks), X.shape[0]), dtype=np.int64)
        for k, (t, step, run) in enumerate(_in_turn(self.picks)):
            votes[run] += np.rint(step * self.voters.one(t, X, run) * UNITS).astype(np.int64)
            yield k + 1, votes


def _fewer(voters: FromSklearn, used: list[int]) -> FromSklearn:
    """Only these members: a thinned model must not carry the others along."""
    fewer = object.__new__(FromSklearn)
    fewer.__dict__.update(voters.__dict__)
    fewer.members = [voters.members[t] for t in used]
    fewer.columns = None if voters.columns is None else [voters.columns[t] for t in used]
    fewer.n_voters = len(used)
    fewer.weights = voters.weights[used]
    fewer.model = _Labels(voters.model.classes_)
    return fewer


class _Labels:
    """All that is still needed of the ensemble the members come from."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes


def voter_outputs_of(model: Any) -> VoterOutputs:
    """The voters of a fitted ensemble."""
    ensemble = getattr(model, "ensemble_", None)
    if isinstance(ensemble, Ensemble):
        return OverBins(model)
    if isinstance(ensemble, ForeignEnsemble):
        return OverRows(model)
    return FromSklearn(model)


def rows_of(model: Any, X: Any) -> Any:
    """X as the voters of the model want it."""
    if hasattr(model, "ensemble_") and hasattr(model, "_check_rows"):
        return model._check_rows(X, reset=False)
    X = check_sparse(X)
    return validate_data(model, X, reset=False, accept_sparse="csr", dtype=None, ensure_all_finite=False)
