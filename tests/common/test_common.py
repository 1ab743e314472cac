"""Every booster of `cases`, on every data set of `cases.DATA` and every engine, through every check of `checks`."""

import pytest

from tests.common import checks
from tests.common.cases import BOOSTERS, DATA, REAL
from tests.common.engines import ENGINES


def names(check):
    return check.__name__.removeprefix("check_")


def go_through(check, engine, booster, data):
    estimator, objective = BOOSTERS[booster]
    more = (objective,) if check is checks.check_objective_is_recomputed else ()
    check(ENGINES[engine], estimator, *DATA[data], *more)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("check", checks.CHECKS, ids=names)
def test_common(check, booster, data):
    go_through(check, "threads", booster, data)


@pytest.mark.parametrize("check", checks.CHECKS, ids=names)
def test_common_elsewhere(check):
    """All checks once on every other engine; the bits of every booster and family below."""
    for engine in ENGINES.keys() - {"threads"}:
        go_through(check, engine, "AdaBoost", "missing")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("booster", [*REAL, *BOOSTERS])
@pytest.mark.parametrize("check", checks.OF_BITS, ids=names)
def test_common_bits(check, booster, engine):
    estimator = REAL[booster] if booster in REAL else BOOSTERS[booster].estimator
    check(ENGINES[engine], estimator, *DATA["categories"])
