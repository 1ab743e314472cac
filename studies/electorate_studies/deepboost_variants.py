"""Tables of the DeepBoost paper with something else than the paper says, where its printed numbers suggest it.

One choice of hyperparameters for all folds ("tables 6 and 7": tables 2 and 3). Section 4 says that every run uses the
hyperparameters with the lowest error on its own validation fold. But the mean tree sizes that the paper prints are
often exactly 3, 7 or 15, as if all ten runs had used the same depth. Here the errors of all candidates are stored, and
the choice is that with the fewest validation errors in all folds. To save time, beta and lam have two values.

Other readings of the penalty ("table 5": table 1). Eq. 4 adds Lambda |alpha| to the mean of the losses, and Figure 2
lets the earlier voters compete in every round. With both, fewer voters have a weight after 100 rounds than the paper
prints. The readings: Lambda |alpha| is added to the sum of the losses ("sum"), or earlier voters do not compete and
every round adds a voter ("new"), or both.

Other complexities than those of eq. 7 (stumps), 8 (paired stumps) and 9 (trees): provable ones ("tables 8, 9 and 10":
tables 1, 2 and 3), Massart's sqrt(2 log N / m) for the number N of labelings of m rows, and those of trees by their
depth ("tables 13 and 14": tables 2 and 3). Section 4 may also be read so that the family of a tree is that of all trees
of its depth k, of VC dimension (2^k + 1) log2(d + 1).
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from electorate import DeepBoostClassifier, Union
from electorate.inspection import tree_sizes
from electorate.theory import complexity
from electorate_studies.binary_sets import BinarySet, Source, file_of, read_set
from electorate_studies.pages import mean_and_error, plus_minus
from electorate_studies.request import Floats, Ints, markdown_table, paragraphs, text
from electorate_studies.runs import Outcome, Row, by_algorithm

READ = "5"
CHOICES = {"6": "2", "7": "3"}
COMPLEXITIES = {"8": "1", "9": "2", "10": "3", "13": "2", "14": "3"}


# ---------------------------------------------------------------- one choice for all folds

PRICES = (1e-3, 1e-6)  # beta, and lam


def all_errors(algorithm: str, offered: Iterable[tuple[Any, Any]], data: BinarySet, parts: Sequence[Ints]) -> Outcome:
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


def common_choice(outcomes: Iterable[Outcome]) -> CommonChoice:
    errors = np.array([one.chosen["candidates"] for one in outcomes], dtype=float)  # [fold, candidate, what]
    rows = np.array([one.chosen["rows"][1] for one in outcomes])
    test = (errors[:, :, 1] / rows[:, None]).mean(axis=0)
    best = int(np.argmin(errors[:, :, 0].sum(axis=0)))
    size, voters = errors[:, best, 2:].mean(axis=0)
    return CommonChoice(best, float(test[best]), float(size), float(voters), float(test.min()))


def choice_lines(
    rows: Iterable[Row], algorithms: dict[str, tuple[str, ...]], published: dict[str, dict[str, str]]
) -> list[str]:
    """Errors by both choices beside the published ones, of the sets that were run."""
    found, tables = by_algorithm(rows), []
    for key, table in CHOICES.items():
        body, errors = [], []
        for name, printed in published[table].items():
            each = [list(found.get((key, name, algorithm), {}).values()) for algorithm in algorithms[table]]
            if all(each):
                compared = [_compared(*pair) for pair in zip(each, printed.split(", "), strict=True)]
                body.append([name, len(each[0]), *(cell for cell, _ in compared)])
                errors.append([figures for _, figures in compared])
        if body:
            means = [" / ".join(f"{x:.2f}" for x in figures) for figures in np.mean(errors, axis=0)]
            head = " | ".join((f"Table {table}: data set", "folds", *algorithms[table]))
            tables.append(markdown_table(head, [*body, ["mean of the errors", "", *means]]))
    return paragraphs("## Tables 2 and 3 with one choice for all folds", text("one choice"), *tables) if tables else []


def _compared(outcomes: list[Outcome], printed: str) -> tuple[str, list[float]]:
    once, (error, _, size, voters) = common_choice(outcomes), printed.split()
    each = float(np.mean([one.error for one in outcomes]))
    figures = [100 * one for one in (each, once.error, once.lowest, float(error))]
    shown = " / ".join(f"{figure:.2f}" for figure in figures)
    return f"{shown}; {once.size:.1f} / {size}; {once.voters:.1f} / {voters}", figures


# ---------------------------------------------------------------- other readings of the penalty

READ_BY = ("AdaBoost-L1", "DeepBoost")


class NewVoters:
    """DeepBoost with exponential loss, without lines 5 to 7 of Figure 2: every round adds the best new voter.

    A round is a run of one round on weighted examples: with the weights exp(-y f) of the votes so far and Lambda over
    their mean, F is that of Figure 2 divided by this mean. It ends where no voter is worth its penalty.
    """

    def __init__(self, model: DeepBoostClassifier) -> None:
        self.model = model
        self.rounds: list[Any] = []

    def fit(self, X: Floats, y: Ints) -> "NewVoters":
        by_family = [complexity.published_stumps(*X.shape), complexity.published_paired_stumps(*X.shape)]
        is_union, sign, votes = isinstance(self.model.estimator, Union), np.where(y == y.max(), 1, -1), np.zeros(len(y))
        for _ in range(self.model.n_estimators):
            loss = np.exp(-sign * votes)
            prices = {name: getattr(self.model, name) / loss.mean() for name in ("lam", "beta")}
            one = clone(self.model).set_params(n_estimators=1, complexity=by_family[: 1 + is_union], **prices)
            one.fit(X, y, sample_weight=loss)
            if self.rounds and not len(one.steps_):
                break
            self.rounds.append(one)
            votes += one.decision_function(X)
            if one.stop_reason_ != "n_estimators":
                break
        return self

    def predict(self, X: Floats) -> Any:
        votes = sum(one.decision_function(X) for one in self.rounds)
        return self.rounds[0].classes_[(votes > 0).astype(int)] if len(self.rounds) > 1 else self.rounds[0].predict(X)

    def sizes(self) -> Ints:
        """The nodes of every voter."""
        return np.concatenate([tree_sizes(one) for one in self.rounds])


@dataclass(frozen=True)
class Reading:
    """total: the penalty is added to the sum of the losses. new: earlier voters do not compete."""

    total: bool
    new: bool

    def changed(self, model: DeepBoostClassifier, n: int) -> Any:
        """The model by this reading. n: training rows."""
        share = n if self.total else 1
        changed = clone(model).set_params(lam=model.lam / share, beta=model.beta / share)
        return NewVoters(changed) if self.new else changed


READINGS = {"sum": Reading(True, False), "new": Reading(False, True), "sum, new": Reading(True, True)}


def named(algorithm: str, reading: str) -> str:
    """An algorithm in the CSV file."""
    return f"{algorithm} ({reading})"


def reading_lines(rows: Iterable[Row], published: dict[str, str]) -> list[str]:
    """Errors and numbers of voters by every reading, on the folds that were run with all. published: by data set."""
    found, tables = by_algorithm(rows), []
    for column, algorithm in zip((-2, -1), READ_BY, strict=True):
        body = []
        for name, printed in published.items():
            keys = [("1", name, algorithm), *((READ, name, named(algorithm, reading)) for reading in READINGS)]
            each = [found.get(key, {}) for key in keys]
            folds = [fold for fold in each[1] if fold in each[0]]
            if folds:
                error, _, _, voters = printed.split(", ")[column].split()
                means = [np.mean([[of[k].error, of[k].voters] for k in folds], axis=0) for of in each]
                cells = [f"{100 * mean:.2f}; {count:.1f}" for mean, count in means]
                body.append([name, len(folds), *cells, f"{100 * float(error):.2f}; {voters}"])
        head = " | ".join((f"{algorithm}: data set", "folds", "mean", *READINGS, "published"))
        tables += [markdown_table(head, body)] if body else []
    return paragraphs("## Table 1 with other readings of the penalty", text("readings"), *tables) if tables else []


# ---------------------------------------------------------------- other complexities

KINDS = {key: "depth" if key in ("13", "14") else "provable" for key in COMPLEXITIES}
SPLITS = {"trees, 1 split": 1, "trees, 7 splits": 7, "trees, 63 splits": 63}


def with_complexity(model: DeepBoostClassifier, n: int, kind: str = "provable") -> DeepBoostClassifier:
    """The model with complexities of this kind; n, the number of rows, is not needed."""
    changed: DeepBoostClassifier = clone(model).set_params(complexity=kind)
    return changed


def values(n: int, d: int) -> dict[str, tuple[float, float]]:
    """r of each family for n rows and d columns of numbers: by the paper, and provable."""
    shape = complexity.Shape(numeric=d)
    pairs = {
        "stumps": (complexity.published_stumps(n, d), complexity.log_stumps(n, shape)),
        "paired stumps": (complexity.published_paired_stumps(n, d), complexity.log_paired_stumps(n, shape)),
    }
    for name, splits in SPLITS.items():
        pairs[name] = complexity.published_trees(n, d, splits), complexity.log_trees(n, shape, splits)
    return {name: (published, complexity.massart(n, log_count)) for name, (published, log_count) in pairs.items()}


def complexity_lines(rows: Iterable[Row], sources: dict[str, Source], folder: Path, train_share: float) -> list[str]:
    """The values of r for the data sets that were run, and errors with both kinds on the common folds."""
    found, tables, body = by_algorithm(rows), [], []
    names = [name for name in sources if any((key, name, "DeepBoost") in found for key in COMPLEXITIES)]
    for key, table in COMPLEXITIES.items():
        each = {name: [found.get((one, name, "DeepBoost"), {}) for one in (table, key)] for name in names}
        lines = [[name, *line] for name, both in each.items() if (line := compared_folds(*both))]
        other = f"/ {KINDS[key]} r"
        head = f"Table {table}: data set | folds | error: paper's r {other} | difference | voters: paper's r {other} | "
        tables += [markdown_table(f"{head}size: paper's r {other}", lines)] if lines else []
    if not tables:
        return []
    for name in (one for one in names if file_of(sources[one].file, folder)):
        n, d = read_set(sources[name], folder).X.shape
        n = round(train_share * n)
        body.append([name, n, d, *(f"{one:.3f} / {other:.3f}" for one, other in values(n, d).values())])
    first = markdown_table(" | ".join(("data set", "rows", "columns", *values(100, 2))), body, "lrr")
    return paragraphs("## DeepBoost with other complexities", text("complexities"), first, *tables)


def compared_folds(usual: dict[int, Outcome], other: dict[int, Outcome]) -> list[object]:
    """The number of common folds, errors, their difference, voters and sizes; empty without common folds."""
    folds = [fold for fold in other if fold in usual]
    if not folds:
        return []
    each = [[[100 * of[k].error, of[k].voters, of[k].size] for k in folds] for of in (usual, other)]
    figures = np.array(each)  # [which, fold, what]
    mean, error, n = mean_and_error(figures[1, :, 0] - figures[0, :, 0])
    (a, b) = figures.mean(axis=1)
    errors, voters, sizes = f"{a[0]:.2f} / {b[0]:.2f}", f"{a[1]:.1f} / {b[1]:.1f}", f"{a[2]:.2f} / {b[2]:.2f}"
    return [n, errors, plus_minus(f"{mean:+.2f}", error), voters, sizes]
