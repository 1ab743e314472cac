"""Trains what a comparison hands over: without the test rows, which then test it once, and on all rows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from electorate.comparison.algorithms import Algorithm, Facts, Setting, set_supported
from electorate.comparison.fits import train
from electorate.comparison.rows import Parts, Places, Rows
from electorate.data.row_subset import take_rows
from electorate.estimators.stacked_classifier import StackedClassifier, StackedRegressor
from electorate.inspection.check_up import CheckUp
from electorate.theory.binomial import binomial_bound

CONFIDENCE = 0.95
COVERAGE = 0.9  # of the interval around a predicted number


@dataclass(frozen=True)
class Part:
    """One model of a recipe. candidate: its number in the plan. temperature: of its probabilities."""

    candidate: int
    algorithm: Algorithm
    setting: Setting
    temperature: float = 1.0
    weight: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """A model to train: one part, or several as a stack, with the temperature of the stack."""

    parts: tuple[Part, ...]
    temperature: float = 1.0
    threshold: float = 0.5  # probability above which the second of two classes is predicted, where it was chosen

    @property
    def is_stack(self) -> bool:
        return len(self.parts) > 1

    @property
    def name(self) -> str:
        return f"the stack of {len(self.parts)} models" if self.is_stack else self.parts[0].algorithm.name


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
    def n_rows(self) -> int:
        """How many rows the last fit uses."""
        return self.rows.n_rows

    @property
    def drawn_from(self) -> str:
        """Return where the rows come from, if they are a sample."""
        return ""

    def describe(self) -> dict[str, int]:
        """The sizes of the table that the rows are a sample of, if they are one."""
        return {}

    def notes(self) -> list[str]:
        """What to know about the rows that models were fitted to."""
        return []

    def build(self, part: Part) -> Any:
        """The estimator of a part, as the user would make it: for the columns of X."""
        algorithm = part.algorithm
        model = algorithm.build(part.setting, Facts([], self.seed))
        if algorithm.takes_table:
            return model
        return set_supported(model, {"categorical_features": self.categorical_features, "n_jobs": None})

    def unfitted(self, recipe: Recipe) -> Any:
        """The estimator of a recipe; a stack without weights, since a fit finds them."""
        if not recipe.is_stack:
            return self.build(recipe.parts[0])
        kind = StackedClassifier if self.is_classifier else StackedRegressor
        return kind([(part.algorithm.name, self.build(part)) for part in recipe.parts])

    def fit_without(self, recipe: Recipe) -> Any:
        """The model without the test rows, with what they show of it as `held_out_`."""
        model = self._calibrated(self._fit_open(recipe), recipe)
        return self._completed(model, self.test(model))

    def fit_final(self, recipe: Recipe, which: Places | None = None) -> Any:
        """The model on all rows, or on these."""
        model = self._calibrated(self._fit(recipe, which), recipe)
        why = "no rows were held out: refitted on all of them"
        return self._completed(model, {"bound": None, "why": why})

    def _completed(self, model: Any, held_out: dict[str, Any]) -> Any:
        self.check_up.attach_to(model)
        model.held_out_ = held_out
        if hasattr(model, "digest_"):  # the statement is about this model only, and is not stored with another
            model.held_out_["digest"] = model.digest_
        return model

    def _fit_open(self, recipe: Recipe) -> Any:
        """The model of a recipe, fitted to the rows that are not held out."""
        return self._fit(recipe, self.parts[0])

    def _fit(self, recipe: Recipe, which: Places | None) -> Any:
        """The model of a recipe, fitted to some rows, or to all."""
        X = self.X if which is None else take_rows(self.X, which)
        rows = slice(None) if which is None else which
        y, weight = self.y[rows], None if self.rows.weight is None else self.rows.weight[rows]
        # threads of other libraries may wait for each other on a busy machine, and a time limit counts on the fits
        is_peer = any(part.algorithm.peer for part in recipe.parts)
        with threadpool_limits(1 if is_peer else None):
            if recipe.is_stack:
                named = [(part.algorithm.name, self.build(part)) for part in recipe.parts]
                kind = StackedClassifier if self.is_classifier else StackedRegressor
                model: Any = kind(named, weights=[part.weight for part in recipe.parts])
                return model.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
            part = recipe.parts[0]
            model = self.build(part)
            return train(model, part.setting, X, y, weight)

    def _calibrated(self, model: Any, recipe: Recipe) -> Any:
        """The model with the temperatures that were chosen on out-of-fold predictions."""
        if not self.is_classifier:
            return model
        if recipe.is_stack:
            for part, member in zip(recipe.parts, model.estimators_, strict=True):
                member.temperature_ = part.temperature
            model.temperature_ = recipe.temperature
        elif not recipe.parts[0].algorithm.takes_table:
            model.temperature_ = recipe.parts[0].temperature
        return model

    def test(self, model: Any) -> dict[str, Any]:
        """The error of a model on the test rows, and the exact bound that follows, or why there is none."""
        losses, weight = self._losses(model)
        largest = 1.0 if weight is None else float(np.max(weight))
        result = {
            "rows": len(losses),
            "error": float(np.average(losses, weights=None if weight is None else weight / largest)),
        }
        if self.rows.weight is not None and np.ptp(self.rows.weight):
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
