"""CrossFittedClassifier: a row is answered by a model that never saw its input, and the count is binomial."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from electorate import AdaBoostClassifier, CrossFittedClassifier, certificate
from electorate.theory.bounds import total
from electorate.theory.cross_fit import routed_bound
from tests.common.cases import DATA

TREE = DecisionTreeClassifier(random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore:one input holds")


def rows_with_duplicates(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 2)).astype(float)
    return X, rng.integers(0, 2, n)


def test_duplicates_are_never_split():
    """Labels are coins: a tree that had seen a row's input would be right more often than a coin."""
    X, y = rows_with_duplicates()
    model = CrossFittedClassifier(TREE).fit(X, y)
    _, part = model._parts(X)
    for value in np.unique(X, axis=0):
        assert len(set(part[np.all(value == X, axis=1)])) == 1
    for number, fitted in enumerate(model.estimators_):
        assert fitted.tree_.n_node_samples[0] == np.count_nonzero(part != number)
        again = clone(TREE).fit(X[part != number], y[part != number])
        np.testing.assert_array_equal(fitted.predict(X), again.predict(X))


def test_counts_and_bound():
    X, y = rows_with_duplicates(500)
    model = CrossFittedClassifier(TREE, n_folds=4, delta=0.1).fit(X, y)
    wrong = model.predict(X) != y
    assert model.part_errors_.sum() == wrong.sum()
    assert model.part_rows_.sum() == 500
    counts = model.part_errors_.tolist(), model.part_rows_.tolist()
    assert model.bound_ == total(routed_bound(*counts, 0.1))
    assert certificate(model, delta=0.1)["cross-fitted"].value == model.bound_
    assert certificate(model)["cross-fitted"].value > model.bound_
    assert f"{100 * model.bound_:.2f}%" in str(model)
    assert "fixed before" in str(model).replace("\n", " ")


def test_the_salt_chooses_the_parts():
    X, y = rows_with_duplicates()
    parts = [CrossFittedClassifier(TREE, salt=salt).fit(X, y)._parts(X)[1] for salt in (0, 0, 1)]
    np.testing.assert_array_equal(parts[0], parts[1])
    assert np.any(parts[0] != parts[2])


def test_containers_agree():
    """Routing and answers are the same for every container, type and zero that hold the same values."""
    X, y = rows_with_duplicates()
    X[0, 0] = -0.0
    model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=3)).fit(X, y)
    expected = model.predict(X)
    for same in (X.astype(np.float32), X.astype(int), np.asfortranarray(X), csr_matrix(X), X + 0.0):
        np.testing.assert_array_equal(model.predict(same), expected)
    for number in (0, 7, 199):
        assert model.predict(X[number : number + 1])[0] == expected[number]


def test_frames_agree():
    frame, y = DATA["categories"]
    model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=3), n_folds=3).fit(frame, y)
    expected = model._parts(frame)[1]
    texts = frame.astype({"color": object})
    for same in (
        pl.from_pandas(frame),
        texts,
        frame.iloc[::-1][::-1],
        frame.assign(size=pd.Categorical(frame["size"])),
    ):
        np.testing.assert_array_equal(model._parts(same)[1], expected)
    for row in (0, 40):  # one row, whose columns may hold missing values only, or one of their categories
        assert model._parts(frame.iloc[row : row + 1])[1][0] == expected[row]
    unseen = frame.iloc[:2].assign(size=["XL", "XXL"])
    assert model.predict(unseen).shape == (2,)


@pytest.mark.parametrize("data", DATA)
def test_probabilities(data):
    X, y = DATA[data]
    model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=3)).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[np.argmax(proba, axis=1)], model.predict(X))


class Eavesdropper(ClassifierMixin, BaseEstimator):
    """Predicts 0 for every category and row number that its training rows tell of without holding it, and else 1."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.others_ = categories_told_of(X) - set(values_of(X))
        self.gaps_ = set(range(200)) - set(X.index) if isinstance(X, pd.DataFrame) else set()
        return self

    def predict(self, X):
        index = X.index if isinstance(X, pd.DataFrame) else [-1] * X.shape[0]
        told = [value in self.others_ or row in self.gaps_ for value, row in zip(values_of(X), index, strict=True)]
        return np.where(told, 0, 1)


def values_of(X):
    return X["a"].to_pylist() if isinstance(X, pa.Table) else X["a"].to_list()


def categories_told_of(X):
    column = X["a"]
    if isinstance(X, pl.DataFrame):
        codes = column.to_physical()
        return set(column.dtype.categories) if column.dtype == pl.Enum else {TEXTS[k] for k in range(codes.max())}
    if isinstance(X, pd.DataFrame) and isinstance(column.dtype, pd.CategoricalDtype):
        return set(column.cat.categories)
    arrow = column if isinstance(X, pa.Table) else pa.chunked_array(column.array.__arrow_array__())
    return set(arrow.combine_chunks().dictionary.to_pylist()) if pa.types.is_dictionary(arrow.type) else set()


TEXTS = [f"{number:03d}" for number in range(200)]
ARROW = pa.dictionary(pa.int32(), pa.string())
CONTAINERS = {
    "pandas": pd.DataFrame({"a": pd.Categorical(TEXTS)}),
    "pandas, index": pd.DataFrame({"a": pd.array(TEXTS, dtype=pd.ArrowDtype(pa.string()))}),
    "pandas, arrow": pd.DataFrame({"a": pd.array(TEXTS, dtype=pd.ArrowDtype(ARROW))}),
    "polars Enum": pl.DataFrame({"a": TEXTS}, schema={"a": pl.Enum(TEXTS)}),
    "polars Categorical": pl.DataFrame({"a": TEXTS}, schema={"a": pl.Categorical(pl.Categories.random())}),
    "pyarrow": pa.table({"a": pa.array(TEXTS).dictionary_encode()}),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_models_learn_nothing_of_the_rows_that_they_are_counted_on(container):
    """Nine of ten labels are 0. The model predicts 1 for all inputs but those that it was told of by mistake."""
    model = CrossFittedClassifier(Eavesdropper()).fit(CONTAINERS[container], np.repeat([0, 1], [180, 20]))
    assert model.part_errors_.sum() == 180
    assert model.bound_ > 0.9


def test_models_get_no_metadata_of_the_table():
    frame, y = pd.DataFrame({"x": np.arange(60.0)}), np.arange(60) % 2
    frame.attrs["labels"] = y

    class Reader(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            assert X.attrs == {}
            return super().fit(X, y)

        def predict(self, X):
            assert X.attrs == {}
            return super().predict(X)

    CrossFittedClassifier(Reader()).fit(frame, y).predict(frame)
    assert frame.attrs["labels"] is y


def test_models_get_the_categories_of_their_training_rows():
    """In training and prediction: in their order if they have one, and missing where the model did not have them."""
    seen = []

    class Listener(Eavesdropper):
        def fit(self, X, y):
            self.type_ = X.dtypes["a"]
            assert not X["a"].isna().any()
            return super().fit(X, y)

        def predict(self, X):
            seen.append(X["a"].isna().to_numpy())
            assert X.dtypes["a"] == self.type_
            return np.zeros(len(X), dtype=int)

    y = np.arange(60) % 2
    for values, levels, ordered in ((list("cab"), list("cab"), True), (list("cab"), list("abc"), False)):
        frame = pd.DataFrame({"a": pd.Categorical(values * 20, values, ordered=ordered), "x": np.arange(60.0)})
        model = CrossFittedClassifier(Listener()).fit(frame, y)
        assert [one.type_.categories.tolist() for one in model.estimators_] == [levels] * 5
        assert not np.any(np.concatenate(seen))
        seen.clear()
        unseen = frame.assign(a=pd.Categorical(["new"] * 60, ["new"], ordered=ordered))
        model.predict(unseen)
        assert np.all(np.concatenate(seen))
        seen.clear()


def test_warns_of_a_heavy_input():
    X, y = rows_with_duplicates()
    X[:11] = 9.0
    with pytest.warns(UserWarning, match=r"one input holds 5\.5% of the rows") as warned:
        CrossFittedClassifier(TREE).fit(X, y)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CrossFittedClassifier(TREE).fit(np.arange(200.0)[:, None], y)


def test_a_class_that_other_parts_lack():
    """The model of the part with all rows of a class never predicts it, which counts as errors."""
    X, y = np.arange(30.0)[:, None], np.zeros(30, dtype=int)
    y[3] = 1
    model = CrossFittedClassifier(TREE, n_folds=2).fit(X, y)
    assert model.part_errors_.sum() >= 1
    assert model.predict_proba(X).shape == (30, 2)


def test_one_input_only():
    with pytest.raises(ValueError, match="too few distinct inputs"):
        CrossFittedClassifier(TREE).fit(np.zeros((10, 1)), np.arange(10) % 2)


def test_pipelines_and_searches():
    X, y = DATA["two-labels"]
    model = CrossFittedClassifier(make_pipeline(StandardScaler(), TREE), n_folds=3)
    search = GridSearchCV(model, {"estimator__decisiontreeclassifier__max_depth": [1, 2]}, cv=2).fit(X, y)
    assert 0 < search.best_estimator_.bound_ <= 1


def test_weights_are_refused():
    X, y = DATA["two-labels"]
    with pytest.raises(TypeError, match="sample_weight"):
        CrossFittedClassifier().fit(X, y, sample_weight=np.ones(len(y)))


def test_held_out_rows_must_be_new():
    X, y = DATA["two-labels"]
    model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=3)).fit(X[:60], y[:60])
    assert certificate(model, heldout=(X[60:], y[60:]))["held-out rows"].value < 1
    with pytest.raises(ValueError, match="took part"):
        certificate(model, heldout=(X[50:], y[50:]))
