"""The voters of a fitted regressor, to look at: a read-only sequence; each predicts and can be read as text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.ensemble import LEAF
from electorate.estimators.voter_view import Voter
from electorate.median import trees_say


class RegressionVoter(Voter):
    @property
    def step(self) -> float:
        return float(self._model.steps_[self._number])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """What this voter alone says."""
        from electorate.estimators import inputs
        from electorate.estimators.regression import reader

        table = inputs.check_table(self._model, X, reset=False)
        alone = self._model.vote_.trees.only(self._number)
        return trees_say(alone, reader(table, self._model.bins_)(0, table.n_rows), 1)[0, :, 0]

    def to_text(self) -> str:
        """For example: if age <= 40.5: 3.25, else (if income <= 10: 1, else abstains)."""
        alone = self._model.vote_.trees.only(self._number)
        return f"always {self._below(alone, 0)}" if alone.column[0] == LEAF else self._below(alone, 0)

    def _below(self, alone: Any, node: int) -> str:
        if alone.column[node] == LEAF:
            value, sure = alone.value[node]
            return f"{value:.6g}" if sure > 0 else "abstains"
        left, right = (self._below(alone, int(child)) for child in alone.children[node])
        right = f"({right})" if right.startswith("if ") else right
        left = f"({left})" if left.startswith("if ") else left
        return f"if {self._asked(alone, node)}: {left}, else {right}"

    def _asked(self, alone: Any, node: int) -> str:
        class One:
            column = alone.column[node:]
            members = alone.members[node:]
            sets = alone.sets[[alone.members[node]]] if alone.members[node] >= 0 else alone.sets
            threshold = alone.threshold[node:]
            missing_left = alone.missing_left[node:]

        return self._test(One)


class RegressionVoters(Sequence[RegressionVoter]):
    def __init__(self, model: Any) -> None:
        self._model = model

    def __len__(self) -> int:
        return int(self._model.vote_.n_voters)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self[k] for k in range(*item.indices(len(self)))]
        return RegressionVoter(self._model, range(len(self))[item])

    def __iter__(self) -> Iterator[RegressionVoter]:
        return (RegressionVoter(self._model, number) for number in range(len(self)))
