"""Ensembles of voters by rows: columns, sections of a kernel, or a family of the user's.

Where the family can write its voters as arrays, the model has a digest and a file like any other.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.grid import LONGEST
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import Cast
from electorate.modelfile import Contents, expect, require
from electorate.voters.by_rows import Always, RowVoterReader

OWN_ARRAYS = {"steps": ("<f8", (None,)), "rounds": ("<i4", (None,)), "about": ("<i4", (None,))}


class RowEnsemble(ForeignEnsemble):
    """Voters by rows, with the family that made them."""

    def __init__(self, runs: list[list[Cast]], reader: RowVoterReader, n_columns: int, family: Any) -> None:
        super().__init__(runs, reader, n_columns)  # type: ignore[arg-type]
        self.family = family

    def outputs(self, voter: int, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.fitted[voter].outputs(X))[None]

    def importances(self) -> NDArray[np.float64]:
        """The share of the steps that rests on each column; a voter's step is split over its columns."""
        total = np.zeros(self.n_columns)
        for fitted, step in zip(self.fitted, np.abs(self.steps), strict=True):
            if isinstance(fitted, Always):
                continue
            columns = getattr(fitted, "columns", None)
            if columns is None:
                raise AttributeError(f"{type(fitted).__name__} uses all columns at once: it has no feature importances")
            np.add.at(total, list(columns), step / len(columns))
        return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"steps": self.steps, "rounds": self.rounds, "about": self.about, **self.family.pack(self.fitted)}

    @classmethod
    def read(cls, contents: Contents, family: Any, classes: NDArray[Any], n_columns: int) -> "RowEnsemble":
        """From a model file, checked; ValueError where it does not fit."""
        types = OWN_ARRAYS | family.array_types
        arrays = {name: np.array(require(contents, name, *kind)) for name, kind in types.items()}
        made = cls([[]], RowVoterReader(classes, "log_odds", ""), n_columns, family)
        made.fitted = family.unpack({name: arrays[name] for name in family.array_types}, n_columns)
        made.steps, made.rounds, made.about = arrays["steps"], arrays["rounds"], arrays["about"]
        made.n_outputs = 1 if len(classes) == 2 else len(classes)
        made._check(len(classes))
        return made

    def _check(self, n_classes: int) -> None:
        n = len(self.steps)
        expect(len(self.fitted) == len(self.rounds) == len(self.about) == n, "steps do not fit the voters")
        in_turn = n == 0 or (self.rounds[0] == 1 and np.all(np.isin(np.diff(self.rounds), (0, 1))))
        expect(bool(in_turn), "rounds do not count up from 1")
        lowest, highest = (-1, -1) if n_classes == 2 else (0, n_classes - 1)
        inside = bool(np.all((self.about >= lowest) & (self.about <= highest))) and not (n_classes == 1 and n)
        expect(inside, "a voter is about no class")
        with np.errstate(over="ignore"):
            most = np.abs(self.steps).sum()  # outputs are from -1 to 1
        expect(bool(np.all(np.isfinite(self.steps)) and most < LONGEST), "the votes are too large")
