"""A callback of a test's own: something happens after a round."""

from collections.abc import Callable
from typing import Any


class AfterRound:
    """Calls a function with the number of every round, counted over all classes; stops if it returns True."""

    def __init__(self, act: Callable[[int], Any] = lambda number: False) -> None:
        self.act = act
        self.rounds = 0
        self.calls: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.rounds = 0
        self.calls.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.calls.append("begin")

    def on_fit_task_end(self, estimator: Any, context: Any) -> Any:
        self.calls.append("end")
        if context.task_name != "round":
            return False
        self.rounds += 1
        return self.act(self.rounds)


def stop_with(error: BaseException, at: int) -> AfterRound:
    def act(number: int) -> bool:
        if number == at:
            raise error
        return False

    return AfterRound(act)
