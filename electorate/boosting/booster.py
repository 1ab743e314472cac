"""What the loop asks of a booster: the arithmetic of one algorithm, on sums and on single examples.

A booster never sees a table or a vector over all examples to reduce: what is a sum over examples comes in as one.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass
class Step:
    """A booster's verdict on a voter: its step, edge and weighted error, and why to stop, if so."""

    size: float
    edge: float
    error: float
    stop: str | None = None


class Booster(Protocol):
    leaves: ClassVar[str]  # the outputs it prefers: "label", "log_odds"
    floor_row: ClassVar[int]  # of the state: minus the logarithm of an example's weight
    margin_row: ClassVar[int]  # of the state: y f

    @property
    def n_states(self) -> int:
        """Numbers carried per example."""
        ...

    def step(self, sums: NDArray[np.int64], outputs: NDArray[np.float64]) -> Step:
        """The step for a voter with these outputs[leaf, output], from the weights sums[leaf, label]."""
        ...

    def spoken(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The outputs as the ensemble keeps them: finite."""
        ...

    def perfect(self, step: Step) -> bool:
        """Whether the voter was never wrong, so that nothing can be added."""
        ...

    def gains(self, step: Step, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """[state, label, leaf]: what the voter adds to an example's state."""
        ...

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """The number whose sums steer the search, exp(floor - state) say; the loop sees to it that sums fit."""
        ...

    def wrong(self, state: NDArray[np.float64], label: int) -> NDArray[np.bool_]:
        """Which examples of this label the ensemble gets wrong."""
        ...

    def objective(self, mean: float, floor: float) -> float:
        """What the algorithm lowers, from the mean of the channel."""
        ...
