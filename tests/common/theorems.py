"""What the papers prove of training, as checks: check_*(model, X, y, weight) of a fitted model, in every round.

Everything is recomputed from the stages of the vote, in plain floats: the weights of every round, edges, costs. The
theorems hold at learning_rate = 1, for finite outputs and two labels; a perfect voter's step is a convention.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from tests.common.recompute import Floats

THETAS = (-0.9, -0.5, 0.0, 0.2, 0.5, 0.9, 0.99)
RHOS = (-0.6, -0.2, 0.0, 0.1, 0.4)
CLOSE = 1e-9


def signs_of(model: Any, y: Any) -> Floats:
    return np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)


def stages(model: Any, X: Any) -> Floats:
    """[round, row] of f, in the papers' scale, after every round that is not a perfect voter's."""
    found = np.array(list(model.staged_decision_function(X)))
    if type(model).__name__ == "AdaBoostClassifier":
        found = found * np.cumsum(model.steps_)[:, None] / 2
    return found[:-1] if model.stop_reason_ == "perfect_voter" else found


def moves(f: Floats) -> Floats:
    """[round, row]: what each round added."""
    return np.diff(f, axis=0, prepend=0.0)


def bayes_error(X: Any, signs: Floats, u: Floats) -> float:
    """Of the rule that says the heavier label of identical rows."""
    frame = pd.DataFrame(X).astype(object).where(pd.notna(pd.DataFrame(X)), "nothing")
    keys = frame.apply(lambda row: repr(row.tolist()), axis=1)
    sums = pd.DataFrame({"up": u * (signs > 0), "down": u * (signs < 0)}).groupby(keys.to_numpy()).sum()
    return float(np.minimum(sums["up"], sums["down"]).sum())


# ---------------------------------------------------------------- AdaBoost, Real AdaBoost, AdaBoost_R


def mus_of(f: Floats, signs: Floats, u: Floats, carried: bool) -> Floats:
    """mu of eq. 8 under the weights exp(-y f), or under those of eq. 6, which are carried."""
    mus, weight = [], u
    for t, added in enumerate(moves(f)):
        share = signs * added / np.abs(added[u > 0]).max()
        if not carried:
            before = f[t - 1] if t else np.zeros_like(signs)
            weight = u * np.exp(-signs * before)
        weight = weight / weight.sum()
        mus.append(float(weight @ share))
        weight = weight * (1 - mus[-1] * share)
    return np.array(mus)


def check_products(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """mean exp(-y f) <= prod sqrt(1 - mu^2), equal for voters of +-1; Theorem 1 of AdaBoost_R for every theta."""
    u, signs, f = weight / weight.sum(), signs_of(model, y), stages(model, X)
    mus = mus_of(f, signs, u, type(model).__name__ == "AdaBoostRClassifier")
    rest = bayes_error(X, signs, u)
    for t in range(len(f)):
        mean, product = float(u @ np.exp(-signs * f[t])), float(np.prod(np.sqrt(1 - mus[: t + 1] ** 2)))
        assert mean <= product * (1 + CLOSE)
        if type(model).__name__ == "AdaBoostClassifier":
            assert math.isclose(mean, product, rel_tol=CLOSE)
        assert float(u[signs * f[t] <= 0].sum()) <= mean * (1 + CLOSE)
        for theta in THETAS:
            odds = (1 + theta) / (1 - theta)
            share = float(u[signs * f[t] <= math.log(odds)].sum())
            assert share <= odds * product * (1 + CLOSE) + CLOSE  # what the proof gives
            assert share <= rest + max(1, odds) * math.exp(-0.5 * float(mus[: t + 1] @ mus[: t + 1])) + CLOSE


# ---------------------------------------------------------------- LocMedBoost for classes


def check_target_margins(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """Theorem 1 for every rho, Lemma 1 and Theorem 2 in every round, from the weights of the rows."""
    u, signs, f = weight / weight.sum(), signs_of(model, y), stages(model, X)
    steps, rhos, bound = model.history_["step"][: len(f)], model.history_["rho"][: len(f)], 1.0
    for t, added in enumerate(moves(f)):
        old = f[t - 1] if t else np.zeros_like(signs)
        w = u * np.exp(-signs * old)
        edge = float(w @ (signs * added) / steps[t] / w.sum())
        rho, total = float(rhos[t]), float(steps[: t + 1].sum())
        assert rho < edge
        each = math.exp(rho * steps[t]) * float(w @ np.exp(-signs * added)) / w.sum()
        target, reached = (1 + rho) / 2, (1 + edge) / 2
        rest = (1 - target) * math.log((1 - target) / (1 - reached)) if reached < 1 else math.inf
        assert each <= math.exp(-target * math.log(target / reached) - rest) * (1 + CLOSE)
        bound *= math.exp(-((edge - rho) ** 2) / 2)
        aim = float(steps[: t + 1] @ rhos[: t + 1]) / total
        low = u[signs * f[t] / total <= aim - CLOSE].sum()
        assert low <= bound * (1 + CLOSE)
        if bound < u[u > 0].min():
            assert (signs * f[t])[u > 0].min() / total > aim - CLOSE
        mean = float(u @ np.exp(-signs * f[t]))
        for theta in THETAS:
            assert u[signs * f[t] <= theta * total].sum() <= math.exp(theta * total) * mean + CLOSE


# ---------------------------------------------------------------- VadaBoost, EBBoost


def cost_of(f: Floats, signs: Floats, u: Floats, lam: float) -> float:
    """(3) over n^2."""
    e = np.exp(-signs * f)
    return float(u @ e) ** 2 + lam * (float(u @ e**2) - float(u @ e) ** 2)


def check_penalised_costs(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """Cost (3) falls; VadaBoost's by 2 sqrt(e (1 - e)) at least, at lam = 0 as Theorem 5 says, in twice the rounds."""
    u, signs, f = weight / weight.sum(), signs_of(model, y), stages(model, X)
    before, product, errors = 1.0, 1.0, []
    for t, added in enumerate(moves(f)):
        cost = cost_of(f[t], signs, u, model.lam)
        assert cost < before * (1 + CLOSE)
        assert float(u[signs * f[t] <= 0].sum()) <= math.sqrt(cost) * (1 + CLOSE)
        if type(model).__name__ == "VadaBoostClassifier":
            old = f[t - 1] if t else np.zeros_like(signs)
            w = u * np.exp(-signs * old)
            w = w / w.sum()
            both = model.lam * np.divide(w**2, u, out=np.zeros_like(w), where=u > 0) + (1 - model.lam) * w
            error = float(both[signs * added < 0].sum() / both.sum())
            spread = error * (1 - error)
            errors.append(error)
            assert cost <= before * 2 * math.sqrt(spread) * (1 + CLOSE)
            product *= 2 * spread + math.sqrt(spread)
            if model.lam == 0:
                assert math.isclose(cost, product, rel_tol=1e-8)
                worst = max(errors) * (1 - max(errors))
                assert cost <= (4 * worst) ** ((t + 1) / 2) * (1 + CLOSE)  # AdaBoost's, in half the rounds
        before = cost


# ---------------------------------------------------------------- QuadBoost


def check_quadratic_risk(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """The objective falls by what eq. 6 to 9 say of a voter that enters; the risk is at most 1 - T gamma^2."""
    u, signs, f = weight / weight.sum(), signs_of(model, y), stages(model, X)
    objective, edges = 1.0, []
    for t, added in enumerate(moves(f)):
        old = f[t - 1] if t else np.zeros_like(signs)
        alpha = float(np.abs(added[u > 0]).max())
        edge = float(u @ (added / alpha * (signs - old)))
        edges.append(edge)
        most = model.alpha_max if model.penalty == "linf" else math.inf
        fall = {
            None: edge**2,
            "l1": max(edge - model.lam, 0.0) ** 2,
            "l2": edge**2 / (1 + model.lam),
            "linf": edge**2 if edge <= most else 2 * most * edge - most**2,
        }[model.penalty]
        objective -= fall
        assert math.isclose(model.history_["objective"][t], objective, rel_tol=1e-8, abs_tol=1e-9)
        risk = float(u @ (signs - f[t]) ** 2)
        assert risk <= objective + 1e-9
        assert float(u[signs * f[t] <= 0].sum()) <= risk + CLOSE
        if model.penalty is None:
            assert risk <= 1 - (t + 1) * min(edges) ** 2 + 1e-9


# ---------------------------------------------------------------- DeepBoost, LPBoost


def check_deep_objective(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """F of eq. 4 never rises, and bounds the share of margins of at most 1."""
    u, signs, f = weight / weight.sum(), signs_of(model, y), stages(model, X)
    phi = np.exp if model.loss == "exponential" else lambda v: np.log2(1 + np.exp(v))
    before = float(phi(1.0))
    for t in range(len(f)):
        value = float(model.history_["objective"][t])
        mean = float(u @ phi(1 - signs * f[t]))
        assert value <= before * (1 + CLOSE)
        assert math.isclose(value, mean + float(model.history_["penalty"][t]), rel_tol=1e-8)
        assert float(u[signs * f[t] <= 1].sum()) <= mean * (1 + CLOSE)
        before = value


def check_duality_gap(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """The nu-form: rho - sum(xi) / (nu n) of the vote is the objective; every round's gap holds the last objective."""
    u, signs = weight / weight.sum(), signs_of(model, y)
    margins = signs * model.decision_function(X) / np.abs(model.steps_).sum()
    levels = np.unique(margins[u > 0])
    values = [rho - float(u @ np.maximum(rho - margins, 0)) / model.nu for rho in levels]
    objective, gap = model.history_["objective"], model.history_["gap"]
    assert math.isclose(max(values), objective[-1], rel_tol=0, abs_tol=1e-6)
    assert gap[-1] <= model.tol
    assert np.all(np.abs(objective - objective[-1]) <= gap + gap[-1] + 1e-7)


# ---------------------------------------------------------------- MedBoost


def check_median_errors(model: Any, X: Any, y: Any, weight: Floats) -> None:
    """Theorem 1 for every rho in every round: L^(rho) <= prod E_rho, which is mean exp(sum alpha (rho - theta))."""
    u = weight / weight.sum()
    said = np.array([voter.predict(X) for voter in model.estimators_])
    awards = np.where(np.abs(said - y) <= model.eps_, 1.0, -1.0)
    finite = np.isfinite(model.steps_)
    steps = model.steps_[finite]
    for rho in RHOS:
        power = np.cumsum(steps[:, None] * (rho - awards[finite]), axis=0)
        bounds = np.exp(power) @ u
        np.testing.assert_allclose(model.error_bounds(rho)[: len(bounds)], bounds, rtol=1e-8)
        errors = list(model.staged_robust_error(X, y, rho, weight))[: len(bounds)]
        assert np.all(np.array(errors) <= bounds * (1 + CLOSE))
