"""Is what `electorate compare` hands over as good as CatBoost and LightGBM with their defaults?

    python benchmarks/shapes.py FOLDER --out benchmarks/SHAPES.md

Four tables of FOLDER (NAME.csv.gz with the column "target") and ten random splits of each: a fifth of the rows tests,
and the others are compared for 60 seconds on one core. CatBoost and LightGBM are needed, on one thread. Results are
kept beside the page as JSON lines, so that an interrupted run goes on; --table and --splits choose.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

TABLES = ["heart_hungarian", "australian", "german", "segment"]
SECONDS, SPLITS, WITHIN = 60.0, 10, 0.01
COMPARED, PEERS = "compare", ("CatBoost", "LightGBM")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def read(path: Path) -> pd.DataFrame:
    """The table; text as categories."""
    table = pd.read_csv(path)
    texts = [name for name in table.columns.drop("target") if not pd.api.types.is_numeric_dtype(table[name])]
    return table.astype(dict.fromkeys(texts, "category"))


def compared(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """The error of the model that the command stores."""
    import electorate

    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        command = [
            sys.executable,
            "-m",
            "electorate",
            "compare",
            f"{folder}/train.csv",
            "--target",
            "target",
            "--quiet",
        ]
        command += [
            "--task",
            "classification",
            "--time-limit",
            f"{SECONDS:g}",
            "--n-jobs",
            "1",
            "--folder",
            f"{folder}/c",
        ]
        core = [] if sys.platform != "linux" else ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        threads = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
        subprocess.run([*core, *command], check=True, capture_output=True, text=True, env=threads)
        model: Any = electorate.load(f"{folder}/c/winner.model")
        test.to_csv(f"{folder}/test.csv", index=False)  # read as a person would: without the types of the whole table
        rows = pd.read_csv(f"{folder}/test.csv")
        return float(np.mean(model.predict(rows.drop(columns="target")).astype(str) != rows["target"].astype(str)))


def default(peer: str, train: pd.DataFrame, test: pd.DataFrame) -> float:
    """The error of a library with its defaults, which knows which columns are categories."""
    X, X_test = train.drop(columns="target"), test.drop(columns="target")
    texts = [name for name in X.columns if X[name].dtype == "category"]
    model: Any
    if peer == "CatBoost":
        from catboost import CatBoostClassifier

        X, X_test = ({name: f[name].astype(str) if name in texts else f[name] for name in f} for f in (X, X_test))
        X, X_test = pd.DataFrame(X), pd.DataFrame(X_test)
        model = CatBoostClassifier(verbose=0, thread_count=1, allow_writing_files=False, cat_features=texts)
    else:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(verbose=-1, n_jobs=1)
    called = np.ravel(model.fit(X, train["target"]).predict(X_test)).astype(str)
    return float(np.mean(called != test["target"].astype(str)))


def run(path: Path, split: int) -> dict[str, Any]:
    table = read(path)
    train, test = train_test_split(table, test_size=0.2, random_state=split, stratify=table["target"])
    started = time.monotonic()
    error = compared(train, test)
    seconds = time.monotonic() - started
    return {COMPARED: error, "seconds": seconds} | {peer: default(peer, train, test) for peer in PEERS}


def page(rows: list[dict[str, Any]]) -> str:
    """Mean errors, and whether the promise is kept on each table."""
    lines = ["# The model that is handed over, and the defaults of other libraries", "", __doc__.split("\n\n")[2], ""]
    lines += [
        "Within a point: the mean error of compare, minus two standard errors of its paired difference to the better "
        "library, is at most a point above that library's.",
        "",
        "| table | splits | compare | CatBoost | LightGBM | difference (its error) | within a point | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["table"] for row in rows):
        some = [row for row in rows if row["table"] == name]
        errors = {one: np.array([row[one] for row in some]) for one in (COMPARED, *PEERS)}
        away = errors[COMPARED] - min((errors[peer] for peer in PEERS), key=np.mean)
        spread = float(away.std(ddof=1) / np.sqrt(len(away))) if len(away) > 1 else 0.0
        kept = "yes" if away.mean() - 2 * spread <= WITHIN else "NO"
        cells = [name, str(len(some)), *(f"{one.mean():.4f}" for one in errors.values())]
        cells += [f"{away.mean():+.4f} ({spread:.4f})", kept, f"{max(row['seconds'] for row in some):.0f} at most"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    one = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    one.add_argument("folder", type=Path)
    one.add_argument("--out", type=Path, default=Path("benchmarks/SHAPES.md"))
    one.add_argument("--table", action="append")
    one.add_argument("--splits", type=int, default=SPLITS)
    options = one.parse_args()
    stored = options.out.with_suffix(".jsonl")
    rows = [json.loads(line) for line in stored.read_text().splitlines()] if stored.exists() else []
    for split in range(options.splits):
        for name in options.table or TABLES:
            if not any((row["table"], row["split"]) == (name, split) for row in rows):
                rows.append({"table": name, "split": split, **run(options.folder / f"{name}.csv.gz", split)})
                with open(stored, "a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                options.out.write_text(page(rows))


if __name__ == "__main__":
    main()
