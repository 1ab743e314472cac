"""Tables on the command line: encodings, damaged files, lines of mistakes, columns without names, memory, tasks."""

import csv
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from samples import read_table

import electorate
from electorate.cli import main
from electorate.data import inputs
from electorate.tables import text as text_tables
from electorate.tables.reading import TableRequest, read_training
from electorate.tables.source import OpenedSource, Source, TableError
from electorate.tables.text import TextTable

FEW = ["--set", "n_estimators=3"]


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60).round(3), "c": rng.choice(["red", "blué"], 60)})
    frame["y"] = np.where((frame["x"] > 0) ^ (frame["c"] == "red"), "yes", "no")
    frame.to_csv("t.csv", index=False)
    return tmp_path


def digest(capsys, *arguments: str) -> str:
    assert main(["fit", *arguments, "--out", "m", *FEW]) == 0, capsys.readouterr().err
    return capsys.readouterr().out.strip()


def refused(capsys, *arguments: str) -> str:
    """The message for a table that cannot be used; nothing is written."""
    before = set(os.listdir())
    assert main(list(arguments)) == 1
    output = capsys.readouterr()
    assert not output.out
    assert set(os.listdir()) == before
    return output.err


# ---------------------------------------------------------------- encodings and signs


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "cp1252"])
def test_encodings(there, capsys, encoding):
    wanted = digest(capsys, "t.csv", "--target", "y")
    (there / "e.csv").write_bytes((there / "t.csv").read_text(encoding="utf-8").encode(encoding))
    assert digest(capsys, "e.csv", "--target", "y", "--encoding", encoding) == wanted
    assert main(["predict", "m", "e.csv", "--encoding", encoding, "--out", "p.csv"]) == 0
    assert main(["predict", "m", "t.csv", "--out", "q.csv"]) == 0
    assert (there / "p.csv").read_text() == (there / "q.csv").read_text()


def test_a_character_across_blocks(there, capsys, monkeypatch):
    text = "c,y\n" + "é,u\nß,v\n" * 50
    (there / "e.csv").write_bytes(text.encode("utf-16-le"))
    monkeypatch.setattr(text_tables, "BLOCK", 7)
    X, y = read_table(Source("e.csv", encoding="utf-16-le"), "y")
    assert X.column("c").to_pylist() == ["é", "ß"] * 50
    assert list(y) == ["u", "v"] * 50


def test_a_decimal_comma(there, capsys):
    wanted = digest(capsys, "t.csv", "--target", "y")
    pd.read_csv("t.csv").to_csv("d.csv", index=False, sep=";", decimal=",")
    signs = ["--delimiter", ";", "--decimal", ","]
    assert digest(capsys, "d.csv", "--target", "y", *signs) == wanted
    assert main(["predict", "m", "d.csv", *signs, "--out", "p.csv"]) == 0
    capsys.readouterr()
    assert "--decimal ," in refused(capsys, "predict", "m", "d.csv", "--delimiter", ";")
    assert "the same character" in refused(capsys, "fit", "t.csv", "--target", "y", "--decimal", ",", "--out", "o")


@pytest.mark.parametrize(("command", "more"), [("fit", ["--target", "y", "--out", "o"]), ("predict", [])])
def test_a_wrong_byte_is_named_by_its_line(there, capsys, command, more):
    digest(capsys, "t.csv", "--target", "y")
    lines = ["x,c,y", *["1.5,red,yes", "2.5,blue,no"] * 40]
    lines[51] = "1.5,r\xe9d,yes"
    (there / "bad.csv").write_bytes("\n".join(lines).encode("latin-1"))
    where = ["m", "bad.csv"] if command == "predict" else ["bad.csv"]
    output = refused(capsys, command, *where, *more, "--encoding", "utf-8")
    assert "bad.csv, line 52: byte 0xe9 is not UTF-8" in output
    assert "--encoding" in output
    (there / "bad.csv").write_bytes("\n".join(lines).encode("latin-1").replace(b"\xe9", b"\x81"))
    assert "line 52: byte 0x81 is not cp1252" in refused(capsys, command, *where, *more, "--encoding", "cp1252")


def test_empty_lines_before_the_header(there, capsys):
    wanted = digest(capsys, "t.csv", "--target", "y")
    (there / "l.csv").write_text("\r\n\n" + (there / "t.csv").read_text())
    assert digest(capsys, "l.csv", "--target", "y") == wanted
    assert main(["predict", "m", "l.csv", "--out", "p.csv"]) == 0
    (there / "l.csv").write_text("\n\nx,c,y\n1,red,yes\noops,red,no\n")
    capsys.readouterr()
    assert "line 5: column 'x' holds numbers, but here 'oops'" in refused(capsys, "predict", "m", "l.csv")


# ---------------------------------------------------------------- damaged files


def test_damaged_files_are_named(there, capsys):
    frame = pd.read_csv("t.csv")
    digest(capsys, "t.csv", "--target", "y")
    packed = gzip.compress((there / "t.csv").read_bytes())
    (there / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (there / "odd.csv.gz").write_bytes(packed[:40] + bytes(10) + packed[50:])
    frame.to_parquet("whole.parquet")
    whole = (there / "whole.parquet").read_bytes()
    (there / "cut.parquet").write_bytes(whole[:-30])
    (there / "odd.parquet").write_bytes(whole[:4] + bytes(60) + whole[64:])
    pa.feather.write_feather(frame, "whole.arrow")
    (there / "cut.arrow").write_bytes((there / "whole.arrow").read_bytes()[:200])
    for name in ("cut.csv.gz", "odd.csv.gz", "cut.parquet", "odd.parquet", "cut.arrow"):
        for order in (["fit", name, "--target", "y", "--out", "o"], ["predict", "m", name]):
            output = refused(capsys, *order)
            assert output.startswith(f"electorate {order[0]}: {name}: ")
            assert "damaged" in output
    (there / "t.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd and so on")
    assert "zstd" in refused(capsys, "predict", "m", "t.csv.zst")


SHORTENED = """
import os, shutil, sys
from electorate.cli import main
from electorate.tables import binary

whole, when = sys.argv[1], int(sys.argv[2])
real = binary.BinaryTable.batches

def batches(self, places):
    for number, batch in enumerate(real(self, places)):
        if number == when:
            os.truncate("short" + whole, os.path.getsize(whole) // 3)
        yield batch
    if number < when:
        os.truncate("short" + whole, os.path.getsize(whole) // 3)

binary.ROWS_AT_ONCE = 20
binary.CELLS_AT_ONCE = 60
binary.BinaryTable.batches = batches
for order in ("fit TABLE --target y --out o --scan never", "predict m TABLE --out o", "score m TABLE --target y"):
    shutil.copy(whole, "short" + whole)
    print(main(order.replace("TABLE", "short" + whole).split()))
"""


@pytest.mark.process
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_file_that_is_shortened_while_it_is_read(there, capsys, name):
    """One line of message, where reading a file that is mapped into memory would end the process by a signal."""
    rows = pa.table({"x": np.tile(np.arange(60.0), 40), "y": ["no", "yes"] * 1200})
    pa.parquet.write_table(rows, "t.parquet", row_group_size=600)
    pa.feather.write_feather(rows, "t.arrow", chunksize=600, compression="uncompressed")
    digest(capsys, "t.parquet", "--target", "y")
    command = [sys.executable, "-c", SHORTENED, name, "0"]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths})
    assert done.stdout.split() == ["1"] * 3, done.stderr
    lines = [line for line in done.stderr.splitlines() if "changed while it was read" in line]
    assert len(lines) == len(done.stderr.splitlines()) == 3
    assert all(f": short{name}: " in line for line in lines)


def test_integers_beyond_doubles_are_rounded_in_every_format(there, capsys):
    """As NumPy and CSV files do; the cast of pyarrow refuses them. A column of its own, and the weights."""
    rng = np.random.default_rng(0)
    for kind in (np.int64, np.uint64):
        large = (2**53 + rng.integers(0, 2**40, 40)).astype(kind)[rng.integers(0, 40, 300)]
        frame = pd.DataFrame({"x": large, "w": large, "y": np.where(large % 3 == 0, "yes", "no")})
        frame.to_csv("big.csv", index=False)
        frame.to_parquet("big.parquet", index=False)
        pa.feather.write_feather(frame, "big.arrow")
        found = {
            digest(capsys, name, "--target", "y", "--weights", "w", "--scan", scan)
            for name in ("big.csv", "big.parquet", "big.arrow")
            for scan in ("never", "always")
        }
        found.add(digest(capsys, "big.parquet", "--target", "y", "--weights", "w", "--no-check-up"))
        assert len(found) == 1
        for name in ("big.csv", "big.parquet", "big.arrow"):
            assert main(["predict", "m", name, "--out", f"{name}.out"]) == 0, capsys.readouterr().err
        outs = {(there / f"big.{kind}.out").read_text() for kind in ("csv", "parquet", "arrow")}
        assert len(outs) == 1


# ---------------------------------------------------------------- memory


def test_a_packed_parquet_file_that_cannot_fit_is_refused_while_it_is_unpacked(there, capsys, monkeypatch):
    """48 MB in 60 kB."""
    digest(capsys, "t.csv", "--target", "y")
    zeros = pa.table({"x": np.zeros(6_000_000), "y": pa.array(np.zeros(6_000_000, dtype=np.int8))})
    pa.parquet.write_table(zeros, "bomb.parquet", compression="none", use_dictionary=False)
    (there / "bomb.parquet.gz").write_bytes(gzip.compress((there / "bomb.parquet").read_bytes()))
    monkeypatch.setattr(inputs, "free_memory", lambda: 10 * 2**20)
    unpacked = []
    real = OpenedSource.read
    monkeypatch.setattr(OpenedSource, "read", lambda self, n=-1: unpacked.append(part := real(self, n)) or part)
    for order in (["fit", "--target", "y", "--out", "o", "--scan", "never"], ["predict"]):
        unpacked.clear()
        where = ["m"] if order[0] == "predict" else []
        output = refused(capsys, order[0], *where, "bomb.parquet.gz", *order[1:])
        assert "bomb.parquet.gz: the table takes about" in output
        assert "unpack it first" in output
        assert sum(map(len, unpacked)) < 15e6
    for scan in ("auto", "always"):
        output = refused(capsys, "fit", "bomb.parquet.gz", "--target", "y", "--out", "o", "--scan", scan)
        assert "unpack it" in output


def test_a_table_that_cannot_fit_is_refused_while_it_is_read(there, capsys, monkeypatch):
    """30 MB of text in 50 kB: refused after a small part of it."""
    with gzip.open("bomb.csv.gz", "wb", compresslevel=6) as file:
        file.write(b"a,b,y\n")
        for _ in range(30):
            file.write(b"0,0,u\n0,0,v\n" * 87_000)
    assert os.path.getsize("bomb.csv.gz") < 200_000
    monkeypatch.setattr(inputs, "free_memory", lambda: 5 * 2**20)
    monkeypatch.setattr(text_tables, "BLOCK", 2**17)
    unpacked = []
    real = Source.open

    def counting(self):
        opened = real(self)
        read = opened.read
        opened.read = lambda size=-1: unpacked.append(part := read(size)) or part
        return opened

    monkeypatch.setattr(Source, "open", counting)
    output = refused(capsys, "fit", "bomb.csv.gz", "--target", "y", "--out", "o")
    assert "bomb.csv.gz: the table takes about" in output
    assert "GiB are free" in output
    assert sum(map(len, unpacked)) < 20e6  # of 30e6, with what is read ahead


def test_a_header_of_too_many_columns(there, capsys):
    with gzip.open("bomb.csv.gz", "wb") as file:
        file.write(b"a," * 2**22 + b"y\n")
    assert "columns" in refused(capsys, "fit", "bomb.csv.gz", "--target", "y", "--out", "o")


def test_an_arrow_stream_is_read_batch_by_batch(there, capsys, monkeypatch):
    """Of either kind of Arrow file, through a pipe; one batch of many rows is predicted in parts."""
    frame = pd.DataFrame({"x": np.linspace(-1, 1, 200_000), "c": ["red", "blué"] * 100_000})
    digest(capsys, "t.csv", "--target", "y")
    wanted = electorate.load("m").predict(frame)
    table = pa.table({"x": frame["x"].to_numpy(), "c": frame["c"].tolist()})
    from electorate.commands import predict

    sizes = []
    real = predict._predicted
    monkeypatch.setattr(predict, "_predicted", lambda m, t, *rest: sizes.append(t.num_rows) or real(m, t, *rest))
    for make in (pa.ipc.new_stream, pa.ipc.new_file):
        sink = io.BytesIO()
        with make(sink, table.schema) as writer:
            writer.write_table(table)

        class Pipe(io.RawIOBase):
            def __init__(self, data: bytes) -> None:
                self.data = io.BytesIO(data)

            def readable(self) -> bool:
                return True

            def readinto(self, room: bytearray) -> int:
                return self.data.readinto(memoryview(room)[:70_000])

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(sink.getvalue()))))
        monkeypatch.setattr(os.path, "isfile", lambda path: path != "/dev/stdin" and os.path.exists(path))
        assert main(["predict", "m", "-", "--format", "arrow", "--out", "p.csv"]) == 0, capsys.readouterr().err
        assert list(pd.read_csv("p.csv")["prediction"]) == list(wanted)
    assert max(sizes) <= 65_536


# ---------------------------------------------------------------- columns


def test_a_column_without_a_name_can_be_dropped(there, capsys):
    wanted = digest(capsys, "t.csv", "--target", "y")
    pd.read_csv("t.csv").to_csv("i.csv")
    output = refused(capsys, "fit", "i.csv", "--target", "y", "--out", "o")
    assert "column 1 has no name" in output
    assert "--drop 1" in output
    for name in ("", "1", "Unnamed: 0"):
        assert digest(capsys, "i.csv", "--target", "y", "--drop", name) == wanted
    assert main(["predict", "m", "i.csv", "--out", "p.csv"]) == 0  # the model does not use it
    assert "no column is called '9'" in refused(capsys, "fit", "t.csv", "--target", "y", "--drop", "9", "--out", "o")


def test_a_name_of_two_columns_can_be_dropped_by_position(there, capsys):
    (there / "d.csv").write_text("a,a,y\n1,p,u\n2,q,v\n3,p,u\n")
    assert "columns 1 and 2 are both called 'a'" in refused(capsys, "fit", "d.csv", "--target", "y", "--out", "o")
    (there / "s.csv").write_text("a,y\n1,u\n2,v\n3,u\n")
    wanted = digest(capsys, "s.csv", "--target", "y")
    assert digest(capsys, "d.csv", "--target", "y", "--drop", "2") == wanted


def test_what_is_wrong_in_a_dropped_column_does_not_matter(there, capsys):
    (there / "d.csv").write_text("a,b,y\n" + "1,1,u\n2,2,v\n" * 30 + "3,oops,u\n")
    assert "'oops'" in refused(capsys, "fit", "d.csv", "--target", "y", "--out", "o")
    digest(capsys, "d.csv", "--target", "y", "--drop", "b")
    output = refused(capsys, "fit", "d.csv", "--target", "y", "--drop", "y", "--out", "o")
    assert "both dropped and used" in output


def test_dates_and_lists_are_named_all_at_once(there, capsys):
    frame = pd.read_csv("t.csv")
    wanted = digest(capsys, "t.csv", "--target", "y")
    frame["when"] = pd.date_range("2020-01-01", periods=60, freq="D")
    frame["tags"] = [[1, 2]] * 60
    frame["raw"] = [b"x"] * 60
    frame.to_parquet("t.parquet", index=False)
    output = refused(capsys, "fit", "t.parquet", "--target", "y", "--out", "o")
    assert "when" not in output  # dates are read
    for name in ("tags", "raw"):
        assert f"'{name}'" in output
        assert f"--drop {name}" in output
    drop = ["--drop", "when", "--drop", "tags", "--drop", "raw"]
    assert digest(capsys, "t.parquet", "--target", "y", *drop) == wanted
    found = read_training(Source("t.parquet", types={"when": "number"}, drop=("tags", "raw")), TableRequest("y"))
    seconds = (frame["when"] - pd.Timestamp(0)).dt.total_seconds()
    assert found.X.column("when").to_pylist() == list(seconds)
    digest(capsys, "t.parquet", "--target", "y", "--type", "when=number", *drop[2:])
    assert main(["predict", "m", "t.parquet", "--out", "p.csv"]) == 0


def test_the_columns_are_listed_where_no_target_is_given(there, capsys):
    for order in (["fit", "t.csv", "--out", "o"], ["compare", "t.csv"]):
        output = refused(capsys, *order)
        assert "--target" in output
        assert "'x', 'c', 'y'" in output
    (there / "w.csv").write_text("income,age\n1,2\n")
    assert "did you mean 'income'?" in refused(capsys, "fit", "w.csv", "--target", "incme", "--out", "o")


def test_rows_without_a_target_can_be_left_out(there, capsys):
    wanted = digest(capsys, "t.csv", "--target", "y")
    lines = (there / "t.csv").read_text().splitlines()
    (there / "h.csv").write_text("\n".join([*lines[:10], "0.5,red,", *lines[10:], "0.1,red,NA"]))
    output = refused(capsys, "fit", "h.csv", "--target", "y", "--out", "o")
    assert "line 11: the target 'y' is empty" in output
    assert "--skip-missing-target" in output
    assert digest(capsys, "h.csv", "--target", "y", "--skip-missing-target") == wanted
    (there / "h.csv").write_text("x,y\n1,u\n2,\n3,v\ninf,u\n")
    output = refused(capsys, "fit", "h.csv", "--target", "y", "--skip-missing-target", "--out", "o")
    assert "line 5: column 'x' is infinite" in output


@pytest.mark.parametrize("size", [20, 100, 10_000])
def test_lines_are_right_whatever_the_blocks(there, capsys, monkeypatch, size):
    """Of cells with line breaks and among empty lines, from a file and from a pipe."""
    digest(capsys, "t.csv", "--target", "y")
    text = 'x,c\n1,red\n\n2,"re\nd"\n3,"r""ed"\n\n4,red\ninf,red\n'
    monkeypatch.setattr(text_tables, "BLOCK", size)
    (there / "n.csv").write_text(text)
    assert "line 9: column 'x' is infinite" in refused(capsys, "predict", "m", "n.csv")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert "standard input, line 9: column 'x' is infinite" in refused(capsys, "predict", "m", "-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.replace("inf", "oops").encode())))
    output = refused(capsys, "predict", "m", "-")
    assert "standard input, line 9: column 'x' holds numbers, but here 'oops'" in output
    assert "--type" not in output  # predict has no such option
    (there / "n.csv").write_text(text.replace("x,c", "x,y"))
    assert "line 9: column 'x' is infinite" in refused(capsys, "fit", "n.csv", "--target", "y", "--out", "o")


# ---------------------------------------------------------------- tasks and algorithms


@pytest.fixture
def quantity(there):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame["y"] = (frame["a"] + rng.normal(size=80) / 10).round(3)
    frame.to_csv("q.csv", index=False)
    return frame


def test_a_float_target_is_regression(quantity, capsys):
    found = digest(capsys, "q.csv", "--target", "y")
    model = electorate.AdaBoostRegressor(n_estimators=3).fit(quantity[["a", "b"]], quantity["y"])
    assert found == model.digest_
    for name in (
        "MedBoost",
        "MedBoostRegressor",
        "MedBoost, trees",
        "medboost_trees",
        "QuadBoost",
        "AdaBoost.R2, trees",
    ):
        digest(capsys, "q.csv", "--target", "y", "--algorithm", name)
        assert type(electorate.load("m")).__name__.endswith("Regressor")
    trees = electorate.AdaBoostRegressor(electorate.RegressionTrees(), n_estimators=3)
    found = digest(capsys, "q.csv", "--target", "y", "--voters", "Trees")
    assert found == trees.fit(quantity[["a", "b"]], quantity["y"]).digest_
    order = ["fit", "q.csv", "--target", "y", "--algorithm", "RealAdaBoost", "--out", "o"]
    output = refused(capsys, *order)
    assert "is a classifier" in output
    assert "--task classification" in output
    assert "not for regression" in refused(capsys, *order, "--task", "regression")


def test_labels_by_all_their_names(there, capsys):
    wanted = digest(capsys, "t.csv", "--target", "y", "--algorithm", "Real AdaBoost")
    for name in ("RealAdaBoost", "real_adaboost", "RealAdaBoostClassifier"):
        assert digest(capsys, "t.csv", "--target", "y", "--algorithm", name) == wanted
    assert "RealAdaBoost" in refused(
        capsys, "fit", "t.csv", "--target", "y", "--algorithm", "RealAdaBost", "--out", "o"
    )
    output = refused(capsys, "fit", "t.csv", "--target", "y", "--algorithm", "MedBoost", "--out", "o")
    assert "regression needs numbers" in output


def test_every_name_that_compare_prints_can_be_trained(there, quantity, capsys):
    from electorate.comparison.algorithms import OURS

    for listed in OURS:
        table = "q.csv" if "regression" in listed.tasks else "t.csv"
        digest(capsys, table, "--target", "y", "--algorithm", listed.name)
        assert type(electorate.load("m")).__name__ == listed.make.estimator
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    output = capsys.readouterr().out
    assert all(listed.name in output for listed in OURS)
    assert all(name in output for name in ("RealAdaBoost", "LocMedBoost"))


def test_few_distinct_integers_are_labels_unless_the_task_is_given(there, capsys):
    (there / "s.csv").write_text("a,y\n" + "".join(f"{i},{i % 3}\n" for i in range(60)))
    digest(capsys, "s.csv", "--target", "y")
    assert type(electorate.load("m")).__name__ == "AdaBoostClassifier"
    digest(capsys, "s.csv", "--target", "y", "--task", "regression")
    assert type(electorate.load("m")).__name__ == "AdaBoostRegressor"


def test_one_class_only_is_reported(there, capsys):
    (there / "s.csv").write_text("a,y\n1,u\n2,u\n")
    assert "one class only, 'u'" in refused(capsys, "fit", "s.csv", "--target", "y", "--out", "o")


# ---------------------------------------------------------------- where to write


def test_a_missing_folder_is_reported_before_the_work(there, capsys, monkeypatch):
    digest(capsys, "t.csv", "--target", "y")
    from electorate.tables import reading

    def never(*_: object) -> None:
        raise AssertionError("the table was read")

    monkeypatch.setattr(Source, "open", never)
    monkeypatch.setattr(reading, "read_training", never)
    for order in (
        ["fit", "t.csv", "--target", "y", "--out", "no/m"],
        ["predict", "m", "t.csv", "--out", "no/p.csv"],
        ["compare", "t.csv", "--target", "y", "--out", "t.csv/c"],
        ["data", "letter", "--out", "no/l.csv"],
    ):
        assert "no" in refused(capsys, *order)


def test_read_again_the_same(there):
    """A reader for Python: what other modules use."""
    X, y = read_table(Source("t.csv"), "y")
    frame = pd.read_csv("t.csv")
    assert X.to_pandas().equals(frame[["x", "c"]].astype(X.to_pandas().dtypes))
    assert list(y) == list(frame["y"])
    with pytest.raises(TableError, match="no column is called 'z'"):
        read_table(Source("t.csv"), "z")


# ---------------------------------------------------------------- hostile options and tables


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict r t.csv --proba", "--proba is for classes, and this model predicts numbers"),
        ("predict m kept.csv --proba --keep P(u)", "--keep 'P(u)' is also a column that --proba writes"),
        ("certify m --heldout t.csv --eps 1", "--eps is for regression"),
        ("report m t.csv --target y -o nodir/o", "nodir: there is no such folder"),
        ("fit t.csv --target y --out o --encoding utf-16", "t.csv: UTF-16 stream does not start with BOM"),
        ("fit nope.csv --target y --out o --scan always", "nope.csv: No such file"),
        ("score m infinite.csv --target y", "infinite.csv, line 3: column 'a' is infinite"),
        ("explain m infinite.csv", "infinite.csv, row 2: column 'a' is infinite"),
        ("score m words.csv --target y", "words.csv, line 2: column 'a' holds numbers, but here 'one'"),
    ],
)
def test_hostile_options_and_tables(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 3},{'uv'[i % 2]}\n" for i in range(12))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "kept.csv").write_text("a,b,P(u)\n1,2,3\n")
    (tmp_path / "infinite.csv").write_text("a,b,y\n1,2,u\n1e999,2,v\n")
    (tmp_path / "words.csv").write_text("a,b,y\none,2,u\ntwo,2,v\n")
    few = ["--set", "n_estimators=2", "--quiet"]
    assert main(["fit", "t.csv", "--target", "y", "--out", "m", *few]) == 0
    regression = ["--target", "a", "--drop", "y", "--task", "regression", "--algorithm", "MedBoost"]
    assert main(["fit", "t.csv", *regression, "--out", "r", *few]) == 0
    capsys.readouterr()
    assert main(arguments.split()) == 1
    text = capsys.readouterr().err
    assert message in text
    assert "--type" not in text


@pytest.mark.parametrize("eps", ["-1", "nan", "inf", "x"])
def test_a_distance_is_a_finite_number(capsys, eps):
    with pytest.raises(SystemExit):
        main(["certify", "m", "--heldout", "t.csv", f"--eps={eps}"])
    assert "is not a finite number from 0 on" in capsys.readouterr().err


def test_a_long_name_is_read(tmp_path):
    csv.field_size_limit(2**17)
    (tmp_path / "t.csv").write_text("x" * 200_000 + ",y\n1,2\n")
    assert len(TextTable(Source(str(tmp_path / "t.csv"))).names[0]) == 200_000


def test_a_missing_text_is_no_label_of_another_row(tmp_path, monkeypatch, capsys):
    """The target of a scanned text is a dictionary: pyarrow gives a missing value the last of its texts."""
    monkeypatch.chdir(tmp_path)
    y = pa.chunked_array([pa.array(["u", None, "v", "u"]).dictionary_encode()])
    with pytest.raises(ValueError, match="row 1 has the label None"):
        electorate.AdaBoostClassifier().fit(pa.table({"a": [1.0, 2.0, 3.0, 4.0]}), y)
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,u\n2,3,\n3,1,v\n" * 4)
    assert main(["fit", "t.csv", "--target", "y", "--out", "m", "--scan", "always"]) == 1
    assert "t.csv, line 3: the target 'y' is empty" in capsys.readouterr().err


def test_certify_scans_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i},{'uv'[i % 2]}\n" for i in range(20)))
    assert main(["fit", "t.csv", "--target", "y", "--out", "m", "--set", "n_estimators=2", "--no-check-up"]) == 0
    (tmp_path / "parts").mkdir()
    for part in range(2):
        labels = pa.array(["uv"[i % 2] for i in range(10)])
        table = pa.table({"a": [100.5 + 10 * part + i for i in range(10)], "y": labels})
        pyarrow.parquet.write_table(table, tmp_path / "parts" / f"{part}.parquet")
    assert main(["certify", "m", "--heldout", "parts", "--target", "y"]) == 0
    assert "of 20]" in capsys.readouterr().out
