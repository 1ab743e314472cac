"""PAC-Bayes and tandem bounds: their parts by other means, and coverage where the risk of every vote is known."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, dirichlet

from electorate.theory.bounds import total
from electorate.theory.pac_bayes import (
    WeighedVote,
    binary_kl,
    cantelli_bound,
    dirichlet_bound,
    dirichlet_divergence,
    divergence,
    gibbs_bound,
    kl_lower,
    kl_upper,
    margin_bound,
    tail,
    tandem_bound,
)

BOUNDS = [gibbs_bound, margin_bound, tandem_bound, cantelli_bound, dirichlet_bound]


@pytest.mark.parametrize(("p", "budget"), [(0.0, 0.01), (0.1, 0.05), (0.5, 0.2), (0.97, 0.001)])
def test_kl_is_inverted(p, budget):
    assert kl_upper(p, budget) == pytest.approx(brentq(lambda q: binary_kl(p, q) - budget, p + 1e-15, 1 - 1e-15))
    if p > 0:
        assert kl_lower(p, budget) == pytest.approx(brentq(lambda q: binary_kl(p, q) - budget, 1e-15, p))
    assert kl_upper(p, math.inf) == 1


def test_divergence():
    assert divergence(np.array([0.0, 2.0, 0.0]), 3) == pytest.approx(math.log(6))
    assert divergence(np.array([1.0, -1.0, 1.0]), 3) == pytest.approx(math.log(2))


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_observed_part_is_above_the_error_of_the_vote(bound):
    """The inequality between the vote and its voters holds for the rows themselves, without any complexity."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        margins = np.clip(rng.normal(0.3, rng.random(), 400), -1, 1)
        terms = bound(WeighedVote(margins, 0.0), 0.05)
        assert terms[next(iter(terms))] + terms.get("drawing", 0.0) >= np.mean(margins <= 0) - 1e-12
        assert total(terms) >= np.mean(margins <= 0)
        assert total(bound(WeighedVote(margins, 1.0), 0.05)) >= total(terms)


@pytest.mark.parametrize("bound", BOUNDS)
def test_few_rows_prove_nothing(bound):
    assert total(bound(WeighedVote(np.ones(7), 0.0), 0.05)) >= 1


def test_cantelli_is_at_most_the_variance_bound_of_its_own_numbers():
    """By hand: E q^2 and E q from kl at half of delta, and the best mu on a grid."""
    margins = np.linspace(-0.2, 0.9, 500)
    vote = WeighedVote(margins, 0.7)
    q = (1 - margins) / 2
    square, mean = kl_upper(np.mean(q**2), vote.budget(0.025, 2)), kl_lower(np.mean(q), vote.budget(0.025))
    best = min((square - 2 * mu * mean + mu**2) / (0.5 - mu) ** 2 for mu in np.linspace(0, 0.49, 2000))
    assert total(cantelli_bound(vote, 0.05)) == pytest.approx(best, rel=1e-4)


def test_the_divergence_of_dirichlets_is_a_mean_over_draws():
    rng, weights = np.random.default_rng(0), np.array([0.5, 0.0, -0.2, 0.3])
    vote = WeighedVote.of(np.ones(10), weights, 4)
    assert vote.choice == pytest.approx(math.log(4 * 4 * 8))  # one of 4 sizes, one of 4 sets of three, 8 signs
    drawn = rng.dirichlet(7 * vote.shares, 100_000)
    ratios = dirichlet.logpdf(drawn.T, 7 * vote.shares) - dirichlet.logpdf(drawn.T, np.ones(3))
    assert dirichlet_divergence(vote, 7.0) == pytest.approx(vote.choice + ratios.mean(), abs=0.02)
    assert dirichlet_divergence(WeighedVote.of(np.ones(10), np.array([0.0, 2.0]), 2), 50.0) == pytest.approx(
        math.log(8)
    )


@pytest.mark.parametrize("concentration", [1.0, 8.0, 90.0])
def test_the_margin_of_drawn_weights_is_near_the_vote(concentration):
    """Of voters of +-1, and of voters between -1 and 1."""
    rng, shares = np.random.default_rng(1), np.array([0.4, 0.3, 0.2, 0.1])
    drawn = rng.dirichlet(concentration * shares, 40_000)
    for outputs in ([1, -1, 1, -1], [1, 1, 1, -1], [0.9, -0.2, 0.5, -1]):
        below = shares @ outputs - drawn @ np.array(outputs)
        for distance in (0.05, 0.2, 0.5):
            assert np.mean(below >= distance) <= tail(np.array(distance), concentration) + 0.01


def test_dirichlet_margins_are_smaller_than_langfords_for_many_voters():
    weights = np.random.default_rng(2).dirichlet(np.ones(30))
    vote = WeighedVote.of(np.full(5000, 0.4), weights, 40)
    assert total(dirichlet_bound(vote, 0.05)) < 0.9 * total(margin_bound(vote, 0.05))


# ---------------------------------------------------------------- coverage

BITS = np.array(list(product((-1.0, 1.0), repeat=6)))  # every input; voters are its columns and their complements
WORLDS = {
    "coins": (np.full(64, 1 / 64), np.full(64, 0.5)),
    "imbalance": (np.full(64, 1 / 64), np.full(64, 0.03)),
    "duplicates": (np.where(np.arange(64) == 9, 0.5, 0.5 / 63), np.where(BITS[:, :3].sum(axis=1) > 0, 0.95, 0.1)),
}


def chosen_vote(rng, shares, positive, n):
    """Weights that the rows choose, as greedily as they can; the vote on the rows, and its risk."""
    rows = rng.choice(64, n, p=shares)
    y = np.where(rng.random(n) < positive[rows], 1.0, -1.0)
    agreement = (y[:, None] * BITS[rows]).mean(axis=0)
    alpha = np.sign(agreement) * np.abs(agreement) ** rng.choice([1, 8])
    alpha = np.where(alpha == 0, 1e-9, alpha)
    f = BITS @ alpha / np.abs(alpha).sum()
    risk = float(shares @ np.where(f > 0, 1 - positive, positive))
    return WeighedVote.of(y * f[rows], alpha, 6), risk


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("bound", BOUNDS)
def test_coverage(bound, world):
    rng, draws = np.random.default_rng(3), 150 if bound is margin_bound else 400
    votes = [chosen_vote(rng, *WORLDS[world], 30) for _ in range(draws)]
    missed = sum(total(bound(vote, 0.2)) < risk for vote, risk in votes)
    assert missed <= binom.ppf(0.999, draws, 0.2)


@pytest.mark.parametrize("bound", BOUNDS)
def test_without_the_complexity_the_bound_fails(bound):
    """As if the choice were free and rows a thousand times as many: where errors are rare, few rows often have none."""
    rng, draws = np.random.default_rng(4), 100
    positive = np.where(BITS[:, 0] > 0, 0.97, 0.03)
    missed = 0
    for _ in range(draws):
        rows = rng.choice(64, 20)
        y = np.where(rng.random(20) < positive[rows], 1.0, -1.0)
        vote = WeighedVote(np.repeat(y * BITS[rows, 0], 1000), 0.0)
        missed += total(bound(vote, 0.2)) < 0.03
    assert missed > binom.ppf(0.999, draws, 0.2)
