"""Other readings of DeepBoost's penalty, for table 1 of the paper (here "table 5").

Eq. 4 adds Lambda |alpha| to the mean of the losses, and Figure 2 lets the earlier voters compete in every round. With
both, fewer voters have a weight after 100 rounds than the paper prints. The readings: Lambda |alpha| is added to the
sum of the losses ("sum"), or earlier voters do not compete and every round adds a voter ("new"), or both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate import DeepBoostClassifier
from electorate.families.deepboost_search import DeepBoostSearch
from electorate_studies.request import markdown_table
from electorate_studies.runs import Row

TABLE = "5"  # not a table of the paper
ALGORITHMS = ("AdaBoost-L1", "DeepBoost")


class NewVotersSearch(DeepBoostSearch):
    """Only new voters compete; one that is found again is one more voter. Without a worthwhile one the run ends."""

    def _old(self, search: Any) -> list[Any]:
        return []

    def _follow(self, past: Any) -> None:
        super()._follow(past)
        self.numbers.clear()


class NewVotersClassifier(DeepBoostClassifier):
    """DeepBoost without lines 5 to 7 of Figure 2."""

    def _searching(self, bench: Any, booster: Any, past: Any) -> DeepBoostSearch:
        usual = super()._searching(bench, booster, past)
        return NewVotersSearch(bench.family, booster, usual.prices, usual.closed)


@dataclass(frozen=True)
class Reading:
    """total: the penalty is added to the sum of the losses. new: earlier voters do not compete."""

    total: bool
    new: bool

    def changed(self, model: DeepBoostClassifier, n: int) -> DeepBoostClassifier:
        """The model by this reading. n: training rows."""
        options = model.get_params(deep=False)
        if self.total:
            options |= {"lam": model.lam / n, "beta": model.beta / n}
        return (NewVotersClassifier if self.new else DeepBoostClassifier)(**options)


READINGS = {"sum": Reading(True, False), "new": Reading(False, True), "sum, new": Reading(True, True)}


def named(algorithm: str, reading: str) -> str:
    """An algorithm in the CSV file."""
    return f"{algorithm} ({reading})"


def lines(rows: Sequence[Row], published: dict[str, list[str]]) -> list[str]:
    """Errors and numbers of voters by every reading, on the folds that were run with all. published: by data set,
    for every column of table 1, the error, its deviation, the size and the number of voters."""
    found = {(*row.unit, row.outcome.algorithm): row.outcome for row in rows}
    text = (
        "Error in percent; number of voters. `mean` is the paper's penalty (Table 1 above, the same folds). `sum`: the "
        "penalty is added to the sum of the losses instead of their mean. `new`: earlier voters do not compete, and "
        "every round adds a voter, until none is worth its penalty. The published figures are means of all folds."
    )
    result = ["## Table 1 with other readings of the penalty", "", text, ""]
    for column, algorithm in zip((-2, -1), ALGORITHMS, strict=True):
        body = []
        for name, figures in published.items():
            folds = sorted(unit for (table, data, unit, _) in found if (table, data) == (TABLE, name))
            folds = [fold for fold in dict.fromkeys(folds) if ("1", name, fold, algorithm) in found]
            if folds:
                keys = [("1", algorithm), *((TABLE, named(algorithm, reading)) for reading in READINGS)]
                each = [[found[table, name, fold, label] for fold in folds] for table, label in keys]
                error, _, _, voters = figures[column].split()
                cells = [_shown(outcomes) for outcomes in each]
                body.append([name, len(folds), *cells, f"{100 * float(error):.2f}; {voters}"])
        head = " | ".join((f"{algorithm}: data set", "folds", "mean", *READINGS, "published"))
        result += [*markdown_table(head, body), ""] if body else []
    return result if len(result) > 4 else []


def _shown(outcomes: Sequence[Any]) -> str:
    error, voters = (np.mean([getattr(one, what) for one in outcomes]) for what in ("error", "voters"))
    return f"{100 * error:.2f}; {voters:.1f}"
