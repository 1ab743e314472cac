"""The training loop of every algorithm: rounds until there are enough, or until there is a reason to stop.

A method does rounds and records them in its trace. Callbacks, validation and time limits are watchers: they see the
trace after every round, may add to its history, and may stop the run with a reason.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from electorate.exact import LONGEST
from electorate.model.casting import Cast, PastRun
from electorate.model.trace import Trace

OTHER_DATA = (
    "the rows are not those the model was fitted on ({}): a warm start or a checkpoint continues with the same X, y "
    "and weights; set warm_start=False, or remove the checkpoint, to start again"
)


class Method(Protocol):
    """An algorithm in the middle of training."""

    trace: Trace  # what it has done, the rounds that it resumed from included
    ended: str | None  # why no round can follow those it resumed from

    def advance(self, most: int) -> str | None:
        """Do at most `most` rounds and record them; return the reason if no more can follow, else None."""
        ...

    def cast(self, number: int, weight: float) -> Cast:
        """Return a voter by its number in the trace, with this weight."""
        ...


class RoundByRound:
    """A method that does one round at a time, each with one voter."""

    def __init__(self, past: PastRun) -> None:
        self.trace = past.trace.cut(past.trace.n_rounds)
        self.casts: list[Any] = list(past.casts)  # the voter of every round
        before = self.trace.row(self.trace.n_rounds)["seconds"] if self.casts else 0.0
        self.started = time.perf_counter() - before

    def advance(self, most: int) -> str | None:
        reason = None
        for _ in range(most):
            reason = self._round()
            if reason is not None:
                break
        return reason

    def cast(self, number: int, weight: float) -> Any:
        return self.casts[number]

    def _round(self) -> str | None:
        raise NotImplementedError


class Watcher(Protocol):
    def replay(self, trace: Trace) -> str | None:
        """Called with the rounds that a run resumes from; may cut them and return a reason to stop."""
        ...

    def after(self, trace: Trace) -> str | None:
        """Called after a round; may return a reason to stop."""
        ...


def run(method: Method, rounds: int, watchers: Sequence[Watcher] = ()) -> Trace:
    """Advance a method until its trace has the given number of rounds, or a reason ends it."""
    trace = method.trace
    reason = first_of([method.ended, *(watcher.replay(trace) for watcher in watchers)])
    while reason is None and trace.n_rounds < rounds:
        before = trace.n_rounds
        reason = method.advance(1 if watchers else rounds - before)
        if trace.n_rounds > before:
            reason = first_of([reason, *(watcher.after(trace) for watcher in watchers)])
    trace.stop_reason = reason or "n_estimators"
    trace.done = True
    return trace


def refuse_large_votes(reach: float, rounds: int, advice: str = "use a penalty, or fewer n_estimators") -> None:
    """Raise where votes could exceed what can be summed exactly. reach: the most that a vote can come to."""
    if reach >= LONGEST:
        raise ValueError(
            f"after {rounds} rounds votes can come to {reach:.3g}, more than can be summed exactly ({LONGEST:.3g}): "
            f"{advice}"
        )


def first_of(reasons: Sequence[str | None]) -> str | None:
    return next(filter(None, reasons), None)


class Patience:
    """Stops when the score of validation rows has not fallen by more than tol for a number of rounds.

    score : callable
        Given the trace and a round, the score after it; called once for every round, in order. Lower is better.
    """

    def __init__(self, score: Callable[[Trace, int], float], tol: float, rounds: int) -> None:
        self.score = score
        self.tol = tol
        self.rounds = rounds
        self.best = math.inf
        self.best_round = 0

    def replay(self, trace: Trace) -> str | None:
        for number in range(1, trace.n_rounds + 1):
            reason = self._look(trace, number)
            if reason is not None:
                trace.forget_after(number)
                return reason
        return None

    def after(self, trace: Trace) -> str | None:
        return self._look(trace, trace.n_rounds)

    def _look(self, trace: Trace, number: int) -> str | None:
        score = self.score(trace, number)
        trace.note("validation", score, number)
        if score < self.best - self.tol or self.best_round == 0:
            self.best, self.best_round = score, number
        trace.best_round = self.best_round
        return "validation" if number - self.best_round >= self.rounds else None
