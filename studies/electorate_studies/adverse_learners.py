"""Learners that make the errors of all parts dependent: the worst case for a cross-fitted bound.

A learner has m fixed functions of the input (parities of columns). In part i, function u_i has the fewest errors. The
model of part k, which must not look at part k, is the function j - sum_{i != k} u_i mod m, for a number j. It is u_k if
and only if j is the sum of all u_i mod m, which is true for all parts or for none: then every part has few errors by
chance, at once. Learner j = 0 does that in about one of m samples, the best of the learners 0, ..., m - 1 in all.
"""

import numpy as np

from electorate.exact import Floats, Ints
from electorate.theory.binomial import binomial_bound
from electorate.theory.bounds import total
from electorate.theory.cross_fit import allows, routed_bound
from electorate_studies.worlds import DELTA, INPUTS, PARTS, Gaps, World, wrong

ROWS = 400  # of a sample
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
        counts = world.counts(draws, ROWS, rng)
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
    pooled = np.array([binomial_bound(int(count), ROWS, 1 - DELTA) for count in errors.sum(axis=1)])
    return routed_gaps(world, predicted, errors, routed.rows, DELTA), pooled - world.risk(predicted)


def winner(world: World, draws: int, rng: np.random.Generator) -> Gaps:
    """The best of all learners, as `compare` hands it over. Without: as if it had been the only one."""
    routed = Routed(world, SETTINGS, draws, rng)
    errors, predicted = routed.routed(routed.best)
    paid, unpaid = (routed_gaps(world, predicted, errors, routed.rows, delta) for delta in (DELTA / SETTINGS, DELTA))
    return paid, unpaid
