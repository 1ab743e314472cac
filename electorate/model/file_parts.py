"""What of a model file is read without its estimator: names, classes, bins and the ensemble, all checked before use.

Nothing of scikit-learn is imported here: prediction from a file needs no more than this.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from electorate.data.bins import MOST_CATEGORIES, Bins
from electorate.data.table import Categories
from electorate.exact import LONGEST, AnyArray, Ints
from electorate.model.ensemble import ARRAY_TYPES, LEAF, ArrayType, Ensemble
from electorate.modelfile import Contents, expect, meta_value, require

LABEL_TYPES = {"object", "str", "|b1", "|i1", "|u1"} | {f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)}
CATEGORY_TYPES: dict[str, type] = {"column": int, "text": bool, "levels": list, "rest": list}


def read_arrays(contents: Contents, types: Mapping[str, ArrayType]) -> dict[str, AnyArray]:
    """Copies of arrays that have these dtypes and shapes."""
    return {name: np.array(require(contents, name, *kind)) for name, kind in types.items()}


def read_columns(contents: Contents, model: Any) -> None:
    """Set the number of columns of a model, their names where they have some, and their bins."""
    read_names(contents, model)
    model.bins_ = _read_bins(contents, model.n_features_in_)


def read_names(contents: Contents, model: Any) -> None:
    """Set the number of columns of a model, and their names where they have some."""
    n_columns = model.n_features_in_ = meta_value(contents, "n_features", int)
    expect(1 <= n_columns < 2**31, "n_features is out of range")
    names: Any = contents.meta.get("feature_names")
    if names is not None:
        fits = isinstance(names, list) and len(names) == n_columns and all(isinstance(name, str) for name in names)
        expect(fits, "feature_names do not fit the number of features")
        expect(len(set(names)) == len(names), "two columns have the same name")
        model.feature_names_in_ = np.array(names, dtype=object)


def read_classes(contents: Contents) -> AnyArray:
    stored = meta_value(contents, "classes", dict)
    expect(set(stored) == {"labels", "dtype"}, "classes are not stored as labels and their dtype")
    labels, dtype = stored["labels"], stored["dtype"]
    plain = isinstance(labels, list) and all(isinstance(v, str | int | float | bool) for v in labels)
    expect(plain and 1 <= len(labels) < 2**16, "classes are not a list of labels")
    expect(isinstance(dtype, str) and dtype in LABEL_TYPES, f"labels of type {dtype!r:.60}")
    fits = dtype in ("object", "str") or not any(isinstance(label, str) for label in labels)
    if fits and np.dtype(dtype).kind in "iu":
        fits = all(np.iinfo(dtype).min <= label <= np.iinfo(dtype).max for label in labels)
    expect(fits, f"labels are not of the type {dtype}")
    classes = np.array(labels, dtype=dtype)
    expect(classes.tolist() == labels, f"labels are not of the type {dtype}")
    expect(np.array_equal(np.unique(classes), classes), "classes are not distinct and in order")
    return classes


def _read_bins(contents: Contents, n_columns: int) -> Bins:
    edges = require(contents, "edges", "<f8", (None,))
    offsets = require(contents, "edge_offsets", "<i8", (n_columns + 1,))
    n_bins = require(contents, "n_bins", "<i8", (n_columns,))
    has_missing = require(contents, "has_missing", "|b1", (n_columns,))
    edges_hash = require(contents, "edges_hash", "|u1", (32,))
    expect(partition(offsets, len(edges)), "edge_offsets do not divide the edges")
    sizes = np.diff(offsets) + 1
    fits = (n_bins == sizes) | ((n_bins >= 0) & (sizes == 1))  # a column that no voter uses has no edges in the file
    expect(np.all(fits), "n_bins do not fit the edges")
    expect(np.all(np.isfinite(edges)), "an edge is not finite")
    rises = np.concatenate([edges[1:] > edges[:-1], [True]])[: len(edges)]
    rises[offsets[1:][(offsets[1:] > 0)] - 1] = True  # the last edge of a column: the next one is another column's
    expect(np.all(rises), "edges do not rise")
    expect(int(n_bins.max(initial=0)) < 2**16, "too many bins")
    categories = read_categories(meta_value(contents, "categories", list), n_columns, MOST_CATEGORIES + 1)
    nothing = np.empty(0)  # shared: a file may have very many columns without edges
    parts = [np.array(edges[a:b]) if b > a else nothing for a, b in pairwise(offsets.tolist())]
    for column, levels in categories.items():
        between = np.array_equal(parts[column], np.arange(levels.n_codes - 1) + 0.5)
        expect(between and n_bins[column] == levels.n_codes, f"categories of column {column} do not fit its bins")
    return Bins(parts, categories, np.array(has_missing), np.array(n_bins), edges_hash.tobytes())


def read_categories(stored: list[Any], n_columns: int, most: int | None) -> dict[int, Categories]:
    """Return the categories of each category column. most: codes of a column; None for any number."""
    found: dict[int, Categories] = {}
    for entry in stored:
        for key, kind in CATEGORY_TYPES.items():
            fits = isinstance(entry, dict) and type(entry.get(key)) is kind
            expect(fits, f"{key!r} of a category column is not {kind.__name__}")
        column, is_text, values = entry["column"], entry["text"], [*entry["levels"], *entry["rest"]]
        expect(0 <= column < n_columns and column not in found, "a category column is out of range or twice")
        kinds = (str,) if is_text else (int, float)
        expect(all(type(value) in kinds for value in values), f"levels of column {column} are mixed")
        levels = np.array(values, dtype=object if is_text else np.float64)
        distinct = len(set(levels.tolist())) == len(values) and levels.tolist() == values
        expect(distinct, f"levels of column {column} are not distinct")
        n_levels = len(entry["levels"])
        found[column] = Categories(levels[:n_levels], tuple(levels[n_levels:].tolist()))
        expect(most is None or found[column].n_codes <= most, f"too many levels in column {column}")
    return found


def read_ensemble(contents: Contents, bins: Bins, n_classes: int) -> Ensemble:
    """Trees that vote by a sum over classes."""
    ensemble = read_trees(contents, bins, n_classes)
    check_votes(ensemble, n_classes, np.abs(ensemble.value).max(initial=0.0))
    return ensemble


def check_votes(ensemble: Any, n_classes: int, largest: float) -> None:
    """Check the sizes of votes by a sum over classes, of trees or of voters by rows. largest: the largest output."""
    expect(n_classes > 1 or not ensemble.n_voters, "voters do not fit a single class")
    expect(ensemble.n_outputs == (1 if n_classes == 2 else n_classes), "values do not fit the classes")
    expect(np.all(np.isfinite(ensemble.steps)), "a vote is not finite")
    with np.errstate(over="ignore", invalid="ignore"):
        most = largest * np.abs(ensemble.steps).sum()
    expect(most < LONGEST, "the votes are too large")


def check_voters(ensemble: Any, n_fitted: int, n_classes: int) -> None:
    """Check that each voter has a step, a round and a class, or all classes."""
    same = n_fitted == len(ensemble.steps) == len(ensemble.rounds) == len(ensemble.about)
    expect(same, "steps or rounds do not fit the voters")
    check_rounds(ensemble.rounds)
    expect(np.all((ensemble.about >= -1) & (ensemble.about < n_classes)), "a voter is about no class")


def check_rounds(rounds: AnyArray) -> None:
    """Check that rounds count up from 1; each may be there several times."""
    in_turn = not len(rounds) or (rounds[0] == 1 and np.all(np.isin(np.diff(rounds), (0, 1))))
    expect(in_turn, "rounds do not count up from 1")


def read_trees(contents: Contents, bins: Bins, n_classes: int) -> Ensemble:
    """Trees whose indices are in range, whose values are finite, and whose nodes come before their children."""
    e = Ensemble(n_columns=len(bins.n_bins), **read_arrays(contents, ARRAY_TYPES))
    nodes = len(e.column)
    same = (e.threshold, e.members, e.missing_left, e.children, e.value)
    expect(all(len(array) == nodes for array in same), "node arrays differ in length")
    expect(partition(e.offsets, nodes), "offsets do not divide the nodes")
    sizes = np.diff(e.offsets)
    expect(np.all(sizes > 0), "a voter has no nodes")
    check_voters(e, len(sizes), n_classes)
    expect(np.all((e.column >= -1) & (e.column < e.n_columns)), "a column is out of range")
    inner, roots = np.flatnonzero(e.column >= 0), np.repeat(e.offsets[:-1], sizes)
    child = e.children[inner].astype(np.int64)
    inside = (child > (inner - roots[inner])[:, None]) & (child < np.repeat(sizes, sizes)[inner, None])
    expect(np.all(inside), "a child is out of range or before its parent")
    reached = roots[inner, None] + child
    expect(len(np.unique(reached)) == reached.size == nodes - len(sizes), "a voter is not a tree")
    by_category = np.isin(e.column, list(bins.categories))
    expect(np.all((e.members >= 0) == by_category), "a split does not fit its column")
    each_used = np.array_equal(np.unique(e.members[by_category]), np.arange(len(e.sets)))
    expect(each_used and np.all(e.members >= -1), "a set is out of range or unused")
    expect(np.all(e.threshold > -np.inf), "a threshold is not a number")
    _check_thresholds(e, bins)
    expect(np.all(e.children[e.column < 0] == LEAF), "a leaf has children")
    expect(np.all(np.isfinite(e.value)), "a vote is not finite")
    return e


def _check_thresholds(e: Ensemble, bins: Bins) -> None:
    """Every threshold is an edge of its column, or +inf: everything that is not missing goes left."""
    inner = np.flatnonzero((e.column >= 0) & (e.members < 0) & np.isfinite(e.threshold))
    order = inner[np.argsort(e.column[inner], kind="stable")]
    columns, starts = np.unique(e.column[order], return_index=True)
    for column, mine in zip(columns.tolist(), np.split(e.threshold[order], starts[1:]), strict=False):
        expect(np.all(np.isin(mine, bins.edges[column])), f"a threshold of column {column} is none of its edges")


def partition(offsets: Ints, total: int) -> bool:
    """Whether offsets go from 0 to the total and never fall; compared, not subtracted, which could overflow."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == total and np.all(offsets[1:] >= offsets[:-1]))
