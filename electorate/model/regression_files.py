"""Regressors to files and back, by the same format and the same checks as classifiers.

Functions of the user's, as costs or confidences, have no place in a file: such models are refused.
"""

import math
from dataclasses import astuple
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import modelfile
from electorate.data import seen_rows
from electorate.grid import LONGEST
from electorate.model import file_parts as parts
from electorate.model import files
from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.history_checks import check_median_history
from electorate.model.median import Median
from electorate.model.trace import MEDIAN_COLUMNS as COLUMNS
from electorate.modelfile import Contents, meta_value, require
from electorate.registry import MODULES
from electorate.voters.confidence import Bump, Sure
from electorate.voters.finite_regressors import ColumnPredictor

NEEDED = frozenset(COLUMNS)  # of the history
NUMBERS = ("eps_", "rho_")  # attributes, where a model has them


# ---------------------------------------------------------------- writing


def save(model: Any, path: Any) -> None:
    _refuse(model, "file format")
    if model._functions is not None:
        raise TypeError(
            f"{model._functions} holds a function, which a model file cannot: keep the model by skops or pickle"
        )
    used = files.NO_COLUMNS if model.vote_.trees is None else model.vote_.trees.column
    arrays = _arrays(model) | files.bin_arrays(model.bins_, used)
    arrays |= {files.HISTORY + name: column for name, column in model.history_.items()}
    if hasattr(model, "calibration_"):
        arrays["calibration"] = model.calibration_
    arrays |= seen_rows.arrays_of(model)
    modelfile.write(path, type(model).__name__, _meta(model) | files._held_out(model), arrays)


def digest(model: Any) -> str:
    """SHA-256 over the trees, the steps, the confidences, the categories and the edges."""
    _refuse(model, "digest")
    return files.digest_of(_arrays(model), model.bins_, _said(model))


def _refuse(model: Any, what: str) -> None:
    if model.vote_.trees is None and not model._by_columns:
        raise TypeError(
            f"a model of {type(model.estimator_).__name__} voters has no {what} of ours: "
            "use RegressionTrees, Pool or Columns, or keep it by skops or pickle"
        )
    if not all(isinstance(one, Bump | Sure) for one in model.confidences_):
        raise TypeError(f"a model with confidences given as functions has no {what}: keep it by skops or pickle")


def _arrays(model: Any) -> dict[str, NDArray[Any]]:
    vote = model.vote_
    if vote.trees is not None:
        voters = vote.trees.arrays()
    else:
        columns = np.array([voter.column for voter in vote.fitted], dtype=np.int32)
        voters = {"voter.column": columns, "steps": vote.steps}
    return {**voters, "kappa": vote.kappa}


def _said(model: Any) -> dict[str, Any]:
    """What the model is besides its arrays."""
    return {
        "decides": model.vote_.decides,
        "fallback": model.fallback_,
        "confidences": [list(astuple(one)) for one in model.confidences_],
        **{name: getattr(model, name, None) for name in NUMBERS},
    }


def _meta(model: Any) -> dict[str, Any]:
    return {**_said(model), **files.meta_of(model, model.get_params(deep=False))}


# ---------------------------------------------------------------- reading


def rebuild(contents: Contents) -> Any:
    model = files.as_described(contents, getattr(import_module(MODULES[contents.kind]), contents.kind), {})
    files.read_columns(contents, model)
    model.bins_ = parts.read_bins(contents, model.n_features_in_)
    model.confidences_ = _read_confidences(contents, model.n_features_in_)
    model.vote_ = _read_vote(contents, model)
    model.history_ = files._read_history(contents, model.vote_.n_voters, NEEDED)
    model.stop_reason_ = meta_value(contents, "stop_reason", str)
    files._read_validation(contents, model)
    _read_numbers(contents, model)
    check_median_history(model)
    seen_rows.read_seen(contents, model)
    model.estimator_ = model._family()
    files._read_held_out(contents, model)
    return model


def _read_vote(contents: Contents, model: Any) -> Median:
    expect = parts.expect
    decides = meta_value(contents, "decides", bool)
    if model._by_columns:
        steps = np.array(require(contents, "steps", "<f8", (None,)))
        _check_steps(steps)
        kappa = _read_kappa(contents, model, len(steps))
        expect(len(steps) > 0 or not decides, "no voter decides")
        return Median(None, _read_column_voters(contents, model, len(steps)), steps, kappa, decides)
    trees = parts.read_ensemble(contents, model.n_features_in_)
    _check_trees(trees, model)
    kappa = _read_kappa(contents, model, trees.n_voters)
    expect(trees.n_voters > 0 or not decides, "no voter decides")
    if not hasattr(model, "eps"):  # AdaBoost.R2 knows no doubt
        certain = not decides and not model.confidences_ and bool(np.all(trees.value[trees.column == LEAF, 1] == 1))
        expect(certain, "a voter is not sure")
    return Median(trees, [], trees.steps, kappa, decides)


def _read_kappa(contents: Contents, model: Any, n_voters: int) -> NDArray[np.int32]:
    """Which confidence each voter has."""
    kappa = np.array(require(contents, "kappa", "<i4", (n_voters,)))
    most = max(1, len(model.confidences_))
    parts.expect(bool(np.all((kappa >= 0) & (kappa < most))), "a voter has no confidence")
    return kappa


def _read_column_voters(contents: Contents, model: Any, n_voters: int) -> list[ColumnPredictor]:
    parts.expect(not model.bins_.categories, "voters by rows know no categories")
    columns = require(contents, "voter.column", "<i4", (n_voters,))
    parts.expect(
        bool(np.all((columns >= 0) & (columns < model.n_features_in_))), "the column of a voter is out of range"
    )
    return [ColumnPredictor(column, model.n_features_in_) for column in columns.tolist()]


def _check_steps(steps: NDArray[np.float64]) -> None:
    in_range = bool(np.all(np.isfinite(steps)) and np.all((steps >= 0) & (steps < LONGEST)) and steps.sum() < LONGEST)
    parts.expect(in_range, "steps are out of range")


def _check_trees(e: Ensemble, model: Any) -> None:
    expect, nodes = parts.expect, len(e.column)
    same = (e.threshold, e.members, e.missing_left, e.children, e.value)
    expect(all(len(array) == nodes for array in same), "node arrays differ in length")
    expect(len(e.offsets) > 0 and parts.partition(e.offsets, nodes), "offsets do not divide the nodes")
    expect(bool(np.all(np.diff(e.offsets) > 0)), "a voter has no nodes")
    expect(len(e.offsets) == len(e.steps) + 1, "steps do not fit the voters")
    expect(e.n_outputs == 2, "a leaf does not say a value and a confidence")
    parts.check_rounds(e, 1)
    parts.check_splits(e, model.bins_)
    expect(bool(np.all(np.isfinite(e.value))), "a vote is not finite")
    expect(bool(np.all((e.value[:, 1] >= 0) & (e.value[:, 1] <= 1))), "a confidence is not from 0 to 1")
    _check_steps(e.steps)


def _read_confidences(contents: Contents, n_columns: int) -> list[Any]:
    confidences: list[Any] = []
    for entry in meta_value(contents, "confidences", list):
        if entry == []:
            confidences.append(Sure())
            continue
        fits = isinstance(entry, list) and len(entry) == 4 and type(entry[0]) is int
        parts.expect(fits and all(type(number) in (int, float) for number in entry), "a confidence is not a bump")
        bump = Bump(entry[0], *(float(number) for number in entry[1:]))
        inside = 0 <= bump.column < n_columns and 0 <= bump.least <= 1
        finite = math.isfinite(bump.centre) and 0 < bump.width < math.inf
        parts.expect(inside and finite, "a bump is out of range")
        confidences.append(bump)
    return confidences


def _read_numbers(contents: Contents, model: Any) -> None:
    model.fallback_ = _number(contents.meta.get("fallback"), "fallback")
    if hasattr(model, "eps"):
        model.eps_ = _number(contents.meta.get("eps_"), "eps_")
        parts.expect(model.eps_ > 0, "eps_ is not positive")
        rho = contents.meta.get("rho_")
        model.rho_ = None if rho is None else _number(rho, "rho_")
    if "calibration" in contents.arrays:
        scores = np.array(require(contents, "calibration", "<f8", (None,)))
        parts.expect(
            bool(np.all(scores >= 0) and np.all(np.diff(scores) >= 0)), "calibration scores do not rise from 0"
        )
        model.calibration_ = scores


def _number(value: Any, name: str) -> float:
    parts.expect(type(value) in (int, float) and math.isfinite(value), f"{name} is not a number")
    return float(value)
