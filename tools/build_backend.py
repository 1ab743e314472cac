"""The build backend: scikit-build-core, with ziglang as the compiler where no C++20 compiler is found.

The environment variable ELECTORATE_CXX=zig asks for ziglang in any case.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scikit_build_core import build as inner
from scikit_build_core.build import (  # noqa: F401
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

PROGRAM = b"#include <atomic>\n#include <bit>\nint f(std::atomic<int>& a) { a.wait(0); return std::bit_width(5u); }\n"
WHAT_TO_INSTALL = "electorate needs a C++20 compiler: install g++ 11 or clang 14, or later ones, or the package ziglang"


def compiles(*command: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.cpp").write_bytes(PROGRAM)
        arguments = [*command, "-std=c++20", "-c", "program.cpp", "-o", "program.o"]
        return subprocess.run(arguments, cwd=folder, capture_output=True, check=False).returncode == 0


def has_compiler() -> bool:
    if os.environ.get("ELECTORATE_CXX") == "zig":
        return False
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    return sys.platform == "win32" or any(shutil.which(name) and compiles(name) for name in names)  # there CMake looks


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    more = [] if has_compiler() else ["ziglang>=0.15"]
    return [*inner.get_requires_for_build_wheel(config_settings), "numpy>=2.0", *more]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return get_requires_for_build_wheel(config_settings)


def build_wheel(directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        choose_compiler(Path(folder))
        return inner.build_wheel(directory, config_settings, metadata_directory)


def build_editable(directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        choose_compiler(Path(folder))
        return inner.build_editable(directory, config_settings, metadata_directory)


def choose_compiler(folder: Path) -> None:
    """Make ziglang CMake's compiler if there is no other: by a script, as CMake takes one file for a compiler."""
    if has_compiler():
        return
    zig = [sys.executable, "-m", "ziglang", "c++", *zig_target()]
    if find_spec("ziglang") is None or not compiles(*zig):
        raise SystemExit(f"{WHAT_TO_INSTALL}{tried()}")
    print(f"building with ziglang, which takes a few minutes{tried()}", flush=True)
    script = folder / "zig-c++"
    script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in zig) + ' "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    os.environ["CXX"] = str(script)
    os.environ["CMAKE_ARGS"] = os.environ.get("CMAKE_ARGS", "") + " -DELECTORATE_ZIG=ON"


def tried() -> str:
    """What the environment names as the compiler, where that is why another one is not looked for."""
    named = os.environ.get("CXX")
    return f" (CXX={named} does not compile C++20)" if named and os.environ.get("ELECTORATE_CXX") != "zig" else ""


def zig_target() -> list[str]:
    """Modules for any Linux with glibc 2.28, or with musl where Python is; elsewhere for this machine."""
    if sys.platform != "linux":
        return []
    target = "linux-musl" if "musl" in (sysconfig.get_config_var("SOABI") or "") else "linux-gnu.2.28"
    return ["-target", os.environ.get("ELECTORATE_ZIG_TARGET", f"{platform.machine()}-{target}")]
