"""Columns of few bins that share a byte: the model is the same as without, for every kind of search."""

import numpy as np
import pytest

from electorate import AdaBoostClassifier, EBBoostClassifier, LPBoostClassifier, PairedStumps, Pool, Rules, Trees
from electorate.data.bins import Bins
from electorate.engines import shard as shards
from electorate.engines.bundles import Bundles

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
    monkeypatch.setattr(shards.Bundles, "of", lambda bins: None)
    assert MODELS[name].fit(X, y, weight).digest_ == together


def test_what_shares_a_byte() -> None:
    def bins(*n_bins: int) -> Bins:
        edges = [np.arange(max(k, 1) - 1) + 0.5 for k in n_bins]
        return Bins(edges, {}, np.zeros(len(n_bins), dtype=np.bool_), np.array(n_bins))

    found = Bundles.of(bins(*[2] * 8, 200))
    assert found is not None
    assert found.n_stored == 3  # five columns of three codes, three of them, and the one of many
    assert Bundles.of(bins(200, 200, 200, 2, 2)) is not None
    assert Bundles.of(bins(200, 200, 200, 200)) is None
    assert Bundles.of(bins(2, 2)) is None  # one word either way


def test_missing_only_among_the_rows_to_stop_by() -> None:
    X, y, _ = some_rows(1)
    X = np.nan_to_num(X)
    X_val, y_val, _ = some_rows(2)
    model = AdaBoostClassifier(n_estimators=20, early_stopping=True, scoring="error", n_iter_no_change=20)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    wrong = [np.mean(labels != y_val) for labels in model.staged_predict(X_val)]
    np.testing.assert_allclose(model.history_["validation"][: len(wrong)], wrong, atol=1e-12)
