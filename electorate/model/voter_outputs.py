"""The outputs of each voter of a fitted ensemble, from -1 to 1: electorate's models, or scikit-learn's ensembles.

Programs that re-weight voters need nothing else. A run is one class against the rest; for two classes there is one run.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from electorate.data.sparse_format import check_sparse
from electorate.exact import UNITS, Floats
from electorate.model.casting import in_rounds
from electorate.model.ensemble import Ensemble
from electorate.model.foreign_ensemble import (
    ForeignEnsemble,
    OneVsRestView,
    RowEnsemble,
    SklearnEnsemble,
    scaled_outputs,
)

Picks = list[list[tuple[int, float]]]  # of each run, (voter, step)


class VoterOutputs:
    """The voters of a fitted model: trees over bins, or voters that predict whole rows."""

    def __init__(self, model: Any) -> None:
        own = getattr(model, "ensemble_", None)
        is_combined = own is None and hasattr(model, "_guarantees")  # a stack, or a cross-fitted classifier
        if is_combined or not hasattr(model, "classes_"):
            raise TypeError(
                f"{type(model).__name__} is not an ensemble that can be re-weighted: pass one of electorate's "
                "classifiers, or a forest, bagging or AdaBoost classifier of scikit-learn"
            )
        self.model = model
        self.ensemble: Any = own if isinstance(own, Ensemble | ForeignEnsemble) else SklearnEnsemble(model)
        self.n_voters = len(self.ensemble.steps)
        self.n_runs = 1 if len(model.classes_) == 2 else len(model.classes_)

    def steps(self, run: int) -> Floats:
        """[voter]: the size of its step in a run."""
        return np.where(np.isin(self.ensemble.about, (-1, run)), np.abs(self.ensemble.steps), 0.0)

    def outputs(self, rows: Any, run: int) -> Floats:
        """[voter, row] in a run. rows: as `rows_of` returns them."""
        outputs = np.zeros((self.n_voters, count_rows(rows)))
        for voter in np.flatnonzero(np.isin(self.ensemble.about, (-1, run))).tolist():
            if isinstance(self.ensemble, Ensemble):
                alone = replace(self.ensemble.only(voter), value=self._values(voter)[:, [run]])
                outputs[voter] = alone.votes(rows.n_rows, self.model._reader(rows))[0] / UNITS
            else:
                outputs[voter] = self.ensemble.class_outputs(voter, rows, run)
        return outputs

    def _values(self, voter: int) -> Floats:
        """[node, run] of one tree, from -1 to 1."""
        low, high = self.ensemble.offsets[voter : voter + 2]
        value = self.ensemble.value[low:high]
        leaves = self.ensemble.column[low:high] < 0
        return np.where(leaves[:, None], scaled_outputs(value, value[leaves]), 0.0)

    def chosen(self, picks: Picks) -> Any:
        """The ensemble of these voters with these steps. A voter of several runs is there once for each."""
        chosen, rounds, about = in_rounds(picks)
        voters = [voter for voter, _ in chosen]
        some = self.ensemble.chosen(voters, [step for _, step in chosen])
        if isinstance(some, Ensemble):
            value = np.concatenate([np.zeros((0, self.n_runs)), *(self._values(voter) for voter in voters)])
            value[np.arange(self.n_runs) != np.repeat(np.maximum(about, 0), np.diff(some.offsets))[:, None]] = 0.0
            return replace(some, value=value, rounds=rounds, about=about)
        made = some if isinstance(some, RowEnsemble) else OneVsRestView(some)
        made.rounds, made.about, made.n_outputs = rounds, about, self.n_runs
        return made


def rows_of(model: Any, X: Any) -> Any:
    """Return X as the voters of the model read it."""
    if hasattr(model, "_check_rows"):
        return model._check_rows(X, reset=False)
    X = check_sparse(X)
    return validate_data(model, X, reset=False, accept_sparse="csr", dtype=None, ensure_all_finite=False)


def count_rows(rows: Any) -> int:
    return int(rows.n_rows if hasattr(rows, "n_rows") else rows.shape[0])
