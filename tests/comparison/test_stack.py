"""The stack of a comparison: which models it has, how it is tested, and what is handed over."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss

import electorate
from electorate.comparison.algorithms import BASELINES, OURS
from electorate.comparison.cells import Protocol, Tested
from electorate.comparison.metrics import METRICS
from electorate.comparison.race import Reserve
from electorate.comparison.ranking import FoldRows, measure
from electorate.comparison.rows import Rows
from electorate.comparison.stack import PARTS, _parts, leaders, stack_of
from electorate.report.comparison_report import comparison_report

NAMES = ["AdaBoost, stumps", "Real AdaBoost, stumps"]


def made_up(n_rows=300, n_folds=3, flipped=(), **more):
    """Two models with independent noise about the log-odds of two classes; flipped: rows whose label is the other."""
    rng = np.random.default_rng(0)
    odds = 3 * rng.normal(size=n_rows)
    target = (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    target[list(flipped)] = 1 - target[list(flipped)]
    protocol = Protocol(list(OURS[:2]), n_folds, 0, 2, METRICS["log_loss"])
    splits = np.array([0, 1] * (n_rows // 2))  # folds do not depend on the labels that are flipped
    there = FoldRows(protocol, Rows(np.zeros((n_rows, 1)), splits, [], 0, **more))
    there.rows = Rows(np.zeros((n_rows, 1)), target, [], 0, **more)
    nested = []
    for noise in (1.0, 1.5):
        scores = odds + noise * rng.normal(size=n_rows)
        cells = {
            fold: Tested(np.array([noise]), scores[there.places[fold]][:, None], 1.0, 10, 1.0, 0.1)
            for fold in range(n_folds)
        }
        nested.append(cells)
    lines = [measure(one, cells, there, None) for one, cells in zip(protocol.algorithms, nested, strict=True)]
    return lines, nested, there


def test_the_mean_of_two_noisy_models_is_better_than_each():
    lines, nested, there = made_up()
    line, losses = stack_of(lines, nested, there)
    assert line.loss < min(one.loss for one in lines)
    assert losses.mean() == pytest.approx(line.loss)
    assert [part.algorithm.name for part, _ in line.stack] == [one.algorithm.name for one in lines]
    assert sum(weight for _, weight in line.stack) == pytest.approx(1)
    assert (line.size, line.fit_seconds) == (20, 2.0)


def test_no_row_has_a_say_in_the_weights_that_it_is_tested_with():
    """Other labels of a part change the predictions for the other parts, and not those for the part."""
    there = made_up()[2]
    part = _parts(there, [0, 1, 2])
    order = np.concatenate(there.places)
    flipped = order[part == 2]
    predicted = []
    for which in ((), flipped.tolist()):
        lines, nested, there = made_up(flipped=which)
        losses = stack_of(lines, nested, there)[1]
        own = there.rows.target[order] == 1
        predicted.append(np.where(own, np.exp(-losses), 1 - np.exp(-losses)))  # the probability of the second class
    same = np.isclose(predicted[0], predicted[1], rtol=1e-9)
    assert same[part == 2].all()
    assert not same[part != 2].any()


def test_with_times_weights_are_those_of_earlier_rows():
    time = np.random.default_rng(1).permutation(300).astype(np.float64)
    lines, nested, there = made_up(time=time)
    part = _parts(there, [0, 1, 2])
    when = np.concatenate([time[places] for places in there.places])
    assert np.all(np.diff(part[np.argsort(when)]) >= 0)
    assert set(part) == set(range(PARTS))
    assert stack_of(lines, nested, there) is not None


def test_leaders_are_algorithms_of_this_package_with_the_least_inner_loss():
    lines, nested, there = made_up()
    base = measure(BASELINES[0], nested[0], there, None)
    assert leaders([base, lines[1], lines[0]], [nested[0], nested[1], nested[0]]) == [2, 1]
    assert stack_of(lines[:1], nested[:1], there) is None


def test_time_is_reserved_for_a_stack_that_takes_little_of_it():
    there = made_up()[2]
    for most, wanted in ((10.0, 3.0 * 3), (1.0, 2.0 * 3)):
        reserve = Reserve(there.protocol, 1.0, 2.0, stack=3, stack_seconds=most)
        for cell, seconds in zip(there.protocol.cells[:2], (2.0, 1.0), strict=True):
            reserve.add(cell, Tested(np.array([float(cell.algorithm)]), np.empty(0), 1.0, 1, seconds, 1.0))
        assert reserve.seconds == wanted


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    rng = np.random.default_rng(2)
    values = rng.normal(size=(600, 6))
    score = values[:, 0] + values[:, 1] + 0.8 * np.sign(values[:, 2] * values[:, 3]) + rng.normal(size=600)
    X, y = pd.DataFrame(values, columns=list("abcdef")), pd.Series((score > 0).astype(int))
    folder = tmp_path_factory.mktemp("stack") / "compare"
    more = {"quick": True, "n_jobs": 1, "metric": "log_loss", "stack": True, "folder": folder}
    names = ["AdaBoost, stumps", "Real AdaBoost, trees", "AdaBoost_R, trees"]
    return electorate.compare(X, y, algorithms=names, **more), X, y, folder


def test_a_stack_that_wins_is_handed_over_in_one_file(found):
    comparison, X, _, folder = found
    assert comparison.winner == comparison.best_of_ours == "stacked"
    model = electorate.load(folder / "winner.model")
    assert model.digest_ == comparison.model.digest_
    assert np.array_equal(model.predict_proba(X), comparison.model.predict_proba(X))
    weights = [weight for _, weight in comparison.ranking.lines[0].stack]
    assert model.weights_ == pytest.approx(weights, abs=1e-12)
    assert f"winner: stacked ({max(weights):.3f} " in str(comparison)
    assert comparison.columns["setting"][0].count(" + ") == len(weights) - 1


def test_the_bound_of_a_stack_is_that_of_its_test_rows(found):
    comparison, X, y, folder = found
    model = electorate.load(folder / "winner-without-test-rows.model")
    test = comparison.refits.parts[1]
    errors = int(np.sum(model.predict(X.iloc[test]) != y.iloc[test]))
    assert model.held_out_["errors"] == errors
    assert comparison.bound == pytest.approx(model.certificate(heldout=(X.iloc[test], y.iloc[test])).best.value)


def test_the_code_of_a_stack_runs(found):
    comparison, X, y, _ = found
    names: dict = {"X": X.iloc[::2], "y": y.iloc[::2]}
    *lines, last = comparison.code.split("; ", 1)
    exec("; ".join(lines), names)
    model = eval(last, names)
    assert log_loss(y.iloc[1::2], model.predict_proba(X.iloc[1::2])) < 0.6


def test_the_report_shows_the_heaviest_model(found, tmp_path):
    comparison = found[0]
    page = comparison_report(comparison, tmp_path / "report.html")
    model = comparison.model_without_locked
    assert f"stacked: {model.names_[int(np.argmax(model.weights_))]}" in page


def test_regression_and_options():
    X, y = load_diabetes(return_X_y=True)
    names = ["MedBoost, trees", "QuadBoost, regression"]
    options = {"algorithms": names, "quick": True, "n_jobs": 1, "folds": 2}
    assert "stacked" not in electorate.compare(X, y, **options).columns["algorithm"]
    with_stack = electorate.compare(X, y, **options, stack=True)
    place = with_stack.columns["algorithm"].index("stacked")
    assert with_stack.columns["mae"][place] <= min(with_stack.columns["mae"]) * 1.05


def test_a_stack_is_not_certified_by_cross_fitting():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"metric": "log_loss", "quick": True, "n_jobs": 1, "folds": 2, "check_up": False}
    found = electorate.compare(X, y, algorithms=NAMES, stack=True, certify="crossfit", **options)
    assert found.certified.algorithm in NAMES
