"""The price of a voter in DeepBoost: Lambda = lam r + beta (eq. 3), with r the complexity of the family it is from.

For trees r depends on the number of their splits (eq. 9), or on their depth (section 4); for sections of a kernel on
its trace; for other families it is the family's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.arrays import Floats
from electorate.data.bins import Bins
from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate.voters.kernel_sections import KernelSections
from electorate.voters.paired_stumps import PairedStumps
from electorate.voters.trees import Trees

Given = Sequence[float] | Callable[[Any, int, int], float]  # a number per family, or r(family, splits, depth)


@dataclass(frozen=True)
class Prices:
    """n: the sum of the weights as they were given; d: columns.

    kind: "published", the paper's with trees by eq. 9; "depth", the same with trees by depth; "provable"; or r itself.
    rows: those with weight, and their weights, of families over whole rows.
    """

    lam: float
    beta: float
    n: Any
    d: int
    shape: Shape
    kind: str | Given = "published"
    rows: tuple[Floats, Floats] | None = None

    @property
    def needs_depth(self) -> bool:
        return self.lam > 0 and (self.kind == "depth" or callable(self.kind))

    def of(self, family: Any, splits: int, depth: int = 0, member: int = 0) -> float:
        """Of a voter with so many splits and levels, of this member of a union."""
        return self.beta if self.lam == 0 else self.lam * self.complexity(family, splits, depth, member) + self.beta

    def complexity(self, family: Any, splits: int, depth: int = 0, member: int = 0) -> float:
        n = max(self.n, 2.0)
        if callable(self.kind):
            return _checked(float(self.kind(family, splits, depth)), family)
        if not isinstance(self.kind, str):
            return float(self.kind[member])
        if isinstance(family, KernelSections) and self.rows is not None:
            return family.complexity(*self.rows)
        published = self.kind != "provable"
        if not hasattr(family, "published" if published else "log_count"):
            raise ValueError(
                f"{type(family).__name__} has no complexity: give it published(n, d) and "
                "log_count(n, shape), or set lam=0"
            )
        if isinstance(family, Trees) and self.kind == "depth":
            return complexity.published_depth(n, self.d, depth)
        if isinstance(family, Trees) and published:
            return complexity.published_trees(n, self.d, splits)
        if isinstance(family, Trees):
            return complexity.massart(n, complexity.log_trees(n, self.shape, splits))
        if isinstance(family, PairedStumps) and self.d < 2:  # then its voters are stumps
            return complexity.published_stumps(n, self.d)
        if published:
            return float(family.published(n, self.d))
        return complexity.massart(n, family.log_count(n, self.shape))


def _checked(r: float, family: Any) -> float:
    if not 0 <= r < np.inf:
        raise ValueError(f"complexity gave {r!r} for {family!r}: it must be finite and not negative")
    return r


def depth_of(splits: Sequence[Split]) -> int:
    """The largest number of splits on a path; parents come first."""
    depth = {ROOT: 0}
    for split in splits:
        depth[split.left] = depth[split.right] = depth[split.node] + 1
    return max(depth.values())


def shape_of(bins: Bins) -> Shape:
    """A column of categories with missing values has one level more; one without any value is no column."""
    there = bins.n_bins > 0
    levels = tuple(_n_levels(bins, j) for j in sorted(bins.categories) if there[j])
    ordered = ~np.isin(np.arange(len(there)), list(bins.categories)) & there
    return Shape(
        int(np.count_nonzero(ordered & ~bins.has_missing)), int(np.count_nonzero(ordered & bins.has_missing)), levels
    )


def _n_levels(bins: Bins, column: int) -> int:
    """The levels that voters tell apart."""
    return int(bins.n_bins[column]) + int(bins.has_missing[column])
