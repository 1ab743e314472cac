"""The study of QuadBoost's tables: data as the paper splits them, and the paper's own figures."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from electorate.cli import main
from electorate.studies import quadboost as study
from electorate.studies.binary_sets import read_set
from electorate.studies.request import Lines, Request

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (FOLDER / "DATASETS.json").exists(), reason="the data sets are not here")


def test_the_paper_counts_its_own_table_as_we_do() -> None:
    """Section 4: QuadBoost wins or ties 17 times against AdaBoost, QuadBoost-L1 16 times against LPBoost."""
    theirs = np.array(list(study.PUBLISHED.values()))
    claimed = study.claim_lines(theirs, theirs, np.array(study.PUBLISHED_SECONDS))
    assert "17 of 25 data sets (published: 17), and 20.4 times" in claimed[0]
    assert "16 of 25 data sets (published: 16), and 20.3 times" in claimed[1]


def test_normalisation_is_fitted_to_the_training_part() -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    train[:, 2] = np.nan
    one, other = study.normalised(train, test)
    again, _ = study.normalised(train, test * 100)
    np.testing.assert_array_equal(one, again)
    assert np.abs(one).max() < 1
    assert np.all(np.isfinite(other))


def test_lines_are_read_again_and_a_cut_one_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "some" / "lines.jsonl"
    assert Lines(path).compute(["a", 1], lambda: [0.5, 2.0]) == [0.5, 2.0]
    with open(path, "a") as file:
        file.write('[["b", 1], [0.')
    lines = Lines(path)
    assert lines.compute(["a", 1], list) == [0.5, 2.0]  # as it is stored
    assert lines.compute(["b", 1], lambda: [0.25, 1.0]) == [0.25, 1.0]
    assert Lines(path).found == lines.found
    assert len(lines.found) == 2


@needs_data
def test_published_errors_are_multiples_of_1_over_the_test_rows() -> None:
    """The sets have as many rows as the paper's; balance has 625 there, 576 without the balanced rows."""
    for name in set(study.PUBLISHED) - {"balance"}:
        data = read_set(study.SETS[name], FOLDER)
        train, test = study.split(data, 0)
        assert len(train) == min(500, -(-len(data.y) // 2))
        for error in study.PUBLISHED[name]:
            assert abs(round(error * len(test)) / len(test) - error) <= 0.0005 + 1e-9, name


def test_table_2_needs_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "quadboost", "--table", "2", *where]) == 0
    assert "| LPBoost | QuadBoost | 5, 7, 13 |" in capsys.readouterr().out


@needs_data
def test_a_data_set_with_few_test_rows_has_more_splits() -> None:
    request = Request("all", False, FOLDER, FOLDER)
    count = Counter(unit.data for unit in study.units(request) if unit.table == "1")
    assert count["car"] == 10
    assert count["hepatitis"] == study.MORE_SPLITS["hepatitis"] == max(count.values())
    assert len(study.units(replace(request, repeats=3))) == 2 * 3 * len(study.SETS)
    assert {unit.split for unit in study.units(request) if unit.table == study.LONGER} == {0}
