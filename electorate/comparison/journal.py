"""The folder of a comparison: what is compared, the open rows, a file per finished cell. JSON and arrays only.

Every file is written whole or not at all, so a run that was interrupted or killed goes on from what is there.
"""

import json
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

KIND = "electorate comparison cell"
PLAN, CELLS, ROWS = "comparison.json", "cells", "rows"


@dataclass(frozen=True)
class Failed:
    """A cell whose estimator raised an error."""

    message: str


Result = Tested | Failed


class Journal:
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)

    # ------------------------------------------------------------ the plan

    def open(self, plan: dict[str, Any], rows: Rows) -> None:
        """Begin, or go on with the same plan; another comparison's folder is refused."""
        before = self.read_plan()
        if before is None:
            self._refuse_strangers()
            os.makedirs(os.path.join(self.folder, CELLS), exist_ok=True)
        elif before != plan:
            raise ValueError(_difference(self.folder, before, plan))
        store(rows, os.path.join(self.folder, ROWS))
        if before is None:
            self._write_json(PLAN, plan)

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

    def _refuse_strangers(self) -> None:
        if os.path.isdir(self.folder) and os.listdir(self.folder):
            raise ValueError(f"the folder {self.folder!r} holds something else: give another one, or remove it")

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
        """None: not there, or damaged; then it is run again."""
        try:
            contents = modelfile.read(self._path(number))
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
        except (FileNotFoundError, ModelFormatError):
            return None

    def _write_json(self, name: str, value: Any) -> None:
        path = os.path.join(self.folder, name)
        write_text(path, json.dumps(value, indent=1))


class Memory:
    """Stands in for a journal where nothing is kept."""

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
