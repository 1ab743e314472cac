"""The folder of a comparison: the plan, the training rows, and one file per finished cell. JSON and arrays only.

The plan is written first and cells are written atomically, so a run that was interrupted or killed can be resumed.
Cells are checked when they are read: a damaged one is run again. Equal plans have equal cells, bit for bit.
"""

import json
import logging
import math
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from electorate import __version__, modelfile
from electorate.comparison.algorithms import every_algorithm, task_of
from electorate.comparison.cells import Cell, Failed, Protocol, Result, Screened, Tested, stages_of
from electorate.comparison.metrics import METRICS
from electorate.comparison.rows import Rows, store
from electorate.modelfile import ModelFormatError, meta_value, require
from electorate.safe_write import write_text

_log = logging.getLogger("electorate")

KIND = "electorate comparison cell"
PLAN, CELLS, ROWS = "comparison.json", "cells", "rows"
UNFINISHED = {CELLS, ROWS, PLAN + ".tmp"}  # files that a run killed at its start may leave
META = {"temperature": float, "size": int, "fit_seconds": float, "predict_seconds": float}  # of a cell, besides arrays


def plan_of(protocol: Protocol, rows: Rows, locked: float, table: dict[str, int]) -> dict[str, Any]:
    """table: the sizes of the table that the rows are a sample of, if they are one."""
    return {
        "electorate": __version__,
        "task": task_of(protocol.n_classes),
        "classes": protocol.n_classes,
        "metric": protocol.metric.name,
        "rungs": list(protocol.rungs),
        "algorithms": [{"name": a.name, "grid": list(a.grid)} for a in protocol.algorithms],
        "folds": protocol.n_folds,
        "seed": protocol.seed,
        "locked": locked,
        **({"table": table} if table else {}),
        "rows": rows.digest(),  # last: another seed has other rows too, and the first difference is reported
    }


class Journal:
    """Reads and writes the folder of a comparison."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.n_tested: list[int] | None = None  # rows that each fold tests; None: cells are not checked
        self._reported: set[int] = set()

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    # ------------------------------------------------------------ the plan

    def open(self, protocol: Protocol, rows: Rows, locked: float, table: dict[str, int]) -> None:
        """Start, or resume the same plan; a folder with another comparison or with other files is refused."""
        plan, before = plan_of(protocol, rows, locked, table), self.read_plan()
        if before is None:
            names = set(os.listdir(self.folder)) - UNFINISHED if os.path.isdir(self.folder) else set()
            names |= set(os.listdir(self.path(CELLS))) if os.path.isdir(self.path(CELLS)) else set()
            if names:
                other = f"the folder {self.folder!r} holds something else ({min(names)!r}) and no {PLAN}"
                raise ValueError(f"{other}: choose another folder, or remove it")
            os.makedirs(self.path(CELLS), exist_ok=True)
            write_text(self.path(PLAN), json.dumps(plan, indent=1))  # before the rows, so that a kill can be resumed
        elif before != plan:
            name = next((key for key in plan if before.get(key) != plan[key]), "comparison")
            what = {"rows": "a comparison with other rows", "comparison": "another comparison"}
            found = what.get(name, f"a comparison with another {name}")
            raise ValueError(f"the folder {self.folder!r} holds {found}: use another folder, or remove it")
        os.makedirs(self.path(CELLS), exist_ok=True)
        store(rows, self.path(ROWS))
        self.n_tested = [len(test) for _, test in protocol.split(rows).folds]
        self.protocol = protocol

    def read_plan(self) -> dict[str, Any] | None:
        if not os.path.exists(self.path(PLAN)):
            return None
        plan = None
        with suppress(ValueError), open(self.path(PLAN)) as file:
            plan = json.load(file)
        if not isinstance(plan, dict):
            raise ValueError(f"{self.path(PLAN)} is damaged: remove the folder {self.folder!r} to start again")
        return plan

    def read_protocol(self) -> Protocol:
        """What a worker process needs besides the rows."""
        plan = self.read_plan()
        assert plan is not None, "the folder has no plan"
        algorithms = []
        for entry in plan["algorithms"]:
            listed = next(a for a in every_algorithm() if a.name == entry["name"] and plan["task"] in a.tasks)
            algorithms.append(replace(listed, grid=tuple(entry["grid"])))
        metric, rungs = METRICS[plan["metric"]], tuple(plan["rungs"])
        return Protocol(algorithms, plan["folds"], plan["seed"], plan["classes"], metric, rungs)

    def close(self) -> None:
        """Remove the copy of the rows; cells stay."""
        shutil.rmtree(self.path(ROWS), ignore_errors=True)

    # ------------------------------------------------------------ cells

    def _cell(self, number: int) -> str:
        return self.path(CELLS, f"{number:05d}.cell")

    def __setitem__(self, number: int, result: Result) -> None:
        meta: dict[str, Any] = {}
        arrays = {}
        if isinstance(result, Failed):
            meta = {"failed": result.message}
        elif isinstance(result, Screened):
            meta, arrays = {"fit_seconds": result.fit_seconds}, {"inner": result.inner}
        else:
            meta = {name: getattr(result, name) for name in META}
            arrays = {"inner": result.inner, "scores": np.ascontiguousarray(result.scores)}
        modelfile.write(self._cell(number), KIND, meta, arrays)

    def get(self, number: int) -> Result | None:
        """The result of a cell; None if it is missing or damaged and has to be run."""
        path = self._cell(number)
        try:
            contents = modelfile.read(path)
            if contents.kind != KIND:
                raise ModelFormatError(f"{path}: a file of the kind {contents.kind!r}, not a cell")
            if "failed" in contents.meta:
                return Failed(meta_value(contents, "failed", str))
            result = _read_result(contents)
            if self.n_tested is not None:
                _check_cell(path, result, self.protocol.cells[number], self.protocol, self.n_tested)
            return result
        except FileNotFoundError:
            return None
        except ModelFormatError as error:
            if number not in self._reported:
                self._reported.add(number)
                _log.warning("damaged cell, it is run again: %s", error)
            return None


Store = Journal | dict[int, Result]  # a dict stores nothing on the disk


def _read_result(contents: modelfile.Contents) -> Tested | Screened:
    inner = np.array(require(contents, "inner", "<f8", (None,)))
    if "scores" not in contents.arrays:
        return Screened(inner, meta_value(contents, "fit_seconds", float))
    values: dict[str, Any] = {name: meta_value(contents, name, kind) for name, kind in META.items()}
    return Tested(inner, np.array(require(contents, "scores", "<f8", (None, None))), **values)


def _check_cell(path: str, result: Tested | Screened, cell: Cell, protocol: Protocol, n_tested: list[int]) -> None:
    """Raise for a result that no run writes."""
    algorithm = protocol.algorithms[cell.algorithm]
    n_stages = len(stages_of(algorithm, algorithm.grid[cell.setting]))
    arrays = {"inner": (result.inner, (n_stages,))}
    if cell.rung is None:
        if not isinstance(result, Tested):
            raise ModelFormatError(f"{path}: a cell of a fold has no scores")
        n_columns = protocol.n_classes if protocol.n_classes > 2 else 1
        arrays["scores"] = (result.scores, (n_tested[cell.fold], n_columns))  # type: ignore[assignment]
    for name, (values, shape) in arrays.items():
        if values.shape != shape:
            raise ModelFormatError(f"{path}: {name} has the shape {values.shape} and not {shape}")
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            raise ModelFormatError(f"{path}: {name}{bad[0].tolist()} is {values[tuple(bad[0])]}")
    for name in META:
        value = getattr(result, name, 0.0)
        if not (math.isfinite(value) and value >= 0):
            raise ModelFormatError(f"{path}: {name} is {value}")
