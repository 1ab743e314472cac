"""`electorate predict`: predicts any number of rows with a model, in constant memory."""

import argparse
import sys
from functools import partial
from typing import Any

import numpy as np

from electorate.commands.options import add_model_and_table, add_table_options, refuse_own_input, source_of
from electorate.tables.source import FORMATS, Source, TableError, arrow
from electorate.text import literal

EXAMPLES = """examples:
  electorate predict adult.model new.csv --out predictions.csv
  zcat new.csv.gz | electorate predict adult.model - --proba --keep id > predictions.csv"""


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add_model_and_table(one)
    add_table_options(one)
    add("--out", default="-", metavar="FILE", help="CSV, TSV, Parquet or Arrow; - is standard output (-)")
    add("--out-format", choices=FORMATS, default="", help="where the name does not show it")
    add("--proba", action="store_true", help="the probability of each class, too")
    add("--keep", action="append", default=[], metavar="COLUMN", help="a column to copy, e.g. an id")


def run(options: argparse.Namespace) -> int:
    from electorate.model.predict_from_file import read_quickly
    from electorate.tables.reading import columns_of, in_order, open_parts, refuse_infinite
    from electorate.tables.writing import open_writer

    if "prediction" in options.keep or len(set(options.keep)) < len(options.keep):
        raise ValueError("--keep names a column twice, or one called 'prediction'")
    refuse_own_input("--out", options.out, {"the model": options.model, "the table": options.table})
    model = None if options.proba else read_quickly(options.model)  # for labels alone it needs no estimator
    if model is None:
        from electorate import load

        model = load(options.model, foreign=options.trust)
    _check_proba(model, options)
    kinds, count = columns_of(model), 0
    with open_writer(options.out, options.out_format) as out:
        source = source_of(options)
        parts, table_of = open_parts(source, kinds, options.keep)

        def predict_part(part: Any) -> tuple[Any, Any, Any]:
            """A part, its table, and its predictions or the error that they raised."""
            table = table_of(part)
            try:
                return part, table, _predicted(model, table, list(kinds), options) if table.num_rows else None
            except ValueError as error:
                return part, table, error

        for part, table, found in in_order(predict_part, parts):
            if isinstance(found, ValueError):
                refuse_infinite(table, partial(_error, source, part, count))
                raise found
            if found is not None:
                out.write(found)
                count += found.num_rows
        if not count:
            raise source.error("the table has no rows")
    print(f"{count} rows", file=sys.stderr)
    return 0


def _check_proba(model: Any, options: argparse.Namespace) -> None:
    """Raise ValueError if there are no probabilities, or their columns have the names of kept ones."""
    if not options.proba:
        return
    if not hasattr(model, "classes_"):
        raise ValueError("--proba is for classes, and this model predicts numbers: leave it out")
    both = {f"P({label})" for label in model.classes_.tolist()} & set(options.keep)
    if both:
        raise ValueError(f"--keep {literal(min(both))!r} is also a column that --proba writes: rename it in the table")


def _error(source: Source, part: Any, n_before: int, message: str, row: int) -> TableError:
    """The error about a row of a part, which n_before rows precede."""
    return source.error(message, part.line_of(source, row) if source.is_text else None, n_before + row)


def _predicted(model: Any, table: Any, names: list[str], options: argparse.Namespace) -> Any:
    X = table.select(names)
    columns = {name: table.column(name) for name in options.keep}
    if not hasattr(model, "classes_"):
        columns["prediction"] = arrow.array(np.asarray(model.predict(X)))
    elif options.proba:
        proba = model.predict_proba(X)
        columns["prediction"] = _labels(model, np.argmax(proba, axis=1))
        for i, label in enumerate(model.classes_.tolist()):
            columns[f"P({label})"] = arrow.array(np.ascontiguousarray(proba[:, i]))
    else:
        decision = model.decision_function(X)
        columns["prediction"] = _labels(model, decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1))
    return arrow.table(columns)


def _labels(model: Any, codes: Any) -> Any:
    """Labels as an Arrow dictionary, so that texts are escaped once per class, not per row."""
    from electorate.tables.writing import column, indices

    return arrow.DictionaryArray.from_arrays(indices(codes), column(model.classes_))
