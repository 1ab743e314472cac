"""exp and log in plain IEEE arithmetic: the twins of special.hpp, in NumPy."""

import numpy as np

LOG2_E = 1.4426950408889634
LN2, LN2_REST = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")


def exp(x):
    return float(_exp(np.float64(x)))


def log(x):
    return float(_log(np.float64(x)))


def log_total(sums, gains, spare):
    least = gains.min()
    terms = (sums.T + spare) * _exp(least - gains)
    return log(np.add.accumulate(terms.ravel())[-1]) - float(least)


def exp_of(x, out):
    out[:] = _exp(x)


def log_of(x, out):
    out[:] = _log(x)


def _exp(x):
    low, high = x < -745.2, x > 709.8
    inside = np.where(low | high | np.isnan(x), 0.0, x)
    k = np.rint(inside * LOG2_E)
    r = (inside - k * LN2) - k * LN2_REST
    square = r * r
    fourth = square * square
    value = (1 / 3628800 + r * (1 / 39916800)) + square * (1 / 479001600 + r * (1 / 6227020800))
    value = (1 / 720 + r * (1 / 5040)) + square * (1 / 40320 + r * (1 / 362880)) + fourth * value
    value = (1 / 2 + r * (1 / 6)) + square * (1 / 24 + r * (1 / 120)) + fourth * value
    value = 1.0 + (r + square * value)
    half = np.rint(k * 0.5)
    with np.errstate(over="ignore", under="ignore"):
        value = value * np.ldexp(1.0, half.astype(np.int64)) * np.ldexp(1.0, (k - half).astype(np.int64))
    return np.select([low, high, np.isnan(x)], [0.0, np.inf, np.nan], value)


def _log(x):
    positive = (x > 0) & (x < np.inf)
    share, k = np.frexp(np.where(positive, x, 1.0))
    below = share < SQRT_HALF
    f, k = np.where(below, 2.0 * share, share) - 1.0, (k - below).astype(np.float64)
    s = f / (2.0 + f)
    square = s * s
    fourth = square * square
    eighth = fourth * fourth
    series = (2 / 11 + square * (2 / 13)) + fourth * (2 / 15 + square * (2 / 17))
    series = series + eighth * (2 / 19 + square * (2 / 21))
    series = square * ((2 / 3 + square * (2 / 5)) + fourth * (2 / 7 + square * (2 / 9)) + eighth * series)
    half = 0.5 * f * f
    value = k * LN2 - ((half - (s * (half + series) + k * LN2_REST)) - f)
    return np.select([positive, x == np.inf, x == 0.0], [value, np.inf, -np.inf], np.nan)
