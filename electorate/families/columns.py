"""Columns that vote: the columns of X are the outputs of voters, so any matrix of predictions can be boosted.

Columns of +-1 are stored as bits: equal signs in two of them are counted 64 rows at a time, and with weights by tables
of bytes, 8 rows at a time. All sums are exact.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from electorate import kernels
from electorate.exact import Floats, Ints
from electorate.families.by_rows import Always, RowSearch
from electorate.theory import complexity
from electorate.theory.complexity import Shape

CACHED_BYTES = 2**28


@dataclass(frozen=True)
class ColumnVoter:
    """A column divided by its largest size in training, times a sign; 0 where it is missing.

    Values beyond those of training count as the largest.
    """

    column: int
    sign: int
    scale: float

    def outputs(self, X: Floats) -> Floats:
        with np.errstate(over="ignore"):  # infinity is clipped like any value beyond the scale
            outputs = np.clip(X[:, self.column] / self.scale, -1.0, 1.0) * self.sign
        return np.where(np.isnan(outputs), 0.0, outputs)

    @property
    def columns(self) -> list[int]:
        return [self.column]

    def to_text(self, names: list[str]) -> str:
        text = names[self.column] if self.scale == 1 else f"{names[self.column]} / {self.scale!r}"
        return text if self.sign > 0 else f"-({text})"


class SignColumns:
    """Columns of +-1 as bits. times: how often a row counts; all once where None.

    Rows of the Gram matrix are cached up to a limit of memory; the oldest is dropped first.
    """

    def __init__(self, X: Floats, times: Ints | None = None, cached_bytes: int = CACHED_BYTES) -> None:
        positive = np.empty((X.shape[1], -(-len(X) // 8)), dtype=np.uint8)
        for j, column in enumerate(X.T):
            positive[j] = np.packbits(column > 0, bitorder="little")
        self._store(positive, len(X), times, cached_bytes)

    @classmethod
    def packed(cls, positive: NDArray[np.uint8], n_rows: int, times: Ints | None = None) -> "SignColumns":
        """Return the columns from bits: positive[column, group of 8 rows], the first row in the lowest bit."""
        made = cls.__new__(cls)
        made._store(positive, n_rows, times, CACHED_BYTES)
        return made

    def _store(self, positive: NDArray[np.uint8], n_rows: int, times: Ints | None, cached_bytes: int) -> None:
        self.n_rows, self.n_columns = n_rows, len(positive)
        self.bits = np.ascontiguousarray(positive.T)  # [group of 8 rows, column]
        padded = np.zeros((self.n_columns, -(-self.n_rows // 64) * 8), dtype=np.uint8)
        padded[:, : positive.shape[1]] = positive
        self.words = padded.view(np.uint64)
        self.times = times if times is not None and np.any(times != 1) else None
        self.scale = np.ones(self.n_columns)
        self.cached_bytes = cached_bytes
        self.cache: OrderedDict[int, Ints] = OrderedDict()

    def correlate(self, units: Ints) -> Ints:
        """The sum over rows of units times each column."""
        sums = np.zeros(self.n_columns, dtype=np.int64)
        kernels.correlate_signs(self.bits, units, sums)
        return 2 * sums - int(units.sum())

    def gram_row(self, k: int) -> Ints:
        """The sums over rows (as often as they count) of column k times each column."""
        if k in self.cache:
            self.cache.move_to_end(k)
            return self.cache[k]
        if self.times is not None:
            row = self.correlate(np.where(self.column(k) > 0, self.times, -self.times))
        else:
            differ = np.empty(self.n_columns, dtype=np.int64)
            kernels.count_differences(self.words, k, differ)
            row = self.n_rows - 2 * differ
        row.flags.writeable = False
        self.cache[k] = row
        while len(self.cache) * row.nbytes > self.cached_bytes and len(self.cache) > 1:
            self.cache.popitem(last=False)
        return row

    def column(self, k: int) -> Floats:
        bits = np.unpackbits(self.words[k].view(np.uint8), count=self.n_rows, bitorder="little")
        return np.where(bits > 0, 1.0, -1.0)


class RealColumns:
    """Columns of numbers, each divided by its largest size; 0 where a value is missing."""

    def __init__(self, X: Floats, times: Ints | None = None) -> None:
        self.n_rows, self.n_columns = X.shape
        self.scale = np.ones(self.n_columns)
        self.values = np.empty((self.n_columns, self.n_rows))
        for j, column in enumerate(X.T):
            filled = np.where(np.isnan(column), 0.0, column)
            self.scale[j] = float(np.abs(filled).max(initial=0.0)) or 1.0
            np.divide(filled, self.scale[j], out=self.values[j])
        self.times = np.ones(self.n_rows, dtype=np.int64) if times is None else times

    def correlate(self, units: Ints) -> Ints:
        """The sum over rows of units times each column, rounded to units row by row."""
        sums = np.zeros(self.n_columns, dtype=np.int64)
        kernels.correlate_reals(self.values, (units // self.times).astype(np.float64), self.times, sums)
        return sums

    def column(self, k: int) -> Floats:
        return np.asarray(self.values[k])


def read_columns(X: Floats, times: Ints | None = None) -> SignColumns | RealColumns:
    """The columns of X as voters: bits where all are +-1."""
    return SignColumns(X, times) if odd_column(X) < 0 else RealColumns(X, times)


def odd_column(X: Floats) -> int:
    """The first column with a value that is neither -1 nor 1, or -1."""
    return next((j for j, column in enumerate(X.T) if not np.all(np.abs(column) == 1)), -1)


class Columns(BaseEstimator):
    """The columns of X are the voters: any matrix of predictions can be boosted. Classifiers: for two classes.

    A column votes for the second class where it is positive, for the first where it is negative, and not where it is
    missing; its complement votes too. Columns of other numbers than +-1 are divided by their largest size before they
    compete, and need a booster of real-valued voters. The search is exhaustive, by the edge.

    For `MedBoostRegressor` and `LocMedBoostRegressor` columns are predictions of the target, taken as they are: without
    complements or scaling. A prediction that is missing abstains.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Columns
    >>> AdaBoostClassifier(Columns()).fit([[1, 1], [1, -1], [-1, -1], [-1, 1]], [1, 1, 0, 1]).estimators_[0].to_text()
    'x0'
    """

    sees: ClassVar[str] = "rows"
    says_log_odds: ClassVar[bool] = False
    exhaustive: ClassVar[bool] = True

    def best(self, rows: RowSearch) -> ColumnVoter:
        voters = rows.once("columns", lambda: self._read(rows))
        sums = voters.correlate(rows.units)
        j = int(np.argmax(np.abs(sums)))
        return ColumnVoter(j, -1 if sums[j] < 0 else 1, float(voters.scale[j]))

    def _read(self, rows: RowSearch) -> SignColumns | RealColumns:
        odd = odd_column(rows.X) if rows.wanted == "label" else -1
        if odd >= 0:
            value = next(v for v in rows.X[:, odd].tolist() if abs(v) != 1)
            rows.refuse(
                self,
                f"it needs outputs of -1 or 1, and column {rows.names[odd]} holds {value!r}: "
                "use RealAdaBoostClassifier or AdaBoostRClassifier",
            )
        return read_columns(rows.X, rows.times)

    # ------------------------------------------------------------ files

    def pack(self, voters: list[Any]) -> dict[str, NDArray[Any]]:
        """The voters as arrays; column -1 is the constant voter."""
        plain = [ColumnVoter(-1, v.sign, 1.0) if isinstance(v, Always) else v for v in voters]
        columns = zip(*((v.column, v.sign, v.scale) for v in plain), strict=True) if plain else ((), (), ())
        types = self.array_types.items()
        return {name: np.array(each, dtype=kind) for (name, (kind, _)), each in zip(types, columns, strict=True)}

    array_types: ClassVar[dict[str, Any]] = {
        "voter.column": ("<i4", (None,)),
        "voter.sign": ("<i4", (None,)),
        "voter.scale": ("<f8", (None,)),
    }

    def unpack(self, arrays: dict[str, NDArray[Any]], n_columns: int) -> list[Any]:
        """Return what `pack` has written; ValueError for what it cannot have written."""
        column, sign, scale = (arrays[name] for name in self.array_types)
        if not (len(column) == len(sign) == len(scale)):
            raise ValueError("the arrays of the voters differ in length")
        if not (np.all((column >= -1) & (column < n_columns)) and np.all(np.abs(sign.astype(np.int64)) == 1)):
            raise ValueError("a voter's column or sign is out of range")
        if not np.all(np.isfinite(scale) & (scale > 0)):
            raise ValueError("a voter's scale is not a positive number")
        made = zip(column.tolist(), sign.tolist(), scale.tolist(), strict=True)
        return [Always(s) if j < 0 else ColumnVoter(j, s, size) for j, s, size in made]

    def owns(self, voter: Any) -> bool:
        """Whether a voter is a column."""
        return isinstance(voter, ColumnVoter)

    def log_count(self, n: int, shape: Shape) -> float:
        """The logarithm of the number of voters."""
        return complexity.log_columns(shape.columns)

    def published(self, n: int, d: int) -> float:
        """sqrt(2 log N / n) for the d columns and their complements."""
        return complexity.massart(n, complexity.log_columns(d))
