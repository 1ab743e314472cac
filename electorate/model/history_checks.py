"""Checks the history of a model file against its voters, classes and parameters, before anything relies on it."""

from typing import Any

import numpy as np

from electorate.exact import AnyArray, Floats
from electorate.model.ensemble import NODE_ARRAYS, Ensemble
from electorate.model.foreign_ensemble import RowEnsemble
from electorate.model.moves import first_moves
from electorate.model.trace import CLASSIFIER_COLUMNS, MEDIAN_COLUMNS
from electorate.modelfile import expect
from electorate.registry import WRITTEN

ALWAYS = frozenset({"step", "edge", "n_voters", "seconds"})  # also where there is no round
ROUND = frozenset(CLASSIFIER_COLUMNS)
PROGRAM = frozenset({"step", "edge", "error", "objective", "gap", "train_error", "n_voters", "seconds", "kept"})
MOVE = ALWAYS | {"objective"}
COLUMNS = {
    "CertifiedClassifier": frozenset({"step", "n_voters"}),
    "DeepBoostClassifier": ROUND | {"voter", "family", "size", "weight", "penalty"},
    "EBBoostClassifier": ROUND | {"floor_of_squares"},
    "LPBoostClassifier": PROGRAM,
    "LocMedBoostClassifier": ROUND | {"rho", "alone"},
    "QuadBoostClassifier": MOVE,
    "QuadBoostRegressor": MOVE,
    "RLPBoostClassifier": PROGRAM | {"residual"},
    "RQPBoostClassifier": PROGRAM | {"residual"},
    "VadaBoostClassifier": ROUND | {"log_mean", "mean_floor"},
}
MOVING = [name for name, columns in COLUMNS.items() if columns is MOVE]  # weights change in later rounds
WHOLE = ("label", "n_voters", "kept", "voter", "family", "size")  # columns of whole numbers


def check_history(model: Any, kind: str) -> None:
    """Raise ValueError where the history cannot have led to the voters of the model."""
    history, median = model.history_, WRITTEN[kind].vote == "median"
    rows = len(next(iter(history.values())))
    needed = frozenset(MEDIAN_COLUMNS) if median else COLUMNS.get(kind, ROUND)
    if not (rows or median):
        needed = needed & (ALWAYS | {"error", "objective"})
    if rows and getattr(model, "confidence_by", "constant") != "constant":
        needed |= {"confidence"}
    lacking = needed - set(history)
    expect(not lacking, f"the history has no column {min(lacking, default='')!r}")
    for name in WHOLE:
        if name in history:
            whole = np.isfinite(history[name]) & (history[name] == np.rint(history[name]))
            expect(np.all(whole & (history[name] >= 0)), f"the history has a {name!r} that is not an integer")
    expect(np.all(history["n_voters"] <= max(rows, 1)), "the history counts more voters than rounds")
    if median:
        _check_median_steps(history["step"], model.vote_)
    else:
        _check_runs(model, kind, rows)


def _check_median_steps(steps: Floats, vote: Any) -> None:
    expect(len(steps) >= vote.n_voters, "the history has fewer rounds than there are voters")
    first = steps[: vote.n_voters]
    alone = np.zeros(len(first), dtype=np.bool_)
    alone[-1:] = vote.decides  # a voter that decides alone has an infinite step, which votes as 0
    expect(np.array_equal(np.isposinf(first), alone), "the history has other voters of infinite steps")
    expect(np.array_equal(np.where(alone, 0.0, first), vote.steps), "the history has other steps than the voters")


def _check_runs(model: Any, kind: str, rows: int) -> None:
    """Check that each run of a summed vote has rounds for its voters."""
    history, n_classes = model.history_, getattr(model, "n_classes_", 2)
    n_runs = n_classes if n_classes > 2 and model._one_vs_rest else 1
    expect(("label" in history) == (n_runs > 1), "the labels of the history do not fit the classes")
    label = history["label"] if n_runs > 1 else np.zeros(rows)
    expect(np.all(label < n_runs), "the history has a label that is not a class")
    counted = np.bincount(label.astype(np.int64), minlength=n_runs)
    _check_voters(model, n_runs)
    about = np.maximum(model.ensemble_.about, 0)
    voters = np.bincount(about, minlength=n_runs)
    if "kept" in history:
        kept = np.bincount(label[history["kept"] > 0].astype(np.int64), minlength=n_runs)
        expect(np.array_equal(kept, voters), "the history keeps other voters than the model has")
    elif kind in MOVING:
        _check_moves(model, label, counted)
    else:
        expect(np.all(voters <= counted), "the history has fewer rounds than there are voters")
        for run in np.unique(about).tolist():
            steps = model.ensemble_.steps[about == run]
            same = np.array_equal(history["step"][label == run][: len(steps)], steps)
            expect(same, "the history has other steps than the voters")
    if kind == "DeepBoostClassifier" and rows:
        _check_numbers(model, label, about)


def _check_voters(model: Any, n_runs: int) -> None:
    """The voters of a run come in the rounds 1, 2, ..., and those about a class have no output for others."""
    ensemble = model.ensemble_
    about, rounds = ensemble.about, ensemble.rounds
    expect(np.all(about == -1 if n_runs == 1 else about >= 0), "voters are not about the classes")
    for run in np.unique(about).tolist():
        mine = rounds[about == run]
        expect(np.array_equal(mine, np.arange(1, len(mine) + 1)), "the voters of a class do not come round by round")
    if n_runs > 1 and isinstance(ensemble, Ensemble):
        others = ensemble.value != 0
        others[np.arange(len(others)), np.repeat(about, np.diff(ensemble.offsets))] = False
        expect(not others.any(), "a voter about one class has an output for another")


def _check_moves(model: Any, label: Floats, counted: AnyArray) -> None:
    """Each run has a move in every round, and a row of history for it. label: of each row; counted: rows per run."""
    moves, history = model.moves_, model.history_
    run = np.maximum(moves.label, 0)
    last = np.zeros(len(counted), dtype=np.int64)
    np.maximum.at(last, run, moves.round)
    expect(np.all(last <= counted), "the history has fewer rounds than the moves")
    pairs = np.unique(np.stack([run, moves.round]), axis=1)
    expect(np.array_equal(np.bincount(pairs[0], minlength=len(counted)), last), "a class has a round without a move")
    if not model._records_errors or not len(label):
        return
    # training can only resume if all rounds of the model have their training error
    expect("train_error" in history, "the history has no column 'train_error'")
    for number, rounds in enumerate(last.tolist()):
        errors = history["train_error"][label == number][:rounds]
        expect(np.all(np.isfinite(errors)), "the history lacks the training error of a round")


def _check_numbers(model: Any, label: Floats, about: AnyArray) -> None:
    """DeepBoost numbers its voters in the order they come in; one that moves again is the same voter."""
    history = model.history_
    members = len(getattr(model._family(), "families", [None]))
    expect(np.all(history["family"] < members), "the history names an unknown family")
    for run in np.unique(about).tolist():
        number = history["voter"][label == run]
        most = np.maximum.accumulate(np.concatenate([[-1.0], number]))
        expect(np.all(number <= most[:-1] + 1), "the history names a voter before it came")
    for entry, first in enumerate(first_moves(model.ensemble_, history).tolist()):
        same = entry == first or _bytes_of(model.ensemble_, entry) == _bytes_of(model.ensemble_, first)
        expect(same, "a voter changes from move to move")


def _bytes_of(ensemble: Any, voter: int) -> bytes:
    """A voter without its step."""
    if isinstance(ensemble, RowEnsemble):
        return b"".join(array.tobytes() for array in ensemble.family.pack([ensemble.fitted[voter]]).values())
    alone = ensemble.only(voter)
    return b"".join([*(getattr(alone, name).tobytes() for name in NODE_ARRAYS), alone.sets.tobytes()])
