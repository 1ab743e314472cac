"""Every public method and function of rows takes a scanned table and returns what it does in memory, or refuses it."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import electorate
from electorate import Stumps, certificate, margins, scan
from electorate.inspection import loss_certificate
from electorate.registry import ALGORITHMS
from electorate.training.lazy_inputs import NotInMemoryError
from tests.common.public_calls import OBJECTS

STREAMED = {
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "score", "staged_score"),
    *("confidence", "predict_interval", "robust_error"),
}
REFUSED = {
    *("staged_predict", "staged_predict_proba", "staged_decision_function", "staged_confidence"),
    *("staged_predict_interval", "staged_robust_error", "calibrate", "path", "to_shap"),
}
OPTIONS = {"predict_interval": {"rho": 0.1}, "staged_predict_interval": {"rho": 0.1}}


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(rng.normal(size=(n, 2)).round(2), columns=["a", "b"]).assign(c=rng.choice(["p", "q", "r"], n))
    found.loc[::13, "a"] = np.nan
    found["t"] = found["b"] + (found["c"] == "p") + 0.1 * rng.normal(size=n)
    found["y"] = np.where((found["t"] > 0) ^ (rng.random(n) < 0.1), "yes", "no")
    return found.assign(w=rng.integers(1, 3, n))


ROWS, OTHERS = frame(150, 0), frame(130, 1)
X = OTHERS[["a", "b", "c"]]


def batches() -> Any:
    """The second batch lacks a category, and the third is empty."""
    return iter(
        [OTHERS[:40], OTHERS[40:60].query("c != 'p'"), OTHERS[:0], OTHERS[40:60].query("c == 'p'"), OTHERS[60:]]
    )


def scanned(target: str) -> tuple[Any, Any, Any]:
    return scan(batches, target=target, weights="w", columns=["a", "b", "c"], batch_rows=33)


WHOLE = pd.concat(list(batches()), ignore_index=True)


def fitted(name: str) -> tuple[Any, str]:
    model = getattr(electorate, name)()
    model.set_params(**({"n_estimators": 4} if "n_estimators" in model.get_params() else {}))
    target = "y" if ALGORITHMS[name].is_classifier else "t"
    return model.fit(ROWS[["a", "b", "c"]], ROWS[target]), target


def methods_of(model: Any) -> dict[str, list[str]]:
    """The public methods that take X, but for fit, and their parameters."""
    found = {name: getattr(type(model), name) for name in dir(type(model)) if not name.startswith("_")}
    named = {name: list(inspect.signature(one).parameters) for name, one in found.items() if inspect.isfunction(one)}
    return {name: parameters for name, parameters in named.items() if "X" in parameters and name != "fit"}


def equal(here: Any, there: Any) -> bool:
    if inspect.isgenerator(here):
        here, there = list(here), list(there)
    numbers = np.asarray(here).dtype.kind == "f"
    return bool(np.allclose(here, there, rtol=1e-12)) if numbers else np.array_equal(here, there)


@pytest.mark.filterwarnings("ignore:.*stumps have two leaves")
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_method(name: str) -> None:
    model, target = fitted(name)
    table, y, weight = scanned(target)
    here = {"X": WHOLE[["a", "b", "c"]], "y": WHOLE[target], "sample_weight": WHOLE["w"]}
    there = {"X": table, "y": y, "sample_weight": weight}
    for method, parameters in methods_of(model).items():
        call, more = getattr(model, method), OPTIONS.get(method, {})
        used = [{name: value for name, value in rows.items() if name in parameters} for rows in (here, there)]
        assert method in STREAMED | REFUSED
        if method in STREAMED:
            assert equal(*(call(rows.pop("X"), **rows, **more) for rows in used)), method
            continue
        with pytest.raises(NotInMemoryError, match=rf"{method} needs every row in .*; X is a scanned table"):
            call(used[1].pop("X"), **used[1], **more)


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "check_up": lambda model, X, y: electorate.check_up(X, y),
    "complexity_of": lambda model, X, y: electorate.inspection.complexity_of(Stumps(), X),
    "contributions": lambda model, X, y: electorate.inspection.contributions(model, X),
    "empirical_rademacher": lambda model, X, y: electorate.inspection.empirical_rademacher(Stumps(), X),
    "explain": lambda model, X, y: electorate.explain(model, X),
    "export_input": lambda model, X, y: electorate.export.export_input(model, X),
    "html_report": lambda model, X, y: electorate.report.html_report(model, X, y),
    "rule_table": lambda model, X, y: electorate.inspection.rule_table(model, X),
    "staged_margins": lambda model, X, y: electorate.inspection.staged_margins(model, X, y),
    "shape_parts": lambda model, X, y: electorate.report.ShapeDisplay.from_estimator(model, X),
    "a display along a feature": lambda model, X, y: electorate.report.IntervalDisplay.from_estimator(
        fitted("MedBoostRegressor")[0], X, "a"
    ),
    "ThinnedClassifier": lambda model, X, y: electorate.thin(model, X, y),
}
TAKING_ROWS = {"certificate", "loss_certificate", "compare", "margins", "margin_table", "scores", "scan", "thin"}


def test_functions_that_refuse() -> None:
    model, _ = fitted("AdaBoostClassifier")
    table, y, _ = scanned("y")
    for name, call in FUNCTIONS.items():
        with pytest.raises(NotInMemoryError, match=f"^{re.escape(name)} needs every row in .*; X is a scanned table"):
            call(model, table, y)
    functions = {name: value for name, value in OBJECTS.items() if inspect.isfunction(value)}
    rows = {name for name, one in functions.items() if "X" in inspect.signature(one).parameters}
    assert rows <= FUNCTIONS.keys() | TAKING_ROWS


@pytest.mark.parametrize("name", ["AdaBoostClassifier", "AdaBoostRClassifier", "MedBoostRegressor"])
def test_certificates_and_margins(name: str) -> None:
    """Of training rows too, to the last digit."""
    model, target = fitted(name)
    table, y, weight = scanned(target)
    here = WHOLE[["a", "b", "c"]], WHOLE[target]
    found = [certificate(model, train=train, heldout=train) for train in ((table, y), here)]
    assert found[0].to_dict() == found[1].to_dict()
    one, other = (margins(model, *rows, sample_weight=w) for rows, w in (((table, y), weight), (here, WHOLE["w"])))
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.weights, other.weights)
    assert one.proof == other.proof
    if target == "y":
        assert loss_certificate(model, (table, y)).to_dict() == loss_certificate(model, here).to_dict()
        assert "draws=3 needs every row in memory" in str(certificate(model, train=(table, y), draws=3).to_dict())
        assert str(electorate.scores(model, table, y)) == str(electorate.scores(model, *here))
