"""Forged model files that are consistent in themselves: offsets, lengths and hash are right, the contents are not.

Each function of CHANGES changes a Forgery in place, by a random generator; `sound` are the files of all samples.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import fuzz_modelfile as damage
import numpy as np

from electorate import modelfile
from electorate.registry import ALGORITHMS

KINDS = [*ALGORITHMS, "ThinnedClassifier", "object"]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-40, 5e-324, 1e-300, 1e16, 1e300, np.inf, -np.inf, np.nan]
WHOLE = [0, 1, 2, 3, 5, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -1, -2, -(2**31), -(2**63)]
PARAMETERS: list[Any] = [
    *(None, True, False, 0, 1, 2, -1, 3, 255, 10**6, 2**31, 2**63 - 1, 0.5, 1e-9, 1e300, -0.5, "", "auto", "exact"),
    *("balanced", "theory", "search", "adaptive", "validate", "logistic", "error", "gentle", "bumps", "abstain"),
    *({"float": "inf"}, {"float": "nan"}, {"float": "x"}, {"pairs": []}, {"pairs": [[0, 1.0], [1, 2.0]]}, {}, []),
    *([0], ["a"], [True, False, False, True], [[0]], {"confidence": []}, {"confidence": [0, 0.0, 1.0, 0.1]}),
    *({"family": name, "parameters": {}} for name in ("Stumps", "Trees", "Rules", "Pool", "Columns", "KernelSections")),
    *({"family": name, "parameters": {}} for name in ("PairedStumps", "RegressionTrees", "Union", "object")),
    *({"family": "Trees", "parameters": {"max_depth": depth}} for depth in (None, 1, 40, 2**31, 2**62)),
    {"family": "Union", "parameters": {"families": [{"family": "Stumps", "parameters": {}}]}},
    {"family": "Rules", "parameters": {"max_terms": 2**31}},
]


class Forgery:
    """The contents of a file, to be changed."""

    def __init__(self, path: Path) -> None:
        contents = modelfile.read(path)
        self.kind = contents.kind
        self.meta: dict[str, Any] = json.loads(json.dumps(contents.meta))
        self.arrays = {name: np.array(array) for name, array in contents.arrays.items()}

    def write(self, path: Path) -> None:
        modelfile.write(path, self.kind, self.meta, self.arrays)


# ---------------------------------------------------------------- changes of one thing


def one_number(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Set one number of one array, or swap two."""
    name = rng.choice(sorted(made.arrays))
    flat = made.arrays[name].reshape(-1)
    if not len(flat):
        return
    at = rng.randrange(len(flat))
    if rng.random() < 0.3:
        other = rng.randrange(len(flat))
        flat[[at, other]] = flat[[other, at]]
    elif rng.random() < 0.3:
        flat[at] = flat[rng.randrange(len(flat))]
    else:
        flat[at] = _hostile(rng, flat.dtype)


def _hostile(rng: random.Random, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return rng.random() < 0.5
    if dtype.kind == "f":
        return rng.choice(FLOATS)
    info = np.iinfo(dtype)
    return min(max(rng.choice(WHOLE), int(info.min)), int(info.max))


def whole_array(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Fill, shuffle, shorten, lengthen, empty, remove or retype an array."""
    name = rng.choice(sorted(made.arrays))
    array = made.arrays[name]
    choice = rng.randrange(7)
    if choice == 0:
        made.arrays[name] = np.full_like(array, _hostile(rng, array.dtype))
    elif choice == 1:
        made.arrays[name] = array[np.random.default_rng(rng.randrange(2**32)).permutation(len(array))]
    elif choice == 2:
        made.arrays[name] = array[: rng.randrange(len(array) + 1)]
    elif choice == 3:
        made.arrays[name] = np.concatenate([array, array[: rng.choice([1, len(array)])]])
    elif choice == 4:
        made.arrays[name] = array[:0]
    elif choice == 5:
        del made.arrays[name]
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            made.arrays[name] = array.astype(rng.choice(["<f8", "<i8", "<i4", "<f4", "|u1"]))


def header_value(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Change one value of the header, at any depth."""
    made.meta = json.loads(damage.mutate_tree(rng, json.dumps(made.meta).encode()))


def parameter(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Set a parameter of the estimator or of its family."""
    stored = made.meta.get("parameters")
    if isinstance(stored, dict) and stored:
        family = stored.get("estimator")
        inside = isinstance(family, dict) and bool(family.get("parameters")) and rng.random() < 0.4
        place = family["parameters"] if inside else stored
        if isinstance(place, dict):
            place[rng.choice(sorted(place))] = rng.choice(PARAMETERS)


def name_of_estimator(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Say another estimator; mostly with its parameters, so that more of it is read."""
    made.kind = rng.choice(KINDS)
    others = [Forgery(path) for path in sound]
    alike = [other for other in others if other.kind == made.kind]
    if alike and rng.random() < 0.8:
        made.meta["parameters"] = rng.choice(alike).meta["parameters"]


def transplant(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Take a group of arrays, or a part of the header, from another file."""
    other = Forgery(rng.choice(sound))
    if rng.random() < 0.3:
        key = rng.choice(sorted(other.meta))
        made.meta[key] = other.meta[key]
        return
    prefix = rng.choice(["history.", "move.", "seen.", "voter.", "edge", "lam", "n_bins", "steps", "value", ""])
    for name in [name for name in made.arrays if name.startswith(prefix) and prefix]:
        del made.arrays[name]
    made.arrays |= {name: array for name, array in other.arrays.items() if name.startswith(prefix)}


# ---------------------------------------------------------------- changes that keep arrays in step


def history(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Shift, cut or refill the history, all columns alike or one of them."""
    names = sorted(name for name in made.arrays if name.startswith("history."))
    if not names:
        return
    rows = min(len(made.arrays[name]) for name in names)
    keep = np.sort(np.random.default_rng(rng.randrange(2**32)).integers(0, max(rows, 1), rng.randrange(2 * rows + 1)))
    if rng.random() < 0.5:
        for name in names:
            made.arrays[name] = made.arrays[name][keep] if rows else made.arrays[name]
        return
    name = rng.choice(names)
    hostile = [_hostile(rng, made.arrays[name].dtype) for _ in range(rows)]
    made.arrays[name] = np.array(hostile, dtype=made.arrays[name].dtype)


def voters(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Remove, repeat or reorder voters, with their nodes, steps and rounds."""
    if "offsets" not in made.arrays or "steps" not in made.arrays:
        return
    offsets, n = made.arrays["offsets"], len(made.arrays["steps"])
    if (
        not n
        or len(offsets) != n + 1
        or np.any(np.diff(offsets) < 0)
        or offsets[-1] > len(made.arrays.get("column", []))
    ):
        return
    chosen = [rng.randrange(n) for _ in range(rng.choice([0, 1, n, 2 * n, 30]))]
    nodes = np.array([k for v in chosen for k in range(offsets[v], offsets[v + 1])], dtype=np.int64)
    for name in ("column", "threshold", "members", "missing_left", "children", "value"):
        if name in made.arrays and len(made.arrays[name]) >= offsets[-1]:
            made.arrays[name] = made.arrays[name][nodes]
    sizes = np.diff(offsets)[chosen]
    made.arrays["offsets"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for name in ("steps", "about", "kappa", "centres"):
        if name in made.arrays and len(made.arrays[name]) == n:
            made.arrays[name] = made.arrays[name][chosen]
    made.arrays["rounds"] = np.arange(1, len(chosen) + 1, dtype=np.int32)


def chain(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Replace the first voter by a tree as deep as it has questions."""
    if made.arrays.get("value", np.empty(0)).ndim != 2 or len(made.arrays.get("offsets", [])) < 2:
        return
    depth = rng.choice([2, 30, 300, 3000])
    size, first = 2 * depth + 1, int(made.arrays["offsets"][1])
    asks = np.arange(size) % 2 == 0
    asks[-1] = False
    new: dict[str, Any] = {
        "column": np.where(asks, 0, -1).astype(np.int32),
        "threshold": np.where(asks, rng.choice([0.0, 1.0]), 0.0),
        "members": np.full(size, -1, dtype=np.int32),
        "missing_left": np.zeros(size, dtype=np.bool_),
        "children": np.where(asks[:, None], np.arange(size)[:, None] + [[1, 2]], -1).astype(np.int32),
        "value": np.where(asks[:, None], 0.0, rng.choice([1.0, -1.0, 0.25]))
        * np.ones((1, made.arrays["value"].shape[1])),
    }
    for name, array in new.items():
        made.arrays[name] = np.concatenate([array, made.arrays[name][first:]])
    made.arrays["offsets"] = np.concatenate([[0], made.arrays["offsets"][1:] + size - first]).astype(np.int64)


def more_columns(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Add columns; sometimes one of them has as many edges as a column may have."""
    have = made.meta.get("n_features")
    needed = {"edges", "edge_offsets", "n_bins", "has_missing"}
    if not isinstance(have, int) or not needed <= set(made.arrays) or len(made.arrays["edge_offsets"]) != have + 1:
        return
    named = isinstance(made.meta.get("feature_names"), list)
    more = rng.choice([1, 10, 300] if named else [1, 10, 1000, 20_000])  # wide dataframes are slow by themselves
    edges = np.arange(rng.choice([0, 1, 60_000]), dtype=np.float64)
    ends = made.arrays["edge_offsets"]
    made.arrays["edges"] = np.concatenate([made.arrays["edges"], edges])
    made.arrays["edge_offsets"] = np.concatenate([ends, np.full(more, ends[-1] + len(edges))])
    bins = np.ones(more, dtype=np.int64)
    bins[0] = len(edges) + 1
    made.arrays["n_bins"] = np.concatenate([made.arrays["n_bins"], bins])
    made.arrays["has_missing"] = np.concatenate([made.arrays["has_missing"], np.zeros(more, dtype=np.bool_)])
    if named:
        made.meta["feature_names"] += [f"new {k}" for k in range(more)]
    made.meta["n_features"] = have + more


def more_classes(rng: random.Random, made: Forgery, sound: list[Path]) -> None:
    """Add classes, with a column of values for each."""
    classes = made.meta.get("classes")
    if not isinstance(classes, dict) or made.arrays.get("value", np.empty(0)).ndim != 2:
        return
    many = rng.choice([3, 4, 300, 3000])
    made.meta["classes"] = {"dtype": "<i8", "labels": list(range(many))}
    value = made.arrays["value"]
    wide = np.zeros((len(value), many))
    wide[:, : value.shape[1]] = value[:, :many]
    made.arrays["value"] = wide
    if rng.random() < 0.5 and "about" in made.arrays:
        made.arrays["about"] = np.arange(len(made.arrays["about"]), dtype=np.int32) % many


CHANGES = [
    *(one_number, one_number, one_number, whole_array, header_value, header_value, parameter, parameter),
    *(name_of_estimator, transplant, history, history, voters, chain, more_columns, more_classes),
]
