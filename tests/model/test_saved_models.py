"""Models in files and pickles: they come back equal, and no file, however forged, gives a crash or a wrong model.

Forged files are rebuilt with a hash that agrees, so that only the checks of the contents can refuse them.
"""

from __future__ import annotations

import copy
import errno
import os
import pickle
import random
import textwrap
import time
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from samples import messy, noisy, run_python
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from electorate import AdaBoostClassifier, Stumps, load, modelfile
from electorate.export import trusted_types
from electorate.modelfile import ModelFormatError

AWKWARD = ["<img src=x onerror=alert(1)>", '"quoted" \\ \x1b[31m', "=cmd|' /C calc'!A0", "line\nend", "名前 \U0001f5f3"]


def texts(rows: int = 300, labels: int = 2) -> tuple[Any, Any]:
    """A frame with awkward names and levels, and awkward labels."""
    X, y = messy(rows, labels)
    frame = pd.DataFrame(X, columns=AWKWARD)
    known = frame[AWKWARD[3]].notna()
    level = frame[AWKWARD[3]].fillna(0).astype(int).map(lambda code: AWKWARD[code])
    frame[AWKWARD[3]] = level.where(known, None)
    return frame, np.array(AWKWARD)[y]


def fit(X: Any, y: Any, **options: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**{"n_estimators": 12, **options}).fit(X, y)


CASES: dict[str, Any] = {
    "two classes": lambda: (noisy(), {}),
    "four classes": lambda: (noisy(labels=4), {"max_bins": "exact"}),
    "texts": lambda: (texts(labels=3), {"class_weight": {AWKWARD[0]: 2.5, AWKWARD[1]: 1}}),
    "number categories": lambda: (messy(), {"categorical_features": np.array([3]), "class_weight": "balanced"}),
    "one class": lambda: ((noisy()[0], np.zeros(300)), {}),
    "no edge": lambda: ((np.ones((4, 1)), [0, 1, 0, 1]), {"learning_rate": np.float32(0.5)}),
    "many levels": lambda: (
        (np.arange(900.0)[:, None] % 400, np.arange(900) % 3),
        {"categorical_features": [True], "estimator": Stumps()},
    ),
    "perfect": lambda: ((np.arange(9.0)[:, None], np.arange(9) > 3), {"random_state": 7, "n_jobs": 2}),
}


@pytest.fixture(params=CASES)
def case(request: Any) -> tuple[AdaBoostClassifier, Any]:
    (X, y), options = CASES[request.param]()
    return fit(X, y, **options), X


def assert_same(again: Any, model: Any, X: Any) -> None:
    assert type(again) is AdaBoostClassifier
    assert again.digest_ == model.digest_
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.stop_reason_ == model.stop_reason_
    assert again.n_features_in_ == model.n_features_in_
    assert again.classes_.tolist() == model.classes_.tolist()
    assert [v.to_text() for v in again.estimators_] == [v.to_text() for v in model.estimators_]
    names = getattr(model, "feature_names_in_", None)
    assert names is None or again.feature_names_in_.tolist() == names.tolist()
    assert sorted(again.history_) == sorted(model.history_)
    assert all(np.array_equal(again.history_[name], model.history_[name]) for name in model.history_)


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


# ---------------------------------------------------------------- round trips


def test_saved_and_loaded(case: Any, tmp_path: Path) -> None:
    model, X = case
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_same(again, model, X)
    for name, value in model.get_params(deep=False).items():
        if name != "estimator":
            assert plain(again.get_params()[name]) == plain(value), name
    again.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_loaded_model_can_be_fitted_again(tmp_path: Path) -> None:
    X, y = texts()
    model = fit(X, y, class_weight={AWKWARD[0]: 3, AWKWARD[1]: 1}, estimator=Stumps())
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").fit(X, y).digest_ == model.digest_
    assert clone(load(tmp_path / "m")).fit(X, y).digest_ == model.digest_


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(case: Any, protocol: int) -> None:
    model, X = case
    assert_same(pickle.loads(pickle.dumps(model, protocol)), model, X)


def test_copies(case: Any) -> None:
    model, X = case
    for again in (copy.deepcopy(model), copy.copy(model), cloudpickle.loads(cloudpickle.dumps(model))):
        assert_same(again, model, X)
    assert not hasattr(clone(model), "ensemble_")


def test_joblib_mapped_into_memory(case: Any, tmp_path: Path) -> None:
    model, X = case
    joblib.dump(model, tmp_path / "m")
    for mode in (None, "r", "c"):
        again = joblib.load(tmp_path / "m", mmap_mode=mode)
        assert_same(again, model, X)
    mapped = joblib.load(tmp_path / "m", mmap_mode="r")
    if len(model.steps_):
        assert not mapped.ensemble_.steps.flags.writeable
        assert mapped.fit(X, model.predict(X)).digest_ == clone(model).fit(X, model.predict(X)).digest_


def test_skops(case: Any) -> None:
    model, X = case
    data = skops.io.dumps(model)
    assert_same(skops.io.loads(data, trusted=trusted_types(model)), model, X)


def test_trusted_types_leaves_out_types_of_other_packages() -> None:
    pipeline = make_pipeline(FunctionTransformer(textwrap.dedent), AdaBoostClassifier())
    assert "textwrap.dedent" in skops.io.get_untrusted_types(data=skops.io.dumps(pipeline))
    names = trusted_types(pipeline)
    assert names
    assert all(name.startswith("electorate.") for name in names)


def test_a_pickle_holds_the_model_and_not_its_tables(case: Any) -> None:
    model, X = case
    before = pickle.dumps(model)
    model.predict(X)
    assert pickle.dumps(model) == before


@pytest.mark.process
def test_another_process_reads_the_file(tmp_path: Path) -> None:
    X, y = noisy()
    model = fit(X, y)
    model.save(tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    code = """
import sys
import numpy as np
from electorate import load
model = load(sys.argv[1])
print(model.digest_, model.decision_function(np.load(sys.argv[2])).tobytes().hex())
"""
    printed, _ = run_python(code, str(tmp_path / "m"), str(tmp_path / "X.npy"))
    assert printed.split() == [model.digest_, model.decision_function(X).tobytes().hex()]


# ---------------------------------------------------------------- saving under failure


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_failed_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    X, y = noisy()
    model = fit(X, y)
    path = tmp_path / "model"
    model.save(path)
    digest = load(path).digest_

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match=os.strerror(number)):
            fit(X, 1 - y).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    assert load(path).digest_ == digest


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        AdaBoostClassifier().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- forged files


def contents_of(model: AdaBoostClassifier, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The meta and the arrays of a model's file, to change."""
    model.save(folder / "sound")
    contents = modelfile.read(folder / "sound")
    return contents.meta, {name: np.array(array) for name, array in contents.arrays.items()}


def load_forged(folder: Path, meta: Any, arrays: Any, kind: str = "AdaBoostClassifier") -> Any:
    path = folder / "forged"
    path.write_bytes(modelfile.write_bytes(kind, meta, arrays))
    return load(path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Three classes, five columns, one of them categories: every array has something in it."""
    X, y = texts(labels=3)
    model = fit(X, y)
    meta, arrays = contents_of(model, tmp_path_factory.mktemp("sound"))
    assert set(model.ensemble_.column.tolist()) > {-1, 0, 3}
    return meta, arrays, X


def changed(arrays: dict[str, Any], name: str, index: Any, value: Any) -> dict[str, Any]:
    array = arrays[name].copy()
    array[index] = value
    return {**arrays, name: array}


LARGE = [2**31 - 1, -(2**31), 10**9, -2, -(10**9)]
BEYOND = [2**63 - 1, -(2**63), 2**32, -(2**32), *LARGE]


@pytest.mark.parametrize("name", ["offsets", "column", "members", "children", "edge_offsets", "n_bins"])
def test_every_index_tampered_with(name: str, sound: Any, tmp_path: Path) -> None:
    """Each entry in turn becomes something that it cannot be."""
    meta, arrays, _ = sound
    array = arrays[name]
    values = [v for v in BEYOND if np.iinfo(array.dtype).min <= v <= np.iinfo(array.dtype).max]
    for place in np.ndindex(array.shape):
        value = random.Random(str(place)).choice(values)
        with pytest.raises(ModelFormatError, match="forged"):
            load_forged(tmp_path, meta, changed(arrays, name, place, value))


@pytest.mark.parametrize("name", ["threshold", "steps", "value", "edges"])
def test_every_number_tampered_with(name: str, sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    for number, place in enumerate(np.ndindex(arrays[name].shape)):
        value = [np.nan, -np.inf][number % 2]
        with pytest.raises(ModelFormatError, match="forged"):
            load_forged(tmp_path, meta, changed(arrays, name, place, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("steps", value) for value in (np.inf, 1e300, 2.0**21)),
        *(("value", value) for value in (np.inf, 1e300, -1e300)),
        ("edges", np.inf),
    ],
)
def test_numbers_that_the_votes_cannot_hold(name: str, value: float, sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    with pytest.raises(ModelFormatError):
        load_forged(tmp_path, meta, changed(arrays, name, (0,) * arrays[name].ndim, value))


@pytest.mark.parametrize(
    "pattern",
    [
        [0, 2**63 - 1, -(2**63), -1],  # every difference wraps around to something positive
        [0, 2**62, -(2**62), 0],
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_offsets_that_overflow(pattern: list[int], wrapped: bool, sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    offsets = arrays["edge_offsets"].copy()
    offsets[1:4] = pattern[1:]
    forged = {**arrays, "edge_offsets": offsets}
    if wrapped:
        with np.errstate(over="ignore"):
            forged["n_bins"] = np.diff(offsets) + 1
    with pytest.raises(ModelFormatError, match="edge_offsets"):
        load_forged(tmp_path, meta, forged)


@pytest.mark.parametrize("pair", [(0, 0), (1, 1), (2, 2), (1, 3), (0, 2), (-1, -1), (-1, 2), (1, 10**9)])
def test_children_that_are_no_tree(pair: tuple[int, int], sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    root = int(np.flatnonzero(arrays["column"] >= 0)[0])
    with pytest.raises(ModelFormatError, match="children"):
        load_forged(tmp_path, meta, changed(arrays, "children", root, pair))


def test_leaves_that_are_not(sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    leaf = int(np.flatnonzero(arrays["column"] < 0)[0])
    for name, value in (("column", 0), ("children", (1, 2)), ("members", 0)):
        with pytest.raises(ModelFormatError):
            load_forged(tmp_path, meta, changed(arrays, name, leaf, value))


def test_a_test_of_the_wrong_kind(sound: Any, tmp_path: Path) -> None:
    """A threshold on categories, a set on numbers."""
    meta, arrays, _ = sound
    by_set = int(np.flatnonzero(arrays["members"] >= 0)[0])
    by_threshold = int(np.flatnonzero((arrays["column"] >= 0) & (arrays["members"] < 0))[0])
    for node, name, value in (
        (by_set, "members", -1),
        (by_set, "column", 0),
        (by_threshold, "members", 0),
        (by_threshold, "column", 3),
    ):
        with pytest.raises(ModelFormatError, match="does not fit its column"):
            load_forged(tmp_path, meta, changed(arrays, name, node, value))


def test_every_array_cut_lengthened_or_of_another_type(sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    for name, array in arrays.items():
        others = [array[:-1], np.concatenate([array, array[-1:]]), array[..., None], array[:0]]
        others += [array.astype(np.float32), array.astype(np.int16), array.reshape(-1)[:1].reshape(())]
        for other in others:
            if other.shape == array.shape and name.startswith("history."):
                continue  # a history of another precision is one still
            with pytest.raises(ModelFormatError):
                load_forged(tmp_path, meta, {**arrays, name: other})
        if not name.startswith("history.") or name == "history.error":
            with pytest.raises(ModelFormatError):
                load_forged(tmp_path, meta, {key: value for key, value in arrays.items() if key != name})


def test_a_billion_of_anything(sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    began = time.perf_counter()
    for key, value in (("n_features", 10**9), ("n_features", 2**63), ("n_features", 0), ("n_features", -1)):
        with pytest.raises(ModelFormatError):
            load_forged(tmp_path, {**meta, key: value}, arrays)
    offsets = arrays["offsets"].copy()
    offsets[-1] = 10**9
    with pytest.raises(ModelFormatError):
        load_forged(tmp_path, meta, {**arrays, "offsets": offsets})
    assert time.perf_counter() - began < 10


META: list[tuple[str, Any]] = [
    *(("parameters", value) for value in (None, [], {"unknown": 1}, {"n_estimators": "many"}, {"n_estimators": -1})),
    ("parameters", {"estimator": {"family": "Bomb", "parameters": {}}}),
    ("parameters", {"estimator": {"family": "Stumps", "parameters": {"depth": 3}}}),
    ("parameters", {"estimator": {"family": "Stumps", "parameters": []}}),
    ("parameters", {"estimator": {"family": ["Stumps"], "parameters": {}}}),
    ("parameters", {"estimator": {"family": "Stumps"}}),
    ("parameters", {"class_weight": {"pairs": [[1]]}}),
    ("parameters", {"class_weight": {"pairs": [[[], 1]]}}),
    ("parameters", {"class_weight": {"pairs": 3}}),
    ("parameters", {"class_weight": {}}),
    ("parameters", {"max_bins": 10**6}),
    ("parameters", {"\x1b[31m" * 1000: 1}),
    *(("feature_names", value) for value in ([], ["a"], "abcde", [1, 2, 3, 4, 5], {"a": 1}, ["a"] * 6)),
    *(("stop_reason", value) for value in (None, 1, ["n_estimators"])),
    *(("n_features", value) for value in (None, "5", 5.0, True, 4, 6)),
    *(("categories", value) for value in (None, {}, [None], [[]], ["text"], [{}], [])),
]


@pytest.mark.parametrize(("key", "value"), META)
def test_meta_tampered_with(key: str, value: Any, sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    with pytest.raises(ModelFormatError) as caught:
        load_forged(tmp_path, {**meta, key: value}, arrays)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    if key != "feature_names":  # which a model of an array does not have
        with pytest.raises(ModelFormatError):
            load_forged(tmp_path, {name: kept for name, kept in meta.items() if name != key}, arrays)


@pytest.mark.parametrize(
    "said",
    [
        *({"dtype": "str", "labels": labels} for labels in ([], ["a"], ["a", "b"], ["a", "b", "c", "d"], "abc", None)),
        *({"dtype": "str", "labels": labels} for labels in (["a", "b", "b"], ["c", "b", "a"], ["a", "b", 1])),
        *({"dtype": "str", "labels": labels} for labels in ([1, 2, 3], ["a", "b", None], [["a"], ["b"], ["c"]])),
        *({"dtype": dtype, "labels": ["a", "b", "c"]} for dtype in ("<i8", "|b1", "<U1", "|O", "O", None, 3, "<f8")),
        *({"dtype": dtype, "labels": [1, 2, 3]} for dtype in ("<i8,<i8", "<M8[s]", "<i16", "(3,)<i8", "<c16", "|V8")),
        {"dtype": "<i8", "labels": [0.5, 1.5, 2.5]},
        {"dtype": "|i1", "labels": [1, 2, 300]},
        {"dtype": "<u8", "labels": [-1, 0, 1]},
        {"dtype": "|b1", "labels": [False, True, 2]},
        {"dtype": "object", "labels": ["a", 1, True]},
        {"dtype": "<f8", "labels": [1, 2, 2**63 + 1]},
        {"labels": ["a", "b", "c"]},
        {"dtype": "str"},
        {},
        [],
        None,
    ],
)
def test_classes_tampered_with(said: Any, sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    with pytest.raises(ModelFormatError, match="forged"):
        load_forged(tmp_path, {**meta, "classes": said}, arrays)


def test_one_class_cannot_have_voters(tmp_path: Path) -> None:
    X, y = noisy()
    meta, arrays = contents_of(fit(X, y), tmp_path)
    with pytest.raises(ModelFormatError, match="single class"):
        load_forged(tmp_path, {**meta, "classes": {"dtype": "<i8", "labels": [0]}}, arrays)


@pytest.mark.parametrize(
    "change",
    [
        {"column": -1},
        {"column": 5},
        {"column": 2**40},
        {"column": 3.0},
        {"column": True},
        {"column": 0},
        {"text": 1},
        {"text": "yes"},
        {"text": False},
        {"levels": "abcde"},
        {"levels": {"a": 1}},
        {"levels": None},
        {"levels": []},
        {"levels": ["a", "a", "b", "c", "d"]},
        {"levels": ["a", 1, "b", "c", "d"]},
        {"levels": [f"level {number}" for number in range(10**4)]},
        {"rest": ["more"]},
        {"rest": "x"},
        {"rest": None},
    ],
)
def test_categories_tampered_with(change: dict[str, Any], sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    entry = {**meta["categories"][0], **change}
    with pytest.raises(ModelFormatError, match="forged"):
        load_forged(tmp_path, {**meta, "categories": [entry]}, arrays)
    with pytest.raises(ModelFormatError, match="forged"):
        load_forged(tmp_path, {**meta, "categories": [meta["categories"][0], entry]}, arrays)
    without = {name: value for name, value in meta["categories"][0].items() if name not in change}
    with pytest.raises(ModelFormatError, match="forged"):
        load_forged(tmp_path, {**meta, "categories": [without]}, arrays)


def test_more_levels_than_there_are_codes(tmp_path: Path) -> None:
    X, y = np.arange(2550.0)[:, None] % 255, np.arange(2550) % 3
    model = fit(X, y, categorical_features=[0])
    meta, arrays = contents_of(model, tmp_path)
    assert load_forged(tmp_path, meta, arrays).digest_ == model.digest_
    entry = {**meta["categories"][0], "rest": [1000.0]}
    forged = {**arrays, "n_bins": np.array([256]), "edge_offsets": np.array([0, 255]), "edges": np.arange(255) + 0.5}
    with pytest.raises(ModelFormatError, match="too many levels"):
        load_forged(tmp_path, {**meta, "categories": [entry]}, forged)
    for levels in ([*entry["levels"][:-1], 2**53 + 1], [*entry["levels"][:-1], 0]):
        with pytest.raises(ModelFormatError, match="distinct"):
            load_forged(tmp_path, {**meta, "categories": [{**entry, "rest": [], "levels": levels}]}, arrays)


@pytest.mark.parametrize(
    "kind", ["", "Stumps", "os.system", "adaboostclassifier", "AdaBoostClassifier ", "\x1b[2J" * 99]
)
def test_another_kind_of_model(kind: str, sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound
    with pytest.raises(ModelFormatError, match="no estimator is called") as caught:
        load_forged(tmp_path, meta, arrays, kind)
    assert str(caught.value).isprintable()


def test_what_is_forged_at_random_is_refused_or_predicts(sound: Any, tmp_path: Path) -> None:
    """Bytes of arrays changed blindly: a refusal, or a model of the right shape that gives finite numbers."""
    meta, arrays, X = sound
    rng = random.Random(0)
    refused = 0
    for _ in range(300):
        forged = dict(arrays)
        name = rng.choice([name for name in arrays if arrays[name].size])
        raw = bytearray(arrays[name].tobytes())
        for _ in range(rng.choice([1, 1, 2, 8])):
            raw[rng.randrange(len(raw))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        forged[name] = np.frombuffer(bytes(raw), arrays[name].dtype).reshape(arrays[name].shape)
        if forged[name].dtype == bool:
            forged[name] = forged[name].view(np.uint8) % 2 == 1
        try:
            model = load_forged(tmp_path, meta, forged)
        except ModelFormatError:
            refused += 1
            continue
        proba = model.predict_proba(X)
        assert proba.shape == (len(X), 3)
        assert np.all(np.isfinite(proba))
        assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())
        assert len(list(model.staged_predict(X[:2]))) == len(model.steps_)
        assert all(isinstance(voter.to_text(), str) for voter in model.estimators_)
        assert np.isfinite(model.feature_importances_).all()
    assert 50 < refused < 300


def test_every_bit_of_a_saved_file(tmp_path: Path) -> None:
    """Without a new hash nothing gets as far as the contents."""
    fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 0, 1], n_estimators=2).save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    rng = random.Random(0)
    for at in rng.sample(range(len(data)), 200):
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.randrange(8)
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(ModelFormatError):
            load(tmp_path / "m")
    for length in rng.sample(range(len(data)), 50):
        (tmp_path / "m").write_bytes(data[:length])
        with pytest.raises(ModelFormatError):
            load(tmp_path / "m")


def test_nothing_in_a_file_is_executed(sound: Any, tmp_path: Path) -> None:
    meta, arrays, _ = sound

    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "executed"),)

    hidden = {**meta, "stop_reason": pickle.dumps(Bomb()).hex(), "__reduce__": "os.mkdir"}
    assert load_forged(tmp_path, hidden, arrays).stop_reason_ == hidden["stop_reason"]
    (tmp_path / "pickle").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFormatError, match="not an electorate model file"):
        load(tmp_path / "pickle")
    assert not (tmp_path / "executed").exists()


def test_a_forged_model_of_frames_reads_frames(sound: Any, tmp_path: Path) -> None:
    """The sound file, rebuilt, is the model; so it was the forgery that the other tests saw refused."""
    meta, arrays, X = sound
    model = load_forged(tmp_path, meta, arrays)
    assert model.predict(X).shape == (len(X),)
    assert model.predict(pl.from_pandas(X)).tolist() == model.predict(X).tolist()


def test_a_file_holds_edges_only_of_columns_that_voters_use(tmp_path: Path) -> None:
    """A few stumps over many columns are a small file, which still knows the bins of all columns."""
    X, y = noisy(200, 2000)
    model = fit(X, y, n_estimators=3)
    path = tmp_path / "m"
    model.save(path)
    assert path.stat().st_size < 0.1 * 8 * sum(len(edges) for edges in model.bins_.edges)
    again = load(path)
    assert again.digest_ == model.digest_
    assert again.bins_.same_as(model.bins_)
    assert not again.bins_.same_as(fit(X + 1, y, n_estimators=1).bins_)
    assert again.set_params(warm_start=True, n_estimators=5).fit(X, y).digest_ == fit(X, y, n_estimators=5).digest_
