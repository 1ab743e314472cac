"""Paired stumps, pools, rules and unions against brute force over rows: categories, missing values, ties, 2, 3 labels.

Weights are whole numbers, so weights are compared exactly; Matsushita's error to rounding.
"""

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_stumps import category_tests, draw, label_weights, most_right, ordered_tests

from electorate import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    LocMedBoostRegressor,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    QuadBoostRegressor,
    RegressionTrees,
    Rules,
    Stumps,
    Trees,
    Union,
)
from electorate.algorithms.adaboost import AdaBoost
from electorate.data.bins import find_bins
from electorate.data.table import read_table
from electorate.data.weights import read_weights
from electorate.engines.memory import Threads
from electorate.engines.shard import Examples
from electorate.families.trees import Search
from electorate.families.union import right_weight
from electorate.threads import ThreadPool

properties = settings(max_examples=40, derandomize=True, deadline=None)
seeds = st.integers(0, 2**32 - 1)
MANY = 6


class Found:
    """What a family finds, with the rows each leaf gets by following the questions from value to value."""

    def __init__(self, family, X, y, w, labels, categorical=(), max_bins=255, n_shards=2):
        table, weights, pool = read_table(X), read_weights(np.asarray(w, dtype=float)), ThreadPool(1)
        self.bins = find_bins(table, weights.whole, categorical, max_bins, pool)
        engine = Threads(Examples(table, y, labels, weights), self.bins, pool, n_shards)
        booster = AdaBoost(labels)
        engine.start(booster)
        sums = engine.advance(booster, None)
        self.unit = sums.total // int(np.sum(w))
        self.voter = family.best(Search(sums, self.bins, engine.counts().sum(axis=0), engine))
        self.outputs = family.outputs(self.voter, int(np.sum(w)), "label")
        self.right = right_weight(family, self.voter)
        self.at = {0: np.ones(len(y), dtype=bool)}
        for split in self.voter.splits:
            left = self.goes_left(split, X[:, split.column])
            self.at[split.left] = self.at[split.node] & left
            self.at[split.right] = self.at[split.node] & ~left
        self.weights = np.array([label_weights(self.at[leaf], y, w, labels) for leaf in self.voter.leaves])

    def goes_left(self, split, x):
        known = self.bins.categories.get(split.column)
        places = np.searchsorted(self.bins.edges[split.column] if known is None else known.levels, x)
        codes = np.where(np.isnan(x), self.bins.missing, places)
        return split.on_left[codes]

    def check_sums(self):
        """The weights that the family claims for its leaves are those of the rows in them."""
        np.testing.assert_array_equal(self.voter.sums, self.weights * self.unit)


def every_test(X, categorical, single=False):
    """(column, rows on the left) of every test; categories one by one, or in all sets."""
    for j, x in enumerate(X.T):
        if j not in categorical:
            yield from ((j, left) for _, _, left in ordered_tests(x))
        elif single:
            levels = [x == level for level in np.unique(x[~np.isnan(x)])]
            yield from ((j, left) for left in levels + ([np.isnan(x)] if np.isnan(x).any() else []))
        else:
            yield from ((j, left) for left in category_tests(x))


def right_of_four(first, second, y, w, labels):
    cells = [a & b for a, b in product([first, ~first], [second, ~second])]
    return sum(label_weights(cell, y, w, labels).max() for cell in cells)


# ---------------------------------------------------------------- paired stumps


@pytest.mark.parametrize("labels", [2, 3])
@properties
@given(seed=seeds)
def test_exhaustive_pairs_are_the_best_of_all(labels, seed):
    rng = np.random.default_rng(seed)
    for _ in range(2):
        X, y, w, categorical = draw(rng, labels)
        found = Found(PairedStumps("exhaustive"), X, y, w, labels, categorical)
        found.check_sums()
        tests = list(every_test(X, categorical))
        pairs = [right_of_four(a, b, y, w, labels) for i, a in tests for j, b in tests if i < j]
        assert found.right == found.unit * max([most_right(X, y, w, labels, categorical), *pairs])


@pytest.mark.parametrize("labels", [2, 3])
@properties
@given(seed=seeds)
def test_greedy_pairs_are_the_papers(labels, seed):
    """The best stump, then the best question that both its sides can ask."""
    rng = np.random.default_rng(seed)
    for _ in range(MANY):
        X, y, w, categorical = draw(rng, labels)
        found = Found(PairedStumps(), X, y, w, labels, categorical)
        found.check_sums()
        stump = Found(Stumps(), X, y, w, labels, categorical)
        alone = stump.right
        assert len(found.voter.splits) in ((0,) if not stump.voter.splits else (1, 3))
        if not stump.voter.splits:
            continue
        first = stump.voter.splits[0]
        assert found.voter.splits[0].same_as(first)
        rows = stump.at[first.left]
        others = [t for j, t in every_test(X, categorical) if j != first.column]
        best = max([found.unit * right_of_four(rows, t, y, w, labels) for t in others], default=alone)
        assert found.right == max(best, alone)
        assert len(found.voter.splits) == (3 if best > alone else 1)


def test_both_nodes_ask_the_same():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.3)).astype(int)
    found = Found(PairedStumps("exhaustive"), X, y, np.ones(60, dtype=int), 2)
    top, left, right = found.voter.splits
    assert {top.column, left.column} == {0, 1}
    assert (left.column, left.cut) == (right.column, right.cut)
    assert np.array_equal(left.on_left, right.on_left)
    assert found.right == 60 * found.unit  # exclusive or, which no stump and no greedy pair sees


def test_many_labels_ask_about_one_category():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(0, 5, 200), rng.integers(0, 4, 200)]).astype(float)
    y = rng.integers(0, 8, 200)
    found = Found(PairedStumps(), X, y, np.ones(200, dtype=int), 8, [0, 1])
    found.check_sums()
    assert len(found.voter.splits) == 3
    assert found.voter.splits[1].on_left[:5].sum() == 1


# ---------------------------------------------------------------- pools


def pool_tests(X, w, categorical):
    """Rows on the left: every threshold with missing values on its heavier side, every category, missing or not."""
    for j, x in enumerate(X.T):
        absent = np.isnan(x)
        if j in categorical:
            yield from (left for _, left in every_test(X[:, [j]], [0], single=True))
            continue
        for value in np.unique(x[~absent])[:-1]:
            left = x <= value
            yield left | absent if w[left].sum() >= w[~left & ~absent].sum() else left
        if absent.any():
            yield ~absent


@pytest.mark.parametrize("complements", [True, False])
@pytest.mark.parametrize("labels", [2, 3])
@properties
@given(seed=seeds)
def test_pools_are_searched_exhaustively(labels, complements, seed):
    rng = np.random.default_rng(seed)
    for _ in range(MANY):
        X, y, w, categorical = draw(rng, labels)
        found = Found(Pool(complements=complements), X, y, w, labels, categorical)
        found.check_sums()
        pairs = [(a, b) for a, b in product(range(labels), repeat=2) if a < b or (complements and a > b)]
        best = [
            label_weights(left, y, w, labels)[a] + label_weights(~left, y, w, labels)[b]
            for left in pool_tests(X, w, categorical)
            for a, b in pairs
        ]
        if best and np.any([len(np.unique(x[~np.isnan(x)])) > 1 or np.isnan(x).any() for x in X.T]):
            assert found.right == found.unit * max(best)


def test_a_pool_parts_columns_evenly_and_holds_no_more_than_asked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    used = set()
    for _ in range(200):
        found = Found(Pool(4), X, rng.integers(0, 2, 1000), np.ones(1000, dtype=int), 2)
        (split,) = found.voter.splits
        used.add(float(found.bins.edges[0][split.cut]))
        assert set(found.outputs[:, 0]) == {-1.0, 1.0}
    assert len(used) <= 4
    share = np.searchsorted(np.sort(X[:, 0]), sorted(used)) / 1000
    np.testing.assert_allclose(share, [0.2, 0.4, 0.6, 0.8], atol=0.01)


# ---------------------------------------------------------------- rules


def matsushita(fires, y, w, labels):
    """The error over the rows that fire and over the others: 2 sqrt(w+ w-) of each for two labels."""
    error = 0.0
    for rows in (fires, ~fires):
        weight = label_weights(rows, y, w, labels).astype(float)
        error += np.sqrt(weight * (weight.sum() - weight)).sum()
    return error


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("max_terms", [1, 2, 4])
@properties
@given(seed=seeds)
def test_rules_are_grown_greedily(max_terms, labels, seed):
    """Each test is one of the best that could be added; the second continues the better side of the first."""
    rng = np.random.default_rng(seed)
    for _ in range(MANY):
        X, y, w, categorical = draw(rng, labels)
        found = Found(Rules(max_terms), X, y, w, labels, categorical)
        found.check_sums()
        terms = [rows for _, left in every_test(X, categorical, single=True) for rows in (left, ~left)]

        check_steps(found, terms, (y, w, labels), max_terms)


def check_steps(found, terms, data, max_terms):
    """Step by step: the least error that one more term can give, against what the rule has."""
    splits = found.voter.splits
    inside = [np.ones(len(data[0]), dtype=bool)]
    for number in range(max_terms):
        now = min(matsushita(rows, *data) for rows in inside)
        least = min((matsushita(rows & term, *data) for rows in inside for term in terms), default=np.inf)
        if number >= len(splits):
            assert least >= now - 1e-9
            return
        if least >= now - 1e-9:  # no term lowers the error: the search looks one level ahead
            return
        split = splits[number]
        got = [matsushita(found.at[side], *data) for side in (split.left, split.right)]
        assert min(got) == pytest.approx(least, abs=1e-9)
        inside = [found.at[split.left], found.at[split.right]]
        if number > 0:  # only the side that fires goes on
            fires = found.voter.leaves[0] if number == len(splits) - 1 else splits[number + 1].node
            inside = [found.at[fires]]


def test_a_rule_says_one_thing_inside_and_one_outside():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0) & (X[:, 2] > 0)).astype(int)
    family = Rules(3)
    found = Found(family, X, y, np.ones(300, dtype=int), 2)
    assert len(found.voter.splits) == 3
    assert sorted(q.column for q in found.voter.splits) == [0, 1, 2]
    np.testing.assert_array_equal(found.at[found.voter.leaves[0]], y == 1)
    for kind in ("label", "log_odds", "gentle"):
        said = Rules(3, leaves=kind).outputs(found.voter, 300, "label")
        assert said[0, 0] > 0
        assert np.all(said[1:] == said[1])
    inside, outside = found.weights[0], found.weights[1:].sum(axis=0)
    expected = 0.5 * np.log([(s[1] / 300 + 1 / 300) / (s[0] / 300 + 1 / 300) for s in (inside, outside)])
    said = family.outputs(found.voter, 300, "log_odds")
    np.testing.assert_allclose(said[[0, 1], 0], expected, rtol=1e-12)


# ---------------------------------------------------------------- unions


@properties
@given(seed=seeds)
def test_a_union_takes_the_best_of_all_families(seed):
    """Whichever was searched last: what an engine tried is not what it applies."""
    rng = np.random.default_rng(seed)
    families = [Stumps(), PairedStumps(), Rules(3), Pool(), Trees(2, criterion="edge")]
    for order in (families, families[::-1]):
        X, y, w, categorical = draw(rng, 2)
        each = [Found(family, X, y, w, 2, categorical).right for family in order]
        found = Found(Union(order), X, y, w, 2, categorical)
        found.check_sums()
        assert found.right == max(each)
        assert found.voter.member == int(np.argmax(each))


def peak_of_fit(family, X, y):
    AdaBoostClassifier(family, n_estimators=1, n_jobs=1).fit(X[:, :8], y)  # compiles the kernels
    tracemalloc.start()
    try:
        AdaBoostClassifier(family, n_estimators=2, n_jobs=1).fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_pairs_over_many_columns_take_little_more_memory_than_stumps():
    """One histogram more, of the left side of the first question."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1000))
    y = (X[:, 5] + X[:, 77] * X[:, 99] > 0).astype(int)
    assert peak_of_fit(PairedStumps(), X, y) < 1.3 * peak_of_fit(Stumps(), X, y)


@pytest.mark.parametrize(
    "estimator",
    [MedBoostRegressor, LocMedBoostRegressor, AdaBoostRegressor, QuadBoostRegressor],
    ids=lambda e: e.__name__,
)
@pytest.mark.parametrize("option", [{"max_depth": 1.0}, {"criterion": ""}, {"min_samples_leaf": 0.5}])
def test_options_of_regression_trees_are_checked(estimator: Any, option: dict[str, Any]) -> None:
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match=f"'{next(iter(option))}' parameter of RegressionTrees"):
        estimator(RegressionTrees(**option), n_estimators=2).fit(X, X[:, 0])
