"""Dataframes and texts of a model hold all it takes to predict."""

import numpy as np
import pytest

from electorate import KernelSections, MedBoostRegressor, QuadBoostRegressor, RealAdaBoostClassifier
from tests.export.export_cases import fitted, rows, target


def walk(frame, row):
    """The votes of a row, from the dataframe of nodes alone."""
    total = 0.0
    for _, nodes in frame.groupby("voter"):
        nodes, at = nodes.set_index("node"), 0
        while isinstance(nodes.loc[at, "column"], str):
            node = nodes.loc[at]
            value = row[node["column"]]
            if value is None or value != value:
                left = node["missing"] == "left"
            elif node["categories"] is not None:
                left = value in node["categories"]
            else:
                left = value <= node["threshold"]
            at = int(node["left" if left else "right"])
        total += nodes.loc[at, "step"] * nodes.loc[at, "output"]
    return total


@pytest.mark.parametrize(
    ("name", "family"), [("AdaBoostRClassifier", "trees"), ("QuadBoostRegressor", "regression trees")]
)
def test_votes_follow_from_the_nodes(name, family):
    model = fitted(name, family, 2 if name.endswith("Classifier") else 0)
    frame, some = model.to_frame(), rows().head(20)
    found = np.array([walk(frame, row) for _, row in some.iterrows()])
    if name == "QuadBoostRegressor":
        assert np.allclose(model.intercept_ + found, model.predict(some), atol=1e-9)
    else:
        assert np.allclose(found, model.decision_function(some), atol=1e-9)


def test_a_column_per_class_and_nodes_of_a_median():
    assert {"output -7", "output 0", "output 12"} <= set(fitted("AdaBoostClassifier", "stumps", 3).to_frame())
    median = MedBoostRegressor(n_estimators=2).fit(rows(), target("QuadBoostRegressor", 0))
    assert {"output", "confidence"} <= set(median.to_frame())


def test_text_has_a_line_per_rule():
    model = fitted("AdaBoostClassifier", "stumps", 2)
    assert len(model.to_text().splitlines()) == model.ensemble_.n_voters


@pytest.mark.parametrize("model", [MedBoostRegressor(n_estimators=3), QuadBoostRegressor(n_estimators=3)], ids=repr)
def test_rules_of_regressors(model):
    model.fit(rows(), target("QuadBoostRegressor", 0))
    lines = model.to_text().splitlines()
    assert len(lines) >= len(model.steps_)
    assert lines[0].startswith(f"{model.steps_[0]:+.4f}  if ")


def test_voters_without_nodes_are_refused():
    X = rows()[["a"]].fillna(0.0)
    model = RealAdaBoostClassifier(KernelSections(), n_estimators=2).fit(X, target("AdaBoostClassifier", 2))
    with pytest.raises(TypeError, match="to_frame is for electorate's trees"):
        model.to_frame()
