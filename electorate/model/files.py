"""Estimators to files and back: what a model is made of, every index and value checked before it is used.

Class names go through a fixed table; nothing is unpickled. The file format itself is in modelfile.py.
"""

import hashlib
import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import modelfile
from electorate.data import seen_rows
from electorate.data.bins import Bins
from electorate.data.table import Categories
from electorate.model import file_parts as parts
from electorate.model.ensemble import Ensemble
from electorate.model.history_checks import check_history
from electorate.model.row_ensemble import RowEnsemble
from electorate.model.stored_parameters import decode_parameters, encode_parameters
from electorate.modelfile import Contents, meta_value
from electorate.registry import ALGORITHMS, MODULES

HISTORY = "history."
NO_COLUMNS = np.empty(0, dtype=np.int32)  # of voters that do not use bins
LONGEST_REASON = 1000  # characters of a stop reason
HELD_OUT: dict[str, tuple[type, ...]] = {
    "rows": (int,),
    "errors": (int,),
    "error": (int, float),
    "bound": (int, float),
    "confidence": (int, float),
    "why": (str,),
    "digest": (str,),
}


# ---------------------------------------------------------------- writing


def save(model: Any, path: Any) -> None:
    _refuse_wrapped(model)
    arrays = {**model.ensemble_.arrays(), **bin_arrays(model.bins_, getattr(model.ensemble_, "column", NO_COLUMNS))}
    arrays |= {HISTORY + name: column for name, column in model.history_.items()}
    arrays |= {**model._more_arrays(), **seen_rows.arrays_of(model)}
    modelfile.write(path, type(model).__name__, _meta(model) | _held_out(model), arrays)


def _held_out(model: Any) -> dict[str, Any]:
    """What rows that were held out say of this very model; not of one that was fitted again since."""
    said = getattr(model, "held_out_", None)
    return {"held_out": said} if said is not None and said.get("digest") == model.digest_ else {}


def stored_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters as a file holds them; TypeError names one that it cannot hold."""
    kept = getattr(model, "_kept_parameters", None)
    return encode_parameters(model.get_params(deep=False) if kept is None else kept())


def check_storable(model: Any) -> None:
    """Raise TypeError or ValueError if a model with these parameters could not be saved, fitted or not."""
    modelfile.write_bytes(type(model).__name__, {"parameters": stored_parameters(model)}, {})


def identity(model: Any) -> str:
    """Return what a model is by its parameters, except those that may change when training resumes."""
    parameters = stored_parameters(model)
    for name in ("n_estimators", "n_jobs", "warm_start"):
        parameters.pop(name, None)
    return json.dumps([type(model).__name__, parameters], sort_keys=True)


def digest(model: Any) -> str:
    """SHA-256 over the ensemble, the classes, the categories and the edges."""
    _refuse_wrapped(model)
    return digest_of(model.ensemble_.arrays(), model.bins_, _labels_for_digest(model.classes_))


def digest_of(arrays: dict[str, NDArray[Any]], bins: Bins, more: Any) -> str:
    """SHA-256 over the arrays of the voters, the bins, and what else makes a model."""
    digest = hashlib.sha256(bins.edges_hash)
    for name, array in {**arrays, "n_bins": bins.n_bins, "has_missing": bins.has_missing}.items():
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([more, _categories_out(bins.categories)], sort_keys=True).encode())
    return digest.hexdigest()


def _refuse_wrapped(model: Any) -> None:
    by_arrays = isinstance(model.ensemble_, RowEnsemble) and hasattr(model.ensemble_.family, "pack")
    if not (isinstance(model.ensemble_, Ensemble) or by_arrays):
        raise TypeError(
            f"a model of {type(model.estimator_).__name__} voters has no file format and no digest of ours: "
            "use a family of electorate's, or keep it by skops or pickle"
        )


def _meta(model: Any) -> dict[str, Any]:
    return {"classes": _labels_out(model.classes_), **meta_of(model, model._kept_parameters())}


def meta_of(model: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """What files of all kinds of models say besides arrays."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "parameters": encode_parameters(parameters),
        "categories": _categories_out(model.bins_.categories),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(model.n_features_in_),
        "stop_reason": model.stop_reason_,
        "best_round": getattr(model, "best_round_", None),
        "validation_seed": getattr(model, "_validation_seed", None),
    }


def _labels_out(classes: NDArray[Any]) -> dict[str, Any]:
    """Texts as "str", however long: the width of an array of texts is not part of the model."""
    kind = {"O": "object", "U": "str"}.get(classes.dtype.kind, classes.dtype.newbyteorder("<").str)
    return {"dtype": kind, "labels": classes.tolist()}


def _labels_for_digest(classes: NDArray[Any]) -> dict[str, Any]:
    """The labels and their kind. How wide an array holds them, or whether as objects, is not part of the model."""
    written = _labels_out(classes)
    kinds = {"O": "str", "U": "str", "i": "<i8", "u": "<i8", "f": "<f8"}
    return {**written, "dtype": kinds.get(classes.dtype.kind, written["dtype"])}


def _categories_out(categories: dict[int, Categories]) -> list[dict[str, Any]]:
    return [
        {"column": column, "text": c.is_text, "levels": c.levels.tolist(), "rest": list(c.rest)}
        for column, c in sorted(categories.items())
    ]


def bin_arrays(bins: Bins, columns: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The bins as a file holds them: edges of the columns that voters use, and a hash of all.

    columns: those in the nodes of the voters; negative ones are leaves. Without this, a model of a few stumps over
    100,000 columns would take 150 MB.
    """
    used = {*np.unique(columns).tolist(), *bins.categories}
    kept = [edges if column in used else np.empty(0) for column, edges in enumerate(bins.edges)]
    return {
        "edges": np.concatenate([np.empty(0), *kept]),
        "edge_offsets": np.concatenate([[0], np.cumsum([len(edges) for edges in kept])]).astype(np.int64),
        "edges_hash": np.frombuffer(bins.edges_hash, dtype=np.uint8),
        "n_bins": bins.n_bins,
        "has_missing": bins.has_missing,
    }


# ---------------------------------------------------------------- reading


def load(path: Any, families: Sequence[type] = ()) -> Any:
    """Read a model that `save` wrote. A damaged or hostile file raises `ModelFormatError`; nothing is executed.

    families: classes of voters that are not electorate's own; a file names them, and only those given here are made.
    """
    from electorate.model import quad_files, regression_files

    contents = modelfile.read(path)
    own = {family.__name__: family for family in families}
    with parts.blaming(contents):
        parts.expect(contents.kind in ALGORITHMS, f"no estimator is called {contents.kind!r:.60}")
        vote = ALGORITHMS[contents.kind].vote
        if vote == "number":
            return quad_files.rebuild(contents, own)
        return regression_files.rebuild(contents) if vote == "median" else _rebuild(contents, own)


def _rebuild(contents: Contents, families: dict[str, type]) -> Any:
    model = as_described(contents, getattr(import_module(MODULES[contents.kind]), contents.kind), families)
    model._validate_family()
    read_columns(contents, model)
    model.classes_ = parts.labels_in(meta_value(contents, "classes", dict))
    model.n_classes_ = len(model.classes_)
    model.bins_ = parts.read_bins(contents, model.n_features_in_)
    if model._by_rows:
        parts.expect(not model.bins_.categories, "voters by rows know no categories")
        model.ensemble_ = RowEnsemble.read(contents, model._family(), model.classes_, model.n_features_in_)
    else:
        model.ensemble_ = parts.read_ensemble(contents, model.n_features_in_)
        parts.check_ensemble(model.ensemble_, model.bins_, model.n_classes_)
    model.history_ = _read_history(contents, model.ensemble_.n_voters, model._history_columns)
    model.stop_reason_ = read_stop_reason(contents)
    _read_validation(contents, model)
    model._read_more(contents)
    check_history(model, contents)
    seen_rows.read_seen(contents, model)
    model.estimator_ = model._family()
    _read_held_out(contents, model)
    return model


def as_described(contents: Contents, kind: type[Any], families: dict[str, type]) -> Any:
    """An unfitted estimator of this class with the parameters of a file."""
    given = meta_value(contents, "parameters", dict)
    known = set(kind().get_params(deep=False))
    parts.expect(set(given) <= known, f"unknown parameters {sorted(set(given) - known)[:3]}")
    model = kind(**decode_parameters(given, families))
    model._validate_params()
    return model


def read_columns(contents: Contents, model: Any) -> None:
    model.n_features_in_ = parts.read_n_features(contents)
    names = parts.read_names(contents, model.n_features_in_)
    if names is not None:
        model.feature_names_in_ = names


def read_stop_reason(contents: Contents) -> str:
    reason = meta_value(contents, "stop_reason", str)
    parts.expect(len(reason) <= LONGEST_REASON and reason.isprintable(), "stop_reason is not a short text")
    return reason


def _read_held_out(contents: Contents, model: Any) -> None:
    stored = contents.meta.get("held_out")
    if stored is None:
        return
    parts.expect(isinstance(stored, dict) and set(stored) <= set(HELD_OUT), "held_out has unknown entries")
    for name, value in stored.items():
        fits = value is None or type(value) in HELD_OUT[name]
        parts.expect(fits, f"held_out: {name!r} is not a number or a text, as it should be")
    parts.expect(stored.get("digest") == model.digest_, "held_out is about another model")
    model.held_out_ = stored


def _read_validation(contents: Contents, model: Any) -> None:
    for key, attribute in (("best_round", "best_round_"), ("validation_seed", "_validation_seed")):
        value = contents.meta.get(key)
        parts.expect(value is None or (type(value) is int and 0 <= value < 2**31), f"{key} is not a number in range")
        if value is not None:
            setattr(model, attribute, value)


def _read_history(contents: Contents, rounds: int, needed: frozenset[str]) -> dict[str, NDArray[Any]]:
    names = [name for name in contents.arrays if name.startswith(HISTORY)]
    columns = {name[len(HISTORY) :]: np.array(contents.arrays[name]) for name in names}
    parts.expect(bool(columns) and needed <= set(columns), "the history lacks columns")
    parts.expect(all(column.ndim == 1 for column in columns.values()), "a column of the history is no list of numbers")
    lengths = {len(column) for column in columns.values()}
    parts.expect(len(lengths) == 1, "the columns of the history differ in length")
    parts.expect(min(lengths) >= rounds, "the history does not fit the rounds")
    typed = all(column.dtype in (np.float64, np.int64) for column in columns.values())
    parts.expect(typed, "the history is not made of 64-bit numbers")
    return columns
