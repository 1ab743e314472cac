"""Makes the pictures of plots.md: `python docs/gallery.py FOLDER [NAME ...]`. Small data, always the same.

A few seconds each. Where data are simulated, the Bayes rule is known; the others come with scikit-learn. Figures of the
papers are made by `electorate reproduce`.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    MedBoostRegressor,
    QuadBoostClassifier,
    RealAdaBoostClassifier,
    Rules,
    Trees,
)
from electorate.report import (
    BoundDisplay,
    IntervalDisplay,
    MarginDisplay,
    PathDisplay,
    RobustErrorDisplay,
    ShapeDisplay,
)
from electorate.simulate import XD6

MOST_BYTES = 80_000


def cancer() -> tuple[Any, Any]:
    return load_breast_cancer(return_X_y=True, as_frame=True)


def margins() -> Any:
    problem = XD6(noise=0.2)
    X, y = problem.sample(300, 0)
    X_test, y_test = problem.sample(20_000, 1)
    model = AdaBoostRClassifier(Rules(6), n_estimators=100).fit(X, y)
    return MarginDisplay.from_estimator(
        model, X, y, X_test=X_test, y_test=y_test, kind="logistic", bayes=problem.bayes_margins()
    ).figure_


def bounds() -> Any:
    X, y = XD6(noise=0.05).sample(300, 0)
    return BoundDisplay.from_estimator(AdaBoostClassifier(Trees(4), n_estimators=150).fit(X, y)).figure_


def path() -> Any:
    X, y = cancer()
    X = X - X.mean()
    X = (X / X.abs().max()).iloc[:, :10]  # columns that vote say -1 to 1
    model = QuadBoostClassifier(Columns(), penalty="l1", reweight="cyclic", n_estimators=20_000)
    return PathDisplay.from_estimator(model, X, y, n_values=40).figure_


def shapes() -> Any:
    random = np.random.default_rng(0)
    n = 1500
    table = pd.DataFrame(
        {
            "age": random.integers(18, 80, n).astype(float),
            "income $": np.exp(random.normal(10, 0.6, n)),
            "job": random.choice(["clerk", "farmer", "nurse", "teacher", "pilot"], n),
        }
    )
    score = np.sin(table["age"] / 12) + 0.8 * (table["income $"] > 25_000) + 1.2 * table["job"].isin(["nurse", "pilot"])
    y = np.where(score + random.normal(0, 0.6, n) > 1, "yes", "no")
    table.loc[random.random(n) < 0.15, "age"] = np.nan
    model = RealAdaBoostClassifier(n_estimators=120).fit(table, y)
    return ShapeDisplay.from_estimator(model, table).figure_


def robust() -> Any:
    X, y = load_diabetes(return_X_y=True)
    model = MedBoostRegressor(n_estimators=100).fit(X[:300], y[:300])
    return RobustErrorDisplay.from_estimator(model, X[:300], y[:300], X_test=X[300:], y_test=y[300:]).figure_


def intervals() -> Any:
    random = np.random.default_rng(0)
    n = 1200
    x, z = random.uniform(-3, 3, n), random.normal(size=n)
    y = np.sin(2 * x) + 0.3 * z + (0.1 + 0.15 * np.abs(x)) * random.normal(size=n)
    X = pd.DataFrame({"x": x, "z": z})
    model = MedBoostRegressor(n_estimators=60).fit(X[:800], y[:800]).calibrate(X[800:], y[800:])
    return IntervalDisplay.from_estimator(model, X, "x", y, coverage=0.9).figure_


PICTURES: dict[str, Callable[[], Any]] = {
    "margins": margins,
    "bounds": bounds,
    "path": path,
    "shapes": shapes,
    "robust_error": robust,
    "intervals": intervals,
}


def main(folder: Path, names: list[str]) -> None:
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        file = folder / f"{name}.png"
        PICTURES[name]().savefig(file, dpi=100, metadata={"Software": None})
        size = file.stat().st_size
        print(f"{file}: {size} bytes")
        if size > MOST_BYTES:
            raise SystemExit(f"{file} is larger than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "plots"), sys.argv[2:])
