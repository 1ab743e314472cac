"""How often is a model called worse that is not, and how often is a known difference found?

`python benchmarks/verdicts.py [--quick] [--minutes M] [--out FILE]` simulates comparisons and judges them as
`electorate compare` does. Finished cells of the tables are appended to a file of JSON lines beside the page, and not
computed again: a study that was stopped goes on. Equal models are simulated (losses per row, and effects of training),
and made of real learners: clones that differ in their seed, on the rows of real tables. The tables are read from the
folder named by ELECTORATE_DATA (default ../shared/data); lines without their tables are left out. `--quick` runs a few
of everything, to show that it works.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from electorate import AdaBoostClassifier
from electorate.comparison import folds
from electorate.comparison.out_of_fold import OutOfFold
from electorate.comparison.verdicts import Differences, against_best, by_unit, covariance

Floats = NDArray[np.float64]
N_FOLDS = 5
COUNTS = (2, 5, 11, 14)
ERROR = 0.2
DISAGREE = 0.1  # share of rows on which exactly one of two simulated algorithms errs, about

FULL = {"runs": 1_000, "power": 400, "clones": 200, "boosted": 60, "draws": 100}
QUICK = {"runs": 3, "power": 2, "clones": 2, "boosted": 1, "draws": 3}


@dataclass(frozen=True)
class Losses:
    """Of models on the same rows: [model, row]."""

    losses: Floats
    fold: NDArray[np.int64]
    weight: Floats | None = None

    @property
    def table(self) -> OutOfFold:
        k, n = self.losses.shape
        codes = np.zeros(n, dtype=np.int64)
        return OutOfFold(np.empty((k, n, 1)), codes, 2, self.fold, None, np.ones(k, dtype=np.bool_), self.weight)

    def take(self, models: Any) -> "Losses":
        return Losses(self.losses[models], self.fold, self.weight)

    def judge(self, seed: int = 0) -> Differences:
        return against_best(self.losses, self.table, seed=seed)


class Cells:
    """Cells of the tables by their names, computed once; none after the end, so that a page has what was reached."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self.end = path, time.monotonic() + seconds
        self.known: dict[str, str] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            self.known |= json.loads(line)

    def get(self, name: str, compute: Callable[[], str]) -> str:
        if name not in self.known and time.monotonic() < self.end:
            self.known[name] = compute()
            with self.path.open("a") as file:
                file.write(json.dumps({name: self.known[name]}) + "\n")
        return self.known.get(name, "")


# ---------------------------------------------------------------- simulated algorithms


@dataclass(frozen=True)
class World:
    """How losses are made: effects of training in each fold, and effects that all folds share.

    An algorithm errs on a row if a normal score is below a threshold; scores of different algorithms on a row are
    correlated. Effects move the threshold: by_fold and shared are their deviations in points of error.
    collapse: the chance that training fails in a fold, which costs 20 points.
    """

    name: str
    by_fold: float = 0.0
    shared: float = 0.0
    collapse: float = 0.0
    weighted: bool = False
    quantity: bool = False

    def draw(self, rng: np.random.Generator, k: int, n: int, gap: float = 0.0) -> Losses:
        """Losses of k algorithms that are equal, but for the first, which is better by the gap."""
        fold = rng.permutation(n) % N_FOLDS
        effect = self.by_fold * rng.standard_normal((k, N_FOLDS)) + self.shared * rng.standard_normal((k, 1))
        effect += 0.2 * (rng.random((k, N_FOLDS)) < self.collapse)
        effect[0] -= gap
        scores = np.sqrt(COMMON) * rng.standard_normal(n) + np.sqrt(1 - COMMON) * rng.standard_normal((k, n))
        weight = rng.exponential(size=n) if self.weighted else None
        if self.quantity:  # absolute errors with heavy tails: lognormal, scaled by what training does
            losses = np.exp(1.5 * scores) * (1 + 5 * effect[:, fold])
        else:
            losses = (scores < ndtri(np.clip(ERROR + effect, 0.001, 0.999))[:, fold]).astype(np.float64)
        return Losses(losses, fold, weight)


COMMON = 0.9  # correlation of the scores: two algorithms with error 0.2 then disagree on about 0.1 of the rows


def worlds(n: int) -> list[World]:
    """Effects relative to the deviation that n rows give to the difference of two mean losses."""
    row = np.sqrt(DISAGREE / n / 2)  # of one algorithm's share in it
    fold = row * np.sqrt(N_FOLDS)
    return [
        World("rows only"),
        World("training as measured on fresh rows (variance x 1.4, not visible between folds)", shared=row * 0.63),
        World("training in each fold, variance x 2", by_fold=fold),
        World("training in each fold, variance x 5", by_fold=2 * fold),
        World("training fails in 1 fold of 20 and costs 20 points", collapse=0.05),
        World("as measured, weighted rows", shared=row * 0.63, weighted=True),
        World("as measured, absolute errors with heavy tails", shared=row * 0.63, quantity=True),
    ]


def percent(hits: int, runs: int) -> str:
    return f"{100 * hits / max(1, runs):.1f}% of {runs:,}"


def false_calls(world: World, k: int, n: int, runs: int) -> str:
    """The share of runs with any model called worse than another."""
    rng = np.random.default_rng([k, n])
    return percent(sum(bool(np.any(world.draw(rng, k, n).judge(run).worse)) for run in range(runs)), runs)


def simulated(runs: int, counts: tuple[int, ...], cells: Cells) -> Iterator[str]:
    yield from heading(
        "Equal models, simulated",
        f"Share of runs in which some model is called worse than the best. {N_FOLDS} folds, error {ERROR}.",
        ["losses", "rows", *(f"K = {k}" for k in counts)],
    )
    tables = [(n, world) for n in (500, 2_000) for world in worlds(n)[: None if n == 500 else 4]]
    for n, world in tables:
        found = (cells.get(f"{world.name} {n} {k}", partial(false_calls, world, k, n, runs)) for k in counts)
        yield row(world.name, f"{n:,}", *found)


def power(runs: int, counts: tuple[int, ...], cells: Cells) -> Iterator[str]:
    gaps = (0.005, 0.01, 0.02, 0.04)
    yield from heading(
        "Known differences, simulated",
        "Share of runs in which the better one is first and a given other one is called worse; training as measured. "
        "K models, of which one is better by the gap.",
        ["K", "rows", *(f"gap {100 * gap:g} points" for gap in gaps)],
    )
    for k in counts:
        for n in (500, 2_000, 10_000):
            found = (cells.get(f"power {k} {n} {gap}", partial(seen, k, n, gap, runs)) for gap in gaps)
            yield row(str(k), f"{n:,}", *found)


def seen(k: int, n: int, gap: float, runs: int) -> str:
    rng, world = np.random.default_rng([k, n, int(1000 * gap)]), worlds(n)[1]
    told = (world.draw(rng, k, n, gap).judge(run) for run in range(runs))
    return percent(sum(one.best == 0 and bool(one.worse[1]) for one in told), runs)


# ---------------------------------------------------------------- real learners


@dataclass(frozen=True)
class Table:
    name: str
    X: Floats
    y: NDArray[np.int64]

    def take(self, which: NDArray[np.int64]) -> "Table":
        return Table(self.name, self.X[which], self.y[which])


def table(name: str, most_rows: int) -> Table | None:
    """The numeric columns, and the commonest class against the others; the same rows each time."""
    path = Path(os.environ.get("ELECTORATE_DATA", "../shared/data")) / f"{name}.csv.gz"
    if not path.exists():
        return None
    read = pd.read_csv(path)
    label = read.pop("target")
    kept = np.random.default_rng(0).permutation(len(label))[:most_rows]
    codes = read.apply(lambda c: c if pd.api.types.is_numeric_dtype(c) else c.astype("category").cat.codes)
    y = (label == label.mode()[0]).to_numpy().astype(np.int64)
    return Table(name, codes.fillna(0).to_numpy(dtype=np.float64)[kept], y[kept])


def cross_validate(models: list[Callable[[], Any]], rows: Table, seed: int, bootstrap: bool) -> Losses:
    """Losses by model; with bootstrap, each fit sees training rows drawn with replacement."""
    part = folds.deal(folds.strata(rows.y), N_FOLDS, np.random.default_rng([seed, 1]))
    rng = np.random.default_rng([seed, 9])
    losses = np.empty((len(models), len(rows.y)))
    for f in range(N_FOLDS):
        into, out = np.flatnonzero(part != f), part == f
        for i, make in enumerate(models):
            used = rng.choice(into, len(into)) if bootstrap else into
            losses[i, out] = make().fit(rows.X[used], rows.y[used]).predict(rows.X[out]) != rows.y[out]
    return Losses(losses, part)


def _tree() -> Any:
    return DecisionTreeClassifier(max_depth=5, random_state=0)


def _boosted() -> Any:
    return AdaBoostClassifier(n_estimators=10, n_jobs=1)


@dataclass(frozen=True)
class Learner:
    """runs: the name of its number of runs. tables: names, and the most rows of each."""

    name: str
    make: Callable[[], Any]
    runs: str
    tables: dict[str, int]


LEARNERS = (
    Learner("bootstrapped trees of depth 5", _tree, "clones", {"pima": 1_000, "spambase": 500}),
    Learner("bootstrapped AdaBoost, 10 stumps", _boosted, "boosted", {"pima": 1_000, "german": 1_000}),
)


def clones(sizes: dict[str, int], cells: Cells) -> Iterator[str]:
    yield from heading(
        "Clones of one learner on real rows",
        "Share of runs in which some clone is called worse. Clones differ in the bootstrap sample that each fit sees; "
        "each run splits the table anew.",
        ["learner", "table", "rows", "runs", *(f"K = {k}" for k in COUNTS)],
    )
    for learner in LEARNERS:
        for name, most in learner.tables.items():
            rows = table(name, most)
            if rows is not None:
                key = f"{learner.name} {name}"
                yield cells.get(key, partial(_clones, learner, rows, sizes[learner.runs]))


def _clones(learner: Learner, rows: Table, runs: int) -> str:
    some = np.zeros(len(COUNTS))
    for run in range(runs):
        all_of_them = cross_validate([learner.make] * max(COUNTS), rows, run, bootstrap=True)
        some += [np.any(all_of_them.take(slice(0, k)).judge(run).worse) for k in COUNTS]
    return row(learner.name, rows.name, f"{len(rows.y):,}", str(runs), *(f"{100 * s / runs:.1f}%" for s in some))


RIVALS: dict[str, Callable[[], Any]] = {
    "depth 1": lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
    "depth 2": lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
    "depth 6": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "AdaBoost, 10 stumps": _boosted,
    "naive Bayes": GaussianNB,
    "7 neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(7)),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}
PAIR = ("depth 1", "AdaBoost, 10 stumps")


def fresh(draws: int, cells: Cells) -> Iterator[str]:
    yield from heading(
        "Different learners on fresh rows",
        f"Seven learners ({'; '.join(RIVALS)}) are compared on rows that no other run uses. Inflation: the variance "
        "of the difference of two of them over the runs, relative to the mean of its plain estimate over rows (median "
        "and largest of the 21 pairs; 1.4 is assumed, more where folds differ). Wrong: runs with a model called worse "
        "than the first whose mean over all runs is lower. Then each pair is judged alone: the largest share of runs, "
        "of all pairs, in which the one with the lower mean is called worse. The last columns are about one pair.",
        ["table", "rows", "runs", "inflation", "wrong", "wrong per pair", f"gap of {PAIR[0]} and {PAIR[1]}", "seen"],
    )
    tables = (("adult", 400), ("covtype", 400), ("covtype", 1_600))
    for name, n in tables:
        rows = table(name, draws * n)
        if rows is not None:
            runs = min(draws, len(rows.y) // n)
            yield cells.get(f"fresh {name} {n}", partial(_fresh, rows, n, runs))


def _fresh(rows: Table, n: int, runs: int) -> str:
    models, pairs = list(RIVALS.values()), np.column_stack(np.triu_indices(len(RIVALS), 1))
    means, plain, together, alone = [], [], [], []
    for run in range(runs):
        tested = cross_validate(models, rows.take(np.arange(run * n, (run + 1) * n)), run, bootstrap=False)
        units, share, _ = by_unit(tested.losses, tested.table)
        spread = covariance(units, share)
        means.append(units @ share)
        plain.append(np.diag(spread)[:, None] + np.diag(spread) - 2 * spread)
        together.append(tested.judge(run))
        alone.append([tested.take(pair).judge(run).worse for pair in pairs])
    mean, worse = np.array(means), np.array(alone)  # [run, model], [run, pair, first or second]
    true = mean.mean(axis=0)
    wrong = sum(bool(np.any(told.worse & (true < true[told.best]))) for told in together)
    better = np.argmin(true[pairs], axis=1)
    per_pair = np.take_along_axis(worse.mean(axis=0), better[:, None], axis=1)
    gaps = mean[:, pairs[:, 0]] - mean[:, pairs[:, 1]]
    inflation = gaps.var(axis=0, ddof=1) / np.mean(plain, axis=0)[tuple(pairs.T)]
    spread_of = f"{np.median(inflation):.2f}, {inflation.max():.2f}"
    low, high = (list(RIVALS).index(name) for name in PAIR)
    known = next(i for i, pair in enumerate(pairs.tolist()) if pair == [low, high])
    gap, seen_in = f"{100 * (true[low] - true[high]):.1f} points", f"{100 * worse[:, known, 0].mean():.0f}%"
    return row(
        rows.name, f"{n:,}", str(len(means)), spread_of, str(wrong), f"{100 * per_pair.max():.0f}%", gap, seen_in
    )


# ---------------------------------------------------------------- the page


def heading(title: str, text: str, columns: list[str]) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield text + "\n"
    yield row(*columns)
    yield row(*("---" for _ in columns))


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


INTRODUCTION = """# How reliable "worse" and "tie" are

`electorate compare` calls a model *worse* than the best, or a *tie* with it ([how](../docs/compare.md)). For equal
models, some should be called *worse* in at most 5% of comparisons, for any number K of models.
Written by `benchmarks/verdicts.py`."""

ASSUMED = """
## Assumptions

- Mean losses are roughly normal. Losses are 0 or 1, or absolute errors; heavy tails make "worse" rarer.
- Rows are independent. Copies of a row, and groups of dependent rows that are not named, are not detected.
- Training adds 0.4 times the variance over rows, as measured on fresh rows (the last table). One data set cannot
  show how much it adds (Bengio and Grandvalet 2004). Training that varies more is detected if it makes the folds
  differ: the variance is multiplied by the ratio of the variance between folds to that of their rows. Five folds
  show little about the ratio of one pair, so that with two models it is counted too low at times.
- "Worse" refers to the expected loss with training sets of this size from the same distribution, for the settings
  that were tried."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/VERDICTS.md")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    out = Path(options.out)
    cells = Cells(out.with_suffix(".jsonl"), 60 * options.minutes)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        sections = [
            simulated(sizes["runs"], (2, 5) if options.quick else COUNTS, cells),
            power(sizes["power"], (2, 5) if options.quick else COUNTS[:3], cells),
            clones(sizes, cells),
            fresh(sizes["draws"], cells),
        ]
        lines = [INTRODUCTION, *(line for section in sections for line in section if line), ASSUMED]
    if any(" |  |" in line for line in lines):
        lines.insert(1, "\nEmpty cells are not computed yet: the same command goes on.")
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
