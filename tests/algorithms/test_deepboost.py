"""DeepBoost: F from outside, AdaBoost, convex solvers and brute force as references, bits, what goes wrong."""

import io
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from test_vadaboost import problems
from training_cases import noisy, plain

from electorate import (
    AdaBoostClassifier,
    Checkpoint,
    Columns,
    DeepBoostClassifier,
    KernelSections,
    PairedStumps,
    Pool,
    ProgressBar,
    Rules,
    Stumps,
    Trees,
    Union,
    load,
)
from electorate.algorithms.deepboost import DeepBoost
from electorate.algorithms.losses import NAMED, Exponential, Logistic, SquaredHinge, log_slope
from electorate.families.priced_trees import _Offer, _worth
from electorate.families.splits import Found
from electorate.theory import complexity
from tests.common import checks
from tests.common.cases import DATA
from tests.common.engines import ENGINES

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
FAMILIES = {
    "stumps": Stumps(),
    "pool": Pool(3),
    "trees": Trees(3),
    "paper": Union([Stumps(), PairedStumps()]),
    "union": Union([Stumps(), Rules(2), Trees(2)]),
}
LOSSES = {"exponential": "exponential", "logistic": "logistic", "squared hinge": SquaredHinge()}
PRICES = [(0.0, 0.0), (0.0, 0.02), (0.02, 0.0), (0.05, 0.01)]


def phi(loss):
    return NAMED[loss] if isinstance(loss, str) else loss


def mean_loss(loss, f, y, weight):
    return np.average(phi(loss).value(1 - (2 * y - 1) * f), weights=weight)


# ---------------------------------------------------------------- F of eq. 4


@settings(few_cases, max_examples=60)
@given(problems(), st.sampled_from(sorted(FAMILIES)), st.sampled_from(sorted(LOSSES)), st.sampled_from(PRICES))
def test_f_is_what_it_says_and_never_rises(problem, family, loss, price):
    X, y, weight, _ = problem
    lam, beta = price
    model = DeepBoostClassifier(FAMILIES[family], lam=lam, beta=beta, loss=LOSSES[loss], n_estimators=12)
    model.fit(X, y, weight)
    if not len(model.history_["step"]):
        return
    means = [mean_loss(LOSSES[loss], f, y, weight) for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.history_["objective"], means + model.history_["penalty"], rtol=1e-9, atol=1e-13)
    path = np.concatenate([[phi(LOSSES[loss]).value(np.ones(1))[0]], model.history_["objective"]])
    assert np.all(np.diff(path) <= 1e-9 * path[:-1] + 1e-13)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_penalty_is_the_price_of_the_weights(loss):
    """Eq. 3, with the complexities of eq. 7, 8 and 9, and by family."""
    X, y = plain(2, 150)
    n, d = X.shape
    family = Union([Stumps(), PairedStumps(), Trees(3)])
    model = DeepBoostClassifier(family, lam=0.004, beta=0.002, loss=LOSSES[loss], n_estimators=40).fit(X, y)
    history = model.history_
    weights = {}
    for t in range(len(history["step"])):
        number = int(history["voter"][t])
        old = weights.get(number, (0.0,))[0]
        assert old + history["step"][t] == history["weight"][t]
        weights[number] = (history["weight"][t], int(history["family"][t]), history["size"][t])
        assert history["n_voters"][t] == sum(weight != 0 for weight, _, _ in weights.values())
    r = {0: lambda _: complexity.published_stumps(n, d), 1: lambda _: complexity.published_paired_stumps(n, d)}
    r[2] = lambda size: complexity.published_trees(n, d, size)
    paid = np.zeros(3)
    for weight, member, size in weights.values():
        paid[member] += (0.004 * r[member](size) + 0.002) * abs(weight)
    assert history["penalty"][-1] == pytest.approx(paid.sum(), rel=1e-12)
    for member in range(3):
        assert history[f"penalty_{member}"][-1] == pytest.approx(paid[member], abs=1e-12)
        used = [abs(weight) for weight, whose, _ in weights.values() if whose == member]
        assert history[f"weight_{member}"][-1] == pytest.approx(sum(used), abs=1e-12)
    final = [weight for weight, _, _ in weights.values() if weight != 0]
    np.testing.assert_array_equal(model.steps_, final)
    said = np.array([2 * voter.predict(X).astype(int) - 1 for voter in model.estimators_])
    np.testing.assert_allclose(model.decision_function(X), model.steps_ @ said, atol=1e-12)


# ---------------------------------------------------------------- AdaBoost and convex solvers


@few_cases
@given(problems(), st.sampled_from(["stumps", "pool"]))
def test_without_prices_it_is_adaboost(problem, family):
    """Its margins before they are divided by the sum of the steps; voters that come again are merged.

    The search must be exhaustive: an earlier voter may else have a larger edge than what a greedy search finds.
    """
    X, y, weight, _ = problem
    ours = DeepBoostClassifier(FAMILIES[family], lam=0, beta=0, n_estimators=25).fit(X, y, weight)
    theirs = AdaBoostClassifier(FAMILIES[family], n_estimators=25).fit(X, y, weight)
    a, b = ours.history_["objective"] / np.e, theirs.history_["objective"]
    assert ours.history_["step"][0] == pytest.approx(theirs.steps_[0], rel=1e-9)
    same = len(a) == len(b) and np.allclose(np.abs(ours.history_["step"]), theirs.steps_, rtol=1e-7)
    if same:  # else a tie was broken otherwise
        np.testing.assert_allclose(a, b, rtol=1e-7)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X) * theirs.steps_.sum() / 2, rtol=1e-6, atol=1e-7
        )


def test_without_prices_it_is_adaboost_where_nothing_ties():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=400) > 0).astype(int)
    weight = rng.uniform(0.5, 1, 400)
    for family in (Stumps(), Pool(6)):
        ours = DeepBoostClassifier(family, lam=0, beta=0, n_estimators=60).fit(X, y, weight)
        theirs = AdaBoostClassifier(family, n_estimators=60).fit(X, y, weight)
        margins = theirs.decision_function(X) * theirs.steps_.sum() / 2
        np.testing.assert_allclose(ours.decision_function(X), margins, rtol=1e-7, atol=1e-8)
        assert len(ours.steps_) <= len(theirs.steps_)


def overlapping(n=120, seed=0):
    """No combination of voters is right everywhere: the minimum is finite."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 3)).astype(float)
    return X, (X.sum(axis=1) + 2 * rng.normal(size=n) > 4.5).astype(int), rng.integers(1, 4, n) * 1.0


def pool_columns(X):
    return np.column_stack([np.where(x <= cut, -1.0, 1.0) for x in X.T for cut in (0, 1, 2)])


def solved(H, y, weight, loss, prices):
    """F's minimum over the pool by L-BFGS-B on alpha = plus - minus, both at least 0."""
    s, signs, k = weight / weight.sum(), 2 * y - 1, H.shape[1]

    def f_and_slope(both):
        v = 1 - signs * (H @ (both[:k] - both[k:]))
        slope = -H.T @ (s * signs * phi(loss).slope(v))
        return s @ phi(loss).value(v) + prices @ (both[:k] + both[k:]), np.concatenate([slope + prices, prices - slope])

    how = {"method": "L-BFGS-B", "bounds": [(0, None)] * (2 * k), "jac": True}
    options = {"maxiter": 20000, "ftol": 1e-15, "gtol": 1e-11, "maxcor": 40}
    return minimize(f_and_slope, np.zeros(2 * k), options=options, **how).fun


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_converges_to_the_minimum(loss, price, weighted):
    """On a pool: F against an independent solver, and the KKT conditions of eq. 4."""
    X, y, weight = overlapping()
    weight = weight if weighted else np.ones(len(y))
    lam, beta = price
    model = DeepBoostClassifier(Pool(3), lam=lam, beta=beta, loss=LOSSES[loss], n_estimators=3000).fit(X, y, weight)
    H, s, signs = pool_columns(X), weight / weight.sum(), 2 * y - 1
    r = complexity.massart(weight.sum(), complexity.log_pool(3, True, complexity.Shape(numeric=3)))
    cost = lam * r + beta
    least = solved(H, y, weight, LOSSES[loss], np.full(9, cost))
    assert model.history_["objective"][-1] == pytest.approx(least, abs=1e-6)
    slope = -H.T @ (s * signs * phi(LOSSES[loss]).slope(1 - signs * model.decision_function(X)))
    assert np.all(np.abs(slope) <= cost + 1e-6)
    for step, voter in zip(model.steps_, model.estimators_, strict=True):
        h = 2 * voter.predict(X) - 1
        mine = -h @ (s * signs * phi(LOSSES[loss]).slope(1 - signs * model.decision_function(X)))
        assert mine == pytest.approx(-np.sign(step) * cost, abs=1e-6)


def test_a_price_that_is_too_high_leaves_nothing():
    X, y, _ = overlapping()
    model = DeepBoostClassifier(Pool(3), lam=0, beta=3.0).fit(X, y)
    assert model.stop_reason_ == "no_edge"
    assert len(model.steps_) == 0
    assert np.all(model.predict_proba(X) == 0.5)


def test_voters_are_cancelled_exactly():
    """Somewhere a voter's weight becomes 0, its votes go to the last bit, and it may come back."""
    gone = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 4))
        y = (X.sum(axis=1) + rng.normal(size=150) > 0).astype(int)
        model = DeepBoostClassifier(Trees(2), lam=0, beta=0.03, n_estimators=150).fit(X, y)
        zero = np.flatnonzero(model.history_["weight"] == 0)
        gone += len(zero)
        assert np.all(np.diff(model.history_["n_voters"])[zero - 1] == -1)
        assert model.history_["n_voters"][-1] == len(model.steps_) == len(model.estimators_)
        kept = [2 * voter.predict(X) - 1 for voter in model.estimators_]
        np.testing.assert_array_equal(model.decision_function(X), np.round(model.steps_ @ kept * 2**40) / 2**40)
    assert gone > 0


# ---------------------------------------------------------------- steps


@settings(few_cases, max_examples=60)
@given(st.floats(0.001, 0.999), st.floats(-3, 3), st.floats(0, 2))
def test_closed_form_steps(error, weight, price):
    """Lines 12 to 16 against a search: of (1 - e) exp(-eta) + e exp(eta) + c |alpha + eta|."""
    new = DeepBoost(Exponential()).new_weight(error, weight, price)

    def along(new):
        return (1 - error) * np.exp(weight - new) + error * np.exp(new - weight) + price * abs(new)

    best = minimize_scalar(along, bounds=(-12, 12), method="bounded", options={"xatol": 1e-10}).x
    assert along(new) <= along(best) + 1e-9
    assert along(new) <= along(0.0) + 1e-12
    assert along(new) <= along(weight) + 1e-12


def test_steps_at_the_edge():
    booster = DeepBoost(Exponential())
    assert booster.new_weight(0.0, 0.0, 0.25) == pytest.approx(np.log(4))
    assert booster.new_weight(1.0, 0.0, 0.25) == pytest.approx(-np.log(4))
    assert booster.new_weight(0.5, 0.0, 0.0) == 0
    assert np.isfinite(booster.new_weight(1e-300, 0.0, 0.0))
    assert np.isfinite(booster.new_weight(0.7, 900.0, 1e-3))


@few_cases
@given(problems(), st.sampled_from(PRICES))
def test_searched_steps_are_least_along_the_voter(problem, price):
    """The first step of the squared hinge, and of the exponential loss as one's own, against a plain search."""
    X, y, weight, _ = problem
    lam, beta = price
    own = type("Own", (), {"value": lambda _, v: np.exp(v), "slope": lambda _, v: np.exp(v)})()
    for loss in (SquaredHinge(), own):
        model = DeepBoostClassifier(lam=0, beta=lam + beta, loss=loss, n_estimators=1).fit(X, y, weight)
        if not len(model.steps_) or model.history_["error"][0] == 0:
            continue
        h = 2 * model.estimators_[0].predict(X).astype(int) - 1

        def along(alpha, h=h, loss=loss):
            return mean_loss(loss, alpha * h, y, weight) + (lam + beta) * abs(alpha)

        best = minimize_scalar(along, bounds=(-9, 9), method="bounded", options={"xatol": 1e-11})
        assert along(model.steps_[0]) <= best.fun + 1e-8


# ---------------------------------------------------------------- trees


@few_cases
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5))
def test_the_splits_of_a_layer_that_are_worth_their_price(seed, each):
    """Against all subsets; the price grows with the root of the questions."""
    rng = np.random.default_rng(seed)
    gains = sorted(rng.integers(0, 40, 6).tolist(), reverse=True)
    total, before = 200, int(rng.integers(1, 4))

    def price(many, depth=0):
        return each * np.sqrt(many)

    subsets = [c for k in range(7) for c in combinations(gains, k)]
    best = max(2 * sum(c) / total - price(before + len(c)) for c in subsets)
    test = Found(0, 0, np.zeros(2, dtype=np.bool_), np.zeros((2, 2), dtype=np.int64))
    many = len(_worth([_Offer(gain, place, test) for place, gain in enumerate(gains)], before, total, price, 1))
    assert 2 * sum(gains[:many]) / total - price(before + many) == pytest.approx(best)


def test_trees_shrink_as_complexity_gets_dearer():
    X, y = plain(2, 240)
    sizes = []
    for lam in (0.0, 0.003, 0.03):
        model = DeepBoostClassifier(Trees(5), lam=lam, beta=0.001, n_estimators=10).fit(X, y)
        sizes.append(model.history_["size"].mean())
        assert len(set(model.history_["size"])) > 1 or lam == 0
    assert sizes[0] > sizes[1] > sizes[2]


def test_the_first_tree_is_the_best_of_its_layers():
    """Depth 1 is exhaustive; a deeper family has at least the |d| of a shallower one."""
    X, y = plain(2, 200)
    for lam in (0.0, 0.01):
        strength = []
        for depth in (1, 2, 3, 4):
            model = DeepBoostClassifier(Trees(depth), lam=lam, beta=0, n_estimators=1).fit(X, y)
            n, d = X.shape
            r = complexity.published_trees(n, d, model.history_["size"][0])
            strength.append(model.history_["edge"][0] - lam * r / np.e)
        assert np.all(np.diff(strength) >= -1e-12)
        stump = DeepBoostClassifier(Stumps(), lam=0, beta=0, n_estimators=1).fit(X, y)
        one = DeepBoostClassifier(Trees(1), lam=0, beta=0, n_estimators=1).fit(X, y)
        assert stump.history_["edge"][0] == one.history_["edge"][0]


# ---------------------------------------------------------------- the paper's other algorithms


def test_adaboost_l1():
    """lam = 0: weights are fewer and smaller than AdaBoost's."""
    X, y = plain()
    l1 = DeepBoostClassifier(Stumps(), lam=0, beta=0.2, n_estimators=100).fit(X, y)
    plainly = DeepBoostClassifier(Stumps(), lam=0, beta=0, n_estimators=100).fit(X, y)
    assert np.abs(l1.steps_).sum() < np.abs(plainly.steps_).sum()
    assert len(l1.steps_) < len(plainly.steps_)


def test_logreg_and_logreg_l1():
    """On columns that vote: the minimum of mean log2(1 + exp(1 - y f)), without a price and with one."""
    X, y, weight = overlapping()
    H = pool_columns(X)
    for beta in (0.0, 0.02):
        model = DeepBoostClassifier(Columns(), lam=0, beta=beta, loss="logistic", n_estimators=3000).fit(H, y, weight)
        assert model.history_["objective"][-1] == pytest.approx(
            solved(H, y, weight, "logistic", np.full(9, beta)), abs=1e-6
        )


def test_probabilities():
    """p / (1 - p) = Phi'(1 + f) / Phi'(1 - f)."""
    X, y = plain()
    for name, loss in LOSSES.items():
        model = DeepBoostClassifier(Pool(3), lam=0, beta=0.01, loss=loss, n_estimators=20).fit(X, y)
        f, p = model.decision_function(X), model.predict_proba(X)[:, 1]
        up, down = phi(loss).slope(1 + f), phi(loss).slope(1 - f)
        np.testing.assert_allclose(p, up / (up + down), rtol=1e-9, err_msg=name)
        np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(model.predict_proba(X), axis=1)])


@pytest.mark.parametrize("loss", [Exponential(), Logistic(), SquaredHinge()])
def test_losses(loss):
    """Convex, never falling, at least the 0-1 loss of v > 0; slopes by differences."""
    v = np.linspace(-6, 6, 2001)
    value, slope = loss.value(v), loss.slope(v)
    np.testing.assert_allclose((loss.value(v + 1e-6) - loss.value(v - 1e-6)) / 2e-6, slope, rtol=1e-4, atol=1e-5)
    assert np.all(np.diff(value) >= 0)
    assert np.all(np.diff(slope) >= -1e-12)
    assert np.all(value[v > 0] >= 1)
    np.testing.assert_allclose(np.exp(log_slope(loss, v)), slope, rtol=1e-12)


# ---------------------------------------------------------------- bits


BITS = [
    *(checks.check_weight_is_repetition, checks.check_zero_weight_is_no_row, checks.check_rows_permuted),
    *(checks.check_any_parts, checks.check_train_error_is_score),
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("data", "family"),
    [("two-labels", "paper"), ("ties", "union"), ("missing", "paper"), ("missing", "union"), ("categories", "paper")],
)
def test_bits(data, loss, family):
    X, y = DATA[data]
    for check in BITS if data != "categories" else BITS[:1] + BITS[3:4]:
        model = DeepBoostClassifier(FAMILIES[family], lam=0.005, beta=0.005, loss=LOSSES[loss], n_estimators=7)
        check(ENGINES["threads"], model, X, y)


@pytest.mark.process
@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_model_on_dask(loss):
    X, y = DATA["missing"]
    weight = checks.real_weights(len(y))
    model = DeepBoostClassifier(FAMILIES["union"], lam=0.005, beta=0.005, loss=LOSSES[loss], n_estimators=6)
    here = clone(model).fit(X, y, weight)
    there = ENGINES["dask"].fit(clone(model), X, y, weight)
    assert there.digest_ == here.digest_
    np.testing.assert_array_equal(there.history_["objective"], here.history_["objective"])


def test_power_of_two_weights_without_complexity():
    X, y = DATA["missing"]
    checks.check_weights_times_power_of_two(
        ENGINES["threads"], DeepBoostClassifier(Trees(2), lam=0, beta=0.01, n_estimators=6), X, y
    )


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_fitted_model_can_do_all_that_others_can(family, n_classes, loss, tmp_path):
    X, y = noisy(n_classes)
    model = DeepBoostClassifier(FAMILIES[family], lam=0.005, beta=0.01, loss=loss, n_estimators=20)
    whole = clone(model).fit(X, y)
    whole.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest_ == whole.digest_
    np.testing.assert_array_equal(again.steps_, whole.steps_)
    part = clone(model).set_params(n_estimators=9, warm_start=True).fit(X, y)
    assert part.set_params(n_estimators=20).fit(X, y).digest_ == whole.digest_
    loaded = load(tmp_path / "model").set_params(warm_start=True, n_estimators=25).fit(X, y)
    assert loaded.digest_ == clone(model).set_params(n_estimators=25).fit(X, y).digest_
    stages = list(whole.staged_decision_function(X))
    np.testing.assert_array_equal(stages[-1], whole.decision_function(X))
    assert whole.feature_importances_.sum() == pytest.approx(1)
    early = clone(model).set_params(early_stopping=True, n_estimators=60, n_iter_no_change=3, random_state=0).fit(X, y)
    assert early.best_round_ == early.ensemble_.rounds[-1]
    assert all(voter.to_text() for voter in whole.estimators_)
    if n_classes == 3:
        lonely = clone(model).fit(X, y == whole.classes_[1])
        mine = whole.history_["label"] == 1
        np.testing.assert_array_equal(whole.history_["objective"][mine], lonely.history_["objective"])


@pytest.mark.parametrize("loss", LOSSES)
def test_voters_by_rows(loss, tmp_path):
    """Real columns, scaled to -1..1, and sections of a kernel; F never rises."""
    X, y = plain()
    X = np.nan_to_num(X)
    for family in (Columns(), KernelSections(max_landmarks=40)):
        model = DeepBoostClassifier(family, lam=0.01, beta=0.002, loss=LOSSES[loss], n_estimators=25).fit(X, y)
        means = [mean_loss(LOSSES[loss], f, y, None) for f in model.staged_decision_function(X)]
        np.testing.assert_allclose(model.history_["objective"], means + model.history_["penalty"], rtol=1e-8)
        assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
        part = DeepBoostClassifier(family, lam=0.01, beta=0.002, loss=LOSSES[loss], n_estimators=9, warm_start=True)
        assert part.fit(X, y).set_params(n_estimators=25).fit(X, y).digest_ == model.digest_
        assert len(model.estimators_) == len(model.steps_) == model.history_["n_voters"][-1]


# ---------------------------------------------------------------- the default


def test_the_default_has_families_of_several_complexities():
    """Voters of several sizes are used, and a larger one pays more per unit of weight: not AdaBoost-L1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (np.sign(X[:, 0]) * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=600) > 0).astype(int)
    history = DeepBoostClassifier().fit(X, y).history_
    assert len(np.unique(history["size"])) > 1
    weights, prices = np.zeros(len(history["voter"])), {}
    before = 0.0
    for voter, size, weight, penalty in zip(*(history[k] for k in ("voter", "size", "weight", "penalty")), strict=True):
        change = abs(weight) - abs(weights[int(voter)])
        if abs(change) > 1e-3:
            prices.setdefault(int(size), []).append((penalty - before) / change)
        weights[int(voter)], before = weight, penalty
    means = [np.mean(prices[size]) for size in sorted(prices)]
    assert np.all(np.diff(means) > 0)
    for found in prices.values():
        np.testing.assert_allclose(found, found[0], rtol=1e-6)


def test_the_scale_of_weights_matters_with_a_price_of_complexity_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=100) > 0).astype(int)
    weight = rng.integers(1, 4, 100).astype(float)
    free, priced = DeepBoostClassifier(lam=0, n_estimators=20), DeepBoostClassifier(lam=0.05, n_estimators=20)
    assert free.fit(X, y, weight).digest_ == clone(free).fit(X, y, 4 * weight).digest_
    assert priced.fit(X, y, weight).digest_ != clone(priced).fit(X, y, 4 * weight).digest_
    rows = np.repeat(np.arange(100), weight.astype(int))
    np.testing.assert_array_equal(priced.decision_function(X), clone(priced).fit(X[rows], y[rows]).decision_function(X))


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("loss", LOSSES)
def test_separable_rows_end_with_a_reason(loss):
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    free = DeepBoostClassifier(lam=0, beta=0, loss=LOSSES[loss], n_estimators=1000).fit(X, y)
    assert free.stop_reason_ == "perfect_voter"
    priced = DeepBoostClassifier(lam=0.001, beta=0.001, loss=LOSSES[loss], n_estimators=1000).fit(X, y)
    assert priced.stop_reason_ == "converged"
    for model in (free, priced):
        assert model.score(X, y) == 1
        assert np.all(np.isfinite(model.steps_))
    blind = DeepBoostClassifier(loss=LOSSES[loss], n_estimators=500).fit(np.zeros((20, 2)), np.arange(20) >= 5)
    assert blind.stop_reason_ in ("no_edge", "converged")
    assert len(np.unique(blind.predict(np.zeros((20, 2))))) == 1


def test_a_slope_that_vanishes_ends_the_run():
    """All margins beyond 2: the squared hinge and its slope are 0, and nothing is divided by it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=200) > 0.5).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DeepBoostClassifier(Trees(4), lam=0, beta=0, loss=SquaredHinge(), n_estimators=3000).fit(X, y)
    assert model.stop_reason_ == "zero_gradient"
    assert model.history_["objective"][-1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_finite_where_weights_span_hundreds_of_orders(loss):
    """1,000 rounds of depth 6 without a price."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DeepBoostClassifier(Trees(6), lam=0, beta=0, loss=loss, n_estimators=1000).fit(X, y)
        light = DeepBoostClassifier(Trees(3), lam=0, beta=0, loss=loss, n_estimators=60)
        light.fit(X, y, np.where(np.arange(200) % 3, 1.0, 1e-300))
    for fitted in (model, light):
        assert np.all(np.isfinite(fitted.decision_function(X)))
        assert np.all(np.isfinite(fitted.history_["objective"]))
        assert np.all(np.diff(fitted.history_["objective"]) <= 1e-9 * fitted.history_["objective"][:-1])
    margins = (2 * y - 1) * model.decision_function(X)
    assert len(model.history_["step"]) == 1000
    assert margins.min() > 300 * np.log(10) or loss == "logistic"


def test_checkpoints_and_progress(tmp_path):
    X, y = noisy(2, 120)
    model = DeepBoostClassifier(Trees(2), lam=0.01, beta=0.02, n_estimators=20)
    whole = clone(model).fit(X, y)
    part = clone(model).set_params(n_estimators=7)
    part.set_callbacks(Checkpoint(tmp_path / "c"), ProgressBar(io.StringIO(), 0)).fit(X, y)
    assert clone(model).set_callbacks(Checkpoint(tmp_path / "c")).fit(X, y).digest_ == whole.digest_


def test_a_sum_of_prices_beyond_floats_is_infinite():
    """Each product of a price and a weight is finite, and their sum is larger than any float64."""
    X, y = noisy(2, 100)
    model = DeepBoostClassifier(n_estimators=6, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="after the last round and is inf"):
        model.set_params(beta=1.7e308, n_estimators=8).fit(X, y)


def test_refusals():
    X, y = plain(2, 60)
    with pytest.raises(ValueError, match="cannot boost DecisionTreeClassifier: its penalty needs"):
        DeepBoostClassifier(DecisionTreeClassifier()).fit(np.nan_to_num(X), y)
    for wrong in ({"lam": -1}, {"beta": -1}, {"loss": "hinge"}, {"complexity": "none"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            DeepBoostClassifier(**wrong).fit(X, y)
    with pytest.raises(TypeError, match="no file format"):
        DeepBoostClassifier(loss=SquaredHinge(), n_estimators=2).fit(X, y).save("nowhere")


def test_complexities_that_can_be_proved():
    X, y = noisy(2)
    for family in FAMILIES.values():
        model = DeepBoostClassifier(family, lam=0.005, beta=0, complexity="provable", n_estimators=10).fit(X, y)
        assert np.all(np.diff(model.history_["objective"]) <= 1e-12)


def test_decisions_of_dask_arrays_wait_until_they_are_asked_for() -> None:
    array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    model = DeepBoostClassifier(n_estimators=5).fit(X, X[:, 0] > 0)
    far = model.decision_function(array.from_array(X, chunks=(50, 4)))
    assert isinstance(far, array.Array)
    np.testing.assert_array_equal(far.compute(scheduler="synchronous"), model.decision_function(X))
