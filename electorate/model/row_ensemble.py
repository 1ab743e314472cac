"""What stands for the ensemble where voters look at whole rows: each is asked for every row, and put on the grid.

Where the family can write its voters as arrays, the model has a digest and a file like any other.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.grid import LONGEST, UNITS
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import Cast
from electorate.modelfile import Contents, require
from electorate.voters.by_rows import Always, Hearing

OWN_ARRAYS = {"steps": ("<f8", (None,)), "rounds": ("<i4", (None,)), "about": ("<i4", (None,))}


class RowEnsemble(ForeignEnsemble):
    """A committee of voters by rows."""

    def __init__(self, runs: list[list[Cast]], hearing: Hearing, n_columns: int, family: Any) -> None:
        super().__init__(runs, hearing, n_columns)  # type: ignore[arg-type]
        self.family = family

    def staged_votes(self, X: Any) -> Iterator[tuple[int, NDArray[np.int64]]]:
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for voter in range(self.n_voters):
            said = np.rint(self.steps[voter] * self.fitted[voter].outputs(X) * UNITS).astype(np.int64)
            votes[max(self.about[voter], 0)] += said
            if voter + 1 == self.n_voters or self.rounds[voter + 1] > self.rounds[voter]:
                yield voter + 1, votes

    def importances(self) -> NDArray[np.float64]:
        """The share of the steps that rests on each column; a voter's own is split over those it looks at."""
        total = np.zeros(self.n_columns)
        for fitted, step in zip(self.fitted, np.abs(self.steps), strict=True):
            if not isinstance(fitted, Always):
                columns = _columns_of(fitted)
                np.add.at(total, columns, step / len(columns))
        return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"steps": self.steps, "rounds": self.rounds, "about": self.about, **self.family.pack(self.fitted)}

    @classmethod
    def read(cls, contents: Contents, family: Any, classes: NDArray[Any], n_columns: int) -> "RowEnsemble":
        """From a model file, checked; ValueError where it does not fit."""
        types = OWN_ARRAYS | family.array_types
        arrays = {name: np.array(require(contents, name, *kind)) for name, kind in types.items()}
        row_ensemble = cls([[]], Hearing(classes, "log_odds", ""), n_columns, family)
        row_ensemble.fitted = family.unpack({name: arrays[name] for name in family.array_types}, n_columns)
        row_ensemble.steps, row_ensemble.rounds, row_ensemble.about = arrays["steps"], arrays["rounds"], arrays["about"]
        row_ensemble.n_outputs = 1 if len(classes) == 2 else len(classes)
        row_ensemble._check(len(classes))
        return row_ensemble

    def _check(self, n_classes: int) -> None:
        n = len(self.steps)
        if not (len(self.fitted) == len(self.rounds) == len(self.about) == n):
            raise ValueError("steps do not fit the voters")
        if n and (self.rounds[0] != 1 or not np.all(np.isin(np.diff(self.rounds), (0, 1)))):
            raise ValueError("rounds do not count up from 1")
        lowest = -1 if n_classes == 2 else 0
        highest = -1 if n_classes == 2 else n_classes - 1
        if not np.all((self.about >= lowest) & (self.about <= highest)) or (n_classes == 1 and n):
            raise ValueError("a voter is about no class")
        with np.errstate(over="ignore"):
            reach = np.abs(self.steps).sum()  # voters say -1 to 1
        if not (np.all(np.isfinite(self.steps)) and reach < LONGEST):
            raise ValueError("the votes are too large")


def _columns_of(voter: Any) -> list[int]:
    columns = getattr(voter, "columns", None)
    if columns is None:
        raise AttributeError(f"{type(voter).__name__} looks at all columns at once: it has no feature importances")
    return list(columns)
