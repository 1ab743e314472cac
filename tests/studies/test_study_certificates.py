"""The study of certificates: the worlds' risks are exact, the bounds cover, and fail without what they pay for."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from electorate import Columns, CrossFittedClassifier, MedBoostRegressor
from electorate_studies import certificate_coverage as coverage
from electorate_studies import certificates as study
from electorate_studies import worlds as of_worlds
from electorate_studies.certificate_aims import excess, more_by_chance, paired
from electorate_studies.request import Request
from electorate_studies.worlds import PARTS, worlds

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
PAGES = Path(__file__).resolve().parents[2] / "docs" / "studies"
needs_data = pytest.mark.skipif(not (FOLDER / "DATASETS.json").exists(), reason="the data sets are not here")


@pytest.mark.parametrize("name", worlds())
def test_the_risk_of_a_world_is_that_of_many_rows(name):
    world, rng = worlds()[name], np.random.default_rng(0)
    predicted = (world.inputs @ np.arange(7) % 3 == 0).astype(int)
    X, y = world.draw(20_000, rng)
    assert np.isclose(world.joint.sum(), 1)
    assert np.mean((X @ np.arange(7) % 3 == 0) != y) == pytest.approx(world.risk(predicted), abs=0.02)
    shares = world.counts(1, 20_000, rng)[0] / 20_000
    assert np.abs(shares - world.joint).max() < 0.02


class Nearest(ClassifierMixin, BaseEstimator):
    """What the simulation computes for all draws at once, row by row: the label of the nearest rows, 0 for a tie."""

    def fit(self, X, y):
        self.rows_, self.classes_ = (X, y), np.array([0, 1])
        return self

    def predict(self, X):
        apart = np.abs(X[:, None] - self.rows_[0]).sum(axis=2)
        return (64.0**-apart @ (2.0 * self.rows_[1] - 1) > 0).astype(int)


def test_the_cross_fitted_simulation_is_that_of_the_estimator(monkeypatch):
    world = worlds()["duplicates"]
    counts = world.counts(3, coverage.ROWS, np.random.default_rng(4))
    monkeypatch.setattr(of_worlds, "allows", lambda errors, *others: np.zeros(len(errors), dtype=bool))
    paid, _ = coverage.cross_fitted(world, 3, np.random.default_rng(4))
    for gap, count in zip(paid, counts, strict=True):
        X = np.repeat(world.inputs, count.sum(axis=1), axis=0)
        y = np.concatenate([np.repeat([0, 1], pair) for pair in count])
        with pytest.warns(UserWarning, match="one input holds"):
            model = CrossFittedClassifier(Nearest(), n_folds=PARTS).fit(X, y)
        assert gap == pytest.approx(model.bound_ - world.risk(model.predict(world.inputs)))


def test_the_bound_of_medians_is_that_of_the_certificate(monkeypatch):
    """Of a real model: its columns are inputs and complements, its steps are weights."""
    world, rng = worlds()["duplicates"], np.random.default_rng(2)
    count = world.counts(1, coverage.MEDIAN_ROWS, rng)[0]
    X, y = np.repeat(world.inputs, count.sum(axis=1), axis=0), np.concatenate([np.repeat([0.0, 1], c) for c in count])
    columns = np.hstack([X, 1 - X])
    model = MedBoostRegressor(Columns(), eps=0.25, n_estimators=6).fit(columns, y)
    proved = model.certificate(train=(columns, y))["median, finitely many voters"].value
    weights = np.zeros(2 * X.shape[1])
    for voter, step in zip(model.estimators_, model.steps_, strict=True):
        here = voter.predict(np.eye(2 * X.shape[1]))
        weights[int(np.argmax(here))] += step
    f = (weights[:7] - weights[7:]) @ (2 * world.inputs - 1).T / weights.sum()
    margins = np.stack([-f, f], axis=1)[None]
    monkeypatch.setattr(coverage, "votes", lambda *given: (None, margins))
    monkeypatch.setattr(type(world), "counts", lambda *given: count[None])
    paid, _ = coverage.median_tubes(world, 1, rng)
    assert paid[0] + world.mean((margins[0] <= 0).astype(float)) == pytest.approx(proved)


@pytest.mark.parametrize("depth", [2, 3])
def test_trees_are_chosen_where_two_columns_matter_together(depth):
    world, rng = worlds()["pairs"], np.random.default_rng(0)
    models = [coverage._card(1, depth).fit(*world.draw(60, rng)) for _ in range(12)]
    trees = [model for model in models if any("\n" in voter.to_text() for voter in model.estimators_)]
    assert len(trees) >= 4
    assert all(model.bound_ >= world.risk(model.predict(world.inputs)) for model in trees)


def test_a_learner_that_reads_the_other_parts_is_right_in_all_parts_at_once():
    """Its function in each part is a function of the other parts, and has its least errors in all parts or in none."""
    rng = np.random.default_rng(1)
    routed = of_worlds.Routed(worlds()["coins"], 4, 400, rng)
    others = routed.best.sum(axis=1, keepdims=True) - routed.best
    few = -others % 4 == routed.best  # [draw, part]: the learner 0 has the function with the fewest errors there
    assert np.array_equal(few.any(axis=1), few.all(axis=1))
    assert 0.15 < few.all(axis=1).mean() < 0.4


@pytest.mark.parametrize("kind", coverage.SIMULATED)
def test_bounds_cover_and_fail_where_the_choice_is_not_paid_for(kind):
    """A short version of table 2, in a world where a choice finds what is not there."""
    draws = 80 if kind.startswith("description") else 200
    doubling = kind in ("PAC-Bayes", "tandem", "Chebyshev-Cantelli")  # factors of 2 and 4 hide the price of coins
    found = coverage.simulate(kind, "quiet" if doubling else "coins", draws)
    assert found["failed"] <= coverage.most_failures(draws)
    assert found["unpaid"] > coverage.most_failures(draws)


@needs_data
def test_table_1(tmp_path):
    text = study.reproduce(Request("table 1", True, FOLDER, tmp_path, ("heart_statlog",)))
    assert "| heart_statlog | 202 |" in text
    assert "| card below 1/2, two classes, 150 rows or more |  | 1 of 1 |" in text
    assert (tmp_path / "certificates.png").exists()
    again = Request("table 1", True, tmp_path / "no data", tmp_path, ("heart_statlog",), render=True)
    assert text == study.reproduce(again)


@needs_data
def test_table_3(tmp_path):
    text = study.reproduce(Request("table 3", True, FOLDER, tmp_path, ("heart_statlog",)))
    assert "| heart_statlog | 202 |" in text
    assert "| means over the splits | 5 parts | 10 parts | 20 parts |" in text
    assert "- 10 parts, beyond the factor: " in text


@pytest.mark.parametrize("stored", sorted(PAGES.glob("certificates-table-*.csv")), ids=lambda path: path.stem)
def test_the_page_has_the_tables_of_the_stored_results(stored, tmp_path):
    shutil.copy(stored, tmp_path)
    text = study.reproduce(Request(f"table {stored.stem[-1]}", False, FOLDER, tmp_path, render=True))
    assert text in (PAGES / "certificates.md").read_text(encoding="utf-8")


def test_models_that_are_equally_good_differ_by_chance():
    """Of 2 rows that only one of two models gets wrong, both are wrong for the first with probability 1/4."""
    assert more_by_chance([1, 1, 50]) == pytest.approx(0.25)
    assert more_by_chance([1, 0, 1000]) == 0
    assert more_by_chance([0, 0, 50]) == 0


def test_the_standard_error_of_a_difference_is_that_of_paired_rows():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 400)) < 0.3
    points, error = excess(paired(one, other))
    each = 100 * (one.astype(float) - other)
    assert points == pytest.approx(each.mean())
    assert error == pytest.approx(each.std() / 20)


def test_table_2(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "QUICK", study.Plan(draws=2))
    text = study.reproduce(Request("table 2", True, FOLDER, tmp_path))
    assert text.count("\n| ") == 1 + len(coverage.SIMULATED)
    assert text.startswith("2 draws in each world, or as many as it says; at most")


def test_table_2_is_made_from_a_part_of_the_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "QUICK", study.Plan(draws=1000))
    request = Request("table 2", True, FOLDER, tmp_path, render=True)
    with open(tmp_path / "table-2-quick.jsonl", "w") as file:
        for world in worlds():
            found = {"draws": 500, "failed": 3, "unpaid": 70}
            file.write(json.dumps([["held-out", world, 0], found]) + "\n")
    assert "| held-out | 3 (70) of 500 | 3 (70) of 500 |" in study.reproduce(request)
