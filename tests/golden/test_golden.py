"""Models and their histories are, bit for bit, those that were recorded; those of RQPBoost to 1e-9.

Every record is compared, or the test fails. The bits depend on NumPy, which the extra `test` pins; `make test-oldest`,
with an older release, leaves this folder out. cases.py states when a record may change.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

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

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-9  # of objectives, relative
CASES = cases()
ALGORITHMS = {name: list(group) for name, group in groupby(CASES, key=lambda key: key.split(" | ")[0])}
# Every setting once; test_paths.py has the default families, tests/engines/test_families_dask.py the others.
ONCE = re.compile(rf"({'|'.join(OPTIONS)}|, trees) \| messy \| real$")
ON_DASK = [name for name in CASES if ONCE.search(name) and "QuadBoost" not in name]


@cache
def recorded() -> dict[str, Any]:
    """Return the records. All are compared: a release of NumPy with other bits is a failure, not a reason to skip."""
    found = stored()
    compare_numpy(found["numpy"])
    return dict(found["records"])


def compare_numpy(version: str) -> None:
    """Fail if the records were made with another NumPy than this."""
    if version != np.__version__:
        install = "install the test environment, `make test` or pip install -e . --group test"
        pytest.fail(f"the records were made with NumPy {version}, and this is {np.__version__}: {install}")


def same(fitted: dict[str, Any], known: dict[str, Any]) -> bool:
    """Whether a record is the stored one: bit for bit, or with objectives that differ by 1e-9 at most."""
    if set(fitted) != {"objectives", "stop"} or set(known) != set(fitted):
        return fitted == known
    return fitted["stop"] == known["stop"] and fitted["objectives"] == pytest.approx(
        known["objectives"], rel=TOLERANCE, abs=0
    )


def test_every_case_is_recorded() -> None:
    known = set(stored()["records"])
    missing, unknown = sorted(set(CASES) - known), sorted(known - set(CASES))
    assert not missing, f"run `python -m tests.golden.record --new`, which adds the digests of {missing}"
    assert not unknown, f"digests without a case in tests/golden/cases.py: {unknown}"


def test_settings_are_of_registered_algorithms() -> None:
    for table in (SETTINGS, BY_ROWS, dict(OPTIONS.values())):
        names_without(table)


def test_the_test_environment_pins_numpy_of_the_records() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert f"numpy=={stored()['numpy']}" in groups["test"]


def test_only_records_of_linear_algebra_are_of_objectives() -> None:
    loose = {name for name, one in stored()["records"].items() if "digest" not in one}
    assert loose == {name for name in CASES if BY_LINEAR_ALGEBRA.search(name)}


def test_another_numpy_fails_and_skips_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "__version__", "1.0")
    with pytest.raises(pytest.fail.Exception, match=r"made with NumPy .* and this is 1\.0: install"):
        recorded.__wrapped__()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_models_are_those_recorded(algorithm: str) -> None:
    known = {name: recorded()[name] for name in ALGORITHMS[algorithm]}
    fitted = {name: fit(name, CASES[name]) for name in known}
    changed = [name for name in known if not same(fitted[name], known[name])]
    assert {name: fitted[name] for name in changed} == {name: known[name] for name in changed}


@pytest.mark.process
@pytest.mark.parametrize("name", ON_DASK)
def test_models_on_dask_are_those_recorded(name: str) -> None:
    case: Case = CASES[name]
    X, y, weights = load_data(case)
    model = ENGINES["dask"].fit(clone(case.model), X, y, weights)
    assert record(name, model, X) == recorded()[name]
