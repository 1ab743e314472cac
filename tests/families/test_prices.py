"""What DeepBoost's voters pay: by depth, by the trace of their kernel, by numbers of the user's; unions of kernels."""

import math

import numpy as np
import pytest

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    DeepBoostClassifier,
    KernelSections,
    PairedStumps,
    RealAdaBoostClassifier,
    Stumps,
    Trees,
    Union,
    certificate,
    load,
)
from electorate.inspection import empirical_rademacher

LAM = 0.02
KERNELS = [
    KernelSections("rbf", gamma=2.0),
    KernelSections("rbf", gamma=0.1),
    KernelSections("polynomial", degree=2, gamma=0.5),
]


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


def gram(kernel, X):
    if kernel.kernel == "rbf":
        return np.exp(-kernel.gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return (kernel.gamma * X @ X.T + kernel.coef0) ** kernel.degree


def depths(model):
    """Of every move's tree: the longest path."""
    found = []
    for k in range(model.ensemble_.n_voters):
        alone = model.ensemble_.only(k)

        def below(node, children=alone.children):
            return 0 if children[node, 0] < 0 else 1 + max(below(child) for child in children[node])

        found.append(below(0))
    return found


def last_weights(model):
    """The weight of every voter by its number, and the first move of each."""
    numbers = model.history_["voter"].astype(int)
    return {k: (model.history_["weight"][numbers == k][-1], int(np.argmax(numbers == k))) for k in set(numbers)}


@pytest.mark.parametrize("depth", [2, 5])
def test_depth_prices_follow_the_vc_dimension(depth):
    """sqrt(2 (2^k + 1) log2(d + 1) log(n + 1) / n) for a tree of depth k, whatever its splits; section 4."""
    X, y = rows()
    model = DeepBoostClassifier(Trees(depth), lam=LAM, beta=0.0, complexity="depth", n_estimators=15).fit(X, y)
    n, d = X.shape
    tall = depths(model)
    price = [LAM * math.sqrt(2 * (2**k + 1) * math.log2(d + 1) * math.log(n + 1) / n) for k in tall]
    penalty = sum(price[first] * abs(weight) for weight, first in last_weights(model).values())
    assert model.history_["penalty"][-1] == pytest.approx(penalty, rel=1e-9)
    f = (2 * y - 1) * model.decision_function(X)
    assert model.history_["objective"][-1] == pytest.approx(np.exp(1 - f).mean() + penalty, rel=1e-8)
    by_splits = DeepBoostClassifier(Trees(depth), lam=LAM, beta=0.0, n_estimators=15).fit(X, y)
    assert by_splits.history_["penalty"][-1] != pytest.approx(penalty)
    assert model.convergence().holds


def test_a_price_per_layer_takes_all_splits_that_gain():
    """Once a layer is paid for, its splits are free: dear trees stay stumps, cheap ones grow to the last level."""
    X, y = rows()
    cheap = DeepBoostClassifier(Trees(3), lam=1e-6, beta=0.0, complexity="depth", n_estimators=3).fit(X, y)
    one = (X[:, 0] > 0.3 * np.random.default_rng(2).normal(size=len(X))).astype(int)
    dear = DeepBoostClassifier(Trees(3), lam=1.0, beta=0.0, complexity="depth", n_estimators=3).fit(X, one)
    assert max(depths(cheap)) == 3
    assert max(depths(dear)) == 1


@pytest.mark.parametrize("kind", ["published", "provable", "depth"])
def test_kernel_prices_follow_their_traces(kind):
    """sqrt(Tr K_k) / (n B_k) for voters of norm 1 / B_k; a weight of k is k rows."""
    X, y = rows(60)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    given = {"lam": 0.02, "beta": 1e-4, "n_estimators": 25, "complexity": kind}
    model = DeepBoostClassifier(Union(KERNELS), **given).fit(X, y, weight)
    n, r = weight.sum(), []
    for kernel in KERNELS:
        own = np.diag(gram(kernel, X))
        r.append(math.sqrt(weight @ own) / (n * math.sqrt(own.max())))
    assert r[2] < r[0]  # rbf: 1 / sqrt(n); a polynomial is far from its largest value on most rows
    history = model.history_
    for k in range(3):
        assert history[f"penalty_{k}"][-1] == pytest.approx((0.02 * r[k] + 1e-4) * history[f"weight_{k}"][-1])
    again = DeepBoostClassifier(Union(KERNELS), **given).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_a_kernel_times_a_number_costs_the_same():
    """K -> c K: the norm 1 / B of the voters falls as the root of the trace rises."""
    X, _ = rows()
    for c in (0.01, 4.0, 900.0):
        assert KernelSections("linear").complexity(math.sqrt(c) * X) == pytest.approx(
            KernelSections("linear").complexity(X)
        )
        twice = KernelSections("polynomial", degree=2, gamma=math.sqrt(c), coef0=math.sqrt(c))
        assert twice.complexity(X) == pytest.approx(KernelSections("polynomial", degree=2, gamma=1.0).complexity(X))


def test_lam_chooses_among_kernels():
    """With one kernel, lam does nothing that beta does not; with several, it moves the weights to the cheaper ones."""
    X, y = rows()
    prices = [0.0, 5.0, 5.0]
    free = DeepBoostClassifier(Union(KERNELS), lam=0.0, beta=1e-3, n_estimators=30).fit(X, y)
    paid = DeepBoostClassifier(Union(KERNELS), lam=1.0, beta=1e-3, n_estimators=30, complexity=prices).fit(X, y)
    assert free.history_["weight_0"][-1] < free.history_["weight_1"][-1] + free.history_["weight_2"][-1]
    assert paid.history_["weight_0"][-1] > 0
    assert paid.history_["weight_1"][-1] == paid.history_["weight_2"][-1] == 0


def test_prices_of_the_user(tmp_path):
    """A number per family, an empirical complexity among them, or a function."""
    X, y = rows()
    families = [Stumps(), PairedStumps()]
    numbers = [empirical_rademacher(family, X, draws=5).value for family in families]
    given = {"lam": LAM, "beta": 0.0, "n_estimators": 12}
    model = DeepBoostClassifier(Union(families), complexity=numbers, **given).fit(X, y)
    for k in range(2):
        assert model.history_[f"penalty_{k}"][-1] == pytest.approx(LAM * numbers[k] * model.history_[f"weight_{k}"][-1])
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").complexity == numbers

    def own(family, splits, depth):
        assert isinstance(family, Trees)
        return 0.1 * splits + depth

    called = DeepBoostClassifier(Trees(3), complexity=own, **given).fit(X, y)
    splits, tall = (np.diff(called.ensemble_.offsets) - 1) // 2, depths(called)
    price = [LAM * (0.1 * s + k) for s, k in zip(splits, tall, strict=True)]
    penalty = sum(price[first] * abs(weight) for weight, first in last_weights(called).values())
    assert called.history_["penalty"][-1] == pytest.approx(penalty)
    with pytest.raises(TypeError, match="no file format"):
        called.save(tmp_path / "other")
    for wrong in ([0.1], [0.1, -1.0], [0.1, math.inf]):
        with pytest.raises(ValueError, match="one number for each of the 2 families"):
            DeepBoostClassifier(Union(families), complexity=wrong).fit(X, y)
    with pytest.raises(ValueError, match="finite and not negative"):
        DeepBoostClassifier(Trees(2), complexity=lambda family, splits, depth: -1.0).fit(X, y)


# ---------------------------------------------------------------- unions of families over whole rows


@pytest.mark.parametrize("booster", [DeepBoostClassifier, RealAdaBoostClassifier, AdaBoostRClassifier])
def test_unions_of_kernels_are_stored_and_continued(booster, tmp_path):
    X, y = rows()
    union = Union([*KERNELS, Columns()])
    model = booster(union, n_estimators=6, warm_start=True).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest_ == model.digest_
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    once = booster(union, n_estimators=12).fit(X, y)
    assert model.set_params(n_estimators=12).fit(X, y).digest_ == once.digest_


def test_the_best_of_several_kernels_has_the_largest_edge():
    """Of all sections of all kernels, by brute force."""
    X, y = rows(50)
    model = RealAdaBoostClassifier(Union(KERNELS), n_estimators=1).fit(X, y)
    best = 0.0
    for kernel in KERNELS:
        K = gram(kernel, X)
        outputs = K / np.sqrt(np.diag(K)) / math.sqrt(np.diag(K).max())
        best = max(best, np.abs((2 * y - 1) @ outputs).max() / len(y))
    assert abs(model.history_["edge"][0]) == pytest.approx(best, rel=1e-6)


def test_what_a_union_refuses():
    X, y = rows(40)
    for mixed, words in ((Union([Stumps(), KERNELS[0]]), "over bins"), (Union([KERNELS[0], Stumps()]), "whole rows")):
        with pytest.raises(ValueError, match=words):
            DeepBoostClassifier(mixed).fit(X, y)
    with pytest.raises(ValueError, match="needs outputs of -1 or 1"):
        AdaBoostClassifier(Union(KERNELS)).fit(X, y)


# ---------------------------------------------------------------- the union as one class


def test_the_union_as_one_class():
    """Its complexity is bounded from above by the sum of the labelings; the largest of the families' would not do."""
    X, y = rows(3000)
    model = DeepBoostClassifier(Union([Stumps(), PairedStumps()]), lam=1e-3, n_estimators=30).fit(X, y)
    found = certificate(model, train=(X, y), delta=0.05)
    one = found["margins, one class"]
    n, d = X.shape
    stumps = 4 * n * d  # missing values may come
    both = math.log(stumps + 2 * stumps**2)
    rho = one.terms["at rho"]
    assert one.terms["complexity"] == pytest.approx(2 / rho * math.sqrt(2 * both / n))
    assert one.terms["complexity"] >= 2 / rho * math.sqrt(2 * math.log(2 * stumps**2) / n)
    level = round(-math.log2(rho))
    part = 6 * 0.05 / (math.pi * level) ** 2
    assert one.terms["confidence"] == pytest.approx(math.sqrt(math.log(1 / part) / (2 * n)))
    assert one.offered
    assert found["margins"].offered
    assert "margins, one class" not in {b.name for b in certificate(_stumps(X, y), train=(X, y)).risk}


def _stumps(X, y):
    return DeepBoostClassifier(Stumps(), n_estimators=5).fit(X, y)


def test_for_some_unions_one_class_is_smaller_and_for_others_not():
    X, y = rows(3000)
    shallow = certificate(DeepBoostClassifier(Trees(6), lam=0.05, n_estimators=10).fit(X, y), train=(X, y))
    even = DeepBoostClassifier(Union([Stumps(), PairedStumps()]), lam=1e-3, n_estimators=30).fit(X, y)
    smaller = [c["margins, one class"].value < c["margins"].value for c in (shallow, certificate(even, train=(X, y)))]
    assert smaller == [False, True]
