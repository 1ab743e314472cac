"""Live progress of a comparison: cells done, the one just finished, the best so far, time left. To stderr.

On a terminal one line is rewritten; elsewhere a line is written now and then.
"""

import sys
import time
from typing import TextIO

import numpy as np

from electorate.comparison.cells import Cell, Protocol, Tested
from electorate.comparison.journal import Result
from electorate.escape import literal

SELDOM = 10.0  # seconds between lines where nothing can be rewritten
OFTEN = 0.1


class Silent:
    """Nobody looks."""

    def begin(self, protocol: Protocol, n_cells: int, finished: dict[Cell, Result]) -> None:
        pass

    def done(self, cell: Cell, result: Result | None) -> None:
        pass

    def end(self) -> None:
        pass


class Progress(Silent):
    def __init__(self, file: TextIO | None = None) -> None:
        self.file = file or sys.stderr
        self._rewrites = bool(getattr(self.file, "isatty", lambda: False)())
        self._width = 0
        self._shown = self._started = 0.0

    def begin(self, protocol: Protocol, n_cells: int, finished: dict[Cell, Result]) -> None:
        """finished: what an earlier run has left."""
        self.protocol, self.n_cells, self.n_done, self.n_before = protocol, n_cells, len(finished), len(finished)
        self._losses: dict[tuple[int, int], list[float]] = {}
        for cell, result in finished.items():
            self._learn(cell, result)
        self._started = self._shown = time.monotonic()
        if finished:
            self._line(f"going on: {len(finished)} of {n_cells} cells are done{self._best()}")

    def _learn(self, cell: Cell, result: Result | None) -> None:
        if isinstance(result, Tested):
            key = (cell.algorithm, cell.setting)
            self._losses.setdefault(key, []).append(float(np.mean(result.losses)))

    def done(self, cell: Cell, result: Result | None) -> None:
        self.n_done += 1
        self._learn(cell, result)
        now = time.monotonic()
        if now - self._shown >= (OFTEN if self._rewrites else SELDOM):
            self._shown = now
            self._show(self._text(cell, now))

    def end(self) -> None:
        if self._rewrites and self._width:
            self._show("")
            self.file.write("\r")
            self.file.flush()

    def _text(self, cell: Cell, now: float) -> str:
        name = literal(self.protocol.algorithms[cell.algorithm].name, 30)
        left = (now - self._started) / (self.n_done - self.n_before) * (self.n_cells - self.n_done)
        where = f"fold {cell.fold + 1}/{self.protocol.n_folds}"
        return f"[{self.n_done}/{self.n_cells}] {name}, {where}{self._best()}; about {left:.0f} s left"

    def _best(self) -> str:
        if not self._losses:
            return ""
        (a, _), losses = min(self._losses.items(), key=lambda item: float(np.mean(item[1])))
        return f"; best so far {literal(self.protocol.algorithms[a].name, 30)} {float(np.mean(losses)):.4f}"

    def _show(self, text: str) -> None:
        if not self._rewrites:
            self._line(text)
            return
        self.file.write("\r" + text.ljust(self._width))
        self._width = len(text)
        self.file.flush()

    def _line(self, text: str) -> None:
        self.file.write(text + "\n")
        self.file.flush()
