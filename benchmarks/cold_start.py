"""What a new process pays once: imports, `electorate --help`, and how much longer a first fit takes than the second.

`python benchmarks/cold_start.py` writes COLD_START.md. Times are of the processor, the least of REPEATS processes each.
The package is compiled to bytecode first, as installers do.
"""

import compileall
import json
import os
import subprocess
import sys
from pathlib import Path

import electorate
from electorate.registry import ALGORITHMS

REPEATS = 3
PAGE = Path(__file__).with_name("COLD_START.md")
MORE = [
    "CertifiedClassifier",
    "CrossFittedClassifier",
    "QuadBoostClassifierCV",
    "StackedClassifier",
    "StackedRegressor",
]
WITH_SOLVER = ("LPBoostClassifier", "RLPBoostClassifier", "RQPBoostClassifier")
STARTS = {  # arguments of Python, and those that are subtracted
    "`import electorate`, over NumPy": (["-c", "import numpy, electorate"], ["-c", "import numpy"], 0.1),
    "an estimator, over `sklearn.ensemble`": (
        ["-c", "import sklearn.ensemble; from electorate import AdaBoostClassifier"],
        ["-c", "import sklearn.ensemble"],
        0.2,
    ),
    "`electorate --help`": (["-m", "electorate", "--help"], None, 0.2),
}
FITS = """
import sys, time
from sklearn.datasets import make_classification, make_regression
from electorate import *
import electorate
make = make_regression if sys.argv[1].endswith("Regressor") else make_classification
X, y = make(300, 8, random_state=0)
for _ in range(2):
    model = getattr(electorate, sys.argv[1])()
    start = time.process_time()
    model.fit(X, y)
    print(time.process_time() - start)
"""


def python(*arguments: str) -> tuple[float, str]:
    """Processor time of a Python process, and what it printed."""
    before = os.times()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, done.stdout


def least(*arguments: str) -> float:
    return min(python(*arguments)[0] for _ in range(REPEATS))


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(str(Path(electorate.__file__).parent), quiet=1)
    lines = ["# Cold start", "", "Seconds of processor time in a new process.", ""]
    lines += ["| start | seconds | at most |", "|---|---|---|"]
    for name, (arguments, without, most) in STARTS.items():
        seconds = least(*arguments) - (least(*without) if without else 0.0)
        lines.append(f"| {name} | {max(seconds, 0.0):.3f} | {most} |")
    lines += ["", "Defaults, 300 x 8, after `from electorate import *`:", ""]
    lines += ["| estimator | first fit | second fit | difference | at most |", "|---|---|---|---|---|"]
    for name in [*ALGORITHMS, *MORE]:
        runs = [json.loads(f"[{','.join(python('-c', FITS, name)[1].split())}]") for _ in range(REPEATS)]
        first, second = min(runs, key=lambda run: run[0] - run[1])
        most = 0.6 if name in WITH_SOLVER else 0.3
        lines.append(f"| `{name}` | {first:.3f} | {second:.3f} | {max(first - second, 0.0):.3f} | {most} |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
