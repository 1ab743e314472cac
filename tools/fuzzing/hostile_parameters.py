"""Every constructor parameter of every estimator and family with odd values: fitted or refused, saved or refused."""

from __future__ import annotations

import datetime
import decimal
import fractions
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import electorate as el
from electorate.families.rho_search import Bump, Sure
from electorate.model import files
from fuzzing.outcomes import Refused, attempt, require
from fuzzing.questions import ask, predict, questions_for
from fuzzing.samples import Sample, rows_of, samples

NUMBERS: list[Any] = [
    *(0, 1, 2, 3, 5, -1, -2, 7, 255, 256, 2**31, 2**62, 2**63, 10**30, -(2**63), True, False, None),
    *(0.0, -0.0, 0.5, 0.999, 1.0, 1.5, -0.5, 1e-9, 1e-300, 5e-324, 1e16, 1e300, np.inf, -np.inf, np.nan),
    *(np.int8(3), np.uint64(2), np.float32(0.5), np.float64(0.25), np.longdouble(0.1), np.bool_(True), np.float16(1)),
    *(fractions.Fraction(1, 2), fractions.Fraction(1, 3), decimal.Decimal("0.5"), 1j, np.array(2), np.array(0.5)),
]
TEXTS = [
    "",
    "auto",
    "exact",
    "balanced",
    "from_dtype",
    "theory",
    "validate",
    "x",
    "\ud800",
    "a" * 10_000,
    np.str_("auto"),
    b"auto",
]
OBJECTS: list[Any] = [
    *(
        [],
        [0],
        [3],
        [0, 0],
        [-1],
        [99],
        ["a"],
        ["kind"],
        [True, False, True, False],
        [None],
        [0.5],
        [[0]],
        [np.int64(3)],
    ),
    *(
        (),
        (3,),
        range(2),
        {1, 3},
        {},
        {0: 1},
        {0: 2.0, 1: 1},
        {"no": 1, "yes": np.inf},
        {0: np.nan},
        {0: -1},
        {None: 1},
    ),
    *(np.array([3]), np.array([True, False, True, False]), np.array(["kind"]), np.array([]), np.array([[1]])),
    *(pd.Series([3]), pd.Index(["kind"]), object(), object, lambda x: x, print, datetime.date(2020, 1, 1), slice(None)),
    *(np.random.default_rng(0), np.random.RandomState(0), np.random, iter([1]), Sure(), Bump(0, 0.0, 1.0)),
    *([Sure()], [Bump(0, 0.0, 1.0), Sure()], [Bump(99, 0.0, 0.0)], [lambda X: np.ones(len(X))], [np.ones]),
]
FAMILIES: list[Any] = [
    *(
        el.Stumps(),
        el.Trees(2),
        el.Trees(None),
        el.Trees(2**31),
        el.Rules(1),
        el.Rules(2**31),
        el.Pool(1),
        el.Pool(2**31),
    ),
    *(
        el.PairedStumps(),
        el.Columns(),
        el.KernelSections(),
        el.KernelSections("linear"),
        el.KernelSections(gamma=1e300),
    ),
    *(el.RegressionTrees(2), el.RegressionTrees(2**31), el.Union(), el.Union([el.Stumps()]), el.Union([el.Union()])),
    *(
        el.Union([None]),
        el.Union([el.Columns()]),
        el.Union(5),
        el.Union(el.Stumps()),
        el.Stumps,
        el.Trees("x"),
        el.Trees(0),
    ),
    *(DecisionTreeClassifier(max_depth=1), DecisionTreeRegressor(max_depth=1), LogisticRegression(), Ridge(), object()),
    *(make_pipeline(StandardScaler(), LogisticRegression()), el.AdaBoostClassifier(n_estimators=2), "stumps", 3),
]


def run_case(rng: random.Random, names: list[str], folder: Path) -> str:
    """Fit a model with odd parameters; then predict, and save what can be saved."""
    sample: Sample = rng.choice([sample for sample in samples() if sample.name in names])
    model, rows = clone(sample.model), rows_of(sample.rows)
    for _ in range(rng.choice([1, 1, 1, 2])):
        _set_one(rng, model)
    model.set_callbacks(el.TimeLimit(2))
    try:
        attempt("fit", lambda: model.fit(*rows))
    except Refused:
        return "refused"
    ask(model, [predict], rows, rows, folder)
    _check_saving(model, folder)
    chosen = rng.sample(questions_for(model), 2)
    ask(model, chosen, rows, rows, folder)
    return "works"


def _set_one(rng: random.Random, model: Any) -> None:
    """Set a parameter of the model, or of its family."""
    family = getattr(model, "estimator", None)
    is_ours = type(family).__module__.startswith("electorate")  # errors of other libraries have words of their own
    place = family if is_ours and hasattr(family, "get_params") and rng.random() < 0.3 else model
    if isinstance(place, type):
        return
    names = sorted(place.get_params(deep=False))
    if names:
        name = rng.choice(names)
        setattr(place, name, rng.choice(FAMILIES) if name == "estimator" else _value(rng, place, name))


def _value(rng: random.Random, place: Any, name: str) -> Any:
    """Half of the values are what the constraints of the parameter mention."""
    rules = getattr(place, "_parameter_constraints", {}).get(name, [])
    mentioned = [option for rule in rules for option in sorted(map(str, getattr(rule, "options", [])))]
    ends = [
        end for rule in rules for end in (getattr(rule, "left", None), getattr(rule, "right", None)) if end is not None
    ]
    if (mentioned or ends) and rng.random() < 0.4:
        return rng.choice([*mentioned, *ends, *(np.float64(end) for end in ends)])
    return rng.choice(rng.choice([NUMBERS, NUMBERS, TEXTS, OBJECTS]))


def _check_saving(model: Any, folder: Path) -> None:
    """What is saved is read back with the same parameters; what cannot be saved is refused before a fit, too."""
    path = folder / "parameters.model"
    try:
        attempt("save", lambda: model.save(path))
    except Refused:
        return
    again = el.load(path)
    require(files.stored_parameters(again) == files.stored_parameters(model), "save", "parameters changed")
    require(again.digest_ == model.digest_, "save", "another model was read back")
