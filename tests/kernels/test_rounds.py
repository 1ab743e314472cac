"""Rounds over all shards at once against their twins."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate import kernels
from electorate.engines.team import NO_STUMP, NO_TREE, best_tiles
from electorate.exact import log, on_grid
from electorate.kernels.formulas import EXPONENTIAL
from electorate.kernels.layouts import (
    AddedStump,
    AddedTree,
    ColumnLayout,
    Formulas,
    LevelArrays,
    NodeArrays,
    RowArrays,
    ShardArrays,
    Tiles,
)

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
WIDTH, N_LABELS, N_NODES = 256, 3, 16
FILE_OF = {"advance_all": "rounds", "split_all": "rounds", "search_nodes": "node_search"}
reference = {name: getattr(import_module(f"electorate.kernels.reference.{FILE_OF[name]}"), name) for name in FILE_OF}
TWINS = [SimpleNamespace(**{name: getattr(kernels, name) for name in FILE_OF}), SimpleNamespace(**reference)]


def some_shard(rng: np.random.Generator, n_words: int) -> ShardArrays:
    n = int(rng.integers(1, 200))
    starts = np.concatenate([[0], np.sort(rng.integers(0, n + 1, N_LABELS - 1)), [n]]).astype(np.int64)
    codes = rng.integers(0, WIDTH, (n_words, n, 4)).astype(np.uint8)
    times = rng.integers(1, 4, n) if rng.random() < 0.5 else np.empty(0, dtype=np.int64)
    rows = RowArrays(starts, np.array([0, 1, 1]), np.empty(0), times, times, 2.0**20)
    low, node_starts = np.full(N_NODES, -1), np.zeros((N_NODES, N_LABELS + 1), dtype=np.int64)
    low[0], node_starts[0] = 0, starts
    order, spare = np.empty((2, n), dtype=np.uint32)
    order[:] = np.arange(n)
    state, grids = rng.normal(size=(2, n)), rng.integers(-9, 9, (2, n))
    packed = codes.view(np.uint32)[:, :, 0]
    return ShardArrays(
        codes, packed, rows, state, grids, order, spare, spare.view(np.int32), NodeArrays(low, node_starts)
    )


def copied(shard: Any) -> Any:
    """The same arrays, and the same views among them, elsewhere."""
    codes, spare = shard.codes.copy(), shard.spare.copy()
    return shard._replace(
        codes=codes,
        packed=codes.view(np.uint32)[:, :, 0],
        state=shard.state.copy(),
        grids=shard.grids.copy(),
        order=shard.order.copy(),
        spare=spare,
        leaf=spare.view(np.int32),
        nodes=NodeArrays(*(array.copy() for array in shard.nodes)),
    )


class Case:
    """Some shards for each twin, the same numbers in both."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.n_words = int(rng.integers(1, 4))
        n_shards = int(rng.integers(1, 5))
        self.tiles = Tiles(int(rng.integers(1, n_shards + 1)), int(rng.integers(1, self.n_words + 1)))
        self.shards = [some_shard(rng, self.n_words) for _ in range(n_shards)]
        self.mine = [[copied(shard) for shard in self.shards] for _ in TWINS]
        self.n_threads = int(rng.integers(1, 4))

    def same_shards(self) -> None:
        for ours, theirs in zip(*self.mine, strict=True):
            for name in ("state", "grids", "order"):
                assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
            assert all(np.array_equal(*pair) for pair in zip(ours.nodes, theirs.nodes, strict=True))

    def stack(self, *shape: int) -> np.ndarray:
        return self.rng.integers(-9, 9, (self.tiles.by_rows, *shape))


@few_cases
@given(rng=generators, n_searched=st.integers(0, 2), added=st.sampled_from(["nothing", "stump", "tree"]))
def test_advance_all(rng: np.random.Generator, n_searched: int, added: str) -> None:
    case = Case(rng)
    stump, tree = NO_STUMP, NO_TREE
    on_left = rng.random((1, WIDTH)) < 0.5
    column, gains = int(rng.integers(4 * case.n_words)), rng.normal(size=(2, N_LABELS, 2))
    if added == "stump":
        stump = AddedStump(column, (~on_left[0]).view(np.uint8), gains)
    elif added == "tree":
        zero = np.zeros(1, dtype=np.int64)
        tree = AddedTree(zero, zero, np.array([column]), on_left, np.array([[-1, -2]]), gains)
    formulas = Formulas(np.array([[EXPONENTIAL, 0, 0.0, 0, 0], [EXPONENTIAL, 1, 0.5, 0, 0]], dtype=np.float64), 0, 0)
    shape = (n_searched, 2, 4 * case.n_words, WIDTH)
    found = []
    for twin, shards in zip(TWINS, case.mine, strict=True):
        totals, wrong = np.zeros((len(case.shards), 2, 2), dtype=np.int64), np.zeros(len(case.shards), dtype=np.int64)
        out, stack = np.full(shape, 7), case.stack(*shape)
        arrays = (stump, tree, formulas, case.tiles, stack, totals, wrong, out)
        twin.advance_all(case.n_threads, shards, *arrays)
        found.append((totals, wrong, out))
    for ours, theirs in zip(*found, strict=True):
        assert np.array_equal(ours, theirs)
    if n_searched:
        totals, _, out = found[0]
        assert np.array_equal(
            out[0].sum(axis=2), np.repeat(totals[:, 0].sum(axis=0)[:, None], 4 * case.n_words, axis=1)
        )
    case.same_shards()


@few_cases
@given(rng=generators)
def test_split_all(rng: np.random.Generator) -> None:
    """Two levels: the root, then both of its children."""
    case = Case(rng)
    shape = (2, 4 * case.n_words, WIDTH)
    whole = np.zeros((1, *shape), dtype=np.int64)
    for shard in case.shards:
        for label, (low, high) in enumerate(zip(shard.rows.starts[:-1], shard.rows.starts[1:], strict=True)):
            for j in range(4 * case.n_words):
                codes = shard.codes[j // 4, low:high, j % 4]
                np.add.at(whole[0, shard.rows.group[label], j], codes, shard.grids[0, low:high])
    nodes = [whole.copy() for _ in TWINS]
    for numbers in ([0], [1, 2]):
        n = len(numbers)
        node = np.array(numbers)
        column, on_left = rng.integers(0, 4 * case.n_words, n), rng.random((n, WIDTH)) < 0.4
        level = LevelArrays(node, 2 * node + 1, 2 * node + 2, column, on_left)
        found = []
        for k, (twin, shards) in enumerate(zip(TWINS, case.mine, strict=True)):
            less, rests = np.empty((n, *shape), dtype=np.int64), np.empty((n, *shape), dtype=np.int64)
            rows, is_less = np.empty((len(case.shards), n, 2), dtype=np.int64), np.empty(n, dtype=np.bool_)
            arrays = (case.stack(n, *shape), list(nodes[k]), list(rests), less, rows, is_less)
            twin.split_all(case.n_threads, shards, numbers == [0], level, case.tiles, *arrays)
            assert np.array_equal(less + rests, nodes[k])
            sides = [pair if left else pair[::-1] for *pair, left in zip(less, rests, is_less.tolist(), strict=True)]
            nodes[k] = np.array([side for pair in sides for side in pair])
            found.append((less, rests, rows, is_less))
        assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))
        case.same_shards()


def sum_weights(shard: Any, floor: float, sums: np.ndarray, totals: np.ndarray, stump: tuple[Any, ...] = ()) -> int:
    """Of exp(floor - margin), after a stump; returns how many rows are wrong."""
    formulas = Formulas(np.array([[EXPONENTIAL, 0, floor, 0, 0]]), 0, 0)
    change = stump or (shard.codes[0, :, 0], np.empty(0, dtype=np.uint8), np.empty((0, 0, 0)))
    totals[:] = 0
    arrays = (formulas, shard.state, shard.grids, totals, sums, True, 0, shard.grids.shape[1])
    return int(kernels.advance(shard.packed, shard.rows, *change, *arrays))


def boost_stumps(
    shard: Any, columns: ColumnLayout, rate: float, floor: float, log_full: float, spare: float, coarse: int,
    reach: float, longest: float, sums: np.ndarray, totals: np.ndarray, *out: np.ndarray,
) -> int:  # fmt: skip
    """The kernel of this name in plain Python, with the kernels of its steps."""
    found, layout = np.zeros(3, dtype=np.int64), (columns.n_bins, columns.has_missing, columns.ordered)
    for t, (on_left, numbers, reals) in enumerate(zip(*out, strict=True)):
        best = kernels.best_threshold(sums[0], totals[0], *layout, np.empty((0, 0), dtype=np.int64), 1, found)
        if totals.min() == 0 or best <= totals.max():
            return t
        column, cut, missing_left = found.tolist()
        sides = numbers[4:].reshape(2, 2)
        side = missing_left if columns.has_missing[column] else -1
        kernels.send_left(sums[0], columns.seen[column], column, cut, side, on_left, sides)
        right, wrong = int(sides.max(axis=1).sum()), int(sides.min(axis=1).sum())
        step = on_grid(rate * log(right / wrong)) if 0 < wrong < right else 0.0
        if step <= 0 or reach + step >= longest:
            return t
        reach += step
        gains = np.where((sides[:, 1] > sides[:, 0]) == np.array([[0], [1]]), step, -step)  # [label, leaf]
        floor = floor + log_full - kernels.log_total(sides, gains, spare)
        stump = (shard.codes[column // 4, :, column % 4], (~on_left).view(np.uint8), gains[None, shard.rows.group])
        missed, before = sum_weights(shard, floor, sums, totals, stump), -1
        while (total := int(totals.sum())) < coarse and not 0 < total <= before:
            finer = floor + log_full - log(total + spare)
            if finer == floor:
                break
            floor, before = finer, total
            missed = sum_weights(shard, floor, sums, totals)
        numbers[:4], reals[:2] = (column, cut, total, missed), (step, floor)
    return len(out[0])


@few_cases
@given(
    rng=generators,
    bits=st.sampled_from([3, 20, 54]),
    coarse=st.sampled_from([0.0, 0.06, 0.9]),
    longest=st.sampled_from([1.0, 2.0**21]),
)
def test_boost_stumps(rng: np.random.Generator, bits: int, coarse: float, longest: float) -> None:
    """Sums of 3 bits, which tie, to more than doubles hold; grids that are summed again; votes that become too long."""
    shard = some_shard(rng, int(rng.integers(1, 3)))
    n, n_columns = shard.codes.shape[1], 4 * len(shard.packed) - int(rng.integers(4))
    n_bins, (has_missing, ordered) = rng.integers(1, 9, n_columns), rng.random((2, n_columns)) < [[0.5], [0.9]]
    for j in range(n_columns):
        codes = rng.integers(0, n_bins[j], n)
        shard.codes[j // 4, :, j % 4] = np.where(has_missing[j] & (codes == 0), WIDTH - 1, codes)
    shard = shard._replace(state=np.zeros((1, n)), rows=shard.rows._replace(scale=2.0**bits))
    count = int(shard.rows.times.sum()) or n
    seen = rng.integers(0, 9, (n_columns, WIDTH))
    columns = ColumnLayout(n_bins, has_missing, ordered, np.empty(0, dtype=np.int64), seen)
    grid = (-0.5, float(np.log((count << bits) / 2)), 0.5 * count, int(coarse * (count << bits)))
    found = []
    for twin in (kernels, SimpleNamespace(boost_stumps=boost_stumps)):
        mine, sums = copied(shard), np.empty((1, 2, 4 * len(shard.packed), WIDTH), dtype=np.int64)
        totals, on_left = np.zeros((1, 2), dtype=np.int64), np.zeros((12, WIDTH), dtype=np.bool_)
        sum_weights(mine, -0.5, sums, totals)
        out = on_left, np.zeros((12, 8), dtype=np.int64), np.zeros((12, 3))
        done = twin.boost_stumps(mine, columns, 0.5, *grid, 0.0, longest, sums, totals, *out)
        results = [array[:done] for array in (*out[:2], out[2][:, :2])]
        found.append([np.array(done), *results, sums, totals, mine.state, mine.grids])
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))


@pytest.mark.parametrize("n_threads", [2, 4])
def test_each_task_runs_once(n_threads: int) -> None:
    """Thousands of short jobs, with more threads than cores: every sum is that of one thread."""
    case = Case(np.random.default_rng(n_threads))
    formulas = Formulas(np.array([[EXPONENTIAL, 0, 0.0, 0, 0]], dtype=np.float64), 0, 0)
    shape = (1, 2, 4 * case.n_words, WIDTH)
    first = None
    for number in range(1500):
        totals, wrong = np.zeros((len(case.shards), 1, 2), dtype=np.int64), np.zeros(len(case.shards), dtype=np.int64)
        out, stack = np.full(shape, 7), case.stack(*shape)
        arrays = (NO_STUMP, NO_TREE, formulas, case.tiles, stack, totals, wrong, out)
        kernels.advance_all(n_threads if number else 1, case.shards, *arrays)
        first = first if first is not None else (totals, wrong, out)
        assert all(np.array_equal(*pair) for pair in zip(first, (totals, wrong, out), strict=True))


@few_cases
@given(rng=generators)
def test_tiles_divide_shards_and_words(rng: np.random.Generator) -> None:
    n_threads, n_shards, n_words, n_rows, cells = (int(rng.integers(1, most)) for most in (65, 65, 20, 10**6, 10**6))
    tiles = best_tiles(n_threads, n_shards, n_words, n_rows, cells, float(rng.integers(2)))
    assert 1 <= tiles.by_rows <= n_shards
    assert 1 <= tiles.by_columns <= n_words


@few_cases
@given(rng=generators, criterion=st.integers(0, 2), n_labels=st.integers(2, 4))
def test_search_nodes(rng: np.random.Generator, criterion: int, n_labels: int) -> None:
    """The same split whatever columns a task searches; small sums, so that many splits tie."""
    n_nodes, n_columns = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    histograms = rng.integers(0, 4, (n_nodes, n_labels, n_columns, WIDTH)) * (rng.random(n_columns) < 0.8)[:, None]
    n_bins = rng.integers(1, 12, n_columns)
    has_missing, ordered = rng.random((2, n_columns)) < 0.7
    bins = np.arange(WIDTH)
    histograms *= (bins < n_bins[:, None]) | ((bins == WIDTH - 1) & has_missing[:, None])
    totals = histograms.sum(axis=3).max(axis=2)
    histograms[:, :, :, 0] += totals[:, :, None] - histograms.sum(axis=3)  # every column has the same rows
    columns = ColumnLayout(n_bins, has_missing, ordered, np.empty(0, dtype=np.int64), histograms[0].sum(axis=0))
    found = []
    for twin, n_parts in ((TWINS[0], int(rng.integers(1, n_columns + 1))), (TWINS[0], 1), (TWINS[1], 1)):
        masks = (np.arange(n_columns) * n_parts // n_columns == np.arange(n_parts)[:, None]) & ordered
        splits, on_left = np.full((n_nodes, 2), 7), np.zeros((n_nodes, WIDTH), dtype=np.bool_)
        sides = np.zeros((n_nodes, 2, n_labels), dtype=np.int64)
        nodes = (list(histograms), totals, columns, masks)
        twin.search_nodes(n_parts, *nodes, criterion, splits, on_left, sides)
        splits[splits[:, 0] < 0] = -1
        found.append((splits, on_left, sides))
    for one in found[1:]:
        assert all(np.array_equal(*pair) for pair in zip(found[0], one, strict=True))
    splits, on_left, sides = found[0]
    for m in np.flatnonzero(splits[:, 0] >= 0):
        assert np.array_equal(histograms[m][:, splits[m, 0], on_left[m]].sum(axis=1), sides[m, 0])
