"""EBBoost: every voter is ranked by cost (3) at its own best step, so all of them must be enumerated.

Paper: Shivaswamy and Jebara, "Variance Penalizing AdaBoost", Algorithm 3; cost (3) is in `vadaboost.py`. The costs of
all voters follow from the sums of w = e / sum e and of w^2 over the rows that they get right.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Channel, ExponentialWeight, Floors, Formula, Mean, Step
from electorate.exact import Floats, Ints, exp, log, on_grid
from electorate.kernels import formulas

Sides = tuple[int, int]  # sums over the rows that a voter gets right, and wrong


class SquaredWeight(Channel):
    """The squares of the first channel, on a floor of their own."""

    column: ClassVar[str] = "floor_of_squares"

    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.SQUARE, exp(min(floors.each[1] - 2 * floors.each[0], 700.0)))

    def growth(self, gain: float) -> float:
        return -2 * gain


CHANNELS = (ExponentialWeight(), SquaredWeight())


@dataclass(frozen=True)
class EBBoost(AdaBoost):
    """Algorithm 3, for two labels and any lam from 0. state[0] is the margin y f."""

    lam: float = 0.5

    channels = CHANNELS

    def step(self, sums: Ints, outputs: Floats) -> Step:
        raise TypeError("the steps of EBBoost come with the search")

    def spread(self, means: Sequence[Mean]) -> float:
        """The mean of e^2 over the square of the mean of e: 1 where all are equal."""
        first, squares = means
        if math.isinf(first.log) or math.isinf(squares.log):  # on a grid that is much too coarse for these rows
            return math.inf
        return exp(min(squares.log_sum - 2 * first.log_sum + first.log_n, 700.0))

    def objective(self, means: Sequence[Mean], penalty: float) -> float:
        """Cost (3) over n^2."""
        penalised = 1 + self.lam * max(self.spread(means) - 1, 0.0)
        return exp(min(2 * means[0].log + log(penalised), 700.0))

    def notes(self, means: Sequence[Mean]) -> dict[str, float]:
        return {"log_mean": means[0].log}

    def rank(self, right: Any, right_squares: Any, spread: float) -> Any:
        """Cost (3) of voters at their own best steps, relative to no step: from their shares of w and of w^2."""
        lam, wrong, wrong_squares = self.lam, 1.0 - right, 1.0 - right_squares
        ups = (1 - lam) * right * right + lam * (right_squares * spread)
        downs = (1 - lam) * wrong * wrong + lam * (wrong_squares * spread)
        return 2 * np.sqrt(np.maximum(ups * downs, 0.0)) + 2 * (1 - lam) * right * wrong

    def terms(self, weights: Sides, squares: Sides, spread: float) -> tuple[float, float]:
        """The factors of exp(-2 alpha) and of exp(2 alpha) in cost (3)."""
        right, wrong = (
            (1 - self.lam) * share * share + self.lam * spread * (square / sum(squares))
            for share, square in zip([weight / sum(weights) for weight in weights], squares, strict=True)
        )
        return right, wrong

    def best_step(self, weights: Sides, squares: Sides, spread: float) -> Step:
        """The minimum of cost (3) along the voter with these sums of w and of w^2."""
        right, wrong = weights
        error, edge = wrong / (right + wrong), (right - wrong) / (right + wrong)
        if wrong == 0 and squares[1] == 0:
            return Step(0.5, edge, error, "perfect_voter")
        ups, downs = self.terms(weights, squares, spread)
        best = 0.25 * log(ups / downs)
        size = float(on_grid(self.learning_rate * best)) if best > 0 else 0.0
        return Step(size, edge, error, None if size > 0 else "no_edge")
