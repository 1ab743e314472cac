"""The splits of the rows: test rows, screenings, folds; by class, in whole groups, by time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.comparison import folds
from electorate.comparison.rows import Rows
from tests.comparison.small_comparisons import bare_rows


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=5, max_size=200), st.integers(2, 5), st.integers(0, 9))
def test_every_class_is_dealt_evenly(labels, n_parts, seed):
    target = np.array(labels)
    part = folds.deal(target, n_parts, np.random.default_rng(seed))
    for rows in [np.ones(len(target), bool), *(target == label for label in set(labels))]:
        sizes = np.bincount(part[rows], minlength=n_parts)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    ("n_rows", "held"), [(20, 0), (1_999, 0), (2_000, 400), (30_000, 6_000), (50_000, 10_000), (200_000, 10_000)]
)
def test_a_fifth_of_the_rows_is_held_out_of_large_tables(n_rows, held):
    rows = bare_rows(np.arange(n_rows) % 2)
    opened, test = folds.hold_out(rows, None, 0)
    assert len(test) == held
    assert np.array_equal(np.sort(np.concatenate([opened, test])), np.arange(n_rows))


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 400), st.sampled_from([0.0, 0.1, 0.2, 0.5]), st.integers(0, 9))
def test_a_share_may_be_named(n_rows, share, seed):
    rows = bare_rows(np.arange(n_rows) % 3)
    opened, test = folds.hold_out(rows, share, seed)
    assert len(test) == (max(1, round(share * n_rows)) if share else 0)
    assert len(opened) + len(test) == n_rows
    assert np.array_equal(folds.hold_out(rows, share, seed)[1], test)


def test_test_rows_are_drawn_without_a_look_at_their_classes():
    """The number of rows of a class that are held out is hypergeometric: it varies, and labels do not matter."""
    target = np.arange(2_000) % 4 == 0
    counts = [target[folds.hold_out(bare_rows(target.astype(int)), None, seed)[1]].sum() for seed in range(200)]
    variance = 400 * 0.25 * 0.75 * (1 - 400 / 2_000)
    assert np.mean(counts) == pytest.approx(100, abs=4 * np.sqrt(variance / 200))
    assert 0.6 * variance < np.var(counts) < 1.5 * variance
    other = folds.hold_out(bare_rows(np.zeros(2_000, dtype=int)), None, 7)[1]
    assert np.array_equal(other, folds.hold_out(bare_rows(target.astype(int)), None, 7)[1])


@pytest.mark.parametrize("n_rows", [300, 4_000, 30_000])
def test_rows_for_screening_are_never_tested(n_rows):
    splits = folds.split(bare_rows(np.arange(n_rows) % 2), 5, 2, 0)
    screened = {300: 0, 4_000: 1, 30_000: 2}[n_rows]
    assert len(splits.levels) == screened + 1
    tested = np.concatenate([test for _, test in splits.levels[-1]])
    assert len(np.unique(tested)) == len(tested)
    for level in splits.levels[:-1]:
        ((learn, validate),) = level
        assert not set(learn) & set(validate)
        assert not set(validate) & set(tested)
        assert all(set(validate) <= set(fold) for fold, _ in splits.levels[-1])
        assert len(learn) < len(splits.levels[-1][0][0])
    for learn, test in splits.levels[-1]:
        assert not set(learn) & set(test)


def test_many_rows_have_one_split():
    ((learn, test),) = folds.split(bare_rows(np.arange(70_000) % 2), 5, 2, 0).levels[-1]
    assert 10_000 < len(test) <= 20_000
    assert len(learn) + len(test) == 70_000
    assert len(folds.split(bare_rows(np.arange(70_000) % 7), 5, 7, 0).levels[-1]) == 1
    assert len(folds.split(bare_rows(np.arange(20_000) % 2), 5, 2, 0).levels[-1]) == 5


@pytest.mark.parametrize("n_rows", [300, 4_000])
def test_equal_rows_stay_together_where_they_are_few(n_rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 2)), rng.integers(0, 2, n_rows)
    copies = rng.permutation(n_rows)[: n_rows // 20]
    X[copies[1:]], y[copies[1:]] = X[copies[0]], y[copies[0]]
    copied = np.zeros(n_rows, dtype=bool)
    copied[copies] = True
    splits = folds.split(Rows(X, y, [], 0), 5, 2, 0)
    for _, (_, test) in splits.places:
        assert set(test) >= set(copies) or not set(test) & set(copies)
    plain = folds.split(bare_rows(y), 5, 2, 0).levels[-1]  # a table of few distinct rows
    assert np.ptp([len(test) for _, test in plain]) <= 1
    if n_rows == 300:  # no screening: other rows are where they are without copies
        for (_, test), (_, other) in zip(splits.levels[-1], plain, strict=True):
            assert np.array_equal(test[~copied[test]], other[~copied[other]])


@pytest.mark.parametrize("n_rows", [1_000, 4_000])
def test_groups_are_never_divided(n_rows):
    group = np.random.default_rng(0).integers(0, 40, n_rows)
    rows = bare_rows(np.arange(n_rows) % 2, group=group)
    opened, held = folds.hold_out(rows, 0.2, 0)
    assert not set(group[opened]) & set(group[held])
    assert 0.1 < len(held) / n_rows < 0.3
    training = rows.take(opened)
    for _, (learn, test) in folds.split(training, 4, 2, 0).places:
        assert len(test)
        assert not set(training.group[learn]) & set(training.group[test])


@pytest.mark.parametrize("n_groups", range(2, 7))
@pytest.mark.parametrize("n_folds", range(2, 6))
@pytest.mark.parametrize("n_rows", [100, 4_000])
def test_few_groups_have_fewer_folds(n_groups, n_folds, n_rows):
    rows = bare_rows(np.arange(n_rows) % 2, group=np.arange(n_rows) // 7 % n_groups)
    opened, _ = folds.hold_out(rows, None, 0)
    training = rows.take(opened)
    splits = folds.split(training, n_folds, 2, 0)
    assert len(splits.levels[-1]) in (min(n_folds, n_groups), min(n_folds, n_groups) - 1)
    for _, (learn, test) in splits.places:
        assert len(learn)
        assert len(test)


def test_one_group_cannot_be_split():
    with pytest.raises(ValueError, match="all rows are of one group"):
        folds.split(bare_rows(np.arange(50) % 2, group=np.zeros(50, dtype=int)), 5, 2, 0)


@pytest.mark.parametrize("n_rows", [1_000, 4_000])
def test_models_are_tested_on_later_rows(n_rows):
    time = np.random.default_rng(0).integers(0, 300, n_rows).astype(float)
    rows = bare_rows(np.arange(n_rows) % 2, time=time)
    opened, held = folds.hold_out(rows, 0.2, 0)
    assert time[opened].max() < time[held].min()
    training = rows.take(opened)
    splits = folds.split(training, 4, 2, 0)
    assert len(splits.levels) == (2 if n_rows > 3_000 else 1)
    for _, (learn, test) in splits.places:
        assert training.time[learn].max() < training.time[test].min()
    tested = np.concatenate([test for _, (_, test) in splits.places])
    assert len(np.unique(tested)) == len(tested)


def test_few_times_have_fewer_folds():
    splits = folds.split(bare_rows(np.arange(60) % 2, time=np.arange(60) // 20.0), 5, 2, 0)
    assert 1 <= len(splits.levels[-1]) < 5
    with pytest.raises(ValueError, match="one value only"):
        folds.split(bare_rows(np.arange(60) % 2, time=np.zeros(60)), 5, 2, 0)
