"""The stack of a comparison: how it is measured, and what is handed over."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss

import electorate
from electorate.report.comparison_report import comparison_report
from tests.comparison.small_comparisons import NAMES, QUICK, noise

MIXED = ["AdaBoost, stumps", "Real AdaBoost, trees"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two kinds of structure, so that a stack is better than each of its models."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(600, 6))
    score = values[:, 0] + values[:, 1] + 0.8 * np.sign(values[:, 2] * values[:, 3]) + rng.normal(size=600)
    X, y = pd.DataFrame(values, columns=list("abcdef")), pd.Series((score > 0).astype(int))
    folder = tmp_path_factory.mktemp("stack") / "c"
    options = QUICK | {"metric": "log_loss", "folder": folder, "test_fraction": 0.2, "peers": ["linear"]}
    return electorate.compare(X, y, algorithms=MIXED, **options), X, y, folder


def test_a_stack_that_wins_is_handed_over_in_one_file(found):
    comparison, X, _, folder = found
    assert comparison.winner == "stack"
    model = electorate.load(folder / "winner.model")
    assert model.digest_ == comparison.model.digest_
    assert np.array_equal(model.predict_proba(X), comparison.model.predict_proba(X))
    setting = comparison.setting
    assert sum(setting.values()) == pytest.approx(1)
    assert min(setting.values()) >= 0.05  # members with less are left out
    assert list(model.names_) == list(setting)
    assert model.weights_ == pytest.approx(list(setting.values()), abs=1e-12)
    assert comparison.answer[0].startswith(f"Use the stack of {len(setting)} models.")


def test_the_stack_is_better_than_its_models_here(found):
    columns = found[0].columns
    losses = dict(zip(columns["algorithm"], columns["log_loss"], strict=True))
    assert losses["stack"] == min(losses.values())
    place = columns["algorithm"].index("stack")
    assert columns["setting"][place].count(" + ") == len(found[0].setting) - 1


def test_the_error_on_the_test_rows_is_that_of_the_stored_stack(found):
    comparison, X, y, folder = found
    model = electorate.load(folder / "winner-without-test-rows.model")
    test = comparison.refits.parts[1]
    errors = int(np.sum(model.predict(X.iloc[test]) != y.iloc[test]))
    assert model.held_out_["errors"] == errors
    bound = model.certificate(heldout=(X.iloc[test], y.iloc[test])).best.value
    assert comparison.bound == pytest.approx(bound)


def test_the_code_of_a_stack_runs(found):
    comparison, X, y, _ = found
    names: dict = {"X": X.iloc[::2], "y": y.iloc[::2]}
    *lines, last = comparison.code.split("; ", 1)
    exec("; ".join(lines), names)
    model = eval(last, names)
    assert log_loss(y.iloc[1::2], model.predict_proba(X.iloc[1::2])) < 0.6


def test_the_report_shows_the_stack(found, tmp_path):
    page = comparison_report(found[0], tmp_path / "report.html")
    assert "stack" in page
    assert "Answer" in page


def test_a_stack_of_regressors():
    X, y = load_diabetes(return_X_y=True)
    names = ["MedBoost, trees", "QuadBoost, regression"]
    without = electorate.compare(X, y, algorithms=names, stack=False, **QUICK)
    assert "stack" not in without.columns["algorithm"]
    options = QUICK | {"peers": ["linear", "forest"]}
    with_stack = electorate.compare(X, y, algorithms=names, **options)
    place = with_stack.columns["algorithm"].index("stack")
    assert with_stack.columns["mae"][place] <= min(with_stack.columns["mae"]) * 1.05


def test_a_stack_gains_nothing_on_noise():
    """Its weights are found on other rows than those that measure it: .453 was seen where .5 is true."""
    gains = []
    for seed in range(6):
        comparison = electorate.compare(*noise(150, seed), algorithms=NAMES, peers=["linear"], **QUICK)
        errors = dict(zip(comparison.columns["algorithm"], comparison.columns["error"], strict=True))
        gains += [errors["majority class"] - errors["stack"]] if "stack" in errors else []
    assert len(gains) >= 2
    assert np.mean(gains) < 0.04  # two standard errors of the mean of six


def test_a_stack_is_not_certified_by_cross_fitting():
    X, y = load_breast_cancer(return_X_y=True)
    certified = electorate.compare(X, y, algorithms=NAMES, metric="log_loss", certify="crossfit", **QUICK).certified
    assert certified.algorithm in NAMES
