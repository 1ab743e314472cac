"""Complexities of the families for n rows: published formulas, and counts that are proved, for certificates.

Equation numbers are those of Cortes, Mohri and Syed, "Deep Boosting". A provable complexity is Massart's
sqrt(2 log N / n) for the number N of ways in which a family can label n rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from electorate.exact import Ints, log, log2

DEEPEST = 900  # 2^depth stays within float64; the complexity of such trees is far beyond 1 for any table

# ---------------------------------------------------------------- what a table looks like


@dataclass(frozen=True)
class Shape:
    """Columns of numbers, of numbers with missing values, and for each column of categories how many there are.

    Missing values among categories are one more category.
    """

    numeric: int = 0
    with_missing: int = 0
    levels: tuple[int, ...] = ()

    @property
    def columns(self) -> int:
        return self.numeric + self.with_missing + len(self.levels)

    def labelings(self, n: int) -> int:
        """Labelings of n rows by stumps: 2n for a column of numbers, 4n with missing values, 2^k for k categories."""
        return 2 * n * self.numeric + 4 * n * self.with_missing + sum(2**k for k in self.levels)

    def terms(self, n: int) -> int:
        """Tests with a side, of n rows: as labelings, but single categories and their complements."""
        return 2 * n * self.numeric + 4 * n * self.with_missing + sum(2 * k for k in self.levels)


def massart(n: float, log_count: float) -> float:
    """sqrt(2 log N / n): the Rademacher complexity of N voters with outputs in [-1, 1] is at most that."""
    return math.sqrt(2 * max(log_count, 0.0) / n)


# ---------------------------------------------------------------- provable counts


def log_stumps(n: int, shape: Shape) -> float:
    """log sum_j N_j. Two labelings at least: the constant ones."""
    return log(max(shape.labelings(n), 2))


def log_paired_stumps(n: int, shape: Shape) -> float:
    """N_j labelings of a column are N_j / 2 splits: two of them, in any order, and 2^4 ways to label four leaves."""
    return max(log(2) + 2 * log(max(shape.labelings(n), 1)), log_stumps(n, shape))


def log_trees(n: int, shape: Shape, splits: int) -> float:
    """Trees of up to so many splits: n log(4 sum_j N_j) + (n + 1) log 2."""
    return splits * log(4 * max(shape.labelings(n), 1)) + (splits + 1) * log(2)


def log_rules(n: int, shape: Shape, terms: int) -> float:
    """Monomials of up to r terms: (number of terms)^r sets of rows, with 4 ways to label a set and the rest."""
    return terms * log(max(shape.terms(n), 1)) + log(4)


def log_pool(per_feature: int, complements: bool, shape: Shape) -> float:
    """The voters themselves are counted; the constant voters are added, which start a model of very unequal labels."""
    tests = per_feature * (shape.numeric + shape.with_missing) + shape.with_missing
    tests += sum(min(k, per_feature + 1) for k in shape.levels)
    return log((2 if complements else 1) * tests + 2)


def log_columns(columns: int) -> float:
    """The columns of a table and their complements; and the constant voters, as in a pool."""
    return log(2 * columns + 2)


def kernel_sections(n: float, trace: float, largest: float) -> float:
    """sqrt(Tr K) / (n B) for voters k(., x_i) / (B sqrt(k(x_i, x_i))), B^2 = largest k(x, x): their norm is 1 / B."""
    return math.sqrt(trace / largest) / n


# ---------------------------------------------------------------- the papers'


def published_stumps(n: int, d: int) -> float:
    """Eq. 7. Columns of numbers without missing values only: with sets of categories it is false."""
    return math.sqrt(2 * log(2 * n * d) / n)


def published_paired_stumps(n: int, d: int) -> float:
    """Eq. 8, for two columns at least."""
    if d < 2:
        raise ValueError("paired stumps test two columns (eq. 8), and d is 1: use stumps")
    return math.sqrt(2 * (2 * log(n) + log(2 * d * (d - 1))) / n)


def published_trees(n: int, d: int, splits: int) -> float:
    """Eq. 9, where the paper's n is the number of splits (internal nodes)."""
    return math.sqrt((4 * splits + 2) * log2(d + 2) * log(n + 1) / n)


def published_depth(n: int, d: int, depth: int) -> float:
    """Section 4: sqrt(2 dim log(n + 1) / n), the VC dimension at most (2^k + 1) log2(d + 1) for trees of depth k."""
    dimension = (2.0 ** min(depth, DEEPEST) + 1) * log2(d + 1)
    return math.sqrt(2 * dimension * log(n + 1) / n)


def published_kernel(n: int, trace: float) -> float:
    """Section 4: sqrt(Tr K) / n, for functions of norm 1."""
    return math.sqrt(trace) / n


# ---------------------------------------------------------------- by Monte Carlo


@dataclass(frozen=True)
class ComplexityEstimate:
    """The complexity with its interval. A search that is not exhaustive gives a lower estimate: `upper` is then
    no bound on the complexity, only on what the search attains on average."""

    value: float
    lower: float
    upper: float
    confidence: float
    draws: int
    exact_search: bool

    @property
    def name(self) -> str:
        return "empirical Rademacher complexity" if self.exact_search else "lower estimate of it, by a greedy search"

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g}%"
        return f"{self.value:.4g} ({self.name}; {self.lower:.4g} to {self.upper:.4g} at {sure}, {self.draws} draws)"


def monte_carlo(
    agreement: Callable[[Ints], float],
    n: int,
    *,
    draws: int = 100,
    confidence: float = 0.95,
    exact_search: bool = True,
    seed: int = 0,
) -> ComplexityEstimate:
    """The mean, over random signs, of the best agreement with them, with an interval that is proved, not fitted.

    One sign moves the mean of all draws by at most 2 / (n draws), so by McDiarmid's inequality it is within
    sqrt(2 log(2 / delta) / (n draws)) of its expectation with probability 1 - delta. agreement(signs): the largest mean
    of sign times output over n rows that the search finds.
    """
    rng = np.random.default_rng(seed)
    found = [agreement(2 * rng.integers(0, 2, n) - 1) for _ in range(draws)]
    value, width = math.fsum(found) / draws, math.sqrt(2 * log(2 / (1 - confidence)) / (n * draws))
    return ComplexityEstimate(value, max(value - width, 0.0), value + width, confidence, draws, exact_search)
