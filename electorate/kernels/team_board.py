"""What stands where on the board of a team of threads; without Numba, so that callers can make one."""

import numpy as np
from numpy.typing import NDArray

TICKET, TASK, ARGUMENTS, DONE, FAILED, CLOSED = 0, 16, 32, 48, 64, 80  # a cache line and more apart
SIZE = 96


def new_board() -> NDArray[np.int64]:
    """A board without a job."""
    return np.zeros(SIZE, dtype=np.int64)
