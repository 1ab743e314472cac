"""The distinct voters of a vote, each scaled to outputs from -1 to 1, with the weight that this leaves it.

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
    look = _tree if isinstance(ensemble, Ensemble) else _by_rows
    found: dict[Any, tuple[int, float, int]] = {}  # place, weight, dimension
    for voter in np.flatnonzero((ensemble.about == about) & (ensemble.steps != 0)).tolist():
        key, size, dimension = look(ensemble, voter)
        first, weight, _ = found.get(key, (voter, 0.0, 0))
        found[key] = first, weight + size * float(ensemble.steps[voter]), dimension
    used = [part for part in found.values() if part[1] != 0]
    steps = np.array([weight for _, weight, _ in used], dtype=np.float64)
    return Parts([first for first, _, _ in used], steps, sum(dimension for *_, dimension in used))


def _tree(ensemble: Ensemble, voter: int) -> tuple[Any, float, int]:
    """What a tree is up to a factor, that factor, and how many numbers are free: its leaves, 1 if they are all +-1."""
    alone = ensemble.only(voter)
    leaves = alone.column == LEAF
    outputs = np.where(leaves, alone.value[:, max(int(ensemble.about[voter]), 0)], 0.0)
    largest = float(np.abs(outputs).max())
    if largest == 0:
        return ("nothing",), 0.0, 1
    leading = outputs[leaves][np.flatnonzero(outputs[leaves])[0]]
    size = float(np.copysign(largest, leading))
    shape = outputs / size
    sets = b"".join(alone.sets[k].tobytes() if k >= 0 else b"" for k in alone.members.tolist())
    arrays = (alone.column, alone.threshold, alone.missing_left, alone.children, shape)
    key = (*(array.tobytes() for array in arrays), sets)
    return key, size, 1 if np.all(np.abs(shape[leaves]) == 1) else int(leaves.sum())


def _by_rows(ensemble: Any, voter: int) -> tuple[Any, float, int]:
    fitted = ensemble.fitted[voter]
    if isinstance(fitted, Always):
        return ("always",), float(fitted.sign), 1
    if isinstance(fitted, ColumnVoter):
        return ("column", fitted.column, fitted.scale), float(fitted.sign), 1
    return ("section", fitted.landmark, abs(fitted.factor)), float(np.sign(fitted.factor)), 1
