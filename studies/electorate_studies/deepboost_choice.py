"""Tables 2 and 3 of the DeepBoost paper with one choice of hyperparameters for all folds (here "tables 6 and 7").

Section 4 says that every run uses the hyperparameters with the lowest error on its own validation fold. But the mean
tree sizes that the paper prints are often exactly 3, 7 or 15, as if all ten runs had used the same depth. Here the
errors of all candidates are stored, and the choice is that with the fewest validation errors in all folds. To save
time, beta and lam have two values instead of five.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate.inspection.shapes import tree_sizes
from electorate_studies.binary_sets import BinarySet
from electorate_studies.request import markdown_table
from electorate_studies.runs import Outcome, Row

TABLES = {"6": "2", "7": "3"}
PRICES = (1e-3, 1e-6)  # beta, and lam
Candidates = Iterable[tuple[dict[str, Any], Any]]


def all_errors(algorithm: str, offered: Candidates, data: BinarySet, parts: Sequence[NDArray[np.int64]]) -> Outcome:
    """The outcome of the fold's own choice. `chosen` has the numbers of errors, sizes and voters of all candidates."""
    train, validation, test = parts
    began = time.process_time()
    found = []
    for _, model in offered:
        model.fit(data.X[train], data.y[train])
        wrong = [int(np.sum(model.predict(data.X[rows]) != data.y[rows])) for rows in (validation, test)]
        sizes = tree_sizes(model)
        found.append([*wrong, round(float(np.mean(sizes)), 2), len(sizes)])
    best = min(found, key=lambda one: one[0])
    every = {"rows": [len(validation), len(test)], "candidates": found}
    return Outcome(algorithm, best[1] / len(test), time.process_time() - began, every, best[2], best[3])


class CommonChoice(NamedTuple):
    """The candidate with the fewest validation errors in all folds, of equals the first.

    best: its number. lowest: the lowest mean test error of all candidates.
    """

    best: int
    error: float
    size: float
    voters: float
    lowest: float


def common_choice(outcomes: Sequence[Outcome]) -> CommonChoice:
    errors = np.array([one.chosen["candidates"] for one in outcomes], dtype=float)  # [fold, candidate, what]
    rows = np.array([one.chosen["rows"][1] for one in outcomes])
    test = (errors[:, :, 1] / rows[:, None]).mean(axis=0)
    best = int(np.argmin(errors[:, :, 0].sum(axis=0)))
    size, voters = errors[:, best, 2:].mean(axis=0)
    return CommonChoice(best, float(test[best]), float(size), float(voters), float(test.min()))


def lines(
    rows: Sequence[Row], algorithms: dict[str, tuple[str, ...]], published: dict[str, dict[str, str]]
) -> list[str]:
    """Errors by both choices beside the published ones, of the sets that were run."""
    result: list[str] = []
    for key, table in TABLES.items():
        body, errors = [], []
        for name, text in published[table].items():
            figures = [part.split() for part in text.split(", ")]
            each = [
                [row.outcome for row in rows if row.unit[:2] == (key, name) and row.outcome.algorithm == algorithm]
                for algorithm in algorithms[table]
            ]
            if all(each):
                compared = [_compared(*pair) for pair in zip(each, figures, strict=True)]
                body.append([name, len(each[0]), *(cell for cell, _ in compared)])
                errors.append([numbers for _, numbers in compared])
        if body:
            means = np.mean(errors, axis=0)
            body.append(["mean of the errors", "", *(" / ".join(f"{x:.2f}" for x in numbers) for numbers in means)])
            head = " | ".join((f"Table {table}: data set", "folds", *algorithms[table]))
            result += [*markdown_table(head, body), ""]
    text = (
        "Error in percent: chosen in every fold / chosen once for all folds, by all validation errors / the lowest "
        "of all candidates on the test rows / published. Then the mean size of the trees and their number: chosen once "
        "/ published. beta and lam have two of their five values."
    )
    return ["## Tables 2 and 3 with one choice for all folds", "", text, "", *result] if result else []


def _compared(outcomes: Sequence[Outcome], figures: list[str]) -> tuple[str, list[float]]:
    once = common_choice(outcomes)
    each = float(np.mean([one.error for one in outcomes]))
    numbers = [100 * error for error in (each, once.error, once.lowest, float(figures[0]))]
    shown = " / ".join(f"{number:.2f}" for number in numbers)
    return f"{shown}; {once.size:.1f} / {figures[2]}; {once.voters:.1f} / {figures[3]}", numbers
