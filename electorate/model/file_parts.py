"""What of a model file is read without its estimator: names, classes, bins and the ensemble, all checked before use.

Nothing of scikit-learn is imported here: prediction from a file needs no more than this.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import MOST_CATEGORIES, Bins
from electorate.data.table import Categories
from electorate.grid import LONGEST
from electorate.model.ensemble import ARRAYS, LEAF, SET_WIDTH, Ensemble
from electorate.modelfile import Contents, ModelFormatError, expect, meta_value, require

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
LABEL_TYPES = {"object", "str", "|b1", "|i1", "|u1"} | {f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)}
CATEGORY_TYPES: dict[str, type] = {"column": int, "text": bool, "levels": list, "rest": list}


@contextmanager
def blaming(contents: Contents) -> Iterator[None]:
    """Turn an error that a file causes into a ModelFormatError that names the file."""
    try:
        yield
    except ModelFormatError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        text = f"{type(error).__name__}, {error}" if isinstance(error, KeyError) else str(error)
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:300])
        raise ModelFormatError(f"model file {contents.source!r}: {shown}") from None


def read_n_features(contents: Contents) -> int:
    count: int = meta_value(contents, "n_features", int)
    expect(1 <= count < 2**31, "n_features is out of range")
    return count


def read_names(contents: Contents, n_features: int) -> NDArray[Any] | None:
    """The names of the columns, where they have some."""
    names = contents.meta.get("feature_names")
    if names is None:
        return None
    fits = isinstance(names, list) and len(names) == n_features and all(isinstance(name, str) for name in names)
    expect(fits, "feature_names do not fit the number of features")
    expect(len(set(names)) == len(names), "two columns have the same name")
    return np.array(names, dtype=object)


def read_classes(stored: dict[str, Any]) -> NDArray[Any]:
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


def read_bins(contents: Contents, n_columns: int) -> Bins:
    edges = require(contents, "edges", "<f8", (None,))
    offsets = require(contents, "edge_offsets", "<i8", (n_columns + 1,))
    n_bins = require(contents, "n_bins", "<i8", (n_columns,))
    has_missing = require(contents, "has_missing", "|b1", (n_columns,))
    expect(partition(offsets, len(edges)), "edge_offsets do not divide the edges")
    edges_hash = require(contents, "edges_hash", "|u1", (32,))
    sizes = np.diff(offsets) + 1
    fits = (n_bins == sizes) | ((n_bins >= 0) & (sizes == 1))  # a column that no voter uses has no edges in the file
    expect(bool(np.all(fits)), "n_bins do not fit the edges")
    expect(bool(np.all(np.isfinite(edges))), "an edge is not finite")
    rises = np.concatenate([edges[1:] > edges[:-1], [True]])[: len(edges)]
    rises[offsets[1:][(offsets[1:] > 0)] - 1] = True  # the last edge of a column: the next one is another column's
    expect(bool(np.all(rises)), "edges do not rise")
    expect(int(n_bins.max(initial=0)) < 2**16, "too many bins")
    categories = _read_categories(meta_value(contents, "categories", list), n_columns)
    nothing = np.empty(0)  # shared: a file may have very many columns without edges
    parts = [np.array(edges[a:b]) if b > a else nothing for a, b in pairwise(offsets.tolist())]
    for column, levels in categories.items():
        between = np.array_equal(parts[column], np.arange(levels.n_codes - 1) + 0.5)
        expect(between and n_bins[column] == levels.n_codes, f"categories of column {column} do not fit its bins")
    return Bins(parts, categories, np.array(has_missing), np.array(n_bins), edges_hash.tobytes())


def _read_categories(stored: list[Any], n_columns: int) -> dict[int, Categories]:
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
        expect(found[column].n_codes <= MOST_CATEGORIES + 1, f"too many levels in column {column}")
    return found


def read_ensemble(contents: Contents, n_columns: int) -> Ensemble:
    arrays = {name: require(contents, name, *ARRAY_TYPES[name]) for name in ARRAYS}
    return Ensemble(n_columns=n_columns, **{name: np.array(a) for name, a in arrays.items()})


def check_ensemble(e: Ensemble, bins: Bins, n_classes: int) -> None:
    """Check trees that vote by a sum over classes."""
    expect(n_classes > 1 or not len(e.steps), "voters do not fit a single class")
    expect(e.n_outputs == (1 if n_classes == 2 else n_classes), "values do not fit the classes")
    check_trees(e, bins, n_classes)
    expect(bool(np.all(np.isfinite(e.steps))), "a vote is not finite")
    with np.errstate(over="ignore", invalid="ignore"):
        most = np.abs(e.value).max(initial=0.0) * np.abs(e.steps).sum()
    expect(bool(most < LONGEST), "the votes are too large")


def check_trees(e: Ensemble, bins: Bins, n_classes: int) -> None:
    """Check that every index is in range, every value finite, and every child after its parent."""
    nodes, voters = len(e.column), len(e.steps)
    same = (e.threshold, e.members, e.missing_left, e.children, e.value)
    expect(all(len(array) == nodes for array in same), "node arrays differ in length")
    expect(partition(e.offsets, nodes), "offsets do not divide the nodes")
    sizes = np.diff(e.offsets)
    expect(bool(np.all(sizes > 0)), "a voter has no nodes")
    expect(len(sizes) == len(e.rounds) == len(e.about) == voters, "steps or rounds do not fit the voters")
    in_turn = voters == 0 or (e.rounds[0] == 1 and np.all(np.isin(np.diff(e.rounds), (0, 1))))
    expect(bool(in_turn), "rounds do not count up from 1")
    expect(bool(np.all((e.about >= -1) & (e.about < n_classes))), "a voter is about no class")
    expect(bool(np.all((e.column >= -1) & (e.column < e.n_columns))), "a column is out of range")
    inner, roots = np.flatnonzero(e.column >= 0), np.repeat(e.offsets[:-1], sizes)
    child = e.children[inner].astype(np.int64)
    inside = (child > (inner - roots[inner])[:, None]) & (child < np.repeat(sizes, sizes)[inner, None])
    expect(bool(np.all(inside)), "a child is out of range or before its parent")
    reached = roots[inner, None] + child
    expect(len(np.unique(reached)) == reached.size == nodes - voters, "a voter is not a tree")
    by_category = np.isin(e.column, list(bins.categories))
    expect(bool(np.all((e.members >= 0) == by_category)), "a question does not fit its column")
    each_used = np.array_equal(np.unique(e.members[by_category]), np.arange(len(e.sets)))
    expect(each_used and bool(np.all(e.members >= -1)), "a set is out of range or unused")
    expect(bool(np.all(e.threshold > -np.inf)), "a threshold is not a number")
    _check_thresholds(e, bins)
    expect(bool(np.all(e.children[e.column < 0] == LEAF)), "a leaf has children")
    expect(bool(np.all(np.isfinite(e.value))), "a vote is not finite")


def _check_thresholds(e: Ensemble, bins: Bins) -> None:
    """Every threshold is an edge of its column, or +inf: everything that is not missing goes left."""
    inner = np.flatnonzero((e.column >= 0) & (e.members < 0) & np.isfinite(e.threshold))
    order = inner[np.argsort(e.column[inner], kind="stable")]
    columns, starts = np.unique(e.column[order], return_index=True)
    for column, mine in zip(columns.tolist(), np.split(e.threshold[order], starts[1:]), strict=False):
        known = bool(np.all(np.isin(mine, bins.edges[column])))
        expect(known, f"a threshold of column {column} is none of its edges")


def partition(offsets: NDArray[np.int64], total: int) -> bool:
    """Whether offsets go from 0 to the total and never fall; compared, not subtracted, which could overflow."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == total and np.all(offsets[1:] >= offsets[:-1]))
