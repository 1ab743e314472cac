"""The voters of a fitted model, as a read-only sequence: each can predict and say what it does in words.

They are views of the ensemble's arrays, made when asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data import inputs
from electorate.model.text import Words, column_names, monomial
from electorate.threads import ThreadPool


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
        votes = alone.votes(table.n_rows, self._model._reader(table), ThreadPool(1))
        best = votes[0] > 0 if len(votes) == 1 else np.argmax(votes, axis=0)
        return np.asarray(self._model.classes_.take(best))

    def to_text(self) -> str:
        """For example: if age <= 40.5 or age is missing: 'no', else 'yes'. A tree says one line per leaf."""
        alone = self._model.ensemble_.only(self._number)
        words = Words(self._model)
        rule = monomial(alone)
        if rule is not None and not rule.path:
            return f"always {words.label(alone, rule.inside)}"
        if rule is not None:
            then, otherwise = words.label(alone, rule.inside), words.label(alone, rule.outside)
            return f"if {words.all_of(alone, rule.path)}: {then}, else {otherwise}"
        paths = words.leaves(alone)
        return "\n".join(
            f"if {words.all_of(alone, path)}: {words.label(alone, alone.value[leaf])}" for leaf, path in paths
        )

    def __repr__(self) -> str:
        return f"Voter({self.to_text()}; step {self.step:.4g})"


class RowVoter:
    """A voter that looks at whole rows."""

    def __init__(self, model: Any, number: int) -> None:
        self._model = model
        self._number = number

    @property
    def voter(self) -> Any:
        """As the family made it."""
        return self._model.ensemble_.fitted[self._number]

    @property
    def step(self) -> float:
        return float(self._model.ensemble_.steps[self._number])

    def outputs(self, X: Any) -> NDArray[np.float64]:
        """What it says, from -1 to 1."""
        return np.asarray(self.voter.outputs(self._model._check_rows(X, reset=False)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class this voter alone votes for; if it is about one class against the rest, that or the first other."""
        about = int(self._model.ensemble_.about[self._number])
        second = 1 if about < 0 else about
        first = 0 if second != 0 else 1
        return np.asarray(self._model.classes_.take(np.where(self.outputs(X) > 0, second, first)))

    def to_text(self) -> str:
        names = column_names(self._model)
        return self.voter.to_text(names) if hasattr(self.voter, "to_text") else repr(self.voter)

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
