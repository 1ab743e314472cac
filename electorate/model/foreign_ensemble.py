"""Ensembles of voters that predict whole rows: voters by rows, scikit-learn classifiers, members of their ensembles.

Votes are added on the grid. Where a family can write its voters by rows as arrays, the model has a digest and a file
like any other. Predictions of third-party estimators are outside the determinism guarantee: no digest, no file.
"""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from electorate.exact import UNITS, AnyArray, Floats, Ints
from electorate.families.by_rows import Always, RowVoterReader
from electorate.families.wrapped import ClassifierReader
from electorate.model.casting import Cast, in_rounds
from electorate.model.ensemble import ARRAY_TYPES
from electorate.model.file_parts import check_voters, check_votes, read_arrays
from electorate.modelfile import Contents, expect

OWN_ARRAYS = {name: ARRAY_TYPES[name] for name in ("steps", "rounds", "about")}


class ForeignEnsemble:
    """Fitted classifiers, their steps, and how their predictions are read as outputs."""

    def __init__(self, runs: list[list[Cast]], reader: ClassifierReader, n_columns: int) -> None:
        casts, self.rounds, self.about = in_rounds(runs)
        self.fitted = [cast.voter.fitted for cast in casts]
        self.steps = np.array([cast.step.size for cast in casts], dtype=np.float64)
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

    def votes(self, X: Any) -> Ints:
        """[output, row] of the summed votes, in units of the grid."""
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for _, after in self.staged_votes(X):
            votes = after
        return votes

    def staged_votes(self, X: Any) -> Iterator[tuple[int, Ints]]:
        """Yield after every round the number of voters and their votes (the same array, added to)."""
        votes = np.zeros((self.n_outputs, X.shape[0]), dtype=np.int64)
        for voter in range(self.n_voters):
            rows = slice(None) if self.about[voter] < 0 else [self.about[voter]]
            votes[rows] += np.rint(self.steps[voter] * self.outputs(voter, X) * UNITS).astype(np.int64)
            if voter + 1 == self.n_voters or self.rounds[voter + 1] > self.rounds[voter]:
                yield voter + 1, votes

    def importances(self) -> Floats:
        return fitted_importances(self.fitted, np.abs(self.steps), self.n_columns)


class RowEnsemble(ForeignEnsemble):
    """Voters by rows, with the family that made them."""

    def __init__(self, runs: list[list[Cast]], reader: RowVoterReader, n_columns: int, family: Any) -> None:
        super().__init__(runs, reader, n_columns)  # type: ignore[arg-type]
        self.family = family

    def outputs(self, voter: int, X: Any) -> Floats:
        return np.asarray(self.fitted[voter].outputs(X))[None]

    def importances(self) -> Floats:
        """The share of the steps that rests on each column; a voter's step is split over its columns."""
        total = np.zeros(self.n_columns)
        for fitted, step in zip(self.fitted, np.abs(self.steps), strict=True):
            if isinstance(fitted, Always):
                continue
            columns = getattr(fitted, "columns", None)
            if columns is None:
                raise AttributeError(f"{type(fitted).__name__} uses all columns at once: it has no feature importances")
            np.add.at(total, list(columns), step / len(columns))
        return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))

    def arrays(self) -> dict[str, AnyArray]:
        return {**{name: getattr(self, name) for name in OWN_ARRAYS}, **self.family.pack(self.fitted)}

    @classmethod
    def read(cls, contents: Contents, family: Any, classes: AnyArray, n_columns: int) -> "RowEnsemble":
        """Read from a model file; ValueError if it is invalid."""
        arrays = read_arrays(contents, OWN_ARRAYS | family.array_types)
        made = cls([[]], RowVoterReader(classes, "log_odds", ""), n_columns, family)
        made.fitted = family.unpack({name: arrays[name] for name in family.array_types}, n_columns)
        made.steps, made.rounds, made.about = arrays["steps"], arrays["rounds"], arrays["about"]
        made.n_outputs = 1 if len(classes) == 2 else len(classes)
        check_voters(made, len(made.fitted), len(classes))
        expect(np.all((made.about < 0) == (len(classes) == 2)), "a voter is about no class")
        check_votes(made, len(classes), 1.0)
        return made


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

    def _codes(self, labels: Any) -> Ints:
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


def fitted_importances(fitted: list[Any], steps: AnyArray, n_columns: int) -> Floats:
    """The mean of the importances that fitted estimators have, weighted by the sizes of their steps."""
    none = np.zeros(n_columns)
    try:
        each = [none if isinstance(one, DummyClassifier) else one.feature_importances_ for one in fitted]
    except AttributeError as error:
        raise AttributeError(
            "Unable to compute feature importances since estimator does not have a feature_importances_ attribute"
        ) from error
    return np.asarray(steps @ np.reshape(each, (-1, n_columns)) / max(steps.sum(), np.finfo(np.float64).tiny))


def scaled_outputs(values: Floats, leaves: Floats) -> Floats:
    """Outputs from -1 to 1. One-hot labels become 1 for the class and -1 for others; else divided by the largest."""
    if leaves.shape[1] > 1 and np.all((leaves == 0) | (leaves == 1)):
        return 2.0 * values - 1.0
    return np.asarray(values / max(1.0, float(np.abs(leaves).max(initial=0.0))))
