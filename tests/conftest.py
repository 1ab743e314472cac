"""The fast lane, `pytest --fast`: every package with its telling tests, in a few minutes on two cores.

It leaves out what starts processes or repeats fits many times, takes two parameter sets of every test of a package,
spread over all of them, and few examples of every property.
"""

import os
import signal
from itertools import groupby
from pathlib import Path

from hypothesis import settings

# before anything imports SciPy: without it scikit-learn skips its check of array API input
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# A job in the background of a shell ignores Ctrl-C, and the tests of it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
MOST_PARAMETER_SETS, MOST_EXAMPLES = 2, 5
SLOW_FOLDERS = {"commands", "comparison", "studies"}
SLOW_MODULES = {
    *("test_benchmarks", "test_first_fit_and_memory", "test_callbacks", "test_common", "test_dask", "test_dask_faults"),
    *(
        "test_displays",
        "test_front_page",
        "test_ecosystem",
        "test_families_dask",
        "test_fuzzing",
        "test_lpboost_sklearn_checks",
    ),
    *("test_packaging", "test_quadboost_sklearn", "test_sklearn_checks", "test_sklearn_checks_regressors"),
    *("test_sklearn_checks_settings", "test_sklearn_weight_boosting_regressor", "test_threads_and_processes"),
    *("test_any_cpu", "test_thinning_sklearn_checks", "test_weights_and_order"),
}
# Tests whose names or parameter sets have one of these words: they start processes, or are long in any case.
SLOW_NAMES = (
    *("cluster", "dask", "process", "import_order", "benchmark", "example_of", "address_space"),
    *("at_random", "forged_in_the_arrays", "tampered_with", "cut_lengthened", "too_deep", "many_keys"),
    *("hundreds_of_orders", "thousands_of_rounds", "large_learning_rate", "max_depth_none", "deep_trees"),
    *("one_against_the_rest", "can_not_be_bettered", "few_gram_rows", "edges_only_of", "one_rounding"),
    *("min_samples_leaf", "growing_in_parts", "stay_sparse", "one_pass", "callback_can_end", "logreg"),
    *("held_out_error", "chosen_from_noise", "no_more_often_than", "in_more_ways", "in_any_order_and_any_parts"),
    *("fitting_and_thinning", "fewer_voters", "wrapped_voters", "the_same_bits", "text_of_categories"),
    *("infinite_outputs", "sparse_is_the_same", "grown_greedily", "walk_down_the_tree", "imported_only"),
)


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out slow tests, most parameter sets and most examples")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--fast"):
        return
    chosen = []
    for (path, _), group in groupby(items, key=lambda item: (item.path, item.originalname)):
        cases = [item for item in group if not is_slow(item)]
        apart = 1 if path.parent == HERE else -(-len(cases) // MOST_PARAMETER_SETS)  # all sets in this folder itself
        chosen += cases[::apart] if cases else []
    for item in chosen:
        shorten(item.function)
    left = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = chosen


def is_slow(item):
    by_name = any(word in item.name for word in SLOW_NAMES)
    return by_name or item.path.parent.name in SLOW_FOLDERS or item.path.stem in SLOW_MODULES


def shorten(function):
    """Run few examples of a property; its own settings are stored in the function."""
    known = getattr(function, "_hypothesis_internal_use_settings", None)
    if known is not None:
        fewer = settings(known, max_examples=min(MOST_EXAMPLES, known.max_examples))
        function._hypothesis_internal_use_settings = fewer
