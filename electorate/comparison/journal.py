"""The folder of a comparison: the plan, the training rows, and one file per finished fit. JSON and arrays only.

The plan is written first and files are written atomically, so a run that was interrupted or killed can be resumed. A
file names the fit that it holds and is checked when it is read: a damaged or exchanged one is run again. Equal plans
have equal fits, bit for bit.
"""

import hashlib
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
from electorate.comparison.fits import Failed, Fit, Plan, Result, Tested
from electorate.comparison.folds import Splits
from electorate.comparison.metrics import METRICS
from electorate.comparison.rows import Rows, store
from electorate.modelfile import ModelFormatError, meta_value, require
from electorate.text import write_text

_log = logging.getLogger("electorate")

KIND = "electorate comparison fit"
PLAN, FITS, ROWS, OUTCOME = "comparison.json", "fits", "rows", "outcome.json"
UNFINISHED = {FITS, ROWS, PLAN + ".tmp"}  # what a run killed at its start may leave
META = {"size": int, "fit_seconds": float, "predict_seconds": float}  # of a fit, besides its scores


def plan_of(plan: Plan, rows: Rows, test_rows: int, table: dict[str, int]) -> dict[str, Any]:
    """table: the sizes of the table that the rows are a sample of, if they are one."""
    return {
        "electorate": __version__,
        "task": task_of(plan.n_classes),
        "classes": plan.n_classes,
        "metric": plan.metric.name,
        "algorithms": [{"name": a.name, "grid": list(a.grid)} for a in plan.algorithms],
        "folds": plan.n_folds,
        "seed": plan.seed,
        "test_rows": test_rows,
        **({"table": table} if table else {}),
        "rows": rows.digest(),  # last: another seed has other rows too, and the first difference is reported
    }


def _refuse_links(folder: str) -> None:
    """Raise ValueError for a link in a folder: what is written to it would replace a file elsewhere."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise ValueError(f"{entry.path!r} is a link: choose another folder, or remove it")


class Journal:
    """Reads and writes the folder of a comparison."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._reported: set[Fit] = set()

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    # ------------------------------------------------------------ the plan

    def open(self, plan: Plan, rows: Rows, test_rows: int, table: dict[str, int]) -> None:
        """Start, or resume the same plan. A folder with another comparison, other files or links is refused."""
        for folder in (self.folder, self.path(FITS), self.path(ROWS)):
            _refuse_links(folder)
        wanted, before = plan_of(plan, rows, test_rows, table), self.read_plan()
        if before is None:
            names = set(os.listdir(self.folder)) - UNFINISHED if os.path.isdir(self.folder) else set()
            for ours in (FITS, ROWS):  # of a run that was killed at its start, and then they are empty
                names |= set(os.listdir(self.path(ours))) if os.path.isdir(self.path(ours)) else set()
            if names:
                other = f"the folder {self.folder!r} holds something else ({min(names)!r}) and no {PLAN}"
                raise ValueError(f"{other}: choose another folder, or remove it")
            os.makedirs(self.path(FITS), exist_ok=True)
            write_text(self.path(PLAN), json.dumps(wanted, indent=1))  # before the rows, so that a kill can be resumed
        elif before != wanted:
            raise ValueError(f"{self._difference(before, wanted)}: use another folder, or remove it")
        os.makedirs(self.path(FITS), exist_ok=True)
        store(rows, self.path(ROWS))
        self.use(plan, plan.split(rows))

    def _difference(self, before: dict[str, Any], wanted: dict[str, Any]) -> str:
        """What the folder holds instead of the comparison that is wanted."""
        name = next((key for key in wanted if before.get(key) != wanted[key]), "comparison")
        what = {"rows": "a comparison with other rows", "comparison": "another comparison"}
        return f"the folder {self.folder!r} holds {what.get(name, f'a comparison with another {name}')}"

    def use(self, plan: Plan, splits: Splits) -> None:
        """Fix what the fits are numbered by."""
        self.plan = plan
        self.n_tested = [len(test) for _, (_, test) in splits.places]
        with open(self.path(PLAN), "rb") as file:
            self._hash = hashlib.sha256(file.read()).hexdigest()

    def read_plan(self) -> dict[str, Any] | None:
        if not os.path.exists(self.path(PLAN)):
            return None
        plan = None
        with suppress(ValueError), open(self.path(PLAN)) as file:
            plan = json.load(file)
        if not isinstance(plan, dict):
            raise ValueError(f"{self.path(PLAN)} is damaged: remove the folder {self.folder!r} to start again")
        return plan

    def stored_plan(self) -> Plan:
        """What a worker process needs besides the rows."""
        plan = self.read_plan()
        assert plan is not None, "the folder has no plan"
        algorithms = []
        for entry in plan["algorithms"]:
            listed = next(a for a in every_algorithm() if a.name == entry["name"] and plan["task"] in a.tasks)
            algorithms.append(replace(listed, grid=tuple(entry["grid"])))
        return Plan(algorithms, plan["folds"], plan["seed"], plan["classes"], METRICS[plan["metric"]])

    def close(self) -> None:
        """Remove the copy of the rows; fits stay."""
        shutil.rmtree(self.path(ROWS), ignore_errors=True)

    # ------------------------------------------------------------ what was run, for a repeat

    def write_outcome(self, outcome: dict[str, Any]) -> None:
        write_text(self.path(OUTCOME), json.dumps(outcome, indent=1))

    def read_outcome(self, wanted: dict[str, Any], n_candidates: int, n_splits: int) -> dict[str, Any]:
        """What a finished comparison used; ValueError if the folder has none, or one of another plan."""
        before = self.read_plan()
        if before is None or not os.path.exists(self.path(OUTCOME)):
            raise ValueError(f"{self.folder!r} holds no finished comparison to replay")
        if before != wanted:
            raise ValueError(f"{self._difference(before, wanted)}: replay it with the same table and options")
        try:
            with open(self.path(OUTCOME)) as file:
                outcome = json.load(file)
            fits = [Fit(int(candidate), int(split)) for candidate, split in outcome["fits"]]
            allowed, tests = {int(c) for c in outcome["allowed"]}, bool(outcome["tests"])
            draws = int(outcome["draws"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path(OUTCOME)} is damaged: {error}") from None
        numbers = {*allowed, *(fit.candidate for fit in fits)}
        if not numbers <= set(range(n_candidates)) or not {fit.split for fit in fits} <= set(range(n_splits)):
            raise ValueError(f"{self.path(OUTCOME)} is damaged: it names a fit that does not exist")
        return {"fits": fits, "allowed": allowed, "draws": draws, "tests": tests}

    # ------------------------------------------------------------ fits

    def _file(self, fit: Fit) -> str:
        return self.path(FITS, f"{fit.candidate:04d}-{fit.split:02d}.fit")

    def _label(self, fit: Fit) -> dict[str, Any]:
        """Which fit of which plan a file holds."""
        candidate = self.plan.candidates[fit.candidate]
        return {
            "plan": self._hash,
            "algorithm": self.plan.algorithm(fit.candidate).name,
            "setting": candidate.setting,
            "split": fit.split,
        }

    def __setitem__(self, fit: Fit, result: Result) -> None:
        meta: dict[str, Any] = self._label(fit)
        arrays = {}
        if isinstance(result, Failed):
            meta["failed"] = result.message
        else:
            meta |= {name: getattr(result, name) for name in META}
            arrays = {"scores": np.ascontiguousarray(result.scores)}
        modelfile.write(self._file(fit), KIND, meta, arrays)

    def get(self, fit: Fit) -> Result | None:
        """The result of a fit; None if it is missing or damaged and has to be run."""
        path = self._file(fit)
        try:
            contents = modelfile.read(path)
            if contents.kind != KIND:
                raise ModelFormatError(f"{path}: a file of the kind {contents.kind!r}, not a fit")
            label = self._label(fit)
            if {name: contents.meta.get(name) for name in label} != label:
                raise ModelFormatError(f"{path}: the result of another fit or another comparison")
            if "failed" in contents.meta:
                return Failed(meta_value(contents, "failed", str))
            values: dict[str, Any] = {name: meta_value(contents, name, kind) for name, kind in META.items()}
            scores = np.array(require(contents, "scores", "<f8", (None, None, None)))
            return self._checked(path, Tested(scores, **values), fit)
        except FileNotFoundError:
            return None
        except ModelFormatError as error:
            if fit not in self._reported:
                self._reported.add(fit)
                _log.warning("damaged result, it is run again: %s", error)
            return None

    def _checked(self, path: str, result: Tested, fit: Fit) -> Tested:
        """Raise for a result that no run writes."""
        n_columns = self.plan.n_classes if self.plan.n_classes > 2 else 1
        shape = (len(self.plan.stages(fit.candidate)), self.n_tested[fit.split], n_columns)
        if result.scores.shape != shape:
            raise ModelFormatError(f"{path}: scores has the shape {result.scores.shape} and not {shape}")
        bad = np.argwhere(~np.isfinite(result.scores))
        if len(bad):
            raise ModelFormatError(f"{path}: scores{bad[0].tolist()} is {result.scores[tuple(bad[0])]}")
        for name in META:
            if not (math.isfinite(getattr(result, name)) and getattr(result, name) >= 0):
                raise ModelFormatError(f"{path}: {name} is {getattr(result, name)}")
        return result


Store = Journal | dict[Fit, Result]  # a dict stores nothing on the disk
