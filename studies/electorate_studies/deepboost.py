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
from electorate.inspection import tree_sizes
from electorate_studies import deepboost_variants as variants
from electorate_studies import figures, pages
from electorate_studies.binary_sets import BinarySet, doubts, files_of, read_set, sets_of, with_files
from electorate_studies.deepboost_variants import CHOICES, COMPLEXITIES, READINGS
from electorate_studies.request import PAPERS, Request, markdown_table, paragraphs
from electorate_studies.runs import Outcome, Row, Unit, by_algorithm, read_results, results_of

TABLES = {
    "1": "stumps and paired stumps, exponential loss",
    "2": "trees, exponential loss",
    "3": "trees, logistic loss",
}
LONGER, TIMES = "4", 10  # not a table of the paper: section 4 says that 1,000 rounds change nothing
AGAIN = {"11": "2", "12": "3"}
OFFERS = PAPERS["deepboost"]["offers"]
NEEDS_DATA = tuple(OFFERS)
WHOLE = ("all", "figure 3", "figure 4")
Change = Callable[[DeepBoostClassifier, int], Any]  # of a candidate, for so many training rows
FOLDS = 10
SMALL = ("breastcancer", "ionosphere", "german", "diabetes")
LEVEL = 0.02  # of the paper's one-sided paired t-tests
SETS = sets_of("deepboost")
ALGORITHMS = {
    **dict.fromkeys(("1", LONGER), ("AdaBoost H1", "AdaBoost H2", "AdaBoost-L1", "DeepBoost")),
    "2": ("AdaBoost", "AdaBoost-L1", "DeepBoost"),
    "3": ("LogReg", "LogReg-L1", "DeepBoost"),
}
# By table and data set: error, its standard deviation over the folds, size, number of voters of every algorithm.
PUBLISHED = PAPERS["deepboost"]["published"]


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
    of_table = {**AGAIN, **CHOICES, **COMPLEXITIES, variants.READ: "1", LONGER: "1"}.get(unit.table, unit.table)
    usual = unit._replace(table=of_table)
    algorithms, longer = ALGORITHMS[of_table], replace(grids, rounds=TIMES * grids.rounds)
    if unit.table in AGAIN and results is not None:
        stored = {row.outcome.algorithm: row.outcome.chosen for row in read_results(results) if row.unit == usual}
        return [run_algorithm(data, usual, algorithm, longer, only=chosen) for algorithm, chosen in stored.items()]
    if unit.table in CHOICES:
        return run_choice(data, usual, grids)
    if unit.table == variants.READ:
        found = []
        for (name, reading), algorithm in product(READINGS.items(), variants.READ_BY):
            one = run_algorithm(data, usual, algorithm, grids, reading.changed)
            found.append(replace(one, algorithm=variants.named(algorithm, name)))
        return found
    if unit.table in COMPLEXITIES:
        changed = partial(variants.with_complexity, kind=variants.KINDS[unit.table])
        return [run_algorithm(data, usual, "DeepBoost", grids, changed)]
    return [run_algorithm(data, usual, one, longer if unit.table == LONGER else grids) for one in algorithms]


def run_choice(data: BinarySet, unit: Unit, grids: Grids) -> list[Outcome]:
    """The errors of all candidates of every column of a table."""
    fewer = replace(grids, prices=tuple(price for price in grids.prices if price in variants.PRICES))
    parts = split(len(data.y), unit.split)
    return [
        variants.all_errors(algorithm, candidates(unit.table, algorithm, fewer), data, parts)
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
    judged: list[tuple[float, float]] = []
    best: Any = None
    for chosen, offered in candidates(unit.table, algorithm, grids):
        if only is not None and chosen != {name: only[name] for name in ("depth", "beta", "lam") if name in only}:
            continue
        model = changed(offered, len(train)) if changed else offered
        model.fit(data.X[train], data.y[train])
        error, on_test = (float(np.mean(model.predict(data.X[rows]) != data.y[rows])) for rows in (validation, test))
        if best is None or error < min(judged)[0]:
            best = chosen, model, on_test
        judged.append((error, on_test))
    least = min(judged)[0]
    tied = [on_test for error, on_test in judged if error == least]
    tests = [on_test for _, on_test in judged]
    more = {"validation": least, "ties": len(tied), "tied": float(np.mean(tied)), "last": tied[-1], "least": min(tests)}
    seconds = time.process_time() - began
    nodes = best[1].sizes() if isinstance(best[1], variants.NewVoters) else tree_sizes(best[1])
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
        return figures.reproduce(request, "DeepBoost")
    grids = QUICK if request.quick else PAPER
    make = partial(run_fold, folder=request.data, grids=grids, results=request.results("deepboost"))
    return page(request, results_of(request, "deepboost", partial(units, request), make))


def units(request: Request) -> list[Unit]:
    """Every fold of every set, fold by fold."""
    repeats = request.repeats or (1 if request.quick else FOLDS)
    chosen = [*TABLES, LONGER, variants.READ, *CHOICES, *COMPLEXITIES, *AGAIN]
    if request.what.startswith("table"):
        chosen = [request.what.split()[-1]]
    names = with_files(request.choose(list(SETS)[1:2] if request.quick else SETS, SETS), files_of(SETS), request)
    every = [Unit(table, name, fold) for fold, name, table in product(range(repeats), names, chosen)]
    return [unit for unit in every if unit.table not in AGAIN or unit.data in SMALL]


def tables(folder: Path) -> list[pages.StudyTable]:
    """The three tables as published."""
    known = doubts(SETS, folder, "DeepBoost")
    printed = {key: {name: published(text) for name, text in PUBLISHED[key].items()} for key in TABLES}
    return [
        pages.StudyTable(f"Table {key}: {TABLES[key]}", key, ALGORITHMS[key], printed[key], known) for key in TABLES
    ]


def published(text: str) -> tuple[pages.Published, ...]:
    """Errors in percent; the standard error is the printed standard deviation over the root of the folds."""
    found = [[float(number) for number in part.split()] for part in text.split(", ")]
    return tuple(pages.Published(100 * error, 100 * spread / FOLDS**0.5) for error, spread, *_ in found)


def page(request: Request, rows: list[Row]) -> str:
    every = tables(request.data)
    lines = pages.introduction("DeepBoost", __doc__, rows, request.quick)
    for table in every:
        pairs = [("DeepBoost", other) for other in table.algorithms[:-1]]
        lines += [*pages.table_lines(table, rows), *pages.order_lines(table, rows, pairs, LEVEL)]
        lines += [*pages.paired_test_lines(table, rows, pairs, LEVEL), *size_lines(table, rows)]
    other = variants.reading_lines(rows, PUBLISHED["1"]) + variants.choice_lines(rows, ALGORITHMS, PUBLISHED)
    other += variants.complexity_lines(rows, SETS, request.data, 1 - 2 / FOLDS)
    return "\n".join([*lines, *longer_lines(rows), *other, *pages.doubt_lines(every)])


def longer_lines(rows: list[Row]) -> list[str]:
    """Errors after ten times the rounds, on the folds that were run with both."""
    found = by_algorithm(rows)
    parts: list[str | list[str]] = []
    for longer, table in {LONGER: "1", **AGAIN}.items():
        lines, gaps = [], []
        for name in SETS:
            each = [[found.get((t, name, a), {}) for a in ALGORITHMS[table]] for t in (table, longer)]
            folds = [fold for fold in each[1][-1] if fold in each[0][-1]]
            if folds:
                both = np.array([[[100 * one[fold].error for fold in folds] for one in of] for of in each])
                gaps.append(both[1] - both[0])
                means = zip(*both.mean(axis=2), gaps[-1].mean(axis=1), strict=True)
                cells = (f"{before:.2f} / {after:.2f} ({gap:+.2f})" for before, after, gap in means)
                lines.append([name, len(folds), *cells])
        if lines:
            every = np.concatenate(gaps, axis=1)
            n = every.shape[1]
            spread = every.std(axis=1, ddof=min(1, n - 1)) / n**0.5
            ends = zip(every.mean(axis=1), spread, strict=True)
            lines.append(["all", n, *(f"{mean:+.2f} ± {error:.2f}" for mean, error in ends)])
            how = "" if longer == LONGER else ": the stored choice of every fold, fitted again"
            head = " | ".join(("data set", "folds", *ALGORITHMS[table]))
            parts += [f"Table {table}{how}", markdown_table(head, lines)]
    text = "Errors in percent after 100 / after 1,000 rounds (the difference), on the folds that were run with both."
    return paragraphs("## 1,000 rounds (section 4)", text, *parts) if parts else []


def size_lines(table: pages.StudyTable, rows: list[Row]) -> list[str]:
    """Sizes and numbers of voters, ours beside the published ones, of the sets that were run."""
    lines, found = [], by_algorithm(rows)
    for name, text in PUBLISHED[table.key].items():
        cells = []
        for algorithm, part in zip(table.algorithms, text.split(", "), strict=True):
            of, (size, voters) = found.get((table.key, name, algorithm), {}).values(), part.split()[2:]
            if of:
                ours = np.mean([[one.size, one.voters] for one in of], axis=0)
                cells.append(f"{ours[0]:.2f} / {size}; {ours[1]:.1f} / {voters}")
        if cells:
            lines.append([name, *cells])
    counts = "their depth" if table.key == "1" else "all their nodes"
    text = f"Mean size of the voters and their mean number, ours / published. Size: {counts}."
    return paragraphs(text, markdown_table(" | ".join(("data set", *table.algorithms)), lines))
