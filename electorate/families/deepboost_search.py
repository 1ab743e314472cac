"""DeepBoost's search, lines 4 to 11 of Figure 2: in every round the best of all old and new voters moves.

The shards store the outputs of each voter; an exchange returns the edges of all. A step may cancel a voter exactly; one
that is found again is the same voter, whichever sign it has.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.deepboost import DeepBoost
from electorate.algorithms.losses import value_at_one
from electorate.algorithms.protocol import Step
from electorate.exact import exp, log, on_grid, ordered_sum
from electorate.families.by_rows import Always, ByRows
from electorate.families.priced_trees import Prices, depth_of, priced_trees
from electorate.families.splits import least_rows
from electorate.families.trees import ChosenStep, Limits, Search, Trees, Voter
from electorate.families.union import Union
from electorate.messages import Change, StoredVoter

FARTHEST = 64.0  # nats that one searched step may move an example
MOST_TRIALS = 100  # points of one line search


@dataclass(frozen=True)
class Weighted:
    """The voters so far, with their weights and prices Lambda."""

    voters: list[Voter] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    prices: list[float] = field(default_factory=list)

    def moved(self, voter: Voter, price: float, size: float) -> "Weighted":
        """Return the state with one more step of a voter, by its number; the next number is a new voter."""
        assert voter.number is not None
        if voter.number == len(self.voters):
            return Weighted([*self.voters, voter], [*self.weights, size], [*self.prices, price])
        weights = list(self.weights)
        weights[voter.number] += size
        return replace(self, weights=weights)

    def penalty(self, family: int | None = None) -> float:
        """The sum of Lambda |alpha|, of the voters of one family or of all."""
        try:
            return math.fsum(p * abs(w) for p, w in self._of(family))
        except OverflowError:  # of products that are finite
            return math.inf

    def _of(self, family: int | None) -> list[tuple[float, float]]:
        each = zip(self.voters, self.prices, self.weights, strict=True)
        return [(p, w) for voter, p, w in each if family is None or voter.member == family]

    def notes(self, number: int, n_families: int) -> dict[str, float]:
        """The columns of history after a round in which this voter moved."""
        voter = self.voters[number]
        notes = {
            "voter": float(number),
            "family": float(voter.member),
            "size": float(len(voter.splits)),
            "weight": self.weights[number],
            "penalty": self.penalty(),
            "n_voters": float(sum(weight != 0 for weight in self.weights)),
        }
        for k in range(n_families if n_families > 1 else 0):
            notes |= {f"penalty_{k}": self.penalty(k), f"weight_{k}": math.fsum(abs(w) for _, w in self._of(k))}
        return notes


@dataclass(frozen=True)
class PricedCandidate:
    """A voter with |d_j| of lines 5 to 9, its weight, price, and the sums that it gets right and wrong."""

    strength: float
    voter: Voter
    weight: float
    price: float
    right: float
    wrong: float


class DeepBoostSearch:
    """A family, or a union, as DeepBoost searches it. closed: steps have a closed form."""

    def __init__(self, family: Any, booster: DeepBoost, prices: Prices, closed: bool) -> None:
        self.families = members_of(family)
        self.fitted_elsewhere = isinstance(family, ByRows)
        self.booster = booster
        self.prices = prices
        self.closed = closed
        self.standing = Weighted()
        self.numbers: dict[Any, int] = {}  # of the voters so far, by their splits and outputs
        self.n_rounds = 0
        self.log_slope = 0.0  # of S_t over the number of examples

    def resume(self, casts: list[Any], rows: list[dict[str, float]]) -> None:
        """Number the voters of earlier rounds as their rows of history do."""
        for cast, row in zip(casts, rows, strict=False):
            number, member = int(row["voter"]), int(row["family"])
            cast.voter = replace(cast.voter, number=number, member=member, outputs=cast.outputs)
        self._follow(casts)
        if casts:
            chosen = ChosenStep(casts[-1].step, penalty=self.standing.penalty())
            casts[-1].voter = replace(casts[-1].voter, chosen=chosen)

    def _begin(self, search: Search) -> None:
        self._follow(search.past)
        self.log_slope = self.booster.log_slope(search.means())

    def _follow(self, past: Sequence[Any]) -> None:
        """Move the voters of rounds that were added since the last search."""
        for cast in past[self.n_rounds :]:
            voter = replace(cast.voter, chosen=None)
            self.standing = self.standing.moved(voter, self._price(voter), cast.step.size)
            self.numbers.setdefault(_key(voter), voter.number)
        self.n_rounds = len(past)

    def best(self, search: Search) -> Voter:
        if search.sums.total == 0:
            return self._ended(search, "zero_gradient")
        self._begin(search)
        new = [
            self._candidate(voter, member, search)
            for member, family in enumerate(self.families)
            for voter in self._searched(family, member, search)
        ]
        candidates = [*self._old(search), *filter(None, new)]
        best = max(candidates, key=lambda candidate: candidate.strength)
        if best.strength <= 0:
            return self._ended(search, "converged" if self.standing.voters else "no_edge")
        return self._with_step(best, search)

    def constant(self, search: Search) -> Voter:
        self._begin(search)
        candidate = self._candidate(self.families[0].constant(search), 0, search)
        assert candidate is not None  # only the first round may need a constant voter
        return self._with_step(candidate, search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        assert voter.outputs is not None
        return voter.outputs

    # ------------------------------------------------------------ candidates

    def _old(self, search: Search) -> list[PricedCandidate]:
        """Line 6, and line 9 for a voter that was cancelled."""
        standing, total = self.standing, search.sums.total
        found = []
        edges = search.engine.edges().tolist() if standing.voters else []  # type: ignore[attr-defined]
        for voter, edge, weight, price in zip(standing.voters, edges, standing.weights, standing.prices, strict=True):
            cost = self._relative(price)
            strength = abs(math.copysign(cost, weight) - edge / total) if weight else abs(edge) / total - cost
            right = (total + edge) // 2
            found.append(PricedCandidate(strength, voter, weight, price, right, total - right))
        return found

    def _searched(self, family: Any, member: int, search: Search) -> list[Voter]:
        if not isinstance(family, Trees):
            return [family.best(search)]
        limits = Limits(family.max_depth, least_rows(family.min_samples_leaf), least_rows(family.min_samples_split))

        def price(n_splits: int, depth: int) -> float:
            return self._relative(self.prices.of(family, n_splits, depth, member))

        return priced_trees(search, limits, price)

    def _candidate(self, voter: Voter, member: int, search: Search) -> PricedCandidate | None:
        """Line 9, or None for a voter that is among the old."""
        outputs = self.families[member].outputs(voter, search.engine.n_counted, "label")  # type: ignore[attr-defined]
        number = len(self.standing.voters)
        voter = replace(voter, outputs=self.booster.stored(outputs), member=member, number=number)
        if _key(voter) in self.numbers:
            return None
        right, wrong = _right_and_wrong(voter)
        price = self._price(voter)
        strength = abs(right - wrong) / search.sums.total - self._relative(price)
        return PricedCandidate(strength, voter, 0.0, price, right, wrong)

    def _price(self, voter: Voter) -> float:
        family = self.families[voter.member]
        if isinstance(family, ByRows):
            return self.prices.of(family.family, 0, 0, voter.member)
        depth = depth_of(voter.splits) if self.prices.needs_depth else 0
        return self.prices.of(family, len(voter.splits), depth, voter.member)

    def _relative(self, price: float) -> float:
        """Lambda m / S_t."""
        return exp(min(log(price) - self.log_slope, 700.0)) if price > 0 else 0.0

    # ------------------------------------------------------------ the step

    def _with_step(self, best: PricedCandidate, search: Search) -> Voter:
        """The voter with its step. A perfect voter must be right on every row, also on those too light for the grid."""
        right, wrong, voter = best.right, best.wrong, best.voter
        if min(right, wrong) == 0:
            rows = _right_and_wrong(replace(voter, sums=search.engine.leaf_rows(voter)))  # type: ignore[attr-defined]
            right, wrong = max(right, min(rows[0], 1)), max(wrong, min(rows[1], 1))
        error = wrong / (right + wrong)
        stop: str | None = "perfect_voter"
        if best.price == 0 and min(right, wrong) == 0:
            size = 0.5 if wrong == 0 else -0.5
        else:
            if self.closed:
                new = self.booster.new_weight(error, best.weight, self._relative(best.price))
            else:
                new = self._line_search(best, search)
            size = float(on_grid(new)) - best.weight
            stop = None if size != 0 else ("converged" if self.standing.voters else "no_edge")
        step = Step(size, 1 - 2 * error, error, stop)
        if size == 0:
            return replace(voter, chosen=ChosenStep(step), number=None)
        # Outputs are from -1 to 1, so the sum of weights grows at most as if they were all -1 or 1.
        groups = [(int(right), size), (int(wrong), -size)]
        assert voter.number is not None
        after = self.standing.moved(voter, best.price, size)
        penalty = after.penalty()
        loss = self.booster.mean_loss(search.means()) + max(self.standing.penalty() - penalty, 0.0)
        bounds = (groups, log(max(loss, 1e-300) / value_at_one(self.booster.loss)))
        notes = after.notes(voter.number, len(self.families))
        return replace(voter, chosen=ChosenStep(step, bounds, penalty, notes))

    def _line_search(self, best: PricedCandidate, search: Search) -> float:
        """The weight at which F is least along a voter; on the side of it where the weight is now, so F never rises."""
        engine: Any = search.engine
        voter, number, now, along = best.voter, best.voter.number, best.weight, search.along
        assert voter.outputs is not None
        assert number is not None
        assert along is not None
        awards = np.stack([-voter.outputs[:, 0], voter.outputs[:, 0]])
        outside = None if voter.fitted is None else (voter.fitted, None)
        engine.store(Change(voter.splits, voter.leaves, awards[None], outside, StoredVoter(number, 0.0, awards)))

        def slope(weight: float) -> float:
            """Return the slope of the loss along the voter, relative to S_t."""
            return -along(number, float(on_grid(weight)) - now)

        cost, at_zero = self._relative(best.price), slope(0.0)
        if abs(at_zero) <= cost:
            return 0.0
        sign = 1.0 if at_zero < 0 else -1.0
        return sign * _least(lambda size: sign * slope(sign * size) + cost, sign * now)

    def _ended(self, search: Search, reason: str) -> Voter:
        """A voter that is not used, with the reason why."""
        voter = self.families[0].constant(search)
        return replace(voter, outputs=np.ones((len(voter.leaves), 1)), chosen=ChosenStep(Step(0.0, 0.0, 0.5, reason)))


def _least(slope: Callable[[float], float], now: float) -> float:
    """Return the minimum of a convex function of x >= 0 by its slope, negative at 0; the bracket's end next to now."""
    low, high = 0.0, max(now, 0.5)
    at_low, at_high = slope(low), slope(high)
    while at_high < 0 and high < FARTHEST:
        low, at_low = high, at_high
        high *= 2
        at_high = slope(high)
    if at_high < 0:
        return high
    for trial in range(MOST_TRIALS):
        if high - low <= 1e-11 * high or at_high == 0:
            break
        middle = low + (high - low) * (at_low / (at_low - at_high) if trial % 3 else 0.5)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        there = slope(middle)
        if there < 0:
            low, at_low = middle, there
        else:
            high, at_high = middle, there
    if at_high == 0:
        return high
    return min(max(now, low), high)


def members_of(family: Any) -> list[Any]:
    """The families of a union, each as it is searched."""
    if isinstance(family, ByRows) and isinstance(family.family, Union):
        return [ByRows(member, family.X, family.reader, family.names) for member in family.family.families]
    return list(family.families) if isinstance(family, Union) else [family]


def _right_and_wrong(voter: Voter) -> tuple[float, float]:
    """Return the weights right and wrong in the leaves of a voter; one with outputs between -1 and 1 is partly both."""
    assert voter.outputs is not None
    sums, output = voter.sums, voter.outputs[:, 0]
    total = int(sums.sum())
    if np.all(np.abs(output) == 1):
        right = int(sums[np.arange(len(output)), (output > 0).astype(np.int64)].sum())
        return right, total - right
    edge = float(ordered_sum((sums[:, 1] - sums[:, 0]) * output))
    return (total + edge) / 2, (total - edge) / 2


def _key(voter: Voter) -> Any:
    """The splits and outputs of a voter, up to its sign."""
    assert voter.outputs is not None
    if voter.fitted is not None:
        fitted = voter.fitted
        if isinstance(fitted, Always):
            return "always"
        sign = {name: abs(getattr(fitted, name)) for name in ("sign", "factor") if hasattr(fitted, name)}
        return repr(replace(fitted, **sign))
    splits = tuple((s.node, s.column, s.cut, s.on_left.tobytes()) for s in voter.splits)
    output = voter.outputs[:, 0] * (1.0 if voter.outputs[0, 0] >= 0 else -1.0)
    return splits, tuple(output.tolist())
