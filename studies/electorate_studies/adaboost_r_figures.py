"""Figures 5 and 6 of the AdaBoost_R paper: margin graphs under noise, on LEDeven and XD6, with the Bayes rule's.

Both domains are finite, so the test graphs are exact: every row and label counts with its probability. Training rows
are drawn (300, as in the paper). The paper went from r = 2 to 6 tests in a rule and from T = 20 to 1000 rounds, and
shows r = 6; it does not give the rounds that it drew: ours are the ends of its range. "Table 5" has the whole range,
and "table 6" AdaBoost_R after up to 50,000 rounds, on one domain.

The stored rows have, for each sample, algorithm and number of rounds, the errors, areas under the graphs, and for r = 6
the margin errors of training and test rows at the values of theta in GRID.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, AdaBoostRClassifier, RealAdaBoostClassifier, Rules
from electorate.inspection import staged_margins
from electorate.simulate import XD6, Bits, LEDEven
from electorate.theory.margins import Margins
from electorate_studies.request import PAPERS, STYLES, Floats, Request, markdown_table, new_figure, paragraphs
from electorate_studies.runs import Outcome, Row, Unit, by_algorithm, results_of

BAYES = "Bayes rule"
ALGORITHMS: dict[str, Any] = {
    "discrete AdaBoost": AdaBoostClassifier,
    "AdaBoost_R": AdaBoostRClassifier,
    "real AdaBoost": RealAdaBoostClassifier,
}
OURS, FASTEST = "AdaBoost_R", "real AdaBoost"
DOMAINS: dict[str, Any] = {"LEDeven": LEDEven, "XD6": XD6}
OF_FIGURE = {5: "LEDeven", 6: "XD6"}
GRID = np.round(np.linspace(-1, 1, 81), 3)  # values of theta at which graphs are stored
PLATEAU = (0.1, 0.9)  # thetas between which real AdaBoost's training graph is flat


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    terms : r, the most tests of a rule; graphs are stored for the last
    rounds, many : T, and T of the long run
    rates : of the noise
    rows, samples : training rows, and samples of them
    """

    terms: tuple[int, ...] = (2, 3, 4, 5, 6)
    rounds: tuple[int, ...] = (20, 50, 100, 200, 500, 1000)
    many: tuple[int, ...] = (1000, 10_000, 50_000)
    rates: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4)
    rows: int = 300
    samples: int = 2


PAPER = Plan()
QUICK = Plan((2, 3), (5, 30), (30, 60), rows=120, samples=1)


# ---------------------------------------------------------------- one sample


def sizes(unit: Unit) -> tuple[int, float]:
    """r and the rate of the noise of a unit, from its name."""
    r, rate = unit.data.removeprefix("r = ").removesuffix("%").split(", noise ")
    return int(r), float(rate) / 100


def units(request: Request, plan: Plan) -> list[Unit]:
    """What a request needs. The table of a unit is the number of its figure, or 6.1 for the long run."""
    numbers = (request.number,) if request.what.startswith("figure") else tuple(OF_FIGURE)
    terms = plan.terms if request.what == "table 5" else (plan.terms[-1],)
    samples = range(request.repeats or plan.samples)
    if request.what == "table 6":
        return [Unit("6.1", f"r = {plan.terms[-1]}, noise {rate:.0%}", k) for k, rate in product(samples, (0.2, 0.4))]
    every = product(samples, terms, plan.rates, numbers)
    return [Unit(str(number), f"r = {r}, noise {rate:.0%}", sample) for sample, r, rate, number in every]


def run_unit(unit: Unit, plan: Plan) -> list[Outcome]:
    """All algorithms on one sample, after each number of rounds; the long run has AdaBoost_R alone."""
    (r, rate), long = sizes(unit), unit.table == "6.1"
    problem = DOMAINS[OF_FIGURE[int(unit.table[0])]](noise=rate)
    names, rounds = ((OURS,), plan.many) if long else (tuple(ALGORITHMS), plan.rounds)
    found = {name: one_fit(name, problem, plan, r, rounds, unit.split) for name in names}
    outcomes = []
    for (place, number), name in product(enumerate(rounds), names):
        graphs = {other: stages[place][1] for other, stages in found.items()}
        facts = _facts(name, graphs, found[name][place][0], problem, r == plan.terms[-1])
        outcomes.append(Outcome(f"{name}, T = {number}", graphs[name].margin_error(0.0), 0.0, facts, voters=number))
    return outcomes


def one_fit(name: str, problem: Bits, plan: Plan, r: int, rounds: Sequence[int], seed: int) -> list[tuple[Any, Any]]:
    """Margins of the training rows and of the whole law, after each number of rounds, or the last before it."""
    X, y = problem.sample(plan.rows, seed)
    model = ALGORITHMS[name](Rules(r), n_estimators=max(rounds)).fit(X, y)
    points, labels, mass = whole_law(problem)
    training = staged_margins(model, X, y, kind="logistic")
    test = staged_margins(model, points, labels, kind="logistic", sample_weight=mass)
    return list(zip(_at(training, rounds), _at(test, rounds), strict=True))


def whole_law(problem: Bits) -> tuple[Any, Any, Floats]:
    """Every row with every label, and how likely they are."""
    points, mass = problem.points()
    p = problem.probability(points)
    labels = np.repeat([1, 0], len(points))
    return np.vstack([points, points]), labels, np.concatenate([mass * p, mass * (1 - p)])


def _at(stages: Iterator[Margins], rounds: Sequence[int]) -> list[Margins]:
    """The stages after these rounds; where a model ended before, its last."""
    found, last = {}, None
    for number, last in enumerate(stages, start=1):
        if number in rounds:
            found[number] = last
    return [found.get(number, last) for number in rounds]  # type: ignore[misc]


def _facts(name: str, graphs: dict[str, Margins], training: Margins, problem: Bits, keep: bool) -> dict[str, Any]:
    """keep: whether to store the graphs."""
    test, bayes = graphs[name], problem.bayes_margins()
    areas = {
        "training_error": training.margin_error(0.0),
        "training_area": training.area,
        "left": left_area(test),
        "lowest": lowest(name, graphs),
        "distance": distance(test, bayes),
        "bayes": bayes.margin_error(-1e-12),
    }
    facts: dict[str, Any] = {key: round(float(value), 5) for key, value in areas.items()}
    curves = {"training": training, "test": test} if keep else {}
    return facts | {key: np.round(graph.margin_error(GRID), 4).tolist() for key, graph in curves.items()}


def left_area(graph: Margins) -> float:
    """Under the graph from -1 to 0, where labels are wrong: the mean of max(0, -margin)."""
    return float(np.average(np.maximum(0.0, -graph.values), weights=graph.weights))


def lowest(name: str, graphs: dict[str, Margins]) -> float:
    """On which part of -1 to 0 this graph is below all others, or meets the lowest."""
    at = np.unique(np.concatenate([[-1.0, 0.0], *(graph.curve()[0] for graph in graphs.values())]))
    at = at[at <= 0]
    errors = {other: graph.margin_error(at[:-1]) for other, graph in graphs.items()}
    return float((errors[name] <= np.min(list(errors.values()), axis=0)) @ np.diff(at))


def distance(one: Margins, other: Margins) -> float:
    """The area between two graphs."""
    at = np.unique(np.concatenate([[-1.0, 1.0], one.curve()[0], other.curve()[0]]))
    apart = np.abs(one.margin_error(at[:-1]) - other.margin_error(at[:-1]))
    return float(apart @ np.diff(at))


# ---------------------------------------------------------------- claims on all curves


def claims(rows: Sequence[Row]) -> dict[str, dict[str, list[bool]]]:
    """By domain and r, for each claim of the paper whether it holds, curve by curve."""
    curves: dict[Any, dict[str, Any]] = {}
    for row in rows:
        name, number = row.outcome.algorithm.split(", T = ")
        if "." not in row.unit.table:
            curves.setdefault((row.unit, number), {})[name] = row.outcome
    found: dict[str, dict[str, list[bool]]] = {}
    for (unit, _), of in curves.items():
        areas = [of[name].chosen["training_area"] for name in (FASTEST, "discrete AdaBoost", OURS)]
        held = {
            "least area left of 0": min(of, key=lambda name: of[name].chosen["left"]) == OURS,
            "lowest for most theta <= 0": of[OURS].chosen["lowest"] > 0.5,
            "least test error": of[OURS].error <= min(one.error for one in of.values()),
            "training margins: real, discrete, R": areas == sorted(areas),
        }
        of_domain = found.setdefault(f"{OF_FIGURE[int(unit.table)]}, r = {sizes(unit)[0]}", {})
        for what, holds in held.items():
            of_domain.setdefault(what, []).append(bool(holds))
    return found


def claim_lines(rows: Sequence[Row]) -> list[str]:
    """A line for each domain and r, a column for each claim."""
    found = sorted(claims(rows).items())
    lines = [[where, *(f"{sum(held)} of {len(held)}" for held in of.values())] for where, of in found]
    return paragraphs(markdown_table(" | ".join(("curves", *found[0][1])), lines, "lrrrr")) if found else []


def plateau_lines(rows: Sequence[Row]) -> list[str]:
    """By how much a training graph rises between the thetas in PLATEAU, and its margin error before them."""
    found: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    for row in rows:
        if "training" in row.outcome.chosen:
            (low, high), (first, last) = (np.interp(PLATEAU, GRID, row.outcome.chosen[k]) for k in ("training", "test"))
            place = OF_FIGURE[int(row.unit.table[0])], row.unit.data, row.outcome.algorithm
            found.setdefault(place, []).append((low, high - low, last - first))
    lines = [[*place, *(f"{x:.3f}" for x in np.mean(values, axis=0))] for place, values in found.items()]
    low, high = PLATEAU
    head = f"domain | curve | after | training: at {low} | training: rise from {low} to {high} | test: the same rise"
    return paragraphs(markdown_table(head, lines, "lllrrr")) if lines else []


# ---------------------------------------------------------------- pictures


def draw(rows: Sequence[Row], number: int, part: str, plan: Plan) -> Any:
    """A panel for each rate and for the least and largest T; the mean graphs of the samples. part: training or test."""
    ends, found = (plan.rounds[0], plan.rounds[-1]), by_algorithm(rows)
    size = 1.9 * len(plan.rates) + 0.8, 1.8 * len(ends) + 0.7
    figure, grid = new_figure(len(ends), len(plan.rates), size, sharex=True, sharey=True)
    for (k, rounds), (j, rate) in product(enumerate(ends), enumerate(plan.rates)):
        panel, data = grid[k][j], f"r = {plan.terms[-1]}, noise {rate:.0%}"
        graphs = {}
        for name in ALGORITHMS:
            outcomes = found[str(number), data, f"{name}, T = {rounds}"].values()
            graphs[name] = np.mean([one.chosen[part] for one in outcomes], axis=0)
        if part == "test":
            graphs[BAYES] = DOMAINS[OF_FIGURE[number]](noise=rate).bayes_margins().margin_error(GRID)
        for (name, graph), style in zip(graphs.items(), STYLES, strict=False):
            panel.plot(GRID, graph, drawstyle="steps-post", label=name, **{**style, "linewidth": 1.3})
        panel.axvline(0.0, color="0.85", linewidth=0.8, zorder=0)
        panel.set(xlim=(-1.03, 1.03), ylim=(-0.03, 1.03), xticks=[-1, 0, 1], yticks=[0, 0.5, 1])
        grid[0][j].set_title(f"noise {rate:.0%}", fontsize="medium")
        grid[k][0].set_ylabel(f"T = {rounds}")
    figure.supxlabel("theta", fontsize="medium")
    where = {"loc": "outside upper center", "ncols": 4, "frameon": False}
    figure.legend(*grid[0][0].get_legend_handles_labels(), fontsize="small", handlelength=3.2, **where)
    return figure


def reproduce(request: Request, paper: str) -> str:
    """For `electorate reproduce adaboost_r --figure N`: pictures go to the folder, the claims are returned."""
    plan = QUICK if request.quick else PAPER
    rows = results_of(request, "adaboost_r-figures", partial(units, request, plan), partial(run_unit, plan=plan))
    quick = " A quick run: few rows and rounds." if request.quick else ""
    text = f"{len({r.unit.split for r in rows})} sample(s) of {plan.rows} rows; margins by eq. 9.{quick}"
    title = f"# {paper}, {request.what}: {PAPERS['adaboost_r']['offers'][request.what]}"
    body = claim_lines(rows) if request.number == 5 else plateau_lines(rows)
    if request.what.startswith("figure"):
        for part in ("test", "training"):
            figure = draw(rows, request.number, part, plan)
            request.save(figure, f"adaboost_r-{part}" if part != "test" else "adaboost_r")
        some = [row for row in rows if row.unit.table == str(request.number)]
        body = [*claim_lines(some), *plateau_lines(some)]
    return "\n".join([*paragraphs(title, text), *body])
