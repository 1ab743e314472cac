"""Standard streams that are closed, full, broken or ASCII; Ctrl-C during imports; outputs that are inputs."""

import argparse
import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import electorate
from electorate.cli import main
from electorate.commands.options import in_options
from electorate.text import StandardStream

HOME = str(Path(electorate.__file__).parent.parent)
ELECTORATE = f"{sys.executable} -m electorate"
FIT = "fit t.csv --target y --set n_estimators=3"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with t.csv, whose labels are not ASCII, and the model m."""
    folder = tmp_path_factory.mktemp("streams")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60).round(3), "n": rng.integers(0, 9, 60)})
    frame.assign(y=np.where(frame["x"] > 0, "größer", "no")).to_csv(folder / "t.csv", index=False)
    assert shell(f"{ELECTORATE} {FIT} --out m", folder).returncode == 0
    return folder


@pytest.fixture
def there(fitted, tmp_path, monkeypatch):
    for name in ("t.csv", "m"):
        (tmp_path / name).write_bytes((fitted / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    known = {**os.environ, "PYTHONPATH": HOME, **environment}
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, env=known, timeout=120)


class Broken(io.StringIO):
    """A terminal that has gone."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


# ---------------------------------------------------------------- streams


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict m t.csv >&-", "electorate predict: standard output: it is closed"),
        ("score m t.csv --target y >&-", "electorate score: standard output: it is closed"),
        ("score m t.csv --target y >/dev/full", "electorate score: standard output: No space left on device"),
        ("predict m t.csv >/dev/full", "electorate predict: standard output: No space left on device"),
        ("predict m t.csv --out /dev/full", "electorate predict: /dev/full: No space left on device"),
        ("predict m - <&-", "electorate predict: standard input: it is closed"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_named_in_one_line(fitted, arguments, message):
    done = shell(f"{ELECTORATE} {arguments}", fitted)
    assert done.returncode == 1
    lines = [line for line in done.stderr.decode().splitlines() if ": digest " not in line]
    assert len(lines) == 1
    assert lines[0].startswith(message)


@pytest.mark.process
def test_messages_that_cannot_be_written_are_left_out(fitted):
    usual = shell(f"{ELECTORATE} predict m t.csv", fitted)
    for where in ("2>&-", "2>/dev/full"):
        done = shell(f"{ELECTORATE} predict m t.csv {where}", fitted)
        assert (done.returncode, done.stdout) == (0, usual.stdout)
    done = shell(f"{ELECTORATE} {FIT} --out all-closed <&- >&- 2>&-", fitted)
    assert done.returncode == 1  # the digest could not be printed
    assert electorate.load(fitted / "all-closed").digest_ == electorate.load(fitted / "m").digest_


@pytest.mark.process
def test_an_ascii_terminal_gets_the_result(fitted):
    done = shell(f"{ELECTORATE} score m t.csv --target y", fitted, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"gr??er" in done.stdout


def test_a_stream_never_raises_and_keeps_the_first_error():
    below = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    stream = StandardStream(below, "standard output")
    assert stream.write("0.1 \u00b1 0.2 \u00fc \ud800\n") == 14
    stream.flush()
    assert below.buffer.getvalue() == b"0.1 +- 0.2 ? ?\n"
    assert stream.error is None
    broken = StandardStream(Broken(), "standard output")
    broken.write("a")
    broken.write("b")
    broken.flush()
    assert broken.error.errno == errno.EIO
    assert broken.error.filename == "standard output"
    closed = io.StringIO()
    closed.close()
    for one in (closed, None):
        stream = StandardStream(one, "standard error")
        stream.write("a")
        stream.flush()
        assert stream.error.errno == errno.EBADF


@pytest.mark.process
def test_a_terminal_that_has_gone_ends_no_command(there, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", Broken())
    assert main([*FIT.split(), "--out", "m2"]) == 0
    assert electorate.load("m2").digest_ == electorate.load("m").digest_


# ---------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
import os, signal, sys

wanted = sys.argv.pop(1)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)

sys.modules.pop(wanted, None)
sys.meta_path.insert(0, Finder())
from electorate.__main__ import entry

entry()
"""


@pytest.mark.process
@pytest.mark.parametrize("module", ["argparse", "electorate.commands.fit", "datetime", "electorate.kernels"])
def test_ctrl_c_during_imports_is_one_line(there, module):
    """NumPy makes an ImportError of a KeyboardInterrupt while it imports datetime, and fit imports NumPy at once."""
    command = [sys.executable, "-c", INTERRUPTED, module, *FIT.split(), "--out", "m2"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONPATH": HOME}, timeout=120)
    assert done.returncode == 130
    assert done.stderr.decode().split() == ["interrupted"]
    assert not (there / "m2").exists()


# ---------------------------------------------------------------- outputs that are inputs


@pytest.mark.process
def test_a_command_does_not_replace_what_it_reads(there, capsys):
    (there / "sub").mkdir()
    (there / "symbolic").symlink_to("m")
    os.link(there / "m", there / "hard")
    before = {name: (there / name).read_bytes() for name in ("m", "t.csv")}
    for out in ("m", "./m", "sub/../m", "symbolic", "hard", "t.csv"):
        assert main(["predict", "m", "t.csv", "--out", out]) == 1
        assert "itself: give --out another name" in capsys.readouterr().err
    done = shell(f"{ELECTORATE} predict m t.csv >> t.csv", there)
    assert done.returncode == 1
    assert b"standard output is the table itself" in done.stderr
    assert {name: (there / name).read_bytes() for name in before} == before


@pytest.mark.process
def test_a_model_or_report_does_not_replace_the_table(there, capsys):
    before = (there / "t.csv").read_bytes()
    assert main([*FIT.split(), "--out", "./t.csv"]) == 1
    assert "--out ./t.csv is the table itself" in capsys.readouterr().err
    assert main(["report", "m", "t.csv", "--target", "y", "-o", "m"]) == 1
    assert "--out m is the model itself" in capsys.readouterr().err
    assert (there / "t.csv").read_bytes() == before


# ---------------------------------------------------------------- targets and words


@pytest.mark.process
@pytest.mark.parametrize("command", ["score m", "report m", "explain m", "certify m --heldout", "certify m --train"])
def test_a_column_of_the_model_is_no_target(there, capsys, command):
    assert main([*command.split(), "t.csv", "--target", "n"]) == 1
    assert "t.csv: the model predicts from the column 'n', so it is not the target" in capsys.readouterr().err
    if command.startswith("certify"):
        assert main([*command.split(), "t.csv", "--target", "n", "--scan", "always"]) == 1
        assert "predicts from the column 'n'" in capsys.readouterr().err


@pytest.mark.process
def test_weights_may_be_a_column_of_the_model(there, capsys):
    assert main(["score", "m", "t.csv", "--target", "y", "--weights", "n", "--json"]) == 0
    assert '"rows": 60' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "text", "wanted"),
    [
        ({"weights": "w"}, "sample_weight is zero for every row", "--weights is zero for every row"),
        ({"weights": "w"}, "data passed to `sample_weight`: row 3", "data passed to --weights: row 3"),
        ({"n_jobs": 2}, "worker processes fail to run; use n_jobs=1", "worker processes fail to run; use --n-jobs 1"),
        ({"set": []}, "it has eps, n_jobs, class_weight", "it has eps, n_jobs, class_weight"),
        ({"set": []}, "n_jobs is 0: use None", "--set n_jobs is 0: use None"),
        ({"set": []}, "set class_weight='balanced'", "set --set class_weight=balanced"),
        ({"seed": 0}, "seed is -1: it must not be negative", "--seed is -1: it must not be negative"),
        ({"seed": 0}, "the seed is the same", "the seed is the same"),
        (
            {"eps": 1},
            "no column is called 'eps'; it has 'eps=1', 'n_jobs'",
            "no column is called 'eps'; it has 'eps=1', 'n_jobs'",
        ),
        (
            {"task": ""},
            "is it the right column? use task='regression'",
            "is it the right column? use --task regression",
        ),
        ({"locked": 2}, "locked is 2: the share", "--test-fraction is 2: the share"),
        (
            {"time_column": ""},
            "group and time_column cannot be used together",
            "group and --time-column cannot be used together",
        ),
        ({}, "(f), pass equal_rows='allow' (--allow-equal-rows)", "(f), add --allow-equal-rows"),
        ({}, "too few rows: pass X_val and y_val, or fit without", "too few rows: use more rows, or fit without"),
        (
            {},
            "free some space, or give another folder: scan(..., folder=...)",
            "free some space, or set TMPDIR to another folder",
        ),
        ({}, "y contains the label 'u'", "the target contains the label 'u'"),
        ({"eps": 1}, "call fit(X, y, eps=1)", "call fit(X, y, eps=1)"),
    ],
)
def test_messages_name_options(typed, text, wanted):
    assert in_options(text, argparse.Namespace(**typed)) == wanted


@pytest.mark.process
def test_an_error_of_the_library_names_the_option(there, capsys):
    assert main(["score", "m", "t.csv", "--target", "y", "--confidence", "3"]) == 1
    assert "--confidence is 3.0" in capsys.readouterr().err
    frame = pd.read_csv("t.csv").assign(w=-1.0)
    frame.to_csv("w.csv", index=False)
    assert main(["fit", "w.csv", "--target", "y", "--weights", "w", "--scan", "always", "--out", "m2"]) == 1
    text = capsys.readouterr().err
    assert "w.csv, line 2: the weight 'w' is -1" in text
    assert "sample_weight" not in text
