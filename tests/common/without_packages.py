"""Calls every public entry about a model where no optional package is installed; prints every wrong error.

Run in a process of its own by test_optional_packages.py.
"""

import sys
import tempfile
import warnings
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any
from unittest import mock

BLOCKED = (
    "cupy",
    "dask",
    "distributed",
    "highspy",
    "matplotlib",
    "onnx",
    "pandas",
    "polars",
    "pyarrow",
    "shap",
    "skops",
)


class Blocker:
    """Finds no module of the blocked packages."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Blocker())  # type: ignore[arg-type]

import numpy as np  # noqa: E402

import electorate  # noqa: E402
from tests.common.public_calls import FITTED, Call, finished, functions, methods, values_for  # noqa: E402


def results() -> list[Call]:
    """The methods of what public functions return."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = electorate.AdaBoostClassifier(n_estimators=3).fit(X, y)
    made = (
        electorate.inspection.rule_table(model),
        electorate.certificate(model, train=(X, y)),
        electorate.inspection.convergence(model),
    )
    scan = Call.of("scan", lambda source: electorate.scan(source))
    return [call for one in made for call in methods(one)] + [scan]


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    score = X[:, 0] + X[:, 1] ** 2
    labels = np.where(score > 1, "b", "a")
    (folder / "rows.parquet").write_bytes(b"")
    stumps = electorate.AdaBoostClassifier(n_estimators=3)
    models = [(stumps, labels), (electorate.MedBoostRegressor(n_estimators=3), score)]
    models.append((electorate.StackedClassifier([("a", stumps)], weights=[1]), labels))
    n_told = 0
    for model, y in models:
        model.fit(X, y)
        about = [call for call in functions() if set(FITTED) & set(call.parameters)]
        for call in [*about, *methods(model), *results()]:
            if call.name.rpartition(".")[2] in ("fit", "set_output", "set_callbacks"):
                continue
            values = values_for(X, y, folder, model) | {"source": str(folder / "rows.parquet")}
            try:
                finished(call.function(**call.arguments(values)))
            except ImportError as error:
                if "pip install" not in str(error):
                    print(f"FAULT {call.name}: {error!r}")
                n_told += 1
            except (TypeError, ValueError, AttributeError):
                pass
    print(f"{n_told} told what to install")


if __name__ == "__main__":
    with mock.patch("importlib.metadata.version", side_effect=PackageNotFoundError("electorate")):
        main()
