"""Which cells are run: rungs, survivors, finalists, groups, times, grids by size, the time for refits."""

from dataclasses import replace

import numpy as np
import pytest
from electorate.comparison.cells import Cell, Protocol, Screened, Trial
from electorate.comparison.race import FINALISTS, Race, Reserve, rungs_for
from sklearn.datasets import load_breast_cancer, make_classification

import electorate
from electorate import AdaBoostClassifier, Trees
from electorate.comparison import cells, folds
from electorate.comparison.algorithms import CLASSIFICATION, OURS, Algorithm, Facts, Size, applicable
from electorate.comparison.metrics import METRICS
from electorate.comparison.rows import Rows

GRID = tuple({"n_estimators": n} for n in (1, 2, 3))


def named(name: str, grid=GRID, peer: bool = False) -> Algorithm:
    return Algorithm(name, CLASSIFICATION, lambda facts: AdaBoostClassifier(Trees(1), n_jobs=1), grid, peer=peer)


def race_of(n_algorithms: int, rungs=(100, 400)) -> Race:
    algorithms = [named("peer", GRID[:1], peer=True), *(named(f"a{i}") for i in range(n_algorithms))]
    return Race(Protocol(algorithms, 3, 0, 2, METRICS["error"], rungs), frozenset({0}))


def screened(race: Race, stage: int, results: dict) -> dict:
    """The results of a rung in which the loss grows with the number of the algorithm and the setting."""
    losses = {cell: cell.algorithm + cell.setting / 10 for cell in race.cells_of(stage, results)}
    return results | {cell: Screened(np.array([loss + 1, loss]), 1.0) for cell, loss in losses.items()}


def test_the_best_of_every_rung_go_on():
    race = race_of(12)
    first = race.cells_of(0, {})
    assert len(first) == 36  # the peer has one setting, and is sure to be tested
    results = screened(race, 0, {})
    second = race.cells_of(1, results)
    assert len(second) == 9  # a quarter
    assert {cell.algorithm for cell in second} == {1, 2, 3}
    results = screened(race, 1, results)
    last = race.cells_of(2, results)
    assert {cell.algorithm for cell in last} == {0, 1, 2, 3}
    assert {cell.setting for cell in last if cell.algorithm == 1} == {0, 1}
    assert all(cell.rung is None for cell in last)
    assert [a for a, _ in race.dropped(results)] == list(range(4, 13))
    assert race.dropped(results)[0] == (4, 4.0)


def test_a_rung_that_was_cut_short_counts_for_those_it_has():
    race = race_of(8)
    results = screened(race, 0, {})
    late = Cell(3, 2, -1, 1)
    results[late] = Screened(np.array([0.9]), 1.0)  # the only one of the second rung
    finalists = race.finalists(results)
    assert finalists[0] == (3, 2)  # our leader runs first, then the peers
    assert finalists[2] == (0, 0)
    assert len({a for a, _ in finalists}) == FINALISTS[2] + 1


def test_without_rungs_everything_is_tested():
    race = race_of(3, rungs=())
    assert race.cells_of(0, {}) == race.protocol.cells
    assert race.n_stages == 1
    assert race.dropped({}) == []


def test_rungs_have_fewer_rows_than_the_table():
    assert rungs_for(2_000) == (4_000,)
    assert rungs_for(20_000) == (4_000,)
    assert rungs_for(30_000) == (4_000, 16_000)


def test_time_for_refits_is_that_of_the_leaders():
    race = race_of(2, rungs=())
    reserve = Reserve(race.protocol, 1.0, 2.0)
    assert reserve.seconds == 0
    for algorithm, loss, seconds in ((0, 0.1, 3.0), (1, 0.2, 5.0), (2, 0.3, 7.0)):
        reserve.add(Cell(algorithm, 0, 0), cells.Tested(np.array([loss]), np.zeros((1, 1)), 1.0, 1, seconds, 0.0))
    assert reserve.seconds == 3 + (1 + 2) * 5  # the peer leads, and the best of ours is trained as well


def test_a_large_table_is_screened_and_resumes_to_the_same_table(tmp_path):
    X, y = make_classification(2_600, 6, random_state=0)
    few = {"n_jobs": 1, "folds": 2, "peers": []}
    algorithms = [replace(named(f"a{i}", GRID[:2]), staged=i == 0) for i in range(2)]
    found = electorate.compare(X, y, algorithms=algorithms, folder=tmp_path / "c", **few)
    assert found.protocol.rungs == (4_000,)
    assert len(found.columns["algorithm"]) == 3  # named algorithms are not dropped
    for cell in sorted((tmp_path / "c" / "cells").iterdir())[1::2]:
        cell.unlink()
    again = electorate.compare(X, y, algorithms=algorithms, folder=tmp_path / "c", **few)
    assert again.columns["error"] == found.columns["error"]
    assert again.model.digest_ == found.model.digest_


# ---------------------------------------------------------------- splits


def rows_with(**more) -> Rows:
    n = len(next(iter(more.values())))
    return Rows(np.zeros((n, 1)), np.arange(n) % 2, [], 0, **more)


@pytest.mark.parametrize("screens", [False, True])
def test_groups_are_never_divided(screens):
    group = np.random.default_rng(0).integers(0, 40, 1_000)
    rows = rows_with(group=group)
    opened, locked = folds.lock(rows, 0.2, 0)
    assert not set(group[opened]) & set(group[locked])
    assert 0.1 < len(locked) / 1_000 < 0.3
    training = rows.take(opened)
    found = folds.split(training, 4, 0, screens)
    for learn, test in found.folds:
        assert len(test)
        assert not set(training.group[learn]) & set(training.group[test])
        inner = training.take(learn)
        for one, other in folds.inner(inner, 0, 0):
            assert not set(inner.group[one]) & set(inner.group[other])


@pytest.mark.parametrize("screens", [False, True])
def test_models_are_tested_on_later_rows(screens):
    time = np.random.default_rng(0).integers(0, 300, 1_000).astype(float)
    rows = rows_with(time=time)
    opened, locked = folds.lock(rows, 0.2, 0)
    assert time[opened].max() < time[locked].min()
    training = rows.take(opened)
    found = folds.split(training, 4, 0, screens)
    tested = np.concatenate([test for _, test in found.folds])
    assert len(np.unique(tested)) == len(tested)
    for learn, test in found.folds:
        assert training.time[learn].max() < training.time[test].min()
        for one, other in folds.inner(training.take(learn), 0, 0):
            assert training.time[learn][one].max() < training.time[learn][other].min()
    if screens:
        learn, validate = found.screening
        assert not set(validate) & set(tested)


def test_rows_for_screening_are_never_tested():
    rows = rows_with(weight=np.ones(3_000))
    found = folds.split(rows, 5, 0, screens=True)
    learn, validate = found.screening
    assert len(validate) == pytest.approx(450, abs=2)
    assert sorted([*learn, *validate]) == list(range(3_000))
    for fold, test in found.folds:
        assert set(validate) <= set(fold)
        assert not set(validate) & set(test)


def test_groups_and_times_are_compared_and_say_that_there_is_no_bound():
    X, y = load_breast_cancer(return_X_y=True)
    some = {"algorithms": ["AdaBoost, stumps"], "n_jobs": 1, "folds": 2, "quick": True}
    dates = np.datetime64("2026-01-01") + np.arange(len(y))
    for more, text in (
        ({"group": np.arange(len(y)) // 5}, "split by group"),
        ({"time_column": dates}, "split by time"),
    ):
        found = electorate.compare(X, y, **some, **more)
        assert text in found.head
        assert f"rows that are {text}" in str(found)
        assert np.isnan(found.bound)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"group": np.zeros(569), "time_column": np.zeros(569)}, "cannot be used together"),
        ({"group": np.zeros(5)}, "group has 5 values"),
        ({"group": np.zeros(569)}, "too few different values"),
        ({"time_column": np.full(569, np.nan)}, "no value in row 0"),
        ({"time_column": np.array(["soon"] * 569)}, "neither a date"),
        ({"metric": "rmse"}, "metric is 'rmse'"),
    ],
)
def test_options_of_splits_and_metrics_are_checked(more, message):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        electorate.compare(X, y, n_jobs=1, **more)


# ---------------------------------------------------------------- grids


def test_trees_are_as_deep_as_the_rows_allow():
    assert Size(40_000, 7).depths[0] == 12
    assert Size(12_800, 26).depths[0] == 10
    assert max(Size(300).depths) <= 5
    assert Size(1_000, 26).depths[0] > Size(1_000, 2).depths[0]
    for n in (20, 300, 3_000, 10**6):
        assert all(1 <= depth <= 12 for depth in Size(n).depths)


@pytest.mark.parametrize("n_rows", [20, 300, 2_000, 20_000, 10**6])
def test_settings_of_a_grid_differ_and_can_be_built(n_rows):
    for algorithm in OURS:
        grid = algorithm.of_size(Size(n_rows)).grid
        assert len({str(setting) for setting in grid}) == len(grid)
        for setting in grid:
            algorithm.build(setting, Facts([], 0))


def test_quick_has_one_setting_and_no_slow_algorithm():
    found = applicable("binary", size=Size(1_000), quick=True)
    assert {len(a.grid) for a in found} == {1}
    names = {a.name for a in found}
    assert {"majority class", "linear model", "HistGradientBoosting", "AdaBoost, trees"} <= names
    assert not any("LPBoost" in name for name in names)
    assert [a.name for a in found][:3] == ["majority class", "linear model", "HistGradientBoosting"]  # peers run early


# ---------------------------------------------------------------- the truth, briefly


def test_nothing_wins_where_nothing_beats_the_baseline(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    found = electorate.compare(X, y, algorithms=["AdaBoost, stumps"], n_jobs=1, quick=True, folder=tmp_path / "c")
    assert found.winner is None
    assert "NOTHING BEATS THE BASELINE" in str(found)
    assert "winner:" not in str(found)
    assert not list((tmp_path / "c").glob("*.model"))
    with pytest.raises(ValueError, match="no winner"):
        _ = found.model


def test_the_code_of_the_winner_trains_the_winner():
    X, y = load_breast_cancer(return_X_y=True)
    found = electorate.compare(X, y, algorithms=["AdaBoost, trees"], n_jobs=1, quick=True, folds=2)
    imports, expression = found.code.split("; ")
    names: dict = {}
    exec(imports, names)
    assert eval(expression, names, {"X": X, "y": y}).digest_ == found.model.digest_


def test_calibrated_probabilities_are_in_the_model_and_its_file(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    found = electorate.compare(X, y, algorithms=["AdaBoost, stumps"], n_jobs=1, quick=True, folder=tmp_path / "c")
    assert found.columns["log_loss"][0] < 0.25  # 0.4 without calibration
    stored = electorate.load(tmp_path / "c" / "winner.model")
    assert stored.temperature_ == found.model.temperature_
    assert np.array_equal(stored.predict_proba(X), found.model.predict_proba(X))


def test_trees_are_less_deep_where_a_rung_has_fewer_rows():
    grid = tuple({"estimator__max_depth": depth, "n_estimators": 2} for depth in (12, 4, 2))
    protocol = Protocol([replace(OURS[0], grid=grid)], 3, 0, 2, METRICS["error"], (4_000,))
    depths = [Trial(protocol.algorithms[0], number, protocol, 3).setting["estimator__max_depth"] for number in range(3)]
    assert depths == [9, 3, 2]


def test_a_cell_of_many_rows_tests_the_model_that_chose_its_rounds(monkeypatch):
    monkeypatch.setattr(folds, "ONE_FIT", 100)
    monkeypatch.setattr(folds, "LARGE", 100)
    X, y = load_breast_cancer(return_X_y=True)
    rows = Rows(X, y.astype(np.int64), [], 0)
    algorithm = replace(OURS[0], grid=({"estimator__max_depth": 1, "n_estimators": 16},))
    tested = cells.run(Cell(0, 0, 1), rows, Protocol([algorithm], 3, 0, 2, METRICS["error"]))
    learn, test = folds.split(rows, 3, 0, screens=False).folds[1]
    part, validate = folds.inner(rows.take(learn), 1, 0, folds.ONE_FIT_PARTS)[0]
    assert len(validate) == pytest.approx(len(learn) / 10, abs=2)
    best = (2, 4, 8, 16)[int(np.argmin(tested.inner))]
    model = AdaBoostClassifier(Trees(1), n_estimators=best).fit(X[learn[part]], y[learn[part]])
    assert np.array_equal(tested.scores[:, 0], model.decision_function(X[test]))
    assert tested.size == best
    assert np.min(tested.inner) == np.mean(model.predict(X[learn[validate]]) != y[learn[validate]])
