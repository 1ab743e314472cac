"""AdaBoost on a pool of stumps for a million rounds: the votes of all stumps are kept, and a round is a few loops.

The same rounds as `AdaBoostClassifier(Pool())`, which stores every voter and its history; here only the errors on
other rows after given rounds are kept. Weights are rounded to integers, so that ties are exact and the first stump of
equals is used, as there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from electorate import Pool, QuadBoostClassifier
from electorate.grid import UNITS
from electorate.studies.request import Floats
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
    last = _run(right, also, UNITS, wanted, counts)
    return np.where(counts < 0, last, counts) / len(test[1])


def _rounds(right: Any, also: Any, units: float, wanted: Any, counts: Any) -> Any:
    """counts[k] = the errors on the other rows after wanted[k] rounds; returns those after the last round.

    right[stump, row], also[stump, other row]: whether a stump is right. Its complement has the opposite edge.
    """
    n_stumps, n = right.shape
    margin, other = np.zeros(n), np.zeros(also.shape[1])
    weight = np.full(n, np.int64(units))
    place = 0
    errors = also.shape[1]
    for number in range(1, wanted[-1] + 1):
        total = np.int64(0)
        for i in range(n):
            total += weight[i]
        best, best_right, sign = -1, np.int64(-1), 1.0
        for j in range(n_stumps):
            mine = right[j]
            here = np.int64(0)
            for i in range(n):
                here += weight[i] * mine[i]
            if here > best_right:
                best, best_right, sign = j, here, 1.0
            if total - here > best_right:
                best, best_right, sign = j, total - here, -1.0
        wrong = total - best_right
        step = 0.5 if wrong == 0 else np.rint(0.5 * np.log(best_right / wrong) * units) / units
        if step <= 0:
            break
        least = np.inf
        for i in range(n):
            margin[i] += sign * step if right[best, i] else -sign * step
            least = min(least, margin[i])
        for i in range(n):
            weight[i] = np.int64(np.rint(units * np.exp(least - margin[i])))
        errors = 0
        for i in range(other.shape[0]):
            other[i] += sign * step if also[best, i] else -sign * step
            errors += other[i] < 0
        if number == wanted[place]:
            counts[place] = errors
            place += 1
        if wrong == 0:
            break
    return errors


_run: Callable[..., Any] = njit(nogil=True, error_model="numpy")(_rounds)
