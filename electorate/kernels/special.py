"""exp and log in plain IEEE arithmetic: the same bits on every CPU, at most 1 ulp or so from the true value.

Only +, -, *, / and operations on bits, none of them fused, in one fixed order; loops over them have no branches.
"""

import numpy as np

from electorate.kernels.compile import kernel

LOG2_E = 1.4426950408889634
LN2 = float.fromhex("0x1.62e42feep-1")  # the leading bits of ln 2: its products with exponents are exact
LN2_REST = float.fromhex("0x1.a39ef35793c76p-33")
LOWEST, HIGHEST = -745.2, 709.8  # exp is 0 below, infinite above
WHOLE = 1.5 * 2.0**52  # after adding it, a number is whole and its last bits are an integer
BIASED = WHOLE + 1023.0  # the same, with the bias of an exponent
EXPONENT_BITS = np.uint64(52)
MANTISSA = np.uint64(2**52 - 1)
SQRT_HALF = np.uint64(0x3FE6A09E667F3BCD)  # the bits of the square root of 1/2
TO_SQRT_HALF = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
FROM_INTEGER = np.uint64(0x4330000000000000)  # the bits of 2^52
SMALLEST_NORMAL = 2.0**-1022


@kernel
def exp(x):
    """x = k ln 2 + r, and exp(r) = 1 + r + r^2 (1/2! + r/3! + ... + r^11/13!)."""
    inside = 0.0 if x < LOWEST or x > HIGHEST else x
    k = (inside * LOG2_E + WHOLE) - WHOLE
    r = (inside - k * LN2) - k * LN2_REST
    square = r * r
    fourth = square * square
    low = (1 / 2 + r * (1 / 6)) + square * (1 / 24 + r * (1 / 120))
    middle = (1 / 720 + r * (1 / 5040)) + square * (1 / 40320 + r * (1 / 362880))
    high = (1 / 3628800 + r * (1 / 39916800)) + square * (1 / 479001600 + r * (1 / 6227020800))
    value = 1.0 + (r + square * (low + fourth * (middle + fourth * high)))
    half = k * 0.5 + BIASED  # 2^k in two factors, so that neither overflows and only the last product is rounded
    rest = (k - (half - BIASED)) + BIASED
    value *= np.uint64(np.float64(half).view(np.uint64) << EXPONENT_BITS).view(np.float64)
    value *= np.uint64(np.float64(rest).view(np.uint64) << EXPONENT_BITS).view(np.float64)
    return 0.0 if x < LOWEST else np.inf if x > HIGHEST else value


@kernel
def log(x):
    """x = 2^k (1 + f), and with s = f / (2 + f), log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ... + 2 s^21 / 21."""
    subnormal = x < SMALLEST_NORMAL
    bits = np.float64(x * 2.0**54 if subnormal else x).view(np.uint64) + TO_SQRT_HALF
    k = np.uint64(bits >> EXPONENT_BITS | FROM_INTEGER).view(np.float64) - (2.0**52 + (1077.0 if subnormal else 1023.0))
    f = np.uint64((bits & MANTISSA) + SQRT_HALF).view(np.float64) - 1.0  # 1 + f is from sqrt(1/2) to sqrt(2)
    s = f / (2.0 + f)
    square = s * s
    fourth = square * square
    eighth = fourth * fourth
    low = (2 / 3 + square * (2 / 5)) + fourth * (2 / 7 + square * (2 / 9))
    high = (2 / 11 + square * (2 / 13)) + fourth * (2 / 15 + square * (2 / 17))
    series = square * (low + eighth * (high + eighth * (2 / 19 + square * (2 / 21))))
    half = 0.5 * f * f
    value = k * LN2 - ((half - (s * (half + series) + k * LN2_REST)) - f)  # 2 s = f - s f, which is more exact
    return value if 0.0 < x < np.inf else -np.inf if x == 0.0 else x if x > 0.0 else np.nan


@kernel
def exp_of(x, out):
    """out[i] = exp(x[i]); both may be the same array."""
    for i in range(out.shape[0]):
        out[i] = exp(x[i])


@kernel
def log_of(x, out):
    """out[i] = log(x[i]); both may be the same array."""
    for i in range(out.shape[0]):
        out[i] = log(x[i])
