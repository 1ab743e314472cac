"""Stacks, and boosters of the user's own: with odd rows, odd parameters, and their files."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import fuzz_modelfile as damage
import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils._param_validation import Interval

import electorate as el
from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Step
from electorate.estimators.classifier import StagewiseClassifier
from electorate.exact import atanh, on_grid
from fuzzing import hostile_inputs, hostile_tables
from fuzzing.outcomes import Refused, attempt, require
from fuzzing.samples import rows_of


@dataclass(frozen=True)
class ShorterSteps(AdaBoost):
    """AdaBoost with steps that are shorter by that of a margin; the one of examples/plot_7."""

    rho: float = 0.1

    def step(self, sums: Any, outputs: Any) -> Any:
        plain = super().step(sums, outputs)
        if plain.stop == "perfect_voter":
            return plain
        size = float(on_grid(plain.size - self.learning_rate * atanh(self.rho)))
        return Step(size, plain.edge, plain.error, None if size > 0 else "no_edge")


@dataclass(eq=False, repr=False, kw_only=True)
class OwnClassifier(StagewiseClassifier):
    """An estimator that is not registered."""

    rho: float = 0.1

    _parameter_constraints: ClassVar = {
        **StagewiseClassifier._parameter_constraints,
        "rho": [Interval(Real, 0, 1, closed="left")],
    }
    _one_vs_rest = True

    def _booster(self, n_labels: int) -> Any:
        return ShorterSteps(n_labels, float(self.learning_rate), float(self.rho))


def _members(rng: random.Random, classes: bool) -> list[tuple[str, Any]]:
    few: dict[str, Any] = {"n_estimators": rng.choice([1, 3])}
    if classes:
        ours = [
            el.AdaBoostClassifier(**few),
            el.RealAdaBoostClassifier(el.Trees(2), **few),
            el.QuadBoostClassifier(**few),
        ]
        others = [
            LogisticRegression(),
            DecisionTreeClassifier(max_depth=2),
            OwnClassifier(**few),
            "drop",
            None,
            Ridge(),
        ]
    else:
        ours = [el.AdaBoostRegressor(**few), el.QuadBoostRegressor(**few), el.MedBoostRegressor(**few)]
        others = [Ridge(), DecisionTreeRegressor(max_depth=2), LogisticRegression(), "drop", None]
    chosen = [rng.choice(others if rng.random() < 0.2 else ours) for _ in range(rng.choice([1, 2, 2, 3]))]
    odd = [["a", "a", "b"], ["", "a__b", "ü"], ["n_folds", "lam", "x"], [1, 2, 3]]
    labels = ["a", "b", "c"] if rng.random() < 0.85 else rng.choice(odd)
    return list(zip(labels, chosen, strict=False))


def _pairs(stack: Any) -> list[tuple[str, Any]]:
    return (
        stack.estimators
        if isinstance(stack.estimators, list) and all(len(one) == 2 for one in stack.estimators)
        else []
    )


def _stack(rng: random.Random) -> Any:
    classes = rng.random() < 0.6
    kind = el.StackedClassifier if classes else el.StackedRegressor
    stack = kind(_members(rng, classes), n_folds=2)
    if rng.random() < 0.3:
        odd = {
            "n_folds": [0, 1, 3, 10**6, -1, 2.5, None, "2", True],
            "lam": [0, -1.0, np.nan, np.inf, 1e300, 5e-324, "0", None],
            "weights": [[1.0], [0.0, 0.0], [1, 1, 1], [-1, 2], [np.nan, 1], "uniform", [], [1e300, 1e300], [[1, 1]]],
            "estimators": [[], None, [("a",)], "a", [("a", el.AdaBoostClassifier)], {"a": 1}, 3],
        }
        option = rng.choice(list(odd))
        setattr(stack, option, rng.choice(odd[option]))
    return stack


def run_case(rng: random.Random, names: list[str], scratch: Path) -> str:
    """Fit to sound or odd rows, predict sound and odd rows, save, load, and load damaged files."""
    own = rng.random() < 0.4
    model = OwnClassifier(rho=rng.choice([0.0, 0.1, 0.1, 0.1, 0.9, 1.0]), n_estimators=3) if own else _stack(rng)
    X, y = rows_of(rng.choice(["two", "three", "full", "frame"]) if isinstance(model, ClassifierMixin) else "quantity")
    if not own:
        X, y = (X[:40], y[:40]) if isinstance(X, np.ndarray) else (X.iloc[:40], y[:40])
    rows: list[Any] = [X, y, None]
    foreign = not own and any(not type(member).__module__.startswith("electorate") for _, member in _pairs(model))
    if foreign and isinstance(X, pd.DataFrame):  # errors of other libraries have words of their own
        X = rows[0] = X[["a", "b"]].fillna(0.0)
    if not foreign and rng.random() < 0.6:
        part = rng.choice([0, 0, 1, 2])
        rows[part] = (
            hostile_inputs.odd_weight(rng, len(y)) if part == 2 else hostile_inputs._changed(rng, rows[part], part)
        )
    try:
        attempt("fit", lambda: model.fit(*rows))
    except Refused:
        return "refused"
    for X_new in (X, hostile_inputs._changed(rng, X, 0)):
        try:
            found = attempt("predict", lambda X_new=X_new: model.predict(X_new))
        except Refused:
            continue
        finite = (
            np.all(np.isin(found, model.classes_)) if isinstance(model, ClassifierMixin) else np.all(np.isfinite(found))
        )
        require(bool(finite), "predict", f"predictions {np.asarray(found)[:5].tolist()}")
    return _asked(rng, model, X, y) if own else _files(rng, model, X, scratch)


def _asked(rng: random.Random, model: Any, X: Any, y: Any) -> str:
    """Ask a few public functions about a model of a class that is not registered; its file cannot be loaded."""
    entries = hostile_tables.entries_of(model)
    for name in rng.sample([name for name in entries if name not in hostile_tables.SLOW], 4):
        with contextlib.suppress(Refused):
            attempt(name, lambda: entries[name](model, X, y), may_lack=True)  # noqa: B023
    return "works"


def _files(rng: random.Random, model: Any, X: Any, scratch: Path) -> str:
    path = scratch / "combined.model"
    path.unlink(missing_ok=True)
    try:
        attempt("save", lambda: model.save(path), may_lack=True)
        again = attempt("load", lambda: el.load(path))
    except Refused:
        return "refused"
    require(again.digest_ == model.digest_, "load", "another digest")
    with contextlib.suppress(Refused):  # X may not suit a model of odd rows
        same = attempt("predict after load", lambda: np.array_equal(again.predict(X), model.predict(X)))
        require(bool(same), "load", "the loaded model predicts something else")
    for _ in range(8):
        header, arrays = damage.opened(path.read_bytes())
        if rng.random() < 0.6:
            header = rng.choice([damage.mutate_tree, damage.mutate_bytes])(rng, header)
        else:
            arrays = damage.mutate_bytes(rng, arrays)
        bad = scratch / "combined bad.model"
        bad.write_bytes(damage.seal(header, arrays))
        try:
            loaded = attempt("load a damaged file", lambda: el.load(bad))  # noqa: B023
            attempt("predict of a damaged file", lambda: loaded.predict(X))  # noqa: B023
        except Refused:
            continue
    return "works"
