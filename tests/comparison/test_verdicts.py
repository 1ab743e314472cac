"""Which differences `compare` calls real: the critical values, the covariance, false calls, and P(best)."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from electorate.comparison.verdicts import (
    RowLosses,
    Verdicts,
    covariance_of_means,
    covariance_over_rows,
    critical,
    is_better,
    judge,
    training_factor,
)

ROOT = Path(__file__).parents[2]


def judged(losses: np.ndarray, weight: np.ndarray | None = None, n_folds: int = 5) -> tuple[int, Verdicts]:
    """The first and the verdicts, with rows dealt to the folds in turn."""
    rows = RowLosses(losses, np.arange(losses.shape[1]) % n_folds, n_folds, weight)
    first = int(np.argmin(losses @ rows.share))
    return first, judge(rows, first)


def equal_algorithms(rng: np.random.Generator, k: int, n: int, error: float = 0.2) -> np.ndarray:
    """Correlated 0-1 losses."""
    scores = rng.standard_normal(n) + 0.5 * rng.standard_normal((k, n))
    return (scores < stats.norm.ppf(error, scale=np.sqrt(1.25))).astype(float)


# ---------------------------------------------------------------- the parts


@pytest.mark.parametrize(("k", "degrees"), [(2, 1), (2, 4), (3, 2), (5, 15), (11, 40), (14, 120), (14, np.inf)])
def test_critical_values_are_those_of_the_studentized_range(k, degrees):
    assert critical(k, degrees) == pytest.approx(stats.studentized_range.ppf(0.95, k, degrees) / np.sqrt(2), rel=1e-4)
    if k == 2:
        assert critical(k, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-4)


def test_degrees_of_freedom_are_rounded_down():
    assert critical(4, 13.9) == critical(4, 12) > critical(4, 15)
    assert critical(4, 0.2) == critical(4, 1)
    assert critical(4, 5_000) == critical(4, np.inf)


def test_the_training_factor_is_that_of_nadeau_and_bengio():
    """Their variance of a mean over F folds is (1/F + n_test/n_train) times the variance of one fold."""
    for n_folds in (2, 3, 5, 10):
        assert training_factor(n_folds) / n_folds == pytest.approx(1 / n_folds + (1 / n_folds) / (1 - 1 / n_folds))


def test_the_covariance_over_rows_is_the_usual_one():
    losses = np.random.default_rng(0).exponential(size=(3, 400))
    rows = RowLosses(losses, np.zeros(400, dtype=np.int64), 5)
    assert covariance_over_rows(rows) == pytest.approx(np.cov(losses) / 400, rel=0.01)
    weighted = RowLosses(losses, rows.fold, 5, np.full(400, 7.0))
    assert covariance_over_rows(weighted) == pytest.approx(covariance_over_rows(rows))


def test_the_variance_is_at_least_the_corrected_one():
    losses = equal_algorithms(np.random.default_rng(0), 4, 500)
    rows = RowLosses(losses, np.arange(500) % 5, 5)
    assert np.all(np.diag(covariance_of_means(rows)) >= 2.25 * np.diag(covariance_over_rows(rows)))


# ---------------------------------------------------------------- verdicts


def test_identical_algorithms_are_tied_and_equally_likely():
    for value in (0.0, 1.0, 3.7):
        _, found = judged(np.full((4, 60), value))
        assert not found.real.any()
        assert found.chance_of_best == pytest.approx(np.full(4, 0.25))
    one = (np.random.default_rng(0).random(60) < 0.3).astype(float)
    _, found = judged(np.array([one, one, one]))
    assert found.chance_of_best == pytest.approx(np.full(3, 1 / 3))
    assert not found.real.any()


def test_rounding_makes_no_difference():
    losses = np.random.default_rng(0).exponential(size=200)
    _, found = judged(np.array([losses, losses * (1 + 1e-15), losses * (1 - 1e-15)]))
    assert not found.real.any()


def test_a_constant_difference_is_real_on_many_rows_and_a_tie_on_few():
    assert judged(np.array([np.zeros(100), np.ones(100)]))[1].real.tolist() == [False, True]
    assert not judged(np.array([np.zeros(4), np.ones(4)]), n_folds=2)[1].real.any()
    rising = np.linspace(1, 2, 100)
    assert judged(np.array([rising, rising + 0.5]))[1].real.tolist() == [False, True]


def test_few_rows_between_two_algorithms_prove_nothing():
    losses = np.zeros((2, 1000))
    losses[1, :5] = 1  # the exact test of McNemar: p = 0.06
    assert not judged(losses)[1].real.any()
    losses[1, :60] = 1
    assert judged(losses)[1].real.any()


def test_one_heavy_row_proves_nothing():
    rng = np.random.default_rng(0)
    losses = equal_algorithms(rng, 2, 300)
    losses[:, 0] = 0, 1
    weight = np.ones(300)
    for heavy in (1e2, 1e6, 1e300):
        weight[0] = heavy
        assert not judged(losses, weight)[1].real.any()
    huge = np.full(300, 1e308)  # their sum is not a finite number
    assert judged(losses, huge)[1].chance_of_best == pytest.approx(judged(losses)[1].chance_of_best)
    errors = rng.exponential(size=(3, 300))
    errors[2, 7] = 1e9  # an absolute error beyond all others
    assert not judged(errors)[1].real.any()


def test_a_wild_algorithm_does_not_hide_a_difference_between_others():
    rng = np.random.default_rng(0)
    good = rng.exponential(size=500)
    losses = np.array([good, good + 0.5 * rng.random(500), good + 1e6 * rng.exponential(size=500)])
    assert judged(losses)[1].real.tolist() == [False, True, True]


def test_a_bad_algorithm_does_not_make_clones_differ():
    """One bad algorithm widens the spread of all, but carries no information on the good ones."""
    rng = np.random.default_rng(0)
    first, found = judged(np.vstack([equal_algorithms(rng, 5, 800), equal_algorithms(rng, 1, 800, 0.5)]))
    assert found.real.tolist() == [False] * 5 + [True]
    assert found.chance_of_best[first] < 0.5
    assert found.chance_of_best[5] < 0.01


def test_training_that_fails_in_one_fold_proves_nothing():
    losses = equal_algorithms(np.random.default_rng(0), 2, 1000)
    failed = np.arange(1000) % 5 == 2
    losses[0, failed] = np.random.default_rng(1).random(200) < 0.6
    rows = RowLosses(losses, np.arange(1000) % 5, 5)
    scattered = RowLosses(losses, np.arange(1000) // 200, 5)  # the same losses, if folds had nothing to do with it
    assert judge(scattered, 1).real[0]
    assert not judge(rows, 1).real[0]


@pytest.mark.parametrize("k", [2, 5, 11])
def test_equal_algorithms_are_seldom_called_different(k):
    """Training adds as much variance as the rows, in each fold and in all folds together."""
    rng = np.random.default_rng(k)
    called, best = 0, []
    for _ in range(150):
        losses = rng.standard_normal((k, 200))
        fold = np.arange(200) % 5
        losses += (0.14 * rng.standard_normal((k, 5)))[:, fold] + 0.03 * rng.standard_normal((k, 1))
        first, found = judged(losses - losses.min())
        called += bool(found.real.any())
        best.append(found.chance_of_best[first])
    assert called <= 12  # at 5% there are more in 6 of 100 cases; the procedure is below
    assert np.mean(best) < 1 / k + 0.12


def test_the_best_of_equal_algorithms_seldom_beats_the_baseline():
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(150):
        losses = equal_algorithms(rng, 6, 200)
        best = int(np.argmin(losses.mean(axis=1)))
        called += best > 0 and is_better(RowLosses(losses, np.arange(200) % 5, 5), best, 0)
    assert called <= 12


@pytest.mark.parametrize("n_folds", [2, 5])
def test_a_good_model_beats_the_baseline_on_few_rows(n_folds):
    rng = np.random.default_rng(0)
    losses = np.vstack([equal_algorithms(rng, 1, 100, 0.5), equal_algorithms(rng, 2, 100, 0.1)])
    rows = RowLosses(losses, np.arange(100) % n_folds, n_folds)
    assert is_better(rows, 1, 0)
    assert not is_better(rows, 0, 1)
    assert not is_better(rows, 1, 2)


def test_large_differences_are_found():
    rng = np.random.default_rng(0)
    losses = np.vstack([equal_algorithms(rng, 1, 3000, 0.15), equal_algorithms(rng, 4, 3000, 0.25)])
    first, found = judged(losses)
    assert first == 0
    assert found.real.tolist() == [False, True, True, True, True]
    assert found.chance_of_best[0] >= 0.95


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 6),
    st.sampled_from([30, 200, 2000]),
    st.floats(0, 0.3),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_chances_agree_with_the_verdicts(k, n, gap, weighted, quantity, seed):
    rng = np.random.default_rng(seed)
    errors = 0.1 + gap * rng.random(k)
    losses = np.array([equal_algorithms(rng, 1, n, error)[0] for error in errors])
    if quantity:
        losses = rng.standard_t(2, size=(k, n)) ** 2 * errors[:, None]
    first, found = judged(losses, rng.exponential(size=n) if weighted else None)
    assert found.chance_of_best.sum() == pytest.approx(1)
    assert np.all(found.chance_of_best >= 0)
    others = np.arange(k) != first
    assert (found.chance_of_best[first] >= 0.95) == bool(found.real[others].all())
    assert not found.real[first]
    assert np.all(found.chance_of_best[found.real] <= 0.05)


def test_one_algorithm_is_the_best():
    _, found = judged(np.ones((1, 30)))
    assert found.chance_of_best.tolist() == [1.0]


def test_one_fold_of_several_is_judged_by_its_rows():
    losses = np.array([np.zeros(200), np.r_[np.ones(60), np.zeros(140)]])
    assert judge(RowLosses(losses, np.full(200, 3), 5), 0).real[1]


# ---------------------------------------------------------------- the simulation


def test_the_simulation_runs_without_data(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "verdicts.py"), "--quick", "--out", str(tmp_path / "page.md")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "ELECTORATE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.md").read_text()
    assert page.count("| 500 |") >= 7
    assert "## Assumptions" in page
