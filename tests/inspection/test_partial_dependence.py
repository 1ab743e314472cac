"""partial_dependence returns what scikit-learn's function finds by predicting every grid point."""

import numpy as np
import pytest
from sklearn.inspection import partial_dependence as by_brute_force

from electorate import (
    AdaBoostClassifier,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Stumps,
    Trees,
    partial_dependence,
)


def numbers(n_labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[:, 1] = rng.integers(0, 5, 80)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=80)
    return X, score if not n_labels else np.digitize(score, np.quantile(score, np.arange(1, n_labels) / n_labels))


MODELS = [
    (AdaBoostClassifier(Stumps(), n_estimators=8), 2),
    (AdaBoostClassifier(Trees(3), n_estimators=5), 3),
    (RealAdaBoostClassifier(Trees(2), n_estimators=5), 2),
    (QuadBoostRegressor(RegressionTrees(3), n_estimators=5), 0),
    (QuadBoostRegressor(n_estimators=5), 0),
]


@pytest.mark.parametrize("features", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize(("model", "n_labels"), MODELS, ids=repr)
def test_it_equals_predicting_every_point(model, n_labels, features):
    X, y = numbers(n_labels)
    model = model.fit(X, y)
    for response in ["auto"] if not n_labels else ["auto", "decision_function"]:
        options = {"grid_resolution": 7, "kind": "both", "response_method": response}
        found = partial_dependence(model, X, features, **options)
        wanted = by_brute_force(model, X, features, method="brute", **options)
        for name in ("average", "individual"):
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-10, atol=1e-12)
        for mine, theirs in zip(found.grid_values, wanted.grid_values, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_weights_and_names_and_categories():
    import pandas as pd

    X, y = numbers(2)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(b=np.array(["u", "v", "w", "x", "y"])[X[:, 1].astype(int)])
    model = AdaBoostClassifier(Trees(2), n_estimators=6).fit(frame, y)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    found = partial_dependence(model, frame, "b", sample_weight=weight)
    for level, value in zip(found.grid_values[0], found.average[0], strict=True):
        proba = model.predict_proba(frame.assign(b=level))[:, 1]
        assert value == pytest.approx(np.average(proba, weights=weight), abs=1e-12)


def test_missing_values_do_not_become_grid_points():
    X, y = numbers(2)
    X[::3, 0] = np.nan
    found = partial_dependence(AdaBoostClassifier(n_estimators=5).fit(X, y), X, 0, grid_resolution=5)
    assert np.all(np.isfinite(found.grid_values[0]))


def test_what_is_refused():
    X, y = numbers(2)
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    for options, message in [({"kind": "x"}, "kind must be"), ({"response_method": "x"}, "response_method must be")]:
        with pytest.raises(ValueError, match=message):
            partial_dependence(model, X, 0, **options)
    for feature in ("a", 4):
        with pytest.raises(ValueError, match="column"):
            partial_dependence(model, X, feature)
    with pytest.raises(TypeError, match="weighted median"):
        partial_dependence(MedBoostRegressor(n_estimators=2).fit(X, y), X, 0)
