"""The AdaBoost_R paper (Nock and Nielsen, "A Real generalization of discrete AdaBoost", AIJ 2007), reproduced.

Protocol (section 4): rules of at most r = 2 tests, grown by Matsushita's error; 10-fold stratified cross-validation;
discrete AdaBoost (D), AdaBoost_R (U) and real AdaBoost (T) after 10 and 50 rounds. "(2C)" means the first class against
the rest. Section 4.1 adds XD6 with r = 3 after 100 rounds.

Not stated in the paper, and chosen here: the folds, which are drawn again in every repeat; the thresholds, at most 255
per attribute; the rows of LEDeven, LEDeven+17, XD6 and Parity, which are drawn again in every repeat (the printed
errors determine how many); the number of bits of Parity. Columns that DATASETS.json lists as categories are tested for
one value against the others. Echocardio is used without survival and alive_at_1, which are known only after the label.
"""

import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from electorate import AdaBoostClassifier, AdaBoostRClassifier, RealAdaBoostClassifier, Rules
from electorate_studies import adaboost_r_figures as curves
from electorate_studies import figures
from electorate_studies.binary_sets import BinarySet, Simulated, doubts, files_of, read_set, sets_of, with_files
from electorate_studies.pages import TIED, StudyTable, cells_of, doubt_lines, introduction, once, table_lines
from electorate_studies.request import PAPERS, Request, markdown_table, paragraphs, text
from electorate_studies.runs import Outcome, Row, Unit, read_results, results_of

OFFERS = PAPERS["adaboost_r"]["offers"]
NEEDS_DATA = ("figure 4",)
FIRST_CURVES = 5  # figures and tables from this number on are in adaboost_r_figures
WHOLE = (*(what for what in OFFERS if what != "figure 4"), "all")  # the page counts the curves of the figures
MODELS = {"D": AdaBoostClassifier, "U": AdaBoostRClassifier, "T": RealAdaBoostClassifier}
ROUNDS = (10, 50)
DOMAINS = sets_of("adaboost_r")
PRINTED = PAPERS["adaboost_r"]["published"]
FIGURE_4 = PRINTED["4"]  # errors in percent: D, U, T after 10 rounds, then after 50
COUNTS = {what: tuple(PRINTED[what]) for what in ("best", "second", "worst")}
LARGER = PRINTED["4.1"]  # r = 3, T = 100
ALGORITHMS = tuple(f"{name}, T = {rounds}" for rounds in ROUNDS for name in MODELS)
LARGER_ALGORITHMS = tuple(f"{name}, T = 100" for name in MODELS)
TABLES = {"4": (2, ROUNDS), "4.1": (3, (100,))}  # r, and T


@dataclass(frozen=True)
class Plan:
    """folds, and the share of the paper's rounds that is run."""

    folds: int = 10
    share: float = 1.0
    repeats: int = 5


PAPER = Plan()
QUICK = Plan(folds=3, share=0.1, repeats=1)


# ---------------------------------------------------------------- one cross-validation


def rows_of(name: str, folder: Path, seed: int) -> BinarySet:
    domain = DOMAINS[name]
    if isinstance(domain, Simulated):
        return domain.draw(seed)
    return read_set(domain, folder)


def cross_validate(unit: Unit, folder: Path, plan: Plan) -> list[Outcome]:
    """The three algorithms in the same folds; one fit gives both numbers of rounds."""
    max_terms, rounds = TABLES[unit.table]
    data = rows_of(unit.data, folder, unit.split)
    folds = list(StratifiedKFold(plan.folds, shuffle=True, random_state=unit.split).split(data.y, data.y))
    outcomes = []
    for name, kind in MODELS.items():
        began = time.process_time()
        errors = np.zeros(len(rounds))
        for train, test in folds:
            model = kind(Rules(max_terms), n_estimators=round(plan.share * max(rounds)), n_jobs=1)
            errors += stage_errors(model, data.take(train), data.take(test), [plan.share * one for one in rounds])
        seconds = time.process_time() - began
        found = zip(rounds, (errors / len(folds)).tolist(), strict=True)
        outcomes += [Outcome(f"{name}, T = {number}", error, seconds) for number, error in found]
    return outcomes


def stage_errors(model: Any, train: BinarySet, test: BinarySet, rounds: list[float]) -> Any:
    """Test errors after so many rounds; where a model ended before, those of its last."""
    model.fit(train.X, train.y)
    stages = [np.mean(predicted != test.y) for predicted in model.staged_predict(test.X)]
    stages = stages or [np.mean(model.predict(test.X) != test.y)]
    return np.array([stages[min(round(number), len(stages)) - 1] for number in rounds])


# ---------------------------------------------------------------- the page


def reproduce(request: Request) -> str:
    """For `electorate reproduce adaboost_r`: runs what is not stored yet and returns the page."""
    if request.what not in NEEDS_DATA and request.what != "all":
        return (figures if request.number < FIRST_CURVES else curves).reproduce(request, "AdaBoost_R")
    make = partial(cross_validate, folder=request.data, plan=QUICK if request.quick else PAPER)
    return page(request, results_of(request, "adaboost_r", partial(units, request), make))


def units(request: Request) -> list[Unit]:
    """Repeat by repeat, so that an unfinished run has some of every domain."""
    repeats = request.repeats or (QUICK if request.quick else PAPER).repeats
    names = request.choose(["Monks1", "XD6"] if request.quick else DOMAINS, DOMAINS)
    names = with_files(names, files_of(DOMAINS), request)
    places = [("4", name) for name in names] + [("4.1", name) for name in names if name in LARGER]
    return [Unit(*place, repeat) for repeat, place in product(range(repeats), places)]


def tables(folder: Path) -> list[StudyTable]:
    """Figure 4, and the experiment of section 4.1."""
    known = doubts(DOMAINS, folder, "AdaBoost_R")
    figure, larger = ({name: once(*errors) for name, errors in of.items()} for of in (FIGURE_4, LARGER))
    return [
        StudyTable("Figure 4: 25 domains, r = 2", "4", ALGORITHMS, figure, known),
        StudyTable("Section 4.1: XD6, r = 3", "4.1", LARGER_ALGORITHMS, larger, known),
    ]


def page(request: Request, rows: list[Row]) -> str:
    every = tables(request.data)
    lines = introduction("AdaBoost_R", __doc__, rows, request.quick)
    lines += [*table_lines(every[0], rows), *count_lines(every[0], rows), *time_lines(rows)]
    held = curves.claim_lines(read_results(request.results("adaboost_r-figures")))
    lines += [*table_lines(every[1], rows), "## Figures 5 and 6: how many curves are as the paper says", "", *held]
    return "\n".join([*lines, *doubt_lines(every)])


def count_lines(figure: StudyTable, rows: list[Row]) -> list[str]:
    """How often each algorithm is best, second and worst, of equals all, beside the last rows of Figure 4."""
    cells = cells_of(figure, rows)
    domains = [name for name in figure.published if any(cell.data == name and cell.errors for cell in cells)]
    errors = {
        "ours": np.array([[cell.mean for cell in cells if cell.data == name] for name in domains]),
        "from the printed errors": np.array([FIGURE_4[name] for name in domains]),
    }
    lines = []
    for whose, found in errors.items():
        if len(found):
            halves = found.reshape(len(found), len(ROUNDS), len(MODELS))
            best, worst = (
                np.abs(halves - end) < TIED for end in (halves.min(2, keepdims=True), halves.max(2, keepdims=True))
            )
            for what, mask in (("best", best), ("second", ~best & ~worst), ("worst", worst)):
                lines.append([what, whose, *mask.sum(axis=0).ravel().tolist()])
    lines += [[what, "printed", *numbers] for what, numbers in COUNTS.items()]
    head = " | ".join(("counts", f"{len(domains)} domains", *figure.algorithms))
    return [*markdown_table(head, lines), ""]


def time_lines(rows: list[Row]) -> list[str]:
    """The claim on running times: real AdaBoost takes more than 100 times as long as the other two."""
    took = [[row.outcome.seconds for row in rows if row.outcome.algorithm == f"{name}, T = 50"] for name in MODELS]
    if not all(took):
        return []
    discrete, ours, real = (float(np.mean(found)) for found in took)
    return paragraphs(text("times of adaboost_r", real=real / discrete, ours=ours / discrete))
