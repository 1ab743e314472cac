"""What a booster declares: the arithmetic of one algorithm, on single examples and on sums over them.

A booster never reduces over examples: sums come in as numbers. How large sums become on the integer grid is the
concern of `training/scale.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from electorate import kernels
from electorate.exact import Floats, Ints, exp, log
from electorate.kernels import formulas


class Step(NamedTuple):
    """The step of a voter, its edge and weighted error, and a reason to stop or None."""

    size: float
    edge: float
    error: float
    stop: str | None = None


@dataclass(frozen=True)
class Mean:
    """The mean of a channel over the examples, from exact sums.

    total: the sum on the grid, of numbers that were multiplied by exp(floor); one: the sum if every number were 1.
    """

    total: int
    one: float
    floor: float

    @property
    def value(self) -> float:
        return self.total / self.one * exp(min(-self.floor, 700.0))

    @property
    def log(self) -> float:
        return log(self.total / self.one) - self.floor if self.total else -math.inf

    @property
    def log_sum(self) -> float:
        return log(self.total) - self.floor if self.total else -math.inf

    @property
    def log_n(self) -> float:
        return log(self.one)


class Floors(NamedTuple):
    """The scale of the grid: channel k is multiplied by exp(each[k]) before it is rounded.

    log_mean: the logarithm of Z, the mean of exp(-margin), for channels of exp(-margin) / Z.
    """

    each: tuple[float, ...] = (0.0,)
    log_mean: float = 0.0


NO_FLOORS = Floors()


class Formula(NamedTuple):
    """A function of one row of the state that kernels can compute; kind and numbers as in kernels/formulas.py."""

    kind: int
    a: float = 0.0
    b: float = 0.0
    c: float = 0.0


@dataclass(frozen=True)
class Channel:
    """A number of every example that is summed. A subclass defines `formula` or, for what kernels lack, `values`."""

    row: int = 0  # of the state
    column: ClassVar[str] = "floor"  # of history, for the floor of this channel
    searched: ClassVar[bool] = True  # by families, so that its histograms are needed
    normalised: ClassVar[bool] = False  # a function of exp(-margin) / Z, so that Z is needed first
    vanishes: ClassVar[bool] = False  # may be 0 for every example
    bounded: ClassVar[bool] = False  # by its value at the lowest margin, which history then holds
    shrinks: ClassVar[bool] = True  # by exp(-gain) where an example gains; False: perhaps by less
    highest_floor: ClassVar[float] = math.inf

    def formula(self, floors: Floors) -> Formula | None:
        """The numbers, times exp(floor), as a formula of the state; None where `values` computes them."""
        return None

    def values(self, state: Floats, floors: Floors, first: Floats | None) -> Floats:
        """The numbers of some examples, times exp(floor). first: those of the first channel, for the second."""
        formula, found = self.formula(floors), np.empty(state.shape[1])
        assert formula is not None
        before = found if first is None else first
        kernels.evaluate(formula.kind, state[self.row], before, formula.a, formula.b, formula.c, found)
        return found

    def growth(self, gain: float) -> float:
        """The logarithm of the largest factor by which the number changes where an example gains so much."""
        return -gain

    def log_at(self, margin: float) -> float:
        """The logarithm of the number at this margin; a `bounded` channel has no larger one at a higher margin."""
        return -margin


class ExponentialWeight(Channel):
    """exp(-state[row])."""

    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.EXPONENTIAL, floors.each[0])


EXPONENTIAL = (ExponentialWeight(),)


class Booster:
    """One algorithm. The state of an example is `n_states` numbers, all 0 at first."""

    leaves: ClassVar[str] = "label"  # the outputs it prefers: "label", "log_odds" or "any"
    keeps_votes: ClassVar[bool] = False  # whether shards store the outputs of every voter

    @property
    def channels(self) -> Sequence[Channel]:
        """What is summed over examples. The first channel is the weight of an example."""
        return EXPONENTIAL

    @property
    def validation(self) -> Channel:
        """The loss of an example of the validation rows."""
        return ExponentialWeight(self.margin_row)

    @property
    def n_states(self) -> int:
        return 1

    @property
    def margin_row(self) -> int:
        """The row of the state that holds the margin y f."""
        return 0

    @property
    def votes_row(self) -> int:
        """The first of the rows of the state that hold the votes f of K > 2 labels; 0: the margin decides."""
        return 0

    @property
    def fixed_steps(self) -> bool:
        """Whether every step is the learning rate."""
        return False

    def step(self, sums: Ints, outputs: Floats) -> Step:
        """The step for a voter with these outputs[leaf, output], from the weights sums[leaf, label]."""
        raise TypeError(f"the steps of {type(self).__name__} come with the search")

    def prior_output(self, sums: Ints) -> float | None:
        """The output of a first voter that is constant because one of two labels has almost all of the weight.

        sums: of the labels. None: it has the output of any other constant voter.
        """
        return None

    def stored(self, outputs: Floats) -> Floats:
        """The outputs as the ensemble stores them: finite."""
        return outputs

    def perfect(self, step: Step) -> bool:
        """Whether the voter was never wrong, so that no other can follow."""
        return step.error == 0

    def gains(self, step: Step, outputs: Floats) -> Floats:
        """[state, label, leaf]: what the voter adds to an example's state."""
        raise NotImplementedError

    def objective(self, means: Sequence[Mean], penalty: float) -> float:
        """What the algorithm minimises, from the means of its channels. penalty: the price of all voters."""
        return means[0].value

    def notes(self, means: Sequence[Mean]) -> dict[str, float]:
        """More columns of history, from the means after the round."""
        return {}


@dataclass(frozen=True)
class LossOfVotes(Booster):
    """The state of another booster with one channel, a loss of its votes."""

    of: Booster
    loss: Channel

    @property
    def channels(self) -> Sequence[Channel]:
        return (self.loss,)

    @property
    def margin_row(self) -> int:
        return self.of.margin_row

    @property
    def votes_row(self) -> int:
        return self.of.votes_row

    @property
    def n_states(self) -> int:
        return self.of.n_states

    def gains(self, step: Step, outputs: Floats) -> Floats:
        return self.of.gains(step, outputs)
