"""Write digests.json and paths.json: python -m tests.golden.record, on a commit whose models are known to be right.

With --new, records that are there stay: for an algorithm that has just been added. cases.py states when a record may
change.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from electorate.registry import ALGORITHMS
from tests.golden.cases import DIGESTS, cases, fit, stored
from tests.golden.paths import COMPARISONS, PATHS, WAYS, records_of, results_of, stored_paths


def write(only_new: bool) -> str:
    """Write the records of all cases, or add those that are missing; return what was done, in words."""
    known, ways = (stored(), stored_paths()) if only_new else ({}, {})
    for made in (known, ways):
        if made.get("numpy", np.__version__) != np.__version__:
            raise SystemExit(f"the records were made with NumPy {made['numpy']}: install it, or record all anew")
    old, paths, results = known.get("records", {}), ways.get("paths", {}), ways.get("comparisons", {})
    records = {name: old.get(name) or fit(name, case) for name, case in cases().items()}
    by_path = {name: paths.get(name) or records_of(name, WAYS) for name in ALGORITHMS}
    compared = {task: results.get(task) or results_of(task) for task in COMPARISONS}
    _write(DIGESTS, {"records": records})
    _write(PATHS, {"paths": by_path, "comparisons": compared})
    return f"{len(records)} models, {len(records) - len(old)} of them new; {len(by_path)} algorithms by other paths"


def _write(path: Path, records: dict[str, Any]) -> None:
    path.write_text(json.dumps({"numpy": np.__version__, **records}, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    print(write("--new" in sys.argv))
