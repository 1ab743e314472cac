"""Where a fit is made: what cannot be trained on a GPU is refused by name, before any work."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import electorate as el
from electorate.algorithms.losses import SquaredHinge
from electorate.cuda import device as devices
from electorate.cuda.device import Reference
from electorate.cuda.twins import Twins
from electorate.data.device_bins import place_rows
from electorate.data.table import ArrayTable
from electorate.training.worker_data import MANY_CELLS, chosen_device

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.setenv("ELECTORATE_CUDA", "reference")


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (el.LPBoostClassifier(), "LPBoostClassifier cannot be trained on a GPU"),
        (el.QuadBoostClassifier(), "QuadBoostClassifier cannot"),
        (el.RLPBoostClassifier(), "RLPBoostClassifier cannot"),
        (el.QuadBoostRegressor(), "QuadBoostRegressor cannot"),
        (el.AdaBoostClassifier(DecisionTreeClassifier(max_depth=1)), "voters of DecisionTreeClassifier"),
        (el.DeepBoostClassifier(loss=SquaredHinge()), "the loss of DeepBoostClassifier is a function in Python"),
    ],
)
def test_what_a_gpu_cannot_do_is_refused_by_name(model, words):
    with pytest.raises(TypeError, match=f"device='cuda': {words}.*; use device='cpu'"):
        model.set_params(device="cuda").fit(X, y)
    assert not hasattr(model, "history_")


def test_without_cupy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    devices._open_gpu.cache_clear()
    model = el.AdaBoostClassifier(device="cuda")
    with pytest.raises(ImportError, match=r"electorate\[cuda\]"):
        model.fit(X, y)
    assert not hasattr(model, "ensemble_")
    assert el.AdaBoostClassifier(device="auto").fit(X, y).digest_ == el.AdaBoostClassifier().fit(X, y).digest_


@pytest.mark.usefixtures("reference")
def test_auto_takes_a_gpu_for_large_tables_only():
    model = el.AdaBoostClassifier(device="auto")
    assert chosen_device(model, MANY_CELLS - 1, False) is None
    assert isinstance(chosen_device(model, MANY_CELLS, False), Reference)
    assert chosen_device(el.LPBoostClassifier(device="auto"), MANY_CELLS, True) is None
    assert chosen_device(el.AdaBoostClassifier(), MANY_CELLS, False) is None
    assert isinstance(chosen_device(el.AdaBoostClassifier(), 1, True), Reference)


@pytest.mark.usefixtures("reference")
def test_files_and_digests_do_not_depend_on_the_device(tmp_path):
    cpu, gpu = (el.AdaBoostClassifier(device=device, n_estimators=5).fit(X, y) for device in ("cpu", "cuda"))
    assert cpu.digest_ == gpu.digest_
    np.testing.assert_array_equal(cpu.seen_.marks, gpu.seen_.marks)
    gpu.save(tmp_path / "model")
    assert el.load(tmp_path / "model").device == "cpu"
    assert el.load(tmp_path / "model").digest_ == cpu.digest_


@pytest.mark.usefixtures("reference")
def test_a_warm_start_may_change_the_device():
    model = el.AdaBoostClassifier(el.Trees(2), n_estimators=3, warm_start=True, device="cuda").fit(X, y)
    model.set_params(n_estimators=6, device="cpu").fit(X, y)
    assert model.digest_ == el.AdaBoostClassifier(el.Trees(2), n_estimators=6).fit(X, y).digest_


@pytest.mark.usefixtures("reference")
def test_too_little_memory_is_an_error_before_the_work(monkeypatch):
    monkeypatch.setattr(Reference, "free_bytes", lambda self: 1000)
    model = el.AdaBoostClassifier(device="cuda")
    with pytest.raises(MemoryError, match=r"GiB on the GPU, and .* GiB are free.*rows would fit"):
        model.fit(X, y)
    assert not hasattr(model, "ensemble_")


class FakeError(Exception):
    """What CuPy raises, in the place of each of its errors."""


def fake_cupy(count):
    """CuPy as far as opening a device and its errors go. count(): how many GPUs there are."""
    kinds = {name: type(name, (FakeError,), {}) for name in ("memory", "runtime", "driver")}
    cuda = SimpleNamespace(
        memory=SimpleNamespace(OutOfMemoryError=kinds["memory"]),
        runtime=SimpleNamespace(CUDARuntimeError=kinds["runtime"], getDeviceCount=count),
        driver=SimpleNamespace(CUDADriverError=kinds["driver"]),
    )
    return SimpleNamespace(__name__="cupy", cuda=cuda, RawModule=lambda **options: None), kinds


def no_driver():
    raise FakeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version")


@pytest.mark.parametrize(("count", "words"), [(lambda: 0, r"\(no device\)"), (no_driver, "InsufficientDriver")])
def test_without_a_gpu_or_a_driver_the_reason_is_named(monkeypatch, count, words):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(count)[0])
    devices._open_gpu.cache_clear()
    model = el.AdaBoostClassifier(device="cuda")
    with pytest.raises(RuntimeError, match=f"needs an NVIDIA GPU and its driver.*{words}.*device='cpu'"):
        model.fit(X, y)
    assert not hasattr(model, "ensemble_")
    assert el.AdaBoostClassifier(device="auto").fit(X, y).digest_ == el.AdaBoostClassifier().fit(X, y).digest_


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("runtime", RuntimeError, "the GPU stopped working: lost.*Start a new process"),
        ("driver", RuntimeError, "the GPU stopped working"),
        ("memory", MemoryError, "the memory of the GPU is full: lost; use fewer rows"),
    ],
)
def test_a_gpu_that_fails_leaves_no_half_fitted_model(monkeypatch, kind, error, words):
    cupy, kinds = fake_cupy(lambda: 1)
    rounds, advance = [], Twins.advance

    def fails_later(self, *arguments):
        rounds.append(1)
        if len(rounds) > 3:
            raise kinds[kind]("lost")
        advance(self, *arguments)

    gpu = devices.Gpu(cupy)
    monkeypatch.setattr(Reference, "errors", lambda self: gpu.errors())
    noisy = y ^ (np.arange(len(y)) % 5 == 0)  # or the first voter would be perfect
    model = el.AdaBoostClassifier(n_estimators=2, device="cuda", warm_start=True).fit(X, noisy)
    before = model.digest_
    monkeypatch.setattr(Twins, "advance", fails_later)
    new = el.AdaBoostClassifier(n_estimators=9, device="cuda")
    for one in (new, model.set_params(n_estimators=9)):
        rounds.clear()
        with pytest.raises(error, match=words):
            one.fit(X, noisy)
    assert not hasattr(new, "ensemble_")
    assert model.digest_ == before


@pytest.mark.usefixtures("reference")
def test_rows_that_take_much_memory_go_there_in_blocks(monkeypatch):
    expected = el.AdaBoostClassifier(n_estimators=3).fit(X, y).digest_
    for spare, is_there in ((3 * X.nbytes - 1, False), (3 * X.nbytes, True)):
        table = ArrayTable(X)
        place_rows(table, Reference(), spare)
        assert (table.there is not None) == is_there
    monkeypatch.setattr("electorate.training.worker_data.place_rows", lambda *_: None)
    assert el.AdaBoostClassifier(n_estimators=3, device="cuda").fit(X, y).digest_ == expected
