"""`electorate fit`: one algorithm with any of its options, from a table to a model file."""

import argparse
import json
import sys
from importlib import import_module
from typing import Any

from electorate.commands import choice
from electorate.commands.compare import read
from electorate.escape import literal
from electorate.safe_write import check_writable

EXAMPLES = f"""examples:
  electorate fit adult.csv.gz --target income --out adult.model
  electorate fit adult.csv.gz --target income --algorithm RealAdaBoost --voters Trees \\
      --set n_estimators=200 --set learning_rate=0.1 --set estimator__max_depth=4 --out adult.model
  electorate fit houses.csv --target price --algorithm "MedBoost, trees" --out houses.model
algorithms, by any of these names or by the name of the class in Python:
{choice.names_shown()}
a name as compare prints it stands for the voters and the first setting that compare tries; --set changes it.
--list shows the options of each."""


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_training_options

    one.add_argument("table", nargs="?", help="CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input")
    add_training_options(one)
    one.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="auto: float targets, and integer targets with more than 20 distinct values, are regression",
    )
    one.add_argument("--out", metavar="MODEL", help="the model file to write")
    one.add_argument("--algorithm", default=choice.DEFAULT, metavar="NAME", help="see below (AdaBoost)")
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
    for name, value in (("TABLE", options.table), ("--out", options.out)):
        if value is None:
            raise ValueError(f"{name} is missing: electorate fit TABLE --target COLUMN --out MODEL")
    check_writable(options.out)
    found = choice.find(options.algorithm)
    _try(found, options)
    data = read(options)
    from electorate.comparison.rows import guess_task

    model = _build(choice.settle(options.algorithm, found, options.task, guess_task(data.y)), options)
    _refuse_target(model, data.y, options.target)
    if not options.quiet and sys.stderr.isatty():
        from electorate import ProgressBar

        model.set_callbacks(ProgressBar())
    with data.by_line():
        model.fit(data.X, data.y, sample_weight=data.weight)
    model.save(options.out)
    print(f"{_summary(model)}; {literal(options.out)}", file=sys.stderr)
    print(model.digest_)
    return 0


def _try(found: list[choice.Choice], options: argparse.Namespace) -> None:
    """Raise before the table is read what is wrong with the options for every task."""
    errors = []
    for one in found:
        try:
            _build(one, options)
        except (ValueError, TypeError) as error:
            errors.append(error)
    if len(errors) == len(found):
        raise errors[0]


def _refuse_target(model: Any, y: Any, name: str) -> None:
    if not hasattr(model, "predict_proba") and y.dtype.kind not in "iufb":
        raise ValueError(f"the target {literal(name)!r} holds texts, and regression needs numbers")
    if hasattr(model, "predict_proba") and len(set(y.tolist())) == 1:
        raise ValueError(
            f"the target {literal(name)!r} has one class only, {literal(y[0])!r}: there is nothing to learn"
        )


def _summary(model: Any) -> str:
    errors = model.history_.get("train_error", ())
    trained = f", training error {float(errors[-1]):.4f}" if len(errors) else ""
    return f"{type(model).__name__}: {len(model.steps_)} voters, stopped by {model.stop_reason_}{trained}"


def _build(one: choice.Choice, options: argparse.Namespace) -> Any:
    model = one.build()
    if options.voters is not None:
        model.set_params(estimator=_family(options.voters, one.task))
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


def _family(wanted: str, task: str) -> Any:
    """Voters by their name; Trees of a regressor are RegressionTrees."""
    from electorate.registry import FAMILIES

    plain = wanted.casefold()
    if task == "regression" and plain == "trees":
        plain = "regressiontrees"
    found = {name.casefold(): name for name in FAMILIES}.get(plain)
    if found is None:
        raise ValueError(f"no voters are called {literal(wanted)!r}; there are {', '.join(sorted(FAMILIES))}")
    return getattr(import_module(FAMILIES[found]), found)()


def _listed() -> list[str]:
    lines = []
    for name in sorted(choice.estimators()):
        model = getattr(import_module("electorate"), name)()
        options = ", ".join(f"{key}={value!r}" for key, value in sorted(model.get_params(deep=False).items()))
        lines.append(f"{name}: {options}")
    return lines


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not OPTION=VALUE")
    try:
        return name, json.loads({"None": "null", "True": "true", "False": "false"}.get(value, value))
    except ValueError:
        return name, value  # a text
