"""The installed command `electorate`, which `python -m electorate` is too.

It imports little before it handles Ctrl-C.
"""

import os
import signal
from types import FrameType


def entry() -> None:
    """Run the command, and exit."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, _interrupt)
    from electorate.cli import entry as run

    run()


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; end at once while a module is imported, where libraries make other errors of it."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"\ninterrupted\n")
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    entry()
