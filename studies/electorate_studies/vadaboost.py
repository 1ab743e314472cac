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
from dataclasses import dataclass
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
from electorate_studies import figures, pages
from electorate_studies.binary_sets import BinarySet, Source, doubts, entry, files_of, read_set, sets_of, with_files
from electorate_studies.request import PAPERS, Request, markdown_table, paragraphs, text
from electorate_studies.runs import Outcome, Row, Unit, by_algorithm, results_of

TABLES = {"1": "stumps", "2": "CART"}
# Table 2 with larger trees. The paper does not state their size: table 2 has the one whose errors of AdaBoost are
# closest to the printed ones. Without a limit trees take long: five splits of the smaller data sets.
LARGER_TREES = {"3": "3 splits on a path", "4": "no limit"}
TREES = {"2": "2 splits", **LARGER_TREES}
UNLIMITED = ("abalone", "image", "ringnorm", "spambase", "splice", "waveform", "wine", "wisc")
UNLIMITED_SPLITS = 5
LARGER = "5"  # not a table of the paper: section 3 says that restricting lam to [0, 1] changes nothing
LARGER_LAMS, ABOVE = (1.5, 2.0, 4.0, 8.0, 16.0), "EBBoost, lam > 1"
OFFERS = PAPERS["vadaboost"]["offers"]
NEEDS_DATA = tuple(what for what in OFFERS if what != "figure 1")
WHOLE = ("all", "figure 1", "figure 2")
FAMILIES: dict[str, Any] = {"1": Stumps(), LARGER: Stumps()}
FAMILIES |= {key: Trees(splits, min_samples_split=10) for key, splits in (("2", 2), ("3", 3), ("4", 20))}
BOOSTERS = {"AdaBoost": AdaBoostClassifier, "EBBoost": EBBoostClassifier, "VadaBoost": VadaBoostClassifier}
ALGORITHMS = {
    "1": ("AdaBoost", "EBBoost", "VadaBoost", "RLP-Boost", "RQP-Boost"),
    **dict.fromkeys("23", ("AdaBoost", "VadaBoost", "RLP-Boost", "RQP-Boost")),
    "4": ("AdaBoost", "VadaBoost"),
}
SETS = sets_of("vadaboost")
PUBLISHED = PAPERS["vadaboost"]["published"]  # error and standard error in percent, in the order of ALGORITHMS
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


# Splits: the paper's, of sets of at least LARGE rows, and of RLPBoost and RQPBoost above LARGE_FOR_PROGRAMS rows.
SPLITS, OF_LARGE, OF_PROGRAMS = 50, 10, 5
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
    if "RLP-Boost" in algorithms and (len(data.y) <= LARGE_FOR_PROGRAMS or unit.split < OF_PROGRAMS):
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
        return figures.reproduce(request, "VadaBoost")
    make = partial(run_split, folder=request.data, grids=QUICK if request.quick else PAPER)
    return page(request, results_of(request, "vadaboost", partial(units, request), make))


def units(request: Request) -> list[Unit]:
    """Split by split, so that an unfinished run has some of every set."""
    chosen = [request.what.split()[-1]] if request.what.startswith("table") else list(FAMILIES)
    names = with_files(request.choose(["wisc"] if request.quick else SETS, SETS), files_of(SETS), request)
    most = {name: request.repeats or (1 if request.quick else repeats(SETS[name], request.data)) for name in names}
    every = product(range(max(most.values(), default=0)), chosen, names)
    found = [Unit(table, name, split) for split, table, name in every if split < most[name]]
    return [unit for unit in found if unit.table != "4" or (unit.data in UNLIMITED and unit.split < UNLIMITED_SPLITS)]


def repeats(source: Source, folder: Path) -> int:
    rows = entry(source.file, folder).get("n_rows") or len(read_set(source, folder).y)
    return SPLITS if min(rows, source.most or LARGE) < LARGE else OF_LARGE


def tables(folder: Path) -> list[pages.StudyTable]:
    """Both tables as published."""
    known = doubts(SETS, folder, "VadaBoost")
    printed = {key: {name: published(text) for name, text in PUBLISHED[key].items()} for key in TABLES}
    return [
        pages.StudyTable(f"Table {key}: {TABLES[key]}", key, ALGORITHMS[key], printed[key], known) for key in TABLES
    ]


def published(text: str) -> tuple[pages.Published, ...]:
    found = [[float(number) for number in part.split()] for part in text.split(", ")]
    return tuple(pages.Published(error, max(spread, ROUNDED)) for error, spread in found)


def page(request: Request, rows: list[Row]) -> str:
    every = tables(request.data)
    lines = pages.introduction("VadaBoost", __doc__, rows, request.quick)
    for table in every:
        pairs = [(name, "AdaBoost") for name in table.algorithms[1:]]
        lines += [*pages.table_lines(table, rows), *pages.order_lines(table, rows, pairs, LEVEL)]
        lines += pages.lowest_lines(table, rows, LEVEL)
    lines += cart_lines(rows, every[-1].published)
    return "\n".join([*lines, *larger_lines(rows), *pages.doubt_lines(every)])


def cart_lines(rows: list[Row], published: dict[str, tuple[pages.Published, ...]]) -> list[str]:
    """Errors of AdaBoost and VadaBoost by the size of the trees, and their differences. published: of table 2."""
    found = by_algorithm(rows)
    if not any(table in LARGER_TREES for table, _, _ in found):
        return []
    errors = {key: 100 * np.array([one.error for one in of.values()]) for key, of in found.items()}
    both = ("AdaBoost", "VadaBoost")
    body, summary = [], []
    for name, printed in published.items():
        cells = [[errors.get((table, name, algorithm)) for algorithm in both] for table in TREES]
        means = [" / ".join(pages.NOT_RUN if one is None else f"{one.mean():.2f}" for one in cell) for cell in cells]
        body.append([name, *means, " / ".join(f"{one.mean:.2f}" for one in printed[:2])])
    for table, title in TREES.items():
        names = [name for name in published if (table, name, "AdaBoost") in errors]
        each = [[errors[table, name, a].mean() - published[name][k].mean for name in names] for k, a in enumerate(both)]
        gaps = np.array([pages.paired_difference(rows, table, name, "VadaBoost", "AdaBoost") for name in names])
        shown = ["-"] * 5
        if names:
            error = math.sqrt(sum(gaps[:, 1] ** 2)) / len(gaps)
            shown = [*(f"{np.abs(one).mean():.2f}" for one in each), *(f"{np.mean(one):+.2f}" for one in each)]
            shown.append(pages.plus_minus(f"{gaps[:, 0].mean():+.2f}", error))
        summary.append([title, len(names), *shown, pages.record(gaps[:, 0] if names else [])])
    titles = (
        "trees | data sets | mean absolute difference to the published error: AdaBoost | VadaBoost | "
        "difference of the means: AdaBoost | VadaBoost | VadaBoost - AdaBoost: mean | wins, ties, losses"
    )
    head = " | ".join(("AdaBoost / VadaBoost: data set", *TREES.values(), "published"))
    tables = markdown_table(head, body), markdown_table(titles, summary, "lrrrrrrr")
    return paragraphs("## Table 2 with other sizes of CART", text("cart", splits=UNLIMITED_SPLITS), *tables)


def any_lam(rows: list[Row]) -> dict[str, list[tuple[Outcome, Outcome]]]:
    """By data set, EBBoost on the splits that were run with lam above 1: lam of at most 1, and the better of both.

    The better has the lower validation error; of equals, lam of at most 1.
    """
    found, pairs = by_algorithm(rows), dict[str, list[tuple[Outcome, Outcome]]]()
    for name in SETS:
        usual, above = found.get(("1", name, "EBBoost"), {}), found.get((LARGER, name, ABOVE), {})
        both = [(usual[k], above[k]) for k in above if k in usual]
        if both:
            pairs[name] = [(a, b if b.chosen["validation"] < a.chosen["validation"] else a) for a, b in both]
    return pairs


def larger_lines(rows: list[Row]) -> list[str]:
    """Whether lam above 1 changes EBBoost's errors."""
    lines = []
    for name, pairs in any_lam(rows).items():
        errors = 100 * np.array([[one.error for one in both] for both in pairs])
        mean, error, splits = pages.mean_and_error(errors[:, 1] - errors[:, 0])
        ends = [f"{one:.2f}" for one in errors.mean(axis=0)]
        above = sum(free.chosen["lam"] > 1 for _, free in pairs)
        lines.append([name, splits, f"{above} of {splits}", *ends, pages.plus_minus(f"{mean:+.2f}", error)])
    about = text("lam above 1", lams=", ".join(f"{lam:g}" for lam in LARGER_LAMS))
    head = "data set | splits | lam above 1 chosen | lam at most 1 | any lam | difference"
    table = markdown_table(head, lines, "lrrrrr")
    return paragraphs("## EBBoost with lam above 1", about, table) if lines else []
