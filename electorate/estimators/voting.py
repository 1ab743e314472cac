"""What models share whose vote is a sum: how they read rows, and how the votes of a classifier become predictions."""

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from electorate.cuda.arrays import RowsThere, here, taken
from electorate.data import inputs
from electorate.data.bins import reader
from electorate.data.cleaning import Cleaning, cleaned
from electorate.data.table import Table
from electorate.exact import AnyArray, Floats, Ints
from electorate.model import decisions
from electorate.model.decisions import Link
from electorate.model.device_votes import can_vote_there, votes_there
from electorate.model.ensemble import Read
from electorate.threads import ThreadPool, count_jobs
from electorate.training.lazy_inputs import in_batches, in_memory_only, is_scanned, row_by_row

FEW_CLASSES = 100  # up to that many, predict holds the votes of all rows at once
VOTES_AT_ONCE = 2**20


class ReadsRows:
    """Reads X as the voters of `ensemble_` need it. Subclasses define `_is_native` and `_by_rows`."""

    cleaning_: Cleaning | None = None  # of the columns, where the fitted model has one
    bins_: Any
    ensemble_: Any
    n_jobs: int | None
    _is_native: Any  # whether voters are over bins
    _by_rows: Any  # whether they are of one of electorate's families that use whole rows

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """X as a table, as numbers, or for a third-party estimator as scikit-learn's AdaBoost would give it.

        reset: of a fit, whose X is clean; otherwise X is cleaned first, if the model has a cleaning.
        """
        return self._read_clean(X if reset else cleaned(self, X), reset)

    def _read_clean(self, X: Any, reset: bool) -> Any:
        if self._is_native:
            return inputs.check_table(self, X, reset=reset)
        if self._by_rows:
            return inputs.check_numbers(self, X, reset=reset)
        return inputs.check_array_like(self, X, reset=reset)

    def _reader(self, table: Table) -> Read:
        return reader(table, self.bins_.categories)

    def _votes_there(self, X: Any) -> TypeGuard[RowsThere]:
        """Whether rows are on a device and votes can be computed there."""
        return isinstance(X, RowsThere) and bool(self._is_native) and can_vote_there(self.bins_.categories)

    def _votes(self, X: Any) -> Any:
        """[output, row] in units of the grid, of a model whose vote is a sum; on the device where the rows are."""
        if is_scanned(X):
            return np.asarray(in_batches(X, self._votes, axis=1))
        table = self._check_rows(X, reset=False)
        if not self._is_native:
            return np.asarray(self.ensemble_.votes(table))
        if self._votes_there(X):
            return votes_there(self.ensemble_, table, X, self.bins_.categories)
        with ThreadPool(count_jobs(self.n_jobs, table.n_rows * table.n_columns)) as pool:
            return np.asarray(self.ensemble_.votes(table.n_rows, self._reader(table), pool))


class VotingClassifier(ClassifierMixin, ReadsRows):
    """A classifier whose votes are added. Subclasses define `_checked_probabilities`."""

    classes_: AnyArray
    n_classes_: int

    def _decision(self, votes: Ints, total: float) -> Floats:
        """total: of the steps."""
        return decisions.plain(votes, self.n_classes_, total)

    @property
    def steps_(self) -> Floats:
        """The papers' alpha, one per voter."""
        return self.ensemble_.steps

    @row_by_row
    def decision_function(self, X: Any) -> Floats:
        """The votes: one number per row for two classes, positive for the second; else a column per class."""
        check_is_fitted(self)
        return self._decision(self._votes(X), self._total_step())

    @in_memory_only
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """The decision function after every round."""
        check_is_fitted(self)
        totals = np.cumsum(np.abs(self.steps_))
        for n_voters, votes in self._staged_votes(X):
            yield self._decision(votes, float(totals[n_voters - 1]))

    def _total_step(self) -> float:
        """The sum of all steps, by which decisions are divided where a booster does so."""
        return float(np.abs(self.steps_).sum())

    def _votes_in_blocks(self, X: Any) -> Iterator[Ints]:
        """Yield the votes of successive blocks of rows, of up to VOTES_AT_ONCE votes each."""
        if self._votes_there(X):
            yield self._votes(X)
            return
        table = self._check_rows(X, reset=False)
        native = self._is_native
        n_rows = table.n_rows if native else table.shape[0]
        at_once = max(1, VOTES_AT_ONCE // self.n_classes_)
        jobs = count_jobs(self.n_jobs, n_rows * table.n_columns) if native else 1
        with ThreadPool(jobs) as pool:
            for low in range(0, n_rows, at_once):
                high = min(low + at_once, n_rows)
                if native:
                    yield self.ensemble_.votes(high - low, _shifted(self._reader(table), low), pool)
                else:
                    yield self.ensemble_.votes(table[low:high])

    def _staged_votes(self, X: Any) -> Iterator[tuple[int, Ints]]:
        table = self._check_rows(X, reset=False)
        if not self._is_native:
            return self.ensemble_.staged_votes(table)
        return self.ensemble_.staged_votes(table.n_rows, self._reader(table))

    @row_by_row
    def predict(self, X: Any) -> AnyArray:
        """The class with the most votes; the first one if several have the most."""
        check_is_fitted(self)
        if self.n_classes_ <= FEW_CLASSES:
            return self._classes_of(self.decision_function(X))
        total = self._total_step()
        blocks = [self._classes_of(self._decision(votes, total)) for votes in self._votes_in_blocks(X)]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    @in_memory_only
    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """The predictions after every round."""
        for decision in self.staged_decision_function(X):
            yield self._classes_of(decision)

    @row_by_row
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes; not calibrated, unless `calibrate` was called."""
        return self._calibrated_probabilities(here(self.decision_function(X)))

    @in_memory_only
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """The probabilities after every round."""
        for decision in self.staged_decision_function(X):
            yield self._calibrated_probabilities(decision)

    @row_by_row
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _classes_of(self, decision: Any) -> Any:
        best = (decision > 0).astype(np.int64) if self.n_classes_ == 2 else decision.argmax(axis=1)
        return taken(self.classes_, best)

    def _calibrated_probabilities(self, decision: Floats) -> Floats:
        return self._checked_probabilities(decision)

    def _calibrated_link(self) -> Link:
        """Return the link of the probabilities, for exports."""
        return self._link()

    def _checked_probabilities(self, decision: Floats) -> Floats:
        raise NotImplementedError

    def _link(self) -> Link:
        raise NotImplementedError


def _shifted(read: Read, by: int) -> Read:
    """Return a reader of the rows after the first `by`."""
    return lambda low, high: read(low + by, high + by)
