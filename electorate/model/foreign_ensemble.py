"""Ensembles of voters that predict whole rows: fitted scikit-learn classifiers, or members of a scikit-learn ensemble.

Votes are added on the grid. Predictions of third-party estimators are outside the determinism guarantee: such a model
has no digest and no model file.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.protocol import Step
from electorate.grid import UNITS
from electorate.model.casting import in_rounds
from electorate.model.outcome import Cast
from electorate.model.trace import Row
from electorate.voters.trees import Voter
from electorate.voters.wrapped import ClassifierReader, LeafOutputs

Floats = NDArray[np.float64]


class ForeignEnsemble:
    """Fitted classifiers, their steps, and how their predictions are read as outputs."""

    def __init__(self, runs: list[list[Cast]], reader: ClassifierReader, n_columns: int) -> None:
        order = in_rounds(runs)
        casts = [runs[run][t] for t, run in order]
        self.fitted = [cast.voter.fitted for cast in casts]
        self.steps = np.array([cast.step.size for cast in casts], dtype=np.float64)
        self.rounds = np.array([t + 1 for t, _ in order], dtype=np.int32)
        self.about = np.array([run if len(runs) > 1 else -1 for _, run in order], dtype=np.int32)
        self.reader = reader
        self.n_columns = n_columns
        n_labels = len(reader.classes)
        self.n_outputs = len(runs) if len(runs) > 1 else (1 if n_labels == 2 else n_labels)

    @property
    def n_voters(self) -> int:
        return len(self.steps)

    def outputs(self, voter: int, X: Any) -> Floats:
        """[output, row] of one voter."""
        leaf, outputs = self.reader.of(self.fitted[voter], X)
        return np.asarray(outputs[leaf].T)

    def class_outputs(self, voter: int, X: Any, run: int) -> Floats:
        """[row] of one voter, from -1 to 1, for a class against the rest; for two classes the run is 0."""
        outputs = self.outputs(voter, X)
        return scaled_outputs(outputs.T, outputs.T)[:, run if len(outputs) > 1 else 0]

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
        """After every round, the number of voters and their votes (the same array, added to)."""
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for voter in range(self.n_voters):
            rows = slice(None) if self.about[voter] < 0 else [self.about[voter]]
            votes[rows] += np.rint(self.steps[voter] * self.outputs(voter, X) * UNITS).astype(np.int64)
            if voter + 1 == self.n_voters or self.rounds[voter + 1] > self.rounds[voter]:
                yield voter + 1, votes

    def importances(self) -> Floats:
        none = np.zeros(self.n_columns)
        try:
            each = [none if isinstance(one, DummyClassifier) else one.feature_importances_ for one in self.fitted]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a feature_importances_ attribute"
            ) from error
        total = max(float(np.abs(self.steps).sum()), np.finfo(np.float64).tiny)
        return np.abs(self.steps) @ np.reshape(each, (-1, self.n_columns)) / total

    def casts(self, label: int | None, rows: list[Row], hear: Callable[[Any], LeafOutputs]) -> list[Cast]:
        """The voters (of one label's run) and their outputs, to resume training from."""
        mine = np.flatnonzero((self.about == label) | (label is None)).tolist()
        casts = []
        for voter, row in zip(mine, rows, strict=False):
            _, outputs = hear(self.fitted[voter])
            step = Step(float(self.steps[voter]), row["edge"], row["error"])
            no_rows = np.zeros((len(outputs), 0), dtype=np.int64)
            casts.append(Cast(Voter([], [], no_rows, self.fitted[voter], outputs), outputs, step))
        return casts


class SklearnEnsemble(ForeignEnsemble):
    """The members of a scikit-learn forest, bagging or AdaBoost classifier.

    The output of a member for a class is 2 p - 1 by its probability p, as forests and bagging average them; for
    AdaBoost, and where there is no predict_proba, it is 1 or -1 by the label. `columns`: those that a member sees.
    """

    def __init__(self, model: Any) -> None:
        check_is_fitted(model)
        members = getattr(model, "estimators_", None)
        if members is None or not hasattr(model, "classes_") or not isinstance(model.classes_, np.ndarray):
            raise TypeError(
                f"{type(model).__name__} is not an ensemble that can be re-weighted: pass one of electorate's models, "
                "or a forest, bagging or AdaBoost classifier of scikit-learn, fitted to one target"
            )
        self.fitted = list(members)
        self.columns = getattr(model, "estimators_features_", None)
        self.classes = model.classes_
        first = np.asarray(self.fitted[0].classes_)
        # forests and bagging give their members the labels as numbers
        self.numbered = np.array_equal(first, np.arange(len(first))) and not np.array_equal(first, self.classes)
        self.by_label = hasattr(model, "estimator_weights_") or not hasattr(self.fitted[0], "predict_proba")
        weights = getattr(model, "estimator_weights_", np.ones(len(self.fitted)))[: len(self.fitted)]
        self.steps = np.asarray(weights, dtype=np.float64)
        self.about = np.full(len(self.fitted), -1, dtype=np.int32)

    def class_outputs(self, voter: int, X: Any, run: int) -> Floats:
        member = self.fitted[voter]
        seen = X if self.columns is None else X[:, self.columns[voter]]
        label = run if len(self.classes) > 2 else 1
        if self.by_label:
            return np.where(self._codes(member.predict(seen)) == label, 1.0, -1.0)
        proba = member.predict_proba(seen)
        mine = np.flatnonzero(self._codes(member.classes_) == label)
        return np.asarray(2.0 * proba[:, mine[0]] - 1.0) if len(mine) else np.full(len(proba), -1.0)

    def _codes(self, labels: Any) -> NDArray[np.int64]:
        """The positions of labels in `classes`."""
        return np.asarray(labels).astype(np.int64) if self.numbered else np.searchsorted(self.classes, labels)

    def chosen(self, voters: list[int], steps: list[float]) -> "SklearnEnsemble":
        made: Any = super().chosen(voters, steps)
        made.columns = None if self.columns is None else [self.columns[voter] for voter in voters]
        return made


class OneVsRestView(ForeignEnsemble):
    """The voters of an ensemble, each for one class against the rest."""

    def __init__(self, source: ForeignEnsemble) -> None:
        self.source = source
        self.fitted, self.steps = source.fitted, source.steps
        self.n_columns = getattr(source, "n_columns", 0)

    def outputs(self, voter: int, X: Any) -> Floats:
        return self.source.class_outputs(voter, X, max(int(self.about[voter]), 0))[None]

    def class_outputs(self, voter: int, X: Any, run: int) -> Floats:
        return self.outputs(voter, X)[0]


def scaled_outputs(values: Floats, leaves: Floats) -> Floats:
    """Outputs from -1 to 1. One-hot labels become 1 for the class and -1 for others; else divided by the largest."""
    if leaves.shape[1] > 1 and np.all((leaves == 0) | (leaves == 1)):
        return 2.0 * values - 1.0
    return np.asarray(values / max(1.0, float(np.abs(leaves).max(initial=0.0))))
