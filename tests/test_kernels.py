"""Every kernel against its twin in plain NumPy, on data with everything a kernel may meet."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.data.bins import pad_edges
from electorate.kernels import fast, reference

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
row_counts = st.integers(0, 80)
SPECIAL = np.array([np.nan, 0.0, -0.0, 5e-324, -5e-324, 1e300, -np.finfo(float).max, 1.0, 2.0, 2.0, -1.5])
INFINITE = np.array([np.inf, -np.inf])
TWINS = [fast, reference]


def some_values(rng: np.random.Generator, *shape: int, infinite: bool = True) -> np.ndarray:
    """Ties, missing values, both zeros, the smallest and the largest, and ordinary numbers."""
    special = np.concatenate([SPECIAL, INFINITE]) if infinite else SPECIAL
    return np.where(rng.random(shape) < 0.6, rng.choice(special, shape), rng.normal(size=shape))


def some_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice(np.array([0, 1, 1, 2, 7, 2**30]), n)


def some_edges(rng: np.random.Generator, n_columns: int, most: int = 20) -> list[np.ndarray]:
    """Sorted finite thresholds, for some columns none, some of them values that occur."""
    edges = []
    for _ in range(n_columns):
        values = some_values(rng, rng.integers(0, most + 1), infinite=False) + 0.0
        edges.append(np.unique(values[np.isfinite(values)]))
    return edges


def some_starts(rng: np.random.Generator, n_rows: int, n_labels: int) -> np.ndarray:
    """Where the rows of each label start; labels without rows occur."""
    inner = np.sort(rng.integers(0, n_rows + 1, n_labels - 1))
    return np.concatenate([[0], inner, [n_rows]]).astype(np.int64)


def kernels_of(module: Any) -> dict[str, Callable[..., Any]]:
    functions = {name: getattr(value, "py_func", value) for name, value in vars(module).items()}
    return {name: f for name, f in functions.items() if inspect.isfunction(f) and f.__module__ == module.__name__}


def test_every_kernel_has_a_twin() -> None:
    ours, twins = kernels_of(fast), kernels_of(reference)
    assert sorted(ours) == sorted(twins)
    for name, function in ours.items():
        assert inspect.signature(function) == inspect.signature(twins[name]), name


def test_every_kernel_is_tested_here() -> None:
    source = inspect.getsource(inspect.getmodule(test_every_kernel_is_tested_here))  # type: ignore[arg-type]
    assert [name for name in kernels_of(fast) if f"twin.{name}(" not in source] == []


# ---------------------------------------------------------------- distinct values and bins


@few_cases
@given(rng=generators, n=row_counts)
def test_hashes(rng: np.random.Generator, n: int) -> None:
    values = some_values(rng, n)
    by_value = [[twin.mix(value) for value in values] for twin in TWINS]
    at_once = [twin.hash_values(values) for twin in TWINS]
    assert [int(h) for h in by_value[0]] == [int(h) for h in by_value[1]] == at_once[0].tolist() == at_once[1].tolist()
    assert len(np.unique(at_once[0])) == len(np.unique(values.view(np.uint64)))


def held(keys: np.ndarray, totals: np.ndarray) -> dict[float, int]:
    """What a table of distinct values holds, wherever it put it. Shown as text: -0.0 is not 0.0 here."""
    return {repr(key): total for key, total in zip(keys.tolist(), totals.tolist(), strict=True) if total}


@few_cases
@given(rng=generators, n=row_counts, room=st.integers(1, 16), start=st.integers(0, 5))
def test_tally(rng: np.random.Generator, n: int, room: int, start: int) -> None:
    chunks = [(some_values(rng, n), some_weights(rng, n)), (some_values(rng, 30), some_weights(rng, 30))]
    seen = []
    for twin in TWINS:
        keys, totals, info = np.zeros(64), np.zeros(64, dtype=np.int64), np.array([0, 0, -1])
        rows = [
            twin.tally(values, weights, min(start, len(values)), keys, totals, info, room) for values, weights in chunks
        ]
        seen.append((rows, held(keys, totals), info.tolist()))
    assert seen[0] == seen[1]


def test_tally_stops_at_a_value_too_many_and_adds_nothing_of_it() -> None:
    values, weights = np.array([1.0, 2.0, 1.0, np.nan, 3.0, np.nan]), np.full(6, 2)
    for twin in TWINS:
        keys, totals, info = np.zeros(8), np.zeros(8, dtype=np.int64), np.array([0, 0, -1])
        assert twin.tally(values, weights, 0, keys, totals, info, 2) == 4
        assert held(keys, totals) == {"1.0": 4, "2.0": 2}
        assert info.tolist() == [2, 2, -1]


@few_cases
@given(rng=generators, n=row_counts, start=st.integers(0, 5))
def test_select(rng: np.random.Generator, n: int, start: int) -> None:
    values, weights = some_values(rng, n), some_weights(rng, n)
    limit = rng.choice(np.append(reference.hash_values(values), [np.uint64(0), np.uint64(2**64 - 1)]))
    seen = []
    for twin in TWINS:
        kept, kept_weights, info = np.empty(n + 1), np.empty(n + 1, dtype=np.int64), np.array([0, 3, -1])
        count = twin.select(values, weights, min(start, n), limit, kept, kept_weights, info)
        seen.append((repr(kept[:count].tolist()), kept_weights[:count].tolist(), info.tolist()))
    assert seen[0] == seen[1]


@few_cases
@given(rng=generators, n=st.integers(0, 60), max_bins=st.integers(1, 20), heavy=st.sampled_from([1, 50, 2**30]))
def test_cuts(rng: np.random.Generator, n: int, max_bins: int, heavy: int) -> None:
    weights = rng.choice(np.array([0, 1, 1, 1, 2, 3, heavy]), n)
    ends = [twin.cuts(weights, max_bins).tolist() for twin in TWINS]
    assert ends[0] == ends[1]
    assert len(ends[0]) <= max_bins
    assert ends[0] == sorted(set(ends[0]))
    assert n == 0 or ends[0][-1] == n - 1


@pytest.mark.parametrize(("code", "missing"), [(np.uint8, 255), (np.uint16, 65_534), (np.int32, -1)])
@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 6))
def test_encode(code: type, missing: int, rng: np.random.Generator, n: int, n_columns: int) -> None:
    per_group = 4 if code is np.uint8 else 1
    edges, depths = pad_edges(some_edges(rng, n_columns, 300 if code is np.uint16 else 20))
    block = some_values(rng, n_columns, n)
    kept = rng.random(n) < 0.8
    dest = np.full(n, -1)
    dest[kept] = rng.permutation(kept.sum())
    outs = []
    for twin in TWINS:
        out = np.zeros((-(-n_columns // per_group), n, per_group), dtype=code)
        twin.encode(block, edges, depths, missing, dest, out, np.empty(n + 3, dtype=np.int32))
        outs.append(out)
    np.testing.assert_array_equal(*outs)


# ---------------------------------------------------------------- a round in a shard


@pytest.mark.parametrize("code", [np.uint8, np.uint16])
@few_cases
@given(rng=generators, n=row_counts, n_labels=st.integers(1, 12), n_states=st.integers(1, 3))
def test_add_gains(code: type, rng: np.random.Generator, n: int, n_labels: int, n_states: int) -> None:
    width = 256 if code is np.uint8 else 3000
    column = rng.integers(0, width, (n, 4)).astype(code)[:, 1]
    leaf_of_bin = rng.integers(0, 2, width).astype(np.uint8)
    gains = rng.normal(size=(n_states, n_labels, 2))
    starts = some_starts(rng, n, n_labels)
    before = rng.normal(size=(n_states, n))
    states = [before.copy(), before.copy()]
    for twin, state in zip(TWINS, states, strict=True):
        twin.add_gains(column, leaf_of_bin, gains, starts, state)
    np.testing.assert_array_equal(*states)


@few_cases
@given(rng=generators, n=row_counts, n_labels=st.integers(1, 12), repeated=st.booleans(), bits=st.integers(0, 40))
def test_quantise(rng: np.random.Generator, n: int, n_labels: int, repeated: bool, bits: int) -> None:
    channel = np.where(rng.random(n) < 0.5, rng.normal(size=n), rng.integers(-5, 5, n) / 2)
    times = rng.integers(0, 9, n if repeated else 0)
    starts = some_starts(rng, n, n_labels)
    seen = []
    for twin in TWINS:
        grid, totals = np.empty(n, dtype=np.int64), np.empty(n_labels, dtype=np.int64)
        twin.quantise(channel, times, 2.0**bits, starts, grid, totals)
        seen.append(np.concatenate([grid, totals]))
    np.testing.assert_array_equal(*seen)


@few_cases
@given(rng=generators, n=row_counts, groups=st.integers(1, 3))
def test_histogram8(rng: np.random.Generator, n: int, groups: int) -> None:
    codes = rng.integers(0, 256, (groups, n, 4), dtype=np.uint8)
    grid = rng.integers(-(2**50), 2**50, n)
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    before = rng.integers(-9, 9, (4 * groups, 256))
    sums = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, sums, strict=True):
        twin.histogram8(codes.view(np.uint32)[:, :, 0], grid, low, high, total)
    np.testing.assert_array_equal(*sums)
    for column in range(4 * groups):
        expected = before[column].copy()
        np.add.at(expected, codes[column // 4, low:high, column % 4], grid[low:high])
        np.testing.assert_array_equal(sums[0][column], expected)


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 3))
def test_histogram16(rng: np.random.Generator, n: int, n_columns: int) -> None:
    codes = rng.integers(0, 2000, (n_columns, n, 1), dtype=np.uint16)
    codes[:, : n // 2] = 1999
    grid = rng.integers(-(2**50), 2**50, n)
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    before = rng.integers(-9, 9, (n_columns, 2000))
    sums = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, sums, strict=True):
        twin.histogram16(codes[:, :, 0], grid, low, high, total)
    np.testing.assert_array_equal(*sums)


# ---------------------------------------------------------------- the search over stumps


def some_sums(rng: np.random.Generator, n: int, n_columns: int, n_labels: int, width: int) -> tuple[np.ndarray, ...]:
    """Sums of a small table with ties: some columns have no values, some no missing ones, some are categories."""
    weights = rng.choice(np.array([0, 1, 1, 2, 5]), n)
    labels = rng.integers(0, n_labels, n)
    n_bins = rng.integers(0, width, n_columns)
    if n:
        n_bins[rng.random(n_columns) < 0.2] = 0
    missing = rng.random((n_columns, n)) < rng.choice([0, 0.3], n_columns)[:, None]
    missing[n_bins == 0] = True
    codes = np.where(missing, width - 1, rng.integers(0, np.maximum(n_bins, 1)[:, None], (n_columns, n)))
    sums = np.zeros((n_labels, n_columns, width), dtype=np.int64)
    for j in range(n_columns):
        np.add.at(sums, (labels, j, codes[j]), weights)
    totals = np.bincount(labels, weights=weights, minlength=n_labels).astype(np.int64)
    return sums, totals, n_bins, missing.any(axis=1), rng.random(n_columns) < 0.5


searches = {
    "rng": generators,
    "n": st.integers(0, 30),
    "n_columns": st.integers(1, 5),
    "n_labels": st.sampled_from([1, 2, 2, 3, 9]),
    "width": st.sampled_from([2, 3, 6, 20]),
}


@few_cases
@given(**searches)
def test_best_threshold(rng: np.random.Generator, n: int, n_columns: int, n_labels: int, width: int) -> None:
    sums, totals, n_bins, has_missing, ordered = some_sums(rng, n, n_columns, n_labels, width)
    seen = []
    for twin in TWINS:
        found = np.full(5, -7)
        weight = twin.best_threshold(sums, totals, n_bins, has_missing, ordered, found)
        seen.append((int(weight), found.tolist()))
    assert seen[0] == seen[1]


@few_cases
@given(**searches)
def test_best_subset(rng: np.random.Generator, n: int, n_columns: int, n_labels: int, width: int) -> None:
    sums, _, n_bins, has_missing, ordered = some_sums(rng, n, n_columns, n_labels, width)
    seen = []
    for twin in TWINS:
        found = np.full(5, -7)
        weight = twin.best_subset(sums, n_bins, has_missing, ordered, found)
        seen.append((int(weight), found.tolist()))
    assert seen[0] == seen[1]


def test_ties_go_to_the_first_column_the_first_cut_and_missing_on_the_left() -> None:
    # a bin of label 0, an empty one, a bin of label 1; nothing missing though the column may have it
    column = np.array([[4, 0, 0, 0], [0, 0, 4, 0]])
    sums = np.stack([column, column], axis=1)
    totals, n_bins = np.array([4, 4]), np.array([3, 3])
    some, both = np.array([True, True]), np.array([True, True])
    for twin in TWINS:
        found = np.zeros(5, dtype=np.int64)
        assert twin.best_threshold(sums, totals, n_bins, some, both, found) == 8
        assert found.tolist() == [0, 0, 1, 0, 1]
        assert twin.best_subset(sums, n_bins, some, ~both, found) == 8
        assert found[:3].tolist() == [0, 0, 1]


def test_a_test_with_an_empty_side_is_none() -> None:
    # label 1 is the heavier one in the only bin and among the missing; no cut, and no set, parts the labels
    sums = np.array([[[1, 0, 0]], [[3, 0, 2]]])
    totals, n_bins, yes, no = np.array([1, 5]), np.array([1]), np.array([True]), np.array([False])
    for twin in TWINS:
        found = np.zeros(5, dtype=np.int64)
        assert twin.best_threshold(sums, totals, n_bins, yes, yes, found) == -1
        assert twin.best_subset(sums, n_bins, yes, no, found) == -1
        assert twin.best_subset(np.array([[[3, 0, 0]], [[1, 0, 0]]]), n_bins, no, no, found) == -1


# ---------------------------------------------------------------- prediction by lookup


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 5), n_outputs=st.integers(1, 9))
def test_lookup(rng: np.random.Generator, n: int, n_columns: int, n_outputs: int) -> None:
    block = some_values(rng, n_columns, n)
    columns = np.flatnonzero(rng.random(n_columns) < 0.7)
    parts = some_edges(rng, len(columns))
    edges, depths = pad_edges(parts)
    first = np.concatenate([[0], np.cumsum([len(part) + 2 for part in parts])]).astype(np.int64)
    tables = rng.integers(-(2**50), 2**50, (n_outputs, first[-1]))
    before = rng.integers(-9, 9, (n_outputs, n))
    votes = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, votes, strict=True):
        twin.lookup(block, columns, edges, depths, first, tables, total, np.empty(n + 3, dtype=np.int32))
    np.testing.assert_array_equal(*votes)


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 5), infinite=st.booleans())
def test_first_infinite(rng: np.random.Generator, n: int, n_columns: int, infinite: bool) -> None:
    block = some_values(rng, n_columns, n, infinite=infinite)
    places = [tuple(twin.first_infinite(block)) for twin in TWINS]
    assert places[0] == places[1]
    assert infinite or places[0] == (-1, -1)
