"""The window of targets with the most weight, of rows that live in several places: sums up to points, then few rows.

As `best_window` of the kernels, to the bit. Places say how much of a leaf lies up to some points; cells that cannot
hold the end of the best window are dropped, the others cut again, until what is left is little enough to travel.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.exact import Ints

Array = NDArray[np.float64]
FEW = 4096  # distinct targets of a leaf that may travel
CELLS = 256  # looked at in one exchange, per leaf
MOST_CELLS = 16 * CELLS  # where more are left nothing is gained by cutting on: what they hold travels
MOST_CUTS = 60
Window = tuple[float, float]  # its first and its last target
EMPTY = np.empty(0, dtype=np.int64)
Fetched = tuple[Array, Ints, Array]  # targets in order, their weights; of every range, the next target after it
Mass = Callable[[list[Array]], list[Ints]]  # points of every leaf -> [weight or distinct targets, point] up to each
Between = Callable[[list[Array]], list[Fetched]]  # [range, (low, high)] of every leaf


@dataclass(frozen=True)
class Reach:
    """How far a window may go back from its last target: surely up to `near`, surely not beyond `far`."""

    eps: float
    near: float
    far: float

    @classmethod
    def of(cls, eps: float, low: float, high: float) -> "Reach":
        """Return the reach for targets from low to high; in between, rounding decides."""
        rounding = 1e-14 * (abs(low) + abs(high))
        return cls(eps, 2 * eps * (1 - 1e-14) - rounding, 2 * eps * (1 + 1e-14) + rounding)

    def fits(self, first: Any, last: Any) -> Any:
        """Whether two targets are within eps of the value between them."""
        middle = first + 0.5 * (last - first)
        return (last - middle <= self.eps) & (middle - first <= self.eps)


@dataclass
class Hunt:
    """The search for the best window of one leaf: it ends in one of the cells lows[i] < target <= highs[i]."""

    reach: Reach
    lows: Array
    highs: Array
    enough: int = 0  # the weight of some window
    done: bool = False
    between: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # what lies in all windows of a cell

    def cut(self) -> None:
        """Into smaller cells."""
        if self.done:
            return
        parts = max(2, CELLS // max(1, len(self.lows)))
        shares = np.linspace(0.0, 1.0, parts + 1)
        edges = self.lows[:, None] + shares * (self.highs - self.lows)[:, None]
        edges[:, -1] = self.highs
        lows, highs = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        real = highs > lows
        self.lows, self.highs = lows[real], highs[real]

    @property
    def points(self) -> Array:
        """Return where sums are needed: both ends of the cells, and how far windows that end there go back."""
        if self.done:
            return np.empty(0)
        return np.concatenate([self.lows, self.highs, self.lows - self.reach.far, self.highs - self.reach.near])

    def narrow(self, mass: Ints) -> None:
        """Drop the cells in which no window can end that weighs as much as one that is known."""
        if self.done:
            return
        (low, high, far, near), (rows, rows_high, rows_far, rows_near) = (part.reshape(4, -1) for part in mass)
        self.enough = max(self.enough, int((high - near).max(initial=0)))
        kept = (high - far >= self.enough) & (rows_high > rows)
        self.lows, self.highs = self.lows[kept], self.highs[kept]
        small = self.highs - self.lows <= self.reach.near  # else the rows between the two ends are not all inside
        travel = ((rows_high - rows) + np.maximum(rows_near - rows_far, 0))[kept].sum()
        self.done = bool(np.all(small)) and (int(travel) <= FEW or len(self.lows) >= MOST_CELLS)
        self.between = (low - near)[kept]

    @property
    def ranges(self) -> Array:
        """[range, (low, high)] of the rows to fetch: where windows end, and where they may begin."""
        ends = np.stack([self.lows, self.highs], axis=1)
        begins = np.stack([self.lows - self.reach.far, np.minimum(self.highs - self.reach.near, self.lows)], axis=1)
        return np.concatenate([ends, begins])

    def settle(self, fetched: Fetched) -> Window | None:
        """The first and the last target of the best window, from the rows fetched."""
        best: Window | None = None
        most = -1
        ranges = self.ranges
        for cell in range(len(self.lows)):
            found = self._settle(cell, ranges, fetched)
            if found is not None and found[0] > most:
                most, best = found[0], found[1]
        return best

    def _settle(self, cell: int, ranges: Array, fetched: Fetched) -> tuple[int, Window] | None:
        """Return the best window of one cell, with its weight."""
        targets, weights, following = fetched
        begins = len(self.lows) + cell
        last, last_weight = _inside(targets, weights, ranges[cell])
        if not len(last):
            return None
        first, first_weight = _inside(targets, weights, ranges[begins])
        at = np.searchsorted(first, last - self.reach.far)
        while True:
            wrong = (at < len(first)) & ~self.reach.fits(np.append(first, 0.0)[at], last)
            if not wrong.any():
                break
            at = at + wrong
        before = np.concatenate([[0], np.cumsum(first_weight)])
        weight = np.cumsum(last_weight) + self.between[cell] + before[-1] - before[at]
        end = int(np.argmax(weight))
        begin = float(first[at[end]]) if at[end] < len(first) else min(float(following[begins]), float(last[0]))
        return int(weight[end]), (begin, float(last[end]))


def _inside(targets: Array, weights: Ints, ends: Array) -> tuple[Array, Ints]:
    """Distinct targets above the first end and up to the second, and their weights."""
    low, high = np.searchsorted(targets, ends, side="right")
    values, starts = np.unique(targets[low:high], return_index=True)
    return values, np.add.reduceat(weights[low:high], starts) if len(values) else weights[:0]


@dataclass(frozen=True)
class LeafRows:
    """What one place holds: targets in ascending order, their weights and their leaves. Nothing is sorted or copied."""

    leaf: NDArray[np.int32]
    targets: Array
    weights: Ints

    def mass(self, points: list[Array]) -> list[Ints]:
        """Return for every leaf [weight or distinct targets, point] up to each of its points."""
        return [mass for mass, _ in self._up_to(points)]

    def between(self, ranges: list[Array]) -> list[Fetched]:
        """Return for every leaf what lies in its ranges, and the next target after each."""
        following = [after for _, after in self._up_to([np.ascontiguousarray(mine[:, 1]) for mine in ranges])]
        apart = [_apart(mine) for mine in ranges]
        arguments = self.leaf, self.targets, self.weights, np.concatenate(apart), _ends(apart)
        leaf, targets, weights = np.empty(0, dtype=np.int64), np.empty(0), EMPTY
        n = kernels.targets_between(*arguments, leaf, targets, weights)
        if n:
            leaf, targets, weights = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n, dtype=np.int64)
            kernels.targets_between(*arguments, leaf, targets, weights)
        mine = [leaf == k for k in range(len(ranges))]
        return [(targets[here], weights[here], after) for here, after in zip(mine, following, strict=True)]

    def _up_to(self, points: list[Array]) -> list[tuple[Ints, Array]]:
        """Return for every leaf [weight or distinct targets, point] up to each of its points, and the next target."""
        order = [np.argsort(mine, kind="stable") for mine in points]
        ends = _ends(points)
        ascending = np.concatenate([mine[at] for mine, at in zip(points, order, strict=True)])
        mass, following = np.empty((2, len(ascending)), dtype=np.int64), np.empty(len(ascending))
        kernels.mass_up_to(self.leaf, self.targets, self.weights, ascending, ends, mass, following)
        found = []
        for low, at in zip(ends.tolist(), order, strict=False):
            back = low + np.argsort(at, kind="stable")
            found.append((mass[:, back], following[back]))
        return found


def _ends(parts: list[Array]) -> Ints:
    """Return where the part of each leaf begins, and the end."""
    return np.cumsum([0, *(len(part) for part in parts)])


def _apart(ranges: Array) -> Array:
    """Return the ranges in ascending order, those that overlap as one."""
    ranges = ranges[ranges[:, 1] > ranges[:, 0]]
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    highest = np.maximum.accumulate(ranges[:, 1]) if len(ranges) else ranges[:, 1]
    first = np.append(True, ranges[1:, 0] > highest[:-1])[: len(ranges)]
    last = np.append(first[1:], True)[: len(ranges)]
    return np.stack([ranges[first, 0], highest[last]], axis=1)


def together(parts: list[Fetched]) -> Fetched:
    """What several places hold."""
    targets = np.concatenate([part[0] for part in parts])
    order = np.argsort(targets, kind="stable")
    weights = np.concatenate([part[1] for part in parts])[order]
    return targets[order], weights, np.minimum.reduce([part[2] for part in parts])


def hunt(n_leaves: int, eps: float, low: float, high: float, mass: Mass, between: Between) -> list[Window | None]:
    """The first and the last target of the best window of every leaf; None of a leaf without rows."""
    reach = Reach.of(eps, low, high)
    hunts = [Hunt(reach, np.array([np.nextafter(low, -np.inf)]), np.array([high])) for _ in range(n_leaves)]
    for _ in range(MOST_CUTS):
        for one in hunts:
            one.cut()
        for one, found in zip(hunts, mass([one.points for one in hunts]), strict=True):
            one.narrow(found)
        if all(one.done for one in hunts):
            break
    rows = between([one.ranges for one in hunts])
    return [one.settle(fetched) for one, fetched in zip(hunts, rows, strict=True)]


@dataclass
class Halving:
    """The search for the weighted median of one leaf, low < target <= high. under: weight and targets up to low."""

    low: float
    high: float
    half: float
    under: Ints = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    n_targets: int = FEW + 1

    @property
    def points(self) -> Array:
        points = self.low + np.linspace(0.0, 1.0, CELLS + 1)[1:] * (self.high - self.low)
        points[-1] = self.high
        return points

    def narrow(self, points: Array, mass: Ints) -> None:
        reached = (mass[0] >= self.half) & (mass[1] > 0)
        if reached.any():
            at = int(np.argmax(reached))
            self.n_targets = int(mass[1, at] - (mass[1, at - 1] if at else self.under[1]))
            self.low, self.under = (float(points[at - 1]), mass[:, at - 1]) if at else (self.low, self.under)
            self.high = float(points[at])
        else:
            self.n_targets = 0  # a leaf without rows

    def settle(self, fetched: Fetched) -> float | None:
        targets, weights, _ = fetched
        if not len(targets):
            return None
        so_far = self.under[0] + np.cumsum(weights)
        return float(targets[min(int(np.searchsorted(so_far, self.half)), len(targets) - 1)])


def medians(n_leaves: int, low: float, high: float, mass: Mass, between: Between) -> list[float | None]:
    """The weighted median of every leaf, of two the lower; None of a leaf without rows."""
    whole = mass([np.array([high])] * n_leaves)
    every = [Halving(float(np.nextafter(low, -np.inf)), high, float(one[0, 0]) / 2) for one in whole]
    for _ in range(MOST_CUTS):
        points = [one.points for one in every]
        for one, mine, found in zip(every, points, mass(points), strict=True):
            one.narrow(mine, found)
        if all(one.n_targets <= FEW for one in every):
            break
    rows = between([np.array([[one.low, one.high]]) for one in every])
    return [one.settle(fetched) for one, fetched in zip(every, rows, strict=True)]
