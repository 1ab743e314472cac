"""Fits to scanned tables: equal digests, what is refused, tables that change, full disks, checkpoints."""

import errno
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    CertifiedClassifier,
    Checkpoint,
    Columns,
    DeepBoostClassifier,
    EBBoostClassifier,
    LocMedBoostRegressor,
    LPBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    RLPBoostClassifier,
    Rules,
    Trees,
    Union,
    VadaBoostClassifier,
    certificate,
    check_up,
    explain,
    load,
    scan,
)
from electorate.data import seen_rows
from electorate.data.seen_rows import SeenSample
from electorate.engines import disk
from electorate.engines.verbs import LocalShards
from electorate.training import scanned_place


def frame(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Numbers with missing values, texts, labels, targets, and weights of both kinds."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 3))
    text = np.array(["red", "green", "blue", None], dtype=object)[rng.integers(0, 4, n)]
    score = numbers[:, 0] + numbers[:, 1] ** 2 + (text == "red")
    return pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.1, np.nan, numbers[:, 0]),
            "b": numbers[:, 1],
            "c": np.rint(4 * numbers[:, 2]),
            "text": text,
            "label": np.digitize(score + 0.5 * rng.normal(size=n), [0.5, 1.8]),
            "two": (score + rng.normal(size=n) > 1).astype(int),
            "target": score + 0.3 * rng.normal(size=n),
            "whole": rng.integers(0, 4, n),
            "real": rng.uniform(0.1, 1, n),
        }
    )


FEATURES = ["a", "b", "c", "text"]
ROWS = frame()


def batches_of(rows: pd.DataFrame, sizes: list[int]) -> Any:
    """A function that returns batches of these sizes, and the rest of the rows."""
    ends = [0, *np.minimum(np.cumsum(sizes), len(rows)).tolist(), len(rows)]

    def batches() -> Iterator[pd.DataFrame]:
        return (rows.iloc[low:high] for low, high in pairwise(ends))

    return batches


def scanned(target: str, weights: str | None = None, rows: pd.DataFrame = ROWS, **options: Any) -> Any:
    source = options.pop("source", batches_of(rows, [40, 0, 100, 1]))
    return scan(source, target=target, weights=weights, columns=FEATURES, **options)


def in_memory(model: Any, target: str, weights: str | None = None, rows: pd.DataFrame = ROWS) -> Any:
    return clone(model).fit(rows[FEATURES], rows[target], None if weights is None else rows[weights])


def check_same(model: Any, target: str, weights: str | None = None, **options: Any) -> None:
    here = in_memory(model, target, weights)
    there = clone(model)
    there._n_shards = 3
    X, y, *w = scanned(target, weights, **options)
    there.fit(X, y, *w)
    assert there.digest_ == here.digest_
    np.testing.assert_array_equal(there.predict(X), here.predict(ROWS[FEATURES]))
    assert there.score(X, y, *w) == here.score(ROWS[FEATURES], ROWS[target], ROWS[weights] if weights else None)


# ---------------------------------------------------------------- the same model

TWO_LABELS = [
    AdaBoostRClassifier(n_estimators=4),
    VadaBoostClassifier(n_estimators=4),
    EBBoostClassifier(n_estimators=4),
    DeepBoostClassifier(Trees(2), n_estimators=4),
    RealAdaBoostClassifier(Trees(2), n_estimators=4),
    AdaBoostClassifier(PairedStumps(), n_estimators=3),
    AdaBoostClassifier(Rules(2), n_estimators=3),
    AdaBoostClassifier(Union([Trees(1), Rules(2)]), n_estimators=3),
    AdaBoostClassifier(Trees(None, min_samples_leaf=10), n_estimators=2),
    AdaBoostClassifier(max_bins="exact", n_estimators=3),
    QuadBoostClassifier(Pool(5), n_estimators=5),
]
SEVERAL_LABELS = [
    AdaBoostClassifier(Trees(3), n_estimators=4),
    RealAdaBoostClassifier(n_estimators=4),
    AdaBoostRClassifier(n_estimators=2),
]
REGRESSORS = [
    MedBoostRegressor(n_estimators=4),
    LocMedBoostRegressor(n_estimators=3),
    AdaBoostRegressor(n_estimators=4),
]


@pytest.mark.parametrize("weights", [None, "whole"])
@pytest.mark.parametrize("model", TWO_LABELS, ids=repr)
def test_two_labels(model: Any, weights: str | None) -> None:
    check_same(model, "two", weights)


@pytest.mark.parametrize("model", SEVERAL_LABELS, ids=repr)
def test_several_labels(model: Any) -> None:
    check_same(model, "label", "real")


@pytest.mark.parametrize("weights", [None, "whole"])
@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressors(model: Any, weights: str | None) -> None:
    check_same(model, "target", weights)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (AdaBoostClassifier(Trees(2), n_estimators=4), "two"),
        (VadaBoostClassifier(n_estimators=3), "two"),
        *((model, "target") for model in REGRESSORS),
    ],
)
def test_temporary_files(model: Any, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model from bins and state in files, which have no names."""
    found = []
    call = disk.TemporaryFiles.__call__

    def called(self: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        array = call(self, shape, dtype)
        found.append(list(tmp_path.iterdir()))
        return array

    monkeypatch.setattr(disk.TemporaryFiles, "__call__", called)
    check_same(model, target, memory=1, folder=tmp_path)
    assert len(found) > 6
    assert not any(found)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(0, 90), max_size=8),
    seed=st.integers(0, 2**32 - 1),
    shards=st.integers(1, 6),
    stopping=st.booleans(),
    weights=st.sampled_from([None, "whole", "real"]),
)
def test_any_batches_in_any_order(
    sizes: list[int], seed: int, shards: int, stopping: bool, weights: str | None
) -> None:
    model = AdaBoostClassifier(n_estimators=4, early_stopping=stopping, random_state=0)
    order = np.random.default_rng(seed).permutation(len(ROWS))
    there = clone(model)
    there._n_shards = shards
    there.fit(*scanned("label", weights, source=batches_of(ROWS.iloc[order], sizes)))
    assert there.digest_ == in_memory(model, "label", weights).digest_


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (RealAdaBoostClassifier(early_stopping=True, n_estimators=30, n_iter_no_change=2, random_state=1), "two"),
        (AdaBoostClassifier(class_weight="balanced", n_estimators=4), "label"),
        (AdaBoostClassifier(class_weight={0: 2, 1: 0.3, 2: 0}, n_estimators=4), "label"),
        (AdaBoostClassifier(categorical_features=["c", "text"], n_estimators=4), "two"),
        (MedBoostRegressor(early_stopping=True, n_estimators=10, n_iter_no_change=2, random_state=1), "target"),
        (DeepBoostClassifier(early_stopping=True, n_estimators=5, random_state=0), "two"),
    ],
)
def test_options(model: Any, target: str) -> None:
    check_same(model, target, "whole")


def test_validation_rows_of_another_scan() -> None:
    other = frame(120, 5)
    model = AdaBoostClassifier(n_estimators=40, early_stopping=True, n_iter_no_change=2)
    X_val, y_val, w_val = scanned("label", "real", rows=other)
    X, y, w = scanned("label", "real")
    there = clone(model).fit(X, y, w, X_val=X_val, y_val=y_val, sample_weight_val=w_val)
    here = clone(model).fit(
        *(ROWS[FEATURES], ROWS["label"], ROWS["real"]),
        X_val=other[FEATURES],
        y_val=other["label"],
        sample_weight_val=other["real"],
    )
    assert there.digest_ == here.digest_
    np.testing.assert_array_equal(there.history_["validation"], here.history_["validation"])


def test_a_column_without_any_text_is_hashed_as_in_memory() -> None:
    """For the validation rows, which are drawn by the contents of rows."""
    rows = ROWS.assign(text=pd.Series([None] * len(ROWS), dtype=object))
    model = AdaBoostClassifier(n_estimators=20, early_stopping=True, n_iter_no_change=3, random_state=0)
    there = clone(model).fit(*scanned("two", rows=rows))
    assert there.digest_ == in_memory(model, "two", rows=rows).digest_


def test_text_labels_and_probabilities() -> None:
    rows = ROWS.assign(label=np.array(["no", "perhaps", "yes"], dtype=object)[ROWS["label"]])
    X, y = scanned("label", rows=rows)
    model = AdaBoostClassifier(Trees(2), n_estimators=3).fit(X, y)
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(rows[FEATURES]))
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(rows[FEATURES]))


def test_warm_start() -> None:
    X, y = scanned("two")
    model = AdaBoostClassifier(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    assert model.digest_ == in_memory(AdaBoostClassifier(n_estimators=6), "two").digest_


def test_a_fit_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    """After a fault in the middle, also in files; the second start replays the rounds that there are."""

    class Stops(io.StringIO):
        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    from electorate import ProgressBar

    path, model = tmp_path / "checkpoint", AdaBoostClassifier(Trees(2), n_estimators=6)
    first = clone(model).set_params(n_estimators=3).set_callbacks(Checkpoint(path))
    first.fit(*scanned("two", memory=1, folder=tmp_path))
    second = clone(model).set_callbacks(Checkpoint(path), ProgressBar(Stops(), every=0))
    with pytest.raises(KeyboardInterrupt):
        second.fit(*scanned("two"))
    third = clone(model).set_callbacks(Checkpoint(path)).fit(*scanned("two"))
    assert third.digest_ == in_memory(model, "two").digest_


KILLED = """
import io, os, signal, sys
import numpy as np
from electorate import AdaBoostClassifier, Checkpoint, ProgressBar, scan

class Kills(io.StringIO):
    def write(self, text):
        if "round 4/" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

folder = sys.argv[1]
rows = np.load(os.path.join(folder, "rows.npy"))
X, y = scan(rows, target=-1, memory=1, folder=os.path.join(folder, "files"))
callbacks = Checkpoint(os.path.join(folder, "checkpoint"), every=1), ProgressBar(Kills(), every=0)
AdaBoostClassifier(n_estimators=8).set_callbacks(*callbacks).fit(X, y)
"""


@pytest.mark.process
def test_a_killed_process_leaves_no_files_and_resumes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 4))
    rows[:, 3] = rows[:, 0] + rows[:, 1] > rng.normal(size=500)
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "files").mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=os.environ, check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert list((tmp_path / "files").iterdir()) == []
    model = AdaBoostClassifier(n_estimators=8)
    resumed = clone(model).set_callbacks(Checkpoint(tmp_path / "checkpoint"))
    assert load(tmp_path / "checkpoint").history_["step"].shape == (4,)
    resumed.fit(*scan(rows, target=-1))
    assert resumed.digest_ == model.fit(rows[:, :3], rows[:, 3]).digest_


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LPBoostClassifier(), "LPBoostClassifier"),
        (RLPBoostClassifier(), "RLPBoostClassifier"),
        (QuadBoostRegressor(), "QuadBoostRegressor"),
        (CertifiedClassifier(), "CertifiedClassifier"),
        (AdaBoostClassifier(DecisionTreeClassifier()), "DecisionTreeClassifier"),
        (AdaBoostClassifier(Columns()), "Columns"),
    ],
)
def test_what_needs_every_row_says_so_before_any_work(model: Any, name: str) -> None:
    X, y = scanned("two")

    def fail() -> Any:
        raise AssertionError("rows are read")

    X.source.function = fail
    with pytest.raises(TypeError, match=f"{name} needs every row in .*X is a scanned table"):
        model.fit(X, y)


def test_functions_that_need_every_row_say_so() -> None:
    X, y = scanned("two")
    for name, call in {"check_up": check_up, "explain": lambda X, y: explain(None, X)}.items():
        with pytest.raises(TypeError, match=f"{name} needs every row in .*X is a scanned table"):
            call(X, y)


def test_a_gpu_is_refused() -> None:
    with pytest.raises(TypeError, match="device='cuda': X is a scanned table"):
        AdaBoostClassifier(device="cuda").fit(*scanned("two"))


def test_columns_of_another_scan_are_refused() -> None:
    X, y = scanned("two")
    model = AdaBoostClassifier()
    for other in (ROWS["two"], scanned("two")[1]):
        with pytest.raises(TypeError, match="y is no column of the same scan"):
            model.fit(X, other)
    with pytest.raises(TypeError, match="sample_weight is no column of the same scan"):
        model.fit(X, y, ROWS["real"])
    with pytest.raises(TypeError, match="X_val is DataFrame: scan it too"):
        AdaBoostClassifier(early_stopping=True).fit(X, y, X_val=ROWS[FEATURES], y_val=ROWS["two"])
    with pytest.raises(ValueError, match="y is None"):
        model.fit(X, None)


def test_no_rows_and_missing_labels() -> None:
    with pytest.raises(ValueError, match="X has no rows"):
        AdaBoostClassifier().fit(*scanned("two", rows=ROWS.iloc[:0]))
    rows = ROWS.assign(two=ROWS["two"].astype(float).where(ROWS.index != 150))
    with pytest.raises(ValueError, match=r"row 9 has the label nan.*counted from the start of batch 4"):
        AdaBoostClassifier().fit(*scanned("two", rows=rows))


# ---------------------------------------------------------------- tables that change, and full disks


def test_a_file_that_changes_between_two_passes(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(ROWS), path)
    X, y = scan(path, target="two", columns=FEATURES)
    read = X.source.batches

    def batches(columns: list[str], n_rows: int) -> Any:
        os.utime(path, ns=(1, 1))
        return read(columns, n_rows)

    X.source.batches = batches
    with pytest.raises(ValueError, match=r"rows\.parquet changed while it was read"):
        AdaBoostClassifier().fit(X, y)


def test_batches_that_come_in_another_order() -> None:
    passes = iter(range(100))

    def batches() -> Iterator[pd.DataFrame]:
        order = np.random.default_rng(next(passes)).permutation(len(ROWS))
        yield ROWS.iloc[order]

    with pytest.raises(ValueError, match=r"batch 0 .*, row \d+: the target .* is not that of the first pass"):
        AdaBoostClassifier().fit(*scanned("label", source=batches))


@pytest.mark.parametrize(("shift", "message"), [(-20, "there are 280 rows, 300"), (20, "more than the 300 rows")])
def test_rows_that_come_or_go(shift: int, message: str) -> None:
    sizes = iter([1, len(ROWS), len(ROWS) + shift])  # the first to see the columns
    more = pd.concat([ROWS, ROWS])

    def batches() -> Iterator[pd.DataFrame]:
        yield more.iloc[: next(sizes)]

    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier().fit(*scanned("two", source=batches))


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error before the place is used, never a signal; no file is left."""

    def full(file: int, low: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"no place for a temporary file of [\d,]+ bytes: free some space") as found:
        AdaBoostClassifier().fit(*scanned("two", memory=1, folder=tmp_path))
    assert found.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_too_little_space_is_seen_before_the_bins_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(scanned_place.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"KiB of temporary files, and the folder .* has 1 KiB free"):
        AdaBoostClassifier().fit(*scanned("two", memory=1, folder=tmp_path))


def arrays_in(held: Any) -> dict[int, np.ndarray]:
    """The memory of all arrays that an object holds, by its address; numbers that are repeated take none."""
    if isinstance(held, np.ndarray):
        while isinstance(held.base, np.ndarray):
            held = held.base
        return {} if 0 in held.strides else {id(held): held}
    parts = held.values() if isinstance(held, dict) else held if isinstance(held, list | tuple) else ()
    if hasattr(held, "__dict__") and not callable(held):
        parts = vars(held).values()
    return {address: array for part in parts for address, array in arrays_in(part).items()}


def most_state(model: Any, rows: np.ndarray, y: np.ndarray) -> int:
    """The most bytes, beside the bins, that the shards of a fit hold after any exchange."""
    found, call = [0], LocalShards.call

    def watched(self: Any, verb: str, *arguments: Any) -> Any:
        answer = call(self, verb, *arguments)
        codes = sum(shard.codes.nbytes for shard in self.shards)
        assert codes == rows.size
        found.append(sum(array.nbytes for shard in self.shards for array in arrays_in(shard).values()) - codes)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalShards, "call", watched)
        model.fit(*scan(rows, target=y))
    return max(found)


STATES = [
    (AdaBoostClassifier(), 2, 16),
    (AdaBoostClassifier(Trees(3)), 2, 24),
    (AdaBoostClassifier(Rules(2)), 2, 24),
    (AdaBoostClassifier(PairedStumps()), 2, 24),
    (VadaBoostClassifier(Trees(3)), 2, 24),
    (RealAdaBoostClassifier(Trees(3)), 2, 24),
    (AdaBoostRClassifier(Trees(3)), 2, 32),
    (EBBoostClassifier(), 2, 24),
    (DeepBoostClassifier(Trees(3)), 2, 25),  # and one bit for each of at least 8 voters
    (RealAdaBoostClassifier(Trees(3)), 4, 24),
    (AdaBoostRClassifier(Trees(3)), 4, 32),
    (MedBoostRegressor(), 0, 32),
    (MedBoostRegressor(cost="linear"), 0, 32),
    (MedBoostRegressor(RegressionTrees(3, criterion="squared_error")), 0, 32),
    (MedBoostRegressor(Pool(3)), 0, 32),
    (LocMedBoostRegressor(), 0, 32),
    (AdaBoostRegressor(), 0, 32),
]


@pytest.mark.parametrize(("model", "n_classes", "bytes_per_example"), STATES, ids=repr)
def test_state_of_an_example(model: Any, n_classes: int, bytes_per_example: int) -> None:
    """Bins take a byte per cell; weights, margins, targets and the buffers of trees at most 32 bytes per example."""
    rng, model = np.random.default_rng(0), clone(model).set_params(n_estimators=3)
    rows = rng.normal(size=(20_000, 8))
    score = rows[:, 0] * rows[:, 1] + rng.normal(size=len(rows))
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)) if n_classes else score
    few, many = (most_state(model, rows[:n], y[:n]) for n in (10_000, 20_000))
    assert (many - few) / 10_000 == pytest.approx(bytes_per_example, abs=0.1)


@pytest.mark.parametrize("weights", [None, "whole"])
def test_the_file_is_that_of_a_fit_in_memory(weights: str | None, tmp_path: Path) -> None:
    """With the marks of its rows, except the seconds of its rounds."""
    model = AdaBoostClassifier(n_estimators=3, early_stopping=True, random_state=0)
    here, there = in_memory(model, "two", weights), clone(model).fit(*scanned("two", weights))
    np.testing.assert_array_equal(np.sort(there.seen_.marks), np.sort(here.seen_.marks))
    assert there.seen_.weighted == here.seen_.weighted
    assert (there.seen_.rows, there.seen_.limit) == (here.seen_.rows, here.seen_.limit)


def test_a_sample_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest ones, whatever comes first; how many rows are repeated is estimated."""
    monkeypatch.setattr(seen_rows, "MOST_MARKS", 1000)
    rng = np.random.default_rng(0)
    marks = rng.integers(0, 2**63, 20_000, dtype=np.uint64) * np.uint64(2)
    marks[:4000] = marks[4000:8000]
    sample = SeenSample()
    for part in np.array_split(rng.permutation(marks), 7):
        sample.add(part)
    seen = sample.result()
    np.testing.assert_array_equal(seen.distinct[0], np.unique(marks)[:1000])
    assert seen.rows == 20_000
    assert abs(seen.repeated - 8000) < 1500


def test_certificates_of_scanned_rows() -> None:
    """Held-out rows may be scanned; rows that took part in the fit are found among them."""
    more = frame(200, 7)
    model = in_memory(AdaBoostClassifier(n_estimators=5), "two")
    here = certificate(model, heldout=(more[FEATURES], more["two"]))
    assert certificate(model, heldout=scanned("two", rows=more)).best.value == here.best.value
    with pytest.raises(ValueError, match="row 0 of heldout took part in fitting"):
        certificate(model, heldout=scanned("two"))
    there = AdaBoostClassifier(n_estimators=5).fit(*scanned("two"))
    with pytest.raises(ValueError, match="row 0 of heldout took part in fitting"):
        certificate(there, heldout=(ROWS[FEATURES], ROWS["two"]))
    assert certificate(there, heldout=scanned("two", rows=more)).best.value == here.best.value


@pytest.mark.parametrize(
    ("options", "expected"), [({}, 2), ({"class_weight": {"0": 2}}, 3), ({"early_stopping": True}, 3)]
)
def test_how_often_a_table_is_read(options: dict[str, Any], expected: int) -> None:
    """Targets and edges come from one pass where every row counts once. A starved sketch needs another one."""
    rng = np.random.default_rng(0)
    n = 50_000
    rows = pd.DataFrame({"few": rng.integers(0, 90, n), "many": rng.normal(size=n), "k": rng.choice(["p", "q"], n)})
    rows["y"] = np.where((rows["few"] > 40) ^ (rng.random(n) < 0.2), "1", "0")
    read: list[int] = []

    def batches() -> Any:
        read.append(1)
        return iter([rows[:20_000], rows[20_000:]])

    for column in ("many", "repeated"):
        if column == "repeated":
            rows["many"] = np.floor(rng.random(n) * 25_000)  # fewer distinct values than a sketch has place for
        X, y = scan(batches, target="y")
        X.source.n_rows = n
        read.clear()
        model = AdaBoostClassifier(n_estimators=2, random_state=0, **options).fit(X, y)
        assert len(read) == expected + (column == "repeated")
        assert model.digest_ == clone(model).fit(rows.drop(columns="y"), rows["y"]).digest_
