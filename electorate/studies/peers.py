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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from electorate import compare_over
from electorate.comparison import folds
from electorate.comparison.algorithms import (
    CLASSIFICATION,
    OURS,
    PEERS,
    REGRESSION,
    Algorithm,
    Facts,
    Setting,
    Size,
)
from electorate.comparison.cells import Protocol, Trial, with_rounds
from electorate.comparison.metrics import METRICS, Scored
from electorate.comparison.peers import LIBRARIES
from electorate.comparison.rows import Floats, Rows, read_rows
from electorate.comparison.stack import LAM, MOST_MODELS
from electorate.model.calibration import fit_temperature
from electorate.stacking.pooling import pool, pooled_decision
from electorate.stacking.weights import weigh_predictions, weigh_probabilities
from electorate.studies.request import Lines, Request, markdown_table

OFFERS = {
    "table 1": "errors, ranks and times of classifiers of five libraries, with 0, 10 and 20% of the labels flipped",
    "table 2": "absolute errors, ranks and times of regressors of five libraries",
}
NEEDS_DATA = tuple(OFFERS)
FEWEST_ROWS = 200
BUDGET = 8  # settings that every method chooses among
PORTFOLIO, STACK = "electorate", "electorate, stacked"
CLEAN_ONLY = {"EBM"}  # a fit takes minutes
PARTS = {  # settings of the portfolio, of each algorithm the first so many of its grid
    "classification": {
        "Logistic AdaBoost, trees": 3,
        "SAMME.R, trees": 2,
        "AdaBoost, trees": 2,
        "Real AdaBoost, trees": 1,
    },
    "regression": {"QuadBoost, trees": 3, "MedBoost, trees": 2, "AdaBoost.R2, trees": 2, "LocMedBoost, trees": 1},
}
RATES = (0.1, 0.05)
GRADIENT = [(rounds, rate, early) for rate in RATES for rounds, early in ((100, False), (300, False), (500, True))]
GRADIENT += [(50, 0.1, False), (200, 0.2, False)]


@dataclass(frozen=True)
class Plan:
    """Splits, the most training and test rows of a data set, shares of flipped labels, and settings per method."""

    splits: int = 5
    training_rows: int = 3_000
    test_rows: int = 5_000
    flipped: tuple[float, ...] = (0.0, 0.2, 0.1)
    budget: int = BUDGET


FULL = Plan()
QUICK = Plan(splits=1, training_rows=200, test_rows=300, flipped=(0.0, 0.2), budget=4)


# ---------------------------------------------------------------- methods


class Forest:
    """Makes a random forest of scikit-learn."""

    def __init__(self, is_classifier: bool) -> None:
        self.is_classifier = is_classifier

    def __call__(self, facts: Facts) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestClassifier if self.is_classifier else RandomForestRegressor
        return kind(n_estimators=200, n_jobs=1, random_state=facts.seed)


def methods(is_classifier: bool, size: Size, budget: int = BUDGET) -> dict[str, list[Algorithm]]:
    """The algorithms whose settings each method chooses among, in all `budget` or fewer.

    Libraries that are not installed are left out.
    """
    kind = "classification" if is_classifier else "regression"
    listed = {one.name: one.of_size(size) for one in OURS}
    parts = {name: listed[name] for name in PARTS[kind]}
    counts = {name: max(1, n * budget // BUDGET) for name, n in PARTS[kind].items()}
    found = {PORTFOLIO: [replace(one, grid=one.grid[: counts[name]]) for name, one in parts.items()]}
    found |= {name: [replace(one, grid=one.grid[:budget])] for name, one in parts.items()}
    for name in LIBRARIES:
        if importlib.util.find_spec(LIBRARIES[name][0].split(".")[0]) is not None:
            peer = PEERS[name][0 if is_classifier else 1]
            found[peer.name] = [replace(peer, grid=peer.grid if name == "ebm" else _gradient_grid()[:budget])]
    linear = PEERS["linear"][0 if is_classifier else 1]
    strengths = tuple({"strength": 10.0**power} for power in (0, -2, -1, 1, -3, 2, -4, 3))
    found[linear.name] = [replace(linear, grid=strengths[:budget])]
    leaves = [{"min_samples_leaf": leaf, "max_features": share} for leaf in (1, 2, 5, 10) for share in ("sqrt", 0.5)]
    tasks = CLASSIFICATION if is_classifier else (REGRESSION,)
    grid = tuple(leaves[:budget])
    found["random forest"] = [Algorithm("random forest", tasks, Forest(is_classifier), grid, peer=True)]
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
    setting: Setting
    loss: float
    temperature: float
    scores: Floats
    seconds: float


@dataclass
class Split:
    """One split of a data set. Settings that methods share are validated once, and trained once."""

    training: Rows
    test: Rows
    protocol: Protocol
    validated: dict[str, Validated] = field(default_factory=dict)
    tested: dict[str, tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inner = folds.inner(self.training, 0, self.protocol.seed)
        self.validation = [self.training.take(validate) for _, validate in self.inner]
        self.labels = np.concatenate([part.target for part in self.validation])

    def run(self, algorithms: list[Algorithm]) -> dict[str, Any]:
        """Choose a setting, train with it, and test."""
        tried = [one for algorithm in algorithms for one in self._validate(algorithm)]
        best = min(tried, key=lambda one: one.loss)
        scores, seconds = self._test(best)
        values = self._measure(scores, best.temperature)
        chosen = f"{best.trial.algorithm.name}: {best.setting}"
        return values | {"seconds": sum(one.seconds for one in tried) + seconds, "chosen": chosen}

    def run_stack(self, algorithms: list[Algorithm]) -> dict[str, Any]:
        """Train the best setting of each of the leading algorithms, and weigh them by the validation rows."""
        tried = [self._validate(algorithm) for algorithm in algorithms]
        leading = sorted((min(found, key=lambda one: one.loss) for found in tried), key=lambda one: one.loss)
        models = leading[:MOST_MODELS]
        inner = np.array([self._outputs(one.scores, one.temperature) for one in models])
        is_classifier = self.protocol.n_classes > 0
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
        for number, setting in enumerate(algorithm.grid):
            name = f"{algorithm.name}: {setting}"
            if name not in self.validated:
                self.validated[name] = self._validate_one(Trial(algorithm, number, self.protocol))
            found.append(self.validated[name])
        return found

    def _validate_one(self, trial: Trial) -> Validated:
        started = time.process_time()
        try:
            scores = trial.inner_scores(self.training, self.inner)
        except Exception as error:  # of another library, for example for a class with one row
            print(f"peers: {trial.algorithm.name} {trial.setting}: {error}", file=sys.stderr)
            return Validated(trial, trial.setting, math.inf, 1.0, np.empty(0), time.process_time() - started)
        losses, temperatures = trial.losses(self.validation, scores)
        best = int(np.argmin(losses))
        return Validated(
            trial,
            with_rounds(trial.algorithm, trial.setting, best),
            float(losses[best]),
            temperatures[best],
            np.concatenate(scores[best]),
            time.process_time() - started,
        )

    def _test(self, one: Validated) -> tuple[Floats, float]:
        """The scores of the test rows, after training on all training rows, and the seconds of training."""
        name = f"{one.trial.algorithm.name}: {one.setting}"
        if name not in self.tested:
            started = time.process_time()
            model = one.trial.fit(self.training, one.setting)
            seconds = time.process_time() - started
            self.tested[name] = model.scores(self.test.matrix, self.protocol.n_classes), seconds
        return self.tested[name]

    def _outputs(self, scores: Floats, temperature: float) -> Floats:
        """Probabilities [row, class]; for regression the predictions."""
        n_classes = self.protocol.n_classes
        scored = Scored(np.zeros(len(scores), dtype=np.int64), scores, n_classes, temperature)
        return np.exp(scored.log_probabilities) if n_classes else scored.decision

    def _measure(self, scores: Floats, temperature: float) -> dict[str, Any]:
        n_classes = self.protocol.n_classes
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
Results = dict[tuple[str, str], list[dict[str, Any]]]  # by data set and method, in the order of the splits


@dataclass(frozen=True)
class Unit:
    """One split of a data set, with one share of flipped labels, for the methods that are not stored yet."""

    facts: dict[str, Any]
    seed: int
    flipped: float
    left: tuple[str, ...] | None = None

    def key(self, method: str) -> Key:
        return [self.facts["name"], self.seed, self.flipped, method]


def compute(request: Request, plan: Plan) -> Lines:
    """All results that are stored, after running what is missing: one split of all data sets after another."""
    lines = Lines(request.out / f"{request.what.replace(' ', '-')}{'-quick' if request.quick else ''}.jsonl")
    if request.render:
        return lines
    names = [*methods(request.number == 1, Size(), plan.budget), STACK]
    waiting = []
    by_size = sorted(data_sets(request), key=lambda facts: int(facts["n_rows"]))
    for seed, flipped, facts in product(range(request.repeats or plan.splits), plan.flipped, by_size):
        unit = Unit(facts, seed, flipped)
        run = [name for name in names if flipped == 0.0 or name not in CLEAN_ONLY]
        left = tuple(name for name in run if json.dumps(unit.key(name)) not in lines.found)
        if left and (flipped == 0.0 or facts["task"] == "classification"):
            waiting.append(replace(unit, left=left))
    for done, (key, result) in enumerate(_run_units(request, plan, waiting), 1):
        lines.compute(key, lambda result=result: result)  # type: ignore[misc]
        print(f"peers: {done} of {sum(len(one.left or ()) for one in waiting)}: {key}", file=sys.stderr, flush=True)
    return lines


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
    opened, locked = folds.lock(rows, min(0.3, plan.test_rows / rows.n_rows), unit.seed)
    most = np.random.default_rng([unit.seed, 8]).permutation(opened)[: plan.training_rows]
    training = flip(rows.take(np.sort(most)), unit.flipped, n_classes, unit.seed)
    every = methods(n_classes > 0, Size(training.n_rows, n_classes), plan.budget)
    metric = METRICS["error" if n_classes else "mae"]
    protocol = Protocol(every[PORTFOLIO], 2, unit.seed, n_classes, metric)
    split = Split(training, rows.take(locked), protocol)
    for name in unit.left or (*every, STACK):
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = split.run_stack(every[PORTFOLIO]) if name == STACK else split.run(every[name])
        yield unit.key(name), result


# ---------------------------------------------------------------- the page


def reproduce(request: Request) -> str:
    """For `electorate reproduce peers --table N`: Markdown."""
    plan = QUICK if request.quick else FULL
    lines = compute(request, plan)
    loss = "error" if request.number == 1 else "mae"
    title = "classification" if request.number == 1 else "regression"
    rows = f"at most {plan.training_rows:,} training rows, up to {plan.budget} settings per method"
    page = [f"# Peers, table {request.number}: {title}", "", f"{'Quick version: ' if request.quick else ''}{rows}.", ""]
    for flipped in sorted(plan.flipped):
        some = complete(lines, flipped, {one["name"] for one in data_sets(request)})
        if some:
            page += [f"## {flipped:.0%} of the labels flipped" if request.number == 1 else "## Results", ""]
            page += [*_mean_table(some, loss), "", *_by_set(some, loss), "", *_aims(some, loss), ""]
    return "\n".join(page)


def complete(lines: Lines, flipped: float, sets: Iterable[str]) -> Results:
    """The results with one share of flipped labels, of the splits that all methods were run on."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for name, result in lines.found.items():
        data, split, share, method = json.loads(name)
        if share == flipped and data in set(sets):
            found.setdefault((data, split), {})[method] = result
    every = {method for results in found.values() for method in results}
    whole = [(data, results) for (data, _), results in sorted(found.items()) if set(results) == every]
    order = sorted(every, key=lambda method: list(whole[0][1]).index(method)) if whole else []
    gathered: Results = {(data, method): [] for data, _ in whole for method in order}
    for data, results in whole:
        for method in order:
            gathered[data, method].append(results[method])
    return gathered


def _names(results: Results) -> tuple[list[str], list[str]]:
    """Data sets and methods."""
    return list(dict.fromkeys(data for data, _ in results)), list(dict.fromkeys(method for _, method in results))


def _means(results: Results, value: str) -> Floats:
    """[data set, method]"""
    sets, names = _names(results)
    return np.array([[np.mean([one[value] for one in results[data, name]]) for name in names] for data in sets])


def _ranks(means: Floats) -> Floats:
    """The mean rank of each method over data sets; equals share their ranks."""
    below = (means[:, None, :] < means[:, :, None]).sum(axis=2)
    equal = (means[:, None, :] == means[:, :, None]).sum(axis=2)
    return np.asarray((below + (equal + 1) / 2).mean(axis=0))


def _mean_table(results: Results, loss: str) -> list[str]:
    """Mean ranks over data sets, and means of what was measured."""
    sets, names = _names(results)
    means = _means(results, loss)
    ranks = _ranks(means)
    more = [key for key in ("auc", "log_loss", "rmse", "seconds") if key in results[sets[0], names[0]][0]]
    each = {key: _means(results, key).mean(axis=0) for key in more}
    lines = [
        [names[k], f"{ranks[k]:.2f}", f"{means[:, k].mean():.4f}", *(f"{each[key][k]:.3f}" for key in more)]
        for k in np.argsort(ranks, kind="stable")
    ]
    splits = sorted({len(found) for found in results.values()})
    said = f"{len(sets)} data sets, {' or '.join(map(str, splits))} split{'s' * (splits != [1])} of each."
    table = [said, "", *markdown_table(" | ".join(["method", "mean rank", loss, *more]), lines, "lrrrrr")]
    if len(sets) < 2:
        return table
    over = compare_over({"data": sets} | {name: means[:, k].tolist() for k, name in enumerate(names)})
    return [*table, "", "```", str(over), "```"]


OWN = {PORTFOLIO, STACK, *PARTS["classification"], *PARTS["regression"]}


@dataclass(frozen=True)
class Gap:
    """Our portfolio and the best peer on one data set; error: the standard error of the difference."""

    mine: float
    best: str
    its: float
    error: float

    @property
    def is_behind(self) -> bool:
        """By more than a point, beyond two standard errors."""
        return self.mine - self.its > 0.01 + 2 * self.error

    def __str__(self) -> str:
        return f"{100 * (self.mine - self.its):+.1f} ± {100 * self.error:.1f}"


def _gap(results: Results, data: str, loss: str, method: str = PORTFOLIO) -> Gap:
    _, names = _names(results)
    losses = {name: float(np.mean([one[loss] for one in results[data, name]])) for name in names}
    best = min((name for name in names if name not in OWN), key=losses.__getitem__)
    mine, others = results[data, method], results[data, best]
    if "wrong" in mine[0]:  # by the test rows that one of the two predicts wrongly
        differ = [np.count_nonzero(_wrong(one) != _wrong(other)) for one, other in zip(mine, others, strict=True)]
        n_rows = sum(one["rows"] for one in mine)
        error = float(np.sqrt(sum(differ)) / n_rows)
    else:
        each = np.array([one[loss] - other[loss] for one, other in zip(mine, others, strict=True)])
        error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
    return Gap(losses[method], best, losses[best], error)


def _wrong(result: dict[str, Any]) -> Any:
    return np.unpackbits(np.frombuffer(base64.b64decode(result["wrong"]), dtype=np.uint8))


def _by_set(results: Results, loss: str) -> list[str]:
    """For each data set: our portfolio beside the best peer."""
    lines = []
    for data in _names(results)[0]:
        gap, stacked = _gap(results, data, loss), _gap(results, data, loss, STACK)
        numbers = [f"{gap.its:.4f}", f"{gap.mine - gap.its:+.4f}", f"{gap.error:.4f}"]
        lines.append([data, f"{gap.mine:.4f}", f"{stacked.mine:.4f}", gap.best, *numbers])
    return markdown_table(
        f"data set | {PORTFOLIO} | stacked | best peer | its {loss} | difference | ±", lines, "lrrlrrr"
    )


def _aims(results: Results, loss: str) -> list[str]:
    """What the study aims at, for the portfolio and for its stack."""
    sets, names = _names(results)
    each = _means(results, loss)
    ranks, means = _ranks(each), each.mean(axis=0)
    if loss == "mae":  # data sets have their own units
        means = np.exp(np.log(each).mean(axis=0))
    seconds = _means(results, "seconds").mean(axis=0)
    peers = [k for k, name in enumerate(names) if name not in OWN]
    slowest, best = max(peers, key=seconds.__getitem__), min(peers, key=means.__getitem__)
    first = min(peers, key=ranks.__getitem__)
    lines = []
    for method in (PORTFOLIO, STACK):
        own = names.index(method)
        gaps = {data: _gap(results, data, loss, method) for data in sets}
        lines += [
            [method, "mean rank", f"{ranks[own]:.2f}", f"{names[first]} {ranks[first]:.2f}"],
            [
                method,
                f"{'mean' if loss == 'error' else 'geometric mean of the'} {loss}",
                f"{means[own]:.4g}",
                f"{names[best]} {means[best]:.4g}",
            ],
            [method, "mean processor seconds", f"{seconds[own]:.1f}", f"{names[slowest]} {seconds[slowest]:.1f}"],
        ]
        if loss == "error":
            logs = _means(results, "log_loss").mean(axis=0)
            least = min(peers, key=logs.__getitem__)
            lines.append([method, "mean log loss", f"{logs[own]:.4f}", f"{names[least]} {logs[least]:.4f}"])
            behind = [f"{data} {gap}" for data, gap in gaps.items() if gap.is_behind]
            lines.append([method, "over 1 point and 2 s.e. behind", str(len(behind)), "; ".join(behind) or "-"])
    return markdown_table("method | aim | ours | best (time: slowest) peer", lines, "llrl")
