"""What stands in for the ensemble when fitted scikit-learn classifiers vote: each is asked for every row.

Their votes are added on the same grid; what they predict is their own affair: no digest, no model file.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from electorate.algorithms.protocol import Step
from electorate.grid import UNITS
from electorate.model.casting import in_rounds
from electorate.model.outcome import Cast
from electorate.model.trace import Row
from electorate.voters.trees import Voter
from electorate.voters.wrapped import Said, Speech


class ForeignEnsemble:
    """Steps, fitted classifiers, and how they are heard."""

    def __init__(self, runs: list[list[Cast]], speech: Speech, n_columns: int) -> None:
        order = in_rounds(runs)
        casts = [runs[run][t] for t, run in order]
        self.fitted = [cast.voter.fitted for cast in casts]
        self.steps = np.array([cast.step.size for cast in casts], dtype=np.float64)
        self.rounds = np.array([t + 1 for t, _ in order], dtype=np.int32)
        self.about = np.array([run if len(runs) > 1 else -1 for _, run in order], dtype=np.int32)
        self.speech = speech
        self.n_columns = n_columns
        n_labels = len(speech.classes)
        self.n_outputs = len(runs) if len(runs) > 1 else (1 if n_labels == 2 else n_labels)

    @property
    def n_voters(self) -> int:
        return len(self.steps)

    def chosen(self, voters: list[int], steps: list[float]) -> "ForeignEnsemble":
        """These voters, with other steps."""
        made = copy.copy(self)
        made.fitted = [self.fitted[voter] for voter in voters]
        made.steps = np.array(steps, dtype=np.float64)
        made.rounds = np.arange(1, len(voters) + 1, dtype=np.int32)
        made.about = self.about[voters]
        return made

    def votes(self, X: Any) -> NDArray[np.int64]:
        """[output, row] of the summed votes, in units of the grid."""
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for _, after in self.staged_votes(X):
            votes = after
        return votes

    def staged_votes(self, X: Any) -> Iterator[tuple[int, NDArray[np.int64]]]:
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for voter in range(self.n_voters):
            leaf, outputs = self.speech.of(self.fitted[voter], X)
            units = np.rint(self.steps[voter] * outputs * UNITS).astype(np.int64)
            rows = slice(None) if self.about[voter] < 0 else [self.about[voter]]
            votes[rows] += units[leaf].T
            if voter + 1 == self.n_voters or self.rounds[voter + 1] > self.rounds[voter]:
                yield voter + 1, votes

    def importances(self) -> NDArray[np.float64]:
        try:
            each = [self._importances(fitted) for fitted in self.fitted]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a feature_importances_ attribute"
            ) from error
        total = max(float(np.abs(self.steps).sum()), np.finfo(np.float64).tiny)
        return np.abs(self.steps) @ np.reshape(each, (-1, self.n_columns)) / total

    def _importances(self, fitted: Any) -> NDArray[np.float64]:
        constant = isinstance(fitted, DummyClassifier)
        return np.zeros(self.n_columns) if constant else np.asarray(fitted.feature_importances_)

    def casts(self, label: int | None, rows: list[Row], hear: Callable[[Any], Said]) -> list[Cast]:
        """The voters (of one label's run) and what is heard of them, to go on from."""
        mine = np.flatnonzero((self.about == label) | (label is None)).tolist()
        casts = []
        for voter, row in zip(mine, rows, strict=False):
            _, outputs = hear(self.fitted[voter])
            step = Step(float(self.steps[voter]), row["edge"], row["error"])
            nobody = np.zeros((len(outputs), 0), dtype=np.int64)
            casts.append(Cast(Voter([], [], nobody, self.fitted[voter], outputs), outputs, step))
        return casts
