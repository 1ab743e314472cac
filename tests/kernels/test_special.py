"""Our own exp and log: equal to their twins bit for bit, near the true values, monotone, exact where it matters."""

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from electorate import exact as special
from electorate import kernels

fast: Any = kernels
reference = import_module("electorate.kernels.reference.special")
TWINS = [fast, reference]
SPECIAL = np.concatenate(
    [
        [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.0**-1022, 1e-310, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300],
        [np.finfo(float).max, math.sqrt(0.5), np.nextafter(math.sqrt(0.5), 0), math.sqrt(2), 1 - 2**-53, 1 + 2**-52],
        [709.78, 709.79, 709.8, 710, -708.5, -745.13, -745.14, -745.2, -745.2000000000001, -746.0, -1000.0],
    ]
)
POINTS = {
    "exp": [(-1000.0, 0.0), (-40.0, 0.0), (-1.0, 1.0), (-745.0, 709.7), (-1e-8, 1e-8)],
    "log": [(0.0, 4.0), (0.5, 2.0), (1 - 1e-8, 1 + 1e-8), (0.0, 1e300), (0.0, 2.0**-1020)],
}


def values(twin, name: str, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    apply(twin, name, x, out)
    return out


def apply(twin, name: str, x: np.ndarray, out: np.ndarray) -> None:
    if name == "exp":
        twin.exp_of(x, out)
    else:
        twin.log_of(x, out)


def some_points(name: str, count: int, seed: int = 0) -> np.ndarray:
    """Evenly spread over ranges that matter, and over all bit patterns of numbers that are not negative."""
    rng = np.random.default_rng(seed)
    ranges = [rng.uniform(low, high, count // 6) for low, high in POINTS[name]]
    return np.concatenate([*ranges, rng.integers(0, 0x7FF0 << 48, count // 6).view(np.float64)])


def assert_same_bits(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def true_values(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (np.exp if name == "exp" else np.log)(x.astype(np.longdouble))


def worst_error(name: str, x: np.ndarray) -> float:
    """In units of the last place of the true value."""
    found, true = values(fast, name, x), true_values(name, x)
    usual = np.isfinite(found) & np.isfinite(true) & (found != 0)
    _, exponent = np.frexp(true[usual])
    ulp = np.ldexp(1.0, np.maximum(exponent - 53, -1074))
    return float(np.max(np.abs(found[usual] - true[usual]) / ulp))


@pytest.mark.parametrize("name", ["exp", "log"])
def test_twins_have_the_same_bits(name: str) -> None:
    x = np.concatenate([some_points(name, 300_000), -some_points(name, 6000), SPECIAL])
    assert_same_bits(*[values(twin, name, x) for twin in TWINS])
    assert_same_bits(*[np.array([getattr(twin, name)(number) for number in SPECIAL]) for twin in TWINS])
    few = np.concatenate([x[::997], SPECIAL])
    for twin in TWINS:
        assert_same_bits(np.array([getattr(twin, name)(number) for number in few.tolist()]), values(twin, name, few))


def test_the_result_may_replace_the_argument() -> None:
    for twin in TWINS:
        for name in ("exp", "log"):
            x = np.linspace(0.5, 3.0, 101)
            want = values(twin, name, x)
            apply(twin, name, x, x)
            assert_same_bits(x, want)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long double is no more precise here")
@pytest.mark.parametrize("name", ["exp", "log"])
def test_error(name: str) -> None:
    assert worst_error(name, some_points(name, 300_000)) < 1.5


@pytest.mark.slow
@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long double is no more precise here")
@pytest.mark.parametrize("name", ["exp", "log"])
def test_error_on_ten_million_points(name: str) -> None:
    errors = [worst_error(name, some_points(name, 1_000_000, seed)) for seed in range(1, 11)]
    print(f"{name}: at most {max(errors):.3f} ulp")
    assert max(errors) < 1.5


@pytest.mark.parametrize("name", ["exp", "log"])
def test_monotone(name: str) -> None:
    x = np.sort(some_points(name, 300_000))
    # neighbours, where the reduction changes from one power of two to the next
    breaks = (np.arange(-1070, 1020) + 0.5) * math.log(2) if name == "exp" else 2.0 ** (np.arange(-1020, 1020) + 0.5)
    near = breaks[:, None] + np.spacing(np.abs(breaks))[:, None] * np.arange(-40, 41)
    for points in (x, np.sort(near.ravel())):
        found = values(fast, name, points)
        assert bool(np.all(found[1:] >= found[:-1]))


def test_log_total() -> None:
    rng = np.random.default_rng(2)
    for n_leaves, n_labels, far in [(1, 2, 0.0), (2, 2, 1.0), (70, 26, 30.0), (3, 2, 2000.0)]:
        sums, gains = rng.integers(0, 2**40, (n_leaves, n_labels)), far * rng.normal(size=(n_labels, n_leaves))
        found = [twin.log_total(sums, gains, 0.5) for twin in TWINS]
        assert found[0] == found[1]
        true = np.logaddexp.reduce((np.log(sums.T + 0.5) - gains).ravel())
        assert math.isclose(found[0], true, rel_tol=1e-13)


def test_special_values() -> None:
    for twin in TWINS:
        assert [twin.exp(x) for x in (0.0, -0.0, -math.inf, math.inf, -746.0, 710.0)] == [
            1,
            1,
            0,
            math.inf,
            0,
            math.inf,
        ]
        assert [twin.log(x) for x in (1.0, 0.0, -0.0, math.inf)] == [0, -math.inf, -math.inf, math.inf]
        assert not math.copysign(1.0, twin.log(1.0)) < 0
        assert all(math.isnan(x) for x in (twin.exp(math.nan), twin.log(math.nan), twin.log(-1.0), twin.log(-math.inf)))
        assert twin.exp(-745.0) == 5e-324
        assert math.isclose(twin.log(5e-324), -744.4400719213812, rel_tol=1e-15)


# ---------------------------------------------------------------- the functions of the package


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_numbers_and_arrays_get_the_same_bits(name: str) -> None:
    function, x = getattr(special, name), np.random.default_rng(3).uniform(-1, 4, (40, 50))
    x = np.abs(x) if name == "log" else x
    found = function(x)
    frozen = x.copy()
    frozen.flags.writeable = False
    for same in (
        np.array([[function(number) for number in row] for row in x.tolist()]),
        function(x.T).T,
        function(frozen),
    ):
        assert_same_bits(same, found)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long double is no more precise here")
@pytest.mark.parametrize("name", ["log1p", "expm1", "tanh", "atanh"])
def test_relatives_are_near_the_true_values(name: str) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate(
        [rng.uniform(-1, 1, 2000), 10.0 ** rng.uniform(-20, 0, 1000), -(10.0 ** rng.uniform(-20, 0, 1000))]
    )
    true = {"atanh": np.arctanh}.get(name, getattr(np, name))(x.astype(np.longdouble)).astype(np.float64)
    found = np.array([getattr(special, name)(number) for number in x.tolist()])
    assert np.max(np.abs(found - true) / np.spacing(np.abs(true))) <= 3


def test_relatives_at_their_ends() -> None:
    assert [special.tanh(x) for x in (0.0, 40.0, -1e300)] == [0, 1, -1]
    assert special.log1p(-1.0) == special.log1p(np.array([-1.0]))[0] == -math.inf
    assert special.expm1(-1e9) == -1
    assert special.softplus(np.array([-np.inf, -1e4, 1e4, np.inf])).tolist() == [0, 0, 1e4, math.inf]
    assert special.softplus(np.zeros(1))[0] == special.LOG2 == math.log(2)
    assert special.log_sum_exp([-math.inf, -math.inf]) == -math.inf
    assert special.log_sum_exp([3.0, math.inf]) == math.inf
    assert math.isclose(special.log_sum_exp([1e4, 1e4 - 1, -math.inf]), 1e4 + math.log1p(math.exp(-1)), rel_tol=1e-15)
    assert math.isclose(special.log(10**400), 400 * math.log(10), rel_tol=1e-15)


def test_sums_in_order() -> None:
    numbers = np.random.default_rng(5).normal(size=(7, 1000)) * 10.0 ** np.arange(-3, 4)[:, None]
    in_order = [0.0] * 7
    for row, column in np.ndindex(numbers.shape):
        in_order[row] += numbers[row, column]
    assert special.ordered_sum(numbers, axis=1).tolist() == in_order
    assert special.ordered_sum(np.asfortranarray(numbers), axis=1).tolist() == in_order
    assert special.ordered_sum(numbers[2]) == in_order[2]
    assert special.ordered_sum(numbers[:, :0], axis=1).tolist() == [0] * 7
    assert special.ordered_sum(numbers[:0]) == 0
