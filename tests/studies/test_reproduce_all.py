"""`electorate reproduce all --quick`: every page and result of the five papers, in small; and a second run."""

import os
import shutil
from itertools import product
from pathlib import Path

import matplotlib as mpl
import pytest

from electorate.cli import main
from electorate.commands.reproduce import PAPERS
from electorate_studies import adaboost_r, deepboost, quadboost, vadaboost
from electorate_studies import deepboost_variants as variants
from electorate_studies.runs import FIELDS, read_results

mpl.use("Agg")
STORED = Path(__file__).parents[2] / "docs" / "studies"
DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")
OTHER_READINGS = tuple(variants.named(name, one) for name, one in product(variants.READ_BY, variants.READINGS))
TABLES = {  # the algorithms of every table
    "quadboost": {
        "1": quadboost.ALGORITHMS,
        quadboost.LONGER: ("AdaBoost",),
        quadboost.REWEIGHTED: tuple(quadboost.PENALTY),
    },
    "vadaboost": {**vadaboost.ALGORITHMS, vadaboost.LARGER: (vadaboost.ABOVE,)},
    "deepboost": {
        **deepboost.ALGORITHMS,
        variants.READ: OTHER_READINGS,
        **{key: deepboost.ALGORITHMS[table] for key, table in variants.CHOICES.items()},
        **dict.fromkeys(variants.COMPLEXITIES, ("DeepBoost",)),
        **{key: deepboost.ALGORITHMS[table] for key, table in deepboost.AGAIN.items()},
    },
    "adaboost_r": {"4": adaboost_r.ALGORITHMS, "4.1": adaboost_r.LARGER_ALGORITHMS},
}
PICTURES = (*(f"adaboost_r-figure-{number}" for number in (2, 3, 5, 6)), "deepboost-figure-3", "deepboost-figure-4")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all")
    assert main(["reproduce", "all", "--quick", "--out", str(folder), "--data", str(DATA)]) == 0
    return folder


def test_every_paper_has_a_page_and_every_figure_a_picture(out: Path) -> None:
    for paper in PAPERS:
        assert (out / f"{paper}.md").read_text(encoding="utf-8").startswith("# ")
    for picture in (*PICTURES, "vadaboost-figure-1", "vadaboost-figure-2"):
        assert (out / f"{picture}.png").stat().st_size > 5_000
        assert "|---" in (out / f"{picture}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", TABLES)
def test_there_is_a_row_for_every_table_algorithm_and_split(out: Path, paper: str) -> None:
    path = out / f"{paper}-quick.csv"
    assert path.read_text(encoding="utf-8").splitlines()[0] == ",".join(FIELDS)
    rows = read_results(path)
    for table, algorithms in TABLES[paper].items():
        found = [row for row in rows if row.unit.table == table]
        for data in {row.unit.data for row in found}:
            assert sorted(row.outcome.algorithm for row in found if row.unit.data == data) == sorted(algorithms)
    assert {row.unit.table for row in rows} == set(TABLES[paper])
    assert all(0 <= row.outcome.error < 0.6 and row.outcome.seconds > 0 for row in rows)


def test_the_theorems_hold_in_the_small_version(out: Path) -> None:
    text = (out / "locmedboost.md").read_text(encoding="utf-8")
    assert text.count("## Theorem") == 5
    assert "NO" not in text


def test_a_second_run_computes_nothing_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise AssertionError("this result is stored")

    for study, make in ((quadboost, "run_split"), (deepboost, "run_fold"), (adaboost_r, "cross_validate")):
        monkeypatch.setattr(study, make, fails)
        name = study.__name__.rpartition(".")[2]
        page = (out / f"{name}.md").read_text(encoding="utf-8")
        monkeypatch.setattr(study, "WHOLE", ("all",))
        assert main(["reproduce", name, "--quick", "--out", str(out), "--data", str(DATA)]) == 0
        assert (out / f"{name}.md").read_text(encoding="utf-8") == page


def test_pages_are_rendered_from_stored_results(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "all", "--quick", "--render", "--data", str(DATA), "--out"]
    before = {path.name: path.read_text(encoding="utf-8") for path in out.glob("*.md")}
    assert main([*command, str(out)]) == 0
    assert {path.name: path.read_text(encoding="utf-8") for path in out.glob("*.md")} == before
    assert main([*command, str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("has no results of") == len(PAPERS)


@pytest.mark.parametrize("paper", ["peers", "certificates"])
def test_pages_of_a_study_without_a_common_page_are_rendered(paper: str, tmp_path: Path) -> None:
    """Its tables one by one, from the results in docs/studies; the data sets are not needed."""
    for path in STORED.glob(f"{paper}*.csv"):
        shutil.copy(path, tmp_path)
    assert main(["reproduce", paper, "--render", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path)]) == 0
    pages = sorted(path.name for path in tmp_path.glob("*.md"))
    assert pages == [f"{paper}-table-{number}.md" for number in range(1, 1 + len(pages))]
    assert len(pages) >= 2


def test_the_command_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--data", str(DATA), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "all", "--list"]) == 0
    assert capsys.readouterr().out.count("deepboost --table") == 14
    for wrong in (["--table", "7"], ["--figure", "1"], ["--table", "1", "--sets", "nowhere"]):
        assert main(["reproduce", "quadboost", *wrong, *where]) == 1
    assert "it has australian, balance" in capsys.readouterr().err
    assert main(["reproduce", "vadaboost", "--table", "1", "--data", str(tmp_path)]) == 1
    assert "ELECTORATE_DATA" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["reproduce", "quadboost", "--repeats", "0"])
