"""QuadBoost with lam="theory": Theorem 1's own penalty for L2 and Linf, and Lemma 1's stopping rule."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

import electorate
from electorate import Columns, Pool, QuadBoostClassifier, Stumps

POWER = {"l2": 0.5, "linf": 1.0}  # 1 - 1/p
NORM = {"l2": 2, "linf": np.inf}


def votes(seed: int = 0, n: int = 4000, n_voters: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Columns of +-1 that agree with the labels more or less often; a few rows, heavy enough for the theory's lam."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    right = rng.random((n, n_voters)) < np.linspace(0.62, 0.75, n_voters)
    return np.where(right, y[:, None], -y[:, None]), y


def complexity(n: float, n_voters: int) -> float:
    """Massart's bound for the voters and their complements."""
    return math.sqrt(2 * math.log(2 * n_voters) / n)


class Bound:
    """Theorem 1 without its logarithms, for the quadratic loss: risk + 8 R n^(1 - 1/p) |alpha|_p."""

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: str) -> None:
        share = weight / weight.sum()
        self.mu, self.gram = X.T @ (share * y), X.T @ (share[:, None] * X)
        self.r, self.penalty = complexity(weight.sum(), X.shape[1]), penalty

    def __call__(self, alpha: np.ndarray) -> float:
        n = np.count_nonzero(alpha)
        norm = np.linalg.norm(alpha, NORM[self.penalty]) if n else 0.0
        return float(1 - 2 * alpha @ self.mu + alpha @ self.gram @ alpha + 8 * self.r * n ** POWER[self.penalty] * norm)

    def after_best_move(self, alpha: np.ndarray) -> float:
        """The least that a new weight of one voter reaches, by a numerical search."""
        least = self(alpha)
        for j in range(len(alpha)):
            value = lambda x, j=j: self(np.where(np.arange(len(alpha)) == j, x, alpha))  # noqa: E731
            ends = sorted({-2.0, 0.0, 2.0, *np.abs(alpha), *-np.abs(alpha)})  # between them it is smooth
            for low, high in pairwise(ends):
                found = minimize_scalar(value, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
                least = min(least, value(low), value(high), found.fun)
        return least


def model(penalty: str, **more: Any) -> QuadBoostClassifier:
    chosen: dict[str, Any] = {"lam": "theory", "reweight": "greedy", "alpha_max": None, **more}
    return QuadBoostClassifier(Columns(), penalty=penalty, **chosen)


def weights_after(fitted: Any, n_voters: int) -> list[np.ndarray]:
    alpha, found = np.zeros(n_voters), []
    numbers = [voter.column for voter in fitted.ensemble_.fitted]
    for turn in fitted.moves_.changes():
        for place, _, new in turn:
            alpha[numbers[place]] = new
        found.append(alpha.copy())
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "linf"])
def test_every_round_lowers_the_bound_most_and_the_last_can_not_be_bettered(penalty: str, weighted: bool) -> None:
    X, y = votes()
    weight = np.random.default_rng(1).integers(0, 20, len(y)) if weighted else np.full(len(y), 10)
    bound = Bound(X, y, weight.astype(float), penalty)
    fitted = model(penalty).fit(X, y, weight)
    assert fitted.stop_reason_ == "converged"
    alpha = np.zeros(X.shape[1])
    stages = weights_after(fitted, X.shape[1])
    assert len(stages) > 2
    for after, objective in zip(stages, fitted.history_["objective"], strict=True):
        assert objective == pytest.approx(bound(after), abs=1e-9)
        assert objective == pytest.approx(bound.after_best_move(alpha), abs=1e-7)
        alpha = after
    assert bound.after_best_move(alpha) > fitted.history_["objective"][-1] - 2e-6


def test_the_stationary_weight_is_that_of_equation_8() -> None:
    """lam of eq. 8 is the theory's, 8 sqrt(n) R, divided by 2 |alpha|_2."""
    X, y = votes()
    fitted = model("l2", tol=0.0, n_estimators=2000).fit(X, y, np.full(len(y), 10))
    alpha = weights_after(fitted, X.shape[1])[-1]
    used = np.flatnonzero(alpha)
    lam = 4 * complexity(10 * len(y), X.shape[1]) * math.sqrt(len(used)) / np.linalg.norm(alpha)
    for j in used:
        pull = np.mean(X[:, j] * (y - X @ alpha + alpha[j] * X[:, j]))
        assert alpha[j] == pytest.approx(pull / (1 + lam), rel=1e-6)


def test_the_first_voter_is_that_of_l1() -> None:
    """One voter: n^(1 - 1/p) |alpha|_p is |alpha| for every p."""
    X, y = votes()
    weight = np.full(len(y), 10)
    steps = {p: model(p, n_estimators=1).fit(X, y, weight).steps_ for p in ("l1", "l2", "linf")}
    np.testing.assert_allclose(steps["l2"], steps["l1"], rtol=1e-9)
    np.testing.assert_allclose(steps["linf"], steps["l1"], rtol=1e-9)


def test_too_few_rows_leave_no_voters_and_warn() -> None:
    X, y = votes(n=50)
    for penalty in ("l2", "linf"):
        with pytest.warns(UserWarning, match="without voters"):
            assert not len(model(penalty).fit(X, y).steps_)


def test_alpha_max_and_max_voters_are_kept() -> None:
    X, y = votes()
    weight = np.full(len(y), 10)
    assert np.abs(model("linf", alpha_max=0.05).fit(X, y, weight).steps_).max() == pytest.approx(0.05)
    assert np.count_nonzero(model("l2", max_voters=2).fit(X, y, weight).steps_) == 2


@pytest.mark.parametrize("penalty", ["l2", "linf"])
def test_files_going_on_and_copies_of_rows(penalty: str, tmp_path: Path) -> None:
    X, y = votes(n=3000)
    weight = np.random.default_rng(0).integers(0, 25, len(y))
    for family in (Columns(), Pool()):
        plain = model(penalty).set_params(estimator=family)
        whole = clone(plain).fit(X, y, weight)
        half = clone(plain).set_params(n_estimators=3).fit(X, y, weight)
        half.save(tmp_path / "model")
        read = electorate.load(tmp_path / "model")
        assert read.digest_ == half.digest_ != whole.digest_
        going = read.set_params(warm_start=True, n_estimators=100).fit(X, y, weight)
        assert going.digest_ == whole.digest_
        np.testing.assert_array_equal(going.history_["objective"], whole.history_["objective"])
        order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
        assert clone(plain).fit(X[order], y[order]).digest_ == whole.digest_
        assert whole.convergence().holds
        np.testing.assert_array_equal(list(whole.staged_predict(X))[-1], whole.predict(X))


def test_what_is_refused() -> None:
    X, y = votes(n=50)
    with pytest.raises(ValueError, match="penalty is None"):
        QuadBoostClassifier(lam="theory").fit(X, y)
    for penalty in ("l2", "linf"):
        with pytest.raises(ValueError, match="reweight='greedy'"):
            QuadBoostClassifier(penalty=penalty, lam="theory").fit(X, y)
        with pytest.raises(ValueError, match="Stumps"):
            QuadBoostClassifier(Stumps(), penalty=penalty, lam="theory", reweight="greedy").fit(X, y)
