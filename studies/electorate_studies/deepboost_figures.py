"""Figures 3 and 4 of the DeepBoost paper, on ionosphere: the sizes of DeepBoost's trees, and margins beside AdaBoost's.

The paper gives neither the subset nor the prices of its figures: the first nine tenths of the rows, shuffled, and the
prices below are ours. Sizes count all nodes of distinct trees.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, DeepBoostClassifier, Trees, margins
from electorate.inspection.shapes import tree_sizes
from electorate.report import CumulativeMarginsDisplay, TreeSizesDisplay
from electorate.theory.margins import Margins
from electorate_studies.binary_sets import Source, read_set
from electorate_studies.request import Request, markdown_table

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


def figure_3(folder: Path, plan: Plan = PAPER) -> list[dict[str, Any]]:
    """The size of each of DeepBoost's trees. folder: where the data sets are."""
    return [{"nodes": int(nodes)} for nodes in tree_sizes(models(plan)["DeepBoost"].fit(*rows(folder)))]


def figure_4(folder: Path, plan: Plan = PAPER) -> list[dict[str, Any]]:
    """The margins of three models on the rows that they were fitted to."""
    X, y = rows(folder)
    found = {name: margins(model.fit(X, y), X, y).values for name, model in models(plan).items()}
    return [{"algorithm": name, "margins": np.sort(values).round(6).tolist()} for name, values in found.items()]


def facts(margins_of: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each algorithm in the rows of Figure 4: the least margin, the tenth and half of the rows, and the mean."""
    names = "minimum", "10%", "median", "mean"
    values = [(*np.quantile(one["margins"], (0.0, 0.1, 0.5)), np.mean(one["margins"])) for one in margins_of]
    return {one["algorithm"]: dict(zip(names, of, strict=True)) for one, of in zip(margins_of, values, strict=True)}


def reproduce(request: Request) -> str:
    """For `electorate reproduce deepboost --figure N`: numbers and picture go to the folder, a table is returned."""
    plan = QUICK if request.quick else PAPER
    make = partial({3: figure_3, 4: figure_4}[request.number], request.data, plan)
    found = request.figure_rows("deepboost", make, ("algorithm",))
    if request.number == 3:
        sizes = [one["nodes"] for one in found]
        request.save(TreeSizesDisplay({"DeepBoost": sizes}).plot().figure_, "deepboost")
        table = markdown_table("nodes | trees", zip(*np.unique(sizes, return_counts=True), strict=True), "rr")
    else:
        values = {one["algorithm"]: np.array(one["margins"]) for one in found}
        each = {name: Margins(of, np.ones(len(of)), of, "normalised") for name, of in values.items()}
        request.save(CumulativeMarginsDisplay(each).plot_panels().figure_, "deepboost")
        lines = [[name, *(f"{number:.4f}" for number in of.values())] for name, of in facts(found).items()]
        table = markdown_table("algorithm | minimum | 10% | median | mean", lines, "lrrrr")
    title = f"# DeepBoost, Figure {request.number}: ionosphere"
    return "\n".join([title, "", f"{plan}; the subset and prices are ours.", "", *table])
