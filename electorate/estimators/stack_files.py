"""A stack as one file: the files of its models, as bytes, with their weights. Every model is checked as by `load`."""

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from electorate import modelfile
from electorate.data import seen_rows
from electorate.model import file_parts, files
from electorate.modelfile import Contents, expect, meta_value, require
from electorate.registry import STACKED

MODEL = "model."  # before the number of a model, in the names of arrays
MOST_MODELS = 1_000


def save(stack: Any, path: Any) -> None:
    """Write a fitted stack. TypeError if one of its models has no file format."""
    arrays: dict[str, NDArray[Any]] = {"weights": stack.weights_, **stack._more_arrays(), **seen_rows.arrays_of(stack)}
    for number, (name, model) in enumerate(zip(stack.names_, stack.estimators_, strict=True)):
        if type(model).__name__ not in STACKED or not hasattr(model, "save"):
            raise files.NotStorableError(
                f"The model {name!r} is a {type(model).__name__}, which has no file format of this package: store the "
                "stack with skops"
            )
        arrays[f"{MODEL}{number}"] = np.frombuffer(files.as_bytes(model), dtype=np.uint8)
    parameters = {"n_folds": int(stack.n_folds), "lam": float(stack.lam)}
    meta = {"names": list(stack.names_), "parameters": parameters, **files.shared_meta(stack)}
    if hasattr(stack, "classes_"):
        meta["classes"] = files.stored_labels(stack.classes_)
    modelfile.write(path, type(stack).__name__, meta, arrays)


def digest(stack: Any) -> str:
    """SHA-256 over the digests of the models, their temperatures and their weights."""
    found = hashlib.sha256(np.ascontiguousarray(stack.weights_).tobytes())
    for model in stack.estimators_:
        found.update(f"{model.digest_} {getattr(model, 'temperature_', None)!r};".encode())
    if stack.cleaning_ is not None:
        found.update(json.dumps(stack.cleaning_.stored(), sort_keys=True).encode())
    return found.hexdigest()


def read_stack(contents: Contents, kind: type[Any], families: dict[str, type]) -> Any:
    """A fitted stack from a file that is not trusted; ValueError for what `save` cannot have written."""
    names = meta_value(contents, "names", list)
    fits = 1 <= len(names) <= MOST_MODELS and all(type(name) is str for name in names) and len(set(names)) == len(names)
    expect(fits, "the names of the models are not distinct texts")
    given = meta_value(contents, "parameters", dict)
    expect(set(given) == {"n_folds", "lam"}, "unknown parameters of a stack")
    stack = kind(n_folds=given["n_folds"], lam=given["lam"])
    stack._validate_params()
    file_parts.read_names(contents, stack)
    files.read_cleaning_of(contents, stack)
    stack.names_ = names
    stack.weights_ = np.array(require(contents, "weights", "<f8", (len(names),)))
    expect(np.all(stack.weights_ > 0) and abs(stack.weights_.sum() - 1) < 1e-9, "weights do not add up to 1")
    stack.estimators_ = [_read_model(contents, number, families) for number in range(len(names))]
    stack.estimators = [(name, clone(model)) for name, model in zip(names, stack.estimators_, strict=True)]
    columns = [model.n_features_in_ == stack.n_features_in_ for model in stack.estimators_]
    expect(all(columns), "a model has another number of columns")
    if "classes" in contents.meta:
        stack.classes_ = file_parts.read_classes(contents)
    wanted = getattr(stack, "classes_", np.empty(0))
    same = (np.array_equal(getattr(model, "classes_", np.empty(0)), wanted) for model in stack.estimators_)
    expect(all(same) and (len(wanted) > 0) == kind.__name__.endswith("Classifier"), "a model has other classes")
    stack._read_more(contents)
    seen_rows.read_seen(contents, stack)
    files.read_held_out(contents, stack)
    return stack


def _read_model(contents: Contents, number: int, families: dict[str, type]) -> Any:
    name = f"{MODEL}{number}"
    stored = require(contents, name, "|u1", (None,))
    inner = modelfile.read_bytes(stored.tobytes(), f"{contents.source}, model {number + 1}")
    expect(inner.kind in STACKED, f"{name} holds no model that can be part of a stack")
    return files.rebuild(inner, families)
