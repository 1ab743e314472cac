"""explain: votes add up, counterfactuals turn the vote and nothing closer does, shuffled columns matter."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from electorate import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    CrossFittedClassifier,
    LocMedBoostRegressor,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Stumps,
    Trees,
    check_up,
    explain,
    margins,
)
from electorate.inspection import contributions
from electorate.report import html_report


def table(n_labels, n=90):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "unused"])
    X.loc[::7, "a"] = np.nan
    X["kind"] = rng.choice(["p", "q", "r"], n)
    score = X["a"].fillna(0.5) + X["b"] * (X["kind"] == "q") + rng.normal(scale=0.3, size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_labels) / n_labels)) if n_labels else score
    return X, np.asarray(y)


MODELS = [
    (AdaBoostClassifier(Stumps(), n_estimators=15), 2),
    (AdaBoostClassifier(Trees(3), n_estimators=8), 3),
    (RealAdaBoostClassifier(Trees(2), n_estimators=6), 3),
]


@pytest.fixture(scope="module", params=MODELS, ids=repr)
def fitted(request):
    model, n_labels = request.param
    X, y = table(n_labels)
    return model.fit(X, y), X, y


def test_votes_of_a_row_add_up(fitted):
    model, X, _ = fitted
    for row in (0, 1, 50):
        found = explain(model, X, row=row).row
        f = model._votes(X)[:, row] / 2.0**40
        first = model.classes_.tolist().index(found.prediction)
        wanted = abs(f[0]) if len(f) == 1 else f[first] - np.max(np.delete(f, first))
        assert sum(vote.vote for vote in found.votes) == pytest.approx(wanted, abs=1e-9)
        assert found.prediction == model.predict(X)[row]
        assert len(found.in_favour) + len(found.against) <= len(found.votes) == len(model.ensemble_.steps)


def test_margins_are_ranked_among_the_rows(fitted):
    model, X, _ = fitted
    found = explain(model, X, row=3).row
    every = margins(model, X, model.predict(X)).values
    assert found.margin == pytest.approx(every[3])
    assert found.share_below == pytest.approx(np.mean(every < every[3]))


def test_columns_are_shapley_values(fitted):
    model, X, _ = fitted
    found = explain(model, X, row=2).row
    values = contributions(model, X.iloc[[2]], X).values
    code = model.classes_.tolist().index(found.prediction)
    wanted = values[code, 0] if values.ndim == 3 else values[0] * (1 if code else -1)
    assert dict(found.columns) == pytest.approx({n: v for n, v in zip(X, wanted, strict=True) if v}, abs=1e-12)


def test_counterfactuals_turn_the_vote_and_nothing_closer_does(fitted):
    model, X, _ = fitted
    rng, seen = np.random.default_rng(1), 0
    for row in range(0, 30, 3):
        found = explain(model, X, row=row).row
        own = X.iloc[[row]]
        by_column = {one.column: one for one in found.counterfactuals}
        for name, one in by_column.items():
            changed = own.assign(**{name: one.value})
            assert model.predict(changed)[0] == one.label != found.prediction
            seen += 1
        for name in ("a", "b"):
            x = own[name].item()
            if x != x:
                continue
            reach = abs(by_column[name].value - x) if name in by_column else 10.0
            closer = x + rng.uniform(-1, 1, 200) * reach * (1 - 1e-9)
            tried = pd.concat([own] * 200, ignore_index=True).assign(**{name: closer})
            assert set(model.predict(tried)) == {found.prediction}
        for level in set("pqr") - {own["kind"].item()}:
            turns = model.predict(own.assign(kind=level))[0] != found.prediction
            assert turns <= ("kind" in by_column)
    assert seen > 5


def test_importances(fitted):
    model, X, y = fitted
    for labels in (y, None):
        found = explain(model, X, labels).importances
        assert found.names[found.order[0]] == "a"
        assert found.permutation[0] > 0.05
        assert found.margin is not None
        assert found.margin[0] > 0
        np.testing.assert_array_equal(found.split, model.feature_importances_)


def test_text_shows_everything(fitted):
    model, X, y = fitted
    text = str(explain(model, X, y, row=0))
    for title in ("Importances", "Rules", "Row 0", "voters for it", "Shapley"):
        assert title in text


@pytest.mark.parametrize("container", ["polars", "numpy", "sparse"])
def test_other_containers(container):
    from scipy.sparse import csr_matrix

    X, y = table(2)
    X = X[["b", "unused"]]
    given = {"polars": __import__("polars").from_pandas(X), "numpy": X.to_numpy(), "sparse": csr_matrix(X.to_numpy())}
    model = AdaBoostClassifier(n_estimators=5)
    found = explain(model.fit(given[container], y), given[container], y, row=1)
    wanted = explain(model.fit(X, y), X, y, row=1)
    np.testing.assert_allclose(found.importances.permutation, wanted.importances.permutation)
    assert [vote.vote for vote in found.row.votes] == [vote.vote for vote in wanted.row.votes]


def test_regressors():
    X, y = table(0)
    model = QuadBoostRegressor(RegressionTrees(2), n_estimators=6).fit(X, y)
    found = explain(model, X, y, row=4)
    total = model.intercept_ + sum(vote.vote for vote in found.row.votes)
    assert total == pytest.approx(model.predict(X)[4])
    assert found.row.margin is None
    assert "voters that raise it" in str(found)
    median = explain(MedBoostRegressor(n_estimators=3).fit(X, y), X, y)
    assert median.rules is not None
    assert median.importances.permutation[0] > 0


def test_what_is_refused():
    X, y = table(2)
    with pytest.raises(ValueError, match="row 90 does not exist: X has 90 rows"):
        explain(AdaBoostClassifier(n_estimators=2).fit(X, y), X, row=90)
    with pytest.raises(ValueError, match="row 90 does not exist: X has 90 rows"):
        explain(MedBoostRegressor(n_estimators=2).fit(X, y), X, row=90)
    with pytest.raises(TypeError, match="weighted median"):
        explain(MedBoostRegressor(DecisionTreeRegressor(), n_estimators=2).fit(X[["b"]], y), X[["b"]], row=0)


def test_models_that_combine_several_are_refused():
    X, y = table(2)
    model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=2), n_folds=2).fit(X, y)
    for function in (explain, html_report):
        with pytest.raises(TypeError, match="CrossFittedClassifier is not one: pass one of its estimators_"):
            function(model, X, y)


@pytest.mark.parametrize("model", [AdaBoostRegressor, MedBoostRegressor, LocMedBoostRegressor])
def test_a_row_of_a_median(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=80), "z": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    y = X["x"] + 2.0 * (X["kind"] == "a")
    fitted = model(RegressionTrees(2), n_estimators=7).fit(X, y)
    found = explain(fitted, X, y, row=5).row
    assert found.prediction == fitted.predict(X)[5]
    outputs = np.array([voter.predict(X)[5] for voter in fitted.estimators_])
    for vote in found.votes:
        assert np.sign(vote.vote) in (0, np.sign(outputs[vote.voter] - found.prediction))
    above, below = (sum(abs(vote.vote) for vote in side) for side in (found.in_favour, found.against))
    assert max(above, below) <= 0.5 + 1e-12
    assert dict(found.columns).keys() <= {"x", "z", "kind"}
    assert "voters above it" in explain(fitted, X, row=5).to_text()


def test_names_have_no_effect_on_a_terminal():
    X, y = table(2)
    X = X.rename(columns={"a": "\x1b[31mred\n"})
    text = str(explain(AdaBoostClassifier(n_estimators=3).fit(X, y), X, row=0))
    assert "\x1b" not in text
    assert "\\x1b[31mred\\n" in text


def test_a_cleaned_table_is_explained_by_its_cleaned_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    X = pd.DataFrame({"id": [f"C-{k:03d}" for k in range(120)], "noise": rng.normal(size=120), "x": x})
    y = np.where(x > 0, "u", "v")
    model = check_up(X, y).fit(AdaBoostClassifier(n_estimators=5), X, y)
    found = explain(model, X, y, row=3)
    assert found.importances.names == ["noise", "x"]
    assert found.importances.permutation[1] > 0.3
    assert found.row.prediction == y[3]
    assert {one.column for one in found.row.counterfactuals} == {"x"}
