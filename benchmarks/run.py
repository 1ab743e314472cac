"""Speed and memory beside the peers: python benchmarks/run.py [--quick --out FOLDER] [--only ROW].

Writes results.json (raw figures), RESULTS.md (bars and tables) and results.png. With --only, the
other rows of an earlier run in the same folder are kept, each with its date.
"""

import argparse
import json
import os
import platform
import time
from datetime import date
from pathlib import Path
from typing import Any

import report
from contenders import versions
from processes import can_pin, cores
from rows import ROWS, Size


def main() -> None:
    """Run the rows asked for and write down what they gave."""
    arguments = _arguments()
    results = _earlier(arguments.out, arguments.quick) if arguments.only else {"rows": {}}
    results |= {"quick": arguments.quick, "machine": _machine(), "versions": versions()}
    for name in arguments.only or ROWS:
        start = time.perf_counter()
        taken = {"date": date.today().isoformat(), "load before": os.getloadavg()[0]}
        row = ROWS[name](Size(arguments.quick))
        results["rows"][name] = {**taken, **row, "load after": os.getloadavg()[0]}
        results["rows"] = {key: results["rows"][key] for key in ROWS if key in results["rows"]}
        _write(results, arguments.out)
        print(f"{row['title']}: {time.perf_counter() - start:.0f} s", flush=True)
    print(f"wrote results.json, RESULTS.md and results.png to {arguments.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny data, one repeat; needs --out")
    parser.add_argument("--out", type=Path, help="the folder to write to (default: benchmarks)")
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="ROW", help="; ".join(ROWS))
    arguments = parser.parse_args()
    if arguments.quick and arguments.out is None:
        parser.error("--quick needs --out: its figures must not replace real ones")
    arguments.out = arguments.out or Path(__file__).parent
    return arguments


def _earlier(folder: Path, quick: bool) -> dict[str, Any]:
    """The results in `folder`, if they are of the same kind."""
    path = folder / "results.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found if found.get("quick") == quick else {"rows": {}}


def _machine() -> dict[str, str]:
    return {
        "cpu": _cpu(),
        "cores": f"{cores()} cores",
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"Python {platform.python_version()}",
        "pinning": "pinned" if can_pin() else "not pinned: this system does not allow it",
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"


def _write(results: dict[str, Any], folder: Path) -> None:
    """Write down all rows so far: a later row that fails takes nothing with it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "RESULTS.md").write_text(report.table(results))
    if not report.chart(results, folder / "results.png"):
        print("no results.png: matplotlib is not installed")


if __name__ == "__main__":
    main()
