"""What counts as an answer: a result, or an error of an allowed type that our code raised with words of its own."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sklearn

import electorate
from electorate.modelfile import ModelFormatError

# NotFittedError, ModelFormatError and scikit-learn's InvalidParameterError are ValueErrors.
ALLOWED = (ValueError, TypeError)
# A forged history may well overflow a bound; a fit on sound or odd rows may not warn.
warnings_count: ContextVar[bool] = ContextVar("warnings_count", default=True)
OURS = str(Path(electorate.__file__).parent)
SKLEARN = str(Path(sklearn.__file__).parent)


@dataclass(frozen=True)
class Finding:
    """what: its kind; where: the call; details: a traceback or a message; line: the last one of electorate's."""

    what: str
    where: str
    details: str
    line: str = ""


class Refused(Exception):  # noqa: N818
    """The call ended in an allowed error; what follows depends on it."""


def attempt(where: str, call: Callable[[], Any], *, may_lack: bool = False) -> Any:
    """Return what the call returns. Refused for an allowed error; a Finding is raised for any other.

    may_lack: the attribute may be missing, if the AttributeError has a message of ours.
    """
    allowed = (*ALLOWED, AttributeError) if may_lack else ALLOWED
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", RuntimeWarning)
            result = call()
    except (Refused, Found):
        raise
    except allowed as error:
        if raised_by_us(error):
            raise Refused(f"{type(error).__name__}: {error}") from None
        raise Found(Finding(f"raw {type(error).__name__}", where, shown(error), _line(error))) from None
    except (MemoryError, ImportError) as error:
        if raised_by_us(error):  # an estimate before the work, or a library that is not installed
            raise Refused(f"{type(error).__name__}: {error}") from None
        what = "memory" if isinstance(error, MemoryError) else type(error).__name__
        raise Found(Finding(what, where, shown(error), _line(error))) from None
    except Exception as error:
        raise Found(Finding(type(error).__name__, where, shown(error), _line(error))) from None
    ours = [one for one in caught if one.filename.startswith(OURS) and issubclass(one.category, RuntimeWarning)]
    if ours and warnings_count.get():
        line = f"{Path(ours[0].filename).relative_to(OURS)}:{ours[0].lineno}"
        raise Found(Finding("RuntimeWarning", where, str(ours[0].message), line))
    return result


class Found(Exception):  # noqa: N818
    """Carries a finding to whoever runs the case."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.what)
        self.finding = finding


def require(holds: bool, where: str, words: str) -> None:
    if not holds:
        raise Found(Finding("wrong answer", where, words))


def raised_by_us(error: BaseException) -> bool:
    """Return whether a raise statement of electorate, or scikit-learn's validation, made this error.

    A ModelFormatError repeats the message of the error it was made from, so that one must be ours, too.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return False
    line = linecache.getline(frames[-1].filename, frames[-1].lineno or 0).strip()
    by_validation = frames[-1].filename.startswith(SKLEARN)  # also what NumPy raises when it converts an array
    if not by_validation and not (frames[-1].filename.startswith(OURS) and line.startswith("raise")):
        return False
    source = error.__context__ if isinstance(error, ModelFormatError) else None
    return source is None or raised_by_us(source)


def shown(error: BaseException) -> str:
    source = error.__context__ if error.__suppress_context__ else None
    lines = traceback.format_exception(error) + (traceback.format_exception(source) if source is not None else [])
    return "".join(lines)[-4000:]


def _line(error: BaseException) -> str:
    """Return file and line of the innermost frame of electorate's; of the error it was made from, if there is one."""
    source = error.__context__ if isinstance(error, ModelFormatError) and error.__context__ else error
    frames = [frame for frame in traceback.extract_tb(source.__traceback__) if frame.filename.startswith(OURS)]
    return f"{Path(frames[-1].filename).relative_to(OURS)}:{frames[-1].lineno}" if frames else ""
