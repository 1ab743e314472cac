"""Other readings of DeepBoost's penalty."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from electorate import AdaBoostClassifier, DeepBoostClassifier, Stumps
from electorate_studies import deepboost as study
from electorate_studies import deepboost_variants as readings
from electorate_studies.runs import Outcome, Row, Unit

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:150], y[:150]


def test_the_penalty_of_the_sum_is_that_of_the_mean_divided_by_the_rows() -> None:
    model = DeepBoostClassifier(Stumps(), lam=0.1, beta=0.2, n_estimators=5)
    changed = readings.READINGS["sum"].changed(model, 50)
    assert (changed.lam, changed.beta) == (0.1 / 50, 0.2 / 50)
    assert (model.lam, model.beta) == (0.1, 0.2)
    assert type(changed) is DeepBoostClassifier


def test_without_a_penalty_new_voters_are_adaboosts() -> None:
    """Found again or not, a voter is one more, with AdaBoost's step."""
    model = readings.READINGS["new"].changed(DeepBoostClassifier(Stumps(), lam=0, beta=0, n_estimators=40), len(y))
    model.fit(X, y)
    plain = AdaBoostClassifier(Stumps(), n_estimators=40).fit(X, y)
    steps = [float(one.steps_[0]) for one in model.rounds]
    np.testing.assert_allclose(np.abs(steps), plain.steps_, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    usual = DeepBoostClassifier(Stumps(), lam=0, beta=0, n_estimators=40).fit(X, y)
    assert len(usual.steps_) < len(model.rounds) == len(model.sizes()) == 40


def test_a_run_of_new_voters_ends_where_none_is_worth_its_penalty() -> None:
    offered = DeepBoostClassifier(Stumps(), lam=0, beta=0.25, n_estimators=100)
    model = readings.READINGS["new"].changed(offered, len(y)).fit(X, y)
    assert 0 < len(model.rounds) < 100
    many = readings.READINGS["sum, new"].changed(offered, len(y)).fit(X, y)
    assert len(many.rounds) > len(model.rounds)


def test_the_table_has_the_folds_that_were_run_with_all_readings() -> None:
    names = [readings.named(algorithm, one) for one in readings.READINGS for algorithm in readings.READ_BY]
    rows = [
        Row(Unit("1", "german", fold), Outcome(name, 0.25, 1.0, voters=50.0), "c")
        for fold in range(2)
        for name in study.ALGORITHMS["1"]
    ]
    published = study.PUBLISHED["1"]
    assert readings.reading_lines(rows, published) == []
    rows += [Row(Unit("5", "german", 1), Outcome(name, 0.2, 1.0, voters=90.0), "c") for name in names]
    lines = readings.reading_lines(rows, published)
    assert "| german | 1 | 25.00; 50.0 | 20.00; 90.0 | 20.00; 90.0 | 20.00; 90.0 | 24.55; 54.1 |" in lines
    assert "| german | 1 | 25.00; 50.0 | 20.00; 90.0 | 20.00; 90.0 | 20.00; 90.0 | 23.95; 76.5 |" in lines
