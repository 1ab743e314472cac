"""The voters of a fitted model as a read-only sequence: each predicts and can be read as text.

They are views of the ensemble's arrays, made on access.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.data import inputs
from electorate.exact import AnyArray, Floats
from electorate.model.ensemble import Ensemble, Read
from electorate.model.median import tree_outputs
from electorate.model.text import Words, column_names


class VoterView:
    """One voter of a classifier over bins."""

    def __init__(self, model: Any, number: int) -> None:
        self._model = model
        self._number = number

    @property
    def step(self) -> float:
        return float(self._model.ensemble_.steps[self._number])

    def predict(self, X: Any) -> AnyArray:
        """Return the class this voter alone votes for."""
        table = inputs.check_table(self._model, X, reset=False)
        alone = self._model.ensemble_.only(self._number)
        votes = alone.votes(table.n_rows, self._model._reader(table))
        best = votes[0] > 0 if len(votes) == 1 else np.argmax(votes, axis=0)
        return np.asarray(self._model.classes_.take(best))

    def to_text(self) -> str:
        """Return a text such as: if age <= 40.5 or age is missing: 'no', else 'yes'. A tree takes one line per leaf."""
        words = Words(self._model)
        return "\n".join(map(str, words.rules(self._model.ensemble_.only(self._number), words.label)))

    def __repr__(self) -> str:
        return f"Voter({self.to_text()}; step {self.step:.4g})"


class RowVoterView(VoterView):
    """One voter of a classifier over whole rows."""

    @property
    def voter(self) -> Any:
        """The voter as the family made it."""
        return self._model.ensemble_.fitted[self._number]

    def outputs(self, X: Any) -> Floats:
        """Return its outputs, from -1 to 1."""
        return np.asarray(self.voter.outputs(self._model._check_rows(X, reset=False)))

    def predict(self, X: Any) -> AnyArray:
        """Return the class this voter alone votes for.

        A voter about one class against the rest votes for it or for the first other class.
        """
        about = int(self._model.ensemble_.about[self._number])
        second = 1 if about < 0 else about
        first = 0 if second != 0 else 1
        return np.asarray(self._model.classes_.take(np.where(self.outputs(X) > 0, second, first)))

    def to_text(self) -> str:
        names = column_names(self._model)
        return self.voter.to_text(names) if hasattr(self.voter, "to_text") else repr(self.voter)


class RegressionVoterView(VoterView):
    """One voter of a regressor that votes by a median."""

    @property
    def step(self) -> float:
        return float(self._model.steps_[self._number])

    def predict(self, X: Any) -> Floats:
        """Return the prediction of this voter alone; NaN where a column abstains."""
        table = self._model._check_rows(X, reset=False)
        vote = self._model.vote_
        if vote.trees is None:
            return np.asarray(vote.fitted[self._number].predict(table))
        read: Read = self._model._reader(table)
        return tree_outputs(vote.trees.only(self._number), read(0, table.n_rows), 1)[0, :, 0]

    def to_text(self) -> str:
        """Return a text like: if age <= 40.5 or age is missing: 3.25, else abstains. A tree takes one line per leaf."""
        words, vote = Words(self._model), self._model.vote_
        if vote.trees is None:
            return words.names[vote.fitted[self._number].column]
        return "\n".join(map(str, words.rules(vote.trees.only(self._number), words.output_text)))


class Voters(Sequence[VoterView]):
    """The views of all voters of a model."""

    _view: type[VoterView]

    def __init__(self, model: Any) -> None:
        self._model = model
        if hasattr(model, "vote_"):
            self._numbers, self._view = range(model.vote_.n_voters), RegressionVoterView
        else:
            self._numbers, self._view = range(model.ensemble_.n_voters), RowVoterView if model._by_rows else VoterView

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self._view(self._model, number) for number in self._numbers[item]]
        return self._view(self._model, self._numbers[item])


# ---------------------------------------------------------------- trees of a model


def no_ensemble(model: Any, what: str) -> str:
    """The message about a model without voters of its own, such as one that combines several models."""
    name = type(model).__name__
    instead = ": pass one of its estimators_" if hasattr(model, "estimators_") else ""
    return f"{what} is for electorate's trees, and {name} is not one ensemble of voters{instead}"


def model_trees(model: Any, what: str) -> tuple[Ensemble, Floats]:
    """Return the trees and their steps, or raise TypeError. what: the name of the caller, for the message."""
    is_median = hasattr(model, "vote_")
    if not (is_median or hasattr(model, "ensemble_")):
        raise TypeError(no_ensemble(model, what))
    ensemble = model.vote_.trees if is_median else model.ensemble_
    if not isinstance(ensemble, Ensemble):
        raise TypeError(
            f"{what} is for electorate's trees, and this {type(model).__name__} has other voters: use stumps, trees, "
            "rules, pairs or a pool as its voters"
        )
    return ensemble, np.asarray(model.steps_ if is_median else ensemble.steps * getattr(model, "scale_", 1.0))
