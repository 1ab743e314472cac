"""Forged numbers of a model file: it is refused, or all predictions are finite."""

import warnings
from typing import Any

import numpy as np
import pytest

import electorate
from electorate import (
    Columns,
    LocMedBoostRegressor,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    StackedClassifier,
    modelfile,
)
from electorate.modelfile import ModelFormatError

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=60)
LABELS = np.digitize(Y, [0.5, 1.5])


def model(name: str) -> Any:
    if name == "stack":
        named = [("real", RealAdaBoostClassifier(n_estimators=3)), ("quad", QuadBoostClassifier(n_estimators=3))]
        return StackedClassifier(named, n_folds=2).fit(X, LABELS)
    if name == "moving":
        return QuadBoostRegressor(Columns(), penalty="l1", reweight="cyclic", n_estimators=10).fit(X, Y)
    if name == "classes":
        return RealAdaBoostClassifier(n_estimators=3).fit(X, LABELS).calibrate(X, LABELS)
    if name == "median":
        return LocMedBoostRegressor(n_estimators=3).fit(X, Y).calibrate(X, Y)
    return QuadBoostRegressor(n_estimators=3).fit(X, Y)


def predictions(fitted: Any) -> list[Any]:
    """All numbers that a model predicts, also after every round."""
    at_once = ("predict", "predict_proba", "decision_function")
    numbers = [getattr(fitted, method)(X) for method in at_once if hasattr(fitted, method)]
    for method in ("staged_predict", "staged_predict_proba"):
        if hasattr(fitted, method):
            numbers += list(getattr(fitted, method)(X))
    if hasattr(fitted, "calibration_"):
        numbers += fitted.predict_interval(X, coverage=0.5)
    return numbers


@pytest.mark.parametrize("name", ["sum", "moving", "classes", "median", "stack"])
def test_no_forged_number_makes_a_prediction_infinite(name, tmp_path):
    path, n_refused = tmp_path / "model", 0
    model(name).save(path)
    sound = modelfile.read(path)
    arrays = {key: array for key, array in sound.arrays.items() if array.dtype.kind == "f" and array.size}
    assert len(arrays) > 1
    for key, array in arrays.items():
        for value in (1e308, -1e308, np.inf, np.nan):
            for place in (slice(None), -1):
                forged = array.copy()
                forged.reshape(-1)[place] = value
                modelfile.write(path, sound.kind, sound.meta, {**sound.arrays, key: forged})
                try:
                    loaded = electorate.load(path)
                except ModelFormatError:
                    n_refused += 1
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    assert all(np.all(np.isfinite(one)) for one in predictions(loaded)), (key, value, place)
    assert n_refused > 0
