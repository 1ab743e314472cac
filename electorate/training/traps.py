"""Warnings about two common mistakes: a deep tree that ends the vote after one round, and stumps for many classes."""

import warnings
from typing import Any

import numpy as np

from electorate.model.ensemble import Ensemble

STUMP = 3  # nodes
LOST = 0.5  # of the error of guessing: from here on, stumps do not separate the classes


def warn_of_traps(model: Any) -> None:
    """Warn if a fitted classifier has one of these problems; the warning says what to use instead."""
    ensemble = model.ensemble_
    if not isinstance(ensemble, Ensemble) or not ensemble.n_voters:
        return
    name, largest = type(model).__name__, int(np.diff(ensemble.offsets).max())
    if model.stop_reason_ == "perfect_voter" and model._n_rounds == 1 and largest > STUMP:
        found = "the first tree classifies every training row correctly, so the vote ends after one round"
        todo = "use a smaller max_depth, for example Trees(3), or RealAdaBoostClassifier(Trees(3), step=1)"
        warnings.warn(f"{name}: {found} and the model is that one tree: {todo}.", UserWarning, stacklevel=7)
    n_classes, errors = model.n_classes_, model.history_.get("train_error", ())
    if n_classes > 2 and not model._one_vs_rest and largest <= STUMP and len(errors):
        error = float(errors[-1])
        if error > LOST * (1 - 1 / n_classes):
            found = f"stumps have two leaves and do not tell {n_classes} classes apart (training error {error:.2f})"
            todo = "use deeper voters, for example Trees(3), or AdaBoostRClassifier, which fits one class at a time"
            warnings.warn(f"{name}: {found}: {todo}.", UserWarning, stacklevel=7)
