"""The order of categories by the mean target: against a hand computation, a plain twin, and any cut of the rows."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.data.all_reduce import run_together
from electorate.data.bins import RARE, find_bins_steps
from electorate.data.table import read_table
from electorate.data.target_order import GRID, TargetOrder, as_shares, fewest_rows, smoothing_strength, target_ranks
from electorate.data.weights import read_weights
from electorate.threads import ThreadPool


def channels(rows: Any, ones: Any) -> tuple[Any, Any]:
    """Rows and sums of categories with so many rows, of which so many have the target 1."""
    rows, ones = np.array(rows), np.array(ones)
    return rows, (np.stack([rows, ones, ones]) * GRID).astype(np.int64)


def plain_strength(groups: list[list[float]]) -> float:
    """The one-way analysis of variance, group by group."""
    every = [value for group in groups for value in group]
    n, k, mean = len(every), len(groups), sum(every) / len(every)
    if n <= k:
        return math.inf
    means = [sum(group) / len(group) for group in groups]
    within = sum((value - m) ** 2 for group, m in zip(groups, means, strict=True) for value in group) / (n - k)
    between = sum(len(group) * (m - mean) ** 2 for group, m in zip(groups, means, strict=True))
    spread = n - sum(len(group) ** 2 for group in groups) / n
    if spread <= 0:
        return math.inf
    apart = (between - (k - 1) * within) / spread
    return max(1.0, within / apart) if apart > 0 else math.inf


def bins_of(column: Any, y: Any, weight: Any = None, least: int = 2, parts: tuple[int, ...] = ()) -> Any:
    """The bins of one column of categories. parts: where the rows are cut."""
    column, y = np.asarray(column), np.asarray(y, dtype=np.float64)
    weights = read_weights(np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64))
    steps = []
    for low, high in zip((0, *parts), (*parts, len(y)), strict=True):
        mine = slice(low, high)
        order = TargetOrder.of(least, y, weights)
        order = TargetOrder(least, order.channels[:, mine])
        table = read_table(pd.DataFrame({"c": column[mine]}))
        counted = weights.whole[mine], [0], 255, ThreadPool(1), weights.times[mine]
        steps.append(find_bins_steps(table, *counted, None, order))
    return run_together(steps)


def order_of(bins: Any) -> list[Any]:
    """The levels in the order of training, the shared ones as "rest"."""
    known = bins.categories[0]
    names = [*known.levels.tolist(), *(["rest"] if known.rest else [])]
    return [names[code] for code in np.argsort(bins.ranks[0])]


def test_strength_equals_a_hand_computation() -> None:
    # 4 rows with the mean 1/4 and 4 with 3/4: within 2 * 3/4 / 6 = 1/4, between 8 / 16 = 1/2, spread 8 - 32 / 8 = 4
    assert smoothing_strength(*channels([4, 4], [1, 3])) == pytest.approx(0.25 / ((0.5 - 0.25) / 4))


def test_strength_is_infinite_without_a_difference_and_never_below_1() -> None:
    assert smoothing_strength(*channels([4, 4], [2, 2])) == math.inf
    assert smoothing_strength(*channels([10, 10], [0, 10])) == 1.0
    assert smoothing_strength(*channels([9], [3])) == math.inf  # one category
    assert smoothing_strength(*channels([1, 1, 1], [0, 1, 1])) == math.inf  # nothing within categories


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=8), min_size=1, max_size=12))
def test_strength_equals_the_plain_twin(groups: list[list[float]]) -> None:
    rows = np.array([len(group) for group in groups])
    sums = np.array([[len(g), sum(g), sum(v * v for v in g)] for g in groups]).T * GRID
    found, wanted = smoothing_strength(rows, sums.astype(np.int64)), plain_strength(groups)
    assert found == pytest.approx(wanted) or min(found, wanted) > 1e9  # no difference, up to rounding


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=12), st.floats(1, 100))
def test_ranks_are_those_of_the_smoothed_means(pairs: list[tuple[int, int]], strength: float) -> None:
    rows, ones = np.array([n for n, _ in pairs]), np.array([min(n, s) for n, s in pairs])
    ranks = target_ranks(*channels(rows, ones), strength)
    mean = ones.sum() / rows.sum()
    smoothed = (ones + strength * mean) / (rows + strength)
    assert sorted(ranks.tolist()) == list(range(len(rows)))
    assert np.all(np.diff(smoothed[np.argsort(ranks)]) >= -1e-9)


def test_equal_means_keep_the_order_of_the_levels() -> None:
    assert target_ranks(*channels([4, 2, 4, 2], [2, 1, 2, 1]), 3.0).tolist() == [0, 1, 2, 3]


def test_the_order_of_a_column() -> None:
    column = np.repeat(list("abcde"), 20)
    y = np.concatenate([np.arange(20) < ones for ones in (10, 2, 18, 5, 14)])
    bins = bins_of(column, y)
    assert order_of(bins) == ["b", "d", "a", "e", "c"]
    assert bins.split_by_sets == []
    assert bins.ordered.tolist() == [True]
    assert bins.categories[0].levels.tolist() == list("abcde")  # the model has the levels in their own order


def test_narrow_columns_are_split_by_sets() -> None:
    column = np.repeat(list("abcde"), 20)
    bins = bins_of(column, np.arange(100) % 2, least=6)
    assert not bins.ranks
    assert bins.split_by_sets == [0]
    assert bins.ordered.tolist() == [False]


def test_a_column_of_one_category_and_one_without_any() -> None:
    assert bins_of(["a"] * 30, np.arange(30) % 2, least=1).ranks[0].tolist() == [0]
    empty = bins_of(np.full(30, None), np.arange(30) % 2, least=2)
    assert not empty.ranks
    assert empty.n_bins.tolist() == [0]


def test_categories_need_fewer_rows_where_means_differ_much() -> None:
    names = np.repeat([f"c{k:02}" for k in range(60)], 4)
    apart = bins_of(names, np.repeat(np.arange(60) % 2, 4))  # each category has one label: all have bins of their own
    assert len(apart.categories[0].rest) == 0
    alike = bins_of(names, np.tile([0, 1, 0, 1], 60))  # every category has the same mean: as without an order
    assert len(alike.categories[0].levels) == 0
    assert fewest_rows(math.inf) > RARE


def test_a_name_in_every_row_stays_one_bin() -> None:
    rng = np.random.default_rng(0)
    bins = bins_of([f"id{k}" for k in range(400)], rng.integers(0, 2, 400))
    assert bins.categories[0].n_codes == 1


def test_very_many_categories_share_a_bin_in_its_place() -> None:
    column = np.repeat(np.arange(600.0), 12)
    bins = bins_of(column, np.arange(7200) % 12 < np.repeat(np.arange(600) % 12, 12))
    assert bins.categories[0].n_codes == len(bins.ranks[0]) == 255
    assert 0 < bins.ranks[0][254] < 254  # the mean of the others is between those of the first and the last


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 100), st.sampled_from(["none", "whole", "real"]))
def test_neither_the_order_of_rows_nor_their_parts_matter(seed: int, cut: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    column, y = rng.choice(list("abcdefghijklmnopqrst"), 100), rng.random(100)
    weight = {"none": None, "whole": rng.integers(0, 4, 100), "real": rng.random(100)}[kind]
    weight = None if weight is None else weight + (np.arange(100) == 0)  # at least one row counts
    whole, order = bins_of(column, y, weight), rng.permutation(100)
    moved = bins_of(column[order], y[order], None if weight is None else weight[order], parts=(cut,))
    assert whole.same_as(moved)
    assert {j: ranks.tolist() for j, ranks in whole.ranks.items()} == {j: r.tolist() for j, r in moved.ranks.items()}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_weight_k_is_k_rows_and_powers_of_two_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    column, y, weight = rng.choice(list("abcdefghijklmnopqrst"), 80), rng.random(80), rng.integers(1, 4, 80)
    weight[0] = 1
    weighted, repeated = bins_of(column, y, weight), bins_of(np.repeat(column, weight), np.repeat(y, weight))
    scaled = bins_of(column, y, 8 * weight)
    for other in (repeated, scaled):
        assert weighted.same_as(other)
        assert weighted.ranks[0].tolist() == other.ranks[0].tolist()


def test_weights_that_differ_very_much() -> None:
    weight = np.where(np.arange(100) < 40, 1.0, 1e-40 * (1 + np.arange(100)))
    bins = bins_of(np.repeat(list("abcde"), 20), np.arange(100) % 2, weight)
    assert sorted(bins.ranks[0].tolist()) == list(range(5))


def test_targets_as_shares() -> None:
    assert as_shares(np.array([-2.0, 0.0, 2.0]), -2.0, 2.0).tolist() == [0.0, 0.5, 1.0]
    assert as_shares(np.array([3.0, 3.0]), 3.0, 3.0).tolist() == [0.0, 0.0]
    assert as_shares(np.array([-1.7e308, 1.7e308]), -1.7e308, 1.7e308).tolist() == [0.0, 1.0]
