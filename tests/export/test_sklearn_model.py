"""AdaBoost as scikit-learn's class: equal predictions on values that float32 holds, refusals by name.

Only exact ties are left out: there scikit-learn's sums have rounding errors.
"""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoostClassifier

from electorate import AdaBoostClassifier, RealAdaBoostClassifier, Stumps, Trees


def rows(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 4)).astype(np.float32).astype(np.float64)
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=200), np.arange(n_classes - 1) * 0.7)


def at_thresholds(model: AdaBoostClassifier, X: np.ndarray) -> np.ndarray:
    """Rows with the float32 values at, and next to, every threshold of the model."""
    cuts = model.ensemble_.threshold[model.ensemble_.column >= 0].astype(np.float32)
    beside = [np.nextafter(cuts, np.float32(side)) for side in (-np.inf, np.inf)]
    values = np.concatenate([cuts, *beside]).astype(np.float64)
    return np.concatenate([X, np.repeat(values[:, None], X.shape[1], axis=1)])


def not_tied(decision: np.ndarray) -> np.ndarray:
    """Rows whose first class leads by more than rounding errors."""
    if decision.ndim == 1:
        return np.abs(decision) > 1e-9
    ranked = np.sort(decision, axis=1)
    return ranked[:, -1] - ranked[:, -2] > 1e-9


@pytest.mark.parametrize("family", [Stumps(), Trees(3), Trees(2, criterion="edge")], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_are_equal(n_classes, family):
    X, y = rows(n_classes)
    model = AdaBoostClassifier(family, n_estimators=15, learning_rate=0.5).fit(X, np.array(["a", "b", "c"])[y])
    found = model.to_sklearn()
    assert type(found) is SklearnAdaBoostClassifier
    X = at_thresholds(model, X)
    clear = not_tied(model.decision_function(X))
    np.testing.assert_array_equal(found.predict(X)[clear], model.predict(X)[clear])
    np.testing.assert_allclose(found.decision_function(X), model.decision_function(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)
    assert len(list(found.staged_predict(X))) == len(model.steps_)


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y = rows(2)
    table = pandas.DataFrame(X, columns=list("abcd"))
    found = AdaBoostClassifier(n_estimators=3).fit(table, y).to_sklearn()
    assert found.feature_names_in_.tolist() == list("abcd")
    assert found.predict(table).shape == (200,)


def test_refusals():
    pandas = pytest.importorskip("pandas")
    X, y = rows(2)
    with pytest.raises(TypeError, match="no model that votes as RealAdaBoostClassifier does"):
        RealAdaBoostClassifier(n_estimators=3).fit(X, y).to_sklearn()
    jobs = pandas.DataFrame({"job": np.where(y == 1, "nurse", "pilot"), "a": X[:, 0]})
    with pytest.raises(TypeError, match="column 'job' holds categories"):
        AdaBoostClassifier(n_estimators=3).fit(jobs, y).to_sklearn()
    with pytest.raises(TypeError, match="two classes or more"):
        AdaBoostClassifier(n_estimators=3).fit(X, np.zeros(200)).to_sklearn()
    with pytest.raises(TypeError, match="voters that return a label"):
        AdaBoostClassifier(Trees(2, leaves="log_odds"), n_estimators=3).fit(X, y).to_sklearn()
