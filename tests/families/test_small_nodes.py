"""Nodes of few rows are grown from their rows: the same trees, to the bit, wherever few begins."""

from itertools import product
from unittest.mock import Mock

import numpy as np
import pytest

from electorate import AdaBoostClassifier, AdaBoostRegressor, MedBoostRegressor, RegressionTrees, Trees
from electorate.engines.verbs import Grower
from electorate.families import trees
from electorate.messages import Split, SplitArrays

NEVER, SOMETIMES, ALWAYS = 0, 6, 10**9
MODELS = {
    **{
        f"{criterion} {n_labels} {least}": AdaBoostClassifier(
            Trees(6, criterion=criterion, min_samples_leaf=least, min_samples_split=2 * least), n_estimators=3
        )
        for criterion in ("gini", "edge", "matsushita")
        for n_labels in (2, 4)
        for least in (1, 4)
    },
    "window": MedBoostRegressor(RegressionTrees(6), n_estimators=3),
    "window, at least 4 rows": MedBoostRegressor(RegressionTrees(6, min_samples_leaf=4), n_estimators=3),
    "distance": MedBoostRegressor(RegressionTrees(5), cost="linear", n_estimators=3),
    "squares": AdaBoostRegressor(RegressionTrees(6), n_estimators=3),
    "no limit": AdaBoostClassifier(Trees(None), n_estimators=3),
    **{
        f"{criterion} {n_labels} of two columns": AdaBoostClassifier(
            Trees(6, criterion=criterion, max_features=2, random_state=n_labels), n_estimators=3
        )
        for criterion in ("gini", "edge", "matsushita")
        for n_labels in (2, 4)
    },
    "window of two columns": MedBoostRegressor(RegressionTrees(6, max_features=2, min_samples_leaf=4), n_estimators=3),
    "squares of two columns": AdaBoostRegressor(RegressionTrees(6, max_features=0.5), n_estimators=3),
}


def table(name: str, n: int = 260) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ties, missing values, a category column, rows of weight 0; targets for the model of that name."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = rng.integers(0, 7, n)
    score = np.nan_to_num(X[:, :3]).sum(axis=1) + (X[:, 4] % 3) + rng.normal(size=n)
    weight = rng.integers(0, 4, n).astype(np.float64)
    if name.startswith(("window", "distance", "squares")):
        return X, score, weight
    n_labels = 4 if " 4 " in name else 2
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_labels) / n_labels)), weight


@pytest.fixture(autouse=True)
def any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "DEEP", 0)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_whichever_nodes_are_small(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weight = table(name)
    model = MODELS[name].set_params(categorical_features=[4])
    digests = set()
    for few in (NEVER, SOMETIMES, ALWAYS):
        monkeypatch.setattr(trees, "FEW_ROWS_PER_LABEL", few)
        for n_jobs in (1, 3):
            digests.add(model.set_params(n_jobs=n_jobs).fit(X, y, weight).digest_)
    often = np.repeat(np.arange(len(y)), weight.astype(int))
    digests.add(model.fit(X[often], y[often]).digest_)
    assert len(digests) == 1


@pytest.mark.parametrize("criterion", ["gini", "edge"])
def test_balanced_nodes_are_looked_at_ahead(criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a first split by column 0 a half is XOR: a small node goes back to the search that looks ahead."""
    X = np.tile(np.array(list(product((0.0, 1.0), repeat=6))), (4, 1))
    y = np.where(X[:, 0] > 0, X[:, 1] != X[:, 2], (X[:, 3] != X[:, 4]) | (X[:, 5] > 0)).astype(int)
    digests, followed = set(), Mock(side_effect=Grower.partition, autospec=True)
    monkeypatch.setattr(Grower, "partition", lambda *arguments: followed(*arguments))
    for few in (NEVER, 40, ALWAYS):
        monkeypatch.setattr(trees, "FEW_ROWS_PER_LABEL", few)
        for n_jobs in (1, 2):
            model = AdaBoostClassifier(Trees(6, criterion=criterion), n_estimators=2, n_jobs=n_jobs).fit(X, y)
            digests.add(model.digest_)
    assert len(digests) == 1
    assert followed.called


def test_a_tree_in_parts_has_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are numbered level by level, also where a level does not fit into memory at once."""
    X, y, _ = table("gini 4 1")
    digests = set()
    for at_once in (2**27, 1):
        for few in (NEVER, SOMETIMES):
            monkeypatch.setattr(trees, "BYTES_AT_ONCE", at_once)
            monkeypatch.setattr(trees, "FEW_ROWS_PER_LABEL", few)
            digests.add(AdaBoostClassifier(Trees(6), n_estimators=2).fit(X, y).digest_)
    assert len(digests) == 1


def test_splits_as_arrays() -> None:
    rng = np.random.default_rng(0)
    splits = [Split(k, 2 * k + 1, 2 * k + 2, 3 * k, k - 1, rng.random(8) < 0.5) for k in range(3)]
    arrays = SplitArrays.of(splits)
    assert len(arrays) == 3
    assert all(one.same_as(other) and one.cut == other.cut for one, other in zip(splits, arrays, strict=True))
    assert arrays[1].same_as(splits[1])
    assert [split.node for split in arrays[1:]] == [1, 2]
    assert SplitArrays.of(arrays) is arrays
    assert arrays.same_as(SplitArrays.of(splits))
    assert not arrays.same_as(SplitArrays.of(splits[:2]))


def test_rows_find_their_leaves_the_same_way_from_the_first_levels_as_from_any() -> None:
    """The nodes of a growing tree whose splits come first in a voter, and the same splits in another order."""
    rng = np.random.default_rng(0)
    on_left = rng.random((7, 256)) < 0.5
    splits = [Split(k, 2 * k + 1, 2 * k + 2, k % 3, 5, on_left[k]) for k in range(7)]
    tree, leaves = SplitArrays.of(splits), list(range(7, 15))
    first = [SplitArrays.of(splits[:1]), SplitArrays.of(splits[1:3])]
    turned = [first[0], SplitArrays.of(splits[2:3]), SplitArrays.of(splits[1:2])]  # the slow way
    assert tree.walk(leaves, [])[0].T.tolist() == [[0, 0]]
    known = [sorted(tree.walk(leaves, levels)[0].T.tolist()) for levels in (first, turned)]
    assert known[0] == known[1] == [[3, 3], [4, 4], [5, 5], [6, 6]]
