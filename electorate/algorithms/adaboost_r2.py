"""AdaBoost.R2 (Drucker 1997): losses, and the step from their weighted mean.

The arithmetic is scikit-learn's. A voter earns 1 - loss on an example, and its weight falls by the step times that.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from electorate.algorithms.medboost import MedStep
from electorate.exact import Floats, exp, log, on_grid


@dataclass(frozen=True)
class Award:
    """1 less the loss of a distance, as a share of the largest one."""

    loss: str
    largest: float

    def __call__(self, outputs: Floats, y: Floats) -> Floats:
        share = np.abs(outputs - y) / self.largest
        if self.loss == "linear":
            return 1.0 - share
        return 1.0 - (share * share if self.loss == "square" else 1.0 - exp(-share))


@dataclass(frozen=True)
class AdaBoostR2:
    """Drucker's algorithm, with scikit-learn's treatment of the first voter."""

    loss: str
    learning_rate: float
    keeps_first: ClassVar[bool] = True  # a voter without an edge, if it is the only one, as scikit-learn does

    def reward(self, engine: Any) -> tuple[float, float]:
        """The lowest and the highest award of the voter that was applied last."""
        farthest = engine.farthest()
        ends: tuple[float, float] = engine.reward(Award(self.loss, farthest if farthest > 0 else 1.0))
        return ends

    def step(self, engine: Any, ends: tuple[float, float]) -> MedStep:
        error = 1.0 - engine.moments(0.0, 1.0).mean
        if error <= 0:
            return MedStep(1.0, 1.0, 0.0, "perfect_voter")
        if error >= 0.5:
            return MedStep(0.0, 1 - 2 * error, 0.0, "no_edge")
        size = float(on_grid(self.learning_rate * log((1.0 - error) / error)))
        return MedStep(size, 1 - 2 * error, 0.0, None if size > 0 else "no_edge")

    def resume(self, trace: Any) -> str | None:
        """Why a run cannot go on after the rounds of a trace, if so."""
        error = trace.history["error"][-1] if trace.n_rounds else 0.25
        return "perfect_voter" if error <= 0 else "no_edge" if error >= 0.5 else None
