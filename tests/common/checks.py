"""Checks that every booster passes on every engine: check_*(engine, estimator, X, y), the estimator not fitted.

Each asserts one promise about a fitted model. Bits are compared where bits are promised, numbers to 1e-9 else.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tests.common.engines import Engine
from tests.common.recompute import (
    Floats,
    margins_of_decision,
    margins_of_f,
    mean_exp,
    mean_square,
    paid,
    staged_by_moves,
    staged_margins,
    take,
)

CLOSE = 1e-9  # of sums on the integer grid, for a few hundred rows
REASONS = {
    *("n_estimators", "validation", "no_edge", "perfect_voter", "converged", "time_limit", "callback"),
    *("interrupted", "zero_gradient", "max_voters"),
}


class Theory(NamedTuple):
    """What an algorithm's numbers must be, from outside: of margins and weights the objective; margins by round; what
    a decision function says of them; a penalty by round."""

    objective: Callable[[Floats, Floats], float]
    staged: Callable[[Any, Any, Any], Floats]
    margins: Callable[[Any, Floats, Any, float], Floats]
    paid: Callable[[Any], Floats | float] = lambda model: 0.0


ADABOOST = Theory(mean_exp, staged_margins, margins_of_decision)
QUADBOOST = Theory(mean_square, staged_by_moves, margins_of_f, paid)


def fitted(engine: Engine, estimator: Any, X: Any, y: Any, weight: Any = None, **parameters: Any) -> Any:
    return engine.fit(clone(estimator).set_params(**parameters), X, y, weight)


def decisions(model: Any, X: Any) -> Floats:
    """The decision function of a classifier, the predictions of a regressor."""
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


def whole_weights(n: int) -> Any:
    return np.random.default_rng(5).integers(0, 4, n)


def real_weights(n: int) -> Floats:
    return np.random.default_rng(6).uniform(0.01, 1.0, n)


# ---------------------------------------------------------------- numbers


def check_objective_never_rises(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """From the 1 of no voter at all; without weights, with whole ones, with real ones."""
    for weight in (None, whole_weights(len(y)), real_weights(len(y))):
        objective = fitted(engine, estimator, X, y, weight).history_["objective"]
        path = np.concatenate([[1.0], objective])
        assert np.all(np.diff(path) <= CLOSE * path[:-1])
        assert objective[-1] < 1


def check_objective_is_recomputed(engine: Engine, estimator: Any, X: Any, y: Any, theory: Theory = ADABOOST) -> None:
    """From the voters' predictions, round by round."""
    for weight in (np.ones(len(y)), whole_weights(len(y)), real_weights(len(y))):
        model = fitted(engine, estimator, X, y, weight)
        costs = [theory.objective(margins, weight) for margins in theory.staged(model, X, y)]
        expected = np.array(costs) + theory.paid(model)
        np.testing.assert_allclose(model.history_["objective"], expected, rtol=CLOSE, atol=0)


def check_margins_are_recomputed(engine: Engine, estimator: Any, X: Any, y: Any, theory: Theory = ADABOOST) -> None:
    """Those of the decision function are those of the voters and their steps, in every round."""
    model = fitted(engine, estimator, X, y)
    expected = theory.staged(model, X, y)
    totals = np.cumsum(model.history_["step"])
    stages = model.staged_decision_function(X)
    for decision, total, margins in zip(stages, totals, expected, strict=True):
        np.testing.assert_allclose(theory.margins(model, decision, y, total), margins, rtol=0, atol=CLOSE)
    last = theory.margins(model, model.decision_function(X), y, totals[-1])
    np.testing.assert_allclose(last, expected[-1], rtol=0, atol=CLOSE)


def check_train_error_is_score(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    for weight in (None, whole_weights(len(y)), real_weights(len(y))):
        model = fitted(engine, estimator, X, y, weight)
        scores = list(model.staged_score(X, y, sample_weight=weight))
        np.testing.assert_allclose(model.history_["train_error"], 1 - np.array(scores), rtol=0, atol=CLOSE)
        assert scores[-1] == model.score(X, y, sample_weight=weight)


def check_history_is_complete(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """One entry per round in every column, the steps among them, all finite."""
    model = fitted(engine, estimator, X, y)
    rounds = len(model.history_["step"])
    assert {"step", "edge", "objective", "train_error", "n_voters", "seconds"} <= set(model.history_)
    for column in model.history_.values():
        assert column.shape == (rounds,)
        assert np.all(np.isfinite(column))
    np.testing.assert_array_equal(model.history_["step"], model.steps_)
    assert model.history_["n_voters"][-1] == len(model.estimators_)
    assert np.all(np.diff(model.history_["seconds"]) >= 0)


def check_stops_with_a_reason(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """Rounds that were done say n_estimators, fewer say why; on rows that tell nothing the model is constant."""
    model = fitted(engine, estimator, X, y)
    assert model.stop_reason_ in REASONS
    assert (len(model.history_["step"]) == model.n_estimators) or model.stop_reason_ != "n_estimators"
    assert np.all(np.isfinite(model.steps_))
    blind = take(X, np.zeros(len(y), dtype=int))
    model = fitted(engine, estimator, blind, y, n_estimators=200)
    assert model.stop_reason_ == "no_edge" or (model.stop_reason_ == "converged" and hasattr(model, "gap_"))
    assert len(np.unique(model.predict(X))) == 1


# ---------------------------------------------------------------- bits


def check_weight_is_repetition(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """Weight k is the row k times, and weight 0 is no row."""
    times = whole_weights(len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = fitted(engine, estimator, X, y, times)
    repeated = fitted(engine, estimator, take(X, rows), y[rows])
    assert weighted.digest_ == repeated.digest_
    np.testing.assert_array_equal(weighted.history_["objective"], repeated.history_["objective"])
    np.testing.assert_array_equal(decisions(weighted, X), decisions(repeated, X))


def check_zero_weight_is_no_row(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    weight = real_weights(len(y)) * (whole_weights(len(y)) > 0)
    rows = np.flatnonzero(weight)
    assert (
        fitted(engine, estimator, X, y, weight).digest_
        == fitted(engine, estimator, take(X, rows), y[rows], weight[rows]).digest_
    )


def check_weights_times_power_of_two(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    for weight in (np.ones(len(y)), whole_weights(len(y)), real_weights(len(y))):
        digest = fitted(engine, estimator, X, y, weight).digest_
        for power in (-200, -1, 5, 200):
            assert fitted(engine, estimator, X, y, np.ldexp(weight.astype(float), power)).digest_ == digest


def check_rows_permuted(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    order = np.random.default_rng(7).permutation(len(y))
    for weight in (np.ones(len(y)), whole_weights(len(y)), real_weights(len(y))):
        straight, mixed = (
            fitted(engine, estimator, X, y, weight),
            fitted(engine, estimator, take(X, order), y[order], weight[order]),
        )
        assert straight.digest_ == mixed.digest_
        np.testing.assert_array_equal(straight.history_["objective"], mixed.history_["objective"])


def check_any_parts(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """The same model and the same predictions for any threads, shards or partitions, more of them than rows too."""
    weight = real_weights(len(y))
    first = clone(estimator).set_params(n_jobs=1).fit(X, y, weight)
    decision = decisions(first, X)
    for model in engine.ways(estimator, X, y, weight):
        assert model.digest_ == first.digest_
        np.testing.assert_array_equal(model.history_["objective"], first.history_["objective"])
        np.testing.assert_array_equal(decisions(model, X), decision)


def check_staged_is_fitted(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """Stage t is the model of t rounds, and the last stage the model itself, to the bit."""
    model = fitted(engine, estimator, X, y)
    ways = (model.staged_decision_function(X), model.staged_predict_proba(X), model.staged_predict(X))
    stages = list(zip(*ways, strict=True))
    assert len(stages) == len(model.history_["step"])
    for t in sorted({1, 2, len(stages) // 2, len(stages)}):
        short = fitted(engine, estimator, X, y, n_estimators=t)
        plain = (short.decision_function(X), short.predict_proba(X), short.predict(X))
        for staged, expected in zip(stages[t - 1], plain, strict=True):
            np.testing.assert_array_equal(staged, expected)
        assert (short.digest_ == model.digest_) == (t == len(stages))


def check_voters_stay_as_they_came(engine: Engine, estimator: Any, X: Any, y: Any) -> None:
    """A shorter run has the first voters of a longer one, with their steps."""
    model = fitted(engine, estimator, X, y)
    rounds = len(model.history_["step"])
    for t in sorted({1, 2, rounds // 2, rounds}):
        short = fitted(engine, estimator, X, y, n_estimators=t)
        np.testing.assert_array_equal(short.steps_, model.steps_[:t])
        assert [v.to_text() for v in short.estimators_] == [v.to_text() for v in model.estimators_[:t]]


CHECKS = [value for name, value in dict(globals()).items() if name.startswith("check_")]
# what holds for every algorithm
OF_BITS = [check_weight_is_repetition, check_zero_weight_is_no_row, check_rows_permuted, check_any_parts]
# what does not hold where voters are weighted again, or come again and are merged
OF_STAGEWISE = [check_history_is_complete, check_voters_stay_as_they_came]
