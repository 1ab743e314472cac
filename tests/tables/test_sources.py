"""The sources of a scan: whatever a table comes from, its model is that of the table in memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from electorate import AdaBoostClassifier, scan
from electorate.tables.batches import prefetched

MODEL = AdaBoostClassifier(n_estimators=5)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Numbers, whole numbers, texts and missing values."""
    rng = np.random.default_rng(0)
    n = 400
    numbers = rng.normal(size=n)
    texts = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, n)]
    label = np.where(numbers + (texts == "red") + rng.normal(size=n) > 0.3, "yes", "no")
    columns = {
        "number": pa.array(np.where(rng.random(n) < 0.1, np.nan, numbers), from_pandas=True),
        "whole": rng.integers(0, 40, n),
        "text": pa.array(np.where(rng.random(n) < 0.1, None, texts)),
        "label": label,
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def digest(table: pa.Table) -> str:
    return str(MODEL.fit(table.drop_columns("label"), table.column("label")).digest_)


def one_parquet(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "rows.parquet", row_group_size=90)
    return folder / "rows.parquet"


def parquet_folder(table: pa.Table, folder: Path) -> Any:
    """Files in another order than the rows."""
    for number, name in enumerate(("c", "a", "b")):
        pq.write_table(table.slice(number * 140, 140), folder / f"{name}.parquet", row_group_size=1000)
    return str(folder)


def parquet_pattern(table: pa.Table, folder: Path) -> Any:
    parquet_folder(table, folder)
    return str(folder / "*.parquet")


def parquet_dataset(table: pa.Table, folder: Path) -> Any:
    return ds.dataset(parquet_folder(table, folder))


def hive_folder(table: pa.Table, folder: Path) -> Any:
    """One column is in the names of folders."""
    ds.write_dataset(table, folder, format="parquet", partitioning=["label"], partitioning_flavor="hive")
    return folder


def arrow_file(table: pa.Table, folder: Path) -> Any:
    pyarrow.feather.write_feather(table, folder / "rows.arrow", chunksize=70)
    return folder / "rows.arrow"


def csv_file(table: pa.Table, folder: Path) -> Any:
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv"


def duckdb_relation(table: pa.Table, folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(table)


def polars_lazy(table: pa.Table, folder: Path) -> Any:
    pl = pytest.importorskip("polars")
    return pl.from_arrow(table).lazy()


def arrow_stream(table: pa.Table, folder: Path) -> Any:
    return table


def function_of_pandas(table: pa.Table, folder: Path) -> Any:
    frame = table.to_pandas()
    return lambda: (frame.iloc[low : low + 77] for low in range(0, len(frame), 77))


def function_of_record_batches(table: pa.Table, folder: Path) -> Any:
    """Some of them empty."""
    return lambda: [batch for part in table.to_batches(50) for batch in (part.slice(0, 0), part)]


SOURCES = (
    *(one_parquet, parquet_folder, parquet_pattern, parquet_dataset, hive_folder, arrow_file, csv_file),
    *(duckdb_relation, polars_lazy, arrow_stream, function_of_pandas, function_of_record_batches),
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_the_model_is_that_of_the_table(
    source: Callable[[pa.Table, Path], Any], table: pa.Table, digest: str, tmp_path: Path
) -> None:
    X, y = scan(source(table, tmp_path), target="label", batch_rows=64)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    assert model.digest_ == digest
    assert sorted(model.predict(X)) == sorted(model.predict(table.drop_columns("label")))


def test_dictionaries_with_a_new_category_in_a_late_row_group(table: pa.Table, tmp_path: Path) -> None:
    """A dictionary column has other values in every row group, and one of them first appears at the end."""
    texts = table.column("text").to_pylist()[:-20] + ["violet"] * 20
    plain = table.set_column(2, "text", pa.array(texts))
    pq.write_table(
        plain.set_column(2, "text", pa.array(texts).dictionary_encode()), tmp_path / "d.parquet", row_group_size=60
    )
    X, y = scan(tmp_path / "d.parquet", target="label")
    expected = AdaBoostClassifier(n_estimators=5).fit(plain.drop_columns("label"), plain.column("label"))
    assert AdaBoostClassifier(n_estimators=5).fit(X, y).digest_ == expected.digest_
    assert "violet" in expected.bins_.categories[2].levels


def test_filters_and_columns(table: pa.Table, tmp_path: Path) -> None:
    path = one_parquet(table, tmp_path)
    kept = table.filter(pa.compute.field("whole") > 10)
    expected = AdaBoostClassifier(n_estimators=5).fit(kept.select(["text", "number"]), kept.column("label"))
    for filters in ([("whole", ">", 10)], pa.compute.field("whole") > 10):
        X, y = scan(path, target="label", columns=["text", "number"], filters=filters)
        assert AdaBoostClassifier(n_estimators=5).fit(X, y).digest_ == expected.digest_


def test_arrays_and_memory_maps(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=(300, 3)), rng.integers(0, 3, 300), rng.random(300)]).astype(np.float32)
    labels = (rows[:, 0] > 0).astype(np.int8)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "labels.npy", labels)
    expected = AdaBoostClassifier(n_estimators=5).fit(rows, labels)
    for source in (rows, np.load(tmp_path / "rows.npy", mmap_mode="r"), str(tmp_path / "rows.npy")):
        for target in (labels, str(tmp_path / "labels.npy")):
            X, y = scan(source, target=target, batch_rows=100)
            assert AdaBoostClassifier(n_estimators=5).fit(X, y).digest_ == expected.digest_
    X, y, w = scan(rows, target=3, weights=-1)
    weighed = AdaBoostClassifier(n_estimators=5).fit(rows[:, :3], rows[:, 3], rows[:, 4])
    assert AdaBoostClassifier(n_estimators=5).fit(X, y, w).digest_ == weighed.digest_


def test_csv_columns_are_settled_by_all_cells(tmp_path: Path) -> None:
    """A column of numbers for a long time, and then a text; a column that is empty for a long time; whole labels."""
    n = 3000
    late = [str(k % 7) for k in range(n - 400)] + ["seven"] * 400
    empty = [""] * (n - 300) + [str(k / 8) for k in range(300)]
    lines = [f"{a},{b},{k % 2}" for k, (a, b) in enumerate(zip(late, empty, strict=True))]
    path = tmp_path / "rows.csv"
    path.write_text("late,empty,label\n" + "\n".join(lines) + "\n")
    X, y = scan(path, target="label")
    assert X.empty().category_columns() == [0]
    assert y.to_numpy().dtype == np.int64
    assert len(y.to_numpy()) == n


def test_a_source_that_cannot_be_read_again_is_refused(table: pa.Table) -> None:
    with pytest.raises(TypeError, match="an iterator can be read once"):
        scan(iter(table.to_batches()), target="label")
    with pytest.raises(TypeError, match="RecordBatchReader can be read once"):
        scan(table.to_reader(), target="label")
    with pytest.raises(TypeError, match="cannot read an object of type int"):
        scan(3)


def test_columns_that_are_not_there(table: pa.Table) -> None:
    with pytest.raises(ValueError, match=r"target: .* has no column 'lable'; did you mean 'label'"):
        scan(table, target="lable")
    with pytest.raises(ValueError, match="columns: 'label' is the target"):
        scan(table, target="label", columns=["label", "text"])
    with pytest.raises(ValueError, match="no column is left for X"):
        scan(table.select(["label"]), target="label")
    with pytest.raises(ValueError, match="the columns 0 to 2"):
        scan(np.zeros((4, 3)), target=3)
    with pytest.raises(ValueError, match="filters are for Parquet"):
        scan(np.zeros((4, 3)), target=0, filters=[("a", ">", 1)])
    with pytest.raises(ValueError, match="batch_rows=0"):
        scan(table, batch_rows=0)
    with pytest.raises(FileNotFoundError, match="none matches"):
        scan("no such file.parquet")


# ---------------------------------------------------------------- damaged sources


def test_a_truncated_parquet_file(table: pa.Table, tmp_path: Path) -> None:
    path = Path(one_parquet(table, tmp_path))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"rows\.parquet: this is not a Parquet file, or it is damaged"):
        scan(path, target="label")


def test_a_damaged_row_group_is_named(tmp_path: Path) -> None:
    """The pages of the third row group are overwritten; what the file says of itself is whole."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=300), "label": rng.integers(0, 2, 300)})
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=100, use_dictionary=False, compression="NONE")
    column = pq.ParquetFile(path).metadata.row_group(2).column(0)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset : column.data_page_offset + 20] = b"\xff" * 20
    path.write_bytes(content)
    X, y = scan(path, target="label")
    with pytest.raises(ValueError, match=r"rows\.parquet, row group 2: .*damaged"):
        AdaBoostClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": [1.0], "label": [0], "more": [1]}, "batch 1 of the batches has the column 'more'"),
        ({"label": [0]}, "batch 1 of the batches lacks the column 'x'"),
        ({"x": ["one"], "label": [0]}, "batch 1 of the batches: column 'x' holds texts, expected numbers"),
    ],
)
def test_a_batch_with_other_columns_or_types(second: dict[str, Any], message: str) -> None:
    first = pa.table({"x": [1.0, 2.0, 3.0], "label": [0, 1, 1]})
    X, y = scan(lambda: [first, pa.table(second)], target="label")
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier().fit(X, y)


def test_a_file_with_other_types_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 2.0], "label": [0, 1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["one", "two"], "label": [0, 1]}), tmp_path / "b.parquet")
    X, y = scan(tmp_path, target="label")
    with pytest.raises(ValueError, match=r"b\.parquet: column 'x' holds texts, expected numbers"):
        AdaBoostClassifier().fit(X, y)


def test_an_infinite_number_is_found(tmp_path: Path) -> None:
    x = np.arange(300.0)
    x[250] = np.inf
    pq.write_table(pa.table({"x": x, "label": np.arange(300) % 2}), tmp_path / "a.parquet", row_group_size=100)
    X, y = scan(tmp_path / "a.parquet", target="label")
    with pytest.raises(ValueError, match=r"column 'x', row 50.*counted from the start of .*a\.parquet, row group 2"):
        AdaBoostClassifier().fit(X, y)


def test_batches_that_are_read_ahead() -> None:
    """In order; an error comes after what was read before it; a reader that is left ends its thread."""
    assert list(prefetched(range(50))) == list(range(50))

    def failing() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError("in the thread")

    reader = prefetched(failing())
    assert next(reader) == 1
    with pytest.raises(ZeroDivisionError, match="in the thread"):
        next(reader)
    numbers = prefetched(range(10**9))
    assert next(numbers) == 0
    numbers.close()
