"""The bound of a routed predictor: exact parts, simultaneous shares, and its coverage where everything is known."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from electorate.theory.bounds import total
from electorate.theory.cross_fit import largest_mean, part_limits, routed_bound, share_limits


def test_largest_mean_solves_the_linear_program():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, shares = rng.random(5), rng.dirichlet(np.ones(5))
        low, high = shares * rng.random(5), np.minimum(1, shares + rng.random(5) / 4)
        solved = linprog(-values, A_eq=np.ones((1, 5)), b_eq=[1], bounds=list(zip(low, high, strict=True)))
        assert largest_mean(values, low, high) == pytest.approx(-solved.fun)


def test_limits_are_clopper_and_pearsons():
    limits = part_limits([3, 0], [50, 40], 0.04)
    assert binom.cdf(3, 50, limits[0]) == pytest.approx(0.02)
    assert binom.cdf(0, 40, limits[1]) == pytest.approx(0.02)
    low, high = share_limits([30, 70], 0.04)
    assert binom.cdf(30, 100, high[0]) == pytest.approx(0.01)
    assert binom.sf(29, 100, low[0]) == pytest.approx(0.01)


def test_an_empty_part_counts_one():
    assert part_limits([0, 0], [0, 40], 0.05)[0] == 1
    full, empty = (total(routed_bound([2, 2, e], [60, 60, n], 0.05)) for e, n in ((2, 60), (0, 0)))
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
    rng, n, draws, delta = np.random.default_rng(1), 150, 400, 0.2
    shares, rates = np.array(shares), np.array(rates)
    missed = 0
    for _ in range(draws):
        rows = rng.multinomial(n, shares)
        errors = binom.ppf(rng.random(), rows, rates).astype(int).clip(0)
        missed += total(routed_bound(errors.tolist(), rows.tolist(), delta)) < shares @ rates
    assert missed <= binom.ppf(0.999, draws, delta)
