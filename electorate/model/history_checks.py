"""Checks the history of a model file against its voters, classes and parameters, before anything relies on it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.ensemble import Ensemble
from electorate.model.file_parts import expect
from electorate.model.row_ensemble import RowEnsemble
from electorate.modelfile import Contents

ROUND = frozenset({"step", "edge", "error", "objective", "train_error", "n_voters", "floor", "seconds"})
PROGRAM = frozenset({"step", "edge", "error", "objective", "gap", "train_error", "n_voters", "seconds", "kept"})
COLUMNS = {
    "DeepBoostClassifier": ROUND | {"voter", "family", "size", "weight", "penalty"},
    "EBBoostClassifier": ROUND | {"floor_of_squares"},
    "LPBoostClassifier": PROGRAM,
    "QuadBoostClassifier": frozenset({"step", "edge", "objective", "n_voters", "seconds"}),
    "RLPBoostClassifier": PROGRAM | {"residual"},
    "RQPBoostClassifier": PROGRAM | {"residual"},
    "VadaBoostClassifier": ROUND | {"log_mean", "mean_floor"},
}
WHOLE = ("label", "n_voters", "kept", "voter", "family", "size")  # columns of whole numbers
Numbers = NDArray[np.float64]


def check_history(model: Any, contents: Contents) -> None:
    """Raise ValueError where the history cannot have led to the voters of the model."""
    history, kind = model.history_, contents.kind
    rows = len(history["step"])
    if rows:
        lacking = COLUMNS.get(kind, ROUND) - set(history)
        expect(not lacking, f"the history has no column {min(lacking, default='')!r}")
    _check_whole(history)
    n_runs = runs_of(model)
    expect(("label" in history) == (n_runs > 1), "the labels of the history do not fit the classes")
    label = history["label"] if n_runs > 1 else np.zeros(rows)
    expect(bool(np.all(label < n_runs)), "the history has a label that is no class")
    counted = np.bincount(label.astype(np.int64), minlength=n_runs)
    _check_voters(model, n_runs)
    about = np.maximum(model.ensemble_.about, 0)
    voters = np.bincount(about, minlength=n_runs)
    if "kept" in history:
        kept = np.bincount(label[history["kept"] > 0].astype(np.int64), minlength=n_runs)
        expect(np.array_equal(kept, voters), "the history keeps other voters than there are")
    elif kind == "QuadBoostClassifier":
        _check_moves(model, counted)
        check_errors(model, label)
    else:
        expect(bool(np.all(voters <= counted)), "the history has fewer rounds than there are voters")
        _check_steps(model, history, label, about)
    if kind == "DeepBoostClassifier" and rows:
        _check_numbers(model, label, about)


def check_median_history(model: Any) -> None:
    """Raise ValueError where the history of a weighted median's regressor cannot have led to its voters."""
    history, vote = model.history_, model.vote_
    _check_whole(history)
    told = history["step"][: vote.n_voters]
    alone = np.zeros(len(told), dtype=np.bool_)
    alone[-1:] = vote.decides  # a voter that decides alone has an infinite step, which votes as 0
    expect(np.array_equal(np.isposinf(told), alone), "the history has other voters of infinite steps")
    expect(np.array_equal(np.where(alone, 0.0, told), vote.steps), "the history has other steps than the voters")


def check_quad_history(model: Any) -> None:
    """Raise ValueError where the history of QuadBoost's regressor cannot have led to its voters and moves."""
    rows = len(model.history_["step"])
    _check_whole(model.history_)
    _check_voters(model, 1)
    _check_moves(model, np.array([rows]))
    check_errors(model, np.zeros(rows))


def _check_whole(history: dict[str, Any]) -> None:
    """Columns of counts hold whole numbers, and no round has more voters than there are rounds."""
    for name in WHOLE:
        if name in history:
            whole = np.isfinite(history[name]) & (history[name] == np.rint(history[name]))
            expect(bool(np.all(whole & (history[name] >= 0))), f"the history has a {name!r} that is no whole number")
    rows = len(history["n_voters"])
    expect(bool(np.all(history["n_voters"] <= max(rows, 1))), "the history counts more voters than rounds")


def runs_of(model: Any) -> int:
    """Return how many runs made the model: one, or one per class."""
    return int(model.n_classes_) if model._one_vs_rest and model.n_classes_ > 2 else 1


def _check_voters(model: Any, n_runs: int) -> None:
    """The voters of a run come in the rounds 1, 2, ..., and those about a class say nothing of the others."""
    ensemble = model.ensemble_
    about, rounds = ensemble.about, ensemble.rounds
    expect(bool(np.all(about == -1) if n_runs == 1 else np.all(about >= 0)), "voters are not about the classes")
    order = np.argsort(about, kind="stable")
    first = np.concatenate([[True], np.diff(about[order]) != 0])[: len(order)]
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    expect(bool(np.all(rounds[order] == place + 1)), "the voters of a class do not come round by round")
    if n_runs > 1 and isinstance(ensemble, Ensemble):
        said = ensemble.value != 0
        said[np.arange(len(said)), np.repeat(about, np.diff(ensemble.offsets))] = False
        expect(not said.any(), "a voter about one class speaks for another")


def _check_steps(model: Any, history: dict[str, Any], label: Numbers, about: NDArray[Any]) -> None:
    """The rounds of the voters, run by run, have their steps."""
    for run in np.unique(about).tolist():
        mine = about == run
        told = history["step"][label == run][: int(mine.sum())]
        expect(np.array_equal(told, model.ensemble_.steps[mine]), "the history has other steps than the voters")


def _check_moves(model: Any, counted: NDArray[Any]) -> None:
    moves = model.moves_
    run = np.maximum(moves.label, 0)
    last = np.zeros(len(counted), dtype=np.int64)
    np.maximum.at(last, run, moves.round)
    expect(bool(np.all(last <= counted)), "the history has fewer rounds than the moves")
    pairs = np.unique(np.stack([run, moves.round]), axis=1)
    expect(np.array_equal(np.bincount(pairs[0], minlength=len(counted)), last), "a class has a round without a move")


def check_errors(model: Any, label: Numbers) -> None:
    """Where every round knows its training error, training can only resume if all rounds that are kept have one."""
    if not model._knows_errors or not len(label):
        return
    expect("train_error" in model.history_, "the history has no column 'train_error'")
    for run in np.unique(model.moves_.label).tolist():
        rounds = int(model.moves_.round[model.moves_.label == run].max())
        errors = model.history_["train_error"][label == max(run, 0)][:rounds]
        expect(bool(np.all(np.isfinite(errors))), "the history lacks the training error of a round")


def _check_numbers(model: Any, label: Numbers, about: NDArray[Any]) -> None:
    """DeepBoost numbers its voters in the order they come in; one that moves again is the same voter."""
    history = model.history_
    members = len(getattr(model._family(), "families", [None]))
    expect(bool(np.all(history["family"] < members)), "the history names a family that there is not")
    packed = _nodes_of(model.ensemble_)
    for run in np.unique(about).tolist():
        number = history["voter"][label == run]
        most = np.maximum.accumulate(np.concatenate([[-1.0], number]))
        expect(bool(np.all(number <= most[:-1] + 1)), "the history names a voter before it came")
        met: dict[int, bytes] = {}
        for voter, one in zip(np.flatnonzero(about == run).tolist(), number.tolist(), strict=False):
            expect(met.setdefault(int(one), packed(voter)) == packed(voter), "a voter changes from move to move")


def _nodes_of(ensemble: Any) -> Any:
    """Return a function that gives the bytes of a voter, whatever its step."""
    if isinstance(ensemble, RowEnsemble):
        arrays = list(ensemble.family.pack(ensemble.fitted).values())
        return lambda voter: b"".join(array[voter].tobytes() for array in arrays)

    def nodes(voter: int) -> bytes:
        low, high = ensemble.offsets[voter : voter + 2]
        parts = (ensemble.column, ensemble.threshold, ensemble.missing_left, ensemble.children, ensemble.value)
        members = ensemble.members[low:high]
        return b"".join([*(part[low:high].tobytes() for part in parts), ensemble.sets[members[members >= 0]].tobytes()])

    return nodes
