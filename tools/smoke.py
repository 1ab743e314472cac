"""A freshly installed package tried as a new user would: run with the interpreter of an empty environment.

Compares, fits, predicts and verifies by the installed command, in a folder of its own.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

COMMAND = str(Path(sys.executable).parent / "electorate")


def run(*arguments: str, folder: Path) -> str:
    done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"electorate {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = load_iris()
        with open(folder / "iris.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "c", "d", "species"])
            for row, label in zip(data.data.tolist(), data.target_names[data.target].tolist(), strict=True):
                writer.writerow([*row, label])
        print(run("--version", folder=folder).strip())
        held_out = ("--test-fraction", "0.3")  # so few rows are all used for training otherwise
        small = ("--folds", "2", *held_out, "--algorithm", "SAMME.R, trees", "--algorithm", "AdaBoost, stumps")
        print(run("compare", "iris.csv", "--target", "species", *small, folder=folder))
        run("fit", "iris.csv", "--target", "species", "--out", "iris.model", folder=folder)
        predicted = run("predict", "iris.compare/winner.model", "iris.csv", folder=folder)
        assert len(predicted.splitlines()) == 151, "a row is missing"
        print(run("verify", "iris.compare/winner-without-test-rows.model", folder=folder))
    print("the installed package works")


if __name__ == "__main__":
    main()
