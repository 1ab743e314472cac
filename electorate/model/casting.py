"""Converts voters of training, which split bins, into the arrays of a model, which split values, and back.

Several runs are one per label, against the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Step
from electorate.data.bins import Bins
from electorate.exact import AnyArray, Floats, Ints
from electorate.families.splits import FEW
from electorate.families.trees import Voter
from electorate.families.wrapped import LeafOutputs
from electorate.messages import Change, Split, SplitArrays, StoredVoter
from electorate.model.ensemble import LEAF, SET_WIDTH, Ensemble
from electorate.model.trace import Row, Trace

T = TypeVar("T")


@dataclass
class Cast:
    """A voter of an ensemble, with the outputs of its leaves and its step."""

    voter: Voter
    outputs: Floats  # [leaf, output]
    step: Step

    @property
    def reach(self) -> float:
        """The largest amount that it can add to a vote."""
        if self.outputs.size > FEW:
            return abs(self.step.size) * float(np.abs(self.outputs).max())
        return abs(self.step.size) * max(map(abs, self.outputs.ravel().tolist()), default=0.0)

    def change(self, booster: Booster) -> Change:
        gains = booster.gains(self.step, self.outputs)
        outside = None if self.voter.fitted is None else (self.voter.fitted, self.step)
        stored = None
        if self.voter.number is not None:
            stored = StoredVoter(self.voter.number, self.step.size, awards_of(self.outputs))
        return Change(self.voter.splits, self.voter.leaves, gains, outside, stored)


@dataclass
class PastRun:
    """The rounds that a run resumes from: its trace, and the voters that the trace numbers."""

    trace: Trace = field(default_factory=Trace)
    casts: list[Any] = field(default_factory=list)

    def cast(self, number: int, weight: float) -> Any:
        return self.casts[number]


def awards_of(outputs: Floats) -> Floats:
    """[label, leaf]: y h, of a voter with one output."""
    return np.stack([-outputs[:, 0], outputs[:, 0]])


def in_rounds(runs: Sequence[Sequence[T]]) -> tuple[list[T], NDArray[np.int32], NDArray[np.int32]]:
    """The entries of all runs, round by round; the round of each, and the run that it is about, -1 of the only one."""
    longest = max(map(len, runs), default=0)
    order = [(t, run) for t in range(longest) for run in range(len(runs)) if t < len(runs[run])]
    about = [run if len(runs) > 1 else -1 for _, run in order]
    rounds = np.array([t + 1 for t, _ in order], dtype=np.int32)
    return [runs[run][t] for t, run in order], rounds, np.array(about, dtype=np.int32)


def from_casts(runs: list[list[Cast]], bins: Bins, n_outputs: int) -> Ensemble:
    """Voters over bins, as arrays over values."""
    casts, rounds, about = in_rounds(runs)
    offsets = np.cumsum([0, *(2 * len(cast.voter.splits) + 1 for cast in casts)])
    return Ensemble(
        offsets=offsets,
        value=_values(casts, offsets, about, n_outputs),
        steps=np.array([cast.step.size for cast in casts], dtype=np.float64),
        rounds=rounds,
        about=about,
        n_columns=len(bins.n_bins),
        **_tests(casts, offsets, bins),
    )


def _tests(casts: list[Cast], offsets: Ints, bins: Bins) -> dict[str, AnyArray]:
    """The splits of all voters, at their nodes; a voter's nodes are numbered as in training."""
    one_by_one, parts = [], []
    for low, cast in zip(offsets.tolist(), casts, strict=False):
        if isinstance(cast.voter.splits, SplitArrays):
            parts.append((low, cast.voter.splits))
        else:
            one_by_one += [(low, split) for split in cast.voter.splits]
    lows = np.array([low for low, _ in one_by_one], dtype=np.int64)
    parts = [(lows, SplitArrays.of([split for _, split in one_by_one], bins.width)), *parts]
    trees = [tree for _, tree in parts]
    at = np.concatenate([low + tree.node for low, tree in parts])
    column, cut, left, right = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("column", "cut", "left", "right")
    )
    masks = [tree.cut < 0 for tree in trees]
    by_set = np.concatenate(masks)
    sets = np.concatenate([tree.on_left[mask, :SET_WIDTH] for tree, mask in zip(trees, masks, strict=True)])
    n, by_node = int(offsets[-1]), np.argsort(at[by_set])
    first = np.cumsum([0, *map(len, bins.edges)])
    edges = np.concatenate([*bins.edges, [np.inf]])
    inside = ~by_set & (cut < np.diff(first)[column])
    tests: dict[str, AnyArray] = {
        "column": np.full(n, LEAF, dtype=np.int32),
        "threshold": np.zeros(n),
        "members": np.full(n, -1, dtype=np.int32),
        "missing_left": np.zeros(n, dtype=np.bool_),
        "children": np.full((n, 2), -1, dtype=np.int32),
        "sets": sets[by_node],
    }
    tests["column"][at] = column
    tests["threshold"][at] = np.where(by_set, 0.0, edges[np.where(inside, first[column] + cut, -1)])
    tests["members"][at[by_set][by_node]] = np.arange(len(sets))
    tests["missing_left"][at] = np.concatenate([tree.on_left[:, bins.missing] for tree in trees])
    tests["children"][at] = np.stack([left, right], axis=1)
    return tests


def _values(casts: list[Cast], offsets: Ints, about: NDArray[np.int32], n_outputs: int) -> Floats:
    """The outputs of the leaves; a voter about one label has an output for that label only."""
    value = np.zeros((int(offsets[-1]), n_outputs))
    if not casts:
        return value
    leaves = [low + leaf for low, cast in zip(offsets.tolist(), casts, strict=False) for leaf in cast.voter.leaves]
    outputs = np.concatenate([cast.outputs for cast in casts])
    if about[0] < 0:
        value[leaves] = outputs
    else:
        value[leaves, np.repeat(about, [len(cast.voter.leaves) for cast in casts])] = outputs[:, 0]
    return value


def casts_of(
    ensemble: Any, bins: Bins, label: int | None, rows: list[Row], evaluate: Callable[[Any], LeafOutputs] | None = None
) -> list[Cast]:
    """Return the voters (of one label's run) over the bins they were made on, to resume from.

    evaluate: of voters that predict whole rows, gives the outputs of one.
    """
    mine = np.flatnonzero((ensemble.about == label) | (label is None)).tolist()
    casts = []
    for number, row in zip(mine, rows, strict=False):
        if evaluate is None:
            splits, leaves, outputs = _tree_of(ensemble, bins, number)
            outputs = outputs if label is None else outputs[:, [label]]
            voter = Voter(splits, leaves, np.zeros((len(leaves), 0), dtype=np.int64))
        else:
            fitted = ensemble.fitted[number]
            _, outputs = evaluate(fitted)
            voter = Voter([], [], np.zeros((len(outputs), 0), dtype=np.int64), fitted, outputs)
        casts.append(Cast(voter, outputs, Step(float(ensemble.steps[number]), row["edge"], row["error"])))
    return casts


def _tree_of(ensemble: Ensemble, bins: Bins, number: int) -> tuple[list[Split], list[int], Floats]:
    """The splits of a voter, its leaves, and their outputs."""
    alone = ensemble.only(number)
    inner = np.flatnonzero(alone.column != LEAF).tolist()
    inner.sort(key=lambda node: int(alone.children[node, 0]))
    leaves = np.flatnonzero(alone.column == LEAF).tolist()
    return [_split_of(alone, bins, node) for node in inner], leaves, alone.value[leaves]


def _split_of(ensemble: Ensemble, bins: Bins, node: int) -> Split:
    column = int(ensemble.column[node])
    left, right = (int(child) for child in ensemble.children[node])
    if ensemble.members[node] >= 0:
        cut, members = -1, ensemble.sets[ensemble.members[node]]
        on_left = np.zeros(bins.width, dtype=np.bool_)
        on_left[:SET_WIDTH] = members
    else:
        cut = int(np.searchsorted(bins.edges[column], ensemble.threshold[node]))
        on_left = np.arange(bins.width) <= cut
    on_left[bins.missing] = ensemble.missing_left[node]
    return Split(node, left, right, column, cut, on_left)
