"""How a kernel is compiled: without the GIL, lazily, from the disk cache where there is one.

Where no cache folder is writable (read-only install, no home) Numba raises; we then compile uncached and log it once.
The same where a cache file cannot be read or written (damaged, disk full). We never create a cache folder elsewhere:
cache files are pickles and belong beside the code.
"""

import hashlib
import inspect
import logging
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
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
    stored = getattr(compiled, "_cache", None)
    for name in ("load_overload", "save_overload") if stored is not None else ():
        setattr(stored, name, _forgiving(getattr(stored, name)))
    if hasattr(stored, "_cache_file"):  # by default an edit of a file whose kernels are called would go unnoticed
        stored._cache_file._source_stamp = "".join(sorted(source_hashes(inspect.getfile(function))))
    return compiled


@cache
def source_hashes(path: str) -> frozenset[str]:
    """Of a file of kernels, and of those that it imports kernels from."""
    text = Path(path).read_text(encoding="utf-8")
    called = re.findall(r"^from electorate\.kernels\.(\w+) import", text, flags=re.MULTILINE)
    mine = {hashlib.sha256(text.encode()).hexdigest()}
    return frozenset(mine.union(*(source_hashes(str(Path(path).with_name(f"{name}.py"))) for name in called)))


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
