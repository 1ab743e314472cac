"""MedBoost and LocMedBoost: every identity of the paper, and the search against exhaustive ones."""

import copy
import math
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import electorate
from electorate import AdaBoostClassifier, LocMedBoostRegressor, MedBoostRegressor, RegressionTrees, Stumps
from electorate.algorithms.solvers.line_search import line_search
from electorate.engines.targets import Moments

RHOS = np.array([-100.0, -2.0, -1.0, -0.7, -0.3, -0.05, 0.0, 0.05, 0.2, 0.5, 0.9, 1.0, 1.5])


def squared(said: np.ndarray, y: np.ndarray, eps: float) -> np.ndarray:
    """A cost of a user's: at least 1 beyond eps."""
    return ((said - y) / eps) ** 2


def near_left(X: Any) -> np.ndarray:
    return 0.2 + 0.8 * (np.nan_to_num(np.asarray(X)[:, 0]) < 0)


def always(X: Any) -> np.ndarray:
    return np.ones(len(X))


def noisy(seed: int, n: int = 90, distinct: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with missing values, targets with noise and outliers, weights of all kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    y = 2 * np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(2, n)
    if distinct is not None:
        y = np.round(y / np.ptp(y) * distinct)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.choice([np.ones(n), rng.integers(0, 4, n), rng.random(n)], axis=0)
    return X, y, weight


MODELS = {
    "0-1": MedBoostRegressor(),
    "0-1, stumps": MedBoostRegressor(RegressionTrees(1), nu=0.3),
    "lowest edge": MedBoostRegressor(rho="lowest_edge", nu=0.05),
    "constant": MedBoostRegressor(rho=-0.4),
    "linear": MedBoostRegressor(cost="linear"),
    "squared": MedBoostRegressor(RegressionTrees(2), cost=squared),
    "least squares": MedBoostRegressor(RegressionTrees(2, criterion="squared_error")),
    "abstaining": LocMedBoostRegressor(),
    "abstaining, linear": LocMedBoostRegressor(RegressionTrees(2), cost="linear", eps=2.0),
    "bumps": LocMedBoostRegressor(confidence_by="bumps", n_bumps=2),
    "given": LocMedBoostRegressor(confidence_by=[near_left, always]),
}
WRAPPED = {
    "wrapped": MedBoostRegressor(DecisionTreeRegressor(max_depth=2, random_state=0)),
    "wrapped, given": LocMedBoostRegressor(DecisionTreeRegressor(max_depth=2, random_state=0), confidence_by=near_left),
}


def fitted(name: str, seed: int, rounds: int = 12) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    X, y, weight = noisy(seed)
    if name in WRAPPED:
        X = np.nan_to_num(X)
    model = {**MODELS, **WRAPPED}[name]
    model = type(model)(**{**model.get_params(deep=False), "n_estimators": rounds})
    return model.fit(X, y, weight), X, y, weight


def awards(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[voter, row] of kappa theta, from what each voter says of itself."""
    said, sure = model._outputs(X)[1](0, len(y))
    costs = {
        "zero_one": lambda h: np.abs(h - y) > model.eps_,
        "linear": lambda h: np.abs(h - y) / model.eps_,
        squared: lambda h: squared(h, y, model.eps_),
    }
    return np.array(
        [(1 - 2 * costs[model.cost](said[:, t])) * (1 if sure is None else sure[:, t]) for t in range(said.shape[1])]
    )


# ---------------------------------------------------------------- the theorems


@pytest.mark.parametrize("name", [*MODELS, *WRAPPED])
@pytest.mark.parametrize("seed", [0, 1])
def test_theorem_1_holds_for_every_rho_in_every_round(name: str, seed: int) -> None:
    model, X, y, weight = fitted(name, seed)
    assert model.vote_.n_voters >= 3
    bounds = model.error_bounds(RHOS)
    for number, rho in enumerate(RHOS):
        errors = np.array(list(model.staged_robust_error(X, y, rho, weight)))
        assert np.all(errors <= bounds[number] * (1 + 1e-9))
        assert errors[-1] == pytest.approx(model.robust_error(X, y, rho, weight), abs=1e-12)
    assert np.any(bounds < 1)


@pytest.mark.parametrize("name", [*MODELS, *WRAPPED])
def test_every_round_is_recomputed_from_its_awards(name: str) -> None:
    """Edges, steps, normalisers, margins and the objective, in plain NumPy."""
    model, X, y, weight = fitted(name, 2)
    history, u = model.history_, awards(model, X, y)
    w = weight / weight.sum()
    total = np.zeros(len(y))
    log_bound = 0.0
    for t, alpha in enumerate(model.steps_):
        edge, rho = float(w @ u[t]), history["rho"][t]
        assert history["edge"][t] == pytest.approx(edge, abs=1e-9)
        assert edge > rho - 1e-9
        best = minimize_scalar(
            lambda a, t=t, rho=rho, w=w: np.log(w @ np.exp(-a * u[t] + a * rho)),
            bounds=(0, 20 * alpha),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert alpha == pytest.approx(best.x, rel=1e-4)
        z = float(w @ np.exp(-alpha * u[t]))
        assert history["log_z"][t] == pytest.approx(math.log(z), abs=1e-8)
        log_bound += alpha * rho + math.log(z)
        assert history["objective"][t] == pytest.approx(math.exp(log_bound), rel=1e-7)
        total += alpha * u[t]
        gone = model.steps_[: t + 1].sum()
        assert history["min_margin"][t] == pytest.approx(total[weight > 0].min() / gone, rel=1e-9)
        assert history["target_margin"][t] == pytest.approx(model.steps_[: t + 1] @ history["rho"][: t + 1] / gone)
        w = w * np.exp(-alpha * u[t]) / z
    if isinstance(model.rho, str) and model.rho == "adaptive":
        wanted, lowest = history["edge"] - model.nu, u[:, weight > 0].min(axis=1)
        half = (history["edge"] + lowest) / 2  # where nu is not less than the edge minus the lowest award
        np.testing.assert_allclose(history["rho"], np.where(wanted > lowest, wanted, half), atol=1e-9)
    if isinstance(model.rho, str) and model.rho == "lowest_edge":
        np.testing.assert_allclose(history["rho"], np.minimum.accumulate(history["edge"]) - model.nu, atol=1e-12)


@pytest.mark.parametrize("name", ["0-1", "linear", "bumps", "abstaining", "given", "least squares"])
def test_lemma_1_in_every_round(name: str) -> None:
    """Eq. 14, whose second fraction is (A - rho~) / A; an equality for awards of +-1."""
    model, X, y, weight = fitted(name, 3)
    u = awards(model, X, y)[:, weight > 0]
    history = model.history_
    low, high = u.min(), u.max()
    A = high - low
    g, r = history["edge"] - low, history["rho"] - low
    bound = -r / A * np.log(r / g) - (A - r) / A * np.log((A - r) / (A - g))
    log_e = history["rho"] * history["step"] + history["log_z"]
    assert np.all(log_e <= bound + 1e-9)
    if name == "0-1":
        np.testing.assert_allclose(log_e, bound, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("eps", [0.2, 0.9])
def test_with_two_targets_it_is_adaboost(seed: int, eps: float) -> None:
    """Targets and voters in {-1, +1}, rho = 0: the steps and votes of AdaBoost; a tie of the median is +1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=80) > 0, 1, -1)
    model = MedBoostRegressor(RegressionTrees(1), eps=eps, rho=0.0, n_estimators=25).fit(X, y)
    other = AdaBoostClassifier(Stumps(), n_estimators=25).fit(X, y)
    np.testing.assert_allclose(model.steps_, other.steps_, rtol=1e-9)
    votes = other.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), np.where(votes >= 0, 1, -1))


@pytest.mark.parametrize("rho", [-0.3, 0.1])
def test_with_two_targets_and_any_rho_it_is_adaboost_rho(rho: float) -> None:
    """Against AdaBoost_rho in plain NumPy over all stumps."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 2))
    y = np.where(X.sum(axis=1) + 0.3 * rng.normal(size=40) > 0, 1, -1)
    w = rng.random(40)  # so that no two stumps are equally good
    model = MedBoostRegressor(RegressionTrees(1), eps=0.5, rho=rho, n_estimators=10).fit(X, y, w)
    every = [s * np.where(X[:, j] <= t, 1, -1) for j in range(2) for t in X[:, j] for s in (1, -1)]
    w = w / w.sum()
    f = np.zeros(40)
    for alpha in model.steps_:
        h = max(every, key=lambda h: float((w * y) @ h))
        edge = float((w * y) @ h)
        assert alpha == pytest.approx(0.5 * math.log((1 + edge) / (1 - edge)) - 0.5 * math.log((1 + rho) / (1 - rho)))
        w = w * np.exp(-alpha * y * h)
        w /= w.sum()
        f += alpha * h
    np.testing.assert_array_equal(model.predict(X), np.where(f >= 0, 1, -1))


def all_stumps(x: np.ndarray, y: np.ndarray, eps: float) -> np.ndarray:
    """[voter, row] of the awards of every stump on one column whose sides say the middle of some targets."""
    values = np.unique([(a + b) / 2 for a in y for b in y if abs(a - b) <= 2 * eps])
    cuts = np.unique(x)[:-1]
    said = [np.where(x <= t, a, b) for t in cuts for a, b in product(values, values)]
    said += [np.full(len(x), a) for a in values]
    return np.where(np.abs(np.array(said) - y) <= eps, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_margin_comes_within_nu_of_the_best_in_the_rounds_of_corollary_2(seed: int, weighted: bool) -> None:
    """The best minimum margin by linear programming; A = 2, log n becomes log(1 / least weight)."""
    rng = np.random.default_rng(seed)
    x, y, eps, nu = rng.permutation(10).astype(float), rng.integers(0, 8, 10).astype(float), 1.0, 0.25
    weight = rng.integers(1, 4, 10) if weighted else np.ones(10)
    u = all_stumps(x, y, eps)
    n = len(u)
    solved = linprog(
        np.r_[np.zeros(n), -1],
        A_ub=np.c_[-u.T, np.ones(10)],
        b_ub=np.zeros(10),
        A_eq=np.r_[np.ones(n), 0][None],
        b_eq=[1],
        bounds=[(0, None)] * n + [(None, None)],
    )
    best = -solved.fun
    rounds = math.ceil(4 * math.log(weight.sum() / weight.min()) / (2 * nu**2)) + 1
    model = MedBoostRegressor(RegressionTrees(1), eps=eps, nu=nu, n_estimators=rounds).fit(x[:, None], y, weight)
    if model.stop_reason_ == "perfect_voter":
        assert best == pytest.approx(1)
        return
    edges, margins = model.history_["edge"], model.history_["min_margin"]
    assert np.all(edges >= best - 1e-9)
    assert np.all(edges[1:] >= margins[:-1] - 1e-9)  # the largest edge is at least the least margin
    assert margins[-1] > best - nu


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cost", ["zero_one", "linear"])
@pytest.mark.parametrize("abstains", [False, True])
def test_the_first_stump_is_the_best_of_all(seed: int, cost: str, abstains: bool) -> None:
    """Against every threshold, side for missing values, and value: targets have few values, so bins are exact."""
    X, y, weight = noisy(seed, n=40, distinct=12)
    model = LocMedBoostRegressor(
        RegressionTrees(1), confidence_by="abstain" if abstains else "constant", eps=1.5, cost=cost, n_estimators=1
    ).fit(X, y, weight)
    w = weight / weight.sum()
    values = np.unique([(a + b) / 2 for a in y for b in y])
    distance = np.abs(values[:, None] - y)
    theta = np.where(distance <= 1.5, 1.0, -1.0) if cost == "zero_one" else 1 - 2 * distance / 1.5

    def side(chosen: np.ndarray) -> float:
        edge = float((theta[:, chosen] @ w[chosen]).max()) if chosen.any() else 0.0
        return max(edge, 0.0) if abstains else edge

    sides = [np.ones(40, dtype=bool)]
    for j in range(3):
        missing = np.isnan(X[:, j])
        for t in np.unique(X[~missing, j]):
            sides += [X[:, j] <= t, (X[:, j] <= t) | missing]
    best = max(side(chosen) + side(~chosen) for chosen in sides)
    if model.vote_.n_voters:
        assert model.history_["edge"][0] == pytest.approx(best, abs=1e-9)
    else:
        assert best == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------- steps


class Pile:
    """An engine of plain arrays."""

    def __init__(self, w: np.ndarray, u: np.ndarray) -> None:
        self.w, self.u = w, u

    def reward(self, rewarding: Any) -> tuple[float, float]:
        raise AssertionError

    def moments(self, alpha: float, most: float) -> Moments:
        w = self.w * np.exp(-alpha * self.u + (alpha * self.u).min())
        sums = [round(float(number) * 2**50) for number in (w.sum(), w @ self.u / most, w @ self.u**2 / most**2)]
        return Moments(*sums, most)


@pytest.mark.parametrize("seed", range(10))
def test_steps_of_abstaining_voters_are_those_of_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = rng.random(30)
    u = rng.choice([-1.0, 0.0, 1.0], 30)
    u[:3] = -1, 0, 1
    w /= w.sum()
    rho = float(w @ u) - 0.2
    pile = Pile(w, u)
    step = line_search(pile, pile.moments(0.0, 1.0), rho, 1.0, (-1.0, 1.0))
    right, wrong, silent = w[u > 0].sum(), w[u < 0].sum(), w[u == 0].sum()
    root = np.sqrt((rho * silent) ** 2 + 4 * (1 - rho * rho) * right * wrong)
    assert step == pytest.approx(np.log((-rho * silent + root) / (2 * (1 + rho) * wrong)), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_steps_where_awards_are_of_any_size(scale: float) -> None:
    rng = np.random.default_rng(0)
    w, u = rng.random(50), scale * (1 - 3 * rng.random(50))
    w /= w.sum()
    rho = float(w @ u) - 0.3 * scale
    pile, most = Pile(w, u), float(np.abs(u).max())
    step = line_search(pile, pile.moments(0.0, most), rho, most, (u.min(), u.max()))
    tilted = w * np.exp(-step * u)
    assert float(tilted @ u / tilted.sum()) == pytest.approx(rho, rel=1e-9)


def test_a_voter_that_is_right_everywhere_decides_alone() -> None:
    """Line 8: its step is infinite."""
    X = np.arange(8.0)[:, None]
    y = np.where(X[:, 0] < 4, 1.0, 5.0)
    model = MedBoostRegressor(RegressionTrees(1), eps=0.5).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.steps_.tolist() == [math.inf]
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.robust_error(X, y, 0.9) == 0
    np.testing.assert_array_equal(model.confidence(X), 1)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, y)


def test_where_the_voter_of_an_infinite_step_abstains_the_earlier_ones_decide() -> None:
    """rho = 0 and voters that abstain: one that is right wherever it speaks ends the run."""
    rng = np.random.default_rng(1)
    X = np.arange(60.0)[:, None]
    y = np.where(X[:, 0] < 30, 3.0, 20 * rng.random(60))
    model = LocMedBoostRegressor(RegressionTrees(1), eps=0.5, rho=-1e-9, n_estimators=50).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    said, sure = model._outputs(X)[1](0, 60)
    assert sure is not None
    sure_of = sure[:, -1] > 0
    np.testing.assert_array_equal(model.predict(X)[sure_of], said[sure_of, -1])
    earlier = [p for p in model.staged_predict(X)]
    if len(earlier) > 1:
        np.testing.assert_array_equal(earlier[-1][~sure_of], earlier[-2][~sure_of])
    else:
        np.testing.assert_array_equal(model.predict(X)[~sure_of], model.fallback_)
    np.testing.assert_array_equal(earlier[-1], model.predict(X))


def test_without_an_edge_above_rho_the_model_is_the_median() -> None:
    """Line 10: the last voter is not used."""
    X, y, weight = noisy(0)
    model = MedBoostRegressor(rho=0.99).fit(X, y, weight)
    assert model.stop_reason_ == "no_edge"
    assert model.vote_.n_voters == 0
    order = np.argsort(y)
    below = np.cumsum(weight[order]) / weight.sum()
    assert model.fallback_ == y[order][np.searchsorted(below, 0.5)]
    np.testing.assert_array_equal(model.predict(X), model.fallback_)
    np.testing.assert_array_equal(model.confidence(X), 0)
    low, high = model.predict_interval(X, rho=0.1)
    assert np.all(np.isinf(low))
    assert np.all(np.isinf(high))


# ---------------------------------------------------------------- the vote


def quantile_of_eq_7(said: np.ndarray, weight: np.ndarray, rho: float, c: float, upper: bool) -> float:
    if not abs(rho) < c:
        return math.inf if (rho >= 0) == upper else -math.inf
    sign = 1 if upper else -1
    fits = [h for h in said if weight[sign * h < sign * said].sum() / weight.sum() < (1 - rho / c) / 2]
    return min(fits) if upper else max(fits)


@pytest.mark.parametrize("name", ["0-1", "abstaining", "bumps", "wrapped, given"])
@pytest.mark.parametrize("rho", [0.0, 0.13, 0.4, 0.95, -0.2])
def test_quantiles_are_those_of_equations_7_and_8(name: str, rho: float) -> None:
    model, X, y, _ = fitted(name, 4)
    said, sure = model._outputs(X)[1](0, len(y))
    weight = model.steps_ * (np.ones_like(said) if sure is None else sure)
    c = weight.sum(axis=1) / model.steps_.sum()
    np.testing.assert_allclose(model.confidence(X), c, rtol=1e-9)
    *_, stage = model._stages(X)
    for upper in (True, False):
        plain = [quantile_of_eq_7(said[i], weight[i], rho, c[i], upper) for i in range(len(y))]
        np.testing.assert_array_equal(stage.quantiles(rho, upper), plain)
        np.testing.assert_array_equal(model._evaluate(X, lambda votes, upper=upper: votes.quantiles(rho, upper)), plain)
    if rho == 0:
        plain = [quantile_of_eq_7(said[i], weight[i], 0.0, c[i], True) for i in range(len(y))]
        np.testing.assert_array_equal(model.predict(X), np.where(np.isinf(plain), model.fallback_, plain))


@pytest.mark.parametrize("name", [*MODELS, *WRAPPED])
def test_intervals_never_cross_and_lie_in_one_another(name: str) -> None:
    model, X, y, _ = fitted(name, 5)
    model.calibrate(X[:60], y[:60])
    said = model.predict(X)
    inner = said, said
    for rho in (0.0, 0.1, 0.4, 0.8):
        low, high = model.predict_interval(X, rho=rho)
        known = model.confidence(X) > 0
        assert np.all(low[known] <= inner[0][known])
        assert np.all(inner[1][known] <= high[known])
        inner = low, high
    inner = said, said
    for coverage in (0.1, 0.5, 0.9, 0.999):
        low, high = model.predict_interval(X, coverage=coverage)
        assert np.all(low <= inner[0])
        assert np.all(inner[1] <= high)
        inner = low, high
    assert np.all(np.isinf(high))  # 60 rows cannot promise as much


def test_staged_versions_end_in_the_model() -> None:
    model, X, _, _ = fitted("abstaining", 6)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_array_equal(list(model.staged_confidence(X))[-1], model.confidence(X))
    for one, two in zip(
        list(model.staged_predict_interval(X, rho=0.1))[-1], model.predict_interval(X, rho=0.1), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_conformal_intervals_cover_as_promised() -> None:
    """Over 30 draws the mean coverage is 0.9 within three standard errors, and never far below."""
    shares = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (700, 2))
        y = X[:, 0] ** 2 + (0.1 + np.abs(X[:, 1])) * rng.normal(size=700)
        model = (
            MedBoostRegressor(RegressionTrees(2), n_estimators=8)
            .fit(X[:150], y[:150])
            .calibrate(X[150:350], y[150:350])
        )
        low, high = model.predict_interval(X[350:], coverage=0.9)
        shares.append(np.mean((low <= y[350:]) & (y[350:] <= high)))
    assert abs(np.mean(shares) - 0.9) < 3 * np.std(shares) / math.sqrt(30) + 1 / 201
    assert min(shares) > 0.8


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("given", "squared")])
def test_digests_do_not_depend_on_threads_shards_or_order(name: str) -> None:
    X, y, weight = noisy(8, n=150)
    base = MODELS[name]
    digests = set()
    for jobs, shards, order in [(1, 1, 0), (2, 2, 0), (1, 5, 0), (1, 64, 0), (1, 3, 1)]:
        model = type(base)(**{**base.get_params(deep=False), "n_estimators": 6, "n_jobs": jobs, "random_state": 0})
        model._n_shards = shards
        rows = np.random.default_rng(0).permutation(150) if order else np.arange(150)
        digests.add(model.fit(X[rows], y[rows], weight[rows]).digest_)
    assert len(digests) == 1


@pytest.mark.parametrize("name", ["0-1", "linear", "least squares", "abstaining", "bumps"])
def test_weight_k_is_k_rows_and_scale_does_not_matter(name: str) -> None:
    X, y, _ = noisy(9)
    weight = np.random.default_rng(0).integers(0, 4, 90)
    base = MODELS[name]

    def digest(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> str:
        parameters = {**base.get_params(deep=False), "n_estimators": 6, "random_state": 0}
        return str(type(base)(**parameters).fit(X, y, w).digest_)

    one = digest(X, y, weight)
    assert one == digest(np.repeat(X, weight, axis=0), np.repeat(y, weight), None)
    assert one == digest(X[weight > 0], y[weight > 0], weight[weight > 0])
    assert one == digest(X, y, weight * 2.0**-30)


def test_early_stopping_is_the_same_for_any_order_and_keeps_the_best_round() -> None:
    X, y, _ = noisy(10, n=300)
    model = MedBoostRegressor(early_stopping=True, n_estimators=60, n_iter_no_change=10, random_state=0).fit(X, y)
    assert model.best_round_ == model.vote_.n_voters == 1 + int(np.argmin(model.history_["validation"]))
    rows = np.random.default_rng(1).permutation(300)
    again = MedBoostRegressor(early_stopping=True, n_estimators=60, n_iter_no_change=10, random_state=0)
    again._n_shards = 4
    assert again.fit(X[rows], y[rows]).digest_ == model.digest_


def test_eps_and_rho_are_chosen_on_rows_set_aside() -> None:
    X, y, _ = noisy(11, n=300)
    model = MedBoostRegressor(eps="validate", rho="validate", n_estimators=20, random_state=0).fit(X, y)
    assert model.rho_ is not None
    assert model.eps_ > 0
    fixed = MedBoostRegressor(eps=model.eps_, rho=model.rho_, early_stopping=True, n_estimators=20, random_state=0).fit(
        X, y
    )
    assert fixed.digest_ == model.digest_
    common = {"early_stopping": True, "n_estimators": 20, "random_state": 0}
    others = [MedBoostRegressor(eps=model.eps_, rho=rho, **common).fit(X, y) for rho in (-0.9, -0.5, -0.1)]
    scores = [min(one.history_["validation"]) for one in others if one.vote_.n_voters]
    assert min(fixed.history_["validation"]) <= min(scores)


# ---------------------------------------------------------------- files, voters, errors


@pytest.mark.parametrize("name", ["0-1", "linear", "least squares", "abstaining", "bumps"])
def test_a_saved_model_is_the_model(name: str, tmp_path: Path) -> None:
    model, X, y, _ = fitted(name, 12)
    model.calibrate(X, y)
    model.save(tmp_path / "model")
    again = electorate.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.digest_ == model.digest_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for one, two in zip(again.predict_interval(X, coverage=0.8), model.predict_interval(X, coverage=0.8), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(again.error_bounds(RHOS), model.error_bounds(RHOS))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_models_with_functions_or_wrapped_voters_have_no_file(tmp_path: Path) -> None:
    for name, what in [("given", "functions"), ("wrapped", "DecisionTreeRegressor"), ("squared", "function")]:
        model = fitted(name, 0)[0]
        with pytest.raises(TypeError, match=what):
            model.save(tmp_path / "model")


def test_voters_can_be_read_and_asked() -> None:
    X = np.arange(8.0)[:, None]
    y = np.array([1.0, 1, 1, 1, 5, 5, 9, 9])
    model = MedBoostRegressor(RegressionTrees(2), eps=0.5).fit(X, y)
    assert len(model.estimators_) == model.vote_.n_voters
    lines = model.estimators_[0].to_text().split("\n")
    assert [line.split(": ")[1] for line in lines] == ["1", "5", "9"]
    assert all(line.startswith("if x0") for line in lines)
    np.testing.assert_array_equal(model.estimators_[0].predict(X), y)


def test_categories_are_split_by_their_targets() -> None:
    import pandas as pd

    kinds = np.array(["a", "b", "c", "d"] * 10)
    y = np.where(np.isin(kinds, ["a", "d"]), 1.0, 7.0)
    X = pd.DataFrame({"kind": pd.Categorical(kinds)})
    for family in (RegressionTrees(1), RegressionTrees(1, criterion="squared_error")):
        model = MedBoostRegressor(family, eps=0.5).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)
        np.testing.assert_array_equal(model.estimators_[0].predict(X), y)
        assert "kind in" in model.estimators_[0].to_text()
        assert np.isin(model.predict(pd.DataFrame({"kind": pd.Categorical(["z"])})), y).all()


@pytest.mark.parametrize("criterion", ["edge", "squared_error"])
def test_leaves_have_as_many_rows_as_asked(criterion: str) -> None:
    X, y, _ = noisy(13)
    model = MedBoostRegressor(RegressionTrees(3, min_samples_leaf=15, criterion=criterion), n_estimators=4).fit(X, y)
    for voter in model.estimators_:
        assert np.unique(voter.predict(X), return_counts=True)[1].min() >= 15


def test_least_squares_trees_are_those_of_scikit_learn() -> None:
    """The first voter: one tree, on equal weights."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120)
    model = MedBoostRegressor(RegressionTrees(3, criterion="squared_error"), n_estimators=1).fit(X, y)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    np.testing.assert_allclose(model.estimators_[0].predict(X), tree.predict(X), atol=1e-9)


def test_errors_say_what_to_do() -> None:
    X, y, _ = noisy(0)

    def too_small(said: np.ndarray, y: np.ndarray, eps: float) -> np.ndarray:
        return np.zeros(len(y))

    with pytest.raises(ValueError, match="farther than eps"):
        MedBoostRegressor(cost=too_small).fit(X, y)
    with pytest.raises(ValueError, match="finite and not negative"):
        LocMedBoostRegressor(confidence_by=lambda X: np.full(len(X), -2.0)).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        MedBoostRegressor(WithoutWeights()).fit(np.nan_to_num(X), y)
    model = MedBoostRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="calibrate"):
        model.predict_interval(X, coverage=0.9)
    with pytest.raises(ValueError, match="either rho"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="cross"):
        model.predict_interval(X, rho=-0.1)
    with pytest.raises(ValueError, match="row 3"):
        model.fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))


class WithoutWeights(LinearRegression):
    def fit(self, X: Any, y: Any) -> "WithoutWeights":  # type: ignore[override]
        super().fit(X, y)
        return self


def test_with_a_cost_of_ones_own_no_leaf_speaks_at_a_loss() -> None:
    """With as many bins as targets the search knows what every leaf earns."""
    X, y, weight = noisy(14, distinct=20)
    model = LocMedBoostRegressor(RegressionTrees(2), cost=squared, eps=3.0, n_estimators=6).fit(X, y, weight)
    assert model.vote_.n_voters == 6
    said, sure = model._outputs(X)[1](0, len(y))
    assert sure is not None
    assert np.any(sure == 0)
    w = weight / weight.sum()
    for t, alpha in enumerate(model.steps_):
        award = 1 - 2 * squared(said[:, t], y, 3.0)
        for value in np.unique(said[sure[:, t] > 0, t]):
            leaf = (said[:, t] == value) & (sure[:, t] > 0)
            assert float(w[leaf] @ award[leaf]) > -1e-12
        w = w * np.exp(-alpha * sure[:, t] * award)
        w /= w.sum()


@pytest.mark.parametrize("name", ["0-1", "bumps", "least squares", "wrapped, given"])
def test_copies_and_pickles_are_the_model(name: str) -> None:
    model, X, y, _ = fitted(name, 15)
    model.calibrate(X, y)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        for one, two in zip(
            other.predict_interval(X, coverage=0.5), model.predict_interval(X, coverage=0.5), strict=True
        ):
            np.testing.assert_array_equal(one, two)


def test_any_kind_of_table_gives_the_same_model() -> None:
    import pandas as pd
    import polars as pl

    X, y, _ = noisy(16)
    kinds = np.random.default_rng(0).choice(["a", "b", "c"], len(y))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=pd.Categorical(kinds))
    encoded = np.column_stack([X, np.searchsorted(["a", "b", "c"], kinds)])
    model = LocMedBoostRegressor(n_estimators=5)
    said = [
        model.fit(frame, y).predict(frame),
        model.fit(pl.from_pandas(frame), y).predict(pl.from_pandas(frame)),
        model.fit(pl.from_pandas(frame).to_arrow(), y).predict(pl.from_pandas(frame).to_arrow()),
        model.set_params(categorical_features=[3]).fit(encoded, y).predict(encoded),
    ]
    for other in said[1:]:
        np.testing.assert_array_equal(other, said[0])


@pytest.mark.parametrize("name", ["0-1", "linear", "abstaining", "bumps", "least squares"])
def test_weights_of_all_sizes(name: str) -> None:
    """From 1e-280 to 1e280: the light rows are as good as absent, and nothing underflows."""
    X, y, _ = noisy(17)
    rng = np.random.default_rng(0)
    weight = 10.0 ** np.where(rng.random(len(y)) < 0.5, rng.uniform(-280, 0, len(y)), rng.uniform(279, 280, len(y)))
    base = MODELS[name]
    model = type(base)(**{**base.get_params(deep=False), "n_estimators": 6, "random_state": 0}).fit(X, y, weight)
    assert np.all(np.isfinite(model.predict(X)))
    if model.vote_.n_voters:
        w = weight / weight.max()
        errors = [abs(model.history_["edge"][0] - float(w @ awards(model, X, y)[0] / w.sum()))]
        assert max(errors) < 1e-9
    if name == "0-1":
        heavy = weight > 1e200
        alone = type(base)(n_estimators=1).fit(X[heavy], y[heavy], weight[heavy])
        assert alone.history_["edge"][0] == pytest.approx(model.history_["edge"][0], abs=1e-6)
