"""Predictions of the papers about the training rows, next to the observed values: for every round, and the last.

It comes from the history; what was observed of margins comes from the training rows, where they are given. The theorems
about rounds hold at learning_rate = 1, for two classes or for each class against the rest.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.data.split import NO_LEVELS, hash_rows, hash_table, text_levels
from electorate.estimators.guarantees import refuse_others
from electorate.exact import UNITS, Hashes
from electorate.families.columns import Columns
from electorate.families.pool import Pool
from electorate.families.trees import Stumps
from electorate.families.union import is_exhaustive
from electorate.inspection.margins import has_log_odds
from electorate.model.ensemble import LEAF, Ensemble
from electorate.theory import training
from electorate.theory.certificate import Bound, known, refused
from electorate.theory.training import RATE, Convergence, Run
from electorate.training.lazy_inputs import in_batches, is_scanned

THETAS = (0.0, 0.25, 0.5)
RHOS = (0.0, 0.25)
STRONG = (0.0, 0.5, 0.9)  # theta', eq. 18
ADABOOST_R = "AdaBoost_R paper, Theorem 1"


def convergence(model: Any) -> Convergence:
    """Compare the predictions of the papers for every round of a fit with the observed values.

    AdaBoost, Real AdaBoost and AdaBoost_R: prod Z_t and the weak learner's rate. QuadBoost: 1 - T gamma^2 and the
    exact decreases. VadaBoost: the decrease of its cost, at lam = 0 the identity of Theorem 5. MedBoost and
    LocMedBoost: Theorem 1, Lemma 1 and Theorem 2. LPBoost: the duality gap. Classes that are fitted one against the
    rest are compared one by one.

    Parameters
    ----------
    model : estimator
        A fitted estimator of electorate.

    Returns
    -------
    Convergence
        Predicted and observed values per round; `holds` is whether every prediction held. `notes`: what is proved
        in words, where its conditions hold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.inspection import convergence
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
    if getattr(model, "learning_rate", 1.0) != 1.0 and not model._guarantees.any_rate:
        return Convergence(name, (), RATE)
    if getattr(model, "step", "search") == 1:
        return Convergence(name, (), "the theorems are about steps that are searched for, and step=1 is not")
    if len(getattr(model, "classes_", ())) > 2 and not model._one_vs_rest:
        return Convergence(name, (), "the theorems are about two classes, or one against the rest")
    predictions = tuple(one for run in runs_of(model) for one in predict(run))
    return Convergence(name, predictions, notes=(*_margin_guarantee(model), *_consistency(model)))


def _margin_guarantee(model: Any) -> list[str]:
    """Corollary 2 of the LocMedBoost paper, where all of its conditions hold: of voters from a finite set that are
    searched exhaustively, the edges are at least the largest smallest margin that any weights of them have."""
    one_run = hasattr(model, "nu") and hasattr(model, "rho") and "label" not in model.history_
    if not one_run or model.rho not in ("adaptive", "lowest_edge") or not _is_searched(model):
        return []
    run, nu = runs_of(model)[0], float(getattr(model, "nu_", model.nu))
    finite = np.isfinite(run["step"]) & (run.history.get("alone", np.zeros(len(run["step"]))) == 0)
    if not finite.any() or not np.all((run["edge"] - run["rho"])[finite] >= nu * (1 - 1e-9)):
        return []  # nu was too large for some voter
    least, words = run.least_share, "ceil(2 ln(1 / s) / nu^2) + 1 rounds, s the share of the lightest row,"
    if not math.isnan(least):
        words = f"{training.rounds_to_margin(least, nu):,} rounds (there are {len(run['step']):,})"
    return [
        f"After at most {words} the smallest margin is within nu={nu:g} of the largest possible one over the "
        "family, which is finite and searched exhaustively [LocMedBoost paper, Corollary 2]"
    ]


def _consistency(model: Any) -> list[str]:
    """Rounds to consistency under the weak and the strong assumption of the AdaBoost_R paper, at the least edge."""
    if model._guarantees.mu is None or "label" in model.history_:
        return []
    run = runs_of(model)[0]
    mus = np.abs(model._guarantees.mu(run))
    if math.isnan(run.least_share) or not len(mus) or mus.min() == 0 or training.broken_condition(run, mus) is not None:
        return []
    gamma = float(mus.min())
    each = (f"{training.rounds_to_consistency(run.least_share, gamma, theta):,} (theta {theta:g})" for theta in STRONG)
    return [
        f"While edges are at least {gamma:.4g}, the least so far, and identical rows have the same label, every margin "
        f"(eq. 9) is above theta after at most so many rounds: {', '.join(each)} [AdaBoost_R paper, eq. 18]"
    ]


def _is_searched(model: Any) -> bool:
    """Whether a voter with the largest edge was found in every round. Awards are from -1 to 1."""
    family = model._family()
    if hasattr(model, "vote_"):
        finite = isinstance(family, Pool | Columns) and not getattr(model, "confidences_", None)
        return finite and model.cost == "zero_one"
    if model.abstain or not (model._is_native or model._by_rows):
        return isinstance(family, Pool | Stumps)
    return is_exhaustive(family, model.bins_)


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
    largest, unit_outputs = np.empty(0), False
    rounds = len(history["step"])  # of LPBoost and QuadBoost: their voters are not rounds
    if hasattr(model, "vote_"):
        rounds = int(model.vote_.n_voters)
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
    seen = getattr(model, "seen_", None)
    least = math.nan
    if seen is not None and seen.rows and not seen.weighted and params.get("class_weight") is None:
        least = 1 / seen.rows
    return Run(history, params, lam, largest, unit_outputs, label, least)


# ---------------------------------------------------------------- bounds on the last round


def training_bounds(model: Any, train: Any) -> list[Bound]:
    """The bounds of the papers that cover this algorithm."""
    if not hasattr(model, "history_") or not len(model.history_.get("step", ())):
        return []
    if hasattr(model, "vote_"):
        return _median_bounds(model, train) if hasattr(model, "eps_") else []
    if not hasattr(model, "classes_"):
        return []
    proved = model._guarantees
    if len(model.classes_) > 2 and not model._one_vs_rest:
        why = "all classes vote at once: it is about two, or one against the rest"
        return [refused("training error", proved.source, why)]
    found = [_error(model)]
    if proved.mu is not None:
        found += [_margin_error(model, theta, train) for theta in THETAS]
    if hasattr(model, "gap_") and np.isfinite(model.gap_):
        found.append(known("distance from the optimum", "the duality gap", {"bound": float(model.gap_)}))
    return found


def _error(model: Any) -> Bound:
    """The training error; for several classes, the sum of the bounds of each against the rest."""
    name, proved, runs = "training error", model._guarantees, runs_of(model)
    try:
        terms = {"bound": sum(training.error_bound(proved.objective, run) for run in runs)}
    except ValueError as why:
        return refused(name, proved.source, str(why))
    observed = runs[0].history.get("train_error", np.empty(0))
    if len(runs) == 1 and len(observed) and np.isfinite(observed[-1]):  # with more classes, there is none of all
        terms["as observed"] = float(observed[-1])
    return known(name, proved.source, terms)


def _margin_error(model: Any, theta: float, train: Any) -> Bound:
    """AdaBoost_R's Theorem 1, which discrete and real AdaBoost with their own mu obey as well."""
    name, run = f"margins (eq. 9) of at most {theta:g}", runs_of(model)[0]
    mus = model._guarantees.mu(run)
    conditions = {
        RATE: model.learning_rate != 1.0,
        "the step is not searched for": getattr(model, "step", "search") == 1,
        "it is about two classes": "label" in model.history_,
        "there are no voters": not len(mus),
    }
    why = next((reason for reason, broken in conditions.items() if broken), training.broken_condition(run, mus))
    if why is not None:
        return refused(name, ADABOOST_R, why)
    terms = {"product": float(training.margin_errors(mus, theta, 0.0)[-1]), "empirical Bayes error": 0.0}
    terms["as sharpened"] = float(training.sharper_margin_errors(mus, theta)[-1])
    if train is not None:
        terms["empirical Bayes error"], terms["as observed"] = _observed_margins(model, theta, train)
    return known(name, ADABOOST_R, terms)


def _observed_margins(model: Any, theta: float, train: Any) -> tuple[float, float]:
    """The error of the heavier label among identical rows, and the share of margins of at most theta."""
    X, y = train[0], np.asarray(inputs.to_array(train[1]))
    weight = np.ones(len(y)) if len(train) < 3 else np.asarray(train[2], dtype=np.float64)
    second = y == model.classes_[1]
    votes = np.where(second, 1.0, -1.0) * model._votes(X)[0] / UNITS
    low = np.tanh(votes / 2) <= theta
    _, place = np.unique(_hashes(model, X), return_inverse=True)
    up, down = (np.bincount(place, weights=weight * mine) for mine in (second, ~second))
    return float(np.minimum(up, down).sum() / weight.sum()), float(weight[low].sum() / weight.sum())


def _hashes(model: Any, X: Any) -> Hashes:
    """Hashes of the rows, of a scanned table batch by batch."""
    if not is_scanned(X):
        return hash_rows(model._check_rows(X, reset=False), 0)
    texts = [column for column, categories in model.bins_.categories.items() if categories.is_text]

    def hashes(rows: Any) -> Hashes:
        table = model._check_rows(rows, reset=False)
        levels = text_levels(table)
        return hash_table(table, 0, {column: levels.get(column, NO_LEVELS) for column in texts})

    return np.asarray(in_batches(X, hashes))


def _median_bounds(model: Any, train: Any) -> list[Bound]:
    """MedBoost's Theorem 1 at a few rho; `model.error_bounds(rho)` has it for any, in every round."""
    found = []
    for rho in RHOS if model.vote_.n_voters else ():
        terms = {"bound": float(model.error_bounds(rho)[-1])}
        if train is not None:
            terms["as observed"] = model.robust_error(train[0], train[1], rho, *train[2:3])
        found.append(known(f"rows not {rho:g}-robust and eps-precise", "LocMedBoost paper, Theorem 1", terms))
    most = _largest_rho(model)
    if most is not None:
        terms = {"bound": float(model.error_bounds(most)[-1]), "at rho": most}
        if train is not None:
            terms["as observed"] = model.robust_error(train[0], train[1], most, *train[2:3])
        found.append(known("rows not robust at the largest rho with a bound", "LocMedBoost paper, Theorem 1", terms))
    return found


def _largest_rho(model: Any) -> float | None:
    """The largest rho, in steps of 0.001, at which Theorem 1 is below 1: where rho sum alpha < -sum log Z."""
    n = model.vote_.n_voters
    steps, log_z = model.history_["step"][:n], model.history_["log_z"][:n]
    if not n or model.vote_.decides or not steps.sum() > 0:
        return None
    return math.ceil(-1000 * float(log_z.sum() / steps.sum()) - 1) / 1000
