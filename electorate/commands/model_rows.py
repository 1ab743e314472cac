"""Reads the rows that a command applies a model to: its columns, and the target if one is named."""

import argparse
from dataclasses import replace
from typing import Any

from electorate.commands.options import read, source_of
from electorate.tables.source import Source, arrow
from electorate.text import literal


def read_rows(model: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """Return a pyarrow table of the model's columns, and the target or None."""
    from electorate.tables.reading import columns_of, open_parts, refuse_infinite

    if options.target is not None:
        return read_labelled(model, options.table, options)[:2]
    kinds = columns_of(model)
    source = replace(source_of(options), types=kinds)
    parts, table_of = open_parts(source, kinds, [])
    tables = [table_of(part) for part in parts]
    if not sum(table.num_rows for table in tables):
        raise source.error("the table has no rows")
    table = arrow.concat_tables(tables).unify_dictionaries()
    refuse_infinite(table, lambda message, row: source.error(message, row=row))
    return table, None


def read_labelled(model: Any, path: str, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the columns of the model, the target, cleaned as in training, and the weights if there are some."""
    from electorate.data.cleaning import cleaned_target
    from electorate.tables.reading import columns_of, refuse_infinite

    kinds = columns_of(model)
    source, names = replace(source_of(options, path), types=kinds), list(kinds)
    refuse_feature(source, kinds, options.target)
    found = read(options, source, options.target or _target(source, names), names)
    refuse_infinite(found.X, found.where.error)
    return found.X.select(names), cleaned_target(model, found.y), found.weight


def refuse_feature(source: Source, kinds: dict[str, str], target: str | None) -> None:
    """Raise the error for a target that is a column the model predicts from."""
    if target in kinds:
        what = f"the model predicts from the column {literal(target)!r}"
        raise source.error(f"{what}, so it is not the target: --target names the column that the model predicts")


def _target(source: Any, names: list[str]) -> str:
    from electorate.tables.reading import column_names
    from electorate.tables.source import list_names

    question = "which column is the target? Add --target COLUMN"
    if not source.is_file:
        raise source.error(f"{question}: this table can be read only once")
    used = set(names)
    others = [name for name in column_names(source) if name not in used]
    if len(others) != 1:
        raise source.error(f"{question}: the model does not use {list_names(others) if others else 'no column'}")
    return others[0]
