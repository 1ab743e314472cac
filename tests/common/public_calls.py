"""Finds the public functions and methods of the package by their signatures, with arguments to call them with."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import electorate
from electorate.registry import PUBLIC

OBJECTS = {name: getattr(import_module(package), name) for package, names in PUBLIC.items() for name in names}
FITTED = ("model", "estimator", "estimators", "models")  # parameters that take a fitted model
UNCALLED = ("__init__", "set_params", "get_params", "get_metadata_routing")


@dataclass(frozen=True)
class Call:
    """A public function or method, with the names of its parameters."""

    name: str
    function: Callable[..., Any]
    parameters: dict[str, inspect.Parameter]

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> "Call":
        return cls(name, function, dict(inspect.signature(function).parameters))

    def arguments(self, values: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
        """Arguments by name, of the parameters without a default, and of these optional ones."""
        required = [name for name, one in self.parameters.items() if one.default is one.empty]
        wanted = [*required, *(name for name in optional if name not in required)]
        lacking = [name for name in wanted if name not in values]
        assert not lacking, f"no test value for the parameter {lacking[0]!r} of {self.name}: add one"
        return {name: values[name] for name in wanted}


def functions() -> Iterator[Call]:
    """Every public function, and every constructor of a display."""
    for name, value in sorted(OBJECTS.items()):
        if not inspect.isclass(value):
            yield Call.of(name, value)
        elif name.endswith("Display"):
            for constructor in ("from_estimator", "from_estimators"):
                if hasattr(value, constructor):
                    yield Call.of(f"{name}.{constructor}", getattr(value, constructor))


def methods(model: Any) -> Iterator[Call]:
    """Every public method of a fitted model that it says it has, and every public attribute that is computed."""
    for name in sorted(dir(type(model))):
        if name.startswith("_") or name in UNCALLED or (name.startswith("set_") and name.endswith("_request")):
            continue
        label = f"{type(model).__name__}.{name}"
        if isinstance(inspect.getattr_static(type(model), name), property):
            yield Call(label, lambda name=name: getattr(model, name), {})
        elif callable(getattr(type(model), name, None)) and hasattr(model, name):
            yield Call.of(label, getattr(model, name))


def finished(result: Any) -> Any:
    """The result; of a generator, the last of its values."""
    if inspect.isgenerator(result):
        return [None, *result][-1]
    return result


def values_for(X: Any, y: Any, folder: Any, model: Any = None) -> dict[str, Any]:
    """A value for each name of a parameter."""
    rows = {"X": X, "X_val": X, "X_test": X, "background": X}
    targets = {"y": y, "y_val": y, "y_test": y}
    given = dict.fromkeys(("model", "estimator"), model) | {key: {"one": model} for key in ("estimators", "models")}
    return {
        **rows,
        **targets,
        **given,
        "train": (X, y),
        "heldout": (X, y),
        "row": 0,
        "feature": 0,
        "features": [0],
        "family": electorate.Stumps(),
        "n_rows": len(y),
        "cv": 2,
        "draws": 10,
        "rho": 0.1,
        "coverage": 0.8,
        "sample_weight": np.ones(len(y)),
        "path": folder / "model",
        "table": "rows",
        "file": folder / "model",
    }
