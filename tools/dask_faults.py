"""Every fault of tests/dask_faults.py many times: python tools/dask_faults.py [TIMES] [LOG]. Exit 1: some failed.

The log has a line per run: the case, its number, what came of it, and seconds: from the fault to the error, of the
longest pause between two rounds where the fit goes on from a checkpoint, else of the whole fit.
"""

import os
import platform
import sys
import traceback
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def main(times: int, log: Path) -> int:
    import distributed
    import numpy
    from dask_cluster import end, make_client
    from dask_faults import CASES, nobody_left, whole

    versions = f"Python {platform.python_version()}, NumPy {numpy.__version__}, distributed {distributed.__version__}"
    lines = [f"# {times} runs of each fault; {versions}; 3 workers of one thread, {os.cpu_count()} cores"]
    failures = 0
    for name, case in CASES.items():
        took = []
        client = make_client()
        for seed in range(times):
            client = whole(client)
            try:
                took.append(float(case(client, seed)["seconds"]))
                nobody_left(client)
                lines.append(f"{name}, run {seed + 1}: as it should be, {took[-1]:.2f} s")
            except BaseException as error:
                traceback.print_exc()
                failures += 1
                lines.append(f"{name}, run {seed + 1}: FAILED, {type(error).__name__}: {error}".splitlines()[0])
        end(client)
        if took:
            lines.append(f"{name}: {len(took)} of {times}; {median(took):.2f} s, at most {max(took):.2f} s")
        print(lines[-1], flush=True)
        log.write_text("\n".join(lines) + "\n")
    return int(failures > 0)


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    sys.exit(main(int(given.get(1, 20)), Path(given.get(2, ROOT / "benchmarks" / "DASK_FAULTS.log"))))
