"""The voters of a fitted model, to look at: a read-only sequence; each voter predicts and can be read as text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.engines.pool import Pool
from electorate.ensemble import LEAF
from electorate.estimators import inputs


class Voter:
    def __init__(self, model: Any, number: int) -> None:
        self._model = model
        self._number = number

    @property
    def step(self) -> float:
        return float(self._model.ensemble_.steps[self._number])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class this voter alone votes for."""
        table = inputs.check_table(self._model, X, reset=False)
        alone = self._model.ensemble_.only(self._number)
        votes = alone.votes(table.n_rows, self._model._reader(table), Pool(1))
        best = votes[0] > 0 if len(votes) == 1 else np.argmax(votes, axis=0)
        return np.asarray(self._model.classes_.take(best))

    def to_text(self) -> str:
        """For example: if age <= 40.5 or age is missing: 'no', else 'yes'."""
        alone = self._model.ensemble_.only(self._number)
        if alone.column[0] == LEAF:
            return f"always {self._label(alone.value[0])}"
        left, right = (self._label(value) for value in alone.value[alone.children[0]])
        return f"if {self._test(alone)}: {left}, else {right}"

    def _label(self, value: NDArray[np.float64]) -> str:
        best = int(value[0] > 0) if len(value) == 1 else int(np.argmax(value))
        return repr(
            self._model.classes_[best].item()
            if hasattr(self._model.classes_[best], "item")
            else self._model.classes_[best]
        )

    def _test(self, alone: Any) -> str:
        column = int(alone.column[0])
        names = getattr(self._model, "feature_names_in_", None)
        name = str(names[column]) if names is not None else f"x{column}"
        if alone.members[0] >= 0:
            levels = self._model.bins_.categories[column].levels
            chosen = [repr(level) for code, level in enumerate(levels.tolist()) if alone.sets[0][code]]
            if self._model.bins_.categories[column].rest and alone.sets[0][len(levels)]:
                chosen.append("a rare level")
            if not chosen:
                return f"{name} is missing"
            test = f"{name} in {{{', '.join(chosen)}}}"
        elif np.isinf(alone.threshold[0]):
            return f"{name} is not missing"
        else:
            test = f"{name} <= {_number(alone.threshold[0])}"
        return f"{test} or {name} is missing" if alone.missing_left[0] else test

    def __repr__(self) -> str:
        return f"Voter({self.to_text()}; step {self.step:.4g})"


class Voters(Sequence[Voter]):
    def __init__(self, model: Any) -> None:
        self._model = model

    def __len__(self) -> int:
        return int(self._model.ensemble_.n_voters)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self[k] for k in range(*item.indices(len(self)))]
        number = range(len(self))[item]
        return Voter(self._model, number)

    def __iter__(self) -> Iterator[Voter]:
        return (Voter(self._model, number) for number in range(len(self)))


def _number(value: np.float64) -> str:
    """The fewest digits that are this number and no other: a reader must get what the voter predicts."""
    return repr(float(value)).removesuffix(".0")
