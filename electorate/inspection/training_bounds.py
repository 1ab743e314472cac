"""What is proved of the training rows of a model: bounds that need no probability, beside what was observed.

They are told from the history; with the training rows at hand, what was observed is looked at as well.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data import inputs
from electorate.inspection.convergence import RATE, History, _labels, _rows_of, broken_conditions, mus_of
from electorate.theory import training
from electorate.theory.bounds import total
from electorate.theory.certificate import PROVED, VACUOUS, Bound, refused

Floats = NDArray[np.float64]
THETAS = (0.0, 0.25, 0.5)
RHOS = (0.0, 0.25)
ADABOOST_R = "AdaBoost_R paper, Theorem 1"
MEAN_EXP = {"AdaBoostClassifier", "RealAdaBoostClassifier"}
WITH_MUS = {"AdaBoostClassifier", "RealAdaBoostClassifier", "AdaBoostRClassifier"}


def training_bounds(model: Any, train: Any) -> list[Bound]:
    """Those of the papers that cover this booster."""
    name = type(model).__name__
    if not hasattr(model, "history_") or not len(model.history_.get("step", ())):
        return []
    if hasattr(model, "vote_"):
        return _medians(model, train) if hasattr(model, "eps_") else []
    if not hasattr(model, "classes_"):
        return []
    if len(model.classes_) > 2 and not model._one_vs_rest:
        why = "all classes vote at once: it is about two, or one against the rest"
        return [refused("training error", _source(name), why)]
    found = [_error(model, name)]
    if name in WITH_MUS:
        found += [_margin_error(model, theta, train) for theta in THETAS]
    if hasattr(model, "gap_") and np.isfinite(model.gap_):
        found.append(_known("distance from the optimum", "the duality gap", float(model.gap_), None))
    return found


def _source(name: str) -> str:
    return {
        "AdaBoostClassifier": "AdaBoost: the product of Z_t",
        "RealAdaBoostClassifier": "Schapire and Singer 1999: the product of Z_t",
        "AdaBoostRClassifier": "AdaBoost_R paper, eq. 14",
        "QuadBoostClassifier": "QuadBoost paper: the quadratic risk",
        "DeepBoostClassifier": "DeepBoost paper, eq. 4 without its penalty",
    }.get(name, "VadaBoost paper: the mean of exp(-y f)" if "B" in name else "")


def _known(name: str, source: str, value: float, observed: float | None) -> Bound:
    terms = {"bound": value, **({} if observed is None else {"as observed": observed})}
    return Bound(name, source, PROVED if value < 1 else VACUOUS, total(terms), terms)


# ---------------------------------------------------------------- classifiers


def _error(model: Any, name: str) -> Bound:
    """The training error; of several classes, the sum of the bounds of each against the rest."""
    every = [_rows_of(model, label) for label in _labels(model)]
    observed = _observed_error(model, every)
    if any(not len(rows["step"]) for rows in every):
        return refused("training error", _source(name), "there are no voters")
    if name in MEAN_EXP:
        value = sum(float(rows["objective"][-1]) for rows in every)
    elif name == "AdaBoostRClassifier":
        mus = [mus_of(model, rows, label) for rows, label in zip(every, _labels(model), strict=True)]
        why = RATE if model.learning_rate != 1.0 else None
        for rows, one in zip(every, mus, strict=True):
            why = why or broken_conditions(rows, one)
        if why is not None:
            return refused("training error", _source(name), why)
        value = sum(float(training.product_of_normalisers(one)[-1]) for one in mus)
    elif name == "DeepBoostClassifier":
        if not isinstance(model.loss, str):
            return refused("training error", _source(name), "nothing is known of a loss of your own")
        value = sum(float(rows["objective"][-1] - rows["penalty"][-1]) for rows in every)
    elif "log_mean" in model.history_ and all(np.isfinite(rows["log_mean"][-1]) for rows in every):
        value = sum(float(np.exp(min(rows["log_mean"][-1], 700.0))) for rows in every)
    elif name in ("EBBoostClassifier", "QuadBoostClassifier"):
        # (mean e)^2 is at most cost (3); the risk is at most risk plus penalty
        power = 0.5 if name == "EBBoostClassifier" else 1.0
        value = sum(float(rows["objective"][-1]) ** power for rows in every)
    else:
        return refused("training error", "", "its program is about margins, not about errors")
    return _known("training error", _source(name), value, observed)


def _observed_error(model: Any, every: list[History]) -> float | None:
    """Of two classes; of more, the history knows those of each against the rest."""
    last = every[0].get("train_error")
    return float(last[-1]) if len(every) == 1 and last is not None and len(last) and np.isfinite(last[-1]) else None


def _margin_error(model: Any, theta: float, train: Any) -> Bound:
    """AdaBoost_R's Theorem 1, which discrete and real AdaBoost with their own mu obey as well."""
    name = f"margins (eq. 9) of at most {theta:g}"
    if model.learning_rate != 1.0:
        return refused(name, ADABOOST_R, RATE)
    if getattr(model, "step", "search") == 1:
        return refused(name, ADABOOST_R, "the step is not searched for")
    if "label" in model.history_:
        return refused(name, ADABOOST_R, "it is about two classes")
    rows = _rows_of(model, None)
    mus = mus_of(model, rows, None)
    if not len(mus):
        return refused(name, ADABOOST_R, "there are no voters")
    why = broken_conditions(rows, mus)
    if why is not None:
        return refused(name, ADABOOST_R, why)
    bayes, observed = _seen_margins(model, theta, train)
    terms = {"product": float(training.margin_errors(mus, theta, 0.0)[-1]), "empirical Bayes error": bayes}
    terms["as sharpened"] = float(training.sharper_margin_errors(mus, theta)[-1])
    if observed is not None:
        terms["as observed"] = observed
    value = total(terms)
    return Bound(name, ADABOOST_R, PROVED if value < 1 else VACUOUS, value, terms)


def _seen_margins(model: Any, theta: float, train: Any) -> tuple[float, float | None]:
    """The error of the empirical Bayes rule on identical rows, and the share of margins of at most theta."""
    if train is None:
        return 0.0, None
    X, y = train[0], np.asarray(inputs.to_array(train[1]))
    weight = np.ones(len(y)) if len(train) < 3 else np.asarray(train[2], dtype=np.float64)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    votes = signs * model._votes(X)[0] / 2.0**40
    low = np.tanh(votes / 2) <= theta
    return bayes_error(model, X, signs, weight), float(weight[low].sum() / weight.sum())


def bayes_error(model: Any, X: Any, signs: Floats, weight: Floats) -> float:
    """Of the rule that says, of identical rows, the heavier label."""
    from electorate.data.split import hash_rows

    _, place = np.unique(hash_rows(model._check_rows(X, reset=False), 0), return_inverse=True)
    up = np.bincount(place, weights=weight * (signs > 0))
    down = np.bincount(place, weights=weight * (signs < 0))
    return float(np.minimum(up, down).sum() / weight.sum())


# ---------------------------------------------------------------- medians


def _medians(model: Any, train: Any) -> list[Bound]:
    """MedBoost's Theorem 1 at a few rho; `model.error_bounds(rho)` has it for any, in every round."""
    found = []
    for rho in RHOS if model.vote_.n_voters else ():
        value = float(model.error_bounds(rho)[-1])
        observed = None if train is None else model.robust_error(train[0], train[1], rho, *train[2:3])
        name = f"rows not {rho:g}-robust and eps-precise"
        found.append(_known(name, "LocMedBoost paper, Theorem 1", value, observed))
    return found
