"""How often is a difference called real that is none, and how often is a known difference found?

`python benchmarks/verdicts.py [--quick] [--out FILE]` simulates comparisons and judges them as `electorate compare`
does. Equal algorithms are simulated (losses per row, and effects of training), and made of real learners: clones that
differ in their seed, on the rows of real tables. The tables are read from the folder named by ELECTORATE_DATA (default
../shared/data); sections without their tables are left out. `--quick` runs a few of everything, to show that it works.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

from electorate import AdaBoostClassifier
from electorate.comparison import folds
from electorate.comparison.verdicts import RowLosses, Verdicts, covariance_over_rows, judge

Floats = NDArray[np.float64]
N_FOLDS = 5
COUNTS = (2, 5, 11, 14)
ERROR = 0.2
DISAGREE = 0.1  # share of rows on which exactly one of two simulated algorithms errs, about

FULL = {"runs": 1_000, "power": 150, "clones": 200, "boosted": 60, "draws": 100}
QUICK = {"runs": 3, "power": 2, "clones": 2, "boosted": 1, "draws": 3}


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

    def draw(self, rng: np.random.Generator, k: int, n: int, gap: float = 0.0) -> RowLosses:
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
        return RowLosses(losses, fold, N_FOLDS, weight)


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


def first_of(rows: RowLosses) -> int:
    return int(np.argmin(rows.losses @ rows.share))


def verdicts_of(rows: RowLosses) -> tuple[int, Verdicts]:
    first = first_of(rows)
    return first, judge(rows, first)


def false_calls(world: World, k: int, n: int, runs: int) -> tuple[float, float]:
    """The share of runs with any difference called real, and the mean P(best) of the first."""
    rng = np.random.default_rng([k, n, runs])
    some, best = 0, []
    for _ in range(runs):
        first, found = verdicts_of(world.draw(rng, k, n))
        some += bool(np.any(found.real))
        best.append(found.chance_of_best[first])
    return some / runs, float(np.mean(best))


def simulated(runs: int, counts: tuple[int, ...]) -> Iterator[str]:
    yield from heading(
        "Equal algorithms, simulated",
        f"Share of {runs:,} runs in which some difference is called real, and in brackets the mean P(best) of the "
        f"first (right is 1/K). {N_FOLDS} folds, error {ERROR}.",
        ["losses", "rows", *(f"K = {k}" for k in counts)],
    )
    for n in (500, 2_000):
        for world in worlds(n)[: None if n == 500 else 4]:
            cells = [
                f"{100 * some:.1f}% ({best:.2f})" for some, best in (false_calls(world, k, n, runs) for k in counts)
            ]
            yield row(world.name, f"{n:,}", *cells)


def power(runs: int, counts: tuple[int, ...]) -> Iterator[str]:
    gaps = (0.005, 0.01, 0.02, 0.04)
    yield from heading(
        "Known differences, simulated",
        f"Share of {runs:,} runs in which the better one is first and its lead over a given other one is called real; "
        "training as measured. K algorithms, of which one is better by the gap.",
        ["K", "rows", *(f"gap {100 * gap:g} points" for gap in gaps)],
    )
    for k in counts:
        for n in (500, 2_000, 10_000):
            world = worlds(n)[1]
            yield row(str(k), f"{n:,}", *(f"{100 * found(world, k, n, gap, runs):.0f}%" for gap in gaps))


def found(world: World, k: int, n: int, gap: float, runs: int) -> float:
    rng = np.random.default_rng([k, n, runs, int(1000 * gap)])
    hits = 0
    for _ in range(runs):
        first, told = verdicts_of(world.draw(rng, k, n, gap))
        hits += first == 0 and bool(told.real[1])
    return hits / runs


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


def cross_validate(models: list[Callable[[], Any]], rows: Table, seed: int, bootstrap: bool) -> RowLosses:
    """Losses by model; with bootstrap, each fit sees training rows drawn with replacement."""
    part = folds.deal(folds.strata(rows.y), N_FOLDS, np.random.default_rng([seed, 1]))
    rng = np.random.default_rng([seed, 9])
    losses = np.empty((len(models), len(rows.y)))
    for f in range(N_FOLDS):
        into, out = np.flatnonzero(part != f), part == f
        for i, make in enumerate(models):
            used = rng.choice(into, len(into)) if bootstrap else into
            losses[i, out] = make().fit(rows.X[used], rows.y[used]).predict(rows.X[out]) != rows.y[out]
    return RowLosses(losses, part, N_FOLDS)


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


def clones(sizes: dict[str, int]) -> Iterator[str]:
    yield from heading(
        "Clones of one learner on real rows",
        "Share of runs in which some difference is called real, and in brackets the mean P(best) of the first (right "
        "is 1/K). Clones differ in the bootstrap sample that each fit sees; each run splits the table anew.",
        ["learner", "table", "rows", "runs", *(f"K = {k}" for k in COUNTS)],
    )
    for learner in LEARNERS:
        for name, most in learner.tables.items():
            rows = table(name, most)
            if rows is not None:
                yield _clones(learner, rows, sizes[learner.runs])


def _clones(learner: Learner, rows: Table, runs: int) -> str:
    some, best = np.zeros(len(COUNTS)), np.zeros(len(COUNTS))
    for run in range(runs):
        all_of_them = cross_validate([learner.make] * max(COUNTS), rows, run, bootstrap=True)
        for i, k in enumerate(COUNTS):
            few = RowLosses(all_of_them.losses[:k], all_of_them.fold, N_FOLDS)
            first, told = verdicts_of(few)
            some[i] += np.any(told.real)
            best[i] += told.chance_of_best[first]
    cells = (f"{100 * s / runs:.1f}% ({b / runs:.2f})" for s, b in zip(some, best, strict=True))
    return row(learner.name, rows.name, f"{len(rows.y):,}", str(runs), *cells)


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


def fresh(draws: int) -> Iterator[str]:
    yield from heading(
        "Different learners on fresh rows",
        f"Seven learners ({'; '.join(RIVALS)}) are compared on rows that no other run uses. Inflation: the variance "
        "of the difference of two of them over the runs, relative to the mean of its plain estimate over rows (median "
        "and largest of the 21 pairs; 2.25 is assumed). Wrong: runs with a difference called real whose sign is not "
        "that of the mean over all runs. The last columns are about one pair with a known difference, judged alone.",
        ["table", "rows", "runs", "inflation", "wrong", f"gap of {PAIR[0]} and {PAIR[1]}", "called real"],
    )
    for name, n in (("adult", 400), ("covtype", 400), ("covtype", 1_600)):
        rows = table(name, draws * n)
        if rows is not None:
            yield _fresh(rows, n, min(draws, len(rows.y) // n))


def _fresh(rows: Table, n: int, draws: int) -> str:
    models = list(RIVALS.values())
    worse, better = (list(RIVALS).index(name) for name in PAIR)
    means, plain, called, alone = [], [], [], 0
    for run in range(draws):
        tested = cross_validate(models, rows.take(np.arange(run * n, (run + 1) * n)), run, bootstrap=False)
        covariance = covariance_over_rows(tested)
        means.append(tested.losses @ tested.share)
        plain.append(np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance)
        first, told = verdicts_of(tested)
        called.append((first, told.real))
        lead, told = verdicts_of(RowLosses(tested.losses[[worse, better]], tested.fold, N_FOLDS))
        alone += lead == 1 and bool(told.real[0])
    mean = np.array(means)
    true = mean.mean(axis=0)
    wrong = sum(bool(np.any(real & (true < true[first]))) for first, real in called)
    pairs = np.triu_indices(len(models), 1)
    gaps = mean[:, pairs[0]] - mean[:, pairs[1]]
    inflation = gaps.var(axis=0, ddof=1) / np.mean(plain, axis=0)[pairs]
    spread = f"{np.median(inflation):.2f}, {inflation.max():.2f}"
    gap = f"{100 * (true[worse] - true[better]):.1f} points"
    return row(rows.name, f"{n:,}", str(draws), spread, str(wrong), gap, f"{100 * alone / draws:.0f}%")


# ---------------------------------------------------------------- the page


def heading(title: str, text: str, columns: list[str]) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield text + "\n"
    yield row(*columns)
    yield row(*("---" for _ in columns))


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


INTRODUCTION = """# How reliable "real" and "tie" are

`electorate compare` calls a lead *real* or a *tie* ([how](../docs/compare.md)). For equal
algorithms, a difference should be called *real* in at most 5% of comparisons, for any number K of algorithms.
Written by `benchmarks/verdicts.py`."""

ASSUMED = """
## Assumptions

- Mean losses are roughly normal. Losses are 0 or 1, or absolute errors; heavy tails make "real" rarer.
- Rows are independent. Copies of a row, and groups of dependent rows, are not detected.
- Training in overlapping folds adds at most 1.25 times the variance over rows (5 folds; Nadeau and Bengio).
  One data set cannot show how much it adds (Bengio and Grandvalet 2004): the last table measures it on fresh rows.
  Training that varies more is detected if it makes the folds differ.
- "Real" refers to the expected loss with training sets of this size from the same distribution, for the settings
  that were tried."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/VERDICTS.md")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    lines = [INTRODUCTION]
    few = (2, 5)
    simulations = [
        simulated(sizes["runs"], few if options.quick else COUNTS),
        power(sizes["power"], few if options.quick else COUNTS[:3]),
    ]
    for section in (*simulations, clones(sizes), fresh(sizes["draws"])):
        for line in section:
            print(line, flush=True)
            lines.append(line)
    Path(options.out).write_text("\n".join([*lines, ASSUMED]) + "\n")


if __name__ == "__main__":
    main()
