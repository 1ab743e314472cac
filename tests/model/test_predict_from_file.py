"""Labels from a model file without its estimator, and the parts a stream is predicted in.

The short way gives the predictions of the estimator: the votes are compared to the bit.
"""

import csv
import io
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from test_ensemble import hard_rows, some_ensemble
from training_cases import noisy

import electorate
from electorate.cli import main
from electorate.data.bins import reader
from electorate.model import predict_from_file
from electorate.model.predict_from_file import Crossing, StumpTables
from electorate.modelfile import ModelFormatError
from electorate.registry import ALGORITHMS
from electorate.tables import text as text_tables
from electorate.tables.reading import count_threads, in_order
from electorate.tables.source import Source, TableError
from electorate.tables.writing import column
from electorate.threads import ThreadPool

properties = settings(max_examples=40, derandomize=True, deadline=None)
HOME = str(Path(electorate.__file__).parent.parent)


# ---------------------------------------------------------------- the same votes


def as_read(frame: pd.DataFrame) -> pa.Table:
    """The frame as a stream has it: float64, and dictionaries of texts."""
    columns = {}
    for name in frame:
        if frame[name].dtype.kind in "if":
            columns[name] = pa.array(frame[name].astype(float), pa.float64(), from_pandas=True)
        else:
            texts = [None if pd.isna(value) else str(value) for value in frame[name]]
            columns[name] = pa.array(texts, pa.string()).dictionary_encode()
    return pa.table(columns)


def criterion(kind: str) -> str:
    return "edge" if kind in ("QuadBoostClassifier", "VadaBoostClassifier") else "gini"


CLASSIFIERS = [name for name, algorithm in ALGORITHMS.items() if algorithm.is_classifier]
BY_TREES = [name for name in CLASSIFIERS if name != "EBBoostClassifier"]  # which enumerates its voters
MODELS = {
    **{name: {} for name in CLASSIFIERS},
    **{f"{name}, trees": {"estimator": electorate.Trees(3, criterion=criterion(name))} for name in BY_TREES},
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_short_way_says_what_the_estimator_says(kind: str, n_classes: int, tmp_path: Path) -> None:
    X, y = noisy(n_classes)
    rounds = {"n_estimators": 12} if "n_estimators" in getattr(electorate, kind.split(",")[0])().get_params() else {}
    model = getattr(electorate, kind.split(",")[0])(**MODELS[kind], **rounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y).save(tmp_path / "m")
    again = predict_from_file.read_quickly(tmp_path / "m")
    assert again is not None
    table = as_read(X)
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(X))
    odd = X.assign(kind=["never seen", *X["kind"][1:]], a=np.nan)
    np.testing.assert_array_equal(again.decision_function(as_read(odd)), model.decision_function(odd))
    np.testing.assert_array_equal(  # columns of other types
        again.decision_function(pa.Table.from_pandas(X, preserve_index=False)), model.decision_function(X)
    )


def test_all_classifiers_have_the_short_way() -> None:
    votes = {algorithm.vote for algorithm in ALGORITHMS.values() if algorithm.is_classifier}
    assert votes == set(predict_from_file.DECIDE)


def test_one_class_and_no_voters(tmp_path: Path) -> None:
    X, _ = noisy(2)
    model = electorate.AdaBoostClassifier().fit(X, np.full(len(X), "always"))
    model.save(tmp_path / "m")
    again = predict_from_file.read_quickly(tmp_path / "m")
    assert again is not None
    np.testing.assert_array_equal(again.decision_function(as_read(X)), model.decision_function(X))


def test_number_categories_and_many_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"code": rng.integers(0, 300, 2000).astype(float), "x": rng.normal(size=2000)})
    frame.loc[::17, "code"] = np.nan
    y = (frame["code"] % 3 == 0) ^ (rng.random(2000) < 0.1)
    model = electorate.AdaBoostClassifier(electorate.Trees(3), categorical_features=["code"]).fit(frame, y)
    model.save(tmp_path / "m")
    again = predict_from_file.read_quickly(tmp_path / "m")
    assert again is not None
    unseen = frame.assign(code=frame["code"] + 150)
    for rows in (frame, unseen):
        np.testing.assert_array_equal(again.decision_function(as_read(rows)), model.decision_function(rows))


def test_what_the_short_way_leaves_to_others(tmp_path: Path) -> None:
    X, y = noisy(2)
    numbers = X[["a", "b", "c"]].fillna(0.0)
    electorate.MedBoostRegressor(n_estimators=3).fit(numbers, numbers["a"]).save(tmp_path / "median")
    rows = electorate.KernelSections()
    electorate.RealAdaBoostClassifier(rows, n_estimators=3).fit(numbers, y).save(tmp_path / "rows")
    assert predict_from_file.read_quickly(tmp_path / "median") is None
    assert predict_from_file.read_quickly(tmp_path / "rows") is None
    (tmp_path / "damaged").write_bytes((tmp_path / "rows").read_bytes()[:-5])
    with pytest.raises(ModelFormatError, match="cut short"):
        predict_from_file.read_quickly(tmp_path / "damaged")


@properties
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_byte_votes_of_random_stumps(seed: int, labels: int) -> None:
    ensemble, bins, _ = some_ensemble(seed, labels)
    block = hard_rows(bins, np.random.default_rng(seed))
    block[np.isinf(block)] = np.nan
    expected = ensemble.votes(block.shape[1], lambda low, high: block[:, low:high], ThreadPool(1))
    assert ensemble.masks is not None
    asked = zip(ensemble.cells.columns.tolist(), ensemble.cells.edges, strict=True)
    cells = [
        predict_from_file.code_cells(block[j])
        if j in bins.categories
        else predict_from_file.count_below(edges, block[j])
        for j, edges in asked
    ]
    stacked = np.array(cells, dtype=np.uint8).reshape(-1, block.shape[1])
    for voting in (
        StumpTables.of(ensemble),
        Crossing(ensemble, ensemble.masks, bins),
    ):
        votes = np.zeros_like(expected)
        voting.add(stacked, votes)
        np.testing.assert_array_equal(votes, expected)


@pytest.mark.parametrize("depth", [1, 2, 4, 6])
def test_byte_votes_of_deep_trees(depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 64 leaves, in eight bytes; large models go by the kernels, and say the same."""
    X, y = noisy(3, n=1500)
    model = electorate.AdaBoostClassifier(electorate.Trees(depth, min_samples_leaf=1), n_estimators=8).fit(X, y)
    model.save(tmp_path / "m")
    expected = model.decision_function(X)
    for limit in (10**6, 0):
        monkeypatch.setattr(predict_from_file, "FEW_NODES", limit)
        again = predict_from_file.read_quickly(tmp_path / "m")
        assert again is not None
        assert (again._voting is None) == (limit == 0)
        np.testing.assert_array_equal(again.decision_function(as_read(X)), expected)


@pytest.mark.parametrize("n_edges", [0, 1, predict_from_file.COUNTED, predict_from_file.COUNTED + 1, 254])
def test_cells_by_counting_and_by_searching(n_edges: int) -> None:
    rng = np.random.default_rng(n_edges)
    edges = np.unique(rng.integers(-400, 400, n_edges) / 4)
    values = np.concatenate([rng.normal(0, 60, 500), edges, [np.nan, -1e308, 1e308]])
    expected = [255 if np.isnan(v) else sum(e < v for e in edges) for v in values]
    assert predict_from_file.count_below(edges, values).tolist() == expected


def test_parts_with_gaps_are_read_from_their_own_memory() -> None:
    """Slices of a column begin anywhere, and their bits of validity do, too."""
    rng = np.random.default_rng(0)
    numbers = [None if rng.random() < 0.3 else float(rng.normal()) for _ in range(100)]
    texts = [None if rng.random() < 0.3 else f"t{rng.integers(5)}" for _ in range(100)]
    whole = pa.table({"n": pa.array(numbers, pa.float64()), "t": pa.array(texts).dictionary_encode()})
    from electorate.data.table import ArrowTable, Categories, read_table

    known = {1: Categories(np.array(["t1", "t3"], dtype=object), ("t4",))}
    for first, length in ((0, 100), (3, 50), (61, 39), (99, 1)):
        part = whole.slice(first, length)
        assert ArrowTable.fits(part)
        mine, theirs = (reader(table, known) for table in (ArrowTable(part), read_table(part)))
        np.testing.assert_array_equal(mine(0, length), theirs(0, length))
    assert not ArrowTable.fits(pa.table({"n": pa.array([1, 2])}))
    numbers_as_texts = pa.table({"c": pa.array([2.0, 1.5, None, 7.0])})
    known = {0: Categories(np.array(["1.5", "2.0"], dtype=object))}
    mine, theirs = (reader(make(numbers_as_texts), known) for make in (ArrowTable, read_table))
    np.testing.assert_array_equal(mine(0, 4), theirs(0, 4))


# ---------------------------------------------------------------- what is imported


@pytest.mark.parametrize("kind", [str, object, bool, np.int8, np.int64, np.uint64, np.float32])
def test_labels_of_every_type_as_columns(kind: Any) -> None:
    given = {str: ["a", "é", ""], object: ["x", "y"], bool: [False, True]}.get(kind, [0, 3, 100])
    values = np.array(given, dtype=kind)
    made = column(values)
    assert made.to_pylist() == values.tolist()
    assert made.type == pa.array(values.tolist()).type or kind is np.uint64


@pytest.mark.process
@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True)])
def test_predicting_imports_no_more_than_it_needs(tmp_path: Path, labels: tuple[Any, Any]) -> None:
    X, y = noisy(2)
    y = np.array(labels)[(y == "yes").astype(int)]
    electorate.AdaBoostClassifier(n_estimators=5).fit(X, y).save(tmp_path / "m")
    X.to_csv(tmp_path / "t.csv", index=False)
    program = (
        "import sys; from electorate.cli import main;"
        f"assert main(['predict', {str(tmp_path / 'm')!r}, {str(tmp_path / 't.csv')!r}, '--out', "
        f"{str(tmp_path / 'p.csv')!r}]) == 0;"
        "print([name for name in ('sklearn', 'scipy', 'pandas', 'narwhals') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=HOME, check=True, text=True)
    assert done.stdout.strip() == "[]"
    output = pd.read_csv(tmp_path / "p.csv")["prediction"]
    np.testing.assert_array_equal(output, electorate.load(tmp_path / "m").predict(X))


@pytest.mark.process
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "arrow"])
def test_every_format_in_a_process_of_its_own(ending: str, tmp_path: Path) -> None:
    """What pyarrow offers depends on what was imported before."""
    X, y = noisy(2)
    electorate.AdaBoostClassifier(n_estimators=5).fit(X, y).save(tmp_path / "m")
    table = tmp_path / f"t.{ending}"
    if ending == "parquet":
        X.to_parquet(table)
    elif ending == "arrow":
        X.to_feather(table, compression="uncompressed")
    else:
        X.to_csv(table, index=False, sep="\t" if ending == "tsv" else ",")
    out = tmp_path / f"p.{ending}"
    order = ["predict", str(tmp_path / "m"), str(table), "--out", str(out), "--keep", "kind"]
    subprocess.run([sys.executable, "-m", "electorate", *order], cwd=HOME, check=True, capture_output=True)
    read = {"parquet": pd.read_parquet, "arrow": pd.read_feather, "tsv": pd.read_table}.get(ending, pd.read_csv)
    output = read(out)
    np.testing.assert_array_equal(output["prediction"], electorate.load(tmp_path / "m").predict(X))
    assert output["kind"].dropna().tolist() == X["kind"].dropna().tolist()


# ---------------------------------------------------------------- blocks of whole rows


cell = st.text(st.sampled_from('ab,"\n\r é'), max_size=6)


@properties
@given(st.lists(st.lists(cell, min_size=3, max_size=3), max_size=30), st.integers(1, 40), st.booleans())
def test_blocks_hold_whole_rows(rows: list[list[str]], size: int, ended: bool) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    text = out.getvalue().encode()
    text = text if ended else text.rstrip(b"\r\n")
    found = list(parts_of(text, size))
    assert b"".join(found) == text
    again = [row for part in found for row in csv.reader(io.StringIO(part.decode(), newline=""))]
    assert again == rows


class Slow(io.BytesIO):
    """Returns at most `size` bytes of a read."""

    def __init__(self, text: bytes, size: int) -> None:
        super().__init__(text)
        self.size = size

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.size)


class Given(Source):
    """A text table of one column, below its header."""

    def open(self) -> Any:
        return Slow(b"a\n" + self.path.encode("latin-1"), self.types["size"])


def parts_of(text: bytes, size: int) -> Any:
    for block in text_tables.TextTable(Given(text.decode("latin-1"), "csv", {"size": size})).blocks():
        yield bytes(block.text)


def test_a_quote_that_is_none_does_not_take_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_CELL", 1000)
    text = b'pipe 5" wide,1\n' + b"abc,2\n" * 2000
    found = list(parts_of(text, 100))
    assert b"".join(found) == text
    assert max(map(len, found)) < 1300


def test_a_row_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_LINE", 1000)
    with pytest.raises(TableError, match="longer than"):
        list(parts_of(b"a" * 5000, 100))


def test_line_breaks_in_cells_across_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(2)
    X["kind"] = [None if pd.isna(text) else text.replace(" ", "\n") for text in X["kind"]]
    model = electorate.AdaBoostClassifier(n_estimators=10).fit(X, y)
    model.save(tmp_path / "m")
    X.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(text_tables, "BLOCK", 257)
    for keep in ([], ["--keep", "kind"]):
        assert main(["predict", str(tmp_path / "m"), str(tmp_path / "t.csv"), "--out", str(tmp_path / "p"), *keep]) == 0
        output = pd.read_csv(tmp_path / "p")
        np.testing.assert_array_equal(output["prediction"], model.predict(X))
    assert output["kind"].dropna().tolist() == X["kind"].dropna().tolist()


def test_an_infinite_number_in_a_later_part_is_named_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    X, y = noisy(2)
    electorate.AdaBoostClassifier(n_estimators=10).fit(X, y).save(tmp_path / "m")
    X.loc[200, "c"] = np.inf
    X.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(text_tables, "BLOCK", 257)
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "t.csv"), "--out", str(tmp_path / "p")]) == 1
    output = capsys.readouterr().err
    assert "t.csv, line 202: column 'c'" in output
    assert not (tmp_path / "p").exists()


# ---------------------------------------------------------------- in order


def test_results_come_in_order_and_few_parts_wait() -> None:
    begun: list[int] = []

    def parts() -> Any:
        for number in range(100):
            begun.append(number)
            yield number

    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    for place, result in enumerate(in_order(work, parts())):
        assert result == place * place
        assert len(begun) <= place + 2 + 2 * count_threads()


def test_an_error_comes_where_its_result_would() -> None:
    def work(number: int) -> int:
        if number == 5:
            raise OSError("the disk is gone")
        return number

    got: list[int] = []
    results = in_order(work, range(50))
    got += [next(results) for _ in range(5)]
    with pytest.raises(OSError, match="gone"):
        next(results)
    assert got == list(range(5))


def test_threads_end_when_nobody_asks_any_more() -> None:
    running = threading.active_count()
    for result in in_order(lambda number: number, range(1000)):
        if result == 3:
            break
    until = time.monotonic() + 10
    while threading.active_count() > running and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= running
