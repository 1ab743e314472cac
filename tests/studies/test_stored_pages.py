"""The pages in docs/studies show the numbers of the CSV files beside them."""

import os
import shutil
from pathlib import Path

import pytest

from electorate.cli import main
from electorate.commands import reproduce
from electorate_studies.overview import overview_lines
from electorate_studies.runs import read_results

DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
STORED = Path(__file__).parents[2] / "docs" / "studies"
pytestmark = [
    pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here"),
    pytest.mark.skipif(not STORED.exists(), reason="the pages are not here"),
]


@pytest.mark.parametrize("name", reproduce.PAPERS)
def test_the_page_of_a_paper_is_made_from_its_results(name: str, tmp_path: Path) -> None:
    for path in (*STORED.glob(f"{name}*.csv"), *STORED.glob(f"{name}.jsonl")):
        shutil.copy(path, tmp_path)
    assert main(["reproduce", name, "--render", "--data", str(DATA), "--out", str(tmp_path)]) == 0
    stored = (STORED / f"{name}.md").read_text(encoding="utf-8")
    assert (tmp_path / f"{name}.md").read_text(encoding="utf-8") == stored


def test_the_index_has_the_numbers_of_all_tables() -> None:
    index = (STORED / "index.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in overview_lines(STORED, DATA) if line not in index] == []


def test_a_table_without_results_is_marked(tmp_path: Path) -> None:
    lines = overview_lines(tmp_path, DATA)
    assert "| DeepBoost, Table 2 | 0 of 6 | - | - | - | - | 1.0: not run |" in lines
    assert len(lines) > 2


def test_no_row_is_stored_twice() -> None:
    for name in reproduce.PAPERS:
        keys = [(row.unit, row.outcome.algorithm) for row in read_results(STORED / f"{name}.csv")]
        assert len(keys) == len(set(keys)) > 0, name
