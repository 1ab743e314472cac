"""The types of arrays, the grid of votes, and exp, log and sums for what decides a fit: the same bits on every CPU.

NumPy's and the C library's differ between CPUs and versions. Where those of `math` raise, these return inf or NaN.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from electorate import kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
AnyArray = NDArray[Any]

UNITS = 2.0**40
LONGEST = 2.0**21  # what all votes of an ensemble may add up to: 2^61 units


def on_grid(value: Any) -> Any:
    """The nearest multiple of 2^-40 of a number, or of each number of an array."""
    if isinstance(value, float) and abs(value) < LONGEST:
        return round(value * UNITS) / UNITS
    return np.rint(value * UNITS) / UNITS


Value = TypeVar("Value", float, Floats)
LOG2 = float.fromhex("0x1.62e42fefa39efp-1")
LARGE = 1000  # bits of an integer


def exp(x: Value) -> Value:
    """Return the exponential of a number, or of each number of an array."""
    return _of_each(kernels.exp_of, x) if isinstance(x, np.ndarray) else kernels.exp(float(x))


def log(x: Value) -> Value:
    """Return the logarithm of a number, or of each of an array; of integers that are too large for floats too."""
    if isinstance(x, np.ndarray):
        return _of_each(kernels.log_of, x)
    if isinstance(x, int) and x.bit_length() > LARGE:
        excess = x.bit_length() - LARGE
        return kernels.log(float(x >> excess)) + excess * LOG2
    return kernels.log(float(x))


def _of_each(kernel: Any, x: Floats) -> Floats:
    x = np.ascontiguousarray(x, dtype=np.float64)
    out = np.empty_like(x)
    kernel(x.reshape(-1), out.reshape(-1))
    return out


def log2(x: float) -> float:
    return log(x) / LOG2


def log1p(x: Value) -> Value:
    """log(1 + x) of finite numbers, also where 1 + x is rounded: what was lost is a share of 1 + x."""
    whole = 1.0 + x
    most = np.maximum(whole, 2.0**-53) if isinstance(x, np.ndarray) else max(whole, 2.0**-53)
    return log(whole) + (x - (whole - 1.0)) / most


def softplus(x: Floats) -> Floats:
    """log(1 + exp(x)), without overflow."""
    return np.maximum(x, 0.0) + log1p(exp(-np.abs(x)))


def log_sum_exp(powers: Sequence[float]) -> float:
    """The logarithm of the sum of exp(power), without overflow."""
    most = max(powers)
    return most + log(math.fsum(exp(np.array(powers) - most).tolist())) if math.isfinite(most) else most


def expm1(x: float) -> float:
    """exp(x) - 1, also where x is small."""
    power = exp(x)
    if abs(power - 1.0) > 0.5:
        return power - 1.0
    return x if power == 1.0 else (power - 1.0) * (x / log(power))


def tanh(x: float) -> float:
    less = -expm1(-2.0 * abs(x))
    return math.copysign(less / (2.0 - less), x)


def atanh(x: float) -> float:
    """Return the inverse hyperbolic tangent of numbers between -1 and 1."""
    size = abs(x)
    return math.copysign(0.5 * log1p(2.0 * size / (1.0 - size)), x)


def ordered_sum(values: Floats, axis: int | None = None) -> Any:
    """The sum of all numbers, or along an axis, from the first to the last: np.sum promises no order."""
    if axis is None:
        values, axis = values.reshape(-1), 0
    if values.shape[axis] == 0:
        return values.sum(axis=axis)
    return np.add.accumulate(values, axis=axis).take(-1, axis=axis)
