"""Theorems 2, 4 and 5 of the LocMedBoost paper, confidences of any scale and of the voters' own, validated nu."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from electorate import Columns, LocMedBoostRegressor, MedBoostRegressor, Pool, RegressionTrees, certificate, load
from electorate.inspection import convergence
from electorate.theory.training import rounds_to_margin


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)


class Near(RegressorMixin, BaseEstimator):
    """A line, sure of itself near the middle of its rows."""

    def fit(self, X, y, sample_weight=None):
        self.line_ = LinearRegression().fit(X, y, sample_weight)
        self.centre_ = np.average(X[:, 0], weights=sample_weight)
        return self

    def predict(self, X):
        return self.line_.predict(X)

    def confidence(self, X):
        return np.exp(-np.abs(X[:, 0] - self.centre_))


MODELS = {
    "trees": MedBoostRegressor(RegressionTrees(2), n_estimators=30),
    "pool": MedBoostRegressor(Pool(6), nu=0.2, n_estimators=10),
    "lowest edge": MedBoostRegressor(Pool(6), rho="lowest_edge", n_estimators=30),
    "constant": MedBoostRegressor(RegressionTrees(2), rho=-0.3, n_estimators=30),
    "abstaining": LocMedBoostRegressor(RegressionTrees(2), n_estimators=20),
    "bumps": LocMedBoostRegressor(RegressionTrees(2), confidence_by="bumps", n_bumps=3, n_estimators=15),
    "own": LocMedBoostRegressor(Near(), confidence_by="voter", n_estimators=15),
    "any scale": LocMedBoostRegressor(RegressionTrees(2), confidence_by=lambda X: 40 * (X[:, 0] > -1), n_estimators=15),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_theorem_2_on_every_run(name, weighted):
    """The share of rows not above the target margin, from their awards, is at most exp(-2 sum (gamma - rho)^2 / A^2);
    once that is below the lightest row, the smallest margin is above the target."""
    X, y = rows()
    weight = np.random.default_rng(1).uniform(0.2, 2, len(y)) if weighted else np.ones(len(y))
    model = MODELS[name].fit(X, y, weight)
    u, history = weight / weight.sum(), model.history_
    _, outputs_of = model._outputs(X)
    said, sure = outputs_of(0, len(y))
    awards = np.where(np.abs(said - y[:, None]) <= model.eps_, 1.0, -1.0) * (1.0 if sure is None else sure)
    finite = np.isfinite(history["step"])
    steps, edge, rho = (history[column][finite] for column in ("step", "edge", "rho"))
    target = np.cumsum(rho * steps) / np.cumsum(steps)
    margins = np.cumsum(awards[:, finite] * steps, axis=1) / np.cumsum(steps)
    bound = np.exp(-2 * np.cumsum((edge - rho) ** 2) / 4)
    for t in range(len(steps)):
        assert u[margins[:, t] <= target[t] - 1e-9].sum() <= bound[t] * (1 + 1e-9)
        if bound[t] < u.min():
            assert margins[:, t].min() > target[t] - 1e-9
    if sure is not None:  # eq. 3
        shifted = np.hstack([np.zeros((len(y), 1)), np.cumsum(awards[:, finite] * steps, axis=1)])
        for t in range(len(steps)):
            w = u * np.exp(-shifted[:, t])
            assert history["confidence"][t] == pytest.approx(float(w @ sure[:, t] / w.sum()), rel=1e-6)
            assert history["edge"][t] == pytest.approx(float(w @ awards[:, t] / w.sum()), rel=1e-6, abs=1e-9)
    found = convergence(model)
    assert found.holds
    names = {one.name for one in found.predictions}
    assert "rows not above the target margin" in names
    assert ("least share of such rows" in names) == (not weighted)
    if name in ("pool", "lowest edge"):
        words = f"{rounds_to_margin(1 / len(y), model.nu):,} rounds" if not weighted else "lightest row"
        assert words in found.notes[0]
        assert found.notes[0] in str(found)
    elif name != "bumps":
        assert not found.notes


def test_rounds_of_theorem_2():
    """Theorem 2 prints ceil(A^2 log n / (2 nu^2)) + 1."""
    assert rounds_to_margin(1 / 500, 0.1) == math.ceil(4 * math.log(500) / 0.02) + 1
    assert rounds_to_margin(1 / 500, 0.1, reach=1.0) == math.ceil(math.log(500) / 0.02) + 1


# ---------------------------------------------------------------- Theorem 1 where it says something


def test_theorem_1_at_the_largest_rho_with_a_bound_below_1():
    X, y = rows()
    model = MedBoostRegressor(RegressionTrees(2), n_estimators=40).fit(X, y)
    bound = certificate(model, train=(X, y))["rows not robust at the largest rho with a bound"]
    rho = bound.terms["at rho"]
    assert model.error_bounds(rho)[-1] < 1 <= model.error_bounds(rho + 0.002)[-1]
    assert bound.terms["bound"] == pytest.approx(model.error_bounds(rho)[-1])
    assert bound.terms["as observed"] == pytest.approx(model.robust_error(X, y, rho))
    assert bound.terms["as observed"] <= bound.terms["bound"]


# ---------------------------------------------------------------- Theorems 4 and 5


def test_theorem_4_with_a_pseudo_dimension():
    """Linear voters of d columns: d + 1. The count is Sauer's, and the bound that of any family with it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=4000)
    model = MedBoostRegressor(LinearRegression(), eps=1.0, rho=0.9, n_estimators=3).fit(X, y)
    assert "give pseudo_dimension" in certificate(model, train=(X, y))["median, tubes"].status
    found = certificate(model, train=(X, y), pseudo_dimension=3, delta=0.05)["median, tubes"]
    rho, n = found.terms["at rho"], len(y)
    count = sum(math.comb(n, i) for i in range(4))
    assert found.terms["complexity"] == pytest.approx(4 / rho * math.sqrt(2 * math.log(count) / n))
    assert found.terms["robust error"] == pytest.approx(model.robust_error(X, y, rho))
    assert found.applies
    assert found.value < 1
    assert any("pseudo-dimension" in one for one in found.assumptions)
    assert certificate(model, train=(X, y), pseudo_dimension=9)["median, tubes"].value > found.value
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="pseudo_dimension"):
            certificate(model, train=(X, y), pseudo_dimension=wrong)


def test_the_order_of_theorem_5_is_no_certificate():
    X, y = rows(400)
    model = LocMedBoostRegressor(RegressionTrees(2), confidence_by="bumps", n_bumps=3, n_estimators=10).fit(X, y)
    plain = certificate(model, train=(X, y))["median, smooth confidences"]
    assert plain.value is None
    found = certificate(model, train=(X, y), pseudo_dimension=4)
    order = found["median, smooth confidences"]
    assert order.status == "up to constants: not a certificate"
    assert not order.applies
    assert found.best is None
    rho = order.terms["at rho"]
    steep = max(0.9 / (one.width * math.sqrt(math.e)) for one in model.confidences_ if hasattr(one, "width")) / 0.1
    inside = max(steep / rho, 1.0) ** 3 * 4 * math.log(400 / 4) ** 2 / rho**2 + math.log(20)
    assert order.terms["order of the rest"] == pytest.approx(math.sqrt(inside / 400))
    assert "not a certificate" in str(found)


# ---------------------------------------------------------------- confidences


def test_confidences_of_any_scale_make_the_same_vote():
    """kappa and c kappa, with rho and nu in units of c; larger ones of other rows count as the largest of training."""
    X, y = rows()

    def up_to_1(X):
        return np.minimum(np.abs(X[:, 0]) / np.abs(rows()[0][:, 0]).max(), 1.0)

    one = LocMedBoostRegressor(RegressionTrees(2), confidence_by=up_to_1, n_estimators=8).fit(X, y)
    for c in (8.0, 1024.0):  # powers of two: the same bits

        def times(X, c=c):
            return c * up_to_1(X)

        many = LocMedBoostRegressor(RegressionTrees(2), confidence_by=times, n_estimators=8).fit(X, y)
        assert np.array_equal(many.predict(X), one.predict(X))
        assert np.array_equal(many.confidence(X), one.confidence(X))
    assert 0 <= many.confidence(100 * X).min() <= many.confidence(100 * X).max() <= 1
    with pytest.raises(ValueError, match="finite and not negative"):
        LocMedBoostRegressor(confidence_by=lambda X: -np.ones(len(X))).fit(X, y)


def test_regressors_with_confidences_of_their_own():
    """c(x) of eq. 6, the weighted median of eq. 7, warm start and validation rows."""
    X, y = rows(200)
    model = LocMedBoostRegressor(Near(), confidence_by="voter", n_estimators=6, warm_start=True).fit(X, y)
    sure = np.array([voter.confidence(X) for voter in model.vote_.fitted])
    said = np.array([voter.predict(X) for voter in model.vote_.fitted])
    steps = model.steps_
    np.testing.assert_allclose(model.confidence(X), steps @ sure / steps.sum(), rtol=1e-9)
    for i in range(0, 200, 17):
        order = np.argsort(said[:, i])
        mass = np.cumsum((steps * sure[:, i])[order])
        median = said[order, i][np.searchsorted(mass, mass[-1] / 2)]
        assert model.predict(X[i : i + 1])[0] == pytest.approx(median, rel=1e-12)
    whole = LocMedBoostRegressor(Near(), confidence_by="voter", n_estimators=12).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    assert np.array_equal(model.steps_, whole.steps_)
    stopped = LocMedBoostRegressor(Near(), confidence_by="voter", n_estimators=9, early_stopping=True, random_state=0)
    stopped.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    error = [np.abs(p - y[150:]).mean() for p in stopped.staged_predict(X[150:])]
    np.testing.assert_allclose(stopped.history_["validation"][: len(error)], error, rtol=1e-9)
    with pytest.raises(ValueError, match="needs a scikit-learn regressor with a method"):
        LocMedBoostRegressor(LinearRegression(), confidence_by="voter").fit(X, y)


def test_nu_and_rho_of_at_least_0_are_validated(tmp_path):
    X, y = rows(200)
    common = {"n_estimators": 10, "random_state": 0}
    model = MedBoostRegressor(nu="validate", **common).fit(X, y)
    fixed = MedBoostRegressor(nu=model.nu_, early_stopping=True, **common).fit(X, y)
    assert np.array_equal(fixed.predict(X), model.predict(X))
    scores = [MedBoostRegressor(nu=nu, early_stopping=True, **common).fit(X, y) for nu in (0.05, 0.1, 0.2, 0.4)]
    best = min(one.history_["validation"].min() for one in scores)
    assert model.history_["validation"].min() == best
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").nu_ == model.nu_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sure = MedBoostRegressor(LinearRegression(), eps=3.0, rho="validate", **common).fit(X, X[:, 0])
    assert sure.rho_ is not None
    columns = np.column_stack([y + shift for shift in (-0.2, 0.0, 0.2)])
    assert MedBoostRegressor(Columns(), eps=0.3, nu="validate", **common).fit(columns, y).nu_ > 0
