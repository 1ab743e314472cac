"""Column generation: repeatedly adds the best voter under the dual weights and solves for all weights.

LPBoost's method: its `advance` is its solver. Every round has a duality gap, which proves how far the weights are from
the best ones over all voters that the search could have found.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.algorithms.lpboost import Margin
from electorate.algorithms.protocol import Step
from electorate.algorithms.solvers.linear import Master, master_of
from electorate.data.bins import Bins
from electorate.engines.distinct import DistinctBins, DistinctRows, distinct_rows
from electorate.exact import Floats, Ints, on_grid
from electorate.families.by_rows import ByRows
from electorate.families.trees import Search, Voter
from electorate.families.wrapped import Wrapped
from electorate.model.casting import Cast, PastRun
from electorate.model.text import column_names
from electorate.model.trace import Trace
from electorate.training.classification import Group, LabelBench, find_bins, row_reader
from electorate.training.stagewise import ALMOST_NOTHING
from electorate.training.worker_data import Outline

TWO = np.arange(2)
COLUMNS = ("step", "edge", "error", "objective", "gap", "train_error", "n_voters", "seconds", "kept")
NO_COUNTS = np.zeros((0, 0), dtype=np.int64)


@dataclass
class GeneratedVoter:
    """A voter, the outputs of its leaves, and its output for every example."""

    voter: Any
    leaves: Floats  # [leaf, output]
    outputs: Floats  # [example]
    edge: float = np.nan  # and error, under the weights that it was found by
    error: float = np.nan


class WeightedSearch:
    """The best voter of a family under given weights of distinct examples. make: the family, for a group of labels."""

    def __init__(self, engine: DistinctBins | DistinctRows, bins: Bins, make: Callable[[Ints], Any]) -> None:
        self.engine, self.bins, self.make = engine, bins, make
        self.mass = engine.mass

    def start(self, group: Ints) -> None:
        self.engine.start(group)
        self.signs = self.engine.signs
        self.family = self.make(group)

    def best(self, weights: Floats) -> GeneratedVoter:
        return self._candidate(self.family.best(self._search(weights)))

    def constant(self, weights: Floats) -> GeneratedVoter:
        return self._candidate(self.family.constant(self._search(weights)))

    def _search(self, weights: Floats) -> Search:
        engine = self.engine
        if isinstance(engine, DistinctBins):
            return Search(engine.sums(weights), self.bins, engine.counts, engine.engine)
        return Search(engine.sums(weights), self.bins, NO_COUNTS, engine)

    def _candidate(self, voter: Voter) -> GeneratedVoter:
        """Outputs are scaled into -1 to 1, so that voters of larger scales do not count for more."""
        leaves = self.family.outputs(voter, self.engine.n_counted, "label")
        largest = float(np.abs(leaves).max(initial=0.0))
        if not np.isfinite(largest):
            raise ValueError("a leaf outputs infinity, which no margin can hold: give the family a smoothing above 0")
        leaves = np.asarray(leaves / largest) if largest > 1 else leaves
        return GeneratedVoter(voter, leaves, self.engine.outputs(voter, leaves))


class ColumnGeneration:
    """Voters found, their weights, and the best bound on what any weights can reach.

    examples: their `mass` (sample weights as given), their labels as `signs`, and `best(weights)` and
    `constant(weights)`, the candidates under weights of the examples.
    """

    ended: str | None = None

    def __init__(self, examples: Any, margin: Margin, master: Master, tol: float) -> None:
        self.examples, self.margin, self.master, self.tol = examples, margin, master, tol
        self.trace = Trace(COLUMNS)
        self.found: list[GeneratedVoter] = []
        self.seen: set[bytes] = set()  # outputs of the voters found
        self.alpha = np.empty(0)
        self.margins = np.zeros(len(examples.mass))
        self.weights = margin.first_weights(examples.mass)
        self.objective = -np.inf if margin.normalised else margin.primal(self.alpha, self.margins)
        self.bound = np.nan
        self.failed = ""  # the solver's message
        self.started = time.perf_counter()

    @property
    def gap(self) -> float:
        return self.margin.gap(self.objective, self.bound)

    @property
    def one_sided(self) -> bool:
        """Whether a label has almost no weight: it must not decide by a handful of light rows."""
        mass, signs = self.examples.mass, self.examples.signs
        lighter = min(float(mass[signs > 0].sum()), float(mass[signs < 0].sum()))
        return lighter < ALMOST_NOTHING * float(mass.sum())

    def advance(self, most: int) -> str | None:
        for _ in range(most):
            reason = self._round()
            if reason is not None:
                if self.trace.n_rounds:
                    self.trace.note("gap", self.gap)
                return reason
        return None

    def _round(self) -> str | None:
        candidate = self.examples.best(self.weights)
        self._improve_bound(candidate)
        if self.gap <= self.tol or candidate.outputs.tobytes() in self.seen:
            return "converged"
        if self.one_sided if self.found else not np.any(candidate.outputs):
            return "no_edge"
        if not self.found and self.one_sided:
            candidate = self.examples.constant(self.weights)
        award, total = self.examples.signs * candidate.outputs, float(self.weights.sum())
        candidate.edge = float(np.sum(self.weights * award)) / total
        candidate.error = float(self.weights[award < 0].sum()) / total
        self.master.add(award)
        solution = self.master.solve()
        if solution is None:
            self.failed = self.master.status
            return "solver"
        self.found.append(candidate)
        self.seen.add(candidate.outputs.tobytes())
        self.alpha, self.weights = np.asarray(on_grid(solution.alpha)), solution.weights
        self._record(candidate)
        return None

    def _improve_bound(self, candidate: GeneratedVoter) -> None:
        """The largest edge under the weights bounds what any weights of voters can reach."""
        active = [old for old, size in zip(self.found, self.alpha.tolist(), strict=True) if size > 0]
        edges = [float(np.sum(self.weights * self.examples.signs * one.outputs)) for one in [candidate, *active]]
        bound = self.margin.dual(self.weights, max(edges))
        if np.isnan(self.bound) or self.margin.gap(self.objective, bound) < self.gap:
            self.bound = bound

    def _record(self, candidate: GeneratedVoter) -> None:
        """Margins are exact, as the ensemble votes: steps times outputs are on the grid."""
        mass, signs = self.examples.mass, self.examples.signs
        votes = np.zeros(len(mass))
        for found, size in zip(self.found, self.alpha.tolist(), strict=True):
            if size > 0:
                votes += on_grid(size * found.outputs)
        self.margins = np.asarray(votes * signs)
        self.objective = self.margin.primal(self.alpha, self.margins)
        wrong = np.where(signs > 0, self.margins <= 0, self.margins < 0)
        row = {"step": float(self.alpha[-1]), "edge": candidate.edge, "error": candidate.error}
        row |= {"objective": self.objective, "gap": self.gap, "train_error": float(mass[wrong].sum() / mass.sum())}
        row |= {"n_voters": int(np.count_nonzero(self.alpha)), "seconds": time.perf_counter() - self.started}
        self.trace.add_round([], row)
        self.trace.set_weights(self.alpha.tolist())
        self.trace.history["kept"][:] = self.alpha > 0

    def cast(self, number: int, weight: float) -> Cast:
        found = self.found[number]
        return Cast(found.voter, found.leaves, Step(weight, found.edge, found.error))


# ---------------------------------------------------------------- the bench


class LPBench(LabelBench):
    """LPBoost over a family, in this process. margin: the program, given the sample weights of the examples."""

    def __init__(self, model: Any, place: Any, outline: Outline, margin: Callable[[Floats], Margin]) -> None:
        super().__init__(model, outline)
        self.margin = margin
        self.examples = place.data.examples["train"]
        self.reader = row_reader(model, outline.classes, "any" if model._by_rows else "label")
        self.bins = find_bins(model, place)
        self.search: WeightedSearch | None = None
        self.failed = ""  # the message of a solver that gave up
        self.margins: list[float] = []  # rho of each run in nu

    def past(self, task: Group) -> PastRun:
        return PastRun(Trace(COLUMNS))

    def start(self, task: Group, past: PastRun) -> ColumnGeneration | None:
        if len(self.outline.classes) == 1:
            return None
        if self.search is None:
            self.search = self._over_bins() if self.model._is_native else self._over_rows()
        self.search.start(TWO if task[1] is None else task[1])
        margin = self.margin(self.search.mass)
        return ColumnGeneration(self.search, margin, master_of(margin, self.model.solver), self.model.tol)

    def _over_bins(self) -> WeightedSearch:
        family = self.model._family()
        return WeightedSearch(DistinctBins(self.examples, self.bins), self.bins, lambda group: family)

    def _over_rows(self) -> WeightedSearch:
        model, reader, examples = self.model, self.reader, self.examples
        first, labels, mass = distinct_rows(examples.table, examples.labels, examples.weights)
        rows = examples.table[first]

        def family_of(group: Ints) -> Any:
            if model._by_rows:
                return ByRows(model._family(), rows, reader, column_names(model))
            return Wrapped(model._family(), rows, reader.classes[group[labels]], reader, model.random_state)

        engine = DistinctRows(labels, len(self.outline.classes), mass, lambda voter: reader.of(voter, rows))
        return WeightedSearch(engine, self.bins, family_of)

    def finish(self, method: Any) -> None:
        self.failed = method.failed or self.failed
        if method.margin.normalised:
            self.margins.append(method.margin.rho(method.margins))

    def used(self, trace: Trace, run: Any) -> list[Any]:
        return [cast for cast in super().used(trace, run) if cast.step.size > 0]

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        attributes = super().fitted(traces, runs)
        unsolved = [trace.stop_reason for trace in traces if trace.stop_reason != "converged"]
        return attributes | ({"stop_reason_": unsolved[0]} if unsolved else {})
