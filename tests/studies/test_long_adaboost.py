"""AdaBoost in the fast loop of a study makes the rounds of the estimator."""

import numpy as np
import pytest

from electorate import AdaBoostClassifier, Pool
from electorate_studies.long_adaboost import staged_errors

ROUNDS = [1, 2, 3, 7, 20, 60, 150]


def expected(train, test, rounds):
    """From the estimator, round by round; after its last round, the error of the last."""
    model = AdaBoostClassifier(Pool(), n_estimators=rounds[-1], n_jobs=1).fit(*train)
    found = [float(np.mean(predicted != test[1])) for predicted in model.staged_predict(test[0])]
    return [found[min(number, len(found)) - 1] for number in rounds], model


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("seed", range(5))
def test_errors_are_those_of_the_estimator(seed: int, levels: int | None) -> None:
    """Also with few distinct values, where many stumps tie."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(160, 5)) if levels is None else rng.integers(levels, size=(160, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=160) > 0).astype(np.int64)
    train, test = (X[:90], y[:90]), (X[90:], y[90:])
    wanted, _ = expected(train, test, ROUNDS)
    np.testing.assert_allclose(staged_errors(train, test, ROUNDS), wanted, rtol=0, atol=1e-12)


def test_a_run_that_ends_keeps_its_last_error() -> None:
    """One column of two values: the first stump is the only one with an edge."""
    X = np.repeat([[0.0], [1.0]], [10, 10], axis=0)
    y = np.array([0] * 8 + [1] * 2 + [1] * 9 + [0])
    wanted, model = expected((X, y), (X, y), ROUNDS)
    assert len(model.steps_) < ROUNDS[-1]
    np.testing.assert_array_equal(staged_errors((X, y), (X, y), ROUNDS), wanted)
    np.testing.assert_array_equal(staged_errors((X, X[:, 0].astype(int)), (X, y), ROUNDS), [3 / 20] * len(ROUNDS))
