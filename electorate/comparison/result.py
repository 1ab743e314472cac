"""The result of a comparison: it runs the fits, chooses, trains what is handed over, and says so in words and files."""

import json
import math
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.comparison import answer as words
from electorate.comparison import report
from electorate.comparison.algorithms import PEERS
from electorate.comparison.certified_winner import CertifiedWinner, cross_fit
from electorate.comparison.estimate import FEWEST_DRAWS
from electorate.comparison.fits import Failed, Fit, FitRunner, Plan
from electorate.comparison.journal import Journal, Store, plan_of
from electorate.comparison.over_tables import Outcomes
from electorate.comparison.ranking import ACCURACY, Ranker, columns_of
from electorate.comparison.refits import Recipe, Refits
from electorate.comparison.rows import Rows
from electorate.comparison.scanned import ScannedRefits
from electorate.comparison.schedule import Costs, Results, Schedule
from electorate.comparison.workers import ProcessPool, Progress, Work, WorkLimits
from electorate.data.row_subset import take_rows
from electorate.model.files import NotStorableError
from electorate.text import literal, write_text

FEWEST_ROWS = 20  # fewer rows are too few for folds
MOST_LINES = 12  # of the printed table
QUICK_ROWS = 1_000  # where there was no time for a fit
RESERVED, AFTER = 0.3, 0.5  # of a time limit for refits at most; seconds for what follows them
RESULTS, BOUNDED, FINAL = "results.csv", "winner-without-test-rows.model", "winner.model"


@dataclass(frozen=True)
class Where:
    """folder: of the journal, or None. pool: of worker processes, or None. keeps: whether the folder is the user's."""

    folder: str | None
    pool: ProcessPool | None
    keeps: bool
    replay: Any


class Comparison:
    """The result of `compare`. Printing it shows the answer in words, and the table.

    Attributes
    ----------
    answer : list of str
        Which model to use, how well it will do, how sure that is.
    winner : str
        The name of the model that is handed over: an algorithm, or "stack".
    model : estimator
        It, trained on all rows. Of a scanned table, `model_without_test_rows`.
    model_without_test_rows : estimator or None
        The same trained without the test rows; None if no rows were held out, or there was no time.
    estimate, limit : float
        The estimated value of the metric on new rows, and a one-sided limit of 95% (exact if rows were held out and
        the metric is the error).
    bound : float
        With 95% confidence, an upper bound on the error of `model_without_test_rows` on rows like these (exact
        binomial, Clopper and Pearson); NaN without test rows, for regression, weights, and splits by group or time.
    evidence : str
        "beyond doubt", "probably" or "no evidence": that the model is better than the baseline.
    columns : dict of lists
        The table.
    frame : dataframe
        The same, in the library of X, or else pandas, polars or pyarrow, whichever is installed.
    setting : dict
        The parameters of the model, as set_params takes them; of a stack, the weights.
    code : str
        Python code that trains the model.
    threshold : float or None
        For two classes, ranked by `balanced_error` or `f1`: predict the second class above this probability.
    certified : CertifiedWinner or None
        With `certify`, the best single algorithm as a cross-fitted ``model`` on all rows, with its ``bound`` and the
        ``sentence`` that one may quote; ``candidates`` is the number of settings that the bound pays for.
    outcomes : Outcomes
        The losses of every algorithm on the rows tested, as `compare_over` takes them.
    check_up : CheckUp
        What was found about the columns and the target, and the cleaning that the models keep.
    seconds : dict
        How long fits and refits took.
    not_run, failed, dropped : list, dict and list
        Candidates that are not in the table: without time, with an error, and worse after some folds.
    notes : list of str
        The same in words.
    """

    def __init__(
        self,
        plan: Plan,
        training_rows: Rows,
        refits: Refits,
        classes: NDArray[Any],
        named: frozenset[int],
        certify: str | None,
    ) -> None:
        self.plan, self.training_rows, self.refits, self.classes = plan, training_rows, refits, classes
        self.named, self.certify = named, certify
        self.prefer, self.stacks, self.positive = ACCURACY, True, 0
        self.certified: CertifiedWinner | None = None
        self.check_up = refits.check_up
        self.model: Any = None
        self.model_without_test_rows: Any = None
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    # ------------------------------------------------------------ the work

    def run(self, where: Where, limits: WorkLimits, progress: bool) -> None:
        """Run the fits, choose, train what is handed over, and write the results to the folder."""
        self.limits = limits
        self.display = Progress(self.plan, limits, sys.stderr if progress else None)
        self.display.note(f"comparing models on {self.training_rows.n_rows:,} rows")
        journal: Store = {}
        if where.folder is not None:
            journal = Journal(where.folder)
            journal.open(self.plan, self.training_rows, self.refits.n_test, self.refits.describe())
        takes_table = any(one.takes_table for one in self.plan.algorithms)  # estimators of the user
        table = take_rows(self.refits.X, self.refits.parts[0]) if takes_table else None
        runner = FitRunner(self.plan, self.training_rows, table)
        replayed = None
        if where.replay is not None:
            wanted = plan_of(self.plan, self.training_rows, self.refits.n_test, self.refits.describe())
            sizes = len(self.plan.candidates), len(runner.splits.places)
            replayed = Journal(where.replay).read_outcome(wanted, *sizes)
        self.schedule = Schedule(self.plan, self.training_rows, runner.splits, self.named)
        work = Work(self.schedule, runner, journal, limits, self._reserve, self.display, where.pool)
        self.results = work.run(None if replayed is None else replayed["fits"])
        self.fits = sorted(self.results)
        self.costs, self.interrupted = work.costs, work.interrupted
        self.seconds["fits"] = time.monotonic() - limits.started
        if self.schedule.furthest(self.results) is None:
            self._fit_quickly()
        self._conclude(replayed)
        self.seconds["refits"] = time.monotonic() - limits.started - self.seconds["fits"]
        if where.keeps and isinstance(journal, Journal):
            self._write(journal)

    def _fit_quickly(self) -> None:
        """Fit a linear model on few rows in this process, where there was no time for any fit."""
        if self.failed and not self.schedule.late:
            raise ValueError(self._why_nothing())
        self.notes += self._failures()
        baseline = [one for one in self.plan.algorithms if one.baseline]
        linear = [one for one in PEERS["linear"] if set(one.tasks) & set(baseline[0].tasks)]
        self.plan = replace(self.plan, algorithms=[*baseline, *linear], n_folds=2)
        rows = self.training_rows
        drawn = np.random.default_rng([self.plan.seed, 10]).permutation(rows.n_rows)[:QUICK_ROWS]
        self.training_rows = rows.take(np.sort(drawn))
        runner = FitRunner(self.plan, self.training_rows)
        self.schedule = Schedule(self.plan, self.training_rows, runner.splits, self.named)
        work = Work(self.schedule, runner, {}, WorkLimits(1), lambda *_: 0.0, self.display)
        self.results, self.costs = work.run(), work.costs
        self.schedule.late.add(0)
        self.notes.append(f"there was no time for more than a linear model on {self.training_rows.n_rows:,} rows")

    def _reserve(self, results: Results, costs: Costs) -> float:
        """Seconds for the refits and what follows: of the three slowest of the candidates that are finished."""
        slowest: dict[int, float] = {}
        for c in {fit.candidate for fit in results}:
            algorithm = self.plan.candidates[c].algorithm
            slowest[algorithm] = max(slowest.get(algorithm, 0.0), self._refit_seconds([c], costs))
        three = sum(sorted(slowest.values())[-3:])
        return AFTER + min(RESERVED * self.limits.seconds, three if math.isfinite(self.limits.seconds) else 0.0)

    def _is_enough(self, wanted: int | None, n_draws: int) -> bool:
        """Whether the draws of the choice end: where a repeat wants it, or to leave time for the refits."""
        self.n_draws = n_draws
        if wanted is not None:
            return n_draws >= wanted
        return n_draws >= FEWEST_DRAWS and self.limits.left < self._reserve(self.results, self.costs)

    def _refit_seconds(self, candidates: list[int], costs: Costs, tests: bool = True) -> float:
        """Return the seconds of fits of these candidates on all rows, and before on those that are not held out."""
        rows = [self.refits.n_rows] + ([len(self.refits.parts[0])] if tests and self.refits.n_test else [])
        return sum(costs.predict(c, n_rows) or 0.0 for c in candidates for n_rows in rows)

    def _is_affordable(self, recipe: Recipe) -> bool:
        """Whether there is time to train it on all rows."""
        parts = [part.candidate for part in recipe.parts]
        return self._refit_seconds(parts, self.costs, tests=False) < self.limits.left

    def _conclude(self, replayed: dict[str, Any] | None) -> None:
        """Choose, and train what is handed over in the time that is left."""
        reached = self.schedule.furthest(self.results)
        if reached is None:
            raise ValueError(self._why_nothing())
        self.level, numbers = reached
        self.display.show("choosing among the models")
        ranker = Ranker(self.schedule, self.level, numbers, self.results, self.stacks)
        allowed = {c for c in ranker.candidates if self._refit_seconds([c], self.costs, tests=False) < self.limits.left}
        if replayed is not None:
            allowed = replayed["allowed"]
        self.allowed = sorted(allowed or ranker.candidates)
        is_affordable = self._is_affordable if replayed is None else None
        is_enough = partial(self._is_enough, None if replayed is None else replayed["draws"])
        self.ranking = ranker.rank(self.prefer, set(self.allowed), is_affordable, is_enough)
        recipe = self.ranking.chosen.recipe
        parts = [part.candidate for part in recipe.parts]
        self.tests = self.refits.n_test > 0 and self._refit_seconds(parts, self.costs) < self.limits.left
        if replayed is not None:
            self.tests = replayed["tests"] and self.refits.n_test > 0
        self.notes += self._missing()
        self.display.show(f"training {words.name_of(self.ranking.chosen)} on all rows")
        if self.tests:
            self.model_without_test_rows = self.refits.fit_without(recipe)
        self.model = self._final(recipe)
        if self.certify is not None:  # the weights of a stack are no candidates that were fixed before
            models = [one for one in self.ranking.lines if one.algorithm is not None and not one.algorithm.baseline]
            single = (models or self.ranking.lines)[0]
            self.certified = cross_fit(single.recipe.parts[0], self.refits, self.plan)
        self.display.end()
        self.notes += self.refits.notes()

    def _final(self, recipe: Recipe) -> Any:
        """The model on all rows; on fewer where there is no time for all."""
        if isinstance(self.refits, ScannedRefits) and self.model_without_test_rows is not None:
            return self.model_without_test_rows
        parts, left = [part.candidate for part in recipe.parts], self.limits.left
        seconds = self._refit_seconds(parts, self.costs, tests=False)
        if seconds <= max(left, AFTER):
            return self.refits.fit_final(recipe)
        n_rows = self.refits.n_rows
        tried = [self.costs.seconds[c][0] for c in parts if c in self.costs.seconds]
        least = min(n_rows, max([FEWEST_ROWS, *tried]))
        wanted = int(np.clip(n_rows * max(left, AFTER) / seconds, least, n_rows))
        self.notes.append(f"trained on {wanted:,} of {n_rows:,} rows, since the time limit allows no more")
        which = np.sort(np.random.default_rng([self.plan.seed, 8]).permutation(n_rows)[:wanted])
        return self.refits.fit_final(recipe, which)

    # ------------------------------------------------------------ what is missing

    @property
    def failed(self) -> dict[str, str]:
        """Why algorithms failed, by name."""
        errors = {fit: result.message for fit, result in self.results.items() if isinstance(result, Failed)}
        return {self.plan.algorithm(fit.candidate).name: errors[fit] for fit in sorted(errors, reverse=True)}

    @property
    def not_run(self) -> list[str]:
        """Algorithms that no candidate of was finished in time."""
        tried = {self.plan.candidates[fit.candidate].algorithm for fit in self.results}
        cut = {self.plan.candidates[c].algorithm for c in self.schedule.unfinished(self.level, self.results)}
        shown = {line.name for line in self.ranking.lines}
        return [
            one.name
            for number, one in enumerate(self.plan.algorithms)
            if number not in tried or (number in cut and one.name not in shown)
        ]

    @property
    def is_partial(self) -> bool:
        """Whether there was no time for something."""
        return bool(self.schedule.late) or self.interrupted

    @property
    def dropped(self) -> list[str]:
        """Algorithms whose candidates were all dropped before the last fold."""
        return sorted(self._folds_of_dropped())

    def _folds_of_dropped(self) -> dict[str, int]:
        """Return in how many folds dropped candidates were tested; 0 for those that left in a screening."""
        elsewhere = {line.name for line in self.ranking.lines} | set(self.failed) | set(self.not_run)
        numbers, found = self.schedule.splits.numbers(self.level), dict[str, int]()
        for candidate in {fit.candidate for fit in self.results}:
            name = self.plan.algorithm(candidate).name
            if name not in elsewhere:
                found[name] = max(found.get(name, 0), sum(Fit(candidate, split) in self.results for split in numbers))
        return found

    def _missing(self) -> list[str]:
        """A line for each reason why algorithms are not in the table."""
        lines = self._failures()
        folds = self._folds_of_dropped()
        parts = []
        for n in sorted(set(folds.values())):
            when = f"after {n} fold{'s' if n > 1 else ''}" if n else "in the screening"
            parts.append(f"{when}: {'; '.join(literal(name) for name in sorted(folds) if folds[name] == n)}")
        if parts:
            lines.append(f"dropped {'. Dropped '.join(parts)}")
        if self.not_run:
            lines.append(f"not run (out of time): {'; '.join(map(literal, self.not_run))}")
        return lines

    def _failures(self) -> list[str]:
        return [f"failed: {literal(name)}: {literal(why)}" for name, why in self.failed.items()]

    def _why_nothing(self) -> str:
        failures = [f"{literal(name)}: {literal(why)}" for name, why in self.failed.items()]
        if failures:
            return "no model could be trained\n" + "\n".join(failures)
        return "no model was trained in the time limit: allow more"

    # ------------------------------------------------------------ results

    @property
    def winner(self) -> str:
        return self.ranking.chosen.name

    @property
    def estimate(self) -> float:
        return self.plan.metric.shown(self._facts().expected[0])

    @property
    def limit(self) -> float:
        return self.plan.metric.shown(self._facts().expected[1])

    @property
    def bound(self) -> float:
        bound = None if self.model_without_test_rows is None else self.model_without_test_rows.held_out_["bound"]
        return math.nan if bound is None else float(bound)

    @property
    def evidence(self) -> str:
        return "no evidence" if self.ranking.evidence is None else self.ranking.evidence.grade

    @property
    def setting(self) -> dict[str, Any]:
        recipe = self.ranking.chosen.recipe
        if recipe.is_stack:
            return {part.algorithm.name: part.weight for part in recipe.parts}
        return dict(recipe.parts[0].setting)

    @property
    def code(self) -> str:
        return report.as_code(self.refits.unfitted(self.ranking.chosen.recipe), self.check_up.cleaning is not None)

    @property
    def threshold(self) -> float | None:
        threshold = self.ranking.chosen.recipe.threshold
        return None if threshold == 0.5 else threshold

    @property
    def columns(self) -> report.Table:
        return columns_of(self.ranking, self.plan.metric)

    @property
    def printed(self) -> list[list[str]]:
        """The heads and the rows of the whole table, as it is printed."""
        return words.table_rows(self.ranking, self.plan.metric, len(self.ranking.lines))

    @property
    def frame(self) -> Any:
        return report.as_frame(self.columns, type(self.refits.X).__module__.split(".")[0], "columns")

    @property
    def outcomes(self) -> Outcomes:
        names = [line.name for line in self.ranking.lines]
        return Outcomes(names, self.ranking.losses, self.ranking.weight, self.plan.n_folds)

    @property
    def answer(self) -> list[str]:
        return words.sentences(self._facts())

    def _facts(self) -> words.AnswerFacts:
        rows, without = self.refits.rows, self.model_without_test_rows
        counts = np.bincount(rows.target, minlength=len(self.classes)) if len(self.classes) else np.empty(0)
        shares = (counts / max(1, counts.sum())).tolist()
        dependent = "group" if rows.group is not None else "time" if rows.time is not None else ""
        positive = self.positive if len(counts) == 2 else int(np.argmin(counts)) if len(counts) else 0
        held_out = None if without is None else without.held_out_
        is_screening = self.level < len(self.schedule.splits.levels) - 1
        n_fitted = len(self.schedule.splits.levels[self.level][0][0]) if is_screening else None
        shown = self.ranking, self.plan.metric, self.classes.tolist(), shares, positive, held_out, dependent, n_fitted
        return words.AnswerFacts(*shown, self.refits.n_test, self.check_up.findings)

    @property
    def head(self) -> str:
        rows, n_test = self.refits.rows, self.refits.n_test
        weighted = "" if rows.weight is None else "; errors are weighted"
        by = "; split by group" if rows.group is not None else "; split by time" if rows.time is not None else ""
        test = f"; {n_test:,} test rows held out" if n_test else ""
        drawn = self.refits.drawn_from
        n_folds = len(self.schedule.splits.levels[-1])
        where = f"{self.training_rows.n_rows:,} rows{drawn} in {n_folds} fold{'s' if n_folds > 1 else ''}{by}"
        return f"{where}{test}; seed {self.plan.seed}{weighted}"

    def __repr__(self) -> str:
        table = report.align(words.table_rows(self.ranking, self.plan.metric, MOST_LINES), {1, -1})
        certified = [self.certified.sentence] if self.certified is not None else []
        notes = words.wrapped([*self._not_printed(), *self.notes])
        lines = [*words.wrapped([*self.answer, *certified]), "", self.head, table, "", *notes]
        checked = ["", *words.wrapped(repr(self.check_up).splitlines())] if self.check_up.findings else []
        return "\n".join([*lines, *checked]).rstrip()

    def to_json(self) -> str:
        """The answer and the table for programs."""
        evidence = self.ranking.evidence
        facts = {
            "answer": self.answer,
            "winner": self.winner,
            "metric": self.plan.metric.name,
            "estimate": self.estimate,
            "limit": self.limit,
            "evidence": self.evidence,
            "p": None if evidence is None else evidence.p,
            "setting": self.setting,
            "table": self.columns,
            "notes": self.notes,
            "check_up": self.check_up.to_dict(),
        }
        return json.dumps(_finite(facts), indent=1, default=str)

    def to_markdown(self) -> str:
        """The answer and the table as Markdown."""
        heads, *rows = words.table_rows(self.ranking, self.plan.metric, MOST_LINES)
        lines = [line.strip() for line in self.answer]
        table = [heads, ["---"] * len(heads), *rows]
        cells = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]
        notes = [f"- {note}" for note in [*self._not_printed(), *self.notes]]
        return "\n".join([*(f"{line}  " for line in lines), "", *cells, "", *notes]).rstrip()

    def _not_printed(self) -> list[str]:
        """A line with the places and names of the models for which the printed table has no room."""
        lines = list(enumerate(self.ranking.lines, 1))
        rest = lines[MOST_LINES - 1 :] if len(lines) > MOST_LINES else []
        names = [f"{place} {literal(line.name)}" for place, line in rest if line is not self.ranking.baseline]
        return [f"not shown: {'; '.join(names)}"] if names else []

    # ------------------------------------------------------------ files

    def _write(self, journal: Journal) -> None:
        """Write the table as CSV, the models, and what was used, for a repeat."""
        write_text(journal.path(RESULTS), report.as_csv(self.columns))
        stored = {FINAL: self.model, BOUNDED: self.model_without_test_rows}
        for name, model in stored.items():
            path = journal.path(name)
            with suppress(FileNotFoundError):  # of an earlier run
                os.remove(path)
            if model is not None:
                self._save(model, path)
        fits = [[fit.candidate, fit.split] for fit in self.fits]
        journal.write_outcome({"fits": fits, "allowed": self.allowed, "draws": self.n_draws, "tests": self.tests})
        if not self.is_partial:
            journal.close()

    def _save(self, model: Any, path: str) -> None:
        try:
            model.save(path)
        except (AttributeError, NotStorableError, TypeError) as error:
            why = str(error) if isinstance(error, NotStorableError) else "it is no model of this package"
            self.notes.append(f"{words.name_of(self.ranking.chosen)} is not stored: {literal(why)}")


def _finite(value: Any) -> Any:
    """Return the value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
