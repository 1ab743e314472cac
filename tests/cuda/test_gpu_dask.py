"""On a GPU (`pytest -m gpu`): two workers of a Dask cluster that share it give the digests of the CPU."""

import numpy as np
import pytest

import electorate as el
from electorate.cuda.device import open_device

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::UserWarning")]
rng = np.random.default_rng(4)
X = rng.normal(size=(60_000, 9)).astype(np.float32)
X[rng.random(X.shape) < 0.05] = np.nan
SCORE = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=len(X))
MODELS = {
    "stumps": el.AdaBoostClassifier(n_estimators=10),
    "trees": el.AdaBoostClassifier(el.Trees(5), n_estimators=5),
    "three classes": el.RealAdaBoostClassifier(el.Trees(3), n_estimators=4),
    "early stopping": el.AdaBoostClassifier(n_estimators=10, early_stopping=True, random_state=0),
    "DeepBoost": el.DeepBoostClassifier(n_estimators=5),
    "AdaBoost.R2": el.AdaBoostRegressor(el.RegressionTrees(4), n_estimators=4),
}


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0", memory_limit=0)
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_digest_is_that_of_one_cpu(name, on_gpu):
    import dask.array as da

    cuts = [0.3, 1.0] if name == "three classes" else [0.3]
    y = SCORE if name == "AdaBoost.R2" else np.digitize(SCORE, cuts)
    model = MODELS[name].__class__(**MODELS[name].get_params(deep=False))
    here = model.fit(X, y).digest_
    rows = da.from_array(X, chunks=(9_000, 9))
    if on_gpu:
        rows = rows.map_blocks(open_device().xp.asarray, dtype=X.dtype)
    assert model.set_params(device="cuda").fit(rows, da.from_array(y, chunks=9_000)).digest_ == here
