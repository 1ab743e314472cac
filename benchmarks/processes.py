"""Fresh processes: every figure is taken in a process of its own, pinned and limited as asked."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_WORKER = Path(__file__).with_name("worker.py")
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)


def can_pin() -> bool:
    """Whether this system lets a process choose its cores."""
    return hasattr(os, "sched_setaffinity")


def work(task: str, variables: dict[str, str] | None = None, *, pinned: bool = False, **order: Any) -> Any:
    """Run `task` of worker.py in a fresh process, on one core if `pinned`; what it found."""
    command = [sys.executable, str(_WORKER), json.dumps({"task": task, **order})]
    return json.loads(last_line(command, variables or {}, pinned=pinned))


def limited(threads: int | None) -> dict[str, str]:
    """The environment variables that hold libraries to `threads` threads."""
    return {} if threads is None else dict.fromkeys(_THREAD_VARIABLES, str(threads))


def last_line(command: list[str], variables: dict[str, str], *, pinned: bool = False) -> str:
    """The last line that `command` prints, run with more environment `variables`."""
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_pin if pinned and can_pin() else None,
    )
    if done.returncode != 0:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr[-4000:]}")
    return done.stdout.strip().splitlines()[-1]


def _pin() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if can_pin() else os.cpu_count() or 1
