"""The folder of a comparison: the plan, the training rows, and one file per finished cell. JSON and arrays only.

The plan is written first and cells are written atomically, so a run that was interrupted or killed can be resumed.
Cells are checked when they are read: a damaged one is run again.
"""

import json
import logging
import math
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate import modelfile
from electorate.comparison.cells import Tested
from electorate.comparison.rows import Rows, restore, store
from electorate.modelfile import ModelFormatError, meta_value, require
from electorate.safe_write import write_text

_log = logging.getLogger("electorate")

KIND = "electorate comparison cell"
PLAN, CELLS, ROWS = "comparison.json", "cells", "rows"
UNFINISHED = {CELLS, ROWS, PLAN + ".tmp"}  # what a run that was killed at its start may leave


@dataclass(frozen=True)
class Failed:
    """A cell whose estimator raised an error."""

    message: str


Result = Tested | Failed


@dataclass(frozen=True)
class Expected:
    """What every valid result has. n_rows: rows tested by each cell, by its number. labels: losses are 0 or 1."""

    n_rows: list[int]
    labels: bool

    def fault(self, number: int, result: Tested) -> str | None:
        """What is wrong with a result, or None."""
        n_rows = self.n_rows[number]
        for name, wanted in (("losses", n_rows), ("log_losses", n_rows if self.labels else 0)):
            values = getattr(result, name)
            if len(values) != wanted:
                return f"{name} has {len(values)} values for {wanted} rows"
            bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
            if bad.size:
                return f"{name}[{bad[0]}] is {values[bad[0]]}"
        if self.labels and not np.all((result.losses == 0) | (result.losses == 1)):
            return "losses of class labels must be 0 or 1"
        for name in ("inner", "size", "fit_seconds", "predict_seconds"):
            value = getattr(result, name)
            if not (math.isfinite(value) and value >= 0):
                return f"{name} is {value}"
        return None


class Journal:
    """Reads and writes the folder of a comparison; expected: needed to read cells."""

    def __init__(self, folder: str | os.PathLike[str], expected: Expected | None = None) -> None:
        self.folder = os.fspath(folder)
        self.expected = expected
        self._reported: set[int] = set()

    # ------------------------------------------------------------ the plan

    def open(self, plan: dict[str, Any], rows: Rows) -> None:
        """Start, or resume the same plan; a folder with another comparison, or with other files, is refused."""
        before = self.read_plan()
        if before is None:
            self._refuse_other_files()
            os.makedirs(os.path.join(self.folder, CELLS), exist_ok=True)
            self._write_json(PLAN, plan)  # before the rows: what follows can be resumed
        elif before != plan:
            raise ValueError(_difference(self.folder, before, plan))
        os.makedirs(os.path.join(self.folder, CELLS), exist_ok=True)
        store(rows, os.path.join(self.folder, ROWS))

    def read_plan(self) -> dict[str, Any] | None:
        path = os.path.join(self.folder, PLAN)
        if not os.path.exists(path):
            return None
        try:
            with open(path) as file:
                plan = json.load(file)
            assert isinstance(plan, dict)
            return plan
        except (ValueError, AssertionError):
            raise ValueError(f"{path} is damaged: remove the folder {self.folder!r} to begin anew") from None

    def _refuse_other_files(self) -> None:
        """Refuse a folder without a plan, unless it is what a run that was killed at its start leaves."""
        if not os.path.isdir(self.folder):
            return
        cells = os.path.join(self.folder, CELLS)
        names = set(os.listdir(self.folder)) - UNFINISHED
        names |= set(os.listdir(cells)) if os.path.isdir(cells) else set()
        if names:
            raise ValueError(
                f"the folder {self.folder!r} holds something else ({min(names)!r}) and no {PLAN}: "
                "choose another folder, or remove it"
            )

    def rows(self) -> Rows:
        return restore(os.path.join(self.folder, ROWS))

    def close(self) -> None:
        """Everything is done: the copy of the rows goes, the cells stay."""
        shutil.rmtree(os.path.join(self.folder, ROWS), ignore_errors=True)

    # ------------------------------------------------------------ cells

    def _path(self, number: int) -> str:
        return os.path.join(self.folder, CELLS, f"{number:05d}.cell")

    def put(self, number: int, result: Result) -> None:
        if isinstance(result, Failed):
            modelfile.write(self._path(number), KIND, {"failed": result.message}, {})
            return
        names = ("inner", "size", "fit_seconds", "predict_seconds")
        meta = {name: getattr(result, name) for name in names}
        arrays = {"losses": result.losses, "log_losses": result.log_losses}
        modelfile.write(self._path(number), KIND, meta, arrays)

    def get(self, number: int) -> Result | None:
        """The result of a cell; None if it is missing or damaged, and has to be run."""
        path = self._path(number)
        try:
            result = _read_cell(path)
        except FileNotFoundError:
            return None
        except ModelFormatError as error:
            self._report(number, str(error))
            return None
        if isinstance(result, Failed) or self.expected is None:
            return result
        fault = self.expected.fault(number, result)
        if fault is None:
            return result
        self._report(number, f"{path}: {fault}")
        return None

    def _report(self, number: int, message: str) -> None:
        if number not in self._reported:
            self._reported.add(number)
            _log.warning("damaged cell, it is run again: %s", message)

    def _write_json(self, name: str, value: Any) -> None:
        path = os.path.join(self.folder, name)
        write_text(path, json.dumps(value, indent=1))


def _read_cell(path: str) -> Result:
    contents = modelfile.read(path)
    if contents.kind != KIND:
        raise ModelFormatError(f"{path}: a file of the kind {contents.kind!r}, not a cell")
    if "failed" in contents.meta:
        return Failed(meta_value(contents, "failed", str))
    return Tested(
        meta_value(contents, "inner", float),
        np.array(require(contents, "losses", "<f8", (None,))),
        np.array(require(contents, "log_losses", "<f8", (None,))),
        meta_value(contents, "size", int),
        meta_value(contents, "fit_seconds", float),
        meta_value(contents, "predict_seconds", float),
    )


class Memory:
    """Takes the place of a journal where nothing is stored."""

    folder = None

    def __init__(self) -> None:
        self._results: dict[int, Result] = {}

    def put(self, number: int, result: Result) -> None:
        self._results[number] = result

    def get(self, number: int) -> Result | None:
        return self._results.get(number)


def _difference(folder: str, before: dict[str, Any], plan: dict[str, Any]) -> str:
    with suppress(StopIteration):
        name = next(key for key in plan if before.get(key) != plan[key])
        what = "other rows" if name == "rows" else f"another {name}"
        return f"the folder {folder!r} holds a comparison with {what}: give another folder, or remove it"
    return f"the folder {folder!r} holds another comparison: give another folder, or remove it"
