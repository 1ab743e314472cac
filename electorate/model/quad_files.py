"""QuadBoost's regressors to files and back, by the same format and the same checks as classifiers.

Beside the voters, their moves and the history a file holds what turns votes into numbers: scale, start, centres.
"""

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import modelfile
from electorate.data import seen_rows
from electorate.model import file_parts as parts
from electorate.model import files
from electorate.model.history_checks import check_quad_history
from electorate.model.moves import Moves
from electorate.model.row_ensemble import RowEnsemble
from electorate.modelfile import Contents, meta_value, require

KIND = "QuadBoostRegressor"
NEEDED = frozenset({"step", "edge", "objective", "n_voters", "seconds"})
TWO = np.arange(2)  # classes, as the checks of the arrays of a vote want them


def save(model: Any, path: Any) -> None:
    arrays = _arrays(model) | model.moves_.arrays() | {"gap": np.array([model.gap_])}
    arrays |= files.bin_arrays(model.bins_, getattr(model.ensemble_, "column", files.NO_COLUMNS))
    arrays |= {files.HISTORY + name: column for name, column in model.history_.items()}
    arrays |= seen_rows.arrays_of(model)
    meta = files.meta_of(model, model.get_params(deep=False)) | files._held_out(model)
    modelfile.write(path, KIND, meta, arrays)


def digest(model: Any) -> str:
    """SHA-256 over the voters, what turns votes into numbers, the categories and the edges."""
    return files.digest_of(_arrays(model), model.bins_, None)


def _arrays(model: Any) -> dict[str, NDArray[Any]]:
    files._refuse_wrapped(model)
    frame = {"frame": np.array([model.scale_, model.start_]), "centres": model.centres_}
    return {**model.ensemble_.arrays(), **frame}


def rebuild(contents: Contents, families: dict[str, type]) -> Any:
    kind = getattr(import_module("electorate.estimators.quadboost_regressor"), KIND)
    model = files.as_described(contents, kind, families)
    model._validate_family()
    files.read_columns(contents, model)
    model.bins_ = parts.read_bins(contents, model.n_features_in_)
    _read_voters(contents, model)
    model.moves_ = Moves.read(contents, model.ensemble_)
    model.history_ = files._read_history(contents, int(model.moves_.round.max(initial=0)), NEEDED)
    model.gap_ = float(require(contents, "gap", "<f8", (1,))[0])
    model.stop_reason_ = meta_value(contents, "stop_reason", str)
    files._read_validation(contents, model)
    _read_frame(contents, model)
    check_quad_history(model)
    seen_rows.read_seen(contents, model)
    model.estimator_ = model._family()
    files._read_held_out(contents, model)
    return model


def _read_voters(contents: Contents, model: Any) -> None:
    if model._is_native:
        model.ensemble_ = parts.read_ensemble(contents, model.n_features_in_)
        parts.check_ensemble(model.ensemble_, model.bins_, len(TWO))
        return
    parts.expect(hasattr(model._family(), "pack"), "its voters have no place in a file")
    parts.expect(not model.bins_.categories, "voters by rows know no categories")
    model.ensemble_ = RowEnsemble.read(contents, model._family(), TWO, model.n_features_in_)


def _read_frame(contents: Contents, model: Any) -> None:
    expect = parts.expect
    scale, start = (float(number) for number in require(contents, "frame", "<f8", (2,)))
    expect(0 < scale < math.inf and math.isfinite(start), "the scale of the target is out of range")
    centres = np.array(require(contents, "centres", "<f8", (model.ensemble_.n_voters,)))
    expect(bool(np.all(np.abs(centres) <= 1)), "a voter says more than 1 on average")
    model.scale_, model.start_, model.centres_ = scale, start, centres
