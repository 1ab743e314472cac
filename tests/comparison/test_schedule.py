"""What is run next, what is dropped, and what a time limit or Ctrl-C leaves out."""

import io
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification

import electorate
from electorate.comparison import fits, result, workers
from electorate.comparison.algorithms import BASELINES, CLASSIFICATION, OURS, Algorithm, Facts, Size, applicable
from electorate.comparison.fits import Failed, Fit, FitRunner
from electorate.comparison.folds import Splits
from electorate.comparison.schedule import FINALISTS, MOST_ALGORITHMS, PROTECTED, Costs, Schedule
from electorate.comparison.workers import Progress, Work, WorkLimits
from tests.comparison.small_comparisons import (
    bare_rows,
    breast_cancer,
    make_stumps,
    plan_of,
    table_without_seconds,
    two_algorithms,
)

GRID = tuple({"n_estimators": n} for n in (1, 2, 3))


def named(name: str, wave: int = 1, n_settings: int = 3) -> Algorithm:
    return Algorithm(name, CLASSIFICATION, make_stumps, GRID[:n_settings], wave=wave)


def schedule_of(n_algorithms: int, n_rows: int = 300, named_ones=frozenset(), n_settings: int = 1) -> Schedule:
    algorithms = [BASELINES[0], *(named(f"a{k}", 1 + k % 2, n_settings) for k in range(n_algorithms))]
    plan = plan_of(algorithms)
    rows = bare_rows(np.arange(n_rows) % 2)
    return Schedule(plan, rows, plan.split(rows), named_ones)


def outcome(schedule: Schedule, fit: Fit, error: float) -> fits.Tested:
    """Scores with this share of wrong rows, other ones for each algorithm."""
    algorithm = schedule.plan.candidates[fit.candidate].algorithm
    target = schedule.rows.target[schedule.splits.places[fit.split][1][1]]
    rng = np.random.default_rng([fit.split, algorithm, schedule.plan.candidates[fit.candidate].setting])
    right = np.where(target == 1, 1.0, -1.0)
    if schedule.plan.algorithm(fit.candidate).baseline:
        right = np.zeros(len(target))
    scores = np.where(rng.random(len(target)) < error, -right, right) * (1 + 0.1 * rng.random(len(target)))
    return fits.Tested(scores[None, :, None], 1, 1.0, 0.1)


def run_all(schedule: Schedule, errors, fails=(), only: int | None = None) -> tuple[dict, list[list[Fit]]]:
    """Run a schedule with made-up results. errors: by algorithm."""
    results, batches = {}, []
    while (batch := schedule.next_fits(results)) and (only is None or len(batches) < only):
        batches.append(batch)
        for fit in batch:
            algorithm = schedule.plan.candidates[fit.candidate].algorithm
            results[fit] = Failed("no") if fit in fails else outcome(schedule, fit, errors[algorithm])
    return results, batches


def splits_of(schedule: Schedule, results: dict, algorithm: int) -> set[int]:
    """The splits in which an algorithm was tried."""
    return {fit.split for fit in results if schedule.plan.candidates[fit.candidate].algorithm == algorithm}


def test_waves_go_through_all_folds_one_after_the_other():
    schedule = schedule_of(4)
    _, batches = run_all(schedule, [0.2] * 5)
    plan = schedule.plan
    waves = [{plan.wave(fit.candidate) for fit in batch} for batch in batches]
    assert waves == [{0}] * 3 + [{1}] * 3 + [{2}] * 3
    assert [{fit.split for fit in batch} for batch in batches] == [{0}, {1}, {2}] * 3


def test_there_is_an_answer_after_the_first_wave_and_better_ones_follow():
    schedule = schedule_of(4)
    assert schedule.furthest(run_all(schedule, [0.2] * 5, only=3)[0]) is None  # only the baseline
    for n_batches, numbers in ((4, [0]), (5, [0, 1]), (6, [0, 1, 2]), (8, [0, 1, 2]), (9, [0, 1, 2])):
        results, _ = run_all(schedule, [0.2] * 5, only=n_batches)
        assert schedule.furthest(results) == (0, numbers)


def test_candidates_that_are_worse_are_dropped_after_a_fold():
    errors = [0.5, *[0.1] * 8, *[0.45] * 4]
    schedule = schedule_of(12)
    results, _ = run_all(schedule, errors)
    tried = {
        a: {fit.split for fit in results if schedule.plan.candidates[fit.candidate].algorithm == a} for a in range(13)
    }
    assert all(tried[a] == {0, 1, 2} for a in range(9))  # the good ones, and the baseline
    assert any(len(tried[a]) < 3 for a in range(9, 13))
    assert len(schedule.tested(0, range(3), results)) >= PROTECTED
    named_one = schedule_of(12, named_ones=frozenset({9}))
    results, _ = run_all(named_one, errors)
    assert splits_of(named_one, results, 9) == {0, 1, 2}


def test_drops_do_not_depend_on_the_order_in_which_fits_end():
    errors = [0.5, *[0.1] * 6, *[0.4] * 6]
    one, other = schedule_of(12), schedule_of(12)
    results, _ = run_all(one, errors)
    for _ in range(100):
        assert other.next_fits(dict(reversed(results.items()))) == []
    assert one._dropped == other._dropped


def test_a_candidate_with_a_failed_fit_goes_no_further():
    schedule = schedule_of(3)
    broken = next(c for c in range(4) if schedule.plan.algorithm(c).name == "a0")
    results, _ = run_all(schedule, [0.2] * 4, fails={Fit(broken, 0)})
    assert Fit(broken, 1) not in results
    assert broken not in schedule.tested(0, range(3), results)
    assert schedule.furthest(results) == (0, [0, 1, 2])


def test_the_best_of_a_screening_go_on():
    schedule = schedule_of(12, n_rows=4_000, n_settings=3)
    errors = [0.5, *(0.05 + 0.03 * k for k in range(12))]
    results, _ = run_all(schedule, errors)
    finalists = [c for wave in schedule.waves(1, results) for c in wave]
    assert len(finalists) == 1 + FINALISTS  # the baseline is the worst
    of_algorithm = [schedule.plan.candidates[c].algorithm for c in finalists]
    assert of_algorithm[0] == 0
    assert {1, 2, 3} <= set(of_algorithm)
    assert len(set(of_algorithm)) == 1 + MOST_ALGORITHMS
    assert schedule.furthest(results)[0] == 1
    named_one = schedule_of(12, n_rows=4_000, n_settings=3, named_ones=frozenset({12}))
    results, _ = run_all(named_one, errors)
    assert 12 in [named_one.plan.candidates[c].algorithm for wave in named_one.waves(1, results) for c in wave]


def test_a_screening_counts_until_a_fold_is_finished():
    schedule = schedule_of(4, n_rows=4_000)
    results, _ = run_all(schedule, [0.2] * 5, only=3)
    assert schedule.furthest(results) == (0, [0])
    results, _ = run_all(schedule, [0.2] * 5)
    assert schedule.furthest(results)[0] == 1


def test_costs_grow_with_the_rows():
    splits = Splits([[(np.arange(100), np.arange(10))], [(np.arange(1_000), np.arange(10))]])
    costs = Costs(splits)
    assert costs.predict(0, 100) is None
    costs.add(Fit(0, 0), fits.Tested(np.zeros((1, 10, 1)), 1, 2.0, 1.0))
    assert costs.predict(0, 100) == costs.predict(0, 50) == 3.0
    assert 30 < costs.predict(0, 1_000) < 60
    costs.add(Fit(0, 1), fits.Tested(np.zeros((1, 10, 1)), 1, 20.0, 1.0))
    costs.add(Fit(0, 0), fits.Tested(np.zeros((1, 10, 1)), 1, 500.0, 1.0))  # of fewer rows: it says less
    assert costs.predict(0, 1_000) == 21.0
    costs.add(Fit(1, 0), Failed("no"))
    assert costs.predict(1, 100) is None


# ---------------------------------------------------------------- time, by a fake clock


class Clock:
    """Time that passes only where it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """For the modules of a comparison only: event loops of other threads need the clock of the system."""
    clock = Clock()
    for module in (workers, result):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    return clock


class FakeRunner:
    """Fits that take so many seconds each, by algorithm."""

    def __init__(self, schedule: Schedule, clock: Clock, seconds) -> None:
        self.schedule, self.clock, self.seconds = schedule, clock, seconds

    def run(self, fit: Fit) -> fits.Tested:
        took = self.seconds[self.schedule.plan.candidates[fit.candidate].algorithm]
        self.clock.now += took
        return replace(outcome(self.schedule, fit, 0.2), fit_seconds=took, predict_seconds=0.0)


def run_limited(clock, seconds, limit: float, reserve=0.0):
    schedule = schedule_of(len(seconds) - 1)
    limits = WorkLimits(1, limit)
    runner = FakeRunner(schedule, clock, seconds)
    work = Work(schedule, runner, {}, limits, lambda *_: reserve, Progress(schedule.plan, limits, None))
    work.run()
    return schedule, work, clock.now - limits.started


def test_fits_that_do_not_fit_into_the_time_are_not_started(clock):
    """One of 10 seconds a fit is tried once; its other folds would take more than what is left."""
    schedule, work, took = run_limited(clock, [0.0, 1.0, 1.0, 1.0, 10.0], limit=24.0)
    assert took <= 24.0
    slow = next(c for c in range(5) if schedule.plan.algorithm(c).name == "a3")
    assert {fit.split for fit in work.results if fit.candidate == slow} == {0}
    assert schedule.late == {slow}
    others = set(range(5)) - {slow}
    assert {fit for fit in work.results if fit.candidate in others} == {Fit(c, s) for c in others for s in range(3)}
    assert schedule.furthest(work.results) == (0, [0, 1, 2])


def test_time_for_the_refits_is_kept(clock):
    _, work, took = run_limited(clock, [0.0, *[1.0] * 8], limit=30.0, reserve=12.0)
    assert took <= 30.0 - 12.0
    assert len(work.results) > 3
    _, work, took = run_limited(clock, [0.0, *[1.0] * 8], limit=30.0)
    assert took == 24.0


def test_without_a_limit_seconds_decide_nothing(clock):
    slow, fast = (run_limited(clock, [0.0, *seconds], math.inf) for seconds in ([1e5, 1.0, 7.0], [1.0, 1e9, 3.0]))
    assert set(slow[1].results) == set(fast[1].results)
    assert not slow[0].late


def test_the_reserve_is_that_of_the_slowest_three(clock):
    """What may be handed over is trained twice where rows were held out: on all rows, and without the test rows."""
    found = electorate.compare(
        *make_classification(2_000, 4, random_state=0), algorithms=two_algorithms(), n_jobs=1, folds=2, check_up=False
    )
    costs = found.costs
    found.limits = WorkLimits(1, 1_000.0)
    wanted = sum(
        max(costs.predict(c, n) for c in range(3 + 1) if found.plan.algorithm(c) == one)
        for one in found.plan.algorithms
        for n in (2_000, 1_600)
    )
    assert found._reserve(found.results, costs) == pytest.approx(0.5 + wanted)
    found.limits = WorkLimits(1, 1e-3)
    assert found._reserve(found.results, costs) == pytest.approx(0.5 + 0.3e-3)


def test_a_comparison_within_a_limit_hands_over_a_model(clock, monkeypatch):
    """A fit of ten seconds a fold, beside fast ones, in a limit of thirty."""
    run = FitRunner.run

    def slowly(self, fit):
        took = 10.0 if self.plan.algorithm(fit.candidate).name == "slow" else 0.1
        clock.now += took
        result = run(self, fit)
        return replace(result, fit_seconds=took, predict_seconds=0.0)

    monkeypatch.setattr(FitRunner, "run", slowly)
    algorithms = [*two_algorithms(), named("slow", 5, 1)]
    options = {"algorithms": algorithms, "n_jobs": 1, "folds": 3, "check_up": False}
    X, y = breast_cancer()
    limited = electorate.compare(X, y, time_limit=30.0, **options)
    assert limited.is_partial
    assert limited.not_run == ["slow"]
    assert "not run (out of time): slow" in str(limited)
    assert limited.model is not None
    assert clock.now - 1_000 <= 30.0
    whole = electorate.compare(X, y, **options)
    assert not whole.is_partial
    assert whole.not_run == []


def test_a_limit_without_time_for_any_fit_gives_a_linear_model(tmp_path):
    X, y = breast_cancer()
    options = {"algorithms": two_algorithms(), "n_jobs": 1, "folds": 3, "check_up": False}
    found = electorate.compare(X, y, time_limit=1e-6, folder=tmp_path / "c", **options)
    assert found.winner == "linear model"
    assert np.mean(found.model.predict(X) != y) < 0.3
    assert "there was no time for more than a linear model on 120 rows" in found.notes
    assert (tmp_path / "c" / "winner.model").exists()
    again = electorate.compare(X, y, replay=tmp_path / "c", **options)
    assert table_without_seconds(again) == table_without_seconds(found)


# ---------------------------------------------------------------- progress


class Screen(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_is_rewritten_on_a_terminal_and_rare_elsewhere(is_terminal, clock):
    schedule = schedule_of(3)
    screen = Screen(is_terminal)
    shown = Progress(schedule.plan, WorkLimits(1, 60.0), screen)
    shown.note("comparing models on 300 rows")
    shown.start([Fit(1, 0)])
    for split in range(3):
        clock.now += 6
        shown.done(Fit(1, split), outcome(schedule, Fit(1, split), 0.1))
    shown.end()
    written = screen.getvalue()
    assert "comparing models on 300 rows" in written
    assert written.count("[") == (4 if is_terminal else 2)
    assert "[0 s of 60] 0 fits done; fitting a0" in written
    assert "[12 s of 60] 2 fits done; a0" in written
    assert ("\r" in written) == is_terminal
    silent = Progress(schedule.plan, WorkLimits(1), None)
    silent.start([Fit(1, 0)])
    silent.done(Fit(1, 0), Failed("no"))


def test_a_stream_that_cannot_be_written_does_not_end_the_work():
    screen = Screen(False)
    shown = Progress(schedule_of(1).plan, WorkLimits(1), screen)
    screen.close()
    shown.start([Fit(1, 0)])
    shown.end()


# ---------------------------------------------------------------- grids


def test_trees_are_as_deep_as_the_rows_allow():
    assert Size(40_000, 7).depths[0] == 12
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
            model = algorithm.build(setting, Facts([1], 0))
            assert model.get_params()["n_estimators"] == setting["n_estimators"]


def test_quick_has_one_setting_and_no_slow_algorithm():
    quick = applicable("binary", size=Size(1_000), quick=True)
    assert {len(a.grid) for a in quick} == {1}
    names = [a.name for a in quick]
    assert names[0] == "majority class"
    assert {"linear model", "random forest", "extra trees", "HistGradientBoosting", "AdaBoost, trees"} <= set(names)
    assert not any("LPBoost" in name or "RQPBoost" in name for name in names)


def test_the_programs_are_tried_if_they_are_named():
    slow = {"LPBoost, stumps", "RLPBoost, stumps", "RQPBoost, stumps"}
    assert not slow & {a.name for a in applicable("binary")}
    assert slow <= {a.name for a in applicable("binary", "all")}
    assert [a.name for a in applicable("binary", ["lpboost, stumps"])] == ["majority class", "LPBoost, stumps"]
    assert workers.SECONDS > 1
