"""Results of studies in CSV files: read as they were written, resumed, shared between processes."""

import math
from pathlib import Path

import pytest

from electorate_studies.runs import Outcome, Unit, commit, read_results, run_units, write_results

UNITS = [Unit("1", name, split) for split in range(2) for name in ("one", 'two, "quoted"')]


def make(unit: Unit) -> list[Outcome]:
    chosen = {"lam": 0.5, "depth": 3}
    return [Outcome("A", 0.25 + unit.split / 8, 1.5, chosen, size=3.0), Outcome("B, T = 10", 0.5, 2.0, voters=7.0)]


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "some" / "study.csv"
    write_results(path, UNITS[1], make(UNITS[1]))
    first, second = read_results(path)
    assert first.unit == second.unit == UNITS[1]
    assert (first.outcome.algorithm, first.outcome.error, first.outcome.size) == ("A", 0.25, 3.0)
    assert first.outcome.chosen == {"lam": 0.5, "depth": 3}
    assert math.isnan(first.outcome.voters)
    assert (second.outcome.algorithm, second.outcome.voters, second.outcome.chosen) == ("B, T = 10", 7.0, {})
    assert first.commit == commit() != ""
    assert read_results(tmp_path / "nothing.csv") == []


def test_a_run_resumes_after_an_incomplete_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.csv"
    run_units(UNITS[:2], make, path)
    with open(path, "a", encoding="utf-8") as file:
        file.write("1,one,A,1,")
    asked = []

    def noted(unit: Unit) -> list[Outcome]:
        asked.append(unit)
        return make(unit)

    rows = run_units(UNITS, noted, path)
    assert asked == UNITS[2:]
    assert [row.unit for row in rows] == [unit for unit in UNITS for _ in range(2)]
    assert "2/2 1, two" in capsys.readouterr().err
    assert repr(run_units(UNITS, noted, path)) == repr(rows)
    assert len(asked) == 2


def test_processes_share_the_units(tmp_path: Path) -> None:
    rows = run_units(UNITS, make, tmp_path / "study.csv", jobs=2)
    assert sorted({row.unit for row in rows}) == sorted(UNITS)
    assert len(rows) == 2 * len(UNITS)
