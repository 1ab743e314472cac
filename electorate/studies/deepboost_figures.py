"""Figures 3 and 4 of the DeepBoost paper, on ionosphere: the sizes of DeepBoost's trees, and margins beside AdaBoost's.

The paper gives neither the subset nor the prices of its figures: the first nine tenths of the rows, shuffled, and the
prices below are ours. Sizes count all nodes of distinct trees.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, CumulativeMarginsDisplay, DeepBoostClassifier, Trees, TreeSizesDisplay
from electorate.studies.binary_sets import Source, read_set
from electorate.studies.request import Request, markdown_table

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
    data = read_set(Source("ionosphere"), folder)
    rows = data.take(np.random.default_rng(0).permutation(len(data.y))[: 9 * len(data.y) // 10])
    return rows.X, rows.y


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
    plan = QUICK if request.quick else PAPER
    if request.number == 3:
        sizes = figure_3(request.data, plan)
        request.save(sizes.figure_, "deepboost")
        nodes, trees = np.unique(sizes.sizes["DeepBoost"], return_counts=True)
        table = markdown_table("nodes | trees", zip(nodes, trees, strict=True), "rr")
    else:
        margins = figure_4(request.data, plan)
        request.save(margins.figure_, "deepboost")
        numbers = {n: (m.minimum, m.quantile(0.1), m.quantile(0.5), m.mean) for n, m in margins.margins.items()}
        lines = [[name, *(f"{number:.4f}" for number in found)] for name, found in numbers.items()]
        table = markdown_table("algorithm | minimum | 10% | median | mean", lines, "lrrrr")
    title = f"# DeepBoost, Figure {request.number}: ionosphere"
    return "\n".join([title, "", f"{plan}; the subset and prices are ours.", "", *table])
