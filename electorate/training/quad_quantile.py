"""Boosting of the absolute and quantile losses on trees, by the rounds of QuadBoost.

Friedman (2001), algorithms 1 and 3: a tree is grown by least squares to minus the derivatives of the loss. Each of its
leaves then outputs the quantile of its residuals, which is where the loss of its rows is least. The tree enters with
the learning rate as its weight. The loss is convex, so it never rises.
"""

from typing import Any

from electorate.algorithms.quadboost import WeightRules
from electorate.data.bins import Bins
from electorate.engines.validation import Residuals
from electorate.exact import UNITS, Floats, on_grid
from electorate.families.means import Means
from electorate.model.moves import in_units
from electorate.training.quad_data import Group, RowTargets
from electorate.training.quad_losses import SlopedLoss, group_quantiles
from electorate.training.quad_searches import GrownTree, RowResiduals, TreeFamily, grown_tree
from electorate.training.residual_rounds import ResidualRounds, SearchedVoter


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
