"""Our algorithms beside other libraries on the data sets of the folder, with clean and with flipped labels.

`electorate reproduce peers --table 1 [--quick]`: classification; table 2: regression. Everybody chooses among the same
number of settings by the same splits of the same training rows. The settings of our portfolio were chosen on one half
of the data sets (by a hash of their names), and the tables report the other half. A line is stored per data set,
split, share of flipped labels and method, so that an interrupted run resumes.
"""

import hashlib
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

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
from electorate.comparison.rows import Rows, read_rows
from electorate.studies.request import Lines, Request, markdown_table

OFFERS = {
    "table 1": "errors, ranks and times of classifiers of five libraries, with 0, 10 and 20% of the labels flipped",
    "table 2": "absolute errors, ranks and times of regressors of five libraries",
}
NEEDS_DATA = tuple(OFFERS)
FEWEST_ROWS = 200
BUDGET = 8  # settings that every method chooses among
PORTFOLIO = "electorate"
PARTS = {  # settings of the portfolio, of each algorithm the first so many of its grid
    "classification": {"AdaBoost, trees": 2, "SAMME.R, trees": 3, "Real AdaBoost, trees": 2, "AdaBoost, stumps": 1},
    "regression": {"MedBoost, trees": 3, "AdaBoost.R2, trees": 2, "LocMedBoost, trees": 2, "QuadBoost, regression": 1},
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
    flipped: tuple[float, ...] = (0.0, 0.1, 0.2)
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


def run_method(algorithms: list[Algorithm], training: Rows, test: Rows, protocol: Protocol) -> dict[str, Any]:
    """Choose a setting inside the training rows, train with it, and test."""
    started = time.perf_counter()
    splits = folds.inner(training, 0, protocol.seed)
    best: tuple[float, Any, Setting, float] | None = None
    for algorithm in algorithms:
        for number in range(len(algorithm.grid)):
            trial = Trial(algorithm, number, protocol)
            losses, temperatures = trial.validate(training, splits)
            stage = int(np.argmin(losses))
            if best is None or losses[stage] < best[0]:
                setting = with_rounds(algorithm, trial.setting, stage)
                best = float(losses[stage]), trial, setting, temperatures[stage]
    assert best is not None
    _, trial, setting, temperature = best
    model = trial.fit(training, setting)
    seconds = time.perf_counter() - started
    scored = Scored(test.target, model.scores(test.matrix, protocol.n_classes), protocol.n_classes, temperature)
    fitting = [metric for metric in METRICS.values() if metric.for_classes == (protocol.n_classes > 0)]
    values = {metric.name: metric.shown(metric.value(scored)) for metric in fitting}
    return values | {"seconds": seconds, "chosen": f"{trial.algorithm.name}: {setting}"}


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


Results = dict[tuple[str, float, str], list[dict[str, Any]]]  # by data set, share of flipped labels and method


def compute(request: Request, plan: Plan) -> Results:
    """Results of all splits, one split of all data sets after another; stored results are not computed again."""
    lines = Lines(request.out / f"{request.what.replace(' ', '-')}{'-quick' if request.quick else ''}.jsonl")
    found: Results = {}
    by_size = sorted(data_sets(request), key=lambda facts: int(facts["n_rows"]))
    for seed, flipped, facts in product(range(plan.splits), plan.flipped, by_size):
        if flipped == 0.0 or facts["task"] == "classification":
            for key, method in _methods_of_split(request, plan, facts, seed, flipped):
                print(f"peers: {key}", file=sys.stderr, flush=True)
                found.setdefault((facts["name"], flipped, key[-1]), []).append(lines.compute(key, method))
    return found


def _methods_of_split(
    request: Request, plan: Plan, facts: dict[str, Any], seed: int, flipped: float
) -> list[tuple[list[Any], Callable[[], dict[str, Any]]]]:
    """The key of each method on one split of a data set, and what runs it."""
    rows, n_classes = load_rows(request, facts)
    opened, locked = folds.lock(rows, min(0.3, plan.test_rows / rows.n_rows), seed)
    most = np.random.default_rng([seed, 8]).permutation(opened)[: plan.training_rows]
    training = flip(rows.take(np.sort(most)), flipped, n_classes, seed)
    metric = METRICS["error" if n_classes else "mae"]

    def run(algorithms: list[Algorithm]) -> dict[str, Any]:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            protocol = Protocol(algorithms, 2, seed, n_classes, metric)
            return run_method(algorithms, training, rows.take(locked), protocol)

    every = methods(n_classes > 0, Size(training.n_rows, n_classes), plan.budget)
    return [([facts["name"], seed, flipped, name], partial(run, algorithms)) for name, algorithms in every.items()]


def reproduce(request: Request) -> str:
    """For `electorate reproduce peers --table N`: Markdown."""
    plan = QUICK if request.quick else FULL
    results = compute(request, plan)
    loss = "error" if request.number == 1 else "mae"
    title = "classification" if request.number == 1 else "regression"
    rows = (
        f"at most {plan.training_rows:,} training rows, {plan.splits} splits, up to {plan.budget} settings per method"
    )
    page = [f"# Peers, table {request.number}: {title}", "", f"{'Quick version: ' if request.quick else ''}{rows}.", ""]
    for flipped in sorted({flipped for _, flipped, _ in results}):
        some = {(name, method): found for (name, share, method), found in results.items() if share == flipped}
        page += [f"## {flipped:.0%} of the labels flipped" if request.number == 1 else "## Results", ""]
        page += [*_mean_table(some, loss), "", *_by_set(some, loss), ""]
    return "\n".join(page)


def _mean_table(results: dict[tuple[str, str], list[dict[str, Any]]], loss: str) -> list[str]:
    """Mean ranks over data sets, and means of what was measured."""
    sets, names = (list(dict.fromkeys(keys)) for keys in zip(*results, strict=True))
    means = np.array([[np.mean([one[loss] for one in results[s, m]]) for m in names] for s in sets])
    ranks = np.mean([[np.mean((row < v) + 0.5 * (row == v)) * len(row) + 0.5 for v in row] for row in means], axis=0)
    more = [key for key in ("auc", "log_loss", "rmse", "seconds") if key in results[sets[0], names[0]][0]]
    lines = []
    for place in np.argsort(ranks, kind="stable"):
        each = {key: np.mean([one[key] for s in sets for one in results[s, names[place]]]) for key in more}
        shown = [f"{means[:, place].mean():.4f}", *(f"{value:.3f}" for value in each.values())]
        lines.append([names[place], f"{ranks[place]:.2f}", *shown])
    table = markdown_table(" | ".join(["method", "mean rank", loss, *more]), lines, "lrrrrr")
    if len(sets) < 2:
        return table
    over = compare_over({"data": sets} | {name: means[:, k].tolist() for k, name in enumerate(names)})
    return [*table, "", "```", str(over), "```"]


def _by_set(results: dict[tuple[str, str], list[dict[str, Any]]], loss: str) -> list[str]:
    """For each data set: our portfolio beside the best peer."""
    sets, names = (list(dict.fromkeys(keys)) for keys in zip(*results, strict=True))
    ours = {PORTFOLIO, *PARTS["classification"], *PARTS["regression"]}
    lines = []
    for name in sets:
        peers = {m: np.array([one[loss] for one in results[name, m]]) for m in names if m not in ours}
        best = min(peers, key=lambda m: float(peers[m].mean()))
        mine = np.array([one[loss] for one in results[name, PORTFOLIO]])
        gap = mine - peers[best]
        error = float(np.std(gap, ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
        lines.append(
            [name, f"{mine.mean():.4f}", best, f"{peers[best].mean():.4f}", f"{gap.mean():+.4f}", f"{error:.4f}"]
        )
    return markdown_table(f"data set | {PORTFOLIO} | best peer | its {loss} | difference | ±", lines, "lrlrrr")
