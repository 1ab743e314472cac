"""AdaBoost, and SAMME for more than two labels.

Papers: Nock and Nielsen, "A Real generalization of discrete AdaBoost" (equation numbers below); Zhu, Zou, Rosset and
Hastie 2009 for more than two labels. Steps are the papers' alpha. For two labels a voter has one output h, positive
for label 1; for K > 2 it has one per label.
"""

from dataclasses import dataclass

import numpy as np

from electorate.algorithms.protocol import Booster, Step
from electorate.exact import Floats, Ints, log, on_grid


@dataclass(frozen=True)
class ExponentialBooster(Booster):
    """Weights exp(-margin): state[0] is the margin y f, and for K > 2 labels state[1:] are the votes f.

    The objective, the mean of exp(-margin), bounds the training error for two labels.
    """

    n_labels: int
    learning_rate: float = 1.0

    @property
    def n_states(self) -> int:
        return 1 if self.n_labels == 2 else 1 + self.n_labels

    @property
    def votes_row(self) -> int:
        return 0 if self.n_labels == 2 else 1

    def _with_votes(self, award: Floats, size: float, outputs: Floats) -> Floats:
        """[state, label, leaf] from step x award[label, leaf] and, for K > 2, step x output."""
        if self.n_labels == 2:
            return award[None]
        votes: Floats = on_grid(size * outputs.T)[:, None, :]
        return np.concatenate([award[None], np.broadcast_to(votes, (len(votes), *award.shape))])


@dataclass(frozen=True)
class AdaBoost(ExponentialBooster):
    """Discrete AdaBoost; SAMME for K > 2. Voters vote for one label: h = +-1, or 1 for one of K.

    The award of a voter is 2(K-1)/K where it is right and -2/K where it is wrong: +1 and -1 for two labels.
    """

    def step(self, sums: Ints, outputs: Floats) -> Step:
        """(1/2) log((1-e)/e) + (1/2) log(K-1), eq. 3 for K = 2. A perfect voter gets scikit-learn's step."""
        labels, votes = self.n_labels, self._votes(outputs)
        if labels == 2:  # few numbers take less time in Python than in NumPy
            right = wrong = 0
            for weights, vote in zip(sums.tolist(), votes, strict=True):
                right += weights[vote]
                wrong += weights[1 - vote]
        else:
            right = int(sums[np.arange(len(sums)), votes].sum())
            wrong = int(sums.sum()) - right
        if wrong == 0:
            return Step(0.5, 2 * (labels - 1) / labels, 0.0, "perfect_voter")
        total = right + wrong
        edge = 2 * ((labels - 1) * right - wrong) / (labels * total)
        odds = (labels - 1) * right / wrong
        size = float(on_grid(self.learning_rate * 0.5 * log(odds))) if odds > 1 else 0.0
        return Step(size, edge, wrong / total, None if size > 0 else "no_edge")

    def gains(self, step: Step, outputs: Floats) -> Floats:
        labels = self.n_labels
        right, wrong = on_grid(step.size * 2 * (labels - 1) / labels), on_grid(step.size * -2 / labels)
        votes = self._votes(outputs)
        if labels == 2:
            award = np.array(
                [[wrong if vote else right for vote in votes], [right if vote else wrong for vote in votes]]
            )
        else:
            award = np.where(np.asarray(votes) == np.arange(labels)[:, None], right, wrong)
        return self._with_votes(award, step.size, outputs)

    def _votes(self, outputs: Floats) -> list[int]:
        """[leaf]: the label it votes for."""
        if self.n_labels == 2:
            return [1 if h > 0 else 0 for (h,) in outputs.tolist()]
        votes: list[int] = np.argmax(outputs, axis=1).tolist()
        return votes


def awards(outputs: Floats, n_labels: int) -> Floats:
    """[label, leaf]: y h for two labels, h_y / (K-1) for more."""
    if n_labels == 2:
        return np.stack([-outputs[:, 0], outputs[:, 0]])
    return np.ascontiguousarray(outputs.T) / (n_labels - 1)
