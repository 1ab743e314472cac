"""Models and their histories are, bit for bit, those that were recorded."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from typing import Any

import pytest
from sklearn.base import clone

from electorate.engines.dask import fingerprint
from tests.common.engines import ENGINES
from tests.common.small_models import names_without
from tests.golden.cases import (
    BY_LINEAR_ALGEBRA,
    BY_ROWS,
    OPTIONS,
    SETTINGS,
    Case,
    cases,
    fit,
    load_data,
    record,
    stored,
)

CASES = cases()
ALGORITHMS = {name: list(group) for name, group in groupby(CASES, key=lambda key: key.split(" | ")[0])}
# These need all rows in one place.
LOCAL = re.compile("LPBoost|RQPBoost|columns|kernels|QuadBoost")
ON_DASK = [name for name in CASES if name.endswith("| messy | real") and not LOCAL.search(name)]


@cache
def recorded() -> dict[str, Any]:
    """The records, of any processor; of the same one where linear algebra decides."""
    found = stored()
    made_on, here = found["made_on"], fingerprint()
    if made_on.split(", exp")[0] != here.split(", exp")[0]:
        pytest.skip(f"the records were made on {made_on}; this is {here}")
    records = dict(found["records"])
    if found["linear_algebra_made_on"] == here:
        return records
    return {name: one for name, one in records.items() if not BY_LINEAR_ALGEBRA.search(name)}


def test_every_case_is_recorded() -> None:
    known = set(stored()["records"])
    missing, unknown = sorted(set(CASES) - known), sorted(known - set(CASES))
    assert not missing, f"run `python -m tests.golden.record --new`, which adds the digests of {missing}"
    assert not unknown, f"digests without a case in tests/golden/cases.py: {unknown}"


def test_settings_are_of_registered_algorithms() -> None:
    for table in (SETTINGS, BY_ROWS, dict(OPTIONS.values())):
        names_without(table)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_models_are_those_recorded(algorithm: str) -> None:
    want = {name: recorded()[name] for name in ALGORITHMS[algorithm] if name in recorded()}
    if not want:
        pytest.skip("linear algebra has other bits on this processor than where the records were made")
    assert {name: fit(CASES[name]) for name in want} == want


@pytest.mark.parametrize("name", ON_DASK)
def test_models_on_dask_are_those_recorded(name: str) -> None:
    case: Case = CASES[name]
    X, y, weights = load_data(case)
    model = ENGINES["dask"].fit(clone(case.model), X, y, weights)
    assert record(model, X) == recorded()[name]
