"""The model file under every kind of damage: cut, flipped, forged with a correct hash, fuzzed.
Also saving under failure (full disk, read-only folder, killed process), and memory and time bounds.
A file of format 1.0 is kept here as hex: it must be read for ever."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import io
import json
import math
import os
import pickle
import random
import stat
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import run_python

from electorate import modelfile
from electorate import text as safe_write
from electorate.modelfile import ModelFormatError

ROOT = Path(__file__).resolve().parents[2]
FUZZ_INPUTS = int(os.environ.get("ELECTORATE_FUZZ_INPUTS", "2000"))
CODES = ["<f8", "<f4", "<i8", "<i4", "<i2", "<u8", "<u4", "<u2", "|u1", "|i1", "|b1"]
MIB = 1 << 20
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def load_fuzzer() -> Any:
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tools" / "fuzz_modelfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzzer = load_fuzzer()
seal: Callable[..., bytes] = fuzzer.seal
opened: Callable[[bytes], tuple[bytes, bytes]] = fuzzer.opened


def two_arrays() -> dict[str, np.ndarray]:
    return {"a": np.arange(3.0), "b": np.arange(4, dtype="<i4")}


def sample() -> bytes:
    return modelfile.write_bytes("ensemble", {"rounds": 3}, two_arrays())


def forged(change: Any, data: bytes | None = None) -> bytes:
    """The sample with its header changed by `change` and a hash that agrees."""
    header, arrays = opened(sample())
    tree = json.loads(header)
    tree = change(tree) or tree
    return seal(json.dumps(tree).encode(), arrays if data is None else data)


def entry(**fields: Any) -> Any:
    """A change of the second array's entry in the table; a value of `...` removes the field."""

    def change(tree: dict[str, Any]) -> None:
        tree["arrays"][1].update(fields)
        for key in [key for key, value in fields.items() if value is ...]:
            del tree["arrays"][1][key]

    return change


def refusal(data: bytes) -> str:
    """The message of the refusal, which must come at once and name the file."""
    began = time.perf_counter()
    with pytest.raises(ModelFormatError) as caught:
        modelfile.read_bytes(data, "some.file")
    assert time.perf_counter() - began < 10
    message = str(caught.value)
    assert "some.file" in message
    assert message.isprintable()
    return message


def same(left: Any, right: Any) -> bool:
    """Equal to the bit: NaN payloads and signed zeros count."""
    return (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0), (2, 3), (2, 1, 3, 2)])
def test_every_dtype_and_shape_comes_back(code: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 2 if code == "|b1" else 256, math.prod(shape) * np.dtype(code).itemsize)
    array = raw.astype(np.uint8).view(code).reshape(shape)
    back = modelfile.read_bytes(modelfile.write_bytes("k", {}, {"x": array}), "f").arrays["x"]
    assert same(back, array)
    assert not back.flags.writeable
    assert back.flags.aligned


def test_other_layouts_are_stored_in_c_order_and_little_endian() -> None:
    base = np.arange(12.0).reshape(3, 4)
    arrays = {
        "big": base.astype(">f8"),
        "fortran": np.asfortranarray(base),
        "strided": base[:, ::2],
    }
    back = modelfile.read_bytes(modelfile.write_bytes("k", {}, arrays), "f").arrays
    for name, array in arrays.items():
        assert same(back[name], np.ascontiguousarray(array, "<f8"))


def test_bool_bytes_other_than_0_and_1_are_normalised() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    back = modelfile.read_bytes(modelfile.write_bytes("k", {}, {"x": odd}), "f").arrays["x"]
    assert back.view(np.uint8).tolist() == [0, 1, 1, 1]


AWKWARD = [
    *("", "é", "\U0001f5f3", "名前", "<script>alert(1)</script>", "\x1b[31mred\x07", "a\x00b"),
    *("\"quoted\" 'twice'", "back\\slash", "line\nend\r\n", "\u202ereversed", "=1+1", "../../x"),
]


def test_awkward_text_is_kept_literally() -> None:
    meta = {"list": AWKWARD, **{text: text for text in AWKWARD}}
    arrays = {text: np.array([number]) for number, text in enumerate(AWKWARD)}
    data = modelfile.write_bytes("k\x1b", meta, arrays)
    contents = modelfile.read_bytes(data, "f")
    assert contents.kind == "k\x1b"
    assert contents.meta == meta
    assert {name: array[0] for name, array in contents.arrays.items()} == {
        text: number for number, text in enumerate(AWKWARD)
    }
    assert opened(data)[0].decode("ascii").isprintable()


def test_numbers_in_meta_come_back_exactly() -> None:
    numbers = [
        0.1,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        2**53 + 1,
        -(2**63),
        2**64 - 1,
        True,
        None,
    ]
    back = modelfile.read_bytes(modelfile.write_bytes("k", {"x": numbers}, {}), "f").meta["x"]
    assert list(map(repr, back)) == list(map(repr, numbers))
    nested = {"a": (1, [2, {"b": ()}])}
    meta = modelfile.read_bytes(modelfile.write_bytes("k", nested, {}), "f").meta
    assert meta == {"a": [1, [2, {"b": []}]]}


def test_files(tmp_path: Path) -> None:
    for path in (tmp_path / "path.model", str(tmp_path / "text.model"), tmp_path / ("n" * 250)):
        modelfile.write(path, "ensemble", {"rounds": 3}, two_arrays())
        assert Path(path).read_bytes() == sample()
        contents = modelfile.read(path)
        assert contents.version == (1, 0)
        assert contents.source == str(path)
        assert all(same(contents.arrays[name], array) for name, array in two_arrays().items())
    assert len(list(tmp_path.iterdir())) == 3


def test_same_contents_give_the_same_bytes() -> None:
    arrays = two_arrays()
    one = modelfile.write_bytes("k", {"a": 1, "b": {"c": 2, "d": 3}}, arrays)
    backwards = dict(reversed(arrays.items()))
    assert one == modelfile.write_bytes("k", {"b": {"d": 3, "c": 2}, "a": 1}, backwards)


@pytest.mark.parametrize(
    ("meta", "arrays", "words"),
    [
        ({"x": math.nan}, {}, "'x' is not a finite number"),
        ({"x": [math.inf]}, {}, "'x' is not a finite number"),
        ({"x": 2**64}, {}, "64 bits"),
        ({"x": b"bytes"}, {}, "'x' is a bytes"),
        ({"x": {1: 2}}, {}, "key that is not str"),
        ({"x": "\ud800"}, {}, "surrogate"),
        ({}, {"\udfff": np.zeros(1)}, "surrogate"),
        ([], {}, "meta must be a dict"),
        ({}, {"x": np.array([None])}, "'x' has dtype object"),
        ({}, {"x": np.zeros(2, "<f2")}, "dtype float16"),
        ({}, {"x": np.zeros(2, "<c16")}, "complex"),
        ({}, {"x": np.array(["text"])}, "'x' has dtype <U4"),
        ({}, {"x": np.zeros(2, [("a", "<f8")])}, "'x' has dtype"),
        ({}, {"x": np.zeros((1,) * 5)}, "5 dimensions"),
        ({}, {"x": np.zeros((0, 2**40))}, "'x' of shape"),
        ({}, {"x": [1, 2]}, "'x' is a list"),
        ({}, {1: np.zeros(1)}, "names must be str"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(meta: Any, arrays: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        modelfile.write_bytes("k", meta, arrays)
    assert not isinstance(caught.value, ModelFormatError)
    with pytest.raises(ValueError, match="kind must be str"):
        modelfile.write_bytes(None, {}, {})  # type: ignore[arg-type]


def test_the_deepest_nesting_is_32() -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        for depth, brackets in ((30, '"]}\\"[[{"'), (31, "0"), (31, '"\\\\"')):
            header = '{"arrays":[],"kind":"k","meta":{"x":%s}}'
            text = header % (opening * (depth - 1) + brackets + closing * (depth - 1))
            contents = modelfile.read_bytes(seal(text.encode(), b""), "f")
            assert modelfile.write_bytes("k", contents.meta, {})
        text = header % (opening * 31 + "0" + closing * 31)
        assert "nested deeper than 32" in refusal(seal(text.encode(), b""))
        with pytest.raises(ValueError, match="nested deeper than 32"):
            modelfile.write_bytes("k", json.loads(text)["meta"], {})


@pytest.mark.process
def test_deep_nesting_is_refused_whatever_the_recursion_limit() -> None:
    run_python(
        """
import sys
from electorate import modelfile
from electorate.modelfile import MAGIC
import hashlib, struct
sys.setrecursionlimit(10**6)
for header in (b"[" * 10**6, b'{"a":' * 200_000):
    total = (32 + len(header) + 63) // 64 * 64 + 32
    body = struct.pack("<8sIIQQ", MAGIC, 1, 0, total, len(header)) + header
    body += bytes(total - 32 - len(body))
    try:
        modelfile.read_bytes(body + hashlib.sha256(body).digest(), "f")
    except modelfile.ModelFormatError as error:
        assert "nested" in str(error) or "too large" in str(error)
    else:
        raise AssertionError("read")
"""
    )


def test_meta_that_is_too_deep_or_too_large_is_not_written() -> None:
    deep: list[Any] = []
    for _ in range(40):
        deep = [deep]
    cyclic: dict[str, Any] = {}
    cyclic["self"] = cyclic
    for meta in ({"x": deep}, cyclic):
        with pytest.raises(ValueError, match="nested deeper"):
            modelfile.write_bytes("k", meta, {})
    with pytest.raises(ValueError, match="belong into arrays"):
        modelfile.write_bytes("k", {"x": list(range(2 * 10**6))}, {})
    names = [f"column {number}" for number in range(100_000)]
    assert modelfile.read_bytes(modelfile.write_bytes("k", {"x": names}, {}), "f").meta["x"] == names


# ---------------------------------------------------------------- the format itself

GOLDEN_1_0 = bytes.fromhex("""
89454c450d0a1a0a01000000000000003007000000000000a4030000000000007b22617272617973223a5b7b22647479
7065223a223c6638222c226e616d65223a22656d707479222c226f6666736574223a302c227368617065223a5b302c33
5d7d2c7b226474797065223a223c6932222c226e616d65223a2267726964222c226f6666736574223a302c2273686170
65223a5b322c335d7d2c7b226474797065223a223c6934222c226e616d65223a227363616c6172222c226f6666736574
223a36342c227368617065223a5b5d7d2c7b226474797065223a223c6638222c226e616d65223a227374657073222c22
6f6666736574223a3132382c227368617065223a5b355d7d2c7b226474797065223a227c6231222c226e616d65223a22
786231222c226f6666736574223a3139322c227368617065223a5b325d7d2c7b226474797065223a223c6634222c226e
616d65223a22786634222c226f6666736574223a3235362c227368617065223a5b325d7d2c7b226474797065223a227c
6931222c226e616d65223a22786931222c226f6666736574223a3332302c227368617065223a5b325d7d2c7b22647479
7065223a223c6932222c226e616d65223a22786932222c226f6666736574223a3338342c227368617065223a5b325d7d
2c7b226474797065223a223c6934222c226e616d65223a22786934222c226f6666736574223a3434382c227368617065
223a5b325d7d2c7b226474797065223a223c6938222c226e616d65223a22786938222c226f6666736574223a3531322c
227368617065223a5b325d7d2c7b226474797065223a227c7531222c226e616d65223a22787531222c226f6666736574
223a3537362c227368617065223a5b325d7d2c7b226474797065223a223c7532222c226e616d65223a22787532222c22
6f6666736574223a3634302c227368617065223a5b325d7d2c7b226474797065223a223c7534222c226e616d65223a22
787534222c226f6666736574223a3730342c227368617065223a5b325d7d2c7b226474797065223a223c7538222c226e
616d65223a22787538222c226f6666736574223a3736382c227368617065223a5b325d7d5d2c226b696e64223a22656e
73656d626c65222c226d657461223a7b22636c6173736573223a5b226e6f222c226a61205c7530306663222c225c7564
3833645c7564646633225d2c22666c6167223a747275652c226e6573746564223a7b2264656570223a5b5b5d2c7b7d5d
7d2c226e6f6e65223a6e756c6c2c2272617465223a302e312c22726f756e6473223a3930303731393932353437343039
39337d7d0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
000000000000000000000000000000000000010002000300040005000000000000000000000000000000000000000000
0000000000000000000000000000000000000000000000000000000000000000f9ffffff000000000000000000000000
000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
000000000000e03f0000000000000080000000000000f87f000000000000f07f01000000000000000000000000000000
000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000000000
000000000000000000000000000000000000000000000000000000000000000000000000ffff7f7f0000000000000000
000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
007f00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
000000000000000000000000000000000000ff7f00000000000000000000000000000000000000000000000000000000
000000000000000000000000000000000000000000000000000000000000000000000000ffffff7f0000000000000000
000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
0000000000000000ffffffffffffff7f0000000000000000000000000000000000000000000000000000000000000000
0000000000000000000000000000000000ff000000000000000000000000000000000000000000000000000000000000
00000000000000000000000000000000000000000000000000000000000000000000ffff000000000000000000000000
000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
00000000ffffffff00000000000000000000000000000000000000000000000000000000000000000000000000000000
000000000000000000000000000000000000000000000000ffffffffffffffff5417498641b07d4c0368c7c4f89a1777
e2f98e804efca2d85ae6985d3de40dd3
""")
GOLDEN_META = {
    "classes": ["no", "ja ü", "\U0001f5f3"],
    "rate": 0.1,
    "rounds": 2**53 + 1,
    "none": None,
    "flag": True,
    "nested": {"deep": [[], {}]},
}


def golden_arrays() -> dict[str, np.ndarray]:
    arrays = {f"x{code[1:]}": np.array([0, np.iinfo(code).max], code) for code in CODES[2:-1]}
    return {
        **arrays,
        "xb1": np.array([False, True]),
        "xf4": np.array([0, np.finfo("<f4").max], "<f4"),
        "steps": np.array([0.5, -0.0, np.nan, np.inf, 5e-324], "<f8"),
        "empty": np.zeros((0, 3)),
        "scalar": np.array(-7, "<i4"),
        "grid": np.arange(6, dtype="<i2").reshape(2, 3),
    }


def test_a_file_of_format_1_0_is_read_for_ever() -> None:
    contents = modelfile.read_bytes(GOLDEN_1_0, "golden")
    assert contents.kind == "ensemble"
    assert contents.version == (1, 0)
    assert contents.meta == GOLDEN_META
    expected = golden_arrays()
    assert sorted(contents.arrays) == sorted(expected)
    assert all(same(contents.arrays[name], expected[name]) for name in expected)


def test_format_1_0_is_written_to_the_byte() -> None:
    """Goes when FORMAT does; the test above stays."""
    assert modelfile.FORMAT == (1, 0)
    assert modelfile.write_bytes("ensemble", GOLDEN_META, golden_arrays()) == GOLDEN_1_0


def test_the_documented_layout_is_enough_to_read_a_file() -> None:
    """A second reader, from docs/model_file.md alone."""
    data = GOLDEN_1_0
    magic, major, minor, total, header_length = struct.unpack_from("<8sIIQQ", data)
    assert magic == bytes([0x89, 0x45, 0x4C, 0x45, 0x0D, 0x0A, 0x1A, 0x0A])
    assert (major, minor, total) == (1, 0, len(data))
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()
    header = json.loads(data[32 : 32 + header_length])
    assert sorted(header) == ["arrays", "kind", "meta"]
    start = (32 + header_length + 63) // 64 * 64
    end = 0
    for item in header["arrays"]:
        assert item["offset"] == (end + 63) // 64 * 64
        count = math.prod(item["shape"])
        block = np.frombuffer(data[:-32], item["dtype"], count, start + item["offset"])
        assert same(block.reshape(item["shape"]), golden_arrays()[item["name"]])
        end = item["offset"] + block.nbytes
    assert start + end + 32 == total


def test_a_newer_major_is_refused_and_a_newer_minor_read() -> None:
    header, arrays = opened(sample())
    for version in [(2, 0), (2, 7), (2**32 - 1, 0)]:
        message = refusal(seal(header, arrays, version))
        assert f"format {version[0]}.{version[1]} is newer" in message
        assert "upgrade electorate" in message
    # Of a newer major only magic and version are where they were.
    assert "upgrade electorate" in refusal(modelfile.MAGIC + struct.pack("<II", 2, 0) + bytes(40))
    assert "unknown format version 0.9" in refusal(seal(header, arrays, (0, 9)))
    tree = json.loads(header)
    tree["added"] = {"later": 1}
    tree["arrays"][0]["unit"] = "votes"
    contents = modelfile.read_bytes(seal(json.dumps(tree).encode(), arrays, (1, 9)), "f")
    assert contents.version == (1, 9)
    assert contents.meta == {"rounds": 3}
    assert all(same(contents.arrays[name], array) for name, array in two_arrays().items())


# ---------------------------------------------------------------- damage


def test_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "cut.model"
    for length in range(len(GOLDEN_1_0)):
        with pytest.raises(ModelFormatError, match="cut short"):
            modelfile.read_bytes(GOLDEN_1_0[:length], "f")
        if length < 200:  # the same through a file, where the start is checked before the rest
            path.write_bytes(GOLDEN_1_0[:length])
            with pytest.raises(ModelFormatError, match="cut short"):
                modelfile.read(path)
    assert "follow its end" in refusal(GOLDEN_1_0 + b"\0")


def test_every_byte_flipped() -> None:
    for at in range(len(GOLDEN_1_0)):
        for mask in (1, 0x80, 0xFF):
            damaged = bytearray(GOLDEN_1_0)
            damaged[at] ^= mask
            with pytest.raises(ModelFormatError):
                modelfile.read_bytes(bytes(damaged), "f")


def test_files_of_other_kinds_are_refused_and_never_executed(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "executed"),)

    archive = io.BytesIO()
    np.savez(archive, x=np.zeros(3))
    objects = io.BytesIO()
    np.save(objects, np.array([Bomb()], object), allow_pickle=True)
    for data in (pickle.dumps(Bomb()), archive.getvalue(), objects.getvalue(), b"text", b"\x89PNG"):
        path = tmp_path / "other"
        path.write_bytes(data)
        with pytest.raises(ModelFormatError, match="not an electorate model file"):
            modelfile.read(path)
    pickled = pickle.dumps(Bomb())
    hidden = seal(b'{"arrays":[],"kind":"' + pickled.hex().encode() + b'","meta":{}}', b"")
    modelfile.read_bytes(hidden, "f")
    assert not (tmp_path / "executed").exists()


def test_a_large_file_of_another_kind_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    for start in (b"", modelfile.MAGIC + struct.pack("<IIQQ", 1, 0, 1000, 10)):
        with path.open("wb") as file:
            file.write(start)
            file.truncate(1 << 34)
        tracemalloc.start()
        with pytest.raises(ModelFormatError):
            modelfile.read(path)
        assert tracemalloc.get_traced_memory()[1] < MIB
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (entry(offset=-64), "is at offset -64 and must be at 64"),
        (entry(offset=0), "must be at 64"),
        (entry(offset=8), "must be at 64"),
        (entry(offset=65), "must be at 64"),
        (entry(offset=128), "must be at 64"),
        (entry(offset=2**63), "must be at 64"),
        (entry(offset=2**64), "64 bits"),
        (entry(offset="64"), "'offset' must be int, not str"),
        (entry(offset=64.0), "'offset' must be int, not float"),
        (entry(offset=True), "'offset' must be int, not bool"),
        (entry(offset=None), "'offset' must be int, not NoneType"),
        (entry(offset=...), "lacks 'offset'"),
        (entry(shape=[10**9]), "larger than the file"),
        (entry(shape=[2**62, 2**62]), "larger than the file"),
        (entry(shape=[2**32, 2**32, 1]), "larger than the file"),
        (entry(shape=[2**63, 2]), "larger than the file"),
        (entry(shape=[0, 2**62, 2**62]), "larger than the file"),
        (entry(shape=[5]), "does not fit"),
        (entry(shape=[3]), "4 bytes belong to no array"),
        (entry(shape=[]), "belong to no array"),
        (entry(shape=[-4]), "not made of sizes"),
        (entry(shape=[-2, -2]), "not made of sizes"),
        (entry(shape=[4.0]), "not made of sizes"),
        (entry(shape=[True, 4]), "not made of sizes"),
        (entry(shape=["4"]), "not made of sizes"),
        (entry(shape=[[4]]), "not made of sizes"),
        (entry(shape=[1, 1, 1, 1, 4]), "5 dimensions"),
        (entry(shape=4), "'shape' must be list, not int"),
        (entry(shape={"0": 4}), "'shape' must be list, not dict"),
        (entry(shape=...), "lacks 'shape'"),
        *((entry(dtype=code), "unknown dtype") for code in ("O", "|O", "O8", "<U1", "|V4", "|S4")),
        *((entry(dtype=code), "unknown dtype") for code in (">i4", "i4", "<M8[s]", "<f2", "i4,i4")),
        (entry(dtype="\x1b[2J" + "x" * 10**5), "unknown dtype"),
        (entry(dtype=["<i4"]), "'dtype' must be str, not list"),
        (entry(dtype=...), "lacks 'dtype'"),
        (entry(dtype="|b1", shape=[16]), "other bytes than 0 and 1"),
        (entry(name="a"), "array 'a' appears twice"),
        (entry(name=1), "'name' must be str, not int"),
        (entry(name=None), "'name' must be str, not NoneType"),
        (entry(name=...), "lacks 'name'"),
        (lambda tree: tree.update(arrays={}), "'arrays' must be list, not dict"),
        (lambda tree: tree.update(arrays=None), "'arrays' must be list"),
        (lambda tree: tree.update(arrays=[[]]), "not a JSON object"),
        (lambda tree: tree.update(arrays=["a", "b"]), "not a JSON object"),
        (lambda tree: tree["arrays"].reverse(), "must be at 0"),
        (lambda tree: tree["arrays"].pop() and None, "belong to no array"),
        (lambda tree: tree["arrays"].append(dict(tree["arrays"][1], name="c")), "must be at 128"),
        (lambda tree: tree.pop("arrays") and None, "lacks 'arrays'"),
        (lambda tree: tree.update(kind=1), "'kind' must be str, not int"),
        (lambda tree: tree.update(kind=["ensemble"]), "'kind' must be str, not list"),
        (lambda tree: tree.pop("kind") and None, "lacks 'kind'"),
        (lambda tree: tree.update(meta=[]), "'meta' must be dict, not list"),
        (lambda tree: tree.update(meta="x"), "'meta' must be dict, not str"),
        (lambda tree: tree.pop("meta") and None, "lacks 'meta'"),
        (lambda tree: tree["meta"].update(x=2**70), "64 bits"),
        (lambda tree: tree["meta"].update(x=math.nan), "NaN"),
        (lambda tree: tree["meta"].update(x="\ud800"), "surrogate"),
        (lambda tree: [tree], "not a JSON object"),
        (lambda tree: "text", "not a JSON object"),
    ],
)
def test_hostile_fields_with_a_correct_hash(change: Any, words: str) -> None:
    tracemalloc.start()
    message = refusal(forged(change))
    assert tracemalloc.get_traced_memory()[1] < 2 * MIB
    tracemalloc.stop()
    assert words in message
    assert len(message) < 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"meta":{"x":1,"x":2}}', "repeats the key 'x'"),
        ('{"kind":"a","kind":"b"}', "repeats the key 'kind'"),
        ('{"a":1,"\\u0061":2}', "repeats the key 'a'"),
        ('{"meta":NaN}', "NaN"),
        ('{"meta":[Infinity]}', "Infinity"),
        ('{"meta":-Infinity}', "-Infinity"),
        ('{"meta":1e999}', "not a finite number"),
        ('{"meta":' + "1" * 5000 + "}", "a number of 5000 characters"),
        ('{"meta":0.' + "1" * 10**6 + "}", "a number of 1000002 characters"),
        ('{"meta":' + "[" * 100 + "]" * 100 + "}", "nested deeper than 32"),
        ('{"meta":' + "[" * 200_000 + "]" * 200_000 + "}", "nested deeper than 32"),
        ('{"a":' * 50_000 + "0" + "}" * 50_000, "nested deeper than 32"),
        ("[" * 200_000, "nested deeper than 32"),
        ("", "not JSON"),
        ("{", "not JSON"),
        ("{}{}", "not JSON"),
        ("{'kind':1}", "not JSON"),
        ('{"kind":"\n"}', "not JSON"),
        ("null", "not a JSON object"),
        ('{"kind":"é"}', "not ASCII"),
        ("\ufeff{}", "not ASCII"),
    ],
)
def test_hostile_json_with_a_correct_hash(text: str, words: str) -> None:
    message = refusal(seal(text.encode(), b""))
    assert words in message
    assert len(message) < 300


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**32, 10**9, len(sample()), len(sample()) - 63])
def test_hostile_header_length_with_a_correct_hash(length: int) -> None:
    body = sample()[:24] + length.to_bytes(8, "little") + sample()[32:-32]
    assert "does not fit" in refusal(body + hashlib.sha256(body).digest())


def test_hostile_header_length_that_fits() -> None:
    for length in range(len(opened(sample())[0])):
        body = sample()[:24] + length.to_bytes(8, "little") + sample()[32:-32]
        refusal(body + hashlib.sha256(body).digest())


def test_padding_must_be_zero() -> None:
    data = bytearray(sample()[:-32])
    header_end = 32 + len(opened(sample())[0])
    for at in (header_end, len(data) - 16 - 1):
        changed = data.copy()
        changed[at] = 1
        assert "padding" in refusal(bytes(changed) + hashlib.sha256(changed).digest())


def test_the_message_shows_escapes_and_is_short() -> None:
    message = refusal(forged(entry(name="\x1b[31m<b>\n" + "y" * 10**5, shape=[99])))
    assert r"\x1b[31m<b>\n" in message
    assert len(message) < 300


def test_fuzzed_files_are_refused_or_sound() -> None:
    sound = fuzzer.seeds()
    valid = sum(fuzzer.check(fuzzer.mutant(1, index, sound)) for index in range(FUZZ_INPUTS))
    assert 0 < valid < FUZZ_INPUTS


def test_the_fuzzing_tool_reports(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    assert fuzzer.main(["200"]) == 0
    assert capsys.readouterr().out.startswith("200 inputs, seed 0: ")
    monkeypatch.setattr(modelfile, "read_bytes", lambda data, name: 1 // 0)
    assert fuzzer.main(["5", "3"]) == 1
    assert "5 failed" in capsys.readouterr().out


# ---------------------------------------------------------------- memory


def peak_of_reading(path: Path) -> int:
    tracemalloc.start()
    try:
        contents = modelfile.read(path)
        assert contents.kind == "k"
    except ModelFormatError:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_reading_takes_the_size_of_the_file_once(tmp_path: Path) -> None:
    path = tmp_path / "large.model"
    arrays = {"x": np.zeros((1000, 1000)), "flags": np.ones(8 * MIB, bool)}
    modelfile.write(path, "k", {}, arrays)
    assert peak_of_reading(path) < 1.1 * path.stat().st_size


@pytest.mark.parametrize(
    "unit",
    [
        "[]",
        "{}",
        '{"":0}',
        "[[[0.5]]]",
        '{"a":{"b":[]}}',
        "12345",
        '"\\u4e2d"',
        '"\\ud83d\\ude00aaa"',
    ],
)
@pytest.mark.parametrize("excess", [0.98, 1.02])
def test_a_header_of_many_small_objects_stays_within_its_bound(
    tmp_path: Path, unit: str, excess: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the limit the real cost is below the counted one; over it nothing is parsed at all."""
    allowance = 4 * MIB  # a smaller one, for speed
    monkeypatch.setattr(modelfile, "ALLOWANCE", allowance)
    each = 9 * (len(unit) + 1) + 64
    each += 200 * (unit.count("{") + unit.count(":")) + 96 * unit.count("[")
    count = int(excess * allowance / (each - len(unit) - 1))
    header = '{"arrays":[],"kind":"k","meta":{"x":[' + ",".join([unit] * count) + "]}}"
    path = tmp_path / "objects.model"
    path.write_bytes(seal(header.encode(), b""))
    size = path.stat().st_size
    if excess > 1:
        assert peak_of_reading(path) < 2 * size + MIB
        with pytest.raises(ModelFormatError, match="too large"):
            modelfile.read(path)
    else:
        assert len(modelfile.read(path).meta["x"]) == count
        assert peak_of_reading(path) < 2 * size + allowance


@pytest.mark.parametrize("text", ["a" * MIB + "\\ud83d\\ude00", "\\ud83d\\ude00" + "a\\n" * MIB])
def test_a_long_string_stays_within_its_bound(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One letter outside the basic plane makes Python store the whole string four times wider."""
    header = f'{{"arrays":[],"kind":"k","meta":{{"x":"{text}"}}}}'
    monkeypatch.setattr(modelfile, "ALLOWANCE", 8 * len(header) + 5000)
    path = tmp_path / "string.model"
    path.write_bytes(seal(header.encode(), b""))
    modelfile.read(path)
    assert peak_of_reading(path) < 2 * path.stat().st_size + modelfile.ALLOWANCE


def test_a_dict_of_many_keys_stays_within_its_bound(tmp_path: Path) -> None:
    for count in (21_000, 22_500, 44_000):  # around the sizes at which a dict grows
        header = {"arrays": [], "kind": "k", "meta": {f"é{key:x}": 0 for key in range(count)}}
        raw = json.dumps(header, separators=(",", ":")).encode()
        path = tmp_path / "keys.model"
        path.write_bytes(seal(raw, b""))
        assert peak_of_reading(path) < len(raw) * 10 + count * (200 + 64)


# ---------------------------------------------------------------- saving under failure


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "old.model"
    modelfile.write(path, "old", {}, {"x": np.zeros(3)})
    return path


def raising(error: BaseException) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("step", ["open", "fsync", "chmod", "replace"])
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        PermissionError(errno.EACCES, "Permission denied"),
        OSError(errno.EROFS, "Read-only file system"),
        KeyboardInterrupt(),
    ],
)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    before = saved.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, raising(error))
        with pytest.raises(type(error)):
            modelfile.write(saved, "new", {}, {"x": np.ones(3)})
    assert list(saved.parent.iterdir()) == [saved]
    assert saved.read_bytes() == before


def test_a_disk_that_fills_up_in_the_middle(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            super().write(data[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

    before = saved.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(safe_write, "open", lambda file, mode: Full(file, mode), raising=False)
        with pytest.raises(OSError, match="No space left"):
            modelfile.write(saved, "new", {}, {"x": np.ones(3)})
    assert list(saved.parent.iterdir()) == [saved]
    assert saved.read_bytes() == before


@pytest.mark.process
@posix_only
def test_a_real_limit_on_the_size_of_files(saved: Path) -> None:
    before = saved.read_bytes()
    run_python(
        """
import errno, resource, sys
import numpy as np
from electorate import modelfile
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    modelfile.write(sys.argv[1], "new", {}, {"x": np.zeros(100_000)})
except OSError as error:
    assert error.errno == errno.EFBIG
else:
    raise AssertionError("the limit did not work")
""",
        str(saved),
        OPENBLAS_NUM_THREADS="1",
    )
    assert list(saved.parent.iterdir()) == [saved]
    assert saved.read_bytes() == before


@pytest.mark.process
@posix_only
def test_a_process_killed_while_saving_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "killed.model"
    run_python(
        """
import os, random, signal, sys, time
import numpy as np
from electorate import modelfile
path = sys.argv[1]
contents = [{"x": np.full(size, float(size))} for size in (1000, 300_000)]
modelfile.write(path, "k", {}, contents[0])
rng = random.Random(0)
for _ in range(40):
    child = os.fork()
    if child == 0:
        while True:
            for arrays in contents:
                modelfile.write(path, "k", {}, arrays)
    time.sleep(rng.uniform(0.002, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    x = modelfile.read(path).arrays["x"]
    assert x.size in (1000, 300_000)
    assert (x == x.size).all()
""",
        str(path),
        OPENBLAS_NUM_THREADS="1",
    )
    for left in set(tmp_path.iterdir()) - {path}:
        assert left.name.startswith(".electorate-")
        assert left.name.endswith(".tmp")


def test_ordinary_errors_of_the_file_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        modelfile.read(tmp_path / "missing")
    with pytest.raises(OSError, match=r"(?i)directory|denied"):
        modelfile.read(tmp_path)
    with pytest.raises(FileNotFoundError):
        modelfile.write(tmp_path / "missing" / "x", "k", {}, {})
    with pytest.raises(IsADirectoryError):
        modelfile.write(tmp_path, "k", {}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_bad_argument_does_not_touch_the_file(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(ValueError, match="dtype object"):
        modelfile.write(saved, "new", {}, {"x": np.array([None])})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@posix_only
def test_pipes_and_devices_are_neither_read_nor_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(ModelFormatError, match="not a regular file"):
            modelfile.read(path)
        with pytest.raises(OSError, match="not a regular file"):
            modelfile.write(path, "k", {}, {})
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


@posix_only
def test_links_and_permissions_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.model", tmp_path / "link.model"
    modelfile.write(real, "k", {}, {})
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~umask
    real.chmod(0o600)
    link.symlink_to(real)
    modelfile.write(link, "new", {}, {})
    assert link.is_symlink()
    assert modelfile.read(real).kind == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_file_that_changes_while_it_is_read(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modelfile.write(saved, "k", {}, {"x": np.zeros(MIB)})
    real = modelfile._check_prefix

    def cut(prefix: bytes, length: int) -> Any:
        os.truncate(saved, 5 * MIB)
        return real(prefix, length)

    monkeypatch.setattr(modelfile, "_check_prefix", cut)
    with pytest.raises(ModelFormatError, match="cut short"):
        modelfile.read(saved)


# ---------------------------------------------------------------- for the layer above


def test_require() -> None:
    contents = modelfile.read_bytes(sample(), "some.file")
    assert same(modelfile.require(contents, "a", "<f8", (3,)), np.arange(3.0))
    assert modelfile.require(contents, "b", np.int32, (None,)).size == 4
    for name, dtype, shape, words in [
        ("c", "<f8", (3,), "array 'c' is missing"),
        ("a", "<f4", (3,), "array 'a' must have dtype <f4, not <f8"),
        ("a", "<f8", (4,), r"array 'a' must have shape \(4\), not \[3\]"),
        ("a", "<f8", (3, None), r"array 'a' must have shape \(3, any\), not \[3\]"),
        ("a", "<f8", (), r"array 'a' must have shape \(\), not \[3\]"),
    ]:
        with pytest.raises(ModelFormatError, match=words) as caught:
            modelfile.require(contents, name, dtype, shape)
        assert "some.file" in str(caught.value)


def test_meta_value() -> None:
    meta = {"i": 1, "f": 1.0, "b": True, "s": "x", "l": [1], "d": {}}
    contents = modelfile.read_bytes(modelfile.write_bytes("k", meta, {}), "some.file")
    types: list[type] = [int, float, bool, str, list, dict]
    for key, own in zip(meta, types, strict=True):
        assert modelfile.meta_value(contents, key, own) == meta[key]
        for other in set(types) - {own}:
            with pytest.raises(ModelFormatError, match=f"some.file.*'{key}' must be"):
                modelfile.meta_value(contents, key, other)
    with pytest.raises(ModelFormatError, match="meta lacks 'none'"):
        modelfile.meta_value(contents, "none", int)


def test_contents_are_frozen_and_bytes_must_be_immutable() -> None:
    contents = modelfile.read_bytes(sample(), "f")
    with pytest.raises(AttributeError):
        contents.kind = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        contents.arrays["a"][0] = 1
    with pytest.raises(TypeError, match="bytearray"):
        modelfile.read_bytes(bytearray(sample()), "f")  # type: ignore[arg-type]
    assert len(repr(contents)) < 200


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ModelFormatError("text")))
    assert isinstance(error, ValueError)
    assert str(error) == "text"


def test_round_trips_of_random_contents() -> None:
    rng = random.Random(0)
    for _ in range(200):
        arrays = {}
        for _ in range(rng.randrange(5)):
            shape = [rng.randrange(5) for _ in range(rng.randrange(5))]
            code = rng.choice(CODES)
            count = math.prod(shape) * np.dtype(code).itemsize
            raw = rng.randbytes(count) if code != "|b1" else bytes(rng.choices([0, 1], k=count))
            arrays[rng.choice(AWKWARD)] = np.frombuffer(raw, code).reshape(shape)
        meta = {rng.choice(AWKWARD): rng.choice([rng.random(), rng.getrandbits(64), AWKWARD])}
        data = modelfile.write_bytes("k", meta, arrays)
        contents = modelfile.read_bytes(data, "f")
        assert contents.meta == meta
        assert sorted(contents.arrays) == sorted(arrays)
        assert all(same(contents.arrays[name], arrays[name]) for name in arrays)
        assert modelfile.write_bytes("k", contents.meta, contents.arrays) == data
