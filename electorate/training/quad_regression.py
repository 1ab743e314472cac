"""QuadBoost for real targets, which a shift and a power of two bring to -1..1, so that all sums stay exact."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.algorithms.quadboost import WeightRules
from electorate.data.bins import Bins, no_bins
from electorate.data.weights import Weights
from electorate.engines.memory import Threads
from electorate.engines.validation import Residuals
from electorate.exact import UNITS, Floats, on_grid
from electorate.families.columns import Columns
from electorate.families.means import Means
from electorate.families.pool import Pool
from electorate.families.regression_trees import RegressionTrees
from electorate.model.moves import in_units
from electorate.model.trace import Trace
from electorate.training.classification import find_bins
from electorate.training.fit import resumed_model, train
from electorate.training.quad_data import Group, QuadSource, RowTargets, case_of
from electorate.training.quad_losses import SlopedLoss, TreeLoss, group_quantiles, make_loss
from electorate.training.quad_pools import ColumnPool, FinitePool, StumpPool
from electorate.training.quad_searches import EstimatorFamily, GrownTree, RowResiduals, TreeFamily, grown_tree
from electorate.training.quadratic import TWO, History, QuadBench
from electorate.training.residual_rounds import ResidualRounds, SearchedVoter
from electorate.training.run import OTHER_DATA
from electorate.training.worker_data import Outline, TargetOutline

SMALLEST, LARGEST = 1e-150, 1e150  # sizes of targets whose squares are normal floats
LOSSES = ("objective", "train_error", "validation")  # columns of history in units of the loss


@dataclass(frozen=True)
class Frame:
    """Targets as training sees them: ((y - shift) / scale - first) / parts, from -1 to 1; scale and parts are exact."""

    shift: float
    scale: float
    first: float = 0.0
    parts: float = 1.0

    def inside(self, y: Floats) -> Floats:
        return np.asarray(((y - self.shift) / self.scale - self.first) / self.parts)

    @property
    def unit(self) -> float:
        """The difference of y that is 1 inside."""
        return self.scale * self.parts

    @property
    def middle(self) -> float:
        """The y that is 0 inside."""
        return self.shift + self.scale * self.first


def frame_of(y: Floats, weights: Weights, fit_intercept: bool, around: TreeLoss | None) -> Frame:
    """Targets that count come to lie from -1 to 1. around: a loss, to have its best constant at 0."""
    counted = weights.times > 0
    low, high = float(y[counted].min()), float(y[counted].max())
    shift = low + (high - low) / 2 if fit_intercept else 0.0
    reach = max(high - shift, shift - low)
    if not (reach == 0 or SMALLEST <= reach <= LARGEST):
        raise ValueError(
            f"y has values as far as {reach:.3g} from {'their middle' if fit_intercept else '0'}, and squares of such "
            "numbers are outside the range of float64: multiply y by a power of ten so that it lies between "
            f"{SMALLEST:.0e} and {LARGEST:.0e}"
        )
    frame = Frame(shift, 2.0 ** math.ceil(math.log2(reach)) if reach > 0 else 1.0)
    if around is None or not fit_intercept:
        return frame
    inside = np.where(counted, frame.inside(y), 0.0)
    return Frame(frame.shift, frame.scale, around.constant(inside, Means(weights)), 2.0)


class QuadRegressionBench(QuadBench):
    """A bench for a model in the units of y."""

    def __init__(self, frame: Frame, model: Any, source: QuadSource, outline: Any, before: Any) -> None:
        if before is not None and before.scale_ != frame.unit:
            raise ValueError(OTHER_DATA.format(f"the targets were in units of {before.scale_:g}, now {frame.unit:g}"))
        power = source.loss.power
        history = None if before is None else scaled(before.history_, 1 / frame.unit, power)
        super().__init__(model, source, Outline(TWO, outline.has_validation, 0), before, history)
        self.frame = frame

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        made, frame = super().fitted(traces, runs), self.frame
        del made["classes_"], made["n_classes_"]
        if not self.model._records_errors:
            del made["history_"]["train_error"]
        intercept = self.source.intercept if isinstance(self.source, FinitePool) else None
        voters = list(dict.fromkeys(made["moves_"].number.tolist()))  # in the order in which they first came
        return made | {
            "history_": scaled(made["history_"], frame.unit, self.source.loss.power),
            "gap_": made["gap_"] * frame.unit**self.source.loss.power,
            "scale_": frame.unit,
            "start_": frame.middle if intercept is None else frame.middle + frame.unit * intercept.target,
            "centres_": np.zeros(len(voters)) if intercept is None else intercept.outputs[voters],
        }


def scaled(history: History, unit: float, power: int) -> History:
    """A history in other units of the target. power: of the unit in the loss; steps and edges have one less, or 1."""
    powers = {"step": 1, "edge": power - 1, **dict.fromkeys(LOSSES, power)}
    return {name: column * unit ** powers[name] if name in powers else column for name, column in history.items()}


def fit_quad_regressor(model: Any, place: Any, outline: TargetOutline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit a regressor by a pool or by a searched family, in this process."""
    before, family, rows = resumed_model(model), model._family(), place.data
    y, weights = rows.y["train"], rows.examples["train"].weights
    loss = make_loss(model.loss, float(model.quantile))
    around = None if isinstance(family, Pool | Columns) else loss
    frame = frame_of(y, weights, model.fit_intercept, around)
    case = case_of(rows, TWO[:1], frame.inside)
    bins = find_bins(model, place, before, unbinned=no_bins(model.n_features_in_))
    cases = [case] if case.validation is None else [case, case.validation]
    source: QuadSource
    if isinstance(family, Pool):
        engines = (Threads(one.examples, bins, rows.pool, rows.n_shards) for one in cases)
        source = StumpPool(model, frame.unit, case, bins, *engines)
    elif isinstance(family, RegressionTrees):
        shards = [Residuals(one.examples, np.asarray(one.target), bins, rows.pool, rows.n_shards) for one in cases]
        if isinstance(loss, SlopedLoss):
            source = QuantileTreeFamily(loss, model, frame.unit, bins, *shards)
        else:
            source = TreeFamily(model, frame.unit, bins, *shards)
    else:
        source = (ColumnPool if isinstance(family, Columns) else EstimatorFamily)(model, frame.unit, case)
    train(QuadRegressionBench(frame, model, source, outline, before), [(None, None)], context, data)


# ---------------------------------------------------------------- absolute and quantile losses


class SlopedResiduals(RowResiduals):
    """Residuals with a loss that has a slope on either side of 0."""

    def __init__(self, find: Any, X: Any, rows: RowTargets, group: Group, loss: SlopedLoss) -> None:
        super().__init__(find, X, rows, group, False, loss)
        self.loss = loss
        self.power = self.error  # the objective without voters

    def measured(self, voter: GrownTree) -> SearchedVoter:
        """c: minus the derivative of the mean loss by the weight of the voter."""
        outputs = self._checked_outputs(voter)
        slopes = self.loss.slopes(self.rows.residual)
        return SearchedVoter(voter.key, voter, self.means.mean(slopes, outputs), self.means.mean(outputs, outputs))

    def error_with(self, voter: GrownTree, old: float, new: float) -> float:
        """The mean loss after the weight of a voter has gone from old to new."""
        outputs = voter.outputs(self.X)
        votes = self.rows.votes + in_units(new, outputs) - in_units(old, outputs)
        return self.loss.mean(self.rows.target - votes / UNITS, self.means)


class SlopedRounds(ResidualRounds):
    """Every round adds a tree whose leaves have the least loss, times the learning rate."""

    search: SlopedResiduals

    def __init__(self, search: SlopedResiduals, rules: WeightRules) -> None:
        super().__init__(search, rules)

    def _enter(self, best: SearchedVoter | None) -> None:
        if best is None:
            return
        step = float(on_grid(self.rules.rate * best.voter.largest))
        old = self.weights[self.numbers[best.key]] if best.key in self.numbers else 0.0
        drop = self.search.error - self.search.error_with(best.voter, old, old + step)
        if drop > 0:
            self._change(self._number(best), step, (step, best.c, drop))


class QuantileTreeFamily(TreeFamily):
    """RegressionTrees, grown for the slopes of the loss; a leaf outputs a quantile of its residuals."""

    def __init__(
        self, loss: SlopedLoss, model: Any, unit: float, bins: Bins, engine: Residuals, judge: Residuals | None = None
    ) -> None:
        super().__init__(model, unit, bins, engine, judge)
        self.loss: SlopedLoss = loss

    def begin(self, group: Group, n_past: int) -> SlopedRounds:
        search = SlopedResiduals(self._find, self.X, self.rows, group, self.loss)
        return SlopedRounds(search, self.rules(self.rows.weights.given, 1))

    def _find(self, X: Any, residual: Floats, means: Means) -> GrownTree | None:
        voter, _ = self._grow(X, self.loss.slopes(residual))
        leaf = X.leaf_of_rows(voter.splits, voter.leaves)
        values = group_quantiles(residual, leaf, len(voter.leaves), means, self.loss.level)
        return grown_tree(voter, self.family.monotone(voter, values, voter.sums[:, 0]))
