"""The moves that made a model whose voters change their weights: round, voter, new weight.

Stages are replayed from them. A voter is known by its number in the pool it was chosen from; the ensemble holds every
voter once, in the order in which they first came, class by class within a place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.grid import UNITS
from electorate.modelfile import Contents, expect, require

TYPES: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "move.round": ("<i8", (None,)),
    "move.label": ("<i4", (None,)),
    "move.number": ("<i8", (None,)),
    "move.told": ("<f8", (None, 5)),
}


@dataclass(frozen=True)
class Moves:
    """In the order of rounds, and in a round of labels."""

    round: NDArray[np.int64]
    label: NDArray[np.int32]  # the class that a one-against-rest voter is about, -1 for all
    number: NDArray[np.int64]  # of the voter in its pool
    told: NDArray[np.float64]  # [move]: weight after it, step, edge, what the objective lost, voters of weight

    @classmethod
    def of(cls, runs: list[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> "Moves":
        """From the places (round, number) of each run and what was told: one, or one per label."""
        label = [np.full(len(places), run if len(runs) > 1 else -1) for run, (places, _) in enumerate(runs)]
        places = np.concatenate([np.empty((0, 2), dtype=np.int64), *(places for places, _ in runs)])
        told = np.concatenate([np.empty((0, 5)), *(told for _, told in runs)])
        labels = np.concatenate([np.empty(0, dtype=np.int32), *label]).astype(np.int32)
        order = np.argsort(places[:, 0], kind="stable")
        return cls(places[order, 0], labels[order], places[order, 1], told[order])

    @property
    def weight(self) -> NDArray[np.float64]:
        """Of the voter, after the move."""
        return self.told[:, 0]

    def about(self, label: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The places of one run, and what was told."""
        mine = np.ones(len(self.round), dtype=np.bool_) if label is None else self.label == label
        return np.stack([self.round[mine], self.number[mine]], axis=1), self.told[mine]

    def voters(self, label: int | None) -> NDArray[np.int64]:
        """The numbers of a run's voters, in the order in which they first came."""
        return first_come(self.about(label)[0][:, 1])

    def places(self) -> NDArray[np.int64]:
        """[move]: the place of its voter in the ensemble."""
        rank = np.empty(len(self.round), dtype=np.int64)
        for label in np.unique(self.label).tolist():
            mine = np.flatnonzero(self.label == label)
            _, first, index = np.unique(self.number[mine], return_index=True, return_inverse=True)
            rank[mine] = np.argsort(np.argsort(first))[index]
        in_order = rank * (int(self.label.max(initial=0)) + 2) + self.label + 1
        return np.asarray(np.unique(in_order, return_inverse=True)[1])

    def changes(self) -> Iterator[list[tuple[int, float, float]]]:
        """Round by round: (place in the ensemble, old weight, new weight)."""
        now: dict[int, float] = {}
        places, weights = self.places().tolist(), self.weight.tolist()
        ends = np.flatnonzero(np.diff(self.round, append=-1)) + 1
        for low, high in pairwise([0, *ends.tolist()]):
            turn = []
            for place, weight in zip(places[low:high], weights[low:high], strict=True):
                turn.append((place, now.get(place, 0.0), weight))
                now[place] = weight
            yield turn

    def arrays(self) -> dict[str, NDArray[Any]]:
        return dict(zip(TYPES, (self.round, self.label, self.number, self.told), strict=True))

    @classmethod
    def read(cls, contents: Contents, ensemble: Any) -> "Moves":
        """From a model file, checked against its ensemble; ValueError where it does not fit."""
        moves = cls(*(np.array(require(contents, name, *kind)) for name, kind in TYPES.items()))
        n, others = len(moves.round), (moves.label, moves.number, moves.told)
        expect(all(len(array) == n for array in others), "the arrays of the moves differ in length")
        in_turn = n == 0 or (moves.round[0] == 1 and np.all(np.isin(np.diff(moves.round), (0, 1))))
        expect(bool(in_turn), "the rounds of the moves do not count up from 1")
        in_range = np.all((moves.number >= 0) & (moves.number < 2**62)) and np.all(np.isfinite(moves.told))
        expect(bool(in_range), "a move is out of range")
        places = moves.places()
        about = np.full(int(places.max(initial=-1)) + 1, -2)
        about[places] = moves.label
        last = np.zeros(len(about))
        last[places] = moves.weight
        leads = np.array_equal(about, ensemble.about) and np.array_equal(last, ensemble.steps)
        expect(leads, "the moves do not lead to the ensemble")
        return moves


def first_come(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct numbers in the order in which they first come."""
    distinct, first = np.unique(numbers, return_index=True)
    return np.asarray(distinct[np.argsort(first)])


def in_units(weight: float, outputs: Any) -> Any:
    """Votes on the grid."""
    return np.rint(weight * outputs * UNITS).astype(np.int64)
