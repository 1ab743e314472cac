"""Coded voters as the arrays of an ensemble: a rule is a chain of tests with one leaf beside each.

They come after the voters of the prior; a default class is a voter without tests.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.certified.description import NOBODY, CodedVoter
from electorate.certified.prior_tests import BinTest, PriorTests
from electorate.data.bins import Bins
from electorate.exact import Bools, Floats
from electorate.model.ensemble import LEAF, SET_WIDTH, Ensemble


def joint_bins(first: Bins, second: Bins) -> Bins:
    """Bins with the edges of both; their categories are the same."""
    edges = [np.union1d(a, b) for a, b in zip(first.edges, second.edges, strict=True)]
    n_bins = np.array([len(edge) + 1 if n else 0 for edge, n in zip(edges, first.n_bins, strict=True)], dtype=np.int64)
    return Bins(edges, first.categories, first.has_missing, n_bins)


def empty_ensemble(n_columns: int, n_classes: int) -> Ensemble:
    return _Nodes(n_columns, n_classes).ensemble([])


def ensemble_of(
    prior: Ensemble, default: tuple[int, float] | None, voters: Sequence[CodedVoter], tests: PriorTests, weights: Floats
) -> Ensemble:
    """The voters of the prior, the default class with its weight, and the coded voters."""
    nodes = _Nodes(prior.n_columns, prior.n_outputs if prior.n_outputs > 1 else 2)
    steps = []
    if default is not None:
        nodes.add([], default[0], NOBODY)
        steps.append(default[1])
    for voter in voters:
        chain = [(tests.tests[literal.test], literal.holds, tests.bins) for literal in voter.literals]
        nodes.add(chain, voter.inside, voter.outside)
        steps.append(float(weights[voter.weight]))
    return _joined(prior, nodes.ensemble(steps))


class _Nodes:
    """The nodes of rules, one voter after the other; children are numbered within their voter."""

    def __init__(self, n_columns: int, n_classes: int) -> None:
        self.n_columns, self.n_classes = n_columns, n_classes
        self.rows: list[tuple[int, float, int, bool, tuple[int, int]]] = []
        self.values: list[Floats] = []
        self.sets: list[Bools] = []
        self.offsets = [0]

    def add(self, chain: Sequence[tuple[BinTest, bool, Bins]], inside: int, outside: int) -> None:
        """Add a chain: where a test turns out as it should it goes on to the next node; elsewhere it ends in a leaf."""
        for number, (test, holds, bins) in enumerate(chain):
            here = 2 * number  # the node before last, or the root
            on, off = here + 2, here + 1
            self._split(test, bins, (on, off) if holds else (off, on))
            self._leaf(outside)
        self._leaf(inside)
        self.offsets.append(len(self.rows))

    def _split(self, test: BinTest, bins: Bins, children: tuple[int, int]) -> None:
        members, threshold = -1, 0.0
        if test.cut < 0:
            members = len(self.sets)
            row = np.zeros(SET_WIDTH, dtype=np.bool_)
            row[: len(test.members) - 1] = test.members[:-1]
            self.sets.append(row)
        else:
            threshold = bins.threshold(test.column, test.cut)
        self._node(test.column, threshold, members, bool(test.members[-1]), children, NOBODY)

    def _leaf(self, label: int) -> None:
        self._node(LEAF, 0.0, -1, False, (LEAF, LEAF), label)

    def _node(
        self, column: int, threshold: float, members: int, missing: bool, children: tuple[int, int], label: int
    ) -> None:
        value = np.zeros(1 if self.n_classes == 2 else self.n_classes)
        if label != NOBODY:
            value[0 if self.n_classes == 2 else label] = 2.0 * label - 1.0 if self.n_classes == 2 else 1.0
        self.rows.append((column, threshold, members, missing, children))
        self.values.append(value)

    def ensemble(self, steps: list[float]) -> Ensemble:
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        columns: list[tuple[Any, ...]] = list(zip(*self.rows, strict=True)) or [()] * 5
        return Ensemble(
            offsets=np.array(self.offsets, dtype=np.int64),
            column=np.array(columns[0], dtype=np.int32),
            threshold=np.array(columns[1], dtype=np.float64),
            members=np.array(columns[2], dtype=np.int32),
            missing_left=np.array(columns[3], dtype=np.bool_),
            children=np.array(columns[4], dtype=np.int32).reshape(-1, 2),
            value=np.array(self.values, dtype=np.float64).reshape(-1, n_outputs),
            steps=np.array(steps, dtype=np.float64),
            rounds=np.arange(1, len(steps) + 1, dtype=np.int32),
            about=np.full(len(steps), -1, dtype=np.int32),
            sets=np.array(self.sets, dtype=np.bool_).reshape(-1, SET_WIDTH),
            n_columns=self.n_columns,
        )


def _joined(first: Ensemble, second: Ensemble) -> Ensemble:
    """The voters of both."""
    shifted = np.where(second.members >= 0, second.members + len(first.sets), -1).astype(np.int32)
    both = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("column", "threshold", "missing_left", "children", "value", "steps", "about", "sets")
    }
    n_voters = first.n_voters + second.n_voters
    return Ensemble(
        offsets=np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]]),
        members=np.concatenate([first.members, shifted]),
        rounds=np.arange(1, n_voters + 1, dtype=np.int32),
        n_columns=first.n_columns,
        **both,
    )
