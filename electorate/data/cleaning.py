"""The cleaning of columns, as a fitted object: a model file stores it, and predictions apply it.

Each step is about one column of the raw table. It depends on what was learnt in training only, never on the rows that
are cleaned. Columns without a step stay as they are.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from electorate.data.column_views import floats_of
from electorate.data.date_text import ORDERS, PARTS, parse_date, part_of_dates
from electorate.data.factors import Factors, factorise
from electorate.data.number_text import DECIMALS, LONGEST_UNIT, NumberFormat, merge_spellings, plain_spelling
from electorate.data.sparse_format import check_sparse
from electorate.exact import Floats
from electorate.modelfile import expect

Stored = dict[str, Any]


@dataclass(frozen=True)
class Drop:
    """Leaves a column out."""

    does, words = "drop", "left out"  # in a file, and in a description

    def names(self, column: str) -> list[str]:
        return []

    def clean(self, series: Any) -> list[Any]:
        return []

    def stored(self) -> Stored:
        return {}


@dataclass(frozen=True)
class ReadNumbers:
    """Reads texts as numbers; other texts are missing values."""

    format: NumberFormat
    does, words = "number", "read as a number"

    def names(self, column: str) -> list[str]:
        return [column]

    def clean(self, series: Any) -> list[Any]:
        if series.dtype.is_numeric():
            return [floats_of(series)]
        return [_by_value(series, self.format.numbers)]

    def stored(self) -> Stored:
        return self.format.stored()


@dataclass(frozen=True)
class ReadDates:
    """Reads dates, in texts of one order of day and month or in a column of that type, and takes parts of them."""

    order: str
    parts: tuple[str, ...]
    does, words = "date", "read as a date"

    def names(self, column: str) -> list[str]:
        return [f"{column} ({part})" for part in self.parts]

    def clean(self, series: Any) -> list[Any]:
        days = days_of(series, self.order)
        return [part_of_dates(days, part) for part in self.parts]

    def stored(self) -> Stored:
        return {"order": self.order, "parts": list(self.parts)}


@dataclass(frozen=True)
class MergeSpellings:
    """Gives all spellings of a text the commonest one. common: by the plain spelling."""

    common: dict[str, str]
    does, words = "spelling", "spellings merged"

    def names(self, column: str) -> list[str]:
        return [column]

    def clean(self, series: Any) -> list[Any]:
        factors = factorise(series)
        values = np.array([*merge_spellings(factors.values, self.common), None], dtype=object)
        return [values[factors.rows].tolist()]

    def stored(self) -> Stored:
        return {"common": [list(pair) for pair in sorted(self.common.items())]}


Step = Drop | ReadNumbers | ReadDates | MergeSpellings


def days_of(series: Any, order: str) -> Floats:
    """Return the dates of a narwhals series as days since 1970-01-01, NaN where there is none."""
    if series.dtype.is_temporal():
        micros = series.dt.timestamp("us").cast(nw.Float64).to_numpy()
        return np.asarray(micros, dtype=np.float64) / 86_400e6
    return _by_value(series, lambda values: np.array([parse_date(str(value), order) for value in values], np.float64))


def _by_value(series: Any, read: Callable[[Sequence[Any]], Floats]) -> Floats:
    """Numbers that are read once per distinct value; NaN where missing."""
    factors: Factors = factorise(series)
    return np.append(read(factors.values), np.nan)[factors.rows]


@dataclass(frozen=True)
class Cleaning:
    """The steps that clean the columns of a table and its target.

    Attributes
    ----------
    columns : tuple of str, or int
        The names of the raw columns, or their number if they have no names.
    steps : dict
        The step of each column that has one, by its place.
    target : step or None
        What is done to the target.

    See Also
    --------
    electorate.check_up : Finds what to clean.
    """

    columns: tuple[str, ...] | int
    steps: dict[int, Step]
    target: ReadNumbers | MergeSpellings | None = field(default=None)

    @cached_property
    def names(self) -> list[str]:
        """The names of the cleaned columns; empty where they have none."""
        if isinstance(self.columns, int):
            return []
        each = (self.steps[j].names(name) if j in self.steps else [name] for j, name in enumerate(self.columns))
        return [name for names in each for name in names]

    @property
    def n_columns(self) -> int:
        """How many cleaned columns there are."""
        return self.columns - len(self.steps) if isinstance(self.columns, int) else len(self.names)

    @property
    def needed(self) -> list[str]:
        """The raw columns that are not left out."""
        assert not isinstance(self.columns, int)
        return [name for j, name in enumerate(self.columns) if not isinstance(self.steps.get(j), Drop)]

    @property
    def changed(self) -> list[str]:
        """The raw columns that are changed and not only dropped."""
        if isinstance(self.columns, int):
            return []
        return [self.columns[j] for j, step in sorted(self.steps.items()) if not isinstance(step, Drop)]

    def describe(self) -> list[str]:
        """Return a description of the step of each column."""
        names = range(self.columns) if isinstance(self.columns, int) else self.columns
        found = [f"{names[j]}: {step.words}" for j, step in sorted(self.steps.items())]
        return found + ([] if self.target is None else [f"target: {self.target.words}"])

    def kinds(self, model_kinds: dict[str, str]) -> dict[str, str]:
        """Return how a file's raw columns are read, "number" or "text". model_kinds: those of the cleaned columns."""
        assert not isinstance(self.columns, int)
        texts = {name for j, name in enumerate(self.columns) if j in self.steps}
        return {name: "text" if name in texts else model_kinds[name] for name in self.needed}

    def transform(self, X: Any) -> Any:
        """Return the cleaned columns, in a container of the same kind.

        Parameters
        ----------
        X : dataframe, array or sparse matrix
            With the columns of the table that the cleaning was fitted to. A dataframe may lack those that are left
            out, and may have others.

        Returns
        -------
        X : of the same kind
        """
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if isinstance(self.columns, int):
            return self._clean_array(frame.to_numpy() if isinstance(frame, nw.DataFrame) else X)
        if not isinstance(frame, nw.DataFrame):
            raise ValueError("the columns are cleaned by their names: pass X as a dataframe, as in training")
        return self._clean_frame(frame).to_native()

    def _clean_array(self, X: Any) -> Any:
        """An array or a sparse matrix: columns can only be left out."""
        X = check_sparse(X)
        X = X if hasattr(X, "shape") else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.columns:
            raise ValueError(f"X has the shape {X.shape}, and the model was fitted to {self.columns} columns")
        return X[:, [j for j in range(X.shape[1]) if j not in self.steps]]

    def _clean_frame(self, frame: Any) -> Any:
        given = {str(name): name for name in frame.columns}
        missing = [name for name in self.needed if name not in given]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}, which the model needs")
        assert not isinstance(self.columns, int)
        series = []
        for j, name in enumerate(self.columns):
            step = self.steps.get(j)
            if step is None:
                series.append(frame.get_column(given[name]).alias(name))
            elif step.names(name):
                for one, values in zip(step.names(name), step.clean(frame.get_column(given[name])), strict=True):
                    kind = nw.String if isinstance(values, list) else nw.Float64
                    series.append(nw.new_series(one, values, kind, backend=frame.implementation))
        return frame.with_columns(*series).select(*self.names)

    def transform_target(self, y: Any) -> Any:
        """Return the target with one spelling per label, or as numbers if it was numbers stored as text."""
        values = np.asarray(y)
        if self.target is None or values.dtype.kind not in "OUT":
            return y
        distinct, rows = np.unique(values.astype(str), return_inverse=True)
        if isinstance(self.target, ReadNumbers):
            return self.target.format.numbers(distinct.tolist())[rows]
        return np.array(merge_spellings(distinct.tolist(), self.target.common), dtype=object)[rows]

    def stored(self) -> Stored:
        """Return the cleaning as JSON, as a model file has it."""
        columns = self.columns if isinstance(self.columns, int) else list(self.columns)
        steps = [{"column": j, **_stored_step(step)} for j, step in sorted(self.steps.items())]
        return {
            "columns": columns,
            "steps": steps,
            "target": None if self.target is None else _stored_step(self.target),
        }


def _stored_step(step: Step) -> Stored:
    return {"does": step.does, **step.stored()}


def cleaned(model: Any, X: Any) -> Any:
    """Return X as the model was fitted to it: cleaned where the model has a cleaning."""
    return X if model.cleaning_ is None else model.cleaning_.transform(X)


def without_cleaning(model: Any) -> Any:
    """Return the model for rows that are clean already: a shallow copy where the model has a cleaning."""
    if getattr(model, "cleaning_", None) is None:
        return model
    bare = copy(model)
    bare.cleaning_ = None
    return bare


def clean_beforehand(model: Any, X: Any, y: Any = None) -> tuple[Any, Any, Any]:
    """Return the model for clean rows, and the rows and targets cleaned: for functions that change single columns."""
    if getattr(model, "cleaning_", None) is None:
        return model, X, y
    return without_cleaning(model), cleaned(model, X), None if y is None else cleaned_target(model, y)


def cleaned_target(model: Any, y: Any) -> Any:
    """Return y as the model was fitted to it."""
    cleaning = getattr(model, "cleaning_", None)
    return y if cleaning is None else cleaning.transform_target(y)


# ---------------------------------------------------------------- from a file that is not trusted


def read_cleaning(stored: Any, n_features: int, names: Sequence[str] | None) -> Cleaning:
    """Return a stored cleaning; ValueError if it is malformed or does not give the columns of the model."""
    expect(isinstance(stored, dict) and set(stored) == {"columns", "steps", "target"}, "the cleaning has other entries")
    columns, entries = stored["columns"], stored["steps"]
    if type(columns) is list:
        fits = all(type(name) is str for name in columns) and len(set(columns)) == len(columns)
        expect(fits, "the columns to clean are not distinct names")
        columns = tuple(columns)
    n_columns = columns if type(columns) is int else len(columns) if type(columns) is tuple else -1
    expect(0 <= n_columns < 2**31 and type(entries) is list, "the cleaning has no columns or no steps")
    steps: dict[int, Step] = {}
    for entry in entries:
        place: Any = entry.get("column") if type(entry) is dict else None
        in_range = type(place) is int and 0 <= place < n_columns and place not in steps
        expect(in_range, "a column to clean is out of range or twice")
        steps[place] = _read_step({key: value for key, value in entry.items() if key != "column"})
    expect(type(columns) is tuple or all(isinstance(step, Drop) for step in steps.values()), "an array holds numbers")
    target = None if stored["target"] is None else _read_step(stored["target"])
    expect(target is None or isinstance(target, ReadNumbers | MergeSpellings), "the target cannot be cleaned like that")
    cleaning = Cleaning(columns, steps, target)  # type: ignore[arg-type]
    fits = cleaning.n_columns == n_features if names is None else cleaning.names == list(names)
    expect(fits, "the cleaning does not give the columns of the model")
    return cleaning


def _read_step(entry: Any) -> Step:
    expect(type(entry) is dict and str(entry.get("does")) in KEYS, "a step of the cleaning is unknown")
    does = str(entry["does"])
    expect(set(entry) == {"does", *KEYS[does]}, f"a step {does!r} of the cleaning has other entries")
    if does == "drop":
        return Drop()
    if does == "number":
        decimal, unit = entry["decimal"], entry["unit"]
        expect(decimal in DECIMALS and type(unit) is str and len(unit) <= LONGEST_UNIT, "no format of numbers")
        return ReadNumbers(NumberFormat(decimal, unit))
    if does == "date":
        order, parts = entry["order"], entry["parts"]
        expect(type(parts) is list and order in ORDERS, "no format of dates")
        expect(
            0 < len(parts) == len(set(map(str, parts))) and all(part in PARTS for part in parts), "no parts of dates"
        )
        return ReadDates(order, tuple(parts))
    pairs = entry["common"]
    fits = type(pairs) is list and all(type(pair) is list and len(pair) == 2 for pair in pairs)
    expect(fits and all(type(text) is str for pair in pairs for text in pair), "spellings are not pairs of texts")
    expect(all(plain_spelling(text) == plain for plain, text in pairs), "a spelling is of another text")
    common = dict(pairs)
    expect(len(common) == len(pairs), "a text has two spellings")
    return MergeSpellings(common)


KEYS: dict[str, tuple[str, ...]] = {
    "drop": (),
    "number": ("decimal", "unit"),
    "date": ("order", "parts"),
    "spelling": ("common",),
}
