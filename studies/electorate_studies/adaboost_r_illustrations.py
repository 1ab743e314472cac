"""Figures 2 and 3 of the AdaBoost_R paper, with data: the bound of Theorem 1, and a margin graph of the Bayes rule.

The paper draws both by hand. Figure 2: margins (eq. 9) of training rows without noise, so that the error of the
empirical Bayes rule is 0, under the bound of Theorem 1, which moves towards theta = 1. Figure 3: the margin graph of
the Bayes rule for one row of XD6 whose label is inverted with probability eta: it rises to eta at -(1 - 2 eta) and to 1
at 1 - 2 eta.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from electorate import AdaBoostRClassifier, Rules
from electorate.inspection import staged_margins
from electorate.report.drawing import lines, pyplot
from electorate.simulate import XD6
from electorate.theory.margins import Margins, bayes_margins
from electorate.theory.training import margin_errors
from electorate_studies.request import Request, markdown_table

NEEDS_DATA: tuple[str, ...] = ()  # its rows are simulated
OFFERS = {
    "figure 2": "margins of training rows under the bound of Theorem 1, after several numbers of rounds",
    "figure 3": "the margin graph of the Bayes rule for one row, labels inverted at rates of 10 to 40%",
}
RATES = (0.1, 0.2, 0.3, 0.4)
THETAS = np.linspace(-1.0, 1.0, 401)[:-1]
SHOWN = (0.0, 0.5, 0.9)  # thetas in the table


@dataclass(frozen=True)
class Plan:
    """Training rows of XD6 without noise, the most tests of a rule, and the numbers of rounds."""

    rows: int = 300
    max_terms: int = 3
    rounds: tuple[int, ...] = (10, 50, 250)


PAPER = Plan()
QUICK = Plan(rows=100, rounds=(5, 20))


def stages(plan: Plan = PAPER) -> list[dict[str, Any]]:
    """AdaBoost_R after each number of rounds: the sorted margins of the training rows, and the bound at THETAS.

    Identical rows have the same label, so that eps* is 0.
    """
    X, y = XD6(noise=0.0).sample(plan.rows, 0)
    model = AdaBoostRClassifier(Rules(plan.max_terms), n_estimators=max(plan.rounds)).fit(X, y)
    graphs = list(staged_margins(model, X, y, kind="logistic"))
    found = []
    for number in (one for one in plan.rounds if one <= len(graphs)):
        bound = [margin_errors(model.history_["edge"][:number], theta, 0.0)[-1] for theta in THETAS.tolist()]
        margins = np.sort(graphs[number - 1].values)
        found.append({"rounds": number, "margins": margins.tolist(), "bound": list(map(float, bound))})
    return found


def observed(stage: dict[str, Any]) -> Any:
    """The margin errors at THETAS."""
    return np.searchsorted(stage["margins"], THETAS, side="right") / len(stage["margins"])


def violations(stage: dict[str, Any]) -> int:
    return int(np.count_nonzero(observed(stage) > np.array(stage["bound"]) + 1e-9))


def figure_2(found: list[dict[str, Any]]) -> Any:
    """A panel for each number of rounds: the margin graph, and the bound."""
    look = {"sharex": True, "sharey": True, "layout": "constrained", "squeeze": False}
    figure, grid = pyplot(figure_2).subplots(1, len(found), figsize=(2.6 * len(found), 2.6), **look)
    for panel, stage in zip(grid[0], found, strict=True):
        graphs = {"training rows": observed(stage), "Theorem 1": np.minimum(stage["bound"], 1.0)}
        for (name, graph), style in zip(graphs.items(), lines(), strict=False):
            panel.plot(THETAS, graph, label=name, **style)
        panel.set(title=f"T = {stage['rounds']}", xlim=(-1.03, 1.03), ylim=(-0.03, 1.03), xlabel="theta")
        panel.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("margin error")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def local_graphs() -> list[dict[str, Any]]:
    """By the rate of inverted labels, the margins of the Bayes rule for one row, and how likely they are."""
    point = XD6().sample(1, 0)[0]
    graphs = {rate: bayes_margins(XD6(noise=rate).probability(point)) for rate in RATES}
    return [{"eta": rate, "margins": of.values.tolist(), "weights": of.weights.tolist()} for rate, of in graphs.items()]


def graph_of(one: dict[str, Any]) -> Margins:
    values = np.array(one["margins"])
    return Margins(values, np.array(one["weights"]), values, "logistic")


def figure_3(found: list[dict[str, Any]]) -> Any:
    """All graphs, and the dotted lines on which their stairs begin."""
    figure, panel = pyplot(figure_3).subplots(figsize=(4.6, 3.2), layout="constrained")
    for one, style in zip(found, lines(), strict=False):
        panel.plot(*graph_of(one).curve(), drawstyle="steps-post", label=f"eta = {one['eta']:g}", **style)
    panel.plot([-1.0, 0.0], [0.0, 0.5], ":", color="0.5")
    panel.plot([0.0, 1.0], [1.0, 1.0], ":", color="0.5")
    panel.set(xlim=(-1.03, 1.03), ylim=(-0.03, 1.06), xlabel="theta", ylabel="margin error")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize="small")
    return figure


def reproduce(request: Request) -> str:
    """For `electorate reproduce adaboost_r --figure N`: the picture goes to the folder, the table is returned."""
    plan = QUICK if request.quick else PAPER
    if request.number == 2:
        found = request.figure_rows("adaboost_r", partial(stages, plan))
        figure, title = figure_2(found), "the bound of Theorem 1"
        cells = [[of["rounds"], violations(of), *(_both(of, theta) for theta in SHOWN)] for of in found]
        head = " | ".join(("T", "violations", *(f"theta = {theta:g}: observed / bound" for theta in SHOWN)))
        table = markdown_table(head, cells, "rrrrr")
        text = f"{plan.rows} training rows of XD6 without noise, rules of at most {plan.max_terms} tests."
    else:
        found = request.figure_rows("adaboost_r", local_graphs)
        figure, title = figure_3(found), "a local margin graph of the Bayes rule"
        graphs = [(one["eta"], graph_of(one)) for one in found]
        cells = [
            [f"{rate:g}", *(f"{x:.4f}" for x in (graph.minimum, graph.margin_error(0.0), graph.values.max()))]
            for rate, graph in graphs
        ]
        table = markdown_table("eta | first stair at | height between the stairs | second stair at", cells, "rrrr")
        text = "One row of XD6, whose label is inverted with probability eta."
    text += f" The picture: {request.save(figure, 'adaboost_r')}." + (" A quick run." if request.quick else "")
    return "\n".join([f"# AdaBoost_R, Figure {request.number}: {title}", "", text, "", *table])


def _both(stage: dict[str, Any], theta: float) -> str:
    at = int(np.argmin(np.abs(THETAS - theta)))
    bound = stage["bound"][at]
    return f"{observed(stage)[at]:.4f} / " + (f"{bound:.4f}" if bound < 1 else "vacuous")
