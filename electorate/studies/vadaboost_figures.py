"""Figures of the VadaBoost paper.

Figure 1: the cost V (4) along one voter and the bound U (5) that VadaBoost minimises. The paper does not say from which
data: here it is round 11 on 300 rows of XD6 with 20% noise.

Figure 2: 1 + cost against rounds on MNIST, 3 against 8, with stumps. The cost is (3), AdaBoost's squared. 2,500
training rows (half of 5,000, the paper's cut); pixels in 32 bins, which are ours, as are the rows drawn.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, CostDisplay, EBBoostClassifier, VadaBoostClassifier
from electorate.report.drawing import pyplot
from electorate.simulate import XD6
from electorate.studies.binary_sets import Source, read_set
from electorate.studies.request import Floats, Request, markdown_table

NEEDS_DATA = ("figure 2",)
OFFERS = {
    "figure 1": "the cost V along one voter and its bound U, lam = 0 and 0.9",
    "figure 2": "1 + cost against rounds on MNIST, 3 against 8, lam = 0 and 0.5",
}
BOUND_LAMS = (0.0, 0.9)
BEFORE = 10  # rounds before the voter of figure 1
LAMS = (0.0, 0.5)
LEVELS = (0.1, 0.01, 0.001)  # of n^2


@dataclass(frozen=True)
class Plan:
    rounds: int = 600
    rows: int = 2500
    bins: int = 32


PAPER = Plan()
QUICK = Plan(rounds=25, rows=200, bins=8)


# ---------------------------------------------------------------- figure 1


@dataclass
class BoundStudy:
    """V and U against alpha by lam, and the step that VadaBoost took, in `figure_`."""

    alphas: Floats
    costs: dict[float, tuple[Floats, Floats]]
    steps: dict[float, float]
    figure_: Any = None


def cost_and_bound(weights: Floats, right: Any, lam: float, alphas: Floats) -> tuple[Floats, Floats]:
    """V (4) and U (5) of steps alpha. weights: sum to 1; right: which rows the voter classifies correctly."""
    up, down, n = np.exp(alphas), np.exp(-alphas), len(weights)
    mean = weights[right].sum() * down + weights[~right].sum() * up
    squares = n * ((weights[right] ** 2).sum() * down**2 + (weights[~right] ** 2).sum() * up**2)
    penalised = lam * n * weights**2 + (1 - lam) * weights
    bound = penalised[right].sum() * down**2 + penalised[~right].sum() * up**2
    return mean**2 + lam * (squares - mean**2), bound


def figure_1() -> BoundStudy:
    X, y = XD6(noise=0.2).sample(300, random_state=0)
    study = BoundStudy(np.linspace(-0.5, 1.0, 151), {}, {})
    study.figure_, panels = pyplot(study).subplots(1, 2, figsize=(7.6, 3.2), layout="constrained")
    for panel, lam in zip(panels, BOUND_LAMS, strict=True):
        model = VadaBoostClassifier(lam=lam, n_estimators=BEFORE + 1).fit(X, y)
        sign = np.where(y == model.classes_[1], 1.0, -1.0)
        before = list(model.staged_decision_function(X))[BEFORE - 1]
        weights = np.exp(-sign * before)
        right = model.estimators_[BEFORE].predict(X) == y
        cost, bound = cost_and_bound(weights / weights.sum(), right, lam, study.alphas)
        study.costs[lam], study.steps[lam] = (cost, bound), float(model.steps_[BEFORE])
        panel.plot(study.alphas, bound, "--", label="bound U")
        panel.plot(study.alphas, cost, "-", label="cost V")
        panel.axvline(study.steps[lam], color="0.6", linewidth=0.8)
        panel.set(title=f"lam = {lam:g}", xlabel="alpha")
        panel.title.set_fontsize("medium")
    panels[0].legend()
    return study


def bound_lines(study: BoundStudy) -> list[str]:
    lines = []
    for lam, (cost, bound) in study.costs.items():
        at = int(np.argmin(np.abs(study.alphas - study.steps[lam])))
        best = float(study.alphas[np.argmin(cost)])
        ends = [f"{values[at]:.4f}" for values in (cost, bound)]
        lines.append([f"{lam:g}", f"{study.steps[lam]:.3f}", f"{best:.2f}", *ends, f"{np.max(bound / cost):.3f}"])
    head = "lam | step of VadaBoost | best step for V | V at the step | U at the step | largest U / V"
    text = f"XD6, 20% noise, 300 rows, round {BEFORE + 1}; alpha from -0.5 to 1. The vertical line is VadaBoost's step."
    return ["# VadaBoost, Figure 1: the bound U and the cost V", "", text, "", *markdown_table(head, lines, "rrrrrr")]


# ---------------------------------------------------------------- figure 2


@dataclass
class CostStudy:
    """One display for each lam, side by side in `figure_`."""

    plan: Plan
    displays: dict[float, CostDisplay]
    figure_: Any = None


def rows(folder: Path, plan: Plan) -> tuple[Any, Any]:
    """Threes and eights of MNIST, drawn."""
    data = read_set(Source("mnist", ("8",), ("3",)), folder)
    drawn = data.take(np.random.default_rng(0).permutation(len(data.y))[: plan.rows])
    return drawn.X, drawn.y


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
    """For `electorate reproduce vadaboost --figure N`: the picture goes to the folder, a table is returned.

    Figure 2: rounds until the cost is a share of n^2, its value without any voter; in the paper VadaBoost needs about
    twice AdaBoost's.
    """
    if request.what == "figure 1":
        bounds = figure_1()
        request.save(bounds.figure_, "vadaboost")
        return "\n".join(bound_lines(bounds))
    study = figure_2(request.data, QUICK if request.quick else PAPER)
    request.save(study.figure_, "vadaboost")
    lines = []
    for lam, display in study.displays.items():
        for name, cost in display.costs.items():
            found = [rounds_to(cost, level * study.plan.rows**2) for level in LEVELS]
            lines.append([f"{lam:g}", name, *("-" if number is None else number for number in found)])
    table = markdown_table("lam | algorithm | " + " | ".join(f"rounds to {x:g} n²" for x in LEVELS), lines, "llrrr")
    return "\n".join(["# VadaBoost, Figure 2: MNIST, 3 against 8, stumps", "", f"{study.plan}", "", *table])
