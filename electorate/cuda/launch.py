"""The CUDA kernels, compiled at run time and launched through CuPy; the signatures are those of `twins.py`."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from electorate.cuda.layouts import PANEL, Codes, ColumnArrays, ColumnTables, MedianRule, Orders, Tree, ValueTrees
from electorate.kernels.layouts import Formulas, RowArrays

FILES = ("codes", "weights", "histograms", "partition", "values", "encode", "search", "votes")
OPTIONS = ("--fmad=false", "--std=c++17")  # every product and every sum is rounded by itself, as on the CPU
CELL_BYTES = 8
CELLS_PER_WORD = 1024
THREADS = 256
BLOCKS_PER_PROCESSOR = 8
NULL = np.intp(0)
KERNELS = (
    "advance",
    "sum_rows",
    "sum_node_rows",
    "sum_wide_rows",
    "partition",
    "find_leaves",
    "encode_float",
    "encode_double",
    "hash_float",
    "hash_double",
    "search",
    "subtract",
    "select_float",
    "select_double",
    "vote_tables_float",
    "vote_tables_double",
    "vote_trees_float",
    "vote_trees_double",
    "find_nodes_float",
    "find_nodes_double",
    "choose_places",
)


def source() -> str:
    """The text of all kernels, as one program, after the arithmetic that they share with those of the CPU."""
    here, header = Path(__file__).parent, "electorate/arithmetic.hpp"
    include = here.parents[1] / "core" / "include" / header  # of a checkout; a wheel has it beside this file
    paths = [include if include.exists() else here / Path(header).name, *(here / f"{name}.cu" for name in FILES)]
    return "\n".join(path.read_text(encoding="utf-8").replace("#pragma once\n", "") for path in paths)


def optional(array: Any) -> Any:
    """An array, or a null pointer for an empty one."""
    return array if array.size else NULL


def codes_arguments(codes: Codes) -> tuple[Any, ...]:
    numbers = np.int64(codes.n_rows), np.int32(codes.n_columns), np.int32(codes.width), np.int32(codes.wide)
    return codes.data, *numbers


def tree_arguments(tree: Tree) -> tuple[Any, ...]:
    return optional(tree.column), optional(tree.on_left), optional(tree.children), np.int32(tree.begin)


def block_arguments(block: Any) -> tuple[Any, ...]:
    """Return the arguments of a kernel for an array [row, column] of any strides."""
    return block, *(np.int64(stride // block.itemsize) for stride in block.strides), np.int64(len(block))


def trees_arguments(trees: ValueTrees) -> tuple[Any, ...]:
    return trees.roots, np.int32(len(trees.roots)), *trees[1:-1], optional(trees.sets)


class Launcher:
    """The kernels as methods; arrays are CuPy's. cupy: the module."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.module = cupy.RawModule(code=source(), options=OPTIONS)

    @cached_property
    def functions(self) -> dict[str, Any]:
        found = {name: self.module.get_function(name) for name in KERNELS}
        for name in ("sum_rows", "sum_node_rows"):
            found[name].max_dynamic_shared_size_bytes = PANEL * CELLS_PER_WORD * CELL_BYTES
        return found

    @cached_property
    def most_blocks(self) -> int:
        """Blocks of THREADS threads that keep the device busy."""
        return BLOCKS_PER_PROCESSOR * int(self.cupy.cuda.Device().attributes["MultiProcessorCount"])

    def blocks(self, n_threads: int) -> tuple[int]:
        return (max(1, min(self.most_blocks, -(-n_threads // THREADS))),)

    def advance(
        self,
        codes: Codes,
        rows: RowArrays,
        tree: Tree,
        gains: Any,
        formulas: Formulas,
        state: Any,
        grids: Any,
        found: Any,
    ) -> None:
        n_channels, n_groups = len(formulas.table), (len(found) - 1) // max(1, len(formulas.table))
        counted = optional(rows.real), optional(rows.times), optional(rows.counts), np.float64(rows.scale)
        labels = rows.starts, rows.group, np.int32(len(rows.group)), np.int32(n_groups)
        added = optional(gains), np.int32(gains.shape[2] if gains.size else 0)
        sizes = np.int32(n_channels), np.int32(formulas.margin_row), np.int32(formulas.votes_row), np.int32(len(state))
        arguments = (*codes_arguments(codes), *labels, *counted, *tree_arguments(tree), *added)
        arguments += (optional(formulas.table), *sizes, state, grids, found)
        self.functions["advance"](self.blocks(codes.n_rows), (THREADS,), arguments)

    def sum_rows(
        self, codes: Codes, orders: Orders, grid: Any, tasks: Any, sums: Any, in_own_order: bool = False
    ) -> None:
        arguments = (*codes_arguments(codes), *map(optional, orders), grid, tasks, sums)
        if codes.wide:
            self.functions["sum_wide_rows"]((len(tasks),), (THREADS,), arguments)
            return
        n_words, name = codes.n_columns // 4, "sum_rows" if in_own_order else "sum_node_rows"
        shared = min(PANEL, n_words) * CELLS_PER_WORD * CELL_BYTES
        self.functions[name]((len(tasks), -(-n_words // PANEL)), (1024,), arguments, shared_mem=shared)

    def partition(
        self,
        codes: Codes,
        orders: Orders,
        blocks: Any,
        segments: Any,
        column: Any,
        on_left: Any,
        cursors: Any,
        n_blocks: int,
    ) -> None:
        parts = blocks, segments, np.int32(len(segments))
        arguments = (*codes_arguments(codes), *orders, *parts, column, on_left, cursors)
        self.functions["partition"]((n_blocks,), (THREADS,), arguments)

    def find_leaves(self, codes: Codes, tree: Tree, leaf: Any) -> None:
        arguments = (*codes_arguments(codes), *tree_arguments(tree), leaf)
        self.functions["find_leaves"]((-(-codes.n_rows // THREADS),), (THREADS,), arguments)

    def search(self, pool: Any, slots: Any, layout: ColumnArrays, criterion: int, found: Any) -> None:
        _, n_labels, n_columns, _ = pool.shape
        n_searched = len(layout.n_bins)
        columns = layout.n_bins, layout.has_missing, layout.ordered, np.int32(n_searched), np.int32(criterion)
        arguments = (pool, slots, np.int32(n_columns), np.int32(n_labels), *columns, found)
        self.functions["search"]((n_searched, len(slots)), (THREADS,), arguments)

    def subtract(self, pool: Any, pairs: Any) -> None:
        cells = pool[0].size
        self.functions["subtract"]((-(-cells // (4 * THREADS)), len(pairs)), (THREADS,), (pool, pairs, np.int64(cells)))

    def of_type(self, name: str, block: Any) -> Any:
        """The kernel for float32 or for float64."""
        return self.functions[f"{name}_{'float' if block.dtype == np.float32 else 'double'}"]

    def hash_rows(self, block: Any, hashes: Any) -> None:
        arguments = (*block_arguments(block), np.int32(block.shape[1]), hashes)
        self.of_type("hash", block)(self.blocks(len(block)), (THREADS,), arguments)

    def select(self, block: Any, columns: Any, weights: Any, limit: int, values: Any, totals: Any, found: Any) -> None:
        arguments = (*block_arguments(block), columns, np.int32(len(columns)), optional(weights), np.uint64(limit))
        arguments += (np.uint32(values.shape[1]), values, totals, found)
        self.of_type("select", block)(self.blocks(len(block) * len(columns)), (THREADS,), arguments)

    def encode(self, block: Any, edges: Any, depths: Any, missing: int, dest: Any, codes: Codes) -> None:
        cut = edges, np.int32(edges.shape[1]), depths, np.int32(missing)
        out = dest, codes.data, np.int64(codes.n_rows), np.int32(codes.n_columns)
        arguments = (*block_arguments(block), np.int32(block.shape[1]), *cut, *out)
        self.of_type("encode", block)(self.blocks(len(block) * (codes.n_columns // 4)), (THREADS,), arguments)

    def vote_tables(self, block: Any, tables: ColumnTables, votes: Any) -> None:
        columns = tables.columns, np.int32(len(tables.columns)), tables.first, tables.edges
        sums = tables.tables, np.int32(tables.tables.shape[1]), tables.constant, np.int32(len(votes)), votes
        arguments = (*block_arguments(block), *columns, *sums)
        self.of_type("vote_tables", block)(self.blocks(len(block)), (THREADS,), arguments)

    def vote_trees(self, block: Any, trees: ValueTrees, units: Any, votes: Any) -> None:
        arguments = (*block_arguments(block), *trees_arguments(trees), units, np.int32(len(votes)), votes)
        self.of_type("vote_trees", block)(self.blocks(len(block)), (THREADS,), arguments)

    def find_nodes(self, block: Any, trees: ValueTrees, nodes: Any) -> None:
        arguments = (*block_arguments(block), *trees_arguments(trees), nodes)
        self.of_type("find_nodes", block)(self.blocks(len(block)), (THREADS,), arguments)

    def choose_places(self, nodes: Any, median: MedianRule, places: Any) -> None:
        sizes = np.int64(len(places)), np.int32(len(nodes))
        how = np.int32(median.n_places), np.int32(median.lower), np.int32(median.decides)
        arguments = (nodes, *sizes, median.place, median.weight, *how, places)
        self.functions["choose_places"](self.blocks(len(places)), (THREADS,), arguments)
