"""Every kernel against its twin in plain NumPy, on data with everything a kernel may meet."""

import inspect
from importlib import import_module
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate import kernels
from electorate.data.bins import Bins, pad_edges
from electorate.engines.bundles import Bundles, plans
from electorate.kernels import FILE_OF
from electorate.kernels.formulas import EXPONENTIAL, LINE, PENALISED, SIGMOID, SOFTPLUS, SQUARE
from electorate.kernels.layouts import (
    ColumnLayout,
    Formulas,
    LevelArrays,
    NodeArrays,
    NodeRows,
    RowArrays,
    SplitRule,
    TargetRule,
    TargetWeights,
)
from electorate.model.masks import Masks

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
row_counts = st.integers(0, 80)
SPECIAL = np.array([np.nan, 0.0, -0.0, 5e-324, -5e-324, 1e300, -np.finfo(float).max, 1.0, 2.0, 2.0, -1.5])
INFINITE = np.array([np.inf, -np.inf])
fast = SimpleNamespace(**{name: getattr(kernels, name) for name in FILE_OF})
reference = SimpleNamespace(
    **{name: getattr(import_module(f"electorate.kernels.reference.{file}"), name) for name, file in FILE_OF.items()}
)
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


def test_every_kernel_has_a_twin() -> None:
    """Of the same number of arguments."""
    for name in FILE_OF:
        n_arguments = len(inspect.signature(getattr(reference, name)).parameters)
        with pytest.raises(TypeError, match=f"^{name}: takes {n_arguments} arguments, not 99$"):
            getattr(fast, name)(*[None] * 99)


def test_every_kernel_is_tested_here() -> None:
    source = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in FILE_OF if f"twin.{name}(" not in source] == []


# ---------------------------------------------------------------- distinct values and bins


@few_cases
@given(rng=generators, n=row_counts)
def test_hashes(rng: np.random.Generator, n: int) -> None:
    values = some_values(rng, n)
    by_value = [[twin.mix(value) for value in values] for twin in TWINS]
    at_once = [twin.hash_values(values) for twin in TWINS]
    assert [int(h) for h in by_value[0]] == [int(h) for h in by_value[1]] == at_once[0].tolist() == at_once[1].tolist()
    assert len(np.unique(at_once[0])) == len(np.unique(values.view(np.uint64)))


def test_zero_has_the_smallest_hash() -> None:
    assert [int(twin.mix(0.0)) for twin in TWINS] == [0, 0]
    assert min(int(twin.mix(-0.0)) for twin in TWINS) > 0


@few_cases
@given(rng=generators, n=row_counts)
def test_fold(rng: np.random.Generator, n: int) -> None:
    columns, before = some_values(rng, 3, n), rng.integers(0, 2**64, n, dtype=np.uint64)
    seen = [before.copy(), before.copy()]
    for twin, hashes in zip(TWINS, seen, strict=True):
        for column in columns:
            twin.fold(column, hashes)
    np.testing.assert_array_equal(*seen)


def test_rows_fold_to_one_hash_if_they_hold_the_same() -> None:
    rows = np.array([[1.0, np.nan], [1.0, -np.nan], [np.nan, 1.0], [0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for twin in TWINS:
        hashes = np.full(7, 5, dtype=np.uint64)
        for column in rows.T.copy():
            twin.fold(column, hashes)
        same = hashes[:, None] == hashes
        assert same[0, 1]
        assert same[3, 4]
        assert same.sum() == 7 + 2 * 2


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 6), rows=st.integers(1, 7))
def test_rows_of_an_array_are_encoded_and_hashed_as_their_columns(
    dtype: type, rng: np.random.Generator, n: int, n_columns: int, rows: int
) -> None:
    edges, depths = pad_edges(some_edges(rng, n_columns, 20))
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(some_values(rng, n_columns, n).T.astype(dtype))
    dest = np.where(rng.random(n) < 0.8, np.arange(n), -1)
    block, expected = array.T.astype(np.float64), np.zeros((-(-n_columns // 4), n, 4), dtype=np.uint8)
    reference.encode(block, edges, depths, 255, dest, expected, np.empty(n, dtype=np.int32))
    hashes = np.arange(n).astype(np.uint64)
    for column in block:
        reference.fold(column, hashes)
    for twin in TWINS:
        out, folded = np.zeros_like(expected), np.arange(n).astype(np.uint64)
        buffers = np.empty((n_columns, rows)), np.empty(rows, dtype=np.int32)
        finite = twin.encode_array(array, edges, depths, 255, dest, out, *buffers)
        np.testing.assert_array_equal(out, expected)
        assert bool(finite) is not bool(np.isinf(block[:, dest >= 0]).any())
        twin.fold_rows(array, folded)
        np.testing.assert_array_equal(folded, hashes)


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 30))
def test_join_and_spread(rng: np.random.Generator, n: int, n_columns: int) -> None:
    """Twins agree; sums over joint codes, spread, are sums over the codes themselves."""
    n_bins = rng.choice([0, 1, 2, 2, 2, 3, 9, 15, 255], n_columns)
    bins = Bins([np.arange(k - 0.5) for k in n_bins], {}, np.zeros(n_columns, dtype=np.bool_), n_bins)
    codes = np.zeros((-(-n_columns // 4), n, 4), dtype=np.uint8)
    alike = rng.integers(0, 40, n)  # by which the columns hang together
    for j, k in enumerate(n_bins):
        of_kind = np.where(rng.random(40) < 0.1, 255, rng.integers(0, max(k, 1), 40))
        codes[j // 4, :, j % 4] = of_kind[alike]
    dest = np.where(rng.random(n) < 0.8, rng.permutation(n), -1)
    grid = rng.integers(-(2**40), 2**40, n)
    for together in plans(bins, lambda: codes[:, : n // 2]):
        outs, fitted = [], []
        for twin in TWINS:
            bundles = Bundles(bins, together)
            out = np.zeros((-(-bundles.n_stored // 4), n, 4), dtype=np.uint8)
            tables = (bundles.sizes, bundles.place, bundles.first, bundles.steps, bundles.count)
            fitted.append(twin.join(codes, bundles.columns, *tables, dest, out))
            outs.append(out)
            if not fitted[-1]:
                continue
            bundles.settle()
            sums = np.zeros((4 * out.shape[0], 256), dtype=np.int64)
            found = np.zeros((1, n_columns * 256), dtype=np.int64)
            for p in range(bundles.n_stored):
                np.add.at(sums[p], out[p // 4, dest[dest >= 0], p % 4], grid[dest >= 0])
            twin.spread(sums[None], bundles.place, bundles.used, bundles.cells, found)
            for j in range(n_columns):
                single = np.zeros(256, dtype=np.int64)
                np.add.at(single, codes[j // 4, :, j % 4][dest >= 0], grid[dest >= 0])
                np.testing.assert_array_equal(found.reshape(n_columns, 256)[j], single)
        assert fitted == [True, True]  # no more than 40 kinds of rows
        np.testing.assert_array_equal(*outs)


@few_cases
@given(rng=generators, n=st.integers(0, 40), n_histograms=st.integers(0, 3))
def test_unpack(rng: np.random.Generator, n: int, n_histograms: int) -> None:
    cells = np.sort(rng.permutation(50)[:n])
    packed = rng.integers(-9, 9, (n_histograms, n))
    outs = [np.full((n_histograms, 50), 7), np.full((n_histograms, 50), 8)]
    for twin, out in zip(TWINS, outs, strict=True):
        twin.unpack(packed, cells, out)
    np.testing.assert_array_equal(*outs)
    for histogram, numbers in zip(outs[0], packed, strict=True):
        sent = dict(zip(cells.tolist(), numbers.tolist(), strict=True))
        assert histogram.tolist() == [sent.get(cell, 0) for cell in range(50)]


def test_join_has_room_for_256() -> None:
    """Twins agree on whether the joint codes of two columns fit, to the last one."""
    bins = Bins([np.arange(19.5), np.arange(19.5)], {}, np.zeros(2, dtype=np.bool_), np.array([20, 20]))
    for n in (256, 257):
        codes = np.zeros((1, n, 4), dtype=np.uint8)
        codes[0, :, 0], codes[0, :, 1] = np.arange(n) // 20, np.arange(n) % 20
        for twin in TWINS:
            bundles = Bundles(bins, [[0, 1]])
            tables = (bundles.sizes, bundles.place, bundles.first, bundles.steps, bundles.count)
            assert twin.join(codes, bundles.columns, *tables, np.arange(n), np.zeros_like(codes)) == (n == 256)


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
def test_histogram_of_words(rng: np.random.Generator, n: int, groups: int) -> None:
    codes = rng.integers(0, 256, (groups, n, 4), dtype=np.uint8)
    grid = rng.integers(-(2**50), 2**50, n)
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    before = rng.integers(-9, 9, (4 * groups, 256))
    sums = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, sums, strict=True):
        twin.histogram(codes.view(np.uint32)[:, :, 0], grid, low, high, total)
    np.testing.assert_array_equal(*sums)
    for column in range(4 * groups):
        expected = before[column].copy()
        np.add.at(expected, codes[column // 4, low:high, column % 4], grid[low:high])
        np.testing.assert_array_equal(sums[0][column], expected)


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 3))
def test_histogram_of_wide_codes(rng: np.random.Generator, n: int, n_columns: int) -> None:
    codes = rng.integers(0, 2000, (n_columns, n, 1), dtype=np.uint16)
    codes[:, : n // 2] = 1999
    grid = rng.integers(-(2**50), 2**50, n)
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    before = rng.integers(-9, 9, (n_columns, 2000))
    sums = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, sums, strict=True):
        twin.histogram(codes[:, :, 0], grid, low, high, total)
    np.testing.assert_array_equal(*sums)


# ---------------------------------------------------------------- the rows of a node of a tree


def some_node(rng: np.random.Generator, n: int, n_labels: int) -> tuple[np.ndarray, int, np.ndarray]:
    """An order of n rows, where in it a node's rows begin, and where its labels start after that."""
    low = int(rng.integers(0, n + 1))
    starts = some_starts(rng, int(rng.integers(0, n - low + 1)), n_labels)
    return rng.permutation(n).astype(np.uint32), low, starts


@pytest.mark.parametrize("code", [np.uint8, np.uint16])
@few_cases
@given(rng=generators, n=row_counts, n_labels=st.integers(1, 9), left=st.sampled_from([0.0, 0.5, 1.0]))
def test_split_rows(code: type, rng: np.random.Generator, n: int, n_labels: int, left: float) -> None:
    order, low, starts = some_node(rng, n, n_labels)
    column = rng.integers(0, 256, (n, 4)).astype(code)[:, 2]
    on_left = rng.random(256) < left
    seen = []
    for twin in TWINS:
        parted, left_starts = order.copy(), np.full_like(starts, -1)
        n_left = twin.split_rows(low, starts, column, on_left, parted, np.empty_like(order), left_starts)
        seen.append((int(n_left), parted.tolist(), left_starts.tolist()))
    assert all(found == seen[0] for found in seen)
    # each side keeps its order, and nobody else's rows move
    n_left, parted, left_starts = seen[0]
    rows = order[low : low + starts[-1]].tolist()
    goes = {row for row in rows if on_left[column[row]]}
    assert parted[low : low + n_left] == [row for row in rows if row in goes]
    assert parted[low + n_left : low + len(rows)] == [row for row in rows if row not in goes]
    assert parted[:low] + parted[low + len(rows) :] == order[:low].tolist() + order[low + len(rows) :].tolist()
    for label in range(n_labels):
        mine = set(rows[starts[label] : starts[label + 1]])
        assert set(parted[low + left_starts[label] : low + left_starts[label + 1]]) == mine & goes


@few_cases
@given(rng=generators, n=row_counts, groups=st.integers(1, 3))
def test_histogram_of_some_rows_of_words(rng: np.random.Generator, n: int, groups: int) -> None:
    codes = rng.integers(0, 256, (groups, n, 4), dtype=np.uint8).view(np.uint32)[:, :, 0]
    grid, order = rng.integers(-(2**50), 2**50, n), rng.permutation(n).astype(np.uint32)
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    before = rng.integers(-9, 9, (4 * groups, 256))
    sums = [before.copy(), before.copy(), before.copy()]
    for twin, total in zip(TWINS, sums, strict=False):
        twin.histogram_of(codes, grid, order, low, high, total)
    only_those = np.where(np.isin(np.arange(n), order[low:high]), grid, 0)
    fast.histogram(codes, only_those, 0, n, sums[2])
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 3))
def test_histogram_of_some_rows_of_wide_codes(rng: np.random.Generator, n: int, n_columns: int) -> None:
    codes = rng.integers(0, 2000, (n_columns, n, 1), dtype=np.uint16)[:, :, 0]
    codes[:, : n // 2] = 1999
    grid, order = rng.integers(-(2**50), 2**50, n), rng.permutation(n).astype(np.uint32)
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    before = rng.integers(-9, 9, (n_columns, 2000))
    sums = [before.copy(), before.copy(), before.copy()]
    for twin, total in zip(TWINS, sums, strict=False):
        twin.histogram_of(codes, grid, order, low, high, total)
    only_those = np.where(np.isin(np.arange(n), order[low:high]), grid, 0)
    fast.histogram(codes, only_those, 0, n, sums[2])
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])


# ---------------------------------------------------------------- the search for a test

NO_ROWS = np.zeros((0, 0), dtype=np.int64)


class Sums:
    """Sums of a small table with ties: some columns have no values, some no missing ones, some are categories.

    Some rows are too light to show in the sums, and still count as rows.
    """

    def __init__(self, rng: np.random.Generator, n: int, n_columns: int, n_labels: int, width: int) -> None:
        weights = rng.choice(np.array([0, 1, 1, 2, 5]), n)
        labels = rng.integers(0, n_labels, n)
        self.n_bins = rng.integers(0, width, n_columns)
        if n:
            self.n_bins[rng.random(n_columns) < 0.2] = 0
        missing = rng.random((n_columns, n)) < rng.choice([0, 0.3], n_columns)[:, None]
        missing[self.n_bins == 0] = True
        codes = np.where(missing, width - 1, rng.integers(0, np.maximum(self.n_bins, 1)[:, None], (n_columns, n)))
        self.sums = np.zeros((n_labels, n_columns, width), dtype=np.int64)
        self.rows = np.zeros((n_columns, width), dtype=np.int64)
        for j in range(n_columns):
            np.add.at(self.sums, (labels, j, codes[j]), weights)
            np.add.at(self.rows, (j, codes[j]), 1)
        self.totals = np.bincount(labels, weights=weights, minlength=n_labels).astype(np.int64)
        self.has_missing = missing.any(axis=1)
        self.ordered = rng.random(n_columns) < 0.5

    @property
    def layout(self) -> tuple[np.ndarray, ...]:
        return self.n_bins, self.has_missing, self.ordered

    def purity_of(self, criterion: int, column: int, on_left: np.ndarray) -> float:
        return float(reference.purity(criterion, self.sums[:, column, on_left].sum(axis=1), self.totals))

    def fewest_rows(self, column: int, on_left: np.ndarray) -> int:
        return int(min(self.rows[column, on_left].sum(), self.rows[column, ~on_left].sum()))

    def threshold(self, cut: int, missing_left: int) -> np.ndarray:
        on_left = np.arange(self.sums.shape[2]) <= cut
        on_left[-1] = missing_left
        return on_left


sums_of_tables = st.builds(
    Sums,
    generators,
    n=st.integers(0, 30),
    n_columns=st.integers(1, 5),
    n_labels=st.sampled_from([1, 2, 2, 3, 9]),
    width=st.sampled_from([2, 3, 6, 20]),
)
limits = st.sampled_from([None, None, 1, 2, 5, 100])


def rows_and_limit(table: Sums, limit: int | None) -> tuple[np.ndarray, int]:
    return (NO_ROWS, 1) if limit is None else (table.rows, limit)


@few_cases
@given(table=sums_of_tables, limit=limits)
def test_best_threshold(table: Sums, limit: int | None) -> None:
    seen = []
    for twin in TWINS:
        found = np.full(3, -7)
        weight = twin.best_threshold(table.sums, table.totals, *table.layout, *rows_and_limit(table, limit), found)
        seen.append((int(weight), found.tolist()))
    assert seen[0] == seen[1]
    weight, (column, cut, missing_left) = seen[0]
    if weight >= 0 and limit is not None:
        assert table.fewest_rows(column, table.threshold(cut, missing_left)) >= limit


two_labels = st.builds(
    Sums,
    generators,
    n=st.integers(0, 30),
    n_columns=st.integers(1, 5),
    n_labels=st.just(2),
    width=st.sampled_from([2, 3, 6, 20]),
)


@few_cases
@given(table=two_labels)
def test_best_threshold_of_two(table: Sums) -> None:
    seen = []
    for twin in TWINS:
        found = np.full(3, -7)
        weight = twin.best_threshold(table.sums, table.totals, *table.layout, NO_ROWS, 1, found)
        seen.append((int(weight), found.tolist()))
    assert seen[0] == seen[1]


@few_cases
@given(table=two_labels, seed=generators, lam=st.sampled_from([0.0, 0.3, 1.0, 4.0]), spread=st.floats(1, 20))
def test_cheapest_threshold(table: Sums, seed: Any, lam: float, spread: float) -> None:
    squares = seed.integers(0, 50, table.sums.shape)
    totals, square_totals = table.totals + 1, squares[:, 0].sum(axis=1) + 1
    seen = []
    for twin in TWINS:
        found = np.full(3, -7)
        sums = (table.sums, totals, squares, square_totals)
        cost = twin.cheapest_threshold(*sums, *table.layout, lam, spread, found)
        seen.append((float(cost), found.tolist()))
    assert seen[0] == seen[1]


@few_cases
@given(generators, st.sampled_from([0.0, 0.3, 1.0, 4.0]))
def test_cost_at_best(rng: Any, lam: float) -> None:
    """Against cost (3) of weights w at many steps."""
    w, right = rng.dirichlet(np.ones(12)), rng.random(12) < 0.6
    spread = 12 * np.sum(w**2)
    moved = w * np.exp(np.linspace(-9, 9, 20001)[:, None] * np.where(right, -1, 1))
    least = np.min((1 - lam) * moved.sum(axis=1) ** 2 + lam * 12 * np.sum(moved**2, axis=1))
    for twin in TWINS:
        cost = twin.cost_at_best(w[right].sum(), np.sum(w[right] ** 2) / np.sum(w**2), lam, spread)
        assert cost <= least * (1 + 1e-9) + 1e-12
        if right.any() and not right.all():
            assert cost == pytest.approx(least, rel=1e-5)


@few_cases
@given(left=st.tuples(*[st.integers(0, 9)] * 2), right=st.tuples(*[st.integers(0, 9)] * 2))
def test_best_threshold_of_two_bins(left: tuple[int, int], right: tuple[int, int]) -> None:
    """A threshold whose sides vote for the same label is left out."""
    sums = np.array([[[left[0], right[0], 0]], [[left[1], right[1], 0]]])
    layout = np.array([2]), np.array([False]), np.array([True])
    agree = (left[1] > left[0]) == (right[1] > right[0])
    expected = -1 if agree else max(left) + max(right)
    for twin in TWINS:
        for rows, least in ((NO_ROWS, 1), (np.ones((1, 3), dtype=np.int64), 1)):
            found = np.zeros(3, dtype=np.int64)
            assert twin.best_threshold(sums, sums.sum(axis=2)[:, 0], *layout, rows, least, found) == expected


@few_cases
@given(table=sums_of_tables, rng=generators, taken=st.integers(-1, 3), lift=st.sampled_from([0, 3]))
def test_best_common_threshold(table: Sums, rng: np.random.Generator, taken: int, lift: int) -> None:
    """Also of residuals, whose sums may be negative."""
    left = rng.integers(0, table.sums + 1) - lift
    totals_left = left[:, 0].sum(axis=1)
    seen = []
    for twin in TWINS:
        found = np.full(3, -7)
        arguments = (left, table.sums, totals_left, table.totals, *table.layout, taken, found)
        seen.append((int(twin.best_common_threshold(*arguments)), found.tolist()))
    assert seen[0] == seen[1]
    assert seen[0][1][0] != taken or taken == -1


@few_cases
@given(table=sums_of_tables, limit=limits)
def test_best_subset(table: Sums, limit: int | None) -> None:
    seen = []
    for twin in TWINS:
        found = np.full(3, -7)
        weight = twin.best_subset(table.sums, *table.layout, *rows_and_limit(table, limit), found)
        seen.append((int(weight), found.tolist()))
    assert seen[0] == seen[1]
    weight, (column, a, b) = seen[0]
    if weight >= 0 and limit is not None:
        assert table.fewest_rows(column, table.sums[a, column] > table.sums[b, column]) >= limit


def test_missing_rows_are_on_the_side_they_go_to() -> None:
    """Two bins with one row each, and three rows of missing values, which fit the left bin or the right one."""
    rows, layout = np.array([[1, 1, 3]]), (np.array([2]), np.array([True]), np.array([True]))
    for twin in TWINS:
        for missing_left, missing in ((1, [3, 0]), (0, [0, 3])):
            sums = np.array([[[4 - missing[0], 0, missing[0]]], [[0, 4 - missing[1], missing[1]]]])
            # at least two rows on each side: missing or not; at least three: no threshold
            for least, expected in ((1, (8, [0, 0, missing_left])), (2, (7, [0, 1, 0])), (3, (-1, [-7, -7, -7]))):
                found = np.full(3, -7)
                weight = twin.best_threshold(sums, np.array([4, 4]), *layout, rows, least, found)
                assert (weight, found.tolist()) == expected


CRITERIA = [1, 2]


@pytest.mark.parametrize("criterion", CRITERIA)
@few_cases
@given(rng=generators, n_labels=st.integers(1, 9), scale=st.sampled_from([1, 2**20, 2**56]))
def test_purity(criterion: int, rng: np.random.Generator, n_labels: int, scale: int) -> None:
    left, right = rng.integers(0, 4, (2, n_labels)) * scale
    scores = [twin.purity(criterion, left, left + right) for twin in TWINS]
    assert scores[0] == pytest.approx(scores[1], rel=1e-14)
    if left.any():  # the only threshold of a column with these two bins
        sums, layout = np.stack([left, right, 0 * left], axis=1)[:, None], (np.array([2]), np.array([False]))
        found = np.zeros(3, dtype=np.int64)
        for twin in TWINS:
            more = (np.array([True]), NO_ROWS, 1, criterion, found)
            assert twin.purest_threshold(sums, left + right, *layout, *more) == pytest.approx(scores[0], rel=1e-14)


def test_a_node_is_pure_where_the_other_labels_weigh_less_than_a_millionth() -> None:
    heavy = 2**60
    for twin in TWINS:
        for totals, pure in [([0, 5, 0], True), ([5, 1], False), ([0, 0], True), ([heavy, heavy >> 22], True)]:
            assert bool(twin.is_pure(np.array(totals))) is pure
        assert not twin.is_pure(np.array([heavy, heavy >> 18]))


def test_purity_of_a_few_sides() -> None:
    totals = np.array([4, 2])
    for twin in TWINS:
        assert twin.purity(1, np.array([4, 0]), totals) == 6  # pure: all the weight
        assert twin.purity(2, np.array([4, 0]), totals) == 0  # pure: no error
        assert twin.purity(1, np.array([0, 0]), totals) == pytest.approx(20 / 6)
        assert twin.purity(2, np.array([2, 2]), totals) == -4


@pytest.mark.parametrize("criterion", CRITERIA)
@few_cases
@given(table=two_labels, scale=st.sampled_from([1, 2**52 + 1]))
def test_purest_threshold_of_two(criterion: int, table: Sums, scale: int) -> None:
    """A limit that all cuts meet changes nothing; a third label without weight only the last bits."""
    sums, totals = table.sums * scale, table.totals * scale
    everything = np.full_like(table.rows, 100)
    seen = []
    for rows in (NO_ROWS, everything):
        found = np.full(3, -7)
        seen.append((fast.purest_threshold(sums, totals, *table.layout, rows, 1, criterion, found), found.tolist()))
    assert seen[0] == seen[1]
    third = np.concatenate([sums, 0 * sums[:1]]), np.append(totals, 0)
    for twin in TWINS:
        of_three = twin.purest_threshold(*third, *table.layout, NO_ROWS, 1, criterion, np.zeros(3, dtype=np.int64))
        assert of_three == pytest.approx(seen[0][0], rel=1e-14)


@pytest.mark.parametrize("criterion", CRITERIA)
@few_cases
@given(table=sums_of_tables, limit=limits)
def test_purest_threshold(criterion: int, table: Sums, limit: int | None) -> None:
    scores, tests = [], []
    for twin in TWINS:
        found = np.full(3, -7)
        rows = rows_and_limit(table, limit)
        scores.append(twin.purest_threshold(table.sums, table.totals, *table.layout, *rows, criterion, found))
        tests.append(found.tolist())
    assert scores[0] == pytest.approx(scores[1], rel=1e-14)
    if scores[0] == -np.inf:
        assert tests[0] == tests[1] == [-7, -7, -7]
        return
    for column, cut, missing_left in tests:  # rounding decides between equals
        assert table.ordered[column]
        assert table.purity_of(criterion, column, table.threshold(cut, missing_left)) == pytest.approx(scores[0])
        assert limit is None or table.fewest_rows(column, table.threshold(cut, missing_left)) >= limit


@pytest.mark.parametrize("criterion", CRITERIA)
@few_cases
@given(table=sums_of_tables, limit=limits)
def test_purest_subset(criterion: int, table: Sums, limit: int | None) -> None:
    scores, sets = [], []
    for twin in TWINS:
        found, on_left = np.full(3, -7), np.zeros(table.sums.shape[2], dtype=np.bool_)
        rows = rows_and_limit(table, limit)
        scores.append(
            twin.purest_subset(table.sums, table.totals, table.n_bins, table.ordered, *rows, criterion, found, on_left)
        )
        sets.append((int(found[0]), on_left))
    assert scores[0] == pytest.approx(scores[1], rel=1e-14)
    if scores[0] == -np.inf:
        assert [column for column, _ in sets] == [-7, -7]
        return
    for column, on_left in sets:
        assert not table.ordered[column]
        assert table.purity_of(criterion, column, on_left) == pytest.approx(scores[0])
        assert limit is None or table.fewest_rows(column, on_left) >= limit


@pytest.mark.parametrize("criterion", CRITERIA)
@few_cases
@given(rng=generators, n_bins=st.integers(1, 7))
def test_for_two_labels_no_set_of_categories_is_purer(criterion: int, rng: np.random.Generator, n_bins: int) -> None:
    width = 11
    used = [*range(n_bins), width - 1]  # missing is one more category
    table = Sums(rng, 0, 2, 2, width)
    table.ordered[:], table.n_bins[:] = False, n_bins
    table.sums[:, 0, used] = rng.integers(0, 50, (2, n_bins + 1)) * (rng.random((2, n_bins + 1)) < 0.9)
    table.sums[:, 1, used] = table.sums[:, 0][:, rng.permutation(used)]
    table.totals = table.sums[:, 0].sum(axis=1)
    best = -np.inf
    for column in range(2):
        seen = np.flatnonzero(table.sums[:, column].any(axis=0))
        for size in range(1, len(seen)):
            for chosen in combinations(seen.tolist(), size):
                best = max(best, table.purity_of(criterion, column, np.isin(np.arange(width), chosen)))
    for twin in TWINS:
        found, on_left = np.zeros(3, dtype=np.int64), np.zeros(width, dtype=np.bool_)
        score = twin.purest_subset(
            table.sums, table.totals, table.n_bins, table.ordered, NO_ROWS, 1, criterion, found, on_left
        )
        assert score == pytest.approx(best, rel=1e-12)


@few_cases
@given(rng=generators, n=st.integers(1, 40), width=st.integers(2, 8))
def test_for_two_labels_no_set_of_categories_is_right_on_more(rng: np.random.Generator, n: int, width: int) -> None:
    table = Sums(rng, n, 1, 2, width)
    no = np.array([False])
    best = table.totals.max()
    for size in range(1, width):
        for chosen in combinations(range(width), size):
            left = table.sums[:, 0, list(chosen)].sum(axis=1)
            best = max(best, left.max() + (table.totals - left).max())
    for twin in TWINS:
        weight = twin.best_subset(
            table.sums, table.n_bins, table.has_missing, no, NO_ROWS, 1, np.zeros(3, dtype=np.int64)
        )
        assert max(weight, table.totals.max()) == best


def test_ties_go_to_the_first_column_the_first_cut_and_missing_on_the_left() -> None:
    # a bin of label 0, an empty one, a bin of label 1; nothing missing though the column may have it
    column = np.array([[4, 0, 0, 0], [0, 0, 4, 0]])
    sums = np.stack([column, column], axis=1)
    totals, n_bins = np.array([4, 4]), np.array([3, 3])
    some, both = np.array([True, True]), np.array([True, True])
    for twin in TWINS:
        found, on_left = np.zeros(3, dtype=np.int64), np.zeros(4, dtype=np.bool_)
        assert twin.best_threshold(sums, totals, n_bins, some, both, NO_ROWS, 1, found) == 8
        assert found.tolist() == [0, 0, 1]
        assert twin.best_subset(sums, n_bins, some, ~both, NO_ROWS, 1, found) == 8
        assert found.tolist() == [0, 0, 1]
        for criterion, purest in ((1, 8.0), (2, 0.0)):
            found[:] = -7
            assert twin.purest_threshold(sums, totals, n_bins, some, both, NO_ROWS, 1, criterion, found) == purest
            assert found.tolist() == [0, 0, 1]
            assert twin.purest_subset(sums, totals, n_bins, ~both, NO_ROWS, 1, criterion, found, on_left) == purest
            assert found[0] == 0
            assert on_left.tolist() == [True, False, False, False]


def test_a_test_with_too_few_rows_on_a_side_gives_way_to_a_worse_one() -> None:
    # one row of label 0 in the first bin, which tells the labels apart best; the second bin is mixed
    sums = np.array([[[6, 1, 0, 0]], [[0, 1, 2, 0]]])
    rows = np.array([[1, 2, 2, 0]])
    totals, n_bins, yes, no = np.array([7, 3]), np.array([3]), np.array([True]), np.array([False])
    for twin in TWINS:
        for least, cut in ((1, 0), (2, 1)):
            found = np.zeros(3, dtype=np.int64)
            for criterion in CRITERIA:
                twin.purest_threshold(sums, totals, n_bins, no, yes, rows, least, criterion, found)
                assert found.tolist() == [0, cut, 0]
        for least, weight in ((1, 9), (2, 9), (3, -1)):
            assert twin.best_threshold(sums, totals, n_bins, no, yes, rows, least, found) == weight
        for least, weight in ((1, 9), (2, -1)):
            assert twin.best_subset(sums, n_bins, no, no, rows, least, found) == weight
        for least, chosen in ((1, [0]), (2, [0, 1])):
            on_left = np.zeros(4, dtype=np.bool_)
            assert twin.purest_subset(sums, totals, n_bins, no, rows, least, 2, found, on_left) > -np.inf
            assert np.flatnonzero(on_left).tolist() == chosen
        assert twin.purest_subset(sums, totals, n_bins, no, rows, 3, 2, found, on_left) == -np.inf


def test_a_test_with_an_empty_side_is_none() -> None:
    # label 1 is the heavier one in the only bin and among the missing; no cut, and no set, parts the labels
    sums = np.array([[[1, 0, 0]], [[3, 0, 2]]])
    totals, n_bins, yes, no = np.array([1, 5]), np.array([1]), np.array([True]), np.array([False])
    one_bin = np.array([[[3, 0, 0]], [[1, 0, 0]]])
    for twin in TWINS:
        found, on_left = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.bool_)
        assert twin.best_threshold(sums, totals, n_bins, yes, yes, NO_ROWS, 1, found) == -1
        assert twin.best_subset(sums, n_bins, yes, no, NO_ROWS, 1, found) == -1
        assert twin.best_subset(one_bin, n_bins, no, no, NO_ROWS, 1, found) == -1
        of_one = (one_bin, np.array([3, 1]), n_bins)
        assert twin.purest_threshold(*of_one, no, yes, NO_ROWS, 1, 1, found) == -np.inf
        assert twin.purest_subset(*of_one, no, NO_ROWS, 1, 1, found, on_left) == -np.inf


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
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 4), n_outputs=st.integers(1, 4))
def test_climb(rng: np.random.Generator, n: int, n_columns: int, n_outputs: int) -> None:
    block = some_values(rng, n_columns, n)
    columns = np.flatnonzero(rng.random(n_columns) < 0.7)
    parts = some_edges(rng, len(columns) * n_outputs)
    first = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    edges = np.concatenate([np.empty(0), *parts])
    rises = rng.integers(-(2**50), 2**50, len(edges))
    absent = rng.choice(np.array([0, 5, -(2**50)]), len(parts))
    before = rng.integers(-9, 9, (n_outputs, n))
    votes = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, votes, strict=True):
        twin.climb(block, columns, first, edges, rises, absent, total)
    np.testing.assert_array_equal(*votes)


@few_cases
@given(rng=generators, n_labels=st.integers(2, 4), width=st.integers(2, 9), side=st.integers(-1, 1))
def test_send_left(rng: np.random.Generator, n_labels: int, width: int, side: int) -> None:
    histogram = rng.integers(0, 2**40, (n_labels, 3, width))
    seen = rng.integers(0, 9, width)
    column, cut = int(rng.integers(3)), int(rng.integers(width - 1))
    found = []
    for twin in TWINS:
        on_left, sides = np.empty(width, dtype=np.bool_), np.empty((2, n_labels), dtype=np.int64)
        twin.send_left(histogram, seen, column, cut, side, on_left, sides)
        found.append((on_left, sides))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert np.array_equal(found[0][1].sum(axis=0), histogram[:, column].sum(axis=1))


@few_cases
@given(rng=generators, n=row_counts, n_columns=st.integers(1, 5), infinite=st.booleans())
def test_first_infinite(rng: np.random.Generator, n: int, n_columns: int, infinite: bool) -> None:
    block = some_values(rng, n_columns, n, infinite=infinite)
    places = [tuple(twin.first_infinite(block)) for twin in TWINS]
    assert places[0] == places[1]
    assert infinite or places[0] == (-1, -1)


class Grove:
    """Random trees as the kernels read them: nodes of all voters, children after their parent, leaves with votes."""

    def __init__(
        self, rng: np.random.Generator, n_voters: int, n_places: int, n_outputs: int, by_set: bool, most: int = 6
    ) -> None:
        place, children, sizes, self.depths = [], [], [], []
        for _ in range(n_voters):
            mine, kids, depth = [-1], [[-1, -1]], [0]
            for _ in range(int(rng.integers(0, most + 1))):
                leaf = int(rng.choice([node for node, asked in enumerate(mine) if asked < 0]))
                mine[leaf], kids[leaf] = int(rng.integers(0, n_places)), [len(mine), len(mine) + 1]
                mine += [-1, -1]
                kids += [[-1, -1], [-1, -1]]
                depth += [depth[leaf] + 1] * 2
            place += mine
            children += kids
            sizes.append(len(mine))
            self.depths.append(max(depth))
        n = len(place)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.place = np.array(place, dtype=np.int32)
        self.children = np.array(children, dtype=np.int32).reshape(n, 2)
        self.cut = rng.integers(0, 6, n).astype(np.int32)
        self.missing_left = rng.random(n) < 0.5
        self.sets = rng.random((n if by_set else 0, 256)) < 0.5
        self.members = np.full(n, -1, dtype=np.int32)
        if by_set:
            chosen = (self.place >= 0) & (rng.random(n) < 0.5)
            self.members[chosen] = rng.permutation(n)[: chosen.sum()]
        self.units = rng.integers(-(2**50), 2**50, (n, n_outputs))

    def walk(self, twin: Any, cells: np.ndarray, votes: np.ndarray, voters: slice) -> None:
        offsets = self.offsets[voters.start : voters.stop + 1]
        nodes = (self.place, self.cut, self.members, self.missing_left, self.children)
        twin.walk(cells, offsets, *nodes, self.sets, self.units, votes)

    def masks(self, cells: int = 7) -> Any:
        """The same trees as `Masks` of an ensemble."""
        cut_at = SimpleNamespace(edges=[np.arange(cells - 1)], place=self.place, cut=self.cut)
        names = ("offsets", "child_nodes", "members", "sets", "missing_left")
        return Masks.of(
            SimpleNamespace(cells=cut_at, column=self.place, **{name: getattr(self, name) for name in names})
        )

    @property
    def child_nodes(self) -> np.ndarray:
        """Counted from the first node of all."""
        return np.asarray(np.repeat(self.offsets[:-1], np.diff(self.offsets))[:, None] + self.children)

    def walk_ordered(self, twin: Any, cells: np.ndarray, votes: np.ndarray, voters: slice) -> None:
        """The same trees with a leaf that leads to itself."""
        asked = self.place >= 0
        kids = np.where(asked[:, None], self.child_nodes[:, ::-1], np.arange(len(asked))[:, None])
        offsets = self.offsets[voters.start : voters.stop + 1]
        depths = np.array(self.depths, dtype=np.int32)[voters]
        low = np.where(self.missing_left, -1, 0).astype(np.int32)
        nodes = (np.maximum(self.place, 0), low, self.cut, np.ascontiguousarray(kids, dtype=np.int32))
        scratch = np.empty(cells.shape[1], dtype=np.int32)
        twin.walk_ordered(cells, offsets, depths, *nodes, self.units, votes, scratch)


walks = {
    "rng": generators,
    "n": row_counts,
    "n_voters": st.integers(0, 5),
    "n_outputs": st.integers(1, 4),
}


def some_cells(rng: np.random.Generator, n_places: int, n: int) -> np.ndarray:
    return rng.integers(-1, 7, (n_places, n, 1)).astype(np.int32)[:, :, 0]


@few_cases
@given(**walks)
def test_walk(rng: np.random.Generator, n: int, n_voters: int, n_outputs: int) -> None:
    grove, cells = Grove(rng, n_voters, 3, n_outputs, by_set=True), some_cells(rng, 3, n)
    first, last = np.sort(rng.integers(0, n_voters + 1, 2)).tolist()
    before = rng.integers(-9, 9, (n_outputs, n))
    votes = [before.copy(), before.copy()]
    for twin, total in zip(TWINS, votes, strict=True):
        grove.walk(twin, cells, total, slice(first, last))
    np.testing.assert_array_equal(*votes)


@few_cases
@given(**walks)
def test_walk_ordered(rng: np.random.Generator, n: int, n_voters: int, n_outputs: int) -> None:
    grove, cells = Grove(rng, n_voters, 3, n_outputs, by_set=False), some_cells(rng, 3, n)
    first, last = np.sort(rng.integers(0, n_voters + 1, 2)).tolist()
    before = rng.integers(-9, 9, (n_outputs, n))
    votes = [before.copy() for _ in range(4)]
    for twin, walked, ordered in zip(TWINS, votes[:2], votes[2:], strict=True):
        grove.walk(twin, cells, walked, slice(first, last))
        grove.walk_ordered(twin, cells, ordered, slice(first, last))
    for other in votes[1:]:
        np.testing.assert_array_equal(votes[0], other)


@few_cases
@given(**walks, by_set=st.booleans(), most=st.sampled_from([0, 1, 7, 8, 30, 63]))
def test_vote_and_tree_outputs(
    rng: np.random.Generator, n: int, n_voters: int, n_outputs: int, by_set: bool, most: int
) -> None:
    """Crossing out leads to the leaves that going down leads to; trees of up to 64 leaves, over 8 bytes."""
    grove, cells = Grove(rng, n_voters, 3, n_outputs, by_set, most), some_cells(rng, 3, n)
    masks = grove.masks()
    first, last = np.sort(rng.integers(0, n_voters + 1, 2)).tolist()
    walked = rng.integers(-9, 9, (n_outputs, n))
    voted = [walked.copy(), walked.copy()]
    grove.walk(reference, cells, walked, slice(first, last))
    ends = (masks.offsets[first : last + 1], masks.leaves[first : last + 1])
    units = np.ascontiguousarray(grove.units[masks.nodes].T)
    cells = np.where(cells < 0, 255, cells).astype(np.uint8)
    for twin, votes in zip(TWINS, voted, strict=True):
        before = votes.copy()
        twin.vote(cells, *ends, masks.tests, units, votes, *masks.scratch(n))
        np.testing.assert_array_equal(votes, walked)
        said = np.empty((n_outputs, n, last - first))
        twin.tree_outputs(cells, *ends, masks.tests, units.astype(np.float64), said, *masks.scratch(n))
        np.testing.assert_array_equal(before + said.sum(axis=2), walked)
        for t in range(n_voters):
            planes, leaf = masks.scratch(n)
            twin.cross_out(cells, masks.offsets[t], masks.offsets[t + 1], masks.tests, planes, leaf)
            assert leaf.max(initial=0) < masks.leaves[t + 1] - masks.leaves[t]


def test_trees_too_large_for_masks() -> None:
    rng = np.random.default_rng(0)
    grove = Grove(rng, 1, 3, 1, False)
    assert grove.masks() is not None
    assert grove.masks(cells=256) is None
    many = Grove(rng, 20, 3, 1, False, most=100)
    assert max(np.diff(many.offsets)) > 2 * 64
    assert many.masks() is None


@few_cases
@given(rng=generators, n=row_counts, n_trees=st.integers(0, 5), width=st.integers(1, 3))
def test_add_leaves(rng: np.random.Generator, n: int, n_trees: int, width: int) -> None:
    """Against a descent row by row, too: rows with every value, thresholds and sets, trees of one leaf."""
    kind = [("threshold", "<f8"), ("left", "<i4"), ("right", "<i4"), ("column", "<i4"), ("route", "<i4")]
    sizes = rng.integers(0, 6, n_trees)  # inner nodes
    starts, first_leaf = np.cumsum(sizes) - sizes, np.cumsum(sizes + 1) - sizes - 1
    nodes = np.zeros(sizes.sum(), dtype=kind)
    nodes["threshold"] = rng.choice(SPECIAL[1:], len(nodes))
    nodes["column"] = rng.integers(0, 2, len(nodes))
    nodes["route"] = rng.integers(-2, 0, len(nodes))
    by_set = rng.random(len(nodes)) < 0.4
    nodes["column"][by_set], nodes["route"][by_set] = 2, rng.integers(0, 8, by_set.sum())  # four sets
    for start, size, leaf in zip(starts, sizes, first_leaf, strict=True):  # a chain, its other children leaves
        for k in range(size):
            below = start + k + 1 if k + 1 < size else -1 - (leaf + size)
            pair = [below, -1 - (leaf + k)]
            nodes["left"][start + k], nodes["right"][start + k] = pair if rng.random() < 0.5 else pair[::-1]
    roots = np.where(sizes > 0, starts, -1 - first_leaf).astype(np.int32)
    sets = rng.integers(0, 2**32, (4, 8), dtype=np.uint32)
    leaves, values = rng.integers(0, 3, sizes.sum() + n_trees).astype(np.uint32), rng.normal(size=(3, width))
    rows = some_values(rng, n, 3, infinite=False)
    rows[:, 2] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 256, n))
    outputs = rng.integers(0, 2, n_trees)

    wanted = np.ones((n, width + 1))
    for i, x in enumerate(rows):
        for root, output in zip(roots, outputs, strict=True):
            place = root
            while place >= 0:
                threshold, left, right, column, route = nodes[place].tolist()
                if np.isnan(x[column]):
                    goes_left = route % 2 == 1
                elif route >= 0:
                    bits = sum(int(word) << (32 * k) for k, word in enumerate(sets[route // 2]))
                    goes_left = (bits >> int(x[column])) % 2 == 1
                else:
                    goes_left = x[column] <= threshold
                place = left if goes_left else right
            wanted[i, output : output + width] += values[leaves[-1 - place]]
    for twin in TWINS:
        totals = np.ones((n, width + 1))
        twin.add_leaves(rows, roots, outputs, nodes, sets, leaves, values, totals)
        np.testing.assert_array_equal(totals, wanted)


def test_a_walk_down_one_tree() -> None:
    # x0 <= 2, missing right; on the left x1 in {0, 3}, missing left
    place, cut = np.array([0, 1, -1, -1, -1], dtype=np.int32), np.array([2, 0, 0, 0, 0], dtype=np.int32)
    members, missing_left = np.array([-1, 0, -1, -1, -1], dtype=np.int32), np.array([False, True, False, False, False])
    children = np.array([[1, 2], [3, 4], [-1, -1], [-1, -1], [-1, -1]], dtype=np.int32)
    sets, units = np.isin(np.arange(256), [0, 3])[None], np.array([[0], [0], [1], [10], [100]])
    cells = np.array([[2, 2, 3, -1, 0, 1], [3, 1, 3, 0, -1, 0]], dtype=np.int32)
    for twin in TWINS:
        votes = np.zeros((1, 6), dtype=np.int64)
        nodes = (place, cut, members, missing_left, children, sets, units)
        twin.walk(cells, np.array([0, 5]), *nodes, votes)
        assert votes.tolist() == [[10, 100, 1, 1, 10, 10]]


# ---------------------------------------------------------------- voters as columns


@few_cases
@given(generators, st.integers(0, 100), st.integers(1, 12))
def test_correlate_signs(rng: np.random.Generator, n: int, n_columns: int) -> None:
    signs = rng.random((n, n_columns)) < 0.5
    bits = np.packbits(signs, axis=0, bitorder="little")
    units = rng.integers(-(2**50), 2**50, n)
    for twin in TWINS:
        sums = np.arange(n_columns)
        twin.correlate_signs(bits, units, sums)
        np.testing.assert_array_equal(sums, np.arange(n_columns) + units @ signs)


@few_cases
@given(generators, st.integers(1, 5), st.integers(1, 12))
def test_count_differences(rng: np.random.Generator, n_words: int, n_columns: int) -> None:
    words = rng.integers(0, 2**64, size=(n_columns, n_words), dtype=np.uint64)
    words[0] = 0
    words[-1] = 2**64 - 1
    for column in range(n_columns):
        expected = [sum((int(a) ^ int(b)).bit_count() for a, b in zip(words[column], w, strict=True)) for w in words]
        for twin in TWINS:
            counts = np.empty(n_columns, dtype=np.int64)
            twin.count_differences(words, column, counts)
            np.testing.assert_array_equal(counts, expected)


@few_cases
@given(generators, row_counts, st.integers(1, 8))
def test_correlate_reals(rng: np.random.Generator, n: int, n_columns: int) -> None:
    columns = rng.uniform(-1, 1, size=(n_columns, n))
    units = rng.integers(-(2**40), 2**40, n).astype(float)
    times = rng.integers(1, 4, n)
    exact = [sum(int(t) * round(u * x) for t, u, x in zip(times, units, column, strict=True)) for column in columns]
    order = rng.permutation(n)
    for twin in TWINS:
        sums = np.zeros(n_columns, dtype=np.int64)
        twin.correlate_reals(columns, units, times, sums)
        np.testing.assert_array_equal(sums, exact)
        mixed = np.zeros(n_columns, dtype=np.int64)
        twin.correlate_reals(np.ascontiguousarray(columns[:, order]), units[order], times[order], mixed)
        np.testing.assert_array_equal(mixed, sums)


@few_cases
@given(generators, row_counts, st.integers(1, 9), st.integers(0, 6))
def test_inner_products(rng: np.random.Generator, n: int, others: int, n_columns: int) -> None:
    X, Z = rng.normal(size=(n, n_columns)), rng.normal(size=(n_columns, others))
    found = [np.empty((n, others)) for _ in TWINS]
    for twin, out in zip(TWINS, found, strict=True):
        twin.inner_products(X, Z, out)
        np.testing.assert_allclose(out, X @ Z, rtol=1e-12, atol=1e-12)
        alone = np.empty((min(n, 1), others))
        twin.inner_products(X[:1], Z, alone)
        np.testing.assert_array_equal(alone, out[:1])  # the same bits for a row alone
    np.testing.assert_array_equal(*found)


@few_cases
@given(generators, row_counts, st.integers(1, 9), st.integers(0, 6))
def test_squared_distances(rng: np.random.Generator, n: int, others: int, n_columns: int) -> None:
    X, Z = rng.normal(size=(n, n_columns)), rng.normal(size=(n_columns, others))
    found = [np.empty((n, others)) for _ in TWINS]
    for twin, out in zip(TWINS, found, strict=True):
        twin.squared_distances(X, Z, out)
        np.testing.assert_allclose(out, ((X[:, :, None] - Z) ** 2).sum(axis=1), rtol=1e-12, atol=1e-12)
        alone = np.empty((min(n, 1), others))
        twin.squared_distances(X[:1], Z, alone)
        np.testing.assert_array_equal(alone, out[:1])
    np.testing.assert_array_equal(*found)


# ---------------------------------------------------------------- QuadBoost on a pool


def some_pool(rng: np.random.Generator, n_voters: int, kind: int) -> dict[str, Any]:
    """Voters, one of which may say nothing, some of them alike; a penalty; weights on the grid; their correlations."""
    H = rng.choice(np.array([-1.0, -0.5, 0.25, 1.0]), (12, n_voters))
    H[:, 0] *= rng.integers(0, 2)
    H[:, -1] = H[:, n_voters // 2]
    y = rng.choice(np.array([-1.0, 1.0]), 12)
    weight = np.where(rng.random(n_voters) < 0.5, np.rint(rng.normal(size=n_voters) * 2.0**40) / 2.0**43, 0.0)
    gram = H.T @ H / 12
    weight[np.diag(gram) == 0] = 0.0
    return {
        "kind": kind,
        "lam": [0.0, 0.1, 0.3, 0.0][kind],
        "most": 0.2 if kind == 3 else np.inf,
        "power": 1.0,
        "mu": H.T @ y / 12,
        "c": H.T @ (y - H @ weight) / 12,
        "eta": np.diag(gram).copy(),
        "weight": weight,
        "gram": gram,
    }


@few_cases
@given(generators, st.integers(0, 3))
def test_quad_weight_and_drop(rng: np.random.Generator, kind: int) -> None:
    lam, most = rng.random(), rng.random()
    for pull, eta, old in zip(rng.normal(size=20), rng.choice([0.0, 0.3, 1.0], 20), rng.normal(size=20), strict=True):
        new, theirs = (twin.quad_weight(kind, lam, most, pull, eta) for twin in TWINS)
        assert new == theirs
        drops = [twin.quad_drop(kind, lam, pull, eta, old, new) for twin in TWINS]
        assert drops[0] == pytest.approx(drops[1], abs=1e-14)


@few_cases
@given(generators, st.integers(1, 9), st.integers(0, 3), st.integers(0, 2), st.booleans())
def test_quad_best_and_gap(rng: np.random.Generator, n_voters: int, kind: int, mode: int, full: bool) -> None:
    p = some_pool(rng, n_voters, kind)
    penalty = (kind, p["lam"], p["most"])
    ours, theirs = (twin.quad_best(*penalty, mode, full, p["c"], p["eta"], p["weight"]) for twin in TWINS)
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1:], theirs[1:], rtol=0, atol=1e-14)
    ours, theirs = (twin.quad_gap(*penalty, 1.0, p["c"], p["mu"], p["weight"]) for twin in TWINS)
    assert ours == pytest.approx(theirs, abs=1e-12)
    numbers = (float(rng.choice([0.0, 0.4])), *rng.normal(size=1), *np.abs(rng.normal(size=2)))
    ours, theirs = (twin.lasso_gap(p["lam"], *numbers) for twin in TWINS)
    assert ours == pytest.approx(theirs, abs=1e-12)


@few_cases
@given(generators, st.integers(1, 9), st.integers(0, 3), st.integers(0, 2))
def test_quad_rounds_and_replay(rng: np.random.Generator, n_voters: int, kind: int, mode: int) -> None:
    """The same moves, the same end, and the same again from the moves; rows of the Gram matrix that are not there."""
    p = some_pool(rng, n_voters, kind)
    slot = np.where(rng.random(n_voters) < 0.8, np.arange(n_voters), -1)
    last, room, most_voters = int(rng.integers(1, 8)), int(rng.integers(1, 60)), int(rng.integers(1, 10))
    ends = []
    for twin in TWINS:
        c, weight = p["c"].copy(), p["weight"].copy()
        places, moves, info = np.zeros((room, 2), dtype=np.int64), np.zeros((room, 5)), np.zeros(6, dtype=np.int64)
        number = twin.quad_rounds(
            kind, p["lam"], p["most"], mode, 1e-3, most_voters, 1.0, c, p["mu"], p["eta"], weight, p["gram"], slot,
            1, last, places, moves, info,
        )  # fmt: skip
        ends.append((number, info.tolist(), places.tolist(), moves, c, weight))
    ours, theirs = ends
    assert ours[:3] == theirs[:3]
    for one, other in zip(ours[3:], theirs[3:], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    made = ours[1][0]
    for twin in TWINS:
        c, weight, moves = p["c"].copy(), p["weight"].copy(), np.zeros((made, 5))
        moves[:, 0] = ours[3][:made, 0]
        places = np.array(ours[2][:made], dtype=np.int64).reshape(-1, 2)
        twin.quad_replay(kind, p["lam"], mode, places, moves, c, p["eta"], weight, p["gram"], slot)
        np.testing.assert_allclose(moves, ours[3][:made], rtol=0, atol=1e-12)
        np.testing.assert_allclose(c, ours[4], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(weight, ours[5])


@few_cases
@given(generators, st.integers(2, 9), st.integers(0, 3), st.integers(0, 2))
def test_quad_rounds_with_one_gram_row_at_a_time(rng: np.random.Generator, n_voters: int, kind: int, mode: int) -> None:
    """Left wherever a row is wanted, in the midst of a sweep too, and gone on with: as if all rows had been there."""
    p = some_pool(rng, n_voters, kind)
    last, most_voters = int(rng.integers(1, 8)), int(rng.integers(1, 10))
    room = (last + 1) * (2 * n_voters + 2)
    for twin in TWINS:
        ends = []
        for slot in (np.arange(n_voters), np.full(n_voters, -1)):
            c, weight, info, number, parts = p["c"].copy(), p["weight"].copy(), np.zeros(6, dtype=np.int64), 1, []
            for _ in range(1000):
                places, moves = np.zeros((room, 2), dtype=np.int64), np.zeros((room, 5))
                number = twin.quad_rounds(
                    kind, p["lam"], p["most"], mode, 1e-3, most_voters, 1.0, c, p["mu"], p["eta"], weight, p["gram"],
                    slot, number, last, places, moves, info,
                )  # fmt: skip
                parts.append(np.column_stack([places, moves])[: info[0]])
                if info[1] != 1:
                    break
                slot[:] = -1
                slot[info[2]] = info[2]
            ends.append((number, info[1:].tolist(), np.concatenate(parts), c, weight))
        whole, single = ends
        assert whole[:2] == single[:2]
        for one, other in zip(whole[2:], single[2:], strict=True):
            np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------- the vote by weighted median


def some_votes(rng: np.random.Generator, n: int, voters: int, shared: bool) -> tuple[np.ndarray, ...]:
    """Values with ties, weights with zeros, and needs from 1 to the whole."""
    values = np.where(rng.random((n, voters)) < 0.5, rng.integers(-3, 3, (n, voters)), rng.normal(size=(n, voters)))
    weights = rng.choice(np.array([0, 1, 1, 2, 9, 2**40]), (1 if shared else n, voters))
    weights[:, rng.integers(0, voters)] += 1
    mass = np.broadcast_to(weights.sum(axis=1), (n,))
    return values, weights, np.maximum(1, np.ceil(mass * rng.random(n))).astype(np.int64)


@few_cases
@given(rng=generators, n=st.integers(0, 20), voters=st.integers(1, 40), shared=st.booleans())
def test_vote_quantiles(rng: np.random.Generator, n: int, voters: int, shared: bool) -> None:
    values, weights, needs = some_votes(rng, n, voters, shared)
    for sign in (1.0, -1.0):
        found = [np.empty(n), np.empty(n)]
        for twin, out in zip(TWINS, found, strict=True):
            twin.vote_quantiles(values, weights, needs, sign, out)
        np.testing.assert_array_equal(*found)
        every = np.broadcast_to(weights, values.shape)
        for i, v in enumerate(found[0]):  # the definition
            assert (
                every[i, sign * values[i] <= sign * v].sum() >= needs[i] > every[i, sign * values[i] < sign * v].sum()
            )


@few_cases
@given(rng=generators, n=st.integers(0, 20), voters=st.integers(1, 40), shared=st.booleans())
def test_place_quantiles(rng: np.random.Generator, n: int, voters: int, shared: bool) -> None:
    """Places among few or many numbers: the quantiles of the numbers themselves."""
    _, weights, needs = some_votes(rng, n, voters, shared)
    n_places = int(rng.choice([1, 2, 3, 17, 64, 65, 5000]))
    table = np.sort(rng.normal(size=n_places))
    places = rng.integers(0, n_places, (n, voters)).astype(np.float64)
    for sign in (1.0, -1.0):
        found, direct = [np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)], np.empty(n)
        for twin, out in zip(TWINS, found, strict=True):
            twin.place_quantiles(places, weights, needs, n_places, sign < 0, out)
        np.testing.assert_array_equal(*found)
        reference.vote_quantiles(table[places.astype(np.int64)], weights, needs, sign, direct)
        np.testing.assert_array_equal(table[found[0]], direct)


def test_votes_that_do_not_come_to_the_need() -> None:
    """Nobody votes, or nothing is needed: an end, and an answer."""
    values = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    weights, needs = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0]]), np.array([0, 0, 5])
    for twin in TWINS:
        out = np.empty(3)
        twin.vote_quantiles(values, weights, needs, 1.0, out)
        assert out.tolist() == [3.0, 2.0, 3.0]


@few_cases
@given(rng=generators, n=st.integers(0, 20), voters=st.integers(1, 20))
def test_insert_votes_and_sorted_quantiles(rng: np.random.Generator, n: int, voters: int) -> None:
    """Voters one by one give the quantiles of all of them."""
    values, weights, needs = some_votes(rng, n, voters, shared=False)
    for twin in TWINS:
        kept, mass = np.empty_like(values), np.empty_like(weights)
        for t in range(voters):
            twin.insert_votes(kept, mass, t, np.ascontiguousarray(values[:, t]), np.ascontiguousarray(weights[:, t]))
        assert np.all(np.diff(kept, axis=1) >= 0)
        for from_top in (False, True):
            found, direct = np.empty(n), np.empty(n)
            twin.sorted_quantiles(kept, mass, voters, needs, from_top, found)
            reference.vote_quantiles(values, weights, needs, -1.0 if from_top else 1.0, direct)
            np.testing.assert_array_equal(found, direct)


# ---------------------------------------------------------------- the search for a test of a target


def some_earning(rng: np.random.Generator, n_labels: int) -> tuple[Any, ...]:
    targets = np.sort(rng.choice(np.arange(40.0), n_labels, replace=False))
    reach = np.minimum(np.searchsorted(targets, targets - rng.choice([0.0, 5.0, 50.0])), np.arange(n_labels))
    return reach.astype(np.int64), targets, float(rng.random()), rng.integers(-3, 2, (4, n_labels)).astype(np.float64)


@few_cases
@given(kind=st.integers(0, 2), rng=generators, n_labels=st.integers(1, 9))
def test_side_edge(kind: int, rng: np.random.Generator, n_labels: int) -> None:
    reach, targets, rate, table = some_earning(rng, n_labels)
    weights = rng.choice(np.array([0, 1, 4, 9]), n_labels)
    edges = [twin.side_edge(kind, weights, reach, targets, rate, table) for twin in TWINS]
    np.testing.assert_allclose(*edges, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", [0, 1, 2])
@few_cases
@given(table=sums_of_tables, limit=limits, abstains=st.booleans(), at=st.sampled_from([0.0, 2.0**20]), rng=generators)
def test_best_target_threshold(
    kind: int, table: Sums, limit: int | None, abstains: bool, at: float, rng: np.random.Generator
) -> None:
    reach, targets, _, payoff = some_earning(rng, len(table.totals))
    seen = []
    for twin in TWINS:
        found = np.full(3, -7, dtype=np.int64)
        away = targets - targets[len(targets) // 2]
        earning = (kind, reach, targets + at, away, 0.25, payoff, abstains)  # exact in binary, so that ties are ties
        most = twin.best_target_threshold(
            table.sums, table.totals, *table.layout, *rows_and_limit(table, limit), *earning, found
        )
        seen.append((most, *found.tolist()))
    assert seen[0] == seen[1]


@few_cases
@given(rng=generators, n=st.integers(1, 30) | st.sampled_from([350, 600]), eps=st.sampled_from([0.1, 0.5, 1.0, 100.0]))
def test_best_window(rng: np.random.Generator, n: int, eps: float) -> None:
    targets = np.sort(np.where(rng.random(n) < 0.5, rng.integers(0, 5, n) / 10, 3 * rng.normal(size=n)))
    weights = rng.choice(np.array([0, 1, 2, 9]), n)
    found = [tuple(map(int, twin.best_window(targets, weights, eps))) for twin in TWINS]
    assert found[0] == found[1]
    first, last = found[0]
    middle = targets[first] + 0.5 * (targets[last] - targets[first])
    assert np.all(np.abs(targets[first : last + 1] - middle) <= eps)


@few_cases
@given(rng=generators, n_labels=st.integers(1, 9), at=st.sampled_from([0.0, 2.0**20]))
def test_edge_of_two_sides(rng: np.random.Generator, n_labels: int, at: float) -> None:
    """The only threshold of a column with two bins earns what its two sides earn, for every kind."""
    reach, targets, _, payoff = some_earning(rng, n_labels)
    sides = rng.choice(np.array([0, 1, 4, 9]), (2, n_labels))
    sides[:, 0] += 1
    sums, layout = np.stack([*sides, 0 * sides[0]], axis=1)[:, None], (np.array([2]), np.array([False]))
    for kind in (0, 1, 2):
        earning = (reach, targets + at, 0.25, payoff)
        for twin in TWINS:
            expected = sum(twin.side_edge(kind, side, *earning) for side in sides)
            away = targets - targets[n_labels // 2]
            how = (kind, reach, targets + at, away, 0.25, payoff, False)
            given = (sums, sides.sum(axis=0), *layout, np.array([True]), NO_ROWS, 1, *how)
            assert twin.best_target_threshold(*given, np.zeros(3, dtype=np.int64)) == expected


@few_cases
@given(table=two_labels, limit=limits)
def test_best_mean_threshold(table: Sums, limit: int | None) -> None:
    seen = []
    for twin in TWINS:
        found = np.full(3, -7, dtype=np.int64)
        given = (table.sums, table.totals, *table.layout, *rows_and_limit(table, limit))
        seen.append((twin.best_mean_threshold(*given, found), *found.tolist()))
    assert seen[0] == seen[1]


# ---------------------------------------------------------------- all labels at once


def some_groups(rng: np.random.Generator, n_labels: int) -> np.ndarray:
    """The label of a booster for every label of the rows: all their own, or one against the rest."""
    return (
        np.arange(n_labels) if rng.random() < 0.5 else (np.arange(n_labels) == rng.integers(n_labels)).astype(np.int64)
    )


@few_cases
@given(rng=generators, n=row_counts, words=st.integers(1, 3), n_labels=st.integers(1, 6))
def test_histograms_by_label(rng: np.random.Generator, n: int, words: int, n_labels: int) -> None:
    codes, grid = rng.integers(0, 2**32, (words, n), dtype=np.uint32), rng.integers(0, 2**40, n)
    starts, group = some_starts(rng, n, n_labels), some_groups(rng, n_labels)
    order, low = rng.permutation(n).astype(np.uint32), int(rng.integers(0, n + 1))
    inside = some_starts(rng, n - low, n_labels)
    whole, part = (np.full((2, max(group) + 1, 4 * words, 256), 7, dtype=np.int64) for _ in range(2))
    for twin, sums, some in zip(TWINS, whole, part, strict=True):
        for clear in (True, False):
            twin.label_histograms(codes, grid, starts, group, sums, clear)
            twin.node_histograms(codes, grid, order, low, inside, group, some, clear)
    np.testing.assert_array_equal(*whole)
    np.testing.assert_array_equal(*part)
    assert np.all(whole[0].sum(axis=(0, 2)) == 2 * grid.sum())
    assert np.all(part[0].sum(axis=(0, 2)) == 2 * grid[order[low:]].sum())


@few_cases
@given(rng=generators, n=st.integers(0, 5000), shards=st.integers(1, 5))
def test_add_up(rng: np.random.Generator, n: int, shards: int) -> None:
    stack = rng.integers(-(2**50), 2**50, (shards, n))
    low, high = np.sort(rng.integers(0, n + 1, 2)).tolist()
    sums = np.full((2, n), 7)
    for twin, out in zip(TWINS, sums, strict=True):
        twin.add_up(stack, out, low, high)
    np.testing.assert_array_equal(*sums)
    assert sums[0][low:high].tolist() == stack[:, low:high].sum(axis=0).tolist()


@few_cases
@given(rng=generators, n=row_counts, n_labels=st.integers(1, 4))
def test_partition_and_sum_nodes(rng: np.random.Generator, n: int, n_labels: int) -> None:
    """Two levels of a tree: the root, then both of its children."""
    codes, grids = rng.integers(0, 4, (2, n, 4), dtype=np.uint8), rng.integers(-(2**50), 2**50, (2, n))
    starts, group = some_starts(rng, n, n_labels), some_groups(rng, n_labels)
    levels = [([0], [1], [2]), ([1, 2], [3, 5], [4, 6])]
    tests = [(rng.integers(0, 8, len(level[0])), rng.random((len(level[0]), 256)) < 0.5) for level in levels]
    seen = []
    for twin in TWINS:
        nodes = NodeArrays(np.full(7, -1), np.zeros((7, n_labels + 1), dtype=np.int64))
        nodes.low[0], nodes.starts[0] = 0, starts
        order, found = np.arange(n, dtype=np.uint32), []
        for level, (columns, on_left) in zip(levels, tests, strict=True):
            rows = np.zeros((len(columns), 2), dtype=np.int64)
            splits = LevelArrays(*map(np.array, level), columns, on_left)
            twin.partition_nodes(codes, order, np.zeros_like(order), nodes, splits, rows)
            found.append(rows.tolist())
        sums = np.full((4, 2 * (max(group) + 1), 8, 256), 7)
        packed = codes.view(np.uint32)[:, :, 0]
        twin.sum_nodes(packed, grids, order, nodes, np.array([1, 4, 5, 6]), group, sums, True)
        seen.append((found, order.tolist(), *(array.tolist() for array in nodes), sums.tolist()))
    assert seen[0] == seen[1]
    rows, sums = seen[0][0], np.array(seen[0][-1])
    assert sum(rows[0][0]) == n
    assert [sum(each) for each in rows[1]] == rows[0][0]
    inside = grids[:, seen[0][1][: rows[0][0][0]]].sum(axis=1)
    np.testing.assert_array_equal(
        sums[0].reshape(2, -1, 8, 256).sum(axis=(1, 3)), np.repeat(inside[:, None], 8, axis=1)
    )


@few_cases
@given(rng=generators, n=row_counts, n_labels=st.integers(2, 4), n_channels=st.integers(1, 2), stump=st.booleans())
def test_advance(rng: np.random.Generator, n: int, n_labels: int, n_channels: int, stump: bool) -> None:
    codes = rng.integers(0, 4, (2, n, 4), dtype=np.uint8)
    starts, group = some_starts(rng, n, n_labels), some_groups(rng, n_labels)
    real = rng.random(n) if rng.random() < 0.5 else np.empty(0)
    times = rng.integers(1, 4, n) if rng.random() < 0.5 else np.empty(0, dtype=np.int64)
    rows = RowArrays(starts, group, real, times, times, 2.0**30)
    kinds = np.array([rng.choice([EXPONENTIAL, PENALISED, SIGMOID, LINE]), rng.choice([SQUARE, SOFTPLUS])][:n_channels])
    numbers = np.array([[0.5, 0.25, 2.0], [0.25, 1.0, 0.0]])[:n_channels]
    table = np.column_stack([kinds, np.zeros(n_channels), numbers])
    formulas = Formulas(table, 0, int(rng.choice([0, 1])))
    state, leaf_of_bin = rng.normal(size=(1 + n_labels, n)), rng.integers(0, 2, 256).astype(np.uint8)
    gains = rng.normal(size=(1 + n_labels, n_labels, 2))[: None if stump else 0]
    middle, seen = int(rng.integers(0, n + 1)), []
    for twin in TWINS:
        mine, grids = state.copy(), np.zeros((n_channels, n), dtype=np.int64)
        totals = np.zeros((n_channels, max(group) + 1), dtype=np.int64)
        sums = np.full((1, max(group) + 1, 8, 256), 7)
        voter = (codes.view(np.uint32)[:, :, 0], rows, codes[1, :, 2], leaf_of_bin, gains)
        arrays = (*voter, formulas, mine, grids, totals, sums)
        wrong = [int(twin.advance(*arrays, low == 0, low, high)) for low, high in ((0, middle), (middle, n))]
        seen.append((wrong, mine.tolist(), grids.tolist(), totals.tolist(), sums.tolist()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("formula", range(6))
@few_cases
@given(rng=generators, n=row_counts)
def test_evaluate(formula: int, rng: np.random.Generator, n: int) -> None:
    s, first = rng.normal(size=n) * rng.choice([1.0, 100.0, 1000.0]), np.exp(rng.uniform(-300, 300, n))
    found = np.full((2, n), 7.0)
    for twin, out in zip(TWINS, found, strict=True):
        twin.evaluate(formula, s, first, 0.5, 0.25, 2.0, out)
    np.testing.assert_array_equal(*found)
    v = np.clip(0.25 - s, -700, 700)
    expected = [
        np.exp(np.clip(0.5 - s, -700, 700)),
        None,
        0.5 * np.minimum(first, 1e150) ** 2,
        np.exp(0.5) / (1 + np.exp(-v)),
        0.5 * np.logaddexp(0, v),
        0.5 + 0.25 * s,
    ][formula]
    usual = np.abs(s) < 600
    if expected is not None:
        np.testing.assert_allclose(found[0][usual], expected[usual], rtol=1e-13)


@few_cases
@given(rng=generators, n=row_counts)
def test_sum_signs(rng: np.random.Generator, n: int) -> None:
    grid, award = rng.integers(0, 2**40, n), rng.choice([-1.0, -0.5, 0.0, 1.0], n)
    sums = [tuple(map(int, twin.sum_signs(grid, award))) for twin in TWINS]
    assert sums[0] == sums[1]


# ---------------------------------------------------------------- small nodes and leaves


def some_nodes(rng: np.random.Generator, criterion: int, min_leaf: int) -> tuple[Any, ...]:
    """Arguments of grow_subtrees: nodes of few rows, with ties, missing values, categories and rows without weight."""
    n, n_columns, squares = int(rng.integers(1, 90)), int(rng.integers(1, 7)), criterion == 4
    n_labels, n_nodes = 2 if squares else int(rng.integers(2, rng.choice([6, 30]))), int(rng.integers(1, 4))
    n_bins = rng.integers(0, rng.choice([12, 256]), n_columns)
    codes = np.full((n, 4 * -(-n_columns // 4)), 255, dtype=np.uint8)
    has_missing = rng.random(n_columns) < 0.5
    for j in range(n_columns):
        given = rng.integers(0, max(n_bins[j], 1), n)
        missing = (rng.random(n) < 0.2) if n_bins[j] else np.ones(n, dtype=bool)
        codes[:, j] = np.where(missing & (has_missing[j] or n_bins[j] == 0), 255, given)
    seen = np.zeros((n_columns, 256), dtype=np.int64)
    for j in range(n_columns):
        np.add.at(seen[j], codes[:, j], 1)
    weight = rng.choice(np.array([0, 1, 1, 2, 4, 8]), n)
    share = rng.integers(0, 4, n) / 4
    place = np.sort(rng.integers(0, n_nodes, n)).astype(np.int32)
    label = rng.integers(0, n_labels, n).astype(np.int32)
    second = (weight * 4 * share).astype(np.int64)
    rows = NodeRows(place, codes.view(np.uint32), label, weight, second, share, rng.integers(1, 3, n))
    totals = np.zeros((n_nodes, n_labels), dtype=np.int64)
    if squares:
        np.add.at(totals, (place, 0), weight)
        np.add.at(totals, (place, 1), second)
    else:
        np.add.at(totals, (place, label), weight)
    reach, targets, _, payoff = some_earning(rng, n_labels)
    away = targets - targets[n_labels // 2]
    kind = int(rng.integers(0, 3))
    earning = TargetRule(kind, reach, targets, away, 0.25, payoff, bool(rng.random() < 0.5)) if criterion > 2 else None
    layout = ColumnLayout(n_bins, has_missing, rng.random(n_columns) < 0.7, np.arange(n_columns), seen)
    rule = SplitRule(criterion, n_labels, min_leaf, int(rng.choice([2, 5])), int(rng.integers(0, n_columns)))
    ends = np.searchsorted(place, np.arange(n_nodes + 1)).astype(np.int64)
    nodes = (rng.integers(1, 6, n_nodes), rng.random(n_nodes) < 0.3, rng.integers(0, 2**63, n_nodes).astype(np.uint64))
    return rows, layout, rule, earning, ends, totals, *nodes


@few_cases
@given(key=st.integers(0, 2**64 - 1), number=st.integers(0, 2**64 - 1), n_columns=st.integers(1, 30))
def test_drawn_columns(key: int, number: int, n_columns: int) -> None:
    for n_drawn in range(1, n_columns + 1):
        drawn = [np.zeros(n_drawn, dtype=np.int64) for _ in TWINS]
        for twin, columns in zip(TWINS, drawn, strict=True):
            twin.draw_columns(np.uint64(key), n_columns, columns)
        np.testing.assert_array_equal(*drawn)
        assert np.all(np.diff(drawn[0]) > 0)
        assert 0 <= drawn[0][0] <= drawn[0][-1] < n_columns
    ours, expected = (twin.fold_key(np.uint64(key), np.uint64(number)) for twin in TWINS)
    assert ours == expected


def test_all_sets_of_columns_are_equally_likely() -> None:
    """Ten pairs of five columns, for keys of one path: each comes up in a tenth of the cases."""
    twin, drawn, key = TWINS[0], np.zeros(2, dtype=np.int64), np.uint64(7)
    times = np.zeros((5, 5))
    for _ in range(10_000):
        key = np.uint64(twin.fold_key(key, np.uint64(1)))
        twin.draw_columns(key, 5, drawn)
        times[tuple(drawn)] += 1
    found = times[np.triu_indices(5, 1)]
    assert ((found - 1000) ** 2 / 1000).sum() < 27.9  # the 99.9% quantile of chi-squared with 9 degrees of freedom


@pytest.mark.parametrize("criterion", range(5))
@settings(derandomize=True, max_examples=60, deadline=None)
@given(rng=generators, min_leaf=st.sampled_from([1, 1, 2, 5]))
def test_grow_subtrees(criterion: int, rng: np.random.Generator, min_leaf: int) -> None:
    """From the rows, in compact histograms, the same trees as from full ones, to the bit.

    The twin searches full histograms with the compiled kernels, since plain NumPy rounds scores in another way.
    """
    twins = import_module("electorate.kernels.reference.subtrees")
    rows, layout, rule, earning, ends, *nodes = some_nodes(rng, criterion, min_leaf)
    orders = [np.arange(len(rows.weight), dtype=np.uint32) for _ in TWINS]
    seen = []
    with patch.multiple(twins, search=fast, target_search=fast):
        for twin, order in zip(TWINS, orders, strict=True):
            seen.append(twin.grow_subtrees(rows, layout, rule, earning, order, ends, *nodes))
    for ours, expected in zip(*seen, strict=True):
        np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(*orders)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(rng=generators, n=st.integers(1, 700), heavy=st.booleans())
def test_the_best_split_of_two_labels_by_rows(rng: np.random.Generator, n: int, heavy: bool) -> None:
    """Blocks of bins that are not read never have the best cut: the split is that of the full histogram."""
    n_columns = int(rng.integers(1, 7))
    n_bins, has_missing = rng.integers(0, 256, n_columns), rng.random(n_columns) < 0.5
    label, ordered = rng.integers(0, 2, n), np.ones(n_columns, dtype=np.bool_)
    codes = np.full((n, 8), 255, dtype=np.uint8)
    for j in np.flatnonzero(n_bins):
        codes[:, j] = (rng.random(n) ** (1 + label * rng.random())) * n_bins[j]
        codes[(rng.random(n) < 0.1) & has_missing[j], j] = 255
    weight = rng.integers(0, 2**50 if heavy else 3, n)
    sums = np.zeros((2, n_columns, 256), dtype=np.int64)
    np.add.at(sums, (label[:, None], np.arange(n_columns), codes[:, :n_columns]), weight[:, None])
    totals, seen = sums.sum(axis=2).max(axis=1), np.ones((n_columns, 256), dtype=np.int64)
    layout = ColumnLayout(n_bins, has_missing, ordered, np.arange(n_columns), seen)
    empty = np.zeros(0, dtype=np.int64)
    place = np.zeros(0, dtype=np.int32)
    rows = NodeRows(place, codes.view(np.uint32), label.astype(np.int32), weight, empty, np.zeros(0), empty)
    order, found = np.arange(n, dtype=np.uint32), np.full(3, -7)
    nodes = (np.array([0, n]), totals[None], np.array([1]), np.array([True]), np.zeros(1, dtype=np.uint64))
    splits, on_left, _, _ = fast.grow_subtrees(rows, layout, SplitRule(1, 2, 1, 2, 0), None, order, *nodes)
    most = fast.purity(1, 0 * totals, totals) * (1 + 1e-12)
    score = fast.purest_threshold(sums, totals, n_bins, has_missing, ordered, NO_ROWS, 1, 1, found)
    assert splits.tolist() == ([[0, *found[:2]]] if score > most else [])
    if score > most and has_missing[found[0]]:
        assert on_left[0, 255] == found[2]


@few_cases
@given(rng=generators, n=st.integers(1, 60), per_group=st.sampled_from([1, 4]))
def test_leaves(rng: np.random.Generator, n: int, per_group: int) -> None:
    codes = rng.integers(0, 8, (3, n, per_group)).astype(np.uint8)
    children = np.array([[1, 2], [~0, ~1], [~2, 3], [~3, ~4]])
    tree = (rng.integers(0, 3 * per_group, 4), rng.random((4, 8)) < 0.5, children)
    order, middle = rng.permutation(n).astype(np.uint32), int(rng.integers(0, n + 1))
    nodes = NodeArrays(np.array([0, 0, middle]), np.array([[0, n], [0, middle], [0, n - middle]]))
    known = (nodes, np.array([1, 2]), np.array([0, int(rng.choice([2, ~1]))]))
    starts, gains = some_starts(rng, n, 3), rng.normal(size=(2, 3, 5))
    seen = []
    for twin in TWINS:
        leaf, state = np.full(n, -1, dtype=np.int32), np.zeros((2, n))
        twin.find_leaves(codes, order, *known, *tree, leaf)
        twin.add_leaf_gains(leaf, gains, starts, state)
        at_once = np.zeros((2, n))
        twin.add_tree(codes, order, *known, *tree, np.empty_like(leaf), gains, starts, at_once)
        np.testing.assert_array_equal(at_once, state)
        seen.append((leaf, state))
    for ours, expected in zip(*seen, strict=True):
        np.testing.assert_array_equal(ours, expected)


@few_cases
@given(rng=generators, n=st.integers(1, 60), n_labels=st.integers(1, 4))
def test_collect_rows(rng: np.random.Generator, n: int, n_labels: int) -> None:
    packed, grid = rng.integers(0, 2**32, (3, n), dtype=np.uint32), rng.integers(0, 2**40, n)
    order, group, middle = rng.permutation(n).astype(np.uint32), some_groups(rng, n_labels), int(rng.integers(0, n + 1))
    starts = np.stack([some_starts(rng, size, n_labels) for size in (n, middle, n - middle)])
    nodes, numbers = NodeArrays(np.array([0, 0, middle]), starts), np.array([2, 1])
    seen = []
    for twin in TWINS:
        place, label = np.empty((2, n), dtype=np.int32)
        rows, codes, weight = np.empty(n, dtype=np.uint32), np.empty((n, 3), dtype=np.uint32), np.empty_like(grid)
        twin.collect_rows(packed, grid, order, nodes, numbers, group, rows, place, codes, label, weight)
        seen.append((rows, place, codes, label, weight))
    for ours, expected in zip(*seen, strict=True):
        np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(seen[0][0], np.concatenate([order[middle:], order[:middle]]))


@few_cases
@given(rng=generators, n=row_counts, eps=st.sampled_from([0.1, 1.0]))
def test_values_of_leaves(rng: np.random.Generator, n: int, eps: float) -> None:
    ends, weights = some_starts(rng, n, 4), rng.choice(np.array([0, 1, 2, 9]), n)
    leaves = [np.sort(3 * rng.normal(size=high - low)) for low, high in pairwise(ends)]
    targets = np.concatenate(leaves)
    seen = []
    for twin in TWINS:
        windows, medians = np.zeros((4, 2)), np.zeros(4)
        twin.best_windows(targets, weights, ends, eps, windows)
        twin.leaf_medians(targets, weights, ends, medians)
        seen.append((windows, medians))
    for ours, expected in zip(*seen, strict=True):
        np.testing.assert_array_equal(ours, expected)


# ---------------------------------------------------------------- targets by nodes and leaves


def some_target_weights(rng: np.random.Generator, n: int) -> TargetWeights:
    """With and without confidences, real weights and repetitions; targets beyond both ends."""
    kappa, real = (rng.random(n) if rng.random() < 0.5 else np.empty(0) for _ in range(2))
    times = rng.integers(1, 9, n) if rng.random() < 0.5 else np.empty(0, dtype=np.int64)
    ends = rng.choice([(-1.0, 1.0), (0.0, 0.0), (-5.0, 4.0)])
    return TargetWeights(rng.normal(size=n), 2 * rng.normal(size=n), kappa, real, times, -0.5, *ends, 2.0**40)


@few_cases
@given(rng=generators, n=st.sampled_from([0, 1, 50, 5000]))
def test_weigh_targets(rng: np.random.Generator, n: int) -> None:
    of, rows = some_target_weights(rng, n), rng.permutation(n)[: n // 2 + 1].astype(np.uint32)
    found = np.full((2, len(rows)), 7)
    for twin, out in zip(TWINS, found, strict=True):
        twin.weigh_targets(of, rows, out)
    np.testing.assert_array_equal(*found)
    assert np.all(found >= 0)


@pytest.mark.parametrize("code", [np.uint8, np.uint16])
@few_cases
@given(rng=generators, n=st.sampled_from([0, 1, 60, 5000]), clear=st.booleans())
def test_sum_targets(code: type, rng: np.random.Generator, n: int, clear: bool) -> None:
    codes = rng.integers(0, 20, (2, n, 4 if code is np.uint8 else 1)).astype(code)
    packed = (codes.view(np.uint32) if code is np.uint8 else codes)[:, :, 0]
    order, cut = rng.permutation(n).astype(np.uint32), int(rng.integers(0, n + 1))
    nodes = NodeArrays(np.array([0, 0, cut]), np.array([[0, n], [0, cut], [0, n - cut]]))
    of, grid = some_target_weights(rng, n), rng.integers(0, 2**40, n)
    sums = np.full((2, 2, 2, 2 * codes.shape[2], 256), 7)
    for twin, found in zip(TWINS, sums, strict=True):
        twin.sum_targets(packed, grid, of, order, nodes, np.array([0, 2]), found, clear)
    np.testing.assert_array_equal(*sums)
    assert sums[0, 0, 0, 0].sum() == grid.sum() + (0 if clear else 7 * 256)


def some_leaves(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaves, ascending targets with ties, and weights, of rows in three leaves."""
    targets = np.sort(rng.choice(rng.normal(size=max(1, n // 2)), n))
    return rng.integers(0, 3, n).astype(np.int32), targets, rng.integers(0, 2**40, n)


@few_cases
@given(rng=generators, n=row_counts)
def test_mass_up_to(rng: np.random.Generator, n: int) -> None:
    rows = some_leaves(rng, n)
    points = [np.sort(rng.choice(np.append(rows[1], [-9.0, 0.1, 9.0]), size)) for size in (0, 5, 9)]
    ends, seen = np.array([0, 0, 5, 14]), []
    for twin in TWINS:
        mass, following = np.full((2, 14), -1), np.full(14, np.nan)
        twin.mass_up_to(*rows, np.concatenate(points), ends, mass, following)
        seen.append((mass.tolist(), following.tolist()))
    assert seen[0] == seen[1]


@few_cases
@given(rng=generators, n=row_counts)
def test_targets_between(rng: np.random.Generator, n: int) -> None:
    rows = some_leaves(rng, n)
    cuts = np.sort(np.append(rows[1][::3], [-1.0, -0.5, 0.5, 1.0]))
    ranges = [cuts[: len(cuts) // 2 * 2].reshape(-1, 2), np.empty((0, 2)), np.array([[-0.3, 0.2]])]
    ends = np.cumsum([0, *map(len, ranges)])
    for room in (0, 3, n):
        seen = []
        for twin in TWINS:
            leaf, targets, mass = np.full(room, -1), np.full(room, np.nan), np.full(room, -1)
            count = twin.targets_between(*rows, np.concatenate(ranges), ends, leaf, targets, mass)
            used = min(room, count)
            seen.append((int(count), leaf[:used].tolist(), targets[:used].tolist(), mass[:used].tolist()))
        assert seen[0] == seen[1]


@few_cases
@given(rng=generators, n=row_counts)
def test_targets_by_leaf(rng: np.random.Generator, n: int) -> None:
    leaf, targets, weights = some_leaves(rng, n)
    seen = []
    for twin in TWINS:
        found = np.full(3, -1), np.full(n, np.nan), np.full(n, -1)
        twin.targets_by_leaf(leaf, targets, weights, *found)
        seen.append([each.tolist() for each in found])
    assert seen[0] == seen[1]
    assert seen[0][0] == np.bincount(leaf, minlength=3).tolist()


@few_cases
@given(rng=generators, n=row_counts)
def test_weigh_near(rng: np.random.Generator, n: int) -> None:
    rows, found = some_leaves(rng, n), np.full((2, 3, 2), 7)
    for twin, out in zip(TWINS, found, strict=True):
        twin.weigh_near(*rows, np.array([-1.0, 0.0, 1.0]), 0.5, out)
    np.testing.assert_array_equal(*found)
    assert found[0, :, 1].sum() == rows[2].sum() + 21
