"""The study of QuadBoost's table: data as the paper splits them, the paper's own figures, a small run, going on."""

import os
from pathlib import Path

import numpy as np
import pytest

from electorate.cli import main
from electorate.studies import quadboost as study
from electorate.studies.request import Lines, Request

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (FOLDER / "DATASETS.json").exists(), reason="the data sets are not here")
TINY = study.Size(1, 30, 30)


def test_the_published_table_is_whole() -> None:
    assert len(study.PUBLISHED) == 25
    assert all(len(row) == len(study.ALGORITHMS) for row in study.PUBLISHED.values())
    assert study.FULL.rounds("QuadBoost-L2")[-1] == 10**5
    assert study.FULL.rounds("AdaBoost")[0] == 100
    assert study.FULL.rounds("AdaBoost")[-1] == 10**6


def test_the_paper_counts_its_own_table_as_we_do() -> None:
    """Section 4: QuadBoost wins or ties 17 times against AdaBoost, QuadBoost-L1 16 times against LPBoost."""
    theirs = np.array(list(study.PUBLISHED.values()))
    claimed = study._claims(theirs, theirs, np.array(study.PUBLISHED_SECONDS))
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
def test_a_small_run_and_going_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "QUICK", TINY)
    request = Request("table 1", True, FOLDER, tmp_path, ("zoo",))
    text = study.reproduce(request)
    assert "| zoo | 1 (mammal) vs rest" in text
    lines = Lines(tmp_path / "quadboost-table-1.jsonl")
    assert len(lines.found) == len(study.ALGORITHMS)
    assert all(error < 0.4 for error, _ in lines.found.values())

    def fails(*_: object) -> None:
        raise AssertionError("what is there is not run again")

    monkeypatch.setattr(study, "FITS", dict.fromkeys(study.ALGORITHMS, fails))
    assert study.reproduce(request) == text


@needs_data
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(study, "QUICK", TINY)
    out = ["--data", str(FOLDER), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "quadboost"]) == 0
    assert "--table 1:" in capsys.readouterr().out
    assert main(["reproduce", "quadboost", "--table", "1", "--quick", "--sets", "wine", *out]) == 0
    text = capsys.readouterr().out
    assert "**low: a guess**" in text
    assert (tmp_path / "out" / "table-1.md").read_text() in text
    for wrong in (["--table", "7"], ["--figure", "1"], ["--table", "1", "--sets", "nowhere"]):
        assert main(["reproduce", "quadboost", *wrong, *out]) == 1
    assert main(["reproduce", "quadboost", "--table", "1", "--data", str(tmp_path)]) == 1
    assert "ELECTORATE_DATA" in capsys.readouterr().err


def test_table_2_needs_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "quadboost", "--table", "2", *where]) == 0
    assert "| LPBoost | QuadBoost | 5, 7, 13 |" in capsys.readouterr().out
