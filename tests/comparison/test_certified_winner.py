"""The winner of a comparison as a cross-fitted model: the bound pays for every setting that could have been chosen."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import electorate
from electorate import AdaBoostClassifier, CrossFittedClassifier, Trees
from electorate.comparison.algorithms import CLASSIFICATION, PEERS, Algorithm
from electorate.comparison.certified_winner import count_candidates
from electorate.comparison.fits import Plan, stages_of, with_rounds
from electorate.comparison.metrics import METRICS
from electorate.theory.bounds import total
from electorate.theory.cross_fit import routed_bound


def some_algorithms():
    few = {"n_estimators": 2}, {"n_estimators": 5}
    stumps = Algorithm("stumps", CLASSIFICATION, lambda facts: AdaBoostClassifier(n_jobs=1), few, staged=True)
    trees = Algorithm("trees", CLASSIFICATION, lambda facts: AdaBoostClassifier(Trees(2), n_jobs=1), few[:1])
    return [stumps, trees]


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :6], y[:200]


@pytest.fixture(scope="module")
def found(rows):
    options = {"folds": 2, "n_jobs": 1, "peers": ["linear"], "check_up": False, "stack": False}
    return electorate.compare(*rows, algorithms=some_algorithms(), certify="crossfit", **options)


def test_candidates_are_all_settings_with_all_rounds():
    """2 rounds: 1 or 2; 5 rounds: 1, 2 or 5; trees: 2; a peer has two settings. The baseline counts, too."""
    peer = Algorithm("peer", CLASSIFICATION, lambda facts: AdaBoostClassifier(), ({}, {}), peer=True)
    plan = Plan([*some_algorithms(), peer, replace(peer, baseline=True)], 2, 0, 2, METRICS["error"])
    assert count_candidates(plan) == 8 + 2
    stumps = plan.algorithms[0]
    chosen = [with_rounds(stumps, one, k) for one in stumps.grid for k in stages_of(stumps, one)]
    assert len(chosen) == 5


def test_the_bound_is_that_of_its_share_of_delta(found, rows):
    X, y = rows
    certified, settings = found.certified, 6 + len(PEERS["linear"][0].grid) + 1
    assert certified.candidates == settings
    assert certified.algorithm == found.winner
    again = CrossFittedClassifier(certified.model.estimator, delta=0.05 / settings).fit(X, y)
    assert certified.bound == again.bound_ == certified.model.bound_
    counts = again.part_errors_.tolist(), again.part_rows_.tolist()
    assert certified.bound == pytest.approx(total(routed_bound(*counts, 0.05 / settings)))
    assert certified.bound > total(routed_bound(*counts, 0.05))
    assert np.array_equal(certified.model.predict(X), again.predict(X))
    assert certified.sentence in " ".join(repr(found).split())
    assert f"{settings} settings to choose from were fixed before" in certified.sentence


def test_a_peer_that_wins_is_certified(rows):
    """Labels that are no numbers, a missing value: the model of each part codes its own rows."""
    X, y = rows[0].copy(), np.where(rows[1] > 0, "benign", "other")
    X[3, 2] = np.nan
    none = Algorithm("one stump", CLASSIFICATION, lambda facts: AdaBoostClassifier(n_estimators=1, n_jobs=1), ({},))
    options = {"folds": 2, "n_jobs": 1, "peers": ["linear"], "check_up": False, "certify": "crossfit"}
    found = electorate.compare(X[:, [2, 3]], y, algorithms=[none], **options)
    assert found.winner == found.certified.algorithm == "linear model"
    model = found.certified.model
    predicted = model.predict(X[:, [2, 3]])
    assert set(predicted) <= set(y)
    assert model.part_errors_.sum() == np.sum(predicted != y)
    assert found.certified.candidates == 1 + len(PEERS["linear"][0].grid) + 1
    assert "model='linear'" in str(model)


def test_without_it_nothing_is_cross_fitted(rows):
    assert electorate.compare(*rows, algorithms=some_algorithms()[1:], folds=2, n_jobs=1).certified is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"certify": "folds"}, "must be 'crossfit'"),
        ({"task": "regression"}, "is for classification"),
        ({"sample_weight": np.arange(1, 201)}, "not binomial"),
        ({"group": np.arange(200) // 2}, "independent rows"),
        ({"time_column": np.arange(200)}, "one distribution"),
        ({"check_up": True}, "--no-check-up"),
    ],
)
def test_where_it_does_not_apply(rows, options, message):
    """The check-up would leave out the numbers of the rows."""
    X, y = np.column_stack([rows[0], np.arange(200.0)]), rows[1]
    given = {"certify": "crossfit", "check_up": False, "folds": 2, "n_jobs": 1, **options}
    algorithms = None if "task" in options else some_algorithms()
    with pytest.raises(ValueError, match=message):
        electorate.compare(X, y, algorithms=algorithms, **given)
