"""Fits: pure functions of the rows and the seed, which learn nothing from the rows that they test."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import electorate
from electorate import AdaBoostClassifier, Trees
from electorate.comparison.algorithms import CLASSIFICATION, OURS, Algorithm, Facts
from electorate.comparison.fits import Failed, Fit, FitRunner, stages_of, with_rounds
from electorate.comparison.rows import guess_task, restore, store
from tests.comparison.small_comparisons import (
    NAMES,
    QUICK,
    bare_rows,
    breast_cancer,
    make_stumps,
    plan_of,
    rows_of,
    two_algorithms,
)


def candidate(plan, name: str) -> int:
    """The number of an algorithm with its first setting."""
    return next(c for c in range(len(plan.candidates)) if plan.algorithm(c).name == name)


def test_candidates_come_wave_by_wave():
    first = replace(two_algorithms()[0], wave=2)
    plan = plan_of([first, two_algorithms()[1]])
    assert [(one.algorithm, one.setting) for one in plan.candidates] == [(1, 0), (0, 0), (0, 1)]
    assert [plan.wave(c) for c in range(3)] == [1, 2, 3]


def test_a_fit_is_a_function_of_rows_and_seed():
    rows, n_classes = rows_of(*breast_cancer())
    plan = plan_of(two_algorithms(), n_classes=n_classes)
    one, two = (FitRunner(plan, rows).run(Fit(1, 1)) for _ in range(2))
    assert np.array_equal(one.scores, two.scores)
    assert one.size == two.size


def test_a_fit_is_what_the_estimator_does_on_the_training_rows():
    X, y = breast_cancer()
    rows, _ = rows_of(X, y)
    plan = plan_of(two_algorithms())
    tested = FitRunner(plan, rows).run(Fit(candidate(plan, "few trees"), 2))
    learn, test = plan.split(rows).places[2][1]
    model = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X[learn], y[learn])
    assert np.array_equal(tested.scores[0, :, 0], model.decision_function(X[test]))
    assert tested.size == 2


def test_stages_are_models_with_fewer_rounds():
    X, y = breast_cancer()
    rows, _ = rows_of(X, y)
    staged = replace(two_algorithms()[0], grid=({"n_estimators": 16},), staged=True)
    plan = plan_of([staged])
    assert plan.stages(0) == stages_of(staged, staged.grid[0]) == [2, 4, 8, 16]
    tested = FitRunner(plan, rows).run(Fit(0, 1))
    learn, test = plan.split(rows).places[1][1]
    for scores, rounds in zip(tested.scores, plan.stages(0), strict=True):
        setting = with_rounds(staged, staged.grid[0], rounds)
        model = AdaBoostClassifier(**setting).fit(X[learn], y[learn])
        assert np.array_equal(scores[:, 0], model.decision_function(X[test]))


def test_fits_are_silent(recwarn):
    def warns(facts):
        warnings.warn("as always", stacklevel=2)
        return make_stumps(facts)

    rows, _ = rows_of(*breast_cancer())
    FitRunner(plan_of([Algorithm("a", CLASSIFICATION, warns, ({},))]), rows).run(Fit(0, 0))
    assert not recwarn


def test_nothing_is_learned_from_the_test_rows():
    """Edges, categories, scales: whatever else the test rows hold, the scores of one of them stay."""
    X, y = breast_cancer()
    X[:, 0] = np.arange(len(X)) % 7
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = frame["a"].astype(int).astype(str)
    rows, _ = rows_of(frame, y)
    linear = electorate.comparison.algorithms.PEERS["linear"][0]
    plan = plan_of([*two_algorithms(), linear])
    test = plan.split(rows).places[0][1][1]
    matrix, target = rows.matrix.copy(), rows.target.copy()
    matrix[test[1:]] = 1e9 * np.arange(6)  # new categories, far values
    target[test] = 1 - target[test]
    for c in range(len(plan.candidates)):
        before = FitRunner(plan, rows).run(Fit(c, 0))
        runner = FitRunner(plan, rows)
        runner.rows = replace(rows, matrix=matrix, target=target)  # the splits stay as they are
        after = runner.run(Fit(c, 0))
        assert np.array_equal(after.scores[:, 0], before.scores[:, 0])


def test_a_column_that_could_only_leak_gains_nothing():
    """Names of rows: useless unless something is fitted outside the fold."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame({"noise": rng.normal(size=300), "name": [f"{label}-{i}" for i, label in enumerate(y)]})
    found = electorate.compare(frame, y, algorithms=NAMES, peers=["linear"], **QUICK)
    assert min(found.columns["error"]) > 0.4
    assert found.evidence == "no evidence"


def test_codes_of_categories_and_texts_give_the_same_predictions():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("zyxab"), 200), "x": rng.normal(size=200)})
    frame.loc[3, "c"] = None
    y = np.where(frame["c"].isin(["z", "a"]), 1, 0)
    rows, _ = rows_of(frame, y)
    by_codes = AdaBoostClassifier(Trees(2), categorical_features=rows.categorical).fit(rows.matrix, y)
    by_texts = AdaBoostClassifier(Trees(2)).fit(frame, y)
    assert np.array_equal(by_codes.decision_function(rows.matrix), by_texts.decision_function(frame))


def test_trees_are_less_deep_where_a_screening_has_fewer_rows():
    grid = tuple({"estimator__max_depth": depth, "n_estimators": 2} for depth in (12, 4, 2))
    rows = bare_rows(np.arange(4_000) % 2)
    runner = FitRunner(plan_of([replace(OURS[0], grid=grid)], 5), rows)
    depths = [runner._smaller(setting, 3_400 // 8)["estimator__max_depth"] for setting in grid]
    assert depths == [9, 3, 2]
    assert [runner._smaller(setting, 3_200)["estimator__max_depth"] for setting in grid] == [12, 4, 2]


def test_an_error_of_an_estimator_is_the_result():
    def fails(facts):
        raise RuntimeError("out of luck")

    rows, _ = rows_of(*breast_cancer())
    result = FitRunner(plan_of([Algorithm("broken", CLASSIFICATION, fails, ({},))]), rows).run(Fit(0, 0))
    assert result == Failed("RuntimeError: out of luck")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_that_are_not_numbers_are_a_failure(bad):
    class Spoiled(AdaBoostClassifier):
        def decision_function(self, X):
            return super().decision_function(X) + bad

    rows, _ = rows_of(*breast_cancer())
    spoiled = Algorithm("spoiled", CLASSIFICATION, lambda facts: Spoiled(n_jobs=1), ({"n_estimators": 2},))
    result = FitRunner(plan_of([spoiled]), rows).run(Fit(0, 0))
    assert isinstance(result, Failed)
    assert f"a decision for a test row is {bad}" in result.message


def test_a_class_that_the_training_rows_lack():
    X = np.arange(60.0)[:, None]
    y = np.array([0] * 57 + [1, 2, 2])
    found = electorate.compare(X, y, algorithms=two_algorithms(), **(QUICK | {"folds": 5}))
    assert np.isfinite(found.columns["log_loss"]).all()
    assert found.model is not None


def test_rows_survive_the_disk(tmp_path):
    X, y = breast_cancer()
    for matrix in (X, sparse.csr_array(X)):
        rows, _ = rows_of(matrix, y)
        store(rows, str(tmp_path / str(type(matrix))))
        assert restore(str(tmp_path / str(type(matrix)))).digest() == rows.digest()


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([0.0, 1.0], "classification"),
        ([0.5, 1.0], "regression"),
        (list(range(21)), "regression"),
    ],
)
def test_the_task_is_read_off_the_target(y, task):
    assert guess_task(y) == task


def test_facts_reach_the_estimator():
    model = OURS[0].build(OURS[0].grid[0], Facts([1, 2], 5))
    assert (model.categorical_features, model.random_state, model.n_jobs) == ([1, 2], 5, 1)
