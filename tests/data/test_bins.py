"""Bins are a function of the values and weights of a column, never of the order, the chunks or who read them.
Also where edges lie between values of any size, how weight is shared out, exact mode, and categories."""

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from electorate import AdaBoostClassifier
from electorate.data import bins as bins_module
from electorate.data.all_reduce import run_locally
from electorate.data.bins import (
    MOST_CATEGORIES,
    NO_LIMIT,
    RARE,
    TALLIED,
    Bins,
    Cut,
    Sketch,
    count_levels,
    cut_columns_steps,
    find_bins,
    find_edges,
    heaviest,
    read_block,
)
from electorate.data.table import Categories, read_table
from electorate.data.weights import read_weights
from electorate.engines.shard import Examples, build_shard
from electorate.kernels.reference import values as reference
from electorate.messages import Split
from electorate.threads import ThreadPool

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
LARGEST = float(np.finfo(np.float64).max)
TINY = 5e-324
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)


def ones(n: int) -> np.ndarray:
    return np.ones(n, dtype=np.int64)


def cut_columns(table: Any, columns: list[int], weights: np.ndarray, most: int, capacity: int) -> list[Cut]:
    steps = cut_columns_steps(table, weights, columns, table.n_rows, most, capacity, ThreadPool(1))
    return [cut for _, cut in sorted(run_locally(steps).items())]


def find_categories(table: Any, column: int, weights: np.ndarray) -> tuple[Categories, bool]:
    levels, missing = count_levels(table, column, weights)
    return heaviest(levels), missing > 0


def sketch_of(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], capacity: int, limit: int = NO_LIMIT, *, merge: bool = False
) -> Sketch:
    """One sketch that read all parts, or the merger of a sketch for each."""
    whole = Sketch(capacity, limit)
    for values, weights in parts:
        if merge:
            part = Sketch(capacity, limit)
            part.add(values, weights)
            whole += part
        else:
            whole.add(values, weights)
    return whole


def contents(sketch: Sketch) -> tuple[list[float], list[int], int]:
    values, weights = sketch.result()
    return values.tolist(), weights.tolist(), int(sketch.info[1])


def split(rng: np.random.Generator, values: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows in another order, in chunks of any size (empty ones too)."""
    order = rng.permutation(len(values))
    ends = np.sort(rng.integers(0, len(values) + 1, rng.integers(0, 6)))
    return [(values[rows], weights[rows]) for rows in np.split(order, ends)]


def smallest_hashes(values: np.ndarray, weights: np.ndarray, capacity: int) -> tuple[list[float], list[int], int]:
    """What a sketch must hold, by sorting everything."""
    seen = np.isfinite(values) & (weights > 0)
    distinct, inverse = np.unique(values[seen] + 0.0, return_inverse=True)
    totals = np.bincount(inverse, weights=weights[seen], minlength=len(distinct)).astype(np.int64)
    own = np.sort(np.argsort(reference.hash_values(distinct))[:capacity])
    return distinct[own].tolist(), totals[own].tolist(), int(weights[np.isnan(values)].sum())


def some_column(rng: np.random.Generator, n: int, n_distinct: int) -> np.ndarray:
    pool = np.concatenate([rng.normal(size=n_distinct), [0.0, -0.0, np.nan]])
    return rng.choice(pool, n)


# ---------------------------------------------------------------- the sketch


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("n_distinct", [5, 60, 1500])
@pytest.mark.parametrize("capacity", [16, 300, 2**15])
@settings(few_cases, max_examples=6)
@given(rng=generators)
def test_a_sketch_depends_on_values_and_weights_only(
    rng: np.random.Generator, capacity: int, n_distinct: int, merge: bool
) -> None:
    values = some_column(rng, 2500, n_distinct)
    weights = rng.integers(0, 4, 2500)
    sketch = sketch_of(split(rng, values, weights), capacity, merge=merge)
    assert contents(sketch) == smallest_hashes(values, weights, capacity)
    assert not sketch.starved


@few_cases
@given(rng=generators, n_distinct=st.integers(1, 200), capacity=st.integers(1, 64))
def test_weight_k_is_k_rows(rng: np.random.Generator, n_distinct: int, capacity: int) -> None:
    values = some_column(rng, 100, n_distinct)
    weights = rng.integers(0, 5, 100)
    repeated = np.repeat(values, weights)
    weighted = sketch_of([(values, weights)], capacity)
    assert contents(weighted) == contents(sketch_of([(repeated, ones(len(repeated)))], capacity))


@pytest.mark.parametrize("merge", [False, True])
@few_cases
@given(rng=generators, n_distinct=st.sampled_from([3, 40, 400]), share=st.sampled_from([0.0, 0.01, 0.3, 0.9]))
def test_a_limit_that_was_too_tight_is_noticed(
    rng: np.random.Generator, merge: bool, n_distinct: int, share: float
) -> None:
    """A sketch either holds what one without a limit holds, or is starved."""
    values, weights = some_column(rng, 600, n_distinct), ones(600)
    limit = int(share * NO_LIMIT)
    sketch = sketch_of(split(rng, values, weights), 32, limit, merge=merge)
    whole = sketch_of([(values, weights)], 32, limit)
    assert sketch.starved == whole.starved
    assert sketch.starved or contents(sketch) == smallest_hashes(values, weights, 32)
    assert share > 0 or n_distinct < 32 or sketch.starved


def test_few_values_are_never_starved_however_they_are_merged() -> None:
    values = np.arange(float(TALLIED))
    parts = [(part, ones(len(part))) for part in np.split(values, 4)]
    sketch = sketch_of(parts, 2**15, limit=0, merge=True)
    assert not sketch.starved
    assert contents(sketch) == (values.tolist(), [1] * TALLIED, 0)


@pytest.mark.parametrize("merge", [False, True])
def test_values_that_come_again_are_not_starved(merge: bool) -> None:
    """More values than a small tally holds, and a limit under which hashes would keep none of them."""
    rng = np.random.default_rng(0)
    values, weights = rng.integers(-2000, 3000, 40_000).astype(np.float64), rng.integers(0, 4, 40_000)
    values[rng.random(40_000) < 0.01] = np.nan
    parts = list(zip(np.array_split(values, 3), np.array_split(weights, 3), strict=True))
    sketch = pickle.loads(pickle.dumps(sketch_of(parts, 2**15, limit=0, merge=merge)))
    assert not sketch.starved
    counted = ~np.isnan(values) & (weights > 0)
    expected, place = np.unique(values[counted], return_inverse=True)
    totals = np.bincount(place, weights[counted]).astype(np.int64)
    assert contents(sketch) == (expected.tolist(), totals.tolist(), int(weights[np.isnan(values)].sum()))


def test_sketches_of_nothing() -> None:
    nothing = (np.empty(0), ones(0))
    missing = (np.full(3, np.nan), np.array([1, 2, 0]))
    for merge in (False, True):
        assert contents(sketch_of([nothing, nothing], 16, merge=merge)) == ([], [], 0)
        assert contents(sketch_of([missing, nothing], 16, merge=merge)) == ([], [], 3)


def test_both_zeros_are_one_value() -> None:
    for capacity in (1, 16):  # by hash, and by tally
        assert contents(sketch_of([(np.array([-0.0, 0.0, -0.0]), ones(3))], capacity)) == ([0.0], [3], 0)
    values, _ = sketch_of([(np.array([-0.0]), ones(1))], 16).result()
    assert not np.signbit(values[0])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_spike_at_zero_is_kept(zero: float) -> None:
    """Half of the weight of a column must not fall through the hash."""
    values = np.concatenate([np.random.default_rng(1).normal(size=3000), np.full(3000, zero)])
    for merge in (False, True):
        held, weights, _ = contents(sketch_of([(values[::2], ones(3000)), (values[1::2], ones(3000))], 16, merge=merge))
        assert len(held) == 16
        assert weights[held.index(0.0)] == 3000


def test_a_sketch_stays_small() -> None:
    rng = np.random.default_rng(0)
    sketch = Sketch(64)
    for _ in range(50):
        sketch.add(rng.normal(size=200), ones(200))
        assert sketch.pending <= 4 * 64 + 200
    assert len(sketch.result()[0]) == 64


# ---------------------------------------------------------------- edges


def edges_of(
    values: np.ndarray, weights: np.ndarray | None = None, max_bins: int = 255, capacity: int = 2**15
) -> tuple[np.ndarray, int, bool]:
    column = np.asarray(values, dtype=np.float64)
    whole = ones(len(column)) if weights is None else np.asarray(weights)
    ((edges, n_bins, missing),) = cut_columns(read_table(column[:, None]), [0], whole, max_bins, capacity)
    return edges, n_bins, missing


def bin_weights(values: np.ndarray, weights: np.ndarray, edges: np.ndarray) -> np.ndarray:
    bins = np.searchsorted(edges, values)
    return np.bincount(bins, weights=weights, minlength=len(edges) + 1).astype(np.int64)


@few_cases
@given(values=st.lists(NUMBERS, min_size=0, max_size=40), max_bins=st.integers(2, 60))
def test_edges_lie_between_neighbours(values: list[float], max_bins: int) -> None:
    distinct = np.unique(np.array(values) + 0.0)
    edges, n_bins, missing = edges_of(np.array(values), max_bins=max_bins)
    assert n_bins == (len(edges) + 1 if values else 0)
    assert n_bins <= max_bins
    assert not missing
    assert np.all(np.isfinite(edges))
    assert np.all(np.diff(edges) > 0)
    left = np.searchsorted(distinct, edges, side="right") - 1
    assert np.all(distinct[left] <= edges)
    assert np.all(edges < distinct[left + 1])
    if len(distinct) <= max_bins:
        assert len(edges) == max(len(distinct) - 1, 0)


@few_cases
@given(pair=st.tuples(NUMBERS, NUMBERS).filter(lambda pair: pair[0] + 0.0 != pair[1] + 0.0))
def test_an_edge_is_the_midpoint(pair: tuple[float, float]) -> None:
    low, high = sorted(pair)
    (edge,), _, _ = edges_of(np.array([high, low]))
    middle = low / 2 + high / 2
    assert edge == (middle if low <= middle < high else low)


@pytest.mark.parametrize(
    ("low", "high", "edge"),
    [
        (1.0, 2.0, 1.5),
        (1.0, np.nextafter(1.0, 2.0), 1.0),  # the midpoint rounds to the even one, here the left
        (np.nextafter(1.0, 2.0), 1.0 + 2**-51, np.nextafter(1.0, 2.0)),  # here it would be the right one
        (-LARGEST, LARGEST, 0.0),
        (1e300, LARGEST, LARGEST / 2 + 5e299),
        (np.nextafter(LARGEST, 0.0), LARGEST, np.nextafter(LARGEST, 0.0)),
        (0.0, TINY, 0.0),
        (-TINY, 0.0, -TINY),
        (TINY, 2 * TINY, TINY),
        (3 * TINY, 4 * TINY, 3 * TINY),
        (-TINY, TINY, 0.0),
    ],
)
def test_edges_of_hard_neighbours(low: float, high: float, edge: float) -> None:
    assert edges_of(np.array([low, high, low]))[0].tolist() == [edge]


@pytest.mark.parametrize("capacity", [20, 400, 2**15])
@few_cases
@given(rng=generators, n_distinct=st.sampled_from([10, 300, 1200]), max_bins=st.sampled_from([2, 7, 255]))
def test_edges_depend_on_values_and_weights_only(
    rng: np.random.Generator, n_distinct: int, capacity: int, max_bins: int
) -> None:
    """Small capacities make the first guess of a limit too tight in some of these."""
    values = some_column(rng, 1500, n_distinct)
    weights = rng.integers(0, 4, 1500)
    edges, n_bins, missing = edges_of(values, weights, max_bins, capacity)
    held, totals, missing_weight = smallest_hashes(values, weights, capacity)
    assert edges.tolist() == find_edges(np.array(held), np.array(totals), max_bins).tolist()
    assert n_bins == len(edges) + 1
    assert n_bins <= max_bins
    assert missing == (missing_weight > 0)
    order = rng.permutation(1500)
    shuffled, times = values[order], weights[order]
    assert edges_of(shuffled, times, max_bins, capacity)[0].tolist() == edges.tolist()
    assert edges_of(np.repeat(shuffled, times), None, max_bins, capacity)[0].tolist() == edges.tolist()


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_edges_do_not_depend_on_how_many_rows_are_read_at_once(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    columns = [(some_column(rng, 300, n), rng.integers(0, 3, 300)) for n in (5, 100, 300)]
    expected = [edges_of(*column, capacity=64)[0].tolist() for column in columns]
    monkeypatch.setattr(bins_module, "CELLS_PER_SKETCH", 8 * rows)
    assert [edges_of(*column, capacity=64)[0].tolist() for column in columns] == expected


@few_cases
@given(rng=generators, n=st.integers(3, 400), max_bins=st.integers(2, 60))
def test_bins_have_about_equal_weight(rng: np.random.Generator, n: int, max_bins: int) -> None:
    """Without heavy values a bin has less than twice its share, and no bin is left unused."""
    n += max_bins
    values = np.sort(rng.normal(size=n))
    weights = np.full(n, 3) if rng.random() < 0.5 else rng.integers(1 + n // max_bins, 2 * (1 + n // max_bins), n)
    weights = np.minimum(weights, weights.sum() // max_bins)
    filled = bin_weights(values, weights, find_edges(values, weights, max_bins))
    assert len(filled) <= max_bins
    assert filled.max() < 2 * weights.sum() / max_bins
    if np.ptp(weights) == 0:
        assert len(filled) == max_bins
        assert filled.max() <= 3 * -(-n // max_bins)


@few_cases
@given(rng=generators, max_bins=st.integers(7, 255), n_heavy=st.integers(1, 3), front=st.integers(0, 300))
def test_heavy_values_get_their_own_bin(rng: np.random.Generator, max_bins: int, n_heavy: int, front: int) -> None:
    weights = ones(front + 300)
    places = rng.choice(len(weights), n_heavy, replace=False)
    weights[places] = rng.integers(4, 9, n_heavy) * 1000  # each more than a seventh of all
    values = np.arange(float(len(weights)))
    filled = bin_weights(values, weights, find_edges(values, weights, max_bins))
    for place in places:
        assert weights[place] in filled
    light = filled[filled < 1000]
    assert len(light) + n_heavy == len(filled)
    assert light.max() <= 2 * -(-len(weights) // (max_bins - 2 * n_heavy))


def test_light_values_keep_the_bins_that_a_heavy_one_does_not_need() -> None:
    values = np.arange(301.0)
    for weights in (np.append(ones(300), 10_000), np.insert(ones(300), 0, 10_000), np.insert(ones(300), 150, 10_000)):
        assert len(find_edges(values, weights, 255)) >= 253


def test_two_bins_are_used_where_there_are_two() -> None:
    assert find_edges(np.arange(4.0), np.array([1, 1, 1, 100]), 2).tolist() == [2.5]
    assert find_edges(np.arange(4.0), np.array([100, 1, 1, 1]), 2).tolist() == [0.5]


@pytest.mark.parametrize("distinct", [255, 254, 3])
def test_at_most_max_bins_values_are_cut_exactly(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    values = np.concatenate([np.arange(float(distinct)), rng.integers(0, distinct, 500)])
    weights = rng.integers(1, 1000, len(values))
    edges, n_bins, _ = edges_of(values, weights)
    assert edges.tolist() == (np.arange(distinct - 1) + 0.5).tolist()
    assert n_bins == distinct


def test_one_value_and_none() -> None:
    assert edges_of(np.full(3, 7.0))[1:] == (1, False)
    assert edges_of(np.array([7.0, np.nan]))[1:] == (1, True)
    assert edges_of(np.full(3, np.nan))[1:] == (0, True)
    assert edges_of(np.array([np.nan, 7.0]), np.array([1, 0]))[1:] == (0, True)
    assert edges_of(np.array([np.nan, 7.0]), np.array([0, 1]))[1:] == (1, False)


@pytest.mark.parametrize("distinct", [3, 5000])
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinite_values_are_refused_by_column_and_row(
    distinct: int, infinite: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bins_module, "CELLS_PER_SKETCH", 8 * 512)
    X = np.arange(10_000.0).reshape(5000, 2) % distinct
    X[[3210, 4000], 1] = infinite
    weights = ones(5000)
    with ThreadPool(1) as pool:
        with pytest.raises(ValueError, match="column 1, row 3210"):
            find_bins(read_table(X), weights, [], 255, pool)
        with pytest.raises(ValueError, match="column 'b', row 3210"):
            find_bins(read_table(pd.DataFrame(X, columns=["a", "b"])), weights, [], 255, pool)
        weights[[3210, 4000]] = 0
        assert find_bins(read_table(X), weights, [], 255, pool).n_bins.max() <= 255


# ---------------------------------------------------------------- all columns, and codes


def all_bins(X: object, weights: np.ndarray, categorical: list[int], max_bins: int | str, jobs: int = 1) -> Bins:
    with ThreadPool(jobs) as pool:
        return find_bins(read_table(X), weights, categorical, max_bins, pool)


def mixed_columns(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    columns = [rng.normal(size=n), rng.integers(0, 4, n), np.full(n, np.nan), np.full(n, 2.0), rng.integers(0, 9, n)]
    columns += [rng.normal(size=n) for _ in range(6)]
    X = np.stack(columns, axis=1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = 2.0
    return X


def bins_of_column(shard: Any, column: int, width: int) -> np.ndarray:
    """By asking about every bin: several columns may be stored as one."""
    found = np.full(len(shard.grid), -1)
    for code in range(width):
        split = Split(0, 1, 2, column, 0, np.arange(width) == code)
        found[shard.left(split)] = code
    return found


@pytest.mark.parametrize("max_bins", [2, 16, 255, "exact"])
def test_codes_are_those_of_searchsorted(max_bins: int | str) -> None:
    X = mixed_columns(700)
    rng = np.random.default_rng(1)
    weights = read_weights(rng.integers(0, 3, 700).astype(np.float64))
    labels = rng.integers(0, 3, 700)
    table = read_table(X)
    bins = all_bins(X, weights.whole, [4], max_bins)
    assert bins.code_type is (np.uint16 if max_bins == "exact" else np.uint8)
    assert bins.missing == bins.width - 1
    assert bins.ordered.tolist() == [j != 4 for j in range(11)]
    shard = build_shard(Examples(table, labels, 3, weights), bins, 100, 650)
    rows = 100 + np.flatnonzero(weights.times[100:650])
    rows = rows[np.argsort(labels[rows], kind="stable")]
    block = read_block(table, bins.categories, 0, 700)[:, rows]
    for j in range(11):
        expected = np.where(np.isnan(block[j]), bins.missing, np.searchsorted(bins.edges[j], block[j]))
        codes = bins_of_column(shard, j, bins.width)
        np.testing.assert_array_equal(codes, expected)
        assert bins.n_bins[j] == 0 or codes[~np.isnan(block[j])].max() < bins.n_bins[j]
    assert bins.n_bins[2] == 0
    assert bins.has_missing.tolist() == [j != 3 for j in range(11)]


def test_threads_do_not_change_bins() -> None:
    X = mixed_columns(3000)
    one, three = (all_bins(X, ones(3000), [4], 20, jobs) for jobs in (1, 3))
    assert [edges.tolist() for edges in one.edges] == [edges.tolist() for edges in three.edges]
    assert one.n_bins.tolist() == three.n_bins.tolist()


def test_exact_mode() -> None:
    rng = np.random.default_rng(0)
    few, many = np.arange(70_000.0) % 40_000, rng.permutation(70_000).astype(float)
    bins = all_bins(np.stack([few, many], axis=1), ones(70_000), [], "exact")
    assert bins.edges[0].tolist() == (np.arange(39_999) + 0.5).tolist()
    assert bins.n_bins[1] == 65_534
    assert bins.missing < 2**16
    assert bins.threshold(0, 3) == 3.5
    assert bins.threshold(0, 39_999) == np.inf


# ---------------------------------------------------------------- categories


def as_array(levels: list[object], rows: np.ndarray) -> np.ndarray:
    return np.array([levels[row] if row >= 0 else np.nan for row in rows], dtype=np.float64)[:, None]


def as_frame(levels: list[object], rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series([f"L{levels[row]:05d}" if row >= 0 else None for row in rows], dtype="str")})


@pytest.mark.parametrize("container", [as_array, as_frame])
@pytest.mark.parametrize("n_levels", [1, 3, 255, 256, 600])
def test_the_heaviest_categories_keep_a_code(container: Callable[..., object], n_levels: int) -> None:
    rng = np.random.default_rng(n_levels)
    levels = rng.choice(5000, n_levels, replace=False).tolist()
    rows = np.concatenate([np.repeat(rng.permutation(n_levels), RARE), rng.integers(-1, n_levels, 2000)])
    weights = rng.integers(1, 4, len(rows))
    weights[: RARE * n_levels] = 1
    totals = np.bincount(rows[rows >= 0], weights=weights[rows >= 0], minlength=n_levels)
    table = read_table(container(levels, rows))
    categories, missing = find_categories(table, 0, weights)
    assert missing
    by_level = np.argsort(levels)  # texts are padded: both containers sort alike
    if n_levels <= MOST_CATEGORIES + 1:
        own, rest = by_level, by_level[:0]
    else:
        heaviest = sorted(by_level, key=lambda row: -totals[row])[:MOST_CATEGORIES]
        own = by_level[np.isin(by_level, heaviest)]
        rest = by_level[~np.isin(by_level, heaviest)]
    assert categories.n_codes == min(n_levels, MOST_CATEGORIES + 1)
    assert (categories.n_codes == len(own) + 1) == (len(rest) > 0)
    code_of = np.full(n_levels, float(MOST_CATEGORIES))
    code_of[own] = np.arange(len(own))
    unseen = read_table(container([*levels, 9999], np.append(rows, n_levels)))
    codes = unseen.codes(0, len(rows) + 1, 0, categories)
    np.testing.assert_array_equal(codes, np.append(np.where(rows >= 0, code_of[rows], np.nan), np.nan))


@few_cases
@given(rng=generators, n_levels=st.integers(1, 60), n_rows=st.integers(1, 600))
def test_rare_categories_share_a_code(rng: np.random.Generator, n_levels: int, n_rows: int) -> None:
    shares = rng.dirichlet(np.full(n_levels, 0.3))
    rows, times = rng.choice(n_levels, n_rows, p=shares), rng.integers(0, 3, n_rows)
    weights = times * rng.integers(1, 1000, n_rows)
    counts = {level: int(times[rows == level].sum()) for level in range(n_levels)}
    total = sum(counts.values())
    rare = {level for level, count in counts.items() if 0 < count < 10 and count < total / 20}
    levels, _ = count_levels(read_table(rows[:, None].astype(float)), 0, weights, times)
    found = heaviest(levels)
    assert set(found.rest) == (rare if len(rare) > 5 else set())
    assert {*found.levels.tolist(), *found.rest} == {level for level, count in counts.items() if count}


def test_category_codes_go_in_the_order_of_the_levels() -> None:
    texts = find_categories(read_table(pd.DataFrame({"c": ["b", "a", None, "B", "10", "9"]})), 0, ones(6))[0]
    assert texts.levels.tolist() == ["10", "9", "B", "a", "b"]
    numbers = find_categories(read_table(np.array([[10.0], [9.0], [np.nan], [-0.0], [0.0], [2.5]])), 0, ones(6))[0]
    assert numbers.levels.tolist() == [0.0, 2.5, 9.0, 10.0]


def test_categories_without_weight_are_unknown() -> None:
    table = read_table(pd.DataFrame({"c": ["a", "b", None, "c"]}))
    categories, missing = find_categories(table, 0, np.array([1, 0, 0, 2]))
    assert categories.levels.tolist() == ["a", "c"]
    assert not missing
    np.testing.assert_array_equal(table.codes(0, 4, 0, categories), [0, np.nan, np.nan, 1])


@pytest.mark.parametrize(
    "X",
    [
        np.full((4, 1), np.nan),
        pd.DataFrame({"c": pd.Series([None] * 4, dtype="str")}),
        pd.DataFrame({"c": pd.Categorical([None] * 4)}),
    ],
)
def test_a_category_column_without_any_value(X: object) -> None:
    bins = all_bins(X, ones(4), [0], 255)
    assert bins.n_bins.tolist() == [0]
    assert bins.has_missing.tolist() == [True]
    assert np.isnan(read_block(read_table(X), bins.categories, 0, 4)).all()


@few_cases
@given(rng=generators, n_levels=st.integers(1, 300))
def test_categories_depend_on_values_and_weights_only(rng: np.random.Generator, n_levels: int) -> None:
    values, weights = rng.integers(0, n_levels, 800).astype(float), rng.integers(0, 3, 800)
    found = find_categories(read_table(values[:, None]), 0, weights)[0]
    order = rng.permutation(800)
    repeated = np.repeat(values[order], weights[order])
    again = find_categories(read_table(repeated[:, None]), 0, ones(len(repeated)))[0]
    assert found.levels.tolist() == again.levels.tolist()
    assert found.rest == again.rest


INFINITE_CATEGORIES = {
    "array": lambda values: np.array([[0.0, value] for value in values]),
    "sparse": lambda values: sparse.csr_array(np.array([[0.0, value] for value in values])),
    "pandas": lambda values: pd.DataFrame({"a": 0.0, "size": values}),
    "pandas category": lambda values: pd.DataFrame({"a": 0.0, "size": pd.Categorical(values)}),
    "polars": lambda values: pl.DataFrame({"a": [0.0] * len(values), "size": values}),
}


@pytest.mark.parametrize("kind", INFINITE_CATEGORIES)
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize("others", [[1.0, 2.0, 1.0, np.nan, 2.0, 1.0], [np.nan] * 6])
def test_infinite_numbers_are_no_category(kind: str, infinite: float, others: list[float]) -> None:
    """In training, at prediction and among the rows to stop by: refused by column and row, not counted as missing."""
    fine, bad = (INFINITE_CATEGORIES[kind](values) for values in (others, [*others[:-1], infinite]))
    name = "'size'" if kind.startswith("p") else "1"
    refused = rf"infinity.*column {name}, row 5"
    y, weight = [0, 1, 0, 1, 0, 1], np.ones(6)
    model = AdaBoostClassifier(categorical_features=[1], n_estimators=3, early_stopping=True)
    with pytest.raises(ValueError, match=refused):
        model.fit(bad, y, X_val=fine, y_val=y)
    with pytest.raises(ValueError, match=refused):
        model.fit(fine, y, X_val=bad, y_val=y)
    model.fit(fine, y, X_val=fine, y_val=y)
    with pytest.raises(ValueError, match=refused):
        model.predict(bad)
    weight[5] = 0
    model.fit(bad, y, weight, X_val=bad, y_val=y, sample_weight_val=weight)  # a row that is left out


def test_infinite_numbers_are_refused_among_the_rows_to_stop_by() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    other = X.copy()
    other[17, 2] = np.inf
    model = AdaBoostClassifier(n_estimators=3, early_stopping=True, random_state=0)
    with pytest.raises(ValueError, match=r"infinity.*column 2, row 17"):
        model.fit(X, y, X_val=other, y_val=y)
    for row in range(60):  # in training or set aside
        other = X.copy()
        other[row, 2] = -np.inf
        with pytest.raises(ValueError, match=rf"infinity.*column 2, row {row}\b"):
            model.fit(other, y)
