"""Everything one can ask of a fitted or loaded model, each question as a function that checks the answer."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone, is_classifier

import electorate as el
from electorate.commands import verify
from electorate.model.predict_from_file import read_quickly
from fuzzing.outcomes import Refused, attempt, require
from fuzzing.samples import Rows

STAGES = 20  # looked at of a staged answer
MOST_CLASSES = 100  # of a model that is trained on
MOST_CELLS = 4_000_000  # of the rows that a model is asked about
Question = Callable[[Any, Rows, Path], Any]


def rows_for(model: Any, rng: np.random.Generator, n_rows: int = 12) -> Rows:
    """Return rows with the columns of a model: values around its edges, its categories, missing values."""
    n_columns = int(model.n_features_in_)
    n_rows = max(1, min(n_rows, MOST_CELLS // n_columns))
    X = rng.normal(size=(n_rows, n_columns))
    edges = model.bins_.edges
    for j in rng.integers(0, n_columns, min(n_columns, 50)).tolist():
        if len(edges[j]):
            X[:, j] = rng.choice(edges[j], n_rows) + rng.choice([0.0, 0.0, 1e-9, 1.0], n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.choice(model.classes_, n_rows) if is_classifier(model) else rng.normal(size=n_rows)
    categories = model.bins_.categories
    if not any(levels.is_text for levels in categories.values()):
        return X, y
    frame = pd.DataFrame(X, columns=getattr(model, "feature_names_in_", None))
    for j, levels in categories.items():
        if levels.is_text:
            known = [*levels.levels.tolist(), "unseen", None]
            frame.isetitem(j, pd.Series([known[k] for k in rng.integers(0, len(known), n_rows)], dtype=object))
    return frame, y


# ---------------------------------------------------------------- predictions


def predict(model: Any, rows: Rows, folder: Path) -> None:
    said = model.predict(rows[0])
    require(len(said) == len(rows[1]), "predict", f"{len(said)} predictions for {len(rows[1])} rows")
    if is_classifier(model):
        require(bool(np.all(np.isin(said, model.classes_))), "predict", "a label that is no class")
    else:
        require(bool(np.all(np.isfinite(said))), "predict", f"not finite: {said[:5]}")


def predict_proba(model: Any, rows: Rows, folder: Path) -> None:
    shares = model.predict_proba(rows[0])
    inside = np.all((shares >= 0) & (shares <= 1 + 1e-9)) and np.allclose(shares.sum(axis=1), 1)
    require(bool(inside), "predict_proba", f"no probabilities: {shares[:3].tolist()}")
    agree = np.array_equal(model.classes_[np.argmax(shares, axis=1)], model.predict(rows[0]))
    require(agree, "predict_proba", "argmax is not predict")


def decision(model: Any, rows: Rows, folder: Path) -> None:
    require(bool(np.all(np.isfinite(model.decision_function(rows[0])))), "decision_function", "not finite")


def staged(model: Any, rows: Rows, folder: Path) -> None:
    X, y = rows
    for name in ("decision_function", "predict_proba", "predict", "confidence"):
        method = getattr(model, f"staged_{name}", None)
        if method is not None:
            _drain(method(X))
    _drain(model.staged_score(X, y))
    if hasattr(model, "staged_robust_error"):
        _drain(model.staged_predict_interval(X, rho=0.1))
        _drain(model.staged_robust_error(X, y))


def _drain(stages: Iterator[Any]) -> None:
    for _ in islice(stages, STAGES):
        pass


def intervals(model: Any, rows: Rows, folder: Path) -> None:
    model.confidence(rows[0])
    model.predict_interval(rows[0])
    model.robust_error(*rows)
    model.error_bounds()
    again = copy.deepcopy(model)
    again.calibrate(*rows)
    again.predict_interval(rows[0], coverage=0.9)


def quickly(model: Any, rows: Rows, folder: Path) -> None:
    """The command's reader gives the same labels."""
    model.save(folder / "quick.model")
    quick = read_quickly(folder / "quick.model")
    if quick is None or not hasattr(model, "feature_names_in_"):
        return
    frame = pd.DataFrame(rows[0], columns=model.feature_names_in_)
    said = quick.decision_function(pa.Table.from_pandas(frame, preserve_index=False))
    require(np.array_equal(said, model.decision_function(frame)), "quick", "other decisions than the model's")


# ---------------------------------------------------------------- explanations and proofs


def explain(model: Any, rows: Rows, folder: Path) -> None:
    for name in ("feature_importances_", "estimator_errors_", "estimator_weights_", "gap_", "certificate_"):
        if hasattr(type(model), name):
            _or_refused(name, lambda name=name: getattr(model, name))
    _or_refused("repr", lambda: repr(model))
    for voter in getattr(model, "estimators_", [])[:10]:
        if hasattr(voter, "to_text"):
            _or_refused("to_text", voter.to_text)
            _or_refused("repr of a voter", lambda voter=voter: repr(voter))
            _or_refused("voter.predict", lambda voter=voter: voter.predict(rows[0]))


def rules(model: Any, rows: Rows, folder: Path) -> None:
    el.inspection.rule_table(model).to_text()
    el.inspection.rule_table(model, rows[0]).to_frame()


def shapes(model: Any, rows: Rows, folder: Path) -> None:
    el.inspection.shape_functions(model)
    _or_refused("contributions", lambda: el.inspection.contributions(model, rows[0]))
    _or_refused("tree_sizes", lambda: el.inspection.tree_sizes(model))


def margins(model: Any, rows: Rows, folder: Path) -> None:
    for kind in ("logistic", None):
        found = _or_refused("margins", lambda kind=kind: el.margins(model, *rows, kind=kind))
    if found is not None:
        _or_refused("Margins", lambda: (found.minimum, found.quantile(0.1), found.area, found.margin_error(0.1)))
        _or_refused("Margins.bound", lambda: found.bound(0.1))
    _drain(el.inspection.staged_margins(model, *rows))


def prove(model: Any, rows: Rows, folder: Path) -> None:
    found = _or_refused("certificate(train)", lambda: model.certificate(train=rows))
    if found is not None:
        _or_refused("str(certificate)", lambda: (str(found), json.dumps(found.to_dict()), found.to_frame()))
    _or_refused("certificate(heldout)", lambda: str(model.certificate(heldout=rows, equal_rows="allow", eps=0.5)))


def converge(model: Any, rows: Rows, folder: Path) -> None:
    str(model.convergence())


# ---------------------------------------------------------------- files and training


def inspect(model: Any, rows: Rows, folder: Path) -> None:
    facts = verify.facts(model)
    json.dumps(facts)
    require(facts["digest"] == model.digest_, "verify", "another digest")


def save_again(model: Any, rows: Rows, folder: Path) -> None:
    model.save(folder / "again.model")
    again = el.load(folder / "again.model")
    require(again.digest_ == model.digest_, "save", "the model that was saved again is another one")
    again.save(folder / "third.model")
    same = (folder / "again.model").read_bytes() == (folder / "third.model").read_bytes()
    require(same, "save", "the file that was saved again is another one")


def resume(model: Any, rows: Rows, folder: Path) -> None:
    """Train on from the model, on the rows of the sample."""
    if _many_classes(model):
        return
    path = folder / "checkpoint.model"
    model.save(path)
    more = clone(model).set_params(n_estimators=min(max(int(model.n_estimators), 1) + 1, 8))
    more.set_callbacks(el.Checkpoint(path), el.TimeLimit(5))
    more.fit(*rows)


def _many_classes(model: Any) -> bool:
    """Whether a round for each class takes long, whatever the time limit: a forged model may have any number."""
    return len(getattr(model, "classes_", ())) > MOST_CLASSES


def warm_start(model: Any, rows: Rows, folder: Path) -> None:
    if _many_classes(model):
        return
    more = copy.deepcopy(model)
    if "warm_start" in more.get_params(deep=False):
        more.set_params(warm_start=True, n_estimators=min(int(model.n_estimators) + 1, 8)).set_callbacks(
            el.TimeLimit(5)
        )
        more.fit(*rows)


def _or_refused(where: str, call: Callable[[], Any]) -> Any:
    """Return the answer, or None where the question is refused in allowed words."""
    try:
        return attempt(where, call, may_lack=True)
    except Refused:
        return None


ABOUT_ROWS: tuple[Question, ...] = (predict, staged, explain, prove, converge, inspect, save_again, margins)
OF_CLASSIFIERS: tuple[Question, ...] = (predict_proba, decision, quickly, rules, shapes)
OF_TRAINING: tuple[Question, ...] = (resume, warm_start)


def questions_for(model: Any) -> list[Question]:
    """Return all questions that a model of this class answers."""
    found = [*ABOUT_ROWS, *OF_TRAINING, *(OF_CLASSIFIERS if is_classifier(model) else ())]
    return [*found, intervals] if hasattr(model, "predict_interval") else found


def ask(model: Any, chosen: list[Question], rows: Rows, training: Rows, folder: Path) -> int:
    """Ask these questions; return how many were answered, the others being refused in allowed words."""
    answered = 0
    for question in chosen:
        given = training if question in OF_TRAINING else rows
        try:
            attempt(question.__name__, lambda q=question, g=given: q(model, g, folder), may_lack=True)
            answered += 1
        except Refused:
            pass
    return answered
