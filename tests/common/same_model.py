"""Two models are the same: every public attribute, the result of every public method, and every refusal."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

import electorate
from electorate.data.bins import Bins
from electorate.data.seen_rows import Seen
from electorate.model.ensemble import Ensemble
from electorate.model.foreign_ensemble import RowEnsemble
from electorate.model.voter_view import Voters, VoterView

# Methods that change a model, or take something else than rows.
NOT_CALLED = {"fit", "save", "set_params", "set_callbacks", "calibrate", "path", "fit_predict"}
OF_MODELS = ("convergence", "rule_table", "shape_functions")


def essence(value: Any) -> Any:
    """Return what of a value is part of the model: a file holds only used edges, and marks of rows in their order."""
    if isinstance(value, Bins):
        return [value.edges_hash, value.n_bins, value.has_missing, value.categories]
    if isinstance(value, Seen):
        return [value.rows, value.weighted, value.limit, None if value.marks is None else value.distinct]
    if isinstance(value, Ensemble | RowEnsemble):
        return [value.n_outputs, value.n_columns, value.arrays()]
    if isinstance(value, VoterView) or inspect.isfunction(value):
        return repr(value) if isinstance(value, VoterView) else value.__qualname__
    return list(value) if isinstance(value, Iterator | Voters) else value


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Return the places at which two values differ."""
    one, other = essence(one), essence(other)
    if type(one) is not type(other):
        return [f"{where}: {type(one).__name__}, {type(other).__name__}"]
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return [f"{where}: {one.dtype}{one.shape}, {other.dtype}{other.shape}"]
        same = np.array_equal(one, other) or repr(one.tolist()) == repr(other.tolist())
        return [] if same else [where]
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return [f"{where}: {sorted(map(str, one.keys() ^ other.keys()))}"]
        return [found for key in one for found in differences(one[key], other[key], f"{where}[{key!r}]")]
    if is_dataclass(one) and not isinstance(one, type):
        parts = [(f.name, getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
        return [found for name, a, b in parts for found in differences(a, b, f"{where}.{name}")]
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return [f"{where}: lengths {len(one)}, {len(other)}"]
        each = enumerate(zip(one, other, strict=True))
        return [found for k, (a, b) in each for found in differences(a, b, f"{where}[{k}]")]
    if hasattr(one, "get_params"):
        return differences(one.get_params(), other.get_params(), f"{where}.get_params()")
    if type(one).__module__.startswith("electorate."):
        return differences(vars(one), vars(other), where)
    if hasattr(one, "to_numpy"):  # a dataframe
        return differences(one.to_numpy().tolist(), other.to_numpy().tolist(), where)
    return [] if one == other or repr(one) == repr(other) else [f"{where}: {one!r:.80}, {other!r:.80}"]


def result_of(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its refusal as text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
            return list(found) if isinstance(found, Iterator) else found
    except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"


def attributes(model: Any) -> dict[str, Any]:
    """Return all public fitted attributes, properties included, or why one refuses."""
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    return {name: result_of(lambda name=name: getattr(model, name)) for name in sorted(names)}


def methods(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the results of all public methods that take rows, or rows and labels."""
    found = {}
    for name in sorted(name for name in dir(type(model)) if not name.startswith("_") and not name.endswith("_")):
        if name in NOT_CALLED or not callable(getattr(type(model), name, None)):
            continue
        parameters = inspect.signature(getattr(type(model), name)).parameters.values()
        needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        if needed and set(needed) <= {"X", "y"}:
            rows = [X if argument == "X" else y for argument in needed]
            found[name] = result_of(lambda name=name, rows=rows: getattr(model, name)(*rows))
    return found


def functions(model: Any, X: Any, y: Any, new: tuple[Any, Any]) -> dict[str, Any]:
    """Return what the functions of the package make of the model: certificates, margins, rules."""
    found = {name: result_of(lambda name=name: getattr(electorate.inspection, name)(model)) for name in OF_MODELS}
    found["margins"] = result_of(lambda: electorate.margins(model, X, y))
    found["staged_margins"] = result_of(lambda: list(electorate.inspection.staged_margins(model, X, y)))
    found["contributions"] = result_of(lambda: electorate.inspection.contributions(model, X))
    for name, rows in (("new", new), ("training", (X, y))):
        eps = {} if hasattr(model, "classes_") else {"eps": 0.5}
        found[f"certificate of {name} rows"] = result_of(
            lambda rows=rows, eps=eps: electorate.certificate(model, heldout=rows, **eps)
        )
        found[f"training certificate of {name} rows"] = result_of(
            lambda rows=rows: electorate.certificate(model, train=rows)
        )
    return found


def check_same(fitted: Any, other: Any, X: Any, y: Any, new: tuple[Any, Any]) -> None:
    """Raise AssertionError with every difference between two models."""
    found = differences(attributes(fitted), attributes(other), "attribute ")
    found += differences(methods(fitted, X, y), methods(other, X, y), "method ")
    found += differences(functions(fitted, X, y, new), functions(other, X, y, new), "function ")
    assert found == [], "\n".join(found)
