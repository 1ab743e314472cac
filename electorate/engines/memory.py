"""The engine of this process: shards in memory, one task per shard and exchange on our own threads."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Floors
from electorate.data.bins import Bins
from electorate.engines.shard import Examples, as_sums, build_shard, count_searched, formulas_of
from electorate.engines.team import Team, search_nodes
from electorate.engines.verbs import Engine, Histogram, LocalShards, Sides
from electorate.kernels.layouts import ColumnLayout
from electorate.messages import ROOT, Change, NodeSplits, Split, SplitArrays, Sums
from electorate.threads import ThreadPool

FEW_NODES = 4  # whose splits are searched one by one where there is one thread: a call for all has a cost of its own


class Threads(LocalShards, Engine):
    def __init__(self, examples: Examples, bins: Bins, pool: ThreadPool, n_shards: int) -> None:
        self.measure(examples.n_labels, examples.weights)
        ends = [examples.table.n_rows * k // n_shards for k in range(n_shards + 1)]
        self.pool = pool
        self.shards = pool.map(lambda part: build_shard(examples, bins, *part), pairwise(ends))
        self.share_answers()

    @cached_property
    def team(self) -> Team | None:
        """Threads for the exchanges that take the time; None where the usual way is as fast."""
        return Team.of(self.shards, self.pool)

    @property
    def sums_in_team(self) -> bool:
        return self.team is not None

    def searches_at_once(self, n_nodes: int) -> bool:
        return self.team is not None or n_nodes >= FEW_NODES

    def search_nodes(
        self, histograms: list[Histogram], totals: NDArray[np.int64], columns: ColumnLayout, criterion: int
    ) -> NodeSplits:
        n_threads = 1 if self.team is None else self.team.n_threads
        return search_nodes(n_threads, histograms, totals, columns, criterion)

    def boost_stumps(self, columns: ColumnLayout, rule: tuple[Any, ...], sums: Sums, most: int) -> Any:
        return self.shards[0].boost_stumps(columns, rule, sums, most) if len(self.shards) == 1 else None

    def call_together(self, verb: str, *arguments: Any) -> Any:
        return self._advance(*arguments) if verb == "advance" and self.team is not None else None

    def _advance(self, booster: Booster, change: Change | None, floors: Floors, search: bool) -> Sums | None:
        """Apply a change, then sum; None where shards need more than kernels can do."""
        formulas = formulas_of(booster, floors)
        special = change is not None and (change.outside is not None or change.stored is not None)
        if self.team is None or formulas is None or special:
            return None
        first = self.shards[0]
        out = self.buffers.take((count_searched(booster, search), first.n_groups, first.n_columns, first.width))
        return as_sums(out, len(out), *self.team.advance(change, formulas, out))

    def both_sides(self, splits: Sequence[Split], wholes: list[Histogram]) -> tuple[list[Sides], NDArray[np.int64]]:
        if self.team is None:
            return super().both_sides(splits, wholes)
        tree = SplitArrays.of(splits)
        less = self.buffers.take((len(tree), *wholes[0].shape))
        at_root = (tree.node == ROOT).tolist()  # the histogram of the root is used again
        rests = [
            self.buffers.take(less.shape[1:]) if keep else whole for keep, whole in zip(at_root, wholes, strict=True)
        ]
        left_is_less, rows = self.team.both_sides(tree, wholes, rests, less)
        pairs = zip(less, rests, left_is_less.tolist(), strict=True)
        return [(one, other) if is_left else (other, one) for one, other, is_left in pairs], rows
