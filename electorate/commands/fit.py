"""`electorate fit`: trains one algorithm with any of its options, from a table to a model file."""

import argparse
import difflib
import json
import re
import sys
from importlib import import_module
from typing import Any

import numpy as np

import electorate
from electorate.commands.options import TABLE, add_training_options, read, refuse_own_input, source_of
from electorate.commands.scanned import add_scan_option, announce, read_scanned, wants_scan
from electorate.comparison.algorithms import OURS, REGRESSION, Algorithm, Facts, Ours, set_supported
from electorate.registry import ALGORITHMS, FAMILIES
from electorate.text import check_writable, literal


def _task(estimator: str) -> str:
    return "classification" if ALGORITHMS[estimator].is_classifier else "regression"


def _short(estimator: str) -> str:
    return re.sub("Classifier$|Regressor$", "", estimator)


def _names_for(task: str) -> str:
    return ", ".join(sorted(_short(name) for name in ALGORITHMS if _task(name) == task))


NAMES = f"""  classification: {_names_for("classification")}
  regression: {_names_for("regression")}
  as compare names them: {"; ".join(listed.name for listed in OURS)}"""
EXAMPLES = f"""examples:
  electorate fit adult.csv.gz --target income --out adult.model
  electorate fit adult.csv.gz --target income --algorithm RealAdaBoost --voters Trees \\
      --set n_estimators=200 --set learning_rate=0.1 --set estimator__max_depth=4 --out adult.model
  electorate fit houses.csv --target price --algorithm "MedBoost, trees" --out houses.model
algorithms, by any of these names or by the name of the class in Python:
{NAMES}
A name as compare prints it stands for the voters and the first setting that compare tries; --set changes it.
--list shows the options of each."""


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("table", nargs="?", help=TABLE)
    add_training_options(one)
    add("--out", metavar="MODEL", help="the model file to write")
    add("--algorithm", default="AdaBoost", metavar="NAME", help="see below (AdaBoost)")
    add("--voters", help="Stumps, Trees, ... (default: those of the algorithm)")
    add("--set", action="append", default=[], type=_pair, metavar="OPTION=VALUE", help="any option of the algorithm")
    add("--list", action="store_true", help="show algorithms and options, and exit")
    add_scan_option(one)


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not OPTION=VALUE")
    try:
        return name, json.loads({"None": "null", "True": "true", "False": "false"}.get(value, value))
    except ValueError:
        return name, value  # a text


def run(options: argparse.Namespace) -> int:
    if options.list:
        for name in sorted(ALGORITHMS):
            defaults = getattr(electorate, name)().get_params(deep=False)
            print(f"{name}: {', '.join(f'{key}={value!r}' for key, value in sorted(defaults.items()))}")
        return 0
    for name, value in (("TABLE", options.table), ("--out", options.out)):
        if value is None:
            raise ValueError(f"{name} is missing: electorate fit TABLE --target COLUMN --out MODEL")
    check_writable(options.out)
    refuse_own_input("--out", options.out, {"the table": options.table})
    found = _find(options.algorithm)
    _check_options(found, options)
    source = source_of(options)
    is_scanned = wants_scan(options, source)
    data: Any = read_scanned(options, source) if is_scanned else read(options, source)
    if is_scanned:
        check, y = electorate.inspection.CheckUp([], None), data.labels
    else:
        check = _check_up(data, options, "regression" if list(found) == ["regression"] else options.task)
        y = check.clean_target(data.y)
    task = _needed_task(options.algorithm, found, options.task, y)
    if is_scanned:
        announce(data, source, task, sys.stderr)
    model = _build(found[task], task, options)
    _check_target(model, y, options.target)
    if not options.quiet and sys.stderr.isatty():
        model.set_callbacks(electorate.ProgressBar())
    with data.by_line():
        check.fit(model, data.X, data.y, data.weight)
    if check.findings and not options.quiet:
        print(check, file=sys.stderr)
    model.save(options.out)
    error = _training_error(model, data, data.y if is_scanned else y)
    trained = "" if error is None else f", training error {error:.4f}"
    summary = f"{type(model).__name__}: {len(model.steps_)} voters, stopped by {model.stop_reason_}{trained}"
    print(f"{summary}; {literal(options.out)}", file=sys.stderr)
    print(model.digest_)
    return 0


def _training_error(model: Any, data: Any, y: Any) -> float | None:
    """Return the error of the last round; with one run per class, the history has only errors against the rest."""
    errors = model.history_.get("train_error", ())
    if "label" in model.history_:
        return 1.0 - float(model.score(data.X, y, data.weight))
    return float(errors[-1]) if len(errors) else None


def _check_up(data: Any, options: argparse.Namespace, task: str) -> electorate.inspection.CheckUp:
    """The check-up of the training rows; columns whose type is given stay as they are."""
    if not options.check_up:
        return electorate.inspection.CheckUp([], None)
    X, y = data.X, data.y
    if data.weight is not None:
        used = np.flatnonzero(data.weight)
        X, y = X.take(used), y[used]
    return electorate.check_up(X, y, keep=dict(options.type), task=task)


# ---------------------------------------------------------------- which estimator


def _plain(name: str) -> str:
    """Spelling does not matter: Real AdaBoost, RealAdaBoost, real_adaboost."""
    return re.sub(r"[\s_.,-]", "", name).casefold()


def _find(wanted: str) -> dict[str, Algorithm]:
    """The algorithms that a name stands for, by task."""
    plain = [Algorithm(name, (_task(name),), Ours(name), ({},)) for name in ALGORITHMS]
    known: dict[str, dict[str, Algorithm]] = {}
    for algorithm in (*plain, *OURS):
        task = "regression" if REGRESSION in algorithm.tasks else "classification"
        for alias in (algorithm.name, _short(algorithm.name)):
            known.setdefault(_plain(alias), {})[task] = algorithm
    if _plain(wanted) not in known:
        close = difflib.get_close_matches(_plain(wanted), known, 1, 0.7)
        hint = f" Did you mean {next(iter(known[close[0]].values())).name}?" if close else ""
        raise ValueError(f"no algorithm is called {literal(wanted)!r}.{hint} Choose from:\n{NAMES}")
    return known[_plain(wanted)]


def _needed_task(wanted: str, found: dict[str, Algorithm], task: str, y: Any) -> str:
    """The task to train for. With "auto" only a classifier for a regression target is refused."""
    from electorate.data.targets import guess_task

    needed = task
    if task == "auto":
        needed = "regression" if list(found) == ["regression"] else guess_task(y)
    if needed in found:
        return needed
    if task != "auto":
        raise ValueError(f"{literal(wanted)} is not for {task}; choose from {_names_for(task)}")
    why = "the target is treated as regression (float values, or more than 20 distinct integers)"
    hint = f"choose from {_names_for('regression')}, or add --task classification"
    raise ValueError(f"{why}, and {literal(wanted)} is a classifier: {hint}")


def _check_options(found: dict[str, Algorithm], options: argparse.Namespace) -> None:
    """Raise before the table is read if the options suit none of the estimators."""
    errors = []
    for task in found:
        try:
            _build(found[task], task, options)
        except (ValueError, TypeError) as error:
            errors.append(error)
    if len(errors) == len(found):
        raise errors[0]


def _build(algorithm: Algorithm, task: str, options: argparse.Namespace) -> Any:
    model = algorithm.build(algorithm.grid[0], Facts([], 0))
    set_supported(model, {"categorical_features": "from_dtype", "random_state": None, "n_jobs": None})
    name = type(model).__name__
    if options.voters is not None:
        model.set_params(estimator=_family(options.voters, task))
    elif any(option.startswith("estimator__") for option, _ in options.set) and model.estimator is None:
        raise ValueError("options of the voters are set, but the voters are not: add --voters Trees")
    for option, value in options.set:
        known = sorted(model.get_params())
        if option not in known:
            raise ValueError(f"{name} has no option {literal(option)!r}; it has {', '.join(known)}")
        model.set_params(**{option: value})
    if not hasattr(model, "save"):
        raise ValueError(f"{name} has no file format: use it from Python")
    return model


def _family(wanted: str, task: str) -> Any:
    """Voters by their name; Trees of a regressor are RegressionTrees."""
    plain = "regressiontrees" if (task, wanted.casefold()) == ("regression", "trees") else wanted.casefold()
    found = {name.casefold(): name for name in FAMILIES}.get(plain)
    if found is None:
        raise ValueError(f"no voters are called {literal(wanted)!r}; choose from {', '.join(sorted(FAMILIES))}")
    return getattr(import_module(FAMILIES[found]), found)()


def _check_target(model: Any, y: Any, name: str) -> None:
    is_classifier = hasattr(model, "predict_proba")
    if not is_classifier and y.dtype.kind not in "iufb":
        raise ValueError(f"the target {literal(name)!r} holds texts, and regression needs numbers")
    if is_classifier and len(set(y.tolist())) == 1:
        only = f"the target {literal(name)!r} has one class only, {literal(y[0])!r}"
        raise ValueError(f"{only}: there is nothing to learn")
