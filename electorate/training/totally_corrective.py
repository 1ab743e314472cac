"""New weights for given voters: the programs of RLPBoost and RQPBoost, and the Lasso, on a matrix of their outputs.

Rows with the same outputs of all voters and the same label are one example: the weights do not depend on the order of
the rows, and a weight of k equals k rows.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from electorate.algorithms.lpboost import Margin, margins_of
from electorate.algorithms.quadboost import L1, WeightRules
from electorate.algorithms.solvers.linear import master_of
from electorate.algorithms.solvers.quadratic import solve_quadratic
from electorate.algorithms.totally_corrective import rqp
from electorate.data.row_subset import group_rows, keys_of, mass_of
from electorate.data.weights import Weights
from electorate.engines.shard import counts_of
from electorate.exact import Bools, Floats, Ints, on_grid
from electorate.families.means import PoolMeans
from electorate.model.trace import Trace
from electorate.training.column_generation import COLUMNS, ColumnGeneration, GeneratedVoter
from electorate.training.pool_rounds import PoolRounds
from electorate.training.run import run

NO_LEAVES = np.empty((0, 1))
AT_ONCE = 20  # voters that enter before a linear program is solved again
FAINT = 1e-7  # of the heaviest voter's weight: what an interior point leaves of none
MOST_ROUNDS = 20_000  # of the Lasso: near-copies of each other creep for ever


@dataclass(frozen=True)
class VoterMatrix:
    """Voters and examples; rows with the same outputs and label are one example.

    outputs[voter, example] from -1 to 1; the examples' labels as +-1 and their sample weights as given; times: how
    often the ensemble has each voter.
    """

    outputs: Floats
    signs: Floats
    mass: Floats
    times: Floats

    @classmethod
    def of(cls, outputs: Floats, second: Bools, counts: Ints, given: float, times: Ints | None = None) -> "VoterMatrix":
        """second[row]: whether the label is the second one; counts: integers in proportion to the weights."""
        first, place = group_rows(keys_of(outputs.T), second.astype(np.int64))
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, place, counts)
        signs = np.where(second[first], 1.0, -1.0)
        often = np.ones(len(outputs)) if times is None else times.astype(np.float64)
        return cls(np.ascontiguousarray(outputs[:, first]), signs, mass_of(total, given), often)

    @cached_property
    def awards(self) -> Floats:
        return self.outputs * self.signs

    def edges(self, weights: Floats) -> Floats:
        with threadpool_limits(1):  # BLAS sums in another order on more threads
            return np.asarray(self.awards @ weights)

    def only(self, voters: Ints) -> "VoterMatrix":
        return VoterMatrix(self.outputs[voters], self.signs, self.mass, self.times[voters])

    def best(self, weights: Floats) -> GeneratedVoter:
        t = int(np.argmax(self.edges(weights)))
        return GeneratedVoter(t, NO_LEAVES, self.outputs[t])  # the voter is its number

    def constant(self, weights: Floats) -> GeneratedVoter:
        """The best of those with one output for every example, or of all where none has."""
        same = np.flatnonzero(np.all(self.outputs == self.outputs[:, :1], axis=1))
        if not len(same):
            return self.best(weights)
        t = int(same[np.argmax(self.awards[same] @ weights)])
        return GeneratedVoter(t, NO_LEAVES, self.outputs[t])


@dataclass(frozen=True)
class Weighed:
    """alpha[voter], the objective, the duality gap; residual of the optimality conditions; the failure, if any."""

    alpha: Floats
    objective: float
    gap: float
    residual: float = 0.0
    failed: str = ""


def counted_rows(weights: Weights) -> tuple[Ints, Ints]:
    """The rows that have a weight, and integers in proportion to their weights."""
    used, counts = np.flatnonzero(weights.times), counts_of(weights)
    return used, counts[used] if len(counts) else np.ones(len(used), dtype=np.int64)


def first_of_each(outputs: Floats) -> tuple[Ints, Ints]:
    """The voters, but of those with the same output for every row only the first; and how many of each there are."""
    _, first, times = np.unique(keys_of(outputs), return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], times[order]


def weigh_linear(voters: VoterMatrix, margin: Margin, solver: str, tol: float = 1e-9) -> Weighed:
    """The largest soft margin over all these voters; they enter only as they are needed."""
    generation = ColumnGeneration(voters, margin, master_of(margin, solver), tol)
    master, alpha, objective = generation.master, np.zeros(len(voters.outputs)), -np.inf
    if generation.one_sided:
        run(generation, len(alpha) + 1)
        for candidate, size in zip(generation.found, generation.alpha.tolist(), strict=True):
            alpha[candidate.voter] += size
        return Weighed(alpha, generation.objective, generation.gap, 0.0, generation.failed)
    weights, entered = margin.first_weights(voters.mass), np.empty(0, dtype=np.int64)
    while True:
        edges = voters.edges(weights)
        gap = margin.gap(objective, margin.dual(weights, float(edges.max())))
        best = np.argsort(-edges, kind="stable")[:AT_ONCE]  # new are those with larger edges than all that are in
        new = np.setdiff1d(best[edges[best] > float(edges[entered].max(initial=-np.inf))], entered)
        if gap <= tol or not len(new):
            return Weighed(alpha, objective, gap)
        for t in new:
            master.add(voters.awards[t])
        solution = master.solve()
        if solution is None:
            return Weighed(alpha, objective, gap, 0.0, master.status)
        entered, weights = np.concatenate([entered, new]), solution.weights
        alpha = np.zeros(len(voters.outputs))
        alpha[entered] = on_grid(solution.alpha)
        margins = margins_of(alpha[entered], list(voters.awards[entered]), len(voters.mass))
        objective = margin.primal(alpha[entered], margins)


def weigh_quadratic(voters: VoterMatrix, c: float, tol: float = 1e-9) -> Weighed:
    """RQPBoost, with a weight for every copy of a voter.

    k copies share their weight equally at the optimum, so a total of alpha costs alpha^2 / k. With beta =
    alpha / sqrt(k) this is the usual program for outputs multiplied by sqrt(k).
    """
    form, root = rqp(voters.mass, c), np.sqrt(voters.times)
    found = solve_quadratic(root[:, None] * voters.awards, form, tol)
    weights = root * found.alpha
    alpha = np.asarray(on_grid(np.where(weights > FAINT * weights.max(initial=0.0), weights, 0.0)))
    objective = form.primal(alpha / root, margins_of(alpha, list(voters.awards), len(voters.mass)))
    failed = "" if found.converged else "the interior point method ended early"
    gap = found.gap + max(0.0, objective - found.objective) / max(1.0, abs(objective))
    return Weighed(alpha, objective, gap, found.residual, failed)


def weigh_again(
    outputs: Any, rows: Any, examples: Any, groups: list[Ints], weigh: Callable[[VoterMatrix], Weighed]
) -> tuple[list[list[tuple[int, float]]], list[Trace], str]:
    """Weigh the voters of an ensemble for each group of labels: the voters with weights, traces, a failure's message.

    outputs: of the ensemble's voters; of equal ones the first has the weight of all.
    """
    used, counts = counted_rows(examples.weights)
    picks, traces, failed = [], [], ""
    for number, group in enumerate(groups):
        started = time.perf_counter()
        mine = np.flatnonzero(outputs.steps(number) > 0)
        matrix = outputs.outputs(rows, number)[np.ix_(mine, used)]
        distinct, times = first_of_each(matrix) if len(mine) else (mine, mine)
        mine, second = mine[distinct], group[examples.labels[used]] > 0
        voters = VoterMatrix.of(matrix[distinct], second, counts, examples.weights.given, times)
        found = weigh(voters) if len(mine) else Weighed(np.empty(0), 0.0, 0.0)
        picks.append([(int(mine[t]), float(found.alpha[t])) for t in np.flatnonzero(found.alpha)])
        traces.append(trace_of(found, voters, time.perf_counter() - started))
        failed = found.failed or failed
    return picks, traces, failed


def trace_of(found: Weighed, voters: VoterMatrix, seconds: float) -> Trace:
    """A round for every voter that has a weight; its edge and error are under the sample weights."""
    used = np.flatnonzero(found.alpha)
    share = voters.mass / voters.mass.sum()
    margins = found.alpha @ voters.awards if len(used) else np.zeros(len(share))
    wrong = np.where(voters.signs > 0, margins <= 0, margins < 0)
    numbers = np.arange(1, len(used) + 1)
    same = {"objective": found.objective, "gap": found.gap, "residual": found.residual, "kept": 1.0}
    same |= {"train_error": float(share[wrong].sum()), "seconds": seconds}
    history = {name: np.full(len(used), value) for name, value in same.items()}
    history |= {"step": found.alpha[used], "n_voters": numbers}
    history["edge"] = np.array([float(np.sum(share * voters.awards[t])) for t in used])
    history["error"] = np.array([float(np.sum(share[voters.awards[t] < 0])) for t in used])
    trace = Trace(COLUMNS)
    trace.add_rounds(numbers, used, found.alpha[used], history)
    trace.stop_reason = "converged"
    return trace


# ---------------------------------------------------------------- the Lasso


def pool_of_voters(voters: VoterMatrix) -> PoolMeans:
    """Given voters as a pool: all that least squares needs of the examples. y is +-1."""
    share = voters.mass / voters.mass.sum()
    with threadpool_limits(1):
        gram = (voters.outputs * share) @ voters.outputs.T
        mu = voters.outputs @ (share * voters.signs)

    def row(k: int) -> Floats:
        return np.asarray(gram[k])

    return PoolMeans(mu, np.ascontiguousarray(np.diag(gram)), 1.0, row)


def lasso(pool: PoolMeans, strengths: Iterable[float], tol: float = 1e-9) -> Iterator[Floats]:
    """min mean (y - f)^2 + 2 lam |alpha|_1 for each lam in turn: QuadBoost-L1 on these voters, to a gap of tol."""
    rounds = PoolRounds(pool, WeightRules(L1(0.0)))
    for lam in strengths:
        rounds = rounds.with_rules(WeightRules(L1(lam), "cyclic", tol))
        run(rounds, MOST_ROUNDS)
        yield rounds.weight.copy()
