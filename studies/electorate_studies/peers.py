"""Our algorithms beside other libraries on the data sets of the folder, with clean and with flipped labels.

`electorate reproduce peers --table 1 [--quick]`: classification; table 2: regression. Everybody chooses among the same
number of settings by the same splits of the same training rows. The settings of our portfolio were chosen on one half
of the data sets (by a hash of their names), and the tables report the other half. The defaults of `compare` have other
settings since then; the stored results are of these. A line is stored per data set, split, share of flipped labels and
method, so that an interrupted run resumes.
"""

import hashlib
import importlib.util
import math
import sys
import time
import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn import ensemble
from threadpoolctl import threadpool_limits

from electorate.comparison import building_blocks as blocks
from electorate.comparison.building_blocks import Algorithm, Facts, Rows, Scored, Size
from electorate_studies.binary_sets import listed_sets
from electorate_studies.peers_page import PORTFOLIO, SLOW, STACK, Page, complete, draw_ranks, rank_summary
from electorate_studies.quadboost_table2 import packed
from electorate_studies.request import PAPERS, Floats, Request, paragraphs, text
from electorate_studies.runs import Lines, RowDict, each_result, stored, stored_rows

OFFERS = PAPERS["peers"]["offers"]
NEEDS_DATA = tuple(OFFERS)
KEY, TEXTS = ("data", "split", "flipped", "method"), ("data", "method", "chosen", "wrong")
FIELDS = (*KEY, "error", "auc", "log_loss", "mae", "rmse", "seconds", "rows", "chosen", "wrong")
FEWEST_ROWS = 200
SLOW_ROWS = 1_000  # the most rows of a data set that the slow method is run on; it has two classes
MOST_MODELS, LAM = 3, 1e-3  # of the stack: the algorithms of the least inner loss, and the penalty of their weights
BUDGET = 8  # settings that every method chooses among
SINGLE_FROM, PARTS = 2_000, 4  # training rows from which one split of so many parts is enough
LEAVES = ("min_samples_leaf", "max_features")
MOST_CATEGORIES, PATIENCE = 255, 20  # of HistGradientBoosting
# Settings of the portfolio, of each algorithm the first so many of its grid; 0: it is only compared.
CLASSIFIERS = {"Logistic AdaBoost, trees": 4, "SAMME.R, trees": 2, "AdaBoost, trees": 1, "Real AdaBoost, trees": 1}
REGRESSORS = {"QuadBoost, trees": 2, "QuadBoost, absolute error": 1, "MedBoost, trees": 1, "AdaBoost.R2, trees": 1}
REGRESSORS |= {"LocMedBoost, trees": 0}
OWN = {*CLASSIFIERS, *REGRESSORS}
GRADIENT = [(rounds, rate, rounds == 500) for rate in (0.1, 0.05) for rounds in (100, 300, 500)]
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


def measured_grids(size: Size) -> dict[str, tuple[RowDict, ...]]:
    """The settings of our algorithms that the study measured, where they are others than those of `compare`."""
    deepest, middle, rounds = size.deepest, min(6, max(3, size.deepest)), size.rounds
    plain = dict.fromkeys([(middle, 200, 0.1, 10), (3, 200, 0.1, 1), (3, 200, 1.0, 1)])
    grids: dict[str, list[tuple[Any, ...]]] = {
        "SAMME.R, trees": [(min(10, deepest), 200, 0.1, 10, "sqrt"), *plain],
        "Logistic AdaBoost, trees": [
            (min(10, max(3, deepest)), 200, 0.05, 10, "sqrt"),
            (middle, 200, 0.2, 20),
            (1, 400, 0.5, 5),
            (middle, 200, 0.1, 20, "sqrt"),
            (3, 200, 0.1, 5),
        ],
        "QuadBoost, trees": [
            (4, 300, 0.1, 1, 0.5),
            (5, 400, 0.1, 1, 0.5),
            (6, 300, 0.1, 5, None),
            (6, 400, 0.05, 5, 0.5),
        ],
        "QuadBoost, absolute error": [(6, 300, 0.1, 5, None), (6, 300, 0.1, 1, 0.5)],
    }
    if size.n_rows >= blocks.MANY_ROWS:
        deep = max(6, deepest - 2), rounds, 0.2, 20
        grids = {"Logistic AdaBoost, trees": [deep, (*deep, "sqrt"), (6, rounds, 0.2, 20), (3, rounds, 0.2, 20)]}
    names = "estimator__max_depth", "n_estimators", "learning_rate", *(f"estimator__{one}" for one in LEAVES)
    leaves = {"Logistic AdaBoost, trees": {"estimator__leaves": "gentle"}}
    return {
        name: tuple(dict(zip(names, one, strict=False)) | leaves.get(name, {}) for one in grid)
        for name, grid in grids.items()
    }


def methods(is_classifier: bool, size: Size, budget: int = BUDGET) -> dict[str, list[Algorithm]]:
    """The algorithms whose settings each method chooses among, in all `budget` or fewer.

    Libraries that are not installed are left out.
    """
    wanted, grids = CLASSIFIERS if is_classifier else REGRESSORS, measured_grids(size)
    ours = {one.name: one for one in blocks.OURS}
    parts = {k: replace(ours[k], grid=grids[k]) if k in grids else ours[k].of_size(size) for k in wanted}
    counts = {name: max(1, n * budget // BUDGET) for name, n in wanted.items() if n}
    while sum(counts.values()) > budget:
        counts[max(counts, key=lambda name: counts[name])] -= 1
    gradient = tuple(dict(zip(("rounds", "learning_rate", "early_stopping"), one, strict=True)) for one in GRADIENT)
    place, gradient = 0 if is_classifier else 1, gradient[:budget]
    listed = [replace(one, grid=one.grid[:budget]) for one in parts.values()]
    hist = tuple({"max_iter" if name == "rounds" else name: x for name, x in one.items()} for one in gradient)
    listed.append(_of_sklearn("HistGradientBoosting", _make_histograms, is_classifier, hist))
    plain = tuple({"n_estimators": one["rounds"], "learning_rate": one["learning_rate"]} for one in gradient)
    installed = [name for name in ("lightgbm", "xgboost", "catboost") if importlib.util.find_spec(name)]
    listed += [replace(blocks.PEERS[name][place], grid=plain) for name in installed]
    strengths = tuple({"C": 10.0**power} for power in (0, -2, -1, 1, -3, 2, -4, 3))
    listed.append(replace(blocks.PEERS["linear"][place], grid=strengths[:budget]))
    leaves = tuple({"min_samples_leaf": n, "max_features": share} for n in (1, 2, 5, 10) for share in ("sqrt", 0.5))
    listed.append(_of_sklearn("random forest", _make_forest, is_classifier, leaves[:budget]))
    portfolio = [replace(parts[name], grid=parts[name].grid[:n]) for name, n in counts.items()]
    return {PORTFOLIO: portfolio} | {one.name: [one] for one in listed}


def _of_sklearn(name: str, make: Any, is_classifier: bool, grid: tuple[RowDict, ...]) -> Algorithm:
    tasks = blocks.CLASSIFICATION if is_classifier else (blocks.REGRESSION,)
    return Algorithm(name, tasks, partial(make, is_classifier), grid, peer=True)


def _make_forest(is_classifier: bool, facts: Facts) -> Any:
    kind = ensemble.RandomForestClassifier if is_classifier else ensemble.RandomForestRegressor
    return kind(n_estimators=200, n_jobs=1, random_state=facts.seed)


def _make_histograms(is_classifier: bool, facts: Facts) -> Any:
    kind = ensemble.HistGradientBoostingClassifier if is_classifier else ensemble.HistGradientBoostingRegressor
    categories = list(facts.categorical) if facts.categorical and facts.widest <= MOST_CATEGORIES else None
    return kind(n_iter_no_change=PATIENCE, categorical_features=categories, random_state=facts.seed)


# ---------------------------------------------------------------- one split


@dataclass(frozen=True)
class Trial:
    """An algorithm with one setting; after the splits inside the training rows, the setting has the best rounds.

    scores: of the validation rows. seconds: of processor time.
    """

    algorithm: Algorithm
    setting: RowDict
    loss: float = 0.0
    temperature: float = 1.0
    scores: Any = None
    seconds: float = 0.0

    @property
    def title(self) -> str:
        return f"{self.algorithm.name}: {self.setting}"


@dataclass
class Split:
    """One split of a data set. Settings that methods share are validated once, and trained once."""

    training: Rows
    test: Rows
    n_classes: int
    seed: int
    validated: dict[str, Trial] = field(default_factory=dict)
    tested: dict[str, tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """3-fold cross-validation for small data, else one part for validation."""
        n_parts, n_used = (3, 3) if self.training.n_rows < SINGLE_FROM else (PARTS, 1)
        target = self.training.target
        part = blocks.deal(blocks.strata(target), n_parts, np.random.default_rng([self.seed, 2, 0]))
        self.inner = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_used)]
        self.labels = [target[rows] for _, rows in self.inner]
        self.metric = blocks.METRICS["error" if self.n_classes else "mae"]

    def run(self, algorithms: list[Algorithm]) -> RowDict:
        """Choose a setting, train with it, and test."""
        first = algorithms[0]
        if len(algorithms) == len(first.grid) == 1 and not first.staged:  # nothing to choose
            tried = [Trial(first, first.grid[0])]
        else:
            tried = [one for algorithm in algorithms for one in self._validate(algorithm)]
        best = min(tried, key=lambda one: one.loss)
        scores, seconds = self._test(best)
        values = self._measure(scores, best.temperature)
        return values | {"seconds": sum(one.seconds for one in tried) + seconds, "chosen": best.title}

    def run_stack(self, algorithms: list[Algorithm]) -> RowDict:
        """Train the best setting of each of the leading algorithms, and weigh them by the validation rows."""
        tried = [self._validate(algorithm) for algorithm in algorithms]
        leading = sorted((min(found, key=lambda one: one.loss) for found in tried), key=lambda one: one.loss)
        models, labels = leading[:MOST_MODELS], np.concatenate(self.labels)
        inner = np.array([self._outputs(one.scores, one.temperature) for one in models])
        weigh: Any = blocks.weigh_probabilities if self.n_classes else blocks.weigh_predictions
        weights, temperature = weigh(inner, labels, None, LAM), 1.0
        tested = [self._test(one) for one in models]
        outputs = [self._outputs(scores, one.temperature) for one, (scores, _) in zip(models, tested, strict=True)]
        decision = blocks.pool(np.array(outputs), weights)
        if self.n_classes:
            temperature = blocks.fit_temperature(blocks.pooled_decision(blocks.pool(inner, weights)), labels)
            decision = blocks.pooled_decision(decision)
        values = self._measure(decision if decision.ndim > 1 else decision[:, None], temperature)
        names = [f"{weight:.2f} {one.algorithm.name}" for one, weight in zip(models, weights, strict=True)]
        seconds = sum(one.seconds for found in tried for one in found) + sum(took for _, took in tested)
        return values | {"seconds": seconds, "chosen": " + ".join(names)}

    def _validate(self, algorithm: Algorithm) -> list[Trial]:
        found = []
        for setting in algorithm.grid:
            trial = Trial(algorithm, setting)
            if trial.title not in self.validated:
                began = time.process_time()
                try:
                    done = self._with_best_rounds(trial)
                except Exception as error:  # of another library, for example for a class with one row
                    print(f"peers: {trial.title}: {error}", file=sys.stderr)
                    done = replace(trial, loss=math.inf)
                self.validated[trial.title] = replace(done, seconds=time.process_time() - began)
            found.append(self.validated[trial.title])
        return found

    def _with_best_rounds(self, trial: Trial) -> Trial:
        """The mean loss over the parts, and the temperature of all of them, after each number of rounds."""
        stages = blocks.stages_of(trial.algorithm, trial.setting)
        matrix, labels, tried = self.training.matrix, np.concatenate(self.labels), []
        each = [self._scores(trial, self.training.take(learn), matrix[rows], stages) for learn, rows in self.inner]
        for stage, *of_parts in zip(stages, *each, strict=True):
            scores = np.concatenate(of_parts)
            temperature = self._temperature(scores, labels)
            parts = [
                Scored(y, some, self.n_classes, temperature) for y, some in zip(self.labels, of_parts, strict=True)
            ]
            loss = float(np.mean([self.metric.value(one) for one in parts]))
            setting = blocks.with_rounds(trial.algorithm, trial.setting, stage)
            tried.append(replace(trial, setting=setting, loss=loss, temperature=temperature, scores=scores))
        return min(tried, key=lambda one: one.loss)

    def _scores(self, trial: Trial, rows: Rows, X: Any, stages: list[int]) -> Floats:
        """[stage, row, output] of a model that is trained on some rows."""
        target, present = rows.target, None
        if self.n_classes:
            present, target = np.unique(target, return_inverse=True)
        model = trial.algorithm.build(trial.setting, Facts(rows.categorical, self.seed, rows.widest))
        if present is None or len(present) > 1:
            blocks.train(model, trial.setting, rows.matrix, target, rows.weight)
        return blocks.staged_scores(model, X, X.shape[0], present, self.n_classes, stages)

    def _temperature(self, scores: Floats, target: Any) -> float:
        """By the rows whose class was among the training rows; 1 for regression."""
        if not self.n_classes:
            return 1.0
        is_many = self.n_classes > 2
        known = scores[np.arange(len(target)), target] > blocks.ABSENT if is_many else np.full(len(target), True)
        return blocks.fit_temperature(Scored(target, scores, self.n_classes).decision[known], target[known])

    def _test(self, trial: Trial) -> tuple[Floats, float]:
        """The scores of the test rows, after training on all training rows, and the seconds that took."""
        if trial.title not in self.tested:
            began = time.process_time()
            scores = self._scores(trial, self.training, self.test.matrix, [0])[0]
            self.tested[trial.title] = scores, time.process_time() - began
        return self.tested[trial.title]

    def _outputs(self, scores: Floats, temperature: float) -> Floats:
        """Probabilities [row, class]; for regression the predictions."""
        scored = Scored(np.zeros(len(scores), dtype=np.int64), scores, self.n_classes, temperature)
        return np.exp(scored.log_probabilities) if self.n_classes else scored.decision

    def _measure(self, scores: Floats, temperature: float) -> RowDict:
        scored = Scored(self.test.target, scores, self.n_classes, temperature)
        fitting = [metric for metric in blocks.METRICS.values() if metric.for_classes == (self.n_classes > 0)]
        values: RowDict = {metric.name: metric.shown(metric.value(scored)) for metric in fitting}
        if self.n_classes:
            wrong = blocks.METRICS["error"].losses(scored) > 0
            values |= {"rows": len(wrong), "wrong": packed(wrong)}
        return values


# ---------------------------------------------------------------- data sets


def is_reported(name: str) -> bool:
    """Whether a data set is in the half that chose nothing."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def data_sets(request: Request) -> list[RowDict]:
    """Of the task, with enough rows, the reported half, or those asked for."""
    fitting = listed_sets(request, "classification" if request.number == 1 else "regression")
    large = [one for one in fitting if one["n_rows"] >= FEWEST_ROWS and is_reported(one["name"])]
    return fitting if request.only else large[:3] if request.quick else large


def load_rows(request: Request, facts: RowDict) -> tuple[Rows, int]:
    """The rows of a data set, and the number of its classes."""
    import pandas as pd

    table = pd.read_csv(request.data / facts["file"])
    y = table.pop(table.columns[-1])
    for name in {*facts["categorical"], *facts["text_columns"]} & set(table.columns):
        table[name] = table[name].astype("category")
    present = y.notna()
    target = y[present].astype(str).to_numpy() if facts["task"] == "classification" else y[present].to_numpy(np.float64)
    rows, classes = blocks.read_rows(table[present], target, facts["task"], "from_dtype")
    return rows, len(classes)


def flip(rows: Rows, share: float, n_classes: int, seed: int) -> Rows:
    """The rows with a share of the labels replaced by another class."""
    rng = np.random.default_rng([seed, 7])
    chosen = rng.random(rows.n_rows) < share
    other = (rows.target + rng.integers(1, max(2, n_classes), rows.n_rows)) % max(1, n_classes)
    return replace(rows, target=np.where(chosen, other, rows.target)) if share else rows


# ---------------------------------------------------------------- results


@dataclass(frozen=True)
class Unit:
    """One split of a data set, with one share of flipped labels, for the methods that are not stored yet."""

    facts: RowDict
    seed: int
    flipped: float
    left: tuple[str, ...] = ()

    def key(self, method: str) -> tuple[str, int, float, str]:
        return self.facts["name"], self.seed, self.flipped, method

    def has(self, method: str) -> bool:
        """Whether a method is run. The slow one is not, where a fit takes minutes."""
        is_small = self.facts["n_rows"] <= SLOW_ROWS and len(self.facts["classes"]) == 2
        return method != SLOW or (is_small and self.seed == 0 and self.flipped == 0.0)


def compute(request: Request, plan: Plan) -> list[RowDict]:
    """All results that are stored, after running what is missing: one split of all data sets after another."""
    lines, path = Lines(request.results(request.name, "jsonl")), request.results(f"peers-{request.name}")
    rows = stored_rows(path, TEXTS) if path.exists() else []
    found = {tuple(row[name] for name in KEY): row for row in rows} | lines.by_key()
    names, waiting = [*methods(request.number == 1, Size(), plan.budget), STACK], []
    by_size = [] if request.render else sorted(data_sets(request), key=lambda facts: int(facts["n_rows"]))
    splits = {flipped: request.repeats or most for flipped, most in plan.splits.items()}
    for seed, flipped, facts in product(range(max(splits.values())), splits, by_size):
        unit = Unit(facts, seed, flipped)
        left = tuple(name for name in names if unit.key(name) not in found and unit.has(name))
        if left and seed < splits[flipped]:
            waiting.append(replace(unit, left=left))
    make = partial(run_unit, request, plan)
    for unit, results in each_result(make, waiting, request.jobs, lambda unit: f"{unit.facts['name']}, {unit.flipped}"):
        for name, result in results.items():
            found[unit.key(name)] = lines.compute(list(unit.key(name)), partial(dict, result))
    order = sorted(found, key=lambda key: (key[2], key[0], key[1], key[3]))
    return [
        {name: _cell({**found[key], **dict(zip(KEY, key, strict=True))}.get(name, "")) for name in FIELDS}
        for key in order
    ]


def _cell(value: Any) -> Any:
    return float(f"{value:.10g}") if isinstance(value, float) else value


def run_unit(request: Request, plan: Plan, unit: Unit) -> dict[str, RowDict]:
    """Run the methods that are left, one after another."""
    rows, n_classes = load_rows(request, unit.facts)
    share = min(0.3, plan.test_rows / rows.n_rows)
    held = blocks.draw(rows.target, share, np.random.default_rng([unit.seed, 0]))
    most = np.random.default_rng([unit.seed, 8]).permutation(np.flatnonzero(~held))[: plan.training_rows]
    training = flip(rows.take(np.sort(most)), unit.flipped, n_classes, unit.seed)
    every = methods(n_classes > 0, Size(training.n_rows, n_classes), plan.budget)
    split = Split(training, rows.take(np.flatnonzero(held)), n_classes, unit.seed)
    results = {}
    for name in unit.left:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = split.run_stack(every[PORTFOLIO]) if name == STACK else split.run(every[name])
    return results


# ---------------------------------------------------------------- the page


def reproduce(request: Request) -> str:
    """For `electorate reproduce peers --table N`: Markdown; results and a picture go to the folder.

    The page is made from the CSV file.
    """
    plan, study = (QUICK if request.quick else FULL)[request.number], f"peers-{request.name}"
    rows = stored(request, "peers", partial(compute, request, plan), TEXTS, lines=True)
    task, loss = ("classification", "error") if request.number == 1 else ("regression", "mae")
    pages: dict[str, Page] = {}
    for flipped in sorted(plan.splits):
        results = complete(rows, flipped, request.only or {row["data"] for row in rows})
        title = f"{flipped:.0%} of the labels flipped" if flipped else "Clean labels"
        pages |= {title: Page(results, loss, OWN, 2 if flipped else 1)} if results else {}
    values = {"rows": plan.training_rows, "budget": plan.budget, "number": request.number}
    quick, file = "Quick version. " if request.quick else "", request.results(study).name
    picture = request.results(study, "png")
    if pages:
        draw_ranks(pages).savefig(picture, dpi=110)
    image = f"![Mean ranks of all methods]({picture.name})" if pages else ""
    page = paragraphs(
        f"# Peers, table {request.number}: {task}", text("peers", quick=quick, file=file, **values), image
    )
    page += rank_summary(pages) if len(pages) > 1 else []
    return "\n".join([*page, *(line for head, one in pages.items() for line in (f"## {head}", "", *one.text()))])
