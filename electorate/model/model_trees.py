"""The trees of a fitted model, whether their votes are added or their weighted median is taken."""

from typing import Any

import numpy as np

from electorate.arrays import Floats
from electorate.model.ensemble import Ensemble


def no_ensemble(model: Any, what: str) -> str:
    """The message about a model without voters of its own, such as one that combines several models."""
    name = type(model).__name__
    instead = ": pass one of its estimators_" if hasattr(model, "estimators_") else ""
    return f"{what} is for electorate's trees, and {name} is not one ensemble of voters{instead}"


def model_trees(model: Any, what: str) -> tuple[Ensemble, Floats]:
    """Return the trees and their steps, or raise TypeError. what: the name of the caller, for the message."""
    is_median = hasattr(model, "vote_")
    if not (is_median or hasattr(model, "ensemble_")):
        raise TypeError(no_ensemble(model, what))
    ensemble = model.vote_.trees if is_median else model.ensemble_
    if not isinstance(ensemble, Ensemble):
        raise TypeError(
            f"{what} is for electorate's trees, and this {type(model).__name__} has other voters: use stumps, trees, "
            "rules, pairs or a pool as its voters"
        )
    return ensemble, np.asarray(model.steps_ if is_median else ensemble.steps * getattr(model, "scale_", 1.0))
