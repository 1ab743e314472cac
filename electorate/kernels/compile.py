"""How a kernel is compiled: without the GIL, lazily, from the disk cache where there is one.

Where no cache folder is writable (read-only install, no home) Numba refuses to decorate; we then compile
uncached and say so once. A cache folder is never made up: cache files are pickles and belong beside the code.
"""

import logging
from collections.abc import Callable
from typing import Any

from numba import njit

_log = logging.getLogger("electorate")
_told = False


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for arrays and numbers."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError as error:
        _tell_once(error)
        return njit(nogil=True)(function)


def _tell_once(error: RuntimeError) -> None:
    global _told
    if not _told:
        _log.warning("kernels are compiled anew in this process, no cache folder is writable: %s", error)
        _told = True
