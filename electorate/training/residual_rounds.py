"""QuadBoost where the best voter is searched each round: stumps, trees, rules, kernels, regressors.

The family is searched by the residuals. A voter enters by its edge c = mu - M and its mean square eta; stored voters
are re-weighted by their exact correlations with the residual, which every round begins with.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate import kernels
from electorate.algorithms.quadboost import WeightRules
from electorate.exact import Floats, on_grid
from electorate.model.trace import Trace
from electorate.training.pool_rounds import QuadRounds

WeightChange = tuple[int, float, float]  # voter, old weight, new weight


@dataclass(frozen=True)
class SearchedVoter:
    """A voter with its correlation c with the residuals and its mean square eta. key: equal for equal voters."""

    key: Hashable
    voter: Any
    c: float
    eta: float


class ResidualSearch:
    """Rows, their residuals and the voters so far."""

    power = 1.0  # the mean of y^2

    def __init__(self) -> None:
        self.found: list[SearchedVoter] = []  # in the order in which they came
        self._best: tuple[SearchedVoter | None] | None = None

    @property
    def covariance(self) -> float:
        """The mean of y (y - f)."""
        raise NotImplementedError

    @property
    def error(self) -> float:
        """The error of the votes; of numbers, the mean of (y - f)^2."""
        raise NotImplementedError

    def best(self) -> SearchedVoter | None:
        if self._best is None:
            self._best = (self._search(),)
        return self._best[0]

    def _search(self) -> SearchedVoter | None:
        raise NotImplementedError

    def measured(self, voter: Any) -> SearchedVoter:
        """A voter with its numbers."""
        raise NotImplementedError

    def add(self, found: SearchedVoter) -> None:
        """Store a new voter."""
        self.found.append(found)

    def correlations(self) -> Floats:
        """Return the correlations of the stored voters with the residual."""
        raise NotImplementedError

    def gram(self, k: int) -> Floats:
        """Return the inner products of voter k with the stored voters."""
        raise NotImplementedError

    def apply(self, changes: list[WeightChange]) -> None:
        self._best = None


class ResidualRounds(QuadRounds):
    """Rounds like those of `PoolRounds`, over a family that is searched."""

    def __init__(self, search: ResidualSearch, rules: WeightRules) -> None:
        super().__init__(rules, search.power)
        self.search = search
        self.weights: list[float] = []
        self.numbers: dict[Hashable, int] = {}
        self.changes: list[WeightChange] = []  # of this round, with their details
        self.details: list[tuple[float, ...]] = []

    def voter(self, number: int) -> Any:
        return self.search.found[number].voter

    @property
    def sizes(self) -> list[float]:
        return self.weights

    @property
    def risk(self) -> float:
        """Return the risk by what the moves lowered it."""
        return max(self.power - self.fall - self.penalty, 0.0)

    @property
    def gap(self) -> float:
        """Return the Lasso's duality gap for L1 if the search is exhaustive; if not, over the voters found."""
        if self.rules.penalty.kind != 1:
            return math.inf
        best = self.search.best()
        return self._gap(0.0 if best is None else abs(best.c))

    def _gap(self, largest: float) -> float:
        stored = np.abs(self.search.correlations()).tolist() if self.rules.mode else []
        size = math.fsum(map(abs, self.weights))
        numbers = self.risk, self.search.covariance, size, max([largest, *stored])
        return float(kernels.lasso_gap(float(self.rules.penalty.lam), *numbers))

    # ------------------------------------------------------------ rounds

    def advance(self, most: int) -> str | None:
        for _ in range(most):
            reason = self._round()
            if reason is not None:
                return reason
        return None

    def _round(self) -> str | None:
        rules, best = self.rules, self.search.best()
        largest = 0.0 if best is None else abs(best.c)
        if rules.penalty.kind == 1:
            near = self._gap(largest) <= rules.tol if rules.mode else largest <= rules.penalty.lam + rules.tol
            if near:
                return "converged"
        if best is not None and best.key not in self.numbers and self._full:
            if rules.mode == 0:
                return "max_voters"
            best = None
        self.changes, self.details = [], []
        {"never": self._enter, "cyclic": self._sweep, "greedy": self._greedy}[rules.reweight](best)
        if not self.changes:
            return "no_edge"
        self.search.apply(self.changes)
        number = np.full(len(self.changes), self.trace.n_rounds + 1)
        voters = np.array([voter for voter, _, _ in self.changes])
        self.record(number, voters, np.array(self.details), train_error=[self.search.error])
        return None

    @property
    def _full(self) -> bool:
        return self.rules.max_voters is not None and int(np.count_nonzero(self.weights)) >= self.rules.max_voters

    def _number(self, voter: SearchedVoter) -> int:
        """The number of a voter, which is stored if it is new."""
        if voter.key not in self.numbers:
            self.numbers[voter.key] = len(self.weights)
            self.weights.append(0.0)
            self.search.add(voter)
        return self.numbers[voter.key]

    def _enter(self, best: SearchedVoter | None) -> None:
        """A voter enters, perhaps as a copy, with a part of its best weight: the objective is convex in it."""
        if best is not None:
            new = float(on_grid(self.rules.rate * self._best_move(best, best.c, 0.0)[0]))
            if self.rules.penalty.drop(best.c, best.eta, 0.0, new) > 0:
                self._move(self._number(best), best, best.c, 0.0, new)

    def _greedy(self, best: SearchedVoter | None) -> None:
        """Old or new, the voter that lowers the objective most moves."""
        moves = list(zip(self.search.found, self.search.correlations().tolist(), self.weights, strict=True))
        if best is not None and best.key not in self.numbers:
            moves.append((best, best.c, 0.0))
        options = [self._best_move(*move) for move in moves]
        k = max(range(len(options)), key=lambda k: options[k][1], default=-1)
        if k >= 0 and options[k][1] > 0:
            self._move(self._number(moves[k][0]), *moves[k], options[k][0])

    def _sweep(self, best: SearchedVoter | None) -> None:
        """The best voter enters, or moves; then all that have a weight, one after another."""
        if best is not None and (best.key in self.numbers or self._best_move(best, best.c, 0.0)[1] > 0):
            first = [self._number(best)]
        else:
            first = []
        c = np.array(self.search.correlations())
        for k in [*first, *range(len(c))]:
            voter, old = self.search.found[k], self.weights[k]
            if old == 0 and k not in first:
                continue
            new, drop = self._best_move(voter, float(c[k]), old)
            if drop > 0:
                self._move(k, voter, float(c[k]), old, new)
                c -= (new - old) * self.search.gram(k)

    def _best_move(self, voter: SearchedVoter, c: float, old: float) -> tuple[float, float]:
        """The best weight of a voter, and by how much the objective falls."""
        if old == 0 and self._full and self.rules.mode:
            return 0.0, 0.0
        new = self.rules.penalty.best(c + old * voter.eta, voter.eta)
        return new, self.rules.penalty.drop(c, voter.eta, old, new) if new != old else 0.0

    def _move(self, k: int, voter: SearchedVoter, c: float, old: float, new: float) -> None:
        """old: 0 for a copy that enters, whatever weight the voter has."""
        drop = self.rules.penalty.drop(c, voter.eta, old, new)
        self._change(k, new - old, (new, c + old * voter.eta, drop))

    def _change(self, k: int, more: float, details: tuple[float, float, float]) -> None:
        """Add to the weight of a voter. details: step, edge, and by how much the objective falls."""
        before = self.weights[k]
        self.weights[k] = before + more
        self.changes.append((k, before, self.weights[k]))
        self.details.append((self.weights[k], *details, float(np.count_nonzero(self.weights))))

    # ------------------------------------------------------------ resuming

    def _redo(self, past: Trace, voters: Sequence[Any]) -> Floats:
        if int(past.voters.max()) >= len(voters):
            raise ValueError(
                f"The moves name voter {past.voters.max()}, and these rows have {len(voters)} voters: training can "
                "only resume on the rows and with the family that the model was fitted with."
            )
        for voter in voters:
            self._number(self.search.measured(voter))
        for voter, weight in past.last_weights():
            self.weights[voter] = weight
        self.search.apply([(k, 0.0, weight) for k, weight in enumerate(self.weights)])
        return past.details

    def _refuse_other_rows(self, past: Trace) -> None:
        if self.rules.mode == 0:  # the correlations would cost a pass for every voter
            self._refuse_other("train_error", past, self.search.error, 0.0)
            return
        risk = self.search.covariance - float(np.array(self.weights) @ self.search.correlations())
        self._refuse_other("objective", past, risk + self.penalty, 1e-8)
