"""A vote taken apart: its distinct voters, each scaled to say -1 to 1, with the weight that this leaves it.

Copies of a voter, and a voter and its complement, are one: their weights add up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.ensemble import LEAF, Ensemble
from electorate.voters.by_rows import Always
from electorate.voters.columns import ColumnVoter

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """voters: the place of each distinct voter; steps: its weight as a voter of size 1; dimension: free numbers."""

    voters: list[int]
    steps: Floats
    dimension: int

    @property
    def count(self) -> int:
        return len(self.voters)

    @property
    def norm(self) -> float:
        return float(np.abs(self.steps).sum())


def parts_of(ensemble: Any, about: int = -1) -> Parts:
    """Of an ensemble of trees or of voters by rows; about: the class of one against the rest, -1 for all."""
    mine = np.flatnonzero((ensemble.about == about) & (ensemble.steps != 0)).tolist()
    look = _tree if isinstance(ensemble, Ensemble) else _by_rows
    weights: dict[Any, float] = {}
    first: dict[Any, int] = {}
    free: dict[Any, int] = {}
    for voter in mine:
        key, size, dimension = look(ensemble, voter)
        weights[key] = weights.get(key, 0.0) + size * float(ensemble.steps[voter])
        first.setdefault(key, voter)
        free[key] = dimension
    used = [key for key in first if weights[key] != 0]
    steps = np.array([weights[key] for key in used], dtype=np.float64)
    return Parts([first[key] for key in used], steps, sum(free[key] for key in used))


def _tree(ensemble: Ensemble, voter: int) -> tuple[Any, float, int]:
    """What a tree is up to a factor, that factor, and how many numbers are free: its leaves, 1 if they say +-1."""
    alone = ensemble.only(voter)
    leaves = alone.column == LEAF
    output = max(int(ensemble.about[voter]), 0)
    said = np.where(leaves, alone.value[:, output], 0.0)
    largest = float(np.abs(said).max())
    if largest == 0:
        return ("nothing",), 0.0, 1
    leading = said[leaves][np.flatnonzero(said[leaves])[0]]
    size = float(np.copysign(largest, leading))
    shape = said / size
    sets = b"".join(alone.sets[k].tobytes() if k >= 0 else b"" for k in alone.members.tolist())
    arrays = (alone.column, alone.threshold, alone.missing_left, alone.children, shape)
    key = (*(array.tobytes() for array in arrays), sets)
    binary = bool(np.all(np.abs(shape[leaves]) == 1))
    return key, size, 1 if binary else int(leaves.sum())


def _by_rows(ensemble: Any, voter: int) -> tuple[Any, float, int]:
    fitted = ensemble.fitted[voter]
    if isinstance(fitted, Always):
        return ("always",), float(fitted.sign), 1
    if isinstance(fitted, ColumnVoter):
        return ("column", fitted.column, fitted.scale), float(fitted.sign), 1
    return ("section", fitted.landmark, abs(fitted.factor)), float(np.sign(fitted.factor)), 1
