"""Models of other libraries: stored as bytes in a format of their own, which nothing reads unless the file is trusted.

The library of most tests is a small one of our own, so that they run where none is installed.
"""

import copy
import json
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import electorate
from electorate import modelfile
from electorate.estimators.peers import PeerClassifier, PeerRegressor
from electorate.estimators.stacked_classifier import StackedClassifier
from electorate.model.library_model import CLASSES

read = []  # what the small library was given to read


class Booster:
    """A linear model in JSON."""

    def __init__(self, model_str: str) -> None:
        read.append(model_str)
        self.text, self.coef = model_str, np.array(json.loads(model_str))

    def model_to_string(self) -> str:
        return self.text

    def num_trees(self) -> int:
        return 7

    def feature_importance(self, kind: str) -> np.ndarray:
        return np.abs(self.coef[1:]).sum(axis=1)

    def predict(self, X, raw_score: bool, num_threads: int) -> np.ndarray:
        dense = X.toarray() if sparse.issparse(X) else X
        found = np.column_stack([np.ones(dense.shape[0]), np.nan_to_num(dense)]) @ self.coef
        return found[:, 0] if found.shape[1] == 1 else found


class Small(BaseEstimator):
    __module__ = "lightgbm.sklearn"

    def __init__(self, **options) -> None:
        self.options = options

    def fit(self, X, y, sample_weight=None, categorical_feature="auto"):
        assert self.options["n_estimators"] == 7
        dense = X.toarray() if sparse.issparse(X) else np.nan_to_num(X)
        wanted = y[:, None].astype(float)
        if isinstance(self, ClassifierMixin):
            wanted = (y[:, None] == np.unique(y)) * 2.0 - 1.0
            wanted = wanted[:, 1:] if wanted.shape[1] == 2 else wanted
        coef = np.linalg.lstsq(np.column_stack([np.ones(len(dense)), dense]), wanted, rcond=None)[0]
        self.booster_ = Booster(json.dumps(coef.tolist()))
        return self


class SmallClassifier(ClassifierMixin, Small):
    __module__ = "lightgbm.sklearn"


class SmallRegressor(RegressorMixin, Small):
    __module__ = "lightgbm.sklearn"


@pytest.fixture
def library(monkeypatch):
    module = SimpleNamespace(Booster=Booster, LGBMClassifier=SmallClassifier, LGBMRegressor=SmallRegressor)
    monkeypatch.setitem(sys.modules, "lightgbm", module)


def rows(n: int = 120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "c": rng.choice(list("abc"), n)})
    frame.loc[::9, "x"] = np.nan
    quantity = 2 * frame["x"].fillna(0).to_numpy() - frame["z"].to_numpy()
    return frame, quantity


def fitted(kind, y, name="lightgbm", X=None):
    return kind(name, n_estimators=7, n_jobs=1).fit(rows()[0] if X is None else X, y)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_files_hold_the_model_and_nothing_reads_it_unasked(n_classes, library, tmp_path):
    X, quantity = rows()
    y = np.digitize(quantity, [0.0] if n_classes == 2 else [-1.0, 1.0]) if n_classes else quantity
    model = fitted(PeerClassifier if n_classes else PeerRegressor, y)
    model.save(tmp_path / "m")
    read.clear()
    with pytest.raises(ValueError, match=r"a model of lightgbm, .*use load\(path, foreign=True\)"):
        electorate.load(tmp_path / "m")
    assert not read
    again = electorate.load(tmp_path / "m", foreign=True)
    assert again.digest_ == model.digest_
    assert np.array_equal(again.predict(X), model.predict(X))
    assert model.score(X, y) > (0.5 if n_classes else 0.9)
    assert again.feature_importances_.sum() == pytest.approx(1)
    assert again.summary_.startswith("lightgbm, 7 trees")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(other.predict(X), model.predict(X))


def test_members_of_a_stack_are_read_where_the_file_is_trusted(library, tmp_path):
    X, quantity = rows()
    y = quantity > 0
    members = [("one", PeerClassifier("lightgbm", n_estimators=7)), ("two", PeerClassifier("linear"))]
    stack = StackedClassifier(members, weights=[0.5, 0.5]).fit(X, y)
    stack.save(tmp_path / "m")
    with pytest.raises(ValueError, match="a model of lightgbm"):
        electorate.load(tmp_path / "m")
    again = electorate.load(tmp_path / "m", foreign=True)
    assert np.array_equal(again.predict_proba(X), stack.predict_proba(X))


def test_what_a_library_has_not_and_what_is_not_installed_are_named(library, monkeypatch, tmp_path):
    X, quantity = rows()
    with pytest.raises(ValueError, match=r"C=2.0: model='lightgbm' has no such setting"):
        PeerRegressor("lightgbm", C=2.0).fit(X, quantity)
    fitted(PeerRegressor, quantity).save(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ValueError, match="lightgbm is not installed: pip install lightgbm"):
        electorate.load(tmp_path / "m", foreign=True).predict(X)


@pytest.mark.parametrize(
    "change", [{"library": "os"}, {"library": 3}, {"trees": -1}, {"outputs": 2}, {"link": "softmax"}]
)
def test_other_facts_of_a_file_are_checked_before_any_library_is_asked(change, library, tmp_path):
    _, quantity = rows()
    fitted(PeerRegressor, quantity).save(tmp_path / "m")
    contents = modelfile.read(tmp_path / "m")
    modelfile.write(tmp_path / "m", contents.kind, contents.meta | change, contents.arrays)
    read.clear()
    with pytest.raises(modelfile.ModelFormatError):
        electorate.load(tmp_path / "m", foreign=True)
    assert not read


@pytest.mark.parametrize("name", list(CLASSES))
def test_the_libraries_themselves(name, tmp_path):
    pytest.importorskip(name)
    X, quantity = rows(300)
    thin = sparse.csr_array(np.nan_to_num(X[["x", "z"]].to_numpy()) * (np.arange(300) % 2)[:, None])
    for kind, y in (
        (PeerClassifier, quantity > 0),
        (PeerClassifier, np.digitize(quantity, [-1, 1])),
        (PeerRegressor, quantity),
    ):
        for table in (X, thin):
            model = fitted(kind, y, name, table)
            model.save(tmp_path / "m")
            again = electorate.load(tmp_path / "m", foreign=True)
            assert np.array_equal(again.predict(table), model.predict(table))
            assert again.digest_ == model.digest_
            dense = table.toarray() if sparse.issparse(table) else table
            assert np.array_equal(model.predict(dense), model.predict(table))
