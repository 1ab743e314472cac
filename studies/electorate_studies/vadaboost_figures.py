"""Figures of the VadaBoost paper.

Figure 1: the cost V (4) along one voter and the bound U (5) that VadaBoost minimises. The paper does not say from which
data: here it is round 11 on 300 rows of XD6 with 20% noise.

Figure 2: 1 + cost against rounds on MNIST, 3 against 8, with stumps. The cost is (3), AdaBoost's squared. 2,500
training rows (half of 5,000, the paper's cut); pixels in 32 bins, which are ours, as are the rows drawn.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, EBBoostClassifier, VadaBoostClassifier
from electorate.exact import Floats
from electorate.report import CostDisplay
from electorate.report.drawing import pyplot
from electorate.simulate import XD6
from electorate_studies.binary_sets import Source, read_set
from electorate_studies.request import Request, markdown_table

NEEDS_DATA = ("figure 2",)
OFFERS = {
    "figure 1": "the cost V along one voter and its bound U, lam = 0 and 0.9",
    "figure 2": "1 + cost against rounds on MNIST, 3 against 8, lam = 0 and 0.5",
}
BOUND_LAMS = (0.0, 0.9)
ALPHAS = np.linspace(-0.5, 1.0, 151).round(2)
CURVES = ("lam", "step", "alpha", "V", "U")
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


def cost_and_bound(weights: Floats, right: Any, lam: float, alphas: Floats) -> tuple[Floats, Floats]:
    """V (4) and U (5) of steps alpha. weights: sum to 1; right: which rows the voter classifies correctly."""
    up, down, n = np.exp(alphas), np.exp(-alphas), len(weights)
    mean = weights[right].sum() * down + weights[~right].sum() * up
    squares = n * ((weights[right] ** 2).sum() * down**2 + (weights[~right] ** 2).sum() * up**2)
    penalised = lam * n * weights**2 + (1 - lam) * weights
    bound = penalised[right].sum() * down**2 + penalised[~right].sum() * up**2
    return mean**2 + lam * (squares - mean**2), bound


def figure_1() -> list[dict[str, Any]]:
    """V and U against alpha by lam, and the step that VadaBoost took."""
    X, y = XD6(noise=0.2).sample(300, random_state=0)
    found = []
    for lam in BOUND_LAMS:
        model = VadaBoostClassifier(lam=lam, n_estimators=BEFORE + 1).fit(X, y)
        sign = np.where(y == model.classes_[1], 1.0, -1.0)
        before = list(model.staged_decision_function(X))[BEFORE - 1]
        weights = np.exp(-sign * before)
        right = model.estimators_[BEFORE].predict(X) == y
        cost, bound = cost_and_bound(weights / weights.sum(), right, lam, ALPHAS)
        columns = np.column_stack([ALPHAS, cost, bound]).tolist()
        found += [dict(zip(CURVES, (lam, float(model.steps_[BEFORE]), *one), strict=True)) for one in columns]
    return found


def bounds(rows_of: list[dict[str, Any]]) -> dict[float, dict[str, Any]]:
    """By lam, from the rows of Figure 1: alpha, V and U as arrays, and the step."""
    return {
        lam: {
            name: np.array([one[name] for one in rows_of if one["lam"] == lam]) for name in ("alpha", "V", "U", "step")
        }
        for lam in BOUND_LAMS
    }


def draw_1(found: dict[float, dict[str, Any]]) -> Any:
    figure, panels = pyplot(draw_1).subplots(1, 2, figsize=(7.6, 3.2), layout="constrained")
    for panel, (lam, of) in zip(panels, found.items(), strict=True):
        panel.plot(of["alpha"], of["U"], "--", label="bound U")
        panel.plot(of["alpha"], of["V"], "-", label="cost V")
        panel.axvline(of["step"][0], color="0.6", linewidth=0.8)
        panel.set(title=f"lam = {lam:g}", xlabel="alpha")
        panel.title.set_fontsize("medium")
    panels[0].legend()
    return figure


def bound_lines(found: dict[float, dict[str, Any]]) -> list[str]:
    lines = []
    for lam, of in found.items():
        at = int(np.argmin(np.abs(of["alpha"] - of["step"])))
        best = float(of["alpha"][np.argmin(of["V"])])
        ends = [f"{of[name][at]:.4f}" for name in ("V", "U")]
        lines.append([f"{lam:g}", f"{of['step'][0]:.3f}", f"{best:.2f}", *ends, f"{np.max(of['U'] / of['V']):.3f}"])
    head = "lam | step of VadaBoost | best step for V | V at the step | U at the step | largest U / V"
    text = f"XD6, 20% noise, 300 rows, round {BEFORE + 1}; alpha from -0.5 to 1. The vertical line is VadaBoost's step."
    return ["# VadaBoost, Figure 1: the bound U and the cost V", "", text, "", *markdown_table(head, lines, "rrrrrr")]


# ---------------------------------------------------------------- figure 2


def rows(folder: Path, plan: Plan) -> tuple[Any, Any]:
    """Threes and eights of MNIST, drawn."""
    data = read_set(Source("mnist", ("8",), ("3",)), folder)
    drawn = data.take(np.random.default_rng(0).permutation(len(data.y))[: plan.rows])
    return drawn.X, drawn.y


def figure_2(folder: Path, plan: Plan = PAPER) -> list[dict[str, Any]]:
    """The costs after every round. At lam = 0 EBBoost is AdaBoost, and is left out. folder: of the data sets."""
    X, y = rows(folder, plan)
    options: dict[str, Any] = {"n_estimators": plan.rounds, "max_bins": plan.bins}
    adaboost = AdaBoostClassifier(**options).fit(X, y)
    found = []
    for lam in LAMS:
        models = {"AdaBoost, squared": adaboost, "VadaBoost": VadaBoostClassifier(lam=lam, **options).fit(X, y)}
        if lam > 0:
            models["EBBoost"] = EBBoostClassifier(lam=lam, **options).fit(X, y)
        costs = CostDisplay.costs_of(models, len(y))
        found += [
            {"lam": lam, "algorithm": name, "rows": len(y), "cost": [float(f"{x:.6g}") for x in cost]}
            for name, cost in costs.items()
        ]
    return found


def draw_2(found: list[dict[str, Any]]) -> Any:
    figure, panels = pyplot(draw_2).subplots(1, 2, figsize=(7.6, 3.2), sharey=True, layout="constrained")
    for panel, lam in zip(panels, LAMS, strict=True):
        CostDisplay({one["algorithm"]: one["cost"] for one in found if one["lam"] == lam}).plot(panel)
        panel.set_title(f"lam = {lam:g}", fontsize="medium")
    return figure


def rounds_to(cost: Any, level: float) -> int | None:
    """The first round after which the cost is at most the level, or None."""
    found = np.flatnonzero(np.asarray(cost) <= level)
    return int(found[0]) + 1 if len(found) else None


def reproduce(request: Request) -> str:
    """For `electorate reproduce vadaboost --figure N`: the picture goes to the folder, a table is returned.

    Figure 2: rounds until the cost is a share of n^2, its value without any voter; in the paper VadaBoost needs about
    twice AdaBoost's.
    """
    plan = QUICK if request.quick else PAPER
    if request.number == 1:
        curves = bounds(request.figure_rows("vadaboost", figure_1))
        request.save(draw_1(curves), "vadaboost")
        return "\n".join(bound_lines(curves))
    found = request.figure_rows("vadaboost", partial(figure_2, request.data, plan), ("algorithm",))
    request.save(draw_2(found), "vadaboost")
    lines = []
    for one in found:
        needed = [rounds_to(one["cost"], level * one["rows"] ** 2) for level in LEVELS]
        lines.append([f"{one['lam']:g}", one["algorithm"], *("-" if number is None else number for number in needed)])
    table = markdown_table("lam | algorithm | " + " | ".join(f"rounds to {x:g} n²" for x in LEVELS), lines, "llrrr")
    return "\n".join(["# VadaBoost, Figure 2: MNIST, 3 against 8, stumps", "", f"{plan}", "", *table])
