"""Columns of few bins that share a byte: the model is the same as without, for every kind of search."""

import numpy as np
import pytest

from electorate import AdaBoostClassifier, EBBoostClassifier, LPBoostClassifier, PairedStumps, Pool, Rules, Trees
from electorate.data.bins import Bins
from electorate.engines import shard as shards
from electorate.engines.bundles import Bundles, plans

MODELS = {
    "stumps": AdaBoostClassifier(n_estimators=12),
    "trees": AdaBoostClassifier(Trees(3, min_samples_leaf=4), n_estimators=6),
    "pairs": EBBoostClassifier(PairedStumps(), n_estimators=5),
    "rules": AdaBoostClassifier(Rules(2), n_estimators=5),
    "pool": AdaBoostClassifier(Pool(3), n_estimators=9),
    "program": LPBoostClassifier(n_estimators=20, tol=1.0),
    "stopped early": AdaBoostClassifier(n_estimators=30, early_stopping=True, n_iter_no_change=3, random_state=0),
}


def some_rows(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of two values, of few and of many, with missing ones, one of nothing else; labels that follow some."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, 2, (n, 11)),
            rng.integers(0, 5, (n, 4)),
            rng.normal(size=(n, 2)),
            np.full((n, 1), np.nan),
            np.zeros((n, 1)),
        ]
    ).astype(np.float64)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nansum(X[:, [0, 3, 12, 15]], axis=1) + rng.normal(size=n) > 2.5).astype(np.int64)
    return X, y, rng.integers(1, 4, n)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weight = some_rows(0)
    together = MODELS[name].fit(X, y, weight).digest_
    monkeypatch.setattr(shards, "plans", lambda bins, sample: [])
    assert MODELS[name].fit(X, y, weight).digest_ == together


@pytest.mark.parametrize("name", ["stumps", "trees"])
def test_rows_that_turn_out_to_differ_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample whose columns would all share a byte, and rows that do not let them."""
    X, y, weight = some_rows(3, 3000)
    expected = MODELS[name].fit(X, y, weight).digest_
    monkeypatch.setattr(shards, "some_codes", lambda *given: np.zeros((5, 10, 4), dtype=np.uint8))
    tried = []
    monkeypatch.setattr(shards, "Bundles", lambda *given: tried.append(len(given[1])) or Bundles(*given))
    assert MODELS[name].fit(X, y, weight).digest_ == expected
    assert len(tried) == 2
    assert tried[0] < tried[1]


def bins_of(*n_bins: int) -> Bins:
    edges = [np.arange(max(k, 1) - 1) + 0.5 for k in n_bins]
    return Bins(edges, {}, np.zeros(len(n_bins), dtype=np.bool_), np.array(n_bins))


def codes_of(columns: np.ndarray) -> np.ndarray:
    """[group, row, column of group] from [row, column]."""
    codes = np.zeros((-(-columns.shape[1] // 4), len(columns), 4), dtype=np.uint8)
    for j, column in enumerate(columns.T):
        codes[j // 4, :, j % 4] = column
    return codes


def stored(n_bins: tuple[int, ...], columns: np.ndarray) -> list[int]:
    """How many stored columns the plans have."""
    return [len(together) for together in plans(bins_of(*n_bins), lambda: codes_of(columns))]


def test_what_shares_a_byte() -> None:
    rng = np.random.default_rng(0)
    anything = rng.integers(0, 2, (4000, 60))
    only_one = np.eye(60, dtype=np.int64)[rng.integers(0, 60, 4000)]
    assert stored((2,) * 8 + (200,), anything[:, :9]) == [3, 3]  # seven columns have 128 codes, or five may have 243
    assert stored((2,) * 60, anything) == [9, 12]
    assert stored((2,) * 60, only_one) == [1, 12]
    assert stored((200, 200, 200, 2, 2), anything[:, :5]) == [4, 4]
    assert stored((200, 200, 200, 200), anything[:, :4]) == []
    assert stored((2, 2), anything[:, :2]) == []  # one word either way


def test_missing_only_among_the_rows_to_stop_by() -> None:
    X, y, _ = some_rows(1)
    X = np.nan_to_num(X)
    X_val, y_val, _ = some_rows(2)
    model = AdaBoostClassifier(n_estimators=20, early_stopping=True, scoring="error", n_iter_no_change=20)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    wrong = [np.mean(labels != y_val) for labels in model.staged_predict(X_val)]
    np.testing.assert_allclose(model.history_["validation"][: len(wrong)], wrong, atol=1e-12)
