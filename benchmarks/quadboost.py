"""QuadBoost beside scikit-learn's Lasso, and its rounds on a pool for few rows and for many.

One thread. Lasso runs at the loosest tolerance whose objective is within 1e-6 of the best; so does QuadBoost.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

from electorate import Columns, QuadBoostClassifier
from electorate.algorithms.quadboost import Penalty, WeightRules
from electorate.data.weights import read_weights
from electorate.families.columns import SignColumns
from electorate.families.means import Means, pool_of
from electorate.training.pool_rounds import PoolRounds
from electorate.training.run import run

Floats = NDArray[np.float64]
CLOSE = 1e-6
TOLS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def data(n: int, voters: int) -> tuple[Floats, Floats]:
    """Voters that share twenty causes, and labels that some of these explain."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(n, 20))
    X = causes @ rng.normal(size=(20, voters)) + 2 * rng.normal(size=(n, voters))
    y = np.where(causes[:, 0] + causes[:, 1] * causes[:, 2] + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def lasso(*, quick: bool = False) -> dict[str, Any]:
    """The optimum at lam = max |mu| / 10 of columns of +-1 and of real ones, and a path of 50 values of lam."""
    n, voters, points = (400, 60, 5) if quick else (20_000, 2_000, 50)
    real, y = data(n, voters)
    found: dict[str, Any] = {}
    for name, X in (("signs", np.where(real > 0, 1.0, -1.0)), ("reals", real / np.abs(real).max(axis=0))):
        X = np.asfortranarray(X)
        lam = float(np.abs(X.T @ y).max()) / n / 10
        ours, theirs = _ours(X, y, lam), _theirs(X, y, lam)
        found |= {f"{name}, QuadBoost-L1, s": ours, f"{name}, Lasso, s": theirs}
        found[f"{name}, ratio"] = theirs / ours if name == "signs" else ours / theirs
        if name == "signs":
            path, colds = _path(X, y, lam, points)
            found |= {"path, QuadBoost-L1, s": path, "path, cold Lassos, s": colds, "path, ratio": colds / path}
    return found


def _objective(X: Floats, y: Floats, w: Floats, lam: float) -> float:
    return float(np.mean((y - X @ w) ** 2) + 2 * lam * np.abs(w).sum())


def _theirs(X: Floats, y: Floats, lam: float) -> float:
    """Seconds of the Lasso that just comes close enough."""
    best = _objective(X, y, Lasso(lam, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y).coef_, lam)
    for tol in TOLS:
        model = Lasso(lam, fit_intercept=False, tol=tol, max_iter=10_000)
        took = _seconds(lambda model=model: model.fit(X, y))  # type: ignore[misc]
        if _objective(X, y, model.coef_, lam) <= best * (1 + CLOSE):
            return took
    return took


def _ours(X: Floats, y: Floats, lam: float) -> float:
    model = QuadBoostClassifier(Columns(), penalty="l1", lam=lam, reweight="cyclic", tol=CLOSE, n_estimators=10**6)
    model.set_params(n_jobs=1).fit(X[:200, :20], y[:200])
    return _seconds(lambda: model.fit(X, y))


def _path(X: Floats, y: Floats, lam: float, points: int) -> tuple[float, float]:
    lams = 10 * lam * np.logspace(0, -1.5, points)
    model = QuadBoostClassifier(Columns(), penalty="l1", reweight="cyclic", tol=CLOSE, n_estimators=10**6, n_jobs=1)
    ours = _seconds(lambda: model.path(X, y, values=lams))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sum(
            _seconds(lambda value=value: Lasso(value, fit_intercept=False, tol=1e-3).fit(X, y))  # type: ignore[misc]
            for value in lams
        )
    return ours, theirs


def rounds(*, quick: bool = False) -> dict[str, Any]:
    """Vanilla rounds once all Gram rows are there."""
    voters, many = (100, 500) if quick else (1_000, 100_000)
    took = {}
    for n in (500, 50_000):
        X, y = data(n, voters)
        pool = pool_of(SignColumns(X), Means(read_weights(np.ones(n))), y)
        done = PoolRounds(pool, WeightRules(Penalty()))
        for j in range(voters):
            done.gram.load(j)
        took[f"{n} rows, us per round"] = min(_per_round(done, many) for _ in range(3))
    return {**took, "ratio": took["50000 rows, us per round"] / took["500 rows, us per round"]}


def _per_round(rounds: PoolRounds, many: int) -> float:
    """Microseconds; fewer rounds than asked for where nothing is left to gain."""
    again = rounds.again()
    return 1e6 * _seconds(lambda: run(again, many)) / again.trace.n_rounds


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
