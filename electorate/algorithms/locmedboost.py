"""LocMedBoost for labels: AdaBoost_rho, with voters that may abstain or have a confidence.

Paper: Kegl, "Generalization error and algorithmic convergence of median boosting", with the 0-1 cost on labels -1 and
1: a median of votes of -1 and 1 is the sign of their sum. An output h is sign times confidence, so that kappa theta of
eq. 4 is y h. Line numbers are those of Figure 1. The rules for rho are those of `medboost.py`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.algorithms.adaboost import ExponentialBooster, awards
from electorate.algorithms.medboost import ConstantRho
from electorate.algorithms.protocol import Step
from electorate.algorithms.real_adaboost import FARTHEST, least_exponential
from electorate.exact import Floats, Ints, atanh, log, on_grid, ordered_sum

ALONE = 0.5  # by how much a step of line 8 is longer than all earlier ones
MOST_ALONE = 2.0**20  # of that step, where outputs are tiny
ADABOOST = ConstantRho(0.0)


@dataclass(frozen=True)
class LocMedBoost(ExponentialBooster):
    """LocMedBoost for two labels. rule: rho from the edge, the lowest edge so far and the lowest award of the voter."""

    rule: Any = ADABOOST

    def step(self, sums: Ints, outputs: Floats) -> Step:
        raise TypeError("the steps of LocMedBoost come with the search, which knows the edges of earlier rounds")

    def stored(self, outputs: Floats) -> Floats:
        """Return the outputs to store, from -1 to 1."""
        largest = float(np.abs(outputs).max(initial=0.0))
        return outputs / largest if largest > 1 else outputs

    def perfect(self, step: Step) -> bool:
        return step.stop == "perfect_voter"

    def gains(self, step: Step, outputs: Floats) -> Floats:
        return np.asarray(on_grid(step.size * awards(outputs, 2)))[None]

    def step_at(self, sums: Ints, outputs: Floats, least: float, reach: float) -> tuple[Step, float]:
        """Lines 7 to 11: the step of a voter with these weights sums[leaf, label], and rho.

        least: the lowest edge of earlier rounds; reach: the largest amount that their votes can come to.
        """
        award = awards(outputs, 2).T
        present, total = award[sums > 0], int(sums.sum())
        whole = bool(np.all((present == 0) | (np.abs(present) == 1)))
        if whole:
            right, wrong = int(sums[award == 1].sum()), int(sums[award == -1].sum())
            edge, error = (right - wrong) / total, wrong / total
        else:
            right = wrong = 0
            weight = sums / total
            edge, error = float(ordered_sum(weight * award)), float(ordered_sum(weight[award < 0]))
        lowest = float(present.min())
        rho = float(self.rule(edge, min(least, edge), lowest))
        if edge <= rho or not np.any(present):  # line 10
            return Step(0.0, edge, error, "no_edge"), rho
        if lowest >= rho:  # line 8: this voter decides wherever it answers, the earlier ones elsewhere
            smallest = float(np.abs(present[present != 0]).min())
            size = min((reach + ALONE) / smallest, reach + MOST_ALONE)
            return Step(float(on_grid(size)), edge, error, "perfect_voter"), rho
        if whole:
            size = closed_step(right, wrong, total - right - wrong, rho)
        else:  # eq. 5 is the sum of weight exp(-alpha (award - rho))
            far = FARTHEST / float(np.abs(award).max())
            size = min(least_exponential((sums / total).ravel(), award.ravel() - rho), far)
        size = float(on_grid(size))
        return Step(size, edge, error, None if size > 0 else "no_edge"), rho


def closed_step(right: int, wrong: int, away: int, rho: float) -> float:
    """The alpha at which eq. 5 is least, for confidences of 0 and 1: from the weights W+, W- and W0, which abstains.

    The positive root e^alpha of (1 + rho) W- x^2 + rho W0 x - (1 - rho) W+ = 0, without a difference of equal numbers.
    """
    if away == 0:
        return 0.5 * log(right / wrong) - atanh(rho)
    total = right + wrong + away
    up, down, middle = (1 - rho) * (right / total), (1 + rho) * (wrong / total), rho * (away / total)
    root = math.sqrt(middle * middle + 4 * up * down)
    return log(2 * up / (middle + root)) if middle > 0 else log((root - middle) / (2 * down))
