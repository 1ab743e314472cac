"""Several GPUs through Dask: the device of every worker holds its rows. Here the twins stand in for the GPUs."""

import dask.array as da
import numpy as np
import pytest
from dask_cluster import cuts, scattered
from distributed import Client, LocalCluster
from sklearn.base import clone

import electorate as el
from electorate.cuda.device import Reference

pytestmark = pytest.mark.process

rng = np.random.default_rng(5)
X = rng.normal(size=(260, 5)).astype(np.float32)
X[rng.random(X.shape) < 0.1] = np.nan
SCORE = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])
WEIGHT = rng.integers(0, 3, 260).astype(float)
MODELS = {
    "stumps": el.AdaBoostClassifier(n_estimators=4),
    "trees": el.RealAdaBoostClassifier(el.Trees(3), n_estimators=3),
    "DeepBoost": el.DeepBoostClassifier(n_estimators=3),
    "early stopping": el.AdaBoostClassifier(n_estimators=4, early_stopping=True, random_state=0),
    "categories": el.AdaBoostClassifier(el.Trees(2), n_estimators=3, categorical_features=[4]),
    "MedBoost": el.MedBoostRegressor(n_estimators=3),
    "AdaBoost.R2": el.AdaBoostRegressor(el.RegressionTrees(3), n_estimators=3),
}


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, where the environment of a test reaches them."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", MODELS)
def test_the_digest_is_that_of_one_cpu(name, monkeypatch):
    rows = X.copy()
    rows[:, 4] = np.round(np.nan_to_num(rows[:, 4]) * 2)
    model = clone(MODELS[name])
    y = SCORE if hasattr(model, "predict_interval") or name == "AdaBoost.R2" else np.digitize(SCORE, [0.0, 0.7])
    here = clone(model).fit(rows, y, WEIGHT)
    monkeypatch.setenv("ELECTORATE_CUDA", "reference")
    there = model.set_params(device="cuda").fit(*scattered((rows, y, WEIGHT), cuts(260, 5)))
    assert there.digest_ == here.digest_


@pytest.mark.usefixtures("client")
def test_a_worker_without_memory_is_an_error_before_the_work(monkeypatch):
    monkeypatch.setenv("ELECTORATE_CUDA", "reference")
    monkeypatch.setattr(Reference, "free_bytes", lambda self: 1000)
    model = el.AdaBoostClassifier(device="cuda")
    with pytest.raises(MemoryError, match="rows would fit"):
        model.fit(da.from_array(X, chunks=(90, 5)), da.from_array(SCORE > 0, chunks=90))
    assert not hasattr(model, "ensemble_")
