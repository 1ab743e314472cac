"""Column generation: the best voter under the dual weights enters the program, is solved for, and again.

What LPBoost has in the place of the loop: its `advance` is its solver. Every round has a duality gap, which proves how
far the weights are from the best ones over all voters that the search could have found.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.programs import Margin, Master, Normalised
from electorate.algorithms.protocol import Step
from electorate.grid import on_grid
from electorate.model.outcome import Cast, Outcome
from electorate.training.stagewise import ALMOST_NOTHING

Floats = NDArray[np.float64]


@dataclass
class Candidate:
    """A voter, the outputs of its leaves, and what it says of every example."""

    voter: Any
    outputs: Floats  # [leaf, output]
    said: Floats  # [example]


class Examples(Protocol):
    @property
    def mass(self) -> Floats:
        """Sample weights as given."""
        ...

    @property
    def signs(self) -> Floats:
        """The labels as +-1."""
        ...

    def best(self, weights: Floats) -> Candidate: ...

    def constant(self, weights: Floats) -> Candidate: ...


@dataclass
class Generation:
    """The state of a run: voters found, their weights, and the best bound on what any weights can reach."""

    examples: Examples
    margin: Margin
    master: Master
    found: list[Candidate] = field(default_factory=list)
    edges: list[tuple[float, float]] = field(default_factory=list)  # edge and error, when each was found
    seen: set[bytes] = field(default_factory=set)
    alpha: Floats = field(default_factory=lambda: np.empty(0))
    margins: Floats = field(default_factory=lambda: np.zeros(1))
    objective: float = np.nan
    bound: float = np.nan
    failed: str = ""  # what the solver said

    def run(self, rounds: int, tol: float, watch: Callable[[Outcome], str | None]) -> Outcome:
        started = time.perf_counter()
        outcome = Outcome()
        weights = self.margin.first_weights(self.examples.mass)
        self.objective = self._start()
        for number in range(rounds):
            candidate = self.examples.best(weights)
            self._see(candidate, weights)
            reason = self._why_stop(candidate, tol)
            if reason is not None:
                break
            if number == 0 and self.lopsided:
                candidate = self.examples.constant(weights)
            weights = self._enter(candidate, weights)
            if self.failed:
                reason = "solver"
                break
            outcome.rows.append(self._row(time.perf_counter() - started))
            self._show(outcome)
            reason = watch(outcome)
            if reason is not None:
                break
        if outcome.rows:
            outcome.rows[-1]["gap"] = self.gap
        outcome.stop_reason = reason or "n_estimators"
        outcome.done = True
        return outcome

    def _show(self, outcome: Outcome) -> None:
        """The voters with a weight now; every row of history says whether its voter has one."""
        outcome.casts = self.casts
        for row, size in zip(outcome.rows, self.alpha.tolist(), strict=True):
            row["kept"] = float(size > 0)

    def _start(self) -> float:
        """The objective without voters; the form in nu has none, since their weights sum to 1."""
        nobody = np.zeros(len(self.examples.mass))
        return -np.inf if isinstance(self.margin, Normalised) else self.margin.primal(self.alpha, nobody)

    def _see(self, candidate: Candidate, weights: Floats) -> None:
        """The largest edge under these weights bounds what any weights of voters can reach."""
        edge = float(np.sum(weights * self.examples.signs * candidate.said))
        known = [float(np.sum(weights * self.examples.signs * c.said)) for c in self._active()]
        bound = self.margin.dual(weights, max([edge, *known]))
        if np.isnan(self.bound) or self.margin.gap(self.objective, bound) < self.gap:
            self.bound = bound

    def _active(self) -> list[Candidate]:
        return [c for c, size in zip(self.found, self.alpha.tolist(), strict=True) if size > 0]

    def _why_stop(self, candidate: Candidate, tol: float) -> str | None:
        if self.gap <= tol or candidate.said.tobytes() in self.seen:
            return "converged"
        if self.found and self.lopsided:
            return "no_edge"
        if not self.found and not np.any(candidate.said):
            return "no_edge"
        return None

    @property
    def lopsided(self) -> bool:
        """As in the loop: a label with almost no weight must not decide by a handful of light rows."""
        mass, signs = self.examples.mass, self.examples.signs
        lighter = min(float(mass[signs > 0].sum()), float(mass[signs < 0].sum()))
        return lighter < ALMOST_NOTHING * float(mass.sum())

    def _enter(self, candidate: Candidate, weights: Floats) -> Floats:
        """Solve with one voter more; the new weights of the examples."""
        award = self.examples.signs * candidate.said
        total = float(weights.sum())
        edge, error = float(np.sum(weights * award)) / total, float(weights[award < 0].sum()) / total
        self.master.add(award)
        solution = self.master.solve()
        if solution is None:
            self.failed = self.master.status
            return weights
        self.found.append(candidate)
        self.edges.append((edge, error))
        self.seen.add(candidate.said.tobytes())
        self.alpha = np.asarray(on_grid(solution.alpha))
        self.margins = self._margins()
        self.objective = self.margin.primal(self.alpha, self.margins)
        return solution.weights

    def _margins(self) -> Floats:
        """Exact, as the ensemble will vote: steps times outputs are on the grid."""
        margins = np.zeros(len(self.examples.mass))
        for candidate, size in zip(self.found, self.alpha.tolist(), strict=True):
            if size > 0:
                margins += on_grid(size * candidate.said)
        return np.asarray(margins * self.examples.signs)

    @property
    def gap(self) -> float:
        return self.margin.gap(self.objective, self.bound)

    @property
    def casts(self) -> list[Cast]:
        """The voters that have a weight."""
        every = zip(self.found, self.alpha.tolist(), self.edges, strict=True)
        return [Cast(c.voter, c.outputs, Step(size, *sums)) for c, size, sums in every if size > 0]

    def _row(self, seconds: float) -> dict[str, float]:
        margins, mass = self.margins, self.examples.mass
        wrong = np.where(self.examples.signs > 0, margins <= 0, margins < 0)
        edge, error = self.edges[-1]
        return {
            "step": float(self.alpha[-1]),
            "edge": edge,
            "error": error,
            "objective": self.objective,
            "gap": self.gap,
            "train_error": float(mass[wrong].sum() / mass.sum()),
            "n_voters": int(np.count_nonzero(self.alpha)),
            "seconds": seconds,
        }
