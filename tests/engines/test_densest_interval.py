"""The best window of rows that live in several places is that of all rows in one, and few rows travel."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate import kernels
from electorate.engines import densest_interval
from electorate.kernels.reference import target_search as reference

few_cases = settings(derandomize=True, max_examples=60, deadline=None)


def some_targets(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    targets = {
        "ties": rng.integers(0, 6, n) / 10,
        "normal": rng.normal(size=n),
        "tails": rng.standard_t(1, n),
        "far": 1e9 + rng.normal(size=n).round(3),
        "even": np.arange(n) / 8,
        "one": np.full(n, 3.25),
    }[kind]
    return np.sort(targets)


class Places:
    """Rows dealt out to several places; how much was fetched."""

    def __init__(self, leaves: list[tuple[np.ndarray, np.ndarray]], n_places: int, rng: np.random.Generator) -> None:
        self.fetched = 0
        targets, weights = (np.concatenate(parts) for parts in zip(*leaves, strict=True))
        leaf = np.repeat(np.arange(len(leaves), dtype=np.int32), [len(mine) for mine, _ in leaves])
        order = np.argsort(targets, kind="stable")
        at = rng.integers(0, n_places, len(targets))
        rows = [order[at[order] == k] for k in range(n_places)]
        self.held = [densest_interval.LeafRows(leaf[mine], targets[mine], weights[mine]) for mine in rows]

    def mass(self, points: list[np.ndarray]) -> list[np.ndarray]:
        return [sum(parts) for parts in zip(*(one.mass(points) for one in self.held), strict=True)]  # type: ignore[misc]

    def between(self, ranges: list[np.ndarray]) -> list[Any]:
        each = zip(*(one.between(ranges) for one in self.held), strict=True)
        found = [densest_interval.together(list(parts)) for parts in each]
        self.fetched = max(len(one[0]) for one in found)
        return found


def ends_of(places: Places, n_leaves: int, eps: float, low: float, high: float) -> list[Any]:
    return densest_interval.hunt(n_leaves, eps, low, high, places.mass, places.between)


@few_cases
@given(
    rng=st.integers(0, 2**32 - 1).map(np.random.default_rng),
    n=st.integers(1, 60),
    kind=st.sampled_from(["ties", "normal", "tails", "far", "even", "one"]),
    n_places=st.integers(1, 4),
    eps=st.sampled_from([0.05, 0.1, 0.5, 1.0, 30.0]),
    few=st.sampled_from([1, 6, 4096]),
    cells=st.sampled_from([4, 256]),
)
def test_it_is_the_window_of_all_rows(
    rng: np.random.Generator, n: int, kind: str, n_places: int, eps: float, few: int, cells: int
) -> None:
    weights = np.array([0, 1, 1, 2, 9, 2**40])
    leaves = [(some_targets(rng, size, kind), rng.choice(weights, size)) for size in (n, max(1, n // 3))]
    low, high = min(t[0] for t, _ in leaves), max(t[-1] for t, _ in leaves)
    before = densest_interval.FEW, densest_interval.CELLS, densest_interval.MOST_CELLS
    densest_interval.FEW, densest_interval.CELLS, densest_interval.MOST_CELLS = few, cells, 16 * cells
    try:
        found = ends_of(Places(leaves, n_places, rng), 2, eps, low, high)
    finally:
        densest_interval.FEW, densest_interval.CELLS, densest_interval.MOST_CELLS = before
    for (targets, weights), ends in zip(leaves, found, strict=True):
        first, last = reference.best_window(targets, weights, eps)
        assert ends == (targets[first], targets[last])


@few_cases
@given(
    rng=st.integers(0, 2**32 - 1).map(np.random.default_rng),
    n=st.integers(1, 60),
    kind=st.sampled_from(["ties", "normal", "tails", "far", "even", "one"]),
    n_places=st.integers(1, 4),
    few=st.sampled_from([1, 6, 4096]),
    cells=st.sampled_from([4, 256]),
)
def test_it_is_the_median_of_all_rows(
    rng: np.random.Generator, n: int, kind: str, n_places: int, few: int, cells: int
) -> None:
    weights = np.array([0, 1, 1, 2, 9, 2**40])
    leaves = [(some_targets(rng, size, kind), rng.choice(weights, size)) for size in (n, max(1, n // 3), 0)]
    low, high = min(t[0] for t, _ in leaves[:2]), max(t[-1] for t, _ in leaves[:2])
    before = densest_interval.FEW, densest_interval.CELLS
    densest_interval.FEW, densest_interval.CELLS = few, cells
    try:
        places = Places(leaves, n_places, rng)
        found = densest_interval.medians(3, low, high, places.mass, places.between)
    finally:
        densest_interval.FEW, densest_interval.CELLS = before
    for (targets, weight), median in zip(leaves[:2], found, strict=False):
        so_far = np.cumsum(weight)
        assert median == targets[np.searchsorted(so_far, so_far[-1] / 2)]
    assert found[2] is None


def test_a_leaf_without_rows_has_no_window() -> None:
    nothing = (np.empty(0), np.empty(0, dtype=np.int64))
    some = (np.arange(5.0), np.ones(5, dtype=np.int64))
    places = Places([nothing, some], 2, np.random.default_rng(0))
    assert ends_of(places, 2, 1.0, 0.0, 4.0) == [None, (0.0, 2.0)]


@pytest.mark.parametrize("kind", ["normal", "tails", "ties"])
def test_few_rows_travel(kind: str) -> None:
    rng = np.random.default_rng(1)
    targets = some_targets(rng, 300_000, kind)
    weights = rng.integers(1, 2**40, len(targets))
    places = Places([(targets, weights)], 3, rng)
    found = ends_of(places, 1, 0.3, targets[0], targets[-1])
    first, last = kernels.best_window(targets, weights, 0.3)
    assert found == [(targets[first], targets[last])]
    assert places.fetched <= densest_interval.FEW
    densest_interval.medians(1, targets[0], targets[-1], places.mass, places.between)
    assert places.fetched <= densest_interval.FEW
