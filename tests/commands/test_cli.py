"""The command line: every command, exit codes, hostile tables, texts that would act, models and disks that fail."""

import csv
import gzip
import hashlib
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import sklearn.utils.multiclass
from samples import read_table

import electorate
from electorate import AdaBoostClassifier, StackedClassifier, load
from electorate.cli import COMMANDS, main
from electorate.tables.source import Source, TableError
from electorate.text import cell, literal

ESCAPE = "\x1b[31m"


def table(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n).round(3), "c": rng.choice(["red", "blue", "green"], n)})
    frame["n"] = rng.integers(0, 9, n)
    frame.loc[::9, "x"] = np.nan
    frame["y"] = np.where((frame["x"].fillna(0) > 0) ^ (frame["c"] == "red"), "yes", "no")
    return frame


@pytest.mark.process
@pytest.mark.parametrize(
    "error",
    [KeyError("a\nb"), AttributeError(), ZeroDivisionError("x"), AssertionError(), StopIteration(), IndexError("i")],
)
def test_any_exception_is_one_line_and_traceback_raises_it(error, capsys, monkeypatch):
    def run(options):
        raise error

    monkeypatch.setattr("electorate.commands.verify.run", run)
    assert main(["verify", "m"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"electorate verify: {type(error).__name__}: .*--traceback.*\n", err)
    with pytest.raises(type(error)):
        main(["verify", "m", "--traceback"])


def test_every_command_has_traceback(capsys):
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "--traceback" in capsys.readouterr().out


def test_reports_and_explanations_of_stacks(there):
    stack = StackedClassifier([("a", AdaBoostClassifier(n_estimators=2)), ("b", AdaBoostClassifier(n_estimators=4))])
    frame = table()
    stack.fit(frame[["x", "c", "n"]].astype({"c": "category"}), frame["y"]).save("m")
    assert main(["report", "m", "t.csv", "--target", "y", "-o", "r.html"]) == 0
    assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
    assert main(["explain", "m", "t.csv", "--target", "y"]) == 0


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    return tmp_path


def fitted(there) -> Path:
    assert main(["fit", "t.csv", "--target", "y", "--out", "m", "--voters", "Trees", "--set", "n_estimators=5"]) == 0
    return there / "m"


def files(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# ---------------------------------------------------------------- shown


@pytest.mark.parametrize("text", [ESCAPE, "a\nb", "\x00", "\u202eevil", "\ud800", "\u2028", "\x9b31m"])
def test_invisible_characters_are_escaped(text):
    shown = literal(text)
    assert shown.isprintable()
    assert shown.encode("utf-8")


def test_visible_characters_are_unchanged():
    assert literal("Größe <b>&amp;</b> '\"日本") == "Größe <b>&amp;</b> '\"日本"
    assert len(literal("a" * 1000)) == 200


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "\n=1+1", " =1+1", "\ufeff=1", "\x00=1", "\uff1d1+1"]
)
def test_formulas_are_quoted(text):
    assert cell(text) == "'" + text


@pytest.mark.parametrize("text", ["-1.5", "+3", "-", "+", "1=2", "", "-1e5", "a-b", " -1", " x", "a\n=1", "-inf"])
def test_numbers_and_signs_are_not_formulas(text):
    assert cell(text) == text


# ---------------------------------------------------------------- the commands


def test_compare_then_predict_then_verify(there, capsys):
    few = ["--target", "y", "--folds", "2", "--jobs", "1", "--algorithm", "AdaBoost, trees", "--test-fraction", "0.2"]
    assert main(["compare", "t.csv", *few]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("Use AdaBoost, trees. ")
    assert "next:   electorate predict t.compare/winner.model new.csv" in output.out
    assert "tested: t.compare/winner-without-test-rows.model" in output.out
    folder = there / "t.compare"
    assert {"results.csv", "winner.model", "winner-without-test-rows.model"} <= files(folder)
    table(30).drop(columns="y").to_csv("new.csv", index=False)
    assert main(["predict", str(folder / "winner.model"), "new.csv", "--out", "p.csv"]) == 0
    predicted = pd.read_csv("p.csv")["prediction"]
    assert list(predicted) == list(electorate.load(folder / "winner.model").predict(pd.read_csv("new.csv")))
    capsys.readouterr()
    assert main(["verify", str(folder / "winner-without-test-rows.model")]) == 0
    assert "the error is at most" in capsys.readouterr().out
    assert main(["verify", str(folder / "winner.model")]) == 0
    assert "no bound: no rows were held out" in capsys.readouterr().out


def test_compare_takes_a_metric_groups_and_times(there, capsys):
    frame = pd.read_csv("t.csv")
    frame["day"] = [f"2026-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(len(frame))]
    frame["who"] = np.arange(len(frame)) // 2
    frame.to_csv("g.csv", index=False)
    few = ["--target", "y", "--folds", "2", "--jobs", "1", "--algorithm", "AdaBoost, trees", "--quick", "--quiet"]
    assert main(["compare", "g.csv", *few, "--drop", "day", "--group", "who", "--metric", "auc"]) == 0
    output = capsys.readouterr().out
    assert "split by group" in output
    assert "AUC" in output
    assert "who" not in electorate.load("g.compare/winner.model").feature_names_in_
    assert main(["compare", "g.csv", *few, "--drop", "who", "--time-column", "day", "--folder", "h"]) == 0
    assert "split by time" in capsys.readouterr().out
    assert main(["compare", "g.csv", *few, "--group", "nobody"]) == 1
    assert "no column 'nobody'" in capsys.readouterr().err
    assert main(["compare", "g.csv", *few, "--metric", "rmse"]) == 1
    assert "for classification choose from error" in capsys.readouterr().err


def test_the_answer_of_compare_as_json_and_markdown(there, capsys):
    few = ["--target", "y", "--folds", "2", "--jobs", "1", "--quick", "--quiet", "--algorithm", "AdaBoost, stumps"]
    assert main(["compare", "t.csv", *few, "--output", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["winner"] == "AdaBoost, stumps"
    assert answer["table"]["algorithm"] == list(pd.read_csv("t.compare/results.csv")["algorithm"])
    assert main(["compare", "t.csv", *few, "--output", "markdown"]) == 0
    assert "| 1 | AdaBoost, stumps |" in capsys.readouterr().out


def test_compare_prefers_replays_and_names_the_positive_class(there, capsys):
    few = ["--target", "y", "--folds", "2", "--jobs", "1", "--quick", "--quiet", "--algorithm", "AdaBoost, stumps"]
    more = [*few, "--algorithm", "Real AdaBoost, stumps", "--prefer", "readable", "--metric", "f1"]
    label = str(pd.read_csv("t.csv")["y"][0])
    assert main(["compare", "t.csv", *more, "--positive", label]) == 0
    first = capsys.readouterr().out
    assert "Use AdaBoost, stumps." in first
    assert main(["compare", "t.csv", *more, "--positive", label, "--out", "c", "--replay", "t.compare"]) == 0
    capsys.readouterr()
    one, two = (electorate.load(f"{folder}/winner.model").digest_ for folder in ("t.compare", "c"))
    assert one == two
    assert main(["compare", "t.csv", *more, "--positive", "nobody", "--out", "d"]) == 1
    assert "positive is 'nobody'" in capsys.readouterr().err


def test_fit_is_the_estimator_with_its_options(there, capsys):
    fitted(there)
    frame = pd.read_csv("t.csv")
    model = AdaBoostClassifier(electorate.Trees(), n_estimators=5).fit(frame.drop(columns="y"), frame["y"])
    assert capsys.readouterr().out.strip() == model.digest_


def test_the_training_error_is_that_of_all_classes(there, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"]).assign(y=rng.choice(list("uvw"), 90))
    frame.to_csv("three.csv", index=False)
    few = ["--algorithm", "VadaBoost", "--set", "n_estimators=3"]
    assert main(["fit", "three.csv", "--target", "y", "--out", "m", *few]) == 0
    printed = float(re.search(r"training error ([0-9.]+)", capsys.readouterr().err)[1])
    error = np.mean(electorate.load("m").predict(frame[["a", "b"]]) != frame["y"])
    assert printed == pytest.approx(error, abs=1e-4)


def test_weights_are_a_column(there, capsys):
    frame = pd.read_csv("t.csv")
    frame["w"] = np.arange(len(frame)) % 4
    frame.to_csv("w.csv", index=False)
    assert main(["fit", "w.csv", "--target", "y", "--weights", "w", "--out", "m", "--set", "n_estimators=5"]) == 0
    model = AdaBoostClassifier(n_estimators=5).fit(frame[["x", "c", "n"]], frame["y"], sample_weight=frame["w"])
    assert capsys.readouterr().out.strip() == model.digest_
    pd.concat([frame] * 3).to_csv("w.csv", index=False)
    few = ["--folds", "2", "--jobs", "1", "--algorithm", "AdaBoost, trees", "--quiet", "--test-fraction", "0.2"]
    assert main(["compare", "w.csv", "--target", "y", "--weights", "w", *few]) == 0
    assert "errors are weighted" in capsys.readouterr().out
    assert main(["verify", "w.compare/winner-without-test-rows.model"]) == 0
    assert re.search(r"error [0-9.]+ on 36 held-out rows; no bound", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "weights", "message"),
    [
        ("a,w,y\n1,1,u\n2,-1,v\n", "w", "line 3: the weight 'w' is -1"),
        ("a,w,y\n1,1,u\n2,,v\n", "w", "line 3: the weight 'w' is missing"),
        ("a,w,y\n1,p,u\n2,q,v\n", "w", "holds no numbers"),
        ("a,w,y\n1,0,u\n2,0,v\n", "w", "all weights in 'w' are 0"),
        ("a,w,y\n1,1,u\n2,2,v\n", "weight", "no column is called 'weight'; it has"),
        ("a,w,y\n1,1,u\n2,2,v\n", "y", "cannot be both target and weights"),
        ("w,y\n1,u\n2,v\n", "w", "no column besides the target and the weights"),
    ],
)
def test_errors_in_weights_name_the_line(tmp_path, monkeypatch, capsys, text, weights, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    assert main(["fit", "t.csv", "--target", "y", "--weights", weights, "--out", "m"]) == 1
    assert message in capsys.readouterr().err
    assert files(tmp_path) == {"t.csv"}


def test_fit_lists_and_refuses(there, capsys):
    assert main(["fit", "--list"]) == 0
    assert "RealAdaBoostClassifier: " in capsys.readouterr().out
    base = ["fit", "t.csv", "--target", "y", "--out", "m"]
    for wrong, message in [
        (["--algorithm", "Magic"], "no algorithm is called 'Magic'"),
        (["--voters", "Elves"], "no voters are called 'Elves'"),
        (["--set", "depth=3"], "no option 'depth'"),
        (["--set", "n_estimators=0"], "n_estimators"),
        (["--set", "estimator__max_depth=2"], "--voters"),
    ]:
        assert main(base + wrong) == 1
        assert message in capsys.readouterr().err
    assert files(there) == {"t.csv"}


@pytest.mark.parametrize("name", ["n.csv", "n.tsv", "n.csv.gz", "n.parquet", "n.arrow"])
def test_formats_in_and_out(there, name, capsys):
    model = electorate.load(fitted(there))
    frame = table(50).drop(columns="y")
    wanted = model.predict(frame)
    write = {
        "n.csv": lambda: frame.to_csv(name, index=False),
        "n.tsv": lambda: frame.to_csv(name, index=False, sep="\t"),
        "n.csv.gz": lambda: frame.to_csv(name, index=False),
        "n.parquet": lambda: frame.to_parquet(name, index=False),
        "n.arrow": lambda: pa.feather.write_feather(frame, name),
    }
    write[name]()
    out = "out-" + name
    assert main(["predict", "m", name, "--out", out, "--proba", "--keep", "c"]) == 0
    read = {
        "n.tsv": lambda: pd.read_csv(out, sep="\t"),
        "n.parquet": lambda: pd.read_parquet(out),
        "n.arrow": lambda: pa.feather.read_feather(out),
    }
    found = read.get(name, lambda: pd.read_csv(out))()
    assert list(found.columns) == ["c", "prediction", "P(no)", "P(yes)"]
    assert list(found["prediction"]) == list(wanted)
    assert found["P(yes)"].to_numpy() == pytest.approx(model.predict_proba(frame)[:, 1], rel=1e-15)


@pytest.mark.parametrize(("sign", "option"), [(";", ";"), ("|", "|"), ("\t", "\\t")])
def test_other_delimiters(there, capsys, sign, option):
    wanted = electorate.load(fitted(there)).digest_
    pd.read_csv("t.csv").to_csv("s.csv", index=False, sep=sign)
    training = ["--target", "y", "--out", "m2", "--voters", "Trees", "--set", "n_estimators=5"]
    assert main(["fit", "s.csv", "--delimiter", option, *training]) == 0
    assert electorate.load("m2").digest_ == wanted
    assert main(["predict", "m2", "s.csv", "--delimiter", option, "--out", "p.csv"]) == 0
    assert main(["predict", "m", "t.csv", "--out", "q.csv"]) == 0
    assert (there / "p.csv").read_text() == (there / "q.csv").read_text()
    with pytest.raises(SystemExit):
        main(["fit", "s.csv", "--delimiter", "ab", *training])


def test_a_spreadsheet_and_a_column_of_names(there, capsys):
    (there / "t.xlsx").write_bytes(b"PK\x03\x04 and so on")
    assert main(["fit", "t.xlsx", "--target", "y", "--out", "m"]) == 1
    assert "a spreadsheet or an archive" in capsys.readouterr().err
    (there / "i.csv").write_text("a,y\n" + "".join(f"{i},name{i}\n" for i in range(40)))
    assert main(["compare", "i.csv", "--target", "y"]) == 1
    assert "40 different labels in 40 rows" in capsys.readouterr().err


def test_warnings_are_messages(there, capsys):
    if "number of unique classes" not in inspect.getsource(sklearn.utils.multiclass):
        pytest.skip("this release of scikit-learn does not warn of many classes")
    (there / "i.csv").write_text("a,y\n" + "".join(f"{i},name{i}\n" for i in range(40)))
    assert main(["fit", "i.csv", "--target", "y", "--out", "m", "--set", "n_estimators=2"]) == 0
    output = capsys.readouterr().err
    assert output.count("electorate fit: The number of unique classes") == 1
    assert ".py:" not in output


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.parquet", "t.arrow"])
def test_every_format_trains_the_same_model(there, name, capsys):
    wanted = electorate.load(fitted(there)).digest_
    frame = pd.read_csv("t.csv")
    if name == "t.parquet":
        frame.to_parquet(name, index=False)
    elif name == "t.arrow":
        pa.feather.write_feather(frame, name)
    else:
        frame.to_csv(name, index=False, sep="\t" if name == "t.tsv" else ",")
    assert main(["fit", name, "--target", "y", "--out", "m2", "--voters", "Trees", "--set", "n_estimators=5"]) == 0
    assert electorate.load("m2").digest_ == wanted


def run(*arguments: str, data: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess:
    home = str(Path(electorate.__file__).parent.parent)
    command = [sys.executable, "-m", "electorate", *arguments]
    return subprocess.run(command, input=data, capture_output=True, cwd=cwd, env={**os.environ, "PYTHONPATH": home})


@pytest.mark.process
def test_standard_streams(there):
    model = electorate.load(fitted(there))
    frame = table(40).drop(columns="y")
    packed = gzip.compress(frame.to_csv(index=False).encode())
    done = run("predict", "m", "-", data=packed, cwd=there)
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout.decode())))
    assert [row[0] for row in rows[1:]] == list(model.predict(frame))
    assert b"40 rows" in done.stderr
    done = run("fit", "-", "--target", "y", "--out", "m3", data=(there / "t.csv").read_bytes(), cwd=there)
    assert done.returncode == 0
    assert done.stdout.decode().strip() == electorate.load(there / "m3").digest_


def test_exit_codes(there, capsys):
    with pytest.raises(SystemExit) as wrong:
        main(["fit", "--nonsense"])
    assert wrong.value.code == 2
    with pytest.raises(SystemExit) as fine:
        main(["compare", "--help"])
    assert fine.value.code == 0
    assert "examples:" in capsys.readouterr().out
    assert main(["verify", "t.csv"]) == 1
    assert main(["predict", "nowhere", "t.csv"]) == 1
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("command", [*COMMANDS])
def test_every_command_has_an_example(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"electorate {command}" in capsys.readouterr().out.split("\nexample")[1]


@pytest.mark.process
def test_a_closed_pipe_is_no_error(there):
    fitted(there)
    table(20_000).drop(columns="y").to_csv(there / "big.csv", index=False)
    home = str(Path(electorate.__file__).parent.parent)
    command = f"{sys.executable} -m electorate predict m big.csv | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=there, capture_output=True, env={**os.environ, "PYTHONPATH": home}
    )
    assert done.stdout.splitlines()[-1] in (b"141", b"0")
    assert b"Traceback" not in done.stderr


def test_verify_of_a_regressor_has_no_classes(there, capsys):
    X = np.arange(20.0)[:, None]
    electorate.MedBoostRegressor(n_estimators=2).fit(X, X[:, 0]).save("m")
    assert main(["verify", "m"]) == 0
    assert "classes" not in capsys.readouterr().out


def test_verify_in_json_and_against_a_digest(there, capsys):
    model = electorate.load(fitted(there))
    capsys.readouterr()
    assert main(["verify", "m", "--json", "--digest", model.digest_]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == model.digest_
    assert main(["verify", "m", "--digest", "0" * 64]) == 1
    spoiled = bytearray((there / "m").read_bytes())
    spoiled[100] ^= 1
    (there / "bad").write_bytes(spoiled)
    assert main(["verify", "bad"]) == 1
    assert "bad" in capsys.readouterr().err


# ---------------------------------------------------------------- Ctrl-C, kill, disks


@pytest.mark.process
def test_ctrl_c_and_the_same_command_again(there):
    """With workers; a run in one process, not interrupted, has the same results."""
    arguments = ["compare", "t.csv", "--target", "y", "--folds", "3", "--quick", "--algorithm", "SAMME.R, trees"]
    whole = run(*arguments, "--jobs", "1", "--out", "w", cwd=there)
    home = str(Path(electorate.__file__).parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-m", "electorate", *arguments, "--jobs", "2", "--out", "c"],
        cwd=there,
        env={**os.environ, "PYTHONPATH": home},
        stderr=subprocess.PIPE,
    )
    ended = time.monotonic() + 60
    while time.monotonic() < ended and not list((there / "c").glob("fits/*.fit")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=30)
    assert process.returncode in (130, 0)  # 0: it was faster than us
    assert b"Traceback" not in output
    again = run(*arguments, "--jobs", "1", "--out", "c", cwd=there)
    keep = [name for name in pd.read_csv(there / "w/results.csv").columns if "seconds" not in name and "ms" not in name]
    one, two = (pd.read_csv(there / folder / "results.csv")[keep] for folder in "wc")
    assert again.returncode == whole.returncode == 0
    assert one.equals(two)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused_before_the_work(there, capsys):
    fitted(there)
    (there / "ro").mkdir(mode=0o500)
    assert main(["predict", "m", "t.csv", "--out", "ro/p.csv"]) == 1


def test_a_full_disk_leaves_the_old_file(there, capsys, monkeypatch):
    fitted(there)
    (there / "p.csv").write_text("old")
    from electorate.tables import writing

    def full(self, table):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.Writer, "write", full)
    assert main(["predict", "m", "t.csv", "--out", "p.csv"]) == 1
    assert "p.csv: No space left" in capsys.readouterr().err
    assert (there / "p.csv").read_text() == "old"
    assert files(there) == {"t.csv", "m", "p.csv"}


# ---------------------------------------------------------------- hostile tables

HOSTILE = {
    "ragged": ("a,b,y\n1,2,u\n1,2,v,4\n", "line 3: 4 cells, but the header has 3"),
    "short": ("a,b,y\n1,2,u\n1,v\n", "line 3: 2 cells, but the header has 3"),
    "mixed late": ("a,y\n" + "1,u\n2,v\n" * 200_000 + "x,u\n", "line 400002: column 'a' holds numbers, but here 'x'"),
    "mixed early": ("a,y\n" + "1,u\n" * 50 + "x,v\n" + "2,u\n" * 50, "line 52: column 'a' holds numbers, but here 'x'"),
    "twice": ("a,a,y\n1,2,u\n", "line 1: columns 1 and 2 are both called 'a'"),
    "nameless": (",b,y\n1,2,u\n", "line 1: column 1 has no name"),
    "no header": ("1,2,3\n4,5,6\n", "line 1: the first line holds numbers"),
    "target missing": ("a,b,why\n1,2,u\n", "no column is called 'y'; it has 'a', 'b', 'why'"),
    "target empty": ('a,y\n"1\n",u\n2,\n', "line 4: the target 'y' is empty"),
    "empty": ("", "the table is empty"),
    "blank": ("\n\n", "the table is empty"),
    "header only": ("a,y\n", "the table has no rows"),
    "only target": ("y\nu\nv\n", "no column besides the target"),
    "quote": ('a,"y\n1,u\n', "line 1: the header cannot be read"),
    "escape": (f"a,{ESCAPE}\n1,2\n", "no column is called 'y'"),
    "semicolons": (
        "a;b;y\n1;2;u\n3;v\n",
        "line 1: the header is one name; if its parts are columns, add --delimiter ';'",
    ),
    "tabs": ("a\tb\ty\n1\t2\tu\n1\n", r"add --delimiter '\t'"),
    "carriage returns": ("a,b,y\r1,2,u\r3,4,v\r", "line 1: lines end with a carriage return alone"),
    "infinite": ("a,y\n1,u\ninf,v\n", "line 3: column 'a' is infinite"),
    "too large": ('a,b,y\n1,"p\n",u\n1e999,q,v\n', "line 4: column 'a' is infinite"),
}


@pytest.mark.parametrize("command", ["compare", "fit"])
@pytest.mark.parametrize("case", HOSTILE)
def test_an_error_in_a_table_names_the_line_and_nothing_is_written(case, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text, message = HOSTILE[case]
    (tmp_path / "t.csv").write_text(text)
    assert main([command, "t.csv", "--target", "y", "--out", "o"]) == 1
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.removeprefix("reading t.csv\n").startswith(f"electorate {command}: t.csv")
    assert "\x1b" not in output.err
    assert not output.out
    assert files(tmp_path) == {"t.csv"}


@pytest.mark.parametrize("raw", [b"\xff\xfea\x00,\x00", b"a,y\n\xff\xff,u\n", b"\x1f\x8b\x08broken", b"\x00" * 50])
def test_bytes_that_are_not_a_table(raw, tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes(raw)
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "y", "--out", str(tmp_path / "o")]) == 1
    assert "t.csv" in capsys.readouterr().err
    for name in ("t.parquet", "t.arrow"):
        (tmp_path / name).write_bytes(raw)
        assert main(["fit", str(tmp_path / name), "--target", "y", "--out", str(tmp_path / "o")]) == 1
    assert not (tmp_path / "o").exists()


def test_a_mark_of_byte_order_is_no_part_of_a_name(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfy,a\nu,1\nv,2\n")
    X, y = read_table(Source(str(tmp_path / "t.csv")), "y")
    assert list(y) == ["u", "v"]
    assert X.column_names == ["a"]


def test_types_are_guessed_held_to_and_overruled(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("i,f,late,code,empty,q,y\n" + "1,2.5,,A1,, 7,0\n" * 30 + "2,1e3,3,7,,8,1\n")
    X, y = read_table(Source(str(path)), "y")
    assert {name: str(X.schema.field(name).type) for name in X.column_names} == {
        "i": "double",
        "f": "double",
        "late": "double",
        "code": "string",
        "empty": "string",
        "q": "double",
    }
    assert y.dtype == np.int64
    X, _ = read_table(Source(str(path), types={"i": "text"}, drop=("empty",)), "y")
    assert str(X.schema.field("i").type) == "string"
    assert "empty" not in X.column_names
    with pytest.raises(TableError, match="line 2: column 'code' holds numbers, but here 'A1'"):
        read_table(Source(str(path), types={"code": "number"}), "y")


def test_the_separator_and_the_encoding_are_found_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "größe;farbe;y\n" + "1,5;grün;ja\n2,5;blau;nein\n" * 20
    for encoding, said in [
        ("cp1252", "the encoding is cp1252 and "),
        ("utf-8-sig", ""),
        ("utf-16", "the encoding is utf-16 and "),
    ]:
        (tmp_path / "t.csv").write_text(text, encoding=encoding)
        assert main(["fit", "t.csv", "--target", "y", "--out", "m"]) == 0
        assert f"t.csv: {said}';' separates the cells\n" in capsys.readouterr().err
        assert list(load("m").feature_names_in_) == ["größe", "farbe"]
        assert main(["predict", "m", "t.csv", "--out", "p.csv"]) == 0
        assert capsys.readouterr().out == ""


def test_a_number_that_begins_with_a_zero_is_a_code(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,late,n,y\n" + "10115,1,0.5,u\n" * 50 + "05491,x,0,v\n" + "10115,01,0,v\n" * 50)
    X, _ = read_table(Source(str(path)), "y")
    assert [str(X.schema.field(name).type) for name in ("zip", "late", "n")] == ["string", "string", "double"]


def test_missing_cells_can_be_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,u\n" * 50 + "?,v\n")
    X, _ = read_table(Source(str(path), missing=("", "?")), "y")
    assert X.column("a").null_count == 1


def test_a_hundred_thousand_columns(tmp_path, capsys):
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{i}" for i in range(100_000))
    rows = "".join(f"{','.join(['1', '2'] * 50_000)},{label}\n" for label in "uvuv")
    path.write_text(f"{names},y\n{rows}")
    X, y = read_table(Source(str(path)), "y")
    assert X.num_columns == 100_000
    assert len(y) == 4


def test_formulas_are_quoted_in_the_output(there, capsys):
    frame = table()
    frame["y"] = np.where(frame["y"] == "yes", "=HYPERLINK(1)", f"no{ESCAPE}")
    frame["id"] = ["@x", "-1", "+", "=1,2", "\n=1+1"] * 16
    frame.to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--target", "y", "--drop", "id", "--out", "m"]) == 0
    assert main(["predict", "m", "t.csv", "--out", "p.csv", "--keep", "id", "--proba"]) == 0
    with open("p.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows[1:6]] == ["'@x", "-1", "+", "'=1,2", "'\n=1+1"]
    assert {row[1] for row in rows[1:]} <= {"'=HYPERLINK(1)", f"no{ESCAPE}"}
    assert not any(text.startswith(("=", "@")) for row in rows for text in row)
    capsys.readouterr()
    assert main(["verify", "m"]) == 0
    assert main(["compare", "t.csv", "--target", f"{ESCAPE}y"]) == 1
    output = capsys.readouterr()
    assert "\x1b" not in output.out + output.err


def test_errors_in_new_tables_name_the_line(there, capsys):
    fitted(there)
    capsys.readouterr()
    for text, message in [
        ("x,c\n1,red\n", "no column is called 'n'"),
        ("x,c,n\n1,red,2\noops,red,3\n", "line 3: column 'x' holds numbers, but here 'oops'"),
        ("x,c,n\n1,red,2\n1,red\n", "line 3: 2 cells"),
        ("x,c,n\n", "no rows"),
        ("x,c,n\n1,red,2\ninf,red,2\n", "line 3: column 'x' is infinite"),
        ("x;c;n\n1;red;2\n1;red\n", "--delimiter ';'"),
    ]:
        (there / "new.csv").write_text(text)
        assert main(["predict", "m", "new.csv", "--out", "p.csv"]) == 1
        assert message in capsys.readouterr().err
    assert files(there) == {"t.csv", "m", "new.csv"}


def test_an_unseen_category_counts_as_missing(there, capsys):
    model = electorate.load(fitted(there))
    (there / "new.csv").write_text("c,n,x\nmauve,3,0.5\n,3,0.5\n")
    assert main(["predict", "m", "new.csv", "--out", "p.csv"]) == 0
    assert pd.read_csv("p.csv")["prediction"].nunique() == 1
    assert len(model.classes_) == 2


@pytest.mark.process
def test_predict_in_constant_memory(tmp_path):
    """Ten times the rows, the same memory; measured in a process of its own.

    Blocks are small, so that what is read ahead is the same for both sizes; with blocks of the usual size the memory
    levels off at about 8,000,000 rows. Holding all rows at once would take 48 MB more for the numbers alone.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 6)).round(4), columns=list("abcdef"))
    AdaBoostClassifier(n_estimators=20).fit(X, (X["a"] > 0).astype(int)).save(tmp_path / "m")
    body = X.to_csv(index=False, header=False)
    peaks = []
    for times in (50, 500):
        with open(tmp_path / "t.csv", "w") as file:
            file.write(",".join(X.columns) + "\n")
            for _ in range(times):
                file.write(body)
        program = (
            "import resource, sys; from electorate.tables import text as text_tables; text_tables.BLOCK = 2**16;"
            "from electorate.cli import main;"
            f"assert main(['predict', {str(tmp_path / 'm')!r}, {str(tmp_path / 't.csv')!r},"
            f" '--out', {str(tmp_path / 'p.csv')!r}]) == 0;"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        home = str(Path(electorate.__file__).parent.parent)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, env={**os.environ, "PYTHONPATH": home}, check=True
        )
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < peaks[0] + 25_000  # kB


# ---------------------------------------------------------------- data


def test_data_from_a_folder(there, capsys):
    (there / "f").mkdir()
    with gzip.open(there / "f" / "toy.csv.gz", "wt") as file:
        file.write("a,target\n1,2\n")
    assert main(["data", "--folder", "f"]) == 0
    assert "toy\tfolder" in capsys.readouterr().out
    assert main(["data", "toy", "--folder", "f", "--out", "toy.csv"]) == 0
    assert (there / "toy.csv").read_text() == "a,target\n1,2\n"
    assert main(["data", "nothing", "--out", "x.csv"]) == 1
    assert main(["data", "../t", "--folder", "f", "--out", "x.csv"]) == 1


DESCRIPTION = {
    "data_set_description": {
        "id": "15",
        "description": "a toy",
        "name": "breast-w",
        "version": "1",
        "format": "ARFF",
        "url": "https://api.openml.org/data/v1/download/9/toy.arff",
        "file_id": "9",
        "default_target_attribute": "class",
        "status": "active",
        "processing_date": "2020-01-01",
        "md5_checksum": "",
    }
}
FEATURES = {
    "data_features": {
        "feature": [
            {"index": str(i), "name": name, "data_type": kind, "is_target": str(name == "class").lower()}
            | {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
            for i, (name, kind) in enumerate([("size", "numeric"), ("colour", "nominal"), ("class", "nominal")])
        ]
    }
}
ARFF = """@RELATION toy
@ATTRIBUTE size NUMERIC
@ATTRIBUTE colour {red,blue}
@ATTRIBUTE class {good,bad}
@DATA
1,red,good
2.5,blue,bad
?,red,good
"""


def test_data_from_openml_by_a_recorded_reply(there, monkeypatch, capsys):
    from sklearn.datasets import _openml

    def reply(request, *args, **kwargs):
        url = request if isinstance(request, str) else request.full_url
        if "features" in url:
            body = json.dumps(FEATURES)
        elif "json" in url and "qualities" in url:
            body = json.dumps({"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3"}]}})
        else:
            body = ARFF if "download" in url else json.dumps(DESCRIPTION)
        answer = io.BytesIO(body.encode())
        answer.info = lambda: {}  # type: ignore[attr-defined]
        return answer

    description = DESCRIPTION["data_set_description"]
    monkeypatch.setitem(description, "md5_checksum", hashlib.md5(ARFF.encode()).hexdigest())
    monkeypatch.setattr(_openml, "urlopen", reply)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(there / "cache"))
    monkeypatch.delenv("ELECTORATE_DATA", raising=False)
    assert main(["data", "breast_w", "--out", "b.csv"]) == 0, capsys.readouterr().err
    assert (there / "b.csv").read_text() == "size,colour,target\n1,red,good\n2.5,blue,bad\n,red,good\n"
    assert main(["data", "titanic", "--out", "t2.csv"]) == 1  # it bears another name
    assert "is 'breast-w', not 'Titanic'" in capsys.readouterr().err
    assert not (there / "t2.csv").exists()


def test_no_network_is_reported(there, monkeypatch, capsys):
    from sklearn.datasets import _openml

    def nothing(*args, **kwargs):
        raise OSError("no route")

    monkeypatch.setattr(_openml, "urlopen", nothing)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(there / "cache"))
    monkeypatch.delenv("ELECTORATE_DATA", raising=False)
    assert main(["data", "breast_w", "--out", "b.csv"]) == 1
    assert "--folder" in capsys.readouterr().err
