"""What all tests share: the Dask cluster, the order of the tests, and `pytest --fast`.

`--fast` takes two parameter sets of every test of a package, spread over all of them, and few examples of every
property. The markers `process` and `slow` leave whole tests out; they stand in the test files.
"""

import os
import signal
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import settings

# before anything imports SciPy: without it scikit-learn skips its check of array API input
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# A job in the background of a shell ignores Ctrl-C, and the tests of it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
MOST_PARAMETER_SETS, MOST_EXAMPLES = 2, 5


@pytest.fixture(scope="session")
def client():
    """A client of the Dask cluster that all tests of this process share, made when the first of them asks for it."""
    from dask_cluster import the_client

    return the_client()


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out most parameter sets and most examples")


def pytest_collection_modifyitems(config, items):
    # First, so that one process of pytest-xdist runs them all: one cluster, and no two of them at once.
    items.sort(key=lambda item: item.get_closest_marker("process") is None)
    if not config.getoption("--fast"):
        return
    chosen = []
    for (path, _), group in groupby(items, key=lambda item: (item.path, item.originalname)):
        cases = list(group)
        chosen += cases if path.parent == HERE else cases[:: -(-len(cases) // MOST_PARAMETER_SETS)]
    for item in chosen:
        shorten(item.function)
    left = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = chosen


def shorten(function):
    """Run few examples of a property; its own settings are stored in the function."""
    known = getattr(function, "_hypothesis_internal_use_settings", None)
    if known is not None:
        fewer = settings(known, max_examples=min(MOST_EXAMPLES, known.max_examples))
        function._hypothesis_internal_use_settings = fewer
