"""Estimators to files and back: what a model is made of, every index and value checked before it is used.

Class names go through a fixed table; nothing is unpickled. The file format itself is in modelfile.py.
"""

import hashlib
import json
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import modelfile
from electorate.boosting.grid import LONGEST
from electorate.council import Council
from electorate.data.bins import MOST_CATEGORIES, Bins
from electorate.data.table import Categories
from electorate.ensemble import ARRAYS, LEAF, SET_WIDTH, Ensemble
from electorate.estimators import seen
from electorate.modelfile import Contents, ModelFormatError, meta_value, require

ESTIMATORS = {
    "AdaBoostClassifier": "electorate.estimators.classifiers",
    "AdaBoostRClassifier": "electorate.estimators.classifiers",
    "DeepBoostClassifier": "electorate.estimators.deepboost",
    "EBBoostClassifier": "electorate.estimators.penalised",
    "LPBoostClassifier": "electorate.estimators.lpboost",
    "QuadBoostClassifier": "electorate.estimators.quadboost",
    "RLPBoostClassifier": "electorate.estimators.rlpboost",
    "RQPBoostClassifier": "electorate.estimators.rlpboost",
    "RealAdaBoostClassifier": "electorate.estimators.classifiers",
    "VadaBoostClassifier": "electorate.estimators.penalised",
}
FAMILIES = {
    "Columns": "electorate.voters.columns",
    "KernelSections": "electorate.voters.kernel_sections",
    "PairedStumps": "electorate.voters.paired_stumps",
    "Pool": "electorate.voters.pool",
    "RegressionTrees": "electorate.voters.regression_trees",
    "Rules": "electorate.voters.rules",
    "Stumps": "electorate.voters.trees",
    "Trees": "electorate.voters.trees",
    "Union": "electorate.voters.union",
}
ARRAY_TYPES = {
    "offsets": ("<i8", (None,)),
    "column": ("<i4", (None,)),
    "threshold": ("<f8", (None,)),
    "members": ("<i4", (None,)),
    "missing_left": ("|b1", (None,)),
    "children": ("<i4", (None, 2)),
    "value": ("<f8", (None, None)),
    "steps": ("<f8", (None,)),
    "rounds": ("<i4", (None,)),
    "about": ("<i4", (None,)),
    "sets": ("|b1", (None, SET_WIDTH)),
}
HISTORY = "history."
LABEL_TYPES = {"object", "str", "|b1", "|i1", "|u1"} | {f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)}


# ---------------------------------------------------------------- writing


def save(model: Any, path: Any) -> None:
    _refuse_wrapped(model)
    arrays = {**model.ensemble_.arrays(), **_bin_arrays(model.bins_)}
    arrays |= {HISTORY + name: column for name, column in model.history_.items()}
    arrays |= {**model._more_arrays(), **seen.arrays_of(model)}
    modelfile.write(path, type(model).__name__, _meta(model) | _held_out(model), arrays)


def _held_out(model: Any) -> dict[str, Any]:
    """What rows that were held out say of this very model; not of one that was fitted again since."""
    said = getattr(model, "held_out_", None)
    return {"held_out": said} if said is not None and said.get("digest") == digest(model) else {}


def identity(model: Any) -> str:
    """What a model is by its parameters, but for those that may change when training goes on."""
    parameters = {name: _out(value) for name, value in model.get_params(deep=False).items()}
    for name in ("n_estimators", "n_jobs", "warm_start"):
        parameters.pop(name, None)
    return json.dumps([type(model).__name__, parameters], sort_keys=True)


def digest(model: Any) -> str:
    """SHA-256 over the ensemble, the classes, the categories and the edges."""
    _refuse_wrapped(model)
    digest = hashlib.sha256()
    for name, array in {**model.ensemble_.arrays(), **_bin_arrays(model.bins_)}.items():
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    said = [_labels_out(model.classes_), _categories_out(model.bins_.categories)]
    digest.update(json.dumps(said, sort_keys=True).encode())
    return digest.hexdigest()


def _refuse_wrapped(model: Any) -> None:
    by_arrays = isinstance(model.ensemble_, Council) and hasattr(model.ensemble_.family, "pack")
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
        "parameters": {name: _out(value) for name, value in parameters.items()},
        "categories": _categories_out(model.bins_.categories),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(model.n_features_in_),
        "stop_reason": model.stop_reason_,
        "best_round": getattr(model, "best_round_", None),
        "validation_seed": getattr(model, "_validation_seed", None),
    }


def _out(value: Any) -> Any:
    """A parameter as JSON: families by name, arrays as lists; a random generator is not kept."""
    if hasattr(value, "get_params") and (hasattr(value, "best") or type(value).__name__ in FAMILIES):
        own = {name: _out(given) for name, given in value.get_params(deep=False).items()}
        return {"family": type(value).__name__, "parameters": own}
    if isinstance(value, dict):
        return {"pairs": [[_plain(key), _plain(times)] for key, times in value.items()]}
    if isinstance(value, np.ndarray | list | tuple):
        return [_out(item) for item in value]
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else None


def _labels_out(classes: NDArray[Any]) -> dict[str, Any]:
    """Texts as "str", however long: the width of an array of texts is not part of the model."""
    kind = {"O": "object", "U": "str"}.get(classes.dtype.kind, classes.dtype.newbyteorder("<").str)
    return {"dtype": kind, "labels": [_plain(label) for label in classes.tolist()]}


def _categories_out(categories: dict[int, Categories]) -> list[dict[str, Any]]:
    return [
        {"column": column, "text": c.is_text, "levels": c.levels.tolist(), "rest": list(c.rest)}
        for column, c in sorted(categories.items())
    ]


def _bin_arrays(bins: Bins) -> dict[str, NDArray[Any]]:
    sizes = [len(edges) for edges in bins.edges]
    return {
        "edges": np.concatenate([np.empty(0), *bins.edges]),
        "edge_offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "n_bins": bins.n_bins,
        "has_missing": bins.has_missing,
    }


# ---------------------------------------------------------------- reading


def load(path: Any, families: Sequence[type] = ()) -> Any:
    """Read a model that `save` wrote. A damaged or hostile file raises `ModelFormatError`; nothing is executed.

    families: classes of voters that are not electorate's own; a file names them, and only those given here are made.
    """
    from electorate.estimators import quad_files, regression_files

    contents = modelfile.read(path)
    try:
        if contents.kind == quad_files.KIND:
            return quad_files.rebuild(contents, {family.__name__: family for family in families})
        if contents.kind in regression_files.ESTIMATORS:
            return regression_files.rebuild(contents)
        _expect(contents.kind in ESTIMATORS, f"no estimator is called {contents.kind!r:.60}")
        return _rebuild(contents, {family.__name__: family for family in families})
    except ModelFormatError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise ModelFormatError(f"model file {contents.source!r}: {_shown(error)}") from None


def _rebuild(contents: Contents, families: dict[str, type]) -> Any:
    kind = getattr(import_module(ESTIMATORS[contents.kind]), contents.kind)
    given = meta_value(contents, "parameters", dict)
    known = set(kind().get_params(deep=False))
    _expect(set(given) <= known, f"unknown parameters {sorted(set(given) - known)[:3]}")
    model = kind(**{name: _in(value, families) for name, value in given.items()})
    model._validate_params()
    model._validate_family()
    model.n_features_in_ = meta_value(contents, "n_features", int)
    _expect(1 <= model.n_features_in_ < 2**31, "n_features is out of range")
    _read_names(contents, model)
    model.classes_ = _labels_in(meta_value(contents, "classes", dict))
    model.n_classes_ = len(model.classes_)
    model.bins_ = _read_bins(contents, model.n_features_in_)
    if model._by_rows:
        _expect(not model.bins_.categories, "voters by rows know no categories")
        model.ensemble_ = Council.read(contents, model._family(), model.classes_, model.n_features_in_)
    else:
        model.ensemble_ = _read_ensemble(contents, model.n_features_in_)
        _check_ensemble(model.ensemble_, model.bins_, model.n_classes_)
    model.history_ = _read_history(contents, model.ensemble_.n_voters, model._history_columns)
    model.stop_reason_ = meta_value(contents, "stop_reason", str)
    _read_validation(contents, model)
    model._read_more(contents)
    seen.read_seen(contents, model)
    model.estimator_ = model._family()
    _read_held_out(contents, model)
    return model


def _read_held_out(contents: Contents, model: Any) -> None:
    said = contents.meta.get("held_out")
    if said is not None:
        _expect(isinstance(said, dict) and len(said) <= 10, "held_out is not a short list of statements")
        _expect(all(isinstance(v, str | int | float | None) for v in said.values()), "held_out is not made of numbers")
        _expect(said.get("digest") == digest(model), "what was held out is said of another model")
        model.held_out_ = said


def _read_validation(contents: Contents, model: Any) -> None:
    for key, attribute in (("best_round", "best_round_"), ("validation_seed", "_validation_seed")):
        value = contents.meta.get(key)
        _expect(value is None or (type(value) is int and 0 <= value < 2**31), f"{key} is not a number in range")
        if value is not None:
            setattr(model, attribute, value)


def _shown(error: Exception) -> str:
    """What a file caused to be said, short and without control characters."""
    text = f"{type(error).__name__}, {error}" if isinstance(error, KeyError) else str(error)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:300])


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _in(value: Any, families: dict[str, type]) -> Any:
    if isinstance(value, dict) and "family" in value:
        _expect(isinstance(value["parameters"], dict), "the parameters of a family are no object")
        family = _family(value["family"], families)()
        return family.set_params(**{name: _in(own, families) for name, own in value["parameters"].items()})
    if isinstance(value, dict):
        return {key: times for key, times in value["pairs"]}
    return [_in(item, families) for item in value] if isinstance(value, list) else value


def _family(name: Any, families: dict[str, type]) -> type:
    _expect(isinstance(name, str), "a family has no name")
    _expect(
        name in FAMILIES or name in families,
        f"its voters are of the family {name!r:.60}, which is not electorate's own: give its class, "
        "load(path, families=[...])",
    )
    made: type = families[name] if name in families else getattr(import_module(FAMILIES[name]), name)
    return made


def _read_names(contents: Contents, model: Any) -> None:
    names = contents.meta.get("feature_names")
    if names is not None:
        _expect(
            isinstance(names, list)
            and len(names) == model.n_features_in_
            and all(isinstance(name, str) for name in names),
            "feature_names do not fit the number of features",
        )
        model.feature_names_in_ = np.array(names, dtype=object)


def _labels_in(said: dict[str, Any]) -> NDArray[Any]:
    labels, dtype = said["labels"], said["dtype"]
    plain = isinstance(labels, list) and all(isinstance(v, str | int | float | bool) for v in labels)
    _expect(plain and 1 <= len(labels) < 2**16, "classes are not a list of labels")
    _expect(isinstance(dtype, str) and dtype in LABEL_TYPES, f"labels of type {dtype!r:.60}")
    classes = np.array(labels, dtype=dtype)
    _expect(classes.tolist() == labels, f"labels are not of the type {dtype}")
    _expect(np.array_equal(np.unique(classes), classes), "classes are not distinct and in order")
    return classes


def _read_bins(contents: Contents, n_columns: int) -> Bins:
    edges = require(contents, "edges", "<f8", (None,))
    offsets = require(contents, "edge_offsets", "<i8", (n_columns + 1,))
    n_bins = require(contents, "n_bins", "<i8", (n_columns,))
    has_missing = require(contents, "has_missing", "|b1", (n_columns,))
    _expect(_partition(offsets, len(edges)), "edge_offsets do not divide the edges")
    parts = [edges[a:b] for a, b in pairwise(offsets)]
    sizes = np.diff(offsets) + 1
    fits = (n_bins == sizes) | ((n_bins == 0) & (sizes == 1))
    _expect(bool(np.all(fits)), "n_bins do not fit the edges")
    rises = all(np.all(np.isfinite(part)) and np.all(part[1:] > part[:-1]) for part in parts)
    _expect(rises, "edges do not rise")
    _expect(int(n_bins.max(initial=0)) < 2**16, "too many bins")
    categories = _categories_in(meta_value(contents, "categories", list), n_columns)
    for column, levels in categories.items():
        between = np.array_equal(parts[column], np.arange(levels.n_codes - 1) + 0.5)
        _expect(between and n_bins[column] == levels.n_codes, f"categories of column {column} do not fit its bins")
    return Bins([np.array(part) for part in parts], categories, np.array(has_missing), np.array(n_bins))


def _categories_in(said: list[Any], n_columns: int) -> dict[int, Categories]:
    categories: dict[int, Categories] = {}
    for entry in said:
        column = _field(entry, "column", int)
        _expect(0 <= column < n_columns and column not in categories, "a category column is out of range or twice")
        categories[column] = _levels_in(entry, column)
    return categories


def _levels_in(entry: dict[str, Any], column: int) -> Categories:
    is_text, given, rest = _field(entry, "text", bool), _field(entry, "levels", list), _field(entry, "rest", list)
    values = [*given, *rest]
    kinds = (str,) if is_text else (int, float)
    _expect(all(type(value) in kinds for value in values), f"levels of column {column} are mixed")
    every = np.array(values, dtype=object if is_text else np.float64)
    distinct = len(set(every.tolist())) == len(values) and every.tolist() == values
    _expect(distinct, f"levels of column {column} are not distinct")
    categories = Categories(every[: len(given)], tuple(every[len(given) :].tolist()))
    _expect(categories.n_codes <= MOST_CATEGORIES + 1, f"too many levels in column {column}")
    return categories


def _field(entry: Any, key: str, kind: type) -> Any:
    _expect(
        isinstance(entry, dict) and type(entry.get(key)) is kind, f"{key!r} of a category column is not {kind.__name__}"
    )
    return entry[key]


def _read_ensemble(contents: Contents, n_columns: int) -> Ensemble:
    arrays = {name: require(contents, name, *ARRAY_TYPES[name]) for name in ARRAYS}
    return Ensemble(n_columns=n_columns, **{name: np.array(a) for name, a in arrays.items()})


def _check_ensemble(e: Ensemble, bins: Bins, n_classes: int) -> None:
    """Every index in range, every number finite, children after their parent: nothing left to trip over."""
    nodes = len(e.column)
    same = (e.threshold, e.members, e.missing_left, e.children, e.value)
    _expect(all(len(array) == nodes for array in same), "node arrays differ in length")
    _expect(len(e.offsets) > 0 and _partition(e.offsets, nodes), "offsets do not divide the nodes")
    _expect(bool(np.all(np.diff(e.offsets) > 0)), "a voter has no nodes")
    _expect(len(e.offsets) == len(e.steps) + 1, "steps do not fit the voters")
    _expect(n_classes > 1 or not len(e.steps), "voters do not fit a single class")
    _expect(e.n_outputs == (1 if n_classes == 2 else n_classes), "values do not fit the classes")
    _check_rounds(e, n_classes)
    _check_questions(e, bins)
    _check_numbers(e)


def _check_rounds(e: Ensemble, n_classes: int) -> None:
    _expect(len(e.rounds) == len(e.about) == len(e.steps), "rounds do not fit the voters")
    if len(e.rounds):
        steps = np.diff(e.rounds)
        _expect(bool(e.rounds[0] == 1 and np.all((steps == 0) | (steps == 1))), "rounds do not count up from 1")
    _expect(bool(np.all((e.about >= -1) & (e.about < n_classes))), "a voter is about no class")


def _check_questions(e: Ensemble, bins: Bins) -> None:
    _expect(bool(np.all((e.column >= -1) & (e.column < e.n_columns))), "a column is out of range")
    asked = np.flatnonzero(e.column >= 0)
    sizes = np.diff(e.offsets)
    own = np.arange(len(e.column)) - np.repeat(e.offsets[:-1], sizes)
    child = e.children[asked].astype(np.int64)
    inside = (child > own[asked, None]) & (child < np.repeat(sizes, sizes)[asked, None])
    _expect(bool(np.all(inside)), "a child is out of range or before its parent")
    reached = np.repeat(e.offsets[:-1], sizes)[asked, None] + child
    _expect(len(np.unique(reached)) == reached.size == len(e.column) - len(e.steps), "a voter is not a tree")
    by_category = np.isin(e.column, list(bins.categories))
    _expect(bool(np.all((e.members >= 0) == by_category)), "a question does not fit its column")
    each_used = np.array_equal(np.unique(e.members[by_category]), np.arange(len(e.sets)))
    _expect(each_used and bool(np.all(e.members >= -1)), "a set is out of range, or nobody's")
    _expect(bool(np.all(e.threshold > -np.inf)), "a threshold is not a number")  # +inf: all that is not missing
    _expect(bool(np.all(e.children[e.column < 0] == LEAF)), "a leaf has children")


def _check_numbers(e: Ensemble) -> None:
    _expect(bool(np.all(np.isfinite(e.steps)) and np.all(np.isfinite(e.value))), "a vote is not finite")
    with np.errstate(over="ignore", invalid="ignore"):
        most = np.abs(e.value).max(initial=0.0) * np.abs(e.steps).sum()
    _expect(bool(most < LONGEST), "the votes are too large")


def _read_history(contents: Contents, rounds: int, needed: frozenset[str]) -> dict[str, NDArray[Any]]:
    names = [name for name in contents.arrays if name.startswith(HISTORY)]
    columns = {name[len(HISTORY) :]: np.array(contents.arrays[name]) for name in names}
    _expect(needed <= set(columns), "the history lacks columns")
    shapes = {column.shape for column in columns.values()}
    _expect(len(shapes) == 1 and len(min(shapes)) == 1, "the columns of the history differ in length")
    _expect(min(shapes)[0] >= rounds, "the history does not fit the rounds")
    _expect(all(column.dtype.kind in "if" for column in columns.values()), "the history is not made of numbers")
    return columns


def _partition(offsets: NDArray[np.int64], total: int) -> bool:
    """From 0 to the total, never falling; compared, not subtracted, which could overflow."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == total and np.all(offsets[1:] >= offsets[:-1]))
