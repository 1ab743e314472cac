"""Stumps as a test likes them: a column, a cut or a set, and two labels; to and from the voters of the package."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.algorithms.protocol import Step
from electorate.families.splits import label_outputs
from electorate.families.trees import Voter
from electorate.messages import ROOT, Split
from electorate.model.casting import Cast, from_casts
from electorate.model.ensemble import Ensemble


@dataclass(frozen=True)
class Stump:
    """column -1: no test, everything goes left. cut -1: a test by category. right: the weight it is right on."""

    column: int
    cut: int
    on_left: Any
    labels: tuple[int, int]
    right: int


def of_voter(voter: Voter, width: int) -> Stump:
    votes = np.argmax(voter.sums, axis=1).tolist()
    right = int(voter.sums.max(axis=1).sum())
    if not voter.splits:
        return Stump(-1, -1, np.ones(width, dtype=bool), (votes[0], votes[0]), right)
    (split,) = voter.splits
    return Stump(split.column, split.cut, split.on_left, (votes[0], votes[1]), right)


def from_stumps(stumps: list[Stump], steps: list[float], bins: Any, n_labels: int) -> Ensemble:
    casts = []
    for stump, step in zip(stumps, steps, strict=True):
        splits = [Split(ROOT, 1, 2, stump.column, stump.cut, stump.on_left)] if stump.column >= 0 else []
        leaves = [1, 2] if splits else [ROOT]
        sums = np.eye(n_labels, dtype=np.int64)[list(stump.labels[: len(leaves)])]
        casts.append(Cast(Voter(splits, leaves, sums), label_outputs(sums), Step(step, 0.0, 0.0)))
    return from_casts([casts], bins, 1 if n_labels == 2 else n_labels)
