"""Damaged and hostile model files by the thousand, from a fixed seed; half are re-hashed.
Each must be refused with ModelFormatError or read into sound contents, and quickly.
Usage: python tools/fuzz_modelfile.py [COUNT [SEED]]; exit status 1 if any input failed."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":  # run from a checkout as well as beside an installed package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from electorate import modelfile

PREFIX = struct.Struct("<8sIIQQ")
SECONDS_ALLOWED = 1.0
INTEGERS = [
    *(0, 1, -1, 2, 3, 7, 8, 31, 32, 63, 64, 65, 127, 128, 255, 256, 1000, 4096, 10**9),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1),
    *(-(2**31), -(2**63), 2**64, 10**25),
]
VALUES: list[Any] = [
    *INTEGERS,
    *(None, True, False, 0.0, -0.0, 1.5, 64.0, 1e308, "", "0", "64", "name", "a", "x" * 300),
    *("O", "|O", "<f8", ">f8", "<f2", "<c16", "|b1", "|u1", "<u8", "<U4", "<M8[s]", "<f8,<f8"),
    *([], {}, [[]], [0], [-1], [2, 3], [0, 2**62], [2**32, 2**32], [1] * 5, [True], [1.0]),
    *({"name": "a"}, {"name": "z", "dtype": "|u1", "shape": [0], "offset": 0}),
    *("\x1b[31m", "<script>", "\ud83d", "\u202e", "\x00", "\U0001f5f3"),
]
TOKENS = [
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b" ", b"\n", b"\x00"),
    *(b"NaN", b"-Infinity", b"1e999", b"-0", b"0x1", b"1" * 40, b"1" * 5000, b"null", b"true"),
    *(b'"name":"a",', b'"offset":0,', b'"kind":"k",', b"[" * 40, b"[" * 3000, b"\xff", b"\xc3\xa9"),
]


def seeds() -> list[bytes]:
    """A few sound files to start from: small, with every dtype, with awkward text, with nothing."""
    codes = ["<f8", "<f4", "<i8", "<i4", "<i2", "<u8", "<u4", "<u2", "|u1", "|i1", "|b1"]
    every = {code: (np.arange(6) % 2).astype(code).reshape(2, 3) for code in codes}
    small = {"a": np.arange(5.0), "b": np.zeros((0, 3), "<i4"), "c": np.array(7, "<i8")}
    meta = {"classes": ["no", "yes <b>", "\x1b[0m", "é\U0001f5f3"], "n": 3, "nested": [{"x": 0.5}]}
    return [
        modelfile.write_bytes("ensemble", meta, small),
        modelfile.write_bytes("ensemble", {"rounds": 10}, every),
        modelfile.write_bytes("", {}, {}),
    ]


def seal(header: bytes, data: bytes, version: tuple[int, int] = (1, 0)) -> bytes:
    """A file with this header text and these array bytes, with lengths and hash made to agree."""
    padding = bytes(-(PREFIX.size + len(header)) % 64)
    total = PREFIX.size + len(header) + len(padding) + len(data) + 32
    body = PREFIX.pack(modelfile.MAGIC, *version, total, len(header)) + header + padding + data
    return body + hashlib.sha256(body).digest()


def opened(sound: bytes) -> tuple[bytes, bytes]:
    """The header text and the array bytes of a sound file."""
    end = PREFIX.size + int.from_bytes(sound[24:32], "little")
    return sound[PREFIX.size : end], sound[end + (-end % 64) : -32]


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """One blind change: a bit, a byte, a block removed, repeated, inserted, or cleared."""
    at = rng.randrange(len(data) + 1)
    length = rng.choice([1, 1, 2, 4, 8, 64, rng.randrange(len(data) + 1)])
    choice = rng.randrange(7)
    if choice == 0 and at < len(data):
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if choice == 1:
        return data[:at]
    if choice == 2:
        return data[:at] + data[at + length :]
    if choice == 3:
        return data[:at] + data[at : at + length] + data[at:]
    if choice == 4:
        return data[:at] + rng.randbytes(length) + data[at:]
    if choice == 5:
        return data[:at] + bytes(len(data[at : at + length])) + data[at + length :]
    after = at + rng.choice([0, 1, 4])
    return b"".join([data[:at], rng.choice(TOKENS), data[after:]])


def mutate_prefix(rng: random.Random, data: bytes) -> bytes:
    """One of the four numbers at the start replaced by an awkward one."""
    at, size = rng.choice([(8, 4), (12, 4), (16, 8), (24, 8)])
    value = (rng.choice(INTEGERS) + rng.choice([0, len(data)])) % (1 << 8 * size)
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def mutate_tree(rng: random.Random, header: bytes) -> bytes:
    """The header's JSON with one value, at any depth, replaced, removed or repeated."""
    tree = json.loads(header)
    places: list[tuple[Any, Any]] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        places += [(node, key) for key in keys]
        pending += [node[key] for key in keys if isinstance(node[key], (dict, list))]
    node, key = rng.choice(places)
    choice = rng.randrange(8)
    if choice == 0:
        del node[key]
    elif choice == 1 and isinstance(node, list):
        node.insert(key, node[key])
    elif choice == 2 and isinstance(node[key], int):
        node[key] += rng.choice([-64, -1, 1, 64])
    else:
        node[key] = rng.choice(VALUES)
    return json.dumps(tree, separators=(",", ":")).encode("ascii")


def mutant(seed: int, index: int, sound: list[bytes]) -> bytes:
    """Input number `index`, a function of its arguments alone: a failure can be repeated."""
    rng = random.Random(seed * 1_000_003 + index)
    data = rng.choice(sound)
    header, arrays = opened(data)
    choice = rng.randrange(5)
    if choice == 0:
        return seal(mutate_tree(rng, header), arrays)
    if choice == 1:
        return seal(mutate_tree(rng, mutate_tree(rng, header)), arrays)
    if choice == 2:
        return seal(mutate_bytes(rng, header), arrays)
    if choice == 3:
        return seal(header, mutate_bytes(rng, arrays), (1, rng.choice([0, 0, 1, 2**32 - 1])))
    for _ in range(rng.choice([1, 1, 2, 5])):
        data = mutate_prefix(rng, data) if rng.random() < 0.3 else mutate_bytes(rng, data)
    if rng.random() < 0.5:
        return data
    if rng.random() < 0.5:  # let it get past the check of the length, too
        data = data[:16] + len(data).to_bytes(8, "little") + data[24:]
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def check(data: bytes) -> bool:
    """True if read into sound contents, False if refused; AssertionError or worse otherwise."""
    contents = message = None
    began = time.perf_counter()
    try:
        contents = modelfile.read_bytes(data, "fuzz")
    except modelfile.ModelFormatError as error:
        message = str(error)
    seconds = time.perf_counter() - began
    assert seconds < SECONDS_ALLOWED, f"took {seconds:.1f} s"
    if contents is None:
        assert message is not None
        assert message.startswith("model file 'fuzz': "), message
        assert message.isprintable(), message
        assert len(message) < 1000, message
        return False
    check_sound(contents, len(data))
    return True


def check_sound(contents: modelfile.Contents, size: int) -> None:
    """What was read is what the format promises, and survives being written and read again."""
    assert type(contents.kind) is str
    assert type(contents.meta) is dict
    assert sum(array.nbytes for array in contents.arrays.values()) <= size
    again = modelfile.write_bytes(contents.kind, contents.meta, contents.arrays)
    second = modelfile.read_bytes(again, "fuzz")
    assert second.meta == contents.meta
    assert sorted(second.arrays) == sorted(contents.arrays)
    for name, array in contents.arrays.items():
        assert array.dtype.str in modelfile.DTYPES
        assert not array.flags.writeable
        assert array.flags.c_contiguous
        assert second.arrays[name].tobytes() == array.tobytes()
        assert second.arrays[name].shape == array.shape


def main(arguments: list[str]) -> int:
    count = int(arguments[0] if arguments else os.environ.get("ELECTORATE_FUZZ_INPUTS", "100000"))
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    sound = seeds()
    valid = failed = 0
    for index in range(count):
        try:
            valid += check(mutant(seed, index, sound))
        except Exception:
            failed += 1
            print(f"input {index} of seed {seed}:", file=sys.stderr)
            traceback.print_exc()
    refused = count - valid - failed
    print(f"{count} inputs, seed {seed}: {refused} refused, {valid} valid, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
