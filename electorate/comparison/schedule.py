"""Decides which fits are run next, and which candidates are dropped: a pure function of the finished fits.

Small tables have one level, the folds. On large ones candidates are screened first, on fewer rows. Within a level the
candidates come in waves, those that are known to be good first, and each wave goes through all splits. After every
split the candidates that are worse with high probability are dropped. So there is an answer after the first wave, it
only gets better, and seconds decide nothing but where a time limit cuts.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.choice import Chooser
from electorate.comparison.fits import Failed, Fit, Plan, Result, Tested
from electorate.comparison.folds import Splits
from electorate.comparison.out_of_fold import OutOfFold
from electorate.comparison.rows import Rows
from electorate.comparison.verdicts import droppable

Results = dict[Fit, Result]
FINALISTS, MOST_ALGORITHMS = 8, 6  # candidates that pass a screening, and algorithms among them: a stack wants several
FIRST_FINALISTS = 4  # of these the leaders go through all folds first
PROTECTED = 5  # algorithms whose best candidate is never dropped: it may be a member of the stack
GROWTH = 1.15  # a fit of k times the rows takes about k to the power of this as long


@dataclass(frozen=True)
class PredictionColumns:
    """The table of out-of-fold predictions, and the candidate, its algorithm and the rounds of each of its columns."""

    table: OutOfFold
    candidates: NDArray[np.int64]
    algorithms: NDArray[np.int64]
    rounds: NDArray[np.int64]

    def of(self, candidate: int) -> NDArray[np.int64]:
        """The positions of the columns of a candidate."""
        return np.flatnonzero(self.candidates == candidate)


@dataclass
class Schedule:
    """named: algorithms that the user named, which are not dropped. late: candidates there was no time for."""

    plan: Plan
    rows: Rows
    splits: Splits
    named: frozenset[int]
    late: set[int] = field(default_factory=set)
    _dropped: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)  # after a wave and split
    _leaders: dict[tuple[int, ...], list[int]] = field(default_factory=dict)  # of a level and its tested candidates

    def next_fits(self, results: Results) -> list[Fit]:
        """The fits to run before the next decision, in order; none when all is done."""
        for level in range(len(self.splits.levels)):
            dropped: set[int] = set()
            for number, wave in enumerate(self.waves(level, results)):
                for split in self.splits.numbers(level):
                    left = [c for c in wave if c not in dropped and self.is_usable(c, level, results)]
                    missing = [Fit(c, split) for c in left if Fit(c, split) not in results and c not in self.late]
                    if missing:
                        return missing
                    dropped |= self._drop(level, number, split, results, dropped)
        return []

    # ------------------------------------------------------------ who takes part

    def is_usable(self, candidate: int, level: int, results: Results) -> bool:
        """Whether none of its fits in this level failed."""
        fits = (results.get(Fit(candidate, split)) for split in self.splits.numbers(level))
        return not any(isinstance(result, Failed) for result in fits)

    def waves(self, level: int, results: Results) -> list[list[int]]:
        """The candidates that take part in a level, in the order in which they do."""
        if level == 0:
            numbers = range(len(self.plan.candidates))
            waves = sorted({self.plan.wave(c) for c in numbers})
            return [[c for c in numbers if self.plan.wave(c) == wave] for wave in waves]
        finalists = self._finalists(level - 1, results)
        return [wave for wave in (finalists[:FIRST_FINALISTS], finalists[FIRST_FINALISTS:]) if wave]

    def _finalists(self, level: int, results: Results) -> list[int]:
        """The leaders of a screening: always the baseline, and what the user named."""
        tested = self.tested(level, self.splits.numbers(level), results)
        key = level, *tested
        if tested and key not in self._leaders:
            self._leaders[key] = self._best(level, tested, results)
        return self._leaders[key] if tested else []

    def _best(self, level: int, tested: list[int], results: Results) -> list[int]:
        gathered = self.gather(self.splits.numbers(level), tested, results)
        chooser = Chooser(gathered.table, gathered.algorithms, self.plan.metric)
        losses = chooser.fit(np.ones((1, gathered.table.n_rows))).criterion[0]
        order = sorted(tested, key=lambda c: (float(losses[gathered.of(c)].min()), c))
        first = {self.plan.candidates[c].algorithm: c for c in reversed(order)}  # the best setting of each algorithm
        leaders = [c for c in order if c in first.values() and not self.plan.algorithm(c).baseline]
        needed = [c for c in leaders[MOST_ALGORITHMS:] if self.plan.candidates[c].algorithm in self.named]
        second = [c for c in order if c not in first.values() and first[self.plan.candidates[c].algorithm] in leaders]
        chosen = leaders[:MOST_ALGORITHMS] + needed
        chosen += second[: max(0, FINALISTS - len(chosen))]
        return [c for c in order if self.plan.algorithm(c).baseline] + [c for c in order if c in chosen]

    def _drop(self, level: int, wave: int, split: int, results: Results, before: Collection[int]) -> frozenset[int]:
        """The candidates to drop after a split, judged on all rows that the level has tested up to it."""
        numbers = self.splits.numbers(level)
        if split == numbers[-1]:
            return frozenset()
        if (split, wave) not in self._dropped:
            done = numbers[: split - numbers[0] + 1]
            taking_part = [c for some in self.waves(level, results)[: wave + 1] for c in some if c not in before]
            tested = [c for c in taking_part if all(isinstance(results.get(Fit(c, s)), Tested) for s in done)]
            self._dropped[split, wave] = frozenset(self._worse(done, tested, results))
        return self._dropped[split, wave]

    def _worse(self, numbers: Collection[int], candidates: list[int], results: Results) -> list[int]:
        """The candidates that are worse with high probability in these splits."""
        if len(candidates) < 3:
            return []
        gathered = self.gather(numbers, candidates, results)
        chooser = Chooser(gathered.table, gathered.algorithms, self.plan.metric)
        mask = droppable(chooser, PROTECTED, self.plan.seed)
        kept = [
            c for c in candidates if self.plan.candidates[c].algorithm in self.named or self.plan.algorithm(c).baseline
        ]
        return [c for c in candidates if mask[gathered.of(c)].all() and c not in kept]

    # ------------------------------------------------------------ the table

    def furthest(self, results: Results) -> tuple[int, list[int]] | None:
        """The last level, and its splits, in which a model was tested; None if there is none.

        A level counts with all of its splits before one with some of them, which time or Ctrl-C cut short.
        """
        levels = range(len(self.splits.levels))
        whole = [(level, list(self.splits.numbers(level))) for level in reversed(levels)]
        some = [(level, numbers[:n]) for level, numbers in whole for n in range(len(numbers) - 1, 0, -1)]
        for level, numbers in whole + some:
            if any(not self.plan.algorithm(c).baseline for c in self.tested(level, numbers, results)):
                return level, numbers
        return None

    def tested(self, level: int, numbers: Collection[int], results: Results) -> list[int]:
        """The candidates that were tested in these splits of a level, in order."""
        entrants = [c for wave in self.waves(level, results) for c in wave]
        return [c for c in entrants if all(isinstance(results.get(Fit(c, s)), Tested) for s in numbers)]

    def unfinished(self, level: int, results: Results) -> set[int]:
        """The candidates of a level that time or Ctrl-C cut short."""
        gone = {c for dropped in self._dropped.values() for c in dropped}
        entrants = {c for wave in self.waves(level, results) for c in wave if self.is_usable(c, level, results)}
        numbers = self.splits.numbers(level)
        return {c for c in entrants - gone if not all(Fit(c, split) in results for split in numbers)}

    def gather(self, numbers: Collection[int], candidates: list[int], results: Results) -> PredictionColumns:
        """The predictions of these candidates for the rows that these splits test."""
        places = [self.splits.places[split][1][1] for split in numbers]
        rows = np.concatenate(places)
        of_column = [(c, rounds) for c in candidates for rounds in self.plan.stages(c)]
        scores = []
        for c in candidates:
            parts = [results[Fit(c, split)] for split in numbers]
            scores.append(np.concatenate([part.scores for part in parts if isinstance(part, Tested)], axis=1))
        algorithms = np.array([self.plan.candidates[c].algorithm for c, _ in of_column])
        own = [self.plan.algorithms[a] for a in algorithms]
        baseline = next((number for number, one in enumerate(own) if one.baseline), None)
        table = OutOfFold(
            scores=np.concatenate(scores),
            target=self.rows.target[rows],
            n_classes=self.plan.n_classes,
            fold=np.repeat(np.arange(len(places)), [len(some) for some in places]),
            baseline=baseline,
            stackable=np.array([not (one.takes_table or one.baseline) for one in own]),
            weight=None if self.rows.weight is None else self.rows.weight[rows],
            group=None if self.rows.group is None else self.rows.group[rows],
            ordered=self.rows.time is not None,
        )
        candidate, rounds = (np.array(values) for values in zip(*of_column, strict=True))
        return PredictionColumns(table, candidate, algorithms, rounds)


@dataclass
class Costs:
    """Predicts how long fits take, from those that are finished."""

    splits: Splits
    seconds: dict[int, tuple[int, float]] = field(default_factory=dict)  # by candidate: training rows, seconds of a fit

    def add(self, fit: Fit, result: Result | None) -> None:
        if isinstance(result, Tested):
            n_rows = len(self.splits.places[fit.split][1][0])
            before = self.seconds.get(fit.candidate, (0, 0.0))
            self.seconds[fit.candidate] = max(before, (n_rows, result.fit_seconds + result.predict_seconds))

    def predict(self, candidate: int, n_rows: int) -> float | None:
        """Seconds of a fit to so many rows; None if none of the candidate is finished."""
        if candidate not in self.seconds:
            return None
        before, seconds = self.seconds[candidate]
        return seconds * max(1.0, n_rows / before) ** GROWTH
