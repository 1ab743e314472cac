"""Models of scikit-learn as plain arrays: sums of trees on numbers, and linear sums, with all that predicts.

Both give raw numbers [row, output], and a link turns these into probabilities or a prediction. Nothing of scikit-learn
is needed. In a file everything is checked before use: a child comes after its parent, so that every descent ends.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from electorate import kernels
from electorate.exact import AnyArray, Floats, Ints
from electorate.modelfile import Contents, expect, meta_value, require
from electorate.threads import ThreadPool

Read = Callable[[int, int], Floats]  # a block [column, row] of some rows
LINKS = ("share", "logistic", "softmax", "number", "exp")
SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm
LARGEST_SINGLE = float(np.finfo(np.float32).max)
SET_BITS = 256  # categories of a column that a tree splits by sets
ROWS, CELLS = 8192, 2**20  # read at once, at most
NODE = np.dtype([("threshold", "<f8"), ("left", "<i4"), ("right", "<i4"), ("column", "<i4"), ("route", "<i4")])
NO_ROUTE = -2  # see leaf_sums.hpp


# ---------------------------------------------------------------- links


def decision_of(raw: Floats, link: str) -> Floats:
    """Return the log-odds of the second of two classes, or a number for each class, the largest for the winner."""
    if raw.shape[1] == 1:
        return raw[:, 0] if link == "logistic" else np.zeros_like(raw)
    if link != "share":
        return raw
    clipped = np.clip(raw, SMALLEST, None)
    if raw.shape[1] == 2:
        return np.asarray(np.log(clipped[:, 1] / clipped[:, 0]))  # of different shares, never 0 by rounding
    decision, winner = np.log(clipped), np.argmax(raw, axis=1)
    lost = np.flatnonzero(np.argmax(decision, axis=1) != winner)  # logarithms may round to equal numbers
    decision[lost, winner[lost]] = np.nextafter(decision[lost].max(axis=1, initial=-np.inf), np.inf)
    return decision


def probabilities_of(raw: Floats, link: str) -> Floats:
    """Return the probability of each class, computed as scikit-learn does."""
    if link == "logistic":
        second = expit(raw[:, 0])
        return np.column_stack([1 - second, second])
    if link == "softmax":
        powers = np.exp(raw - raw.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    return raw


def number_of(raw: Floats, link: str) -> Floats:
    """Return the prediction of a regressor."""
    return np.exp(raw[:, 0]) if link == "exp" else raw[:, 0].copy()


def check_outputs(link: str, n_outputs: int, n_classes: int) -> None:
    """Check that a model for so many classes, 0 for regression, has these outputs."""
    if not n_classes:
        expect(link in ("number", "exp") and n_outputs == 1, "a regressor does not give one number")
    elif link == "logistic":
        expect(n_classes == 2 and n_outputs == 1, "values do not fit the classes")
    else:
        expect(link in ("share", "softmax") and n_outputs == n_classes, "values do not fit the classes")


# ---------------------------------------------------------------- trees


@dataclass(frozen=True, eq=False)
class FloatTrees:
    """Trees whose leaves are added to a baseline; `is_mean`: and divided by the number of rounds.

    A root or child from 0 on is an inner node, -1 - j is leaf j, in the order of all trees. roots: [round, tree].
    values: [distinct leaf, output]; each round has one tree for all outputs, or a tree for each. thresholds of 32 bits:
    columns are rounded to 32 bits, too, as scikit-learn's forests do. member: row of `sets`, or -1 for a threshold.
    """

    column: AnyArray
    threshold: AnyArray
    missing_left: AnyArray
    children: AnyArray
    member: AnyArray
    sets: AnyArray
    roots: AnyArray
    leaf: AnyArray
    values: Floats
    baseline: Floats
    is_mean: bool
    link: str

    form = "trees"

    @property
    def n_rounds(self) -> int:
        return len(self.roots)

    @property
    def n_trees(self) -> int:
        return int(self.roots.size)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays of a file."""
        names = ("column", "threshold", "missing_left", "children", "roots", "leaf", "values", "baseline")
        sets = {"member": self.member, "sets": self.sets} if len(self.sets) else {}
        return {name: getattr(self, name) for name in names} | sets

    def meta(self) -> dict[str, Any]:
        """Return what a file holds beside the arrays."""
        return {"form": self.form, "link": self.link, "is_mean": self.is_mean}

    def importances(self, n_columns: int) -> Floats:
        """Return the share of the splits that belongs to each column."""
        counts = np.bincount(self.column, minlength=n_columns).astype(np.float64)
        return counts / max(1.0, counts.sum())

    @cached_property
    def _work(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Nodes, sets, leaves and the first output of every tree of a round, as the kernel takes them."""
        nodes = np.empty(len(self.column), dtype=NODE)
        nodes["threshold"], nodes["column"] = self.threshold, self.column
        nodes["left"], nodes["right"] = self.children.T
        nodes["route"] = np.where(self.member < 0, NO_ROUTE, 2 * self.member) + self.missing_left
        per_round = self.roots.shape[1]
        first = np.arange(per_round) if per_round > 1 else np.zeros(1, dtype=np.int64)
        return nodes, np.array(self.sets, dtype=np.uint32), self.leaf.astype(np.uint32), first

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_work"}

    def raw(self, n_rows: int, read: Read, n_columns: int, pool: ThreadPool) -> Floats:
        """Return the raw numbers [row, output]."""
        totals = np.tile(self.baseline, (n_rows, 1))

        def add(ends: tuple[int, int]) -> None:
            self._add(self._rows(read(*ends)), self.roots, totals[slice(*ends)])

        pool.map(add, blocks(n_rows, n_columns, pool.n_jobs))
        if self.is_mean:
            totals /= self.n_rounds
        return totals

    def staged_raw(self, n_rows: int, read: Read) -> Iterator[Floats]:
        """Yield the raw numbers after every round."""
        totals, rows = np.tile(self.baseline, (n_rows, 1)), self._rows(read(0, n_rows))
        for number in range(self.n_rounds):
            self._add(rows, self.roots[number : number + 1], totals)
            yield totals / (number + 1) if self.is_mean else totals.copy()

    def _rows(self, block: Floats) -> Floats:
        rows = np.ascontiguousarray(block.T)
        return rounded(rows).astype(np.float64) if self.threshold.dtype == np.float32 else rows

    def _add(self, rows: Floats, roots: AnyArray, totals: Floats) -> None:
        nodes, sets, leaf, first = self._work
        outputs = np.tile(first, len(roots)).astype(np.int64)
        kernels.add_leaves(rows, np.ascontiguousarray(roots).ravel(), outputs, nodes, sets, leaf, self.values, totals)

    @classmethod
    def read(cls, contents: Contents, n_columns: int, wide: dict[int, int], n_classes: int) -> "FloatTrees":
        """Return the trees of a file that is not trusted. wide: the number of codes of each category column."""
        is_mean, link = meta_value(contents, "is_mean", bool), meta_value(contents, "link", str)
        column = np.array(require(contents, "column", "<i4", (None,)))
        n = len(column)
        kind = contents.arrays["threshold"].dtype if "threshold" in contents.arrays else None
        threshold = np.array(require(contents, "threshold", "<f4" if kind == np.float32 else "<f8", (n,)))
        missing_left = np.array(require(contents, "missing_left", "|b1", (n,)))
        children = np.array(require(contents, "children", "<i4", (n, 2)))
        roots = np.array(require(contents, "roots", "<i4", (None, None)))
        kind = contents.arrays["leaf"].dtype if "leaf" in contents.arrays else None
        leaf = np.array(require(contents, "leaf", kind if kind in LEAF_TYPES else np.uint32, (None,)))
        values = np.array(require(contents, "values", "<f8", (None, None)))
        baseline = np.array(require(contents, "baseline", "<f8", (None,)))
        member, sets = np.full(n, -1, dtype=np.int32), np.empty((0, SET_BITS // 32), dtype=np.uint32)
        if "member" in contents.arrays:
            member = np.array(require(contents, "member", "<i4", (n,)))
            sets = np.array(require(contents, "sets", "<u4", (None, SET_BITS // 32)))
        trees = cls(
            column, threshold, missing_left, children, member, sets, roots, leaf, values, baseline, is_mean, link
        )
        trees.check(n_columns, wide, n_classes)
        return trees

    def check(self, n_columns: int, wide: dict[int, int], n_classes: int) -> None:
        """Raise ValueError unless all indices are in range, all numbers finite, and every descent ends at a leaf."""
        check_outputs(self.link, len(self.baseline), n_classes)
        expect(np.all((self.column >= 0) & (self.column < n_columns)), "a column is out of range")
        expect(not np.any(np.isnan(self.threshold)), "a threshold is not a number")
        n, n_leaves, per_round = len(self.column), len(self.leaf), self.roots.shape[1]
        one_each = per_round > 1 or self.values.shape[1] == 1
        fits = self.values.shape[1] == 1 if one_each else self.values.shape[1] == len(self.baseline)
        fits &= per_round == (len(self.baseline) if one_each else 1)
        expect(fits if self.n_trees else not self.n_rounds, "trees do not fit the outputs")
        reached = np.concatenate([self.roots.ravel(), self.children.ravel()]).astype(np.int64)
        expect(np.all((reached < n) & (reached >= -n_leaves)), "a child is out of range")
        after = (self.children < 0) | (self.children > np.arange(n)[:, None])
        expect(np.all(after), "a child is before its parent")
        expect(len(reached) == n + n_leaves, "a node is not reached exactly once")
        expect(np.all(np.bincount(reached + n_leaves, minlength=n + n_leaves) == 1), "a node is not reached once")
        expect(np.all(self.leaf < len(self.values)), "a leaf has no value")
        expect(np.all(np.isfinite(self.values)) and np.all(np.isfinite(self.baseline)), "a value is not finite")
        largest = float(np.abs(self.values).max(initial=0.0)) * max(1, self.n_trees)
        expect(np.isfinite(largest + np.abs(self.baseline).max(initial=0.0)), "the values are too large")
        expect(not self.is_mean or self.n_rounds, "a mean of no trees")
        if self.link == "share":
            given = self.values if self.n_trees else self.baseline[None, :]
            is_share = np.all(given >= 0) and np.all(np.abs(given.sum(axis=1) - 1) < 1e-6)
            expect(is_share and (self.is_mean or not self.n_trees), "the values of a leaf are not shares")
            expect(not self.n_trees or not self.baseline.any(), "shares start from 0")
        by_set = np.flatnonzero(self.member >= 0)
        expect(np.all(self.member >= -1) and np.all(self.member < len(self.sets)), "a set is out of range")
        codes = np.array([wide.get(j, SET_BITS + 1) for j in np.unique(self.column[by_set]).tolist()])
        expect(np.all(codes <= SET_BITS), "a split by a set is about a column without so few categories")


LEAF_TYPES = (np.dtype("|u1"), np.dtype("<u2"), np.dtype("<u4"))


def smallest_type(most: int) -> np.dtype[Any]:
    """Return the type of the fewest bits that holds numbers from 0 to `most`."""
    return next(kind for kind in LEAF_TYPES if most <= np.iinfo(kind).max)


def rounded(rows: Any) -> Any:
    """Return numbers of 32 bits; those that are too large become the largest."""
    return np.clip(rows, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32)


def blocks(n_rows: int, n_columns: int, n_jobs: int) -> list[tuple[int, int]]:
    """Return the ends of blocks of rows that are read at once."""
    size = max(1, min(ROWS, CELLS // max(1, n_columns), -(-n_rows // n_jobs)))
    return [(low, min(low + size, n_rows)) for low in range(0, n_rows, size)]


# ---------------------------------------------------------------- linear sums


@dataclass(frozen=True, eq=False)
class LinearSum:
    """A sum over columns: standardised numbers times coefficients, and for categories an entry of a table.

    fill: what stands for a missing number. categories: (column, number of codes), whose rows of `tables` follow each
    other, the last one of each for missing and unknown categories. coefficients: [number column, output].
    """

    fill: Floats
    mean: Floats
    scale: Floats
    coefficients: Floats
    tables: Floats
    intercept: Floats
    categories: dict[int, int]
    link: str

    form = "linear"
    n_rounds = n_trees = 0

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays of a file."""
        names = ("fill", "mean", "scale", "coefficients", "tables", "intercept")
        return {name: getattr(self, name) for name in names}

    def meta(self) -> dict[str, Any]:
        """Return what a file holds beside the arrays."""
        return {"form": self.form, "link": self.link}

    def importances(self, n_columns: int) -> Floats:
        """Return the share of each column: coefficients in units of its spread; of categories, half their range."""
        found = np.zeros(n_columns)
        found[self._numbers(n_columns)] = np.abs(self.coefficients).max(axis=1, initial=0.0)
        for column, table in self._tables():
            found[column] = (table.max(axis=0) - table.min(axis=0)).max() / 2
        return np.asarray(found / (found.sum() or 1.0))

    def _numbers(self, n_columns: int) -> Ints:
        return np.setdiff1d(np.arange(n_columns), list(self.categories))

    def _tables(self) -> Iterator[tuple[int, Floats]]:
        start = 0
        for column, size in self.categories.items():
            yield column, self.tables[start : start + size + 1]
            start += size + 1

    def raw(self, n_rows: int, read: Read, n_columns: int, pool: ThreadPool) -> Floats:
        """Return the raw numbers [row, output]."""
        totals, numbers = np.tile(self.intercept, (n_rows, 1)), self._numbers(n_columns)

        def add(ends: tuple[int, int]) -> None:
            block = read(*ends)
            totals[slice(*ends)] += self._of_numbers(block[numbers].T if self.categories else block.T)
            for column, table in self._tables():
                codes = block[column]
                totals[slice(*ends)] += table[np.where(np.isnan(codes), len(table) - 1, codes).astype(np.int64)]

        pool.map(add, blocks(n_rows, n_columns, pool.n_jobs))
        return totals

    def _of_numbers(self, rows: Floats) -> Floats:
        """A product as of sparse matrices: column by column, so that no row depends on the others or on the machine."""
        standard = (np.where(np.isnan(rows), self.fill, rows) - self.mean) / self.scale
        return np.asarray(sparse.csr_array(standard) @ self.coefficients)

    def raw_of_sparse(self, matrix: Any) -> Floats:
        """Return the same for a sparse matrix of numbers, where no mean is subtracted."""
        data = np.where(np.isnan(matrix.data), self.fill[matrix.indices], matrix.data) / self.scale[matrix.indices]
        scaled = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        return np.asarray(scaled @ self.coefficients) + self.intercept

    @classmethod
    def read(cls, contents: Contents, n_columns: int, wide: dict[int, int], n_classes: int) -> "LinearSum":
        """Return the sum of a file that is not trusted. wide: the number of codes of each category column."""
        link, n = meta_value(contents, "link", str), n_columns - len(wide)
        intercept = np.array(require(contents, "intercept", "<f8", (None,)))
        n_outputs, n_rows = len(intercept), sum(size + 1 for size in wide.values())
        fill, mean, scale = (np.array(require(contents, name, "<f8", (n,))) for name in ("fill", "mean", "scale"))
        coefficients = np.array(require(contents, "coefficients", "<f8", (n, n_outputs)))
        tables = np.array(require(contents, "tables", "<f8", (n_rows, n_outputs)))
        check_outputs(link, n_outputs, n_classes)
        expect(link != "share", "a linear model has no shares")
        expect(
            all(np.all(np.isfinite(one)) for one in (fill, mean, scale, coefficients, tables, intercept)),
            "a number is not finite",
        )
        expect(np.all(scale > 0), "the scale of a column is not positive")
        return cls(fill, mean, scale, coefficients, tables, intercept, wide, link)


FORMS: dict[str, Any] = {"trees": FloatTrees, "linear": LinearSum}


def read_form(contents: Contents, n_columns: int, wide: dict[int, int], n_classes: int) -> Any:
    """Return the arrays that predict, of a file that is not trusted."""
    form = meta_value(contents, "form", str)
    expect(form in FORMS, f"no model has the form {form!r:.60}")
    return FORMS[form].read(contents, n_columns, wide, n_classes)
