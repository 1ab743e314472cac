"""Scores of splits of two labels, and a check without divisions of which splits can have a better one."""

import numpy as np

from electorate.kernels.compile import kernel


@kernel
def purity_of_two(criterion, here, there, also_here, also_there):
    """`purity` for two labels: weights of the first on both sides, then of the second."""
    if criterion == 2:
        return -2.0 * (np.sqrt(here * also_here) + np.sqrt(there * also_there))
    # a side without weight scores 0; any other has at least 1
    left = (here * here + also_here * also_here) / max(here + also_here, 1.0)
    right = there * there + also_there * also_there
    return left + right / max(there + also_there, 1.0)


@kernel
def gain_to_beat(score, one, other):
    """What `may_beat` compares with for this score, less 1e-13 of the weight: far more than all errors of rounding."""
    weight = one + other
    return (score - (one * one + other * other) / weight - 1e-13 * weight) * weight / 2


@kernel
def may_beat(a, b, one, other, to_beat):
    """Whether the Gini score of a cut may be above another one, without a division; see gain_to_beat.

    a, b: the weights of two labels on the left; one, other: on both sides. With c and d on the right, the score is that
    of no cut, plus 2 (a d - b c)^2 / ((a + b + c + d) (a + b) (c + d)).
    """
    apart, left = a * other - b * one, a + b
    return apart * apart > to_beat * (left * (one + other - left))
