"""What is larger than chance: the lead over the baseline, differences to the best, and candidates to drop."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from electorate.comparison.choice import Choice, Chooser
from electorate.comparison.estimate import Estimate, LossInterval
from electorate.comparison.metrics import METRICS
from electorate.comparison.out_of_fold import OutOfFold
from electorate.comparison.verdicts import (
    TRAINING,
    Differences,
    against_baseline,
    against_best,
    better_by_chance,
    by_unit,
    covariance,
    droppable,
    training_factors,
)


def table_of(n: int, weight: np.ndarray | None = None, n_folds: int = 5, **more) -> OutOfFold:
    """Rows dealt to the folds in turn; half of them have each class."""
    fields = {"target": np.arange(n) % 2, "fold": np.arange(n) % n_folds} | more
    target, fold, group = fields["target"], fields["fold"], fields.get("group")
    return OutOfFold(np.zeros((1, n, 1)), target, 2, fold, None, np.ones(1, dtype=bool), weight, group)


def compared(losses: np.ndarray, weight: np.ndarray | None = None, **more) -> Differences:
    return against_best(losses, table_of(losses.shape[1], weight, **more))


def equal_models(rng: np.random.Generator, k: int, n: int, error: float = 0.2) -> np.ndarray:
    """Correlated 0-1 losses."""
    scores = rng.standard_normal(n) + 0.5 * rng.standard_normal((k, n))
    return (scores < stats.norm.ppf(error, scale=np.sqrt(1.25))).astype(float)


def estimate_of(losses: np.ndarray, name: str = "error", **more) -> Estimate:
    nothing = LossInterval(0.0, 0.0, 0.0, 0.0)
    return Estimate(Choice((0,), (1.0,), (1.0,)), {name: nothing}, {name: losses, **more})


# ---------------------------------------------------------------- the parts


def test_the_covariance_over_rows_is_the_usual_one():
    losses = np.random.default_rng(0).exponential(size=(3, 400))
    assert covariance(losses, np.full(400, 1 / 400)) == pytest.approx(np.cov(losses) / 400, rel=0.01)


def test_folds_that_differ_by_their_rows_alone_add_nothing():
    """On average; what training adds in each fold is multiplied by the factor for what cannot be seen."""
    rng = np.random.default_rng(0)
    factors = {0.0: [], 0.2: []}
    for _ in range(200):
        for effect, seen in factors.items():
            fold = np.arange(500) % 5
            losses = rng.standard_normal((4, 500)) + effect * rng.standard_normal((4, 5))[:, fold]
            seen.append(training_factors(losses, np.full(500, 1 / 500), fold)[0, 1])
    assert TRAINING <= np.median(factors[0.0]) < 1.3 * TRAINING
    assert np.mean(factors[0.2]) == pytest.approx(TRAINING * 5, rel=0.15)  # 100 rows a fold: 1 + 100 x .2^2


def test_groups_are_units_and_unmeasured_rows_are_left_out():
    rng = np.random.default_rng(0)
    losses, weight = rng.random((2, 30)), rng.random(30)
    losses[0, 4] = np.nan
    units, share, fold = by_unit(losses, table_of(30, weight, group=np.arange(30) // 3, fold=np.arange(30) // 15))
    assert units.shape == (2, 10)
    assert share.sum() == pytest.approx(1)
    measured = np.arange(30) != 4
    assert units @ share == pytest.approx(np.average(losses[:, measured], axis=1, weights=weight[measured]))
    assert fold.tolist() == [0] * 5 + [1] * 5


# ---------------------------------------------------------------- against the baseline


def test_the_p_value_is_that_of_a_paired_test_with_more_variance():
    rng = np.random.default_rng(0)
    losses = np.array([rng.normal(0, 1, 400), rng.normal(0.1, 1, 400)])
    away = losses[1] - losses[0]
    t = away.mean() / np.sqrt(TRAINING * away.var() / 400)
    assert better_by_chance(losses, table_of(400)) == pytest.approx(stats.t.sf(t, 399), rel=0.05)
    assert better_by_chance(losses[::-1], table_of(400)) == pytest.approx(stats.t.cdf(t, 399), rel=0.05)


def test_equal_losses_are_no_evidence():
    same = np.ones((2, 50))
    assert better_by_chance(same, table_of(50)) == 1.0
    assert against_baseline(table_of(50), estimate_of(same[0]), estimate_of(same[1]), "error").grade == "no evidence"


def test_grades():
    rng = np.random.default_rng(0)
    base = (rng.random(500) < 0.5).astype(float)
    grades = []
    for better in (0, 16, 100):
        losses = base.copy()
        losses[np.flatnonzero(base)[:better]] = 0
        losses[np.flatnonzero(base == 0)[: better // 4]] = 1
        grades.append(against_baseline(table_of(500), estimate_of(losses), estimate_of(base), "error").grade)
    assert grades == ["no evidence", "probably", "beyond doubt"]


def test_a_rare_class_is_tested_by_the_log_loss_too():
    """At twice the p-value."""
    rng = np.random.default_rng(0)
    rare = table_of(400, target=(np.arange(400) < 20).astype(int))
    errors, logs = np.zeros(400), rng.normal(0.3, 0.4, 400)
    errors[:20] = 1
    model, base = estimate_of(errors, log_loss=logs - 0.1), estimate_of(errors, log_loss=rng.normal(0.3, 0.4, 400))
    evidence = against_baseline(rare, model, base, "error")
    assert evidence.by_metric["error"] == 1.0
    assert evidence.p == pytest.approx(2 * evidence.by_metric["log_loss"])
    assert set(against_baseline(table_of(400), model, base, "error").by_metric) == {"error"}


def test_the_baseline_is_seldom_beaten_by_an_equal_model():
    rng = np.random.default_rng(0)
    p = [better_by_chance(equal_models(rng, 2, 200), table_of(200)) for _ in range(400)]
    assert np.mean(np.array(p) < 0.05) < 0.05
    assert np.mean(np.array(p) < 0.001) < 0.005


# ---------------------------------------------------------------- against the best


def test_identical_models_tie():
    for value in (0.0, 1.0, 3.7):
        assert not compared(np.full((4, 60), value)).worse.any()
    row = (np.random.default_rng(0).random(60) < 0.3).astype(float)
    assert not compared(np.array([row, row, row])).worse.any()


def test_rounding_makes_no_difference():
    losses = np.random.default_rng(0).exponential(size=200)
    assert not compared(np.array([losses, losses * (1 + 1e-15), losses * (1 - 1e-15)])).worse.any()


def test_a_constant_difference_is_seen_on_many_rows_and_not_on_few():
    assert compared(np.array([np.zeros(100), np.ones(100)])).worse.tolist() == [False, True]
    assert not compared(np.array([np.zeros(4), np.ones(4)]), n_folds=2).worse.any()
    rising = np.linspace(1, 2, 100)
    assert compared(np.array([rising, rising + 0.5])).worse.tolist() == [False, True]


def test_few_rows_between_two_models_prove_nothing():
    losses = np.zeros((2, 1000))
    losses[1, :5] = 1  # the exact test of McNemar: p = 0.06
    assert not compared(losses).worse.any()
    losses[1, :60] = 1
    assert compared(losses).worse.any()


def test_one_heavy_row_proves_nothing():
    rng = np.random.default_rng(0)
    losses = equal_models(rng, 2, 300)
    losses[:, 0] = 0, 1
    weight = np.ones(300)
    for heavy in (1e2, 1e6, 1e300):
        weight[0] = heavy
        assert not compared(losses, weight).worse.any()
    huge = np.full(300, 1e308)  # their sum is not a finite number
    assert compared(losses, huge).visible == pytest.approx(compared(losses).visible)
    errors = rng.exponential(size=(3, 300))
    errors[2, 7] = 1e9  # an absolute error beyond all others
    assert not compared(errors).worse.any()


def test_a_wild_model_does_not_hide_a_difference_between_others():
    rng = np.random.default_rng(0)
    good = rng.exponential(size=500)
    losses = np.array([good, good + 0.5 * rng.random(500), good + 1e6 * rng.exponential(size=500)])
    assert compared(losses).worse.tolist() == [False, True, True]


def test_training_that_fails_in_one_fold_proves_nothing():
    losses = equal_models(np.random.default_rng(0), 2, 1000)
    failed = np.arange(1000) % 5 == 2
    losses[0, failed] = np.random.default_rng(1).random(200) < 0.6
    assert compared(losses, fold=np.arange(1000) // 200).worse[0]  # if folds had nothing to do with it
    assert not compared(losses).worse[0]


@pytest.mark.parametrize("k", [2, 5, 11])
def test_equal_models_are_seldom_told_apart(k):
    rng = np.random.default_rng(k)
    called = 0
    for _ in range(100):
        losses = rng.standard_normal((k, 200)) + 0.045 * rng.standard_normal((k, 1))  # variance x 1.4
        called += bool(compared(losses).worse.any())
    assert called <= stats.binom.ppf(0.99, 100, 0.05)


def test_leads_are_found_and_visible_leads_are_near_them():
    rng = np.random.default_rng(0)
    losses = np.vstack([equal_models(rng, 1, 3000, 0.15), equal_models(rng, 4, 3000, 0.25)])
    differences = compared(losses)
    assert differences.best == 0
    assert differences.worse.tolist() == [False, True, True, True, True]
    assert differences.visible[0] == 0
    assert np.all((differences.visible[1:] > 0.01) & (differences.visible[1:] < 0.05))


def test_another_model_than_the_first_may_be_handed_over():
    rng = np.random.default_rng(0)
    losses = equal_models(rng, 4, 500)
    losses[3] = rng.random(500) < 0.5
    best = compared(losses).best
    other = against_best(losses, table_of(500), best=(best + 1) % 3)
    assert other.best == (best + 1) % 3
    assert other.worse.tolist() == [False, False, False, True]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.sampled_from([30, 200, 2000]), st.booleans(), st.booleans(), st.integers(0, 99))
def test_a_tie_is_what_is_not_visible(k, n, weighted, quantity, seed):
    rng = np.random.default_rng(seed)
    errors = 0.1 + 0.3 * rng.random(k)
    losses = np.array([equal_models(rng, 1, n, error)[0] for error in errors])
    if quantity:
        losses = rng.standard_t(2, size=(k, n)) ** 2 * errors[:, None]
    weight = rng.exponential(size=n) if weighted else None
    differences = compared(losses, weight)
    mean = np.average(losses, axis=1, weights=weight)
    assert differences.best == np.argmin(mean)
    assert not differences.worse[differences.best]
    assert np.array_equal(differences.worse, (mean - mean.min()) > np.maximum(differences.visible, 1e-12))
    again = compared(losses, None if weight is None else 1e-300 * weight)
    assert np.array_equal(again.worse, differences.worse)


def test_one_model_and_one_fold():
    assert compared(np.ones((1, 30))).worse.tolist() == [False]
    losses = np.array([np.zeros(200), np.r_[np.ones(60), np.zeros(140)]])
    assert compared(losses, fold=np.full(200, 3)).worse[1]


# ---------------------------------------------------------------- candidates to drop


def chooser_of(distances: list[float], algorithm: np.ndarray, n: int = 200, seed: int = 0) -> Chooser:
    """Candidates that predict a number with errors of these sizes, after a baseline."""
    rng = np.random.default_rng(seed)
    target = rng.standard_normal(n)
    near = target + np.array(distances)[:, None] * rng.standard_normal((len(distances), n))
    scores = np.vstack([np.full((1, n), np.median(target)), near])[:, :, None]
    table = OutOfFold(scores, target, 0, np.arange(n) % 5, 0, np.arange(len(scores)) > 0)
    return Chooser(table, np.append(-1, algorithm), METRICS["mae"])


def test_bad_candidates_are_dropped_but_not_possible_members():
    chooser = chooser_of([0.1, 0.3, 0.5, 0.2, 0.2, 0.6, 0.4, 0.4, 0.4], np.repeat([0, 1, 2], 3))
    assert droppable(chooser, 0).tolist() == [False, False] + [True] * 8
    assert droppable(chooser, 2).tolist() == [False] * 2 + [True] * 2 + [False] * 2 + [True] * 4
    assert droppable(chooser, 3).tolist() == [False] * 2 + [True] * 2 + [False] * 2 + [True] + [False] * 3
    assert np.array_equal(droppable(chooser, 2), droppable(chooser, 2))


def test_equal_candidates_are_seldom_dropped():
    dropped = [droppable(chooser_of([1.0] * 20, np.zeros(20), 60, seed), 1) for seed in range(20)]
    assert np.mean(dropped) < 0.2  # they are compared with the one that looks best


# ---------------------------------------------------------------- the studies


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "text"),
    [("verdicts", "## Assumptions"), pytest.param("choice", "## Power of the sentence", marks=pytest.mark.slow)],
)
def test_the_study_runs_without_data(name, text, tmp_path):
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(root / "benchmarks" / f"{name}.py"), "--quick", "--out", str(tmp_path / "page.md")],
        env={**os.environ, "PYTHONPATH": str(root), "ELECTORATE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert text in (tmp_path / "page.md").read_text()
