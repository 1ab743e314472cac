"""The fast lane: `pytest --fast` leaves out the modules below, which start processes or repeat fits many times."""

import os

# before anything imports SciPy: without it scikit-learn skips its check of array API input
os.environ.setdefault("SCIPY_ARRAY_API", "1")

SLOW_FOLDERS = {"commands", "comparison", "studies"}
SLOW_MODULES = {
    *("test_benchmarks", "test_caches_and_memory", "test_callbacks", "test_common", "test_dask", "test_dask_faults"),
    *("test_displays", "test_ecosystem", "test_families_dask", "test_fuzzing", "test_lpboost_sklearn_checks"),
    *("test_packaging", "test_quadboost_sklearn", "test_sklearn_checks", "test_sklearn_checks_regressors"),
    *("test_sklearn_checks_settings", "test_sklearn_weight_boosting_regressor", "test_threads_and_processes"),
    *("test_any_cpu", "test_thinning_sklearn_checks", "test_weights_and_order"),
}


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out the slow modules")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--fast"):
        return
    slow = [item for item in items if item.path.parent.name in SLOW_FOLDERS or item.path.stem in SLOW_MODULES]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in set(slow)]
