"""Calls every public entry that takes rows with sparse matrices that have an index far out of range.

Run in a process of its own by test_sparse_entries.py, since SciPy may end the process for such a matrix. Prints the
name of every entry before it is called, and a line that starts with FAULT for every wrong answer.
"""

import inspect
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from scipy.sparse import csr_array, csr_matrix

import electorate
from electorate import AdaBoostClassifier, MedBoostRegressor, QuadBoostRegressor, RealAdaBoostClassifier
from tests.common.public_calls import FITTED, OBJECTS, Call, finished, functions, methods, values_for
from tests.common.small_models import small_model

OUTSIDE = 10**7
ROWS = ("X", "X_val", "X_test", "background", "train", "heldout")  # parameters that take rows, or rows with targets
TOGETHER = {"X_val": ("y_val",), "X_test": ("y_test",)}
NEEDED = {"predict_interval": ("rho",), "compare": ("algorithms", "quick")}  # options without which X is not read
rng = np.random.default_rng(0)
X = csr_matrix(rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.8))
SCORE = X.toarray()[:, 0] + X.toarray()[:, 1] ** 2
LABELS = np.where(np.median(SCORE) < SCORE, "b", "a")


def with_an_index_outside(container: Any, form: str) -> Any:
    bad = container(X).asformat(form)
    bad.indices = bad.indices.copy()
    bad.indices[-7] = OUTSIDE
    return bad


def models() -> Iterator[tuple[Any, Any]]:
    """Models of every way in which X is read, with their targets."""
    stumps = AdaBoostClassifier(n_estimators=3)
    yield AdaBoostClassifier(n_estimators=3, early_stopping=True), LABELS
    yield small_model("RealAdaBoostClassifier", estimator=electorate.Columns()), LABELS
    yield small_model("LPBoostClassifier"), LABELS
    yield small_model("QuadBoostClassifier", n_estimators=3), LABELS
    yield MedBoostRegressor(n_estimators=3, early_stopping=True), SCORE
    yield QuadBoostRegressor(n_estimators=3), SCORE
    named = [("stumps", stumps), ("real", RealAdaBoostClassifier(n_estimators=3))]
    yield electorate.StackedClassifier(named, n_folds=2), LABELS
    yield electorate.StackedRegressor([("median", MedBoostRegressor(n_estimators=3))], n_folds=2), SCORE
    yield electorate.CrossFittedClassifier(stumps), LABELS
    yield electorate.CertifiedClassifier(), LABELS
    yield electorate.ThinnedClassifier(stumps), LABELS
    yield electorate.QuadBoostClassifierCV(cv=2), LABELS


def others() -> dict[str, Any]:
    """Public objects that are no fitted models and have methods that take rows."""
    dense = X.toarray()
    return {
        "CheckUp": electorate.check_up(X, LABELS),
        "KernelSections": electorate.KernelSections(),
        "Resampled": electorate.Resampled(AdaBoostClassifier(n_estimators=2)).fit(dense, LABELS),
    }


def takes_rows(call: Call) -> bool:
    return bool(set(ROWS) & set(call.parameters))


def entries() -> Iterator[tuple[Call, Any, Any]]:
    """Every public function, constructor and method that takes rows, with a model and its targets."""
    about_models = [call for call in functions() if takes_rows(call) and set(FITTED) & set(call.parameters)]
    for call in functions():
        if takes_rows(call) and call not in about_models:
            yield call, None, LABELS
    unfitted = others()
    for name, value in sorted(OBJECTS.items()):
        if inspect.isclass(value) and not hasattr(value, "certificate") and not name.endswith("Display"):
            taking = [
                one
                for one, method in inspect.getmembers(value, inspect.isfunction)
                if one[0] != "_" and set(ROWS) & set(inspect.signature(method).parameters)
            ]
            assert not taking or name in unfitted, f"add {name} to the objects whose methods take rows"
            for one in taking:
                yield Call.of(f"{name}.{one}", getattr(unfitted[name], one)), AdaBoostClassifier(n_estimators=2), LABELS
    for model, y in models():
        model.fit(X, y)
        for call in [*about_models, *methods(model)]:
            if takes_rows(call):
                yield call, model, y


def answer_of(call: Call, values: dict[str, Any], optional: tuple[str, ...]) -> Any:
    """The exception that a call raises; None if it answers."""
    try:
        finished(call.function(**call.arguments(values, optional)))
    except Exception as error:
        return error
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    mpl.use("Agg")
    folder = Path(tempfile.mkdtemp())
    n_calls = 0
    for call, model, y in entries():
        for name in ROWS:
            if name not in call.parameters:
                continue
            optional = (name, *TOGETHER.get(name, ()), *NEEDED.get(call.name.split(".")[-1], ()))
            values = values_for(X, y, folder, model) | {"algorithms": ["AdaBoost"], "quick": True}
            good = answer_of(call, values, optional)
            for container, form in ((csr_matrix, "csr"), (csr_array, "csc")):
                n_calls += 1
                bad = with_an_index_outside(container, form)
                print(f"{call.name}({name}) of a {type(model).__name__}, {form}", flush=True)
                error = answer_of(call, values | {name: (bad, y) if name in ("train", "heldout") else bad}, optional)
                is_refused = isinstance(error, ValueError) and str(OUTSIDE) in str(error)
                if not is_refused and (good is None or type(error) is not type(good)):
                    print(f"FAULT {call.name}({name}) of a {type(model).__name__}, {form}: {error!r}", flush=True)
    print(f"{n_calls} calls", flush=True)


if __name__ == "__main__":
    sys.exit(main())
