"""Rounds of AdaBoost with stumps in one compiled call, against the same rounds one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_cases import assert_same

from electorate import AdaBoostClassifier, EBBoostClassifier, Stumps, Trees
from electorate.engines import shard
from electorate.training.stagewise import Stagewise

generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
MANY_ROUNDS = Stagewise._many_rounds


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rounds every compiled call does."""
    calls: list[int] = []

    def noted(method: Stagewise, most: int) -> bool:
        before = method.trace.n_rounds
        found = MANY_ROUNDS(method, most)
        calls.append(method.trace.n_rounds - before)
        return found

    monkeypatch.setattr(Stagewise, "_many_rounds", noted)
    return calls


def one_by_one(model: Any, *data: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stagewise, "_many_rounds", lambda *_: False)
        return model.fit(*data)


def some_rows(rng: np.random.Generator, noise: float) -> tuple[np.ndarray, np.ndarray]:
    n, d = int(rng.integers(4, 200)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, d))
    y = X[:, 0] + noise * rng.normal(size=n) > 0
    y[:2] = [False, True]
    if rng.random() < 0.5:
        X[rng.random((n, d)) < 0.1] = np.nan
    return (np.round(X, 1) if rng.random() < 0.5 else X), y


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    rng=generators,
    noise=st.sampled_from([0.0, 0.1, 1.0, 100.0]),
    weights=st.sampled_from(["none", "whole", "real", "extreme"]),
    max_bins=st.sampled_from([2, 16, 255, "exact"]),
    learning_rate=st.sampled_from([1.0, 0.3, 1e-6, 100.0]),
)
def test_the_same_model_and_history(
    rng: np.random.Generator, noise: float, weights: str, max_bins: Any, learning_rate: float
) -> None:
    X, y = some_rows(rng, noise)
    n = len(y)
    weight = {
        "none": None,
        "whole": rng.integers(1, 5, n),
        "real": rng.random(n) + 0.1,
        "extreme": np.exp(10 * rng.normal(size=n)),
    }[weights]
    options = {"n_estimators": 40, "max_bins": max_bins, "learning_rate": learning_rate}
    model, other = AdaBoostClassifier(**options), AdaBoostClassifier(Stumps(), **options)
    assert_same(model.fit(X, y, weight), one_by_one(other, X, y, weight))
    assert model.history_["n_voters"].dtype == other.history_["n_voters"].dtype
    assert list(model.history_) == list(other.history_)


def test_how_many_at_once(at_once: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """All after the first; no more than are done before Ctrl-C may be noticed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + rng.normal(size=300) > 0
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    assert at_once == [29]
    assert np.all(np.diff(model.history_["seconds"]) > 0)
    monkeypatch.setattr(shard, "ROUNDS_PER_CALL", 12)
    assert_same(model, AdaBoostClassifier(n_estimators=30).fit(X, y))
    assert at_once == [29, 12, 12, 5]
    monkeypatch.setattr(shard, "CELLS_PER_HISTOGRAM", 0)
    assert_same(model, AdaBoostClassifier(n_estimators=30).fit(X, y))
    assert not any(at_once[4:])


def test_one_at_a_time_where_rounds_are_watched(at_once: list[int]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + rng.normal(size=300) > 0
    model, other = (AdaBoostClassifier(n_estimators=9, early_stopping=True, random_state=0) for _ in range(2))
    assert_same(model.fit(X, y), one_by_one(other, X, y))
    assert set(at_once) == {1}


def test_it_ends_before_a_stop(at_once: list[int]) -> None:
    """Half of the rows of every value have either label, but for those that one stump after another tells apart."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    y = np.array([0, 1, 1, 0] * 5)
    y[0] = 1
    model, other = AdaBoostClassifier(n_estimators=50), AdaBoostClassifier(n_estimators=50)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(20, 1))])
    assert_same(model.fit(X, y), one_by_one(other, X, y))
    assert sum(at_once) > 0


@pytest.mark.parametrize("model", [AdaBoostClassifier(Trees(1), n_estimators=5), EBBoostClassifier(n_estimators=5)])
def test_others_are_done_one_by_one(at_once: list[int], model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    model.fit(X, X[:, 0] + rng.normal(size=300) > 0)
    assert not any(at_once)
