"""The engine of this process: shards in memory, one task per shard and exchange on our own threads."""

from itertools import pairwise

from electorate.data.bins import Bins
from electorate.engines.shard import Examples, build_shard
from electorate.engines.verbs import Engine, LocalShards
from electorate.threads import ThreadPool


class Threads(LocalShards, Engine):
    def __init__(self, examples: Examples, bins: Bins, pool: ThreadPool, n_shards: int) -> None:
        self.measure(examples.n_labels, examples.weights)
        ends = [examples.table.n_rows * k // n_shards for k in range(n_shards + 1)]
        self.pool = pool
        self.shards = pool.map(lambda part: build_shard(examples, bins, *part), pairwise(ends))
        self.share_answers()
