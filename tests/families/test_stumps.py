"""The search over stumps against brute force: every threshold, missing side, set of categories and pair of labels.

Weights are whole numbers, so that "right on the most weight" is compared exactly and ties are real ties.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_stump import of_voter

from electorate import AdaBoostClassifier, Stumps
from electorate.algorithms.adaboost import AdaBoost
from electorate.data.bins import find_bins
from electorate.data.table import read_table
from electorate.data.weights import read_weights
from electorate.engines.memory import Threads
from electorate.engines.shard import Examples
from electorate.families.trees import Search
from electorate.threads import ThreadPool

properties = settings(max_examples=25, derandomize=True, deadline=None)
seeds = st.integers(0, 2**32 - 1)
MANY = 12  # draws per example: a draw takes about a millisecond


def search(X, y, w, labels, categorical=(), max_bins=255):
    """The best stump for these weights, the bins, and the total weight on the grid."""
    table, weights, pool = read_table(X), read_weights(np.asarray(w, dtype=float)), ThreadPool(1)
    bins = find_bins(table, weights.whole, categorical, max_bins, pool)
    engine = Threads(Examples(table, y, labels, weights), bins, pool, 1)
    booster = AdaBoost(labels)
    engine.start(booster)
    sums = engine.advance(booster, None)
    voter = Stumps().best(Search(sums, bins, engine.counts().sum(axis=0), engine))
    return of_voter(voter, bins.width), bins, sums.total


# ---------------------------------------------------------------- brute force


def ordered_tests(x):
    """cut, missing on the left, rows on the left: in the order in which ties are broken."""
    values = np.unique(x[~np.isnan(x)])
    absent = np.isnan(x)
    for cut, value in enumerate(values):
        last = cut == len(values) - 1
        if not last:
            yield cut, True, (x <= value) | absent
        if not last or absent.any():
            yield cut, False, x <= value


def category_tests(x):
    """Rows on the left, for all sets of levels, missing among them."""
    groups = [x == level for level in np.unique(x[~np.isnan(x)])] + [np.isnan(x)]
    for chosen in product([False, True], repeat=len(groups)):
        yield np.any([group & keep for group, keep in zip(groups, chosen, strict=True)], axis=0)


def label_weights(rows, y, w, labels):
    return np.bincount(y[rows], weights=w[rows], minlength=labels).astype(int)


def most_right(X, y, w, labels, categorical):
    """The largest weight that a stump can be right on: all tests, all pairs of labels, the constants."""
    everywhere = np.ones(len(y), dtype=bool)
    best = max(label_weights(everywhere, y, w, labels))
    for j, x in enumerate(X.T):
        lefts = category_tests(x) if j in categorical else (left for _, _, left in ordered_tests(x))
        for left in lefts:
            on_left, on_right = label_weights(left, y, w, labels), label_weights(~left, y, w, labels)
            best = max(best, *(a + b for a, b in product(on_left, on_right)))
    return best


def first_ordered(X, y, w, labels, categorical):
    """Weight, column, cut and missing side of the first best test of an order whose sides disagree."""
    best = (-1, None, None, None)
    for j, x in enumerate(X.T):
        for cut, missing_left, left in () if j in categorical else ordered_tests(x):
            on_left, on_right = label_weights(left, y, w, labels), label_weights(~left, y, w, labels)
            right = on_left.max() + on_right.max()
            if on_left.argmax() != on_right.argmax() and right > best[0]:
                best = (right, j, cut, missing_left)
    return best


def goes_left(stump, bins, x, categorical):
    """Rows on the left of a stump, from its bins: the place of a value among the sorted ones of its column."""
    values = np.unique(x[~np.isnan(x)])
    codes = np.where(np.isnan(x), bins.missing, np.searchsorted(values, x))
    return stump.on_left[codes]


def draw(rng, labels, with_missing=True):
    """A few rows of few values; at least one value in every column."""
    rows, columns = rng.integers(2, 13), rng.integers(1, 4)
    X = rng.integers(0, rng.integers(2, 6), size=(rows, columns)).astype(float)
    if with_missing:
        X[rng.random(X.shape) < rng.choice([0.0, 0.3])] = np.nan
        X[0] = 1.0
    categorical = [j for j in range(columns) if rng.random() < 0.5]
    return X, rng.integers(0, labels, rows), rng.integers(1, 5, rows), categorical


@given(seed=seeds, labels=st.sampled_from([2, 3, 4]))
@properties
def test_best_is_the_best(seed, labels):
    """And it is right on the weight it says."""
    rng = np.random.default_rng(seed)
    for _ in range(MANY):
        X, y, w, categorical = draw(rng, labels)
        stump, bins, total = search(X, y, w, labels, categorical)
        assert Fraction(stump.right, total) == Fraction(int(most_right(X, y, w, labels, categorical)), int(w.sum()))
        x = X[:, max(stump.column, 0)]
        votes = np.where(goes_left(stump, bins, x, categorical), *stump.labels)
        assert Fraction(stump.right, total) == Fraction(int(w[votes == y].sum()), int(w.sum()))


@given(seed=seeds, labels=st.sampled_from([2, 3, 4]))
@properties
def test_ties_go_to_the_first_column_the_first_cut_and_missing_left(seed, labels):
    """The constant voter comes before all tests, and ordered columns come before categories."""
    rng = np.random.default_rng(seed)
    for _ in range(MANY):
        X, y, w, categorical = draw(rng, labels)
        stump, bins, _ = search(X, y, w, labels, categorical)
        right, column, cut, missing_left = first_ordered(X, y, w, labels, categorical)
        if max(np.bincount(y, weights=w)) == most_right(X, y, w, labels, categorical):
            assert stump.column == -1
            continue
        if right < most_right(X, y, w, labels, categorical):
            assert stump.column in categorical
            continue
        assert (stump.column, stump.cut) == (column, cut)
        if np.isnan(X[:, column]).any():
            assert stump.on_left[bins.missing] == missing_left


# ---------------------------------------------------------------- ties, one by one


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_tie_of_columns():
    X = np.hstack([column(3, 3, 3, 3), column(0, 0, 1, 1), column(1, 1, 0, 0)])
    assert search(X, np.array([0, 0, 1, 1]), np.ones(4), 2)[0].column == 1


def test_tie_of_cuts():
    stump, _, _ = search(column(0, 1, 2, 3), np.array([0, 1, 0, 1]), np.ones(4), 2)
    assert (stump.cut, stump.labels) == (0, (0, 1))


def test_tie_of_missing_sides():
    stump, bins, _ = search(column(0, 1, np.nan, np.nan), np.array([0, 1, 0, 1]), np.ones(4), 2)
    assert stump.cut == 0
    assert stump.on_left[bins.missing]


def test_tie_of_an_ordered_column_and_a_category():
    """The ordered one wins though it comes second."""
    X = np.hstack([column(0, 0, 1, 1), column(0, 0, 1, 1)])
    assert search(X, np.array([0, 0, 1, 1]), np.ones(4), 2, categorical=[0])[0].column == 1


def test_tie_of_categories():
    """Columns in order, then pairs of labels; equal weights go right."""
    X = np.hstack([column(0, 1, 2, 2), column(0, 1, 2, 2)])
    stump, _, _ = search(X, np.array([0, 1, 0, 1]), np.ones(4), 2, categorical=[0, 1])
    assert (stump.column, stump.labels, stump.on_left[:3].tolist()) == (0, (0, 1), [True, False, False])


def test_tie_of_a_test_and_the_constant():
    """A test must do better than the constant voter, whichever label that is for."""
    for categorical in ([], [0]):
        for y in ([0, 1, 1, 1], [1, 0, 0, 0]):
            stump, _, _ = search(column(0, 0, 1, 1), np.array(y), np.ones(4), 2, categorical)
            assert (stump.column, stump.labels) == (-1, (y[-1], y[-1]))
            stump, _, _ = search(column(0, 0, 1, 1), np.array(y), np.array([2, 1, 1, 1]), 2, categorical)
            assert stump.column == 0


def test_threshold_is_between_neighbours():
    _, bins, _ = search(column(0, 1, 5), np.array([0, 1, 1]), np.ones(3), 2)
    assert bins.threshold(0, 0) == 0.5
    assert bins.threshold(0, 1) == 3.0
    assert bins.threshold(0, 2) == np.inf


# ---------------------------------------------------------------- missing and unseen at predict


@pytest.mark.parametrize(("weight", "side"), [([1, 1, 1], "b"), ([5, 1, 1], "a"), ([2, 1, 1], "a"), ([1.9, 1, 1], "b")])
def test_missing_only_at_predict_goes_to_the_heavier_side(weight, side):
    """By the sample weights of training, not by those of the round; of equals, the left."""
    model = AdaBoostClassifier(n_estimators=1).fit(column(0, 1, 2), ["a", "b", "b"], sample_weight=weight)
    assert model.predict([[np.nan]]) == [side]


@pytest.mark.parametrize(("weight", "side"), [([1, 1, 1], "b"), ([5, 1, 1], "a"), ([2, 1, 1], "a"), ([1.9, 1, 1], "b")])
def test_unseen_category_goes_to_the_heavier_side(weight, side):
    frame = pd.DataFrame({"level": ["u", "v", "w"]})
    model = AdaBoostClassifier(n_estimators=1).fit(frame, ["a", "b", "b"], sample_weight=weight)
    assert model.predict(pd.DataFrame({"level": ["never seen"]})) == [side]
    assert model.predict(pd.DataFrame({"level": [None]})) == [side]


def test_heavier_side_in_later_rounds():
    """The second voter's sides are compared by sample weights too, though the round's weights say otherwise."""
    X = np.array([[0, 0], [0, 0], [0, 0], [0, 1], [1, 1]], dtype=float)
    model = AdaBoostClassifier(n_estimators=2).fit(X, [0, 0, 0, 1, 1], sample_weight=[3, 3, 3, 1, 1.5])
    for voter in model.estimators_:
        text = voter.to_text()
        if text.startswith("if x"):
            assert "is missing" in text
            assert voter.predict([[np.nan, np.nan]]) == [0]


@given(seed=seeds)
@properties
def test_learned_side_of_missing_values_and_of_unseen_categories(seed):
    """Where training had missing values, those at predict, and unseen levels, go where the fit put them."""
    rng = np.random.default_rng(seed)
    levels = rng.choice(np.array(["u", "v", "w", None], dtype=object), 30)
    levels[0] = None
    frame = pd.DataFrame({"level": levels, "number": rng.integers(0, 5, 30)})
    y = rng.permutation(np.arange(30) % 3)
    model = AdaBoostClassifier(n_estimators=6).fit(frame, y)
    absent, unseen = frame.iloc[:1], frame.iloc[:1].assign(level="never seen")
    np.testing.assert_array_equal(model.decision_function(absent), model.decision_function(unseen))


# ---------------------------------------------------------------- more than bits of a byte


def test_more_values_than_bins():
    """The search is then over the bins: as good as brute force over the edges that were cut."""
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(500, 2)), rng.integers(0, 3, 500), rng.integers(1, 5, 500)
    stump, bins, total = search(X, y, w, 3, max_bins=16)
    best = 0
    for x, edges in zip(X.T, bins.edges, strict=True):
        assert len(edges) == 15
        for edge in edges:
            best = max(best, label_weights(x <= edge, y, w, 3).max() + label_weights(x > edge, y, w, 3).max())
    assert Fraction(stump.right, total) == Fraction(int(best), int(w.sum()))


def test_exact_mode_searches_every_value():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(700, 2)), rng.integers(0, 2, 700), rng.integers(1, 5, 700)
    X[rng.random(X.shape) < 0.1] = np.nan
    stump, _, total = search(X, y, w, 2, max_bins="exact")
    assert Fraction(stump.right, total) == Fraction(int(most_right(X, y, w, 2, [])), int(w.sum()))
