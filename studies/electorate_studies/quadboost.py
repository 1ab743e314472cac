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
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from electorate import AdaBoostClassifier, LPBoostClassifier, Pool, QuadBoostClassifier, QuadBoostClassifierCV
from electorate.comparison import paired_tests
from electorate.estimators.quadboost_cv import VALUES
from electorate.exact import Floats
from electorate_studies import quadboost_table2
from electorate_studies.binary_sets import BinarySet, Source, doubt, files_of, read_set, with_files
from electorate_studies.long_adaboost import staged_errors
from electorate_studies.pages import StudyTable, doubt_lines, introduction, once, order_lines, table_lines
from electorate_studies.request import Request, markdown_table
from electorate_studies.runs import Outcome, Row, Unit, read_results, results_of

Labels = NDArray[np.int64]
OFFERS = {
    "table 1": "test errors and times of six algorithms on 25 data sets",
    "table 2": "the Poisson binomial test between them, on our stored runs and from the published table 1",
}
LONGER = "3"  # not a table of the paper
OFFERS[f"table {LONGER}"] = "AdaBoost of table 1 with up to 1,000,000 rounds, as in the paper"
REWEIGHTED = "4"  # not a table of the paper: section 3.1 says that re-weighting might be advantageous
OFFERS[f"table {REWEIGHTED}"] = "QuadBoost of table 1 with re-weighting (section 3.1)"
NEEDS_DATA = ("table 1", f"table {LONGER}", f"table {REWEIGHTED}")
WHOLE = ("all",)
PENALTY = {"QuadBoost-L1": "l1", "QuadBoost-L2": "l2", "QuadBoost-Linf": "linf", "QuadBoost": None}
ALGORITHMS = (*PENALTY, "LPBoost", "AdaBoost")
POWERS = dict(zip((*PENALTY, "AdaBoost"), ((5, 5), (1, 5), (0, 5), (0, 3), (2, 6)), strict=True))  # of ten, rounds
PRICES = np.logspace(-3, 3, 10)  # C of LPBoost
BALANCED = "L vs R; the 49 balanced rows are left out: with them as L or R the least squares error is 5.6%"
SETS = {
    "australian": Source("australian"),
    "balance": Source("balance_scale", ("L",), ("R",), doubt=BALANCED, confidence="low"),
    "breast": Source("breast_w"),
    "bupa": Source("bupa"),
    "car": Source("car", ("unacc",)),
    "cmc": Source("cmc", ("1",)),
    "credit": Source("credit_crx"),
    "cylinder": Source("cylinder_bands"),
    "ecoli": Source("ecoli", ("cp",)),
    "flags": Source("flags", ("Other_Christian",)),
    "glass": Source("glass", ("1", "2", "3")),
    "heart": Source("heart_statlog"),
    "hepatitis": Source("hepatitis"),
    "horse": Source("horse_colic"),
    "ionosphere": Source("ionosphere"),
    "letter ab": Source("letter", ("A",), ("B",)),
    "monks": Source("monks1"),
    "optdigits": Source("optdigits", ("0", "2", "4", "6", "8"), head=3823),
    "pima": Source("pima"),
    "tictactoe": Source("tic_tac_toe"),
    "titanic": Source("titanic"),
    "vote": Source("house_votes"),
    "wine": Source("wine", ("2",)),
    "yeast": Source("yeast", ("CYT",)),
    "zoo": Source("zoo", ("1",)),
}
MORE_SPLITS = {  # of data sets whose standard errors are above half a point after ten splits
    "australian": 12,
    "balance": 12,
    "bupa": 30,
    "credit": 12,
    "cylinder": 20,
    "ecoli": 15,
    "flags": 40,
    "glass": 22,
    "heart": 45,
    "hepatitis": 80,
    "horse": 30,
    "ionosphere": 25,
    "monks": 16,
    "pima": 20,
    "tictactoe": 16,
    "vote": 12,
    "wine": 45,
    "yeast": 12,
    "zoo": 30,
}
PUBLISHED = {name: line[1:] for name, line in quadboost_table2.TABLE_1.items()}
PUBLISHED_SECONDS = (1.326, 74.040, 1.131, 0.397, 26.930, 8.096)


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


def split(data: BinarySet, seed: int) -> tuple[Labels, Labels]:
    """Training rows: min(500, half of all, rounded up)."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    n = min(500, math.ceil(len(order) / 2))
    return order[:n], order[n:]


# ---------------------------------------------------------------- the algorithms, each with its cross-validation


def fit_quadboost(algorithm: str, X: Floats, y: Labels, size: Size, reweight: str = "never") -> Any:
    rounds, penalty = size.rounds(algorithm), PENALTY[algorithm]
    return QuadBoostClassifierCV(Pool(), penalty=penalty, rounds=rounds, reweight=reweight, n_jobs=1).fit(X, y)


def fit_lpboost(algorithm: str, X: Floats, y: Labels, size: Size) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the least C empties the model, which warns
        return GridSearchCV(LPBoostClassifier(Pool(), n_jobs=1), {"C": PRICES}, cv=5, n_jobs=1).fit(X, y)


def fit_adaboost(algorithm: str, X: Floats, y: Labels, size: Size) -> Any:
    """Of fewer rounds than wanted, the error is that of all there were."""
    rounds = size.rounds(algorithm)
    wanted, errors = set(rounds), np.zeros(len(rounds))
    for a, b in StratifiedKFold(5).split(X, y):
        model = AdaBoostClassifier(Pool(), n_estimators=rounds[-1], n_jobs=1).fit(X[a], y[a])
        found, last = {}, 1.0
        for number, predicted in enumerate(model.staged_predict(X[b]), start=1):
            if number in wanted or number == len(model.steps_):
                found[number] = last = float(np.mean(predicted != y[b]))
        errors += np.array([found.get(number, last) for number in rounds])
    return AdaBoostClassifier(Pool(), n_estimators=rounds[int(np.argmin(errors))], n_jobs=1).fit(X, y)


FITS: dict[str, Callable[[str, Floats, Labels, Size], Any]] = {
    **dict.fromkeys(PENALTY, fit_quadboost),
    "LPBoost": fit_lpboost,
    "AdaBoost": fit_adaboost,
}


# ---------------------------------------------------------------- the page


def size_of(table: str, quick: bool) -> Size:
    return QUICK if quick else LONG if table == LONGER else FULL


def run_split(unit: Unit, folder: Path, quick: bool = False) -> list[Outcome]:
    """All algorithms on the same training rows."""
    size = size_of(unit.table, quick)
    data = read_set(SETS[unit.data], folder)
    train, test = split(data, unit.split)
    X, X_test = normalised(data.X[train], data.X[test])
    if unit.table == LONGER:
        return [run_longer((X, data.y[train]), (X_test, data.y[test]), size)]
    outcomes, again = [], unit.table == REWEIGHTED
    for algorithm in PENALTY if again else ALGORITHMS:
        began = time.process_time()
        fit = partial(fit_quadboost, reweight="cyclic") if again else FITS[algorithm]
        model = fit(algorithm, X, data.y[train], size)
        seconds = time.process_time() - began
        error = float(np.mean(model.predict(X_test) != data.y[test]))
        outcomes.append(Outcome(algorithm, error, seconds, _chosen(model)))
    return outcomes


def run_again(unit: Unit, folder: Path, stored: list[Row]) -> list[Outcome]:
    """Fit the runs of one split of table 1 again, with their stored parameters: which test rows are wrong."""
    data = read_set(SETS[unit.data], folder)
    train, test = split(data, unit.split)
    X, X_test = normalised(data.X[train], data.X[test])
    outcomes = []
    for row in stored:
        if row.unit == unit._replace(table="1"):
            began, algorithm = time.process_time(), row.outcome.algorithm
            kind: Any = {"LPBoost": LPBoostClassifier, "AdaBoost": AdaBoostClassifier}.get(
                algorithm, QuadBoostClassifier
            )
            given: dict[str, Any] = {
                name: on_grid(algorithm, name, value) for name, value in row.outcome.chosen.items()
            }
            if algorithm in PENALTY:
                given["penalty"] = PENALTY[algorithm]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # as in the search
                model = kind(Pool(), n_jobs=1, **given).fit(X, data.y[train])
            wrong = model.predict(X_test) != data.y[test]
            chosen = {"rows": len(test), "wrong": quadboost_table2.packed(wrong)}
            outcomes.append(Outcome(algorithm, float(wrong.mean()), time.process_time() - began, chosen))
    return outcomes


def on_grid(algorithm: str, name: str, value: float) -> float:
    """The value of the grid that is stored with four digits."""
    if name == "n_estimators":
        return int(value)
    grid = PRICES if name == "C" else VALUES.get(PENALTY.get(algorithm) or "", np.zeros(0))
    return float(grid[np.argmin(np.abs(np.log(grid / value)))]) if value > 0 else value


def run_longer(train: tuple[Floats, Labels], test: tuple[Floats, Labels], size: Size) -> Outcome:
    """AdaBoost for so many rounds. `chosen` also has the test errors after the most rounds of table 1 and of all."""
    began, rounds = time.process_time(), size.rounds("AdaBoost")
    X, y = train
    folds = StratifiedKFold(5).split(X, y)
    errors = sum(staged_errors((X[a], y[a]), (X[b], y[b]), rounds) for a, b in folds)
    best, fewer, most = rounds[int(np.argmin(errors))], min(FULL.adaboost, rounds[-1]), rounds[-1]
    wanted = sorted({best, fewer, most})
    found = dict(zip(wanted, staged_errors(train, test, wanted).tolist(), strict=True))
    ends = {"after_fewer": round(found[fewer], 6), "after_most": round(found[most], 6)}
    return Outcome("AdaBoost", found[best], time.process_time() - began, {"n_estimators": best, **ends})


def _chosen(model: Any) -> dict[str, float]:
    """The hyperparameters that cross-validation chose."""
    found = getattr(model, "best_params_", None) or {"n_estimators": model.n_estimators}
    return {name: float(f"{value:.4g}") for name, value in found.items() if isinstance(value, int | float)}


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


def tables(folder: Path) -> list[StudyTable]:
    """Table 1 as published."""
    doubts = {name: doubt(source, folder, "QuadBoost") for name, source in SETS.items()}
    published = {name: once(*(100 * risk for risk in risks)) for name, risks in PUBLISHED.items()}
    return [StudyTable("Table 1: six algorithms on 25 data sets", "1", ALGORITHMS, published, doubts)]


def page(request: Request, rows: list[Row]) -> str:
    (table,) = tables(request.data)
    pairs = [("QuadBoost", "AdaBoost"), ("QuadBoost-L1", "LPBoost")]
    lines = introduction("QuadBoost", __doc__, rows, request.quick)
    lines += [*table_lines(table, rows), *order_lines(table, rows, pairs, 0.05), *claims(rows), ""]
    again = run_table_2(request, rows) if request.what == "all" else []
    lines += [*time_lines(rows), *longer_lines(rows), *reweighted_lines(rows), *doubt_lines([table])]
    return "\n".join([*lines, "## Table 2", "", *table_2_lines(again), ""])


def time_lines(rows: list[Row]) -> list[str]:
    """The last row of Table 1."""
    head, lines = "mean seconds of a set, on one core, parameters chosen | ours | published | ratio", []
    for name, theirs in zip(ALGORITHMS, PUBLISHED_SECONDS, strict=True):
        mine = [row for row in rows if row.unit.table == "1" and row.outcome.algorithm == name]
        took = [_mean(mine, data, name, "seconds") for data in sorted({row.unit.data for row in mine})]
        if took:
            lines.append([name, f"{np.mean(took):.3f}", f"{theirs:.3f}", f"{theirs / np.mean(took):.1f}"])
    return [*markdown_table(head, lines, "lrrr"), ""] if lines else []


def reweighted_lines(rows: list[Row]) -> list[str]:
    """Errors with and without re-weighting on the splits that were run with both."""
    lines = []
    for algorithm in PENALTY:
        found = {row.unit: 100 * row.outcome.error for row in rows if row.outcome.algorithm == algorithm}
        pairs: dict[str, list[tuple[float, float]]] = {}
        for unit in found:
            if unit.table == REWEIGHTED and unit._replace(table="1") in found:
                pairs.setdefault(unit.data, []).append((found[unit._replace(table="1")], found[unit]))
        if pairs:
            means = np.array([np.mean(both, axis=0) for both in pairs.values()])
            gap = means[:, 1] - means[:, 0]
            record = ", ".join(str(int(np.sum(side))) for side in (gap < -1e-9, np.abs(gap) <= 1e-9, gap > 1e-9))
            ends = *(f"{x:.2f}" for x in means.mean(axis=0)), f"{gap.mean():+.2f}", record
            runs = sum(map(len, pairs.values()))
            lines.append([algorithm, len(pairs), runs, *ends, f"{paired_tests.sign_test(gap):.4f}"])
    text = (
        "Section 3.1 says that it might be advantageous to re-weight voters. Mean test errors in percent without and "
        "with it, each with its own choice of parameters, on the same splits; its wins, ties and losses; sign test."
    )
    head = "algorithm | sets | runs | without | with re-weighting | difference | wins, ties, losses | p"
    table = markdown_table(head, lines, "lrrrrrlr")
    return ["## Re-weighting (section 3.1)", "", text, "", *table, ""] if lines else []


def longer_lines(rows: list[Row]) -> list[str]:
    """AdaBoost with the rounds of the paper, beside the same splits of table 1."""
    found = {row.unit: row.outcome for row in rows if row.outcome.algorithm == "AdaBoost"}
    units = [unit for unit in found if unit.table == LONGER and unit._replace(table="1") in found]
    pairs = [(found[unit._replace(table="1")], found[unit]) for unit in units]
    if not pairs:
        return []
    lines = []
    for unit, both in zip(units, pairs, strict=True):
        cells = [f"{100 * one.error:.2f} ({one.chosen['n_estimators']:,.0f} rounds)" for one in both]
        ends = [f"{100 * both[1].chosen[name]:.2f}" for name in ("after_fewer", "after_most")]
        lines.append([unit.data, unit.split, *cells, *ends, f"{both[1].seconds:.0f}"])
    gaps = {
        "With the number of rounds chosen by cross-validation": [100 * (b.error - a.error) for a, b in pairs],
        "After all rounds": [100 * (b.chosen["after_most"] - b.chosen["after_fewer"]) for _, b in pairs],
    }
    head = "data set | split | at most 10,000 rounds | at most 1,000,000 | after 10,000 | after 1,000,000 | seconds"
    text = (
        "The test error in percent, with the number of rounds that cross-validation chose, and without a choice after "
        "10,000 and 1,000,000 rounds. The rounds are those of `AdaBoostClassifier(Pool())`, in a faster loop."
    )
    body = markdown_table(head, lines, "lrllrrr")
    summary = [_gap_line(name, values) for name, values in gaps.items()]
    return ["## AdaBoost with up to 1,000,000 rounds", "", text, "", *body, "", *summary, ""]


def _gap_line(name: str, gaps: list[float]) -> str:
    error = float(np.std(gaps, ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.nan
    better, worse = (sum(sign * gap > 0 for gap in gaps) for sign in (-1, 1))
    return (
        f"- {name}, 1,000,000 instead of 10,000 change the error by {np.mean(gaps):+.2f} ± {error:.2f} points in the "
        f"mean of {len(gaps)} runs: lower in {better}, the same in {len(gaps) - better - worse}, higher in {worse}."
    )


def table_2_lines(rows: list[Row]) -> list[str]:
    return [
        *quadboost_table2.own_lines(rows),
        "The Poisson binomial test that Table 2 prints, computed from the printed Table 1.",
        "",
        quadboost_table2.report(),
    ]


def claims(every: list[Row]) -> list[str]:
    """What the paper claims about its table: who is no worse than whom, and how much faster."""
    rows = [row for row in every if row.unit.table == "1"]
    names = [name for name in SETS if any(row.unit.data == name for row in rows)]
    if not names:
        return []
    mean = {
        what: np.array([[_mean(rows, name, algorithm, what) for algorithm in ALGORITHMS] for name in names])
        for what in ("error", "seconds")
    }
    theirs = np.array([PUBLISHED[name] for name in names])
    return claim_lines(mean["error"], theirs, mean["seconds"].mean(axis=0))


def _mean(rows: list[Row], name: str, algorithm: str, what: str) -> float:
    mine = [row.outcome for row in rows if row.unit.data == name and row.outcome.algorithm == algorithm]
    return float(np.mean([getattr(one, what) for one in mine]))


def claim_lines(ours: Floats, theirs: Floats, took: Floats) -> list[str]:
    """Both claims of section 4, for our table and for theirs."""
    lines = []
    for one, other in (("QuadBoost", "AdaBoost"), ("QuadBoost-L1", "LPBoost")):
        a, b = ALGORITHMS.index(one), ALGORITHMS.index(other)
        wins = [int(np.sum(table[:, a] <= table[:, b] + 1e-12)) for table in (ours, theirs)]
        faster = [float(seconds[b] / seconds[a]) for seconds in (took, np.array(PUBLISHED_SECONDS))]
        lines.append(
            f"- {one} is no worse than {other} on {wins[0]} of {len(ours)} data sets (published: {wins[1]}), and "
            f"{faster[0]:.1f} times as fast (published: {faster[1]:.1f})."
        )
    return lines
