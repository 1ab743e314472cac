"""Arrays of users that live on a GPU are read from there, and numbers come back to where X was."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import electorate as el


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
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=Wrapped))


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


def test_texts_as_labels_stay_here():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    model = el.AdaBoostClassifier(n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(Wrapped(X)), model.predict(X))
