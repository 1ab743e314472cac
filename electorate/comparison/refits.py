"""Trains the winner of a comparison without the test rows, tests it on them once, and refits it on all rows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from electorate.checkup.check_up import CheckUp
from electorate.comparison.algorithms import Facts, set_supported
from electorate.comparison.cells import Coded
from electorate.comparison.ranking import Line
from electorate.comparison.rows import Parts, Places, Rows
from electorate.data.row_subset import take_rows
from electorate.stacking.stacked_classifier import StackedClassifier
from electorate.stacking.stacked_regressor import StackedRegressor
from electorate.theory.binomial import binomial_bound

CONFIDENCE = 0.95
COVERAGE = 0.9  # of the interval around a predicted number


@dataclass(frozen=True)
class Refits:
    """The table, cleaned, and its training and test rows. y: labels, or numbers. check_up: which cleaned it."""

    X: Any
    y: NDArray[Any]
    rows: Rows
    parts: Parts
    categorical_features: Any
    seed: int
    is_classifier: bool
    check_up: CheckUp

    @property
    def n_test(self) -> int:
        """How many test rows there are."""
        return len(self.parts[1])

    @property
    def n_refitted(self) -> int:
        """The rows of all refits of an algorithm of this package together."""
        return len(self.parts[0]) + self.rows.n_rows

    @property
    def drawn_from(self) -> str:
        """Where the rows come from, if they are a sample."""
        return ""

    def describe(self) -> dict[str, int]:
        """The sizes of the table that the rows are a sample of, if they are one."""
        return {}

    def notes(self) -> list[str]:
        """What to know about the rows that models were fitted to."""
        return []

    def build(self, line: Line) -> Any:
        """The estimator of a line, as the user would make it: for the columns of X."""
        if line.stack:
            named = [(part.algorithm.name, self.build(part)) for part, _ in line.stack]
            kind = StackedClassifier if self.is_classifier else StackedRegressor
            return kind(named, weights=line.setting["weights"])
        if line.algorithm.peer:
            return Coded(line.algorithm, line.setting, self.seed, self.categorical_features, self.is_classifier)
        model = line.algorithm.build(line.setting, Facts([], self.seed))
        return set_supported(model, {"categorical_features": self.categorical_features, "n_jobs": None})

    def fit_without(self, line: Line) -> Any:
        """The model without the test rows, with what they show of it as `held_out_`."""
        model = self._fit_open(line)
        model.held_out_ = self.test(model)
        return self._completed(model, line)

    def fit_both(self, line: Line) -> tuple[Any, Any]:
        """The model without the test rows, and the model on all rows; None for a peer, which is not stored."""
        return self.fit_without(line), None if line.algorithm.peer else self.fit_final(line)

    def fit_final(self, line: Line) -> Any:
        """The model on all rows."""
        model = self._fit(line, None)
        model.held_out_ = {"bound": None, "why": "no rows were held out: refitted on all of them"}
        return self._completed(model, line)

    def _completed(self, model: Any, line: Line) -> Any:
        self.check_up.attach_to(model)
        if self.is_classifier and (line.algorithm.peer or line.stack or hasattr(model, "steps_")):
            model.temperature_ = line.temperature
        if hasattr(model, "digest_"):  # the statement is about this model only, and is not stored with another
            model.held_out_["digest"] = model.digest_
        return model

    def _fit_open(self, line: Line) -> Any:
        """The estimator of a line, fitted to the rows that are not held out."""
        return self._fit(line, self.parts[0])

    def _fit(self, line: Line, which: Places | None) -> Any:
        """The estimator of a line, fitted to some rows, or to all."""
        X = self.X if which is None else take_rows(self.X, which)
        rows = slice(None) if which is None else which
        weighted = {} if self.rows.weight is None else {"sample_weight": self.rows.weight[rows]}
        # threads of other libraries may wait for each other on a busy machine, and a time limit counts on the cells
        with threadpool_limits(1 if line.algorithm.peer else None):
            model = self.build(line).fit(X, self.y[rows], **weighted)
        if self.is_classifier:
            for part, one in zip(line.stack, getattr(model, "estimators_", ()), strict=bool(line.stack)):
                one.temperature_ = part[0].temperature  # before the test: the mean is of calibrated probabilities
        return model

    def test(self, model: Any) -> dict[str, Any]:
        """The error of a model on the test rows, and the exact bound that follows, or why there is none."""
        losses, weight = self._losses(model)
        result = {"rows": len(losses), "error": float(np.average(losses, weights=weight))}
        if weight is not None and np.ptp(weight):
            why = "an exact binomial bound does not apply to rows of different weights"
            return result | {"bound": None, "why": why}
        dependent = "group" if self.rows.group is not None else "time" if self.rows.time is not None else None
        if dependent:
            why = f"an exact bound does not apply to rows that are split by {dependent}"
            return result | {"bound": None, "why": why}
        if not self.is_classifier:
            return result | {"bound": None, "why": _interval(losses)}
        errors = int(losses.sum())
        bound = binomial_bound(errors, len(losses), CONFIDENCE)
        return result | {"errors": errors, "bound": bound, "confidence": CONFIDENCE}

    def _losses(self, model: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The losses of the test rows, and their weights."""
        weight, test = self.rows.weight, self.parts[1]
        losses = losses_of(model.predict(take_rows(self.X, test)), self.y[test], self.is_classifier)
        return losses, None if weight is None else weight[test]


def losses_of(predicted: NDArray[Any], target: NDArray[Any], is_classifier: bool) -> NDArray[np.float64]:
    """0 or 1 for a class, the absolute error for a number."""
    return np.asarray(predicted != target if is_classifier else np.abs(predicted - target), dtype=np.float64)


def _interval(distances: NDArray[np.float64]) -> str:
    """How far targets of new rows are from the predictions: split conformal prediction, exact for rows like these."""
    rank = math.ceil((len(distances) + 1) * COVERAGE)
    if rank > len(distances):
        return f"too few test rows for an interval with {COVERAGE:.0%} coverage"
    width = float(np.sort(distances)[rank - 1])
    return f"a new target is within {width:.4g} of the prediction with {COVERAGE:.0%} probability (conformal)"
