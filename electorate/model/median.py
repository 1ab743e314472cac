"""The vote by weighted median, as regressors use it instead of a weighted sum.

Quantiles of the vote are those of eq. 7 and 8 of the LocMedBoost paper, the median is f_0+. Weights are integers on
the grid of votes, so comparisons are exact. A block of rows at a time; blocks go to threads.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.engines.running_median import Stage, needs, outside
from electorate.exact import UNITS, Floats, Ints
from electorate.families.wrapped import own_confidences
from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.foreign_ensemble import fitted_importances
from electorate.threads import ThreadPool

CELLS_AT_ONCE = 2**17  # outputs in a block: they stay in the cache
CELLS_ELSEWHERE = 2**22  # of third-party regressors, whose calls are slow
Outputs = Callable[[int, int], tuple[Floats, Floats | None]]  # outputs and confidences [row, voter] of rows low..high
Kappas = Callable[[int, int], Floats]  # [candidate, row] of the confidences in rows low..high


@dataclass(frozen=True)
class Votes:
    """outputs[row, voter]; weights[row, voter], or one row for all; reach[row]: the sum of the steps.

    table: all distinct outputs, in order. The outputs are then places in it, which are faster to choose from.
    """

    outputs: Floats
    weights: Ints
    reach: Floats
    table: Floats | None = None

    @property
    def mass(self) -> Ints:
        """[row] of the summed weights."""
        return np.broadcast_to(self.weights.sum(axis=1), (len(self.outputs),))

    def quantiles(self, rho: Any, upper: bool) -> Floats:
        """f_rho+ (eq. 7) if upper, else f_rho- (eq. 8); rho: a number, or one per row."""
        mass = self.mass
        need, inside = needs(mass, self.reach, rho)
        out = np.empty(len(self.outputs))
        if self.outputs.shape[1]:
            need = np.where(inside, need, np.minimum(mass, 1))
            some: Any = slice(None) if np.all(need > 0) else np.flatnonzero(need > 0)
            weights = self.weights[some] if len(self.weights) > 1 else self.weights
            out[some] = self._choose(self.outputs[some], weights, need[some], upper)
        return outside(out, inside, rho, upper)

    def _choose(self, outputs: Floats, weights: Ints, need: Ints, upper: bool) -> Floats:
        """Row by row, the first value, from below or from above, up to which the votes come to the need."""
        out = np.empty(len(outputs))
        if self.table is None:
            kernels.vote_quantiles(outputs, weights, need, 1.0 if upper else -1.0, out)
            return out
        places = np.empty(len(outputs), dtype=np.int64)
        kernels.place_quantiles(outputs, weights, need, len(self.table), not upper, places)
        return self.table[places]

    def lower_medians(self) -> Floats:
        """The smallest value up to which the votes come to half, as scikit-learn chooses. Infinite without votes."""
        mass = self.mass
        out = self._choose(self.outputs, self.weights, (mass + 1) // 2, upper=True)
        return np.where(mass > 0, out, np.inf)


@dataclass(frozen=True)
class Median:
    """The fitted voters: trees as arrays, or regressors fitted elsewhere; steps; which confidence each has.

    value[node] of a tree: its output and its confidence. decides: the last voter's step is infinite, so it decides
    alone where its confidence is positive (line 8 of Figure 1).
    """

    trees: Ensemble | None
    fitted: list[Any]
    steps: Floats
    kappa: NDArray[np.int32]
    decides: bool = False
    own: bool = False  # whether regressors have confidences of their own

    @property
    def n_voters(self) -> int:
        return len(self.steps)

    @property
    def units(self) -> Ints:
        units = np.rint(self.steps * UNITS).astype(np.int64)
        return units if np.any(units) or self.decides else np.ones_like(units)

    @property
    def leaves_doubt(self) -> bool:
        return self.own or (
            self.trees is not None and bool(np.any(self.trees.value[self.trees.column == LEAF, 1] != 1))
        )

    @cached_property
    def table(self) -> Floats:
        """The distinct outputs of all leaves, in order."""
        assert self.trees is not None
        return np.unique(self.trees.value[self.trees.column == LEAF, 0])

    @cached_property
    def placed(self) -> Floats:
        """[node, (place in the table, confidence)] of leaves."""
        assert self.trees is not None
        value = self.trees.value.copy()
        value[:, 0] = np.searchsorted(self.table, value[:, 0])
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # not what is derived from them

    def votes(self, outputs: Floats, confidences: Floats | None, table: Floats | None = None) -> Votes:
        """Return the votes of some rows. confidences[row, voter]: None where all are 1. table: see Votes."""
        units = self.units
        weights = units[None] if confidences is None else np.rint(units * confidences).astype(np.int64)
        reach = np.full(len(outputs), float(units.sum()))
        if self.decides and confidences is None:
            weights, reach = np.zeros_like(weights), np.full(len(outputs), UNITS)
            weights[0, -1] = int(UNITS)
        elif self.decides and confidences is not None:
            alone = confidences[:, -1] > 0
            weights[alone] = 0
            weights[alone, -1] = np.maximum(1, np.rint(confidences[alone, -1] * UNITS)).astype(np.int64)
            reach[alone] = UNITS
        return Votes(outputs, weights, reach, table)

    # ------------------------------------------------------------ rows of a table

    def each_block(self, n_rows: int, outputs_of: Outputs, pool: ThreadPool, task: Callable[..., None]) -> None:
        """task(low, high, votes) for blocks of rows, on threads. Outputs of trees are places in the table."""
        table = self.table if self.trees is not None else None
        cells = CELLS_AT_ONCE if self.trees is not None else CELLS_ELSEWHERE
        rows = max(64, cells // max(1, self.n_voters))
        blocks = [(low, min(low + rows, n_rows)) for low in range(0, n_rows, rows)]
        pool.map(lambda block: task(*block, self.votes(*outputs_of(*block), table)), blocks)

    def outputs_on(self, rows: Any, kappas: Kappas | None, places: bool = False) -> Outputs:
        """The outputs of all voters. rows: a reader of blocks for trees, else X.

        kappas: None where all confidences are 1. places: of trees, the places in the table instead. A fitted regressor
        has the confidence 0 where it has no prediction.
        """
        n_outputs = 2 if self.leaves_doubt else 1
        value = self.placed if places and self.trees is not None else None

        def outputs_of(low: int, high: int) -> tuple[Floats, Floats | None]:
            confidences: Floats | None = None
            if self.trees is not None:
                outputs, *doubts = tree_outputs(self.trees, rows(low, high), n_outputs, value)
                confidences = doubts[0] if doubts else None
            else:
                part = rows if high - low == rows.shape[0] else rows[low:high]
                each = np.array([np.asarray(one.predict(part), dtype=np.float64).ravel() for one in self.fitted]).T
                outputs = np.ascontiguousarray(each).reshape(high - low, self.n_voters)
                missing = np.isnan(outputs)
                if missing.any():
                    outputs, confidences = np.where(missing, 0.0, outputs), np.where(missing, 0.0, 1.0)
                if self.own:
                    sure = np.array([own_confidences(one, part) for one in self.fitted]).T
                    confidences = np.ascontiguousarray(sure).reshape(outputs.shape)
            if kappas is not None:
                mine = np.ascontiguousarray(kappas(low, high)[self.kappa].T)
                confidences = mine if confidences is None else confidences * mine
            return outputs, confidences

        return outputs_of

    # ------------------------------------------------------------ round by round

    def staged(self, outputs: Floats, confidences: Floats | None) -> Iterator["Stage"]:
        """Yield the medians after every voter; rows stay sorted, so a round costs a pass over them."""
        stage = Stage(len(outputs), self.n_voters)
        units = self.units
        for t in range(self.n_voters):
            last = self.decides and t == self.n_voters - 1
            stage.add(outputs[:, t], int(units[t]), None if confidences is None else confidences[:, t], last)
            yield stage

    def importances(self, n_columns: int) -> Floats:
        if self.trees is not None:
            return self.trees.importances()
        steps = np.where(self.units > 0, self.units, 1) if self.decides else self.units
        return fitted_importances(self.fitted, steps, n_columns)


def tree_outputs(trees: Ensemble, block: Floats, n_outputs: int, value: Floats | None = None) -> Floats:
    """[output, row, voter] of trees on a block [column, row]. value: used instead of that of their nodes."""
    value = trees.value if value is None else value
    cells = trees.find_cells(block)
    rows = block.shape[1]
    found = np.empty((n_outputs, rows, trees.n_voters))
    if (masks := trees.masks) is not None:
        values = np.ascontiguousarray(value[masks.nodes, :n_outputs].T)
        kernels.tree_outputs(cells, masks.offsets, masks.leaves, masks.tests, values, found, *masks.scratch(rows))
        return found
    tests = (trees.cells.place, trees.cells.cut, trees.members, trees.missing_left, trees.children, trees.sets)
    numbers = np.arange(len(trees.column))[:, None]
    for t, (low, high) in enumerate(pairwise(trees.offsets.tolist())):
        at = np.zeros((1, rows), dtype=np.int64)
        kernels.walk(cells, np.array([low, high]), *tests, numbers, at)
        found[:, :, t] = value[at[0], :n_outputs].T
    return found


def conformal_rank(n: int, coverage: float) -> int:
    """Which of n sorted scores: ceil((n + 1) coverage); n + 1 means that none is large enough."""
    return min(math.ceil((n + 1) * coverage - 1e-9), n + 1)
