"""The bounds of theory/: each against its formula written a second time, and by simulation against a law that is known.

In the simulations voters know nothing of the labels: the best of a large pool looks better on the rows than it is. A
bound must survive that, and must not once what it pays for the size of the pool is dropped.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import comb, logsumexp

from electorate.theory import bounds
from electorate.theory.binomial import binomial_bound, binomial_floor
from electorate.theory.bounds import EXPONENTIAL, HINGE, LOSSES, QUADRATIC, Counted, Drawn, total
from electorate.theory.complexity import massart

DRAWS = 400
MOST = int(stats.binom.ppf(0.999, DRAWS, 0.05))  # violations that a delta of 0.05 and chance allow


def some_margins(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(0.3, 0.3, n), -1, 1)


# ---------------------------------------------------------------- Clopper and Pearson


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_binomial_bounds_cover_from_both_sides(n, delta):
    """By enumeration of all counts: the truth is beyond either bound with probability at most delta."""
    upper = np.array([binomial_bound(k, n, 1 - delta) for k in range(n + 1)])
    lower = np.array([binomial_floor(k, n, 1 - delta) for k in range(n + 1)])
    worst = np.zeros(2)
    for p in np.linspace(0, 1, 403):
        chance = stats.binom.pmf(np.arange(n + 1), n, p)
        missed = np.array([chance[upper < p].sum(), chance[lower > p].sum()])
        assert np.all(missed <= delta + 1e-12)
        worst = np.maximum(worst, missed)
    if n > 1:
        assert np.all(worst > 0.5 * delta)  # and are not far too careful


@pytest.mark.parametrize(("k", "n"), [(0, 30), (4, 30), (29, 30), (300, 1000)])
def test_binomial_bounds_solve_their_equations(k, n):
    """The rate at which so few, or so many, have probability exactly delta."""
    assert stats.binom.cdf(k, n, binomial_bound(k, n, 0.9)) == pytest.approx(0.1)
    if k:
        assert stats.binom.sf(k - 1, n, binomial_floor(k, n, 0.9)) == pytest.approx(0.1)
    assert binomial_bound(n, n) == 1
    assert binomial_floor(0, n) == 0


# ---------------------------------------------------------------- a second derivation of each


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_losses_bound_errors_and_are_as_smooth_as_they_say(loss):
    z = np.linspace(-3, 5, 80_001)
    assert np.all(loss.of(z) >= (z <= 0))
    slopes = np.abs(np.diff(loss.clipped(z)) / np.diff(z))
    assert slopes.max() <= loss.lipschitz + 1e-9
    assert slopes.max() >= loss.lipschitz - 1e-3


@pytest.mark.parametrize("loss", [HINGE, QUADRATIC, EXPONENTIAL], ids=lambda loss: loss.name)
@pytest.mark.parametrize("empirical", [False, True])
def test_theorem_1_of_quadboost(loss, empirical):
    """Equation 1 at p = 1, in the paper's order, for f = alpha . h and not for margins."""
    rng = np.random.default_rng(1)
    m, dim, delta, r = 500, 12, 0.07, 0.01
    h, y, alpha = rng.choice([-1, 1], (m, dim)), rng.choice([-1, 1], m), rng.normal(size=dim)
    size = np.abs(alpha).sum()
    yf = y * (h @ alpha)
    found = bounds.vote_terms(yf / size, size, dim, Counted(r, empirical), delta, loss)
    risk = {
        "hinge": np.clip(1 - yf, 0, 1),
        "quadratic": np.minimum(1, np.square(1 - yf)),
        "exponential": np.minimum(1, np.exp(-yf)),
    }[loss.name].mean()
    once, part = (3, delta / 2) if empirical else (1, delta)
    last = np.sqrt(np.log(np.pi**2 * (dim + 1) ** 2 / (6 * part)) / (2 * m))
    last += np.sqrt(np.log(np.log2(2 * size)) / m)
    expected = risk + 4 * {"hinge": 1, "quadratic": 2, "exponential": 1}[loss.name] * size * r + once * last
    assert total(found) == pytest.approx(expected, rel=1e-12)


def test_the_union_over_norms_and_dimensions_costs_no_more_than_delta():
    """The printed theorem spends 6 delta / (pi (dim + 1))^2 on each dimension and 1 / k^2 of it on each norm 2^k."""
    dims, norms = np.arange(1, 200_000), np.arange(1, 200_000)
    spent = np.sum(6 / (np.pi * (dims + 1)) ** 2) * np.sum(1 / norms**2)
    assert 0.6 < spent < 1


def test_the_norm_is_free_and_never_below_1():
    margins = some_margins()
    at = [bounds.vote_terms(margins, norm, 5, Counted(0.002), 0.05) for norm in (1, 2, 5, 30)]
    best = bounds.vote_bound(margins, 5, Counted(0.002), 0.05)
    assert total(best) <= min(map(total, at)) + 1e-12
    small = bounds.vote_terms(margins, 0.5, 5, Counted(0.002), 0.05)
    assert small["complexity"] == pytest.approx(4 * 0.002)
    assert small["norm"] == 0


@pytest.mark.parametrize("rho", [0.5, 0.125])
def test_margin_bound_of_one_family(rho):
    """Koltchinskii and Panchenko: the ramp from 0 to rho has the slope 1 / rho, and complexities count twice."""
    margins = some_margins()
    found = bounds.deep_terms(margins, rho, np.ones(1), [Counted(0.01)], 0.05)
    expected = np.count_nonzero(margins <= rho) / 200 + 2 * 0.01 / rho + np.sqrt(np.log(20) / 400)
    assert total(found) == pytest.approx(expected, rel=1e-12)


def ramp(z, rho, w):
    """From 1 at 0 to 0 at rho, its slope changing linearly over the first and the last w rho."""
    grid = np.linspace(0, rho, 100_001)
    slope = np.minimum(1, np.minimum(grid, rho - grid) / (w * rho)) / (rho * (1 - w))
    fallen = np.concatenate([[0], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(grid))])
    return 1 - np.interp(z, grid, fallen)


@pytest.mark.parametrize("rho", [0.5, 0.25])
def test_the_ramp_of_the_bound_for_several_families(rho):
    """It lies between the two indicators; the voters drawn for a vote scatter by what the term says, at most."""
    w, z = bounds.CORNER, np.linspace(-0.2, rho + 0.2, 4001)
    phi = ramp(z, rho, w)
    assert np.all(phi >= (z <= 0) - 1e-6)
    assert np.all(phi <= (z <= rho) + 1e-6)
    slope = np.gradient(phi, z)
    assert np.abs(slope).max() == pytest.approx(1 / (rho * (1 - w)), rel=1e-3)
    assert np.abs(np.gradient(slope, z)).max() == pytest.approx(1 / (rho**2 * w * (1 - w)), rel=2e-2)
    rng = np.random.default_rng(0)
    for drawn, f in itertools.product((20, 200), (0.0, rho / 2, rho, 2 * w * rho)):
        g = 2 * rng.binomial(drawn, (1 + f) / 2, 200_000) / drawn - 1
        away = abs(ramp(g, rho, w).mean() - ramp(np.array([f]), rho, w)[0])
        assert away <= bounds._scatter(rho, drawn) / 2 + 0.005  # one of two sides; and the error of the draws


@pytest.mark.parametrize("p", [2, 3, 5])
def test_bound_of_several_families(p):
    margins, n, delta, rho = some_margins(3000), 3000, 0.05, 0.25
    rng = np.random.default_rng(p)
    shares, rates = rng.dirichlet(np.ones(p)), rng.uniform(0.001, 0.01, p)
    found = bounds.deep_terms(margins, rho, shares, [Counted(r) for r in rates], delta)
    w = 0.1
    of_drawn = [
        1 / (rho**2 * w * (1 - w) * 2**k) + np.sqrt((np.log(comb(2**k + p - 1, p - 1)) + np.log(1 / delta)) / (2 * n))
        for k in range(40)
    ]
    expected = (margins <= rho).mean() + 2 / (rho * 0.9) * (shares * rates).sum() + min(of_drawn)
    assert total(found) == pytest.approx(expected, rel=1e-9)


def test_cases_of_a_draw_are_counted():
    for drawn, p in itertools.product((1, 3, 6), (2, 3, 4)):
        cases = {tuple(sorted(draw)) for draw in itertools.product(range(p), repeat=drawn)}
        assert bounds._log_cases(drawn, p) == pytest.approx(math.log(len(cases)))


@pytest.mark.parametrize("n", [300, 3_000, 30_000, 10**6])
@pytest.mark.parametrize("p", [2, 5, 20])
def test_the_printed_theorem_of_deepboost_is_never_smaller_than_what_is_proved(n, p):
    """Its appendix is not at hand; where it says anything below 1, our proof implies it."""
    margins, shares = np.zeros(n), np.ones(p) / p
    for k, r, delta in itertools.product(range(1, 8), (0.0, 0.001, 0.03), (0.01, 0.05)):
        rates = np.full(p, r)
        printed = bounds.deep_as_printed(margins, 2.0**-k, shares, rates, delta) - 1
        ours = total(bounds.deep_terms(margins, 2.0**-k, shares, [Counted(r)] * p, delta)) - 1
        assert printed >= min(ours, 1)


@pytest.mark.parametrize("n", [30, 400])
def test_the_empirical_bernstein_bound(n):
    """Maurer and Pontil's Theorem 6, the variance as they define it: over pairs."""
    rng = np.random.default_rng(n)
    losses, log_n, delta = rng.random(n), 7.0, 0.03
    pairs = ((losses[:, None] - losses[None, :]) ** 2).sum() / (2 * n * (n - 1))
    m_n = 10 * np.exp(log_n)
    expected = losses.mean() + np.sqrt(18 * pairs * np.log(m_n / delta) / n) + 15 * np.log(m_n / delta) / (n - 1)
    assert total(bounds.bernstein_bound(losses, log_n, delta)) == pytest.approx(expected, rel=1e-12)
    assert total(bounds.bernstein_bound(losses[:15], log_n, delta)) == math.inf


@pytest.mark.parametrize(("voters", "pool", "n"), [(1, 4, 6), (2, 5, 7), (3, 6, 8)])
def test_votes_are_counted(voters, pool, n):
    """More labelings than the bound says are never met, whatever the weights."""
    rng = np.random.default_rng(pool)
    said = rng.choice([-1, 1], (pool, n))
    seen = set()
    for chosen in itertools.combinations(range(pool), voters):
        alphas = np.concatenate([rng.normal(size=(3000, voters)), rng.integers(-2, 3, (500, voters))])
        seen |= {bytes(row) for row in (alphas @ said[list(chosen)] > 0)}
    assert math.log(len(seen)) <= bounds.log_votes(n, voters, voters, math.log(pool))
    sauer = sum(math.comb(n, k) for k in range(voters + 1))
    expected = voters * math.log(pool) + math.log(min(sauer, 2**n))
    assert bounds.log_votes(n, voters, voters, math.log(pool)) == pytest.approx(expected)


@pytest.mark.parametrize("empirical", [False, True])
def test_the_bound_on_medians(empirical):
    known = Counted(0.004, empirical).at(0.02)
    once, part = (3, 0.01) if empirical else (1, 0.02)
    expected = 0.2 + 2 * (0.004 + 0.004) / 0.25 + once * np.sqrt(np.log(1 / part) / 2000)
    assert total(bounds.median_terms(0.2, 0.25, 1000, known)) == pytest.approx(expected, rel=1e-12)
    levels = [
        total(bounds.median_terms(1 - 2.0**-k, 2.0**-k, 1000, Counted(0.004).at(0.3 / (math.pi * k) ** 2)))
        for k in range(1, 20)
    ]
    assert total(bounds.median_bound(lambda rho: 1 - rho, 1000, Counted(0.004), 0.05)) == pytest.approx(min(levels))


def test_a_drawn_complexity_pays_for_its_draw():
    known = Drawn(0.1, 500, 20).at(0.04)
    assert known.delta + 0.01 == pytest.approx(0.04)
    assert math.exp(-((known.r - 0.1) ** 2) * 500 * 20 / 2) == pytest.approx(0.01)  # McDiarmid, steps of 2 / 10,000
    assert known.of_these


# ---------------------------------------------------------------- monotone

MARGINS = some_margins(4000)


def value_of(name, n, delta, size):
    """A bound at n rows (the same ones again), delta, and a pool of exp(size) voters."""
    margins = np.tile(MARGINS[:500], n // 500)
    counted = Counted(massart(n, size))
    return total(
        {
            "vote": lambda: bounds.vote_bound(margins, 3, counted, delta),
            "deep": lambda: bounds.deep_bound(margins, np.array([0.4, 0.6]), [counted, counted], delta),
            "margins": lambda: bounds.deep_bound(margins, np.ones(1), [counted], delta),
            "bernstein": lambda: bounds.bernstein_bound(
                (margins <= 0) * 1.0, bounds.log_votes(2 * n, 3, 3, size), delta
            ),
            "median": lambda: bounds.median_bound(lambda rho: float(np.mean(margins <= rho)), n, counted, delta),
        }[name]()
    )


NAMES = ["vote", "deep", "margins", "bernstein", "median"]


@pytest.mark.parametrize("name", NAMES)
def test_monotone_in_delta_complexity_and_doublings_of_n(name):
    by_delta = [value_of(name, 4000, delta, 5.0) for delta in (0.001, 0.01, 0.05, 0.3, 0.9)]
    by_size = [value_of(name, 4000, 0.05, size) for size in (0.5, 2, 5, 9, 40)]
    by_rows = [value_of(name, 500 * 2**k, 0.05, 5.0) for k in range(9)]
    assert np.all(np.diff(by_delta) < 0)
    assert np.all(np.diff(by_size) > 0)
    assert np.all(np.diff(by_rows) < 0)


@pytest.mark.parametrize("errors", [0, 3])
def test_the_binomial_bound_is_monotone(errors):
    assert np.all(np.diff([binomial_bound(errors, 50, 1 - delta) for delta in (0.001, 0.05, 0.5)]) < 0)
    assert np.all(np.diff([binomial_bound(errors * 2**k, 50 * 2**k) for k in range(8)]) < 0)
    assert np.all(np.diff([binomial_bound(k, 50) for k in range(51)]) > 0)


# ---------------------------------------------------------------- simulation: the best of a pool that knows nothing


def best_of_pool(n, log_pool, rng):
    """The errors on n rows of the best of so many independent voters, each wrong with probability 1/2: the smallest of
    that many binomials is at most k with probability 1 - (1 - F(k))^N."""
    return stats.binom.ppf(min(1.0, rng.exponential() * math.exp(-log_pool)), n, 0.5)


def as_margins(n, errors):
    return np.where(np.arange(n) < errors, -1.0, 1.0)


def of_pool(name, n, errors, log_pool, priced):
    """A bound on the risk of that voter; not priced: the pool costs nothing."""
    margins, free = as_margins(n, errors), 0.0 if not priced else 1.0
    counted = Counted(free * massart(n, log_pool))
    if name == "vote":
        return total(bounds.vote_bound(margins, 1, counted, 0.05))
    if name == "margins":
        return total(bounds.deep_bound(margins, np.ones(1), [counted], 0.05))
    if name == "deep":
        return total(bounds.deep_bound(margins, np.array([0.0, 1.0]), [Counted(0.0), counted], 0.05))
    if name == "median":
        return total(bounds.median_bound(lambda rho: errors / n, n, counted, 0.05))
    if not priced:
        terms = bounds.bernstein_bound((margins < 0) * 1.0, -math.log(10), 0.05)  # M(n) = 1
        return total(terms)
    log_count = bounds.log_votes(2 * n, 1, 1, log_pool) + bounds.log_sizes(1, 1)
    return total(bounds.bernstein_bound((margins < 0) * 1.0, log_count, 0.05))


@pytest.mark.parametrize(
    ("name", "n", "log_pool"),
    [("vote", 4000, 12), ("margins", 4000, 12), ("deep", 20_000, 25), ("median", 20_000, 12), ("bernstein", 6000, 60)],
)
def test_the_risk_exceeds_a_bound_no_more_often_than_delta_and_a_broken_bound_fails(name, n, log_pool):
    rng = np.random.default_rng(5)
    errors = [best_of_pool(n, log_pool, rng) for _ in range(DRAWS)]
    sound = np.array([of_pool(name, n, k, log_pool, True) for k in errors])
    broken = np.array([of_pool(name, n, k, log_pool, False) for k in errors])
    assert np.all(sound < 1)  # it says something
    assert np.count_nonzero(sound < 0.5) <= MOST
    assert np.count_nonzero(broken < 0.5) > MOST


def test_the_smallest_of_many_binomials_is_simulated_rightly():
    rng = np.random.default_rng(0)
    plain = rng.binomial(200, 0.5, (300, 2000)).min(axis=1)
    quick = [best_of_pool(200, math.log(2000), rng) for _ in range(300)]
    assert stats.ks_2samp(plain, quick).pvalue > 0.001


def test_sauer_in_logs_is_the_sum():
    assert bounds.log_votes(30, 1, 4, 0.0) == pytest.approx(logsumexp([math.log(math.comb(30, k)) for k in range(5)]))


@pytest.mark.parametrize(("voters", "p"), [(1, 2.0), (2, 1.0), (2, 2.0), (3, 1.5)])
def test_lemma_1_of_quadboost(voters: int, p: float) -> None:
    """R(C_p^n) = n^(1 - 1/p) R(H) on a symmetric class, over all signs, choices of n voters and weights of norm 1."""
    rows = 4
    half = np.random.default_rng(0).uniform(-1, 1, (3, rows))
    outputs = np.concatenate([half, -half])
    agreements = np.array(list(itertools.product((-1, 1), repeat=rows))) @ outputs.T / rows  # [signs, voter]
    norm = np.inf if p == 1 else p / (p - 1)  # the dual of p: the sup over weights
    chosen = [
        max(
            np.linalg.norm([of[k] for k in some], norm)
            for some in itertools.product(range(len(outputs)), repeat=voters)
        )
        for of in agreements
    ]
    assert np.mean(chosen) == pytest.approx(voters ** (1 - 1 / p) * agreements.max(axis=1).mean())
