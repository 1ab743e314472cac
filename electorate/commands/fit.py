"""`electorate fit`: one algorithm with any of its options, from a table to a model file."""

import argparse
import json
import sys
from importlib import import_module
from typing import Any

from electorate.shown import literal

EXAMPLES = """examples:
  electorate fit adult.csv.gz --target income --out adult.model
  electorate fit adult.csv.gz --target income --algorithm RealAdaBoost --voters Trees \\
      --set n_estimators=200 --set learning_rate=0.1 --set estimator__max_depth=4 --out adult.model
--list shows the algorithms and their options."""
ENDINGS = ("Classifier", "Regressor")


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_training_options

    one.add_argument("table", nargs="?", help="CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input")
    add_training_options(one)
    one.add_argument("--out", metavar="MODEL", help="the model file to write")
    one.add_argument("--algorithm", default="AdaBoost", help="AdaBoost, RealAdaBoost, ... (AdaBoost)")
    one.add_argument("--voters", help="Stumps, Trees, ... (the algorithm's own)")
    one.add_argument(
        "--set", action="append", default=[], type=_pair, metavar="OPTION=VALUE", help="any option of the algorithm"
    )
    one.add_argument("--list", action="store_true", help="show algorithms and options, and do nothing")
    one.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    if options.list:
        print("\n".join(_listed()))
        return 0
    for name, value in (("TABLE", options.table), ("--target", options.target), ("--out", options.out)):
        if value is None:
            raise ValueError(f"{name} is missing: electorate fit TABLE --target COLUMN --out MODEL")
    model = _build(options)
    from electorate import ProgressBar
    from electorate.cli import source_of
    from electorate.tables.reading import by_line, read_weighted_table

    source = source_of(options)
    X, y, weight = read_weighted_table(source, options.target, options.weights)
    if not options.quiet and sys.stderr.isatty():
        model.set_callbacks(ProgressBar())
    with by_line(source, X):
        model.fit(X, y, sample_weight=weight)
    model.save(options.out)
    errors = model.history_.get("train_error")
    trained = "" if errors is None else f", training error {float(errors[-1]):.4f}"
    print(
        f"{type(model).__name__}: {len(model.steps_)} voters, stopped by {model.stop_reason_}{trained}; "
        f"{literal(options.out)}",
        file=sys.stderr,
    )
    print(model.digest_)
    return 0


def _build(options: argparse.Namespace) -> Any:
    model = getattr(import_module("electorate"), _estimator(options.algorithm))()
    if options.voters is not None:
        model.set_params(estimator=_family(options.voters))
    elif any(name.startswith("estimator__") for name, _ in options.set) and model.estimator is None:
        raise ValueError("options of the voters were set, but not which voters: add --voters Trees")
    for name, value in options.set:
        _set(model, name, value)
    if not hasattr(model, "save"):
        raise ValueError(f"{type(model).__name__} has no file format: use it from Python")
    return model


def _set(model: Any, name: str, value: Any) -> None:
    known = sorted(model.get_params())
    if name not in known:
        raise ValueError(f"{type(model).__name__} has no option {literal(name)!r}; it has {', '.join(known)}")
    model.set_params(**{name: value})


def _estimators() -> dict[str, str]:
    """Short names and the classes they stand for."""
    names = [name for name in import_module("electorate").__all__ if name.endswith(ENDINGS)]
    return {name.removesuffix("Classifier").removesuffix("Regressor").casefold(): name for name in sorted(names)[::-1]}


def _estimator(wanted: str) -> str:
    public = {name.casefold(): name for name in _estimators().values()}
    plain = wanted.casefold().replace("_", "").replace(" ", "")
    found = _estimators().get(plain) or public.get(plain)
    if found is None:
        raise ValueError(f"no algorithm is called {literal(wanted)!r}; there are {', '.join(_short_names())}")
    return found


def _short_names() -> list[str]:
    return sorted(name.removesuffix("Classifier").removesuffix("Regressor") for name in _estimators().values())


def _family(wanted: str) -> Any:
    from electorate.estimators.files import FAMILIES

    found = {name.casefold(): name for name in FAMILIES}.get(wanted.casefold())
    if found is None:
        raise ValueError(f"no voters are called {literal(wanted)!r}; there are {', '.join(sorted(FAMILIES))}")
    return getattr(import_module(FAMILIES[found]), found)()


def _listed() -> list[str]:
    lines = []
    for name in _estimators().values():
        model = getattr(import_module("electorate"), name)()
        options = ", ".join(f"{key}={value!r}" for key, value in sorted(model.get_params(deep=False).items()))
        lines.append(f"{name.removesuffix('Classifier').removesuffix('Regressor')}: {options}")
    return sorted(lines)


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not OPTION=VALUE")
    try:
        return name, json.loads({"None": "null", "True": "true", "False": "false"}.get(value, value))
    except ValueError:
        return name, value  # a text
