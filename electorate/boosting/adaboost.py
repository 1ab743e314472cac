"""Discrete AdaBoost, for two labels and, as SAMME, for more.

Steps are the papers' alpha, half of scikit-learn's weight: (1/2) log((1-e)/e) + (1/2) log(K-1) for K labels
(AdaBoost_R paper, eq. 3, for K = 2; Zhu, Zou, Rosset and Hastie 2009 for more). The state of an example is its
margin, the sum of step x award, with award 2(K-1)/K where the voter is right and -2/K where it is wrong
(+1 and -1 for two labels); for K > 2 also the votes for each label.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.grid import on_grid


@dataclass(frozen=True)
class Step:
    """A booster's verdict on a voter: its step, edge and weighted error, and why to stop, if so."""

    size: float
    edge: float
    error: float
    stop: str | None = None


@dataclass(frozen=True)
class AdaBoost:
    n_labels: int
    learning_rate: float = 1.0

    @property
    def n_states(self) -> int:
        return 1 if self.n_labels == 2 else 1 + self.n_labels

    def step(self, right: int, total: int) -> Step:
        """From the grid weight a voter is right on, and all of it. A perfect voter votes as in scikit-learn."""
        wrong = total - right
        labels = self.n_labels
        if wrong == 0:
            return Step(0.5, 2 * (labels - 1) / labels, 0.0, "perfect_voter")
        edge = 2 * ((labels - 1) * right - wrong) / (labels * total)
        odds = (labels - 1) * right / wrong
        size = on_grid(self.learning_rate * 0.5 * math.log(odds)) if odds > 1 else 0.0
        return Step(size, edge, wrong / total, None if size > 0 else "no_edge")

    def gain(self, size: float, agree: Any) -> NDArray[np.float64]:
        """What a voter adds to the margin of examples it is right on, or not."""
        labels = self.n_labels
        return np.asarray(on_grid(size * np.where(agree, 2 * (labels - 1) / labels, -2 / labels)))

    def gains(self, size: float, votes: tuple[int, ...]) -> NDArray[np.float64]:
        """[state, label, leaf]: what a voter whose leaves vote for `votes` adds."""
        labels = self.n_labels
        agree = np.arange(labels)[:, None] == np.asarray(votes)[None, :]
        gains = np.empty((self.n_states, labels, len(votes)))
        gains[0] = self.gain(size, agree)
        if labels > 2:
            gains[1:] = np.where(agree[:, None, :], size, 0.0)
        return gains

    def log_total(self, size: float, right: float, wrong: float) -> float:
        """The logarithm of all weights after a voter that was right on `right` and wrong on `wrong` of them."""
        return float(np.logaddexp(*(np.log([right, wrong]) - self.gain(size, [True, False]))))

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """Example weights exp(-margin), times exp(floor)."""
        margin: NDArray[np.float64] = floor - state[0]
        np.exp(margin, out=margin)
        return margin

    def objective(self, total: int, unit: float, floor: float) -> float:
        """The mean of exp(-margin), from a grid total and what one unit of it weighs where floor = 0."""
        return total * unit * math.exp(min(-floor, 700.0))

    def wrong(self, state: NDArray[np.float64], label: int) -> NDArray[np.bool_]:
        """A tie is the first label."""
        if self.n_labels == 2:
            return np.asarray(state[0] < 0 if label == 0 else state[0] <= 0)
        return np.asarray(np.argmax(state[1:], axis=0) != label)
