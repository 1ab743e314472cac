"""A forest of 500 trees thinned to at most 100: test errors before and after, in benchmarks/THINNING.md.

`python benchmarks/thinning.py [--out FILE] [--trees N] [--most-rows N]` reads adult and covtype from the folder named
by ELECTORATE_DATA (default ../shared/data). Of each set a quarter tests; of the rest a third, 6,000 rows at most, which
the forest does not see, weighs its trees.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from electorate import thin

WAYS = ("quad-l1", "lp", "qp")
SHARE = 5  # at most one tree in so many stays
BAR = 0.5  # points of test error


def data_folder() -> Path:
    return Path(os.environ.get("ELECTORATE_DATA", "../shared/data"))


def adult(most_rows: int) -> tuple[pd.DataFrame, Any]:
    table = pd.read_csv(data_folder() / "adult.csv.gz", nrows=most_rows)
    return _split(table, table["target"].to_numpy())


def covtype(most_rows: int) -> tuple[pd.DataFrame, Any]:
    """Class 2 against the rest, 50,000 rows drawn at random."""
    table = pd.read_csv(data_folder() / "covtype.csv.gz")
    table = table.sample(min(50_000, most_rows), random_state=0)
    return _split(table, (table["target"] == 2).to_numpy().astype(int))


def _split(table: pd.DataFrame, y: Any) -> tuple[pd.DataFrame, Any]:
    """Categories as numbers: a forest needs no more."""
    X = table.drop(columns="target")
    for name in X.select_dtypes(exclude="number"):
        X[name] = pd.factorize(X[name])[0]
    return X, y


def measure(X: Any, y: Any, n_trees: int) -> list[dict[str, Any]]:
    """The forest, a fifth of its trees as they come, and what `thin` makes of it."""
    X, X_test, y, y_test = train_test_split(X.to_numpy(dtype=np.float32), y, test_size=0.25, random_state=0, stratify=y)
    few_rows = min(6_000, len(y) // 3)
    X, X_thin, y, y_thin = train_test_split(X, y, test_size=few_rows, random_state=0, stratify=y)
    forest = RandomForestClassifier(n_trees, random_state=0, n_jobs=2).fit(X, y)
    rows = [{"way": "the forest", "trees": n_trees, "error": 1 - forest.score(X_test, y_test), "seconds": np.nan}]
    few = n_trees // SHARE
    mean = np.mean([tree.predict_proba(X_test) for tree in forest.estimators_[:few]], axis=0)
    error = float(np.mean(forest.classes_[np.argmax(mean, axis=1)] != y_test))
    rows.append({"way": "its first trees, with equal weights", "trees": few, "error": error, "seconds": np.nan})
    for by in WAYS:
        start = time.perf_counter()
        thinned = thin(forest, X_thin, y_thin, by=by, max_voters=few)
        took = time.perf_counter() - start
        error = 1 - float(thinned.score(X_test, y_test))
        rows.append({"way": f"thin, by={by!r}", "trees": len(thinned.kept_), "error": error, "seconds": took})
    return rows


def table_of(name: str, X: Any, rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"\n## {name}, {len(X)} rows\n",
        "| ensemble | trees | test error, % | difference from the forest, points | s |",
    ]
    lines.append("|---|---:|---:|---:|---:|")
    for row in rows:
        more = 100 * (row["error"] - rows[0]["error"])
        took = "" if np.isnan(row["seconds"]) else f"{row['seconds']:.1f}"
        lines.append(f"| {row['way']} | {row['trees']} | {100 * row['error']:.2f} | {more:+.2f} | {took} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", default="benchmarks/THINNING.md")
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--most-rows", type=int, default=10**9)
    options = parser.parse_args()
    lines = [
        "# Thinning a random forest\n",
        f"A RandomForestClassifier of {options.trees} trees, thinned to at most {options.trees // SHARE}. The target: "
        f"test error within {BAR} points of the forest's. Written by `benchmarks/thinning.py`.",
    ]
    for name, read in (("adult", adult), ("covtype, 2 against the rest", covtype)):
        X, y = read(options.most_rows)
        lines += table_of(name, X, measure(X, y, options.trees))
        print("\n".join(lines[-5:]), flush=True)
    Path(options.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
