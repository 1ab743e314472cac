"""The decision threshold for two classes, where a metric counts a rare class for more than its rows.

Each fold is measured with the threshold that is best on the other folds, so that no row is tested with a threshold it
had a say in.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.comparison.metrics import Metric, Scored
from electorate.comparison.rows import Floats

CANDIDATES = 199  # quantiles of the decisions


@dataclass(frozen=True)
class Threshold:
    """The second class is predicted above this probability.

    loss: of the tested rows, with the thresholds of the other folds; plain: with 0.5.
    """

    probability: float
    loss: float
    plain: float

    @property
    def helps(self) -> bool:
        return self.loss < self.plain


def tune(parts: list[Scored], metric: Metric) -> Threshold:
    """parts: the tested rows of each fold; at least two folds, of two classes."""
    parts = [_joined([part]) for part in parts]
    shifted = [_shifted(part, _best(parts[:k] + parts[k + 1 :], metric)) for k, part in enumerate(parts)]
    cut = _best(parts, metric)
    return Threshold(1 / (1 + float(np.exp(-cut))), metric.value(_joined(shifted)), metric.value(_joined(parts)))


def _best(parts: list[Scored], metric: Metric) -> float:
    """The log-odds to decide at; of equals, the one nearest to 0."""
    together = _joined(parts)
    cuts = np.unique(np.append(np.quantile(together.decision, np.linspace(0, 1, CANDIDATES)), 0.0))
    losses = [metric.value(_shifted(together, float(cut))) for cut in cuts]
    return float(min(zip(losses, np.abs(cuts), cuts, strict=True))[2])


def _shifted(scored: Scored, cut: float) -> Scored:
    return Scored(scored.target, scored.scores - cut, 2, weight=scored.weight)


def _joined(parts: list[Scored]) -> Scored:
    """The rows of all parts, with log-odds as scores."""
    scores: Floats = np.concatenate([part.temperature * part.scores for part in parts])
    weights: list[Any] = [part.weight for part in parts if part.weight is not None]
    target = np.concatenate([part.target for part in parts])
    return Scored(target, scores, 2, weight=np.concatenate(weights) if weights else None)
