"""Earlier voters compete again: in every round the best of them and of the new ones moves (DeepBoost, Figure 2).

The shards keep what each voter says; an exchange returns the edges of all. A step may cancel a voter exactly; one that
comes again is the same voter, whichever side it takes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.deepboost import Pending
from electorate.algorithms.protocol import Step
from electorate.grid import on_grid
from electorate.messages import Change, KeptVoter
from electorate.voters.by_rows import Always, ByRows
from electorate.voters.priced_trees import priced_trees
from electorate.voters.prices import Prices
from electorate.voters.trees import Limits, Search, Trees, Voter
from electorate.voters.union import Union

FARTHEST = 64.0  # nats that one searched step may move an example
MOST_LOOKS = 100  # along a voter, for one step


@dataclass
class Standing:
    """The voters so far: with their weights, the families they are from, and what they cost."""

    voters: list[Voter] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    prices: list[float] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)  # by what they ask and say

    def penalty(self, family: int | None = None) -> float:
        """The sum of Lambda |alpha|, of the voters of one family."""
        return math.fsum(p * abs(w) for p, w in self._of(family))

    def weight(self, family: int) -> float:
        return math.fsum(abs(w) for _, w in self._of(family))

    def _of(self, family: int | None) -> list[tuple[float, float]]:
        each = zip(self.voters, self.prices, self.weights, strict=True)
        return [(p, w) for voter, p, w in each if family is None or voter.member == family]

    @property
    def n_used(self) -> int:
        return sum(weight != 0 for weight in self.weights)


@dataclass(frozen=True)
class Rival:
    """A voter in competition: |d_j| of lines 5 to 9, its weight, price, and what it is right and wrong on, in units."""

    strength: float
    voter: Voter
    weight: float
    price: float
    right: float
    wrong: float


class Rivals:
    """A family, or a union, as DeepBoost searches it."""

    def __init__(self, family: Any, booster: Any, prices: Prices, closed: bool) -> None:
        self.families = list(family.families) if isinstance(family, Union) else [family]
        self.fitted_elsewhere = isinstance(family, ByRows)
        self.booster = booster
        self.prices = prices
        self.closed = closed  # whether steps have a closed form
        self.standing = Standing()

    def resume(self, casts: list[Any], rows: list[dict[str, float]]) -> None:
        """Take up the votes cast so far."""
        for cast, row in zip(casts, rows, strict=False):
            number = int(row["voter"])
            if number == len(self.standing.voters):
                voter = replace(cast.voter, number=number, member=int(row["family"]), said=cast.outputs)
                self._enter(voter, self._price(voter))
            self.standing.weights[number] += cast.step.size
            cast.voter = self.standing.voters[number]
        if rows:
            self._note(int(rows[-1]["voter"]))

    # ------------------------------------------------------------ what the loop asks

    def best(self, search: Search) -> Voter:
        if search.sums.total == 0:
            return self._ended(search, "zero_gradient")
        look = _Look(search, self.booster)
        rivals = self._old(look) + self._new(look)
        best = max(rivals, key=lambda rival: rival.strength)
        if best.strength <= 0:
            return self._ended(search, "converged" if self.standing.voters else "no_edge")
        return self._settled(best, look)

    def constant(self, search: Search) -> Voter:
        look = _Look(search, self.booster)
        rival = self._rival(self.families[0].constant(search), 0, look)
        assert rival is not None  # it is asked for in the first round only
        return self._settled(rival, look)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        """Here the loop has made its choice: the voter moves."""
        assert voter.said is not None
        if voter.number is not None:
            if voter.number == len(self.standing.voters):
                self._enter(replace(voter, step=None), self._price(voter))
            before = self.standing.penalty()
            self.standing.weights[voter.number] += voter.step.size
            self._note(voter.number)
            self.booster.pending.loss += max(before - self.standing.penalty(), 0.0)
        return voter.said

    # ------------------------------------------------------------ the competition

    def _old(self, look: "_Look") -> list[Rival]:
        """Line 6, and line 9 for a voter that was cancelled."""
        standing, total = self.standing, look.total
        if not standing.voters:
            return []
        rivals = []
        edges = look.search.engine.edges().tolist()  # type: ignore[attr-defined]
        for voter, edge, weight, price in zip(standing.voters, edges, standing.weights, standing.prices, strict=True):
            cost = look.relative(price)
            strength = abs(math.copysign(cost, weight) - edge / total) if weight else abs(edge) / total - cost
            right = (total + edge) // 2
            rivals.append(Rival(strength, voter, weight, price, right, total - right))
        return rivals

    def _new(self, look: "_Look") -> list[Rival]:
        rivals = []
        for member, family in enumerate(self.families):
            for voter in self._candidates(family, look):
                rival = self._rival(voter, member, look)
                if rival is not None:
                    rivals.append(rival)
        return rivals

    def _candidates(self, family: Any, look: "_Look") -> list[Voter]:
        if not isinstance(family, Trees):
            return [family.best(look.search)]
        limits = Limits(family.max_depth, family.min_samples_leaf, family.min_samples_split)
        price: Callable[[int], float] = lambda many: look.relative(self.prices.of(family, many))  # noqa: E731
        return priced_trees(look.search, limits, price)

    def _rival(self, voter: Voter, member: int, look: "_Look") -> Rival | None:
        """Line 9, or None for a voter that is among the old."""
        family = self.families[member]
        said = self.booster.spoken(family.outputs(voter, look.search.engine.n_counted, "label"))  # type: ignore[attr-defined]
        voter = replace(voter, said=said, member=member)
        if _key(voter) in self.standing.numbers:
            return None
        right, wrong = _right_and_wrong(voter)
        price = self._price(voter)
        strength = abs(right - wrong) / look.total - look.relative(price)
        return Rival(strength, replace(voter, number=len(self.standing.voters)), 0.0, price, right, wrong)

    def _price(self, voter: Voter) -> float:
        family = self.families[voter.member]
        return self.prices.of(family.family if isinstance(family, ByRows) else family, len(voter.splits))

    # ------------------------------------------------------------ the step

    def _settled(self, rival: Rival, look: "_Look") -> Voter:
        """With its step. Weight too light for the grid is not none: a perfect voter must be right on every row."""
        right, wrong = rival.right, rival.wrong
        if min(right, wrong) == 0:
            rows = _right_and_wrong(replace(rival.voter, sums=look.search.engine.leaf_rows(rival.voter)))  # type: ignore[attr-defined]
            right, wrong = max(right, min(rows[0], 1)), max(wrong, min(rows[1], 1))
        error = wrong / (right + wrong)
        stop: str | None = "perfect_voter"
        if rival.price == 0 and min(right, wrong) == 0:
            size = 0.5 if wrong == 0 else -0.5
        else:
            new = self._closed(rival, error, look) if self.closed else self._searched(rival, look)
            size = float(on_grid(new)) - rival.weight
            stop = None if size != 0 else ("converged" if self.standing.voters else "no_edge")
        step = Step(size, 1 - 2 * error, error, stop)
        self.booster.pending = Pending(int(right), int(wrong), size, look.mean_loss)
        number = None if stop in ("converged", "no_edge") else rival.voter.number
        return replace(rival.voter, step=step, number=number)

    def _closed(self, rival: Rival, error: float, look: "_Look") -> float:
        return float(self.booster.new_weight(error, rival.weight, look.relative(rival.price)))

    def _searched(self, rival: Rival, look: "_Look") -> float:
        """The weight at which F is least along a voter; on the side of it where the weight is now, so F never rises."""
        engine: Any = look.search.engine
        voter, now = rival.voter, rival.weight
        assert voter.said is not None
        assert voter.number is not None
        awards = np.stack([-voter.said[:, 0], voter.said[:, 0]])
        outside = None if voter.fitted is None else (voter.fitted, None)
        engine.keep(Change(voter.splits, voter.leaves, awards[None], outside, KeptVoter(voter.number, 0.0, awards)))

        def slope(weight: float) -> float:
            """Of the loss along the voter, relative to S_t."""
            size = float(on_grid(weight)) - now
            floor = self.booster.trial_floor(look.search.floor, size)
            _, edge = engine.along(self.booster, voter.number, size, floor).tolist()
            return -edge / look.total * math.exp(float(look.search.floor) - floor)

        cost, at_zero = look.relative(rival.price), slope(0.0)
        if abs(at_zero) <= cost:
            return 0.0
        sign = 1.0 if at_zero < 0 else -1.0
        return sign * _least(lambda size: sign * slope(sign * size) + cost, sign * now)

    # ------------------------------------------------------------ bookkeeping

    def _enter(self, voter: Voter, price: float) -> None:
        standing = self.standing
        standing.numbers[_key(voter)] = len(standing.voters)
        standing.voters.append(voter)
        standing.weights.append(0.0)
        standing.prices.append(price)

    def _note(self, number: int) -> None:
        """What history keeps of a round: who moved, how large it is, what is paid, by family."""
        standing = self.standing
        voter = standing.voters[number]
        noted = {
            "voter": float(number),
            "family": float(voter.member),
            "size": float(len(voter.splits)),
            "weight": standing.weights[number],
            "penalty": standing.penalty(),
            "n_voters": float(standing.n_used),
        }
        for k in range(len(self.families) if len(self.families) > 1 else 0):
            noted |= {f"penalty_{k}": standing.penalty(k), f"weight_{k}": standing.weight(k)}
        self.booster.noted = noted

    def _ended(self, search: Search, reason: str) -> Voter:
        voter = self.families[0].constant(search)
        error = 0.5
        said = np.ones((len(voter.leaves), 1))
        return replace(voter, said=said, step=Step(0.0, 0.0, error, reason))


class _Look:
    """The sums of one round: S_t, and prices relative to it."""

    def __init__(self, search: Search, booster: Any) -> None:
        self.search = search
        self.total = search.sums.total
        one = int(search.counts[0].sum()) * float(search.engine.unit)  # type: ignore[attr-defined]
        self.log_slope = booster.log_slope_of(search.sums, one, search.floor)
        self.mean_loss = booster.mean_loss(search.sums, one, search.floor)

    def relative(self, price: float) -> float:
        """Lambda m / S_t."""
        return math.exp(min(math.log(price) - self.log_slope, 700.0)) if price > 0 else 0.0


def _least(slope: Callable[[float], float], now: float) -> float:
    """Where a convex function of x >= 0 is least, from its slope, negative at 0; the end of the bracket next to now."""
    low, high = 0.0, max(now, 0.5)
    at_low, at_high = slope(low), slope(high)
    while at_high < 0 and high < FARTHEST:
        low, at_low = high, at_high
        high *= 2
        at_high = slope(high)
    if at_high < 0:
        return high
    for look in range(MOST_LOOKS):
        if high - low <= 1e-11 * high or at_high == 0:
            break
        middle = low + (high - low) * (at_low / (at_low - at_high) if look % 3 else 0.5)
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


def _right_and_wrong(voter: Voter) -> tuple[float, float]:
    """Of the weights in the leaves of a voter; a voter that says less than +-1 is partly both."""
    assert voter.said is not None
    sums, said = voter.sums, voter.said[:, 0]
    if np.all(np.abs(said) == 1):
        right = int(sums[np.arange(len(said)), (said > 0).astype(np.int64)].sum())
        return right, int(sums.sum()) - right
    total = int(sums.sum())
    edge = float(np.sum((sums[:, 1] - sums[:, 0]) * said))
    return (total + edge) / 2, (total - edge) / 2


def _key(voter: Voter) -> Any:
    """What a voter asks and says, up to its sign."""
    assert voter.said is not None
    if voter.fitted is not None:
        fitted = voter.fitted
        if isinstance(fitted, Always):
            return "always"
        sign = {name: abs(getattr(fitted, name)) for name in ("sign", "factor") if hasattr(fitted, name)}
        return repr(replace(fitted, **sign))
    asked = tuple((q.node, q.column, q.cut, q.on_left.tobytes()) for q in voter.splits)
    said = voter.said[:, 0] * (1.0 if voter.said[0, 0] >= 0 else -1.0)
    return asked, tuple(said.tolist())
