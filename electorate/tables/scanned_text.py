"""CSV files as sources of batches. Which columns are numbers is settled by all of their cells, as for a whole table."""

import os
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from electorate.tables.batches import Batch, BatchSource, Names, sliced
from electorate.tables.reading import MOSTLY, check_target, check_weights, guess_kinds, in_order, refuse_infinite
from electorate.tables.scanned_files import as_frame
from electorate.tables.source import Source, TableError, arrow
from electorate.tables.text import AS_TEXT, BlockLocator, Parser, TextBlock, TextTable, not_a_number

LARGEST_WHOLE = 2**53
MOST_VALUES = 2**16


class TextSource(BatchSource):
    """A text table. labels: a column whose numbers are read as integers, if all of them are whole.

    weights: a column that is checked as such. Messages name the lines of bad values, as for a table in memory. The pass
    that settles the kinds counts the rows, and finds the distinct labels.
    """

    def __init__(self, source: Source, labels: str | None, weights: str | None = None) -> None:
        self.source, self.name, self.labels, self.weights = source, source.name, labels, weights
        if not source.is_file:
            raise source.error("a scan reads a table several times: give a file")
        text = TextTable(source)
        places = source.training_places(text.names)
        self.all_names, self.places = text.names, dict(zip([text.names[j] for j in places], places, strict=True))
        self.names = list(self.places)
        source.find_all([labels] if labels is not None else [], self.names)
        self.kinds, self.whole = self._settle(text, labels)
        self.n_bytes = os.path.getsize(source.path)
        types = {"number": arrow.float64(), "text": arrow.string()}
        fields = [(name, arrow.int64() if name in self.whole else types[self.kinds[name]]) for name in self.names]
        self.like = arrow.schema(fields).empty_table()

    def state(self) -> Any:
        found = os.stat(self.source.path)
        return {self.source.path: (found.st_size, found.st_mtime_ns)}

    def _settle(self, text: TextTable, labels: str | None) -> tuple[dict[str, str], set[str]]:
        """The kind of every column, and which columns are read as integers, from one pass over the table."""
        blocks = text.blocks()
        first = next(blocks, None)
        if first is None:
            raise self.source.error("the table has no rows")
        guessed = guess_kinds(self.source, text.names, list(self.places.values()), first)
        kinds = {name: guessed[place] for name, place in self.places.items()}
        open_columns = [name for name, kind in kinds.items() if kind == "unknown"]
        open_labels = labels is not None and kinds[labels] != "text"
        if not open_columns and not open_labels:
            return kinds, set()
        wanted = list(dict.fromkeys([*open_columns, *([labels] if open_labels and labels is not None else [])]))
        counts = {name: _Counts() for name in wanted}
        parser = self._parser(wanted, dict.fromkeys(wanted, "text"))

        def count(block: TextBlock) -> list[_Counts]:
            table = parser.table(block)
            where = BlockLocator(self.source, block, table.num_rows)
            return [_count(where, name, table.column(name), name == labels) for name in wanted]

        for found in in_order(count, chain([first], blocks)):
            for name, more in zip(wanted, found, strict=True):
                counts[name].add(more)
        self.n_rows = counts[wanted[0]].rows
        for name in open_columns:
            kinds[name] = self._kind(name, counts[name])
        if labels is None or not open_labels or kinds[labels] != "number" or not counts[labels].whole:
            return kinds, set()
        if counts[labels].present == self.n_rows:  # else another pass finds the row without a label
            self.distinct = {labels: counts[labels].values.astype(np.int64)}
        return kinds, {labels}

    def _kind(self, name: str, counts: "_Counts") -> str:
        share = counts.numbers / counts.present if counts.present else 0.0
        if MOSTLY <= share < 1:
            assert counts.odd is not None
            raise counts.odd
        return "number" if share == 1 else "text"

    def _parser(self, columns: Names, kinds: dict[str, str]) -> Parser:
        return Parser(self.source, self.all_names, {self.places[name]: kinds[name] for name in columns})

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        read_as = {name: "category" if kind == "text" else kind for name, kind in self.kinds.items()}
        parser = self._parser(columns, read_as)

        def parse(block: TextBlock) -> Batch:
            table = parser.table(block).select(columns)
            for name in self.whole.intersection(columns):
                place = table.column_names.index(name)
                table = table.set_column(place, name, table.column(name).cast("int64"))
            where = BlockLocator(self.source, block, table.num_rows)
            if self.labels is not None and self.labels in columns and table.column(self.labels).null_count:
                check_target(table.column(self.labels), self.labels, where)
            blame = partial(self._blame, table, where)
            return Batch(as_frame(table, self.name), f"{self.name}, line {block.line}", blame=blame)

        yield from sliced(in_order(parse, TextTable(self.source).blocks()), n_rows)

    def _blame(self, table: Any, where: BlockLocator) -> None:
        """Raise the error of the first bad target, weight or number of some rows."""
        if self.labels is not None and self.labels in table.column_names:
            check_target(table.column(self.labels), self.labels, where)
        if self.weights is not None and self.weights in table.column_names:
            check_weights(table.column(self.weights), self.weights, where)
        refuse_infinite(table, where.error)


class _Counts:
    """Counts of the cells of a column: all, those with a value, numbers; and whether all of those are whole.

    values: distinct numbers, about the first MOST_VALUES.
    """

    def __init__(self) -> None:
        self.rows = self.present = self.numbers = 0
        self.whole = True
        self.values = np.empty(0)
        self.odd: TableError | None = None  # of the first cell that is no number

    def add(self, other: "_Counts") -> None:
        self.rows += other.rows
        self.present += other.present
        self.numbers += other.numbers
        self.whole &= other.whole
        self.odd = self.odd or other.odd
        if self.whole and len(self.values) < MOST_VALUES:
            self.values = np.union1d(self.values, other.values)


def _count(where: BlockLocator, name: str, column: Any, wants_values: bool) -> _Counts:
    counts, source = _Counts(), where.source
    texts = arrow.compute.utf8_trim_whitespace(column)
    counts.rows, counts.present = len(column), len(column) - column.null_count
    is_number = arrow.compute.match_substring_regex(texts, source.number)
    counts.numbers = int(arrow.compute.sum(is_number).as_py() or 0)
    if counts.numbers < counts.present:
        row = arrow.compute.index(is_number, False).as_py()
        message = not_a_number(source, name, column[row].as_py(), AS_TEXT)
        counts.odd, counts.whole = where.error(message, row), False
        return counts
    texts = texts.drop_null()
    numbers = arrow.compute.replace_substring(texts, source.decimal, ".").cast("float64").to_numpy()
    counts.whole = bool(np.all(numbers == np.rint(numbers)) and np.all(np.abs(numbers) < LARGEST_WHOLE))
    if counts.whole and wants_values:
        counts.values = np.unique(numbers)
    return counts
