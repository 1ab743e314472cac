"""What penalties bring: VadaBoost beside AdaBoost, DeepBoost beside AdaBoost and AdaBoost-L1, on the papers' data.

`python benchmarks/penalties.py [--full] [--only NAME ...] [--out FILE]` reads the sets of DATASETS.json from the folder
named by ELECTORATE_DATA (default ../shared/data) and writes tables in Markdown. Without --full grids, repetitions and
rows are few: enough to see an order, not to settle one.
"""

import argparse
import os
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from electorate import AdaBoostClassifier, DeepBoostClassifier, Stumps, Trees, VadaBoostClassifier

SETS = ("breast_w", "ionosphere", "german_numeric", "pima", "mnist_17", "mnist_49")
PUBLISHED = {  # errors in percent: AdaBoost, AdaBoost-L1, DeepBoost with trees and the exponential loss (Table 2)
    "breast_w": (2.67, 2.64, 2.43),
    "ionosphere": (6.61, 6.57, 5.01),
    "german_numeric": (23.9, 23.9, 23.4),
    "pima": (24.9, 24.0, 23.0),
    "mnist_17": (0.471, 0.471, 0.409),
    "mnist_49": (1.98, 1.97, 1.82),
}


class Size(NamedTuple):
    """How much to run."""

    rounds: int
    rows: int  # of MNIST
    bins: int  # of MNIST's pixels
    folds: tuple[int, ...]  # of ten: which are tested
    depths: tuple[int, ...]
    prices: tuple[float, ...]  # of beta, and of lam
    repetitions: int
    patience: int


QUICK = Size(100, 1000, 32, (0, 2, 4, 6, 8), (2, 4), (1e-3, 1e-5), 5, 20)
FULL = Size(100, 70_000, 255, tuple(range(10)), (1, 2, 3, 4, 5, 6), (1e-3, 1e-4, 1e-5, 1e-6, 1e-7), 50, 100)
TINY = Size(8, 120, 8, (0, 5), (2,), (1e-2,), 2, 3)
SIZES = {"quick": QUICK, "full": FULL, "tiny": TINY}


def read(name: str, size: Size) -> tuple[Any, Any]:
    """Rows and labels 0 and 1; rows with missing values are left out, as in the DeepBoost paper."""
    folder = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if name.startswith("mnist"):
        with np.load(folder / "mnist.npz") as found:
            X = np.concatenate([found["x_train"], found["x_test"]]).reshape(-1, 784)
            y = np.concatenate([found["y_train"], found["y_test"]])
        rows = np.flatnonzero((y == int(name[-2])) | (y == int(name[-1])))
        rows = np.sort(np.random.default_rng(0).permutation(rows)[: size.rows])
        return X[rows].astype(np.float32), (y[rows] == int(name[-1])).astype(int)
    frame = pd.read_csv(folder / f"{name}.csv.gz").dropna()
    y = frame.pop("target")
    return frame.to_numpy(dtype=np.float64), (y == sorted(set(y))[-1]).to_numpy().astype(int)


def _bins(name: str, size: Size) -> int:
    return size.bins if name.startswith("mnist") else 255


# ---------------------------------------------------------------- DeepBoost


class Figures(NamedTuple):
    error: float
    tree_size: float  # all nodes, leaves too
    trees: float


def algorithms(name: str, size: Size) -> dict[str, list[Any]]:
    """The candidates of each algorithm, from which the validation fold chooses."""
    given: dict[str, Any] = {"n_estimators": size.rounds, "n_jobs": 1, "max_bins": _bins(name, size)}
    deep = [
        DeepBoostClassifier(Trees(k), lam=lam, beta=beta, **given)
        for k, beta, lam in product(size.depths, size.prices, size.prices)
    ]
    l1 = [DeepBoostClassifier(Trees(k), lam=0, beta=b, **given) for k, b in product(size.depths, size.prices)]
    ada = [AdaBoostClassifier(Trees(k, criterion="edge"), **given) for k in size.depths]
    return {"AdaBoost": ada, "AdaBoost-L1": l1, "DeepBoost": deep}


def fold(models: list[Any], X: Any, y: Any, parts: Any, number: int) -> Figures:
    """Part i tests, part i + 1 validates, the others train."""
    test, heard = parts[number], parts[(number + 1) % 10]
    rest = np.setdiff1d(np.arange(len(y)), np.concatenate([test, heard]))
    fitted = [model.fit(X[rest], y[rest]) for model in models]
    best = min(fitted, key=lambda model: 1 - model.score(X[heard], y[heard]))
    sizes = [len(voter._model.ensemble_.only(voter._number).column) for voter in best.estimators_]
    return Figures(1 - best.score(X[test], y[test]), float(np.mean(sizes or [1])), len(sizes))


def deepboost(names: Any, size: Size) -> list[str]:
    lines = [
        "| data | algorithm | error, % (s.e.) | paper's | tree size | trees |",
        "|---|---|---|---|---|---|",
    ]
    orders = []
    for name in names:
        X, y = read(name, size)
        parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 10)
        errors = {}
        for place, (algorithm, models) in enumerate(algorithms(name, size).items()):
            found = [fold(models, X, y, parts, number) for number in size.folds]
            errors[algorithm] = np.array([100 * figures.error for figures in found])
            mean, sure = errors[algorithm].mean(), errors[algorithm].std(ddof=1) / np.sqrt(len(found))
            tree, many = np.mean([f.tree_size for f in found]), np.mean([f.trees for f in found])
            paper = PUBLISHED[name][place]
            lines.append(f"| {name} | {algorithm} | {mean:.2f} ({sure:.2f}) | {paper} | {tree:.1f} | {many:.1f} |")
            print(lines[-1], flush=True)
        orders.append(_order(name, errors))
    return [*lines, "", *orders]


def _order(name: str, errors: dict[str, Any]) -> str:
    """Whether DeepBoost's mean error is the lowest, as in the paper; the difference with its standard error."""
    deep = errors["DeepBoost"]
    said = []
    for other in ("AdaBoost", "AdaBoost-L1"):
        apart = errors[other] - deep
        sure = apart.std(ddof=1) / np.sqrt(len(apart))
        holds = "holds" if apart.mean() > 0 else "does not hold"
        said.append(f"against {other} {holds} ({apart.mean():+.2f}, s.e. {sure:.2f})")
    return f"- {name}: the paper's order {', '.join(said)}."


# ---------------------------------------------------------------- VadaBoost


def vadaboost(names: Any, size: Size) -> list[str]:
    """Half to train, a quarter to stop by and to choose lam by, a quarter to test."""
    families = {"stumps": Stumps(), "trees": Trees(None, min_samples_split=10)}
    lines = ["| data | voters | AdaBoost, % (s.e.) | VadaBoost | difference |", "|---|---|---|---|---|"]
    for name, (voters, family) in product(names, families.items()):
        X, y = read(name, size)
        given: dict[str, Any] = {
            "n_estimators": 5 * size.rounds,
            "early_stopping": True,
            "scoring": "error",
            "n_jobs": 1,
        }
        given |= {"n_iter_no_change": size.patience, "max_bins": _bins(name, size)}
        rivals = [AdaBoostClassifier(family, **given), VadaBoostClassifier(family, lam="auto", **given)]
        errors = np.array([_split(rivals, X, y, seed) for seed in range(size.repetitions)])
        mean, sure = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
        apart = errors[:, 0] - errors[:, 1]
        gap = f"{apart.mean():+.2f} ({apart.std(ddof=1) / np.sqrt(len(apart)):.2f})"
        both = " | ".join(f"{m:.2f} ({s:.2f})" for m, s in zip(mean, sure, strict=True))
        lines.append(f"| {name} | {voters} | {both} | {gap} |")
        print(lines[-1], flush=True)
    return lines


def _split(models: list[Any], X: Any, y: Any, seed: int) -> list[float]:
    order = np.random.default_rng(seed).permutation(len(y))
    train, heard, test = np.split(order, [len(y) // 2, 3 * len(y) // 4])
    fitted = [model.fit(X[train], y[train], X_val=X[heard], y_val=y[heard]) for model in models]
    return [100 * (1 - model.score(X[test], y[test])) for model in fitted]


def report(names: Any, kind: str) -> str:
    size = SIZES[kind]
    cut = f" MNIST is cut to {size.rows} rows and {size.bins} bins, {len(size.folds)} of ten folds are tested,"
    small = "" if kind == "full" else cut
    command = "penalties.py --full" if kind == "full" else "penalties.py"
    lines = [
        "# Penalties: DeepBoost and VadaBoost beside AdaBoost",
        "",
        f"By `python benchmarks/{command}`.{small} grids: depths {size.depths}, "
        f"beta and lam {size.prices}. Folds, bins and splits are ours: figures are beside the paper's, not reproduced.",
        "",
        "## Trees, exponential loss (DeepBoost, Table 2)",
        "",
        f"{size.rounds} rounds; the fold after the tested one chooses depth and prices. Tree size counts all nodes.",
        "",
        *deepboost(names, size),
        "",
        "## VadaBoost",
        "",
        f"{5 * size.rounds} rounds at most, {size.repetitions} splits of 50/25/25; the middle part chooses the round",
        "and lam (0, 0.1, ..., 1). Trees: no split of fewer than 10 rows (MATLAB's default is our guess of the paper's",
        "CART). Positive differences are for VadaBoost.",
        "",
        *vadaboost(names, size),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="only to see that all runs")
    parser.add_argument("--only", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--out", default=Path(__file__).with_name("PENALTIES.md"), type=Path)
    chosen = parser.parse_args()
    text = report(chosen.only, "full" if chosen.full else "tiny" if chosen.tiny else "quick")
    chosen.out.write_text(text)
