"""The same models on a Dask cluster: digest for digest, however the rows are cut and wherever they live."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_cluster import cuts, on_workers, scattered, seats
from distributed import Client, LocalCluster
from samples import run_python
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from training_cases import CLASSES, MODELS, ONE_OF_EACH, VALIDATED, few_distinct_rows, noisy, plain

from electorate import AdaBoostClassifier, Checkpoint, Stumps, Trees
from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Channel, Step
from electorate.engines import dask as dask_engine
from electorate.engines.dask import Cluster
from electorate.messages import WorkerLostError

pytestmark = pytest.mark.process


def there(model: Any, rows: tuple[Any, ...], sizes: list[int], **more: Any) -> Any:
    return clone(model).fit(*scattered(rows, sizes), **more)


def same(one: Any, other: Any) -> None:
    assert one.digest_ == other.digest_
    for name, column in one.history_.items():
        if name != "seconds":
            np.testing.assert_array_equal(column, other.history_[name])
    assert one.stop_reason_ == other.stop_reason_


def weights(n: int, kind: str) -> Any:
    rng = np.random.default_rng(3)
    return {"none": None, "whole": rng.integers(0, 4, n), "real": rng.random(n) * (rng.random(n) < 0.9)}[kind]


@contextmanager
def counted_seats() -> Iterator[list[int]]:
    """How many workers had a seat, of every fit inside."""
    found: list[int] = []
    enter = Cluster.__enter__
    Cluster.__enter__ = lambda self: (found.append(len(self.addresses)), enter(self))[1]
    try:
        yield found
    finally:
        Cluster.__enter__ = enter


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize(("n_parts", "n_workers"), [(1, 1), (2, 2), (2, 3), (3, 2), (8, 1), (8, 3)])
@pytest.mark.parametrize("name", MODELS)
def test_any_partitions_on_any_workers(client: Any, name: str, n_parts: int, n_workers: int) -> None:
    """Missing values, categories and weights; two classes and three."""
    n_classes = 2 + (n_parts + n_workers) % 2
    X, y = noisy(n_classes)
    weight = weights(len(y), ["none", "whole", "real"][(n_parts + n_workers) % 3])
    y = y.astype(object)
    model = clone(MODELS[name]).set_params(n_estimators=6)
    with on_workers(client, n_workers), counted_seats() as seated:
        far = there(model, (X, pd.Series(y), weight), cuts(len(y), n_parts))
    assert 1 <= seated[0] <= min(n_workers, n_parts)  # Dask may put several partitions on one worker
    same(model.fit(X, y, weight), far)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize("kind", ["whole", "real"])
def test_rows_to_stop_by(client: Any, name: str, n_classes: int, kind: str) -> None:
    X, y = plain(n_classes)
    weight = weights(len(y), kind)
    model = clone(MODELS[name]).set_params(n_estimators=30, early_stopping=True, n_iter_no_change=4, random_state=0)
    here = clone(model).fit(X, y, weight)
    same(here, there(model, (X, y, weight), cuts(len(y), 5)))
    X_val, y_val = plain(n_classes, 90, seed=3)
    given = dict(zip(("X_val", "y_val"), scattered((X_val, y_val), [40, 50]), strict=True))
    same(
        clone(model).fit(X, y, weight, X_val=X_val, y_val=y_val),
        there(model, (X, y, weight), cuts(len(y), 4), **given),
    )


@pytest.mark.parametrize("use", [use for use in VALIDATED if use != "squares"])
def test_equal_rows_of_different_weights(client: Any, use: str) -> None:
    """The rows set aside do not depend on where equal rows of different weights live."""
    rows = few_distinct_rows()
    model = clone(VALIDATED[use]).set_params(random_state=0)
    near = clone(model).fit(*rows)
    same(near, there(model, rows, cuts(len(rows[1]), 5)))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.1, 1: 3}, {0: 2, 1: 1, 2: 0}])
def test_class_weights(client: Any, class_weight: Any) -> None:
    X, y = plain(3)
    for kind in ("none", "whole", "real"):
        rows = (X, y, weights(len(y), kind))
        model = AdaBoostClassifier(n_estimators=5, class_weight=class_weight)
        same(clone(model).fit(*rows), there(model, rows, cuts(len(y), 4)))


@pytest.mark.parametrize("max_bins", [7, 255, "exact"])
def test_columns_of_many_values(client: Any, max_bins: Any) -> None:
    """More distinct values than a sketch holds, in every partition and over all; one column starves the first guess."""
    rng = np.random.default_rng(0)
    n = 90_000
    few = rng.normal(size=40_000)
    X = np.column_stack([rng.normal(size=n), few[rng.integers(0, 40_000, n)], rng.integers(0, 2000, n)])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=3, max_bins=max_bins)
    far = there(model, (X, y, None), [30_000, 1, 0, 45_000, 14_999])
    same(clone(model).fit(X, y), far)


def test_the_order_of_rows_and_sorted_labels(client: Any) -> None:
    """Partitions of one class each; a partition without rows of weight."""
    X, y = plain(3)
    order = np.argsort(y, kind="stable")
    weight = np.ones(len(y))
    weight[order[:30]] = 0
    model = AdaBoostClassifier(Trees(2), n_estimators=5)
    here = clone(model).fit(X, y, weight)
    sizes = [30, *np.diff([30, *np.cumsum(np.bincount(y))]).tolist()]
    same(here, there(model, (X[order], y[order], weight[order]), sizes))


def test_limits_that_count_rows(client: Any) -> None:
    X, y = plain()
    model = AdaBoostClassifier(Trees(3, min_samples_leaf=7, min_samples_split=20), n_estimators=4)
    same(clone(model).fit(X, y), there(model, (X, y, None), cuts(len(y), 4)))


@pytest.mark.parametrize("labels", [["a", "bb"], [True, False], [1.0, 2.0], [np.uint64(2**63), np.uint64(1)]])
def test_labels_of_any_type(client: Any, labels: Any) -> None:
    X, y = plain()
    y = np.array(labels)[y]
    model = AdaBoostClassifier(n_estimators=3)
    here, far = clone(model).fit(X, y), there(model, (X, y, None), cuts(len(y), 3))
    same(here, far)
    assert far.classes_.dtype == here.classes_.dtype
    assert far.predict(X).dtype == here.predict(X).dtype


def test_one_class(client: Any) -> None:
    X, _ = plain()
    same(AdaBoostClassifier().fit(X, np.ones(len(X))), there(AdaBoostClassifier(), (X, np.ones(len(X)), None), [240]))


def test_partitions_are_spread(client: Any) -> None:
    """Which worker gets how many is up to Dask; of forty partitions, no one gets all."""
    X, y = plain(2)
    with counted_seats() as seated:
        there(AdaBoostClassifier(n_estimators=2), (X, y, None), [6] * 40)
    assert seated[0] >= 2


def test_through_the_scheduler(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where workers cannot be reached directly."""
    monkeypatch.setattr(dask_engine, "REACH", 0.0)
    X, y = plain(3)
    model = AdaBoostClassifier(Trees(2), n_estimators=5)
    same(clone(model).fit(X, y), there(model, (X, y, None), cuts(len(y), 4)))


def test_workers_of_several_threads(client: Any) -> None:
    X, y = plain(3)
    model = AdaBoostClassifier(Trees(2), n_estimators=5)
    with (
        LocalCluster(processes=False, n_workers=2, threads_per_worker=3, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        far = there(model, (X, y, None), cuts(len(y), 4))
    same(clone(model).fit(X, y), far)


def test_many_categories(client: Any) -> None:
    """More than have a code of their own, other ones in other partitions; texts, and numbers named as categories."""
    rng = np.random.default_rng(0)
    number = (300 * rng.random(2000) ** 2).astype(int)
    y = (number % 7 < 3) ^ (rng.random(2000) < 0.1)
    X = pd.DataFrame({"text": [f"t{k}" for k in number], "number": number.astype(float)})
    order = np.argsort(number, kind="stable")
    X, y = X.iloc[order], pd.Series(y[order])
    model = AdaBoostClassifier(n_estimators=4, categorical_features=["text", "number"])
    same(clone(model).fit(X, y), there(model, (X, y, None), cuts(2000, 6)))


# ---------------------------------------------------------------- predictions, going on


@pytest.mark.parametrize("n_classes", CLASSES)
def test_predictions_are_lazy_and_the_same(client: Any, n_classes: int) -> None:
    X, y = noisy(n_classes)
    model = MODELS["SAMME.R, trees"].fit(X, y)
    (far,) = scattered((X,), cuts(len(y), 4))
    for name in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        answer = getattr(model, name)(far)
        assert isinstance(answer, da.Array)
        np.testing.assert_array_equal(answer.compute(), getattr(model, name)(X))
    X, y = plain(n_classes)
    model = clone(model).fit(X, y)
    (far,) = scattered((X,), cuts(len(y), 3))
    far = far.rechunk({1: 2})
    for name in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(model, name)(far).compute(), getattr(model, name)(X))
    assert model.predict_proba(far).shape == (len(y), n_classes)
    with pytest.raises(ValueError, match="features"):
        model.predict(far[:, :2])


def test_warm_start_and_checkpoints(client: Any, tmp_path: Any) -> None:
    X, y = plain(3)
    far = scattered((X, y), cuts(len(y), 3))
    for name in ("AdaBoost, trees", "AdaBoost_R, stumps"):
        whole = clone(MODELS[name]).set_params(n_estimators=12).fit(X, y)
        model = clone(MODELS[name]).set_params(n_estimators=5, warm_start=True).fit(*far)
        same(whole, model.set_params(n_estimators=12).fit(*far))
        path = tmp_path / name
        clone(MODELS[name]).set_params(n_estimators=5).set_callbacks(Checkpoint(path)).fit(X, y)
        same(whole, clone(MODELS[name]).set_params(n_estimators=12).set_callbacks(Checkpoint(path)).fit(*far))


def test_nothing_is_left_on_the_workers(client: Any) -> None:
    X, y = plain()
    there(AdaBoostClassifier(n_estimators=3), (X, y, None), [100, 140])
    with pytest.raises(ValueError, match="infinity"):
        there(AdaBoostClassifier(n_estimators=3), (np.full_like(X, np.inf), y, None), [100, 140])
    for _ in range(50):
        if seats(client) == 0:
            break
        client.run(lambda: None)
    assert seats(client) == 0


# ---------------------------------------------------------------- boosters from elsewhere


def test_certificates_say_that_rows_on_workers_are_not_remembered(client: Any) -> None:
    X, y = noisy(2)
    weighted = AdaBoostClassifier(n_estimators=2).fit(*scattered((X, y, np.ones(len(y))), cuts(len(y), 2)))
    model = AdaBoostClassifier(n_estimators=2).fit(*scattered((X, y), cuts(len(y), 2)))
    found = model.certificate(train=(X, y), heldout=(X, y))
    assert "are not stored with the model" in found.notes[0]
    assert found["margins"].applies
    assert "weights" in weighted.certificate(train=(X, y))["margins"].status


def test_a_booster_that_no_engine_has_heard_of(client: Any) -> None:
    """Defined here, run on both engines: weights 1 / (1 + exp(margin)), as in logistic boosting; half steps."""

    class LogisticWeight(Channel):
        def values(self, state: Any, floors: Any, first: Any) -> Any:
            return np.exp(floors.each[0]) / (1 + np.exp(np.minimum(state[0], 700)))

    class Logistic(AdaBoost):
        @property
        def channels(self) -> Any:
            return (LogisticWeight(),)

        def step(self, sums: Any, outputs: Any) -> Step:
            found = super().step(sums, outputs)
            return Step(found.size / 2, found.edge, found.error, found.stop)

    class LogisticClassifier(AdaBoostClassifier):
        def _booster(self, n_labels: int) -> Any:
            return Logistic(n_labels)

    X, y = noisy(2)
    weight = weights(len(y), "real")
    for family in (Stumps(), Trees(3)):
        model = LogisticClassifier(family, n_estimators=8)
        here = clone(model).fit(X, y, weight)
        far = there(model, (X, pd.Series(y), weight), cuts(len(y), 4))
        assert np.array_equal(here.steps_, far.steps_)
        np.testing.assert_array_equal(here.decision_function(X), far.decision_function(X))
        assert not np.array_equal(here.steps_, AdaBoostClassifier(family, n_estimators=8).fit(X, y, weight).steps_)


# ---------------------------------------------------------------- what is refused


def refused(match: str, kind: type[Exception], rows: tuple[Any, ...], sizes: list[int], **options: Any) -> None:
    with pytest.raises(kind, match=match):
        there(AdaBoostClassifier(n_estimators=3, **options), rows, sizes)


def test_what_is_refused(client: Any) -> None:
    X, y = plain()
    weight, halves = np.ones(len(y)), [100, 140]
    odd = np.arange(len(y)) == 130  # row 30 of partition 1
    where = "row 30 has {}.*partition 1"
    refused(
        r"column 2, row 30 of partition 1",
        ValueError,
        (np.where(odd[:, None] & (np.arange(5) == 2), np.inf, X), y),
        halves,
    )
    refused(where.format("-1.0"), ValueError, (X, y, np.where(odd, -1, weight)), halves)
    refused(where.format("the label nan"), ValueError, (X, np.where(odd, np.nan, y)), halves)
    refused("weight is zero for every row", ValueError, (X, y, 0 * weight), halves)
    refused("0 sample", ValueError, (X[:0], y[:0]), [0])
    tree = DecisionTreeClassifier()
    refused("DecisionTreeClassifier needs every row in one place", TypeError, (X, y), [240], estimator=tree)
    refused("only one sample", ValueError, (X[:2], np.array([0, 1])), [1, 1], early_stopping=True)
    far, far_y = scattered((X, y), [100, 140])
    with pytest.raises(TypeError, match="y is ndarray: make y one too"):
        AdaBoostClassifier().fit(far, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdaBoostClassifier().fit(far, far_y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        AdaBoostClassifier().fit(far, None)
    with pytest.raises(ValueError, match="X has 240 rows, sample_weight 239"):
        AdaBoostClassifier().fit(far, far_y, scattered((weight,), [100, 140])[0][:-1])
    with pytest.raises(TypeError, match="X_val is ndarray"):
        AdaBoostClassifier(early_stopping=True).fit(far, far_y, X_val=X, y_val=y)


def test_texts_in_one_partition_and_numbers_in_another(client: Any) -> None:
    X = pd.DataFrame({"a": [1, 2, 3, "x", "y", "z"] * 10}).sort_values("a", key=lambda a: a.astype(str), kind="stable")
    with dask.config.set({"dataframe.convert-string": False}):  # else Dask makes them texts itself
        refused("column 'a' holds texts in one partition", ValueError, (X, pd.Series([0, 1] * 30)), [30, 30])


def test_an_array_among_dataframes_is_named(client: Any) -> None:
    X, y = noisy(2, 60)
    X = X[["a", "b"]]
    parts = [dask.delayed(X[:20]), dask.delayed(X[20:40].to_numpy()), dask.delayed(X[40:])]
    mixed = dd.from_delayed(parts, meta=X[:0], verify_meta=False)
    labels = scattered((pd.Series(y).to_frame(),), [20, 20, 20])[0][0]
    with pytest.raises(ValueError, match=r"is of type ndarray, .*partition 1\)"):
        AdaBoostClassifier(n_estimators=2).fit(mixed, labels)


def test_blocks_that_are_sparse(client: Any) -> None:
    X, y = plain()
    X = np.where(np.isnan(X) | (np.abs(X) < 0.5), 0.0, X)
    far, far_y = scattered((X, y), [100, 140])
    near = AdaBoostClassifier(n_estimators=4).fit(X, y)
    matrices = far.map_blocks(sparse.csr_matrix)
    same(near, AdaBoostClassifier(n_estimators=4).fit(matrices, far_y))
    np.testing.assert_array_equal(near.predict(matrices).compute(), near.predict(X))

    def damaged(block: Any) -> Any:
        matrix = sparse.csr_matrix(block)
        matrix.indices[3] = 10**6
        return matrix

    with pytest.raises(ValueError, match=r"has the index 1000000.*partition [01]"):
        AdaBoostClassifier(n_estimators=4).fit(far.map_blocks(damaged, dtype=X.dtype, meta=X[:0]), far_y)


def test_rounds_before_a_failure_are_kept_without_callbacks(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = plain()
    advance, calls = dask_engine.RemoteEngine.advance, []

    def failing(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) > 3:
            raise WorkerLostError("tcp://1.2.3.4:5", "was lost")
        return advance(self, *arguments)

    monkeypatch.setattr(dask_engine.RemoteEngine, "advance", failing)
    model = AdaBoostClassifier(n_estimators=9)
    with pytest.raises(WorkerLostError):
        model.fit(*scattered((X, y), [100, 140]))
    kept = len(model.steps_)
    assert kept >= 2
    assert model.digest_ == AdaBoostClassifier(n_estimators=kept).fit(X, y).digest_


def test_a_mixed_cluster_is_refused_by_name(client: Any) -> None:
    def pretend(dask_worker: Any, name: Any = None) -> None:
        import electorate.engines.dask as engine

        engine.fingerprint = (lambda: name) if name else engine._fingerprint

    def remember() -> None:
        import electorate.engines.dask as engine

        engine._fingerprint = engine.fingerprint

    X, y = plain()
    client.run(remember)
    odd = sorted(client.scheduler_info(n_workers=-1)["workers"])[1]
    try:
        client.run(pretend, name="electorate 0, NumPy 0, exp 0", workers=[odd])
        refused(rf"and {odd} has electorate 0, NumPy 0", RuntimeError, (X, y), [20] * 12)  # every worker has some
    finally:
        client.run(pretend)
    there(AdaBoostClassifier(n_estimators=2), (X, y), [60] * 4)


def test_without_a_client() -> None:
    code = """
import dask
import dask.array as da
import dask.dataframe as dd
from electorate import AdaBoostClassifier
try:
    AdaBoostClassifier().fit(da.ones((10, 2)), da.arange(10) % 2)
except ValueError as error:
    print(error)
"""
    assert "there is no Dask client: make one before fit" in run_python(code)[0]


def test_dask_is_not_imported_by_others() -> None:
    code = """
import sys
import numpy as np
from electorate import AdaBoostClassifier
from electorate.messages import WorkerLostError
AdaBoostClassifier(n_estimators=2).fit(np.arange(8.0)[:, None], np.arange(8) % 2).predict([[1.0]])
print("dask" in sys.modules, "distributed" in sys.modules)
"""
    assert run_python(code)[0].split() == ["False", "False"]


def test_a_public_exception_that_pickles() -> None:
    import pickle

    lost = pickle.loads(pickle.dumps(WorkerLostError("tcp://1.2.3.4:5", "was lost")))
    assert lost.address == "tcp://1.2.3.4:5"
    assert "worker tcp://1.2.3.4:5 was lost" in str(lost)


# ---------------------------------------------------------------- memory


MEMORY = """
import sys, tracemalloc
import dask
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster
from electorate import AdaBoostClassifier

def main(n):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        rng = da.random.default_rng(0)
        def rows(n):
            X = rng.normal(size=(n, 8), chunks=(n // 4, 8))
            return X, (X[:, 0] + X[:, 1] > 0).astype(int)
        model = AdaBoostClassifier(n_estimators=10, early_stopping=True, random_state=0)
        model.fit(*rows(200_000))
        peaks = []
        for size in (200_000, n):
            tracemalloc.start()
            model.fit(*rows(size))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        print(*peaks)

if __name__ == "__main__":
    main(int(sys.argv[1]))
"""


def test_the_memory_of_the_client_does_not_grow(tmp_path: Any) -> None:
    """Eight times the rows: a vector of a byte per row would already show."""
    script = tmp_path / "memory.py"
    script.write_text(MEMORY)
    code = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    small, large = map(int, run_python(code, str(script), "1600000")[0].split())
    assert large < small + 1_000_000
