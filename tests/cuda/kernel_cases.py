"""Random arguments for the kernels, to compare those of a GPU with their twins."""

from typing import Any

import numpy as np

from electorate.cuda.device import Device, hash_there
from electorate.cuda.layouts import Codes, ColumnTables, MedianRule, Tree, ValueTrees
from electorate.engines.device_histograms import HistogramPool, SlotHistogram
from electorate.engines.device_rows import DeviceRows, no_codes, pack_codes
from electorate.kernels.layouts import Formulas, RowArrays

STARTS = np.array([0, 2000, 2000, 5003])
GROUP = np.array([0, 1, 1])


def some_codes(device: Device, rng: np.random.Generator, n_columns: int, wide: bool = False) -> Codes:
    n = int(STARTS[-1])
    if wide:
        return pack_codes(device, rng.integers(0, 700, (n_columns, n, 1)).astype(np.uint16), 700)
    return pack_codes(device, rng.integers(0, 256, (-(-n_columns // 4), n, 4)).astype(np.uint8), 256)


def some_tree(device: Device, rng: np.random.Generator, codes: Codes) -> Tree:
    """Three splits, four leaves."""
    column = rng.integers(0, codes.n_columns, 3).astype(np.int32)
    on_left = rng.random((3, codes.width)) < 0.5
    children = np.array([[1, 2], [~0, ~1], [~2, ~3]], dtype=np.int32)
    return Tree(*device.upload(column, on_left, children), 0)


def numbers(device: Device, rng: np.random.Generator) -> Any:
    return device.xp.asarray(rng.integers(-(2**45), 2**45, int(STARTS[-1])))


def advanced(device: Device, rng: np.random.Generator, kinds: list[int], weighted: bool) -> list[Any]:
    """State, grids and sums after a round with these formulas."""
    xp, n, codes = device.xp, int(STARTS[-1]), some_codes(device, rng, 9)
    nothing = xp.empty(0), xp.empty(0, dtype=np.int64)
    times = xp.asarray(rng.integers(1, 5, n)) if weighted else nothing[1]
    real = xp.asarray(rng.random(n)) if weighted else nothing[0]
    rows = RowArrays(*device.upload(STARTS, GROUP), real, times, times, 2.0**10)
    table = np.array([[kind, 0, 0.3, 0.7, 1.1] for kind in kinds]).reshape(-1, 5)
    gains, state = rng.normal(size=(3, 3, 4)), rng.normal(size=(3, n)) * 1.5
    state[:, :2] = [760.0, 0.0]
    state_there, grids = xp.asarray(state), xp.zeros((len(kinds), n), dtype=np.int64)
    found = xp.zeros(1 + 2 * len(kinds), dtype=np.int64)
    tree, formulas = some_tree(device, rng, codes), Formulas(*device.upload(table), 0, 1 if weighted else 0)
    device.kernels.advance(codes, rows, tree, *device.upload(gains), formulas, state_there, grids, found)
    return [np.array(device.download(each)) for each in (state_there, grids, found)]


def summed(device: Device, rng: np.random.Generator, n_columns: int, wide: bool) -> list[Any]:
    """Histograms of all rows, and of the sides of a split."""
    codes = some_codes(device, rng, n_columns, wide)
    rows, grid = DeviceRows(device, codes, STARTS), numbers(device, rng)
    on_left = rng.random((1, codes.width)) < 0.3
    ((left, right),), _ = rows.part([rows.root], np.array([n_columns - 1]), on_left)
    sums = device.xp.zeros((6, codes.n_columns, codes.width), dtype=np.int64)
    tasks = rows.tasks([rows.root, left, right], GROUP, 2)
    rows.add_sums(*device.upload(tasks), grid, sums)
    return [np.array(device.download(sums)), left.size, right.low]


def parted(device: Device, rng: np.random.Generator) -> list[Any]:
    """The rows of the grandchildren of the root, each in order: blocks of a GPU write them in any order."""
    codes = some_codes(device, rng, 60)
    rows = DeviceRows(device, codes, STARTS)
    nodes = [rows.root]
    for _ in range(3):
        column, on_left = rng.integers(0, 60, len(nodes)), rng.random((len(nodes), 256)) < 0.4
        nodes = [side for sides in rows.part(nodes, column, on_left)[0] for side in sides]
    found: list[Any] = []
    for node in nodes:
        each = np.array(device.download(rows.rows_of([node])))
        found += [np.sort(part) for part in np.split(each, np.cumsum(node.size)[:-1])]
    return [*found, rows.codes_of(rows.rows_of(nodes[:1])).sum(axis=0)]


def leaves(device: Device, rng: np.random.Generator) -> list[Any]:
    codes = some_codes(device, rng, 70)
    return [np.array(device.download(DeviceRows(device, codes, STARTS).find_leaves(some_tree(device, rng, codes))))]


def encoded(device: Device, rng: np.random.Generator, dtype: Any, order: str) -> list[Any]:
    """The codes of numbers, edges among them."""
    block = np.asarray(rng.normal(size=(3000, 55)), dtype=dtype, order=order)
    block[rng.random(block.shape) < 0.1] = np.nan
    edges = np.full((55, 256), np.inf)
    depths = rng.integers(0, 9, 55).astype(np.int32)
    for row, depth, column in zip(edges, depths.tolist(), block.T, strict=True):
        if depth:
            row[: (1 << depth) - 1] = np.sort(column[~np.isnan(column)][: (1 << depth) - 1])
    dest = np.full(3000, -1)
    dest[rng.permutation(3000)[:2500]] = np.arange(2500)
    codes = no_codes(device, 55, 2500, 256)
    there = device.upload(edges, depths, dest)
    device.kernels.encode(device.xp.asarray(block), there[0], there[1], 255, there[2], codes)
    return [np.array(device.download(codes.data))]


def hashed(device: Device, rng: np.random.Generator, dtype: Any) -> list[Any]:
    block = rng.normal(size=(900, 7)).astype(dtype)
    block[rng.random(block.shape) < 0.1], block[0, 0] = np.nan, -0.0
    return [hash_there(block, 12345678901234567890, device)]


def searched(device: Device, rng: np.random.Generator, criterion: int, n_labels: int) -> list[Any]:
    """The best thresholds of two histograms, with empty bins and missing values, and a difference of two."""
    pool = HistogramPool(device, (n_labels, 12, 256))
    pool.take(3)
    sums = rng.integers(0, 2**40, (3, n_labels, 12, 256)) * (rng.random((3, 1, 12, 256)) < 0.4)
    n_bins = np.array([255, 1, 0, 3, 255, 100, 254, 30, 255, 2])
    has_missing = rng.random(10) < 0.5
    for column, size in enumerate(n_bins.tolist()):
        sums[:, :, column, size : 255 if has_missing[column] else 256] = 0
    sums[0, :, 4] = sums[0, :, 8]
    pool.cells[:3] = device.xp.asarray(sums)
    pool.take(1)
    device.kernels.subtract(pool.cells, *device.upload(np.array([[0, 1, 3]])))
    layout = (n_bins, has_missing, np.arange(10) != 6)
    best = pool.search([0, 2], criterion, layout)
    return [best.scores, best.column, best.cut, best.missing_left, best.left, SlotHistogram(pool, 3).here()]


def numbers_of_rows(device: Device, rng: np.random.Generator, dtype: Any) -> Any:
    """[row, column]: codes of categories in the first column, missing values in all."""
    block = rng.normal(size=(1500, 6)).round(1).astype(dtype)
    block[:, 0] = rng.integers(0, 255, 1500)
    block[rng.random(block.shape) < 0.1] = np.nan
    return device.xp.asarray(np.asfortranarray(block) if dtype is np.float64 else block)


def voted_by_tables(device: Device, rng: np.random.Generator, dtype: Any, n_outputs: int) -> list[Any]:
    """Votes by columns 1, 3 and 5; the second has no edges."""
    block, sizes = numbers_of_rows(device, rng, dtype), [17, 0, 300]
    first = np.cumsum([0, *(size + 2 for size in sizes)]).astype(np.int32)
    edges = np.concatenate([np.unique(rng.normal(size=size)) for size in sizes])
    sums = rng.integers(-(2**60), 2**60, (n_outputs, int(first[-1])))
    tables = ColumnTables(*device.upload(np.array([1, 3, 5], dtype=np.int32), first, edges, sums, sums[:, 0].copy()))
    votes = device.xp.empty((n_outputs, len(block)), dtype=np.int64)
    device.kernels.vote_tables(block, tables, votes)
    return [np.array(device.download(votes))]


def some_trees(device: Device, rng: np.random.Generator) -> ValueTrees:
    """A leaf, then trees of three splits: by category, by threshold, by threshold."""
    n_trees = 9
    roots = np.array([0, *range(1, 7 * n_trees, 7)], dtype=np.int32)
    splits = np.tile([0, 1, 4], (n_trees, 1)) % 7
    column, members = np.full(1 + 7 * n_trees, -1, dtype=np.int32), np.full(1 + 7 * n_trees, -1, dtype=np.int32)
    kids = np.zeros((len(column), 2), dtype=np.int32)
    for t, root in enumerate(roots[1:].tolist()):
        for split, below in zip((splits[t] + root).tolist(), [(1, 4), (2, 3), (5, 6)], strict=True):
            column[split], kids[split] = rng.integers(1, 6), [root + child for child in below]
        column[root], members[root] = 0, t
    sets = rng.random((n_trees, 256)) < 0.5
    arrays = column, rng.normal(size=len(column)).round(1), members, rng.random(len(column)) < 0.5, kids, sets
    return ValueTrees(*device.upload(roots, *arrays))


def voted_by_trees(device: Device, rng: np.random.Generator, dtype: Any, n_outputs: int) -> list[Any]:
    block, trees = numbers_of_rows(device, rng, dtype), some_trees(device, rng)
    (units,) = device.upload(rng.integers(-(2**50), 2**50, (len(trees.column), n_outputs)))
    votes = device.xp.empty((n_outputs, len(block)), dtype=np.int64)
    device.kernels.vote_trees(block, trees, units, votes)
    return [np.array(device.download(votes))]


def medians(device: Device, rng: np.random.Generator, lower: bool, decides: bool) -> list[Any]:
    """Places of medians; many weights are equal, some are 0."""
    block, trees = numbers_of_rows(device, rng, np.float32), some_trees(device, rng)
    place, weight = rng.integers(0, 20, len(trees.column)).astype(np.int32), rng.integers(0, 3, len(trees.column))
    nodes = device.xp.empty((len(trees.roots), len(block)), dtype=np.int32)
    places = device.xp.empty(len(block), dtype=np.int32)
    device.kernels.find_nodes(block, trees, nodes)
    device.kernels.choose_places(nodes, MedianRule(*device.upload(place, weight), 20, lower, decides), places)
    return [np.array(device.download(places))]


def selected(device: Device, rng: np.random.Generator, dtype: Any, weighted: bool) -> list[Any]:
    """The values of two columns, sorted by value and weight: blocks of a GPU write them in any order."""
    block = numbers_of_rows(device, rng, dtype)
    weights = rng.integers(0, 4, len(block)) if weighted else np.empty(0, dtype=np.int64)
    columns, there = device.upload(np.array([4, 0], dtype=np.int32), weights)
    xp, room = device.xp, 2000
    values, totals, found = xp.zeros((2, room)), xp.zeros((2, room), dtype=np.int64), xp.zeros(5, dtype=np.uint32)
    device.kernels.select(block, columns, there, 2**63, values, totals, found)
    chosen, weight = np.array(device.download(values)), np.array(device.download(totals))
    order = np.lexsort([weight, chosen], axis=1)
    return [*(np.take_along_axis(each, order, axis=1) for each in (chosen, weight)), np.array(device.download(found))]


CASES: dict[str, Any] = {
    "advance by exponentials": lambda device, rng: advanced(device, rng, [0, 2], False),
    "advance by logistic loss": lambda device, rng: advanced(device, rng, [3, 4], False),
    "advance with weights": lambda device, rng: advanced(device, rng, [1, 5], True),
    "advance without channels": lambda device, rng: advanced(device, rng, [], False),
    "sum_rows": lambda device, rng: summed(device, rng, 20, False),
    "sum_rows of several panels": lambda device, rng: summed(device, rng, 131, False),
    "sum_rows of wide codes": lambda device, rng: summed(device, rng, 5, True),
    "partition": parted,
    "hash_rows of float32": lambda device, rng: hashed(device, rng, np.float32),
    "hash_rows of float64": lambda device, rng: hashed(device, rng, np.float64),
    "search by the edge": lambda device, rng: searched(device, rng, 0, 2),
    "search by Gini": lambda device, rng: searched(device, rng, 1, 2),
    "search by Matsushita": lambda device, rng: searched(device, rng, 2, 2),
    "search by the edge, 3 labels": lambda device, rng: searched(device, rng, 0, 3),
    "search by Gini, 8 labels": lambda device, rng: searched(device, rng, 1, 8),
    "search by Matsushita, 3 labels": lambda device, rng: searched(device, rng, 2, 3),
    "find_leaves": leaves,
    "encode float32": lambda device, rng: encoded(device, rng, np.float32, "C"),
    "encode float64 by column": lambda device, rng: encoded(device, rng, np.float64, "F"),
    "vote_tables of float32": lambda device, rng: voted_by_tables(device, rng, np.float32, 1),
    "vote_tables of float64 by column": lambda device, rng: voted_by_tables(device, rng, np.float64, 4),
    "vote_trees of float32": lambda device, rng: voted_by_trees(device, rng, np.float32, 1),
    "vote_trees of float64 by column": lambda device, rng: voted_by_trees(device, rng, np.float64, 3),
    "choose_places": lambda device, rng: medians(device, rng, False, False),
    "choose_places of lower medians": lambda device, rng: medians(device, rng, True, False),
    "choose_places with a last voter": lambda device, rng: medians(device, rng, False, True),
    "select of float32": lambda device, rng: selected(device, rng, np.float32, False),
    "select of float64 with weights": lambda device, rng: selected(device, rng, np.float64, True),
}
