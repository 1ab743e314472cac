"""The columns of any table as the check-up reads them: numbers, texts or dates, on all rows or on a sample of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from electorate.data.cleaning import ReadDates, ReadNumbers, Step, days_of
from electorate.data.column_views import floats_of
from electorate.data.factors import Factors, factorise, hold_texts
from electorate.data.inputs import readable_container
from electorate.data.row_subset import evenly_spaced
from electorate.exact import Floats, Ints
from electorate.text import literal

MOST_ROWS = 50_000  # of a sample: for statistics that need no more
MOST_BINS = 64


class CheckedColumn:
    """kind: "number", "text", "category" (declared so by its type), "date" or "other"."""

    def __init__(self, place: int, name: str, values: Any) -> None:
        self.place, self.name = place, name
        self._values = values  # an array of numbers, or a narwhals series
        self.kind = "number" if isinstance(values, np.ndarray) else _kind_of(values)

    @cached_property
    def factors(self) -> Factors:
        """The distinct values of texts, in order, and the place of each row's."""
        found = factorise(self._values)
        if not hold_texts(found.values):
            return found
        order = np.array(sorted(range(len(found.values)), key=found.values.__getitem__), dtype=np.int64)
        place = np.full(len(order) + 1, -1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return Factors([found.values[k] for k in order.tolist()], place[found.rows])

    @cached_property
    def counts(self) -> Ints:
        """How many rows have each distinct value."""
        rows = self.factors.rows
        return np.bincount(rows[rows >= 0], minlength=len(self.factors.values))

    @property
    def has_texts(self) -> bool:
        """Whether all values are texts: objects of several types are left to the estimators."""
        return self.kind == "text" and hold_texts(self.factors.values)

    @cached_property
    def numbers(self) -> Floats:
        """Numbers; for dates the days since 1970, for texts the places of distinct values. NaN where missing."""
        if isinstance(self._values, np.ndarray):
            return np.asarray(self._values, dtype=np.float64)
        if self.kind == "number":
            return floats_of(self._values)
        if self.kind == "date":
            return days_of(self._values, "ymd")
        return np.where(self.factors.rows < 0, np.nan, self.factors.rows.astype(np.float64))

    def cleaned_by(self, step: ReadNumbers | ReadDates) -> "CheckedColumn":
        """The column as numbers; of dates, the first part."""
        return CheckedColumn(self.place, self.name, step.clean(self._values)[0])


def _kind_of(series: Any) -> str:
    dtype = series.dtype
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return "number"
    if isinstance(dtype, nw.Date | nw.Datetime):
        return "date"
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return "category"
    return "text" if isinstance(dtype, nw.String | nw.Object) else "other"


def read_columns(X: Any) -> tuple[list[CheckedColumn], tuple[str, ...] | int, int]:
    """Return the columns, their names or how many they are, and the number of rows. A sparse matrix has no columns."""
    X = readable_container(X)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        names = tuple(str(name) for name in frame.columns)
        columns = [CheckedColumn(j, names[j], frame.get_column(name)) for j, name in enumerate(frame.columns)]
        return columns, names, frame.shape[0]
    if hasattr(X, "tocsc"):
        return [], int(X.shape[1]), int(X.shape[0])
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        return [], 0, len(array)
    return [CheckedColumn(j, str(j), array[:, j]) for j in range(array.shape[1])], array.shape[1], len(array)


def sample_rows(n_rows: int) -> Ints:
    """Return at most MOST_ROWS rows, evenly spaced."""
    return evenly_spaced(n_rows, MOST_ROWS)


def bin_codes(numbers: Floats, is_ordered: bool) -> tuple[Ints, int]:
    """Return codes of bins with about as many rows each, or of the values of categories; missing is the last code."""
    known = np.isfinite(numbers)
    if not is_ordered:
        n_codes = int(numbers[known].max(initial=-1)) + 1
        return np.where(known, np.nan_to_num(numbers), n_codes).astype(np.int64), n_codes + 1
    distinct = np.unique(numbers[known])
    if len(distinct) > MOST_BINS:
        distinct = np.unique(np.quantile(numbers[known], np.linspace(0, 1, MOST_BINS + 1)[1:-1], method="lower"))
    codes = np.searchsorted(distinct, numbers)
    return np.where(known, codes, len(distinct) + 1).astype(np.int64), len(distinct) + 2


# ---------------------------------------------------------------- findings

LONGEST_NAME = 40
LONGEST_EXAMPLE = 30


@dataclass(frozen=True)
class Finding:
    """A finding of the check-up.

    Attributes
    ----------
    kind : str
        "identifier", "free text", "leak", "date", "number as text", "constant", "near duplicate", "spelling",
        "many categories", "rare class", "imbalance", "repeated rows" or "time order".
    column : str or None
        The column; None for the target and for whole rows.
    seen : str
        What was seen.
    done : str
        What is done about it, or what to do.
    """

    kind: str
    column: str | None
    seen: str
    done: str

    def __str__(self) -> str:
        where = "" if self.column is None else f" {literal(self.column, LONGEST_NAME)!r}"
        return f"{self.kind}{where}: {self.seen}; {self.done}"

    def to_dict(self) -> dict[str, Any]:
        """Return the four attributes."""
        return asdict(self)


@dataclass(frozen=True)
class FoundStep:
    """A finding about a column, and the step that cleans it, if there is one."""

    finding: Finding
    step: Step | None = None


def quote(values: Sequence[Any], most: int = 3) -> str:
    """Return some values as examples for a message."""
    listed = ", ".join(repr(literal(value, LONGEST_EXAMPLE)) for value in values[:most])
    return f"{listed}, ..." if len(values) > most else listed
