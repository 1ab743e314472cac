"""AdaBoost.R2 (Drucker 1997): losses, and the step from their weighted mean.

The arithmetic is scikit-learn's. A voter earns 1 - loss on an example, and its weight falls by the step times that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.grid import on_grid
from electorate.boosting.medboost import MedStep

Array = NDArray[np.float64]
LOSSES: dict[str, Callable[[Array], Array]] = {
    "linear": lambda share: share,
    "square": lambda share: share * share,
    "exponential": lambda share: 1.0 - np.exp(-share),
}


@dataclass(frozen=True)
class R2:
    """loss: of the distance, as a share of the largest one."""

    loss: str
    learning_rate: float

    def step(self, engine: Any, farthest: float) -> MedStep:
        loss = LOSSES[self.loss]
        largest = farthest if farthest > 0 else 1.0
        engine.reward(lambda said, y: 1.0 - loss(np.abs(said - y) / largest))
        error = 1.0 - engine.moments(0.0, 1.0).mean
        if error <= 0:
            return MedStep(1.0, 1.0, 0.0, 0.0, "perfect_voter")
        if error >= 0.5:
            return MedStep(0.0, 1 - 2 * error, 0.0, 0.0, "no_edge")
        size = float(on_grid(self.learning_rate * math.log((1.0 - error) / error)))
        return MedStep(size, 1 - 2 * error, 0.0, math.nan, None if size > 0 else "no_edge")
