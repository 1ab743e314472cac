"""The DeepBoost paper (Cortes, Mohri and Syed, "Deep Boosting", ICML 2014), reproduced: Tables 1, 2 and 3, table 1 with
1,000 rounds (here "table 4") and with other readings of the penalty ("table 5"), tables 2 and 3 with one choice of
hyperparameters for all folds ("tables 6 and 7"), DeepBoost with provable complexities ("tables 8, 9 and 10") and with
trees priced by their depth ("tables 13 and 14"), and tables 2 and 3 with 1,000 rounds on the small sets ("tables 11 and
12"): there the stored choice of every fold is fitted again, without a new search.

Protocol (section 4): ten folds; fold i is for testing, fold i + 1 for validation, the others for training; 100 rounds;
the hyperparameters with the lowest validation error. Table 1: stumps and paired stumps, exponential loss. Table 2:
trees of depth 1 to 6, exponential loss. Table 3: the same with the logistic loss. Complexities are the paper's (eq. 7,
8 and 9).

Not stated in the paper, and chosen here: how the folds are drawn (a random permutation), and which of several
candidates with the same validation error is used (the first in the order in which the paper lists the values: for
stumps, from the smallest beta and lam; for trees, from the smallest depth and the largest beta and lam). ocr17 and
ocr49 are surrogates for the paper's sets, so their figures do not reproduce the paper's.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, DeepBoostClassifier, PairedStumps, Stumps, Trees, Union
from electorate.inspection.shapes import tree_sizes
from electorate_studies import deepboost_choice as choice
from electorate_studies import deepboost_complexities as complexities
from electorate_studies import deepboost_figures as figures
from electorate_studies import deepboost_readings as readings
from electorate_studies.binary_sets import BinarySet, Source, doubt, files_of, read_set, with_files
from electorate_studies.pages import (
    Published,
    StudyTable,
    doubt_lines,
    introduction,
    order_lines,
    paired_test_lines,
    table_lines,
)
from electorate_studies.request import Request, markdown_table
from electorate_studies.runs import Outcome, Row, Unit, read_results, results_of

TABLES = {
    "1": "stumps and paired stumps, exponential loss",
    "2": "trees, exponential loss",
    "3": "trees, logistic loss",
}
OFFERS = {f"table {number}": f"errors, sizes and numbers of voters: {what}" for number, what in TABLES.items()}
LONGER, TIMES = "4", 10  # not a table of the paper: section 4 says that 1,000 rounds change nothing
OFFERS[f"table {LONGER}"] = "a check of section 4: the errors of table 1 after 1,000 rounds instead of 100"
OFFERS[f"table {readings.TABLE}"] = "table 1 with other readings of the penalty: errors and numbers of voters"
OFFERS |= {f"table {key}": f"table {table} with one choice for all folds" for key, table in choice.TABLES.items()}
OFFERS |= {
    f"table {key}": f"DeepBoost of table {table} with provable complexities"
    for key, table in complexities.TABLES.items()
}
AGAIN = {"11": "2", "12": "3"}
OFFERS |= {f"table {key}": f"the stored choices of table {table} after 1,000 rounds" for key, table in AGAIN.items()}
OFFERS |= figures.OFFERS
NEEDS_DATA = tuple(OFFERS)
WHOLE = ("all", *figures.OFFERS)
Change = Callable[[DeepBoostClassifier, int], DeepBoostClassifier]  # of a candidate, for so many training rows
FOLDS = 10
SMALL = ("breastcancer", "ionosphere", "german", "diabetes")
LEVEL = 0.02  # of the paper's one-sided paired t-tests
SETS = {
    "breastcancer": Source("breast_w", drop_missing=True),
    "ionosphere": Source("ionosphere"),
    "german": Source("german_numeric"),
    "diabetes": Source("pima"),
    "ocr17": Source("ocr17_surrogate", doubt="other images than the paper's", confidence="surrogate"),
    "ocr49": Source("ocr49_surrogate", doubt="other images than the paper's", confidence="surrogate"),
    "ocr17-mnist": Source("mnist", positive=("7",), negative=("1",), crop=20),
    "ocr49-mnist": Source("mnist", positive=("9",), negative=("4",), crop=20),
}
ALGORITHMS = {
    "1": ("AdaBoost H1", "AdaBoost H2", "AdaBoost-L1", "DeepBoost"),
    "2": ("AdaBoost", "AdaBoost-L1", "DeepBoost"),
    "3": ("LogReg", "LogReg-L1", "DeepBoost"),
    LONGER: ("AdaBoost H1", "AdaBoost H2", "AdaBoost-L1", "DeepBoost"),
}
PUBLISHED = {  # by table and data set: error, its standard deviation over the folds, size, number of voters
    "1": {
        "breastcancer": "0.0429 0.0248 1 100, 0.0437 0.0214 2 100, 0.0408 0.0223 1.436 43.6, 0.0373 0.0225 1.215 21.6",
        "ionosphere": "0.1014 0.0414 1 100, 0.075 0.0413 2 100, 0.0708 0.0331 1.392 39.35, 0.0638 0.0394 1.168 17.45",
        "german": "0.243 0.0445 1 100, 0.2505 0.0487 2 100, 0.2455 0.0438 1.54 54.1, 0.2395 0.0462 1.76 76.5",
        "diabetes": "0.253 0.0330 1 100, 0.260 0.0518 2 100, 0.254 0.04868 1.9975 100, 0.253 0.0510 1.9975 100",
        "ocr17": "0.0085 0.0072 1 100, 0.008 0.0054 2 100, 0.0075 0.0068 1.086 37.8, 0.0070 0.0048 1.369 36.9",
        "ocr49": "0.0555 0.0167 1 100, 0.032 0.0114 2 100, 0.03 0.0122 1.99 99.3, 0.0275 0.0095 1.96 96",
        "ocr17-mnist": "0.0056 0.0017 1 100, 0.0048 0.0014 2 100, 0.0046 0.0013 2 100, 0.0040 0.0014 1.99 100",
        "ocr49-mnist": "0.0414 0.00539 1 100, 0.0209 0.00521 2 100, 0.0200 0.00408 1.9975 100, "
        "0.0177 0.00438 1.9975 100",
    },
    "2": {
        "breastcancer": "0.0267 0.00841 29.1 67.1, 0.0264 0.0098 28.9 51.7, 0.0243 0.00797 20.9 55.9",
        "ionosphere": "0.0661 0.0315 29.8 75.0, 0.0657 0.0257 31.4 69.4, 0.0501 0.0316 26.1 50.0",
        "german": "0.239 0.0165 3 91.3, 0.239 0.0201 7 87.5, 0.234 0.0148 16.0 14.1",
        "diabetes": "0.249 0.0272 3 45.2, 0.240 0.0313 3 28.0, 0.230 0.0399 5.37 19.0",
        "ocr17": "0.004 0.00316 15.0 88.3, 0.003 0.00100 30.4 65.3, 0.002 0.00100 26.0 61.8",
        "ocr49": "0.0180 0.00555 30.9 92.4, 0.0175 0.00357 62.1 89.0, 0.0175 0.00510 30.2 83.0",
        "ocr17-mnist": "0.00471 0.0022 15 88.7, 0.00471 0.0021 33.4 66.8, 0.00409 0.0021 22.1 59.2",
        "ocr49-mnist": "0.0198 0.00500 29.9 82.4, 0.0197 0.00512 66.3 81.1, 0.0182 0.00551 30.1 80.9",
    },
    "3": {
        "breastcancer": "0.0351 0.0101 15 65.3, 0.0264 0.0120 59.9 16.0, 0.0264 0.00876 14.0 23.8",
        "ionosphere": "0.074 0.0236 7 44.7, 0.060 0.0219 30.0 25.3, 0.043 0.0188 18.4 29.5",
        "german": "0.233 0.0114 7 72.8, 0.232 0.0123 7 66.8, 0.225 0.0103 14.4 67.8",
        "diabetes": "0.250 0.0374 3 46.0, 0.246 0.0356 3 45.5, 0.246 0.0356 3 45.5",
        "ocr17": "0.00300 0.00100 15.0 75.3, 0.00400 0.00141 7 53.8, 0.00250 0.000866 22.1 25.8",
        "ocr49": "0.0205 0.00654 31.0 63.5, 0.0200 0.00245 31.0 54.0, 0.0170 0.00361 63.2 37.0",
        "ocr17-mnist": "0.00422 0.00191 15 71.4, 0.00417 0.00188 15 55.6, 0.00399 0.00211 25.9 27.6",
        "ocr49-mnist": "0.0211 0.00412 28.7 79.3, 0.0201 0.00433 33.5 61.7, 0.0201 0.00411 72.8 41.9",
    },
}


@dataclass(frozen=True)
class Grids:
    """What the validation fold chooses from, in the order in which ties are resolved."""

    rounds: int = 100
    stump_betas: tuple[float, ...] = tuple(2.0**-i for i in range(6, -1, -1))
    stump_lams: tuple[float, ...] = (0.0001, 0.005, 0.01, 0.05, 0.1, 0.5)
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    prices: tuple[float, ...] = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # beta, and lam, of trees
    rows: int = 100_000  # the most of a data set


PAPER = Grids()
QUICK = Grids(8, (2.0**-6, 0.5), (0.005, 0.1), (1, 2), (1e-3,), rows=200)


# ---------------------------------------------------------------- candidates


def candidates(table: str, algorithm: str, grids: Grids) -> Iterator[tuple[dict[str, Any], Any]]:
    """Hyperparameters and models of one column of a table."""
    options: dict[str, Any] = {"n_estimators": grids.rounds, "n_jobs": 1}
    if algorithm in ("AdaBoost H1", "AdaBoost H2"):
        yield {}, AdaBoostClassifier(Stumps() if algorithm.endswith("1") else PairedStumps(), **options)
        return
    stumps = table == "1"
    betas = grids.stump_betas if stumps else grids.prices
    lams = grids.stump_lams if stumps else grids.prices
    if algorithm in ("AdaBoost", "LogReg"):
        betas, lams = (0.0,), (0.0,)
    elif algorithm in ("AdaBoost-L1", "LogReg-L1"):
        lams = (0.0,)
    loss = "logistic" if table == "3" else "exponential"
    for depth, beta, lam in product((None,) if stumps else grids.depths, betas, lams):
        family: Any = Union([Stumps(), PairedStumps()]) if depth is None else Trees(depth)
        chosen = {name: value for name, value in (("depth", depth), ("beta", beta), ("lam", lam)) if value}
        yield chosen, DeepBoostClassifier(family, lam=lam, beta=beta, loss=loss, **options)


def run_fold(unit: Unit, folder: Path, grids: Grids, results: Path | None = None) -> list[Outcome]:
    """Fold i tests, fold i + 1 validates, the others train. results: the file of stored choices."""
    data = read_set(SETS[unit.data], folder).first_rows(grids.rows)
    if unit.table in AGAIN and results is not None:
        first = unit._replace(table=AGAIN[unit.table])
        stored = {row.outcome.algorithm: row.outcome.chosen for row in read_results(results) if row.unit == first}
        again = partial(run_algorithm, data, first, grids=replace(grids, rounds=TIMES * grids.rounds))
        return [again(algorithm, only=chosen) for algorithm, chosen in stored.items()]
    if unit.table in choice.TABLES:
        return run_choice(data, unit._replace(table=choice.TABLES[unit.table]), grids)
    if unit.table == readings.TABLE:
        both = product(readings.READINGS.items(), readings.ALGORITHMS)
        unit = unit._replace(table="1")
        found = [
            (name, run_algorithm(data, unit, algorithm, grids, reading.changed)) for (name, reading), algorithm in both
        ]
        return [replace(one, algorithm=readings.named(one.algorithm, name)) for name, one in found]
    if unit.table in complexities.TABLES:
        with_kind = partial(complexities.with_kind, kind=complexities.KINDS[unit.table])
        unit = unit._replace(table=complexities.TABLES[unit.table])
        return [run_algorithm(data, unit, complexities.ALGORITHM, grids, with_kind)]
    if unit.table == LONGER:
        unit, grids = unit._replace(table="1"), replace(grids, rounds=TIMES * grids.rounds)
    return [run_algorithm(data, unit, algorithm, grids) for algorithm in ALGORITHMS[unit.table]]


def run_choice(data: BinarySet, unit: Unit, grids: Grids) -> list[Outcome]:
    """The errors of all candidates of every column of a table."""
    fewer = replace(grids, prices=tuple(price for price in grids.prices if price in choice.PRICES))
    parts = split(len(data.y), unit.split)
    return [
        choice.all_errors(algorithm, candidates(unit.table, algorithm, fewer), data, parts)
        for algorithm in ALGORITHMS[unit.table]
    ]


def run_algorithm(
    data: BinarySet,
    unit: Unit,
    algorithm: str,
    grids: Grids,
    changed: Change | None = None,
    only: dict[str, Any] | None = None,
) -> Outcome:
    """The candidate with the least validation error, of equals the first, and its test error.

    Beside its hyperparameters, `chosen` has its validation error, the number of candidates with the same one (ties),
    their mean test error and that of the last (tied, last), and the least test error of all candidates (least).
    only: a stored choice, instead of all candidates.
    """
    train, validation, test = split(len(data.y), unit.split)
    began = time.process_time()
    judged, best = [], None
    for chosen, offered in candidates(unit.table, algorithm, grids):
        if only is not None and chosen != {name: only[name] for name in ("depth", "beta", "lam") if name in only}:
            continue
        model = changed(offered, len(train)) if changed else offered
        model.fit(data.X[train], data.y[train])
        error, on_test = (float(np.mean(model.predict(data.X[rows]) != data.y[rows])) for rows in (validation, test))
        if best is None or error < min(judged)[0]:
            best = chosen, model, on_test
        judged.append((error, on_test))
    assert best is not None
    least = min(judged)[0]
    tied = [on_test for error, on_test in judged if error == least]
    more: dict[str, float] = {
        "validation": least,
        "ties": len(tied),
        "tied": float(np.mean(tied)),
        "last": tied[-1],
        "least": min(test for _, test in judged),
    }
    seconds = time.process_time() - began
    nodes = tree_sizes(best[1])
    sizes = np.log2(nodes + 1) - 1 if unit.table == "1" else nodes  # Table 1 counts depth, the others all nodes
    chosen = {**best[0], **{name: round(value, 5) for name, value in more.items()}}
    return Outcome(algorithm, best[2], seconds, chosen, float(np.mean(sizes)), float(len(nodes)))


def split(n: int, fold: int) -> list[Any]:
    """Rows that train, validate and test. One permutation, the same for every fold."""
    folds = np.array_split(np.random.default_rng(0).permutation(n), FOLDS)
    test, validation = folds[fold % FOLDS], folds[(fold + 1) % FOLDS]
    train = np.setdiff1d(np.arange(n), np.concatenate([test, validation]))
    return [train, validation, test]


# ---------------------------------------------------------------- the page


def reproduce(request: Request) -> str:
    """For `electorate reproduce deepboost`: runs what is not stored yet and returns the page."""
    if request.what.startswith("figure"):
        return figures.reproduce(request)
    grids = QUICK if request.quick else PAPER
    make = partial(run_fold, folder=request.data, grids=grids, results=request.results("deepboost"))
    return page(request, results_of(request, "deepboost", partial(units, request), make))


def units(request: Request) -> list[Unit]:
    """Every fold of every set, fold by fold."""
    repeats = request.repeats or (1 if request.quick else FOLDS)
    chosen = (
        [request.what.split()[-1]]
        if request.what.startswith("table")
        else [*TABLES, LONGER, readings.TABLE, *choice.TABLES, *complexities.TABLES, *AGAIN]
    )
    names = with_files(request.choose(list(SETS)[1:2] if request.quick else SETS, SETS), files_of(SETS), request)
    every = [Unit(table, name, fold) for fold, name, table in product(range(repeats), names, chosen)]
    return [unit for unit in every if unit.table not in AGAIN or unit.data in SMALL]


def tables(folder: Path) -> list[StudyTable]:
    """The three tables as published."""
    doubts = {name: doubt(source, folder, "DeepBoost") for name, source in SETS.items()}
    return [
        StudyTable(
            f"Table {key}: {what}",
            key,
            ALGORITHMS[key],
            {name: published(text) for name, text in PUBLISHED[key].items()},
            doubts,
        )
        for key, what in TABLES.items()
    ]


def published(text: str) -> tuple[Published, ...]:
    """Errors in percent; the standard error is the printed standard deviation over the root of the folds."""
    found = [[float(number) for number in part.split()] for part in text.split(", ")]
    return tuple(Published(100 * error, 100 * spread / FOLDS**0.5) for error, spread, *_ in found)


def page(request: Request, rows: list[Row]) -> str:
    every = tables(request.data)
    lines = introduction("DeepBoost", __doc__, rows, request.quick)
    for table in every:
        pairs = [("DeepBoost", other) for other in table.algorithms[:-1]]
        lines += [*table_lines(table, rows), *order_lines(table, rows, pairs, LEVEL)]
        lines += [*paired_test_lines(table, rows, pairs, LEVEL), *size_lines(table, rows)]
    other = readings.lines(rows, {name: text.split(", ") for name, text in PUBLISHED["1"].items()})
    other += choice.lines(rows, ALGORITHMS, PUBLISHED)
    other += complexities.lines(rows, SETS, request.data, 1 - 2 / FOLDS)
    return "\n".join([*lines, *longer_lines(rows), *other, *doubt_lines(every)])


def longer_lines(rows: list[Row]) -> list[str]:
    """Errors after ten times the rounds, on the folds that were run with both."""
    errors = {(*row.unit, row.outcome.algorithm): 100 * row.outcome.error for row in rows}
    found = ["## 1,000 rounds (section 4)", ""]
    found += [
        "Errors in percent after 100 / after 1,000 rounds (the difference), on the folds that were run with both.",
        "",
    ]
    for longer, table in {LONGER: "1", **AGAIN}.items():
        algorithms, lines, gaps = ALGORITHMS[table], [], []
        for name in SETS:
            each = [(table, name, fold, "DeepBoost") for fold in range(FOLDS)]
            folds = [key[2] for key in each if key in errors and (longer, *key[1:]) in errors]
            if folds:
                both = np.array([[[errors[t, name, f, a] for f in folds] for a in algorithms] for t in (table, longer)])
                gaps.append(both[1] - both[0])
                means = zip(*both.mean(axis=2), gaps[-1].mean(axis=1), strict=True)
                lines.append(
                    [name, len(folds), *(f"{before:.2f} / {after:.2f} ({gap:+.2f})" for before, after, gap in means)]
                )
        if lines:
            every = np.concatenate(gaps, axis=1)
            spread = every.std(axis=1, ddof=min(1, every.shape[1] - 1)) / every.shape[1] ** 0.5
            lines.append(
                [
                    "all",
                    every.shape[1],
                    *(f"{m:+.2f} ± {e:.2f}" for m, e in zip(every.mean(axis=1), spread, strict=True)),
                ]
            )
            how = "" if longer == LONGER else ": the stored choice of every fold, fitted again"
            found += [
                f"Table {table}{how}",
                "",
                *markdown_table(" | ".join(("data set", "folds", *algorithms)), lines),
                "",
            ]
    return found if len(found) > 4 else []


def size_lines(table: StudyTable, rows: list[Row]) -> list[str]:
    """Sizes and numbers of voters, ours beside the published ones, of the sets that were run."""
    lines = []
    for name, text in PUBLISHED[table.key].items():
        theirs = [part.split()[2:] for part in text.split(", ")]
        cells = []
        for algorithm, (size, voters) in zip(table.algorithms, theirs, strict=True):
            mine = [
                row.outcome for row in rows if row.unit[:2] == (table.key, name) and row.outcome.algorithm == algorithm
            ]
            if mine:
                ours = np.mean([one.size for one in mine]), np.mean([one.voters for one in mine])
                cells.append(f"{ours[0]:.2f} / {size}; {ours[1]:.1f} / {voters}")
        if cells:
            lines.append([name, *cells])
    counts = "Their depth" if table.key == "1" else "All their nodes"
    text = f"Mean size of the voters and their mean number, ours / published. Size: {counts.lower()}."
    return [text, "", *markdown_table(" | ".join(("data set", *table.algorithms)), lines), ""]
