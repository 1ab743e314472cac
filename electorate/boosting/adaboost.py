"""AdaBoost: discrete (SAMME for more than two labels), real (SAMME.R), and AdaBoost_R.

Papers: Nock and Nielsen, "A Real generalization of discrete AdaBoost" (equation numbers below); Schapire and
Singer 1999; Zhu, Zou, Rosset and Hastie 2009 for more than two labels. Steps are the papers' alpha. For two labels
a voter has one output h, positive for label 1; for K > 2 it has one per label.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.booster import Floating, Step
from electorate.grid import on_grid

Array = NDArray[np.float64]
ALL = 1 - 1e-15  # a mu this close to 1 is 1
FARTHEST = 64.0  # nats that one searched step may move an example: e^-64 of a weight is nothing


@dataclass(frozen=True)
class Exponential(Floating):
    """Weights exp(-margin): state[0] is the margin y f, and for K > 2 labels state[1:] are the votes f.

    The objective, the mean of exp(-margin), bounds the training error for two labels.
    """

    n_labels: int
    learning_rate: float = 1.0
    margin_row: ClassVar[int] = 0

    @property
    def n_states(self) -> int:
        return 1 if self.n_labels == 2 else 1 + self.n_labels

    def spoken(self, outputs: Array) -> Array:
        return outputs

    def wrong(self, state: Array, label: int) -> NDArray[np.bool_]:
        """A tie is the first label."""
        if self.n_labels == 2:
            return np.asarray(state[0] < 0 if label == 0 else state[0] <= 0)
        return np.asarray(np.argmax(state[1:], axis=0) != label)

    def _with_votes(self, award: Array, size: float, outputs: Array) -> Array:
        """[state, label, leaf] from step x award[label, leaf] and, for K > 2, step x output."""
        if self.n_labels == 2:
            return award[None]
        votes: Array = on_grid(size * outputs.T)[:, None, :]
        return np.concatenate([award[None], np.broadcast_to(votes, (len(votes), *award.shape))])


@dataclass(frozen=True)
class AdaBoost(Exponential):
    """Discrete AdaBoost; SAMME for K > 2. Voters vote for one label: h = +-1, or 1 for one of K.

    Step: (1/2) log((1-e)/e) + (1/2) log(K-1), eq. 3 for K = 2. The award of a voter is 2(K-1)/K where it is
    right and -2/K where it is wrong, +1 and -1 for two labels.
    """

    leaves: ClassVar[str] = "label"

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        """A perfect voter gets the step that scikit-learn gives it."""
        labels, rows = self.n_labels, sums.tolist()
        total = sum(map(sum, rows))
        right = sum(row[vote] for row, vote in zip(rows, self._votes(outputs), strict=True))
        wrong = total - right
        if wrong == 0:
            return Step(0.5, 2 * (labels - 1) / labels, 0.0, "perfect_voter")
        edge = 2 * ((labels - 1) * right - wrong) / (labels * total)
        odds = (labels - 1) * right / wrong
        size = float(on_grid(self.learning_rate * 0.5 * math.log(odds))) if odds > 1 else 0.0
        return Step(size, edge, wrong / total, None if size > 0 else "no_edge")

    def perfect(self, step: Step) -> bool:
        return step.error == 0

    def gains(self, step: Step, outputs: Array) -> Array:
        labels = self.n_labels
        right, wrong = on_grid(step.size * 2 * (labels - 1) / labels), on_grid(step.size * -2 / labels)
        votes = self._votes(outputs)
        award = np.array([[right if vote == label else wrong for vote in votes] for label in range(labels)])
        return self._with_votes(award, step.size, outputs)

    def _votes(self, outputs: Array) -> list[int]:
        if self.n_labels == 2:
            return [1 if h > 0 else 0 for (h,) in outputs.tolist()]
        return [int(vote) for vote in np.argmax(outputs, axis=1)]


@dataclass(frozen=True)
class RealAdaBoost(Exponential):
    """Real AdaBoost (Schapire and Singer): the step minimises the exponential loss along the voter, eq. 5.

    With `search` off every step is the learning rate: with log-odds leaves that is SAMME.R. The award of an
    example is y h for two labels and h_y / (K-1) for more, the exponential loss of Zhu et al.
    """

    search: bool = True
    leaves: ClassVar[str] = "log_odds"

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        if not np.all(np.isfinite(outputs)):
            raise ValueError("a leaf says infinity, which has no best step: give the family a smoothing above 0")
        award = awards(outputs, self.n_labels).T
        weight = sums / int(sums.sum())
        edge = float(np.sum(weight * award))
        error = float(weight[award < 0].sum())
        if not np.any(award[sums > 0]):
            return Step(0.0, 0.0, error, "no_edge")
        if not self.search:
            return Step(float(on_grid(self.learning_rate)), edge, error)
        if np.all(award[sums > 0] >= 0):
            return Step(float(on_grid(self.learning_rate)), edge, error, "perfect_voter")
        if np.all(award[sums > 0] <= 0):
            return Step(-float(on_grid(self.learning_rate)), edge, 1.0, "perfect_voter")
        far = FARTHEST / float(np.abs(award).max())
        best = min(max(least_exponential(weight.ravel(), award.ravel()), -far), far)
        size = float(on_grid(self.learning_rate * best))
        return Step(size, edge, error, None if size != 0 else "no_edge")

    def perfect(self, step: Step) -> bool:
        return self.search and step.error in (0, 1)

    def gains(self, step: Step, outputs: Array) -> Array:
        return self._with_votes(on_grid(step.size * awards(outputs, self.n_labels)), step.size, outputs)


@dataclass(frozen=True)
class AdaBoostR(Floating):
    """AdaBoost_R, eq. 6 to 8, for two labels. state[0] is -log of the weight, carried; state[1] the margin y f.

    The weights are products of 1 - mu y h / h*, not a function of the margin, with h* = max |h|. They are
    renormalised by the floor; the objective, their mean, is prod (1 - mu^2), eq. 13. The learning rate shrinks mu to
    tanh(rate artanh mu) in eq. 6 and 7.
    """

    learning_rate: float = 1.0
    leaves: ClassVar[str] = "log_odds"
    n_states: ClassVar[int] = 2
    margin_row: ClassVar[int] = 1

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        """From mu, eq. 8. A voter with infinite outputs has the step 0 and still moves the weights."""
        share = relative_awards(outputs)
        weight = sums / int(sums.sum())
        mu = float(np.sum(weight * share.T))
        error = float(weight[share.T < 0].sum())
        largest = float(np.abs(outputs).max(initial=0.0))
        if abs(mu) >= ALL:
            finite = largest if math.isfinite(largest) else 1.0
            return Step(float(on_grid(math.copysign(0.5 / finite, mu))), mu, error, "perfect_voter")
        size = self.learning_rate * math.atanh(mu) / largest if largest > 0 else 0.0
        size = float(on_grid(size)) if math.isfinite(largest) else 0.0
        moves = size != 0 or (math.isinf(largest) and mu != 0)
        return Step(size, mu, error, None if moves else "no_edge")

    def spoken(self, outputs: Array) -> Array:
        return coded(outputs)

    def perfect(self, step: Step) -> bool:
        return abs(step.edge) >= ALL

    def gains(self, step: Step, outputs: Array) -> Array:
        share = relative_awards(outputs)
        gains = np.zeros((2, *share.shape))
        if not self.perfect(step):  # there 0/0 = 1 leaves the weights as they are
            mu = math.tanh(self.learning_rate * math.atanh(step.edge))
            gains[0] = on_grid(-np.log1p(-mu * share))
        if step.size != 0:
            gains[1] = on_grid(step.size * awards(outputs, 2))
        return gains

    def wrong(self, state: Array, label: int) -> NDArray[np.bool_]:
        return np.asarray(state[1] < 0 if label == 0 else state[1] <= 0)


def awards(outputs: Array, n_labels: int) -> Array:
    """[label, leaf]: y h for two labels, h_y / (K-1) for more."""
    if n_labels == 2:
        return np.stack([-outputs[:, 0], outputs[:, 0]])
    return np.ascontiguousarray(outputs.T) / (n_labels - 1)


def coded(outputs: Array) -> Array:
    """Where some outputs are infinite, they count as +-1 and the others, next to them, as 0."""
    infinite = np.isinf(outputs)
    return np.where(infinite, np.sign(outputs), 0.0) if np.any(infinite) else outputs


def relative_awards(outputs: Array) -> Array:
    """[label, leaf]: y h / h*, in [-1, 1]."""
    h = coded(outputs)[:, 0]
    largest = np.abs(h).max(initial=0.0)
    h = h / largest if largest > 0 else h
    return np.stack([-h, h])


def least_exponential(weight: Array, award: Array) -> float:
    """The alpha that minimises sum weight exp(-alpha award), some awards being positive and some negative.

    Newton steps inside a bracket of the root of the derivative, by bisection where a step would leave it.
    """
    used = (weight > 0) & (award != 0)
    weight, award = weight[used], award[used]
    low, high = _bracket(weight, award)
    alpha = 0.5 * (low + high)
    for _ in range(100):
        slope, curve = _slope(weight, award, alpha)
        low, high = (alpha, high) if slope > 0 else (low, alpha)
        there = alpha + slope / curve if curve > 0 else low  # squares of tiny awards may underflow
        if not low < there < high:
            there = 0.5 * (low + high)
        if abs(there - alpha) <= 1e-15 * abs(there):
            return float(there)
        alpha = there
    return float(alpha)


def _slope(weight: Array, award: Array, alpha: float) -> tuple[float, float]:
    """Minus the first and the second derivative, up to a common positive factor."""
    power = -alpha * award
    term = weight * np.exp(power - power.max())
    return float(np.sum(term * award)), float(np.sum(term * award * award))


def _bracket(weight: Array, award: Array) -> tuple[float, float]:
    sign = math.copysign(1.0, _slope(weight, award, 0.0)[0])
    far = sign / float(np.abs(award).max())
    while _slope(weight, award, far)[0] * sign > 0 and abs(far) < 1e300:
        far *= 2
    return (0.0, far) if sign > 0 else (far, 0.0)
