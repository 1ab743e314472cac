"""What should early stopping listen to? Held-out error and rounds kept, over the data sets, 5-fold, same folds for all.

`python benchmarks/stopping.py [--out FILE] [--most-rows N]`; data as in criteria.py.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold

from criteria import data_sets
from electorate import AdaBoostClassifier, Trees

ROUNDS = 300


def _stopped(scoring: str, patience: int) -> Callable[[Any], Any]:
    return lambda family: AdaBoostClassifier(
        family, n_estimators=ROUNDS, early_stopping=True, scoring=scoring, n_iter_no_change=patience, random_state=0
    )


RULES: dict[str, Callable[[Any], Any]] = {
    "all rounds": lambda family: AdaBoostClassifier(family, n_estimators=ROUNDS),
    "loss, 10": _stopped("loss", 10),
    "loss, 50": _stopped("loss", 50),
    "error, 10": _stopped("error", 10),
    "error, 50": _stopped("error", 50),
}


def error_and_rounds(make: Callable[[Any], Any], family: Any, X: Any, y: Any) -> tuple[float, float]:
    wrong, rounds = 0, []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = make(family).fit(X.iloc[train], y[train])
        wrong += int(np.sum(model.predict(X.iloc[test]) != y[test]))
        rounds.append(len(model.steps_))
    return wrong / len(y), float(np.mean(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/STOPPING.md")
    parser.add_argument("--most-rows", type=int, default=3000)
    options = parser.parse_args()
    sets = data_sets(options.most_rows)
    lines = [
        "# The score and patience of early stopping, by held-out error\n",
        f"Mean error in percent, mean rank and mean rounds kept of at most {ROUNDS}, over {len(sets)} sets and 5 "
        "folds; a tenth of the training rows are validation rows. Written by `benchmarks/stopping.py`.",
    ]
    for name, family in {"stumps": None, "trees of depth 3": Trees(3)}.items():
        found = np.array([[error_and_rounds(make, family, X, y) for make in RULES.values()] for _, X, y in sets])
        ranks = np.array([rankdata(row) for row in found[:, :, 0]])
        lines += [f"\n## {name}\n", "| rule (score, patience) | error | rank | rounds |", "|---|---:|---:|---:|"]
        lines += [
            f"| {rule} | {100 * error:.2f} | {rank:.2f} | {rounds:.0f} |"
            for rule, error, rank, rounds in zip(
                RULES, found[:, :, 0].mean(axis=0), ranks.mean(axis=0), found[:, :, 1].mean(axis=0), strict=True
            )
        ]
        print("\n".join(lines[-7:]), flush=True)
    Path(options.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
