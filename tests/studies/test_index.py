"""Every row of docs/studies/index.md on a claim of the papers follows from the stored files."""

import re

import pytest
from index_rows import DATA, ROWS, STORED

needs_data = pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")


@needs_data
@pytest.mark.parametrize("paper", ROWS)
def test_the_marks_of_a_paper_follow_from_its_files(paper: str) -> None:
    text = (STORED / "index.md").read_text(encoding="utf-8")
    start = text.index(f"### {paper} (")
    section = text[start : start + re.search(r"\n##", text[start + 3 :]).start() + 3]  # type: ignore[union-attr]
    written = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert written == [f"| {' | '.join(row)} |" for row in ROWS[paper]()]


def test_every_table_and_figure_of_the_papers_has_a_row() -> None:
    """18: QuadBoost 2, VadaBoost 4, DeepBoost 5, AdaBoost_R 5, LocMedBoost 2."""
    text = (STORED / "index.md").read_text(encoding="utf-8")
    wanted = {
        "QuadBoost": ("Table 1", "Table 2"),
        "VadaBoost": ("Table 1", "Table 2", "Figure 1", "Figure 2"),
        "DeepBoost": ("Table 1", "Table 2", "Table 3", "Figure 3", "Figure 4"),
        "AdaBoost_R": ("Figure 2", "Figure 3", "Figure 4", "Figure 5", "Figure 6"),
        "LocMedBoost": ("Figure 1", "Figure 2"),
    }
    assert sum(map(len, wanted.values())) == 18
    for paper, names in wanted.items():
        section = text[text.index(f"### {paper} (") :]
        for name in names:
            assert f"\n| {name} |" in section, (paper, name)
