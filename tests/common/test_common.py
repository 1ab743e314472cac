"""Every booster of `cases`, on every data set of `cases.DATA` and every engine, through every check of `checks`."""

import pytest

from electorate import Pool
from tests.common import checks
from tests.common.cases import BOOSTERS, DATA, EVERY, QUAD, REAL, data_for
from tests.common.engines import ENGINES

OF_THEORY = (checks.check_objective_is_recomputed, checks.check_margins_are_recomputed)


def names(check):
    return check.__name__.removeprefix("check_")


def go_through(check, engine, booster, data):
    estimator, theory = BOOSTERS[booster]
    more = (theory,) if check in OF_THEORY else ()
    check(ENGINES[engine], estimator, *DATA[data], *more)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("check", checks.CHECKS, ids=names)
def test_common(check, booster, data):
    go_through(check, "threads", booster, data)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("check", checks.OF_BITS, ids=names)
def test_every_registered_algorithm(check, name):
    check(ENGINES["threads"], EVERY[name], *data_for(name))


@pytest.mark.parametrize("engine", ["disk", pytest.param("dask", marks=pytest.mark.process)])
@pytest.mark.parametrize("check", checks.CHECKS, ids=names)
def test_common_elsewhere(check, engine):
    """All checks once on every other engine; the bits of every booster and family below."""
    go_through(check, engine, "AdaBoost", "missing")


def on_engine(booster, check, engine):
    """On Dask every booster with any parts, and two of them with the other checks, which take long there."""
    return engine != "dask" or check is checks.check_any_parts or booster in ("AdaBoost", "SAMME.R-trees")


@pytest.mark.parametrize(
    ("booster", "check", "engine"),
    [
        pytest.param(b, c, e, id=f"{names(c)}-{b}-{e}", marks=[pytest.mark.process] * (e == "dask"))
        for e in ENGINES
        for b in (*REAL, *BOOSTERS)
        for c in checks.OF_BITS
        if on_engine(b, c, e)
    ],
)
def test_common_bits(check, booster, engine):
    estimator = REAL[booster] if booster in REAL else BOOSTERS[booster].estimator
    check(ENGINES[engine], estimator, *DATA["categories"])


def quad_checks(booster):
    """All but those of stagewise boosters; a pool knows its training error at the end only."""
    on_pool = isinstance(QUAD[booster].estimator, Pool)
    left_out = [*checks.OF_STAGEWISE, *([checks.check_train_error_is_score] if on_pool else [])]
    return [check for check in checks.CHECKS if check not in left_out]


@pytest.mark.parametrize("data", ["two-labels", "ties", "missing"])
@pytest.mark.parametrize(
    ("booster", "check"), [pytest.param(b, c, id=f"{b}-{names(c)}") for b in QUAD for c in quad_checks(b)]
)
def test_quadboost(check, booster, data):
    more = (checks.QUADBOOST,) if check in OF_THEORY else ()
    check(ENGINES["threads"], QUAD[booster], *DATA[data], *more)


FAR = [b for b, model in QUAD.items() if model.reweight == "never" or isinstance(model.estimator, Pool)]


@pytest.mark.process
@pytest.mark.parametrize("booster", FAR)
@pytest.mark.parametrize("check", [checks.check_any_parts, checks.check_objective_is_recomputed], ids=names)
def test_quadboost_elsewhere(check, booster):
    """On Dask, where only the voters of a pool are weighted again."""
    more = (checks.QUADBOOST,) if check in OF_THEORY else ()
    check(ENGINES["dask"], QUAD[booster], *DATA["missing"], *more)
