"""Small distributions in which the risk of every predictor is a finite sum, for simulations of bounds."""

from typing import NamedTuple

import numpy as np

from electorate.certified.cross_fitted import input_hashes, parts_of
from electorate.data.table import read_table
from electorate.exact import Bools, Floats, Ints

BITS = 7  # columns of 0 and 1
INPUTS = 2**BITS
DELTA = 0.05  # of all bounds that are simulated
PARTS = 5  # of cross-fitted models

Gaps = tuple[Floats, Floats]  # by draw: the bound less the risk, and the bound without its price less the risk


class World(NamedTuple):
    """Inputs with their probabilities, and the probability of label 1 given each."""

    inputs: Floats
    shares: Floats
    positive: Floats

    @property
    def joint(self) -> Floats:
        """[input, label]: probabilities."""
        return np.stack([self.shares * (1 - self.positive), self.shares * self.positive], axis=1)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Rows in random order, and their labels."""
        chosen = rng.choice(len(self.shares), n, p=self.shares)
        return self.inputs[chosen], (rng.random(n) < self.positive[chosen]).astype(np.int64)

    def counts(self, draws: int, n: int, rng: np.random.Generator) -> Ints:
        """[draw, input, label]: how often each occurs among n rows."""
        joint = self.joint
        return rng.multinomial(n, joint.ravel() / joint.sum(), size=draws).reshape(draws, *joint.shape)

    def mean(self, losses: Floats) -> Floats:
        """The expectation of losses [..., input, label]."""
        return np.asarray((losses * self.joint).sum(axis=(-2, -1)))

    def part(self) -> Ints:
        """The part of every input, as CrossFittedClassifier(n_folds=PARTS) assigns it."""
        return parts_of(input_hashes(read_table(self.inputs), [], 0), PARTS)

    def risk(self, predicted: Bools | Ints) -> Floats:
        """Of predictors [..., input]."""
        return self.mean(wrong(predicted))


def wrong(predicted: Bools | Ints) -> Floats:
    """[..., input, label]: 1 where the prediction for an input is not the label."""
    is_positive = np.asarray(predicted) == 1
    return np.stack([is_positive, ~is_positive], axis=-1).astype(np.float64)


def every_input() -> Floats:
    """[input, column]"""
    return np.array([[(number >> place) & 1 for place in range(BITS)] for number in range(INPUTS)], dtype=np.float64)


def worlds() -> dict[str, World]:
    """One world for each thing that could make a bound fail; values repeat in all of them.

    coins: labels independent of the inputs. imbalance: 4% of positives. duplicates: one input has two fifths of the
    rows. ties: four columns are copies of one, and two of another. quiet: each column is the label, but for 6%.
    pairs: the label is whether two columns differ, but for 5%, so that only trees and pairs of columns help.
    """
    bits = every_input()
    even, heavy = np.full(INPUTS, 1 / INPUTS), np.where(np.arange(INPUTS) == 5, 0.4, 0.6 / (INPUTS - 1))
    flipped = bits.sum(axis=1)
    either = np.stack([0.06**k * 0.94 ** (BITS - k) for k in (flipped, BITS - flipped)], axis=1) / 2  # [input, label]
    copies = bits[:, [0, 0, 0, 0, 1, 1, 2]]
    return {
        "coins": World(bits, even, np.full(INPUTS, 0.5)),
        "imbalance": World(bits, even, np.full(INPUTS, 0.04)),
        "duplicates": World(bits, heavy, np.where(bits[:, 0] + bits[:, 1] > 1, 0.9, 0.2)),
        "ties": World(copies, even, np.where(copies[:, 0] + copies[:, 4] > 1, 0.7, 0.4)),
        "quiet": World(bits, either.sum(axis=1), either[:, 0] / either.sum(axis=1)),
        "pairs": World(bits, even, np.where(bits[:, 0] != bits[:, 1], 0.95, 0.05)),
    }
