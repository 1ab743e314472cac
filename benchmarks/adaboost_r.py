"""Rules of two tests on the domains of the AdaBoost_R paper: our errors beside those of its Figure 4.

`python benchmarks/adaboost_r.py [--out FILE] [--only NAME ...]` reads the sets of DATASETS.json from the folder named
by ELECTORATE_DATA (default ../shared/data) and writes a table in Markdown. D is discrete AdaBoost, U AdaBoost_R, T real
AdaBoost. Folds, bins and the making of two classes are ours: figures are beside each other, not reproduced.
"""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from electorate import AdaBoostClassifier, AdaBoostRClassifier, RealAdaBoostClassifier, Rules
from electorate.simulate import XD6, Bits, LEDEven

ROUNDS = (10, 50)
MODELS: dict[str, Callable[[int], Any]] = {
    "D": lambda rounds: AdaBoostClassifier(Rules(2), n_estimators=rounds, n_jobs=1),
    "U": lambda rounds: AdaBoostRClassifier(Rules(2), n_estimators=rounds, n_jobs=1),
    "T": lambda rounds: RealAdaBoostClassifier(Rules(2), n_estimators=rounds, n_jobs=1),
}


AFTERWARDS = ("survival", "alive_at_1", "group", "mult")  # of Echocardio: the first two are known after the label


class Domain(NamedTuple):
    """published: D, U, T after 10 rounds and after 50. first: the class against the rest, or None for two classes."""

    published: tuple[float, ...]
    files: tuple[str, ...] = ()
    first: str | None = None
    without: tuple[str, ...] = ()
    sure: str = "high"  # how the two classes are made


DOMAINS = {
    "Balance (2C)": Domain((8.73, 8.73, 9.05, 4.44, 3.81, 4.92), ("balance_scale",), "L", sure="low"),
    "Breast-Wisc": Domain((4.51, 4.65, 4.79, 4.22, 3.38, 4.51), ("breast_w",)),
    "Bupa": Domain((34.57, 34.57, 32.85, 30.81, 27.71, 28.57), ("bupa",)),
    "Echocardio": Domain(
        (31.43, 26.43, 30.71, 30.00, 25.71, 27.86), ("echocardiogram_full",), without=AFTERWARDS, sure="medium"
    ),
    "Glass2": Domain((22.94, 18.24, 19.41, 17.65, 17.65, 15.88), ("glass2",)),
    "Hayes Roth (2C)": Domain((16.47, 24.11, 14.71, 19.41, 14.71, 15.88), ("hayes_roth",), "1", sure="medium"),
    "Heart": Domain((18.51, 16.67, 18.89, 19.63, 16.67, 19.63), ("heart_statlog",)),
    "Heart-Cleve": Domain((23.87, 21.29, 19.68, 17.42, 19.35, 20.97), ("heart_cleveland",), "0"),
    "Heart-Hungary": Domain((19.33, 19.33, 16.33, 21.33, 16.33, 18.33), ("heart_hungarian",)),
    "Hepatitis": Domain((16.47, 15.29, 17.05, 14.71, 15.29, 18.23), ("hepatitis",)),
    "Horse": Domain((17.10, 16.31, 18.16, 20.00, 16.31, 33.68), ("horse_colic",), sure="medium"),
    "Labor (2C)": Domain((18.33, 6.67, 11.67, 8.33, 5.00, 8.33), ("labor",)),
    "Lung cancer (2C)": Domain((27.50, 27.50, 30.00, 25.00, 25.00, 30.00), ("lung_cancer",), "1", sure="medium"),
    "LEDeven": Domain((9.76, 17.07, 11.22, 10.24, 9.51, 10.98), sure="medium"),
    "LEDeven+17": Domain((22.68, 21.46, 25.60, 26.34, 25.36, 26.10), sure="medium"),
    "Monks1": Domain((25.18, 25.18, 16.00, 13.39, 17.50, 1.50), ("monks1", "monks1_train")),
    "Monks2": Domain((34.75, 33.93, 32.28, 34.26, 37.70, 10.17), ("monks2", "monks2_train")),
    "Monks3": Domain((2.85, 3.57, 2.14, 1.43, 1.79, 1.79), ("monks3", "monks3_train")),
    "Pima (2C)": Domain((24.42, 24.55, 25.32, 24.94, 24.03, 25.71), ("pima",)),
    "Vehicle (2C)": Domain((26.00, 27.17, 26.35, 25.41, 25.29, 25.88), ("vehicle",), "saab", sure="medium"),
    "Votes": Domain((4.78, 5.00, 5.45, 3.86, 5.00, 5.68), ("house_votes",)),
    "Votes w/o": Domain((9.78, 8.86, 9.78, 10.23, 10.23, 10.45), ("house_votes",), without=("physician_fee_freeze",)),
    "XD6": Domain((20.32, 21.64, 19.51, 15.74, 14.92, 13.77)),
    "Yeast (2C)": Domain((28.93, 28.73, 26.80, 26.93, 27.33, 26.67), ("yeast",), "CYT", sure="medium"),
}


def data_folder() -> Path:
    return Path(os.environ.get("ELECTORATE_DATA", "../shared/data"))


def read(name: str) -> tuple[pd.DataFrame, Any]:
    """The table of a domain and its labels: of two classes, or one against the rest."""
    domain = DOMAINS[name]
    if not domain.files:
        return GENERATED[name]()
    known = {entry["name"]: entry for entry in json.loads((data_folder() / "DATASETS.json").read_text())["datasets"]}
    table = pd.concat([pd.read_csv(data_folder() / known[file]["file"]) for file in domain.files], ignore_index=True)
    y = table["target"].astype(str).to_numpy()
    X = table.drop(columns=["target", *domain.without])
    X = X.astype({column: "category" for column in known[domain.files[0]]["categorical"] if column in X})
    return X, y if domain.first is None else np.where(y == domain.first, domain.first, "rest")


def drawn(problem: Bits, rows: int, prefix: str) -> tuple[pd.DataFrame, Any]:
    X, y = problem.sample(rows, 0)
    return pd.DataFrame(X).add_prefix(prefix), y


GENERATED: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    "LEDeven": lambda: drawn(LEDEven(), 410, "s"),
    "LEDeven+17": lambda: drawn(LEDEven(irrelevant=17), 410, "s"),
    "XD6": lambda: drawn(XD6(), 610, "x"),
}


def errors(name: str, folds: int = 10) -> list[float]:
    """In percent: D, U, T after 10 rounds and after 50."""
    X, y = read(name)
    wrong = np.zeros((len(ROUNDS), len(MODELS)))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        for m, make in enumerate(MODELS.values()):
            model = make(max(ROUNDS)).fit(X.iloc[train], y[train])
            stages = [np.mean(said != y[test]) for said in model.staged_predict(X.iloc[test])]
            for k, rounds in enumerate(ROUNDS):
                wrong[k, m] += stages[min(rounds, len(stages)) - 1] / folds
    return [float(error) for error in 100 * wrong.ravel()]


def table(names: list[str]) -> list[str]:
    head = [f"{model} {rounds}" for rounds in ROUNDS for model in MODELS]
    lines = ["| domain | rows | two classes | " + " | ".join(head) + " |", "|---|---:|---|" + "---:|" * len(head)]
    ours = {name: errors(name) for name in names}
    for name in names:
        domain = DOMAINS[name]
        cells = [f"{mine:.2f} ({paper:.2f})" for mine, paper in zip(ours[name], domain.published, strict=True)]
        lines.append(f"| {name} | {len(read(name)[1])} | {domain.sure} | " + " | ".join(cells) + " |")
    means = np.mean([ours[name] for name in names], axis=0), np.mean([DOMAINS[n].published for n in names], axis=0)
    cells = [f"**{mine:.2f} ({paper:.2f})**" for mine, paper in zip(*means, strict=True)]
    return [*lines, f"| **mean of {len(names)}** | | | " + " | ".join(cells) + " |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/ADABOOST_R.md")
    parser.add_argument("--only", nargs="*", default=list(DOMAINS))
    options = parser.parse_args()
    lines = [
        "# Rules of two tests on the domains of the AdaBoost_R paper\n",
        "Error in percent over 10 stratified folds, beside the paper's (Figure 4) in brackets. D: discrete AdaBoost, "
        "U: AdaBoost_R, T: real AdaBoost; after 10 and 50 rounds. `two classes` says how sure we are of how the paper "
        "made them; `low` is a guess. Echocardio is without survival and alive_at_1, which are known only after the "
        "label: with them errors are near 10. Parity is left out: the paper does not say of how many bits. LED and "
        "XD6 are drawn anew. Folds are ours: figures are beside each other, not reproduced. Written by "
        "`benchmarks/adaboost_r.py`.\n",
        *table(options.only),
    ]
    Path(options.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
