"""Live progress of a comparison on stderr: cells done, the best algorithm so far, time left.

On a terminal one line is rewritten; elsewhere a line is written every 10 seconds.
"""

import time
from typing import TextIO

import numpy as np

from electorate.comparison.cells import Cell, Protocol, Result, Tested
from electorate.escape import literal

SECONDS, SECONDS_ON_TERMINAL = 10.0, 0.1  # between two updates


class Progress:
    """finished: results of an earlier run. file None: nothing is written."""

    def __init__(self, protocol: Protocol, finished: dict[Cell, Result], file: TextIO | None) -> None:
        self.protocol, self.file, self.n_done, self.n_before = protocol, file, len(finished), len(finished)
        self._rewrites = file is not None and file.isatty()
        self._width = 0
        self._losses: dict[tuple[int, int], list[float]] = {}
        for cell, result in finished.items():
            self._add(cell, result)
        self._started = self._updated = time.monotonic()
        if finished and file is not None:
            file.write(f"resuming: {len(finished)} of {len(protocol.cells)} cells are done{self._best()}\n")
            file.flush()

    def _add(self, cell: Cell, result: Result | None) -> None:
        if isinstance(result, Tested):
            self._losses.setdefault((cell.algorithm, cell.setting), []).append(float(np.mean(result.losses)))

    def done(self, cell: Cell, result: Result | None) -> None:
        self.n_done += 1
        self._add(cell, result)
        now = time.monotonic()
        if now - self._updated >= (SECONDS_ON_TERMINAL if self._rewrites else SECONDS):
            self._updated = now
            n_cells, name = len(self.protocol.cells), self._name(cell.algorithm)
            left = (now - self._started) / (self.n_done - self.n_before) * (n_cells - self.n_done)
            fold = f"fold {cell.fold + 1}/{self.protocol.n_folds}"
            self._write(f"[{self.n_done}/{n_cells}] {name}, {fold}{self._best()}; about {left:.0f} s left")

    def end(self) -> None:
        if self._width:
            self._write("")
            self._write("")

    def _name(self, algorithm: int) -> str:
        return literal(self.protocol.algorithms[algorithm].name, 30)

    def _best(self) -> str:
        if not self._losses:
            return ""
        (a, _), losses = min(self._losses.items(), key=lambda item: float(np.mean(item[1])))
        return f"; best so far {self._name(a)} {float(np.mean(losses)):.4f}"

    def _write(self, text: str) -> None:
        if self.file is not None:
            self.file.write("\r" + text.ljust(self._width) if self._rewrites else text + "\n")
            self.file.flush()
            self._width = len(text) if self._rewrites else 0
