"""The folder of a comparison: damaged, exchanged, foreign and linked files; interrupted and killed runs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import electorate
from electorate import AdaBoostClassifier, modelfile
from electorate.comparison import journal
from electorate.comparison.algorithms import Algorithm
from electorate.comparison.fits import Fit
from electorate.comparison.journal import Journal
from electorate.comparison.rows import store
from electorate.modelfile import ModelFormatError
from tests.comparison.small_comparisons import (
    NAMES,
    breast_cancer,
    make_stumps,
    table_without_seconds,
    two_algorithms,
)

FEW = {"algorithms": two_algorithms(), "n_jobs": 1, "folds": 3, "check_up": False}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A comparison that was not interrupted, and its folder."""
    folder = tmp_path_factory.mktemp("whole") / "c"
    return electorate.compare(*breast_cancer(), folder=folder, **FEW), folder


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole[1], tmp_path / "c"))


def resumed(folder: Path, **more):
    return electorate.compare(*breast_cancer(), folder=folder, **(FEW | more))


def test_the_folder_of_a_finished_comparison(whole):
    comparison, folder = whole
    assert len((folder / "results.csv").read_text().splitlines()) == 1 + len(comparison.ranking.lines)
    assert electorate.load(folder / "winner.model").digest_ == comparison.model.digest_
    assert not (folder / "winner-without-test-rows.model").exists()
    assert not (folder / "rows").exists()
    assert len(list((folder / "fits").iterdir())) == len(comparison.results)


def test_nothing_is_run_twice(folder, whole):
    before = {path: os.stat(path).st_mtime_ns for path in (folder / "fits").iterdir()}
    again = resumed(folder)
    assert {path: os.stat(path).st_mtime_ns for path in (folder / "fits").iterdir()} == before
    assert again.answer == whole[0].answer
    assert again.model.digest_ == whole[0].model.digest_


def test_an_interrupted_run_resumes_to_the_same_result(whole, tmp_path):
    def breaks(facts):
        raise KeyboardInterrupt

    stumps, trees = two_algorithms()
    broken = [Algorithm(stumps.name, stumps.tasks, breaks, stumps.grid), trees]
    with pytest.raises(KeyboardInterrupt):  # no model was tested in any fold
        electorate.compare(*breast_cancer(), folder=tmp_path / "c", **(FEW | {"algorithms": broken}))
    done = sorted((tmp_path / "c" / "fits").iterdir())
    assert done
    done[0].write_bytes(done[0].read_bytes()[:50])  # and the disk lost some of it
    again = resumed(tmp_path / "c")
    assert table_without_seconds(again) == table_without_seconds(whole[0])
    assert again.model.digest_ == whole[0].model.digest_


def test_one_ctrl_c_hands_over_the_best_so_far(whole, tmp_path):
    calls = []

    def breaks(facts):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return make_stumps(facts)

    stumps, trees = two_algorithms()
    broken = [trees, Algorithm(stumps.name, stumps.tasks, breaks, stumps.grid)]
    interrupted = electorate.compare(*breast_cancer(), folder=tmp_path / "c", **(FEW | {"algorithms": broken}))
    assert interrupted.interrupted
    assert interrupted.is_partial
    assert interrupted.winner == "few trees"
    assert (tmp_path / "c" / "winner.model").exists()
    assert len(interrupted.schedule.splits.levels[-1]) == 3
    assert interrupted.not_run == ["few stumps"]
    assert interrupted.dropped == []
    assert "not run (out of time): few stumps" in str(interrupted)
    stumps = two_algorithms()[::-1]
    again = electorate.compare(*breast_cancer(), folder=tmp_path / "c", **(FEW | {"algorithms": stumps}))
    uninterrupted = electorate.compare(*breast_cancer(), **(FEW | {"algorithms": stumps}))
    assert table_without_seconds(again) == table_without_seconds(uninterrupted)
    assert again.answer[-1] == uninterrupted.answer[-1]


@pytest.mark.process
def test_a_killed_run_resumes_to_the_same_result(tmp_path):
    X, y = load_iris(return_X_y=True)
    options = {"algorithms": NAMES, "folds": 3, "quick": True}
    uninterrupted = electorate.compare(X, y, n_jobs=1, **options)
    program = (
        "import electorate; from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True);"
        f"electorate.compare(X, y, n_jobs=2, folder={str(tmp_path / 'c')!r}, **{options!r})"
    )
    home = str(Path(electorate.__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": home})
    ended = time.monotonic() + 60
    while time.monotonic() < ended and not list((tmp_path / "c").glob("fits/*.fit")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = electorate.compare(X, y, n_jobs=1, folder=tmp_path / "c", **options)
    assert table_without_seconds(again) == table_without_seconds(uninterrupted)
    assert again.model.digest_ == uninterrupted.model.digest_


def spoil(path: Path, **changes) -> None:
    """Rewrite a fit with other contents and a valid hash."""
    contents = modelfile.read(path)
    meta = {**contents.meta, **{k: v for k, v in changes.items() if k in contents.meta}}
    arrays = {**contents.arrays, **{k: v for k, v in changes.items() if k in contents.arrays}}
    modelfile.write(path, changes.get("kind", contents.kind), meta, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fit: {"scores": np.full_like(fit["scores"], np.nan)}, "scores[0, 0, 0] is nan"),
        (lambda fit: {"scores": fit["scores"][:, :-1]}, "scores has the shape"),
        (lambda fit: {"scores": np.repeat(fit["scores"], 2, axis=0)}, "scores has the shape"),
        (lambda fit: {"fit_seconds": -1.0}, "fit_seconds is -1.0"),
        (lambda fit: {"kind": "another kind"}, "another kind"),
        (lambda fit: {"algorithm": "another"}, "another fit or another comparison"),
        (lambda fit: {"plan": "0"}, "another fit or another comparison"),
    ],
)
def test_a_damaged_fit_is_named_and_run_again(folder, whole, caplog, change, message):
    path = sorted((folder / "fits").iterdir())[4]
    spoil(path, **change(modelfile.read(path).arrays))
    again = resumed(folder)
    assert table_without_seconds(again) == table_without_seconds(whole[0])
    (warning,) = caplog.messages
    assert str(path) in warning
    assert message in warning
    caplog.clear()
    resumed(folder)
    assert not caplog.messages  # the file was mended


def test_exchanged_files_are_detected(folder, whole, caplog):
    """A result states which fit of which plan it is: two exchanged files would exchange two errors."""
    one, other = sorted((folder / "fits").iterdir())[3:5]
    shutil.move(one, folder / "between")
    shutil.move(other, one)
    shutil.move(folder / "between", other)
    again = resumed(folder)
    assert table_without_seconds(again) == table_without_seconds(whole[0])
    assert len(caplog.messages) == 2


def test_a_folder_with_another_comparison_is_refused(folder):
    X, y = breast_cancer()
    with pytest.raises(ValueError, match="another seed"):
        resumed(folder, seed=1)
    with pytest.raises(ValueError, match="other rows"):
        electorate.compare(X[:-1], y[:-1], folder=folder, **FEW)
    with pytest.raises(ValueError, match="another metric"):
        resumed(folder, metric="auc")


@pytest.mark.parametrize("name", ["thesis.txt", "rows/matrix.npy", "fits/0001-00.fit"])
def test_a_folder_with_files_of_somebody_else_is_refused(tmp_path, name):
    path = tmp_path / "d" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(ValueError, match="something else"):
        resumed(tmp_path / "d")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["rows", "fits", "comparison.json"])
def test_links_are_refused(tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("mine")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises((ValueError, OSError), match=r"is a link|something else"):
        resumed(tmp_path / "d")
    assert (tmp_path / "elsewhere" / "kept").read_text() == "mine"
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1


@pytest.mark.parametrize(
    "name", ["results.csv", "winner.model", "outcome.json", "report.html", "fits", "fits/0001-00.fit"]
)
def test_links_in_the_folder_of_a_comparison_are_refused(tmp_path, folder, name):
    """What is written to a link would replace the file that it leads to."""
    kept = tmp_path / "kept"
    kept.write_text("mine")
    if name == "fits":
        shutil.rmtree(folder / name)
    else:
        (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(kept)
    with pytest.raises(ValueError, match=f"{Path(name).name}' is a link: choose another folder"):
        resumed(folder)
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("written", [0, 1])
def test_a_run_killed_while_its_rows_are_stored_is_resumed(tmp_path, monkeypatch, whole, written):
    def killed(rows, folder):
        store(rows, folder)
        for name in sorted(os.listdir(folder))[written:]:
            os.remove(os.path.join(folder, name))
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "store", killed)
    with pytest.raises(KeyboardInterrupt):
        resumed(tmp_path / "c")
    monkeypatch.undo()
    assert table_without_seconds(resumed(tmp_path / "c")) == table_without_seconds(whole[0])


def test_half_a_plan_is_written_again(tmp_path):
    (tmp_path / "c" / "fits").mkdir(parents=True)
    (tmp_path / "c" / "comparison.json.tmp").write_text("{")
    assert resumed(tmp_path / "c").model is not None


def test_a_damaged_plan_is_reported(folder):
    (folder / "comparison.json").write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        Journal(folder).read_plan()
    with pytest.raises(ValueError, match="damaged"):
        resumed(folder)


# ---------------------------------------------------------------- replay


def cut_short(folder: Path) -> list[Fit]:
    """Change what a run used to the fits of the first two candidates, as if a time limit had ended it then."""
    outcome = json.loads((folder / "outcome.json").read_text())
    outcome |= {"fits": [fit for fit in outcome["fits"] if fit[0] < 2], "allowed": [1], "draws": 150}
    (folder / "outcome.json").write_text(json.dumps(outcome))
    return [Fit(*fit) for fit in outcome["fits"]]


def test_a_replay_uses_the_same_fits(folder):
    """Of a run that was cut short: its list of fits, whatever was run in the folder later."""
    kept = cut_short(folder)
    again = resumed(folder.parent / "new", replay=folder)
    assert sorted(again.results) == sorted(kept)
    in_memory = electorate.compare(*breast_cancer(), replay=folder, **FEW)
    assert table_without_seconds(in_memory) == table_without_seconds(again)
    assert in_memory.model.digest_ == again.model.digest_
    assert in_memory.winner == "few stumps"


def test_a_replay_needs_a_finished_comparison(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no finished comparison to replay"):
        electorate.compare(*breast_cancer(), replay=tmp_path / "empty", **FEW)
    for text in (
        *("{", "[]", '{"fits": [[1]]}', '{"fits": [], "allowed": ["x"], "tests": 1}'),
        *('{"fits": [], "allowed": [0], "tests": true}', '{"fits": [], "allowed": [0], "tests": true, "draws": "x"}'),
        '{"fits": [[99, 0]], "allowed": [0], "tests": true, "draws": 1}',
        '{"fits": [[0, 3]], "allowed": [0], "tests": true, "draws": 1}',
    ):
        (folder / "outcome.json").write_text(text)
        with pytest.raises(ValueError, match="damaged"):
            electorate.compare(*breast_cancer(), replay=folder, **FEW)


def test_a_replay_of_another_comparison_is_refused(folder):
    X, y = breast_cancer()
    with pytest.raises(ValueError, match="other rows: replay it with the same table"):
        electorate.compare(X[1:], y[1:], replay=folder, **FEW)
    with pytest.raises(ValueError, match="another folds"):
        electorate.compare(X, y, replay=folder, **(FEW | {"folds": 2}))


# ---------------------------------------------------------------- statements in model files


def test_a_statement_does_not_outlive_its_model(tmp_path):
    X, y = breast_cancer()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    model.held_out_ = {"bound": 0.1, "digest": model.digest_}
    model.save(tmp_path / "m")
    assert electorate.load(tmp_path / "m").held_out_["bound"] == 0.1
    model.set_params(n_estimators=4).fit(X, y).save(tmp_path / "m")
    assert not hasattr(electorate.load(tmp_path / "m"), "held_out_")


@pytest.mark.parametrize("statement", [5, {"digest": "0"}, {"a": [1]}, {str(i): i for i in range(11)}])
def test_a_forged_statement_is_refused(tmp_path, statement):
    model = AdaBoostClassifier(n_estimators=3).fit(*breast_cancer())
    model.save(tmp_path / "m")
    contents = modelfile.read(tmp_path / "m")
    modelfile.write(tmp_path / "m", contents.kind, {**contents.meta, "held_out": statement}, contents.arrays)
    with pytest.raises(ModelFormatError):
        electorate.load(tmp_path / "m")


def test_a_model_file_of_an_earlier_run_is_removed(folder):
    """A model with a bound must not stay beside another winner."""
    (folder / "winner-without-test-rows.model").write_text("old")
    resumed(folder)
    assert not (folder / "winner-without-test-rows.model").exists()
