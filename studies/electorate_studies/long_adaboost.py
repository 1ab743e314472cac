"""AdaBoost on a pool of stumps for a million rounds: the votes of all stumps are kept, and a round is a few calls.

The same rounds as `AdaBoostClassifier(Pool())`, which stores every voter and its history; here only the errors on
other rows after given rounds are kept. Weights are rounded to integers, so that ties are exact and the first stump of
equals is used, as there.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import Pool, QuadBoostClassifier, kernels
from electorate import exact as special
from electorate.exact import UNITS, Floats
from electorate.training.quad_path import PoolProblem

Labels = NDArray[np.int64]


def staged_errors(train: tuple[Floats, Labels], test: tuple[Floats, Labels], rounds: Sequence[int]) -> Floats:
    """The test error after each of the given rounds, in order.

    Training ends with a perfect stump, or if none is better than chance; later errors are the last one.
    """
    pool = PoolProblem(QuadBoostClassifier(Pool(), n_jobs=1), (*train, None), (*test, None)).pool
    assert pool.validation is not None
    numbers = range(pool.n_voters)
    right = np.array([pool.columns.column(number) for number in numbers]) * pool.rows.target(None) > 0
    also = np.array([pool.validation_outputs(number) for number in numbers]) * pool.validation.target(None) > 0
    wanted = np.asarray(rounds, dtype=np.int64)
    counts = np.full(len(wanted), -1, dtype=np.int64)
    last = _rounds(right, also, UNITS, wanted, counts)
    return np.where(counts < 0, last, counts) / len(test[1])


def _rounds(right: Any, also: Any, units: float, wanted: Any, counts: Any) -> Any:
    """counts[k] = the errors on the other rows after wanted[k] rounds; returns those after the last round.

    right[stump, row], also[stump, other row]: whether a stump is right. Its complement has the opposite edge.
    """
    bits = np.ascontiguousarray(np.packbits(right, axis=1, bitorder="little").T)
    margin, other = np.zeros(right.shape[1]), np.zeros(also.shape[1])
    weight = np.full(len(margin), int(units))
    place, errors = 0, len(other)
    for number in range(1, wanted[-1] + 1):
        total = int(weight.sum())
        weights_right = np.zeros((len(right), 2), dtype=np.int64)  # of a stump and of its complement
        here = np.zeros(len(right), dtype=np.int64)
        kernels.correlate_signs(bits, weight, here)
        weights_right[:, 0], weights_right[:, 1] = here, total - here
        best, complement = divmod(int(weights_right.argmax()), 2)
        best_right = int(weights_right[best, complement])
        wrong = total - best_right
        step = 0.5 if wrong == 0 else float(np.rint(0.5 * special.log(best_right / wrong) * units) / units)
        if step <= 0:
            break
        sign = -step if complement else step
        margin += np.where(right[best], sign, -sign)
        weight = np.rint(units * special.exp(margin.min() - margin)).astype(np.int64)
        other += np.where(also[best], sign, -sign)
        errors = int(np.count_nonzero(other < 0))
        if number == wanted[place]:
            counts[place] = errors
            place += 1
        if wrong == 0:
            break
    return errors
