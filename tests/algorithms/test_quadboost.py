"""QuadBoost on pools: every identity of the paper, the Lasso and Ridge as limits, and the promises of all boosters."""

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.linear_model import Lasso, Ridge
from training_cases import noisy

import electorate
from electorate import Columns, Pool, QuadBoostClassifier, Stumps
from electorate.algorithms.quadboost import L1, L2, Linf, Penalty
from electorate.families import means
from electorate.modelfile import ModelFormatError
from tests.common import checks
from tests.common.cases import DATA
from tests.common.engines import ENGINES

PENALTIES = {
    "vanilla": {"penalty": None},
    "l1": {"penalty": "l1", "lam": 0.03},
    "l2": {"penalty": "l2", "lam": 0.3},
    "linf": {"penalty": "linf", "alpha_max": 0.04},
}
REWEIGHT = ["never", "cyclic", "greedy"]
EVERY = [pytest.param(name, way, id=f"{name}-{way}") for name in PENALTIES for way in REWEIGHT]


def model(name: str, way: str = "never", family: Any = None, **more: Any) -> QuadBoostClassifier:
    return QuadBoostClassifier(family, **{**PENALTIES[name], "reweight": way, "tol": 1e-10, **more})


def signs(n: int = 150, columns: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Voters of +-1, and labels that some of them know of."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, columns)) < 0.5, 1.0, -1.0)
    return X, np.where(X[:, :4].sum(axis=1) + 1.5 * rng.normal(size=n) > 0, 1, -1)


def reals(n: int = 150, columns: int = 20, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Voters that say any number, of very different sizes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)) * 10.0 ** rng.uniform(-3, 3, columns)
    return X, np.where(X[:, 0] / X[:, 0].std() + X[:, 1] / X[:, 1].std() + rng.normal(size=n) > 0, 1, -1)


def scaled(X: np.ndarray) -> np.ndarray:
    return X / np.abs(X).max(axis=0)


def penalty_of(fitted: QuadBoostClassifier) -> Penalty:
    kinds = {None: Penalty, "l1": L1, "l2": L2, "linf": Linf}
    return kinds[fitted.penalty](fitted.lam, fitted.alpha_max)


def weights_after(fitted: QuadBoostClassifier, n_columns: int) -> np.ndarray:
    """[round, voter of the pool]: the merged weights."""
    moves = fitted.moves_
    weights = np.zeros((int(moves.round.max(initial=0)), n_columns))
    for number, voter, weight in zip(moves.round, moves.number, moves.weight, strict=True):
        weights[number - 1 :, voter] = weight
    return weights


def paid(fitted: QuadBoostClassifier, weights: np.ndarray) -> np.ndarray:
    """The penalty after every round; without re-weighting copies count apart."""
    cost = np.vectorize(penalty_of(fitted).cost)
    if fitted.reweight == "never":
        return np.cumsum(cost(np.diff(weights, axis=0, prepend=0)).sum(axis=1))
    return cost(weights).sum(axis=1)


# ---------------------------------------------------------------- one voter


@pytest.mark.parametrize("penalty", [Penalty(), L1(0.1), L1(0.0), L2(0.7), Linf(0.0, 0.2)], ids=repr)
def test_a_weight_is_the_least_of_the_objective(penalty: Penalty) -> None:
    """Eq. 6 to 10: by a search that knows nothing of closed forms; and the drop is g(old) - g(new)."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        pull, eta, old = rng.uniform(-0.5, 0.5), rng.uniform(0.1, 1), rng.uniform(-0.2, 0.2)
        bound = min(penalty.alpha_max, 20.0)

        def g(a: float, pull: float = pull, eta: float = eta) -> float:
            return eta * a * a - 2 * a * pull + penalty.cost(a)

        new = penalty.best(pull, eta)
        found = minimize_scalar(g, bounds=(-bound, bound), method="bounded", options={"xatol": 1e-12})
        assert g(new) <= g(found.x) + 1e-12
        assert abs(new) <= bound
        assert penalty.drop(pull - old * eta, eta, old, new) == pytest.approx(g(old) - g(new), abs=1e-12)


def test_a_voter_that_says_nothing_gets_no_weight() -> None:
    assert L1(0.1).best(0.5, 0.0) == 0


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(("name", "way"), EVERY)
@pytest.mark.parametrize("family", [Columns(), Pool(5)], ids=repr)
def test_few_gram_rows_in_memory_change_nothing(
    name: str, way: str, family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row at a time, three, or all: the same model, gone on with from a file's moves too."""
    X, y = signs(columns=25)
    made: list[means.Gram] = []
    whole = means.Gram.__init__

    def counted(self: means.Gram, *given: Any) -> None:
        whole(self, *given)
        made.append(self)

    monkeypatch.setattr(means.Gram, "__init__", counted)
    fitted = model(name, way, family, n_estimators=25).fit(X, y)
    loaded = len(made[-1].owners)
    for rows in (1, 3):
        monkeypatch.setattr(means, "MOST_BYTES", rows * 8 * len(made[0].slot))
        small = model(name, way, family, n_estimators=25).fit(X, y)
        assert small.digest_ == fitted.digest_
        np.testing.assert_array_equal(small.history_["objective"], fitted.history_["objective"])
        assert len(made[-1].rows) == len(made[-1].owners) == min(rows, loaded)
        going = model(name, way, family, n_estimators=6, warm_start=True).fit(X, y)
        assert going.set_params(n_estimators=25).fit(X, y).digest_ == fitted.digest_


# ---------------------------------------------------------------- decreases


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_voter_that_enters_lowers_the_objective_by(name: str, weighted: bool) -> None:
    X, y = signs()
    weight = np.random.default_rng(3).random(len(y)) if weighted else None
    fitted = model(name, family=Columns(), n_estimators=40).fit(X, y, weight)
    edge = np.abs(fitted.history_["edge"])
    penalty = penalty_of(fitted)
    step = np.minimum(edge, fitted.alpha_max)
    expected = {
        "vanilla": edge**2,
        "l1": (edge - penalty.lam) ** 2,
        "l2": edge**2 / (1 + penalty.lam),
        "linf": 2 * step * edge - step**2,
    }[name]
    objective = np.concatenate([[1.0], fitted.history_["objective"]])
    np.testing.assert_allclose(-np.diff(objective), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["vanilla", "l1", "l2"])
def test_real_valued_voters_are_scaled_and_lower_by_their_square(name: str) -> None:
    X, y = reals()
    fitted = model(name, family=Columns(), n_estimators=30).fit(X, y)
    eta = (scaled(X) ** 2).mean(axis=0)[fitted.moves_.number]
    edge = np.abs(fitted.history_["edge"])
    lam = penalty_of(fitted).lam
    expected = {"vanilla": edge**2 / eta, "l1": (edge - lam) ** 2 / eta, "l2": edge**2 / (eta + lam)}[name]
    objective = np.concatenate([[1.0], fitted.history_["objective"]])
    np.testing.assert_allclose(-np.diff(objective), expected[: len(edge)], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("name", "way"), EVERY)
@pytest.mark.parametrize("data", ["signs", "reals"])
def test_the_objective_is_the_risk_plus_the_penalty(name: str, way: str, data: str) -> None:
    X, y = signs() if data == "signs" else reals()
    weight = np.random.default_rng(4).integers(0, 3, len(y))
    X[weight == 0] /= 2  # the scale of a voter is that of the rows that count
    fitted = model(name, way, Columns(), n_estimators=40).fit(X, y, weight)
    weights = weights_after(fitted, X.shape[1])
    H = X / np.abs(X[weight > 0]).max(axis=0)
    risk = np.average((y[:, None] - H @ weights.T) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(fitted.history_["objective"], risk + paid(fitted, weights), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(fitted.history_["n_voters"], np.count_nonzero(weights, axis=1))
    staged = np.array([np.average((y - f) ** 2, weights=weight) for f in fitted.staged_decision_function(X)])
    np.testing.assert_allclose(staged, risk, rtol=0, atol=1e-10)


@pytest.mark.parametrize("way", REWEIGHT)
def test_without_a_penalty_all_are_vanilla(way: str) -> None:
    X, y = noisy(2)
    free = [{}, {"penalty": "l1", "lam": 0}, {"penalty": "l2", "lam": 0}, {"penalty": "linf", "alpha_max": None}]
    family = Pool(complements=way == "never")
    models = [QuadBoostClassifier(family, reweight=way, tol=0.0, n_estimators=30, **more).fit(X, y) for more in free]
    assert len({fitted.digest_ for fitted in models}) == 1


@pytest.mark.parametrize("name", ["vanilla", "l1", "linf"])
def test_the_risk_falls_by_gamma_squared_each_round(name: str) -> None:
    """risk <= 1 - T gamma^2 where every |mu - M| > gamma, and the error is at most the risk. A property of vanilla."""
    X, y = signs(seed=5)
    fitted = model(name, family=Columns(), n_estimators=25).fit(X, y)
    risks = np.array([np.mean((y - f) ** 2) for f in fitted.staged_decision_function(X)])
    errors = 1 - np.array(list(fitted.staged_score(X, y)))
    assert np.all(errors <= risks + 1e-12)
    if name == "vanilla":
        rounds = np.arange(1, len(risks) + 1)
        gamma = np.minimum.accumulate(np.abs(fitted.history_["edge"]))
        assert np.all(risks <= 1 - rounds * gamma**2 + 1e-12)
        np.testing.assert_allclose(risks, 1 - np.cumsum(fitted.history_["edge"] ** 2), atol=1e-12)


# ---------------------------------------------------------------- who moves


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("way", ["never", "greedy"])
@pytest.mark.parametrize("data", ["signs", "reals"])
def test_the_voter_that_lowers_the_objective_most_moves(name: str, way: str, data: str) -> None:
    """In every round, by brute force over old and new voters; without re-weighting all enter anew."""
    X, y = signs() if data == "signs" else reals()
    fitted = model(name, way, Columns(), n_estimators=30).fit(X, y)
    H, penalty = scaled(X), penalty_of(fitted)
    weights = np.vstack([np.zeros(X.shape[1]), weights_after(fitted, X.shape[1])])
    eta = (H**2).mean(axis=0)
    for number, (before, after) in enumerate(pairwise(weights)):
        c = H.T @ (y - H @ before) / len(y)
        old = np.zeros_like(before) if way == "never" else before
        best = [penalty.best(*one) for one in zip(c + old * eta, eta, strict=True)]
        drops = [penalty.drop(*one) for one in zip(c, eta, old, best, strict=True)]
        moved = np.flatnonzero(before != after)
        assert len(moved) == 1
        assert drops[moved[0]] == pytest.approx(max(drops), rel=1e-6, abs=1e-13)
        assert after[moved[0]] == pytest.approx(before[moved[0]] - old[moved[0]] + best[moved[0]], abs=1e-10)
        assert fitted.history_["edge"][number] == pytest.approx((c + old * eta)[moved[0]], abs=1e-10)


def test_greedy_does_not_name_the_heaviest_voter_for_ever() -> None:
    X, y = signs()
    moved = model("vanilla", "greedy", Columns(), n_estimators=30).fit(X, y).moves_.number
    assert len(set(moved.tolist())) > 10


def test_cyclic_is_an_entry_and_a_sweep() -> None:
    """After a round every voter is at its best but for what those after it have changed; the last one is."""
    X, y = signs()
    fitted = model("l2", "cyclic", Columns(), n_estimators=12).fit(X, y)
    moves = fitted.moves_
    for number in range(1, 13):
        mine = moves.number[moves.round == number]
        known = set(moves.number[moves.round < number].tolist())
        assert mine[0] not in known
        assert set(mine[1:].tolist()) <= known | {mine[0]}
        assert np.all(np.diff(mine[1:]) > 0)
    assert fitted.history_["n_voters"].tolist() == list(range(1, 13))


def test_copies_are_merged() -> None:
    X, y = signs(columns=5)
    fitted = model("linf", family=Columns(), n_estimators=30).fit(X, y)
    assert len(fitted.moves_.round) == len(fitted.history_["step"])
    assert len(fitted.steps_) == len(set(fitted.moves_.number.tolist())) <= 5
    assert np.abs(fitted.history_["step"]).max() <= fitted.alpha_max < np.abs(fitted.steps_).max()
    assert fitted.history_["step"].sum() == pytest.approx(fitted.steps_.sum(), abs=1e-12)


def test_re_weighted_voters_stay_within_the_bound() -> None:
    X, y = signs(columns=5)
    for way in ("cyclic", "greedy"):
        assert np.abs(model("linf", way, Columns(), n_estimators=30).fit(X, y).steps_).max() <= 0.04


def test_no_more_voters_than_asked_for() -> None:
    X, y = signs()
    for way in REWEIGHT:
        fitted = model("vanilla", way, Columns(), n_estimators=60, max_voters=3).fit(X, y)
        assert np.count_nonzero(fitted.steps_) == 3
        assert fitted.history_["n_voters"].max() == 3
    assert model("vanilla", "never", Columns(), n_estimators=60, max_voters=3).fit(X, y).stop_reason_ == "max_voters"


# ---------------------------------------------------------------- limits


def objective(H: np.ndarray, y: np.ndarray, weights: np.ndarray, cost: Any, weight: Any = None) -> float:
    return float(np.average((y - H @ weights) ** 2, weights=weight) + sum(map(cost, weights)))


@pytest.mark.parametrize("way", ["cyclic", "greedy"])
@pytest.mark.parametrize("data", ["signs", "reals"])
@pytest.mark.parametrize("weighted", [False, True])
def test_l1_tends_to_the_lasso(way: str, data: str, weighted: bool) -> None:
    """Lasso(alpha=lam, fit_intercept=False), whose objective is half of ours; the gap bounds what is left."""
    X, y = signs() if data == "signs" else reals()
    weight = np.random.default_rng(7).random(len(y)) if weighted else None
    H = scaled(X)
    lam = np.abs(np.average(H * y[:, None], axis=0, weights=weight)).max() / 10
    fitted = QuadBoostClassifier(Columns(), penalty="l1", lam=lam, reweight=way, tol=1e-9, n_estimators=5000)
    fitted.fit(X, y, weight)
    lasso = Lasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(H, y, weight).coef_
    least = objective(H, y, lasso, L1(lam).cost, weight)
    assert fitted.stop_reason_ == "converged"
    assert fitted.gap_ <= 1e-9
    assert fitted.history_["objective"][-1] == pytest.approx(least, abs=1e-8)
    assert fitted.history_["objective"][-1] - least <= fitted.gap_ + 1e-12


@pytest.mark.parametrize("way", ["cyclic", "greedy"])
@pytest.mark.parametrize("data", ["signs", "reals"])
def test_l2_tends_to_ridge(way: str, data: str) -> None:
    """Ridge(alpha=m lam, fit_intercept=False)."""
    X, y = signs() if data == "signs" else reals()
    H = scaled(X)
    fitted = QuadBoostClassifier(Columns(), penalty="l2", lam=0.2, reweight=way, tol=1e-9, n_estimators=5000).fit(X, y)
    ridge = Ridge(alpha=len(y) * 0.2, fit_intercept=False, solver="cholesky").fit(H, y).coef_
    assert fitted.stop_reason_ == "converged"
    assert fitted.history_["objective"][-1] == pytest.approx(objective(H, y, ridge, L2(0.2).cost), abs=1e-8)
    weights = weights_after(fitted, X.shape[1])[-1]
    np.testing.assert_allclose(weights, ridge, atol=1e-4)


def pool_columns(X: np.ndarray, per_feature: int) -> np.ndarray:
    """What the voters of a pool without complements say, by a model in which each of them has a say."""
    n = len(X)
    rng = np.random.default_rng(0)
    fitted = QuadBoostClassifier(
        Pool(per_feature, complements=False), penalty="l2", lam=1.0, reweight="cyclic", tol=0.0, n_estimators=500
    ).fit(X, rng.integers(0, 2, n))
    return np.stack([np.where(voter.predict(X) > 0, 1.0, -1.0) for voter in fitted.estimators_], axis=1)


@pytest.mark.parametrize("complements", [False, True])
@pytest.mark.parametrize("way", ["cyclic", "greedy"])
def test_a_pool_with_complements_halves_the_l2_penalty(complements: bool, way: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, 1, -1)
    H = pool_columns(X, 4)
    assert H.shape == (120, 12)
    family = Pool(4, complements=complements)
    fitted = QuadBoostClassifier(family, penalty="l2", lam=0.2, reweight=way, tol=1e-9, n_estimators=5000).fit(X, y)
    lam = 0.1 if complements else 0.2
    ridge = Ridge(alpha=len(y) * lam, fit_intercept=False, solver="cholesky").fit(H, y)
    np.testing.assert_allclose(fitted.decision_function(X), H @ ridge.coef_, atol=1e-4)
    assert fitted.history_["objective"][-1] == pytest.approx(objective(H, y, ridge.coef_, L2(lam).cost), abs=1e-8)


def test_a_pool_with_complements_is_the_same_lasso() -> None:
    X, y = noisy(2)
    one, other = (
        QuadBoostClassifier(Pool(complements=both), penalty="l1", lam=0.05, reweight="greedy", n_estimators=500)
        for both in (False, True)
    )
    np.testing.assert_array_equal(one.fit(X, y).decision_function(X), other.fit(X, y).decision_function(X))


def test_without_re_weighting_l2_tends_to_least_squares() -> None:
    X, y = signs(columns=8)
    fitted = model("l2", family=Columns(), n_estimators=3000).fit(X, y)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(weights_after(fitted, 8)[-1], least, atol=1e-9)


def test_linf_with_re_weighting_is_least_squares_in_a_box() -> None:
    from scipy.optimize import lsq_linear

    X, y = signs()
    for way in ("cyclic", "greedy"):
        fitted = model("linf", way, Columns(), n_estimators=3000).fit(X, y)
        best = lsq_linear(X, y, (-0.04, 0.04), tol=1e-14).x
        assert fitted.stop_reason_ == "converged"
        assert fitted.history_["objective"][-1] == pytest.approx(np.mean((y - X @ best) ** 2), abs=1e-9)


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize("way", REWEIGHT)
def test_a_penalty_of_the_largest_margin_empties_l1_and_nothing_empties_l2(way: str) -> None:
    X, y = signs()
    largest = np.abs(X.T @ y / len(y)).max()
    empty = QuadBoostClassifier(Columns(), penalty="l1", lam=largest, reweight=way).fit(X, y)
    assert empty.stop_reason_ == "converged"
    assert len(empty.steps_) == 0
    assert len(empty.history_["step"]) == 0
    assert np.all(empty.decision_function(X) == 0)
    assert np.all(empty.predict(X) == -1)
    assert np.all(empty.predict_proba(X) == 0.5)
    assert len(QuadBoostClassifier(Columns(), penalty="l1", lam=largest * 0.999, reweight=way, tol=0).fit(X, y).steps_)
    assert len(QuadBoostClassifier(Columns(), penalty="l2", lam=1e6, reweight=way, n_estimators=5).fit(X, y).steps_)


def test_l1_without_re_weighting_ends_when_no_correlation_is_left() -> None:
    X, y = signs()
    for tol in (0.01, 1e-4):
        fitted = model("l1", family=Columns(), tol=tol, n_estimators=10_000).fit(X, y)
        c = X.T @ (y - fitted.decision_function(X)) / len(y)
        assert fitted.stop_reason_ == "converged"
        assert np.abs(c).max() <= 0.03 + tol + 1e-12
        *_, before = list(fitted.staged_decision_function(X))[:-1]
        assert np.abs(X.T @ (y - before) / len(y)).max() > 0.03 + tol
        assert np.isfinite(fitted.gap_)
        assert fitted.gap_ > 1e-6  # not yet the Lasso's optimum


@pytest.mark.parametrize("way", ["cyclic", "greedy"])
@pytest.mark.parametrize("name", ["l1", "l2", "linf"])
def test_the_gap_bounds_what_is_left(name: str, way: str) -> None:
    X, y = signs()
    least = model(name, way, Columns(), n_estimators=20_000, tol=1e-13).fit(X, y).history_["objective"][-1]
    for rounds in (1, 5, 20, 60):
        fitted = model(name, way, Columns(), n_estimators=rounds, tol=0.0).fit(X, y)
        assert fitted.history_["objective"][-1] - least <= fitted.gap_ + 1e-12


def test_the_theory_asks_for_so_much_that_nobody_votes() -> None:
    X, y = signs()
    with pytest.warns(UserWarning, match="without voters"):
        fitted = QuadBoostClassifier(Columns(), penalty="l1", lam="theory").fit(X, y)
    assert fitted.stop_reason_ == "converged"
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40_000)
    X = np.where(rng.random((40_000, 3)) < 0.05, 1 - 2 * y[:, None], 2 * y[:, None] - 1)
    fitted = QuadBoostClassifier(Columns(), penalty="l1", lam="theory", reweight="greedy").fit(X, y)
    assert len(fitted.steps_)
    lam = 4 * np.sqrt(2 * np.log(2 * 3) / 40_000)
    assert fitted.digest_ == QuadBoostClassifier(Columns(), penalty="l1", lam=lam, reweight="greedy").fit(X, y).digest_
    with pytest.raises(ValueError, match="reweight='greedy'"):
        QuadBoostClassifier(penalty="l2", lam="theory").fit(X, y)


# ---------------------------------------------------------------- what all boosters promise


@pytest.mark.parametrize("check", [
    checks.check_weight_is_repetition,
    checks.check_zero_weight_is_no_row,
    checks.check_weights_times_power_of_two,
    checks.check_rows_permuted,
    checks.check_any_parts,
], ids=lambda check: check.__name__)  # fmt: skip
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("name", "way"), [("vanilla", "never"), ("l1", "greedy"), ("l2", "cyclic")])
def test_bits(check: Any, data: str, name: str, way: str) -> None:
    check(ENGINES["threads"], model(name, way, n_estimators=12), *DATA[data])


@pytest.mark.parametrize("check", [
    checks.check_weight_is_repetition,
    checks.check_zero_weight_is_no_row,
    checks.check_weights_times_power_of_two,
    checks.check_rows_permuted,
], ids=lambda check: check.__name__)  # fmt: skip
@pytest.mark.parametrize("data", ["two-labels", "three-labels", "ties", "missing"])
def test_bits_of_columns(check: Any, data: str) -> None:
    check(ENGINES["threads"], model("l1", "cyclic", Columns(), n_estimators=12), *DATA[data])


@pytest.mark.parametrize(("name", "way"), EVERY)
@pytest.mark.parametrize("classes", [2, 3])
def test_stages_warm_start_and_files(name: str, way: str, classes: int, tmp_path: Any) -> None:
    X, y = noisy(classes)
    whole = model(name, way, n_estimators=20).fit(X, y)
    stages = list(zip(whole.staged_decision_function(X), whole.staged_predict_proba(X), strict=True))
    stages = [(f.copy(), p.copy()) for f, p in stages]
    assert len(stages) == int(whole.moves_.round.max())
    going = model(name, way, warm_start=True)
    for rounds in (1, 7, 20):
        if rounds > len(stages):
            break
        going.set_params(n_estimators=rounds).fit(X, y)
        alone = model(name, way, n_estimators=rounds).fit(X, y)
        assert going.digest_ == alone.digest_
        np.testing.assert_array_equal(going.history_["objective"], alone.history_["objective"])
        np.testing.assert_array_equal(alone.decision_function(X), stages[rounds - 1][0])
        np.testing.assert_array_equal(alone.predict_proba(X), stages[rounds - 1][1])
    whole.save(tmp_path / "model")
    again = electorate.load(tmp_path / "model")
    assert again.digest_ == whole.digest_
    assert again.gap_ == whole.gap_
    for one, other in zip(again.staged_decision_function(X), whole.staged_decision_function(X), strict=True):
        np.testing.assert_array_equal(one, other)
    again.set_params(warm_start=True, n_estimators=24).fit(X, y)
    assert again.digest_ == model(name, way, n_estimators=24).fit(X, y).digest_


def test_a_warm_start_with_other_rows_is_refused() -> None:
    X, y = signs()
    going = model("l1", "greedy", Columns(), warm_start=True, n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="not those the model was fitted on"):
        going.set_params(n_estimators=10).fit(-X, y)
    with pytest.raises(ValueError, match="can only add"):
        going.set_params(n_estimators=3).fit(X, y)


def test_early_stopping_keeps_the_best_round() -> None:
    X, y = noisy(2, 240)
    X_val, y_val = noisy(2, 150, seed=1)
    for scoring in ("loss", "error"):
        fitted = QuadBoostClassifier(
            early_stopping=True, scoring=scoring, n_estimators=300, n_iter_no_change=15, tol=0.0
        ).fit(X, y, X_val=X_val, y_val=y_val)
        heard = fitted.history_["validation"]
        assert fitted.stop_reason_ == "validation"
        assert fitted.best_round_ == int(np.argmin(heard)) + 1 == len(heard) - 15
        alone = QuadBoostClassifier(n_estimators=fitted.best_round_, tol=0.0).fit(X, y)
        assert fitted.digest_ == alone.digest_
        f = fitted.decision_function(X_val)
        target = np.where(y_val == fitted.classes_[1], 1, -1)
        expected = np.mean((target - f) ** 2) if scoring == "loss" else np.mean(np.where(f > 0, 1, -1) != target)
        assert heard[fitted.best_round_ - 1] == pytest.approx(expected, abs=1e-9)
        assert fitted.history_["train_error"][fitted.best_round_ - 1] == pytest.approx(1 - fitted.score(X, y))


def test_every_class_is_a_model_of_its_own() -> None:
    X, y = noisy(3)
    for name, way in (("vanilla", "never"), ("l1", "greedy"), ("l2", "cyclic")):
        whole = model(name, way, n_estimators=25).fit(X, y)
        for k, label in enumerate(whole.classes_):
            alone = model(name, way, n_estimators=25).fit(X, y == label)
            np.testing.assert_array_equal(whole.decision_function(X)[:, k], alone.decision_function(X))
            mine = whole.history_["label"] == k
            np.testing.assert_array_equal(whole.history_["objective"][mine], alone.history_["objective"])


def test_probabilities() -> None:
    X, y = noisy(2)
    fitted = QuadBoostClassifier().fit(X, y)
    f = fitted.decision_function(X)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], np.clip((1 + f) / 2, 0, 1), atol=1e-15)
    for classes in (2, 3):
        X, y = noisy(classes)
        fitted = QuadBoostClassifier().fit(X, y)
        proba = fitted.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(fitted.classes_[proba.argmax(axis=1)], fitted.predict(X))


def test_callbacks_see_every_round(tmp_path: Any) -> None:
    X, y = noisy(2)
    path = tmp_path / "checkpoint"
    whole = model("l1", "cyclic", n_estimators=20).fit(X, y)
    cut = model("l1", "cyclic", n_estimators=20).set_callbacks(electorate.Checkpoint(path, every=1))
    short = clone(cut).set_params(n_estimators=7).set_callbacks(electorate.Checkpoint(path, every=1)).fit(X, y)
    assert len(short.history_["step"]) == 7
    assert cut.fit(X, y).digest_ == whole.digest_
    limited = model("l1", "never", n_estimators=1000).set_callbacks(electorate.TimeLimit(0.0)).fit(X, y)
    assert limited.stop_reason_ == "time_limit"
    assert len(limited.history_["step"]) == 1
    for family in (Pool(5), Stumps()):
        bar = io.StringIO()
        QuadBoostClassifier(family, n_estimators=4).set_callbacks(electorate.ProgressBar(bar, every=0)).fit(X, y)
        assert all(f"round {k}/4" in bar.getvalue() for k in range(1, 5))


def test_damaged_moves_are_refused(tmp_path: Any) -> None:
    from electorate import modelfile

    X, y = noisy(2)
    fitted = model("l1", "greedy", n_estimators=10).fit(X, y)
    path = tmp_path / "model"
    fitted.save(path)
    good = modelfile.read(path)
    for name, damage in {
        "move.round": lambda a: a + 1,
        "move.number": lambda a: -1 - a,
        "move.details": lambda a: a * 2,
        "move.label": lambda a: a + 1,
        "gap": lambda a: np.repeat(a, 2),
    }.items():
        modelfile.write(path, good.kind, good.meta, {**good.arrays, name: damage(good.arrays[name])})
        with pytest.raises(ModelFormatError):
            electorate.load(path)
