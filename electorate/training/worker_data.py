"""A room: the rows that live in one place, and what becomes of them: a problem, then shards.

Here there is one room; on a cluster every worker has one. What rooms must agree on is written once, as steps (see
data/agree.py), so the classes, weights, bins and rows to stop by are the same wherever the rows live.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data import inputs
from electorate.data.all_reduce import Max, Reduce, ReduceSteps, SortedUnion
from electorate.data.bins import Bins, find_bins_steps
from electorate.data.split import candidate_steps, draw_steps, hash_rows_steps
from electorate.data.weights import Weights, read_weights_steps
from electorate.engines.memory import Threads
from electorate.engines.shard import Examples
from electorate.threads import ThreadPool

NO_ROWS = "Found array with 0 sample(s): X has no rows"
NO_WEIGHT = "sample_weight is zero for every row (after class_weight): nothing is left to fit"
NO_WEIGHT_LEFT = "sample_weight times class_weight is zero for every row: nothing is left to fit"


@dataclass(frozen=True)
class Given:
    """Rows as they were given, checked one by one."""

    table: Any  # of wrapped voters: what they are fitted on
    labels: NDArray[Any]
    weight: NDArray[np.float64]

    def as_seen(self, sample_weight: Any) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
        """What is remembered of the rows; sample_weight: as it was given, None if it was not."""
        return self.table, self.labels, None if sample_weight is None else self.weight


@dataclass(frozen=True)
class Plan:
    """What to make of the rows. classes: those there were, when going on; part, seed: of the rows to set aside."""

    class_weight: Any = None
    classes: NDArray[Any] | None = None
    part: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Outline:
    """What the driver knows of a problem."""

    classes: NDArray[Any]
    listens: bool  # whether there are rows to stop by
    n_counted: int


@dataclass(frozen=True)
class Problem:
    """Rows with labels 0..K-1, weights, and a factor per class."""

    table: Any
    labels: NDArray[np.int64]
    weight: NDArray[np.float64]
    classes: NDArray[Any]
    factors: NDArray[np.float64] | None = None

    def read_steps(self) -> ReduceSteps[Examples]:
        weights: Weights = yield from read_weights_steps(self.weight, self.labels, self.factors)
        return Examples(self.table, self.labels, len(self.classes), weights)


class Room:
    """number: among other rooms. engines: of the rows to train on and, if any, of those to stop by."""

    def __init__(self, given: Given, heard: Given | None, pool: ThreadPool, n_shards: int, number: int = 0) -> None:
        self.given: Given | None = given
        self.heard = heard
        self.pool = pool
        self.n_shards = n_shards
        self.number = number
        self.examples: dict[str, Examples] = {}
        self.engines: dict[str, Threads] = {}

    def prepare(self, plan: Plan) -> ReduceSteps[Outline]:
        """Labels, weights, and the rows to stop by."""
        assert self.given is not None
        problem = yield from problem_steps(self.given, plan)
        heard = None
        if self.heard is not None:
            heard = _heard(self.heard, problem.classes)
        elif plan.part is not None:
            weight = yield from set_aside_steps(problem, plan.part, plan.seed, self.number)
            heard = replace(problem, weight=weight)
            problem = replace(problem, weight=problem.weight - weight)
        self.examples["train"] = yield from problem.read_steps()
        if heard is not None:
            self.examples["heard"] = yield from heard.read_steps()
        (n_counted,) = yield Reduce((self.examples["train"].weights.n_counted,))
        return Outline(problem.classes, heard is not None, n_counted)

    def find_bins(self, categorical: Any, max_bins: int | str) -> ReduceSteps[Bins]:
        examples = self.examples["train"]
        table = examples.table
        inputs.refuse_too_large(bytes_needed(examples, max_bins, self.n_shards, 256))
        (by_type,) = yield Reduce((SortedUnion(np.array(table.category_columns(), dtype=np.int64), "X"),))
        columns = inputs.category_columns(table, categorical, by_type.values.tolist())
        return (yield from find_bins_steps(table, examples.weights.whole, columns, max_bins, self.pool))

    def build(self, bins: Bins, max_bins: int | str) -> ReduceSteps[dict[str, Any]]:
        """The shards; the rows as they were given are not needed any more. What engines say of all rooms."""
        if bins.width > 256:
            inputs.refuse_too_large(bytes_needed(self.examples["train"], max_bins, self.n_shards, bins.width))
        said = {}
        for name, examples in self.examples.items():
            self.engines[name] = engine = Threads(examples, bins, self.pool, self.n_shards)
            count, n_counted = yield Reduce((engine.count, engine.n_counted))
            bits = examples.weights.bits
            said[name] = {"count": count, "n_counted": n_counted, "full": count << bits, "unit": engine.unit}
            said[name]["given"] = engine.given
        self.given = self.heard = None
        self.examples = {}
        return said


def problem_steps(given: Given, plan: Plan) -> ReduceSteps[Problem]:
    """Classes, labels 0..K-1 and the factors of the classes; rows of other classes have no weight."""
    labels, weight = given.labels, given.weight
    counting = labels if np.all(weight > 0) else labels[weight > 0]
    known = np.unique(labels) if isinstance(plan.class_weight, dict) else labels[:0]
    here = np.unique(counting)
    inputs.refuse_many(here)
    facts = (len(labels), SortedUnion(here, "y"), SortedUnion(known, "y"), Max(float(weight.max(initial=0.0))))
    n_rows, found, known_anywhere, most = yield Reduce(facts)
    if n_rows == 0:
        raise ValueError(NO_ROWS)
    if most.value == 0:
        raise ValueError(NO_WEIGHT)
    present = found.values
    inputs.refuse_many(present)
    if plan.class_weight is None:
        factors = None
    elif isinstance(plan.class_weight, str):
        factors = yield from inputs.balance_steps(labels, weight, present, float(most.value))
    else:
        factors = inputs.named_factors(plan.class_weight, present.tolist(), known_anywhere.values.tolist())
    if factors is not None and np.any(factors == 0):
        weight = np.where(np.isin(labels, present[factors > 0]), weight, 0.0)
        present, factors = present[factors > 0], factors[factors > 0]
        if not len(present):
            raise ValueError(NO_WEIGHT_LEFT)
    classes = present if plan.classes is None else plan.classes
    codes = inputs.encode_labels(labels, classes, weight, "y")
    if factors is not None and plan.classes is not None:
        spread = np.ones(len(classes))
        spread[inputs.encode_labels(present, classes, np.ones(len(present)), "y")] = factors
        factors = spread
    return Problem(given.table, codes, weight, classes, factors)


def _heard(given: Given, classes: NDArray[Any]) -> Problem:
    labels = inputs.encode_labels(given.labels, classes, given.weight, "y_val")
    return Problem(given.table, labels, given.weight, classes)


def set_aside_steps(problem: Problem, part: float, seed: int, number: int = 0) -> ReduceSteps[NDArray[np.float64]]:
    """The weight of every row that goes to validation; rows only change sides, nothing is copied."""
    hashes = yield from hash_rows_steps(problem.table, seed)
    weights = yield from read_weights_steps(problem.weight)
    rows = yield from candidate_steps(hashes, weights, problem.labels, len(problem.classes))
    aside = yield from draw_steps(rows, part, number)
    (drawn,) = yield Reduce((int(aside.sum()),))
    if drawn == 0:
        raise ValueError("early_stopping=True, but every class has only one sample: none can be set aside to stop by")
    return problem.weight * aside / np.maximum(rows.times, 1)  # in this order, whole weights stay whole


def bytes_needed(examples: Examples, max_bins: int | str, n_shards: int, width: int) -> int:
    """Binned copy, state and working vectors of the shards, and their histograms; in Python integers."""
    columns, n_labels = examples.table.n_columns + 3, examples.n_labels
    cell = 2 if max_bins == "exact" else 1
    n_states = 2 if n_labels == 2 else 1 + n_labels
    histogram = 8 * n_labels * columns * width
    return examples.table.n_rows * (cell * columns + 8 * (n_states + 12)) + (n_shards + 3) * histogram
