"""Which criterion should trees be grown by? Held-out error over the data sets, 5-fold, same folds for all.

`python benchmarks/criteria.py [--out FILE] [--most-rows N]` reads the sets of DATASETS.json from the folder named by
ELECTORATE_DATA (default ../shared/data) and writes a table in Markdown. Ranks, then mean error, decide.
"""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold

from electorate import AdaBoostClassifier, RealAdaBoostClassifier, Trees

CRITERIA = ("gini", "edge", "matsushita")
MODELS: dict[str, Callable[[str], Any]] = {
    "AdaBoost, depth 2": lambda criterion: AdaBoostClassifier(Trees(2, criterion=criterion), n_estimators=100),
    "AdaBoost, depth 4": lambda criterion: AdaBoostClassifier(Trees(4, criterion=criterion), n_estimators=100),
    "Real AdaBoost, depth 1": lambda criterion: RealAdaBoostClassifier(Trees(1, criterion=criterion), n_estimators=100),
    "Real AdaBoost, depth 3": lambda criterion: RealAdaBoostClassifier(Trees(3, criterion=criterion), n_estimators=100),
}


def data_folder() -> Path:
    return Path(os.environ.get("ELECTORATE_DATA", "../shared/data"))


def data_sets(most_rows: int) -> list[tuple[str, pd.DataFrame, Any]]:
    """Real classification sets of moderate size, with every class at least five times."""
    found = []
    for entry in json.loads((data_folder() / "DATASETS.json").read_text())["datasets"]:
        if entry["task"] != "classification" or not 100 <= entry["n_rows"] <= most_rows:
            continue
        if "surrogate" in entry["name"] or entry["name"].endswith("_train") or entry["n_features"] > 150:
            continue
        table = pd.read_csv(data_folder() / entry["file"])
        if table["target"].value_counts().min() < 5:
            continue
        X = table.drop(columns="target")
        X = X.astype({column: "category" for column in entry["categorical"] if column in X})
        found.append((entry["name"], X, table["target"].to_numpy()))
    return found


def held_out_error(make: Callable[[str], Any], criterion: str, X: pd.DataFrame, y: Any) -> float:
    wrong = 0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = make(criterion).fit(X.iloc[train], y[train])
        wrong += int(np.sum(model.predict(X.iloc[test]) != y[test]))
    return wrong / len(y)


def compare(name: str, sets: list[tuple[str, pd.DataFrame, Any]]) -> list[str]:
    errors = np.array([[held_out_error(MODELS[name], c, X, y) for c in CRITERIA] for _, X, y in sets])
    ranks = np.array([rankdata(row) for row in errors])
    lines = [f"\n## {name}\n", "| data set | " + " | ".join(CRITERIA) + " |", "|---|" + "---:|" * len(CRITERIA)]
    lines += [
        f"| {set_name} | " + " | ".join(f"{100 * e:.2f}" for e in row) + " |"
        for (set_name, _, _), row in zip(sets, errors, strict=True)
    ]
    lines.append("| **mean error** | " + " | ".join(f"**{100 * e:.2f}**" for e in errors.mean(axis=0)) + " |")
    lines.append("| **mean rank** | " + " | ".join(f"**{r:.2f}**" for r in ranks.mean(axis=0)) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/CRITERIA.md")
    parser.add_argument("--most-rows", type=int, default=3000)
    options = parser.parse_args()
    sets = data_sets(options.most_rows)
    lines = [
        "# The criterion of trees, by held-out error\n",
        f"Error in percent over 5 stratified folds (the same for all), 100 rounds, {len(sets)} classification sets of "
        f"100 to {options.most_rows} rows; multi-class sets stay multi-class. Written by `benchmarks/criteria.py`.",
    ]
    for name in MODELS:
        lines += compare(name, sets)
        print("\n".join(lines[-2:]), name, flush=True)
    Path(options.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
