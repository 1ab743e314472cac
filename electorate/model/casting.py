"""From the voters of training, which split bins, to the arrays of a model, which split values; and back again.

Several runs are one per label, against the rest.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Step
from electorate.data.bins import Bins
from electorate.messages import Split, SplitArrays
from electorate.model.ensemble import LEAF, SET_WIDTH, Ensemble
from electorate.model.outcome import Cast
from electorate.model.trace import Row
from electorate.voters.trees import Voter


def in_rounds(runs: Sequence[Sequence[Any]]) -> list[tuple[int, int]]:
    """(place in its run, run) of every voter, round by round."""
    longest = max(map(len, runs), default=0)
    return [(t, run) for t in range(longest) for run in range(len(runs)) if t < len(runs[run])]


def from_casts(runs: list[list[Cast]], bins: Bins, n_outputs: int) -> Ensemble:
    """Voters over bins, as arrays over values. Several runs: one per label, against the rest."""
    order = in_rounds(runs)
    casts = [runs[run][t] for t, run in order]
    about = [run if len(runs) > 1 else -1 for _, run in order]
    offsets = np.cumsum([0, *(2 * len(cast.voter.splits) + 1 for cast in casts)])
    return Ensemble(
        offsets=offsets,
        value=_values(casts, offsets, about, n_outputs),
        steps=np.array([cast.step.size for cast in casts], dtype=np.float64),
        rounds=np.array([t + 1 for t, _ in order], dtype=np.int32),
        about=np.array(about, dtype=np.int32),
        n_columns=len(bins.n_bins),
        **_tests(casts, offsets, bins),
    )


def _tests(casts: list[Cast], offsets: NDArray[np.int64], bins: Bins) -> dict[str, NDArray[Any]]:
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
    sets = np.concatenate([tree.on_left[tree.cut < 0, :SET_WIDTH] for tree in trees])
    n, by_node = int(offsets[-1]), np.argsort(at[cut < 0])
    first = np.cumsum([0, *map(len, bins.edges)])
    edges = np.concatenate([*bins.edges, [np.inf]])
    inside = (cut >= 0) & (cut < np.diff(first)[column])
    tests: dict[str, NDArray[Any]] = {
        "column": np.full(n, LEAF, dtype=np.int32),
        "threshold": np.zeros(n),
        "members": np.full(n, -1, dtype=np.int32),
        "missing_left": np.zeros(n, dtype=np.bool_),
        "children": np.full((n, 2), -1, dtype=np.int32),
        "sets": sets[by_node],
    }
    tests["column"][at] = column
    tests["threshold"][at] = np.where(cut < 0, 0.0, edges[np.where(inside, first[column] + cut, -1)])
    tests["members"][at[cut < 0][by_node]] = np.arange(len(sets))
    tests["missing_left"][at] = np.concatenate([tree.on_left[:, bins.missing] for tree in trees])
    tests["children"][at] = np.stack([left, right], axis=1)
    return tests


def _values(casts: list[Cast], offsets: NDArray[np.int64], about: list[int], n_outputs: int) -> NDArray[np.float64]:
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


def casts_of(ensemble: Ensemble, bins: Bins, label: int | None, rows: list[Row]) -> list[Cast]:
    """Back again: the voters (of one label's run) over the bins they were made on, to resume from."""
    mine = np.flatnonzero((ensemble.about == label) | (label is None)).tolist()
    casts = []
    for voter, row in zip(mine, rows, strict=False):
        low, high = int(ensemble.offsets[voter]), int(ensemble.offsets[voter + 1])
        inner = [node for node in range(low, high) if ensemble.column[node] != LEAF]
        inner.sort(key=lambda node: int(ensemble.children[node, 0]))
        splits = [_split_of(ensemble, bins, node, node - low) for node in inner]
        leaves = [node - low for node in range(low, high) if ensemble.column[node] == LEAF]
        outputs = ensemble.value[[low + leaf for leaf in leaves]]
        if label is not None:
            outputs = outputs[:, [label]]
        step = Step(float(ensemble.steps[voter]), row["edge"], row["error"])
        casts.append(Cast(Voter(splits, leaves, np.zeros((len(leaves), 0), dtype=np.int64)), outputs, step))
    return casts


def _split_of(ensemble: Ensemble, bins: Bins, node: int, number: int) -> Split:
    column = int(ensemble.column[node])
    left, right = (int(child) for child in ensemble.children[node])
    if ensemble.members[node] >= 0:
        cut = -1
        on_left = np.zeros(bins.width, dtype=np.bool_)
        on_left[:SET_WIDTH] = ensemble.sets[ensemble.members[node]]
    else:
        cut = int(np.searchsorted(bins.edges[column], ensemble.threshold[node]))
        on_left = np.arange(bins.width) <= cut
    on_left[bins.missing] = ensemble.missing_left[node]
    return Split(number, left, right, column, cut, on_left)
