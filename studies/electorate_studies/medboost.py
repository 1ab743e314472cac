"""MedBoost on regression problems: errors by rounds beside AdaBoost.R2 and gradient boosting, outliers, intervals.

A part of `electorate reproduce locmedboost` (here "table 1"; the LocMedBoost paper has no errors). One unit of work is
one random split of one problem.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor

from electorate import AdaBoostRegressor, MedBoostRegressor
from electorate_studies.binary_sets import path_of, with_files
from electorate_studies.pages import mean_and_error, provenance
from electorate_studies.request import Floats, Request, markdown_table, numbers, paragraphs, text
from electorate_studies.runs import Outcome, Row, Unit, by_algorithm, results_of

FRIEDMAN = {  # how they are made, and the noise: Breiman's
    "friedman1": (make_friedman1, 1.0),
    "friedman2": (make_friedman2, 125.0),
    "friedman3": (make_friedman3, 0.1),
}
SETS = ("abalone", "boston_housing", "concrete", "auto_mpg", "california_housing", *FRIEDMAN)
FILES = {name: () if name in FRIEDMAN else (name,) for name in SETS}
FRIEDMAN_ROWS = 2_000
MOST_ROWS = 2_000  # of a set, drawn again in every split
TABLE = "1"
PARTS = {"train": 0.5, "validation": 0.15, "calibration": 0.15, "test": 0.2}
SHARES = (0.25, 0.5, 1.0)  # of the median distance of the targets from their median: eps
ADAPTIVE: list[dict[str, Any]] = [{"rho": "adaptive", "nu": nu} for nu in (0.05, 0.2)]
CONSTANT: list[dict[str, Any]] = [{"rho": rho} for rho in (-0.6, -0.4, -0.2, 0.0, 0.2)]
LINEAR: list[dict[str, Any]] = [{"rho": "adaptive", "nu": nu} for nu in (0.2, 1.0)]
LINEAR_SPLITS = 5  # it takes half as long again as all the others
TRY_ROUNDS = 60  # in which eps and rho are chosen; the rounds are then chosen among all
AT = (10, 100, 1000)
COVERAGE = 0.9
INTERVAL_ROUNDS = 100  # of gradient boosting for intervals
OUTLIER_ROUNDS = 300  # among which T is chosen where there are outliers
BAD = 0.1  # of the rows that are fitted, with targets that are far off
FAR = 20.0  # times the median distance
SQUARES = "gradient boosting, least squares"
OUTLIERS, INTERVALS = "outliers: ", "interval: "  # before the algorithm's name, in the CSV file


class Part(NamedTuple):
    X: Floats
    y: Floats


Parts = dict[str, Part]
Options = dict[str, Any]
BySet = dict[str, dict[str, list[Outcome]]]  # by problem and algorithm, an outcome for every split


@dataclass(frozen=True)
class Plan:
    """How much to run: splits of every problem, the most rounds, and the most rows."""

    splits: int = 20
    rounds: int = 1000
    rows: int = MOST_ROWS


FULL = Plan()
QUICK = Plan(1, 20, 120)


# ---------------------------------------------------------------- data


def read(name: str, folder: Path, seed: int) -> Part:
    """A set; categories as codes in their order. Friedman's are drawn by the seed."""
    if name in FRIEDMAN:
        make, noise = FRIEDMAN[name]
        return Part(*make(n_samples=FRIEDMAN_ROWS, noise=noise, random_state=seed))
    import pandas as pd

    table = pd.read_csv(path_of(name, folder))
    return Part(numbers(table), table["target"].to_numpy(dtype=np.float64))


def split(data: Part, seed: int, most: int = MOST_ROWS) -> Parts:
    """Four parts at random: to fit, to choose by, to calibrate, to test."""
    order = np.random.default_rng(seed).permutation(len(data.y))[:most]
    ends = np.rint(np.cumsum([0.0, *PARTS.values()]) * len(order)).astype(np.int64)
    rows = {name: order[low:high] for name, low, high in zip(PARTS, ends, ends[1:], strict=False)}
    return {name: Part(data.X[mine], data.y[mine]) for name, mine in rows.items()}


def spoiled(parts: Parts, seed: int) -> Parts:
    """A tenth of the rows to fit and to choose by get targets that are far off, either way."""
    rng = np.random.default_rng(seed)
    far = FAR * typical(parts["train"].y)
    changed = dict(parts)
    for name in ("train", "validation"):
        y = parts[name].y.copy()
        bad = rng.random(len(y)) < BAD
        y[bad] += far * rng.choice([-1.0, 1.0], int(bad.sum())) * (1 + rng.random(int(bad.sum())))
        changed[name] = Part(parts[name].X, y)
    return changed


def typical(y: Floats) -> float:
    """The median distance from the median."""
    return float(np.median(np.abs(y - np.median(y)))) or 1.0


# ---------------------------------------------------------------- algorithms


def errors_by_rounds(model: Any, parts: Parts) -> dict[str, float]:
    """Mean absolute test errors of a fitted model: after 10, 100, ... rounds, or all there are; at the end.

    T: the number of rounds with the lowest validation error; "chosen" is the test error there.
    """
    judged, tested = parts["validation"], parts["test"]
    both = [np.split(found, [len(judged.y)]) for found in _stages(model, np.concatenate([judged.X, tested.X]))]
    chosen = int(np.argmin([np.abs(first - judged.y).mean() for first, _ in both])) + 1
    errors = [float(np.abs(second - tested.y).mean()) for _, second in both]
    by_rounds = {str(at): errors[min(at, len(errors)) - 1] for at in AT}
    return {**by_rounds, "chosen": errors[chosen - 1], "end": errors[-1], "T": float(chosen)}


def _stages(model: Any, X: Floats) -> list[Floats]:
    """The predictions after every round; of a model without voters, its one prediction."""
    return list(model.staged_predict(X)) or [model.predict(X)]


def fit_medboost(part: Part, options: Options, rounds: int) -> Any:
    return MedBoostRegressor(n_estimators=rounds, n_jobs=1, **options).fit(*part)


def best_options(parts: Parts, cost: str, rules: list[Options], rounds: int) -> tuple[float, Options]:
    """Return the lowest validation error in the first rounds, and the eps and rule for rho that reach it."""
    train, judged, scale = parts["train"], parts["validation"], typical(parts["train"].y)
    found = []
    for share, rule in product(SHARES, rules):
        options = {"cost": cost, "eps": share * scale, **rule}
        model = fit_medboost(train, options, min(TRY_ROUNDS, rounds))
        error = min(float(np.abs(predicted - judged.y).mean()) for predicted in _stages(model, judged.X))
        found.append((error, options))
    return min(found, key=itemgetter(0))


def outcome(name: str, figures: dict[str, float], began: float, options: Options | None = None) -> Outcome:
    """As it is stored. eps is stored in units of the typical distance, and so is the same in every split."""
    more = {key: float(f"{figures[key]:.6g}") for key in (*map(str, AT), "end")}
    seconds = time.process_time() - began
    return Outcome(name, figures["chosen"], seconds, {**(options or {}), **more}, voters=figures["T"])


def run_medboosts(parts: Parts, rounds: int, linear: bool) -> tuple[list[Outcome], Options, int]:
    """MedBoost with eps and rho chosen among all, among constants only, and with the linear cost.

    Also returns the options of the first, and its number of rounds.
    """
    began, scale = time.process_time(), typical(parts["train"].y)
    adaptive, constant = (best_options(parts, "zero_one", rules, rounds) for rules in (ADAPTIVE, CONSTANT))
    options = {"MedBoost": min(adaptive, constant, key=itemgetter(0))[1], "MedBoost, rho constant": constant[1]}
    if linear:
        options["MedBoost, linear cost"] = best_options(parts, "linear", LINEAR, rounds)[1]
    figures: dict[str, dict[str, float]] = {}
    outcomes = []
    for name, given in options.items():
        same = next((figures[other] for other in figures if options[other] == given), None)
        figures[name] = same or errors_by_rounds(fit_medboost(parts["train"], given, rounds), parts)
        shown = {**given, "eps": float(f"{given['eps'] / scale:.6g}")}
        outcomes.append(outcome(name, figures[name], began, shown))
        began = time.process_time()
    return outcomes, options["MedBoost"], int(figures["MedBoost"]["T"])


def run_others(parts: Parts, rounds: int) -> list[Outcome]:
    models = {
        "AdaBoost.R2": AdaBoostRegressor(n_estimators=rounds, n_jobs=1),
        "gradient boosting, absolute error": gradient(rounds, "absolute_error"),
        SQUARES: gradient(rounds, "squared_error"),
    }
    outcomes = []
    for name, model in models.items():
        began = time.process_time()
        outcomes.append(outcome(name, errors_by_rounds(model.fit(*parts["train"]), parts), began))
    return outcomes


def gradient(rounds: int, loss: str, quantile: float | None = None) -> Any:
    options = {"loss": loss, "quantile": quantile, "max_depth": 3, "early_stopping": False}
    return HistGradientBoostingRegressor(max_iter=rounds, **options)


# ---------------------------------------------------------------- outliers and intervals


def run_outliers(parts: Parts, seed: int, rounds: int) -> list[Outcome]:
    """Models whose training and validation rows have outliers."""
    bad, few, began = spoiled(parts, seed), min(rounds, OUTLIER_ROUNDS), time.process_time()
    options = best_options(bad, "zero_one", ADAPTIVE + CONSTANT, rounds)[1]
    fits = {"MedBoost": partial(fit_medboost, bad["train"], options, few)}
    fits[SQUARES] = partial(gradient(few, "squared_error").fit, *bad["train"])
    outcomes = []
    for name, fit in fits.items():
        outcomes.append(outcome(OUTLIERS + name, errors_by_rounds(fit(), bad), began))
        began = time.process_time()
    return outcomes


def run_intervals(parts: Parts, options: Options, rounds: int) -> list[Outcome]:
    """Intervals for 90%: the error is the share of test rows outside, `width` the mean width.

    options, rounds: of MedBoost, as they were chosen.
    """
    outcomes, y, began = [], parts["test"].y, time.process_time()
    for name, (low, high) in intervals(parts, options, rounds):
        outside = float(np.mean((y < low) | (high < y)))
        width = {"width": float(f"{np.mean(high - low):.6g}")}
        outcomes.append(Outcome(INTERVALS + name, outside, time.process_time() - began, width))
        began = time.process_time()
    return outcomes


def intervals(parts: Parts, options: Options, rounds: int) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
    """The names of methods, with the lower and upper ends for the test rows."""
    train, cal, test = parts["train"], parts["calibration"], parts["test"]
    model = fit_medboost(train, options, rounds).calibrate(*cal)
    yield "MedBoost, conformal", model.predict_interval(test.X, coverage=COVERAGE)
    quantiles = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
    ends = [gradient(INTERVAL_ROUNDS, "quantile", q).fit(*train) for q in quantiles]
    (low_cal, high_cal), (low, high) = ([one.predict(part.X) for one in ends] for part in (cal, test))
    yield "quantile boosting", (low, high)
    score = np.sort(np.maximum(low_cal - cal.y, cal.y - high_cal))
    rank = math.ceil((len(cal.y) + 1) * COVERAGE)
    more = float(score[rank - 1]) if rank <= len(score) else math.inf
    yield "quantile boosting, conformal", (low - more, high + more)
    if find_spec("mapie") is not None:  # MAPIE's split conformal intervals
        SplitConformalRegressor = import_module("mapie.regression").SplitConformalRegressor
        boosted = gradient(INTERVAL_ROUNDS, "absolute_error").fit(*train)
        mapie = SplitConformalRegressor(boosted, confidence_level=COVERAGE, prefit=True).conformalize(*cal)
        _, both = mapie.predict_interval(test.X)
        yield "MAPIE, gradient boosting", (both[:, 0, 0], both[:, 1, 0])


# ---------------------------------------------------------------- the study


def run_split(unit: Unit, folder: Path, plan: Plan) -> list[Outcome]:
    """All results of one split of one problem."""
    parts = split(read(unit.data, folder, unit.split), unit.split, plan.rows)
    outcomes, options, rounds = run_medboosts(parts, plan.rounds, unit.split < LINEAR_SPLITS)
    outcomes += run_others(parts, plan.rounds)
    return [*outcomes, *run_outliers(parts, unit.split, plan.rounds), *run_intervals(parts, options, rounds)]


def reproduce(request: Request) -> list[str]:
    """For `electorate reproduce locmedboost`: runs what is not stored yet and returns the lines of the page."""
    plan = QUICK if request.quick else FULL
    make = partial(run_split, folder=request.data, plan=plan)
    names = request.choose(["friedman1"] if request.quick else SETS, SETS)

    def units() -> list[Unit]:
        here = with_files(names, FILES, request)
        return [Unit(TABLE, name, seed) for seed, name in product(range(request.repeats or plan.splits), here)]

    return report(results_of(request, "locmedboost", units, make), plan)


# ---------------------------------------------------------------- the report


def report(rows: list[Row], plan: Plan) -> list[str]:
    """The lines of the page, from the stored rows; none without rows."""
    if not rows:
        return []
    by_set: BySet = {name: {} for name in SETS if any(row.unit.data == name for row in rows)}
    for (_, name, algorithm), outcomes in by_algorithm(rows).items():
        by_set[name][algorithm] = list(outcomes.values())
    splits, rounds = sorted({len(found["MedBoost"]) for found in by_set.values()}), plan.rounds
    about = text(
        "medboost", splits=", ".join(map(str, splits)), rows=plan.rows, rounds=rounds, tried=min(TRY_ROUNDS, rounds)
    )
    tables = _error_table(by_set, rounds), _end_table(by_set, rounds), _outlier_table(by_set, rounds)
    lines = paragraphs("## Regression problems", about, provenance(rows))
    return [*lines, *(line for table in (*tables, _interval_table(by_set)) for line in table)]


def _mean(values: list[float]) -> str:
    """The mean, and its standard error in brackets."""
    mean, spread, _ = mean_and_error(values)
    both = mean, float(f"{spread:.2g}")
    shown = ("-" if math.isnan(x) else f"{x:.4g}" if abs(x) < 10_000 else f"{x:,.0f}" for x in both)
    return "{} ({})".format(*shown)


def _errors(outcomes: list[Outcome], after: str = "") -> list[float]:
    """The error of every split with the chosen number of rounds, or after so many."""
    return [one.chosen[after] if after else one.error for one in outcomes]


def _rise(errors: list[float], chosen: list[Outcome]) -> float:
    """By how much the mean of the errors exceeds that at the chosen number of rounds."""
    return float(np.mean(errors) / np.mean(_errors(chosen)) - 1)


def _algorithms(by_set: BySet, prefix: str = "") -> list[str]:
    """The algorithms that all problems have: those without a prefix, or those with it."""
    first, *others = by_set.values()
    every = [name for name in first if all(name in other for other in others)]
    return [name for name in every if (name.startswith(prefix) if prefix else ": " not in name)]


def _count(by_set: BySet, bad: list[str]) -> str:
    """On how many problems something holds, and where it does not."""
    return f"{len(by_set) - len(bad)} of {len(by_set)}" + (f"; not on {', '.join(bad)}" if bad else "")


def _error_table(by_set: BySet, rounds: int) -> list[str]:
    at = [number for number in AT if number <= rounds] or [AT[0]]
    head = f"problem | algorithm | {' | '.join(f'{number:,} rounds' for number in at)} | at the chosen T | T (median)"
    algorithms, table, counts = _algorithms(by_set), [], []
    for (name, found), algorithm in product(by_set.items(), algorithms):
        cells = [_mean(_errors(found[algorithm], after)) for after in (*map(str, at), "")]
        table.append([name, algorithm, *cells, f"{np.median([one.voters for one in found[algorithm]]):.0f}"])
    for other in (name for name in algorithms if not name.startswith("MedBoost")):
        errors = {k: [np.mean(_errors(of[one])) for one in ("MedBoost", other)] for k, of in by_set.items()}
        less = [name for name, (ours, theirs) in errors.items() if ours < theirs]
        where = f" ({', '.join(less)})" if less else ""
        counts.append(
            f"- At the chosen T, the error of MedBoost is lower than that of {other} on "
            f"{len(less)} of {len(by_set)}{where}."
        )
    return paragraphs("### Error by rounds", markdown_table(head, table), counts)


def _end_table(by_set: BySet, rounds: int) -> list[str]:
    algorithms = _algorithms(by_set)
    rises = {
        name: {one: _rise(_errors(found[one], "end"), found[one]) for one in algorithms}
        for name, found in by_set.items()
    }
    body = [[name, *(f"{100 * rise:+.1f}%" for rise in rise_of.values())] for name, rise_of in rises.items()]
    what, counts = "By how much the mean error at the end exceeds that at the chosen T.", []
    for algorithm in ("MedBoost", "MedBoost, rho constant"):
        bad = [name for name in by_set if not rises[name][algorithm] < 0.05]
        counts.append(f"- {algorithm}: below 5% on {_count(by_set, bad)}.")
    table = markdown_table(" | ".join(["problem", *algorithms]), body)
    return paragraphs(f"### The end ({rounds:,} rounds) against the chosen T", what, table, counts)


def _outlier_table(by_set: BySet, rounds: int) -> list[str]:
    algorithms, body, bad = _algorithms(by_set, OUTLIERS), [], []
    for name, found in by_set.items():
        errors = {algorithm: _errors(found[algorithm]) for algorithm in algorithms}
        rises = {one: _rise(errors[one], found[one.removeprefix(OUTLIERS)]) for one in algorithms}
        body.append([name, *(cell for a in algorithms for cell in (_mean(errors[a]), f"{100 * rises[a]:+.0f}%"))])
        if not rises[OUTLIERS + "MedBoost"] < rises[OUTLIERS + SQUARES]:
            bad.append(name)
    about = text("outliers", rounds=min(rounds, OUTLIER_ROUNDS))
    head = " | ".join(["problem", *(f"{one.removeprefix(OUTLIERS)} | rise" for one in algorithms)])
    count = "The error of MedBoost with the 0-1 cost rises less than that of least-squares boosting on "
    return paragraphs("### 10% gross outliers", about, markdown_table(head, body), f"{count}{_count(by_set, bad)}.")


def _interval_table(by_set: BySet) -> list[str]:
    algorithms, body = _algorithms(by_set, INTERVALS), []
    outside: dict[str, list[float]] = {one: [] for one in algorithms}
    for name, found in by_set.items():
        cells = []
        for algorithm in algorithms:
            errors = _errors(found[algorithm])
            outside[algorithm] += errors
            widths = _mean([one.chosen["width"] for one in found[algorithm]])
            cells += [f"{100 - 100 * np.mean(errors):.1f}%", widths]
        body.append([name, *cells])
    titles = [algorithm.removeprefix(INTERVALS) for algorithm in algorithms]
    means = [f"{title} {100 - 100 * np.mean(of):.2f}%" for title, of in zip(titles, outside.values(), strict=True)]
    mapie = ": split conformal around gradient boosting by the absolute error, 100 rounds"
    about = text("intervals", mapie=mapie if any("MAPIE" in name for name in algorithms) else " was not installed")
    table = markdown_table(" | ".join(["problem", *(f"{title}: coverage | width" for title in titles)]), body)
    ends = "Mean coverage over all splits and problems: " + "; ".join(means) + "."
    return paragraphs("### Intervals for 90%", about, table, ends)
