"""A fitted model as SQL: CASE expressions over the columns of a table, in double precision.

Standard SQL: identifiers in double quotes, texts in single quotes. Numbers are cast to doubles, since some databases
compare no BOOLEAN with a double (DuckDB), and others all digits of a large integer (SQLite). A missing value is NULL,
or NaN where a database has it. Some databases sort NaN above all numbers (PostgreSQL, DuckDB, Snowflake), in others it
compares with none (BigQuery): numbers are also compared with the largest double, which serves both. Sums are balanced,
so that parsers do not nest deeply.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.data.table import Categories
from electorate.exact import UNITS
from electorate.export.summed_trees import SummedTrees, summed_trees
from electorate.model.ensemble import LEAF, tables_of

LARGEST = "1.7976931348623157e308"
TABLE = "given"  # what a query calls the table: SQLite takes an unqualified name of no column for a text


@dataclass(frozen=True)
class SqlColumns:
    """The columns of a model as SQL. table: its alias in the query, or empty for an expression alone."""

    names: list[str]
    table: str

    def text(self, column: int) -> str:
        return (self.table and f"{self.table}.") + identifier(self.names[column])

    def number(self, column: int) -> str:
        return f"CAST({self.text(column)} AS DOUBLE PRECISION)"


def _refuse_cleaning(model: Any) -> None:
    """Raise ValueError if columns are read or merged before the model: SQL would compare them as they are."""
    cleaning = getattr(model, "cleaning_", None)
    changed = [] if cleaning is None else cleaning.changed
    if changed:
        todo = "for a table that is clean already, delete model.cleaning_ first"
        raise ValueError(f"the model cleans {', '.join(map(repr, changed[:5]))}, which SQL does not: {todo}")


def to_sql(model: Any, table: str | None = None) -> str:
    """Return an expression, or a query of a table; see `Exported.to_sql`."""
    source = summed_trees(model, "to_sql")
    _refuse_cleaning(model)
    _refuse_names(source)
    if table is None:
        if len(source.slope) > 1:
            raise ValueError(
                f"a model of {len(source.slope)} classes has one expression per class: name a table, to_sql('rows'), "
                "for a query with all of them and the predicted class"
            )
        return _number(source, SqlColumns(source.names, ""), 0)
    columns = SqlColumns(source.names, TABLE)
    numbers = [_number(source, columns, k) for k in range(len(source.slope))]
    given = f"(SELECT * FROM {table}) AS {TABLE}"
    if source.is_classifier:
        return _class_query(source.model.classes_.tolist(), numbers, given)
    return f"SELECT {numbers[0]} AS {identifier('prediction')}, {TABLE}.*\nFROM {given}"


def _refuse_names(source: SummedTrees) -> None:
    """Raise ValueError for columns that a database cannot have, or cannot tell apart."""
    seen: dict[str, str] = {}
    for column in np.unique(source.trees.column[source.trees.column != LEAF]).tolist():
        name = source.names[column]
        if not name:
            raise ValueError(
                f"SQL has no column without a name, and column {column} has none: rename it before training"
            )
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            both = f"columns {other!r} and {name!r} differ only in upper and lower case"
            raise ValueError(f"{both}, and databases take them for one: rename one before training")


def _class_query(classes: list[Any], numbers: list[str], given: str) -> str:
    """Return the query of a classifier. The outer part reads the decisions by names that no column of the table has."""
    mark = hashlib.sha256("".join(numbers).encode()).hexdigest()[:12]
    inner = [identifier(f"decision {mark} {k}") for k in range(len(numbers))]
    names = ["decision"] if len(numbers) == 1 else [f"decision_{k}" for k in range(len(numbers))]
    labels = [literal(label) for label in classes]
    if len(numbers) == 1 and len(labels) == 2:
        chosen = f"CASE WHEN {inner[0]} > 0 THEN {labels[1]} ELSE {labels[0]} END"
    else:
        largest = [" AND ".join(f"{one} >= {other}" for other in inner if other != one) for one in inner[:-1]]
        cases = "".join(f" WHEN {test} THEN {label}" for test, label in zip(largest, labels, strict=False))
        chosen = f"CASE{cases} ELSE {labels[-1]} END" if cases else labels[0]
    outer = "".join(f"{one} AS {identifier(name)},\n" for one, name in zip(inner, names, strict=True))
    added = ",\n".join(f"{number} AS {name}" for number, name in zip(numbers, inner, strict=True))
    votes = f"(\nSELECT {TABLE}.*,\n{added}\nFROM {given}\n) AS votes"
    return f"SELECT {chosen} AS {identifier('prediction')},\n{outer}votes.*\nFROM {votes}"


def _number(source: SummedTrees, columns: SqlColumns, output: int) -> str:
    """Return the expression of a decision or prediction."""
    votes = _balanced([double(float(source.constant[output])), *_terms(source, columns, output)])
    start, slope = float(source.start[output]), float(source.slope[output])
    scaled = votes if slope == 1 else f"{double(slope)} * {votes}"
    return scaled if start == 0 else f"({double(start)} + {scaled})"


def _terms(source: SummedTrees, columns: SqlColumns, output: int) -> Iterator[str]:
    """Yield one CASE per column for stumps, else one per tree."""
    trees = source.trees
    if trees.lookup is not None:
        for column, edges, table in zip(trees.cells.columns, trees.cells.edges, tables_of(trees), strict=True):
            if table[output].any():
                yield _column_case(source, columns, int(column), edges, table[output] / UNITS)
        return
    for voter, root in enumerate(trees.offsets[:-1].tolist()):
        nodes = slice(root, int(trees.offsets[voter + 1]))
        if trees.column[root] != LEAF and trees.units[nodes, output].any():
            yield _tree_case(source, columns, root, output)


def _column_case(source: SummedTrees, columns: SqlColumns, column: int, edges: Any, values: Any) -> str:
    """Return what all stumps of a column add. values: one per cell, the last for missing values."""
    categories = source.categories(column)
    name = columns.text(column) if categories is not None and categories.is_text else columns.number(column)
    if categories is None:
        bounds = [*map(double, edges[np.isfinite(edges)].tolist()), LARGEST]
        cases = [(f"{name} <= {bound}", value) for bound, value in zip(bounds, values.tolist(), strict=False)]
    else:
        codes = range(categories.n_codes)
        cases = [(f"{name} IN ({_levels(categories, [code])})", float(values[code])) for code in codes]
    whens = "\n".join(f"  WHEN {test} THEN {double(value)}" for test, value in cases)
    return f"CASE\n{whens}\n  ELSE {double(float(values[-1]))}\nEND"


def _tree_case(source: SummedTrees, columns: SqlColumns, root: int, output: int) -> str:
    """Return a tree as nested CASEs; children come after their parent, so texts are made from the last node on."""
    trees = source.trees
    end = int(trees.offsets[np.searchsorted(trees.offsets, root, side="right")])
    texts: dict[int, str] = {}
    for node in range(end - 1, root - 1, -1):
        if trees.column[node] == LEAF:
            texts[node] = double(float(trees.units[node, output] / UNITS))
            continue
        left, right = (texts.pop(int(child)) for child in trees.child_nodes[node])
        inside, outside = (right, left) if trees.missing_left[node] else (left, right)
        texts[node] = f"CASE WHEN {_test(source, columns, node)} THEN {inside} ELSE {outside} END"
    return texts[root]


def _test(source: SummedTrees, columns: SqlColumns, node: int) -> str:
    """Return the condition of the side that missing and unseen values do not take."""
    trees = source.trees
    column, missing_left = int(trees.column[node]), bool(trees.missing_left[node])
    categories = source.categories(column)
    name = columns.text(column) if categories is not None and categories.is_text else columns.number(column)
    if trees.members[node] >= 0:
        on_left = trees.sets[trees.members[node], : categories.n_codes]
        codes = np.flatnonzero(on_left != missing_left).tolist()
        return f"{name} IN ({_levels(categories, codes)})" if codes else "1 = 0"
    threshold = float(trees.threshold[node])
    bound = double(threshold) if np.isfinite(threshold) else LARGEST
    return f"{name} > {bound} AND {name} <= {LARGEST}" if missing_left else f"{name} <= {bound}"


def _levels(categories: Categories, codes: list[int]) -> str:
    """Return the levels that have these codes; the last code may be that of several rare ones."""
    found: list[Any] = []
    for code in codes:
        found += categories.rest if code == len(categories.levels) else [categories.levels[code]]
    text: Callable[[Any], str] = literal if categories.is_text else lambda level: double(float(level))
    return ", ".join(map(text, found))


def _balanced(terms: list[str]) -> str:
    """Return the sum of the terms, in parentheses that nest as little as possible."""
    while len(terms) > 1:
        pairs = [f"({a} + {b})" for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]


def double(value: float) -> str:
    """Return a literal that is a double and not a decimal: with an exponent, and all digits."""
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent or 0)}" if value >= 0 else f"({mantissa}e{int(exponent or 0)})"


def identifier(name: str) -> str:
    """Return a quoted name; quotes in it are doubled."""
    return '"' + _without_nul(name).replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a label or a category as a literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return double(value)
    return "'" + _without_nul(str(value)).replace("'", "''") + "'"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL has no text with a null character, and {text!r} is one: rename it before training")
    return text
