"""The bound of a routed predictor: exact parts, simultaneous shares, and its coverage where everything is known."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from electorate.theory.binomial import binomial_bound
from electorate.theory.bounds import total
from electorate.theory.cross_fit import (
    OF_FAR,
    OF_SHARES,
    Shares,
    allows,
    begin,
    evidence_against,
    mean_square,
    part_limits,
    routed_bound,
)


def test_the_largest_mean_is_that_of_a_linear_program():
    """Over all shares whose sums over sets of parts are within their limits; never below it."""
    rng, sets = np.random.default_rng(0), [np.array(one) for one in product([0.0, 1.0], repeat=4)][1:-1]
    for _ in range(30):
        values, shares = rng.random(4), Shares(rng.multinomial(80, rng.dirichlet(np.ones(4))).tolist(), 0.01)
        limits = [shares.limit(np.flatnonzero(one).tolist()) for one in sets]
        solved = linprog(-values, A_ub=sets, b_ub=limits, A_eq=np.ones((1, 4)), b_eq=[1], bounds=(0, 1))
        assert -solved.fun - 1e-9 <= shares.largest_mean(values) <= -solved.fun * 1.02


def test_limits_of_shares_are_clopper_and_pearsons():
    """Two parts: an upper limit of each, at half of delta."""
    shares = Shares([30, 70], 0.04)
    assert binom.cdf(30, 100, shares.high[0]) == pytest.approx(0.02)
    assert binom.sf(29, 100, shares.low[0]) == pytest.approx(0.02)
    three = Shares([20, 30, 50], 0.06)  # 6 sets of parts
    assert binom.cdf(50, 100, three.limit([0, 1])) == pytest.approx(0.01)


@pytest.mark.parametrize("rows", [1, 2, 7, 60, 500])
def test_mean_squares_are_sums_over_counts(rows):
    rates = np.array([0.0, 0.003, 0.2, 0.5, 0.97])
    a = np.array([0.0, 0.4, 0.3, 0.6, 1.0]) * rows
    counts = np.arange(rows + 1)
    expected = [
        np.square(np.maximum(x - counts, 0)) @ binom.pmf(counts, rows, r) for x, r in zip(a, rates, strict=True)
    ]
    np.testing.assert_allclose(mean_square(a, rows, rates), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 5, 40, 100])
def test_evidence_against_the_true_rate_is_at_most_1_on_average(rows):
    """At both ends of the cells, where it is least and largest: what the proof needs of the computation."""
    curves = [evidence_against(errors, rows, 1.0, 0.045) for errors in range(rows + 1)]
    for rate in (0.002, 0.02, 0.1, 0.3, 0.5, 0.8, 0.999):
        found = [curve.least[np.searchsorted(curve.rates, rate)] for curve in curves]
        mean = np.array(found) @ binom.pmf(np.arange(rows + 1), rows, rate)
        assert mean <= 1 + 1e-9
        assert mean > 0.8 or begin(rows, np.array([rate]), 0.045)[0] < 1  # and not wasteful


def union_bound(errors, rows, delta):
    """Clopper and Pearson's bound for each part, together with probability 1 - delta."""
    limits = part_limits(errors, rows, (1 - OF_SHARES) * delta)
    return Shares(rows, OF_SHARES * delta).largest_mean(limits)


def test_two_or_three_parts_have_the_union_bound():
    limits = part_limits([3, 0], [50, 40], 0.04)
    assert binom.cdf(3, 50, limits[0]) == pytest.approx(0.02)
    assert part_limits([0, 0], [0, 40], 0.05)[0] == 1
    assert total(routed_bound([3, 1, 4], [50, 40, 60], 0.05)) == pytest.approx(
        union_bound([3, 1, 4], [50, 40, 60], 0.05)
    )


@pytest.mark.parametrize(
    ("errors", "rows"),
    [([0] * 5, [60] * 5), ([1, 3, 2, 5, 4], [60] * 5), ([20] * 5, [400] * 5), ([90, 110] * 2, [300, 420] * 2)],
)
def test_the_bound_is_below_a_union_bound_and_above_one_binomial(errors, rows):
    """One binomial for all parts would need independent errors."""
    bound = total(routed_bound(errors, rows, 0.05))
    assert binomial_bound(sum(errors), sum(rows), 0.95) < bound < union_bound(errors, rows, 0.05)


def test_no_rates_that_the_counts_allow_are_above_the_bound():
    """Rates and shares by chance, from the definition of the evidence: weak duality and cells lose, they never gain."""
    rng, delta = np.random.default_rng(0), (1 - OF_FAR) * (1 - OF_SHARES) * 0.05
    errors, rows = [2, 6, 1, 3], [50, 70, 40, 60]
    bound, weights = total(routed_bound(errors, rows, 0.05)), np.array(rows) / 220
    shares = Shares(rows, OF_SHARES * 0.05)
    largest = 0.0
    for _ in range(1500):
        rates = np.array(errors) / rows + rng.dirichlet(np.ones(4)) * rng.random() * 0.6
        a = [begin(n, np.array([r]), delta) for n, r in zip(rows, rates, strict=True)]
        squares = [mean_square(x, n, np.array([r]))[0] for x, n, r in zip(a, rows, rates, strict=True)]
        evidence = [max(x[0] - e, 0) ** 2 / max(s, 1e-300) for x, e, s in zip(a, errors, squares, strict=True)]
        if weights @ evidence < 1 / delta:
            largest = max(largest, shares.largest_mean(rates))
    assert 0.93 * bound < largest <= bound


def test_the_mean_of_rates_that_the_counts_allow_is_not_above_the_bound():
    rng, shares = np.random.default_rng(3), np.array([0.1, 0.2, 0.2, 0.2, 0.3])
    rows, rates = rng.multinomial(200, shares, size=60), 0.1 + rng.random((60, 5)) / 2
    errors = rng.binomial(rows, rates * rng.random((60, 1)))
    allowed = allows(errors, rows, rates, shares, 0.05)
    bounds = [total(routed_bound(e, n, 0.05)) for e, n in zip(errors.tolist(), rows.tolist(), strict=True)]
    assert 5 < allowed.sum() < 55
    assert np.all(np.array(bounds)[allowed] >= (rates @ shares)[allowed])
    assert not allows(errors[:1], rows[:1], rates[:1], np.array([0.9, 0.1, 0.0, 0.0, 0.0]), 0.05)[0]


def test_an_empty_part_counts_one():
    full, empty = (total(routed_bound([2, 2, 1, e], [60, 60, 60, n], 0.05)) for e, n in ((2, 60), (0, 0)))
    assert empty > full


def test_the_terms_add_up_and_are_never_negative():
    terms = routed_bound([5, 9, 0], [100, 120, 80], 0.05)
    assert terms["observed"] == pytest.approx(14 / 300)
    assert min(terms.values()) >= 0


@pytest.mark.parametrize(
    ("shares", "rates"),
    [
        ([0.2] * 5, [0.1] * 5),
        ([0.5, 0.3, 0.1, 0.05, 0.05], [0.02, 0.5, 0.9, 0.0, 0.3]),  # heavy inputs
        ([0.2] * 5, [0.0, 0.0, 0.0, 0.0, 0.01]),  # hardly an error
    ],
)
def test_coverage(shares, rates):
    """Even if the errors of all parts come from the same uniforms, and so are as dependent as they can be."""
    rng, n, draws, delta = np.random.default_rng(1), 150, 60, 0.2
    shares, rates = np.array(shares), np.array(rates)
    missed = 0
    for _ in range(draws):
        rows = rng.multinomial(n, shares)
        errors = binom.ppf(rng.random(), rows, rates).astype(int).clip(0)
        missed += total(routed_bound(errors.tolist(), rows.tolist(), delta)) < shares @ rates
    assert missed <= binom.ppf(0.999, draws, delta)
