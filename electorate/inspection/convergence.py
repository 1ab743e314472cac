"""From the history of a fitted model to what was predicted of its rounds: which theorem covers which booster.

Theorems hold at learning_rate = 1, for two classes or for one class against the rest, each by itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from electorate.estimators.certified import refuse_others
from electorate.model.ensemble import Ensemble
from electorate.theory import training
from electorate.theory.convergence import Convergence, Prediction

Floats = NDArray[np.float64]
History = dict[str, NDArray[Any]]
ZT = "prod Z_t"
RATE = "the theorems hold at learning_rate=1"


def convergence(model: Any) -> Convergence:
    """What the papers predict of every round of this fit, beside what was observed.

    AdaBoost, Real AdaBoost and AdaBoost_R: prod Z_t and the weak learner's rate. QuadBoost: 1 - T gamma^2 and the exact
    decreases. VadaBoost: the fall of its cost, at lam = 0 the identity of Theorem 5. MedBoost: Theorem 1 and Lemma 1.
    LPBoost: the duality gap. Of several classes one against the rest, each by itself.

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
    name = type(model).__name__
    tell = TOLD.get(name)
    if tell is None or not hasattr(model, "history_"):
        return Convergence(name, (), "the papers predict nothing of its rounds")
    if getattr(model, "learning_rate", 1.0) != 1.0:
        return Convergence(name, (), RATE)
    if getattr(model, "step", "search") == 1:
        return Convergence(name, (), "they are about steps that are searched for, and step=1 is not")
    if len(getattr(model, "classes_", ())) > 2 and not model._one_vs_rest:
        return Convergence(name, (), "they are about two classes, or one against the rest")
    predictions = [one for label in _labels(model) for one in tell(model, _rows_of(model, label), label)]
    return Convergence(name, tuple(predictions))


def _labels(model: Any) -> list[int | None]:
    return list(range(len(model.classes_))) if "label" in model.history_ else [None]


def _rows_of(model: Any, label: int | None) -> History:
    """The history of one run, as far as its rounds were kept."""
    history = model.history_
    if label is not None:
        mine = history["label"] == label
        history = {name: column[mine] for name, column in history.items()}
    kept = _kept(model, label, len(history["step"]))
    return {name: column[:kept] for name, column in history.items()}


def _kept(model: Any, label: int | None, rounds: int) -> int:
    if hasattr(model, "vote_"):
        return int(model.vote_.n_voters)
    if hasattr(model, "gap_"):  # LPBoost and QuadBoost: voters are not rounds
        return rounds
    about = model.ensemble_.about
    return int(np.count_nonzero(about == (-1 if label is None else label)))


def _named(name: str, label: int | None) -> str:
    return name if label is None else f"{name} of class {label}"


# ---------------------------------------------------------------- boosters


def mus_of(model: Any, rows: History, label: int | None) -> Floats:
    """The edge of every voter divided by the largest it says: mu of eq. 8."""
    edges = np.asarray(rows["edge"], dtype=np.float64)
    if type(model).__name__ != "RealAdaBoostClassifier":
        return edges
    return edges / np.maximum(largest_said(model, label)[: len(edges)], 1e-300)


def largest_said(model: Any, label: int | None) -> Floats:
    """The largest of what each voter says, h*."""
    ensemble = model.ensemble_
    mine = np.flatnonzero(ensemble.about == (-1 if label is None else label))
    if isinstance(ensemble, Ensemble):
        sizes = np.abs(ensemble.value).max(axis=1)
        return np.maximum.reduceat(sizes, ensemble.offsets[:-1])[mine] if len(mine) else np.empty(0)
    return np.ones(len(mine))


def broken_conditions(rows: History, mus: Floats) -> str | None:
    """Why eq. 14 and Theorem 1 of AdaBoost_R do not cover these rounds."""
    if np.any((rows["step"] == 0) & (mus != 0)):
        return "some voters say infinity, whose step is 0"
    if len(mus) and abs(mus[-1]) >= 1 - 1e-12:
        return "a perfect voter ended training with a step of convention"
    return None


def _adaboosts(model: Any, rows: History, label: int | None) -> list[Prediction]:
    mus = mus_of(model, rows, label)
    name = type(model).__name__
    product = training.product_of_normalisers(mus)
    source = "AdaBoost: Z_t = 2 sqrt(e (1 - e))" if name == "AdaBoostClassifier" else "AdaBoost_R paper, eq. 14"
    found = []
    if name == "AdaBoostRClassifier":
        exact = np.exp(np.cumsum(np.log1p(-np.minimum(mus**2, 1.0 - 2.0**-53))))
        found.append(
            Prediction(_named("mean weight", label), "AdaBoost_R paper, eq. 13", exact, rows["objective"], True)
        )
        if np.any((rows["step"] == 0) & (mus != 0)):  # voters that say infinity: only their weights are predicted
            return [_without_perfect(one, mus) for one in found]
    else:
        discrete = name == "AdaBoostClassifier"
        found.append(Prediction(_named(ZT, label), source, product, rows["objective"], discrete))
    found.append(Prediction(_named("training error", label), source, product, rows["train_error"]))
    least = "Freund and Schapire 1997: exp(-2 gamma^2 T)"
    by_edge = training.weak_learning(mus)
    found.append(Prediction(_named("training error at the least edge", label), least, by_edge, rows["train_error"]))
    return [_without_perfect(one, mus) for one in found]


def _without_perfect(one: Prediction, mus: Floats) -> Prediction:
    """A perfect voter ends training with a step of convention: its round is not predicted."""
    keep = len(mus) - 1 if len(mus) and abs(mus[-1]) >= 1 - 1e-12 else len(mus)
    return Prediction(one.name, one.source, one.predicted[:keep], one.observed[:keep], one.exact)


def _quadboost(model: Any, rows: History, label: int | None) -> list[Prediction]:
    objective = rows["objective"]
    before = np.concatenate([[1.0], objective[:-1]])[: len(objective)]
    found = [Prediction(_named("objective never rises", label), "QuadBoost paper, section 3", before, objective)]
    if model.reweight != "never" or not _says_one(model):
        return found
    entered = 1 - np.cumsum(
        training.quadboost_falls(rows["edge"], model.penalty, lam_of(model, label), model.alpha_max)
    )
    found.append(Prediction(_named("objective", label), "QuadBoost paper, eq. 6 to 9", entered, objective, True))
    if model.penalty is None:
        line = training.quadboost_line(rows["edge"])
        found.append(Prediction(_named("1 - T gamma^2", label), "QuadBoost paper, section 3", line, objective))
    return found


def _says_one(model: Any) -> bool:
    """Whether every voter says -1 or 1, so that eta = 1."""
    ensemble = model.ensemble_
    if isinstance(ensemble, Ensemble):
        return bool(np.all(np.abs(ensemble.value[ensemble.column < 0]).max(axis=1) == 1))
    return False


def _vadaboost(model: Any, rows: History, label: int | None) -> list[Prediction]:
    errors, cost = rows["error"], rows["objective"]
    keep = len(errors) - 1 if len(errors) and errors[-1] == 0 else len(errors)
    errors, cost = errors[:keep], cost[:keep]
    before = np.concatenate([[1.0], cost[:-1]])[:keep]
    fall = before * training.vadaboost_fall(errors)
    found = [Prediction(_named("cost (3) / n^2", label), "VadaBoost paper, Lemma 2 and Theorem 3", fall, cost)]
    if lam_of(model, label) == 0:
        exact = training.vadaboost_identity(errors)
        found.append(Prediction(_named("identity at lam = 0", label), "VadaBoost paper, Theorem 5", exact, cost, True))
        worst = np.maximum.accumulate(errors)
        rounds = np.arange(1, keep + 1)
        adaboost = (4 * worst * (1 - worst)) ** (rounds / 2)
        source = "VadaBoost paper, Theorem 5 at the largest error: AdaBoost's cost in half the rounds"
        found.append(Prediction(_named("twice AdaBoost's rounds", label), source, adaboost, cost))
    return found


def lam_of(model: Any, label: int | None) -> float:
    """The price that was used: chosen, or given."""
    if model.lam == "auto":
        return float(model.lam_[label or 0])
    return float(model.lam) if not isinstance(model.lam, str) else np.nan


def _ebboost(model: Any, rows: History, label: int | None) -> list[Prediction]:
    cost = rows["objective"]
    before = np.concatenate([[1.0], cost[:-1]])[: len(cost)]
    return [Prediction(_named("cost (3) / n^2 falls", label), "VadaBoost paper, Algorithm 3", before, cost)]


def _deepboost(model: Any, rows: History, label: int | None) -> list[Prediction]:
    cost = rows["objective"]
    none = float(np.e) if model.loss == "exponential" else np.inf
    before = np.concatenate([[none], cost[:-1]])[: len(cost)]
    return [Prediction(_named("F of eq. 4 never rises", label), "DeepBoost paper, eq. 4", before, cost)]


def _medboost(model: Any, rows: History, label: int | None) -> list[Prediction]:
    finite = np.isfinite(rows["step"])
    steps, log_z = rows["step"][finite], rows["log_z"][finite]
    found = [
        Prediction(
            "margins of at most 0",
            "LocMedBoost paper, Theorem 1 at rho = 0",
            np.exp(np.cumsum(log_z)),
            rows["margin_error"][finite],
        )
    ]
    certain = not model.confidences_ and not model.vote_.leaves_doubt
    if model.cost == "zero_one" and certain:
        per_round = np.exp(rows["rho"][finite] * steps + log_z)
        bound = training.median_fall(rows["edge"][finite], rows["rho"][finite], -1.0, 1.0)
        found.append(Prediction("E_rho of each round", "LocMedBoost paper, Lemma 1", bound, per_round))
    return found


def _lpboost(model: Any, rows: History, label: int | None) -> list[Prediction]:
    """The objective is within the gap of the optimum, so the last one is within the gap of every round."""
    objective, gap = rows["objective"], rows["gap"]
    if not len(objective):
        return []
    in_c = model.C is not None and np.isfinite(model.C)
    room = gap * (np.maximum(1.0, np.abs(objective)) if in_c else 1.0)
    away = np.abs(objective - objective[-1])
    name = _named("distance from the last objective", label)
    return [Prediction(name, "LPBoost: the duality gap", room + room[-1], away)]


Tell = Callable[[Any, History, int | None], list[Prediction]]
TOLD: dict[str, Tell] = {
    "AdaBoostClassifier": _adaboosts,
    "AdaBoostRClassifier": _adaboosts,
    "DeepBoostClassifier": _deepboost,
    "EBBoostClassifier": _ebboost,
    "LPBoostClassifier": _lpboost,
    "LocMedBoostRegressor": _medboost,
    "MedBoostRegressor": _medboost,
    "QuadBoostClassifier": _quadboost,
    "RealAdaBoostClassifier": _adaboosts,
    "VadaBoostClassifier": _vadaboost,
}
