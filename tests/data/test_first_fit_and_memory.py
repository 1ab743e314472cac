"""Where a fit runs: where nothing can be written, with little memory. It works, or says why not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import ROOT, noisy, run_python

from electorate import AdaBoostClassifier, kernels
from electorate.data import inputs
from electorate.training import worker_data

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# ---------------------------------------------------------------- the first fit

FIT_AND_REPORT = """
import resource, sys, threading
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # as on a full disk: files can be made, nothing can be written
import electorate
from samples import messy
X, y = messy(rows=200, labels=3)
digests = []

def work():
    model = electorate.AdaBoostClassifier(n_estimators=5, categorical_features=[3]).fit(X, y)
    model.predict(X)
    digests.append(model.digest_)

threads = [threading.Thread(target=work) for _ in range(2)]  # both at once load the kernels
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*digests)
"""


@pytest.fixture(scope="module")
def expected() -> str:
    from samples import messy

    X, y = messy(rows=200, labels=3)
    return AdaBoostClassifier(n_estimators=5, categorical_features=[3]).fit(X, y).digest_


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_first_fit_writes_no_file(expected: str, tmp_path: Path) -> None:
    (nowhere := tmp_path / "nowhere").touch()
    variables = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(nowhere)}
    assert run_python(FIT_AND_REPORT, **variables)[0] == f"{expected} {expected}\n"  # joblib warns


@pytest.mark.process
def test_importing_the_package_is_light_and_fitting_is_silent() -> None:
    code = """
import sys
import electorate
assert not {"sklearn", "scipy", "numpy"} & set(sys.modules), "imported too much"
import warnings
warnings.simplefilter("error")
from samples import messy
X, y = messy()
model = electorate.AdaBoostClassifier(n_estimators=5).fit(X, y)
model.predict_proba(X), model.digest_, model.estimators_, repr(model)
"""
    assert run_python(code, PYTHONPATH=f"{ROOT}:{ROOT / 'tests'}") == ("", "")


@pytest.mark.process
@pytest.mark.parametrize("chosen", ["native", "reference"])
def test_kernels_chosen_by_an_environment_variable(chosen: str, expected: str) -> None:
    """The NumPy twins give the same model, without the compiled module."""
    code = """
import os, sys
import electorate
from samples import messy
X, y = messy(rows=200, labels=3)
model = electorate.AdaBoostClassifier(n_estimators=5, categorical_features=[3]).fit(X, y)
model.predict(X)
loaded = any(name.startswith("electorate.kernels._core") for name in sys.modules)
assert loaded == (os.environ["ELECTORATE_KERNELS"] == "native")
print(model.digest_)
"""
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "ELECTORATE_KERNELS": chosen}
    assert run_python(code, **environment) == (expected + "\n", "")


def test_an_unknown_choice_of_kernels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELECTORATE_KERNELS", "cuda")
    with pytest.raises(ValueError, match="ELECTORATE_KERNELS is 'cuda': set it to 'native' or 'reference'"):
        kernels.__getattr__("mix")


# ---------------------------------------------------------------- memory

MEASURE = """
import json, sys
import numpy as np
from electorate import AdaBoostClassifier
from electorate.data import inputs

def memory(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

def peak_of(work):
    before = memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew from here
    work()
    return memory("VmHWM") - before

rows, columns, n_jobs = (int(argument) for argument in sys.argv[1:])
rng = np.random.default_rng(0)
X = np.empty((rows, columns), dtype=np.float32)
for low in range(0, rows, 10_000):
    X[low : low + 10_000] = rng.normal(size=X[low : low + 10_000].shape)
y = X[:, 0] + X[:, 1] > 0.3
model = AdaBoostClassifier(n_estimators=5, n_jobs=n_jobs)
model.fit(X[:3000], y[:3000]).predict(X[:3000])  # the kernels are compiled and loaded
estimates = []
inputs.refuse_too_large = estimates.append
fit = peak_of(lambda: model.fit(X, y))
predict = peak_of(lambda: model.predict(X))
print(json.dumps({"X": X.nbytes, "fit": fit, "predict": predict, "estimate": max(estimates)}))
"""


def measure(rows: int, columns: int, n_jobs: int) -> dict[str, int]:
    return json.loads(run_python(MEASURE, str(rows), str(columns), str(n_jobs), timeout=600)[0])


def assert_frugal(found: dict[str, int], rows: int, columns: int) -> None:
    """Input and all beside it: at most 1.5 x input + the binned copy, which has a byte per cell."""
    binned = rows * columns
    assert found["X"] == 4 * binned
    assert found["X"] + found["fit"] <= 1.5 * found["X"] + binned
    assert found["predict"] < 40 * rows + 10e6  # votes, decision, classes; nothing by column
    assert found["fit"] / 2 < found["estimate"] < 2 * found["fit"]


@pytest.mark.process
@linux_only
def test_peak_memory() -> None:
    assert_frugal(measure(200_000, 100, 1), 200_000, 100)


@pytest.mark.process
@linux_only
@pytest.mark.slow
def test_peak_memory_of_a_million_rows() -> None:
    assert_frugal(measure(1_000_000, 100, 2), 1_000_000, 100)


def test_too_little_memory_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(rows=20_000)
    monkeypatch.setattr(inputs, "ALWAYS_FREE", 0)  # the table is small
    monkeypatch.setattr(inputs, "free_memory", lambda: X.size)

    def never(*_: Any) -> Any:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(worker_data, "find_bins_steps", never)
    with pytest.raises(MemoryError, match=r"needs about .* GiB beside X, and .* GiB are free.*n_jobs"):
        AdaBoostClassifier().fit(X, y)


def test_the_bins_of_exact_mode_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """60,000 values per column take a histogram of 1 MB per column and thread, known when they have been counted."""
    X, y = noisy(rows=60_000, columns=20)
    monkeypatch.setattr(inputs, "free_memory", lambda: 50_000_000)
    assert AdaBoostClassifier(n_estimators=2, n_jobs=4).fit(X, y).n_features_in_ == 20
    coarse = np.round(X, 1)
    assert AdaBoostClassifier(n_estimators=2, n_jobs=4, max_bins="exact").fit(coarse, y).n_features_in_ == 20
    with pytest.raises(MemoryError, match=r"max_bins=255 instead of 'exact'"):
        AdaBoostClassifier(n_estimators=2, n_jobs=4, max_bins="exact").fit(X, y)


def test_many_classes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "free_memory", lambda: 1 << 30)
    with pytest.raises(MemoryError, match="GiB are free"):
        AdaBoostClassifier(n_jobs=1).fit(np.ones((20_000, 100)), np.arange(20_000) // 10)


def test_where_free_memory_is_unknown_the_fit_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy()
    monkeypatch.setattr(inputs, "free_memory", lambda: None)
    assert AdaBoostClassifier(n_estimators=2).fit(X, y).score(X, y) > 0.6


@linux_only
def test_free_memory_is_some_of_what_there_is() -> None:
    import psutil

    free = inputs.free_memory()
    assert free is not None
    assert 0 < free <= psutil.virtual_memory().total


def test_a_control_group_counts_pages_of_files_as_free(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 300\nactive_file 50\ninactive_file 500\nfile 600\n")
    assert inputs.group_memory(str(tmp_path)) == 650
    (tmp_path / "memory.max").write_text("max\n")
    with pytest.raises(ValueError, match="max"):
        inputs.group_memory(str(tmp_path))
