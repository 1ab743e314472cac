"""Is one version of the package slower than another? Both fit the same rows in turn, on one core.

    python benchmarks/versions.py OLD NEW --pairs 15 --out benchmarks/VERSIONS.md

OLD and NEW are checkouts whose kernels are built. Each has a process of its own, pinned to one core with one thread,
which fits everything once before the timing. Times are processor seconds; a ratio is the median of new / old
over pairs, with its 95% interval by the bootstrap.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

JOBS = {
    "stumps, 200,000 x 50, 60 rounds": "AdaBoostClassifier(Stumps(), n_estimators=60, n_jobs=1).fit(*many)",
    "trees of depth 4, 200,000 x 50, 20 rounds": "AdaBoostClassifier(Trees(4), n_estimators=20, n_jobs=1).fit(*many)",
    "stumps, 1,000 x 10, 100 rounds, 20 fits": "for _ in range(20):\n        "
    "AdaBoostClassifier(Stumps(), n_estimators=100, n_jobs=1).fit(*few)",
    "trees of depth 4, 1,000 x 10, 100 rounds, 5 fits": "for _ in range(5):\n        "
    "AdaBoostClassifier(Trees(4), n_estimators=100, n_jobs=1).fit(*few)",
    "MedBoost, depth 3, 20,000 x 10, 50 rounds": "MedBoostRegressor(RegressionTrees(3), n_estimators=50, n_jobs=1)"
    ".fit(*numbers)",
    "probabilities of 100 stumps, 200,000 x 50": "stumps.predict_proba(many[0])",
}
SERVER = """
import sys, time
import numpy as np
from electorate import AdaBoostClassifier, MedBoostRegressor, RegressionTrees, Stumps, Trees

rng = np.random.default_rng(0)

def rows(n, columns):
    X = rng.normal(size=(n, columns))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)

many, few, numbers = rows(200_000, 50), rows(1_000, 10), rows(20_000, 10)
many, few = ((X, y > 0) for X, y in (many, few))
stumps = AdaBoostClassifier(Stumps(), n_estimators=100, n_jobs=1).fit(many[0][:5_000], many[1][:5_000])
jobs = []
"""
LOOP = """
for job in jobs:
    job()
print(flush=True)
for line in sys.stdin:
    start = time.process_time()
    jobs[int(line)]()
    print(time.process_time() - start, flush=True)
"""


class Version:
    """A process that runs jobs of one checkout."""

    def __init__(self, folder: Path, core: int) -> None:
        jobs = "".join(f"\ndef job():\n    {job}\n\njobs.append(job)\n" for job in JOBS.values())
        pinned = ["taskset", "-c", str(core)] if sys.platform == "linux" else []
        self.process = subprocess.Popen(
            [*pinned, sys.executable, "-W", "ignore", "-c", SERVER + jobs + LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder.resolve()), "OMP_NUM_THREADS": "1"},
        )
        self._read()

    def _read(self) -> str:
        assert self.process.stdout is not None, "it is a pipe"
        return self.process.stdout.readline()

    def seconds(self, job: int) -> float:
        assert self.process.stdin is not None, "it is a pipe"
        print(job, file=self.process.stdin, flush=True)
        return float(self._read())


def line(name: str, times: np.ndarray) -> str:
    """times: [pair, version]."""
    ratios, rng = times[:, 1] / times[:, 0], np.random.default_rng(0)
    medians = np.median(rng.choice(ratios, (5_000, len(ratios))), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    old, new = np.median(times, axis=0)
    return f"| {name} | {old:.3f} | {new:.3f} | {np.median(ratios):.2f} | {low:.2f} to {high:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/VERSIONS.md"))
    options = parser.parse_args()
    versions = [Version(folder, options.core) for folder in (options.old, options.new)]
    times = np.empty((len(JOBS), options.pairs, 2))
    for pair in range(options.pairs):
        for job in range(len(JOBS)):
            for which in (0, 1) if pair % 2 else (1, 0):
                times[job, pair, which] = versions[which].seconds(job)
    command = ["git", "rev-parse", "--short", "HEAD"]
    old, new = (subprocess.check_output(command, cwd=f, text=True).strip() for f in (options.old, options.new))
    lines = ["# One version beside another", "", *(__doc__ or "").split("\n\n")[2].splitlines(), ""]
    lines += [f"Old: {old}. New: {new}. {options.pairs} pairs.", "", "| what | old, s | new, s | new / old | 95% |"]
    lines += ["|---|---|---|---|---|", *(line(name, some) for name, some in zip(JOBS, times, strict=True))]
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
