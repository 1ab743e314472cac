"""`electorate predict`: rows of any number through a model, in constant memory."""

import argparse
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

EXAMPLES = """examples:
  electorate predict adult.model new.csv --out predictions.csv
  zcat new.csv.gz | electorate predict adult.model - --proba --keep id > predictions.csv"""


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_table_options
    from electorate.tables.source import FORMATS

    one.add_argument("model", help="a model file")
    one.add_argument("table", help="CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input")
    add_table_options(one)
    one.add_argument("--out", default="-", metavar="FILE", help="CSV, TSV, Parquet or Arrow; - is standard output (-)")
    one.add_argument("--out-format", choices=FORMATS, default="", help="where the name does not say")
    one.add_argument("--proba", action="store_true", help="the probability of each class, too")
    one.add_argument("--keep", action="append", default=[], metavar="COLUMN", help="a column to copy, e.g. an id")


def run(options: argparse.Namespace) -> int:
    from electorate.cli import source_of
    from electorate.tables.streaming import in_order, kinds_of, names_of, open_stream
    from electorate.tables.writing import open_writer

    _refuse_clashes(options.keep)
    source, model = source_of(options), _model(options)
    names = names_of(model)
    count = 0
    with open_writer(options.out, options.out_format) as out:
        stream = open_stream(source, kinds_of(model, names), options.keep)
        for found in in_order(lambda part: _tried(model, stream, part, names, options), stream.parts):
            if isinstance(found, Refused):
                found.explain(source, stream, count)
            elif found is not None:
                out.write(found)
                count += found.num_rows
        if not count:
            raise source.error("the table has no rows")
    print(f"{count} rows", file=sys.stderr)
    return 0


@dataclass(frozen=True)
class Refused:
    """Rows that the model did not take; their place among the others is known to the thread that reads."""

    part: Any
    table: Any
    error: ValueError

    def explain(self, source: Any, stream: Any, n_before: int) -> NoReturn:
        from electorate.tables.reading import refuse_infinite

        def where(row: int) -> tuple[str, int | None]:
            line = stream.line(self.part, row)
            return "" if line is not None else f" of row {n_before + row + 1}", line

        refuse_infinite(source, self.table, where)
        raise self.error


def _tried(model: Any, stream: Any, part: Any, names: list[str], options: argparse.Namespace) -> Any:
    """The predictions of a part, None if it has no rows; or what was wrong with it."""
    table = stream.table(part)
    if not table.num_rows:
        return None
    try:
        return _predicted(model, table, names, options)
    except ValueError as error:
        return Refused(part, table, error)


def _model(options: argparse.Namespace) -> Any:
    """For labels alone a model is read without its estimator, where that is all it takes."""
    from electorate.model.predict_from_file import read_quickly

    model = None if options.proba else read_quickly(options.model)
    if model is None:
        from electorate import load

        return load(options.model)
    return model


def _refuse_clashes(keep: list[str]) -> None:
    if "prediction" in keep or len(set(keep)) < len(keep):
        raise ValueError("--keep names a column twice, or one called 'prediction'")


def _predicted(model: Any, table: Any, names: list[str], options: argparse.Namespace) -> Any:
    from electorate.tables.source import arrow

    X = table.select(names)
    columns = {name: table.column(name) for name in options.keep}
    if not hasattr(model, "classes_"):
        columns["prediction"] = arrow.array(np.asarray(model.predict(X)))
    elif options.proba:
        proba = model.predict_proba(X)
        columns["prediction"] = _labels(model, np.argmax(proba, axis=1))
        for place, label in enumerate(model.classes_.tolist()):
            columns[f"P({label})"] = arrow.array(np.ascontiguousarray(proba[:, place]))
    else:
        decision = model.decision_function(X)
        best = decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)
        columns["prediction"] = _labels(model, best)
    return arrow.table(columns)


def _labels(model: Any, best: Any) -> Any:
    """Labels by their place: a dictionary, so that texts are looked at once per class, not per row."""
    from electorate.tables.source import arrow
    from electorate.tables.writing import column, indices

    return arrow.DictionaryArray.from_arrays(indices(best), column(model.classes_))
