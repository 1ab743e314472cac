"""AdaBoost: discrete (SAMME for more than two labels), real (SAMME.R), and AdaBoost_R.

Papers: Nock and Nielsen, "A Real generalization of discrete AdaBoost" (equation numbers below); Schapire and
Singer 1999; Zhu, Zou, Rosset and Hastie 2009 for more than two labels. Steps are the papers' alpha. For two labels
a voter has one output h, positive for label 1; for K > 2 it has one per label.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.booster import Step
from electorate.boosting.grid import on_grid

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exponential:
    """Weights exp(-margin): state[0] is the margin y f, and for K > 2 labels state[1:] are the votes f."""

    n_labels: int
    learning_rate: float = 1.0

    @property
    def n_states(self) -> int:
        return 1 if self.n_labels == 2 else 1 + self.n_labels

    def channel(self, state: Array, floor: float) -> Array:
        """Example weights exp(-margin), times exp(floor)."""
        weight: Array = floor - state[0]
        np.exp(weight, out=weight)
        return weight

    def objective(self, mean: float, floor: float) -> float:
        """The mean of exp(-margin); for two labels it bounds the training error."""
        return mean * math.exp(min(-floor, 700.0))

    def wrong(self, state: Array, label: int) -> NDArray[np.bool_]:
        """A tie is the first label."""
        if self.n_labels == 2:
            return np.asarray(state[0] < 0 if label == 0 else state[0] <= 0)
        return np.asarray(np.argmax(state[1:], axis=0) != label)

    def _gains(self, size: float, award: Array, outputs: Array) -> Array:
        """[state, label, leaf] from step x award[label, leaf] and, for K > 2, step x output."""
        gains = np.empty((self.n_states, *award.shape))
        gains[0] = on_grid(size * award)
        if self.n_labels > 2:
            gains[1:] = on_grid(size * outputs.T)[:, None, :]
        return gains


@dataclass(frozen=True)
class AdaBoost(Exponential):
    """Discrete AdaBoost; SAMME for K > 2. Voters vote for one label: h = +-1, or 1 for one of K.

    Step: (1/2) log((1-e)/e) + (1/2) log(K-1), eq. 3 for K = 2. The award of a voter is 2(K-1)/K where it is
    right and -2/K where it is wrong, +1 and -1 for two labels.
    """

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        """A perfect voter gets the step that scikit-learn gives it."""
        labels, total = self.n_labels, int(sums.sum())
        right = int(sums[np.arange(len(sums)), self._votes(outputs)].sum())
        wrong = total - right
        if wrong == 0:
            return Step(0.5, 2 * (labels - 1) / labels, 0.0, "perfect_voter")
        edge = 2 * ((labels - 1) * right - wrong) / (labels * total)
        odds = (labels - 1) * right / wrong
        size = float(on_grid(self.learning_rate * 0.5 * math.log(odds))) if odds > 1 else 0.0
        return Step(size, edge, wrong / total, None if size > 0 else "no_edge")

    def gains(self, step: Step, outputs: Array) -> Array:
        labels = self.n_labels
        agree = np.arange(labels)[:, None] == self._votes(outputs)[None, :]
        return self._gains(step.size, np.where(agree, 2 * (labels - 1) / labels, -2 / labels), outputs)

    def _votes(self, outputs: Array) -> NDArray[np.int64]:
        if self.n_labels == 2:
            return (outputs[:, 0] > 0).astype(np.int64)
        return np.argmax(outputs, axis=1)
