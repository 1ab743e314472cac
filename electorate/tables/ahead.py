"""One part ahead: a thread reads the next parts while the caller works on this one."""

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

PARTS = 2  # waiting at most: memory stays that of a few parts


def ahead(parts: Iterator[Any]) -> Iterator[Any]:
    """The same parts in the same order; an error comes where it would have come."""
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(PARTS)
    stopped = threading.Event()

    def read() -> None:
        try:
            for part in parts:
                _put(ready, ("part", part), stopped)
                if stopped.is_set():
                    return
            _put(ready, ("end", None), stopped)
        except BaseException as error:  # it is raised where the parts are used
            _put(ready, ("error", error), stopped)

    threading.Thread(target=read, daemon=True).start()
    try:
        while True:
            kind, value = ready.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stopped.set()


def _put(ready: "queue.Queue[tuple[str, Any]]", item: tuple[str, Any], stopped: threading.Event) -> None:
    while not stopped.is_set():
        with suppress(queue.Full):
            ready.put(item, timeout=0.1)
            return
