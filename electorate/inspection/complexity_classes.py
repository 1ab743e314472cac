"""The families a fitted vote is priced by: fixed before any row is seen, each with a count that can be proved.

A family of estimators may be chosen by looking at the rows (the thresholds of a pool); a rung is all that it could have
been. Every voter is on the cheapest rung that holds it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.text import monomial
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate.voters.columns import Columns
from electorate.voters.kernel_sections import KernelSections
from electorate.voters.paired_stumps import PairedStumps
from electorate.voters.pool import Pool
from electorate.voters.rules import Rules
from electorate.voters.trees import Stumps, Trees
from electorate.voters.union import Union

DEEPEST = 62  # of trees: deeper ones have no more questions than any table has rows
EVERY_LENGTH = 64  # of rules: up to this each length is a rung, from there on each power of two
Holds = Callable[[Ensemble, int], bool]


@dataclass(frozen=True)
class Rung:
    """log_count(n, shape): of the labelings of n rows; r(n): where there is no count. holds(ensemble, voter)."""

    name: str
    log_count: Callable[[int, Shape], float] | None
    holds: Holds
    r: Callable[[int], float] | None = None

    def complexity(self, n: int, shape: Shape) -> float:
        if self.r is not None:
            return self.r(n)
        assert self.log_count is not None
        return complexity.massart(n, self.log_count(n, shape))


def rungs_of(family: Any, n: int) -> list[Rung]:
    """ValueError, which says why, for a family whose complexity cannot be proved."""
    if isinstance(family, Union):
        every = [rung for member in family.families for rung in rungs_of(member, n)]
        return list({rung.name: rung for rung in every}.values())
    if isinstance(family, Stumps):
        return [STUMPS]
    if isinstance(family, Pool):
        return [TESTS]
    if isinstance(family, PairedStumps):
        return [STUMPS, PAIRS]
    if isinstance(family, Rules):
        return [_rules(terms) for terms in _lengths(family.max_terms)]
    if isinstance(family, Trees):
        deepest = math.ceil(math.log2(max(n, 2))) if family.max_depth is None else min(family.max_depth, DEEPEST)
        return [STUMPS, *(_trees(depth) for depth in range(2, deepest + 1))]
    if isinstance(family, Columns):
        return [Rung("columns", lambda n, shape: complexity.log_columns(shape.columns), _always)]
    if isinstance(family, KernelSections):
        return [_sections(family)]
    if hasattr(family, "log_count"):
        return [Rung(type(family).__name__, family.log_count, _always)]
    raise ValueError(f"nothing bounds how complex {type(family).__name__} voters are: they are foreign")


def _lengths(most: int) -> list[int]:
    """Return the lengths of rules that are rungs of their own, up to the longest."""
    doubled = [2**k for k in range(EVERY_LENGTH.bit_length(), most.bit_length())]
    return sorted({*range(1, min(most, EVERY_LENGTH) + 1), *doubled, most})


def log_all(rungs: list[Rung], n: int, shape: Shape) -> float | None:
    """Of the labelings of n rows by all rungs together; None where one has no count."""
    counts = [rung.log_count(n, shape) for rung in rungs if rung.log_count is not None]
    return float(np.logaddexp.reduce(counts)) if len(counts) == len(rungs) else None


def places(ensemble: Any, voters: list[int], rungs: list[Rung], prices: list[float]) -> NDArray[np.int64]:
    """The rung of each voter."""
    order = np.argsort(prices, kind="stable").tolist()
    found = []
    for voter in voters:
        held = [k for k in order if rungs[k].holds(ensemble, voter)]
        if not held:
            raise ValueError(f"voter {voter} is of none of the families {[rung.name for rung in rungs]}")
        found.append(held[0])
    return np.array(found, dtype=np.int64)


# ---------------------------------------------------------------- rungs


def _always(ensemble: Any, voter: int) -> bool:
    return True


def _splits(ensemble: Ensemble, voter: int) -> int:
    return int(ensemble.offsets[voter + 1] - ensemble.offsets[voter]) // 2


def _is_stump(ensemble: Any, voter: int) -> bool:
    return _splits(ensemble, voter) <= 1


def _is_pair(ensemble: Any, voter: int) -> bool:
    """Three questions, the second and the third the same."""
    if _is_stump(ensemble, voter):
        return True
    alone = ensemble.only(voter)
    asked = np.flatnonzero(alone.column != LEAF)
    if len(asked) != 3:
        return False
    tests = [(int(alone.column[k]), float(alone.threshold[k]), bool(alone.missing_left[k])) for k in asked[1:]]
    sets = [alone.sets[alone.members[k]].tobytes() if alone.members[k] >= 0 else b"" for k in asked[1:]]
    return tests[0] == tests[1] and sets[0] == sets[1] and bool(np.all(alone.children[0] == asked[1:]))


STUMPS = Rung("stumps", complexity.log_stumps, _is_stump)
PAIRS = Rung("paired stumps", complexity.log_paired_stumps, _is_pair)
TESTS = Rung("single tests", lambda n, shape: math.log(shape.terms(n) + 2), _is_stump)


def _trees(depth: int) -> Rung:
    most = 2 ** min(depth, DEEPEST) - 1
    return Rung(
        f"trees of up to {most} questions",
        lambda n, shape: complexity.log_trees(n, shape, min(most, n - 1)),
        lambda ensemble, voter: _splits(ensemble, voter) <= most,
    )


def _rules(terms: int) -> Rung:
    def holds(ensemble: Any, voter: int) -> bool:
        rule = monomial(ensemble.only(voter))
        return rule is not None and len(rule.path) <= terms

    return Rung(f"rules of up to {terms} terms", lambda n, shape: complexity.log_rules(n, shape, terms), holds)


def _sections(family: KernelSections) -> Rung:
    """1 / sqrt(n) for the unit ball of a kernel with k(x, x) = 1, and as much for the constant voters."""
    if family.kernel != "rbf":
        raise ValueError(f"k(x, x) of the kernel {family.kernel!r} is known of the rows only: its voters have no bound")
    return Rung("kernel sections", None, _always, lambda n: 2 / math.sqrt(n))
