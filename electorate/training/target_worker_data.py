"""A room of rows whose labels are numbers: the rows that live in one place, and what becomes of them.

As room.py for classes: what rooms must agree on is written as steps, so that the middle and the bins of the targets,
the scale of the weights and the rows to stop by are the same wherever the rows live.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data import inputs
from electorate.data.all_reduce import Max, Min, Reduce, ReduceSteps, SortedUnion
from electorate.data.bins import Bins, find_bins_steps
from electorate.data.split import candidate_steps, draw_steps, hash_rows_steps
from electorate.data.targets import TARGET_BINS, bin_targets_steps, median_steps, spread_steps
from electorate.data.weights import Weights, read_weights_steps
from electorate.engines.shard import Examples
from electorate.engines.targets import Targets, TargetThreads
from electorate.engines.validation import ListeningShard
from electorate.model.median import Kappas
from electorate.threads import ThreadPool
from electorate.training.worker_data import NO_ROWS, Given
from electorate.voters.confidence import Given as Function

Array = NDArray[np.float64]
NO_WEIGHT = "sample_weight is zero for every row: nothing is left to fit"
TOO_FEW = (
    "too few rows to set some aside to choose by (one sample is not enough): give eps and rho as numbers, or X_val"
)


@dataclass(frozen=True)
class TargetPlan:
    """What to make of the rows. by_edge: whether targets are binned. part, seed: of the rows to set aside."""

    by_edge: bool
    n_estimators: int
    n_histograms: int  # that a shard may hold at once
    n_values: int = 0  # that voters of a pool may say
    part: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class TargetOutline:
    """What the driver knows of the targets: their weighted median, their spread, their range, what stands for bins.

    values: of the bins of the target, or what voters of a pool may say.
    """

    fallback: float
    spread: float
    low: float
    high: float
    values: Array
    listens: bool  # whether there are rows to stop by


@dataclass(frozen=True)
class Fitting:
    """Rows with targets and weights, to be made into shards."""

    X: Any  # as it was given, where it is all here
    table: Any
    y: Array
    labels: NDArray[np.int64]
    weights: Weights


class TargetRoom:
    """number: among other rooms. X, X_heard: as they were given, for functions of the user's; None on a cluster."""

    def __init__(self, given: Given, heard: Given | None, pool: ThreadPool, n_shards: int, number: int = 0) -> None:
        self.given: Given | None = given
        self.heard = heard
        self.pool = pool
        self.n_shards = n_shards
        self.number = number
        self.X: dict[str, Any] = {}
        self.fittings: dict[str, Fitting] = {}
        self.engines: dict[str, TargetThreads] = {}

    def prepare(self, plan: TargetPlan) -> ReduceSteps[TargetOutline]:
        """Weights, the rows to stop by, and what is to be known of the targets."""
        given, heard = self.given, self.heard
        assert given is not None
        n_rows, most = yield Reduce((len(given.labels), Max(float(given.weight.max(initial=0.0)))))
        if n_rows == 0:
            raise ValueError(NO_ROWS)
        if most.value == 0:
            raise ValueError(NO_WEIGHT)
        if heard is None and plan.part is not None:
            aside = yield from set_aside_steps(given, plan.part, plan.seed, self.number)
            heard = replace(given, weight=aside)
            given = replace(given, weight=given.weight - aside)
        train = yield from self._fitting("train", given)
        if heard is not None:
            self.fittings["heard"] = yield from self._fitting("heard", heard)
        y, whole = train.y, train.weights.whole
        fallback = yield from median_steps(y, whole)
        spread = yield from spread_steps(y, whole, fallback)
        counted = y[whole > 0]
        low, high = yield Reduce((Min(float(counted.min(initial=np.inf))), Max(float(counted.max(initial=-np.inf)))))
        labels, values = train.labels, np.zeros(1)
        if plan.by_edge:
            labels, values = yield from bin_targets_steps(y, whole)
        elif plan.n_values:
            _, values = yield from bin_targets_steps(y, whole, plan.n_values)
        self.fittings["train"] = replace(train, labels=labels)
        self.plan = plan
        return TargetOutline(fallback, spread, float(low.value), float(high.value), values, heard is not None)

    def _fitting(self, name: str, given: Given) -> ReduceSteps[Fitting]:
        weights = yield from read_weights_steps(given.weight)
        nothing = np.zeros(len(given.labels), dtype=np.int64)
        return Fitting(self.X.get(name, self.X.get("train")), given.table, given.labels, nothing, weights)

    def find_bins(self, categorical: Any, max_bins: int | str) -> ReduceSteps[Bins]:
        train = self.fittings["train"]
        self._refuse_too_large(max_bins, 256)
        (by_type,) = yield Reduce((SortedUnion(np.array(train.table.category_columns(), dtype=np.int64), "X"),))
        columns = inputs.category_columns(train.table, categorical, by_type.values.tolist())
        return (yield from find_bins_steps(train.table, train.weights.whole, columns, max_bins, self.pool))

    def build(
        self, bins: Bins | None, max_bins: int | str, n_labels: int, confidences: Any, columns: bool = False
    ) -> ReduceSteps[None]:
        """The shards; the rows as they were given are not needed any more.

        bins: None for voters fitted elsewhere, and for columns that are themselves the voters.
        """
        if bins is not None and bins.width > 256:
            self._refuse_too_large(max_bins, bins.width)
        for name, fitting in self.fittings.items():
            listens = name == "heard"
            examples = Examples(fitting.table, fitting.labels, 1 if listens else n_labels, fitting.weights)
            kappas = None if confidences is None else evaluate(confidences, fitting)
            kind = {"kind": ListeningShard} if listens else {}
            n_shards = self.n_shards if bins is not None or columns else 1
            said = fitting.table if columns and not listens else None
            targets = Targets(examples, fitting.y, kappas, said)
            self.engines[name] = TargetThreads(targets, bins, self.pool, n_shards, **kind)
        yield Reduce((0,))  # all are there
        self.given = self.heard = None
        self.fittings = {}

    def _refuse_too_large(self, max_bins: int | str, width: int) -> None:
        heard = self.fittings.get("heard")
        votes = 16 * len(heard.y) * self.plan.n_estimators if heard is not None else 0
        n_histograms = self.n_shards * self.plan.n_histograms + (2 if self.n_shards > 1 else 0)
        inputs.refuse_too_large(bytes_needed(self.fittings["train"], max_bins, n_histograms, width) + votes)


def bytes_needed(train: Fitting, max_bins: int | str, n_histograms: int, width: int) -> int:
    """Binned copy, state and working vectors of the shards, and histograms by bins of the target."""
    columns, cell = train.table.n_columns + 3, 2 if max_bins == "exact" else 1
    n_labels = TARGET_BINS if train.labels.any() else 2
    return len(train.y) * (cell * columns + 8 * 14) + n_histograms * 8 * n_labels * columns * width


def set_aside_steps(given: Given, part: float, seed: int, number: int = 0) -> ReduceSteps[Array]:
    """The weight of every row to choose by: rows are drawn by what they hold, so their order does not matter."""
    hashes = yield from hash_rows_steps(given.table, seed)
    kernels.fold(given.labels, hashes)
    weights = yield from read_weights_steps(given.weight)
    rows = yield from candidate_steps(hashes, weights)
    aside = yield from draw_steps(rows, part, number)
    drawn, left = yield Reduce((int(aside.sum()), int((rows.times - aside).sum())))
    if drawn == 0 or left == 0:
        raise ValueError(TOO_FEW)
    return np.asarray(given.weight * aside / np.maximum(rows.times, 1))  # in this order, whole weights stay whole


def evaluate(confidences: list[Any], fitting: Fitting) -> Array:
    """[candidate, row] of the confidences."""
    n_rows = len(fitting.y)
    return values_of(confidences, fitting.X, fitting.table, n_rows)(0, n_rows)


def no_column(j: int) -> Array:
    raise TypeError("a function of X is given all of X")


def values_of(confidences: list[Any], X: Any, table: Any, n_rows: int) -> Kappas:
    """[candidate, row] of rows low..high. Functions of X are asked once, for all rows."""
    whole = {k: one.of(X, no_column, n_rows) for k, one in enumerate(confidences) if isinstance(one, Function)}

    def values(low: int, high: int) -> Array:
        def column(j: int) -> Array:
            return np.asarray(table.numbers(low, high, [j])[0], dtype=np.float64)

        each = enumerate(confidences)
        return np.stack([whole[k][low:high] if k in whole else one.of(X, column, high - low) for k, one in each])

    return values
