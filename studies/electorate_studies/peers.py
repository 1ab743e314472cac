"""Our algorithms beside other libraries on the data sets of the folder, with clean and with flipped labels.

`electorate reproduce peers --table 1 [--quick]`: classification; table 2: regression. Everybody chooses among the same
number of settings by the same splits of the same training rows. The settings of our portfolio were chosen on one half
of the data sets (by a hash of their names), and the tables report the other half. A line is stored per data set,
split, share of flipped labels and method, so that an interrupted run resumes.
"""

import base64
import hashlib
import importlib.util
import json
import math
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from electorate.comparison.algorithms import PEERS, Algorithm, Setting, Size
from electorate.comparison.metrics import METRICS, Metric, Scored
from electorate.comparison.rows import Rows, read_rows
from electorate.estimators.stack_weights import weigh_predictions, weigh_probabilities
from electorate.estimators.stacked import pool, pooled_decision
from electorate.exact import Floats
from electorate.model.calibration import fit_temperature
from electorate_studies.libraries import LIBRARIES, library
from electorate_studies.peers_page import (
    PORTFOLIO,
    SLOW,
    STACK,
    Page,
    Stored,
    complete,
    draw_ranks,
    rank_summary,
    read_csv,
    write_csv,
)
from electorate_studies.portfolio import Trial, forest, histograms, hold_out, inner_splits, measured_algorithms
from electorate_studies.request import Lines, Request

OFFERS = {
    "table 1": "errors, ranks and times of classifiers of five libraries, with 0, 10 and 20% of the labels flipped",
    "table 2": "absolute errors, ranks and times of regressors of five libraries",
}
NEEDS_DATA = tuple(OFFERS)
FEWEST_ROWS = 200
SLOW_ROWS = 1_000  # the most rows of a data set that the slow method is run on; it has two classes
MOST_MODELS, LAM = 3, 1e-3  # of the stack: the algorithms of the least inner loss, and the penalty of their weights
BUDGET = 8  # settings that every method chooses among
PARTS = {  # settings of the portfolio, of each algorithm the first so many of its grid; 0: it is only compared
    "classification": {
        "Logistic AdaBoost, trees": 4,
        "SAMME.R, trees": 2,
        "AdaBoost, trees": 1,
        "Real AdaBoost, trees": 1,
    },
    "regression": {
        "QuadBoost, trees": 2,
        "QuadBoost, absolute error": 1,
        "MedBoost, trees": 1,
        "AdaBoost.R2, trees": 1,
        "LocMedBoost, trees": 0,
    },
}
RATES = (0.1, 0.05)
GRADIENT = [(rounds, rate, early) for rate in RATES for rounds, early in ((100, False), (300, False), (500, True))]
GRADIENT += [(50, 0.1, False), (200, 0.2, False)]


@dataclass(frozen=True)
class Plan:
    """Splits for each share of flipped labels, the most training and test rows of a data set, settings per method."""

    splits: dict[float, int]
    training_rows: int = 3_000
    test_rows: int = 5_000
    budget: int = BUDGET


FULL = {1: Plan({0.0: 2, 0.2: 2, 0.1: 1}), 2: Plan({0.0: 3})}  # by table
QUICK = {1: Plan({0.0: 1, 0.2: 1}, 200, 300, 4), 2: Plan({0.0: 1}, 200, 300, 4)}


# ---------------------------------------------------------------- methods


def methods(is_classifier: bool, size: Size, budget: int = BUDGET) -> dict[str, list[Algorithm]]:
    """The algorithms whose settings each method chooses among, in all `budget` or fewer.

    Libraries that are not installed are left out.
    """
    kind = "classification" if is_classifier else "regression"
    listed = measured_algorithms(size)
    parts = {name: listed[name] for name in PARTS[kind]}
    counts = {name: max(1, n * budget // BUDGET) for name, n in PARTS[kind].items() if n}
    while sum(counts.values()) > budget:
        counts[max(counts, key=lambda name: counts[name])] -= 1
    found = {PORTFOLIO: [replace(parts[name], grid=parts[name].grid[:n]) for name, n in counts.items()]}
    found |= {name: [replace(one, grid=one.grid[:budget])] for name, one in parts.items()}
    gradient, place = _gradient_grid()[:budget], 0 if is_classifier else 1
    found["HistGradientBoosting"] = [histograms(is_classifier, gradient)]
    for name in LIBRARIES:
        if importlib.util.find_spec(LIBRARIES[name][0].split(".")[0]) is not None:
            peer = library(name, is_classifier, gradient)
            found[peer.name] = [peer]
    linear = PEERS["linear"][place]
    strengths = tuple({"C": 10.0**power} for power in (0, -2, -1, 1, -3, 2, -4, 3))
    found[linear.name] = [replace(linear, grid=strengths[:budget])]
    found["random forest"] = [forest(is_classifier, budget)]
    return found


def _gradient_grid() -> tuple[Setting, ...]:
    return tuple(dict(zip(("rounds", "learning_rate", "early_stopping"), one, strict=True)) for one in GRADIENT)


# ---------------------------------------------------------------- one split


@dataclass(frozen=True)
class Validated:
    """A setting after the splits inside the training rows, with its best number of rounds.

    scores: of the validation rows. seconds: of processor time.
    """

    trial: Trial
    loss: float
    temperature: float
    scores: Floats
    seconds: float


@dataclass
class Split:
    """One split of a data set. Settings that methods share are validated once, and trained once."""

    training: Rows
    test: Rows
    n_classes: int
    seed: int
    metric: Metric
    validated: dict[str, Validated] = field(default_factory=dict)
    tested: dict[str, tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inner = inner_splits(self.training, self.seed)
        self.validation = [self.training.take(validate) for _, validate in self.inner]
        self.labels = np.concatenate([part.target for part in self.validation])

    def run(self, algorithms: list[Algorithm]) -> dict[str, Any]:
        """Choose a setting, train with it, and test."""
        first = algorithms[0]
        if len(algorithms) == len(first.grid) == 1 and not first.staged:  # nothing to choose
            tried = [Validated(self._trial(first, first.grid[0]), 0.0, 1.0, np.empty(0), 0.0)]
        else:
            tried = [one for algorithm in algorithms for one in self._validate(algorithm)]
        best = min(tried, key=lambda one: one.loss)
        scores, seconds = self._test(best)
        values = self._measure(scores, best.temperature)
        return values | {"seconds": sum(one.seconds for one in tried) + seconds, "chosen": best.trial.title}

    def run_stack(self, algorithms: list[Algorithm]) -> dict[str, Any]:
        """Train the best setting of each of the leading algorithms, and weigh them by the validation rows."""
        tried = [self._validate(algorithm) for algorithm in algorithms]
        leading = sorted((min(found, key=lambda one: one.loss) for found in tried), key=lambda one: one.loss)
        models = leading[:MOST_MODELS]
        inner = np.array([self._outputs(one.scores, one.temperature) for one in models])
        is_classifier = self.n_classes > 0
        weigh: Any = weigh_probabilities if is_classifier else weigh_predictions
        weights = weigh(inner, self.labels, None, LAM)
        pooled, temperature = pool(inner, weights), 1.0
        if is_classifier:
            temperature = fit_temperature(pooled_decision(pooled), self.labels)
        tested = [self._test(one) for one in models]
        outputs = [self._outputs(scores, one.temperature) for one, (scores, _) in zip(models, tested, strict=True)]
        pooled = pool(np.array(outputs), weights)
        decision = pooled_decision(pooled) if is_classifier else pooled
        values = self._measure(decision if decision.ndim > 1 else decision[:, None], temperature)
        names = [f"{weight:.2f} {one.trial.algorithm.name}" for one, weight in zip(models, weights, strict=True)]
        seconds = sum(one.seconds for found in tried for one in found) + sum(took for _, took in tested)
        return values | {"seconds": seconds, "chosen": " + ".join(names)}

    def _validate(self, algorithm: Algorithm) -> list[Validated]:
        found = []
        for setting in algorithm.grid:
            trial = self._trial(algorithm, setting)
            if trial.title not in self.validated:
                self.validated[trial.title] = self._validate_one(trial)
            found.append(self.validated[trial.title])
        return found

    def _trial(self, algorithm: Algorithm, setting: Setting) -> Trial:
        return Trial(algorithm, setting, self.seed, self.n_classes, self.metric)

    def _validate_one(self, trial: Trial) -> Validated:
        started = time.process_time()
        try:
            scores = trial.inner_scores(self.training, self.inner)
        except Exception as error:  # of another library, for example for a class with one row
            print(f"peers: {trial.title}: {error}", file=sys.stderr)
            return Validated(trial, math.inf, 1.0, np.empty(0), time.process_time() - started)
        losses, temperatures = trial.losses(self.validation, scores)
        best = int(np.argmin(losses))
        return Validated(
            trial.with_stage(best),
            float(losses[best]),
            temperatures[best],
            np.concatenate(scores[best]),
            time.process_time() - started,
        )

    def _test(self, one: Validated) -> tuple[Floats, float]:
        """The scores of the test rows, after training on all training rows, and the seconds that took."""
        name = one.trial.title
        if name not in self.tested:
            started = time.process_time()
            scores = one.trial.scores(self.training, self.test.matrix)[0]
            self.tested[name] = scores, time.process_time() - started
        return self.tested[name]

    def _outputs(self, scores: Floats, temperature: float) -> Floats:
        """Probabilities [row, class]; for regression the predictions."""
        scored = Scored(np.zeros(len(scores), dtype=np.int64), scores, self.n_classes, temperature)
        return np.exp(scored.log_probabilities) if self.n_classes else scored.decision

    def _measure(self, scores: Floats, temperature: float) -> dict[str, Any]:
        n_classes = self.n_classes
        scored = Scored(self.test.target, scores, n_classes, temperature)
        fitting = [metric for metric in METRICS.values() if metric.for_classes == (n_classes > 0)]
        values: dict[str, Any] = {metric.name: metric.shown(metric.value(scored)) for metric in fitting}
        if n_classes:
            wrong = METRICS["error"].losses(scored) > 0
            values["rows"] = len(wrong)
            values["wrong"] = base64.b64encode(np.packbits(wrong).tobytes()).decode()
        return values


# ---------------------------------------------------------------- data sets


def is_reported(name: str) -> bool:
    """Whether a data set is in the half that chose nothing."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def data_sets(request: Request) -> list[dict[str, Any]]:
    """Of the task, with enough rows, the reported half, or those asked for."""
    task = "classification" if request.number == 1 else "regression"
    listed = json.loads((request.data / "DATASETS.json").read_text(encoding="utf-8"))["datasets"]
    fitting = [one for one in listed if one["task"] == task and one["file"].endswith(".csv.gz")]
    if request.only:
        return [one for one in fitting if one["name"] in request.only]
    large = [one for one in fitting if one["n_rows"] >= FEWEST_ROWS and is_reported(one["name"])]
    return large[:3] if request.quick else large


def load_rows(request: Request, facts: dict[str, Any]) -> tuple[Rows, int]:
    """The rows of a data set, and the number of its classes."""
    import pandas as pd

    table = pd.read_csv(request.data / facts["file"])
    y = table.pop(table.columns[-1])
    for name in {*facts["categorical"], *facts["text_columns"]} & set(table.columns):
        table[name] = table[name].astype("category")
    present = y.notna()
    target = y[present].astype(str).to_numpy() if facts["task"] == "classification" else y[present].to_numpy(np.float64)
    rows, classes = read_rows(table[present], target, facts["task"], "from_dtype")
    return rows, len(classes)


def flip(rows: Rows, share: float, n_classes: int, seed: int) -> Rows:
    """The rows with a share of the labels replaced by another class."""
    rng = np.random.default_rng([seed, 7])
    chosen = rng.random(rows.n_rows) < share
    other = (rows.target + rng.integers(1, max(2, n_classes), rows.n_rows)) % max(1, n_classes)
    return replace(rows, target=np.where(chosen, other, rows.target)) if share else rows


# ---------------------------------------------------------------- results


Key = list[Any]  # data set, split, share of flipped labels, method


@dataclass(frozen=True)
class Unit:
    """One split of a data set, with one share of flipped labels, for the methods that are not stored yet."""

    facts: dict[str, Any]
    seed: int
    flipped: float
    left: tuple[str, ...] | None = None

    def key(self, method: str) -> Key:
        return [self.facts["name"], self.seed, self.flipped, method]

    def has(self, method: str) -> bool:
        """Whether a method is run. The slow one is not, where a fit takes minutes."""
        is_small = self.facts["n_rows"] <= SLOW_ROWS and len(self.facts["classes"]) == 2
        return method != SLOW or (is_small and self.seed == 0 and self.flipped == 0.0)


def compute(request: Request, plan: Plan) -> Stored:
    """All results that are stored, after running what is missing: one split of all data sets after another."""
    lines = Lines(request.out / f"{request.what.replace(' ', '-')}{'-quick' if request.quick else ''}.jsonl")
    stored = read_csv(results_path(request, "csv")) | lines.found
    if request.render:
        return stored
    names = [*methods(request.number == 1, Size(), plan.budget), STACK]
    waiting = []
    by_size = sorted(data_sets(request), key=lambda facts: int(facts["n_rows"]))
    splits = {flipped: request.repeats or most for flipped, most in plan.splits.items()}
    for seed, flipped, facts in product(range(max(splits.values())), splits, by_size):
        unit = Unit(facts, seed, flipped)
        left = tuple(name for name in names if json.dumps(unit.key(name)) not in stored and unit.has(name))
        if left and seed < splits[flipped]:
            waiting.append(replace(unit, left=left))
    for done, (key, result) in enumerate(_run_units(request, plan, waiting), 1):
        lines.compute(key, lambda result=result: result)  # type: ignore[misc]
        print(f"peers: {done} of {sum(len(one.left or ()) for one in waiting)}: {key}", file=sys.stderr, flush=True)
    return stored | lines.found


def _run_units(request: Request, plan: Plan, waiting: list[Unit]) -> Iterator[tuple[Key, dict[str, Any]]]:
    if request.jobs == 1:
        for unit in waiting:
            yield from run_unit(request, plan, unit)
        return
    tasks = (joblib.delayed(_run_whole)(request, plan, unit) for unit in waiting)
    for found in joblib.Parallel(n_jobs=request.jobs, return_as="generator_unordered")(tasks):
        yield from found


def _run_whole(request: Request, plan: Plan, unit: Unit) -> list[tuple[Key, dict[str, Any]]]:
    return list(run_unit(request, plan, unit))


def run_unit(request: Request, plan: Plan, unit: Unit) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Run the methods that are left, one after another."""
    rows, n_classes = load_rows(request, unit.facts)
    opened, held = hold_out(rows, min(0.3, plan.test_rows / rows.n_rows), unit.seed)
    most = np.random.default_rng([unit.seed, 8]).permutation(opened)[: plan.training_rows]
    training = flip(rows.take(np.sort(most)), unit.flipped, n_classes, unit.seed)
    every = methods(n_classes > 0, Size(training.n_rows, n_classes), plan.budget)
    metric = METRICS["error" if n_classes else "mae"]
    split = Split(training, rows.take(held), n_classes, unit.seed, metric)
    for name in unit.left or (*every, STACK):
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = split.run_stack(every[PORTFOLIO]) if name == STACK else split.run(every[name])
        yield unit.key(name), result


# ---------------------------------------------------------------- the page


def results_path(request: Request, ending: str) -> Path:
    """The file of the results as a table or as a picture."""
    return request.out / f"peers-{request.what.replace(' ', '-')}{'-quick' if request.quick else ''}.{ending}"


def reproduce(request: Request) -> str:
    """For `electorate reproduce peers --table N`: Markdown; results and a picture go to the folder.

    The page is made from the CSV file.
    """
    plan = (QUICK if request.quick else FULL)[request.number]
    path = results_path(request, "csv")
    if not (request.render and path.exists()):
        write_csv(path, compute(request, plan))
    stored = read_csv(path)
    sets = request.only or {json.loads(key)[0] for key in stored}
    found = {flipped: complete(stored, flipped, sets) for flipped in sorted(plan.splits)}
    task, loss = ("classification", "error") if request.number == 1 else ("regression", "mae")
    own = {*PARTS["classification"], *PARTS["regression"]}
    pages = {
        f"{flipped:.0%} of the labels flipped" if flipped else "Clean labels": Page(
            results, loss, own, 2 if flipped else 1
        )
        for flipped, results in found.items()
        if results
    }
    page = [
        f"# Peers, table {request.number}: {task}",
        "",
        f"{'Quick version. ' if request.quick else ''}At most {plan.training_rows:,} training rows, up to "
        f"{plan.budget} settings per method. [The study](peers.md) describes the methods and what was found. "
        f"The results are in `{path.name}`, from which `electorate reproduce peers --table {request.number} --render` "
        f"makes this page.",
        "",
    ]
    if pages:
        if importlib.util.find_spec("matplotlib") is not None:
            draw_ranks(results_path(request, "png"), pages)
        page += [f"![Mean ranks of all methods]({results_path(request, 'png').name})", ""]
    if len(pages) > 1:
        page += [*rank_summary(pages), ""]
    for head, one in pages.items():
        page += [f"## {head}", "", *one.text()]
    return "\n".join(page)
