"""Models of scikit-learn in the form of this package: the same predictions, before and after a file."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from samples import messy, noisy
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import electorate
from electorate import StackedClassifier, StackedRegressor, check_up, modelfile
from electorate.estimators import outside_fits
from electorate.estimators.peers import PeerClassifier, PeerRegressor
from electorate.model.decisions import log_probabilities
from electorate.model.float_model import decision_of, probabilities_of
from electorate.modelfile import ModelFormatError
from electorate.threads import ThreadPool

FEW: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
ROUNDS: dict[str, Any] = {"max_iter": 6, "random_state": 0, "early_stopping": False}
KINDS = list(outside_fits.KINDS)
TASKS = [2, 5, 0]  # classes; 0 for regression


@pytest.fixture(autouse=True)
def one_thread_for_openmp() -> Any:
    """Threads of other processes on the same cores make gradient boosting of small tables slow."""
    with threadpool_limits(1):
        yield


def peer(kind: Any, task: int, **settings: Any) -> Any:
    few = {"n_estimators": 5} if kind in ("random_forest", "extra_trees", "hgb") else {}
    return (PeerClassifier if task else PeerRegressor)(kind, **{**few, **settings})


def table(name: str, task: int, n: int = 200) -> tuple[Any, Any]:
    X, y = messy(n, max(task, 2), seed=task)
    if not task:
        y = np.nan_to_num(X[:, 0]) + 2.0 * np.nan_to_num(X[:, 3]) ** 2
    if name == "numbers":
        return X, y
    if name == "sparse":
        return sparse.csr_array(np.nan_to_num(X)), y
    frame = pd.DataFrame(X, columns=list("abcde"))
    texts = np.array(["u", "v", "w", "rare", "x"], dtype=object)[np.nan_to_num(X[:, 3]).astype(int)]
    frame["d"] = np.where(np.isnan(X[:, 3]), None, texts)
    if name == "categories":
        frame["d"] = frame["d"].astype("category")
    return frame, y


def output(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def reloaded(model: Any, folder: Path) -> Any:
    model.save(folder / "one.model")
    return electorate.load(folder / "one.model")


# ---------------------------------------------------------------- scikit-learn


@parametrize_with_checks(
    [
        kind(model, **settings)
        for kind in (PeerClassifier, PeerRegressor)
        for model, settings in (
            ("linear", {}),
            ("hgb", {"n_estimators": 5}),
            ("extra_trees", {"n_estimators": 10, "max_depth": 3}),
        )
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


MODELS = [
    RandomForestClassifier(**FEW),
    RandomForestClassifier(max_leaf_nodes=7, **FEW),
    RandomForestRegressor(**FEW),
    ExtraTreesClassifier(**FEW),
    ExtraTreesRegressor(**FEW),
    DecisionTreeClassifier(random_state=0),
    DecisionTreeRegressor(random_state=0),
    ExtraTreeClassifier(random_state=0),
    ExtraTreeRegressor(random_state=0),
    HistGradientBoostingClassifier(**ROUNDS),
    HistGradientBoostingRegressor(**ROUNDS),
    HistGradientBoostingRegressor(loss="poisson", **ROUNDS),
    HistGradientBoostingRegressor(loss="absolute_error", **ROUNDS),
    GradientBoostingClassifier(**FEW),
    GradientBoostingClassifier(init="zero", **FEW),
    GradientBoostingRegressor(loss="huber", **FEW),
    DummyClassifier(strategy="prior"),
    DummyClassifier(strategy="most_frequent"),
    DummyRegressor(strategy="quantile", quantile=0.3),
]


@pytest.mark.parametrize("labels", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_trees_predict_as_scikit_learn_bit_for_bit(estimator: Any, labels: int, weighted: bool) -> None:
    X, y = messy(300, labels)
    if "Gradient" in type(estimator).__name__ and "Hist" not in type(estimator).__name__:
        X = np.nan_to_num(X)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    new = np.concatenate([X, 1e3 * messy(200, labels, seed=5)[0]])
    new[:50] = np.nextafter(X[:50].astype(np.float32), np.float32(np.inf))  # beside the thresholds, too
    if "Gradient" in type(estimator).__name__ and "Hist" not in type(estimator).__name__:
        new = np.nan_to_num(new)
    original = clone(estimator).fit(X, y, sample_weight=weight)
    ours = (PeerClassifier if hasattr(original, "classes_") else PeerRegressor)(estimator).fit(X, y, weight)
    assert np.array_equal(ours.predict(new), original.predict(new))
    assert np.array_equal(output(ours, new), output(original, new))
    if hasattr(original, "staged_predict"):
        for mine, theirs in zip(ours.staged_predict(new), original.staged_predict(new), strict=True):
            assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("early", [False, True])
def test_histogram_boosting_splits_categories_by_sets_as_scikit_learn(task: int, early: bool) -> None:
    rng = np.random.default_rng(task)
    X, y = messy(600, max(task, 2))
    X[:, 1] = rng.integers(0, 40, 600)  # more than a word of 32 bits
    X[::11, 1] = np.nan
    y = y if task else 3 * np.nan_to_num(X[:, 3]) + X[:, 1].clip(3, 30) % 7
    y = np.nan_to_num(y)
    kind = HistGradientBoostingClassifier if task else HistGradientBoostingRegressor
    options = {"max_iter": 8, "random_state": 3, "n_iter_no_change": 20, "early_stopping": early}
    original = kind(categorical_features=[1, 3], **options).fit(X, y)
    ours = peer("hgb", task, n_estimators=8, categorical_features=[1, 3], early_stopping=early, random_state=3)
    ours.fit(X, y)
    new = X.copy()
    new[:40, 1] = 99  # unknown: as missing
    assert np.array_equal(output(ours, new), output(original, new))
    assert len(ours.arrays_.sets) > 0
    stages = "staged_predict_proba" if task else "staged_predict"
    for mine, theirs in zip(getattr(ours, stages)(new), getattr(original, stages)(new), strict=True):
        assert np.array_equal(mine, theirs)


def test_columns_of_too_many_categories_are_split_by_thresholds() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"wide": [f"{k:04}" for k in rng.permutation(600)], "few": rng.choice(["a", "b"], 600)})
    y = (X["wide"].astype(int) > 300) ^ (X["few"] == "a")
    model = PeerClassifier("hgb", n_estimators=30).fit(X, y)
    assert model.score(X, y) > 0.95
    assert set(model.arrays_.column[model.arrays_.member >= 0].tolist()) <= {1}


@pytest.mark.parametrize("task", [2, 4, 0])
@pytest.mark.parametrize("categorical", [[], [3]])
def test_linear_models_are_those_of_a_pipeline(task: int, categorical: list[int]) -> None:
    """Imputation by the mean, standardisation, and indicators of categories; those of fewer than 10 rows share one."""
    X, y = messy(400, max(task, 2))
    X[:7, 3], X[7:12, 3], X[:, 2] = 8, 9, 1e6  # two rare categories, and a constant column
    y = y if task else np.nan_to_num(X[:, 0]) + 0.1 * y
    numbers = [column for column in range(5) if column not in categorical]
    prepare = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("codes", OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10), categorical),
        ],
        sparse_threshold=0,
    ).fit(X)
    last = LogisticRegression(C=0.5, tol=1e-8, max_iter=10_000) if task else Ridge(2.0)
    ours = (PeerClassifier if task else PeerRegressor)(last, categorical_features=categorical).fit(X, y)
    new = messy(100, 2, seed=9)[0]
    new[:9, 3] = np.nan
    original = clone(last).fit(prepare.transform(X), y)
    expected = output(original, prepare.transform(new))
    unknown = new.copy()
    unknown[:9, 3] = 77 if categorical else np.nan  # as missing
    np.testing.assert_allclose(output(ours, unknown), expected, rtol=0, atol=1e-3 if task else 1e-9)  # solvers stop
    fitted = clone(last)
    levels = sorted(set(X[:, 3][~np.isnan(X[:, 3])])) if categorical else []
    coded = X.copy()
    coded[:, categorical] = np.where(np.isnan(X), np.nan, np.searchsorted(levels, X))[:, categorical]
    arrays = outside_fits.fit_to_arrays(fitted, coded, y, None, dict.fromkeys(categorical, len(levels)))
    coded = new.copy()
    known = np.isin(new, levels)
    coded[:, categorical] = np.where(known, np.searchsorted(levels, new), np.nan)[:, categorical]
    with ThreadPool(1) as pool:
        raw = arrays.raw(100, lambda low, high: coded[low:high].T, 5, pool)
    mine = probabilities_of(raw, arrays.link) if task else raw[:, 0]
    np.testing.assert_allclose(mine, output(fitted, prepare.transform(new)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("power", [-900, 900])
def test_linear_models_do_not_depend_on_the_unit_of_a_column(power: int) -> None:
    X, y = messy()
    model, other = PeerClassifier("linear").fit(X, y), PeerClassifier("linear").fit(X * 2.0**power, y)
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X * 2.0**power))


def test_linear_models_of_sparse_matrices_are_those_of_a_pipeline() -> None:
    X, y = table("sparse", 0)
    original = make_pipeline(MaxAbsScaler(), Ridge(0.1)).fit(X, y)
    ours = PeerRegressor("linear", C=10).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), original.predict(X), rtol=1e-4)
    assert np.array_equal(ours.predict(X), ours.predict(X.toarray()))  # a row is a row


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), RidgeCV(), Lasso(0.1), ElasticNet(0.1)], ids=repr)
def test_regressions_of_scikit_learn_can_be_given(model: Any, tmp_path: Path) -> None:
    X, y = noisy()
    ours = PeerRegressor(model).fit(X, y)
    scaled = StandardScaler().fit(X)
    expected = clone(model).fit(scaled.transform(X), y).predict(scaled.transform(X))
    np.testing.assert_allclose(ours.predict(X), expected, rtol=1e-9, atol=1e-9)
    again = reloaded(ours, tmp_path)
    assert repr(again) == repr(ours)
    assert np.array_equal(again.predict(X), ours.predict(X))


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("name", ["numbers", "categories", "texts", "sparse"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_same_model(kind: str, task: int, name: str, tmp_path: Path) -> None:
    X, y = table(name, task)
    if task:
        y = np.array(list("vwxyz"))[y]
    model = peer(kind, task).fit(X, y)
    again = reloaded(model, tmp_path)
    new = table(name, task, 120)[0]
    assert np.array_equal(output(again, new), output(model, new))
    assert np.array_equal(again.predict(new), model.predict(new))
    assert again.digest_ == model.digest_
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    again.save(tmp_path / "two.model")
    assert (tmp_path / "two.model").read_bytes() == (tmp_path / "one.model").read_bytes()
    if task:
        assert np.array_equal(again.classes_, model.classes_)
        decision = model.decision_function(new)
        best = (decision > 0).astype(int) if task == 2 else decision.argmax(axis=1)
        assert np.array_equal(model.classes_[best], model.predict(new))
        assert np.array_equal(model.classes_[model.predict_proba(new).argmax(axis=1)], model.predict(new))


@pytest.mark.parametrize("kind", KINDS)
def test_pickles_and_clones_and_settings(kind: str) -> None:
    X, y = noisy(labels=3)
    model = PeerClassifier(kind, C=0.5) if kind == "linear" else peer(kind, 3)
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).fit(X, y).digest_ == model.digest_
    assert clone(model).set_params(model="hgb", C=None, n_estimators=7, learning_rate=0.3).fit(X, y).n_iter_ == 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", [2, 0])
def test_containers_of_equal_values_give_equal_models(kind: str, task: int) -> None:
    X, y = table("texts", task)
    frames = [X, pl.from_pandas(X), pa.Table.from_pandas(X, preserve_index=False)]
    models = [peer(kind, task).fit(frame, y) for frame in frames]
    assert len({model.digest_ for model in models}) == 1
    assert len({output(model, frame).tobytes() for model, frame in zip(models, frames, strict=True)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_depends_on_the_rows_beside_it(kind: str) -> None:
    X, y = table("texts", 5)
    model = peer(kind, 5, n_jobs=2).fit(X, y)
    one_by_one = np.concatenate([model.predict_proba(X.iloc[[row]]) for row in range(20)])
    assert np.array_equal(one_by_one, model.predict_proba(X)[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_categories_that_training_rows_lack_are_missing(kind: str) -> None:
    X, y = table("texts", 2)
    model = peer(kind, 2).fit(X, y)
    unknown, missing = X.assign(d="never seen"), X.assign(d=None)
    assert np.array_equal(model.predict_proba(unknown), model.predict_proba(missing))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_weight_zero_are_left_out(kind: str) -> None:
    X, y = table("texts", 2)
    weight = np.ones(len(y))
    weight[::4] = 0
    X.loc[::4, "d"] = "only there"
    kept = peer(kind, 2).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    assert peer(kind, 2).fit(X, y, weight).digest_ == kept.digest_
    with pytest.raises(ValueError, match="weight"):
        peer(kind, 2).fit(X, y, np.zeros(len(y)))


def test_numbers_beyond_32_bits_are_the_largest_for_a_forest() -> None:
    X, y = noisy()
    X[y == 1, 2] = 1e200
    model = PeerClassifier("extra_trees", n_estimators=20).fit(X, y)
    assert model.score(X, y) == 1.0
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.where(X > 1e100, np.inf, X))


def test_balanced_classes_weigh_the_same() -> None:
    X, y = noisy(labels=3)
    rows = np.flatnonzero((y < 2) | (np.arange(len(y)) % 9 == 0))
    model = PeerClassifier("constant", class_weight="balanced").fit(X[rows], y[rows])
    assert model.predict_proba(X[:1])[0] == pytest.approx([1 / 3] * 3)
    with pytest.raises(ValueError, match=r"learning_rate=0.1: model='linear' has no such setting"):
        PeerClassifier("linear", learning_rate=0.1).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_one_class(kind: str, tmp_path: Path) -> None:
    X, _ = noisy(30)
    model = reloaded(peer(kind, 2).fit(X, np.full(30, "only")), tmp_path)
    assert set(model.predict(X)) == {"only"}
    assert np.array_equal(model.predict_proba(X), np.ones((30, 1)))
    assert model.decision_function(X).shape == (30, 1)


def test_equal_shares_are_the_first_class_and_rounding_breaks_no_tie() -> None:
    rng = np.random.default_rng(0)
    shares = rng.integers(0, 4, (2000, 3)) / 3
    shares[:, 2] = shares[:, 1] * (1 + rng.integers(-1, 2, 2000) * 2.0**-52)
    for raw in (shares, shares[:, 1:]):
        decision = decision_of(raw, "share")
        best = decision > 0 if raw.shape[1] == 2 else decision.argmax(axis=1)
        assert np.array_equal(best.astype(int), raw.argmax(axis=1))


# ---------------------------------------------------------------- what else a model has


@pytest.mark.parametrize("kind", KINDS)
def test_a_temperature_calibrates(kind: str, tmp_path: Path) -> None:
    X, y = noisy(labels=3)
    model = peer(kind, 3).fit(X, y)
    before, decision = model.predict(X), model.decision_function(X)
    model.temperature_ = 0.4
    again = reloaded(model, tmp_path)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(log_probabilities(decision, 0.4)), rtol=1e-12)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(model.predict(X), before)
    assert not hasattr(model.fit(X, y), "temperature_")


@pytest.mark.parametrize("kind", KINDS)
def test_a_cleaning_and_the_rows_of_the_fit_are_stored(kind: str, tmp_path: Path) -> None:
    X, y = table("texts", 2)
    X["when"] = pd.date_range("2020-02-01", periods=len(X)).strftime("%d/%m/%Y")
    model = check_up(X, y).fit(peer(kind, 2), X, y)
    assert model.cleaning_ is not None
    model.held_out_ = {"rows": 3, "digest": model.digest_}
    again = reloaded(model, tmp_path)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.held_out_ == model.held_out_
    with pytest.raises(ValueError, match="took part in fitting"):
        again.certificate(heldout=(X, y))


@pytest.mark.parametrize("task", TASKS)
def test_stacks_hold_them(task: int, tmp_path: Path) -> None:
    X, y = table("categories", task)
    own = electorate.AdaBoostClassifier(n_estimators=3) if task else electorate.QuadBoostRegressor(n_estimators=3)
    named = [*((kind, peer(kind, task)) for kind in KINDS), ("own", own)]
    stack = (StackedClassifier if task else StackedRegressor)(named, weights=np.ones(len(named))).fit(X, y)
    again = reloaded(stack, tmp_path)
    assert again.digest_ == stack.digest_
    assert np.array_equal(output(again, X), output(stack, X))
    found = (StackedClassifier if task else StackedRegressor)(named[:3], n_folds=2).fit(X, y)
    assert np.array_equal(output(reloaded(found, tmp_path), X), output(found, X))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_read_without_the_classes_of_scikit_learn(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy()
    model = peer(kind, 2).fit(X, y)
    expected = model.predict_proba(X)
    monkeypatch.setattr(outside_fits, "MODULE_OF", {})
    assert np.array_equal(model.predict_proba(X), expected)
    assert np.array_equal(reloaded(model, tmp_path).predict_proba(X), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_answer_says_so(kind: str) -> None:
    X, y = noisy()
    model = peer(kind, 2).fit(X, y)
    assert "nothing was predicted" in str(model.convergence())
    for one, target in ((model, y), (peer(kind, 0).fit(X, X[:, 0]), X[:, 0])):
        assert "no theorem here bounds how complex it is" in str(one.certificate(train=(X, target)))
    assert electorate.explain(model, X, y).rules is None
    for ask in (
        lambda: electorate.explain(model, X, row=0),
        lambda: electorate.inspection.contributions(model, X),
        lambda: electorate.inspection.rule_table(model),
        lambda: electorate.inspection.shape_functions(model),
        lambda: electorate.margins(model, X, y),
        lambda: electorate.thin(model, X, y),
    ):
        with pytest.raises(TypeError, match="PeerClassifier"):
            ask()


@pytest.mark.parametrize("task", [3, 0])
def test_reports_and_scores(task: int) -> None:
    X, y = table("texts", task)
    model = peer("hgb", task).fit(X, y)
    kind = StackedClassifier if task else StackedRegressor
    for one in (model, kind([("only", peer("linear", task))], weights=[1.0]).fit(X, y)):
        page = electorate.report.html_report(one, X, y)
        assert "PeerClassifier" in page or "PeerRegressor" in page
        assert electorate.scores(one, X, y).rows == len(X)
    assert f"from electorate.estimators.peers import {type(model).__name__}" in electorate.report.html_report(
        model, X, y
    )


def test_models_that_were_fitted_to_other_rows_have_other_tokens() -> None:
    """So that Dask does not take the predictions of one for those of the other."""
    tokenize = pytest.importorskip("dask.base").tokenize
    X, y = noisy()
    for model in (PeerClassifier(n_estimators=2), StackedClassifier([("one", PeerClassifier("linear"))], weights=[1])):
        same, again, other = (clone(model).fit(X, labels) for labels in (y, y, X[:, 2] > 0))
        same.predict(X)
        assert tokenize(same) == tokenize(again) != tokenize(other)


def test_models_without_a_file_format_are_refused_in_words() -> None:
    X, y = noisy(labels=3)
    with pytest.raises(TypeError, match="AdaBoostClassifier, which has no file format here: pass one of linear"):
        PeerClassifier(AdaBoostClassifier()).fit(X, y)
    with pytest.raises(TypeError, match="pass a classifier"):
        PeerClassifier(Ridge()).fit(X, y)
    with pytest.raises(TypeError, match="has no file format here: use 'prior'"):
        PeerClassifier(DummyClassifier(strategy="uniform")).fit(X, y)
    with pytest.raises(TypeError, match="use solver='lbfgs'"):
        PeerClassifier(LogisticRegression(solver="liblinear")).fit(X, y)
    with pytest.raises(ValueError, match="class_weight of the estimator: pass it to the model around it"):
        PeerClassifier(RandomForestClassifier(class_weight={0: 1, 1: 2, 2: 1})).fit(X, y)
    with pytest.raises(ValueError, match="categorical_features of the estimator"):
        PeerClassifier(HistGradientBoostingClassifier(categorical_features=[0])).fit(X, y)
    with pytest.raises(TypeError, match="init is an estimator"):
        PeerRegressor(GradientBoostingRegressor(init=Ridge())).fit(X, y)


def test_a_forest_takes_few_bytes(tmp_path: Path) -> None:
    """Per node and leaf: 17 bytes and 1 or 2; a table of the distinct leaves beside them."""
    X, y = noisy(3000, 10)
    for model in (PeerClassifier(n_estimators=20).fit(X, y), PeerRegressor(n_estimators=20).fit(X, X[:, 1])):
        model.save(tmp_path / "forest")
        assert (tmp_path / "forest").stat().st_size < 20 * len(model.arrays_.leaf) + 150_000


# ---------------------------------------------------------------- files that are not trusted


def forged(folder: Path, model: Any, meta: dict[str, Any] | None = None, **arrays: Any) -> Any:
    """Load the file of a model with parts of it replaced; None removes an array."""
    model.save(folder / "sound")
    contents = modelfile.read(folder / "sound")
    together = {name: array for name, array in {**contents.arrays, **arrays}.items() if array is not None}
    modelfile.write(folder / "forged", contents.kind, {**contents.meta, **(meta or {})}, together)
    return electorate.load(folder / "forged")


def changed(array: Any, place: Any, value: Any) -> Any:
    new = np.array(array)
    new[place] = value
    return new


FOREST = PeerClassifier(n_estimators=4, max_depth=4).fit(*messy(200, 3))
BOOSTED = PeerRegressor("hgb", n_estimators=4, categorical_features=[3]).fit(*messy(200, 3))
LINEAR = PeerClassifier("linear", categorical_features=[3]).fit(*messy(200, 3))
A, B, L = FOREST.arrays_, BOOSTED.arrays_, LINEAR.arrays_
FORGERIES: list[tuple[Any, dict[str, Any], dict[str, Any], str]] = [
    (FOREST, {}, {"children": changed(A.children, (2, 0), 2)}, "before its parent"),
    (FOREST, {}, {"children": changed(A.children, (2, 0), 0)}, "before its parent"),
    (FOREST, {}, {"children": changed(A.children, (2, 0), len(A.column))}, "out of range"),
    (FOREST, {}, {"children": changed(A.children, (2, 0), -len(A.leaf) - 1)}, "out of range"),
    (FOREST, {}, {"children": changed(A.children, (2, 0), -(2**31))}, "out of range"),
    (FOREST, {}, {"children": changed(A.children, 0, A.children[0, ::-1][0])}, "not reached once"),
    (FOREST, {}, {"roots": changed(A.roots, 0, A.roots[1])}, "not reached once"),
    (FOREST, {}, {"roots": changed(A.roots, 0, 2**31 - 1)}, "out of range"),
    (FOREST, {}, {"roots": A.roots[:-1]}, "exactly once"),
    (FOREST, {}, {"roots": np.zeros((10**6, 0), dtype=np.int32)}, "do not fit the outputs"),
    (FOREST, {}, {"roots": A.roots.reshape(1, -1)}, "do not fit the outputs"),
    (FOREST, {}, {"column": changed(A.column, 0, 5)}, "column is out of range"),
    (FOREST, {}, {"column": changed(A.column, 0, -1)}, "column is out of range"),
    (FOREST, {}, {"column": A.column[:-1]}, "must have shape"),
    (FOREST, {}, {"threshold": changed(A.threshold, 0, np.nan)}, "not a number"),
    (FOREST, {}, {"threshold": A.children[:, 0].copy()}, "dtype"),
    (FOREST, {}, {"leaf": changed(A.leaf.astype(np.uint32), 0, 2**32 - 1)}, "no value"),
    (FOREST, {}, {"leaf": A.leaf.astype(np.int64)}, "dtype"),
    (FOREST, {}, {"leaf": np.append(A.leaf, A.leaf[:1])}, "exactly once"),
    (FOREST, {}, {"values": changed(A.values, (0, 0), np.nan)}, "not finite"),
    (FOREST, {}, {"values": changed(A.values, 0, [1.5, -0.5, 0.0])}, "not shares"),
    (FOREST, {}, {"values": A.values[:, :2].copy()}, "do not fit the outputs"),
    (FOREST, {}, {"values": None}, "missing"),
    (FOREST, {}, {"baseline": np.zeros(2)}, "do not fit the classes"),
    (FOREST, {}, {"baseline": np.ones(3)}, "start from 0"),
    (FOREST, {}, {"is_category": np.zeros(2**20, dtype=bool)}, "must have shape"),
    (FOREST, {}, {"is_category": np.ones(5, dtype=bool)}, "do not fit the columns"),
    (FOREST, {}, {"temperature": np.array([-1.0])}, "temperature"),
    (FOREST, {"n_features": 2**31 - 1}, {}, "must have shape"),
    (FOREST, {"n_features": 4}, {}, "must have shape"),
    (FOREST, {"link": "number"}, {}, "do not fit the classes"),
    (FOREST, {"link": "logistic"}, {}, "do not fit the classes"),
    (FOREST, {"link": "?"}, {}, "do not fit the classes"),
    (FOREST, {"link": None}, {}, "must be str"),
    (FOREST, {"is_mean": False}, {}, "not shares"),
    (FOREST, {"form": "linear"}, {}, "missing"),
    (FOREST, {"form": "code"}, {}, "no model has the form"),
    (FOREST, {"model": "os.system"}, {}, "no kind of model"),
    (FOREST, {"model": {"estimator": "Pipeline", "parameters": {}}}, {}, "cannot be stored"),
    (FOREST, {"model": {"estimator": "RandomForestClassifier", "parameters": {"n_jobs": {"call": 1}}}}, {}, "form"),
    (FOREST, {"model": None}, {}, "no kind"),
    (FOREST, {"parameters": {"surprise": 1}}, {}, "unknown parameters"),
    (FOREST, {"parameters": {"n_estimators": -1}}, {}, "n_estimators"),
    (FOREST, {"classes": {"dtype": "<i8", "labels": [0, 1]}}, {}, "do not fit the classes"),
    (FOREST, {"categories": [{"column": 7, "text": False, "levels": [], "rest": []}]}, {}, "out of range"),
    (BOOSTED, {}, {"member": changed(B.member, 0, len(B.sets))}, "a set is out of range"),
    (BOOSTED, {}, {"member": changed(B.member, 0, -2)}, "a set is out of range"),
    (BOOSTED, {}, {"column": changed(B.column, B.member >= 0, 0)}, "without so few categories"),
    (BOOSTED, {}, {"sets": B.sets[:, :7].copy()}, "must have shape"),
    (BOOSTED, {}, {"sets": B.sets[:0]}, "a set is out of range"),
    (BOOSTED, {}, {"values": changed(B.values, 0, 1.7e308)}, "too large"),
    (BOOSTED, {"link": "softmax"}, {}, "does not give one number"),
    (BOOSTED, {"categories": []}, {}, "do not fit the columns"),
    (LINEAR, {}, {"scale": changed(L.scale, 0, 0.0)}, "not positive"),
    (LINEAR, {}, {"scale": changed(L.scale, 0, np.inf)}, "not finite"),
    (LINEAR, {}, {"tables": L.tables[:-1]}, "must have shape"),
    (LINEAR, {}, {"coefficients": L.coefficients[:, :2].copy()}, "must have shape"),
    (LINEAR, {}, {"intercept": np.zeros(1)}, "must have shape"),
    (LINEAR, {"link": "share"}, {}, "no shares"),
]


@pytest.mark.parametrize("number", range(len(FORGERIES)))
def test_forged_files_are_refused(number: int, tmp_path: Path) -> None:
    model, meta, arrays, reason = FORGERIES[number]
    with pytest.raises(ModelFormatError, match=reason):
        forged(tmp_path, model, meta, **arrays)


@pytest.mark.parametrize("model", [FOREST, BOOSTED, LINEAR])
def test_what_is_left_of_a_random_change_is_refused_or_predicts(model: Any, tmp_path: Path) -> None:
    """Every array with one random number elsewhere: a ModelFormatError, or a model that answers."""
    rng = np.random.default_rng(0)
    X = messy(50, 3, seed=1)[0]
    model.save(tmp_path / "sound")
    arrays = modelfile.read(tmp_path / "sound").arrays
    refused = 0
    for name in (name for name in arrays if not name.startswith("seen")):
        for _ in range(8):
            new = np.array(arrays[name])
            if new.size:
                raw = new.reshape(-1).view(np.uint8)
                raw[rng.integers(len(raw))] = rng.integers(2 if new.dtype == bool else 256)
            try:
                other = forged(tmp_path, model, **{name: new})
            except ModelFormatError:
                refused += 1
                continue
            assert len(other.predict(X)) == len(X)
    assert refused


def test_a_stack_with_a_forged_peer_is_refused(tmp_path: Path) -> None:
    X, y = messy(200, 3)
    stack = StackedClassifier([("forest", FOREST)], weights=[1.0]).fit(X, y)
    bad = stack.estimators_[0].arrays_
    object.__setattr__(bad, "children", changed(bad.children, (1, 0), 0))
    stack.save(tmp_path / "stack")
    with pytest.raises(ModelFormatError, match="before its parent"):
        electorate.load(tmp_path / "stack")
