"""The moves that made a model whose voters change their weights: round, voter, new weight.

Stages are replayed from them. A voter is identified by its number in the pool it was chosen from; the ensemble holds
every voter once, in the order in which they first came, class by class within a place.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.exact import LONGEST, UNITS, AnyArray, Floats, Ints
from electorate.model.ensemble import ArrayType, Ensemble
from electorate.model.file_parts import check_rounds, read_arrays
from electorate.model.trace import Trace
from electorate.modelfile import Contents, expect

TYPES: dict[str, ArrayType] = {
    "move.round": ("<i8", (None,)),
    "move.label": ("<i4", (None,)),
    "move.number": ("<i8", (None,)),
    "move.details": ("<f8", (None, 5)),
}
Turn = list[tuple[int, float, float]]  # of a round: voter, its weight before, and after


@dataclass(frozen=True)
class Moves:
    """Changes of weights in the order of rounds, and in a round of labels."""

    round: Ints
    label: NDArray[np.int32]  # the class that a one-against-rest voter is about, -1 for all
    number: Ints  # of the voter in its pool
    details: Floats  # [move]: weight after it, step, edge, what the objective lost, voters of weight

    @classmethod
    def of(cls, traces: Sequence[Trace]) -> "Moves":
        """Return the moves from the trace of the only run, or from one per label."""
        labels = np.arange(len(traces), dtype=np.int32) if len(traces) > 1 else np.array([-1], dtype=np.int32)
        label = np.repeat(labels, [len(trace.rounds) for trace in traces])
        rounds = np.concatenate([trace.rounds for trace in traces])
        numbers = np.concatenate([trace.voters for trace in traces])
        details = np.concatenate([trace.details for trace in traces])
        order = np.argsort(rounds, kind="stable")
        return cls(rounds[order], label[order], numbers[order], details[order])

    @property
    def weight(self) -> Floats:
        """The weight of the voter after the move."""
        return self.details[:, 0]

    def places(self) -> Ints:
        """[move]: the place of its voter in the ensemble."""
        rank = np.empty(len(self.round), dtype=np.int64)
        for label in np.unique(self.label).tolist():
            mine = np.flatnonzero(self.label == label)
            _, first, index = np.unique(self.number[mine], return_index=True, return_inverse=True)
            rank[mine] = np.argsort(np.argsort(first))[index]
        in_order = rank * (int(self.label.max(initial=0)) + 2) + self.label + 1
        return np.asarray(np.unique(in_order, return_inverse=True)[1])

    def changes(self) -> Iterator[Turn]:
        """Round by round, the voters that move, as places in the ensemble."""
        return changes(self.round, self.places(), self.weight)

    def longest(self) -> float:
        """The largest sum of the sizes of all weights after a round."""
        size, places = np.abs(self.weight), self.places()
        order = np.argsort(places, kind="stable")  # every voter's moves, one after the other
        before = np.concatenate([[0.0], size[order][:-1]])
        before[np.flatnonzero(np.diff(places[order], prepend=-1))] = 0.0
        added = np.empty(len(size))
        with np.errstate(over="ignore"):
            added[order] = size[order] - before
            ends = np.flatnonzero(np.diff(self.round, append=-1))
            return max(float(size.max(initial=0.0)), float(np.cumsum(added)[ends].max(initial=0.0)))

    def arrays(self) -> dict[str, AnyArray]:
        return dict(zip(TYPES, (self.round, self.label, self.number, self.details), strict=True))

    @classmethod
    def read(cls, contents: Contents, ensemble: Any) -> "Moves":
        """Read from a model file; ValueError if it does not fit the ensemble."""
        moves = cls(*read_arrays(contents, TYPES).values())
        expect(len({len(array) for array in moves.arrays().values()}) == 1, "the arrays of the moves differ in length")
        check_rounds(moves.round)
        in_range = np.all((moves.number >= 0) & (moves.number < 2**62)) and np.all(np.isfinite(moves.details))
        expect(in_range, "a move is out of range")
        places = moves.places()
        about = np.full(int(places.max(initial=-1)) + 1, -2)
        about[places] = moves.label
        last = np.zeros(len(about))
        last[places] = moves.weight
        leads = np.array_equal(about, ensemble.about) and np.array_equal(last, ensemble.steps)
        expect(leads, "the moves do not lead to the ensemble")
        largest = 1.0 if not isinstance(ensemble, Ensemble) else float(np.abs(ensemble.value).max(initial=0.0))
        expect(largest * moves.longest() < LONGEST, "the votes of a round are too large")
        return moves


def changes(rounds: AnyArray, voters: Ints, weights: Floats) -> Iterator[Turn]:
    """Round by round, the voters that move. Of each move: its round, its voter, and the weight after it."""
    now: dict[int, float] = {}
    moves = list(zip(voters.tolist(), weights.tolist(), strict=True))
    ends = np.flatnonzero(np.diff(rounds, append=-1)) + 1
    for low, high in pairwise([0, *ends.tolist()]):
        turn = []
        for voter, weight in moves[low:high]:
            turn.append((voter, now.get(voter, 0.0), weight))
            now[voter] = weight
        yield turn


def first_moves(ensemble: Any, history: Mapping[str, AnyArray]) -> Ints:
    """[entry of the ensemble]: the entry that added its voter. Only in a history with voters do old ones move again."""
    if "voter" not in history:
        return np.arange(len(ensemble.steps))
    about, voter = ensemble.about.tolist(), history["voter"]
    numbers = {label: voter if label < 0 else voter[history["label"] == label] for label in set(about)}
    met: dict[tuple[int, int], int] = {}
    moves = enumerate(zip(about, ensemble.rounds.tolist(), strict=True))
    first = [met.setdefault((label, int(numbers[label][round - 1])), entry) for entry, (label, round) in moves]
    return np.array(first, dtype=np.int64)


def in_units(weight: float, outputs: Any) -> Any:
    """Votes on the grid."""
    return np.rint(weight * outputs * UNITS).astype(np.int64)
