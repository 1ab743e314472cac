"""Every booster of `cases`, on every data set of `cases.DATA` and every engine, through every check of `checks`."""

import pytest

from tests.common import checks
from tests.common.cases import BOOSTERS, DATA, REAL
from tests.common.engines import ENGINES

ON = [("threads", data) for data in DATA] + [("dask", "missing")]


def names(check):
    return check.__name__.removeprefix("check_")


@pytest.mark.parametrize(("engine", "data"), ON)
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("check", checks.CHECKS, ids=names)
def test_common(check, booster, engine, data):
    estimator, objective = BOOSTERS[booster]
    more = (objective,) if check is checks.check_objective_is_recomputed else ()
    check(ENGINES[engine], estimator, *DATA[data], *more)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("booster", REAL)
@pytest.mark.parametrize("check", checks.OF_BITS, ids=names)
def test_common_of_real_voters(check, booster, engine):
    check(ENGINES[engine], REAL[booster], *DATA["categories"])
