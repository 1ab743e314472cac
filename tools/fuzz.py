"""Attacks electorate with forged files, odd inputs and odd parameters, and reports what does not end as it should.

Every case must work, or end in a ValueError, TypeError, NotFittedError or ModelFormatError with a message of
electorate's or scikit-learn's own. Cases run in worker processes with limits on memory and time, so that a crash, a
hang and a request for gigabytes are findings like any other. A case is a function of its kind, the seed and its number:
a run can be continued with --start, and a finding repeated with --case.

    python tools/fuzz.py --count 1000            1000 cases of every kind
    python tools/fuzz.py --quick                 a few cases of every kind, in a few seconds
    python tools/fuzz.py --case forged:0:17      one case, in this process, with its traceback

The exit code is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # run from a checkout as well as beside an installed package

KINDS = ("format", "damaged", "forged", "inputs", "parameters", "sql", "small", "empty", "sparse", "combined")
ALLOWANCE = 1 << 30  # bytes of address space beyond what the worker has when it begins
SECONDS_PER_CASE = 60.0  # a hang, also on a busy machine
SECONDS_TO_START = 300.0
PROGRAM = str(HERE / "fuzz.py")  # what a worker runs
QUICK_CASES, QUICK_SAMPLES = 6, 4


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    if options.worker is not None:
        return work(options)
    if options.case is not None:
        return one_case(options)
    with tempfile.TemporaryDirectory(prefix="electorate-fuzz-") as folder:
        tally = Tally(options.log)
        numbers = range(options.start, options.start + options.count)
        jobs = [
            threading.Thread(target=drive, args=(options, job, numbers, Path(folder), tally))
            for job in range(options.jobs)
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
    return tally.report(options)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="cases of every kind (1000)")
    parser.add_argument("--start", type=int, default=0, help="number of the first case, to continue a run (0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"which ones ({','.join(KINDS)})")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (1)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CASES} cases of every kind, on few models")
    parser.add_argument("--case", metavar="KIND:SEED:NUMBER", help="one case, in this process")
    parser.add_argument("--log", metavar="FILE", help="append findings to this file, one JSON object per line")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.count = QUICK_CASES
    options.samples = QUICK_SAMPLES if options.quick else None
    unknown = set(options.kinds.split(",")) - set(KINDS)
    if unknown:
        parser.error(f"there are no cases of the kind {', '.join(sorted(unknown))}")
    return options


# ---------------------------------------------------------------- the worker


def _bench(folder: Path, how_many: int | None) -> Any:
    from fuzzing.cases import Bench
    from fuzzing.samples import save_all

    return Bench(folder, save_all(folder, how_many))


def work(options: argparse.Namespace) -> int:
    """Run the cases that arrive as lines "kind number" on stdin; answer each with a line of JSON."""
    faulthandler.enable()
    threading.stack_size(1 << 20)  # many threads must fit into the address space
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what cases print must not look like an answer
    bench = _bench(Path(options.worker), options.samples)
    findings = [asdict(finding) for finding in bench.warm_up()]
    limit_memory()
    print(json.dumps({"ready": findings}), file=answers, flush=True)
    for line in sys.stdin:
        kind, number = line.split()
        print(json.dumps(answer(kind, options.seed, int(number), bench)), file=answers, flush=True)
    return 0


def answer(kind: str, seed: int, number: int, bench: Any) -> dict[str, Any]:
    from fuzzing import cases
    from fuzzing.outcomes import Found

    try:
        return {"outcome": cases.run(kind, seed, number, bench)}
    except Found as found:
        return {"outcome": "finding", **asdict(found.finding)}
    except MemoryError:
        return {"outcome": "finding", "what": "memory", "where": "case", "details": ""}
    except Exception as error:
        from fuzzing.outcomes import shown

        return {"outcome": "finding", "what": type(error).__name__, "where": "case", "details": shown(error)}


def limit_memory() -> None:
    """Allow so much more address space than there is now; only where the system can."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    most = pages * resource.getpagesize() + ALLOWANCE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def one_case(options: argparse.Namespace) -> int:
    kind, seed, number = options.case.split(":")
    with tempfile.TemporaryDirectory(prefix="electorate-fuzz-") as folder:
        result = answer(kind, int(seed), int(number), _bench(Path(folder), options.samples))
    print("\n".join(f"{key}: {value}" for key, value in result.items()))
    return int(result["outcome"] == "finding")


# ---------------------------------------------------------------- the supervisor


@dataclass
class Tally:
    """Outcomes by kind, and findings, of all workers."""

    log: str | None
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, seed: int, number: int, result: dict[str, Any]) -> None:
        with self.lock:
            self.outcomes[kind, result["outcome"]] += 1
            if result["outcome"] != "finding":
                return
            finding = {"case": f"{kind}:{seed}:{number}", **result}
            self.findings.append(finding)
            at = result.get("line") or "case"
            print(f"{finding['case']}: {result['what']} in {result['where']} at {at}", file=sys.stderr, flush=True)
            if self.log:
                with open(self.log, "a") as file:
                    print(json.dumps(finding), file=file)

    def report(self, options: argparse.Namespace) -> int:
        for kind in dict.fromkeys([*options.kinds.split(","), *(kind for kind, _ in self.outcomes)]):
            each = {outcome: n for (k, outcome), n in sorted(self.outcomes.items()) if k == kind}
            print(f"{kind}: {sum(each.values())} cases, " + ", ".join(f"{n} {outcome}" for outcome, n in each.items()))
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for one in self.findings:
            groups.setdefault((one["what"], one.get("line") or one["where"]), []).append(one)
        for (what, line), same in sorted(groups.items(), key=lambda item: -len(item[1])):
            first = same[0]
            print(f"\n{len(same)} x {what} at {line}: {first['where']}, first {first['case']}")
            print(first["details"])
        last = options.start + options.count - 1
        print(f"seed {options.seed}, cases {options.start} to {last}: {len(self.findings)} findings")
        return int(bool(self.findings))


class Worker:
    """A process that runs cases; `ask` gives one and waits for its answer."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        command = [sys.executable, PROGRAM, "--worker", str(folder), "--seed", str(options.seed)]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command + (["--quick"] if options.quick else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{HERE.parent}", "PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "2"},
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait(self, seconds: float) -> dict[str, Any]:
        """Return the answer; a finding where the process ended, or took too long and was stopped."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return self._lost(f"no answer after {seconds:.0f} s", "hang")
        if line is None:
            code = self.process.wait()
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return self._lost(name, "crash")
        found: dict[str, Any] = json.loads(line)
        return found

    def _lost(self, why: str, what: str) -> dict[str, Any]:
        self.close()
        self.errors.seek(0)
        told = self.errors.read()[-3000:].decode(errors="replace")
        return {"outcome": "finding", "what": what, "where": "case", "details": f"{why}\n{told}", "lost": True}

    def ask(self, kind: str, number: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it ended; wait() finds out how
            print(kind, number, file=self.process.stdin, flush=True)
        return self.wait(SECONDS_PER_CASE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def drive(options: argparse.Namespace, job: int, numbers: range, folder: Path, tally: Tally) -> None:
    """Run every `jobs`-th case in a worker of its own, which is replaced when it is lost."""
    own = folder / str(job)
    own.mkdir()
    worker: Worker | None = None
    for number in numbers[job :: options.jobs]:
        for kind in options.kinds.split(","):
            if worker is None:
                worker = Worker(options, own)
                began = worker.wait(SECONDS_TO_START)
                if "ready" not in began:
                    tally.add("start", options.seed, number, began)
                    return
                if number == options.start:
                    for finding in began["ready"]:
                        tally.add("sound", options.seed, 0, {"outcome": "finding", **finding})
            result = worker.ask(kind, number)
            if result.pop("lost", False):
                worker = None
            tally.add(kind, options.seed, number, result)
    if worker is not None:
        worker.close()


if __name__ == "__main__":
    started = time.monotonic()
    code = main(sys.argv[1:])
    if "--worker" not in sys.argv:
        print(f"{time.monotonic() - started:.0f} s")
    sys.exit(code)
