"""A table for prediction, part by part: read, predicted and written in constant memory.

The model determines which columns are read and which of them are numbers; nothing is guessed.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from electorate.escape import literal
from electorate.tables import binary
from electorate.tables.source import Source, TableError, arrow
from electorate.tables.text import Parser, TextTable, line_in

Part = TypeVar("Part")
Result = TypeVar("Result")
MOST_THREADS = 16


def in_order(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield the results of several threads in the order of the parts; an error is raised in the place of its result.

    The caller's thread reads the parts. Only a few are in memory at a time.
    """
    threads = count_threads()
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(work, part))
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


@dataclass(frozen=True)
class Stream:
    """parts: to be read in order. table: returns the columns of a part as a pyarrow table, in any thread.

    line: returns the line of a row of a part, None for formats without lines.
    """

    parts: Iterable[Any]
    table: Callable[[Any], Any]
    line: Callable[[Any, int], int | None]


def open_stream(source: Source, kinds: dict[str, str], keep: list[str]) -> Stream:
    """Open the columns of `kinds` ("number" or "text"), and those to copy unchanged."""
    wanted = list(dict.fromkeys([*kinds, *keep]))
    if source.is_text:
        text = TextTable(source)
        read_as = {"number": "number", "text": "category", None: "text"}
        places = zip(source.places(wanted, text.names), wanted, strict=True)
        parser = Parser(source, text.names, {place: read_as[kinds.get(name)] for place, name in places})
        return Stream(text.blocks(), parser.table, partial(line_in, source))
    opened = binary.open_binary(source)

    def table(part: Any) -> Any:
        columns = zip(part.columns, wanted, strict=True)
        return arrow.Table.from_arrays([_typed(source, column, name, kinds) for column, name in columns], wanted)

    return Stream(opened.batches(source.places(wanted, opened.names)), table, lambda part, row: None)


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


def kinds_of(model: Any, names: list[str]) -> dict[str, str]:
    """Return the kind of each column that a fitted model needs."""
    texts = {column for column, categories in model.bins_.categories.items() if categories.is_text}
    return {name: "text" if place in texts else "number" for place, name in enumerate(names)}


def names_of(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted to columns without names: use it from Python")
    return [str(name) for name in np.asarray(names).tolist()]
