"""Constructor parameters in model files: what fit accepts is read back as it was, or refused before training."""

from __future__ import annotations

import datetime
import decimal
import fractions
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils._param_validation import (
    HasMethods,
    InvalidParameterError,
    make_constraint,
    validate_parameter_constraints,
)

import electorate as el
from electorate import modelfile
from electorate.families.rho_search import Bump, Sure
from electorate.model import files
from electorate.model.stored_parameters import decode_parameters, encode_parameters
from electorate.registry import ALGORITHMS, FAMILIES

ESTIMATORS = sorted(ALGORITHMS)
EVERYTHING = [*ESTIMATORS, *sorted(FAMILIES)]


def numbers_in(rule: Any) -> list[Any]:
    """Return numbers at and around the ends of an interval, of several types."""
    ends = [end for end in (rule.left, rule.right) if end is not None]
    near = [end + step for end in ends for step in (0, 1, -1, 0.5, 1e-9)]
    plain = [*near, 0, 1, 2, 2**31, 2**62, 0.5, 1e-300, 5e-324, 1e300, math.inf]
    typed = [kind(number) for number in (1, 2, 0.5) for kind in (np.float64, np.float32, np.int64, np.float16)]
    return [*plain, *typed, np.longdouble(1), True, np.bool_(True)]


def candidates(rule: Any) -> list[Any]:
    """Return values that a constraint may accept."""
    if rule is None:
        return [None]
    found = [
        True,
        False,
        np.bool_(False),
        0,
        np.random.RandomState(0),
        {0: 1.0, 1: np.float32(2)},
        {"no": 1, "yes": math.inf},
    ]
    found += [[0], (1,), ["a"], np.array([0, 2]), np.array(["a", "b"]), [True, False], pd.Series([1]), range(2), []]
    found += [
        el.Stumps(),
        el.Trees(None),
        el.Rules(2),
        el.Union([el.Stumps(), el.Pool(3)]),
        el.Columns(),
        el.KernelSections(),
    ]
    found += [el.PairedStumps(), el.RegressionTrees(2), [Sure(), Bump(0, 0.5, 1.0)], math.inf, -1.5]
    if hasattr(rule, "options"):
        found += [*rule.options, *(np.str_(option) for option in rule.options if isinstance(option, str))]
    return [*found, *(numbers_in(rule) if hasattr(rule, "left") else [])]


def accepted(owner: Any, name: str) -> list[Any]:
    """Return the candidates for a parameter that its own constraints accept."""
    rules = owner._parameter_constraints.get(name, "no_validation")
    if rules == "no_validation":
        return [getattr(owner, name)]
    values = []
    for value in [v for rule in rules for v in candidates(None if rule is None else make_constraint(rule))]:
        try:
            validate_parameter_constraints({name: rules}, {name: value}, type(owner).__name__)
        except (InvalidParameterError, TypeError):  # TypeError: scikit-learn looks it up in a set
            continue
        storable = not callable(value) or isinstance(value, type)
        if storable or not any(isinstance(rule, HasMethods) for rule in rules):
            values.append(value)
    return values


def plain(value: Any) -> Any:
    """Return a value in the form in which it is read back: Python scalars, lists; families by their parameters."""
    if hasattr(value, "get_params"):
        return type(value).__name__, {name: plain(one) for name, one in value.get_params(deep=False).items()}
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.ndarray | pd.Series | range | list | tuple):
        return [plain(one) for one in list(value)]
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_accepted_value_of_every_parameter_is_read_back(name: str) -> None:
    owner = getattr(el, name)()
    tried = 0
    for parameter in owner.get_params(deep=False):
        for value in accepted(owner, parameter):
            encoded = encode_parameters({parameter: value})
            decoded = decode_parameters(json.loads(json.dumps(encoded, allow_nan=False)), {})
            assert plain(decoded[parameter]) == plain(value), (parameter, value)
            assert encode_parameters(decoded) == encoded
            tried += 1
    assert tried >= len(owner.get_params(deep=False))


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b"]), st.one_of(values, st.dictionaries(scalars, scalars, max_size=3))))
def test_any_plain_value_is_read_back(given_values: dict[str, Any]) -> None:
    """Values and their types: 1, 1.0 and True stay what they are."""
    stored = json.loads(json.dumps(encode_parameters(given_values), allow_nan=False))
    again = decode_parameters(stored, {})
    assert again == given_values
    assert repr(again) == repr(given_values)


@pytest.mark.parametrize(
    "value",
    [
        *(
            lambda x: x,
            object(),
            print,
            b"x",
            1j,
            {1, 2},
            datetime.date(2020, 1, 1),
            decimal.Decimal("0.1"),
            slice(None),
        ),
        *(
            fractions.Fraction(1, 3),
            2**64,
            -(2**63) - 1,
            "\ud800",
            ["a", "\udfff"],
            [[object()]],
            {(1, 2): 3},
            {0: [1]},
        ),
        *(el.Stumps, np.array([1j]), np.array(["2020-01-01"], dtype="M8[D]"), np.longdouble("0.1"), {"x": object()}),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError, match="parameter lam cannot be stored in a model file"):
        encode_parameters({"C": 1.0, "lam": value})


def test_lists_inside_themselves_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match="levels deep"):
        encode_parameters({"a": endless})


@pytest.mark.parametrize(
    "stored",
    [
        *(
            {},
            {"float": "Inf"},
            {"float": 1.0},
            {"float": "inf", "more": 1},
            {"pairs": 3},
            {"pairs": [[1]]},
            {"pairs": [1]},
        ),
        *({"pairs": [[0, 1], [0, 2]]}, {"pairs": [[[], 1]]}, {"pairs": [[1, {"pairs": []}]]}, {"family": "Stumps"}),
        *(
            {"family": "object", "parameters": {}},
            {"family": 3, "parameters": {}},
            {"family": "Stumps", "parameters": []},
        ),
        *({"family": "Stumps", "parameters": {"x": 1}}, {"family": "Trees", "parameters": {"max_depth": 0}}),
        *({"family": "Trees", "parameters": {"max_depth": {"float": "nan"}}}, {"family": "Union", "parameters": {}}),
        *(
            {"confidence": [1]},
            {"confidence": [0, 0.0, 0.0, 0.1]},
            {"confidence": [0, 1e999, 1.0, 0.1]},
            {"confidence": {}},
        ),
        {"family": "Union", "parameters": {"families": {"family": "Stumps", "parameters": {}}}},
    ],
)
def test_other_forms_are_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decode_parameters({"a": stored}, {})


# ---------------------------------------------------------------- models


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:, 2] = rng.integers(0, 3, 40)
    return X, (X[:, 0] + X[:, 2] + rng.normal(size=40) > 1).astype(np.int64)


MODELS = {
    "list": el.AdaBoostClassifier(n_estimators=2, categorical_features=[2]),
    "mask": el.AdaBoostRClassifier(n_estimators=2, categorical_features=np.array([False, False, True])),
    "series": el.VadaBoostClassifier(n_estimators=2, categorical_features=pd.Series([2])),
    "C=inf": el.LPBoostClassifier(n_estimators=2, C=math.inf),
    "weights": el.AdaBoostClassifier(n_estimators=2, class_weight={0: np.float32(0.5), 1: 2}),
    "nested": el.DeepBoostClassifier(el.Union((el.Stumps(), el.Trees(2))), n_estimators=2),
    "R2": el.AdaBoostRegressor(n_estimators=2, categorical_features=[2]),
    "MedBoost": el.MedBoostRegressor(n_estimators=2, categorical_features=np.array([2]), eps=0.5, rho=-0.5),
    "LocMedBoost": el.LocMedBoostRegressor(n_estimators=2, categorical_features=[False, False, True], eps=0.5),
    "QuadBoost": el.QuadBoostRegressor(el.RegressionTrees(2), n_estimators=2, categorical_features=[2]),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_models_are_saved_loaded_and_checkpointed(name: str, tmp_path: Path) -> None:
    model = clone(MODELS[name]).fit(*rows())
    model.save(tmp_path / "model")
    again = el.load(tmp_path / "model")
    assert again.digest_ == model.digest_
    assert files.identity(again) == files.identity(model)
    with_checkpoint = clone(model).set_callbacks(el.Checkpoint(tmp_path / "checkpoint", every=1)).fit(*rows())
    assert with_checkpoint.digest_ == model.digest_
    resumed = clone(model).set_params(n_estimators=3).set_callbacks(el.Checkpoint(tmp_path / "checkpoint"))
    assert resumed.fit(*rows()).digest_ == clone(model).set_params(n_estimators=3).fit(*rows()).digest_


class Loss:
    """A loss that a model file cannot hold."""

    def value(self, v: Any) -> Any:
        raise AssertionError("training began")

    slope = value


def test_a_checkpoint_refuses_before_training(tmp_path: Path) -> None:
    cases = [
        (el.DeepBoostClassifier(loss=Loss()), "loss"),
        (el.AdaBoostClassifier(tol=np.longdouble(1) / 3), "tol"),
        (el.AdaBoostClassifier(n_estimators=2**70), "n_estimators"),
        (el.MedBoostRegressor(cost=lambda *_: 1 / 0), "cost"),
    ]
    for model, name in cases:
        model.set_callbacks(el.Checkpoint(tmp_path / "file"))
        with pytest.raises(TypeError, match=f"{name} (cannot be stored|holds a function)"):
            model.fit(*rows())
    assert not list(tmp_path.iterdir())


def test_too_many_names_are_refused_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header of a file is limited; the limit holds before training, too."""
    monkeypatch.setattr(modelfile, "ALLOWANCE", 1000)
    model = el.AdaBoostClassifier(categorical_features=["name"] * 1000)
    with pytest.raises(ValueError, match="too large"):
        files.check_storable(model)
