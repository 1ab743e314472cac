"""The study of QuadBoost's table: data as the paper splits them, the paper's own figures, and a small run."""

import os
from pathlib import Path

import numpy as np
import pytest

from electorate.studies import quadboost as study

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (FOLDER / "DATASETS.json").exists(), reason="the data sets are not here")


def test_the_published_table_is_whole() -> None:
    assert len(study.PUBLISHED) == 25
    assert study.rounds_of("QuadBoost-L2", 10**5)[-1] == 10**5
    assert study.rounds_of("AdaBoost", 10**6)[0] == 100


def test_normalisation_is_fitted_to_the_training_part() -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    train[:, 2] = np.nan
    one, other = study.normalised(train, test)
    again, _ = study.normalised(train, test * 100)
    np.testing.assert_array_equal(one, again)
    assert np.abs(one).max() < 1
    assert np.all(np.isfinite(other))


@needs_data
def test_every_set_has_two_classes_and_its_published_split() -> None:
    """Errors of the table are multiples of 1 over the number of test rows."""
    for name in study.PUBLISHED:
        data = study.read(name, FOLDER)
        train, test = study.split(data, 0)
        assert set(np.unique(data.y)) == {0, 1}
        assert len(train) == min(500, -(-len(data.y) // 2))
        for error in study.PUBLISHED[name]:
            assert abs(round(error * len(test)) / len(test) - error) <= 0.0005 + 1e-9, name


@needs_data
def test_a_small_run() -> None:
    results = study.study(["wine", "zoo"], FOLDER, 1, 30)
    text = study.report(results, 1, 30)
    assert "wine" in text
    assert "**low: a guess**" in text
    for found in results.values():
        assert np.all(found["errors"] < 0.4)
