"""Which family and prices should DeepBoostClassifier use by default? Held-out error, 5-fold, same folds for all.

`python benchmarks/deepboost_default.py [--out FILE] [--most-rows N]` reads the sets of DATASETS.json from the folder
named by ELECTORATE_DATA (default ../shared/data) and writes a page in Markdown. Every other data set chooses the
default by mean rank; the remaining ones compare the choice with the former default and with AdaBoost.
"""

import argparse
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, wilcoxon
from sklearn.model_selection import StratifiedKFold

from criteria import data_sets
from electorate import AdaBoostClassifier, DeepBoostClassifier, PairedStumps, Stumps, Trees, Union

ROUNDS = (50, 100)  # one fit of 100 rounds gives both
FAMILIES = {
    "Stumps()": Stumps(),
    "Union([Stumps(), PairedStumps()])": Union([Stumps(), PairedStumps()]),
    "Trees(2)": Trees(2),
    "Trees(3)": Trees(3),
    "Trees(4)": Trees(4),
}
PRICES = ((0, 1e-3), (1e-3, 1e-3), (1e-2, 0), (1e-2, 1e-3))  # lam, beta
FORMER = ("Stumps()", 1e-3, 1e-3)

Candidate = tuple[str, float, float]
DataSet = tuple[str, pd.DataFrame, Any]


def held_out_errors(model: Any, X: pd.DataFrame, y: Any) -> list[float]:
    """The error over five folds, in percent, after each number of rounds in ROUNDS."""
    wrong = np.zeros(len(ROUNDS))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model.fit(X.iloc[train], y[train])
        stages = [predicted != y[test] for predicted in islice(model.staged_predict(X.iloc[test]), max(ROUNDS))]
        stages = stages or [model.predict(X.iloc[test]) != y[test]]
        wrong += [np.sum(stages[min(rounds, len(stages)) - 1]) for rounds in ROUNDS]  # a run may end by itself
    return (100 * wrong / len(y)).tolist()


def deepboost(candidate: Candidate) -> Any:
    family, lam, beta = candidate
    return DeepBoostClassifier(FAMILIES[family], lam=lam, beta=beta, n_estimators=max(ROUNDS), n_jobs=1)


def errors_of(models: list[Any], sets: list[DataSet]) -> Any:
    """[data set, model, number of rounds]."""
    errors = []
    for name, X, y in sets:
        errors.append([held_out_errors(model, X, y) for model in models])
        print(name, np.round(errors[-1], 2).T.tolist(), flush=True)
    return np.array(errors)


def choose(sets: list[DataSet]) -> tuple[Candidate, list[str]]:
    """The candidate of the lowest mean rank over the data sets, averaged over the numbers of rounds."""
    candidates = [(family, lam, beta) for family, (lam, beta) in product(FAMILIES, PRICES)]
    errors = errors_of([deepboost(candidate) for candidate in candidates], sets)
    ranks = np.array([[rankdata(column) for column in of_set.T] for of_set in errors]).mean(axis=0)  # [rounds, model]
    chosen = int(np.argmin(ranks.mean(axis=0)))
    means = errors.mean(axis=0)
    lines = [
        "| family | lam | beta | error, 50 rounds | error, 100 rounds | rank, 50 | rank, 100 |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for place, (family, lam, beta) in enumerate(candidates):
        figures = f"{means[place, 0]:.2f} | {means[place, 1]:.2f} | {ranks[0, place]:.1f} | {ranks[1, place]:.1f}"
        lines.append(f"| {family} | {lam:g} | {beta:g} | {figures} |")
    return candidates[chosen], lines


def confirm(chosen: Candidate, sets: list[DataSet]) -> list[str]:
    """The chosen default beside the former one and AdaBoost, on data sets that took no part in the choice."""
    depth = getattr(FAMILIES[chosen[0]], "max_depth", 2)
    models = {
        "chosen": deepboost(chosen),
        "former default": deepboost(FORMER),
        "AdaBoost, stumps": AdaBoostClassifier(n_estimators=max(ROUNDS), n_jobs=1),
        f"AdaBoost, Trees({depth})": AdaBoostClassifier(
            Trees(depth, criterion="edge"), n_estimators=max(ROUNDS), n_jobs=1
        ),
    }
    errors = errors_of(list(models.values()), sets)
    lines = []
    for place, rounds in enumerate(ROUNDS):
        table = errors[:, :, place]
        lines += ["", f"### {rounds} rounds", "", "| data set | " + " | ".join(models) + " |", "|---|" + "---:|" * 4]
        for (name, _, _), row in zip(sets, table, strict=True):
            lines.append(f"| {name} | " + " | ".join(f"{error:.2f}" for error in row) + " |")
        lines.append("| **mean** | " + " | ".join(f"**{error:.2f}**" for error in table.mean(axis=0)) + " |")
        lines.append("")
        for other, column in list(zip(models, table.T, strict=True))[1:]:
            apart = column - table[:, 0]
            test = wilcoxon(apart, zero_method="zsplit").pvalue if np.any(apart) else 1.0
            wins, losses = np.sum(apart > 0), np.sum(apart < 0)
            lines.append(f"- Against {other}: {wins} better, {losses} worse, Wilcoxon p = {test:.3f}.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=str(Path(__file__).with_name("DEEPBOOST_DEFAULT.md")))
    parser.add_argument("--most-rows", type=int, default=1000)
    options = parser.parse_args()
    sets = data_sets(options.most_rows)
    choosing, checking = (
        [data_set for data_set in half if len(np.unique(data_set[2])) == 2] for half in (sets[::2], sets[1::2])
    )
    chosen, table = choose(choosing)
    lines = [
        "# The default of DeepBoostClassifier, by held-out error",
        "",
        f"Error in percent over 5 stratified folds (the same for all), two-class sets of 100 to "
        f"{options.most_rows} rows. Written by `benchmarks/deepboost_default.py`.",
        "",
        "## Choice",
        "",
        f"Mean error and mean rank over {len(choosing)} data sets: {', '.join(name for name, _, _ in choosing)}.",
        "",
        *table,
        "",
        f"Lowest mean rank: `{chosen[0]}`, lam={chosen[1]:g}, beta={chosen[2]:g}. In DeepBoost, `Trees(K)` is a union: "
        "in every round trees of one to K layers compete, each with a penalty that grows with its number of splits.",
        "",
        "## Check on other data sets",
        *confirm(chosen, checking),
    ]
    Path(options.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
