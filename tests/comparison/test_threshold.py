"""The decision threshold of a comparison: against an exhaustive search, cross-fitted, and in the output."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.model_selection import FixedThresholdClassifier

import electorate
from electorate.comparison.metrics import METRICS, Scored
from electorate.comparison.threshold import tune


def parts(n_folds: int, shift: float, seed: int = 0, n: int = 150) -> list[Scored]:
    """Decisions that are best cut at `shift`, on the scale of a temperature of 2."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_folds):
        odds = rng.normal(size=n)
        target = (odds + 0.3 * rng.normal(size=n) > 0).astype(np.int64)
        made.append(Scored(target, ((odds + shift) / 2)[:, None], 2, 2.0))
    return made


@pytest.mark.parametrize("name", ["f1", "balanced_error"])
def test_the_threshold_is_the_best_of_all_cuts(name: str) -> None:
    made = parts(1, 1.5) * 2
    found = tune(made, METRICS[name])
    odds = np.concatenate([2 * part.scores[:, 0] for part in made])
    target = np.concatenate([part.target for part in made])

    def loss(cut: float) -> float:
        return METRICS[name].value(Scored(target, (odds - cut)[:, None], 2))

    best = min(loss(cut) for cut in np.append(odds, 0.0))
    assert loss(np.log(found.probability / (1 - found.probability))) <= best + 0.02  # quantiles are not all cuts
    assert found.plain == pytest.approx(loss(0.0))
    assert found.helps
    assert found.probability == pytest.approx(1 / (1 + np.exp(-1.5)), abs=0.12)


def test_a_fold_has_no_say_in_its_own_threshold() -> None:
    """Each fold is measured with the threshold of the others, however bad it is there."""
    metric, made = METRICS["balanced_error"], [*parts(2, 0.0), *parts(1, 3.0, seed=1)]
    shifted = []
    for k, part in enumerate(made):
        probability = tune(made[:k] + made[k + 1 :], metric).probability
        shifted.append(2 * part.scores - np.log(probability / (1 - probability)))
    target = np.concatenate([part.target for part in made])
    expected = metric.value(Scored(target, np.concatenate(shifted), 2))
    assert tune(made, metric).loss == pytest.approx(expected)
    own = [2 * part.scores - 3.0 * (k == 2) for k, part in enumerate(made)]  # the best cut of each fold
    assert expected > metric.value(Scored(target, np.concatenate(own), 2)) + 0.05


def test_compare_reports_a_threshold_that_helps() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 4))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=500) > 2.2, "yes", "no")
    found = electorate.compare(X, y, algorithms=["AdaBoost, stumps"], peers=[], metric="f1", folds=3, progress=False)
    assert found.threshold is not None
    assert 0 < found.threshold < 1
    assert f"threshold={found.threshold:.3f}" in str(found)
    assert "predicting yes where its probability is above" in str(found)
    cut = FixedThresholdClassifier(FrozenEstimator(found.model), threshold=found.threshold).fit(X, y)
    assert f1_score(y, cut.predict(X), pos_label="yes") > 0.5
    plain = electorate.compare(X, y, algorithms=["AdaBoost, stumps"], peers=[], folds=3, progress=False)
    assert plain.threshold is None
    assert "threshold=" not in str(plain)
