"""The booster of docs/adding_a_booster.md, added as the page says, works wherever an algorithm does."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import electorate
from electorate import AdaBoostClassifier, load, registry
from electorate.comparison.algorithms import applicable
from electorate.model.predict_from_file import read_quickly
from tests.common.cases import data_for
from tests.common.checks import OF_BITS
from tests.common.engines import ENGINES
from tests.common.small_models import ROUNDS, names_without, small_model
from tests.golden.cases import cases as golden_cases

PAGE = Path(electorate.__file__).parent.parent / "docs" / "adding_a_booster.md"
BLOCKS = dict(re.findall(r"```python\n# (electorate/\S+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))


@pytest.fixture
def margin_adaboost(monkeypatch: pytest.MonkeyPatch) -> type:
    for path in ("electorate/algorithms/margin_adaboost.py", "electorate/estimators/margin_adaboost.py"):
        name = path.removesuffix(".py").replace("/", ".")
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(BLOCKS[path], path, "exec"), module.__dict__)
    entry = eval(BLOCKS["electorate/registry.py"])[0]
    algorithm = registry.RegisteredAlgorithm(entry[0], f"electorate.estimators.{entry[1]}", *entry[2:])
    monkeypatch.setitem(registry.ALGORITHMS, algorithm.name, algorithm)
    monkeypatch.setitem(registry.MODULES, algorithm.name, algorithm.module)
    yield electorate.MarginAdaBoostClassifier
    vars(electorate).pop("MarginAdaBoostClassifier", None)


def test_without_a_target_it_is_adaboost(margin_adaboost):
    X, y = load_breast_cancer(return_X_y=True)
    plain = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert margin_adaboost(rho=0.0, n_estimators=20).fit(X, y).digest_ == plain.digest_


def test_the_margin_reaches_its_target(margin_adaboost):
    X, y = load_breast_cancer(return_X_y=True)
    model = margin_adaboost(rho=0.02, n_estimators=300).fit(X, y)
    assert electorate.margins(model, X, y).values.min() >= 0.02


def test_it_has_files_stages_and_warm_starts(margin_adaboost, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = margin_adaboost(n_estimators=10, warm_start=True).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is margin_adaboost
    assert again.digest_ == model.digest_
    quick = read_quickly(tmp_path / "model").decision_function(pa.Table.from_pandas(X, preserve_index=False))
    assert np.array_equal(quick, model.decision_function(X))
    assert np.array_equal(list(again.staged_predict(X))[-1], model.predict(X))
    fresh = margin_adaboost(n_estimators=20).fit(X, y)
    assert model.set_params(n_estimators=20).fit(X, y).digest_ == fresh.digest_


def test_it_is_compared_and_certified(margin_adaboost):
    assert "AdaBoost with a margin target" in {algorithm.name for algorithm in applicable("binary")}
    X, y = load_breast_cancer(return_X_y=True)
    model = margin_adaboost(n_estimators=10).fit(X[::2], y[::2])
    text = str(model.certificate(heldout=(X[1::2], y[1::2])))
    assert "held-out" in text or "held out" in text


def test_the_common_lists_take_it_from_the_registry(margin_adaboost):
    cases = [name for name in golden_cases() if name.startswith("AdaBoost with a margin target, default | ")]
    assert len(cases) == 7  # without weights, with whole and with real ones, on two tables; three classes
    assert small_model("MarginAdaBoostClassifier").n_estimators == ROUNDS
    assert names_without(dict.fromkeys(set(registry.ALGORITHMS) - {"MarginAdaBoostClassifier"})) == [
        "MarginAdaBoostClassifier"
    ]
    for check in OF_BITS:
        check(ENGINES["threads"], small_model("MarginAdaBoostClassifier"), *data_for("MarginAdaBoostClassifier"))


def test_fuzzing_takes_it_from_the_registry(margin_adaboost, monkeypatch):
    monkeypatch.syspath_prepend(PAGE.parents[1] / "tools")
    samples = importlib.import_module("fuzzing.samples").samples()
    assert type(samples[0].model) is margin_adaboost
