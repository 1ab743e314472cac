"""How a kernel is compiled: without the GIL, lazily, from the disk cache where there is one.

Where no cache folder is writable (read-only install, no home) Numba refuses to decorate; we then compile
uncached and say so once. The same where a cache file cannot be read or written (damaged, disk full). A cache folder
is never made up: cache files are pickles and belong beside the code.
"""

import logging
from collections.abc import Callable
from typing import Any

from numba import njit

_log = logging.getLogger("electorate")
_told = False


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for arrays and numbers. x / 0 is infinite, as in NumPy: no loop then asks before dividing."""
    try:
        compiled: Callable[..., Any] = njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError as error:
        _tell_once(error)
        return njit(nogil=True, error_model="numpy")(function)
    cache = getattr(compiled, "_cache", None)
    for name in ("load_overload", "save_overload") if cache is not None else ():
        setattr(cache, name, _forgiving(getattr(cache, name)))
    return compiled


def _forgiving(access: Callable[..., Any]) -> Callable[..., Any]:
    """Reading or writing the cache, where failure means that there is none."""

    def attempt(*arguments: Any) -> Any:
        try:
            return access(*arguments)
        except Exception as error:
            _tell_once(error)
            return None

    return attempt


def _tell_once(error: Exception) -> None:
    global _told
    if not _told:
        _told = True
        _log.warning("kernels are compiled anew in this process, their cache cannot be used: %s", error)
