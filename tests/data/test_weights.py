"""Sample weights: whole where some unit divides them all, real otherwise; the same bits after scaling by 2^k."""

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.data.weights import MOST_BITS, MOST_TIMES, Weights, read_weights

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
LARGEST = float(np.finfo(np.float64).max)
reals = st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(any)


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def shown(weights: Weights) -> tuple[list[int], list[float] | None, int]:
    """All but the sum as given, which scales."""
    return weights.times.tolist(), None if weights.real is None else weights.real.tolist(), weights.bits


@few_cases
@given(
    times=st.lists(st.integers(0, 1000), min_size=1, max_size=30).filter(any),
    exponent=st.integers(-1074, 1013),
)
def test_integers_times_a_power_of_two_are_whole(times: list[int], exponent: int) -> None:
    weights = read_weights(np.ldexp(np.array(times, dtype=np.float64), exponent))
    common = 2 ** min((k & -k).bit_length() - 1 for k in times if k)
    assert weights.real is None
    assert weights.unit == 2.0**weights.bits
    assert weights.times.dtype == np.int64
    scale = weights.times.sum() / sum(times)
    assert weights.times.tolist() == [k * scale for k in times]
    assert scale in (1 / common, 1 / min(k for k in times if k))
    assert weights.whole is weights.times


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 0.7, 1e-300, 3e300, 5e-324])
def test_multiples_of_the_smallest_weight_are_whole(unit: float) -> None:
    times = np.array([3, 1, 0, 2, 1])
    weights = read_weights(times * unit)
    assert weights.real is None
    assert weights.times.tolist() == times.tolist()


def test_one_row_of_weight() -> None:
    weights = read_weights(np.array([0.0, 0.1234, 0.0]))
    assert shown(weights) == ([0, 1, 0], None, MOST_BITS)
    assert weights.given == 0.1234


def test_other_weights_are_real() -> None:
    given = np.array([0.3, 0.0, 0.1, 0.7, 1e-12])
    weights = read_weights(given)
    assert weights.times.tolist() == [1, 0, 1, 1, 1]
    assert weights.real is not None
    assert weights.real.tolist() == given.tolist()  # the power of two above 0.7 is 1
    assert weights.unit == 1.0
    assert weights.whole.tolist() == [round(0.3 * 2**30), 0, round(0.1 * 2**30), round(0.7 * 2**30), 1]
    assert read_weights(8 * given).real.tolist() == given.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("large", [2.0**30 + 1, 2.0**31, 1e300])
def test_too_many_repetitions_are_real(large: float) -> None:
    weights = read_weights(np.array([1.0, large]))
    assert weights.times.tolist() == [1, 1]
    assert weights.real is not None
    assert 0.5 <= weights.real[1] <= 1
    assert weights.whole.min() == 1


def test_the_most_repetitions() -> None:
    assert read_weights(np.array([1.0, MOST_TIMES - 1.0])).real is None
    assert read_weights(np.array([1.0, 1.0, MOST_TIMES - 1.0])).real is not None


@pytest.mark.parametrize(
    ("given", "times"),
    [
        ([5e-324, 1e-323, 0.0], [1, 2, 0]),
        ([2.5e-310, 2 * 2.5e-310], [1, 2]),
        ([1e300, 2e300], [1, 2]),
        ([LARGEST, LARGEST], [1, 1]),
        ([5e-324, 1.0], None),
        ([1e-300, 1.0, 1e300], None),
        ([LARGEST, 5e-324], None),
    ],
)
def test_the_smallest_and_the_largest(given: list[float], times: list[int] | None) -> None:
    weights = read_weights(np.array(given))
    assert (None if weights.real is not None else weights.times.tolist()) == times
    assert weights.whole.min() == (1 if min(given) > 0 else 0)
    assert weights.real is None or np.all((weights.real >= 0) & (weights.real <= 1))
    assert weights.given > 0


@few_cases
@given(given=reals, exponent=st.integers(-900, 900))
def test_scaling_by_a_power_of_two_changes_no_bit(given: list[float], exponent: int) -> None:
    weight = np.array(given)
    weight[weight < 1e-30] = 0.0  # what would be lost among the subnormal numbers
    if not weight.any():
        weight[0] = 0.3
    weights, scaled = read_weights(weight), read_weights(np.ldexp(weight, exponent))
    assert shown(weights) == shown(scaled)
    assert scaled.given == math.ldexp(weights.given, exponent)


@few_cases
@given(given=reals, seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_show(given: list[float], seed: int) -> None:
    weight = np.array(given)
    order = np.random.default_rng(seed).permutation(len(weight))
    weights, permuted = read_weights(weight), read_weights(weight[order])
    assert permuted.times.tolist() == weights.times[order].tolist()
    assert (permuted.bits, permuted.given) == (weights.bits, weights.given)
    assert weights.given == pytest.approx(math.fsum(given), rel=1e-9)


@few_cases
@given(given=reals)
def test_rows_without_weight_do_not_show(given: list[float]) -> None:
    weight = np.array(given)
    weights, fewer = read_weights(weight), read_weights(weight[weight > 0])
    assert fewer.times.tolist() == weights.times[weight > 0].tolist()
    assert (fewer.bits, fewer.given) == (weights.bits, weights.given)


@few_cases
@given(times=st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(lambda times: 1 in times))
def test_weight_k_is_k_rows(times: list[int]) -> None:
    weights, repeated = read_weights(np.array(times, dtype=np.float64)), read_weights(np.ones(sum(times)))
    assert weights.times.tolist() == times
    assert (repeated.bits, repeated.unit, repeated.given) == (weights.bits, weights.unit, weights.given)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.float32, np.bool_])
def test_weights_of_other_types(kind: type) -> None:
    given = np.array([1, 0, 3, 2]).astype(kind)
    assert shown(read_weights(given)) == (given.astype(np.int64).tolist(), None, MOST_BITS)


def test_huge_integers() -> None:
    weights = read_weights(np.array([2**62, 2**62, 2**61]))
    assert weights.times.tolist() == [2, 2, 1]
    assert weights.given == 2.0**62 * 2.5


@pytest.mark.parametrize("rows", [1, 2, 3, 2**18, 2**18 + 1, 2**20])
def test_sums_fit_62_bits(rows: int) -> None:
    for weights in (read_weights(np.ones(rows)), read_weights(np.linspace(0.1, 1, rows) ** 3)):
        assert weights.bits <= MOST_BITS
        assert int(weights.times.sum()) << weights.bits <= 2**62
        assert weights.bits == MOST_BITS or int(weights.times.sum()) << (weights.bits + 1) > 2**62


@pytest.mark.parametrize("bad", [-1.0, -5e-324, np.nan, np.inf, -np.inf])
def test_bad_weights_are_refused_by_row(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"`sample_weight`.*row 3 has {bad!r}"):
        read_weights(np.array([1.0, 0.0, 2.0, bad, bad]))


@pytest.mark.parametrize("none", [np.zeros(3), np.empty(0), -np.zeros(2)])
def test_no_weight_at_all_is_refused(none: np.ndarray) -> None:
    with pytest.raises(ValueError, match="weight is zero for every row"):
        read_weights(none)
