"""The voters of a fitted regressor, to look at: a read-only sequence; each predicts and can be read as text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.ensemble import Read
from electorate.model.median import tree_outputs
from electorate.model.text import Words


class RegressionVoter:
    def __init__(self, model: Any, number: int) -> None:
        self._model = model
        self._number = number

    @property
    def step(self) -> float:
        return float(self._model.steps_[self._number])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """What this voter alone says; NaN where a column abstains."""
        table = self._model._check_rows(X, reset=False)
        if self._model.vote_.trees is None:
            said: NDArray[np.float64] = self._model.vote_.fitted[self._number].predict(table)
            return said
        read: Read = self._model._reader(table)
        return tree_outputs(self._model.vote_.trees.only(self._number), read(0, table.n_rows), 1)[0, :, 0]

    def to_text(self) -> str:
        """For example: if age <= 40.5 or age is missing: 3.25, else abstains. A tree says one line per leaf."""
        if self._model.vote_.trees is None:
            return Words(self._model).names[self._model.vote_.fitted[self._number].column]
        alone = self._model.vote_.trees.only(self._number)
        words = Words(self._model)
        lines = [(words.all_of(alone, path), _said(*alone.value[leaf].tolist())) for leaf, path in words.leaves(alone)]
        if len(lines) == 1:
            return f"always {lines[0][1]}"
        if len(lines) == 2:
            return f"if {lines[0][0]}: {lines[0][1]}, else {lines[1][1]}"
        return "\n".join(f"if {tests}: {said}" for tests, said in lines)

    def __repr__(self) -> str:
        return f"Voter({self.to_text()}; step {self.step:.4g})"


def _said(value: float, sure: float) -> str:
    """The fewest digits that are this number and no other."""
    return repr(value).removesuffix(".0") if sure > 0 else "abstains"


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
