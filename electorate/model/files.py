"""Models to files and back: voters, history and vote, every index and value checked before it is used.

Class names are looked up in the registry; nothing is unpickled. The file format itself is in modelfile.py.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import astuple
from importlib import import_module
from typing import Any

import numpy as np

from electorate import modelfile
from electorate.data import seen_rows
from electorate.data.bins import Bins
from electorate.data.cleaning import read_cleaning
from electorate.data.table import Categories
from electorate.exact import LONGEST, AnyArray
from electorate.families.finite_regressors import ColumnPredictor
from electorate.families.rho_search import Bump, Sure
from electorate.model import file_parts as parts
from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.foreign_ensemble import RowEnsemble
from electorate.model.history_checks import MOVING, check_history
from electorate.model.library_model import LibraryModel
from electorate.model.median import Median
from electorate.model.moves import Moves
from electorate.model.stored_parameters import decode_confidence, decode_parameters, encode_parameters
from electorate.modelfile import Contents, blaming, expect, meta_value, require
from electorate.registry import WRITTEN

Arrays = dict[str, AnyArray]
HISTORY = "history."
NO_COLUMNS = np.empty(0, dtype=np.int32)  # of voters that do not use bins
TWO_CLASSES = np.arange(2)  # a sum that predicts numbers has one output, as that of two classes
# The width of an array of texts is not part of the model; nor for its digest is that of numbers, or whether objects.
STORED_KINDS = {"O": "object", "U": "str"}
DIGEST_KINDS = {"O": "str", "U": "str", "i": "<i8", "u": "<i8", "f": "<f8"}
LARGEST_SCALE = 2.0**500  # of targets: QuadBoost refuses those beyond 1e150, and votes times a scale must be finite
LONGEST_REASON = 1000  # characters of a stop reason
HELD_OUT: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("rows", "errors", "training_rows"), (int,)),
    **dict.fromkeys(("error", "bound", "confidence"), (int, float)),
    **dict.fromkeys(("why", "digest"), (str,)),
}


class NotStorableError(TypeError, AttributeError):
    """The model has no file format. An AttributeError too, so that `dir(model)` leaves `digest_` out."""


# ---------------------------------------------------------------- writing


def save(model: Any, path: Any) -> None:
    """Write a fitted model. TypeError if its voters or parameters have no place in a file."""
    modelfile.write(path, *_stored(model))


def as_bytes(model: Any) -> bytes:
    """Return what `save` would write."""
    return modelfile.write_bytes(*_stored(model))


def _stored(model: Any) -> tuple[str, dict[str, Any], Arrays]:
    """The kind, the JSON and the arrays of the file of a model."""
    if hasattr(model, "_stored"):
        kind, meta, own = model._stored()
        return kind, meta, own
    arrays, facts = _content(model)
    if getattr(model, "_functions", None) is not None:
        raise TypeError(
            f"{model._functions} holds a function, which a model file cannot hold: use skops or pickle instead"
        )
    if hasattr(model, "classes_"):
        facts = {"classes": stored_labels(model.classes_)}
    arrays |= bin_arrays(model.bins_, arrays.get("column", NO_COLUMNS))
    arrays |= {HISTORY + name: column for name, column in model.history_.items()}
    if hasattr(model, "moves_"):
        arrays |= {**model.moves_.arrays(), "gap": np.array([model.gap_])}
    if hasattr(model, "calibration_"):
        arrays["calibration"] = model.calibration_
    arrays |= model._more_arrays() | seen_rows.arrays_of(model)
    return type(model).__name__, {**_meta(model), **(facts or {})}, arrays


def stored_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters as a file holds them; TypeError names one that it cannot hold."""
    return encode_parameters(model._stored_parameters())


def check_storable(model: Any) -> None:
    """Raise TypeError or ValueError if a model with these parameters could not be saved, fitted or not."""
    modelfile.write_bytes(type(model).__name__, {"parameters": stored_parameters(model)}, {})


def identity(model: Any) -> str:
    """Return the class and the parameters, except those that may change when training resumes."""
    parameters = stored_parameters(model)
    for name in ("n_estimators", "n_jobs", "warm_start"):
        parameters.pop(name, None)
    return json.dumps([type(model).__name__, parameters], sort_keys=True)


def digest(model: Any) -> str:
    """Return the SHA-256 over the voters, the vote, the categories and the edges."""
    arrays, facts = _content(model)
    bins: Bins = model.bins_
    digest = hashlib.sha256(bins.edges_hash)
    for name, array in {**arrays, "n_bins": bins.n_bins, "has_missing": bins.has_missing}.items():
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([facts, stored_categories(bins.categories)], sort_keys=True).encode())
    if model.cleaning_ is not None:
        digest.update(json.dumps(model.cleaning_.stored(), sort_keys=True).encode())
    return digest.hexdigest()


def _content(model: Any) -> tuple[Arrays, Any]:
    """The arrays and the JSON that make the model what it is; its digest covers them and the bins."""
    vote = getattr(model, "vote_", None)
    if vote is None:
        ensemble = model.ensemble_
        by_rows = isinstance(ensemble, RowEnsemble) and hasattr(ensemble.family, "pack")
        if not (isinstance(ensemble, Ensemble) or by_rows):
            raise _no_format(model, "a family of electorate")
        if hasattr(model, "classes_"):
            return ensemble.arrays(), _labels(model.classes_, DIGEST_KINDS)
        return {**ensemble.arrays(), "frame": np.array([model.scale_, model.start_]), "centres": model.centres_}, None
    if vote.trees is None and not model._by_rows:
        raise _no_format(model, "RegressionTrees, Pool or Columns")
    if not all(isinstance(one, Bump | Sure) for one in model.confidences_):
        raise NotStorableError(
            "A model with functions as confidences has no file format and no digest. Store it with skops or pickle."
        )
    columns = np.array([voter.column for voter in vote.fitted], dtype=np.int32)
    voters = {"voter.column": columns, "steps": vote.steps} if vote.trees is None else vote.trees.arrays()
    facts = {
        "decides": vote.decides,
        "fallback": model.fallback_,
        "confidences": [list(astuple(one)) for one in model.confidences_],
        **{name: getattr(model, name, None) for name in ("eps_", "rho_")},
        **({"nu_": model.nu_} if hasattr(model, "nu_") else {}),
    }
    return {**voters, "kappa": vote.kappa}, facts


def _no_format(model: Any, families: str) -> NotStorableError:
    return NotStorableError(
        f"A model of {type(model.estimator_).__name__} voters has no file format and no digest: use {families}, or "
        "store it with skops or pickle."
    )


def _meta(model: Any) -> dict[str, Any]:
    return {
        "parameters": stored_parameters(model),
        "categories": stored_categories(model.bins_.categories),
        "stop_reason": model.stop_reason_,
        "best_round": getattr(model, "best_round_", None),
        "validation_seed": getattr(model, "_validation_seed", None),
        **shared_meta(model),
    }


def shared_meta(model: Any) -> dict[str, Any]:
    """What the files of all models have: names of columns, the cleaning, and the result on held-out rows."""
    names = getattr(model, "feature_names_in_", None)
    meta: dict[str, Any] = {
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(model.n_features_in_),
    }
    if model.cleaning_ is not None:
        meta["cleaning"] = model.cleaning_.stored()
    held_out = getattr(model, "held_out_", None)
    if held_out is not None and held_out.get("digest") == model.digest_:  # not of a model that was fitted again since
        meta["held_out"] = held_out
    return meta


def stored_labels(classes: AnyArray) -> dict[str, Any]:
    """The classes as a file holds them."""
    return _labels(classes, STORED_KINDS)


def _labels(classes: AnyArray, kinds: dict[str, str]) -> dict[str, Any]:
    """The labels and their kind."""
    kind = kinds.get(classes.dtype.kind, classes.dtype.newbyteorder("<").str)
    return {"dtype": kind, "labels": classes.tolist()}


def digest_labels(classes: AnyArray) -> dict[str, Any]:
    """The classes as digests cover them, whatever the width of their type."""
    return _labels(classes, DIGEST_KINDS)


def stored_categories(categories: dict[int, Categories]) -> list[dict[str, Any]]:
    """The categories as a file holds them."""
    return [
        {"column": column, "text": c.is_text, "levels": c.levels.tolist(), "rest": list(c.rest)}
        for column, c in sorted(categories.items())
    ]


def bin_arrays(bins: Bins, columns: AnyArray) -> Arrays:
    """The bins as a file holds them: edges of the columns that voters use, and a hash of all.

    columns: those in the nodes of the voters; negative ones are leaves. Without this, a model of a few stumps over
    100,000 columns would take 150 MB.
    """
    used = {*np.unique(columns).tolist(), *bins.categories}
    stored = [edges if column in used else np.empty(0) for column, edges in enumerate(bins.edges)]
    return {
        "edges": np.concatenate([np.empty(0), *stored]),
        "edge_offsets": np.concatenate([[0], np.cumsum([len(edges) for edges in stored])]).astype(np.int64),
        "edges_hash": np.frombuffer(bins.edges_hash, dtype=np.uint8),
        "n_bins": bins.n_bins,
        "has_missing": bins.has_missing,
    }


# ---------------------------------------------------------------- reading


def load(path: Any, families: Sequence[type] = (), *, foreign: bool = False) -> Any:
    """Read a model that `save` wrote.

    A damaged or hostile file raises `ModelFormatError`; nothing in a file is executed.

    Parameters
    ----------
    path : str or path
        The file.
    families : sequence of classes, default=()
        Classes of voters that are not part of electorate. A file names them, and only those given here are
        created.
    foreign : bool, default=False
        Whether models of LightGBM, XGBoost and CatBoost in the file, which are stored in formats of their own, may be
        given to these libraries. A manipulated file can crash them: only for files that you trust.

    Returns
    -------
    estimator
        The fitted model, of the class that was saved.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, load
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model"))
    ...     load(os.path.join(folder, "model")).digest_ == model.digest_
    True
    """
    contents = modelfile.read(path)
    with blaming(contents.source):
        expect(contents.kind in WRITTEN, f"no estimator is called {contents.kind!r:.60}")
        model = rebuild(contents, {family.__name__: family for family in families})
    for one in foreign_models(model):
        one.is_trusted = foreign
        one.check_trusted()
    return model


def foreign_models(model: Any) -> list[LibraryModel]:
    """Return the models of other libraries that a model consists of, or that are members of it."""
    members = [model, *vars(model).get("estimators_", ())]
    arrays = [getattr(one, "arrays_", None) for one in members]
    return [one for one in arrays if isinstance(one, LibraryModel)]


def rebuild(contents: Contents, families: dict[str, type]) -> Any:
    """Return the model of a file of a registered kind; ValueError for what `save` cannot have written."""
    algorithm = WRITTEN[contents.kind]
    kind = getattr(import_module(algorithm.module), algorithm.name)
    if hasattr(kind, "_rebuilt"):
        return kind._rebuilt(contents, families)
    model = described(contents, kind, families)
    parts.read_columns(contents, model)
    read_cleaning_of(contents, model)
    {"median": _read_median, "number": _read_number}.get(algorithm.vote, _read_sum)(contents, model)
    if algorithm.name in MOVING:
        model.moves_ = Moves.read(contents, model.ensemble_)
        model.gap_ = float(require(contents, "gap", "<f8", (1,))[0])
    names = [name for name in contents.arrays if name.startswith(HISTORY)]
    columns = {name[len(HISTORY) :]: np.array(contents.arrays[name]) for name in names}
    expect(all(column.ndim == 1 for column in columns.values()), "a column of the history is not a list of numbers")
    expect(len({len(column) for column in columns.values()}) == 1, "the columns of the history differ in length")
    types = {column.dtype.str for column in columns.values()}
    expect(types <= {"<f8", "<i8"}, "the history is not made of 64-bit numbers")
    model.history_ = columns
    model.stop_reason_ = meta_value(contents, "stop_reason", str)
    expect(len(model.stop_reason_) <= LONGEST_REASON and model.stop_reason_.isprintable(), "stop_reason is not a text")
    for key, attribute in (("best_round", "best_round_"), ("validation_seed", "_validation_seed")):
        value = contents.meta.get(key)
        expect(value is None or (type(value) is int and 0 <= value < 2**31), f"{key} is not a number in range")
        if value is not None:
            setattr(model, attribute, value)
    check_history(model, contents.kind)
    seen_rows.read_seen(contents, model)
    model.estimator_ = model._family()
    read_held_out(contents, model)
    return model


def read_cleaning_of(contents: Contents, model: Any) -> None:
    """Set the cleaning of a model, if the file has one."""
    if contents.meta.get("cleaning") is not None:
        names = getattr(model, "feature_names_in_", None)
        model.cleaning_ = read_cleaning(contents.meta["cleaning"], model.n_features_in_, names)


def described(contents: Contents, kind: type[Any], families: dict[str, type]) -> Any:
    """Return an unfitted estimator of this class with the parameters of a file."""
    given = meta_value(contents, "parameters", dict)
    known = set(kind().get_params(deep=False))
    expect(set(given) <= known, f"unknown parameters {sorted(set(given) - known)[:3]}")
    model = kind(**decode_parameters(given, families))
    model._validate_params()
    return model


def read_held_out(contents: Contents, model: Any) -> None:
    """Set the result on held-out rows, if the file has one; ValueError if it is about another model."""
    stored = contents.meta.get("held_out")
    if stored is None:
        return
    expect(isinstance(stored, dict) and set(stored) <= set(HELD_OUT), "held_out has unknown entries")
    for name, value in stored.items():
        fits = value is None or type(value) in HELD_OUT[name]
        expect(fits, f"held_out: {name!r} is not a number or a text, as it should be")
    expect(stored.get("digest") == model.digest_, "held_out is about another model")
    model.held_out_ = stored


# ---------------------------------------------------------------- the vote by a sum


def _read_sum(contents: Contents, model: Any) -> None:
    """The voters and classes of a classifier."""
    model.classes_ = parts.read_classes(contents)
    model.n_classes_ = len(model.classes_)
    _read_voters(contents, model, model.classes_)
    model._read_more(contents)


def _read_number(contents: Contents, model: Any) -> None:
    """The voters of a regressor, and what turns their sum into a number."""
    _read_voters(contents, model, TWO_CLASSES)
    model.scale_, model.start_ = (float(number) for number in require(contents, "frame", "<f8", (2,)))
    in_range = 0 < model.scale_ <= LARGEST_SCALE and math.isfinite(model.start_)
    expect(in_range, "the scale or the start of the target is out of range")
    model.centres_ = np.array(require(contents, "centres", "<f8", (model.ensemble_.n_voters,)))
    expect(np.all(np.abs(model.centres_) <= 1), "the mean output of a voter is above 1")


def _read_voters(contents: Contents, model: Any, classes: AnyArray) -> None:
    model._validate_family()
    if model._is_native:
        model.ensemble_ = parts.read_ensemble(contents, model.bins_, len(classes))
        return
    _check_row_voters(model, hasattr(model._family(), "pack"))
    model.ensemble_ = RowEnsemble.read(contents, model._family(), classes, model.n_features_in_)


def _check_row_voters(model: Any, are_storable: bool) -> None:
    expect(are_storable, "its voters have no place in a file")
    expect(not model.bins_.categories, "voters by rows take no categories")


# ---------------------------------------------------------------- the vote by a median


def _read_median(contents: Contents, model: Any) -> None:
    """The voters, their confidences, and the numbers of a regressor."""
    model.confidences_ = [decode_confidence(entry) for entry in meta_value(contents, "confidences", list)]
    n_columns = model.n_features_in_
    bumps = [one for one in model.confidences_ if isinstance(one, Bump)]
    expect(all(bump.column < n_columns for bump in bumps), "a bump is out of range")
    decides = meta_value(contents, "decides", bool)
    trees, fitted = None, []
    if model._is_native:
        trees = parts.read_trees(contents, model.bins_, 1)
        expect(trees.n_outputs == 2, "a leaf does not have a value and a confidence")
        expect(np.all((trees.value[:, 1] >= 0) & (trees.value[:, 1] <= 1)), "a confidence is not from 0 to 1")
        steps = trees.steps
    else:
        _check_row_voters(model, model._by_rows)
        steps = np.array(require(contents, "steps", "<f8", (None,)))
        columns = require(contents, "voter.column", "<i4", (len(steps),)).tolist()
        expect(all(0 <= column < n_columns for column in columns), "the column of a voter is out of range")
        fitted = [ColumnPredictor(column, n_columns) for column in columns]
    in_range = np.all((steps >= 0) & (steps < LONGEST)) and steps.sum() < LONGEST
    expect(in_range, "steps are out of range")
    kappa = np.array(require(contents, "kappa", "<i4", (len(steps),)))
    expect(np.all((kappa >= 0) & (kappa < max(1, len(model.confidences_)))), "a voter has no confidence")
    expect(len(steps) > 0 or not decides, "no voter decides")
    model.fallback_ = _read_number_of(contents, "fallback")
    if hasattr(model, "eps"):
        model.eps_ = _read_number_of(contents, "eps_")
        expect(model.eps_ > 0, "eps_ is not positive")
        model.rho_ = None if contents.meta.get("rho_") is None else _read_number_of(contents, "rho_")
        if "nu_" in contents.meta:
            model.nu_ = _read_number_of(contents, "nu_")
    elif trees is not None:  # AdaBoost.R2 has no confidences
        certain = not decides and not model.confidences_ and np.all(trees.value[trees.column == LEAF, 1] == 1)
        expect(certain, "a voter is not certain")
    model.vote_ = Median(trees, fitted, steps, kappa, decides)
    if "calibration" in contents.arrays:
        model.calibration_ = np.array(require(contents, "calibration", "<f8", (None,)))
        expect(np.all(np.diff(model.calibration_, prepend=0.0) >= 0), "calibration scores do not rise from 0")
        leaves = np.zeros(1) if trees is None else trees.value[trees.column == LEAF, 0]
        with np.errstate(over="ignore"):
            unit = getattr(model, "eps_", 1.0) + np.ptp(leaves) / 2  # the largest that a score is a multiple of
            expect(np.isfinite(model.calibration_.max(initial=0.0) * unit), "a calibration score is out of range")


def _read_number_of(contents: Contents, name: str) -> float:
    value: Any = contents.meta.get(name)
    expect(type(value) in (int, float) and math.isfinite(value), f"{name} is not a number")
    return float(value)
