"""Small distributions in which the risk of every predictor is a finite sum, for simulations of bounds."""

from typing import NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from electorate import CrossFittedClassifier
from electorate.theory.binomial import binomial_bound
from electorate.theory.bounds import total
from electorate.theory.cross_fit import allows, routed_bound
from electorate_studies.request import Bools, Floats, Ints

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
        """The part of every input, as CrossFittedClassifier assigns it: its model is the one that does not know it."""
        number = np.unique(self.inputs, axis=0, return_inverse=True)[1].ravel()
        model = CrossFittedClassifier(KNeighborsClassifier(1), n_folds=PARTS).fit(self.inputs, number)
        return np.argmin([one.predict(self.inputs) == number for one in model.estimators_], axis=0)

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


# ---------------------------------------------------------------- learners that make the errors of all parts dependent

# Learners that make the errors of all parts dependent: the worst case for a cross-fitted bound.
#
# A learner has m fixed functions of the input (parities of columns). In part i, function u_i has the fewest errors.
# The model of part k, which must not look at part k, is the function j - sum_{i != k} u_i mod m, for a number j. It is
# u_k if and only if j is the sum of all u_i mod m, which is true for all parts or for none: then every part has few
# errors by chance, at once. Learner j = 0 does that in about one of m samples, the best of all m learners in all.
ROUTED_ROWS = 400  # of a sample
FUNCTIONS = 4  # of the learner whose number is fixed
SETTINGS = INPUTS  # numbers that a comparison may choose from


def parities(world: World, count: int) -> Ints:
    """[function, input]: the parity of the columns in the binary digits of 0, ..., count - 1."""
    columns = np.array([[(number >> place) & 1 for place in range(world.inputs.shape[1])] for number in range(count)])
    return np.asarray(columns @ world.inputs.T.astype(np.int64) % 2)


class Routed:
    """The functions that a learner has in each part, with their errors there, for all draws at once."""

    def __init__(self, world: World, functions: int, draws: int, rng: np.random.Generator) -> None:
        self.world, self.part, self.functions = world, world.part(), parities(world, functions)
        counts = world.counts(draws, ROUTED_ROWS, rng)
        lost = wrong(self.functions)
        here = [self.part == number for number in range(PARTS)]
        self.errors = np.stack(  # [draw, part, function]
            [np.einsum("dxl,fxl->df", counts[:, some], lost[:, some], optimize=True) for some in here], axis=1
        ).astype(np.int64)
        self.rows = np.stack([counts[:, some].sum(axis=(1, 2)) for some in here], axis=1)
        self.best = self.errors.argmin(axis=2)  # [draw, part]

    def routed(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Errors [draw, part] and predictions [draw, input] of the models whose functions are chosen [draw, part]."""
        errors = np.take_along_axis(self.errors, chosen[:, :, None], axis=2)[:, :, 0]
        return errors, self.functions[chosen[:, self.part], np.arange(INPUTS)]


def routed_gaps(world: World, predicted: Ints, errors: Ints, rows: Ints, delta: float) -> Floats:
    """The bound less the risk, for counts [draw, part]; 0 where it is seen at once that the bound is not below it."""
    part, risks, lost = world.part(), world.risk(predicted), (wrong(predicted) * world.joint).sum(axis=2)
    here = np.array([part == number for number in range(PARTS)]).T.astype(np.float64)  # [input, part]
    shares, gaps = world.shares @ here, np.zeros(len(risks))
    rates = np.minimum(lost @ here / np.maximum(shares, 1e-300), 1.0)
    for place in np.flatnonzero(~allows(errors, rows, rates, shares, delta)):
        gaps[place] = total(routed_bound(errors[place].tolist(), rows[place].tolist(), delta)) - risks[place]
    return gaps


def adverse(world: World, draws: int, rng: np.random.Generator) -> Gaps:
    """The learner 0. Without: the errors of all parts as one binomial, as if they were independent."""
    routed = Routed(world, FUNCTIONS, draws, rng)
    errors, predicted = routed.routed((routed.best - routed.best.sum(axis=1, keepdims=True)) % FUNCTIONS)
    pooled = np.array([binomial_bound(int(count), ROUTED_ROWS, 1 - DELTA) for count in errors.sum(axis=1)])
    return routed_gaps(world, predicted, errors, routed.rows, DELTA), pooled - world.risk(predicted)


def winner(world: World, draws: int, rng: np.random.Generator) -> Gaps:
    """The best of all learners, as `compare` hands it over. Without: as if it had been the only one."""
    routed = Routed(world, SETTINGS, draws, rng)
    errors, predicted = routed.routed(routed.best)
    paid, unpaid = (routed_gaps(world, predicted, errors, routed.rows, delta) for delta in (DELTA / SETTINGS, DELTA))
    return paid, unpaid
