"""Models on wide columns in the order of the mean target: what they equal, what they keep, what is refused."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    DeepBoostClassifier,
    EBBoostClassifier,
    LogisticAdaBoostClassifier,
    LPBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    RLPBoostClassifier,
    Rules,
    Stumps,
    Trees,
    Union,
    VadaBoostClassifier,
    certificate,
    export_input,
    load,
    scan,
)

CLASSIFIERS = [
    AdaBoostClassifier(Trees(3), n_estimators=8),
    AdaBoostClassifier(Stumps(), n_estimators=8),
    AdaBoostClassifier(PairedStumps(), n_estimators=4),
    AdaBoostClassifier(Union([Stumps(), Trees(2)]), n_estimators=4),
    RealAdaBoostClassifier(Trees(2), n_estimators=6),
    LogisticAdaBoostClassifier(Trees(6, max_features="sqrt", min_samples_leaf=5, leaves="gentle"), n_estimators=6),
    DeepBoostClassifier(Trees(2), n_estimators=6),
    AdaBoostRClassifier(Trees(2), n_estimators=6),
    VadaBoostClassifier(n_estimators=6),
    EBBoostClassifier(n_estimators=6),
    EBBoostClassifier(PairedStumps(), n_estimators=3),
    QuadBoostClassifier(Stumps(), n_estimators=6),
    LPBoostClassifier(n_estimators=6),
    RLPBoostClassifier(n_estimators=6),
]
REGRESSORS = [
    QuadBoostRegressor(RegressionTrees(3), n_estimators=8),
    MedBoostRegressor(RegressionTrees(3), n_estimators=6),
    AdaBoostRegressor(RegressionTrees(3), n_estimators=6),
]
MODELS = [model.set_params(order_categories=12) for model in CLASSIFIERS + REGRESSORS]


def wide(rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """A text column of 40 categories with effects, codes of 15 categories, 3 letters, numbers; missing values."""
    rng = np.random.default_rng(seed)
    town, code = rng.integers(0, 40, rows) ** 2 // 40, rng.integers(0, 15, rows)
    frame = pd.DataFrame(
        {
            "town": [f"town {k:02}" for k in town],
            "code": code * 10.0,
            "letter": rng.choice(list("abc"), rows),
            "number": rng.normal(size=rows),
        }
    )
    effect = np.random.default_rng(1).normal(size=40)
    score = 2 * effect[town] + 0.5 * np.cos(code) + frame["number"].to_numpy() + 0.5 * rng.normal(size=rows)
    frame.loc[rng.random(rows) < 0.1, "town"] = None
    frame.loc[rng.random(rows) < 0.1, "code"] = np.nan
    frame["code"] = frame["code"].astype("category")
    return frame, score


def rows_for(model: Any, rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    X, score = wide(rows, seed)
    return X, score if is_regressor(model) else np.where(score > 0, "yes", "no")


def kind_of(model: Any) -> str:
    return f"{type(model).__name__}-{type(model._family()).__name__}"


each_model = pytest.mark.parametrize("model", MODELS, ids=kind_of)


def as_numbers(model: Any, X: pd.DataFrame) -> pd.DataFrame:
    """The ordered columns as the ranks of their categories, which are then numbers."""
    numbers = X.copy()
    for column, ranks in model.bins_.ranks.items():
        known = model.bins_.categories[column]
        codes = {level: code for code, level in enumerate(known.levels.tolist())}
        codes |= dict.fromkeys(known.rest, len(known.levels))
        rank = {level: float(ranks[code]) for level, code in codes.items()}
        numbers[X.columns[column]] = [rank.get(level, np.nan) for level in X.iloc[:, column].tolist()]
    return numbers


@each_model
def test_it_equals_a_fit_to_the_ranks_as_numbers(model: Any) -> None:
    X, y = rows_for(model)
    fitted = clone(model).fit(X, y)
    assert sorted(fitted.bins_.ranks) == [0, 1]  # three letters are too few
    numbers = as_numbers(fitted, X)
    twin = clone(model).set_params(order_categories=None).fit(numbers, y)
    new = wide(200, seed=5)[0]
    np.testing.assert_array_equal(fitted.predict(X), twin.predict(numbers))
    np.testing.assert_array_equal(fitted.predict(new), twin.predict(as_numbers(fitted, new)))


@each_model
def test_rows_threads_and_weights_do_not_matter(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows_for(model)
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(3).permutation(np.repeat(np.arange(len(y)), weight))
    repeated = clone(model).set_params(n_jobs=4)
    monkeypatch.setattr(type(repeated), "_n_shards", 3)
    repeated.fit(X.iloc[order], y[order])
    if isinstance(model, RLPBoostClassifier):  # a solver: equal up to its tolerance
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    else:
        assert weighted.digest_ == repeated.digest_


@each_model
def test_a_loaded_model_is_the_fitted_one(model: Any, tmp_path: Path) -> None:
    X, y = rows_for(model)
    fitted = clone(model).fit(X, y)
    fitted.save(tmp_path / "model")
    loaded, new = load(tmp_path / "model"), wide(200, seed=5)[0]
    assert loaded.digest_ == fitted.digest_
    assert loaded.order_categories == 12
    np.testing.assert_array_equal(loaded.predict(new), fitted.predict(new))


@pytest.mark.parametrize("model", [model for model in MODELS if "warm_start" in model.get_params()], ids=kind_of)
def test_a_warm_start_adds_rounds(model: Any, tmp_path: Path) -> None:
    X, y = rows_for(model)
    whole = clone(model).fit(X, y)
    half = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, y)
    half.save(tmp_path / "model")
    for started in (half, load(tmp_path / "model")):
        assert started.set_params(n_estimators=whole.n_estimators).fit(X, y).digest_ == whole.digest_


@pytest.mark.parametrize("model", [MODELS[0], MODELS[5], *REGRESSORS[1:]], ids=kind_of)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_scanned_table_gives_the_same_model(model: Any, weighted: bool, tmp_path: Path) -> None:
    X, y = rows_for(model)
    weight = np.random.default_rng(2).integers(1, 4, len(y)) if weighted else None
    table = X.assign(code=X["code"].astype(str).where(X["code"].notna(), None), y=y)
    more = {} if weight is None else {"weights": "weight"}
    (table if weight is None else table.assign(weight=weight)).to_parquet(tmp_path / "t.parquet", row_group_size=90)
    rows = scan(tmp_path / "t.parquet", target="y", **more)
    here = clone(model).fit(table[X.columns], y, sample_weight=weight)
    assert here.bins_.ranks
    assert clone(model).fit(*rows).digest_ == here.digest_


@each_model
def test_unseen_categories_are_missing_values(model: Any) -> None:
    X, y = rows_for(model)
    fitted = clone(model).fit(X, y)
    unseen = X.assign(town="nowhere")
    np.testing.assert_array_equal(fitted.predict(unseen), fitted.predict(X.assign(town=None)))


def test_narrow_tables_are_fitted_as_without_the_option() -> None:
    X, score = wide()
    model = AdaBoostClassifier(Trees(3), n_estimators=8)
    ordered = clone(model).set_params(order_categories=41).fit(X, score > 0)
    assert not ordered.bins_.ranks
    assert ordered.digest_ == model.fit(X, score > 0).digest_


def test_more_than_two_classes_are_fitted_by_sets() -> None:
    X, score = wide()
    y = np.digitize(score, [-1.0, 1.0])
    model = AdaBoostClassifier(Trees(3), n_estimators=8)
    assert clone(model).set_params(order_categories=12).fit(X, y).digest_ == model.fit(X, y).digest_


def test_early_stopping_orders_by_the_training_rows_only() -> None:
    X, score = wide()
    model = AdaBoostClassifier(Trees(3), n_estimators=8, order_categories=12, early_stopping=True)
    new, new_score = wide(200, seed=5)
    one = clone(model).fit(X, score > 0, X_val=new, y_val=new_score > 0)
    other = clone(model).fit(X, score > 0, X_val=new, y_val=new_score <= 0)
    for column, ranks in one.bins_.ranks.items():
        np.testing.assert_array_equal(ranks, other.bins_.ranks[column])


def test_margins_of_the_training_rows_are_those_of_predictions() -> None:
    X, score = wide()
    y = score > 0
    model = RealAdaBoostClassifier(Trees(3), n_estimators=30, order_categories=12).fit(X, y)
    assert model.history_["train_error"][-1] == np.mean(model.predict(X) != y)
    loss = np.mean(np.exp(-np.where(y, 1, -1) * model.decision_function(X)))
    assert loss == pytest.approx(model.history_["objective"][-1])


@pytest.mark.parametrize("model", [Stumps(), Trees(3)], ids=["stumps", "trees"])
def test_exports_agree_with_predictions(model: Any) -> None:
    pytest.importorskip("onnxruntime")
    import onnxruntime

    X, score = wide()
    fitted = AdaBoostClassifier(model, n_estimators=8, order_categories=12).fit(X, np.where(score > 0, "yes", "no"))
    new = wide(200, seed=5)[0].assign(town=lambda frame: frame["town"].replace("town 03", "nowhere"))
    session = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: export_input(fitted, new)})[0]
    np.testing.assert_array_equal(np.asarray(found).ravel(), fitted.predict(new))


def test_sql_agrees_with_predictions() -> None:
    X, score = wide()
    fitted = AdaBoostClassifier(Trees(3), n_estimators=8, order_categories=12).fit(X, np.where(score > 0, "yes", "no"))
    new = wide(200, seed=5)[0]
    with closing(sqlite3.connect(":memory:")) as connection:
        new.assign(code=new["code"].astype(float)).to_sql("t", connection, index=False)
        found = pd.read_sql_query(fitted.to_sql("t"), connection)["prediction"].tolist()
    assert found == fitted.predict(new).tolist()


@pytest.mark.parametrize("family", [Rules(2), Pool(5), Union([Stumps(), Rules(2)])], ids=["rules", "pool", "union"])
def test_families_whose_voters_would_depend_on_the_labels_are_refused(family: Any) -> None:
    X, score = wide(60)
    with pytest.raises(ValueError, match=r"order_categories=12 needs Stumps, PairedStumps, Trees"):
        AdaBoostClassifier(family, order_categories=12).fit(X, score > 0)
    with pytest.raises(ValueError, match="'order_categories' parameter"):
        AdaBoostClassifier(order_categories=1).fit(X, score > 0)


def test_certificates_count_all_sets_of_categories() -> None:
    X, score = wide()
    y = score > 0
    sets = AdaBoostClassifier(Stumps(), n_estimators=8).fit(X, y)
    ordered = clone(sets).set_params(order_categories=12).fit(X, y)
    found = [certificate(model, train=(X, y)).risk for model in (sets, ordered)]
    assert [bound.name for bound in found[0]] == [bound.name for bound in found[1]]
    drawn = str(certificate(ordered, train=(X, y), draws=5))
    assert "draws=5 needs bins that do not depend on the labels" in " ".join(drawn.split())


def test_monotone_columns_beside_ordered_ones() -> None:
    X, score = wide()
    model = LogisticAdaBoostClassifier(Trees(3, monotonic_cst=[0, 0, 0, 1]), n_estimators=8, order_categories=12)
    fitted = clone(model).fit(X, score > 0)
    rising = [fitted.decision_function(X.assign(number=number)) for number in (-2.0, 0.0, 2.0)]
    assert np.all(np.diff(rising, axis=0) >= 0)
    with pytest.raises(ValueError, match="column 0, which has categories"):
        model.set_params(estimator__monotonic_cst=[1, 0, 0, 0]).fit(X, score > 0)


def test_deepboost_prices_all_sets_of_categories() -> None:
    X, score = wide()
    model = DeepBoostClassifier(Stumps(), n_estimators=4, lam=1e-3, complexity="provable")
    from electorate.voters.prices import shape_of

    ordered = clone(model).set_params(order_categories=12).fit(X, score > 0)
    known = ordered.bins_.categories
    levels = [len(known[j].levels) + len(known[j].rest) + 1 for j in (0, 1)]
    assert shape_of(ordered.bins_).levels[:2] == tuple(levels)
