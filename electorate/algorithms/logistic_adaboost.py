"""AdaBoost for the logistic loss: the voters and outputs of Real AdaBoost, weights that no example can exceed.

Papers: Collins, Schapire and Singer, "Logistic regression, AdaBoost and Bregman distances", Machine Learning 48, 2002;
Schapire and Freund, "Boosting", 2012, section 7.5 (AdaBoost.L). With w = 1 / (1 + exp(y f)), and h added to f,

    log(1 + exp(-y (f + h))) - log(1 + exp(-y f)) <= w (exp(-y h) - 1),

so that half the log-odds of a leaf, weighed by w, minimise the bound of the sum, and a smaller part of it lowers both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.algorithms.protocol import Channel, Floors, Formula, Mean
from electorate.algorithms.real_adaboost import RealAdaBoost
from electorate.exact import LOG2, Ints, exp, log, softplus
from electorate.kernels import formulas


@dataclass(frozen=True)
class LogisticWeight(Channel):
    """2 / (1 + exp(y f)): 1 before any voter, and never above 2."""

    vanishes: ClassVar[bool] = True
    shrinks: ClassVar[bool] = False

    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.SIGMOID, floors.each[0] + LOG2, 0.0)


@dataclass(frozen=True)
class LogisticLoss(Channel):
    """log2(1 + exp(-y f)), which is at least 1 where an example is misclassified. place: among the channels."""

    place: int = 1
    column: ClassVar[str] = "loss_floor"
    searched: ClassVar[bool] = False
    highest_floor: ClassVar[float] = 600.0  # exp of it must be finite
    vanishes: ClassVar[bool] = True

    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.SOFTPLUS, exp(floors.each[self.place]) / LOG2, 0.0)

    def growth(self, gain: float) -> float:
        """log(1 + c x) <= c log(1 + x) for c >= 1."""
        return -min(gain, 0.0)

    def log_at(self, margin: float) -> float:
        return float(log(softplus(np.array([-margin])) / LOG2)[0])


@dataclass(frozen=True)
class LogisticAdaBoost(RealAdaBoost):
    """For two labels. The objective is the mean of log2(1 + exp(-y f)), which bounds the training error."""

    search: bool = False

    @property
    def channels(self) -> Sequence[Channel]:
        return (LogisticWeight(), LogisticLoss())

    @property
    def validation(self) -> Channel:
        return LogisticLoss(place=0)

    def prior_output(self, sums: Ints) -> float:
        """The log-odds of the labels, over the step: no constant has less loss."""
        negative, positive = log(np.maximum(sums, 1).astype(np.float64)).tolist()
        return float((positive - negative) / self.learning_rate)

    def objective(self, means: Sequence[Mean], penalty: float) -> float:
        return means[1].value
