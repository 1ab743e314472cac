"""Every booster of `cases.BOOSTERS`, on every data set of `cases.DATA`, through every check of `checks`."""

import pytest

from tests.common import checks
from tests.common.cases import BOOSTERS, DATA


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_common(check, booster, data):
    estimator, objective = BOOSTERS[booster]
    more = (objective,) if check is checks.check_objective_is_recomputed else ()
    check(estimator, *DATA[data], *more)
