"""Small fitted models of every estimator: what forged files start from, and the rows they were fitted to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import electorate as el
from electorate.registry import ALGORITHMS
from tests.common.small_models import names_without, small_model

Rows = tuple[Any, Any]


@dataclass(frozen=True)
class Sample:
    """An unfitted model and the name of its rows."""

    name: str
    model: Any
    rows: str


def numbers(labels: int, rows: int = 60, seed: int = 0) -> Rows:
    """Return numeric columns, one of codes 0..4, with missing values; a fifth of the labels are random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    X[:, 1] = np.round(X[:, 1], 1)
    score = X[:, 0] + X[:, 2] ** 2
    y = np.searchsorted(np.quantile(score, np.arange(1, labels) / labels), score)
    wrong = rng.random(rows) < 0.2
    y[wrong] = rng.integers(0, labels, wrong.sum())
    X[:, 3] = (rng.integers(0, 3, rows) + y) % 5
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@cache
def rows_of(name: str) -> Rows:
    """Return the rows of that name; the same ones at every call."""
    if name == "full":
        X, y = numbers(2)
        return np.nan_to_num(X), y
    if name == "three, full":
        X, y = numbers(3)
        return np.nan_to_num(X), y
    if name == "signs":
        X, y = numbers(2)
        return np.where(X > 0.1, 1.0, -1.0), y
    if name == "quantity":
        X, y = numbers(2)
        return X, np.nan_to_num(X[:, 0]) + y + 0.1 * np.random.default_rng(1).normal(size=len(y))
    if name == "frame":
        X, y = numbers(2)
        frame = pd.DataFrame(X, columns=["a", "b", "c", "kind"])
        frame["kind"] = pd.Categorical([None if np.isnan(v) else f"kind {v:.0f}" for v in X[:, 3]])
        return frame, np.array(["no", "yes"])[y]
    return numbers(3 if name == "three" else 2)


def samples() -> list[Sample]:
    """Return the models, smallest variety first; registered algorithms that are not listed here come before them."""
    few: dict[str, Any] = {"n_estimators": 4}
    stop: dict[str, Any] = {"early_stopping": True, "random_state": 0}
    two = el.Union([el.Stumps(), el.PairedStumps()])
    listed = [
        Sample("adaboost", el.AdaBoostClassifier(categorical_features=[3], **few), "two"),
        Sample("locmedboost classes", el.LocMedBoostClassifier(el.Pool(5), abstain=True, **few), "three"),
        Sample("deepboost union", el.DeepBoostClassifier(two, n_estimators=6), "two"),
        Sample("quadboost", el.QuadBoostClassifier(**few), "three"),
        Sample("medboost", el.MedBoostRegressor(**few), "quantity"),
        Sample("quad regressor", el.QuadBoostRegressor(**few), "quantity"),
        Sample("lpboost", el.LPBoostClassifier(n_estimators=6), "three"),
        Sample("rlpboost", el.RLPBoostClassifier(**few), "two"),
        Sample("vadaboost auto", el.VadaBoostClassifier(lam="auto", random_state=0, **few), "three"),
        Sample("adaboost_r by columns", el.AdaBoostRClassifier(el.Columns(), **few), "signs"),
        Sample("real trees", el.RealAdaBoostClassifier(el.Trees(2), **few), "frame"),
        Sample("bumps", el.LocMedBoostRegressor(confidence_by="bumps", **few), "quantity"),
        Sample("ebboost", el.EBBoostClassifier(el.Pool(4), **few), "two"),
        Sample("rqpboost", el.RQPBoostClassifier(**few), "two"),
        Sample("adaboost.r2", el.AdaBoostRegressor(**few), "quantity"),
        Sample("frame", el.AdaBoostClassifier(**few), "frame"),
        Sample("samme trees", el.AdaBoostClassifier(el.Trees(3), **few), "three"),
        Sample("logistic", el.LogisticAdaBoostClassifier(**few), "three"),
        Sample("samme.r", el.RealAdaBoostClassifier(step=1, **few), "three"),
        Sample("adaboost_r rules", el.AdaBoostRClassifier(el.Rules(2), **few, **stop), "three"),
        Sample("deepboost three", el.DeepBoostClassifier(el.Trees(2), n_estimators=5), "three"),
        Sample("kernels", el.AdaBoostRClassifier(el.KernelSections(max_landmarks=8), **few), "three, full"),
        Sample("pool", el.AdaBoostClassifier(el.Pool(3), **few), "two"),
        Sample("quadboost columns", el.QuadBoostClassifier(el.Columns(), **few), "full"),
        Sample("quadboost trees", el.QuadBoostClassifier(el.Trees(2, criterion="edge"), **few), "two"),
        Sample("quad regressor trees", el.QuadBoostRegressor(el.RegressionTrees(2), **few), "quantity"),
        Sample("abstain", el.LocMedBoostRegressor(confidence_by="abstain", **few), "quantity"),
        Sample("medboost stopped", el.MedBoostRegressor(el.RegressionTrees(3), **few, **stop), "quantity"),
    ]
    others = names_without({type(sample.model).__name__: sample for sample in listed})
    rows = {True: "two", False: "quantity"}
    return [*(Sample(name, small_model(name, **few), rows[ALGORITHMS[name].is_classifier]) for name in others), *listed]


def save_all(folder: Path, how_many: int | None = None) -> list[str]:
    """Fit and save the samples; return the names of those that could be."""
    made = []
    for sample in samples()[:how_many]:
        path = folder / f"{sample.name}.model"
        if not path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sample.model.fit(*rows_of(sample.rows)).save(path)
        made.append(sample.name)
    return made


def by_name(name: str) -> Sample:
    return next(sample for sample in samples() if sample.name == name)
