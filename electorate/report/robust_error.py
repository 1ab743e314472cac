"""The robust error of a median vote against rho: L^(rho) of eq. 9 of the LocMedBoost paper, and what Theorem 1 proves.

Of training rows the bound holds for every rho; of test rows it says nothing.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from electorate.report.drawing import Floats, axes, finish, lines, named

POINTS = 81


class RobustErrorDisplay:
    """The share of rows on which a median vote is not rho-robust eps-precise, against rho.

    Parameters
    ----------
    rho : ndarray
    errors : mapping of names to arrays with one number per rho
    bound : ndarray, optional
        What is proved of the training rows, at every rho.

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import MedBoostRegressor, RobustErrorDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = RobustErrorDisplay.from_estimator(MedBoostRegressor(n_estimators=20).fit(X, y), X, y)
    >>> bool((display.errors["training"] <= display.bound + 1e-9).all())
    True
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, rho: Any, errors: Mapping[str, Any], bound: Any = None) -> None:
        self.rho: Floats = np.asarray(rho, dtype=np.float64)
        self.errors = {name: np.asarray(found, dtype=np.float64) for name, found in errors.items()}
        self.bound = None if bound is None else np.asarray(bound, dtype=np.float64)
        for name, found in (*self.errors.items(), ("bound", self.bound)):
            if found is not None and found.shape != self.rho.shape:
                raise ValueError(f"{name!r} has {found.size} numbers for {self.rho.size} values of rho")
        if not self.errors:
            raise ValueError("no errors to draw: give at least one")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Of the rows that a MedBoostRegressor was fitted to, with the bound, and of test rows."""
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test come together: one was given without the other")
        rho = np.linspace(-1.0, 1.0, POINTS)
        errors = {"training": [estimator.robust_error(X, y, at, sample_weight) for at in rho]}
        if X_test is not None:
            errors["test"] = [estimator.robust_error(X_test, y_test, at) for at in rho]
        bounds = estimator.error_bounds(rho)
        bound = np.minimum(1.0, bounds[:, -1]) if bounds.shape[-1] else np.ones(len(rho))
        return cls(rho, errors, bound).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into axes, or into new ones."""
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for (name, found), style in zip(self.errors.items(), lines(), strict=False):
            self.lines_ += self.ax_.plot(self.rho, found, drawstyle="steps-post", label=named(name), **style)
        if self.bound is not None:
            self.lines_ += self.ax_.plot(self.rho, self.bound, color="0.5", linewidth=1, label="bound (training)")
            self.ax_.fill_between(self.rho, self.bound, 1.0, color="0.93", linewidth=0)
        self.ax_.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
        self.ax_.set_ylim(-0.02, 1.02)
        finish(self.ax_, "rho", "robust error", "upper left")
        return self
