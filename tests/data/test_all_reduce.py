"""All-reduce steps give the same results in any number of parts as in one, and those of the definition."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.data.all_reduce import Gather, Max, Min, Reduce, SortedUnion, reduce_all
from electorate.data.bins import Sketch, find_bins, find_bins_steps
from electorate.data.inputs import EXACT_BITS, exact_sums
from electorate.data.split import DrawCandidates, _quotas, draw, draw_steps
from electorate.data.table import Categories, StackedTable, read_table
from electorate.data.weights import read_weights, read_weights_steps
from electorate.threads import ThreadPool

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def in_parts(steps: Sequence[Any]) -> list[Any]:
    """Run the steps of several parts, in step; requests are pickled as on the way to other machines."""
    answer = None
    while True:
        requests, ends = [], []
        for part in steps:
            try:
                requests.append(pickle.loads(pickle.dumps(part.send(answer))))
            except StopIteration as end:
                ends.append(end.value)
        if ends:
            assert not requests, "all parts end together"
            return ends
        answer = reduce_all(requests)


def cut(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    return np.split(np.arange(n), np.sort(rng.integers(0, n + 1, 3)))


def test_reduced_values() -> None:
    requests = [
        Reduce((3, Max(np.array([1, 5])), Min(True), Gather({0: "a"}))),
        Reduce((4, Max(np.array([2, 1])), Min(False), Gather({1: "b"}))),
    ]
    total, most, least, each = reduce_all(requests)
    assert (total, most.value.tolist(), bool(least.value), each.by_part) == (7, [2, 5], False, {0: "a", 1: "b"})
    assert (SortedUnion(np.array([1, 3]), "x") + SortedUnion(np.array([2, 3]), "x")).values.tolist() == [1, 2, 3]
    nothing = SortedUnion(np.array([], dtype=object), "x")
    assert (nothing + SortedUnion(np.array([True]), "x")).values.dtype == np.bool_
    with pytest.raises(ValueError, match="x holds texts in one partition and numbers in another"):
        SortedUnion(np.array(["a"]), "x") + SortedUnion(np.array([1]), "x")


# ---------------------------------------------------------------- rows to stop by


@few_cases
@given(rng=generators, equal=st.booleans(), crowded=st.booleans())
def test_rows_drawn_in_parts(rng: np.random.Generator, equal: bool, crowded: bool) -> None:
    """By buckets of the first 12 bits: of each its share, those with the smallest hashes; equal rows one by one."""
    n, n_labels, part = int(rng.integers(1, 2000)), int(rng.integers(1, 4)), 0.13
    hashes = rng.integers(0, 2**64, n, dtype=np.uint64)
    hashes = hashes[rng.integers(0, max(1, n // 20), n)] if equal else hashes
    hashes = hashes >> np.uint64(50) if crowded else hashes
    times, labels = rng.integers(0, 4, n), rng.integers(0, n_labels, n)
    drawn = draw(DrawCandidates(hashes, times, labels, n_labels), part)
    assert np.all((drawn >= 0) & (drawn <= times))
    rows = cut(rng, n)
    each = [DrawCandidates(hashes[r], times[r], labels[r], n_labels) for r in rows]
    parts = in_parts([draw_steps(mine, part, k) for k, mine in enumerate(each)])
    elsewhere = np.concatenate(parts)
    for label in range(n_labels):
        mine = labels == label
        for chosen in (drawn, elsewhere):
            assert_drawn(hashes[mine], times[mine], chosen[mine], part)


def assert_drawn(hashes: np.ndarray, times: np.ndarray, chosen: np.ndarray, part: float) -> None:
    total = int(times.sum())
    assert chosen.sum() == max(0, min(math.ceil(part * total), total - 1))
    bucket = (hashes >> np.uint64(52)).astype(int)
    shares = _quotas(np.bincount(bucket, weights=times, minlength=4096).astype(np.int64)[None], part)
    for place in np.unique(bucket):
        here = bucket == place
        smallest = np.sort(np.repeat(hashes[here], times[here]))[: shares[place]]
        np.testing.assert_array_equal(np.sort(np.repeat(hashes[here], chosen[here])), smallest)


def test_shares_of_buckets() -> None:
    """The fractions are carried on: at most one from the exact part of what was passed."""
    counts = np.random.default_rng(0).integers(0, 9, 200)
    shares = _quotas(counts[None], 0.1)
    assert shares.sum() == math.ceil(0.1 * counts.sum())
    assert np.all(shares <= counts)
    assert np.all(np.abs(np.cumsum(shares) - np.cumsum(counts) * shares.sum() / counts.sum()) < 1)


# ---------------------------------------------------------------- weights


@few_cases
@given(rng=generators, kind=st.sampled_from(["ones", "whole", "tenths", "real", "wide"]), factors=st.booleans())
def test_weights_read_in_parts(rng: np.random.Generator, kind: str, factors: bool) -> None:
    n = int(rng.integers(2, 60))
    weight = {
        "ones": np.ones(n),
        "whole": rng.integers(0, 5, n) * 3.0,
        "tenths": rng.integers(0, 5, n) * 0.1,
        "real": rng.random(n),
        "wide": np.exp(rng.normal(0, 200, n)),
    }[kind]
    weight[0] = weight[0] or 3.0
    group = rng.integers(0, 3, n)
    factor = rng.choice([0.5, 1, 2, 0.3, 7], 3) if factors else None
    whole = read_weights(weight, None if factor is None else factor[group])
    rows = cut(rng, n)
    parts = in_parts([read_weights_steps(weight[r], group[r], factor) for r in rows])
    np.testing.assert_array_equal(np.concatenate([part.times for part in parts]), whole.times)
    for part in parts:
        assert (part.bits, part.given, part.unit) == (whole.bits, whole.given, whole.unit)
        assert (part.real is None) == (whole.real is None)
    if whole.real is not None:
        np.testing.assert_array_equal(np.concatenate([part.real for part in parts]), whole.real)


@few_cases
@given(values=st.lists(st.floats(0, 1), max_size=40), cut=st.integers(0, 40))
def test_exact_sums(values: list[float], cut: int) -> None:
    both = [exact_sums(np.array(part), np.zeros(len(part), dtype=np.int64), 1) for part in (values[:cut], values[cut:])]
    assert (both[0] + both[1])[0] / 2**EXACT_BITS == math.fsum(values)


# ---------------------------------------------------------------- bins


@pytest.mark.parametrize("max_bins", [9, 255, "exact"])
def test_bins_found_in_parts(max_bins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sketches too small for the values, and categories that some parts lack."""
    monkeypatch.setattr("electorate.data.bins.SKETCH_VALUES", 1500)
    rng = np.random.default_rng(0)
    n = 6000
    X = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.integers(0, 1600, n), "c": np.sort(rng.integers(0, 9, n)).astype(str)}
    )
    X.loc[X["b"] % 7 == 0, "a"] = np.nan
    weights = rng.integers(0, 3, n)
    whole = find_bins(read_table(X), weights, [2], max_bins, ThreadPool(1))
    rows = cut(rng, n)
    parts = in_parts([find_bins_steps(read_table(X.iloc[r]), weights[r], [2], max_bins, ThreadPool(1)) for r in rows])
    assert all(part.same_as(whole) for part in parts)


def test_sketches_travel() -> None:
    rng = np.random.default_rng(0)
    for n, limit in ((300, 2**64 - 1), (5000, 2**64 - 1), (5000, 2**62)):
        sketch = Sketch(2000, limit)
        sketch.add(np.append(rng.normal(size=n), np.nan), np.ones(n + 1, dtype=np.int64))
        other = pickle.loads(pickle.dumps(sketch))
        for one, same in zip(sketch.result(), other.result(), strict=True):
            np.testing.assert_array_equal(one, same)
        assert (other.starved, other.tallying, other.info[1]) == (sketch.starved, sketch.tallying, 1)
        more = rng.normal(size=4000)
        for each in (sketch, other):
            each.add(more, np.ones(4000, dtype=np.int64))
        np.testing.assert_array_equal(sketch.result()[0], other.result()[0])


# ---------------------------------------------------------------- several tables as one


def test_a_stack_reads_as_one_table() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=50), "t": rng.choice(["x", "y", None], 50)})
    sizes = [0, 20, 1, 0, 29, 0]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    pieces = [read_table(X.iloc[low:high]) for low, high in itertools.pairwise(ends)]
    stack, whole = StackedTable(pieces, list(range(6))), read_table(X)
    texts = Categories(whole.levels(1))
    assert stack.levels(1).tolist() == texts.levels.tolist()
    assert stack.category_columns() == [1]
    for low, high in ((0, 50), (0, 20), (19, 22), (20, 21), (45, 50), (7, 7)):
        np.testing.assert_array_equal(stack.numbers(low, high, [0]), whole.numbers(low, high, [0]))
        np.testing.assert_array_equal(stack.codes(low, high, 1, texts), whole.codes(low, high, 1, texts))
    assert stack.row_name(0) == "row 0 of partition 1"
    assert stack.row_name(20) == "row 0 of partition 2"
    assert stack.row_name(49) == "row 28 of partition 4"
