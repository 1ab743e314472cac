"""Families whose voters use whole rows: columns that vote, sections of a kernel, and any a user writes.

Such a family has `sees = "rows"` and one method, `best(rows)`, which returns a voter: an object with `outputs(X)`, one
number in [-1, 1] per row, positive for the second class. The engine keeps the rows together, in this process.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.engines.rows import RowEngine
from electorate.exact import Floats
from electorate.families.trees import Search, Voter
from electorate.families.wrapped import LeafOutputs, row_voter

ALL = slice(None)


@dataclass(frozen=True)
class Always:
    """The voter with the same output for every row."""

    sign: int

    def outputs(self, X: Floats) -> Floats:
        return np.full(len(X), float(self.sign))

    def to_text(self, names: list[str]) -> str:
        return f"always {self.sign:+d}"


@dataclass
class RowSearch:
    """The data of one round for a family over rows: the rows that count, their labels as +-1, the weights."""

    X: Floats  # [row, column], NaN where a value is missing
    signs: NDArray[np.int64]
    times: NDArray[np.int64]  # how often a row counts
    wanted: str  # "label": the booster needs outputs +-1; else any number will do
    booster: str
    names: list[str]
    grid: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _cache: dict[str, Any] = field(default_factory=dict)

    @property
    def units(self) -> NDArray[np.int64]:
        """Label times weight, in whole units: sums of them are exact, and the same for any order of the rows."""
        return self.signs * self.grid

    def correlate(self, columns: Floats, part: slice = ALL) -> NDArray[np.int64]:
        """The edges, in units, of voters with these outputs[voter, row] in [-1, 1]; of a part of the rows."""
        sums = np.zeros(len(columns), dtype=np.int64)
        times = self.times[part]
        each = (self.signs[part] * (self.grid[part] // times)).astype(np.float64)
        kernels.correlate_reals(columns, each, times, sums)
        return sums

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of make(), computed once per fit."""
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]

    def refuse(self, family: Any, why: str) -> None:
        raise ValueError(f"{self.booster} cannot boost {type(family).__name__}: {why}")


@dataclass(frozen=True)
class RowVoterReader:
    """The outputs of voters over rows: rows with the same output share a leaf."""

    classes: NDArray[Any]
    kind: str  # what the booster is made for: "label" or "log_odds"
    booster: str

    def of(self, voter: Any, X: Floats) -> LeafOutputs:
        outputs, name = np.asarray(voter.outputs(X), dtype=np.float64), type(voter).__name__
        if outputs.shape != (len(X),):
            raise ValueError(f"{name}.outputs gave an array of shape {outputs.shape} for {len(X)} rows")
        size = np.abs(outputs)
        if np.all(size == 1):
            return (outputs > 0).astype(np.int32), np.array([[-1.0], [1.0]])
        if not np.all(size <= 1):  # nor NaN
            row = int(np.flatnonzero(~(size <= 1))[0])
            raise ValueError(f"{name} gave {outputs[row]} for row {row}: outputs must be from -1 to 1")
        if self.kind == "label":
            raise ValueError(
                f"{self.booster} cannot boost {name}: it needs outputs of -1 or 1, and this voter gave "
                f"{outputs[size != 1][0]:.4g}: use RealAdaBoostClassifier or AdaBoostRClassifier"
            )
        distinct, place = np.unique(outputs, return_inverse=True)
        return place.astype(np.int32), distinct[:, None]


class ByRows:
    """A family over rows, as the loop calls it."""

    fitted_elsewhere: ClassVar[bool] = True

    def __init__(self, family: Any, X: Floats, reader: RowVoterReader, names: list[str]) -> None:
        self.family = family
        self.X = X
        self.reader = reader
        self.names = names
        self.rows: RowSearch | None = None

    def skip(self, rounds: int) -> None:
        """Nothing is drawn."""

    def best(self, search: Search) -> Voter:
        return row_voter(self.family.best(self._rows(search.engine)), search.engine)

    def constant(self, search: Search) -> Voter:
        totals = search.sums.totals
        return row_voter(Always(1 if totals[1] > totals[0] else -1), search.engine)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> Floats:
        assert voter.outputs is not None
        return voter.outputs

    def _rows(self, engine: Any) -> RowSearch:
        """Return the rows of the search, the same in every round, with the weights of this one."""
        assert isinstance(engine, RowEngine)
        if self.rows is None:
            shard, reader = engine.shard, self.reader
            labels = np.repeat(shard.group, np.diff(shard.starts))
            rows = np.take(self.X.T, engine.order, axis=1).T  # columns stay together
            self.rows = RowSearch(rows, 2 * labels - 1, engine.times, reader.kind, reader.booster, self.names)
        self.rows.grid = engine.shard.grid
        return self.rows
