"""Tables as columns of numbers and of texts: whole for training, or part by part for prediction in constant memory.

For training, types are guessed from the first rows and then fixed: a cell that does not fit is an error with its line.
For prediction the model determines which columns are read, and which of them are numbers.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from electorate.data.number_text import CODE, guess_number_format, is_placeholder
from electorate.exact import AnyArray, Floats
from electorate.tables import binary
from electorate.tables.source import FIRST, MemoryWatch, Source, TableError, arrow
from electorate.tables.text import AS_TEXT, BlockLocator, Parser, RowLocator, TextBlock, TextTable, not_a_number
from electorate.text import literal

Locator = RowLocator | BlockLocator
Part = TypeVar("Part")
Result = TypeVar("Result")
MOST_THREADS = 16
MOSTLY = 0.95  # a column with this share of numbers is one of numbers, and the other cells are mistakes


@dataclass(frozen=True)
class TableRequest:
    """What to read. only: no other columns than these. skip_missing_target: leave out rows without a target.

    to_clean: numbers with texts such as "?" among them, and dates, are left as texts, for the check-up.
    """

    target: str
    weights: str | None = None
    only: list[str] | None = None
    skip_missing_target: bool = False
    to_clean: bool = False

    @property
    def extra(self) -> list[str]:
        """The target and the weights."""
        return [self.target] if self.weights is None else [self.target, self.weights]


@dataclass(frozen=True)
class TrainingTable:
    """X: a pyarrow table, or an array. y: texts or numbers. weight: of the rows, or None.

    n_skipped: rows that were left out because they have no target.
    """

    X: Any
    y: AnyArray
    weight: Floats | None
    where: RowLocator
    n_skipped: int = 0

    @contextmanager
    def by_line(self) -> Iterator[None]:
        """Give an error about an infinite number its line."""
        try:
            yield
        except ValueError:
            if not isinstance(self.X, np.ndarray):
                refuse_infinite(self.X, self.where.error)
            raise


def read_training(source: Source, request: TableRequest) -> TrainingTable:
    where, target = RowLocator(source), request.target
    table = _read_text(source, request, where) if source.is_text else _read_binary(source, request)
    n_rows = table.num_rows
    if n_rows == 0:
        raise source.error("the table has no rows")
    if request.skip_missing_target and table.column(target).null_count:
        present = table.column(target).is_valid()
        table, where.rows = table.filter(present), np.flatnonzero(present.to_numpy()).astype(np.int64)
        if table.num_rows == 0:
            raise source.error(f"the target {literal(target)!r} is missing in every row")
    labels = _labels(table.column(target), target, where)
    weight = None if request.weights is None else _weights(table.column(request.weights), request.weights, where)
    rest = table.drop_columns([name for name in request.extra if name not in (request.only or ())])
    if rest.num_columns == 0:
        raise no_features(source, request)
    return TrainingTable(rest, labels, weight, where, n_rows - table.num_rows)


def no_features(source: Source, request: TableRequest) -> TableError:
    """Return the error for a table that has nothing but the target, or the target and the weights."""
    both = "" if request.weights is None else " and the weights"
    return source.error(f"there is no column besides the target{both}")


def column_names(source: Source) -> list[str]:
    """Return the columns of a table, without reading its rows."""
    return TextTable(source).names if source.is_text else binary.open_binary(source).names


def _places(source: Source, names: list[str], request: TableRequest) -> list[int]:
    """The places of the columns to read."""
    source.find_all(request.extra, names)
    if request.weights == request.target:
        raise source.error(f"the column {literal(request.target)!r} cannot be both target and weights")
    if request.only is not None:
        return source.places(list(dict.fromkeys([*request.only, *request.extra])), names)
    places = source.training_places(names)
    read = {names[place] for place in places}
    dropped = [name for name in request.extra if name not in read]
    if dropped:
        raise source.error(f"the column {literal(dropped[0])!r} cannot be both dropped and used")
    return places


def refuse_infinite(table: Any, error: Callable[[str, int], TableError]) -> None:
    """Raise the error of the first infinite number of a table."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_floating(column.type):
            is_infinite = arrow.compute.fill_null(arrow.compute.is_inf(column), False)
            row = arrow.compute.index(is_infinite, True).as_py()
            if row >= 0:
                todo = "give a finite number, or leave it empty if it is not known"
                raise error(f"column {literal(name)!r} is infinite, or too large: {todo}", row)


def _read_binary(source: Source, request: TableRequest) -> Any:
    opened = binary.open_binary(source)
    places = _places(source, opened.names, request)
    fields = [opened.schema.field(place) for place in places]
    types = dict(source.types)
    if request.to_clean:
        dates = [field.name for field in fields if binary.is_date(field.type)]
        types |= {name: "text" for name in dates if name not in types and name not in request.extra}
    binary.refuse_unusable(source, [field for field in fields if field.name not in types])
    watch = MemoryWatch(source)
    if source.kind == "parquet":  # it states its unpacked size
        meta = opened.file.metadata
        watch.expect(sum(int(meta.row_group(i).total_byte_size) for i in range(meta.num_row_groups)))
    batches = [watch.add(batch) for batch in opened.batches(places)]
    table = arrow.Table.from_batches(batches, arrow.schema(fields))
    names = [str(field.name) for field in fields]
    columns = [
        binary.cast(source, column, name, types[name]) if name in types else column
        for name, column in zip(names, table.columns, strict=True)
    ]
    return arrow.Table.from_arrays(columns, names)


# ---------------------------------------------------------------- text


def _read_text(source: Source, request: TableRequest, where: RowLocator) -> Any:
    """Return the table; where: is given the lines of its rows."""
    text = TextTable(source)
    places = _places(source, text.names, request)
    blocks = text.blocks()
    first = next(blocks, None)
    if first is None:
        raise source.error("the table has no rows")
    kinds = guess_kinds(source, text.names, places, first)
    read_as = {place: "number" if kind == "number" else "text" for place, kind in kinds.items()}
    # A command that applies a model has its kinds of columns, and no option --type.
    parser = Parser(source, text.names, read_as, AS_TEXT if request.only is None else "")

    def parse(block: TextBlock) -> tuple[Any, int, bool]:
        table = parser.table(block)
        return table, block.line, block.has_row_per_line(table.num_rows)

    watch, tables = MemoryWatch(source, text.stream), []
    for table, line, is_plain in in_order(parse, chain([first], blocks)):
        tables.append(watch.add(table))
        where.add(line, table.num_rows, is_plain)
    table = arrow.concat_tables(tables)
    unknown = {text.names[place] for place, kind in kinds.items() if kind == "unknown"}
    columns = [
        _settle(column, name, where, request.to_clean and name not in request.extra) if name in unknown else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return arrow.Table.from_arrays(columns, table.column_names)


def guess_kinds(source: Source, names: list[str], places: list[int], block: TextBlock) -> dict[int, str]:
    """The kinds by the first rows: numbers, or unknown, which is settled when the whole column has been read."""
    kinds = {place: source.types.get(names[place], "unknown") for place in places}
    if not places:  # for pyarrow, no column means all of them
        return kinds
    text = bytes(block.text[: FIRST + 1])
    start = block.text if len(text) <= FIRST else memoryview(text[: text.rfind(b"\n") + 1] or block.text)
    try:
        types = Parser(source, names, dict.fromkeys(places, "guess")).parse(start).schema.types
    except arrow.ArrowInvalid:  # parsing all of it will find the line
        return kinds
    whole = [place for place, kind in zip(places, types, strict=True) if arrow.types.is_integer(kind)]
    columns = Parser(source, names, dict.fromkeys(whole, "text")).parse(start).columns if whole else []
    codes = {place for place, column in zip(whole, columns, strict=True) if _holds_codes(column)}
    for place, kind in zip(places, types, strict=True):
        is_number = arrow.types.is_integer(kind) or arrow.types.is_floating(kind)
        if is_number and names[place] not in source.types:
            kinds[place] = "text" if place in codes else "number"
    return kinds


def _holds_codes(column: Any) -> bool:
    return bool(arrow.compute.any(arrow.compute.match_substring_regex(column, CODE.pattern)).as_py())


def _settle(column: Any, name: str, where: RowLocator, to_clean: bool) -> Any:
    """A column of texts as numbers if all are; if nearly all are, the first that is none is a mistake.

    to_clean: unless all are numbers once they have been cleaned.
    """
    if column.null_count == len(column):
        return column
    source, trimmed = where.source, arrow.compute.utf8_trim_whitespace(column)
    is_number = arrow.compute.match_substring_regex(trimmed, source.number)
    share = arrow.compute.mean(is_number.cast("float64")).as_py()
    if share >= MOSTLY and _holds_codes(column):
        return column
    if share == 1.0:
        return arrow.compute.replace_substring(trimmed, source.decimal, ".").cast("float64")
    if share >= MOSTLY and not (to_clean and _can_be_cleaned(trimmed)):
        row = int(np.flatnonzero(~is_number.fill_null(True).to_numpy(zero_copy_only=False))[0])
        raise where.error(not_a_number(source, name, column[row].as_py()), row)
    return column


def _can_be_cleaned(column: Any) -> bool:
    """Whether every text is a number in one format, or stands for a missing value."""
    counted = column.value_counts()
    pairs = [(one["values"].as_py(), one["counts"].as_py()) for one in counted if one["values"].is_valid]
    texts = [text for text, _ in pairs]
    found = guess_number_format(texts, np.array([count for _, count in pairs], dtype=np.int64))
    return found is not None and all(found.parse(text) is not None or is_placeholder(text) for text in texts)


# ---------------------------------------------------------------- the target and the weights


def _weights(column: Any, name: str, where: Locator) -> Floats:
    """Numbers from 0 on, not all 0."""
    weight = check_weights(column, name, where)
    if not np.any(weight):
        raise where.source.error(f"all weights in {literal(name)!r} are 0")
    return weight


def check_weights(column: Any, name: str, where: Locator) -> Floats:
    """Return weights as float64, or raise the error of the first that is none."""
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        raise where.source.error(f"the column {literal(name)!r} holds no numbers: weights are numbers from 0 on")
    weight = np.asarray(binary.cast(where.source, column, name, "number").to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~(weight >= 0) | np.isinf(weight))  # a missing one is NaN
    if bad.size:
        found = "missing" if np.isnan(weight[bad[0]]) else f"{weight[bad[0]]:g}"
        raise where.error(f"the weight {literal(name)!r} is {found}: weights are numbers from 0 on", int(bad[0]))
    return weight


def check_target(column: Any, name: str, where: Locator) -> None:
    """Raise the error of the first row whose target is missing or infinite."""
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        todo = "fill it in, or leave out such rows with --skip-missing-target"
        raise where.error(f"the target {literal(name)!r} is empty: {todo}", row)
    if arrow.types.is_floating(column.type):
        row = arrow.compute.index(arrow.compute.is_inf(column), True).as_py()
        if row >= 0:
            todo = "give a finite number, or leave out the row"
            raise where.error(f"the target {literal(name)!r} is infinite, or too large: {todo}", row)


def _labels(column: Any, name: str, where: Locator) -> AnyArray:
    """Texts, each distinct one stored once; or numbers, whole ones as integers."""
    check_target(column, name, where)
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.float64())
    if not binary.is_plain_number(column.type):
        encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
        return np.asarray(encoded.dictionary.to_numpy(zero_copy_only=False)[encoded.indices.to_numpy()])
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "f" and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53):
        return values.astype(np.int64)
    return values


# ---------------------------------------------------------------- part by part


def _submitted(pool: ThreadPoolExecutor, work: Callable[[Part], Result], part: Part) -> "Future[Result]":
    """Return the future of a result. Where the system allows no more threads, the caller's thread works."""
    try:
        return pool.submit(work, part)
    except RuntimeError:
        future: Future[Result] = Future()
        try:
            future.set_result(work(part))
        except Exception as error:
            future.set_exception(error)
        return future


def in_order(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield the results of several threads in the order of the parts; an error is raised in the place of its result.

    The caller's thread reads the parts. Only a few are in memory at a time.
    """
    threads = count_threads()
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for part in parts:
                waiting.append(_submitted(pool, work, part))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def count_threads() -> int:
    """Return the CPUs that this process may use, without importing joblib, which takes longer than most tables."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(here, MOST_THREADS)


def open_parts(source: Source, kinds: dict[str, str], keep: list[str]) -> tuple[Iterable[Any], Callable[[Any], Any]]:
    """Open the columns of `kinds` ("number" or "text"), and those to copy unchanged.

    Returns the parts, to be read in order, and a function that returns a part as a pyarrow table, in any thread.
    """
    wanted = list(dict.fromkeys([*kinds, *keep]))
    if source.is_text:
        text = TextTable(source)
        read_as = {"number": "number", "text": "category", None: "text"}
        places = zip(source.places(wanted, text.names), wanted, strict=True)
        parser = Parser(source, text.names, {place: read_as[kinds.get(name)] for place, name in places})
        return text.blocks(), parser.table
    opened = binary.open_binary(source)

    def table(part: Any) -> Any:
        columns = zip(part.columns, wanted, strict=True)
        return arrow.Table.from_arrays([_typed(source, column, name, kinds) for column, name in columns], wanted)

    return opened.batches(source.places(wanted, opened.names)), table


def _typed(source: Source, column: Any, name: str, kinds: dict[str, str]) -> Any:
    """Numbers as float64; texts unchanged, unless they are dates."""
    kind = kinds.get(name)
    if kind == "number" and not arrow.types.is_float64(column.type):
        try:
            return binary.cast(source, column, name, kind)
        except TableError as error:
            raise TableError(f"{error}; it was numbers when the model was fitted") from None
    if kind == "text" and arrow.types.is_temporal(column.type):
        return binary.cast(source, column, name, kind)
    if kind is not None and not binary.is_usable(column.type):
        raise source.error(f"column {literal(name)!r} holds {literal(column.type)}, neither numbers nor texts")
    return column


def columns_of(model: Any) -> dict[str, str]:
    """Return the columns that a fitted model needs, in their order, with the kind of each."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted to columns without names: use it from Python")
    texts = {column for column, categories in model.bins_.categories.items() if categories.is_text}
    kinds = {str(name): "text" if place in texts else "number" for place, name in enumerate(np.asarray(names).tolist())}
    cleaning = getattr(model, "cleaning_", None)
    return kinds if cleaning is None else dict(cleaning.kinds(kinds))
