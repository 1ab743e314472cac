"""Rows with their target for a model that is tested: the columns that the model needs, and the target."""

import argparse
from dataclasses import replace
from typing import Any

from electorate.commands.options import read, source_of


def read_labelled(model: Any, path: str, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the columns of the model, the target, and the weights if there are some."""
    from electorate.tables.reading import columns_of

    kinds = columns_of(model)
    source, names = replace(source_of(options, path), types=kinds), list(kinds)
    found = read(options, source, options.target or _target(source, names), names)
    return found.X.select(names), found.y, found.weight


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
