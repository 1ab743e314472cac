"""Studies on a folder of the user's own: NAME.csv or NAME.csv.gz, without DATASETS.json."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from electorate.cli import main
from electorate_studies.binary_sets import Source, read_set

Reproduce = Callable[..., int]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two of the papers' data sets, with made-up rows."""
    folder = tmp_path / "mine"
    folder.mkdir()
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    X["e"] = rng.choice(["one", "two", "three"], 120)
    X["target"] = np.where(X["a"] + rng.normal(size=120) > 0, "g", "b")
    X.to_csv(folder / "ionosphere.csv", index=False)
    X.drop(columns="e").assign(target=np.where(X["a"] > 0, 2, 1)).to_csv(folder / "german_numeric.csv.gz", index=False)
    return folder


@pytest.fixture
def reproduce(folder: Path, tmp_path: Path) -> Reproduce:
    return lambda *words: main(["reproduce", *words, "--quick", "--data", str(folder), "--out", str(tmp_path / "out")])


def test_a_study_runs_on_two_files(reproduce: Reproduce, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("deepboost", "--table", "1", "--sets", "ionosphere,german") == 0
    page = capsys.readouterr().out
    assert "| ionosphere | two classes | **unknown** |" in page
    assert "| ionosphere | unknown | 1 |" in page
    assert "| german | unknown | 1 |" in page


def test_data_sets_without_a_file_are_listed_and_not_run(
    reproduce: Reproduce, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce("deepboost", "--table", "1", "--sets", "ionosphere,diabetes") == 1
    message = capsys.readouterr().err
    assert "has no NAME.csv.gz or NAME.csv of pima" in message
    assert "electorate data NAME" in message
    assert reproduce("quadboost", "--table", "1") == 0  # zoo is not there: another data set is used
    found = capsys.readouterr()
    assert "no file of them: zoo" in found.err
    assert "| ionosphere | unknown | 1 |" in found.out
    assert reproduce("adaboost_r") == 0
    found = capsys.readouterr()
    assert "skipped" in found.err
    assert "monks1, monks1_train" in found.err
    assert "| XD6 | high | 1 |" in found.out


def test_all_papers_go_on_with_what_is_there(
    reproduce: Reproduce, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce("all") == 0
    assert "vadaboost ends here" in capsys.readouterr().err
    pages = {path.stem for path in (tmp_path / "out").glob("*.md")}
    assert {"quadboost", "deepboost", "adaboost_r", "locmedboost", "deepboost-figure-3"} <= pages
    assert reproduce("deepboost", "--render", "--sets", "ionosphere") == 1
    assert "leave out --sets" in capsys.readouterr().err


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "vadaboost", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path)]) == 1
    assert "--data FOLDER" in capsys.readouterr().err
    assert main(["reproduce", "peers", "--table", "1", "--data", str(tmp_path), "--out", str(tmp_path)]) == 1
    assert "DATASETS.json, which lists the data sets that peers uses" in capsys.readouterr().err


def test_texts_are_categories_and_wrong_classes_are_named(folder: Path) -> None:
    assert read_set(Source("ionosphere", categories=True), folder).X["e"].dtype == "category"
    codes = read_set(Source("ionosphere"), folder)
    assert set(np.unique(codes.X[:, 4])) == {0, 1, 2}
    with pytest.raises(ValueError, match="expected signal against the rest; the target has b, g"):
        read_set(Source("ionosphere", ("signal",)), folder)
    with pytest.raises(ValueError, match="expected g against noise; the target has b, g"):
        read_set(Source("ionosphere", ("g",), ("noise",)), folder)
    with pytest.raises(ValueError, match="the target must be numbers"):
        read_set(Source("ionosphere", above=1.0), folder)
    table = pd.read_csv(folder / "ionosphere.csv").assign(target=np.arange(120) % 3)
    table[["target", *"abcde"]].to_csv(folder / "zoo.csv", index=False)
    with pytest.raises(ValueError, match="expected two classes; the target has 0, 1, 2"):
        read_set(Source("zoo"), folder)
    first = read_set(Source("zoo", ("1",)), folder)  # the target is the first column there
    np.testing.assert_array_equal(first.X, codes.X)
    assert first.y.sum() == 40
    with pytest.raises(ValueError, match="there is no column 'z'"):
        read_set(Source("ionosphere", without=("z",)), folder)


def test_images_as_csv_are_those_of_the_archive(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    images, digits = rng.integers(0, 256, (9, 28, 28), dtype=np.uint8), np.array([4, 9, 1, 4, 9, 9, 4, 0, 9])
    table = pd.DataFrame(images.reshape(9, -1)).assign(target=digits)
    source, found = Source("mnist", ("9",), ("4",), crop=20), []
    for name in ("archive", "table"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "archive":
            parts = {"x_train": images[:5], "y_train": digits[:5], "x_test": images[5:], "y_test": digits[5:]}
            np.savez(folder / "mnist.npz", **parts)
        else:
            table.to_csv(folder / "mnist.csv", index=False)
        found.append(read_set(source, folder))
    np.testing.assert_array_equal(found[0].X, found[1].X)
    np.testing.assert_array_equal(found[0].y, found[1].y)
    assert found[0].X.shape == (7, 400)
