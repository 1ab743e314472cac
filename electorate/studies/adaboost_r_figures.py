"""Figures 5 and 6 of the AdaBoost_R paper: test margin graphs under noise, on LEDeven and XD6, with the Bayes rule's.

Both domains are finite, so the test graphs are exact: every row and label counts with its probability. Training rows
are drawn (300, as in the paper). The paper does not give the rounds it drew: ours are the ends of its range, 20, 1000.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, AdaBoostRClassifier, RealAdaBoostClassifier, Rules, staged_margins
from electorate.report.drawing import lines, pyplot
from electorate.simulate import XD6, Bits, LEDEven
from electorate.studies.request import Floats, Request, markdown_table
from electorate.theory.margins import Margins

Progress = Callable[[str], None]
BAYES = "Bayes rule"
ALGORITHMS: dict[str, Callable[..., Any]] = {
    "discrete AdaBoost": AdaBoostClassifier,
    "AdaBoost_R": AdaBoostRClassifier,
    "real AdaBoost": RealAdaBoostClassifier,
}
OURS = "AdaBoost_R"
NEEDS_DATA: tuple[str, ...] = ()  # its domains are simulated
OFFERS = {
    "figure 5": "test margin graphs on LEDeven, segments inverted at rates of 10 to 40%",
    "figure 6": "test margin graphs on XD6, labels inverted at rates of 10 to 40%",
}


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    max_terms : r, the most tests of a rule; the paper went from 2 to 6 and shows 6
    rounds, rates : T, and the rates of the noise
    rows, repeats, seed : training rows; samples to draw, whose graphs are averaged; where the draws begin
    """

    max_terms: int = 6
    rounds: tuple[int, ...] = (20, 1000)
    rates: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4)
    rows: int = 300
    repeats: int = 1
    seed: int = 0


PAPER = Plan()
QUICK = Plan(max_terms=3, rounds=(5, 30), rows=120)


@dataclass
class MarginStudy:
    """Margin graphs by (rate, rounds) and algorithm; those of several draws are averaged.

    Attributes
    ----------
    test, training : dict of (rate, rounds) to dict of algorithm to Margins
    bayes : dict of rate to Margins
        Exact.
    """

    domain: str
    plan: Plan
    test: dict[tuple[float, int], dict[str, Margins]] = field(default_factory=dict)
    training: dict[tuple[float, int], dict[str, Margins]] = field(default_factory=dict)
    bayes: dict[float, Margins] = field(default_factory=dict)
    figure_: Any = None

    def plot(self) -> "MarginStudy":
        """A panel for each rate and number of rounds."""
        shape = len(self.plan.rounds), len(self.plan.rates)
        size = 1.9 * shape[1] + 0.8, 1.8 * shape[0] + 0.7
        look = {"sharex": True, "sharey": True, "layout": "constrained", "squeeze": False}
        figure, grid = pyplot(self).subplots(*shape, figsize=size, **look)
        for panels, rounds in zip(grid, self.plan.rounds, strict=True):
            for panel, rate in zip(panels, self.plan.rates, strict=True):
                graphs = {**self.test[rate, rounds], BAYES: self.bayes[rate]}
                for (name, graph), style in zip(graphs.items(), lines(), strict=False):
                    panel.plot(*graph.curve(), drawstyle="steps-post", label=name, **{**style, "linewidth": 1.3})
                panel.axvline(0.0, color="0.85", linewidth=0.8, zorder=0)
                panel.set(xlim=(-1.03, 1.03), ylim=(-0.03, 1.03), xticks=[-1, 0, 1], yticks=[0, 0.5, 1])
                panel.spines[["top", "right"]].set_visible(False)
            panels[0].set_ylabel(f"T = {rounds}")
        for panel, rate in zip(grid[0], self.plan.rates, strict=True):
            panel.set_title(f"noise {rate:.0%}", fontsize="medium")
        figure.supxlabel("theta", fontsize="medium")
        handles, labels = grid[0][0].get_legend_handles_labels()
        where = {"loc": "outside upper center", "ncols": 4, "frameon": False}
        figure.legend(handles, labels, fontsize="small", handlelength=3.2, **where)
        self.figure_ = figure
        return self

    def facts(self) -> Iterator[dict[str, Any]]:
        """Of each rate, rounds and algorithm: errors, the area left of 0, and how far the graph is from Bayes."""
        for (rate, rounds), graphs in self.test.items():
            for name, graph in graphs.items():
                yield {
                    "noise": rate,
                    "rounds": rounds,
                    "algorithm": name,
                    "training error": self.training[rate, rounds][name].margin_error(0.0),
                    "test error": graph.margin_error(0.0),
                    "Bayes error": self.bayes[rate].margin_error(-1e-12),
                    "area left of 0": left_area(graph),
                    "distance from Bayes": distance(graph, self.bayes[rate]),
                    "lowest": lowest(name, graphs),
                }

    def text(self) -> str:
        """The facts as a table in Markdown, and how often the paper's claim holds here."""
        facts = [{**fact, "noise": f"{fact['noise']:.0%}"} for fact in self.facts()]
        wins = _firsts(facts, "area left of 0").count(OURS)
        rows = [[f"{x:.4f}" if isinstance(x, float) else x for x in fact.values()] for fact in facts]
        count = f"Left of 0 the graph of {OURS} has the least area in {wins} of {len(self.test)}."
        return "\n".join([*markdown_table(" | ".join(facts[0]), rows), "", count])


DOMAINS: dict[str, Callable[..., Bits]] = {"LEDeven": LEDEven, "XD6": XD6}


def figure_5(plan: Plan = PAPER, progress: Progress | None = None) -> MarginStudy:
    """LEDeven: each of seven segments is inverted at the rate of the noise. About a minute; draws with matplotlib.

    Parameters
    ----------
    plan : Plan
    progress : callable, optional
        Called with a line of text after each algorithm.

    Returns
    -------
    MarginStudy
        With ``figure_``, ``test``, ``training``, ``bayes`` and ``text()``.
    """
    return run("LEDeven", plan, progress).plot()


def figure_6(plan: Plan = PAPER, progress: Progress | None = None) -> MarginStudy:
    """XD6: labels are inverted at the rate of the noise. Parameters and result are those of :func:`figure_5`."""
    return run("XD6", plan, progress).plot()


def run(domain: str, plan: Plan, progress: Progress | None = None) -> MarginStudy:
    """The graphs of every rate and algorithm, not drawn yet."""
    study = MarginStudy(domain, plan)
    for rate in plan.rates:
        problem = DOMAINS[domain](noise=rate)
        study.bayes[rate] = problem.bayes_margins()
        for name in ALGORITHMS:
            seeds = range(plan.seed, plan.seed + plan.repeats)
            samples = [one_fit(name, problem, plan, seed) for seed in seeds]
            for place, rounds in enumerate(plan.rounds):
                for graphs, part in ((study.training, 0), (study.test, 1)):
                    graphs.setdefault((rate, rounds), {})[name] = together([sample[place][part] for sample in samples])
            if progress is not None:
                progress(f"{domain}, noise {rate:.0%}: {name} done")
    return study


def one_fit(name: str, problem: Bits, plan: Plan, seed: int) -> list[tuple[Margins, Margins]]:
    """Margins of the training rows and of the whole law, after each of the plan's numbers of rounds."""
    X, y = problem.sample(plan.rows, seed)
    model = ALGORITHMS[name](Rules(plan.max_terms), n_estimators=max(plan.rounds)).fit(X, y)
    points, labels, mass = whole_law(problem)
    training = staged_margins(model, X, y, kind="logistic")
    test = staged_margins(model, points, labels, kind="logistic", sample_weight=mass)
    return list(zip(_at(training, plan.rounds), _at(test, plan.rounds), strict=True))


def whole_law(problem: Bits) -> tuple[Any, Any, Floats]:
    """Every row with every label, and how likely they are."""
    points, mass = problem.points()
    p = problem.probability(points)
    labels = np.repeat([1, 0], len(points))
    return np.vstack([points, points]), labels, np.concatenate([mass * p, mass * (1 - p)])


def _at(stages: Iterator[Margins], rounds: tuple[int, ...]) -> list[Margins]:
    """The stages after these rounds; where a model ended before, its last."""
    every = list(stages)
    return [every[min(number, len(every)) - 1] for number in rounds]


def together(parts: list[Margins]) -> Margins:
    """The average of graphs: of each the same weight."""
    weights = np.concatenate([part.weights / part.weights.sum() for part in parts])
    values, scores = np.concatenate([p.values for p in parts]), np.concatenate([p.scores for p in parts])
    return Margins(values, weights, scores, "logistic", "it is an average over samples")


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


# ---------------------------------------------------------------- all curves, not only those that were drawn


def sweep(plan: Plan, terms: Sequence[int] = (2, 3, 4, 5, 6), progress: Progress | None = None) -> list[dict[str, Any]]:
    """The facts of both domains for rules of these sizes: each sample apart. Half an hour for the paper's range."""
    found = []
    for seed, r, domain in product(range(plan.seed, plan.seed + plan.repeats), terms, DOMAINS):
        study = run(domain, replace(plan, max_terms=r, seed=seed, repeats=1))
        found += [{"domain": domain, "r": r, "seed": seed, **fact} for fact in study.facts()]
        if progress is not None:
            progress(f"sample {seed}, r = {r}: {domain} done")
    return found


def claims(facts: list[dict[str, Any]]) -> str:
    """The paper's claims about "a majority of curves", counted: a table in Markdown, a line for each domain and r."""
    rows = []
    for domain, r in sorted({(fact["domain"], fact["r"]) for fact in facts}):
        mine = [fact for fact in facts if (fact["domain"], fact["r"]) == (domain, r)]
        ours = [fact for fact in mine if fact["algorithm"] == OURS]
        left, error = _firsts(mine, "area left of 0").count(OURS), _firsts(mine, "test error").count(OURS)
        fits = _firsts(mine, "training error").count("real AdaBoost")
        curves, below = len(ours), np.mean([fact["lowest"] for fact in ours])
        shares = (left / curves, below, error / curves, fits / curves)
        rows.append([domain, r, curves, *(f"{share:.0%}" for share in shares)])
    head = "domain | r | curves | least area left of 0 | lowest for theta <= 0 | least test error | real fits fastest"
    return "\n".join(markdown_table(head, rows, "lrrrrrr"))


def _firsts(facts: list[dict[str, Any]], what: str) -> list[str]:
    """Of every curve, the algorithm with the least; of equals the first."""
    best: dict[Any, dict[str, Any]] = {}
    for fact in facts:
        key = fact.get("seed"), fact["noise"], fact["rounds"]
        if key not in best or fact[what] < best[key][what]:
            best[key] = fact
    return [str(fact["algorithm"]) for fact in best.values()]


def reproduce(request: Request) -> str:
    """For `electorate reproduce adaboost_r --figure N`: the picture goes to the folder, the table is returned."""
    make = {5: figure_5, 6: figure_6}[request.number]
    study = make(QUICK if request.quick else replace(PAPER, repeats=5))
    picture = request.save(study.figure_, "adaboost_r")
    quick = " A quick run: few rows and rounds." if request.quick else ""
    text = (
        f"Rules of at most {study.plan.max_terms} tests, {study.plan.repeats} sample(s) of {study.plan.rows} rows; "
        f"margins by eq. 9; the test graphs are exact. The picture: {picture}.{quick}"
    )
    return "\n".join([f"# AdaBoost_R, Figure {request.number}: {study.domain}", "", text, "", study.text()])
