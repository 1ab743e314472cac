"""Figure 2 of the VadaBoost paper: 1 + cost against rounds on MNIST, 3 against 8, with stumps.

The cost is (3), AdaBoost's squared. 2,500 training rows (half of 5,000, the paper's cut); pixels in 32 bins, which are
ours, as are the rows drawn.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, CostDisplay, EBBoostClassifier, VadaBoostClassifier
from electorate.report.drawing import pyplot
from electorate.studies.request import Request, markdown_table

NEEDS_DATA = ("figure 2",)
OFFERS = {"figure 2": "1 + cost against rounds on MNIST, 3 against 8, lam = 0 and 0.5"}
LAMS = (0.0, 0.5)
LEVELS = (0.1, 0.01, 0.001)  # of n^2


@dataclass(frozen=True)
class Plan:
    rounds: int = 600
    rows: int = 2500
    bins: int = 32


PAPER = Plan()
QUICK = Plan(rounds=25, rows=200, bins=8)


@dataclass
class CostStudy:
    """One display for each lam, side by side in `figure_`."""

    plan: Plan
    displays: dict[float, CostDisplay]
    figure_: Any = None


def rows(folder: Path, plan: Plan) -> tuple[Any, Any]:
    """Threes and eights of MNIST, drawn."""
    with np.load(folder / "mnist.npz") as found:
        X = np.concatenate([found["x_train"], found["x_test"]]).reshape(-1, 784)
        y = np.concatenate([found["y_train"], found["y_test"]])
    chosen = np.random.default_rng(0).permutation(np.flatnonzero((y == 3) | (y == 8)))[: plan.rows]
    return X[chosen].astype(np.float32), (y[chosen] == 8).astype(np.int64)


def figure_2(folder: Path, plan: Plan = PAPER) -> CostStudy:
    """At lam = 0 EBBoost is AdaBoost, and is left out. folder: where the data sets are."""
    X, y = rows(folder, plan)
    options: dict[str, Any] = {"n_estimators": plan.rounds, "max_bins": plan.bins}
    adaboost = AdaBoostClassifier(**options).fit(X, y)
    study = CostStudy(plan, {})
    study.figure_, panels = pyplot(study).subplots(1, 2, figsize=(7.6, 3.2), sharey=True, layout="constrained")
    for panel, lam in zip(panels, LAMS, strict=True):
        models = {"AdaBoost, squared": adaboost, "VadaBoost": VadaBoostClassifier(lam=lam, **options).fit(X, y)}
        if lam > 0:
            models["EBBoost"] = EBBoostClassifier(lam=lam, **options).fit(X, y)
        study.displays[lam] = CostDisplay.from_estimators(models, len(y), ax=panel)
        panel.set_title(f"lam = {lam:g}", fontsize="medium")
    return study


def rounds_to(cost: Any, level: float) -> int | None:
    """The first round after which the cost is at most the level, or None."""
    found = np.flatnonzero(np.asarray(cost) <= level)
    return int(found[0]) + 1 if len(found) else None


def reproduce(request: Request) -> str:
    """For `electorate reproduce vadaboost --figure 2`: the picture goes to the folder, a table is returned.

    Rounds until the cost is a share of n^2, its value without any voter; the paper: VadaBoost needs about twice.
    """
    study = figure_2(request.data, QUICK if request.quick else PAPER)
    request.save(study.figure_, "vadaboost")
    lines = []
    for lam, display in study.displays.items():
        for name, cost in display.costs.items():
            found = [rounds_to(cost, level * study.plan.rows**2) for level in LEVELS]
            lines.append([f"{lam:g}", name, *("-" if number is None else number for number in found)])
    table = markdown_table("lam | algorithm | " + " | ".join(f"rounds to {x:g} n²" for x in LEVELS), lines, "llrrr")
    return "\n".join(["# VadaBoost, Figure 2: MNIST, 3 against 8, stumps", "", f"{study.plan}", "", *table])
