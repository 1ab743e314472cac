"""The code for votes: its probabilities sum to at most 1 over all votes, and what is free is free."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import binom

from electorate.certified.description import NOBODY, Code, CodedVoter, Literal, Urn, log2_orders, subdivision_bits
from electorate.theory.binomial import binomial_bound, priced_bound


def small_code(n_classes=2, max_terms=2, n_weights=2, head=0.0):
    """Two columns: one with two tests, one with one."""
    bits = np.array([1.0, 1.0, 0.0])
    return Code(np.array([0.6, 0.4]), np.array([0, 0, 1]), bits, n_classes, n_weights, max_terms, head)


def every_voter(code):
    """All voters that a search may find: single literals hold, several are distinct and sorted."""
    tests = range(len(code.column))
    shapes = [(Literal(test, True),) for test in tests]
    if code.max_terms > 1:
        for pair in combinations(tests, 2):
            shapes += [tuple(map(Literal, pair, signs)) for signs in product((False, True), repeat=2)]
    everything = product(shapes, code.vote_pairs, range(code.n_weights))
    return [CodedVoter(literals, *pair, weight) for literals, pair, weight in everything]


def every_vote(code, most):
    """All multisets of at most so many voters."""
    voters = every_voter(code)
    votes = {()}
    for _ in range(most):
        votes |= {tuple(sorted((*vote, voter))) for vote in votes for voter in voters if len(vote) < most}
    return votes


@pytest.mark.parametrize(("n_classes", "max_terms", "n_weights"), [(2, 1, 2), (2, 2, 1), (3, 1, 1)])
def test_kraft(n_classes, max_terms, n_weights):
    """The sum over all votes of up to two voters is below the probability of so few voters."""
    code = small_code(n_classes, max_terms, n_weights)
    found = sum(2.0 ** -code.bits(vote) for vote in every_vote(code, 2))
    assert found <= 1 / 2 + 1 / 6 + 1 / 12 + 1e-12
    assert found > 0.5


def test_kraft_fails_without_the_price_of_a_choice():
    """Leaving out what names the tests, or the number of voters, is no code any more."""
    code = small_code(max_terms=1)
    votes = every_vote(code, 2)
    untested = sum(2.0 ** -(code.bits(v) - sum(code.test_bits[x.literals[0].test] for x in v)) for v in votes)
    uncounted = sum(2.0 ** -(code.bits(vote) - code.count_bits(len(vote))) for vote in votes)
    assert untested > sum(2.0 ** -code.bits(vote) for vote in votes) * 1.1
    assert uncounted > 1


@pytest.mark.parametrize("none", [0.5, 0.75])
def test_the_numbers_of_voters_share_the_probability(none):
    code = Code(np.ones(1), np.zeros(1, dtype=int), np.zeros(1), 2, 1, 1, none=none)
    found = np.array([2.0 ** -code.count_bits(voters) for voters in range(5000)])
    assert found[0] == pytest.approx(none)
    assert found.sum() == pytest.approx(1, abs=1e-3)
    assert found.sum() <= 1


def test_order_is_free_for_distinct_voters_only():
    """log2 k! is subtracted for k distinct voters; equal ones have fewer orders (the second thing to get right)."""
    voters = every_voter(small_code())[:3]
    assert log2_orders(voters) == pytest.approx(math.log2(6))
    assert log2_orders([voters[0]] * 3) == pytest.approx(0)
    assert log2_orders([voters[0], voters[0], voters[1]]) == pytest.approx(math.log2(3))


def test_the_code_does_not_look_at_the_order():
    code = small_code(n_classes=3)
    voters = every_voter(code)
    chosen = [voters[place] for place in (3, 40, 77)]
    bits = {round(code.bits(order), 9) for order in permutations(chosen)}
    assert len(bits) == 1


def test_urn_is_exchangeable_and_sums_to_one():
    urn = Urn(np.array([0.5, 0.3, 0.2]), 1.5)
    total = sum(2.0 ** -urn.bits(draws) for draws in product(range(3), repeat=4))
    assert total == pytest.approx(1)
    assert urn.bits([0, 0, 1, 2]) == pytest.approx(urn.bits([2, 0, 1, 0]))
    assert urn.bits([0, 1]) == pytest.approx(urn.bits([0]) + urn.next_bits([0])[1])
    with pytest.raises(ValueError, match="sum to at most 1"):
        Urn(np.array([0.8, 0.3]), 1.0)


@pytest.mark.parametrize("cuts", [0, 1, 2, 3, 7, 10, 15, 100])
def test_coarse_cuts_are_cheaper(cuts):
    bits = subdivision_bits(cuts)
    assert np.sum(2.0**-bits) <= 1 + 1e-12
    assert cuts == 0 or bits[cuts // 2] == bits.min()


def test_tests_of_a_column_share_its_probability():
    with pytest.raises(ValueError, match="column 0"):
        Code(np.array([1.0]), np.array([0, 0]), np.array([0.5, 0.5]), 2, 1, 1)


def test_votes_name_two_classes_or_one():
    pairs = small_code(n_classes=3).vote_pairs
    assert len(pairs) == len(set(pairs)) == 12
    assert all(a != b and min(a, b) >= NOBODY for a, b in pairs)


# ---------------------------------------------------------------- the binomial tail at any price


@pytest.mark.parametrize(("errors", "rows"), [(0, 10), (3, 10), (9, 10), (40, 1000), (700, 1000)])
@pytest.mark.parametrize("price", [0.1, 3.0, 30.0, 300.0])
def test_priced_bound_inverts_the_tail(errors, rows, price):
    bound = priced_bound(errors, rows, price)
    assert binom.logcdf(errors, rows, bound) <= -price * (1 - 1e-4)
    assert binom.logcdf(errors, rows, bound * (1 - 1e-7)) >= -price


def test_priced_bound_agrees_with_clopper_and_pearson():
    assert priced_bound(7, 90, math.log(20)) == pytest.approx(binomial_bound(7, 90, 0.95), rel=1e-12)
    assert priced_bound(5, 5, 2.0) == 1


@pytest.mark.parametrize(("errors", "rows"), [(0, 1000), (50, 1000), (4000, 40000)])
def test_priced_bound_beyond_the_range_of_floats(errors, rows):
    """Smooth where the method changes, and an inverse where the probability is no float any more."""
    below, above = priced_bound(errors, rows, 600 - 1e-3), priced_bound(errors, rows, 600 + 1e-3)
    assert 0 < above - below < 1e-4
    bound = priced_bound(errors, rows, 900.0)
    assert binom.logpmf(errors, rows, bound) == pytest.approx(-900, abs=10)  # scipy's logcdf is -inf here
    assert bound > above
