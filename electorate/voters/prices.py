"""The price of a voter in DeepBoost: Lambda = lam r + beta (eq. 3), with r the complexity of the family it is from.

For trees r depends on the number of their splits (eq. 9); for other families it is the family's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.data.bins import Bins
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate.voters.paired_stumps import PairedStumps
from electorate.voters.trees import Trees


@dataclass(frozen=True)
class Prices:
    """n: the sum of the weights as they were given; d: columns. kind: "published", the paper's, or "provable"."""

    lam: float
    beta: float
    n: Any
    d: int
    shape: Shape
    kind: str = "published"

    def of(self, family: Any, splits: int) -> float:
        """Of a voter of a family with so many splits."""
        return self.beta if self.lam == 0 else self.lam * self.complexity(family, splits) + self.beta

    def complexity(self, family: Any, splits: int) -> float:
        n = max(self.n, 2.0)
        published = self.kind == "published"
        if not hasattr(family, "published" if published else "log_count"):
            raise ValueError(
                f"{type(family).__name__} has no complexity: give it published(n, d) and "
                "log_count(n, shape), or set lam=0"
            )
        if isinstance(family, Trees) and published:
            return complexity.published_trees(n, self.d, splits)
        if isinstance(family, Trees):
            return complexity.massart(n, complexity.log_trees(n, self.shape, splits))
        if isinstance(family, PairedStumps) and self.d < 2:  # then its voters are stumps
            return complexity.published_stumps(n, self.d)
        if published:
            return float(family.published(n, self.d))
        return complexity.massart(n, family.log_count(n, self.shape))


def shape_of(bins: Bins) -> Shape:
    """A column of categories with missing values has one level more; one without any value is no column."""
    there = bins.n_bins > 0
    levels = tuple(_n_levels(bins, j) for j in sorted(bins.categories) if there[j])
    ordered = ~np.isin(np.arange(len(there)), list(bins.categories)) & there
    return Shape(
        int(np.count_nonzero(ordered & ~bins.has_missing)), int(np.count_nonzero(ordered & bins.has_missing)), levels
    )


def _n_levels(bins: Bins, column: int) -> int:
    """The levels that voters tell apart; all of them where it depends on the labels which ones share a bin."""
    known = bins.categories[column]
    n_levels = len(known.levels) + len(known.rest) if column in bins.ranks else int(bins.n_bins[column])
    return n_levels + int(bins.has_missing[column])
