"""Complexities: formulas by hand, counts by enumeration, Monte Carlo under the bounds, Lemma 1 of QuadBoost."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from electorate import Columns, KernelSections, PairedStumps, Pool, Rules, Stumps, Trees, Union
from electorate.inspection import complexity_of, empirical_rademacher
from electorate.theory import complexity
from electorate.theory.complexity import Shape


def mixed(rows=60, seed=0):
    """Numbers, numbers with missing values, and categories with missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.integers(0, 6, rows).astype(float)})
    frame.loc[rng.random(rows) < 0.2, "b"] = np.nan
    frame["c"] = pd.Categorical(rng.choice(list("uvwx"), rows))
    frame.loc[rng.random(rows) < 0.1, "c"] = np.nan
    return frame


# ---------------------------------------------------------------- formulas


def test_the_papers_formulas():
    assert complexity.published_stumps(100, 7) == pytest.approx((2 * np.log(1400) / 100) ** 0.5)
    assert complexity.published_paired_stumps(100, 7) == pytest.approx((2 * np.log(2e4 * 42) / 100) ** 0.5)
    assert complexity.published_trees(100, 7, 5) == pytest.approx((22 * np.log2(9) * np.log(101) / 100) ** 0.5)
    assert complexity.published_depth(100, 7, 2) == pytest.approx((2 * 5 * np.log2(8) * np.log(101) / 100) ** 0.5)
    assert complexity.published_kernel(100, 100.0) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="two columns"):
        complexity.published_paired_stumps(100, 1)


def test_published_paired_stumps_come_from_the_growth_function():
    """(2m)^2 d (d - 1) / 2 labelings, as section 4 counts."""
    m, d = 50, 4
    assert complexity.published_paired_stumps(m, d) == pytest.approx(
        complexity.massart(m, np.log((2 * m) ** 2 * d * (d - 1) / 2))
    )


# ---------------------------------------------------------------- counts


def column_labelings(x, categorical):
    """All ways in which stumps on one column label the rows, as tuples of +-1."""
    absent = np.isnan(x)
    values = np.unique(x[~absent])
    if categorical:
        groups = [x == value for value in values] + ([absent] if absent.any() else [])
        lefts = [
            np.any([g & k for g, k in zip(groups, keep, strict=True)], axis=0)
            for keep in product([0, 1], repeat=len(groups))
        ]
    else:
        prefixes = [np.zeros(len(x), dtype=bool)] + [x <= value for value in values]
        lefts = [left | side for left in prefixes for side in ([absent, False] if absent.any() else [False])]
    return {tuple(sign * np.where(left, 1, -1)) for left in lefts for sign in (1, -1)}


def draw(rng, rows):
    X = rng.normal(size=(rows, 3))
    X[rng.random(rows) < 0.3, 1] = np.nan
    X[0, 1], X[1, 1] = np.nan, 0.5
    X[:, 2] = rng.integers(0, 3, rows)
    return X, Shape(numeric=1, with_missing=1, levels=(len(np.unique(X[:, 2])),))


@pytest.mark.parametrize("rows", [4, 6, 8])
def test_no_family_labels_rows_in_more_ways_than_counted(rows):
    rng = np.random.default_rng(rows)
    for _ in range(5):
        X, shape = draw(rng, rows)
        each = [column_labelings(x, j == 2) for j, x in enumerate(X.T)]
        for labelings, bound in zip(each, (2 * rows, 4 * rows, 2 ** shape.levels[0]), strict=True):
            assert len(labelings) <= bound
        stumps = set().union(*each)
        assert np.log(len(stumps)) <= complexity.log_stumps(rows, shape) + 1e-12
        firsts = [np.array(labels) for labels in stumps]
        rules = {
            tuple(np.where((f > 0) & (g > 0), a, b))
            for f, g in product(firsts, repeat=2)
            for a, b in product((1, -1), repeat=2)
        }
        assert np.log(len(rules)) <= complexity.log_rules(rows, Shape(1, 1, (2 ** shape.levels[0],)), 2) + 1e-12
        pairs = {
            tuple(np.select([(f > 0) & (g > 0), f > 0, g > 0], four[:3], four[3]))
            for i, j in ((0, 1), (0, 2), (1, 2))
            for f, g in product(map(np.array, each[i]), map(np.array, each[j]))
            for four in product((1, -1), repeat=4)
        }
        assert np.log(len(pairs)) <= complexity.log_paired_stumps(rows, shape) + 1e-12
        assert np.log(len(pairs)) <= complexity.log_trees(rows, shape, 3) + 1e-12


def test_equation_7_is_false_with_sets_of_categories():
    """A column of k distinct categories is labelled in all 2^k ways; 2m of them is what eq. 7 counts."""
    x = np.arange(10.0)
    assert len(column_labelings(x, True)) == 2**10 > 2 * 10
    estimate = empirical_rademacher(Stumps(), pd.DataFrame({"c": pd.Categorical(x)}), draws=50)
    assert estimate.value == 1  # any labels at all
    assert complexity.published_stumps(10, 1) < 1
    assert complexity_of(Stumps(), pd.DataFrame({"c": pd.Categorical(x)})).provable > 1


# ---------------------------------------------------------------- Monte Carlo


@pytest.mark.parametrize(
    "family",
    [
        Stumps(),
        PairedStumps(),
        PairedStumps("exhaustive"),
        Pool(3),
        Rules(2),
        Rules(3),
        Trees(2),
        Union([Stumps(), PairedStumps(), Rules(2)]),
    ],
    ids=repr,
)
def test_random_labels_stay_under_the_provable_bound(family):
    X = mixed(40)
    estimate = empirical_rademacher(family, X, draws=10 if family.exhaustive else 40)
    assert 0 < estimate.value <= complexity_of(family, X).provable
    assert estimate.lower <= estimate.value <= estimate.upper
    assert estimate.exact_search == family.exhaustive
    assert ("lower estimate" in str(estimate)) == (not family.exhaustive)


@pytest.mark.parametrize(
    "family", [Columns(), KernelSections(), KernelSections("linear"), KernelSections("polynomial")], ids=repr
)
def test_random_labels_of_families_by_rows(family):
    X = np.random.default_rng(0).normal(size=(60, 4))
    estimate = empirical_rademacher(family, X, draws=60)
    assert estimate.exact_search
    assert 0 < estimate.value <= complexity_of(family, X).provable


def test_a_search_that_leaves_sets_out_is_not_called_exact():
    rng = np.random.default_rng(0)
    many = pd.DataFrame({name: pd.Categorical(rng.integers(0, 12, 40)) for name in "ab"})
    assert not empirical_rademacher(PairedStumps("exhaustive"), many, draws=1).exact_search
    assert empirical_rademacher(PairedStumps("exhaustive"), many.assign(b=1.0), draws=1).exact_search


def test_the_kernel_bound_needs_the_scale():
    """A kernel times 1/100 has the same voters, but sqrt(Tr K) / n is a tenth: the norm of the voters is 1 / B."""
    X = np.random.default_rng(1).normal(size=(50, 2))
    family = KernelSections(gamma=5.0)
    bound = family.complexity(X)
    assert empirical_rademacher(family, X, draws=200).lower > np.sqrt(50 / 100) / 50
    assert bound == pytest.approx(complexity.kernel_sections(50, 50 / 100, 1 / 100))


def test_stumps_agree_with_enumeration():
    """The mean over all 2^n labels, found by enumeration of both, is inside the interval."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(7, 2))
    voters = np.array(sorted(set().union(*(column_labelings(x, False) for x in X.T))))
    exact = np.mean([np.max(voters @ np.array(signs)) / 7 for signs in product((1, -1), repeat=7)])
    estimate = empirical_rademacher(Stumps(), X, draws=400, confidence=0.999)
    assert estimate.lower <= exact <= estimate.upper
    seen = {}

    def agreement(signs):
        seen[tuple(signs)] = np.max(voters @ signs) / 7
        return seen[tuple(signs)]

    same = complexity.monte_carlo(agreement, 7, draws=400, confidence=0.999)
    assert same.value == pytest.approx(estimate.value, abs=1e-12)  # the same signs, the same best voters


def test_intervals_hold():
    """Of 200 intervals at 90% nearly all hold: the inequality is not tight."""
    rng = np.random.default_rng(3)
    voters = np.where(rng.random((6, 20)) < 0.5, -1, 1)
    truth = np.mean([np.abs(voters @ (2 * rng.integers(0, 2, 20) - 1)).max() / 20 for _ in range(20_000)])
    held = 0
    for seed in range(200):
        found = complexity.monte_carlo(
            lambda signs: np.abs(voters @ signs).max() / 20, 20, draws=10, confidence=0.9, seed=seed
        )
        held += found.lower <= truth <= found.upper
    assert held >= 180


# ---------------------------------------------------------------- Lemma 1 of the QuadBoost paper


@pytest.mark.parametrize("p", [1, 2, 4])
def test_lemma_1(p):
    """R_S of sums of n voters with |alpha|_p = 1 is n^(1 - 1/p) R_S, for a symmetric pool, repetition allowed."""
    rng = np.random.default_rng(p)
    half = np.where(rng.random((3, 8)) < 0.5, -1.0, 1.0)
    pool = np.concatenate([half, -half])
    size = 3
    alone, together = [], []
    for signs in product((1.0, -1.0), repeat=8):
        edges = pool @ np.array(signs) / 8
        alone.append(edges.max())
        tuples = np.array(list(product(edges, repeat=size)))
        dual = np.abs(tuples).max(axis=1) if p == 1 else np.linalg.norm(tuples, p / (p - 1), axis=1)
        together.append(dual.max())
    assert np.mean(together) == pytest.approx(size ** (1 - 1 / p) * np.mean(alone), rel=1e-12)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_holders_inequality_is_attained(p):
    """That the dual norm is the largest sum alpha_i v_i with |alpha|_p <= 1, by a solver of another make."""
    v = np.array([0.5, -0.2, 0.9])
    dual = np.abs(v).max() if p == 1 else np.linalg.norm(v, p / (p - 1))
    bound = {"type": "ineq", "fun": lambda alpha: 1 - np.sum(np.abs(alpha) ** p)}
    start = np.sign(v) * np.array([0.1, 0.1, 0.5])
    found = minimize(lambda alpha: -alpha @ v, start, constraints=bound, method="SLSQP")
    assert -found.fun == pytest.approx(dual, rel=1e-4)
