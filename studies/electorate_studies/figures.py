"""Figures of the papers that a few runs make: rows of numbers in a CSV file, from which the picture and a table are.

VadaBoost, Figure 1: the cost V (4) along one voter and the bound U (5) that VadaBoost minimises. The paper does not say
from which data: here it is round 11 on 300 rows of XD6 with 20% noise. Figure 2: 1 + cost against rounds on MNIST, 3
against 8, with stumps. The cost is (3), AdaBoost's squared. 2,500 training rows (half of 5,000, the paper's cut);
pixels in 32 bins, which are ours, as are the rows drawn. In the paper VadaBoost needs about twice AdaBoost's rounds.

DeepBoost, Figures 3 and 4, on ionosphere: the sizes of its trees, and margins beside AdaBoost's. The paper gives
neither the subset nor the prices: the first nine tenths of the rows, shuffled, and the prices below are ours. Sizes
count all nodes of distinct trees.

AdaBoost_R, Figures 2 and 3, which the paper draws by hand. Figure 2: margins (eq. 9) of training rows without noise, so
that the error of the empirical Bayes rule is 0, under the bound of Theorem 1, which moves towards theta = 1. Figure 3:
the margin graph of the Bayes rule for one row of XD6 whose label is inverted with probability eta: it rises to eta at
-(1 - 2 eta) and to 1 at 1 - 2 eta.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    DeepBoostClassifier,
    EBBoostClassifier,
    Rules,
    Trees,
    VadaBoostClassifier,
    margins,
)
from electorate.inspection import staged_margins, tree_sizes
from electorate.report import CostDisplay, CumulativeMarginsDisplay, TreeSizesDisplay
from electorate.simulate import XD6
from electorate.theory.margins import Margins, bayes_margins
from electorate.theory.training import margin_errors
from electorate_studies.binary_sets import Source, read_set
from electorate_studies.request import PAPERS, STYLES, Floats, Request, markdown_table, new_figure, paragraphs, text
from electorate_studies.runs import RowDict, stored

Found = list[RowDict]


# ---------------------------------------------------------------- VadaBoost, Figure 1

BOUND_LAMS = (0.0, 0.9)
ALPHAS = np.linspace(-0.5, 1.0, 151).round(2)
CURVES = ("lam", "step", "alpha", "V", "U")
BEFORE = 10  # rounds before the voter of figure 1


def cost_and_bound(weights: Floats, right: Any, lam: float, alphas: Floats) -> tuple[Floats, Floats]:
    """V (4) and U (5) of steps alpha. weights: sum to 1; right: which rows the voter classifies correctly."""
    up, down, n = np.exp(alphas), np.exp(-alphas), len(weights)
    mean = weights[right].sum() * down + weights[~right].sum() * up
    squares = n * ((weights[right] ** 2).sum() * down**2 + (weights[~right] ** 2).sum() * up**2)
    penalised = lam * n * weights**2 + (1 - lam) * weights
    bound = penalised[right].sum() * down**2 + penalised[~right].sum() * up**2
    return mean**2 + lam * (squares - mean**2), bound


def bound_curves(folder: Path) -> Found:
    """V and U against alpha by lam, and the step that VadaBoost took."""
    X, y = XD6(noise=0.2).sample(300, random_state=0)
    found = []
    for lam in BOUND_LAMS:
        model = VadaBoostClassifier(lam=lam, n_estimators=BEFORE + 1).fit(X, y)
        sign = np.where(y == model.classes_[1], 1.0, -1.0)
        weights = np.exp(-sign * list(model.staged_decision_function(X))[BEFORE - 1])
        right = model.estimators_[BEFORE].predict(X) == y
        cost, bound = cost_and_bound(weights / weights.sum(), right, lam, ALPHAS)
        columns = np.column_stack([ALPHAS, cost, bound]).tolist()
        found += [dict(zip(CURVES, (lam, float(model.steps_[BEFORE]), *one), strict=True)) for one in columns]
    return found


def bounds(curves: Found) -> dict[float, dict[str, Any]]:
    """By lam, from the rows of Figure 1: alpha, V and U as arrays, and the step."""
    rows_of = {lam: [one for one in curves if one["lam"] == lam] for lam in BOUND_LAMS}
    return {lam: {name: np.array([one[name] for one in of]) for name in CURVES[1:]} for lam, of in rows_of.items()}


def draw_bounds(found: Found) -> Any:
    figure, ((first, _),) = new_figure(1, 2, (7.6, 3.2))
    for panel, (lam, of) in zip(figure.axes, bounds(found).items(), strict=True):
        panel.plot(of["alpha"], of["U"], "--", label="bound U")
        panel.plot(of["alpha"], of["V"], "-", label="cost V")
        panel.axvline(of["step"][0], color="0.6", linewidth=0.8)
        panel.set(xlabel="alpha")
        panel.set_title(f"lam = {lam:g}", fontsize="medium")
    first.legend()
    return figure


def bound_lines(found: Found) -> list[str]:
    lines = []
    for lam, of in bounds(found).items():
        at = int(np.argmin(np.abs(of["alpha"] - of["step"])))
        best = float(of["alpha"][np.argmin(of["V"])])
        ends = [f"{of[name][at]:.4f}" for name in ("V", "U")]
        lines.append([f"{lam:g}", f"{of['step'][0]:.3f}", f"{best:.2f}", *ends, f"{np.max(of['U'] / of['V']):.3f}"])
    head = "lam | step of VadaBoost | best step for V | V at the step | U at the step | largest U / V"
    return markdown_table(head, lines, "rrrrrr")


# ---------------------------------------------------------------- VadaBoost, Figure 2

LAMS = (0.0, 0.5)
LEVELS = (0.1, 0.01, 0.001)  # of n^2, the cost without any voter


def cost_curves(folder: Path, rounds: int = 600, rows: int = 2500, bins: int = 32) -> Found:
    """The costs after every round. At lam = 0 EBBoost is AdaBoost, and is left out. folder: of the data sets."""
    data = read_set(Source("mnist", ("8",), ("3",)), folder)
    drawn = data.take(np.random.default_rng(0).permutation(len(data.y))[:rows])
    X, y, found = drawn.X, drawn.y, []
    options: dict[str, Any] = {"n_estimators": rounds, "max_bins": bins}
    adaboost = AdaBoostClassifier(**options).fit(X, y)
    for lam in LAMS:
        models = {"AdaBoost, squared": adaboost, "VadaBoost": VadaBoostClassifier(lam=lam, **options).fit(X, y)}
        if lam > 0:
            models["EBBoost"] = EBBoostClassifier(lam=lam, **options).fit(X, y)
        for name, cost in CostDisplay.costs_of(models, len(y)).items():
            shown = [float(f"{x:.6g}") for x in cost]
            found.append({"lam": lam, "algorithm": name, "rows": len(y), "cost": shown})
    return found


def draw_costs(found: Found) -> Any:
    figure, _ = new_figure(1, 2, (7.6, 3.2), sharey=True)
    for panel, lam in zip(figure.axes, LAMS, strict=True):
        CostDisplay({one["algorithm"]: one["cost"] for one in found if one["lam"] == lam}).plot(panel)
        panel.set_title(f"lam = {lam:g}", fontsize="medium")
    return figure


def rounds_to(cost: Any, level: float) -> int | None:
    """The first round after which the cost is at most the level, or None."""
    found = np.flatnonzero(np.asarray(cost) <= level)
    return int(found[0]) + 1 if len(found) else None


def cost_lines(found: Found) -> list[str]:
    lines = []
    for one in found:
        needed = [rounds_to(one["cost"], level * one["rows"] ** 2) for level in LEVELS]
        lines.append([f"{one['lam']:g}", one["algorithm"], *("-" if number is None else number for number in needed)])
    head = " | ".join(("lam", "algorithm", *(f"rounds to {x:g} n²" for x in LEVELS)))
    return markdown_table(head, lines, "llrrr")


# ---------------------------------------------------------------- DeepBoost, Figures 3 and 4

PRICE = 0.003  # lam (of complexity) and beta (of weights)


def nine_tenths(folder: Path) -> tuple[Any, Any]:
    """Nine tenths of ionosphere, the second class as 1."""
    data = read_set(Source("ionosphere"), folder)
    some = data.take(np.random.default_rng(0).permutation(len(data.y))[: 9 * len(data.y) // 10])
    return some.X, some.y


def boosted_trees(depth: int, rounds: int, lam: float = PRICE) -> dict[str, Any]:
    deep: Any = partial(DeepBoostClassifier, Trees(depth), beta=PRICE, n_estimators=rounds)
    plain = AdaBoostClassifier(Trees(depth, criterion="edge"), n_estimators=rounds)
    return {"AdaBoost": plain, "AdaBoost-L1": deep(lam=0.0), "DeepBoost": deep(lam=lam)}


def tree_nodes(folder: Path, depth: int = 5, rounds: int = 100, lam: float = PRICE) -> Found:
    """The size of each of DeepBoost's trees. folder: where the data sets are."""
    model = boosted_trees(depth, rounds, lam)["DeepBoost"].fit(*nine_tenths(folder))
    return [{"nodes": int(nodes)} for nodes in tree_sizes(model)]


def draw_nodes(found: Found) -> Any:
    return TreeSizesDisplay({"DeepBoost": [one["nodes"] for one in found]}).plot().figure_


def node_lines(found: Found) -> list[str]:
    counts = np.unique([one["nodes"] for one in found], return_counts=True)
    return markdown_table("nodes | trees", zip(*counts, strict=True), "rr")


def sorted_margins(folder: Path, depth: int = 5, rounds: int = 100) -> Found:
    """The margins of three models on the rows that they were fitted to."""
    X, y = nine_tenths(folder)
    found = {name: margins(model.fit(X, y), X, y).values for name, model in boosted_trees(depth, rounds).items()}
    return [{"algorithm": name, "margins": np.sort(values).round(6).tolist()} for name, values in found.items()]


def draw_margins(found: Found) -> Any:
    values = {one["algorithm"]: np.array(one["margins"]) for one in found}
    each = {name: Margins(of, np.ones(len(of)), of, "normalised") for name, of in values.items()}
    return CumulativeMarginsDisplay(each).plot_panels().figure_


def facts(found: Found) -> dict[str, dict[str, float]]:
    """Of each algorithm in the rows of Figure 4: the least margin, the tenth and half of the rows, and the mean."""
    names = "minimum", "10%", "median", "mean"
    values = [(*np.quantile(one["margins"], (0.0, 0.1, 0.5)), np.mean(one["margins"])) for one in found]
    return {one["algorithm"]: dict(zip(names, of, strict=True)) for one, of in zip(found, values, strict=True)}


def margin_lines(found: Found) -> list[str]:
    lines = [[name, *(f"{number:.4f}" for number in of.values())] for name, of in facts(found).items()]
    return markdown_table("algorithm | minimum | 10% | median | mean", lines, "lrrrr")


# ---------------------------------------------------------------- AdaBoost_R, Figure 2

THETAS = np.linspace(-1.0, 1.0, 401)[:-1]
SHOWN = (0.0, 0.5, 0.9)  # thetas in the table


def stages(folder: Path, rows: int = 300, rounds: tuple[int, ...] = (10, 50, 250)) -> Found:
    """AdaBoost_R after each number of rounds: the sorted margins of the training rows, and the bound at THETAS.

    Identical rows have the same label, so that eps* is 0.
    """
    X, y = XD6(noise=0.0).sample(rows, 0)
    model = AdaBoostRClassifier(Rules(3), n_estimators=max(rounds)).fit(X, y)
    graphs = list(staged_margins(model, X, y, kind="logistic"))
    found = []
    for number in (one for one in rounds if one <= len(graphs)):
        bound = [margin_errors(model.history_["edge"][:number], theta, 0.0)[-1] for theta in THETAS.tolist()]
        values = np.sort(graphs[number - 1].values)
        found.append({"rounds": number, "margins": values.tolist(), "bound": list(map(float, bound))})
    return found


def observed(stage: RowDict) -> Any:
    """The margin errors at THETAS."""
    return np.searchsorted(stage["margins"], THETAS, side="right") / len(stage["margins"])


def violations(stage: RowDict) -> int:
    return int(np.count_nonzero(observed(stage) > np.array(stage["bound"]) + 1e-9))


def draw_stages(found: Found) -> Any:
    """A panel for each number of rounds: the margin graph, and the bound."""
    figure, (panels,) = new_figure(1, len(found), (2.6 * len(found), 2.6), sharex=True, sharey=True)
    for panel, stage in zip(panels, found, strict=True):
        graphs = {"training rows": observed(stage), "Theorem 1": np.minimum(stage["bound"], 1.0)}
        for (name, graph), style in zip(graphs.items(), STYLES, strict=False):
            panel.plot(THETAS, graph, label=name, **style)
        panel.set(title=f"T = {stage['rounds']}", xlim=(-1.03, 1.03), ylim=(-0.03, 1.03), xlabel="theta")
    panels[0].set_ylabel("margin error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def stage_lines(found: Found) -> list[str]:
    lines, places = [], [int(np.argmin(np.abs(THETAS - theta))) for theta in SHOWN]
    for stage in found:
        bound = [f"{x:.4f}" if x < 1 else "vacuous" for x in np.array(stage["bound"])[places]]
        both = zip(observed(stage)[places], bound, strict=True)
        lines.append([stage["rounds"], violations(stage), *(f"{one:.4f} / {other}" for one, other in both)])
    head = " | ".join(("T", "violations", *(f"theta = {theta:g}: observed / bound" for theta in SHOWN)))
    return markdown_table(head, lines, "rrrrr")


# ---------------------------------------------------------------- AdaBoost_R, Figure 3

NOISE = (0.1, 0.2, 0.3, 0.4)


def local_graphs(folder: Path) -> Found:
    """By the rate of inverted labels, the margins of the Bayes rule for one row, and how likely they are."""
    point = XD6().sample(1, 0)[0]
    graphs = {rate: bayes_margins(XD6(noise=rate).probability(point)) for rate in NOISE}
    return [{"eta": rate, "margins": of.values.tolist(), "weights": of.weights.tolist()} for rate, of in graphs.items()]


def graph_of(one: RowDict) -> Margins:
    values = np.array(one["margins"])
    return Margins(values, np.array(one["weights"]), values, "logistic")


def draw_local(found: Found) -> Any:
    """All graphs, and the dotted lines on which their stairs begin."""
    figure, ((panel,),) = new_figure(1, 1, (4.6, 3.2))
    for one, style in zip(found, STYLES, strict=False):
        panel.plot(*graph_of(one).curve(), drawstyle="steps-post", label=f"eta = {one['eta']:g}", **style)
    panel.plot([-1.0, 0.0], [0.0, 0.5], ":", color="0.5")
    panel.plot([0.0, 1.0], [1.0, 1.0], ":", color="0.5")
    panel.set(xlim=(-1.03, 1.03), ylim=(-0.03, 1.06), xlabel="theta", ylabel="margin error")
    panel.legend(frameon=False, fontsize="small")
    return figure


def local_lines(found: Found) -> list[str]:
    graphs = {one["eta"]: graph_of(one) for one in found}
    stairs = {rate: (of.minimum, of.margin_error(0.0), of.values.max()) for rate, of in graphs.items()}
    lines = [[f"{rate:g}", *(f"{x:.4f}" for x in of)] for rate, of in stairs.items()]
    return markdown_table("eta | first stair at | height between the stairs | second stair at", lines, "rrrr")


# ---------------------------------------------------------------- all of them


SMALL, FEW_TREES = {"rounds": 25, "rows": 200, "bins": 8}, {"depth": 3, "rounds": 15}
FEW_ROUNDS = {"rows": 100, "rounds": (5, 20)}
# How each is made from a folder of data sets, drawn, and shown as a table; and the options of a small version.
FIGURES: dict[str, Any] = {
    "VadaBoost, figure 1": (bound_curves, draw_bounds, bound_lines, {}),
    "VadaBoost, figure 2": (cost_curves, draw_costs, cost_lines, SMALL),
    "DeepBoost, figure 3": (tree_nodes, draw_nodes, node_lines, FEW_TREES),
    "DeepBoost, figure 4": (sorted_margins, draw_margins, margin_lines, FEW_TREES),
    "AdaBoost_R, figure 2": (stages, draw_stages, stage_lines, FEW_ROUNDS),
    "AdaBoost_R, figure 3": (local_graphs, draw_local, local_lines, {}),
}


def reproduce(request: Request, paper: str) -> str:
    """For `electorate reproduce PAPER --figure N`: numbers and picture go to the folder, a table is returned."""
    name, study = f"{paper}, {request.what}", paper.lower()
    make, draw, lines, quick = FIGURES[name]
    options = quick if request.quick else {}
    found = stored(request, study, partial(make, request.data, **options), ("algorithm",))
    small = f" A quick run: {options}." if options else ""
    about = f"{text(name)}{small} The picture: {request.save(draw(found), study)}."
    return "\n".join(paragraphs(f"# {name}: {PAPERS[study]['offers'][request.what]}", about, lines(found))[:-1])
