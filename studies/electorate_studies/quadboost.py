"""The QuadBoost paper, reproduced: Tables 1 and 2, AdaBoost with 1,000,000 rounds (here "table 3"), and QuadBoost with
re-weighting (section 3.1, here "table 4").

Protocol (section 4): the training set has half of the rows (rounded up), at most 500; the other rows are the test set.
Attributes are standardised by the training rows and passed through tanh. There are 10 stumps per attribute, and their
complements. Hyperparameters are chosen by 5-fold cross-validation over ten values each, equally spaced on a logarithmic
scale.

Not stated in the paper, and chosen here: the split (the paper has one; here there are ten, and more for the data sets
whose standard errors would be above half a point); the ten thresholds (they divide the rows of an attribute evenly);
for most data sets, how two classes were made (DATASETS.json has our rules and how
certain they are). AdaBoost runs for at most 10,000 rounds instead of 1,000,000, except in table 3.
Voters are not re-weighted, except in table 4: there every round adds a voter, then all get their best weight in turn.
Table 2 fits every run of table 1 again, with its stored choice of parameters.
"""

import math
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from electorate import AdaBoostClassifier, LPBoostClassifier, Pool, QuadBoostClassifier, QuadBoostClassifierCV
from electorate.comparison.building_blocks import paired_tests
from electorate_studies import pages, quadboost_table2
from electorate_studies.binary_sets import BinarySet, doubts, files_of, read_set, sets_of, with_files
from electorate_studies.quadboost_table2 import ALGORITHMS, PRINTED, TABLE_1
from electorate_studies.request import PAPERS, Floats, Ints, Request, markdown_table, paragraphs, text
from electorate_studies.runs import Outcome, Row, Unit, by_algorithm, read_results, results_of

LONGER = "3"  # not a table of the paper
REWEIGHTED = "4"  # not a table of the paper: section 3.1 says that re-weighting might be advantageous
OFFERS = PAPERS["quadboost"]["offers"]
NEEDS_DATA = ("table 1", f"table {LONGER}", f"table {REWEIGHTED}")
WHOLE = ("all",)
PENALTY = {"QuadBoost-L1": "l1", "QuadBoost-L2": "l2", "QuadBoost-Linf": "linf", "QuadBoost": None}
VALUES = {"l1": np.logspace(-4, 0, 10), "l2": np.logspace(0, 3, 10), "linf": np.logspace(-4, -1, 10)}
POWERS = dict(zip((*PENALTY, "AdaBoost"), ((5, 5), (1, 5), (0, 5), (0, 3), (2, 6)), strict=True))  # of ten, rounds
PRICES = np.logspace(-3, 3, 10)  # C of LPBoost
SETS = sets_of("quadboost")
MORE_SPLITS = PAPERS["quadboost"]["splits"]  # of sets whose standard errors are above half a point after ten splits
PUBLISHED = {name: line[1:] for name, line in TABLE_1.items()}
PUBLISHED_SECONDS = tuple(PRINTED["seconds"])
SAME = 1e-9  # a difference of errors below this is none


@dataclass(frozen=True)
class Size:
    """How much to run: splits, and the most rounds of AdaBoost and of the others."""

    splits: int
    adaboost: int
    quadboost: int

    def rounds(self, algorithm: str) -> list[int]:
        """The paper's ten values, cut at the most."""
        most = self.adaboost if algorithm == "AdaBoost" else self.quadboost
        grid = np.unique(np.rint(np.logspace(*POWERS[algorithm], 10)).astype(np.int64))
        return np.unique(np.minimum(grid, most)).tolist()


QUICK = Size(1, 30, 30)
FULL = Size(10, 10**4, 10**5)
LONG = replace(FULL, splits=1, adaboost=10**6)


# ---------------------------------------------------------------- one split


def normalised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """tanh((x - mean) / deviation), fitted to the training part; missing values are 0, the mean."""
    known = np.where(np.all(np.isnan(train), axis=0), 0.0, train)
    with np.errstate(invalid="ignore"):
        mean, deviation = np.nan_to_num(np.nanmean(known, axis=0)), np.nan_to_num(np.nanstd(known, axis=0))
    deviation = np.where(deviation > 0, deviation, 1.0)
    one, other = (np.nan_to_num(np.tanh((part - mean) / deviation)) for part in (train, test))
    return one, other


def split(data: BinarySet, seed: int) -> tuple[Ints, Ints]:
    """Training rows: min(500, half of all, rounded up)."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    n = min(500, math.ceil(len(order) / 2))
    return order[:n], order[n:]


def parts_of(unit: Unit, folder: Path) -> tuple[BinarySet, BinarySet]:
    """Training and test rows."""
    data = read_set(SETS[unit.data], folder)
    train, test = split(data, unit.split)
    X, X_test = normalised(data.X[train], data.X[test])
    return BinarySet(X, data.y[train]), BinarySet(X_test, data.y[test])


# ---------------------------------------------------------------- the algorithms, each with its cross-validation


def fit(algorithm: str, X: Floats, y: Ints, size: Size, reweight: str = "never") -> Any:
    """The algorithm with the parameters that cross-validation chooses."""
    if algorithm in PENALTY:
        given: dict[str, Any] = {"penalty": PENALTY[algorithm], "rounds": size.rounds(algorithm), "reweight": reweight}
        return QuadBoostClassifierCV(Pool(), n_jobs=1, **given).fit(X, y)
    if algorithm == "AdaBoost":
        return adaboost(chosen_rounds(X, y, size)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the least C empties the model, which warns
        return GridSearchCV(LPBoostClassifier(Pool(), n_jobs=1), {"C": PRICES}, cv=5, n_jobs=1).fit(X, y)


def adaboost(rounds: int) -> AdaBoostClassifier:
    return AdaBoostClassifier(Pool(), n_estimators=rounds, n_jobs=1)


def chosen_rounds(X: Floats, y: Ints, size: Size) -> int:
    """The rounds of AdaBoost with the least error in cross-validation."""
    rounds = size.rounds("AdaBoost")
    folds = StratifiedKFold(5).split(X, y)
    errors = sum(staged_errors((X[a], y[a]), (X[b], y[b]), rounds) for a, b in folds)
    return rounds[int(np.argmin(errors))]


def staged_errors(train: tuple[Floats, Ints], test: tuple[Floats, Ints], rounds: list[int]) -> Floats:
    """AdaBoost's test errors after so many rounds; where it ended before, that of its last. A million: 1.5 GB."""
    wanted, found, last = set(rounds), {}, 1.0
    for number, predicted in enumerate(adaboost(rounds[-1]).fit(*train).staged_predict(test[0]), start=1):
        last = float(np.mean(predicted != test[1]))
        if number in wanted:
            found[number] = last
    return np.array([found.get(number, last) for number in rounds])


def run_split(unit: Unit, folder: Path, quick: bool = False) -> list[Outcome]:
    """All algorithms on the same training rows."""
    size, (train, test) = size_of(unit.table, quick), parts_of(unit, folder)
    if unit.table == LONGER:
        return [run_longer(train, test, size)]
    outcomes, again = [], unit.table == REWEIGHTED
    for algorithm in PENALTY if again else ALGORITHMS:
        began = time.process_time()
        model = fit(algorithm, train.X, train.y, size, "cyclic" if again else "never")
        seconds = time.process_time() - began
        chosen = getattr(model, "best_params_", None) or {"n_estimators": model.n_estimators}
        shown = {name: float(f"{x:.4g}") for name, x in chosen.items() if isinstance(x, int | float)}
        outcomes.append(Outcome(algorithm, float(np.mean(model.predict(test.X) != test.y)), seconds, shown))
    return outcomes


def run_again(unit: Unit, folder: Path, stored: list[Row]) -> list[Outcome]:
    """Fit the runs of one split of table 1 again, with their stored parameters: which test rows are wrong."""
    outcomes, (train, test) = [], parts_of(unit, folder)
    kinds: dict[str, Any] = {"LPBoost": LPBoostClassifier, "AdaBoost": AdaBoostClassifier}
    for row in stored:
        if row.unit == unit._replace(table="1"):
            began, algorithm = time.process_time(), row.outcome.algorithm
            given = {name: on_grid(algorithm, name, value) for name, value in row.outcome.chosen.items()}
            more: dict[str, Any] = {"penalty": PENALTY[algorithm]} if algorithm in PENALTY else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # as in the search
                model = kinds.get(algorithm, QuadBoostClassifier)(Pool(), n_jobs=1, **given, **more)
                model.fit(train.X, train.y)
            wrong = model.predict(test.X) != test.y
            chosen = {"rows": len(test.y), "wrong": quadboost_table2.packed(wrong)}
            outcomes.append(Outcome(algorithm, float(wrong.mean()), time.process_time() - began, chosen))
    return outcomes


def on_grid(algorithm: str, name: str, value: float) -> float:
    """The value of the grid that is stored with four digits."""
    if name == "n_estimators":
        return int(value)
    grid = PRICES if name == "C" else VALUES.get(PENALTY.get(algorithm) or "", np.zeros(0))
    return float(grid[np.argmin(np.abs(np.log(grid / value)))]) if value > 0 else value


def run_longer(train: BinarySet, test: BinarySet, size: Size) -> Outcome:
    """AdaBoost for so many rounds. `chosen` also has the test errors after the most rounds of table 1 and of all."""
    began, most = time.process_time(), size.rounds("AdaBoost")[-1]
    best, fewer = chosen_rounds(train.X, train.y, size), min(FULL.adaboost, most)
    wanted = sorted({best, fewer, most})
    errors = staged_errors((train.X, train.y), (test.X, test.y), wanted).tolist()
    found = dict(zip(wanted, errors, strict=True))
    ends = {"after_fewer": round(found[fewer], 6), "after_most": round(found[most], 6)}
    return Outcome("AdaBoost", found[best], time.process_time() - began, {"n_estimators": best, **ends})


# ---------------------------------------------------------------- the page


def size_of(table: str, quick: bool) -> Size:
    return QUICK if quick else LONG if table == LONGER else FULL


def reproduce(request: Request) -> str:
    """For `electorate reproduce quadboost`: runs what is not stored yet and returns the page."""
    if request.what == "table 2":
        stored = read_results(request.results("quadboost"))
        return "\n".join(["# QuadBoost, Table 2", "", *table_2_lines(run_table_2(request, stored)), ""])
    make = partial(run_split, folder=request.data, quick=request.quick)
    return page(request, results_of(request, "quadboost", partial(units, request), make))


def run_table_2(request: Request, stored: list[Row]) -> list[Row]:
    """Fit again what is stored of table 1."""
    again = [row.unit._replace(table="2") for row in stored if row.unit.table == "1"]
    make = partial(run_again, folder=request.data, stored=stored)
    return results_of(request, "quadboost-rows", lambda: again, make)


def units(request: Request) -> list[Unit]:
    """Split by split, so that an unfinished run has some of every set."""
    tables = [request.what.split()[-1]] if request.what.startswith("table") else ["1", LONGER, REWEIGHTED]
    names = with_files(request.choose(["zoo"] if request.quick else SETS, SETS), files_of(SETS), request)
    most = max(MORE_SPLITS.values())
    return [
        Unit(table, name, number)
        for table, number, name in product(tables, range(request.repeats or most), names)
        if number < (request.repeats or splits_of(table, name, request.quick))
    ]


def splits_of(table: str, name: str, quick: bool) -> int:
    """How many splits of a data set the study has."""
    size = size_of(table, quick)
    return max(size.splits, MORE_SPLITS.get(name, 0)) if size is FULL and table == "1" else size.splits


def tables(folder: Path) -> list[pages.StudyTable]:
    """Table 1 as published."""
    published = {name: pages.once(*(100 * risk for risk in risks)) for name, risks in PUBLISHED.items()}
    title = "Table 1: six algorithms on 25 data sets"
    return [pages.StudyTable(title, "1", ALGORITHMS, published, doubts(SETS, folder, "QuadBoost"))]


def page(request: Request, rows: list[Row]) -> str:
    (table,) = tables(request.data)
    pairs = [("QuadBoost", "AdaBoost"), ("QuadBoost-L1", "LPBoost")]
    lines = pages.introduction("QuadBoost", __doc__, rows, request.quick)
    lines += [*pages.table_lines(table, rows), *pages.order_lines(table, rows, pairs, 0.05), *claims(rows), ""]
    again = run_table_2(request, rows) if request.what == "all" else []
    lines += [*time_lines(rows), *longer_lines(rows), *reweighted_lines(rows), *pages.doubt_lines([table])]
    return "\n".join([*lines, "## Table 2", "", *table_2_lines(again), ""])


def means(rows: list[Row], what: str) -> Floats:
    """[data set, algorithm] of table 1, over the splits; of the data sets that were run."""
    found = by_algorithm(rows)
    names = [name for name in SETS if ("1", name, ALGORITHMS[0]) in found]
    values = [[[getattr(one, what) for one in found["1", name, a].values()] for a in ALGORITHMS] for name in names]
    return np.array([[np.mean(cell) for cell in row] for row in values])


def time_lines(rows: list[Row]) -> list[str]:
    """The last row of Table 1."""
    seconds = means(rows, "seconds")
    if not len(seconds):
        return []
    head = "mean seconds of a set, on one core, parameters chosen | ours | published | ratio"
    each = zip(ALGORITHMS, seconds.mean(axis=0), PUBLISHED_SECONDS, strict=True)
    lines = [[name, f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.1f}"] for name, ours, theirs in each]
    return paragraphs(markdown_table(head, lines, "lrrr"))


def reweighted_lines(rows: list[Row]) -> list[str]:
    """Errors with and without re-weighting on the splits that were run with both."""
    lines, found = [], by_algorithm(rows)
    for algorithm in PENALTY:
        pairs = []
        for name in dict.fromkeys(row.unit.data for row in rows):
            usual, again = (found.get((table, name, algorithm), {}) for table in ("1", REWEIGHTED))
            both = [(100 * usual[k].error, 100 * again[k].error) for k in again if k in usual]
            pairs += [both] if both else []
        if pairs:
            mean = np.array([np.mean(both, axis=0) for both in pairs])
            gap, runs = mean[:, 1] - mean[:, 0], sum(map(len, pairs))
            ends = *(f"{x:.2f}" for x in mean.mean(axis=0)), f"{gap.mean():+.2f}", pages.record(gap, SAME)
            lines.append([algorithm, len(pairs), runs, *ends, f"{paired_tests.sign_test(gap):.4f}"])
    head = "algorithm | sets | runs | without | with re-weighting | difference | wins, ties, losses | p"
    table = markdown_table(head, lines, "lrrrrrlr")
    return paragraphs("## Re-weighting (section 3.1)", text("re-weighting"), table) if lines else []


def longer_lines(rows: list[Row]) -> list[str]:
    """AdaBoost with the rounds of the paper, beside the same splits of table 1."""
    found = {row.unit: row.outcome for row in rows if row.outcome.algorithm == "AdaBoost"}
    first = {u: u._replace(table="1") for u in found if u.table == LONGER}
    pairs = {u: (found[usual], found[u]) for u, usual in first.items() if usual in found}
    if not pairs:
        return []
    lines = []
    for unit, both in pairs.items():
        cells = [f"{100 * one.error:.2f} ({one.chosen['n_estimators']:,.0f} rounds)" for one in both]
        ends = [f"{100 * both[1].chosen[name]:.2f}" for name in ("after_fewer", "after_most")]
        lines.append([unit.data, unit.split, *cells, *ends, f"{both[1].seconds:.0f}"])
    gaps = {
        "With the number of rounds chosen by cross-validation": [100 * (b.error - a.error) for a, b in pairs.values()],
        "After all rounds": [100 * (b.chosen["after_most"] - b.chosen["after_fewer"]) for _, b in pairs.values()],
    }
    summary = []
    for name, values in gaps.items():
        (mean, error, n), (better, worse) = (
            pages.mean_and_error(values),
            (sum(s * x > 0 for x in values) for s in (-1, 1)),
        )
        counts = {"n": n, "better": better, "same": n - better - worse, "worse": worse}
        summary.append(text("1,000,000 instead of 10,000", name=name, mean=mean, error=error, **counts))
    head = "data set | split | at most 10,000 rounds | at most 1,000,000 | after 10,000 | after 1,000,000 | seconds"
    body = markdown_table(head, lines, "lrllrrr")
    return paragraphs("## AdaBoost with up to 1,000,000 rounds", text("1,000,000 rounds"), body, summary)


def table_2_lines(rows: list[Row]) -> list[str]:
    title = "The Poisson binomial test that Table 2 prints, computed from the printed Table 1."
    return [*quadboost_table2.own_lines(rows), title, "", quadboost_table2.report()]


def claims(rows: list[Row]) -> list[str]:
    """What the paper claims about its table: who is no worse than whom, and how much faster."""
    ours = means(rows, "error")
    run = {row.unit.data for row in rows if row.unit.table == "1"}
    theirs = np.array([PUBLISHED[name] for name in SETS if name in run])
    return claim_lines(ours, theirs, means(rows, "seconds").mean(axis=0)) if len(ours) else []


def claim_lines(ours: Floats, theirs: Floats, took: Floats) -> list[str]:
    """Both claims of section 4, for our table and for theirs."""
    lines = []
    for one, other in (("QuadBoost", "AdaBoost"), ("QuadBoost-L1", "LPBoost")):
        a, b = ALGORITHMS.index(one), ALGORITHMS.index(other)
        wins = [int(np.sum(table[:, a] <= table[:, b] + 1e-12)) for table in (ours, theirs)]
        faster = [float(seconds[b] / seconds[a]) for seconds in (took, np.array(PUBLISHED_SECONDS))]
        lines.append(text("claim of quadboost", one=one, other=other, wins=wins, n=len(ours), faster=faster))
    return lines
