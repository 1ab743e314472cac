"""The rows of one worker: their labels and weights, bins and shards.

In this process there is one set of worker data; on a cluster every worker has one. What all workers must compute
together is written as generators of all-reduce requests (data/all_reduce.py), so that classes, weights, bins and
validation rows are the same wherever the rows live.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from electorate import kernels
from electorate.algorithms.protocol import Floors
from electorate.cuda.device import Device, open_device, refuse_too_large
from electorate.data import inputs
from electorate.data.all_reduce import Max, Min, Reduce, ReduceSteps, SortedUnion
from electorate.data.bins import Bins, find_bins_steps
from electorate.data.device_bins import place_rows
from electorate.data.factors import distinct
from electorate.data.split import candidate_steps, draw_steps, hash_rows_steps
from electorate.data.targets import TARGET_BINS, bin_targets_steps, median_steps, spread_steps
from electorate.data.weights import NO_CLASS_WEIGHT, NO_WEIGHT_LEFT, Weights, read_weights_steps
from electorate.engines.cuda import CudaEngine, CudaTargets
from electorate.engines.memory import Threads
from electorate.engines.shard import Examples
from electorate.engines.target_shard import Targets
from electorate.engines.targets import LocalTargets
from electorate.engines.validation import ValidationShard
from electorate.exact import AnyArray, Floats, Ints
from electorate.families.rho_search import Given as Function
from electorate.model.median import Kappas
from electorate.threads import ThreadPool

EVERY_ROW = slice(None)
NO_WEIGHT = "sample_weight is zero for every row: nothing is left to fit"


@dataclass(frozen=True)
class GivenRows:
    """Checked rows of the user. labels: labels or targets."""

    table: Any  # for third-party voters: what they are fitted on
    labels: AnyArray
    weight: Floats

    def as_seen(self, sample_weight: Any) -> tuple[Any, AnyArray, Floats | None]:
        """Return the rows that a model stores hashes of. sample_weight: as given, or None."""
        return self.table, self.labels, None if sample_weight is None else self.weight


class WorkerData:
    """Base class for classification and regression.

    number: of this worker. examples, engines: by name, "train" and, if there are validation rows, "validation".
    X: as it was given, for functions of the user's; empty on a cluster. device: a GPU that holds the shards, or None.
    """

    device: Device | None = None

    def __init__(self, given: list[GivenRows], pool: ThreadPool, n_shards: int, number: int = 0) -> None:
        self.given: GivenRows | None = given[0]
        self.validation = given[1] if len(given) > 1 else None
        self.pool = pool
        self.n_shards = n_shards
        self.number = number
        self.X: dict[str, Any] = {}
        self.examples: dict[str, Examples] = {}
        self.engines: dict[str, Any] = {}

    def prepare(self, plan: Any) -> ReduceSteps[Any]:
        """Read labels or targets, weights, and the validation rows; return an outline for the driver."""
        raise NotImplementedError

    def bytes_needed(self, max_bins: int | str, width: int) -> int:
        raise NotImplementedError

    def _device_bytes(self, max_bins: int | str, n_rows: int) -> tuple[int, int, int]:
        """Bytes per row on a device, rows, and bytes for histograms and for numbers on their way."""
        examples = self.examples["train"]
        columns, n_labels, wide = examples.table.n_columns + 3, examples.n_labels, max_bins == "exact"
        vectors = 8 * (8 + (n_labels if n_labels > 2 else 0))  # state, grids, weights, orders, leaves
        return (2 if wide else 1) * columns + vectors, n_rows, 3 * 2**28 + 64 * 8 * n_labels * columns * 256

    def find_bins(self, categorical: Any, max_bins: int | str) -> ReduceSteps[Bins]:
        examples = self.examples["train"]
        inputs.refuse_too_large(self.bytes_needed(max_bins, 256))
        if self.device is not None:
            n_rows = sum(each.table.n_rows for each in self.examples.values())
            spare = refuse_too_large(self.device, *self._device_bytes(max_bins, n_rows))
            place_rows(examples.table, self.device, spare)
        by_type = SortedUnion(np.array(examples.table.category_columns(), dtype=np.int64), "X")
        (by_type,) = yield Reduce((by_type,))
        columns = inputs.category_columns(examples.table, categorical, by_type.values.tolist())
        weights = examples.weights
        counted = weights.whole, columns, max_bins, self.pool, weights.times
        return (yield from find_bins_steps(examples.table, *counted, self.device))

    def refuse_wide_bins(self, bins: Bins | None, max_bins: int | str) -> None:
        """Raise MemoryError where more than 256 bins take too much; `find_bins` has looked at fewer."""
        if bins is not None and bins.width > 256:
            inputs.refuse_too_large(self.bytes_needed(max_bins, bins.width))

    def forget_rows(self) -> None:
        """Drop the rows as they were given: the shards hold what training needs."""
        self.given = self.validation = None
        for name in list(self.examples):
            self.forget_examples(name)

    def forget_examples(self, name: str) -> None:
        """Drop the examples of one shard."""
        del self.examples[name]


def set_aside_steps(
    given: GivenRows, part: float, seed: int, number: int, classes: tuple[Ints, int] | None = None
) -> ReduceSteps[tuple[Floats, int, int]]:
    """Return the validation weight of every row, and the numbers of validation and training rows.

    Rows are drawn by what they hold, so that their order does not matter; nothing is copied. classes: labels as 0..K-1
    and K, to draw from each class; without them, the targets are part of what a row holds.
    """
    hashes = yield from hash_rows_steps(given.table, seed)
    if classes is None:
        kernels.fold(given.labels, hashes)
    weights = yield from read_weights_steps(given.weight)
    rows = yield from candidate_steps(hashes, weights, *(classes or ()))
    aside = yield from draw_steps(rows, part, number)
    drawn, left = yield Reduce((int(aside.sum()), int((rows.times - aside).sum())))
    weight = given.weight * aside / np.maximum(rows.times, 1)  # in this order, integer weights stay integers
    return np.asarray(weight), drawn, left


# ---------------------------------------------------------------- classification


@dataclass(frozen=True)
class ClassPlan:
    """Options of `prepare`. classes: of the model that is resumed; part, seed: of the rows to set aside."""

    class_weight: Any = None
    classes: AnyArray | None = None
    part: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Outline:
    """The facts about a classification problem that the driver uses."""

    classes: AnyArray
    has_validation: bool
    n_counted: int


@dataclass(frozen=True)
class CodedRows:
    """Rows with labels 0..K-1, weights, and a factor per class."""

    table: Any
    labels: Ints
    weight: Floats
    classes: AnyArray
    factors: Floats | None = None

    def read_steps(self) -> ReduceSteps[Examples]:
        weights: Weights = yield from read_weights_steps(self.weight, self.labels, self.factors)
        return Examples(self.table, self.labels, len(self.classes), weights)


class ClassWorkerData(WorkerData):
    """Rows with labels."""

    def prepare(self, plan: ClassPlan) -> ReduceSteps[Outline]:
        """Labels, weights, and the validation rows."""
        assert self.given is not None
        problem = yield from problem_steps(self.given, plan)
        validation = None
        if self.validation is not None:
            given = self.validation
            labels = inputs.encode_labels(given.labels, problem.classes, given.weight, "y_val")
            validation = CodedRows(given.table, labels, given.weight, problem.classes)
        elif plan.part is not None:
            given = replace(self.given, weight=problem.weight)
            classes = problem.labels, len(problem.classes)
            weight, drawn, _ = yield from set_aside_steps(given, plan.part, plan.seed, self.number, classes)
            if drawn == 0:
                raise ValueError(
                    "early_stopping=True, but every class has only one sample: none can be used for validation"
                )
            validation = replace(problem, weight=weight)
            problem = replace(problem, weight=problem.weight - weight)
        self.examples["train"] = yield from problem.read_steps()
        if validation is not None:
            self.examples["validation"] = yield from validation.read_steps()
        (n_counted,) = yield Reduce((self.examples["train"].weights.n_counted,))
        return Outline(problem.classes, validation is not None, n_counted)

    def build(self, bins: Bins, max_bins: int | str) -> ReduceSteps[dict[str, Any]]:
        """The shards. Returns, by name, the numbers of the engine over all workers."""
        self.refuse_wide_bins(bins, max_bins)
        numbers = {}
        for name, examples in self.examples.items():
            self.engines[name] = engine = self._engine_of(examples, bins)
            count, n_counted = yield Reduce((engine.count, engine.n_counted))
            full = count << examples.weights.bits
            numbers[name] = {"count": count, "n_counted": n_counted, "full": full, "unit": engine.unit}
            numbers[name]["given"] = engine.given
        self.forget_rows()
        return numbers

    def _engine_of(self, examples: Examples, bins: Bins) -> Threads | CudaEngine:
        if self.device is None:
            return Threads(examples, bins, self.pool, self.n_shards)
        return CudaEngine(examples, bins, self.pool, self.device)

    def bytes_needed(self, max_bins: int | str, width: int) -> int:
        """Binned copy, state and working vectors of the shards, and their histograms; in Python integers."""
        examples = self.examples["train"]
        columns, n_labels = examples.table.n_columns + 3, examples.n_labels
        cell = 2 if max_bins == "exact" else 1
        n_states = 2 if n_labels == 2 else 1 + n_labels
        histogram = 8 * n_labels * columns * width
        return examples.table.n_rows * (cell * columns + 8 * (n_states + 12)) + (self.n_shards + 3) * histogram


def problem_steps(given: GivenRows, plan: ClassPlan) -> ReduceSteps[CodedRows]:
    """Classes, labels 0..K-1 and the factors of the classes; rows of other classes have no weight."""
    labels, weight = given.labels, given.weight
    counting = labels if np.all(weight > 0) else labels[weight > 0]
    known = distinct(labels) if isinstance(plan.class_weight, dict) else labels[:0]
    here = distinct(counting)
    inputs.refuse_many(here)
    facts = (len(labels), SortedUnion(here, "y"), SortedUnion(known, "y"), Max(float(weight.max(initial=0.0))))
    n_rows, found, known_anywhere, most = yield Reduce(facts)
    if n_rows == 0:
        raise ValueError(inputs.NO_ROWS)
    if most.value == 0:
        raise ValueError(NO_CLASS_WEIGHT)
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
    return CodedRows(given.table, codes, weight, classes, factors)


# ---------------------------------------------------------------- regression


@dataclass(frozen=True)
class TargetPlan:
    """Options of `prepare`. by_edge: whether targets are binned. part, seed: of the rows to set aside."""

    by_edge: bool
    n_estimators: int
    n_histograms: int  # that a shard may hold at once
    n_values: int = 0  # that voters of a pool may predict
    part: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class TargetOutline:
    """The facts about the targets that the driver uses: weighted median, spread, range.

    values: of the bins of the target, or what voters of a pool may predict.
    """

    fallback: float
    spread: float
    low: float
    high: float
    values: Floats
    has_validation: bool


class TargetWorkerData(WorkerData):
    """Rows with targets. y: by name, as examples."""

    def prepare(self, plan: TargetPlan) -> ReduceSteps[TargetOutline]:
        """Read weights, the validation rows, and the facts about the targets."""
        self.plan = plan
        self.y: dict[str, Floats] = {}
        given, validation = self.given, self.validation
        assert given is not None
        n_rows, most = yield Reduce((len(given.labels), Max(float(given.weight.max(initial=0.0)))))
        if n_rows == 0:
            raise ValueError(inputs.NO_ROWS)
        if most.value == 0:
            raise ValueError(NO_WEIGHT)
        if validation is None and plan.part is not None:
            aside, drawn, left = yield from set_aside_steps(given, plan.part, plan.seed, self.number)
            if drawn == 0 or left == 0:
                raise ValueError(
                    "too few rows to set some aside for validation (one sample is not enough): pass X_val and y_val, "
                    "or fit without early stopping and without parameters chosen by validation"
                )
            validation = replace(given, weight=aside)
            given = replace(given, weight=given.weight - aside)
        weights = yield from read_weights_steps(given.weight)
        if validation is not None:
            weights_val = yield from read_weights_steps(validation.weight)
            self._take("validation", validation, np.zeros(len(validation.labels), dtype=np.int64), 1, weights_val)
        y, whole = given.labels, weights.whole
        fallback = yield from median_steps(y, whole)
        spread = yield from spread_steps(y, whole, fallback)
        counted = whole > 0
        least, most = y.min(initial=np.inf, where=counted), y.max(initial=-np.inf, where=counted)
        low, high = yield Reduce((Min(float(least)), Max(float(most))))
        self.span = float(low.value), float(high.value)
        labels: AnyArray = np.zeros(len(y), dtype=np.uint8)
        values = np.zeros(1)
        if plan.by_edge:
            labels, values = yield from bin_targets_steps(y, whole)
        elif plan.n_values:
            _, values = yield from bin_targets_steps(y, whole, plan.n_values)
        self._take("train", given, labels, len(values) if plan.by_edge else 1, weights)
        return TargetOutline(fallback, spread, *self.span, values, validation is not None)

    def _take(self, name: str, given: GivenRows, labels: AnyArray, n_labels: int, weights: Weights) -> None:
        self.examples[name] = Examples(given.table, labels, n_labels, weights)
        self.y[name] = given.labels

    def build(
        self, bins: Bins | None, max_bins: int | str, confidences: Any, columns: bool = False
    ) -> ReduceSteps[None]:
        """The shards. bins: None for third-party voters, and for columns that are themselves the voters."""
        self.refuse_wide_bins(bins, max_bins)
        for name in ("train", "validation"):
            if name not in self.examples:
                continue
            examples, y = self.examples[name], self.y[name]
            kappas = None
            if confidences is not None:
                X = self.X.get(name, self.X.get("train", examples.table))
                for one in confidences if name == "train" else ():
                    if isinstance(one, Function):
                        one.fit(X, len(y))
                kappas = values_of(confidences, X, examples.table, len(y))(0, len(y))
            predictions: Any = examples.table if columns and name == "train" else None
            targets = Targets(examples, y, kappas, predictions)
            if self.device is not None and bins is not None:
                self.engines[name] = CudaTargets(targets, bins, self.pool, self.device, name == "validation")
                continue
            kind = {"kind": ValidationShard} if name == "validation" else {}
            n_shards = self.n_shards if bins is not None or columns else 1
            self.engines[name] = LocalTargets(targets, bins, self.pool, n_shards, **kind)
        yield Reduce((0,))  # until all workers have their shards
        self.forget_rows()

    def forget_examples(self, name: str) -> None:
        super().forget_examples(name)
        del self.y[name]

    def bytes_needed(self, max_bins: int | str, width: int) -> int:
        """Binned copy, state and working vectors of the shards, histograms by bins of the target, validation votes."""
        examples = self.examples["train"]
        columns, cell = examples.table.n_columns + 3, 2 if max_bins == "exact" else 1
        n_labels = TARGET_BINS if examples.labels.any() else 2
        n_histograms = self.n_shards * self.plan.n_histograms + (2 if self.n_shards > 1 else 0)
        votes = 16 * len(self.y["validation"]) * self.plan.n_estimators if "validation" in self.y else 0
        rows = len(self.y["train"]) * (cell * columns + 8 * 14)
        return rows + n_histograms * 8 * n_labels * columns * width + votes


def no_column(j: int) -> Floats:
    raise TypeError("a function of X is given all of X")


def values_of(confidences: list[Any], X: Any, table: Any, n_rows: int) -> Kappas:
    """Return a function of low, high: [candidate, row]. Functions of X are called once, for all rows."""
    whole = {k: one.of(X, no_column, n_rows) for k, one in enumerate(confidences) if isinstance(one, Function)}

    def values(low: int, high: int) -> Floats:
        def column(j: int) -> Floats:
            return np.asarray(table.numbers(low, high, [j])[0], dtype=np.float64)

        each = enumerate(confidences)
        return np.stack([whole[k][low:high] if k in whole else one.of(X, column, high - low) for k, one in each])

    return values


# ---------------------------------------------------------------- CPU or GPU

MANY_CELLS = 2**24  # of X: below, device="auto" stays on the CPU
ANY_FLOORS = Floors((0.0, 0.0))


def reason_against(model: Any) -> str | None:
    """Return why the parameters of a model rule out training on a GPU, or None."""
    name, family = type(model).__name__, type(model._family()).__name__
    if not model._on_devices:
        return f"{name} cannot be trained on a GPU"
    if not model._is_native:
        return f"voters of {family} are not searched over bins, and only such voters can be trained on a GPU"
    if not model._has_formulas():
        return f"the loss of {name} is a function in Python, which a GPU cannot compute"
    return None


def refuse_device(model: Any, away: str | None, here: bool) -> None:
    """Raise TypeError if device="cuda" cannot be used. away: why the rows cannot be on a GPU, or None.

    here: whether this process needs a GPU, and not the workers of a cluster.
    """
    if model.device != "cuda":
        return
    reason = away or reason_against(model)
    if reason is not None:
        raise TypeError(f"device='cuda': {reason}; use device='cpu'")
    if here:
        open_device()


def chosen_device(model: Any, n_cells: int, there: bool) -> Device | None:
    """Return the device of a fit, or None for the CPU. n_cells: of X; there: whether X is on a GPU."""
    if model.device == "cuda":
        return open_device()
    asked_for = there or (model.device == "auto" and n_cells >= MANY_CELLS)
    if not asked_for or reason_against(model) is not None:
        return None
    try:
        return open_device()
    except (ImportError, RuntimeError):
        return None


def readable_errors(device: Device | None) -> AbstractContextManager[None]:
    """Return a context that turns errors of a device into readable ones."""
    return nullcontext() if device is None else device.errors()


def has_formulas(booster: Any) -> bool:
    """Whether kernels can compute all channels of a booster."""
    return all(channel.formula(ANY_FLOORS) is not None for channel in booster.channels)
