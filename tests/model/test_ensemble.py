"""The ensemble as arrays: lookup tables and staged replay against a plain walk through every voter.

Ensembles are made of random stumps, not fitted, so that every kind of node meets every kind of value.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_stump import Stump, from_stumps

from electorate.data.bins import Bins
from electorate.data.table import Categories
from electorate.exact import UNITS, on_grid
from electorate.model.ensemble import LEAF, Ensemble
from electorate.threads import ThreadPool

properties = settings(max_examples=25, derandomize=True, deadline=None)
seeds = st.integers(0, 2**32 - 1)

# ---------------------------------------------------------------- random ensembles, and rows to try them on


def some_bins(rng):
    """Two ordered columns, one of them with missing values, and three of categories: few, full with a rest, missing."""
    edges = [np.sort(rng.normal(size=rng.integers(1, 8))), np.array([-1e300, -5e-324, 0.0, 1e300])]
    levels = [np.arange(3.0), np.arange(254.0), np.arange(5.0)]
    categories = {
        2 + k: Categories(level, (999.0, 1000.0) if len(level) == 254 else ()) for k, level in enumerate(levels)
    }
    n_bins = [len(e) + 1 for e in edges] + [c.n_codes for c in categories.values()]
    edges += [np.arange(c.n_codes - 1) + 0.5 for c in categories.values()]
    return Bins(edges, categories, np.array([False, True, False, False, True]), np.array(n_bins))


def some_stump(rng, bins, labels):
    column = int(rng.integers(-1, len(bins.edges)))
    votes = tuple(int(k) for k in rng.choice(labels, 2, replace=False))
    if column < 0:
        return Stump(-1, -1, np.ones(bins.width, dtype=bool), votes[:1] * 2, 0)
    if column in bins.categories:
        on_left = rng.random(bins.width) < 0.5
        return Stump(column, -1, on_left, votes, 0)
    cut = int(rng.integers(0, len(bins.edges[column]) + bins.has_missing[column]))
    on_left = np.arange(bins.width) <= cut
    on_left[bins.missing] = rng.random() < 0.5 and cut < len(bins.edges[column])
    return Stump(column, cut, on_left, votes, 0)


def some_ensemble(seed, labels, voters=20):
    rng = np.random.default_rng(seed)
    bins = some_bins(rng)
    stumps = [some_stump(rng, bins, labels) for _ in range(voters)]
    steps = on_grid(rng.uniform(0, 3, voters) * 10.0 ** rng.integers(-11, 1, voters))
    return from_stumps(stumps, steps.tolist(), bins, labels), bins, stumps


def hard_rows(bins, rng, n=300):
    """[column, row]: missing values, every edge and its neighbours, huge and tiny numbers, every category code."""
    block = np.empty((len(bins.edges), n))
    for j, edges in enumerate(bins.edges):
        if j in bins.categories:
            block[j] = rng.integers(0, bins.n_bins[j], n)
        else:
            near = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [0.0, -0.0, 1.7e308, -1.7e308]]
            block[j] = rng.choice(np.concatenate(near), n)
        block[j, rng.random(n) < 0.1] = np.nan
    return block


def reader(block):
    return lambda low, high: np.ascontiguousarray(block[:, low:high])


# ---------------------------------------------------------------- the plain walk


def says(ensemble, voter, row):
    """The leaf value of one voter for one row: node by node."""
    root = node = int(ensemble.offsets[voter])
    while ensemble.column[node] != LEAF:
        value = row[ensemble.column[node]]
        if np.isnan(value):
            left = ensemble.missing_left[node]
        elif ensemble.members[node] >= 0:
            left = ensemble.sets[ensemble.members[node]][int(value)]
        else:
            left = value <= ensemble.threshold[node]
        node = root + int(ensemble.children[node][0 if left else 1])
    return ensemble.value[node]


def walk(ensemble, block):
    """[voter, output, row] of the votes, in units of the grid."""
    votes = [[ensemble.steps[t] * says(ensemble, t, row) for row in block.T] for t in range(ensemble.n_voters)]
    return np.rint(np.array(votes) * UNITS).astype(np.int64).transpose(0, 2, 1)


@given(seed=seeds, labels=st.sampled_from([2, 3, 7]), jobs=st.sampled_from([1, 3]))
@properties
def test_lookup_equals_the_walk(seed, labels, jobs):
    ensemble, bins, _ = some_ensemble(seed, labels)
    block = hard_rows(bins, np.random.default_rng(seed))
    with ThreadPool(jobs) as pool:
        votes = ensemble.votes(block.shape[1], reader(block), pool)
    assert votes.dtype == np.int64
    assert votes.shape == (1 if labels == 2 else labels, block.shape[1])
    np.testing.assert_array_equal(votes, walk(ensemble, block).sum(axis=0))


@given(seed=seeds, labels=st.sampled_from([2, 3, 7]))
@properties
def test_stages_equal_the_walk(seed, labels):
    ensemble, bins, _ = some_ensemble(seed, labels, voters=8)
    block = hard_rows(bins, np.random.default_rng(seed), n=60)
    expected = np.cumsum(walk(ensemble, block), axis=0)
    stages = [votes.copy() for _, votes in ensemble.staged_votes(60, reader(block))]
    np.testing.assert_array_equal(stages, expected)


@given(seed=seeds, labels=st.sampled_from([2, 4]))
@properties
def test_nodes_say_what_the_stumps_say(seed, labels):
    """Values in a bin meet the leaf that the stump has for that bin, missing ones that of the missing bin."""
    ensemble, bins, stumps = some_ensemble(seed, labels)
    for t, stump in enumerate(stumps):
        j = max(stump.column, 0)
        edges = bins.edges[j]
        inside = range(bins.n_bins[j]) if j in bins.categories else [*edges, np.nextafter(edges[-1], np.inf)]
        codes = [*range(bins.n_bins[j]), bins.missing]
        for code, value in zip(codes, [*inside, np.nan], strict=True):
            row = np.full(len(bins.edges), np.nan)
            row[j] = value
            label = stump.labels[0 if stump.on_left[code] else 1]
            vote = [2 * label - 1] if labels == 2 else np.eye(labels)[label]
            np.testing.assert_array_equal(says(ensemble, t, row), vote)


def test_rest_of_the_categories_is_a_code_like_others():
    bins = some_bins(np.random.default_rng(0))
    on_left = np.zeros(bins.width, dtype=bool)
    on_left[254] = True  # after 254 levels with a code of their own
    ensemble = from_stumps([Stump(3, -1, on_left, (1, 0), 0)], [1.0], bins, 2)
    block = np.zeros((5, 3))
    block[3] = [253, 254, np.nan]
    assert ensemble.votes(3, reader(block), ThreadPool(1)).tolist() == [[-UNITS, UNITS, -UNITS]]


def test_many_rows_in_blocks():
    """More rows than one block, and threads that get unequal shares."""
    ensemble, bins, _ = some_ensemble(1, 3)
    block = np.tile(hard_rows(bins, np.random.default_rng(1), n=200), 26)[:, :5003]
    expected = np.tile(walk(ensemble, block[:, :200]).sum(axis=0), 26)[:, :5003]
    with ThreadPool(4) as pool:
        np.testing.assert_array_equal(ensemble.votes(5003, reader(block), pool), expected)
    *_, (_, last) = ensemble.staged_votes(5003, reader(block))
    np.testing.assert_array_equal(last, expected)


# ---------------------------------------------------------------- the grid


@given(seed=seeds, labels=st.sampled_from([2, 3]))
@properties
def test_votes_do_not_depend_on_the_order_of_the_voters(seed, labels):
    """They are whole numbers of 2^-40, and so are the steps."""
    ensemble, bins, stumps = some_ensemble(seed, labels, voters=40)
    block = hard_rows(bins, np.random.default_rng(seed))
    order = np.random.default_rng(seed).permutation(len(stumps))
    mixed = from_stumps([stumps[k] for k in order], ensemble.steps[order].tolist(), bins, labels)
    votes = ensemble.votes(300, reader(block), ThreadPool(1))
    np.testing.assert_array_equal(mixed.votes(300, reader(block), ThreadPool(1)), votes)
    np.testing.assert_array_equal(
        ensemble.units, np.repeat(ensemble.steps, np.diff(ensemble.offsets))[:, None] * ensemble.value * UNITS
    )
    floats = (walk(ensemble, block) / UNITS).sum(axis=0)
    np.testing.assert_array_equal(floats, votes / UNITS)  # exact in float64 too


def test_grid_rounds_to_the_nearest():
    assert on_grid(0.1) == round(0.1 * 2**40) / 2**40
    np.testing.assert_array_equal(on_grid(np.array([0.4, 0.6, 1.0]) * 2.0**-40) * 2.0**40, [0, 1, 1])


# ---------------------------------------------------------------- parts


@given(seed=seeds, labels=st.sampled_from([2, 3]))
@properties
def test_only_is_one_voter_with_a_step_of_one(seed, labels):
    ensemble, bins, _ = some_ensemble(seed, labels)
    block = hard_rows(bins, np.random.default_rng(seed), n=50)
    for voter in range(ensemble.n_voters):
        alone = ensemble.only(voter)
        expected = np.array([says(ensemble, voter, row) for row in block.T]).T
        assert alone.steps.tolist() == [1.0]
        assert len(alone.sets) == np.count_nonzero(alone.members >= 0)
        np.testing.assert_array_equal(alone.votes(50, reader(block), ThreadPool(1)) / UNITS, expected)


@given(seed=seeds)
@properties
def test_importances(seed):
    """Shares of the steps by column; the constant voters have no column and no share."""
    ensemble, bins, stumps = some_ensemble(seed, 2)
    shares = np.zeros(len(bins.edges))
    for stump, step in zip(stumps, ensemble.steps, strict=True):
        if stump.column >= 0:
            shares[stump.column] += step
    np.testing.assert_allclose(ensemble.importances(), shares / shares.sum(), rtol=1e-12)


@pytest.mark.parametrize("labels", [1, 2, 3])
def test_empty_ensemble(labels):
    bins = some_bins(np.random.default_rng(0))
    ensemble = from_stumps([], [], bins, labels)
    block = hard_rows(bins, np.random.default_rng(0), n=4)
    assert ensemble.n_voters == 0
    votes = ensemble.votes(4, reader(block), ThreadPool(1))
    np.testing.assert_array_equal(votes, np.zeros((1 if labels == 2 else labels, 4)))
    assert list(ensemble.staged_votes(4, reader(block))) == []
    np.testing.assert_array_equal(ensemble.importances(), np.zeros(5))


def test_constant_voters_only():
    bins = some_bins(np.random.default_rng(0))
    always = [Stump(-1, -1, np.ones(256, dtype=bool), (k, k), 0) for k in (0, 2, 2)]
    ensemble = from_stumps(always, [0.5, 0.25, 1.0], bins, 3)
    block = hard_rows(bins, np.random.default_rng(0), n=2)
    expected = np.array([[0.5] * 2, [0] * 2, [1.25] * 2])
    np.testing.assert_array_equal(ensemble.votes(2, reader(block), ThreadPool(1)) / UNITS, expected)
    *_, (_, last) = ensemble.staged_votes(2, reader(block))
    np.testing.assert_array_equal(last / UNITS, expected)
    np.testing.assert_array_equal(ensemble.importances(), np.zeros(5))


def test_tables_are_not_pickled():
    ensemble, bins, _ = some_ensemble(0, 3)
    before = len(pickle.dumps(ensemble))
    block = hard_rows(bins, np.random.default_rng(0), n=10)
    votes = ensemble.votes(10, reader(block), ThreadPool(1))
    assert len(pickle.dumps(ensemble)) == before
    again: Ensemble = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(again.votes(10, reader(block), ThreadPool(1)), votes)
