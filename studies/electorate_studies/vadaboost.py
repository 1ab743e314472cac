"""The VadaBoost paper (Shivaswamy and Jebara, "Variance Penalizing AdaBoost", NIPS 2011), reproduced: Tables 1 and 2,
table 2 with other sizes of CART (here "tables 3 and 4"), and EBBoost with lam above 1 (here "table 5").

Protocol (section 6): random splits into 50% training, 25% validation and 25% test rows; MNIST and musk are reduced to
5,000 rows. AdaBoost, EBBoost and VadaBoost run until the validation error has not improved for 100 rounds. RLPBoost and
RQPBoost re-weight AdaBoost's voters. Every hyperparameter has the value with the lowest validation error.

Not stated in the paper, and chosen here: the grids; the round that is used (the one with the lowest validation error;
AdaBoost's error 100 rounds later, at the end, is stored as `at_end`); the size of CART's trees (at most 2 splits on a
path, which fits the printed errors of AdaBoost better than 3 and than unpruned trees; nodes with fewer than 10 rows are
not split); which rows of a larger set are drawn. Of several candidates with the same validation error, the first is
used. The paper repeats every split 50 times; the tables show how many splits of each set were run here.
"""

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from electorate import (
    AdaBoostClassifier,
    EBBoostClassifier,
    RLPBoostClassifier,
    RQPBoostClassifier,
    Stumps,
    Trees,
    VadaBoostClassifier,
)
from electorate_studies import vadaboost_cart as cart
from electorate_studies import vadaboost_figures as figures
from electorate_studies.binary_sets import BinarySet, Source, doubt, entry, files_of, read_set, with_files
from electorate_studies.pages import (
    Published,
    StudyTable,
    doubt_lines,
    introduction,
    lowest_lines,
    order_lines,
    paired_difference,
    table_lines,
)
from electorate_studies.request import Request, markdown_table
from electorate_studies.runs import Outcome, Row, Unit, results_of

TABLES = {"1": "stumps", "2": "CART"}
OFFERS = {f"table {number}": f"test errors with {voters}, 18 data sets" for number, voters in TABLES.items()}
OFFERS |= {f"table {number}": f"table 2 with larger trees: {size}" for number, size in cart.TABLES.items()}
LARGER = "5"  # not a table of the paper: section 3 says that restricting lam to [0, 1] changes nothing
LARGER_LAMS, ABOVE, ANY = (1.5, 2.0, 4.0, 8.0, 16.0), "EBBoost, lam > 1", "EBBoost, any lam"
OFFERS[f"table {LARGER}"] = "a check of section 3: EBBoost of table 1 with lam above 1"
OFFERS |= figures.OFFERS
NEEDS_DATA = tuple(OFFERS)
WHOLE = ("all", *figures.OFFERS)
FAMILIES = {
    "1": Stumps(),
    LARGER: Stumps(),
    **{key: Trees(splits, min_samples_split=10) for key, splits in cart.SIZES.items()},
}
BOOSTERS = {"AdaBoost": AdaBoostClassifier, "EBBoost": EBBoostClassifier, "VadaBoost": VadaBoostClassifier}
ALGORITHMS = {
    "1": ("AdaBoost", "EBBoost", "VadaBoost", "RLP-Boost", "RQP-Boost"),
    "2": ("AdaBoost", "VadaBoost", "RLP-Boost", "RQP-Boost"),
    "3": ("AdaBoost", "VadaBoost", "RLP-Boost", "RQP-Boost"),
    "4": ("AdaBoost", "VadaBoost"),
}


def digits(negative: str, positive: str) -> Source:
    return Source("mnist", (positive,), (negative,), most=5000)


IMAGE = "cement, path and window against the rest: of three partitions tried the one nearest to the printed error"
RINGNORM = (
    "400 rows, drawn anew in every split: the printed standard errors allow no more; with 7,400 rows the error is 3%"
)
SETS = {
    "a5a": Source("a5a"),
    "abalone": Source("abalone", above=9, categories=True),
    "image": Source("segment", ("cement", "path", "window"), doubt=IMAGE),
    "mushrooms": Source("mushroom", one_hot=True),
    "musk": Source("musk2", most=5000),
    "mnist09": digits("0", "9"),
    "mnist14": digits("1", "4"),
    "mnist27": digits("2", "7"),
    "mnist38": digits("3", "8"),
    "mnist56": digits("5", "6"),
    "ringnorm": Source("ringnorm", most=400, doubt=RINGNORM, confidence="medium"),
    "spambase": Source("spambase"),
    "splice": Source("splice_libsvm"),
    "twonorm": Source("twonorm"),
    "w4a": Source("w4a"),
    "waveform": Source("waveform_ida"),
    "wine": Source("winequality_white", above=5),
    "wisc": Source("breast_w"),
}
PUBLISHED = {  # by table and data set: error and standard error in percent, in the order of ALGORITHMS
    "1": {
        "a5a": "16.15 0.1, 16.05 0.1, 16.22 0.1, 16.21 0.1, 16.04 0.1",
        "abalone": "21.64 0.2, 21.52 0.2, 21.63 0.2, 22.29 0.2, 21.79 0.2",
        "image": "3.37 0.1, 3.14 0.1, 3.14 0.1, 3.18 0.1, 3.09 0.1",
        "mushrooms": "0.02 0.0, 0.02 0.0, 0.01 0.0, 0.01 0.0, 0.00 0.0",
        "musk": "3.84 0.1, 3.51 0.1, 3.59 0.1, 3.60 0.1, 3.41 0.1",
        "mnist09": "0.89 0.0, 0.85 0.0, 0.84 0.0, 0.98 0.0, 0.88 0.0",
        "mnist14": "0.64 0.0, 0.58 0.0, 0.60 0.0, 0.68 0.0, 0.63 0.0",
        "mnist27": "2.11 0.1, 1.86 0.1, 2.01 0.1, 2.06 0.1, 1.95 0.1",
        "mnist38": "4.45 0.1, 4.12 0.1, 4.32 0.1, 4.51 0.1, 4.25 0.1",
        "mnist56": "2.79 0.1, 2.56 0.1, 2.62 0.1, 2.77 0.1, 2.72 0.1",
        "ringnorm": "13.16 0.6, 11.74 0.6, 12.46 0.6, 13.02 0.6, 12.86 0.6",
        "spambase": "5.90 0.1, 5.64 0.1, 5.78 0.1, 5.81 0.1, 5.75 0.1",
        "splice": "8.83 0.2, 8.33 0.1, 8.48 0.1, 8.55 0.2, 8.47 0.1",
        "twonorm": "3.16 0.1, 2.98 0.1, 3.09 0.1, 3.29 0.1, 3.07 0.1",
        "w4a": "2.60 0.1, 2.38 0.1, 2.50 0.1, 2.44 0.1, 2.36 0.1",
        "waveform": "10.99 0.1, 10.96 0.1, 10.75 0.1, 10.95 0.1, 10.60 0.1",
        "wine": "23.62 0.2, 23.52 0.2, 23.41 0.1, 24.16 0.1, 23.61 0.1",
        "wisc": "5.32 0.3, 4.38 0.2, 5.00 0.2, 4.96 0.3, 4.72 0.3",
    },
    "2": {
        "a5a": "17.59 0.2, 17.16 0.1, 18.24 0.1, 17.99 0.1",
        "abalone": "21.87 0.2, 21.30 0.2, 22.16 0.2, 21.84 0.2",
        "image": "1.93 0.1, 1.98 0.1, 1.99 0.1, 1.95 0.1",
        "mushrooms": "0.01 0.0, 0.01 0.0, 0.02 0.0, 0.01 0.0",
        "musk": "2.36 0.1, 2.07 0.1, 2.40 0.1, 2.29 0.1",
        "mnist09": "0.73 0.0, 0.72 0.0, 0.76 0.0, 0.71 0.0",
        "mnist14": "0.52 0.0, 0.50 0.0, 0.55 0.0, 0.52 0.0",
        "mnist27": "1.31 0.0, 1.24 0.0, 1.32 0.0, 1.29 0.0",
        "mnist38": "1.89 0.1, 1.72 0.1, 1.88 0.1, 1.87 0.1",
        "mnist56": "1.23 0.1, 1.17 0.0, 1.20 0.0, 1.19 0.1",
        "ringnorm": "7.94 0.4, 7.78 0.4, 8.60 0.5, 7.84 0.4",
        "spambase": "6.14 0.1, 5.76 0.1, 6.25 0.1, 6.03 0.1",
        "splice": "4.02 0.1, 3.67 0.1, 4.03 0.1, 3.97 0.1",
        "twonorm": "3.40 0.1, 3.27 0.1, 3.50 0.1, 3.38 0.1",
        "w4a": "2.90 0.1, 2.90 0.1, 2.90 0.1, 2.90 0.1",
        "waveform": "11.09 0.1, 10.59 0.1, 11.11 0.1, 10.82 0.1",
        "wine": "21.94 0.2, 21.18 0.2, 22.44 0.2, 22.18 0.2",
        "wisc": "4.61 0.2, 4.18 0.2, 4.63 0.2, 4.37 0.2",
    },
}
LEVEL = 0.01  # of the paper's paired t-tests
ROUNDED = 0.05  # the largest standard error that is printed as 0.0


@dataclass(frozen=True)
class Grids:
    """What the validation rows choose from; ours, since the paper gives no grids.

    Attributes
    ----------
    lams : of VadaBoost and EBBoost
    nus : of RLPBoost: about this share of the rows may fall short of the margin; C = 1 / (nu n)
    prices : C of RQPBoost
    patience, most : rounds without a drop of the validation error, and all rounds at most
    rows : the most of a data set
    """

    lams: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    nus: tuple[float, ...] = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    prices: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    patience: int = 100
    most: int = 2000
    rows: int = 10_000


PAPER = Grids()
QUICK = Grids((0.0, 0.5), (0.1,), (0.1,), 5, 15, 200)


@dataclass(frozen=True)
class Plan:
    """Splits: the paper's, of sets of at least 1,000 rows, and of RLPBoost and RQPBoost above 2,000 rows."""

    paper: int = 50
    large: int = 10
    programs: int = 5


PLAN = Plan()
LARGE, LARGE_FOR_PROGRAMS = 1000, 2000


# ---------------------------------------------------------------- one split


@dataclass(frozen=True)
class Parts:
    """Training, validation and test rows of one split, and which voters are boosted."""

    train: BinarySet
    validation: BinarySet
    test: BinarySet
    family: Any
    grids: Grids

    def error(self, model: Any, rows: BinarySet) -> float:
        return float(np.mean(model.predict(rows.X) != rows.y))

    def stopped(self, model: Any) -> Any:
        """Fit until the validation error has not dropped for so many rounds."""
        model.set_params(early_stopping=True, scoring="error", n_iter_no_change=self.grids.patience)
        given = {"X_val": self.validation.X, "y_val": self.validation.y}
        return model.fit(self.train.X, self.train.y, **given)


def parts_of(data: BinarySet, unit: Unit, grids: Grids) -> Parts:
    order = np.random.default_rng(unit.split).permutation(len(data.y))
    train, validation, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    return Parts(data.take(train), data.take(validation), data.take(test), FAMILIES[unit.table], grids)


def run_split(unit: Unit, folder: Path, grids: Grids) -> list[Outcome]:
    """All algorithms of a table. RLPBoost and RQPBoost share AdaBoost's voters, those of all rounds it was run."""
    source = SETS[unit.data]
    data = read_set(source, folder).first_rows(min(grids.rows, source.most or grids.rows), unit.split)
    parts = parts_of(data, unit, grids)
    if unit.table == LARGER:
        make = partial(EBBoostClassifier, parts.family, n_estimators=grids.most, n_jobs=1)
        return [choose(ABOVE, "lam", {lam: partial(make, lam=lam) for lam in LARGER_LAMS}, parts, stops=True)]
    outcomes, adaboost = run_adaboost(parts)
    algorithms = ALGORITHMS[unit.table]
    for algorithm in algorithms[1:]:
        if algorithm not in BOOSTERS:
            continue
        kind = BOOSTERS[algorithm]
        options: dict[str, Any] = {"n_estimators": grids.most, "n_jobs": 1}
        models = {lam: partial(kind, parts.family, lam=lam, **options) for lam in grids.lams}
        outcomes.append(choose(algorithm, "lam", models, parts, stops=True))
    if "RLP-Boost" in algorithms and (len(data.y) <= LARGE_FOR_PROGRAMS or unit.split < PLAN.programs):
        given: dict[str, Any] = {"ensemble": adaboost, "n_jobs": 1, "tol": 1e-6}
        linear = {nu: partial(RLPBoostClassifier, nu=nu, **given) for nu in grids.nus}
        quadratic = {price: partial(RQPBoostClassifier, C=price, **given) for price in grids.prices}
        outcomes.append(choose("RLP-Boost", "nu", linear, parts, stops=False))
        outcomes.append(choose("RQP-Boost", "C", quadratic, parts, stops=False))
    return outcomes


def run_adaboost(parts: Parts) -> tuple[list[Outcome], Any]:
    """AdaBoost at its best round, and the model of all rounds."""
    began = time.process_time()
    model = parts.stopped(AdaBoostClassifier(parts.family, n_estimators=parts.grids.most, n_jobs=1))
    seconds = time.process_time() - began
    rounds = min(parts.grids.most, model.best_round_ + parts.grids.patience)
    every = AdaBoostClassifier(parts.family, n_estimators=rounds, n_jobs=1).fit(parts.train.X, parts.train.y)
    at_end = round(parts.error(every, parts.test), 5)
    chosen = {"rounds": model.best_round_, "at_end": at_end}
    return [Outcome("AdaBoost", parts.error(model, parts.test), seconds, chosen, voters=len(model.steps_))], every


def choose(algorithm: str, name: str, models: dict[float, Any], parts: Parts, stops: bool) -> Outcome:
    """Take the value with the least validation error, of equals the first. stops: whether to stop by that error too."""
    began = time.process_time()
    best: Any = None
    for value, make in models.items():
        model = make()
        fitted = parts.stopped(model) if stops else model.fit(parts.train.X, parts.train.y)
        error = parts.error(fitted, parts.validation)
        if best is None or error < best[0]:
            best = error, value, fitted
    error, value, fitted = best
    chosen = {name: value, "validation": round(error, 5)} | ({"rounds": fitted.best_round_} if stops else {})
    seconds = time.process_time() - began
    return Outcome(algorithm, parts.error(fitted, parts.test), seconds, chosen, voters=len(fitted.steps_))


# ---------------------------------------------------------------- the page


def reproduce(request: Request) -> str:
    """For `electorate reproduce vadaboost`: runs what is not stored yet and returns the page."""
    if request.what.startswith("figure"):
        return figures.reproduce(request)
    make = partial(run_split, folder=request.data, grids=QUICK if request.quick else PAPER)
    return page(request, results_of(request, "vadaboost", partial(units, request), make))


def units(request: Request) -> list[Unit]:
    """Split by split, so that an unfinished run has some of every set."""
    chosen = [request.what.split()[-1]] if request.what.startswith("table") else list(FAMILIES)
    names = with_files(request.choose(["wisc"] if request.quick else SETS, SETS), files_of(SETS), request)
    most = {name: request.repeats or (1 if request.quick else repeats(SETS[name], request.data)) for name in names}
    every = product(range(max(most.values(), default=0)), chosen, names)
    found = [Unit(table, name, split) for split, table, name in every if split < most[name]]
    return [unit for unit in found if unit.table != "4" or _unlimited(unit)]


def _unlimited(unit: Unit) -> bool:
    """Whether a split is run without a limit on the size of the trees."""
    return unit.data in cart.UNLIMITED and unit.split < cart.UNLIMITED_SPLITS


def repeats(source: Source, folder: Path) -> int:
    rows = entry(source.file, folder).get("n_rows") or len(read_set(source, folder).y)
    return PLAN.paper if min(rows, source.most or LARGE) < LARGE else PLAN.large


def tables(folder: Path) -> list[StudyTable]:
    """Both tables as published."""
    doubts = {name: doubt(source, folder, "VadaBoost") for name, source in SETS.items()}
    return [
        StudyTable(
            f"Table {key}: {voters}",
            key,
            ALGORITHMS[key],
            {name: published(text) for name, text in PUBLISHED[key].items()},
            doubts,
        )
        for key, voters in TABLES.items()
    ]


def published(text: str) -> tuple[Published, ...]:
    found = [[float(number) for number in part.split()] for part in text.split(", ")]
    return tuple(Published(error, max(spread, ROUNDED)) for error, spread in found)


def page(request: Request, rows: list[Row]) -> str:
    every = tables(request.data)
    lines = introduction("VadaBoost", __doc__, rows, request.quick)
    for table in every:
        pairs = [(name, "AdaBoost") for name in table.algorithms[1:]]
        lines += [*table_lines(table, rows), *order_lines(table, rows, pairs, LEVEL)]
        lines += lowest_lines(table, rows, LEVEL)
    lines += cart.lines(rows, every[-1].published)
    return "\n".join([*lines, *larger_lines(rows), *doubt_lines(every)])


def with_any_lam(rows: list[Row]) -> list[Row]:
    """EBBoost on the splits that were run with lam above 1: with lam of at most 1, and the better by validation."""
    below = {row.unit: row for row in rows if row.outcome.algorithm == "EBBoost"}
    found = []
    for row in rows:
        usual = below.get(row.unit._replace(table="1"))
        if row.outcome.algorithm == ABOVE and usual:
            best = row if row.outcome.chosen["validation"] < usual.outcome.chosen["validation"] else usual
            found += [
                replace(usual, unit=row.unit),
                replace(best, unit=row.unit, outcome=replace(best.outcome, algorithm=ANY)),
            ]
    return found


def larger_lines(rows: list[Row]) -> list[str]:
    """Whether lam above 1 changes EBBoost's errors."""
    both, lines = with_any_lam(rows), []
    for name in SETS:
        mean, error, splits = paired_difference(both, LARGER, name, ANY, "EBBoost")
        if splits:
            mine = [row.outcome for row in both if row.unit.data == name]
            usual, free = ([one for one in mine if one.algorithm == which] for which in ("EBBoost", ANY))
            ends = [f"{100 * np.mean([one.error for one in some]):.2f}" for some in (usual, free)]
            above = sum(one.chosen["lam"] > 1 for one in free)
            gap = f"{mean:+.2f}" + ("" if math.isnan(error) else f" ± {error:.2f}")
            lines.append([name, splits, f"{above} of {splits}", *ends, gap])
    text = (
        "Section 3: restricting lam to [0, 1] does not significantly change the results. EBBoost with stumps: the "
        "errors of Table 1, and those with lam also from "
        f"{', '.join(f'{lam:g}' for lam in LARGER_LAMS)}, by the lowest validation error, of equals lam of at most 1."
    )
    head = "data set | splits | lam above 1 chosen | lam at most 1 | any lam | difference"
    return ["## EBBoost with lam above 1", "", text, "", *markdown_table(head, lines, "lrrrrr"), ""] if lines else []
