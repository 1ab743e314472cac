"""Pictures of median votes: they show what the model says, of arrays and of dataframes, and refuse what they cannot."""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from electorate import LocMedBoostRegressor, MedBoostRegressor  # noqa: E402
from electorate.report import IntervalDisplay, QuantilesDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def no_figures_left() -> Any:
    yield
    plt.close("all")


def rows(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n), "_$z": rng.normal(size=n), "kind": rng.choice(["a", "b", "b"], n)})
    X.loc[:3, "x"] = np.nan
    return X, np.abs(X["_$z"].to_numpy()) + rng.normal(size=n)


@pytest.mark.parametrize("given", [{"rho": 0.1}, {"coverage": 0.8}, {}])
def test_an_interval_is_that_of_the_model(given: dict[str, float]) -> None:
    X, y = rows()
    model = MedBoostRegressor(n_estimators=8).fit(X, y).calibrate(X, y)
    display = IntervalDisplay.from_estimator(model, X, "_$z", y, **given)
    at = pd.DataFrame({"x": X["x"].median(), "_$z": display.grid, "kind": "b"})
    low, high = model.predict_interval(at, **(given or {"rho": 0.25}))
    np.testing.assert_array_equal(display.low, low)
    np.testing.assert_array_equal(display.high, high)
    np.testing.assert_array_equal(display.predicted, model.predict(at))
    assert (display.grid[0], display.grid[-1]) == (X["_$z"].min(), X["_$z"].max())
    display.figure_.canvas.draw()  # a $ in a name is no mathematics


def test_polars_and_arrays_give_the_same_picture() -> None:
    X, y = rows()
    model = MedBoostRegressor(n_estimators=5).fit(X, y)
    first = IntervalDisplay.from_estimator(model, X, 1)
    other = IntervalDisplay.from_estimator(
        MedBoostRegressor(n_estimators=5).fit(pl.from_pandas(X), y), pl.from_pandas(X), "_$z"
    )
    np.testing.assert_array_equal(first.predicted, other.predicted)
    numbers = X[["x", "_$z"]].to_numpy()
    loc = LocMedBoostRegressor(n_estimators=5).fit(numbers, y)
    _, ax = plt.subplots()
    drawn = IntervalDisplay.from_estimator(loc, numbers, 0, y, rho=0.9, ax=ax)  # infinite where nobody is that sure
    assert drawn.ax_ is ax
    drawn.figure_.canvas.draw()


def test_quantiles_are_those_of_equations_7_and_8() -> None:
    rng = np.random.default_rng(1)
    predictions, steps = rng.normal(size=(30, 7)), rng.integers(1, 5, 7)
    display = QuantilesDisplay.from_voters(np.arange(30), predictions, steps, rho=0.3)
    for i in range(30):
        above = [steps[predictions[i] > h].sum() / steps.sum() for h in predictions[i]]
        below = [steps[predictions[i] < h].sum() / steps.sum() for h in predictions[i]]
        assert display.high[i] == min(h for h, w in zip(predictions[i], above, strict=True) if w < 0.35)
        assert display.low[i] == max(h for h, w in zip(predictions[i], below, strict=True) if w < 0.35)
        assert display.middle[i] == min(h for h, w in zip(predictions[i], above, strict=True) if w < 0.5)


def test_voters_of_a_model() -> None:
    X, y = rows()
    model = MedBoostRegressor(n_estimators=6).fit(X, y)
    display = QuantilesDisplay.from_estimator(model, X, "_$z", rho=0.2)
    assert display.predictions.shape == (len(display.x), 6)
    assert np.all(display.low <= display.middle)
    assert np.all(display.middle <= display.high)
    display.figure_.canvas.draw()


def test_errors_say_what_to_do() -> None:
    X, y = rows()
    model = MedBoostRegressor(n_estimators=2).fit(X, y)
    for feature, what in [("kind", "no numbers"), ("w", "not a column")]:
        with pytest.raises(ValueError, match=what):
            IntervalDisplay.from_estimator(model, X, feature)
    with pytest.raises(ValueError, match="position"):
        IntervalDisplay.from_estimator(model, X[["x"]].to_numpy(), "x")
    with pytest.raises(ValueError, match="fewer than two values"):
        IntervalDisplay.from_estimator(model, X.assign(x=1.0), "x")


@pytest.mark.process
def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import sys; import electorate.report.regression; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
