"""AdaBoost_R, real and discrete AdaBoost, and SAMME.R: what the papers prove, and plain references.

Equation numbers are those of Nock and Nielsen, "A Real generalization of discrete AdaBoost". Weights, margins and
objectives are computed again here, in floating point, from nothing but the voters' outputs.
"""

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import plain
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    Pool,
    RealAdaBoostClassifier,
    Stumps,
    Trees,
    margins,
)
from electorate.algorithms.adaboost_r import AdaBoostR
from electorate.algorithms.real_adaboost import RealAdaBoost, least_exponential
from electorate.families.splits import leaf_outputs

Array = NDArray[np.float64]
checked = settings(derandomize=True, max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)
THETAS = [-1 + 1e-9, *np.linspace(-0.99, 0.99, 67).tolist(), 1 - 1e-9]


class Data:
    """Noisy rows, some of them again with the other label, and sample weights; y in {-1, 1}."""

    def __init__(self, seed: int, n_rows: int = 36, n_twins: int = 12, whole: bool = False) -> None:
        random = np.random.default_rng(seed)
        X = random.normal(size=(n_rows, 3))
        y = np.where(X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.7 * random.normal(size=n_rows) > 0, 1, -1)
        self.X = np.concatenate([X, X[:n_twins]])
        self.y = np.concatenate([y, -y[:n_twins]])
        total = n_rows + n_twins
        self.s = random.integers(1, 5, total).astype(float) if whole else random.uniform(0.2, 1.0, total)
        self.u: Array = self.s / self.s.sum()
        self.n = int(self.s.sum()) if whole else total  # rows: one of whole weight k counts k times

    def fit(self, model: Any) -> Any:
        return model.fit(self.X, self.y, sample_weight=self.s)

    @property
    def bayes_error(self) -> float:
        """Of the rule that gives identical rows the label that is heavier among them."""
        _, place = np.unique(self.X, axis=0, return_inverse=True)
        per_row = np.zeros((place.max() + 1, 2))
        np.add.at(per_row, (place.ravel(), (self.y + 1) // 2), self.u)
        return float(per_row.min(axis=1).sum())


def all_twins(seed: int) -> Data:
    """Every row with both labels: no leaf is pure, whatever is asked."""
    return Data(seed, n_rows=24, n_twins=24)


FAMILIES = [
    Stumps(),
    Trees(1, criterion="matsushita"),
    Trees(2, criterion="edge"),
    Trees(3, leaves="gentle"),
    Trees(2, leaves="label"),
    Trees(3, smoothing=0.01),
]
families = st.sampled_from(FAMILIES)


def r_rounds(h: Array, y: NDArray[np.int64], u: Array) -> tuple[Array, Array, Array]:
    """mu_t (eq. 8), the weights w_1..w_T+1 (eq. 6) and the shares y h / h*, from outputs h[round, row]."""
    share = y * h / np.abs(h).max(axis=1, keepdims=True)
    weight = [u]
    mu = np.empty(len(h))
    for t, v in enumerate(share):
        mu[t] = weight[-1] @ v
        after = weight[-1] * (1 - mu[t] * v) / (1 - mu[t] ** 2)
        weight.append(after / after.sum())
    return mu, np.array(weight), share


def exponential_rounds(h: Array, steps: Array, y: NDArray[np.int64], u: Array) -> tuple[Array, Array]:
    """mu_t (eq. 8) under the weights exp(-y f), and the mean of exp(-y f) after every round."""
    mu, means = np.empty(len(h)), np.empty(len(h))
    f = np.zeros(len(y))
    for t, outputs in enumerate(h):
        weight = u * np.exp(-y * f)
        mu[t] = weight @ (y * outputs) / (weight.sum() * np.abs(outputs).max())
        f += steps[t] * outputs
        means[t] = u @ np.exp(-y * f)
    return mu, means


def exceeds(data: Data, h: Array, steps: Array, factor: Array) -> float:
    """By how much the margin error (eq. 9 and 10) exceeds eps* + max(1, (1+theta)/(1-theta)) prod factor, at most."""
    worst = -math.inf
    for t in range(1, len(h) + 1):
        margin = data.y * (steps[:t] @ h[:t])
        bound = float(np.prod(factor[:t]))
        for theta in THETAS:
            odds = (1 + theta) / (1 - theta)
            error = float(data.u[margin <= math.log(odds)].sum())  # nu <= theta, without rounding nu to +-1
            worst = max(worst, error - data.bayes_error - max(1.0, odds) * bound)
    return worst


# ---------------------------------------------------------------- Lemma 1 and Theorem 1


@checked
@given(seeds, st.sampled_from([Trees(1, leaves="label"), Trees(3, leaves="label"), Trees(2, criterion="edge")]))
def test_lemma_1_outputs_plus_minus_1_are_discrete_adaboost(seed: int, family: Trees) -> None:
    data = Data(seed)
    family = clone(family).set_params(leaves="label")
    ours = data.fit(AdaBoostRClassifier(family, n_estimators=12))
    discrete = data.fit(AdaBoostClassifier(family, n_estimators=12))
    np.testing.assert_allclose(ours.steps_, discrete.steps_, rtol=1e-9)
    np.testing.assert_allclose(ours.history_["edge"], 1 - 2 * discrete.history_["error"], rtol=1e-9)
    f = discrete.decision_function(data.X) * discrete.steps_.sum() / 2  # scikit-learn's scale to the papers'
    np.testing.assert_allclose(ours.decision_function(data.X), f, atol=1e-9)
    assert ours.stop_reason_ == discrete.stop_reason_


@checked
@given(seeds, families, st.booleans())
def test_theorem_1_of_adaboost_r(seed: int, family: Any, whole: bool) -> None:
    """Eq. 11 in its sharper form with prod sqrt(1 - mu^2), which is at most exp(-sum mu^2 / 2)."""
    data = Data(seed, whole=whole)
    assert data.bayes_error > 0.01
    model = data.fit(AdaBoostRClassifier(family, n_estimators=12))
    h = plain.outputs(model, data.X)
    mu, _, _ = r_rounds(h, data.y, data.u)
    np.testing.assert_allclose(model.history_["edge"], mu, atol=1e-9)
    assert exceeds(data, h, model.steps_, np.sqrt(1 - mu**2)) <= 1e-9
    np.testing.assert_allclose(model.steps_, np.arctanh(mu) / np.abs(h).max(axis=1), atol=1e-9)  # eq. 7


@checked
@given(seeds, families, st.booleans())
def test_theorem_1_of_real_adaboost_with_its_own_mu(seed: int, family: Any, whole: bool) -> None:
    """Its step lowers the exponential loss at least as far as eq. 7 does, so eq. 11 holds with its own weights' mu."""
    data = Data(seed, whole=whole)
    model = data.fit(RealAdaBoostClassifier(family, n_estimators=12))
    h = plain.outputs(model, data.X)
    mu, _ = exponential_rounds(h, model.steps_, data.y, data.u)
    np.testing.assert_allclose(model.history_["edge"], mu * np.abs(h).max(axis=1), atol=1e-9)
    assert exceeds(data, h, model.steps_, np.sqrt(1 - mu**2)) <= 1e-9


@checked
@given(seeds, st.sampled_from([Stumps(), Trees(2), Trees(3, criterion="edge")]), st.booleans())
def test_theorem_1_of_discrete_adaboost_with_its_own_mu(seed: int, family: Any, whole: bool) -> None:
    data = Data(seed, whole=whole)
    model = data.fit(AdaBoostClassifier(family, n_estimators=12))
    h = plain.outputs(model, data.X)
    assert set(np.unique(h)) <= {-1.0, 1.0}
    mu, means = exponential_rounds(h, model.steps_, data.y, data.u)
    np.testing.assert_allclose(model.history_["edge"], mu, atol=1e-9)
    np.testing.assert_allclose(model.history_["objective"], means, rtol=1e-9)
    np.testing.assert_allclose(means, np.cumprod(np.sqrt(1 - mu**2)), rtol=1e-9)
    assert exceeds(data, h, model.steps_, np.sqrt(1 - mu**2)) <= 1e-9


def test_the_bound_of_theorem_1_is_sharp_enough_to_fail() -> None:
    """The check above must be able to fail: a bound with mu 1.5 times too large does not hold."""
    data = Data(3, n_twins=2)
    model = data.fit(AdaBoostRClassifier(Trees(3), n_estimators=12))
    h = plain.outputs(model, data.X)
    mu = np.minimum(1.5 * model.history_["edge"], 0.99)
    assert exceeds(data, h, model.steps_, np.sqrt(1 - mu**2)) > 0.01


# ---------------------------------------------------------------- the weights of AdaBoost_R


@checked
@given(seeds, families, st.booleans())
def test_eq_13_objective_is_the_product_of_1_minus_mu_squared(seed: int, family: Any, whole: bool) -> None:
    data = Data(seed, whole=whole)
    model = data.fit(AdaBoostRClassifier(family, n_estimators=12))
    mu = model.history_["edge"]
    np.testing.assert_allclose(model.history_["objective"], np.cumprod(1 - mu**2), rtol=1e-9)
    _, _, share = r_rounds(plain.outputs(model, data.X), data.y, data.u)
    products = np.cumprod(1 - mu[:, None] * share, axis=0)
    np.testing.assert_allclose(model.history_["objective"], products @ data.u, rtol=1e-9)


SEEN: list[Array] = []


class Recording(DecisionTreeClassifier):
    """A tree that writes down the weights it is fitted with."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Recording":
        SEEN.append(np.array(sample_weight))
        super().fit(X, y, sample_weight=sample_weight)
        return self


class Contrary(Recording):
    """Says the opposite of what it knows."""

    def predict_proba(self, X: Any) -> Array:
        return np.asarray(super().predict_proba(X)[:, ::-1])


def recorded(model: Any, data: Data) -> tuple[Any, Array, Array]:
    """The fitted model, the weights it gave its voters in every round, and the voters' outputs [round, row]."""
    SEEN.clear()
    data.fit(model)
    least = 1 / data.n
    h = []
    for voter in model.estimators_:
        p = np.clip(voter.predict_proba(data.X), least, None)
        h.append(0.5 * np.log(p[:, 1] / p[:, 0]))
    return model, np.array(SEEN), np.array(h)


@checked
@given(seeds, st.sampled_from([Recording, Contrary]), st.integers(1, 4))
def test_eq_13_per_example(seed: int, voter: Any, depth: int) -> None:
    """The weights that voters are given are u_i prod (1 - mu y h / h*) / prod (1 - mu^2): eq. 6, unravelled."""
    data = Data(seed)
    model = AdaBoostRClassifier(voter(max_depth=depth), n_estimators=8, random_state=0)
    model, seen, h = recorded(model, data)
    mu, _, share = r_rounds(h, data.y, data.u)
    np.testing.assert_allclose(model.history_["edge"], mu, atol=1e-9)
    np.testing.assert_allclose(seen.sum(axis=1), 1, rtol=1e-12)
    for t in range(1, len(seen)):
        right = data.u * np.prod(1 - mu[:t, None] * share[:t], axis=0)
        np.testing.assert_allclose(seen[t] * np.prod(1 - mu[:t] ** 2), right, rtol=1e-8, atol=1e-12)


@checked
@given(seeds, st.sampled_from([Recording, Contrary]), st.integers(1, 4))
def test_eq_19_a_weight_falls_iff_the_margin_exceeds_mu(seed: int, voter: Any, depth: int) -> None:
    """w_t+1 < w_t iff y h / h* > mu where mu > 0, and iff y h / h* < mu where mu < 0; equal where they are equal."""
    data = Data(seed)
    model = AdaBoostRClassifier(voter(max_depth=depth), n_estimators=8, random_state=0)
    model, seen, h = recorded(model, data)
    assert np.all((model.history_["edge"] > 0) == (voter is Recording))
    mu, _, share = r_rounds(h, data.y, data.u)
    risen_though_right = 0
    for t in range(len(seen) - 1):
        beyond = np.sign(mu[t]) * (share[t] - mu[t])
        clear = np.abs(mu[t] * (share[t] - mu[t])) > 1e-7
        assert np.array_equal((seen[t + 1] < seen[t])[clear], (beyond > 0)[clear])
        risen_though_right += int(np.sum((seen[t + 1] > seen[t]) & (share[t] > 0) & (mu[t] > 0) & clear))
    if voter is Recording and depth > 2:
        assert risen_though_right > 0  # what discrete AdaBoost never does


def test_h_star_is_the_largest_output_over_the_rows_that_count() -> None:
    """Rows of weight 0 have no say in eq. 6 to 8, however sure the voter is of them."""
    data = Data(5)
    everything = {"max_depth": 3, "min_samples_leaf": 4}
    alone = AdaBoostRClassifier(Recording(**everything), n_estimators=6, random_state=0)
    alone, weights, _ = recorded(alone, data)
    far = np.array([[9.0, 9.0, 9.0], [-9.0, -9.0, -9.0], [9.0, -9.0, 9.0]])

    class Surer(Recording):
        """Far out, where no row counts, all but certain."""

        def predict_proba(self, X: Any) -> Array:
            proba = super().predict_proba(X)
            proba[np.abs(X).max(axis=1) > 8] = [1.0, 0.0]
            return np.asarray(proba)

    SEEN.clear()
    more = AdaBoostRClassifier(Surer(**everything), n_estimators=6, random_state=0)
    more.fit(np.vstack([data.X, far]), np.append(data.y, [1, 1, -1]), sample_weight=np.append(data.s, [0, 0, 0]))
    np.testing.assert_allclose(np.array(SEEN)[:, : len(data.y)], weights, atol=1e-12)
    np.testing.assert_allclose(more.steps_, alone.steps_, atol=1e-12)
    np.testing.assert_allclose(more.history_["objective"], alone.history_["objective"], rtol=1e-9)


class RecordingLogistic(LogisticRegression):
    """Smooth outputs, the largest of them on one row only."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RecordingLogistic":
        SEEN.append(np.array(sample_weight))
        super().fit(X, y, sample_weight=sample_weight)
        return self


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_h_star_knows_nothing_of_rows_set_aside(seed: int) -> None:
    """The rows of training are those that voters are given weights for; of others the voter may be surer."""
    data = Data(seed, n_rows=60)
    model = AdaBoostRClassifier(
        RecordingLogistic(), n_estimators=4, early_stopping=True, n_iter_no_change=9, validation_fraction=0.4, tol=0
    )
    model, seen, h = recorded(model.set_params(random_state=seed), data)
    rows = seen[0] > 0
    assert 0.5 < rows.mean() < 0.65
    mu, weight, _ = r_rounds(h[:, rows], data.y[rows], data.u[rows] / data.u[rows].sum())
    kept = len(h)
    np.testing.assert_allclose(model.history_["edge"][:kept], mu, atol=1e-9)
    np.testing.assert_allclose(model.steps_, np.arctanh(mu) / np.abs(h[:, rows]).max(axis=1), atol=1e-9)
    np.testing.assert_allclose(seen[:kept, rows], weight[:kept], atol=1e-9)


def test_some_rows_set_aside_are_surer() -> None:
    """So that the test above can fail."""
    surer = []
    for seed in range(4):
        data = Data(seed, n_rows=60)
        model = AdaBoostRClassifier(RecordingLogistic(), n_estimators=1, early_stopping=True, validation_fraction=0.4)
        _, seen, h = recorded(model.set_params(random_state=seed), data)
        surer.append(np.abs(h[0]).max() > 1.01 * np.abs(h[0, seen[0] > 0]).max())
    assert any(surer)


leaf_sums = (
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), min_size=1, max_size=6)
    .map(lambda sums: np.array(sums, dtype=np.int64))
    .filter(np.any)
)
numbers = st.floats(-50, 50, allow_subnormal=False)


@checked
@given(leaf_sums, st.data())
def test_eq_6_weights_of_one_step_sum_to_1(sums: NDArray[np.int64], draw: st.DataObject) -> None:
    said = draw.draw(st.lists(numbers, min_size=len(sums), max_size=len(sums)))
    h = np.array(said)[:, None]
    booster = AdaBoostR()
    step = booster.step(sums, h)
    assume(step.stop is None and abs(step.edge) < 0.999)
    factor = np.exp(-booster.gains(step, h)[0])  # [label, leaf]: 1 - mu y h / h*
    after = np.sum(sums.T * factor) / (sums.sum() * (1 - step.edge**2))
    assert abs(after - 1) < 1e-12 / (1 - step.edge**2)


@checked
@given(leaf_sums, st.data(), st.floats(0.05, 3))
def test_learning_rate_shrinks_mu_to_tanh_of_rate_artanh(
    sums: NDArray[np.int64], draw: st.DataObject, rate: float
) -> None:
    said = draw.draw(st.lists(numbers.filter(lambda h: abs(h) > 1e-3), min_size=len(sums), max_size=len(sums)))
    h = np.array(said)[:, None]
    whole, slow = AdaBoostR().step(sums, h), AdaBoostR(rate).step(sums, h)
    assume(whole.stop is None and slow.stop is None and abs(whole.edge) < 0.999)
    mu = math.tanh(rate * math.atanh(whole.edge))
    largest = np.abs(h[sums.sum(axis=1) > 0]).max()
    assume(mu**2 < 1 - 1e-9 and largest == np.abs(h).max())
    assert slow.size == pytest.approx(0.5 * math.log((1 + mu) / (1 - mu)) / largest, abs=1e-10)
    share = np.stack([-h[:, 0], h[:, 0]]) / largest
    np.testing.assert_allclose(np.exp(-AdaBoostR(rate).gains(slow, h)[0]), 1 - mu * share, atol=1e-9)


@checked
@given(seeds, st.floats(0.1, 0.9))
def test_learning_rate_in_a_fit(seed: int, rate: float) -> None:
    """Every step is rate x artanh(mu) / h*, and every weight the product of 1 - mu' y h / h*."""
    data = Data(seed)
    model = AdaBoostRClassifier(Recording(max_depth=2), learning_rate=rate, n_estimators=6, random_state=0)
    model, seen, h = recorded(model, data)
    largest = np.abs(h).max(axis=1)
    np.testing.assert_allclose(model.steps_, rate * np.arctanh(model.history_["edge"]) / largest, atol=1e-9)
    mu = np.tanh(rate * np.arctanh(model.history_["edge"]))
    product = data.u * np.cumprod(1 - mu[:, None] * data.y * h / largest[:, None], axis=0)
    product /= product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(seen[1:], product[: len(seen) - 1], rtol=1e-8, atol=1e-12)


# ---------------------------------------------------------------- mu as a divergence, section 3.3.1


def kl(p: Array, q: Array) -> Array:
    """[leaf] of sum_k p_k log(p_k / q_k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p > 0, p * np.log(p / q), 0.0).sum(axis=1))


def l2(p: Array, q: Array) -> Array:
    return np.asarray(((p - q) ** 2).sum(axis=1))


@checked
@given(seeds, st.sampled_from([1, 3]), st.sampled_from(["log_odds", "gentle"]), st.sampled_from([0.0, 0.003, "auto"]))
def test_mu_is_an_expected_divergence(seed: int, depth: int, kind: str, smoothing: float | str) -> None:
    """mu = E[B(p || 1-p)] / (2 h*): B is KL for log-odds leaves, the squared distance for p(+) - p(-).

    E is over leaves, drawn with the weights w_t that the voter was fitted to, and p are the shares of the labels in a
    leaf under w_t. With smoothing a leaf says what q says, not p; then mu = E[B(p || 1-q) - B(p || q)] / (2 h*).
    """
    data = all_twins(seed) if smoothing == 0 else Data(seed, whole=seed % 2 == 0)
    model = data.fit(AdaBoostRClassifier(Trees(depth, leaves=kind, smoothing=smoothing), n_estimators=8))
    at, h = plain.leaves(model, data.X), plain.outputs(model, data.X)
    _, weight, _ = r_rounds(h, data.y, data.u)
    added = 1 / data.n if smoothing == "auto" else float(smoothing)
    divergence = kl if kind == "log_odds" else l2
    assert len(h) > 0
    for t in range(len(h)):
        _, leaf = np.unique(at[t], return_inverse=True)
        mass = np.zeros((leaf.max() + 1, 2))
        np.add.at(mass, (leaf, (data.y + 1) // 2), weight[t])
        p = mass / mass.sum(axis=1, keepdims=True)
        q = (mass + added) / (mass + added).sum(axis=1, keepdims=True)
        local = divergence(p, q[:, ::-1]) - divergence(p, q)
        mu = mass.sum(axis=1) @ local / (2 * np.abs(h[t]).max())
        assert model.history_["edge"][t] == pytest.approx(mu, abs=1e-9)
        if smoothing == 0:
            np.testing.assert_allclose(local, divergence(p, 1 - p), atol=1e-12)
        said = 0.5 * np.log(q[:, 1] / q[:, 0]) if kind == "log_odds" else q[:, 1] - q[:, 0]
        np.testing.assert_allclose(h[t], said[leaf], atol=1e-9)


# ---------------------------------------------------------------- where it stops, and infinite outputs


def test_negative_mu_votes_with_a_negative_step() -> None:
    data = Data(1)
    honest, _, _ = recorded(AdaBoostRClassifier(Recording(max_depth=2), n_estimators=6, random_state=0), data)
    contrary, _, _ = recorded(AdaBoostRClassifier(Contrary(max_depth=2), n_estimators=6, random_state=0), data)
    assert np.all(contrary.steps_ < 0)
    assert np.all(contrary.history_["edge"] < 0)
    np.testing.assert_allclose(contrary.steps_, -honest.steps_, rtol=1e-9)
    np.testing.assert_allclose(contrary.decision_function(data.X), honest.decision_function(data.X), atol=1e-9)


def test_stops_at_mu_0() -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    model = AdaBoostRClassifier(n_estimators=5).fit(X, y)
    assert model.stop_reason_ == "no_edge"
    assert len(model.steps_) == 0
    assert AdaBoostR().step(np.array([[5, 5], [3, 3]]), np.array([[0.7], [-0.2]])).stop == "no_edge"
    later = AdaBoostRClassifier(Trees(leaves="label"), n_estimators=5).fit(X, y, sample_weight=[2, 1, 2, 1])
    assert later.stop_reason_ == "no_edge"
    assert len(later.steps_) == 1


@pytest.mark.parametrize("kind", ["label", "log_odds", "gentle"])
def test_stops_at_mu_1(kind: str) -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    model = AdaBoostRClassifier(Trees(1, leaves=kind), n_estimators=5).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.history_["edge"].tolist() == [1.0]
    assert model.history_["objective"].tolist() == [
        pytest.approx(1.0, rel=1e-12)
    ]  # 0/0 = 1: the weights stay as they are
    assert np.all(np.isfinite(model.steps_))
    assert model.predict(X).tolist() == y.tolist()


def test_stops_at_mu_minus_1() -> None:
    h = np.array([[2.0], [-2.0]])
    step = AdaBoostR().step(np.array([[7, 0], [0, 9]]), h)
    assert (step.stop, step.edge) == ("perfect_voter", -1.0)
    assert step.size < 0
    assert np.all(AdaBoostR().gains(step, h)[0] == 0)
    assert np.all((AdaBoostR().gains(step, h)[1] > 0) == [[True, False], [False, True]])


@checked
@given(seeds, st.integers(1, 3), st.integers(1, 6))
def test_infinite_outputs_have_step_0_and_move_the_weights(seed: int, depth: int, least: int) -> None:
    """Pure leaves count as +-1 and the others, next to them, as 0; such rounds contribute 1 + |mu| to eq. 11."""
    data = Data(seed, n_twins=6)
    family = Trees(depth, smoothing=0, min_samples_leaf=least)
    model = data.fit(AdaBoostRClassifier(family, n_estimators=12))
    at, h = plain.leaves(model, data.X), plain.outputs(model, data.X)
    mu, weight, _ = r_rounds(h, data.y, data.u)
    pure = np.array([[len(set(data.y[row == leaf])) == 1 for leaf in row] for row in at])
    infinite = pure.any(axis=1)
    np.testing.assert_array_equal(model.steps_ == 0, infinite)
    for t in np.flatnonzero(infinite):
        np.testing.assert_array_equal(h[t], np.where(pure[t], data.y, 0))
        assert np.abs(weight[t + 1] - weight[t]).max() > 1e-6
    np.testing.assert_allclose(model.history_["edge"], mu, atol=1e-9)
    np.testing.assert_allclose(model.history_["objective"], np.cumprod(1 - mu**2), rtol=1e-8)
    factor = np.where(infinite, 1 + np.abs(mu), np.sqrt(1 - mu**2))
    assert exceeds(data, h, model.steps_, factor) <= 1e-9
    assert np.all(np.isfinite(model.decision_function(data.X)))
    assert not np.any(np.isnan(model.feature_importances_))


def test_infinite_outputs_break_theorem_1_itself() -> None:
    """Why such rounds must contribute 1 + |mu| instead of sqrt(1 - mu^2)."""
    data = Data(2, n_twins=1)
    model = data.fit(AdaBoostRClassifier(Trees(2, smoothing=0), n_estimators=12))
    assert np.all(model.steps_ == 0)
    mu = model.history_["edge"]
    assert exceeds(data, plain.outputs(model, data.X), model.steps_, np.sqrt(1 - mu**2)) > 0.1


# ---------------------------------------------------------------- real AdaBoost


@checked
@given(seeds, st.integers(1, 4), st.sampled_from(["gini", "matsushita", "edge"]))
def test_real_adaboost_step_is_1_with_unsmoothed_log_odds(seed: int, depth: int, criterion: str) -> None:
    """All leaves are mixed. The loss then falls to prod of sum over leaves of 2 sqrt(w+ w-), Matsushita's error."""
    data = all_twins(seed)
    model = data.fit(RealAdaBoostClassifier(Trees(depth, smoothing=0, criterion=criterion), n_estimators=4))
    np.testing.assert_allclose(model.steps_, 1, rtol=1e-9)
    at, h = plain.leaves(model, data.X), plain.outputs(model, data.X)
    f = np.concatenate([np.zeros((1, len(data.y))), np.cumsum(model.steps_[:, None] * h, axis=0)])
    product = 1.0
    for t in range(len(h)):
        weight = data.u * np.exp(-data.y * f[t])
        mass = np.zeros((len(model.ensemble_.column), 2))
        np.add.at(mass, (at[t], (data.y + 1) // 2), weight / weight.sum())
        product *= 2 * np.sqrt(mass[:, 0] * mass[:, 1]).sum()
        assert model.history_["objective"][t] == pytest.approx(product, rel=1e-9)


@checked
@given(leaf_sums)
def test_real_adaboost_step_is_1_for_any_mixed_leaves(sums: NDArray[np.int64]) -> None:
    sums = sums + 1
    assume(np.any(sums[:, 0] != sums[:, 1]))
    step = RealAdaBoost(2).step(sums, leaf_outputs("log_odds", sums, 0.0))
    assume(step.edge > 1e-9)
    assert step.size == pytest.approx(1, rel=1e-9)


def decimal_search(weight: Array, award: Array) -> float:
    """The root of sum w a exp(-alpha a) by bisection in 60 digits."""
    with localcontext(prec=60):
        w, a = [Decimal(float(x)) for x in weight], [Decimal(float(x)) for x in award]

        def slope(alpha: Decimal) -> Decimal:
            return sum((wi * ai * (-alpha * ai).exp() for wi, ai in zip(w, a, strict=True)), Decimal(0))

        sign = 1 if slope(Decimal(0)) > 0 else -1
        far = sign / max(map(abs, a))
        while slope(far) * sign > 0:
            far *= 2
        near = Decimal(0)
        for _ in range(110):
            middle = (near + far) / 2
            near, far = (middle, far) if slope(middle) * sign > 0 else (near, middle)
        return float(far)


@checked
@given(seeds, st.integers(2, 6), st.floats(-8, 8), st.booleans())
def test_least_exponential_against_60_digits(seed: int, n: int, exponent: float, mixed: bool) -> None:
    """Awards of one scale, or of scales from 1e-8 to 1e8 next to each other; weights from 1e-12 to 1.

    The tolerance is what rounding of the sum allows: its error over its derivative.
    """
    random = np.random.default_rng(seed)
    weight = 10 ** random.uniform(-12, 0, n)
    award = random.normal(size=n) * 10 ** (random.uniform(-8, 8, n) if mixed else exponent)
    award[:2] = np.abs(award[:2]) * [1, -1]
    expected = decimal_search(weight, award)
    power = -expected * award
    term = weight * np.exp(power - power.max())
    rounding = np.sum(term * np.abs(award) * (1 + np.abs(power))) / np.sum(term * award**2)
    assert abs(least_exponential(weight, award) - expected) <= 1e-13 * abs(expected) + 1e-15 * rounding


@checked
@given(seeds, families, st.booleans())
def test_real_adaboost_objective_is_the_mean_of_exp_and_never_rises(seed: int, family: Any, whole: bool) -> None:
    data = Data(seed, whole=whole)
    model = data.fit(RealAdaBoostClassifier(family, n_estimators=12))
    h = plain.outputs(model, data.X)
    _, means = exponential_rounds(h, model.steps_, data.y, data.u)
    np.testing.assert_allclose(model.history_["objective"], means, rtol=1e-9)
    assert np.all(np.diff(np.append(1.0, model.history_["objective"])) <= 1e-12)
    for t, step in enumerate(model.steps_):  # eq. 5: no other step is better
        f = model.steps_[:t] @ h[:t]
        for other in (step - 1e-3, step + 1e-3):
            assert data.u @ np.exp(-data.y * (f + other * h[t])) >= means[t] - 1e-12


@pytest.mark.parametrize("model", [RealAdaBoostClassifier(), RealAdaBoostClassifier(step=1), AdaBoostRClassifier()])
def test_predict_proba_is_1_over_1_plus_exp_minus_2f(model: Any) -> None:
    data = Data(8)
    model = data.fit(clone(model).set_params(n_estimators=15))
    f = model.decision_function(data.X)
    np.testing.assert_allclose(f, model.steps_ @ plain.outputs(model, data.X), atol=1e-10)
    p = 1 / (1 + np.exp(-2 * f))
    np.testing.assert_allclose(model.predict_proba(data.X), np.stack([1 - p, p], axis=1), rtol=1e-12)


SCALES = [0.01, 1e-300, 1e300, 2.0**-20]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("family", [None, Trees(3), DecisionTreeClassifier(max_depth=2, random_state=0)])
@pytest.mark.parametrize("booster", [RealAdaBoostClassifier, AdaBoostRClassifier, AdaBoostClassifier])
def test_scaling_the_weights_changes_nothing(booster: Any, family: Any, scale: float) -> None:
    """Weights that sum to 1 are common: n of the smoothing 1 / n must not be their sum."""
    data = Data(6)
    data.s[:20] = 1.0
    plain_weights = data.fit(booster(family, n_estimators=6))
    data.s = data.s * scale
    scaled = data.fit(booster(family, n_estimators=6))
    assert len(plain_weights.steps_) == 6
    np.testing.assert_allclose(scaled.decision_function(data.X), plain_weights.decision_function(data.X), atol=1e-9)
    if scale == 2.0**-20 and not isinstance(family, DecisionTreeClassifier):
        assert scaled.digest_ == plain_weights.digest_


@pytest.mark.parametrize("booster", [RealAdaBoostClassifier, AdaBoostRClassifier])
def test_equal_weights_of_1_over_n_are_no_weights(booster: Any) -> None:
    data = Data(7)
    n = len(data.y)
    without = booster(n_estimators=6).fit(data.X, data.y)
    assert booster(n_estimators=6).fit(data.X, data.y, sample_weight=np.full(n, 1 / n)).digest_ == without.digest_


# ---------------------------------------------------------------- SAMME.R


def plain_samme_r(
    base: Any, X: Array, y: NDArray[np.int64], rounds: int, rate: float, random_state: int, noise: float = 0.0
) -> tuple[list[Any], Array]:
    """SAMME.R as scikit-learn had it before 1.6: the voters, and the last weights. noise: rounding, made larger."""
    random = np.random.RandomState(random_state)
    classes = np.unique(y)
    n_classes = len(classes)
    coding = np.where(y[:, None] == classes, 1.0, -1.0 / (n_classes - 1))
    weight = np.full(len(y), 1 / len(y))
    voters = []
    for _ in range(rounds):
        voter = clone(base).set_params(random_state=random.randint(np.iinfo(np.int32).max))
        voters.append(voter.fit(X, y, sample_weight=weight))
        p = np.clip(voter.predict_proba(X), np.finfo(float).eps, None)
        weight = weight * np.exp(-rate * (n_classes - 1) / n_classes * (coding * np.log(p)).sum(axis=1))
        weight *= 1 + noise * np.cos(np.arange(len(y)))
        weight /= weight.sum()
    return voters, weight


def plain_samme_r_decision(voters: list[Any], X: Array) -> Array:
    """The sum over voters of (K-1) (log p_k - mean log p), not divided by their number."""
    total: Any = 0.0
    for voter in voters:
        log = np.log(np.clip(voter.predict_proba(X), np.finfo(float).eps, None))
        total = total + (log.shape[1] - 1) * (log - log.mean(axis=1, keepdims=True))
    return np.asarray(total)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_samme_r_against_a_plain_reference(n_classes: int, depth: int, rate: float) -> None:
    random = np.random.default_rng(n_classes)
    X = random.normal(size=(240, 4))
    centres = random.normal(size=(n_classes, 4))
    y = np.argmax(X @ centres.T + 1.5 * random.normal(size=(240, n_classes)), axis=1)
    base = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=15)
    voters, _ = plain_samme_r(base, X, y, 8, rate, 7)
    model = RealAdaBoostClassifier(base, step=1, n_estimators=8, learning_rate=rate, random_state=7).fit(X, y)
    fresh = random.normal(size=(100, 4))
    expected = plain_samme_r_decision(voters, fresh)
    assert [v.random_state for v in model.estimators_] == [v.random_state for v in voters]
    ours = model.decision_function(fresh)
    both = np.stack([-ours, ours], axis=1) if n_classes == 2 else ours
    np.testing.assert_allclose(both, rate * expected, atol=1e-8)  # the step is the learning rate
    np.testing.assert_array_equal(model.predict(fresh), np.argmax(expected, axis=1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_samme_r_with_pure_leaves_against_a_plain_reference(n_classes: int) -> None:
    """A pure leaf lowers weights by exp(-18) and more a round: far below what the grid of the sums can tell from 0."""
    base = DecisionTreeClassifier(max_depth=3)
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.normal(size=(150, 3))
        y = np.argmax(X @ random.normal(size=(3, n_classes)) + 0.5 * random.normal(size=(150, n_classes)), axis=1)
        voters, weight = plain_samme_r(base, X, y, 4, 1.0, 1)
        others, _ = plain_samme_r(base, X, y, 4, 1.0, 1, noise=1e-12)
        if np.allclose(plain_samme_r_decision(voters, X), plain_samme_r_decision(others, X), atol=1e-6):
            break  # else two splits of a tree are equally good, and rounding decides
    assert weight[weight > 0].min() < 2.0**-44 * weight.max()
    model = RealAdaBoostClassifier(base, step=1, n_estimators=4, random_state=1).fit(X, y)
    ours = model.decision_function(X)
    both = np.stack([-ours, ours], axis=1) if n_classes == 2 else ours
    np.testing.assert_allclose(both, plain_samme_r_decision(voters, X), atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_samme_r_of_our_own_trees_says_what_the_reference_says(n_classes: int) -> None:
    """The same voters, found by us: their leaves' outputs and the weights are those of the reference."""
    random = np.random.default_rng(n_classes)
    X = random.normal(size=(300, 3))
    y = np.argmax(X @ random.normal(size=(3, n_classes)) + 2 * random.normal(size=(300, n_classes)), axis=1)
    base = DecisionTreeClassifier(max_depth=1, min_samples_leaf=40)
    voters, _ = plain_samme_r(base, X, y, 6, 1.0, 0)
    family = Trees(1, min_samples_leaf=40, smoothing=0)
    model = RealAdaBoostClassifier(family, step=1, n_estimators=6, max_bins="exact").fit(X, y)
    ours = model.decision_function(X)
    both = np.stack([-ours, ours], axis=1) if n_classes == 2 else ours
    np.testing.assert_allclose(both, plain_samme_r_decision(voters, X), atol=1e-8)


@pytest.mark.parametrize("huge", [1e100, 1e300, 1.7e308])
@pytest.mark.parametrize("labels", [2, 3])
def test_columns_with_an_outlier_of_any_size(huge: float, labels: int) -> None:
    """Columns are divided by their largest value: beside the outlier all others are almost 0, and their squares are."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int) + (np.arange(60) % 3 if labels == 3 else 0) % labels
    X[0] *= huge
    for model in (RealAdaBoostClassifier(Columns(), n_estimators=20), AdaBoostRClassifier(Columns(), n_estimators=20)):
        model.fit(X, y)
        assert np.all(np.isfinite(model.steps_))
        assert np.all(np.isfinite(model.predict_proba(X)))


def test_the_least_exponential_with_awards_that_underflow() -> None:
    """The root in closed form: weights 1 and 2, awards a and -a."""
    for size in (1e-150, 1e-200, 1e-300):
        found = least_exponential(np.array([2.0, 1.0]), np.array([size, -size]))
        assert found == pytest.approx(math.log(2) / 2 / size, rel=1e-9)


def test_the_probability_of_a_single_voter_is_its_accuracy() -> None:
    """And eq. 24, without the factor 2, is what the documentation says; eq. 9 is twice that less 1."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    model = AdaBoostRClassifier(n_estimators=1).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.8], atol=0.02)  # leaves are smoothed
    discrete = AdaBoostRClassifier(Pool(1), n_estimators=1).fit(X, y)
    np.testing.assert_allclose(discrete.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.8], rtol=1e-9)
    eq_24 = expit(model.decision_function(X))
    f = np.log(eq_24 / (1 - eq_24))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * f)), rtol=1e-9)
    np.testing.assert_allclose(margins(model, X, y, kind="logistic").values, np.where(y == 1, 1, -1) * (2 * eq_24 - 1))
