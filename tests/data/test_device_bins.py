"""Edges that are found on a device are those of the CPU. The twins stand in for the device."""

import numpy as np
import pytest

from electorate.cuda.device import Reference
from electorate.data.all_reduce import run_locally, run_together
from electorate.data.bins import cut_columns_steps
from electorate.data.device_bins import hashes_there
from electorate.data.table import ArrayTable, StackedTable
from electorate.kernels import hash_values
from electorate.threads import ThreadPool

N, MOST, CAPACITY = 900, 16, 64


def columns(dtype):
    """Many values, few, one, none, as many as a sketch holds, one value in most rows, whole numbers."""
    rng = np.random.default_rng(2)
    table = rng.normal(size=(N, 7)).astype(dtype)
    table[:, 1] = rng.integers(-3, 3, N)
    table[:, 1][table[:, 1] == 0] = -0.0
    table[:, 2], table[:, 3] = 1.5, np.nan
    table[:, 4] = np.arange(N) % CAPACITY
    table[rng.random(N) < 0.8, 5] = lowest_hash(table[:, 5])
    table[:, 6] = rng.integers(0, 500, N)
    table[rng.random(N) < 0.2, 0] = np.nan
    return table


def lowest_hash(values):
    """A value that is selected by any limit."""
    values = values.astype(np.float64)
    return values[np.argmin(hash_values(values))]


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for column, (edges, n_bins, missing) in expected.items():
        np.testing.assert_array_equal(found[column][0], edges)
        assert found[column][1:] == (n_bins, missing)


WEIGHTS = {"none": np.ones(N, dtype=np.int64), "some": np.random.default_rng(3).integers(0, 9, N)}


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_edges_are_those_of_the_cpu(dtype, weighted):
    X, weights = columns(dtype), WEIGHTS[weighted]
    pool, sizes = ThreadPool(1), (N, MOST, CAPACITY)
    expected = run_locally(cut_columns_steps(ArrayTable(X), weights, range(7), *sizes, pool))
    found = run_locally(cut_columns_steps(ArrayTable(X), weights, range(7), *sizes, pool, Reference()))
    assert_same(found, expected)
    stack = StackedTable([ArrayTable(X[:200]), ArrayTable(np.asfortranarray(X[200:]))], [0, 1])
    assert_same(run_locally(cut_columns_steps(stack, weights, range(7), *sizes, pool, Reference())), expected)
    halves = [
        cut_columns_steps(ArrayTable(X[part]), weights[part], range(7), *sizes, pool, device)
        for part, device in ((slice(0, 300), Reference()), (slice(300, 310), Reference()), (slice(310, None), None))
    ]
    assert_same(run_together(halves), expected)


@pytest.mark.parametrize("column", [0, 1])
def test_an_infinite_number_is_named(column):
    X = columns(np.float64)
    X[700, column] = np.inf
    steps = cut_columns_steps(ArrayTable(X), WEIGHTS["none"], range(7), N, MOST, CAPACITY, ThreadPool(1), Reference())
    with pytest.raises(ValueError, match=f"column {column}, row 700"):
        run_locally(steps)


def test_hashes_are_those_of_the_kernels():
    values = np.append(np.random.default_rng(0).normal(size=50), [0.0, 1e-310, 1e300])
    np.testing.assert_array_equal(hashes_there(values), hash_values(values))
