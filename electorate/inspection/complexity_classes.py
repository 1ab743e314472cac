"""The distinct voters of a fitted vote and their complexity classes, each with a count that can be proved.

Classes are fixed before any row is seen. A family of estimators may be chosen by looking at the rows (the thresholds of
a pool); a class holds all that it could have been. Every voter is in the cheapest class that holds it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from electorate.exact import Floats, Ints
from electorate.families.by_rows import Always
from electorate.families.columns import Columns, ColumnVoter
from electorate.families.kernel_sections import KernelSections
from electorate.families.paired_stumps import PairedStumps
from electorate.families.pool import Pool
from electorate.families.rules import Rules
from electorate.families.trees import Stumps, Trees
from electorate.families.union import Union
from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.text import monomial
from electorate.theory import complexity
from electorate.theory.complexity import Shape

DEEPEST = 62  # of trees: deeper ones have no more splits than any table has rows
EVERY_LENGTH = 64  # of rules: up to this each length is a class, from there on each power of two


@dataclass(frozen=True)
class ComplexityClass:
    """log_count(n, shape): of the labelings of n rows; None: r(n) is the complexity. holds(ensemble, voter)."""

    name: str
    log_count: Callable[[int, Shape], float] | None
    holds: Callable[[Any, int], bool] = lambda ensemble, voter: True
    r: Callable[[int], float] = lambda n: math.inf

    def complexity(self, n: int, shape: Shape) -> float:
        return self.r(n) if self.log_count is None else complexity.massart(n, self.log_count(n, shape))


def _is_stump(ensemble: Ensemble, voter: int) -> bool:
    return ensemble.offsets[voter + 1] - ensemble.offsets[voter] <= 3


def _is_pair(ensemble: Ensemble, voter: int) -> bool:
    """At most one split, or three, of which the second and the third are the same."""
    if _is_stump(ensemble, voter):
        return True
    alone = ensemble.only(voter)
    splits = np.flatnonzero(alone.column != LEAF)
    if len(splits) != 3:
        return False
    tests = [(alone.column[k], alone.threshold[k], alone.missing_left[k]) for k in splits[1:]]
    sets = [alone.sets[alone.members[k]].tobytes() if alone.members[k] >= 0 else b"" for k in splits[1:]]
    return tests[0] == tests[1] and sets[0] == sets[1] and bool(np.all(alone.children[0] == splits[1:]))


STUMPS = ComplexityClass("stumps", complexity.log_stumps, _is_stump)
PAIRS = ComplexityClass("paired stumps", complexity.log_paired_stumps, _is_pair)
TESTS = ComplexityClass("single tests", lambda n, shape: math.log(shape.terms(n) + 2), _is_stump)


def trees_class(depth: int) -> ComplexityClass:
    most = 2 ** min(depth, DEEPEST) - 1
    return ComplexityClass(
        f"trees of up to {most} splits",
        lambda n, shape: complexity.log_trees(n, shape, min(most, n - 1)),
        lambda ensemble, voter: (ensemble.offsets[voter + 1] - ensemble.offsets[voter]) // 2 <= most,
    )


def rules_class(terms: int) -> ComplexityClass:
    def holds(ensemble: Any, voter: int) -> bool:
        rule = monomial(ensemble.only(voter))
        return rule is not None and len(rule.path) <= terms

    name = f"rules of up to {terms} terms"
    return ComplexityClass(name, lambda n, shape: complexity.log_rules(n, shape, terms), holds)


def _is_row_voter(family: Any, ensemble: Any, voter: int) -> bool:
    """Whether a voter is of a family over whole rows; constant voters are of each."""
    fitted = ensemble.fitted[voter]
    return isinstance(fitted, Always) or bool(family.owns(fitted))


def classes_of(family: Any, n: int) -> list[ComplexityClass]:
    """The classes of a family on n rows. ValueError, which gives the reason, if its complexity cannot be proved."""
    if isinstance(family, Union):
        every = [one for member in family.families for one in classes_of(member, n)]
        return list({one.name: one for one in every}.values())
    if isinstance(family, Stumps):
        return [STUMPS]
    if isinstance(family, Pool):
        return [TESTS]
    if isinstance(family, PairedStumps):
        return [STUMPS, PAIRS]
    if isinstance(family, Rules):
        most = family.max_terms
        doubled = [2**k for k in range(EVERY_LENGTH.bit_length(), most.bit_length())]
        return [rules_class(k) for k in sorted({*range(1, min(most, EVERY_LENGTH) + 1), *doubled, most})]
    if isinstance(family, Trees):
        deepest = math.ceil(math.log2(max(n, 2))) if family.max_depth is None else min(family.max_depth, DEEPEST)
        return [STUMPS, *(trees_class(depth) for depth in range(2, deepest + 1))]
    if isinstance(family, Columns):
        count = lambda n, shape: complexity.log_columns(shape.columns)  # noqa: E731
        return [ComplexityClass("columns", count, partial(_is_row_voter, family))]
    if isinstance(family, KernelSections):
        if family.kernel != "rbf":
            known = f"k(x, x) of the kernel {family.kernel!r} is known of the rows only"
            raise ValueError(f"{known}: its voters have no bound")
        # 1 / sqrt(n) for the unit ball of a kernel with k(x, x) = 1, and as much for the constant voters
        name = f"sections of the rbf kernel, gamma={family.gamma}"
        return [ComplexityClass(name, None, partial(_is_row_voter, family), lambda n: 2 / math.sqrt(n))]
    if hasattr(family, "log_count"):
        return [ComplexityClass(type(family).__name__, family.log_count)]
    raise ValueError(f"nothing bounds how complex {type(family).__name__} voters are: they are foreign")


def log_all(classes: list[ComplexityClass], n: int, shape: Shape) -> float | None:
    """The logarithm of the labelings of n rows by all classes together; None where one has no count."""
    counts = [one.log_count(n, shape) for one in classes if one.log_count is not None]
    return float(np.logaddexp.reduce(counts)) if len(counts) == len(classes) else None


def places(ensemble: Any, voters: list[int], classes: list[ComplexityClass], prices: list[float]) -> Ints:
    """The class of each voter, as a place in the list."""
    order = np.argsort(prices, kind="stable").tolist()
    found = [next((k for k in order if classes[k].holds(ensemble, voter)), -1) for voter in voters]
    if -1 in found:
        names = [one.name for one in classes]
        raise ValueError(f"voter {voters[found.index(-1)]} is in none of the families {names}")
    return np.array(found, dtype=np.int64)


def columns_shape(model: Any, tables: Iterable[Any]) -> tuple[Shape, bool]:
    """What the columns of a table are, and whether that was counted on its rows. tables: its rows, in parts.

    For numbers nothing is counted: 4 n labelings, missing values or not. For categories, the levels that are there, and
    one more for missing values.
    """
    found: dict[int, set[Any]] = {column: set() for column in sorted(model.bins_.categories)}
    for table in tables if found else ():
        for column, levels in found.items():
            if model.bins_.categories[column].is_text:
                levels.update(table.levels(column))
            else:
                values = table.numbers(0, table.n_rows, [column])[0]
                levels.update(np.unique(values[~np.isnan(values)]).tolist())
    counts = tuple(len(levels) + 1 for levels in found.values())
    return Shape(0, model.n_features_in_ - len(counts), counts), bool(counts)


# ---------------------------------------------------------------- the distinct voters


@dataclass(frozen=True)
class DistinctVoters:
    """The distinct voters of a vote, each scaled to outputs from -1 to 1, with the weight that this leaves it.

    Copies of a voter, and a voter and its complement, are one: their weights add up. voters: the place of each distinct
    voter; steps: its weight as a voter of size 1; dimension: free numbers.
    """

    voters: list[int]
    steps: Floats
    dimension: int

    @property
    def count(self) -> int:
        return len(self.voters)

    @property
    def norm(self) -> float:
        return float(np.abs(self.steps).sum())


def parts_of(ensemble: Any, about: int = -1) -> DistinctVoters:
    """Return the voters of an ensemble; about: the class of one against the rest, -1 for all."""
    look = _tree if isinstance(ensemble, Ensemble) else _by_rows
    found: dict[Any, tuple[int, float, int]] = {}  # place, weight, dimension
    for voter in np.flatnonzero((ensemble.about == about) & (ensemble.steps != 0)).tolist():
        key, size, dimension = look(ensemble, voter)
        first, weight, _ = found.get(key, (voter, 0.0, 0))
        found[key] = first, weight + size * float(ensemble.steps[voter]), dimension
    used = [part for part in found.values() if part[1] != 0]
    steps = np.array([weight for _, weight, _ in used], dtype=np.float64)
    return DistinctVoters([first for first, _, _ in used], steps, sum(dimension for *_, dimension in used))


def _tree(ensemble: Ensemble, voter: int) -> tuple[Any, float, int]:
    """What a tree is up to a factor, that factor, and how many numbers are free: its leaves, 1 if they are all +-1."""
    alone = ensemble.only(voter)
    leaves = alone.column == LEAF
    outputs = np.where(leaves, alone.value[:, max(int(ensemble.about[voter]), 0)], 0.0)
    largest = float(np.abs(outputs).max())
    if largest == 0:
        return ("nothing",), 0.0, 1
    leading = outputs[leaves][np.flatnonzero(outputs[leaves])[0]]
    size = float(np.copysign(largest, leading))
    shape = outputs / size
    sets = b"".join(alone.sets[k].tobytes() if k >= 0 else b"" for k in alone.members.tolist())
    arrays = (alone.column, alone.threshold, alone.missing_left, alone.children, shape)
    key = (*(array.tobytes() for array in arrays), sets)
    return key, size, 1 if np.all(np.abs(shape[leaves]) == 1) else int(leaves.sum())


def _by_rows(ensemble: Any, voter: int) -> tuple[Any, float, int]:
    fitted = ensemble.fitted[voter]
    if isinstance(fitted, Always):
        return ("always",), float(fitted.sign), 1
    if isinstance(fitted, ColumnVoter):
        return ("column", fitted.column, fitted.scale), float(fitted.sign), 1
    return ("section", fitted.kernel, fitted.landmark, abs(fitted.factor)), float(np.sign(fitted.factor)), 1
