"""Faults on a Dask cluster, once each: an error that names the worker in time, or the same model; nothing is left."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from dask_cluster import end, make_client
from dask_faults import CASES, nobody_left, whole

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def clients() -> Iterator[list[Any]]:
    """A cluster of our own, whose workers may die; in the end no process and no file of it is left."""
    before = set(psutil.Process().children(recursive=True))
    files = set(os.listdir(tempfile.gettempdir()))
    clients = [make_client()]
    yield clients
    end(clients[0])
    left = [child for child in psutil.Process().children(recursive=True) if child not in before]
    _, alive = psutil.wait_procs([child for child in left if "resource_tracker" not in " ".join(child.cmdline())], 10)
    assert not alive
    ours = {name for name in set(os.listdir(tempfile.gettempdir())) - files if "electorate" in name or "model" in name}
    assert not ours


@pytest.mark.parametrize("case", CASES)
def test_fault(clients: list[Any], case: str) -> None:
    clients[0] = whole(clients[0])
    CASES[case](clients[0], 1)
    nobody_left(clients[0])
