"""Ensembles of voters by rows: columns, sections of a kernel, or a family of the user's.

Where the family can write its voters as arrays, the model has a digest and a file like any other.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.ensemble import ARRAY_TYPES
from electorate.model.file_parts import check_voters, check_votes, read_arrays
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import Cast
from electorate.modelfile import Contents, expect
from electorate.voters.by_rows import Always, RowVoterReader

OWN_ARRAYS = {name: ARRAY_TYPES[name] for name in ("steps", "rounds", "about")}


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
        return {**{name: getattr(self, name) for name in OWN_ARRAYS}, **self.family.pack(self.fitted)}

    @classmethod
    def read(cls, contents: Contents, family: Any, classes: NDArray[Any], n_columns: int) -> "RowEnsemble":
        """From a model file, checked; ValueError where it does not fit."""
        arrays = read_arrays(contents, OWN_ARRAYS | family.array_types)
        made = cls([[]], RowVoterReader(classes, "log_odds", ""), n_columns, family)
        made.fitted = family.unpack({name: arrays[name] for name in family.array_types}, n_columns)
        made.steps, made.rounds, made.about = arrays["steps"], arrays["rounds"], arrays["about"]
        made.n_outputs = 1 if len(classes) == 2 else len(classes)
        check_voters(made, len(made.fitted), len(classes))
        expect(np.all((made.about < 0) == (len(classes) == 2)), "a voter is about no class")
        check_votes(made, len(classes), 1.0)
        return made
