"""What the papers predict about every round of a fit, beside what its history shows.

The theorems hold at learning_rate = 1, for two classes or for each class against the rest.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.estimators.certified import refuse_others
from electorate.inspection.margins import has_log_odds
from electorate.model.ensemble import LEAF, Ensemble
from electorate.theory.convergence import Convergence
from electorate.theory.training import RATE, Run


def convergence(model: Any) -> Convergence:
    """Compare what the papers predict of every round of a fit with what was observed.

    AdaBoost, Real AdaBoost and AdaBoost_R: prod Z_t and the weak learner's rate. QuadBoost: 1 - T gamma^2 and the
    exact decreases. VadaBoost: the decrease of its cost, at lam = 0 the identity of Theorem 5. MedBoost: Theorem 1
    and Lemma 1. LPBoost: the duality gap. Classes that are fitted one against the rest are compared one by one.

    Parameters
    ----------
    model : estimator
        A fitted estimator of electorate.

    Returns
    -------
    Convergence
        Predicted and observed values per round; `holds` is whether every prediction held.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, convergence
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> convergence(AdaBoostClassifier(n_estimators=20).fit(X, y)).holds
    True
    """
    model = getattr(model, "best_estimator_", model)
    refuse_others(model, "convergence")
    check_is_fitted(model)
    name, predict = type(model).__name__, model._guarantees.rounds
    if predict is None or not hasattr(model, "history_"):
        return Convergence(name, (), "the papers predict nothing about its rounds")
    if getattr(model, "learning_rate", 1.0) != 1.0:
        return Convergence(name, (), RATE)
    if getattr(model, "step", "search") == 1:
        return Convergence(name, (), "the theorems are about steps that are searched for, and step=1 is not")
    if len(getattr(model, "classes_", ())) > 2 and not model._one_vs_rest:
        return Convergence(name, (), "the theorems are about two classes, or one against the rest")
    return Convergence(name, tuple(one for run in runs_of(model) for one in predict(run)))


def runs_of(model: Any) -> list[Run]:
    """The runs of a fit, with the rounds that the model uses: one run, or one for each class against the rest."""
    labels = range(len(model.classes_)) if "label" in model.history_ else [None]
    return [_run_of(model, label) for label in labels]


def _run_of(model: Any, label: int | None) -> Run:
    history, params = model.history_, model.get_params(deep=False)
    if label is not None:
        mine = history["label"] == label
        history = {name: column[mine] for name, column in history.items()}
    lam = params.get("lam", math.nan)
    if lam == "auto" and hasattr(model, "lam_"):
        lam = model.lam_[label or 0]
    largest, unit_outputs, certain = np.empty(0), False, False
    rounds = len(history["step"])  # of LPBoost and QuadBoost: their voters are not rounds
    if hasattr(model, "vote_"):
        rounds = int(model.vote_.n_voters)
        certain = not getattr(model, "confidences_", None) and not model.vote_.leaves_doubt
    else:
        ensemble = model.ensemble_
        voters = np.flatnonzero(ensemble.about == (-1 if label is None else label))
        rounds = rounds if hasattr(model, "gap_") else len(voters)
        largest = np.full(len(voters), np.inf if has_log_odds(ensemble) else 1.0)
        if isinstance(ensemble, Ensemble):
            sizes = np.abs(ensemble.value).max(axis=1)
            largest = np.maximum.reduceat(sizes, ensemble.offsets[:-1])[voters] if len(voters) else np.empty(0)
            unit_outputs = bool(np.all(sizes[ensemble.column == LEAF] == 1))
    history = {name: column[:rounds] for name, column in history.items()}
    lam = math.nan if isinstance(lam, str) else float(lam)
    return Run(history, params, lam, largest, unit_outputs, certain, label)
