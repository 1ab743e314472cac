"""The study of QuadBoost's tables: data as the paper splits them, and the paper's own figures."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from electorate.cli import main
from electorate.comparison import paired_tests
from electorate_studies import quadboost as study
from electorate_studies import quadboost_table2 as table2
from electorate_studies.binary_sets import read_set
from electorate_studies.request import Request
from electorate_studies.runs import Lines, Outcome, Row, Unit, read_results

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
STORED = Path(__file__).parents[2] / "docs" / "studies"
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
    assert len(study.units(replace(request, repeats=3))) == 3 * 3 * len(study.SETS)
    assert {unit.split for unit in study.units(request) if unit.table == study.LONGER} == {0}


@needs_data
@pytest.mark.parametrize(("name", "split"), [("bupa", 0), ("wine", 1), ("zoo", 4)])
def test_a_stored_choice_fitted_again_has_the_stored_error(name: str, split: int) -> None:
    stored = read_results(STORED / "quadboost.csv")
    found = study.run_again(Unit("2", name, split), FOLDER, stored)
    assert [one.algorithm for one in found] == list(study.ALGORITHMS)
    for one in found:
        unit = Unit("1", name, split)
        (row,) = [row for row in stored if row.unit == unit and row.outcome.algorithm == one.algorithm]
        assert one.error == pytest.approx(row.outcome.error, abs=1e-6)
        wrong = table2.unpacked(one.chosen["wrong"], one.chosen["rows"])
        assert wrong.mean() == pytest.approx(one.error)


def test_stored_parameters_are_those_of_the_grid() -> None:
    for algorithm, name, grid in (
        ("QuadBoost-L1", "lam", np.logspace(-4, 0, 10)),
        ("QuadBoost-L2", "lam", np.logspace(0, 3, 10)),
        ("QuadBoost-Linf", "alpha_max", np.logspace(-4, -1, 10)),
        ("LPBoost", "C", study.PRICES),
    ):
        for value in grid:
            assert study.on_grid(algorithm, name, float(f"{value:.4g}")) == value
    assert study.on_grid("QuadBoost", "lam", 0.0) == 0.0
    assert study.on_grid("AdaBoost", "n_estimators", 774.0) == 774


def test_the_tests_of_pairs_on_made_up_runs() -> None:
    """Linf is right everywhere, L1 wrong on the first row of every set, the others on the first two of all but one."""
    rows = []
    for number, split in ((number, split) for number in range(5) for split in range(2)):
        for name in table2.ALGORITHMS:
            wrong = np.zeros(11, dtype=bool)
            wrong[: {"QuadBoost-Linf": 0, "QuadBoost-L1": 1}.get(name, 2 if number else 0)] = True
            chosen = {"rows": 11, "wrong": table2.packed(wrong)}
            rows.append(Row(Unit("2", f"set {number}", split), Outcome(name, wrong.mean(), 0.0, chosen), ""))
    found = table2.pair_tests(rows)
    assert len(found) == 15
    one = found["QuadBoost-Linf", "QuadBoost-L1"]
    assert (one["wins"], one["ties"], one["losses"], one["p"]) == (5, 0, 0, 1 / 32)
    assert one["gap"] == pytest.approx(-100 / 11)
    chances = np.full(5, paired_tests.chance_of_better(1, 0))  # one row that only the second gets wrong
    for which in ("first", "mean", "least", "most"):
        assert one[which] == pytest.approx(paired_tests.chance_of_majority(chances))
    tied = found["LPBoost", "AdaBoost"]
    assert (tied["wins"], tied["ties"], tied["losses"], tied["p"], tied["first"]) == (0, 5, 0, 1.0, 0.5)
    assert "| QuadBoost-Linf | QuadBoost-L1 | 0.81 |" in "\n".join(table2.own_lines(rows))


def test_the_significant_pairs_are_those_of_the_text_and_of_the_stars() -> None:
    assert set(table2.SIGNIFICANT) <= set(table2.TABLE_2)
    assert sum("text" in where for where in table2.SIGNIFICANT.values()) == 3
    assert sum("star" in where for where in table2.SIGNIFICANT.values()) == 3
