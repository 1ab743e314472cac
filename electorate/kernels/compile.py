"""How a kernel is compiled: without the GIL, lazily, from the disk cache where there is one.

Where no cache folder is writable (read-only install, no home) Numba raises; we then compile uncached and log it once.
The same where a cache file cannot be read or written (damaged, disk full). We never create a cache folder elsewhere:
cache files are pickles and belong beside the code.
"""

import logging
from collections.abc import Callable
from typing import Any

from numba import njit

_log = logging.getLogger("electorate")
_logged = False


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for arrays and numbers. x / 0 is infinite, as in NumPy, so that loops need no check."""
    try:
        compiled: Callable[..., Any] = njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError as error:
        _log_once(error)
        return njit(nogil=True, error_model="numpy")(function)
    cache = getattr(compiled, "_cache", None)
    for name in ("load_overload", "save_overload") if cache is not None else ():
        setattr(cache, name, _forgiving(getattr(cache, name)))
    return compiled


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a part of other kernels of the same file into them, so that dividing a long loop costs nothing."""
    compiled: Callable[..., Any] = njit(nogil=True, error_model="numpy", inline="always")(function)
    return compiled


def _forgiving(access: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a read or write of the cache: a failure counts as an empty cache."""

    def attempt(*arguments: Any) -> Any:
        try:
            return access(*arguments)
        except Exception as error:
            _log_once(error)
            return None

    return attempt


def _log_once(error: Exception) -> None:
    global _logged
    if not _logged:
        _logged = True
        _log.warning("kernels are compiled anew in this process, their cache cannot be used: %s", error)
