"""Decides which cells are run: on large tables settings are screened first, and only the leaders go through all folds.

A rung trains every setting that is left on a part of the rows, and tests it on the rows for screening. The best go to
the next rung, with more rows, and the best of the last one to the cross-validation. Baselines, peers and algorithms
that the user named are not dropped. Decisions are functions of finished cells, so that a run can be resumed.
"""

from dataclasses import dataclass

import numpy as np

from electorate.comparison.cells import Cell, Protocol, Result, Screened, Tested

RUNG_ROWS = (4_000, 16_000)  # rows to learn from in the rungs
NEARLY = 1.5  # a rung with nearly all rows is left out: so many times its rows must be there
KEPT_SHARE, FEWEST_KEPT = 1 / 4, 6  # settings of ours that are kept after a rung
FINALISTS = {1: 4, 2: 3}  # algorithms of ours in the cross-validation, by the number of rungs
SETTINGS_OF_FINALISTS = 2
STAGE_ENDS = {0: (), 1: (0.35,), 2: (0.25, 0.45)}  # shares of a time limit at which rungs end, by the number of rungs

Results = dict[Cell, Result]


def rungs_for(n_rows: int) -> tuple[int, ...]:
    """n_rows: to learn from. There is always one rung."""
    return RUNG_ROWS[:1] + tuple(rows for rows in RUNG_ROWS[1:] if n_rows >= NEARLY * rows)


@dataclass(frozen=True)
class Race:
    """The stages of a comparison: its rungs, then the cross-validation. named: algorithms that are never dropped."""

    protocol: Protocol
    named: frozenset[int]

    @property
    def n_stages(self) -> int:
        return len(self.protocol.rungs) + 1

    def cells_of(self, stage: int, results: Results) -> list[Cell]:
        """The cells of a stage, in the order in which they are run, given the results of earlier stages."""
        if stage < len(self.protocol.rungs):
            return [Cell(a, setting, -1, stage) for a, setting in self._screened(stage, results)]
        if not self.protocol.rungs:
            return self.protocol.cells
        passes: list[list[tuple[int, int]]] = [[], []]  # best settings of all finalists first, then the second best
        for candidate in self.finalists(results):
            passes[any(a == candidate[0] for a, _ in passes[0])].append(candidate)
        folds = range(self.protocol.n_folds)
        return [Cell(a, setting, fold) for one in passes for fold in folds for a, setting in one]

    def _screened(self, stage: int, results: Results) -> list[tuple[int, int]]:
        """Settings that take part in a rung. One that is sure to be in the cross-validation needs no screening."""
        algorithms = self.protocol.algorithms
        left = [(a, s) for a, s in self.protocol.candidates if not (a in self.named and len(algorithms[a].grid) == 1)]
        if stage == 0:
            return left
        kept = self._kept(results)
        return [candidate for candidate in left if candidate in kept]

    def _standing(self, results: Results) -> dict[tuple[int, int], tuple[int, float]]:
        """For each setting that was screened: minus the last rung that it passed, and its loss there."""
        found: dict[tuple[int, int], tuple[int, float]] = {}
        for cell, result in results.items():
            if cell.rung is not None and isinstance(result, Screened):
                here = (-cell.rung, float(np.min(result.inner)))
                key = (cell.algorithm, cell.setting)
                found[key] = min(found.get(key, here), here)
        return found

    def _kept(self, results: Results) -> set[tuple[int, int]]:
        """The leaders after the last rung: of the named algorithms each, of the others over all."""
        standing = self._standing(results)
        order = sorted(standing, key=lambda key: (standing[key], key))
        kept: set[tuple[int, int]] = set()
        for a in self.named:
            kept |= set([key for key in order if key[0] == a][:SETTINGS_OF_FINALISTS])
        others = [key for key in order if key[0] not in self.named]
        return kept | set(others[: max(FEWEST_KEPT, round(KEPT_SHARE * len(others)))])

    def finalists(self, results: Results) -> list[tuple[int, int]]:
        """Algorithms and settings for the cross-validation; all of them where there is no screening."""
        if not self.protocol.rungs:
            return self.protocol.candidates
        standing = self._standing(results)
        order = sorted(standing, key=lambda key: (standing[key], key))
        algorithms = list(dict.fromkeys(a for a, _ in order))
        best = [a for a in algorithms if a not in self.named][: FINALISTS[len(self.protocol.rungs)]]
        chosen = []
        baselines = [a for a in sorted(self.named) if self.protocol.algorithms[a].baseline]
        others = [a for a in sorted(self.named) if a not in baselines]
        for a in (*baselines, *best[:1], *others, *best[1:]):  # our leader and the peers before the rest
            screened = [key for key in order if key[0] == a]
            chosen += screened[:SETTINGS_OF_FINALISTS] or [(a, 0)]
        return chosen

    def unscreened(self, results: Results) -> list[int]:
        """Algorithms that ran out of time before their first result."""
        if not self.protocol.rungs:
            return []
        tried = {cell.algorithm for cell in results}
        return [a for a in range(len(self.protocol.algorithms)) if a not in tried and a not in self.named]

    def dropped(self, results: Results) -> list[tuple[int, float]]:
        """Algorithms that were screened and are not in the cross-validation, with their best loss."""
        standing, finalists = self._standing(results), {a for a, _ in self.finalists(results)}
        best: dict[int, tuple[int, float]] = {}
        for (a, _), here in standing.items():
            if a not in finalists:
                best[a] = min(best.get(a, here), here)
        return [(a, loss) for a, (_, loss) in sorted(best.items(), key=lambda item: (item[1], item[0]))]


class Reserve:
    """Estimates how long the refits after the cross-validation take, from the cells that are finished.

    without, final: seconds of the refit without the test rows, and with all rows, per second of a fit in a fold. A peer
    that leads is refitted once, and the best of ours twice. stack: how many of ours a stack may have, if its refits
    take no more than stack_seconds.
    """

    def __init__(
        self, protocol: Protocol, without: float, final: float, stack: int = 0, stack_seconds: float = 0.0
    ) -> None:
        self.protocol, self.without, self.final = protocol, without, final
        self.stack, self.stack_seconds = stack, stack_seconds
        self._inner: dict[int, list[float]] = {}
        self._seconds: dict[int, float] = {}

    def add(self, cell: Cell, result: Result | None) -> None:
        if isinstance(result, Tested):
            self._inner.setdefault(cell.algorithm, []).append(float(np.min(result.inner)))
            self._seconds[cell.algorithm] = max(self._seconds.get(cell.algorithm, 0.0), result.fit_seconds)

    @property
    def seconds(self) -> float:
        order = sorted(self._inner, key=lambda a: float(np.mean(self._inner[a])))
        of_ours = [a for a in order if not self.protocol.algorithms[a].peer]
        leading = {*order[:1], *of_ours[:1]}
        single = sum(self._seconds[a] * (self.without + self.final * (a in of_ours)) for a in leading)
        stacked = self.of_stack(sum(self._seconds[a] for a in of_ours[: self.stack]))
        return max(single, stacked) if stacked <= self.stack_seconds else single

    def of_stack(self, fit_seconds: float) -> float:
        """How long the refits of a stack take. fit_seconds: of its models, in a fold."""
        return fit_seconds * (self.without + self.final)
