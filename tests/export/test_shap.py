"""What shap computes from an exported model is what `contributions` computes; both add up to the decision."""

import numpy as np
import pytest

from electorate.export import export_input
from electorate.inspection import contributions
from tests.export.export_cases import fitted, rows

shap = pytest.importorskip("shap", reason="shap is not installed")
MODELS = [
    ("AdaBoostClassifier", "stumps", 2),
    ("AdaBoostClassifier", "trees", 3),
    ("RealAdaBoostClassifier", "log-odds", 3),
    ("LPBoostClassifier", "pairs", 2),
    ("QuadBoostRegressor", "regression trees", 0),
]


def numbers_of(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize(("name", "family", "n_labels"), MODELS)
def test_shap_agrees(name, family, n_labels):
    model = fitted(name, family, n_labels)
    X, background = export_input(model, rows()), export_input(model, rows().head(40))
    explainer = shap.TreeExplainer(model.to_shap(), data=background, feature_perturbation="interventional")
    found = np.asarray(explainer.shap_values(X, check_additivity=False))
    ours = contributions(model, rows(), background=rows().head(40))
    values = ours.values if found.ndim == 2 else np.moveaxis(ours.values, 0, -1)
    assert np.allclose(found, values, atol=1e-6)  # shap's own sums have single precision
    assert np.allclose(explainer.expected_value, ours.base, atol=1e-6)


@pytest.mark.parametrize(("name", "family", "n_labels"), MODELS)
def test_shap_predicts_the_same(name, family, n_labels):
    model = fitted(name, family, n_labels)
    ensemble = shap.TreeExplainer(model.to_shap(rows())).model
    assert np.allclose(ensemble.predict(export_input(model, rows())), numbers_of(model, rows()), atol=1e-12)


@pytest.mark.parametrize(("name", "family", "n_labels"), MODELS)
def test_path_dependent_values_add_up(name, family, n_labels):
    model = fitted(name, family, n_labels)
    explainer = shap.TreeExplainer(model.to_shap(rows()), feature_perturbation="tree_path_dependent")
    found = np.asarray(explainer.shap_values(export_input(model, rows()), check_additivity=False))
    assert np.allclose(found.sum(axis=1) + explainer.expected_value, numbers_of(model, rows()), atol=1e-6)
