"""Every registered algorithm by the other ways to a model: its file, further fits, Dask, scanned tables, twins of CUDA.

paths.json has a record of each, and the results.csv of two comparisons; `python -m tests.golden.record` writes it. A
file is recorded by a hash of all its bytes; only two columns of its history are set to zero before. A refusal is
recorded by the type of its error. Models of RQPBoost, whose bits depend on the processor, have the record "straight" if
they are those of a straight fit, and numbers of results.csv, which go through NumPy's logarithms, are compared to 1e-9.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from after_round import stop_with
from sklearn.base import clone

import electorate as el
from electorate.model.files import as_bytes
from electorate.registry import ALGORITHMS
from tests.common.engines import ENGINES
from tests.common.small_models import small_model
from tests.golden.cases import BY_LINEAR_ALGEBRA, messy, target, weights_of

PATHS = Path(__file__).with_name("paths.json")
FIRST_ROUNDS = 3
STRAIGHT = "straight"
UNSTABLE = {"seconds", "gap"}  # columns of histories: the gap of RLPBoost depends on the processor's BLAS
MEASURED = {"fit_seconds", "predict_ms_per_1000"}  # columns of results.csv that no two runs share
# Of algorithms of this package only: number of classes, or 0 for quantities, and names.
COMPARISONS = {
    "classification": (2, ["AdaBoost, stumps", "AdaBoost_R, rules", "VadaBoost, stumps"]),
    "regression": (0, ["MedBoost, trees", "AdaBoost.R2, trees", "QuadBoost, regression"]),
}
Rows = tuple[Any, Any, Any]


class EndedEarlyError(Exception):
    """Ends a fit as a crash would."""


def rows_for(name: str) -> Rows:
    """Missing values and categories with two labels or quantities; real weights."""
    X = messy()
    return X, target(X, 2 if ALGORITHMS[name].is_classifier else 0), weights_of("real", len(X))


def straight(model: Any, rows: Rows) -> Any:
    return clone(model).fit(*rows)


def warm_start(model: Any, rows: Rows) -> Any:
    """A few rounds, and then the others."""
    warm = clone(model).set_params(warm_start=True, n_estimators=FIRST_ROUNDS).fit(*rows)
    return warm.set_params(n_estimators=model.n_estimators).fit(*rows)


def checkpoint(model: Any, rows: Rows) -> Any:
    """A fit that ends early and another one that continues from its file."""
    with tempfile.TemporaryDirectory() as folder:
        saved = el.Checkpoint(Path(folder) / "model", every=1)
        try:
            clone(model).set_callbacks(saved, stop_with(EndedEarlyError(), FIRST_ROUNDS)).fit(*rows)
        except EndedEarlyError:
            assert Path(saved.path).exists()
        return clone(model).set_callbacks(saved).fit(*rows)


def dask(model: Any, rows: Rows) -> Any:
    return ENGINES["dask"].fit(clone(model), *rows)


def scan(model: Any, rows: Rows) -> Any:
    """A fit to a CSV file that is read in batches, with bins and state in files."""
    X, y, weights = rows
    with tempfile.TemporaryDirectory() as folder:
        table = X.assign(target=y, weight=weights)
        table.to_csv(Path(folder) / "table.csv", index=False, float_format="%.17g")
        scanned = el.scan(Path(folder) / "table.csv", target="target", weights="weight", batch_rows=50, memory=1)
        return clone(model).fit(*scanned)


def twins(model: Any, rows: Rows) -> Any:
    """A fit by the twins of CUDA."""
    with mock.patch.dict(os.environ, ELECTORATE_CUDA="reference"):
        return clone(model).set_params(device="cuda").fit(*rows)


WAYS: dict[str, Callable[[Any, Rows], Any]] = {way.__name__: way for way in (warm_start, checkpoint, scan, twins, dask)}


def records_of(name: str, ways: Iterable[str]) -> dict[str, str]:
    """Return the records of an algorithm: digests of its models by these ways, and the hash of its file."""
    model, rows = small_model(name), rows_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = straight(model, rows)
        digests = {way: _digest(WAYS[way], model, rows) for way in ways}
    if BY_LINEAR_ALGEBRA.search(name):
        return {way: STRAIGHT if digest == first.digest_ else digest for way, digest in digests.items()}
    for column in UNSTABLE & first.history_.keys():
        first.history_[column] = np.zeros_like(first.history_[column])
    return digests | {"straight": first.digest_, "file": hashlib.sha256(as_bytes(first)).hexdigest()}


def _digest(way: Callable[[Any, Rows], Any], model: Any, rows: Rows) -> str:
    """The digest of a model, or the type of the error that refuses it."""
    try:
        return str(way(model, rows).digest_)
    except (ValueError, TypeError) as error:
        return type(error).__name__


def results_of(task: str) -> list[list[Any]]:
    """Return results.csv of a comparison: names of the columns that are not measured, then the rows."""
    n_classes, algorithms = COMPARISONS[task]
    X = messy(150)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_jobs": 1, "quick": True, "folds": 3, "check_up": False, "seed": 0}
        el.compare(X, target(X, n_classes), algorithms=algorithms, folder=f"{folder}/c", **options)
        with open(f"{folder}/c/results.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    kept = [column for column in rows[0] if column not in MEASURED]
    return [kept, *([_number(row[column]) for column in kept] for row in rows)]


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def stored_paths() -> dict[str, Any]:
    """Return the version of NumPy that the bits depend on, and the records of algorithms and comparisons."""
    return dict(json.loads(PATHS.read_text()))
