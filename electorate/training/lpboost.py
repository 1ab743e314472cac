"""The benches of totally corrective classifiers: LPBoost's column generation, and programs over given voters."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.lpboost import Margin
from electorate.algorithms.solvers.linear import master_of
from electorate.engines.distinct import DistinctBins, DistinctRows, distinct_rows
from electorate.model.casting import from_casts
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import PastRun
from electorate.model.row_ensemble import RowEnsemble
from electorate.model.text import column_names
from electorate.model.trace import Trace
from electorate.training.classification import NO_BINS, no_bins
from electorate.training.column_generation import COLUMNS, ColumnGeneration, WeightedSearch
from electorate.training.fit import Bench, common_attributes
from electorate.training.totally_corrective import VoterMatrix, Weighed, counted_rows, first_of_each
from electorate.training.worker_data import Outline
from electorate.voters.by_rows import ByRows, Hearing
from electorate.voters.wrapped import Speech, Wrapped

Group = tuple[int | None, NDArray[np.int64] | None]
TWO = np.arange(2)


class LPBench(Bench):
    """LPBoost over a family, in this process. margin: the program, given the sample weights of the examples."""

    def __init__(
        self, model: Any, place: Any, outline: Outline, margin: Callable[[NDArray[np.float64]], Margin]
    ) -> None:
        super().__init__(model)
        self.outline, self.margin = outline, margin
        self.examples = place.room.examples["train"]
        self.bins = NO_BINS
        if model._is_native:
            self.bins = place.agree("find_bins", model.categorical_features, model.max_bins)
        self.search: WeightedSearch | None = None
        self.failed = ""  # the message of a solver that gave up
        self.margins: list[float] = []  # rho of each run in nu

    def past(self, task: Group) -> PastRun:
        return PastRun(Trace(COLUMNS))

    def start(self, task: Group, past: PastRun) -> ColumnGeneration | None:
        if len(self.outline.classes) == 1:
            return None
        if self.search is None:
            self.search = self._over_bins() if self.model._is_native else self._over_rows()
        self.search.start(TWO if task[1] is None else task[1])
        margin = self.margin(self.search.mass)
        return ColumnGeneration(self.search, margin, master_of(margin, self.model.solver), self.model.tol)

    def _over_bins(self) -> WeightedSearch:
        family = self.model._family()
        return WeightedSearch(DistinctBins(self.examples, self.bins), self.bins, lambda group: family)

    @property
    def _speech(self) -> Any:
        """How the outputs of voters that look at rows are read."""
        classes = TWO if len(self.outline.classes) > 2 else self.outline.classes
        if self.model._by_rows:
            return Hearing(classes, "any", type(self.model).__name__)
        return Speech(classes, "label", 0.0)

    def _over_rows(self) -> WeightedSearch:
        model, speech, examples = self.model, self._speech, self.examples
        first, labels, mass = distinct_rows(examples.table, examples.labels, examples.weights)
        rows = examples.table[first]

        def family_of(group: NDArray[np.int64]) -> Any:
            if model._by_rows:
                return ByRows(model._family(), rows, speech, column_names(model))
            return Wrapped(model._family(), rows, speech.classes[group[labels]], speech, model.random_state)

        engine = DistinctRows(labels, len(self.outline.classes), mass, lambda voter: speech.of(voter, rows))
        return WeightedSearch(engine, self.bins, family_of)

    def finish(self, method: Any) -> None:
        self.failed = method.failed or self.failed
        if method.margin.normalised:
            self.margins.append(method.margin.rho(method.margins))

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        every = [*traces, *(run.trace for run in runs[len(traces) :])]
        casts = [
            [run.cast(number, weight) for number, weight in trace.last_weights() if weight > 0]
            for trace, run in zip(every, runs, strict=True)
        ]
        n_classes, model = len(self.outline.classes), self.model
        attributes = {"classes_": self.outline.classes, "n_classes_": n_classes}
        attributes |= common_attributes(model, every, False)
        unsolved = [trace.stop_reason for trace in every if trace.stop_reason != "converged"]
        attributes["stop_reason_"] = (unsolved or [attributes["stop_reason_"]])[0]
        if model._is_native:
            ensemble: Any = from_casts(casts, self.bins, 1 if n_classes == 2 else n_classes)
            return attributes | {"bins_": self.bins, "ensemble_": ensemble}
        n_columns = self.examples.table.shape[1]
        if not model._by_rows:
            return attributes | {"ensemble_": ForeignEnsemble(casts, self._speech, n_columns)}
        ensemble = RowEnsemble(casts, self._speech, n_columns, model._family())
        return attributes | {"bins_": no_bins(n_columns), "ensemble_": ensemble}


def weigh_again(
    outputs: Any, rows: Any, examples: Any, groups: list[NDArray[np.int64]], weigh: Callable[[VoterMatrix], Weighed]
) -> tuple[list[list[tuple[int, float]]], list[Trace], str]:
    """Weigh the voters of an ensemble for each group of labels: the voters with weights, traces, a failure's message.

    outputs: of the ensemble's voters; of equal ones only the first is weighed.
    """
    used, counts = counted_rows(examples.weights)
    picks, traces, failed = [], [], ""
    for run, group in enumerate(groups):
        started = time.perf_counter()
        mine = np.flatnonzero(outputs.steps(run) > 0)
        matrix = outputs.outputs(rows, run)[np.ix_(mine, used)]
        distinct = first_of_each(matrix) if len(mine) else mine
        mine = mine[distinct]
        voters = VoterMatrix.of(matrix[distinct], group[examples.labels[used]] > 0, counts, examples.weights.given)
        found = weigh(voters) if len(mine) else Weighed(np.empty(0), 0.0, 0.0)
        picks.append([(int(mine[t]), float(found.alpha[t])) for t in np.flatnonzero(found.alpha)])
        traces.append(trace_of(found, voters, time.perf_counter() - started))
        failed = found.failed or failed
    return picks, traces, failed


def trace_of(found: Weighed, voters: VoterMatrix, seconds: float) -> Trace:
    """A round for every voter that has a weight; its edge and error are under the sample weights."""
    used = np.flatnonzero(found.alpha)
    share = voters.mass / voters.mass.sum()
    margins = found.alpha @ voters.awards if len(used) else np.zeros(len(share))
    wrong = np.where(voters.signs > 0, margins <= 0, margins < 0)
    numbers = np.arange(1, len(used) + 1)
    same = {"objective": found.objective, "gap": found.gap, "residual": found.residual, "kept": 1.0}
    same |= {"train_error": float(share[wrong].sum()), "seconds": seconds}
    history = {name: np.full(len(used), value) for name, value in same.items()}
    history |= {"step": found.alpha[used], "n_voters": numbers}
    history["edge"] = np.array([float(np.sum(share * voters.awards[t])) for t in used])
    history["error"] = np.array([float(np.sum(share[voters.awards[t] < 0])) for t in used])
    trace = Trace(COLUMNS)
    trace.add_rounds(numbers, used, found.alpha[used], history)
    trace.stop_reason = "converged"
    return trace
