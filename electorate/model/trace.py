"""The trace of a run: which voter got which weight in which round, and a row of history per round.

It is all that training returns, whatever the algorithm. Replay, warm start, checkpoints, `staged_*` methods and model
files read it. Voters are numbers here; the method that made the trace turns a number into a voter.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from electorate.exact import AnyArray, Floats, Ints

Row = dict[str, float]
Move = tuple[int, float]  # voter, its weight after the move
COUNTS = frozenset({"n_voters"})  # columns of history that hold integers
CLASSIFIER_COLUMNS = ("step", "edge", "error", "objective", "train_error", "n_voters", "floor", "seconds")
MEDIAN_COLUMNS = (
    *("step", "edge", "error", "rho", "log_z", "objective"),
    *("min_margin", "target_margin", "margin_error", "n_voters", "seconds"),
)


class GrowingArray:
    """An array that grows at its end. Its buffer doubles when it is full."""

    def __init__(self, dtype: Any, fill: Any = 0, shape: tuple[int, ...] = ()) -> None:
        self.buffer: AnyArray = np.empty((0, *shape), dtype=dtype)
        self.fill = fill
        self.n = 0

    @property
    def values(self) -> AnyArray:
        return self.buffer[: self.n]

    def resize(self, n: int) -> None:
        """Set the length; new entries hold the fill value."""
        if n > len(self.buffer):
            buffer = np.empty((max(64, 2 * n), *self.buffer.shape[1:]), dtype=self.buffer.dtype)
            buffer[: self.n] = self.values
            self.buffer = buffer
        self.buffer[self.n : n] = self.fill
        self.n = n

    def extend(self, more: Any) -> None:
        low, n = self.n, self.n + len(more)
        if n > len(self.buffer):
            self.resize(n)
        self.n = n
        self.buffer[low:n] = more


class Trace:
    """The moves and the history of one run.

    Attributes
    ----------
    n_rounds : int
    stop_reason : str
        Why the run ended; "n_estimators" until it does for another reason.
    best_round : int or None
        With validation, the round with the best score.
    done : bool
        Whether the run has ended, so that `kept` ends at the best round.

    columns: of history that there are even without a round. n_details: numbers of the method's own about each move.
    """

    def __init__(self, columns: Sequence[str] = (), n_details: int = 0) -> None:
        self.n_rounds = 0
        self.stop_reason = "n_estimators"
        self.best_round: int | None = None
        self.done = False
        self._round, self._voter = GrowingArray(np.int64), GrowingArray(np.int64)
        self._weight = GrowingArray(np.float64)
        self._details = GrowingArray(np.float64, 0, (n_details,))
        self._history: dict[str, GrowingArray] = {}
        self._new_moves: list[tuple[int, int, float]] = []  # of the last rounds, which the arrays do not hold yet
        self._new_rows: list[Row] = []
        for name in columns:
            self._column(name)

    # ------------------------------------------------------------ adding rounds

    def add_round(self, moves: Sequence[Move], row: Row) -> None:
        """Add one round. The arrays take it up when they are read: a round must cost microseconds.

        row: the trace keeps it, without a copy.
        """
        self.n_rounds += 1
        self._new_moves += [(self.n_rounds, voter, weight) for voter, weight in moves]
        self._new_rows.append(row)

    def _take_up(self) -> None:
        """Move the rounds of `add_round` into the arrays."""
        rows, moves = self._new_rows, self._new_moves
        if not rows:
            return
        self._new_rows, self._new_moves = [], []
        fills = {name: self._column(name).fill for name in dict.fromkeys(chain.from_iterable(rows))}
        history = {name: [row.get(name, fill) for row in rows] for name, fill in fills.items()}
        self.n_rounds -= len(rows)
        self._extend(list(zip(*moves, strict=True)) or [(), (), ()], history, None, len(rows))

    def add_rounds(
        self, rounds: Any, voters: Any, weights: Any, history: Mapping[str, Any], details: Any = None
    ) -> None:
        """Add a batch: per move its round, voter, new weight and details; per round an entry of each column."""
        self._take_up()
        self._extend((rounds, voters, weights), history, details, max(map(len, history.values()), default=0))

    def _extend(self, moves: Sequence[Any], history: Mapping[str, Any], details: Any, n_rounds: int) -> None:
        for array, values in zip((self._round, self._voter, self._weight), moves, strict=True):
            array.extend(values)
        if details is None:
            self._details.resize(self._round.n)
        else:
            self._details.extend(details)
        before = self.n_rounds
        self.n_rounds += n_rounds
        for name, values in history.items():
            column = self._column(name)
            if column.n != before:
                column.resize(before)
            column.extend(values)
        for column in self._history.values():
            if column.n != self.n_rounds:
                column.resize(self.n_rounds)

    def note(self, name: str, value: float, round: int | None = None) -> None:
        """Set one entry of a column of history, of the last round by default."""
        round = self.n_rounds if round is None else round
        if round > self.n_rounds - len(self._new_rows):
            self._new_rows[round - self.n_rounds - 1][name] = value
            return
        column = self._column(name)
        column.resize(max(self.n_rounds - len(self._new_rows), column.n))
        column.buffer[round - 1] = value

    def _column(self, name: str) -> GrowingArray:
        if name not in self._history:
            counts = name in COUNTS
            self._history[name] = GrowingArray(np.int64 if counts else np.float64, 0 if counts else np.nan)
        return self._history[name]

    def set_weights(self, weights: Sequence[float]) -> None:
        """Give every voter one move, in the round of its number + 1, to this weight: for methods that solve for all."""
        self._take_up()
        for column, values in ((self._round, np.arange(1, len(weights) + 1)), (self._voter, np.arange(len(weights)))):
            column.n = 0
            column.extend(values)
        self._weight.n = 0
        self._weight.extend(weights)
        self._details.resize(len(weights))

    # ------------------------------------------------------------ reading

    @property
    def rounds(self) -> Ints:
        """[move]: its round, from 1."""
        self._take_up()
        return self._round.values

    @property
    def voters(self) -> Ints:
        """[move]: the number of its voter."""
        self._take_up()
        return self._voter.values

    @property
    def weights(self) -> Floats:
        """[move]: the weight of its voter after it."""
        self._take_up()
        return self._weight.values

    @property
    def details(self) -> Floats:
        """[move, number]: numbers of the method's own about each move, which it needs to resume."""
        self._take_up()
        return self._details.values

    def moves_of(self, round: int) -> list[Move]:
        low, high = np.searchsorted(self.rounds, [round, round + 1]).tolist()
        return list(zip(self.voters[low:high].tolist(), self.weights[low:high].tolist(), strict=True))

    @property
    def history(self) -> dict[str, AnyArray]:
        """A column per name, an entry per round."""
        self._take_up()
        return {name: column.values for name, column in self._history.items()}

    def row(self, round: int) -> Row:
        """The history of one round, from 1."""
        if round > self.n_rounds - len(self._new_rows):
            return dict(self._new_rows[round - self.n_rounds - 1])
        return {name: column.values[round - 1].item() for name, column in self._history.items()}

    def last_weights(self) -> list[Move]:
        """Return every voter that moved, with its last weight, in the order of first moves."""
        last = dict(zip(self.voters.tolist(), self.weights.tolist(), strict=True))
        return list(last.items())

    # ------------------------------------------------------------ shortening

    def cut(self, rounds: int) -> "Trace":
        """A copy with the first rounds only."""
        shorter = Trace(n_details=self.details.shape[1])
        n = int(np.searchsorted(self.rounds, rounds, side="right"))
        rounds = min(rounds, self.n_rounds)
        history = {name: values[:rounds] for name, values in self.history.items()}
        shorter.add_rounds(self.rounds[:n], self.voters[:n], self.weights[:n], history, self.details[:n])
        shorter.stop_reason, shorter.best_round, shorter.done = self.stop_reason, self.best_round, self.done
        return shorter

    def forget_after(self, rounds: int) -> None:
        """Drop later rounds in place."""
        self._take_up()
        n = int(np.searchsorted(self.rounds, rounds, side="right"))
        self._round.n = self._voter.n = self._weight.n = self._details.n = n
        self.n_rounds = rounds
        for column in self._history.values():
            column.n = min(column.n, rounds)

    @property
    def kept(self) -> "Trace":
        """The rounds of the model: once the run is done, those up to the best."""
        return self.cut(self.best_round) if self.done and self.best_round is not None else self


def joined_history(traces: Sequence[Trace]) -> dict[str, AnyArray]:
    """The history of all runs, round by round; of several runs, with the label that each entry is about."""
    if len(traces) == 1:
        return {name: np.array(column) for name, column in traces[0].history.items()}
    columns = [{"label": np.full(trace.n_rounds, float(k)), **trace.history} for k, trace in enumerate(traces)]
    numbers = [np.arange(trace.n_rounds) for trace in traces]
    order = np.argsort(np.concatenate(numbers), kind="stable")
    joined = {}
    for name in dict.fromkeys(name for own in columns for name in own):
        missing = [np.full(trace.n_rounds, np.nan) for trace in traces]
        parts = [own.get(name, none) for own, none in zip(columns, missing, strict=True)]
        joined[name] = np.concatenate(parts)[order].astype(np.int64 if name in COUNTS else np.float64)
    return joined
