"""Is the estimated loss of the chosen model honest, and the sentence about guessing?

`python benchmarks/choice.py [--quick] [--minutes M] [--part PART] [--out FILE] [--results FILE]` makes tables, fits
candidates in five folds, chooses as `electorate compare` does, and measures the chosen model on 20,000 fresh rows.
Results are appended to a file, one line a run, and runs that are there already are not repeated: a study that was
stopped goes on.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    LogisticAdaBoostClassifier,
    QuadBoostClassifier,
    QuadBoostRegressor,
    Trees,
    VadaBoostClassifier,
    compare,
)
from electorate.comparison import folds
from electorate.comparison.choice import Choice, Chooser, Rule, combine
from electorate.comparison.estimate import Estimate, evaluate
from electorate.comparison.metrics import metric_for
from electorate.comparison.out_of_fold import OutOfFold
from electorate.comparison.verdicts import TRAINING, against_baseline, droppable

Floats = NDArray[np.float64]
Record = dict[str, Any]
N_FOLDS, N_INNER, FRESH = 5, 4, 20_000
WORLDS = ("noise", "weak", "middle", "strong")
SIZES = (100, 300, 1_000)
LEADS = (0.03, 0.06, 0.12)
RUNS, MIXED_RUNS, NESTED_RUNS, NOISE_TABLES = 500, 20, 100, 200


# ---------------------------------------------------------------- candidates


@dataclass(frozen=True)
class Maker:
    """An estimator that is one candidate, or one for each of several numbers of rounds."""

    name: str
    make: Callable[[], Any]
    rounds: tuple[int, ...] = ()

    def scores(self, X: Floats, y: Any, tests: list[Floats], n_classes: int) -> list[list[Floats]]:
        """[test, candidate]: scores of the rows of each test set, by a model of the training rows."""
        model = self.make().fit(X, y)
        return [self._candidates(model, rows, n_classes) for rows in tests]

    def _candidates(self, model: Any, rows: Floats, n_classes: int) -> list[Floats]:
        if n_classes == 0:
            return [model.predict(rows)[:, None]]
        if not self.rounds:
            return [folded(np.log(np.clip(model.predict_proba(rows), 1e-12, 1)), model.classes_, n_classes)]
        staged = dict(enumerate(map(np.array, model.staged_decision_function(rows)), 1))
        return [folded(staged[min(r, len(staged))], model.classes_, n_classes) for r in self.rounds]


def folded(scores: Floats, classes: Any, n_classes: int) -> Floats:
    """A column for each class, or the log-odds of the second of two."""
    if n_classes == 2:
        return (scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0])[:, None]
    spread = np.full((len(scores), n_classes), -30.0)
    spread[:, classes.astype(int)] = scores
    return spread


def trees(depth: int, rate: float, rounds: int) -> Any:
    few = Trees(depth, min_samples_leaf=5, leaves="gentle")
    return LogisticAdaBoostClassifier(few, n_estimators=rounds, learning_rate=rate, n_jobs=1)


SIX = [  # of this package, each under 0.05 s a fit
    Maker("AdaBoost", lambda: AdaBoostClassifier(n_estimators=60, n_jobs=1)),
    Maker("AdaBoost, trees", lambda: AdaBoostClassifier(Trees(3, min_samples_leaf=5), n_estimators=20, n_jobs=1)),
    Maker("LogisticAdaBoost", lambda: trees(2, 0.3, 25)),
    Maker("QuadBoost", lambda: QuadBoostClassifier(n_estimators=60, n_jobs=1)),
    Maker("VadaBoost", lambda: VadaBoostClassifier(n_estimators=30, n_jobs=1)),
    Maker("AdaBoost_R", lambda: AdaBoostRClassifier(n_estimators=12, n_jobs=1)),
]
MIXED = [  # as in a comparison: two of this package, and those of scikit-learn
    Maker("linear", lambda: LogisticRegression()),
    Maker("HGB", lambda: HistGradientBoostingClassifier(max_iter=50, early_stopping=False)),
    SIX[0],
    Maker("LogisticAdaBoost", lambda: trees(3, 0.1, 80)),
    Maker("forest", lambda: RandomForestClassifier(40, n_jobs=1, random_state=0)),
    Maker("extra trees", lambda: ExtraTreesClassifier(40, n_jobs=1, random_state=0)),
]
OF_QUANTITIES = [
    Maker("linear", lambda: Ridge()),
    Maker("HGB", lambda: HistGradientBoostingRegressor(max_iter=50, early_stopping=False)),
    Maker("AdaBoost_R", lambda: AdaBoostRegressor(n_estimators=30, n_jobs=1)),
    Maker("QuadBoost", lambda: QuadBoostRegressor(n_estimators=50, n_jobs=1)),
    Maker("forest", lambda: RandomForestRegressor(40, n_jobs=1, random_state=0)),
    Maker("extra trees", lambda: ExtraTreesRegressor(40, n_jobs=1, random_state=0)),
]


def _many() -> list[Maker]:
    stages = (3, 6, 12, 24, 40)
    makers = [Maker("AdaBoost", lambda: AdaBoostClassifier(n_estimators=40, n_jobs=1), stages)]
    for d, rate in ((2, 0.1), (2, 0.5), (3, 0.1), (3, 0.5)):
        makers.append(Maker("LogisticAdaBoost", partial(trees, d, rate, 40), stages))
    tree = partial(DecisionTreeClassifier, random_state=0)
    makers += [Maker("tree", partial(tree, max_depth=d, min_samples_leaf=m)) for d in (1, 2, 3, 5, 8) for m in (1, 10)]
    makers += [Maker("linear", partial(LogisticRegression, C=c)) for c in (0.003, 0.03, 0.1, 1, 10)]
    makers += [Maker("neighbours", partial(KNeighborsClassifier, k)) for k in (3, 5, 10, 15, 20, 31, 40)]
    makers += [Maker("Bayes", lambda: GaussianNB())]
    for deepest in (2, 4, None):
        makers.append(Maker("extra trees", partial(ExtraTreesClassifier, 12, max_depth=deepest, random_state=0)))
    return makers


MANY = _many()


# ---------------------------------------------------------------- tables


def draw(world: str, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    X = rng.normal(size=(n, 10))
    signal = {
        "noise": np.zeros(n),
        "weak": 0.5 * X[:, 0],
        "middle": X[:, 0] + 0.7 * X[:, 1] * X[:, 2],
        "strong": 3 * X[:, 0] + 2 * X[:, 1] * X[:, 2],
    }[world]
    return X, (signal + rng.normal(size=n) > 0.5).astype(np.int64)


def cross_validate(
    makers: list[Maker], X: Floats, y: Any, seed: int, n_classes: int, group: Any = None, n_folds: int = N_FOLDS
) -> tuple[OutOfFold, NDArray[np.int64]]:
    """The baseline and all candidates in folds, and the number of each candidate's algorithm."""
    rng = np.random.default_rng([seed, 1])
    if group is not None:
        fold = folds.deal_whole(group, n_folds, rng)
    else:
        fold = folds.deal(y if n_classes else np.zeros(len(y), dtype=np.int64), n_folds, rng)
    names = [maker.name for maker in makers for _ in maker.rounds or (0,)]
    algorithm = np.array([-1, *(sorted(set(names)).index(name) for name in names)])
    scores = np.empty((len(algorithm), len(y), n_classes if n_classes > 2 else 1))
    for f in np.unique(fold):
        into, out = fold != f, fold == f
        scores[0, out] = constant(y[into], n_classes)
        fitted = [s for maker in makers for s in maker.scores(X[into], y[into], [X[out]], n_classes)[0]]
        scores[1:, out] = fitted
    return OutOfFold(scores, y, n_classes, fold, 0, np.arange(len(algorithm)) > 0, group=group), algorithm


def constant(y: Any, n_classes: int) -> Floats:
    if n_classes == 0:
        return np.array([np.median(y)])
    shares = np.log((np.bincount(y, minlength=n_classes) + 1e-3) / len(y))
    return np.array([shares[1] - shares[0]]) if n_classes == 2 else shares


def rules_of(chooser: Chooser, kept: Any = True) -> list[Rule]:
    return [Rule(chooser.is_model & kept, stack=True), Rule(~chooser.is_model)]


def measure(decision: Floats, y: Any) -> tuple[float, float]:
    """The error and the log loss of log-odds."""
    lost = np.logaddexp(0, np.where(y == 1, -1, 1) * np.clip(decision[:, 0], -36, 36))
    return float(np.mean((decision[:, 0] > 0) != y)), float(np.mean(lost))


def summary(estimate: Estimate, truth: tuple[float, float], plain: tuple[float, float]) -> Record:
    error, log_loss = estimate.bounds["error"], estimate.bounds["log_loss"]
    return {
        "truth": truth,
        "plain": plain,
        "estimate": (error.value, log_loss.value),
        "held": error.low <= truth[0] <= error.high,
        "limit_held": truth[0] <= error.limit,
        "members": len(estimate.choice.members),
    }


# ---------------------------------------------------------------- the parts: one run each


def run_world(world: str, n: int, seed: int, makers: list[Maker], drops: bool = False) -> Record | None:
    rng = np.random.default_rng([seed, n, WORLDS.index(world)])
    (X, y), (X_fresh, y_fresh) = draw(world, n, rng), draw(world, FRESH, rng)
    if np.min(np.bincount(y, minlength=2)) < 10:
        return None
    table, algorithm = cross_validate(makers, X, y, seed, 2)
    started = time.perf_counter()
    chooser = Chooser(table, algorithm, metric_for(None, 2))
    kept = survivors(table, algorithm, seed) if drops else np.ones(len(algorithm), dtype=np.bool_)
    model, baseline = evaluate(chooser, rules_of(chooser, kept), seed=seed)
    evidence = against_baseline(table, model, baseline, "error")
    seconds = time.perf_counter() - started
    decision = combine(model.choice, refitted(makers, X, y, X_fresh, model.choice), 2)
    truth = measure(decision, y_fresh)
    guess = float(np.mean(y_fresh != np.bincount(y).argmax()))
    record = summary(model, truth, measure(chooser.decision(model.choice), y))
    return record | {"p": evidence.p, "lead": guess - truth[0], "seconds": seconds, "kept": int(np.sum(kept)) - 1}


def survivors(table: OutOfFold, algorithm: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Candidates left if the rule that drops them is applied after each fold but the last."""
    left = np.arange(len(algorithm))
    for f in range(N_FOLDS - 1):
        rows = table.fold <= f
        part = OutOfFold(
            table.scores[left][:, rows], table.target[rows], 2, table.fold[rows], 0, np.ones(len(left), dtype=np.bool_)
        )
        chooser = Chooser(part, algorithm[left], metric_for(None, 2))
        left = left[~droppable(chooser, seed=seed)]
    return np.isin(np.arange(len(algorithm)), left)


def refitted(makers: list[Maker], X: Floats, y: Any, fresh: Floats, choice: Choice) -> Floats:
    """Scores of fresh rows by the members, trained on all rows."""
    place = [(m, i) for m, maker in enumerate(makers) for i in range(len(maker.rounds or (0,)))]
    wanted = [place[c - 1] for c in choice.members]
    return np.array([makers[m].scores(X, y, [fresh], 2)[0][i] for m, i in wanted])


def run_nested(world: str, n: int, seed: int) -> Record | None:
    """The same tables and fits as `run_world`, but the choice is made in inner folds of each fold."""
    rng = np.random.default_rng([seed, n, WORLDS.index(world)])
    X, y = draw(world, n, rng)
    if np.min(np.bincount(y, minlength=2)) < 10:
        return None
    fold = folds.deal(y, N_FOLDS, np.random.default_rng([seed, 1]))
    decision = np.empty((n, 1))
    for f in range(N_FOLDS):
        into, out = fold != f, fold == f
        inner, algorithm = cross_validate(SIX, X[into], y[into], seed, 2, n_folds=N_INNER)
        chooser = Chooser(inner, algorithm, metric_for(None, 2))
        choice = chooser.choose(np.ones(inner.n_rows), rules_of(chooser))[0]
        decision[out] = combine(choice, refitted(SIX, X[into], y[into], X[out], choice), 2)
    return {"nested": measure(decision, y)}


def draw_noise(seed: int, most: int) -> tuple[str, Floats, Any, Any, int] | None:
    """A table whose target has nothing to do with its columns: its kind, X, y, groups, and the number of classes."""
    rng = np.random.default_rng([seed, 77])
    n = int(np.exp(rng.uniform(np.log(100), np.log(most))))
    kind = ("two classes", "several classes", "imbalance", "quantity", "groups")[seed % 5]
    X, group, n_classes = rng.normal(size=(n, int(rng.integers(2, 12)))), None, 2
    y: Any = rng.integers(0, 2, n)
    if kind == "several classes":
        n_classes = int(rng.integers(3, 6))
        y = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 3.0)))
    elif kind == "imbalance":
        y = (rng.random(n) < rng.uniform(0.03, 0.2)).astype(np.int64)
    elif kind == "quantity":
        n_classes, y = 0, rng.normal(size=n) if seed % 2 else np.exp(rng.normal(size=n))
    elif kind == "groups":  # rows of a group share their target and most of their columns
        group = rng.integers(0, max(20, n // 5), n)
        y, X = y[group], X[group] + 0.3 * rng.normal(size=X.shape)
    if n_classes and (len(np.unique(y)) < n_classes or np.min(np.bincount(y)) < 5):
        return None
    return kind, X, y, group, n_classes


def run_noise(seed: int, most: int = 5_000) -> Record | None:
    """The chosen model of the six candidates against the baseline, where there is nothing to learn."""
    drawn = draw_noise(seed, most)
    if drawn is None:
        return None
    kind, X, y, group, n_classes = drawn
    table, algorithm = cross_validate(SIX if n_classes else OF_QUANTITIES, X, y, seed, n_classes, group)
    metric = metric_for(None, n_classes)
    chooser = Chooser(table, algorithm, metric)
    model, baseline = evaluate(chooser, rules_of(chooser), seed=seed)
    evidence = against_baseline(table, model, baseline, metric.name)
    return {"kind": kind, "rows": len(y), "p": evidence.p, "grade": evidence.grade}


def run_default(seed: int, most: int = 5_000) -> Record | None:
    """The same tables, with all that `compare` tries by default."""
    drawn = draw_noise(seed, most)
    if drawn is None:
        return None
    kind, X, y, group, n_classes = drawn
    task = "classification" if n_classes else "regression"
    evidence = compare(X, y, group=group, task=task, seed=seed, n_jobs=1, progress=False).ranking.evidence
    assert evidence is not None, "a comparison has a baseline by default"
    return {"kind": kind, "rows": len(y), "p": evidence.p, "grade": evidence.grade}


def run_power(lead: float, n: int, seed: int) -> Record:
    """Simulated candidates: the best has the lead over guessing, the others up to 2 points less."""
    rng = np.random.default_rng([seed, n, int(1000 * lead)])
    y, fold = rng.integers(0, 2, n), rng.permutation(n) % N_FOLDS
    leads = lead - 0.02 * np.arange(10) / 9
    away = stats.norm.ppf(0.5 + leads)[:, None] * (2 * y - 1)
    scores = np.sqrt(0.7) * rng.normal(size=n) + np.sqrt(0.3) * rng.normal(size=(10, n)) + away
    base = np.array([constant(y[fold != f], 2)[0] for f in range(N_FOLDS)])[fold]
    table = OutOfFold(np.vstack([base[None], scores])[:, :, None], y, 2, fold, 0, np.arange(11) > 0)
    chooser = Chooser(table, np.arange(11), metric_for(None, 2))
    model, baseline = evaluate(chooser, rules_of(chooser), n_draws=200, seed=seed)
    evidence = against_baseline(table, model, baseline, "error")
    gained = ((base > 0) != y).astype(float) - ((scores[0] > 0) != y)
    t = gained.mean() / gained.std(ddof=1) * np.sqrt(n)
    known, same = stats.t.sf([t, t / np.sqrt(TRAINING)], n - 1)
    return {"p": evidence.p, "known": float(known), "same": float(same)}


# ---------------------------------------------------------------- what is run


@dataclass(frozen=True)
class Cell:
    part: str
    world: str
    n: int
    seed: int

    @property
    def key(self) -> str:
        return f"{self.part} {self.world} {self.n} {self.seed}"

    def run(self) -> Record | None:
        if self.part == "six":
            return run_world(self.world, self.n, self.seed, SIX)
        if self.part == "mixed":
            return run_world(self.world, self.n, self.seed, MIXED)
        if self.part == "many":
            return run_world(self.world, self.n, self.seed, MANY, drops=True)
        if self.part == "nested":
            return run_nested(self.world, self.n, self.seed)
        if self.part == "noise":
            return run_noise(self.seed, self.n)
        if self.part == "default":
            return run_default(self.seed, self.n)
        return run_power(float(self.world), self.n, self.seed)


def cells() -> Iterator[Cell]:
    """In an order in which a study that is stopped has runs of everything; the slow ones come at longer intervals."""
    for step in range(2 * RUNS):
        for noise in range(2 * step, min(NOISE_TABLES, 2 * step + 2)):
            yield Cell("noise", "any", 5_000, noise)
        if step % 4 == 0 and step // 4 < NOISE_TABLES:
            yield Cell("default", "any", 5_000, step // 4)
        for n in SIZES:
            if step < RUNS:
                yield from (Cell("power", str(lead), n, step) for lead in LEADS)
                yield from (Cell("six", world, n, step) for world in WORLDS)
            if step < MIXED_RUNS:
                yield from (Cell("mixed", world, n, step) for world in WORLDS)
            if n < 1_000 and step % 2 == 0:
                yield from (Cell("many", world, n, step // 2) for world in WORLDS)
            if n == 300 and step % 5 == 0 and step // 5 < NESTED_RUNS:
                yield from (Cell("nested", world, n, step // 5) for world in WORLDS)


def short(record: Any) -> Any:
    """With four digits."""
    if isinstance(record, dict):
        return {name: short(value) for name, value in record.items()}
    if isinstance(record, tuple | list):
        return [short(value) for value in record]
    return float(f"{record:.4g}") if isinstance(record, float) else record


QUICK = [Cell("noise", "any", 120, 0), Cell("noise", "any", 120, 3), Cell("power", "0.12", 100, 0)]
QUICK += [Cell(part, "middle", 100, 0) for part in ("six", "many", "nested")]


# ---------------------------------------------------------------- the page


def row(*columns: str) -> str:
    return "| " + " | ".join(columns) + " |"


def table_of(heads: list[str], lines: list[list[str]]) -> list[str]:
    return [row(*heads), row(*("---" for _ in heads)), *(row(*line) for line in lines), ""]


def signed(values: Any) -> str:
    return f"{np.mean(values):+.3f}"


def honest(records: list[Record], nested: list[Record]) -> list[str]:
    """Columns about runs of one world and size."""
    truth, plain, estimate = (np.array([r[name] for r in records]) for name in ("truth", "plain", "estimate"))
    off, optimism = estimate - truth, plain - truth
    beside = [r["nested"] for r in nested]
    known = {r["seed"]: r["truth"] for r in records}
    away = np.array([np.array(b) - known[r["seed"]] for b, r in zip(beside, nested, strict=True) if r["seed"] in known])
    said = [r["p"] < 0.05 for r in records]
    return [
        str(len(records)),
        signed(optimism[:, 0]),
        f"{signed(off[:, 0])} ({off[:, 0].std() / np.sqrt(len(off)):.3f})",
        f"{np.sqrt(np.mean(off[:, 0] ** 2)):.3f}",
        f"{signed(off[:, 1])}",
        f"{100 * np.mean([r['held'] for r in records]):.0f}%",
        f"{100 * np.mean([r['limit_held'] for r in records]):.0f}%",
        f"{100 * np.mean(said):.0f}% ({100 * np.mean([r['lead'] for r in records]):+.1f})",
        f"{signed(away[:, 0])}, {np.sqrt(np.mean(away[:, 0] ** 2)):.3f} ({len(away)})" if len(away) else "",
    ]


SEEN = (("p", 0.05), ("p", 0.001), ("same", 0.05), ("known", 0.05))
GRADES = ("no evidence", "probably", "beyond doubt")
HONEST = ["world", "n", "runs", "plain", "BBC (its error)", "rmse", "log loss", "interval", "limit", "said (lead)"]


def page(results: dict[str, Record]) -> list[str]:
    by_part: dict[tuple[str, str, int], list[Record]] = {}
    for key, record in results.items():
        if record:
            part, world, n_rows, seed = key.split(" ")
            by_part.setdefault((part, world, int(n_rows)), []).append(record | {"seed": int(seed)})
    lines = [INTRODUCTION]
    sections = (("six", SIX_TITLE, SIX_TEXT), ("mixed", MIXED_TITLE, COLUMNS), ("many", MANY_TITLE, MANY_TEXT))
    for part, title, text in sections:
        lines += [f"\n## {title}\n", text, ""]
        found = []
        for world, n in ((world, n) for world in WORLDS for n in SIZES):
            records = by_part.get((part, world, n), [])
            if records:
                columns = honest(records, by_part.get(("nested", world, n), []) if part == "six" else [])
                kept = [f"{np.mean([r['kept'] for r in records]):.0f}"] if part == "many" else columns[-1:]
                found.append([world, f"{n:,}", *columns[:-1], *(kept if part in LAST else [])])
        lines += table_of([*HONEST, *([LAST[part]] if part in LAST else [])], found)
    lines += ["## Noise\n", NOISE_TEXT, ""]
    found = []
    for part, title in (("noise", "six"), ("default", "all by default")):
        noise = [r for (kind, _, _), records in by_part.items() if kind == part for r in records]
        for kind in (*sorted({r["kind"] for r in noise}), "all"):
            some = [r["grade"] for r in noise if kind in (r["kind"], "all")]
            found.append([title, kind, str(len(some)), *(str(some.count(grade)) for grade in GRADES)])
    lines += table_of(["candidates", "target", "tables", *GRADES], found)
    lines += ["## Power of the sentence\n", POWER_TEXT, ""]
    found, whole = [], []
    for n in SIZES:
        for lead in LEADS:
            records = by_part.get(("power", str(lead), n), [])
            whole += records
            found += [[f"{n:,}", f"{100 * lead:g} points", *seen(records)]] if records else []
    found += [["all", "", *seen(whole)]] if whole else []
    heads = ["rows", "lead", "runs", "p < .05", "p < .001", "known, p < .05", "known, no factor"]
    return lines + table_of(heads, found)


def seen(records: list[Record]) -> list[str]:
    """How many runs, and in which share of them each test saw the lead."""
    shares = [np.mean([r[name] < level for r in records]) for name, level in SEEN]
    return [str(len(records)), *(f"{100 * share:.0f}%" for share in shares)]


INTRODUCTION = """# How honest the estimate of the chosen model is

`electorate compare` chooses a model, or a stack, by out-of-fold predictions, and estimates what it loses by the
bootstrap of the same predictions ([how](../docs/compare.md)). Written by `benchmarks/choice.py`."""

COLUMNS = """Differences to the error of the handed-over model (trained on all rows) on 20,000 fresh rows. plain: of
its own cross-validated error, in the mean over runs. BBC: of the estimate, with its standard error; rmse: its root mean
square. log loss: the bias of the estimated log loss. interval: runs in which the interval of 95% covers the true error;
limit: runs in which it is under the upper limit of 95%. said: runs in which the model is called better than guessing
(p < .05), and by how many points it is."""

SIX_TITLE = "Six candidates of this package and their stack"
SIX_TEXT = (
    COLUMNS
    + """
nested: the whole choice made in 4 inner folds of each fold, with five times the fits."""
)
LAST = {"six": "nested: bias, rmse (runs)", "many": "left"}
MIXED_TITLE = "Two candidates of this package, four of scikit-learn, and their stack"
MANY_TITLE = f"{sum(len(m.rounds or (0,)) for m in MANY)} cheap candidates, dropped on the way"
MANY_TEXT = (
    COLUMNS
    + """
Candidates that are worse with a probability of 99% leave after each fold; left: candidates after the last."""
)
NOISE_TEXT = """Tables of 100 to 5,000 rows whose target has nothing to do with the columns: how many were called better
than guessing, with six candidates and their stack, and in whole comparisons with all that is tried by default.
Expected: at most 5% "probably" or "beyond doubt"."""
POWER_TEXT = """Ten simulated candidates, the best with the lead over guessing (error 50%), the others with up to 2
points less. Share of runs in which the chosen model is called better than guessing, beside one-sided paired t-tests of
the best candidate, known beforehand: with the same factor for training (1.4 in variance), and without it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/CHOICE.md")
    parser.add_argument("--results", help="default: beside --out, .jsonl")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", help="only these: six, mixed, many, nested, noise, default, power")
    options = parser.parse_args()
    path = Path(options.results or Path(options.out).with_suffix(".jsonl"))
    results: dict[str, Record] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            results.update(json.loads(line))
    end = time.monotonic() + 60 * options.minutes
    warnings.simplefilter("ignore")
    with threadpool_limits(1), path.open("a") as file:
        for cell in QUICK if options.quick else cells():
            if options.part and cell.part not in options.part:
                continue
            if time.monotonic() > end and not options.quick:
                break
            if cell.key not in results:
                results[cell.key] = short(cell.run() or {})
                file.write(json.dumps({cell.key: results[cell.key]}) + "\n")
                file.flush()
    Path(options.out).write_text("\n".join(page(results)).rstrip() + "\n")


if __name__ == "__main__":
    main()
