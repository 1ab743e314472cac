"""Theorem 1 of QuadBoost for other losses and norms, VadaBoost's for another loss, and AdaBoost_R's rounds."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    DeepBoostClassifier,
    KernelSections,
    Pool,
    QuadBoostClassifier,
    RealAdaBoostClassifier,
    Rules,
    Stumps,
    Trees,
    VadaBoostClassifier,
    certificate,
    margins,
)
from electorate.inspection import convergence
from electorate.theory import bounds
from electorate.theory.bounds import Counted, Loss
from electorate.theory.training import margin_errors, rounds_to_consistency


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.3 * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


# ---------------------------------------------------------------- QuadBoost, Theorem 1


def test_named_losses_are_above_the_error_and_as_steep_as_they_say():
    for loss in bounds.LOSSES.values():
        assert bounds.checked_loss(loss) is loss
    z = np.linspace(-3, 3, 60_001)
    steep = np.abs(np.diff(bounds.SQUARED_HINGE.clipped(z))).max() / (z[1] - z[0])
    assert steep == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Loss("natural logistic", lambda z: np.logaddexp(0, -z), 1.0), r"0.6931 at y f = 0"),
        (Loss("steep", lambda z: np.maximum(0.0, 1 - 5 * z), 1.0), "slope 5"),
        (Loss("nothing", lambda z: np.full_like(z, np.nan), 1.0), "at least"),
        ("ln", "one of 'hinge'"),
    ],
)
def test_other_losses_are_refused(loss, words):
    X, y = rows(100)
    model = QuadBoostClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=words):
        certificate(model, train=(X, y), loss=loss)


def test_a_loss_of_the_callers():
    X, y = rows()
    model = QuadBoostClassifier(Pool(3), n_estimators=20).fit(X, y)
    found = certificate(model, train=(X, y), loss="squared hinge", delta=0.05)["vote, squared hinge loss"]
    n, norm = len(y), found.terms["at norm"]
    z = margins(model, X, y).values
    assert found.terms["loss"] == pytest.approx(np.minimum(1, np.maximum(0, 1 - norm * z) ** 2).mean(), abs=1e-6)
    r = math.sqrt(2 * math.log(4 * n * 4 + 2) / n)
    assert found.terms["complexity"] == pytest.approx(4 * 2 * norm * r)
    own = Loss("twice the hinge", lambda z: np.maximum(0.0, 1.0 - 2 * z), 2.0)
    assert certificate(model, train=(X, y), loss=own)["vote, twice the hinge loss"].applies
    assert not certificate(model, train=(X, y), loss=own)["vote, twice the hinge loss"].offered


@pytest.mark.parametrize("norm", [1.0, 3.0])
def test_theorem_1_at_p_2(norm):
    """4 l sqrt(dim) max(|alpha|_2, 1) R, and |alpha|_2 in the last root; p = 1 is the theorem as it was."""
    rng = np.random.default_rng(0)
    z, alpha = rng.uniform(-0.2, 1, 500), rng.uniform(0.1, 1, 7)
    alpha *= norm / alpha.sum()
    two = float(np.linalg.norm(alpha))
    terms = bounds.vote_terms(z, norm, 7, Counted(0.01), 0.05, p=2.0, of=two / norm)
    assert terms["complexity"] == pytest.approx(4 * math.sqrt(7) * max(two, 1.0) * 0.01)
    assert terms["norm"] == pytest.approx(math.sqrt(math.log(math.log2(2 * two)) / 500) if two > 1 else 0.0)
    one = bounds.vote_terms(z, norm, 7, Counted(0.01), 0.05)
    assert one["loss"] == terms["loss"]
    assert terms["complexity"] >= one["complexity"] * (1 - 1e-12)


def test_the_penalty_has_its_own_p():
    X, y = rows()
    two = QuadBoostClassifier(Pool(3), penalty="l2", lam=1.0, reweight="greedy", n_estimators=30).fit(X, y)
    name = "vote, hinge loss, norm of the penalty"
    found = certificate(two, train=(X, y))
    assert found[name].applies
    assert not found[name].offered
    assert found[name].value >= found["vote, hinge loss"].value - found["vote, hinge loss"].terms["norm"]
    most = QuadBoostClassifier(Pool(3), penalty="linf", n_estimators=9).fit(X, y)
    assert "p = inf" in certificate(most, train=(X, y))[name].status
    assert name not in {b.name for b in certificate(QuadBoostClassifier().fit(X, y), train=(X, y)).risk}


@pytest.mark.parametrize("family", [Stumps(), Trees(2, criterion="edge"), Rules(2)])
def test_lam_of_the_theory_counts_labelings(family):
    """lam = 4 R with R = sqrt(2 log Pi / n); heavy rows, so that some voters stay."""
    X, y = rows(300)
    weight = np.full(300, 20_000.0)
    model = QuadBoostClassifier(family, penalty="l1", lam="theory", n_estimators=4).fit(X, y, weight)
    n = 300 * 20_000
    count = {
        Stumps: math.log(2 * n * 4),
        Trees: 3 * math.log(4 * 2 * n * 4) + 4 * math.log(2),
        Rules: 2 * math.log(2 * n * 4) + math.log(4),
    }[type(family)]
    lam = 4 * math.sqrt(2 * count / n)
    plain = QuadBoostClassifier(family, penalty="l1", lam=lam, n_estimators=4).fit(X, y, weight)
    assert len(model.steps_) > 0
    np.testing.assert_allclose(model.steps_, plain.steps_, rtol=1e-6)
    for penalty in ("l2", "linf"):
        with pytest.raises(ValueError, match="use penalty='l1'"):
            QuadBoostClassifier(family, penalty=penalty, lam="theory", reweight="greedy").fit(X, y)
    with pytest.raises(ValueError, match="counts voters"):
        QuadBoostClassifier(KernelSections(), penalty="l1", lam="theory").fit(X, y)


# ---------------------------------------------------------------- VadaBoost, eq. 2


def test_eq_2_for_the_clipped_exponential_loss():
    """The loss is at least the error; its cover is that of the weights, given the labelings."""
    X, y = rows()
    model = VadaBoostClassifier(Pool(3), n_estimators=5).fit(X, y)
    found = certificate(model, train=(X, y), delta=0.05)["variance, clipped exponential loss"]
    n, norm = len(y), found.terms["at norm"]
    losses = np.minimum(1.0, np.exp(-norm * margins(model, X, y).values))
    assert found.terms["loss"] == pytest.approx(losses.mean(), abs=1e-6)
    assert found.terms["loss"] >= 1 - model.score(X, y)
    voters = len({voter.to_text() for voter in model.estimators_})
    labelings = math.log(4 * 2 * n * 4 + 2)
    sizes = math.log(math.pi**2 * voters**2 / 6)  # one price: the free numbers are the weights
    k = round(math.log2(norm))
    log_m = math.log(10) + voters * labelings + voters * math.log1p(2 * norm * n) + sizes
    log_m += math.log(math.pi**2 * (k + 1) ** 2 / 6) + math.log(20)
    assert found.terms["complexity"] == pytest.approx(15 * log_m / (n - 1))
    assert found.terms["variance"] == pytest.approx(math.sqrt(18 * losses.var(ddof=1) * log_m / n), rel=1e-6)
    assert not found.offered


def test_the_bound_holds_on_a_known_law():
    """Of 40 samples, the expected clipped loss is never above the bound, nor the risk."""
    rng = np.random.default_rng(0)
    far = rng.choice([-1.0, 1.0], size=(200_000, 3))
    truth = np.where(rng.random(200_000) < 0.1, -far[:, 0], far[:, 0])
    for seed in range(40):
        own = np.random.default_rng(seed)
        X = own.choice([-1.0, 1.0], size=(4000, 3))
        y = np.where(own.random(4000) < 0.1, -X[:, 0], X[:, 0])
        model = AdaBoostClassifier(Columns(), n_estimators=2).fit(X, y)
        found = certificate(model, train=(X, y))["variance, clipped exponential loss"]
        assert found.applies
        z = margins(model, far, truth).values
        assert np.minimum(1, np.exp(-found.terms["at norm"] * z)).mean() <= found.value
        assert found.value < 1


def test_columns_of_categories():
    """Their number is taken as known before: an assumption that the bound names, so it is no candidate for `best`."""
    X, y = rows()
    kind = np.where(y == 1, "a", np.random.default_rng(1).choice(list("abc"), len(y)))
    frame = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(kind)})
    model = VadaBoostClassifier(n_estimators=3).fit(frame, y)
    found = certificate(model, train=(frame, y))
    for name in ("variance", "variance, clipped exponential loss"):
        assert found[name].applies
        assert not found[name].offered
        assert any("category" in one for one in found[name].assumptions)
    numbers = VadaBoostClassifier(n_estimators=3).fit(X, y)
    assert certificate(numbers, train=(X, y))["variance"].offered
    kernels = RealAdaBoostClassifier(KernelSections(), n_estimators=2).fit(X[:200], y[:200])
    assert "kernel" in certificate(kernels, train=(X[:200], y[:200]))["variance"].status
    deep = DeepBoostClassifier(n_estimators=2).fit(X, y)
    assert "variance, clipped exponential loss" not in {b.name for b in certificate(deep, train=(X, y)).risk}


# ---------------------------------------------------------------- AdaBoost_R, eq. 18


@pytest.mark.parametrize("theta", [-0.5, 0.0, 0.5, 0.9])
def test_rounds_to_consistency_follow_theorem_1(theta):
    """The first round after which its bound is below the share of one row."""
    m, gamma = 150, 0.2
    rounds = rounds_to_consistency(1 / m, gamma, theta)
    bound = margin_errors(np.full(rounds, gamma), theta, 0.0)
    assert bound[rounds - 1] < 1 / m <= bound[rounds - 2] * (1 + 1e-9)


@pytest.mark.parametrize("booster", [AdaBoostRClassifier, AdaBoostClassifier, RealAdaBoostClassifier])
def test_consistent_after_so_many_rounds(booster):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    model = booster(Stumps(), n_estimators=2000).fit(X, y)
    found = convergence(model)
    assert found.holds
    (note,) = found.notes
    assert "eq. 18" in note
    each = {float(t): int(n.replace(",", "")) for n, t in re.findall(r"([\d,]+) \(theta ([\d.]+)\)", note)}
    assert set(each) == {0.0, 0.5, 0.9}
    assert each[0.0] < each[0.5] < each[0.9]
    values = margins(model, X, y, kind="logistic").values
    assert each[0.0] <= len(model.steps_)
    for theta, rounds in each.items():
        if rounds <= len(model.steps_):
            assert values.min() > theta
    weighted = booster(Stumps(), n_estimators=20).fit(X, y, rng.uniform(0.5, 1, 40))
    assert convergence(weighted).notes == ()
