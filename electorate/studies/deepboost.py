"""Figures 3 and 4 of the DeepBoost paper, on ionosphere: the sizes of DeepBoost's trees, and margins beside AdaBoost's.

The paper gives neither the subset nor the prices of its figures: the first nine tenths of the rows, shuffled, and the
prices below are ours. Sizes count all nodes of distinct trees.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, CumulativeMarginsDisplay, DeepBoostClassifier, Trees, TreeSizesDisplay
from electorate.studies.request import Request

NEEDS_DATA = ("figure 3", "figure 4")
OFFERS = {
    "figure 3": "the sizes of the trees of one run of DeepBoost on ionosphere",
    "figure 4": "normalised margins of AdaBoost, AdaBoost-L1 and DeepBoost on ionosphere",
}


@dataclass(frozen=True)
class Plan:
    """Depth, rounds, and the prices lam (of complexity) and beta (of weights)."""

    depth: int = 5
    rounds: int = 100
    lam: float = 0.003
    beta: float = 0.003


PAPER = Plan()
QUICK = Plan(depth=3, rounds=15)


def rows(folder: Path) -> tuple[Any, Any]:
    """Nine tenths of ionosphere, the second class as 1."""
    import pandas as pd

    table = pd.read_csv(folder / "ionosphere.csv.gz")
    y = table.pop("target").to_numpy()
    chosen = np.random.default_rng(0).permutation(len(y))[: 9 * len(y) // 10]
    return table.to_numpy(dtype=np.float64)[chosen], (y == np.unique(y)[-1]).astype(np.int64)[chosen]


def models(plan: Plan) -> dict[str, Any]:
    trees, rounds = Trees(plan.depth, criterion="edge"), plan.rounds
    return {
        "AdaBoost": AdaBoostClassifier(trees, n_estimators=rounds),
        "AdaBoost-L1": DeepBoostClassifier(Trees(plan.depth), lam=0.0, beta=plan.beta, n_estimators=rounds),
        "DeepBoost": DeepBoostClassifier(Trees(plan.depth), lam=plan.lam, beta=plan.beta, n_estimators=rounds),
    }


def figure_3(folder: Path, plan: Plan = PAPER) -> TreeSizesDisplay:
    """The sizes of DeepBoost's trees. folder: where the data sets are."""
    return TreeSizesDisplay.from_estimators({"DeepBoost": models(plan)["DeepBoost"].fit(*rows(folder))})


def figure_4(folder: Path, plan: Plan = PAPER) -> CumulativeMarginsDisplay:
    """The margins of three models on the rows they were fitted to, one panel each, and cumulative."""
    X, y = rows(folder)
    fitted = {name: model.fit(X, y) for name, model in models(plan).items()}
    return CumulativeMarginsDisplay.from_estimators(fitted, X, y).plot_panels()


def reproduce(request: Request) -> str:
    """For `electorate reproduce deepboost --figure N`: the picture goes to the folder, its numbers are returned."""
    number, plan = int(request.what.split()[-1]), QUICK if request.quick else PAPER
    display: Any = {3: figure_3, 4: figure_4}[number](request.data, plan)
    request.out.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(request.out / f"figure-{number}.png", dpi=110)
    said = _sizes(display) if number == 3 else _margins(display)
    return "\n".join(
        [f"# DeepBoost, Figure {number}: ionosphere", "", f"{plan}; the subset and prices are ours.", "", *said]
    )


def _sizes(display: TreeSizesDisplay) -> list[str]:
    sizes, counts = np.unique(display.sizes["DeepBoost"], return_counts=True)
    pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
    return ["| nodes | trees |", "|---:|---:|", *(f"| {size} | {count} |" for size, count in pairs)]


def _margins(display: CumulativeMarginsDisplay) -> list[str]:
    lines = ["| algorithm | minimum | 10% | median | mean |", "|---|---:|---:|---:|---:|"]
    for name, found in display.margins.items():
        numbers = (found.minimum, found.quantile(0.1), found.quantile(0.5), found.mean)
        lines.append(f"| {name} | " + " | ".join(f"{number:.4f}" for number in numbers) + " |")
    return lines
