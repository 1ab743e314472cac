"""The rows of a table that a model is shown with: its columns, and the target if one is named."""

import argparse
from dataclasses import replace
from typing import Any

from electorate.commands.options import read, source_of
from electorate.tables.source import arrow


def read_rows(model: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """Return a pyarrow table of the model's columns, and the target or None."""
    from electorate.tables.reading import columns_of, open_parts

    kinds = columns_of(model)
    source = replace(source_of(options), types=kinds)
    if options.target is not None:
        found = read(options, source, options.target, list(kinds))
        return found.X.select(list(kinds)), found.y
    parts, table_of = open_parts(source, kinds, [])
    tables = [table_of(part) for part in parts]
    if not sum(table.num_rows for table in tables):
        raise source.error("the table has no rows")
    return arrow.concat_tables(tables).unify_dictionaries(), None
