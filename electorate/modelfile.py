"""The model file: named arrays and a JSON header in one flat file, with nothing in it to execute.

Written to a temporary file and then moved into place; read with every size checked before use. The layout, byte by
byte, is in docs/model_file.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from electorate.exact import AnyArray
from electorate.text import replacing

FORMAT = (1, 0)
# Like PNG's magic: the first byte is not text, and a transfer that rewrites line ends shows.
MAGIC = b"\x89ELE\r\n\x1a\n"
DTYPES = {
    code: np.dtype(code).itemsize
    for code in ("<f8", "<f4", "<i8", "<i4", "<i2", "<u8", "<u4", "<u2", "|u1", "|i1", "|b1")
}
ALIGNMENT = 64
MAX_DIMENSIONS = 4
MAX_DEPTH = 32
MAX_NUMBER_LENGTH = 32
# Python objects are far larger than their JSON text. What the header may cost, and what an empty
# array may claim, is the size of the file plus this: peak memory stays under 2 x file + 64 MiB.
ALLOWANCE = 1 << 26

_PREFIX = struct.Struct("<8sIIQQ")  # magic, major, minor, length of the file, length of the header
_HASH_LENGTH = hashlib.sha256().digest_size

_NESTING = re.compile(rb'"[^"]*"|[\[\]{}]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED_LENGTH = 60
_MESSAGE_LENGTH = 300

_T = TypeVar("_T")


class ModelFormatError(ValueError):
    """The file is damaged, hostile, too new, or not a model file; see the message.

    Examples
    --------
    >>> from pathlib import Path
    >>> from electorate import load
    >>> from electorate.modelfile import ModelFormatError
    >>> _ = Path("not.model").write_text("not a model")
    >>> try:
    ...     load("not.model")
    ... except ModelFormatError:
    ...     print("refused")
    refused
    """


@dataclass(frozen=True)
class Contents:
    """What a model file holds. The arrays are read-only; `source` names the file in messages."""

    kind: str
    version: tuple[int, int]
    meta: dict[str, Any]
    arrays: dict[str, AnyArray] = field(repr=False)
    source: str = ""


# ---------------------------------------------------------------- files


def expect(holds: Any, otherwise: str) -> None:
    """Raise ValueError with this message unless the condition holds."""
    if not holds:
        raise ValueError(otherwise)


def write(path: str | os.PathLike[str], kind: str, meta: dict[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Save so that `path` holds the old file or the whole new one, whatever happens on the way.

    An OSError (disk full, read-only folder) goes through and leaves no temporary file. A symbolic
    link is written through, and the permissions of a file that is replaced are kept.
    """
    data = write_bytes(kind, meta, arrays)
    with replacing(path) as file:
        file.write(data)


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a model file; `ModelFormatError` for every kind of damage, OSError if it cannot be read.

    The hash in the file finds damage, not forgery: whoever changes a file on purpose can write the
    hash anew. So nothing here trusts a file because its hash is right. Every field is checked, no
    code is ever run or unpickled, and a hostile file can cost no more than twice its own size in
    memory (plus 64 MiB for its header). Whether the arrays make sense together is for the caller
    to check, who must distrust them in the same way.
    """
    name = os.fsdecode(path)
    mode = os.stat(name).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe would block, a device never end
        raise ModelFormatError(f"model file {name!r}: not a regular file")
    with open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with blaming(name):  # a large file of another kind is refused before it is read
            _check_prefix(file.read(_PREFIX.size), size)
        file.seek(0)
        return read_bytes(file.read(size), name)


# ---------------------------------------------------------------- writing


def write_bytes(kind: str, meta: dict[str, Any], arrays: Mapping[str, AnyArray]) -> bytes:
    """The bytes of a model file: the same for the same contents, whatever the order of the keys.

    `meta` is JSON: dict with str keys, list or tuple (read back as a list), str, int of 64 bits,
    finite float, bool, None. ValueError for anything else, so that a file written can be read.
    """
    expect(all(isinstance(name, str) for name in arrays), "array names must be str")
    table: list[dict[str, Any]] = []
    blocks: list[Any] = []
    end = 0
    for name in sorted(arrays):
        array = _storable(name, arrays[name])
        offset = _aligned(end)
        table.append({"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": offset})
        # A flat view, not tobytes(): the only copy of the arrays is the one made by join.
        blocks += [bytes(offset - end), array.reshape(-1).view(np.uint8).data]
        end = offset + array.nbytes
    expect(isinstance(kind, str), f"kind must be str, not {type(kind).__name__}")
    expect(isinstance(meta, dict), f"meta must be a dict, not {type(meta).__name__}")
    contents = {"arrays": table, "kind": kind, "meta": meta}
    check_json(contents, "header")
    header = json.dumps(contents, sort_keys=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    start = _aligned(_PREFIX.size + len(header))
    total = start + end + _HASH_LENGTH
    _check_cost(header, total)
    prefix = _PREFIX.pack(MAGIC, *FORMAT, total, len(header))
    parts = [prefix, header, bytes(start - _PREFIX.size - len(header)), *blocks]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def _storable(name: str, array: AnyArray) -> AnyArray:
    """The array in the byte order and layout of the file, checked by the reader's own rules."""
    expect(isinstance(array, np.ndarray), f"{_quoted(name)} is a {type(array).__name__}, not an array")
    dtype = array.dtype.newbyteorder("<")
    expect(dtype.str in DTYPES, f"array {_quoted(name)} has dtype {array.dtype}, which cannot be stored")
    stored = np.asarray(array, dtype=dtype, order="C")
    if dtype.kind == "b":  # a bool array may hold other bytes than 0 and 1 when it is a view
        stored = np.asarray(stored.view(np.uint8) != 0)
    _check_shape(name, list(stored.shape), dtype.itemsize, stored.nbytes)
    return stored


# ---------------------------------------------------------------- reading


def read_bytes(data: bytes, name: str) -> Contents:
    """Read the bytes of a model file; `name` stands for it in messages. See `read`.

    The arrays are views of `data`, not copies, which is why it must be immutable.
    """
    if not isinstance(data, bytes):
        raise TypeError(f"expected bytes, not {type(data).__name__}")
    with blaming(name):
        version, header_length = _check_prefix(data[: _PREFIX.size], len(data))
        found = hashlib.sha256(memoryview(data)[:-_HASH_LENGTH]).digest()
        expect(found == data[-_HASH_LENGTH:], "its hash is not that of its bytes: the file is damaged")
        end = _PREFIX.size + header_length
        header = _decoded_header(data[_PREFIX.size : end], len(data))
        kind = _typed(header, "kind", str, "header")
        meta = _typed(header, "meta", dict, "header")
        arrays = _views(data, _typed(header, "arrays", list, "header"), end)
    return Contents(kind, version, meta, arrays, name)


@contextlib.contextmanager
def blaming(name: str) -> Iterator[None]:
    """Turn an error that a file causes into a ModelFormatError that names the file.

    Without the cause: JSON's errors carry the whole header, which may be large.
    """
    try:
        yield
    except ModelFormatError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        text = f"{type(error).__name__}, {error}" if isinstance(error, KeyError) else str(error)
        printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_MESSAGE_LENGTH])
        raise ModelFormatError(f"model file {name!r}: {printable}") from None


def _check_prefix(prefix: bytes, size: int) -> tuple[tuple[int, int], int]:
    """The version and the header's length. Magic and version stay in place in every version."""
    expect(prefix.startswith(MAGIC[: len(prefix)]), "not an electorate model file")
    expect(len(prefix) == _PREFIX.size, f"cut short: it ends after {size} bytes")
    _, major, minor, total, header_length = _PREFIX.unpack(prefix)
    expect(
        major <= FORMAT[0],
        f"format {major}.{minor} is newer than this version of electorate can read (up to {FORMAT[0]}.x); upgrade "
        "electorate to read it",
    )
    expect(major >= 1, f"unknown format version {major}.{minor}")
    expect(total <= size, f"cut short: it has {size} of {total} bytes")
    expect(total == size, f"{size - total} bytes follow its end")
    end = _aligned(_PREFIX.size + header_length) + _HASH_LENGTH
    expect(end <= size, f"a header of {header_length} bytes does not fit into {size} bytes")
    return (major, minor), header_length


def _decoded_header(raw: bytes, size: int) -> dict[str, Any]:
    """The header, without what Python's JSON reader allows: NaN, repeated keys, endless numbers."""
    _check_cost(raw, size)
    expect(raw.isascii(), "the header is not ASCII")
    _check_depth(raw)
    try:
        header = json.loads(
            raw.decode("ascii"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_int=lambda text: int(_short(text)),
            parse_float=lambda text: float(_short(text)),
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"the header is not JSON: {error.msg} (byte {error.pos})") from None
    check_json(header, "header")
    expect(isinstance(header, dict), "the header is not a JSON object")
    return dict(header)


def _check_depth(raw: bytes) -> None:
    """Refuse deep nesting before parsing, which recurses.

    Where a program has raised Python's recursion limit, parsing it would end the process.
    """
    without_escapes = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    depth = 0
    for match in _NESTING.finditer(without_escapes):
        token = match[0]
        if token in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"the header is nested deeper than {MAX_DEPTH} levels")
        elif token in (b"]", b"}"):
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the header repeats the key {_quoted(key)}")
        found[key] = value
    return found


def _refuse_constant(text: str) -> None:
    raise ValueError(f"the header holds {text}, which is not JSON")


def _short(text: str) -> str:
    if len(text) > MAX_NUMBER_LENGTH:  # reading digits can take quadratic time
        raise ValueError(f"the header holds a number of {len(text)} characters")
    return text


def _views(data: bytes, table: list[Any], header_end: int) -> dict[str, AnyArray]:
    """All arrays, which must fill the file from the header to the hash, in the table's order."""
    arrays: dict[str, AnyArray] = {}
    start = _aligned(header_end)
    _check_padding(data, header_end, start)
    end = start
    for entry in table:
        expect(isinstance(entry, dict), "an entry of the array table is not a JSON object")
        name = _typed(entry, "name", str, "an entry of the array table")
        expect(name not in arrays, f"array {_quoted(name)} appears twice")
        arrays[name] = _view(data, entry, start, end)
        end = start + _aligned(end - start) + arrays[name].nbytes
    expect(end == len(data) - _HASH_LENGTH, f"{len(data) - _HASH_LENGTH - end} bytes belong to no array")
    return arrays


def _view(data: bytes, entry: dict[str, Any], start: int, end: int) -> AnyArray:
    """One array as a read-only view; it must begin right after the one that ended at `end`.

    One place is allowed, so no array can be unaligned, out of order, before the header or inside
    another one; only its size is left to check.
    """
    name = entry["name"]
    where = f"array {_quoted(name)}"
    code = _typed(entry, "dtype", str, where)
    shape = _typed(entry, "shape", list, where)
    offset = _typed(entry, "offset", int, where)
    expect(code in DTYPES, f"{where} has the unknown dtype {_quoted(code)}")
    expected = _aligned(end - start)
    expect(offset == expected, f"{where} is at offset {offset} and must be at {expected}")
    limit = len(data) - _HASH_LENGTH
    length = _check_shape(name, shape, DTYPES[code], limit - start)
    begin = start + offset
    expect(begin + length <= limit, f"{where} of shape {shape} does not fit into the file")
    _check_padding(data, end, begin)
    array: AnyArray = np.ndarray(shape, np.dtype(code), data, begin)
    boolean = code != "|b1" or array.view(np.uint8).max(initial=0) <= 1
    expect(boolean, f"{where} is boolean and holds other bytes than 0 and 1")
    return array


# ---------------------------------------------------------------- rules both sides share


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _check_padding(data: bytes, begin: int, end: int) -> None:
    expect(not any(data[begin:end]), f"the padding at byte {begin} is not zero")


def _check_shape(name: str, shape: list[Any], itemsize: int, available: int) -> int:
    """The array's length in bytes, computed in Python integers, which do not overflow.

    An empty array takes no bytes whatever its other dimensions are, so these are bounded as if it
    were not empty: the caller may use one of them as a size.
    """
    where = f"array {_quoted(name)}"
    expect(len(shape) <= MAX_DIMENSIONS, f"{where} has {len(shape)} dimensions, over {MAX_DIMENSIONS}")
    sizes = all(type(size) is int and size >= 0 for size in shape)
    expect(sizes, f"{where} has a shape that is not made of sizes")
    fits = math.prod(max(size, 1) for size in shape) * itemsize <= max(available, ALLOWANCE)
    expect(fits, f"{where} of shape {shape} is larger than the file")
    return int(math.prod(shape) * itemsize)


def _check_cost(header: bytes, size: int) -> None:
    """Refuse a header whose Python objects could take more memory than a file of `size` may.

    Counts from above, in bytes of CPython objects: characters inside strings count as if they were
    punctuation, and every string as if it needed four bytes a character.
    """
    prices = {b"{": 200, b":": 200, b"[": 96, b",": 64}
    cost = 9 * len(header) + sum(price * header.count(mark) for mark, price in prices.items())
    expect(cost <= size + ALLOWANCE, f"a header of {len(header)} bytes is too large; long lists belong into arrays")


def check_json(value: Any, where: str, depth: int = 0) -> None:
    """What every JSON reader can represent; `where` is the nearest key, for the message.

    `depth` counts the containers around the value.
    """
    if depth == MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        raise ValueError(f"{_quoted(where)} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{_quoted(where)} has a key that is not str: {key!r}")
            _check_text(key, where)
            check_json(item, key, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_json(item, where, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{_quoted(where)} is not a finite number")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{_quoted(where)} is an integer of more than 64 bits")
    elif value is not None:
        raise ValueError(f"{_quoted(where)} is a {type(value).__name__}, which cannot be stored")


def _check_text(text: str, where: str) -> None:
    """Text that every JSON reader can represent."""
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError(f"{_quoted(where)} holds half a surrogate pair, which is not text")


def _typed(mapping: dict[str, Any], key: str, type_: type[_T], where: str) -> _T:
    """The value under a key, of exactly this type: to JSON a bool is not a number."""
    expect(key in mapping, f"{where} lacks {_quoted(key)}")
    value: _T = mapping[key]
    expect(type(value) is type_, f"{where}: {_quoted(key)} must be {type_.__name__}, not {type(value).__name__}")
    return value


def _quoted(text: str) -> str:
    """Text from a file as it may enter a message: quoted, escapes made visible, never long."""
    return repr(text if len(text) <= _QUOTED_LENGTH else text[:_QUOTED_LENGTH] + "...")


# ---------------------------------------------------------------- for the layer above


def require(contents: Contents, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> AnyArray:
    """The array of this name if it has this dtype and shape (None: any size), or an error."""
    with blaming(contents.source):
        expect(name in contents.arrays, f"array {_quoted(name)} is missing")
        array = contents.arrays[name]
        wanted = np.dtype(dtype).newbyteorder("<")
        expect(array.dtype == wanted, f"array {_quoted(name)} must have dtype {wanted.str}, not {array.dtype.str}")
        same = all(size in (None, actual) for size, actual in zip(shape, array.shape, strict=False))
        fits = array.ndim == len(shape) and same
        text = ", ".join("any" if size is None else str(size) for size in shape)
        expect(fits, f"array {_quoted(name)} must have shape ({text}), not {list(array.shape)}")
    return array


def meta_value(contents: Contents, key: str, type_: type[_T]) -> _T:
    """The value of `meta` under this key if it has exactly this type, or an error."""
    with blaming(contents.source):
        return _typed(contents.meta, key, type_, "meta")
