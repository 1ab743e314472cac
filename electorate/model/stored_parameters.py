"""Constructor parameters as JSON, and back: one set of rules for all estimators and families.

Plain values stand for themselves. What JSON lacks is an object with one known set of keys:

* ``{"float": "inf"}``, also ``"-inf"`` and ``"nan"``;
* ``{"pairs": [[key, value], ...]}`` for a dict;
* ``{"family": name, "parameters": {...}}`` for a family of voters;
* ``{"confidence": []}`` for `Sure`, ``{"confidence": [column, centre, width, least]}`` for `Bump`.

Tuples and arrays are stored as lists, NumPy scalars as Python's, a random generator as null. Everything else is refused
by `encode_parameters`, so that nothing is stored that `decode_parameters` would read as something else.
"""

import math
from collections.abc import Mapping
from dataclasses import astuple
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

from electorate.families.rho_search import Bump, Sure
from electorate.modelfile import check_json, expect
from electorate.registry import FAMILIES

NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
DEEPEST = 12  # lists and families inside each other: far more than any parameter needs


# ---------------------------------------------------------------- writing


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON. TypeError names the first one that a model file cannot hold."""
    encoded = {}
    for name, value in parameters.items():
        try:
            encoded[name] = _encode(value, 0)
            check_json(encoded[name], name)
        except ValueError as why:
            raise TypeError(
                f"The parameter {name} cannot be stored in a model file: {why}. Use another value, or keep the model "
                "with pickle or skops and without a Checkpoint."
            ) from None
    return encoded


def _encode(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if is_family(value):
        own = value.get_params(deep=False)
        inside = {name: _encode(one, depth + 1) for name, one in own.items()}
        return {"family": type(value).__name__, "parameters": inside}
    if isinstance(value, dict):
        return {"pairs": [[_scalar(key), _scalar(one)] for key, one in value.items()]}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    if isinstance(value, Sure | Bump):
        return {"confidence": [_scalar(one) for one in astuple(value)]}
    if hasattr(value, "__array__") and not isinstance(value, np.generic) and np.ndim(value):
        value = np.asarray(value).tolist()
    if isinstance(value, list | tuple | range):
        return [_encode(item, depth + 1) for item in value]
    return _scalar(value)


def is_family(value: Any) -> bool:
    """Return whether a value is a family of voters: electorate's own, or one with the same interface."""
    if isinstance(value, type) or not hasattr(value, "get_params"):
        return False
    return hasattr(value, "best") or type(value).__name__ in FAMILIES


def family_types(value: Any) -> list[type]:
    """Return the classes of a family and of the families inside it."""
    inside = getattr(value, "families", ())
    return [type(value), *(type(one) for one in inside if is_family(one))]


def _scalar(value: Any) -> Any:
    """Return a number, text, bool or None as JSON has it."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Integral):
        return int(value)
    if not isinstance(value, Real):
        raise ValueError(f"it is or holds a {type(value).__name__}")
    number = float(value)
    if number != value and not math.isnan(number):
        raise ValueError(f"{value!r:.60} is not exactly a 64-bit float")
    return number if math.isfinite(number) else {"float": str(number)}


# ---------------------------------------------------------------- reading


def decode_parameters(stored: Mapping[str, Any], families: Mapping[str, type]) -> dict[str, Any]:
    """Return the parameters that `encode_parameters` stored; ValueError for what it cannot have written.

    families: classes by name that are not electorate's own.
    """
    return {name: _decode(value, families) for name, value in stored.items()}


def _decode(value: Any, families: Mapping[str, type]) -> Any:
    if isinstance(value, list):
        return [_decode(item, families) for item in value]
    if not isinstance(value, dict):
        return value
    keys = set(value)
    if keys == {"family", "parameters"}:
        return _decode_family(value["family"], value["parameters"], families)
    if keys == {"float"}:
        expect(isinstance(value["float"], str) and value["float"] in NOT_FINITE, "a parameter is not a number")
        return NOT_FINITE[value["float"]]
    if keys == {"confidence"}:
        return decode_confidence(value["confidence"])
    expect(keys == {"pairs"}, "a parameter is stored in an unknown form")
    pairs = value["pairs"]
    in_pairs = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    expect(in_pairs, "a dict is not stored as pairs")
    for one in (one for pair in pairs for one in pair):
        plain = set(one) == {"float"} if isinstance(one, dict) else not isinstance(one, list)
        expect(plain, "a key or value of a dict is not a plain one")
    found = {_decode(key, {}): _decode(one, {}) for key, one in pairs}
    expect(len(found) == len(pairs), "a dict has the same key twice")
    return found


def _decode_family(name: Any, stored: Any, families: Mapping[str, type]) -> Any:
    expect(isinstance(name, str), "the name of a family is not a string")
    expect(isinstance(stored, dict), "the parameters of a family are not an object")
    expect(
        name in FAMILIES or name in families,
        f"its voters are of the family {name!r:.60}, which is not part of electorate: pass its class, "
        "load(path, families=[...])",
    )
    kind: Any = families[name] if name in families else getattr(import_module(FAMILIES[name]), name)
    family = kind()
    known = set(family.get_params(deep=False))
    expect(set(stored) <= known, f"{name!r:.60} has no parameters {sorted(set(stored) - known)[:3]}")
    family.set_params(**decode_parameters(stored, families))
    if hasattr(family, "_parameter_constraints"):
        family._validate_params()
    return family


def decode_confidence(entry: Any) -> Any:
    """Return the `Sure` or `Bump` that an entry of four numbers, or of none, stands for."""
    if entry == []:
        return Sure()
    fits = isinstance(entry, list) and len(entry) == 4 and type(entry[0]) is int
    expect(fits and all(type(number) in (int, float) for number in entry), "a confidence is not a bump")
    bump = Bump(entry[0], *(float(number) for number in entry[1:]))
    finite = math.isfinite(bump.centre) and 0 < bump.width < math.inf
    expect(0 <= bump.column < 2**31 and 0 <= bump.least <= 1 and finite, "a bump is out of range")
    return bump
