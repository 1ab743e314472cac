"""Arrays of users that live on a GPU are read from there, and numbers come back to where X was."""

import sys
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import electorate as el
from electorate.cuda.arrays import RowsThere, is_there
from electorate.cuda.device import Reference


class Wrapped:
    """An array that NumPy cannot read by itself."""

    def __init__(self, array):
        self.array = array
        self.dtype, self.shape, self.ndim, self.strides = array.dtype, array.shape, array.ndim, array.strides

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape}

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __len__(self):
        return len(self.array)

    def __getitem__(self, rows):
        return self.array[rows]

    def get(self):
        return self.array


@pytest.fixture(autouse=True)
def cupy(monkeypatch):
    monkeypatch.setenv("ELECTORATE_CUDA", "reference")
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=Wrapped, __name__="cupy"))


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_fit_and_predict_where_the_rows_are():
    X = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    y, weight = (X[:, 0] + X[:, 1] > 0).astype(int), np.arange(90) % 3.0
    here = el.AdaBoostClassifier(n_estimators=5).fit(X, y, weight)
    for device in ("cpu", "cuda"):
        there = el.AdaBoostClassifier(n_estimators=5, device=device).fit(Wrapped(X), Wrapped(y), Wrapped(weight))
        assert there.digest_ == here.digest_
    for name in ("predict", "predict_proba", "decision_function"):
        found = getattr(here, name)(Wrapped(X))
        assert isinstance(found, Wrapped)
        np.testing.assert_array_equal(found.array, getattr(here, name)(X))


def rows(n_columns=4):
    X = np.random.default_rng(0).normal(size=(90, n_columns)).round(1).astype(np.float32)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0] + X[:, 1])


MODELS = {
    "stumps": el.AdaBoostClassifier(n_estimators=5),
    "trees": el.RealAdaBoostClassifier(el.Trees(3), n_estimators=4),
    "categories": el.AdaBoostClassifier(el.Trees(2), n_estimators=5, categorical_features=[2]),
    "stumps on categories": el.AdaBoostClassifier(n_estimators=9, categorical_features=[1, 2]),
    "AdaBoost_R": el.AdaBoostRClassifier(n_estimators=5),
    "QuadBoost": el.QuadBoostClassifier(n_estimators=20),
}
REGRESSORS = {
    "MedBoost": el.MedBoostRegressor(n_estimators=7),
    "AdaBoost.R2": el.AdaBoostRegressor(el.RegressionTrees(2), n_estimators=5),
    "LocMedBoost": el.LocMedBoostRegressor(n_estimators=3),
    "QuadBoost": el.QuadBoostRegressor(n_estimators=20),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_votes_of_rows_on_a_device_are_those_of_the_cpu(name, n_classes, kernels_only):
    X, score = rows()
    model = clone(MODELS[name]).fit(X, np.digitize(score, [0.0, 1.0][: n_classes - 1]))
    unseen = np.vstack([X[::-1] * 2, np.full((1, 4), np.nan, dtype=np.float32)])
    for method in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        expected = getattr(model, method)(unseen)
        with kernels_only():
            found = getattr(model, method)(Wrapped(unseen)).array
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_on_the_device(name, kernels_only):
    X, y = rows()
    model = clone(REGRESSORS[name]).fit(X, y)
    with nullcontext() if name == "LocMedBoost" else kernels_only():
        found = model.predict(Wrapped(X * 2)).array
    np.testing.assert_array_equal(found, model.predict(X * 2))


@pytest.fixture
def kernels_only(monkeypatch):
    """A context in which rows cannot come to this process."""

    @contextmanager
    def context():
        with monkeypatch.context() as patch:
            patch.setattr(RowsThere, "here", lambda self: pytest.fail("rows were copied to this process"))
            yield

    return context


def test_columns_and_infinite_numbers_are_checked_there():
    X, score = rows()
    model = el.AdaBoostClassifier(n_estimators=3).fit(X, score > 0)
    with pytest.raises(ValueError, match="X has 3 features, but AdaBoostClassifier is expecting 4"):
        model.predict(Wrapped(X[:, :3]))
    X[70, 3] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*column 3, row 70"):
        model.predict(Wrapped(X))
    with pytest.raises(ValueError, match=r"infinity.*column 3, row 70"):
        model.fit(Wrapped(X), score > 0)


def test_functions_that_need_rows_here_get_a_copy():
    X, score = rows()
    model = el.AdaBoostClassifier(n_estimators=3).fit(X, score > 0)
    np.testing.assert_array_equal([*model.staged_predict(Wrapped(X))], [*model.staged_predict(X)])


class Exchanged:
    """An array of another library: it has only DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self):
        raise NotImplementedError

    def __array_namespace__(self):
        return SimpleNamespace(__name__="other", from_dlpack=Exchanged, asarray=lambda found, device: Exchanged(found))

    device = "gpu"


def test_results_are_arrays_of_the_library_of_x(monkeypatch):
    monkeypatch.setattr(Reference, "adopt", lambda self, array: array.array)
    X, score = rows()
    y = score > 0
    here = el.AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert el.AdaBoostClassifier(n_estimators=3, device="cuda").fit(Exchanged(X), y).digest_ == here.digest_
    for method in ("decision_function", "predict_proba"):
        found = getattr(here, method)(Exchanged(X))
        assert type(found) is Exchanged
        np.testing.assert_array_equal(found.array, getattr(here, method)(X))


def test_texts_as_labels_stay_here():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    model = el.AdaBoostClassifier(n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(Wrapped(X)), model.predict(X))


class NotExchanged:
    """As an array of pyarrow 18 with texts."""

    def __dlpack_device__(self):
        raise TypeError("DataType is not compatible with DLPack spec: string")


def test_what_dlpack_cannot_exchange_is_not_on_a_gpu():
    assert not is_there(NotExchanged())
