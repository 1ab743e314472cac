"""Two traps of AdaBoost are named, with the remedy, and only where a model fell into them."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from electorate import AdaBoostClassifier, AdaBoostRClassifier, Trees


def six_classes() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(0, 6, size=(600, 3))
    return X, np.floor(X[:, 0]).astype(int)


def test_a_perfect_tree_ends_the_vote() -> None:
    X, y = make_classification(200, random_state=0)
    with pytest.warns(UserWarning, match=r"ends after one round.*smaller max_depth") as found:
        model = AdaBoostClassifier(Trees(12)).fit(X, y)
    assert len(found) == 1
    assert len(model.steps_) == 1


def test_stumps_do_not_tell_six_classes_apart() -> None:
    X, y = six_classes()
    with pytest.warns(UserWarning, match=r"6 classes.*Trees\(3\)"):
        stumps = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert np.mean(stumps.predict(X) != y) > 0.3


@pytest.mark.parametrize("model", [AdaBoostClassifier(Trees(3)), AdaBoostRClassifier()])
def test_the_remedies_do_not_warn(model) -> None:
    X, y = six_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.mean(model.fit(X, y).predict(X) != y) < 0.2


def test_other_models_do_not_warn() -> None:
    separable = np.arange(20.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaBoostClassifier().fit(*load_iris(return_X_y=True))
        AdaBoostClassifier().fit(separable, separable[:, 0] > 9)  # a perfect stump is the right model
        AdaBoostClassifier(Trees(2)).fit(*make_classification(200, flip_y=0.2, random_state=0))
