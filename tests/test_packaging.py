"""What the package says of itself, a word to unsupported Pythons, and which compiler builds it."""

import ast
import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import electorate

ROOT = Path(__file__).parent.parent


def load_tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def provider():
    """What scikit-build-core asks for the readme and the addresses."""
    return load_tool("package_metadata")


def test_the_readme_of_an_index_has_no_link_to_a_file(provider):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https?://|#)", provider.readme_for_index(text)) == []
    assert re.findall(r"\]\((?!https?://|#)", provider.readme_for_index(text, "https://example.org/electorate")) == []
    kept = "[a](https://example.org/x) and [b](#part)"
    assert provider.readme_for_index(kept + " [c](docs/c.md)") == kept + " c"
    assert provider.readme_for_index("![d](docs/d.svg)\n[c](docs/c.md)", "https://e.org/r") == (
        "![d](https://e.org/r/raw/main/docs/d.svg)\n[c](https://e.org/r/blob/main/docs/c.md)"
    )


def test_addresses_are_those_of_the_repository(provider):
    assert provider.addresses("") == {}
    assert all(address.startswith("https://e.org/r") for address in provider.addresses("https://e.org/r").values())


def test_older_pythons_are_refused_by_name(provider):
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert wanted == f">={'.'.join(map(str, provider.OLDEST))}"
    provider.refuse_python((3, 11))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or later; this is Python 3\.10"):
        provider.refuse_python((3, 10))


def test_the_provider_is_called_before_anything_is_installed(provider, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert provider.get_requires_for_dynamic_metadata({}) == []
    assert set(provider.dynamic_metadata({}, {})) == set(provider_fields())
    monkeypatch.setattr(provider, "OLDEST", (4, 0))
    with pytest.raises(SystemExit, match="electorate needs Python"):
        provider.get_requires_for_dynamic_metadata({})


def test_the_version_is_that_of_the_package(provider, monkeypatch):
    """The recipe for conda-forge and the experiments are released together with the package."""
    monkeypatch.chdir(ROOT)
    assert provider.dynamic_metadata({}, {})["version"] == electorate.__version__
    studies = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text(encoding="utf-8"))
    assert studies["project"]["version"] == electorate.__version__
    assert f"\n  version: {electorate.__version__}\n" in (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")


def provider_fields() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dynamic"]


@pytest.fixture
def backend(monkeypatch):
    """The build backend; scikit-build-core is there only while a package is built."""
    inner: Any = ModuleType("scikit_build_core.build")
    inner.get_requires_for_build_wheel = lambda config_settings: []
    for name in ("sdist", "wheel", "editable"):
        setattr(inner, f"build_{name}", None)
    inner.get_requires_for_build_sdist = inner.prepare_metadata_for_build_wheel = None
    inner.prepare_metadata_for_build_editable = None
    monkeypatch.setitem(sys.modules, "scikit_build_core", SimpleNamespace(build=inner))
    monkeypatch.setitem(sys.modules, "scikit_build_core.build", inner)
    for variable in ("ELECTORATE_CXX", "CXX", "CMAKE_ARGS", "ELECTORATE_ZIG_TARGET"):
        monkeypatch.delenv(variable, raising=False)
    return load_tool("build_backend")


def test_ziglang_is_asked_for_only_without_a_compiler(backend, monkeypatch):
    monkeypatch.setattr(backend, "compiles", lambda *command: True)
    monkeypatch.setattr(backend.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert backend.get_requires_for_build_editable() == ["numpy>=2.0"]
    monkeypatch.setattr(backend, "compiles", lambda *command: False)  # a compiler of C++17
    assert backend.get_requires_for_build_wheel() == ["numpy>=2.0", "ziglang>=0.15"]
    monkeypatch.setattr(backend, "compiles", lambda *command: True)
    monkeypatch.setenv("ELECTORATE_CXX", "zig")
    assert backend.get_requires_for_build_wheel() == ["numpy>=2.0", "ziglang>=0.15"]


@pytest.mark.parametrize(("found", "works"), [(None, False), (object(), False)])
def test_without_any_compiler_the_build_ends_in_a_sentence(backend, monkeypatch, tmp_path, found, works):
    monkeypatch.setenv("ELECTORATE_CXX", "zig")
    monkeypatch.setattr(backend, "find_spec", lambda name: found)
    monkeypatch.setattr(backend, "compiles", lambda *command: works)
    with pytest.raises(SystemExit, match=r"^electorate needs a C\+\+20 compiler: install g\+\+ 11 or clang 14"):
        backend.choose_compiler(tmp_path)


def test_a_compiler_that_the_environment_names_is_named_if_it_is_too_old(backend, monkeypatch, tmp_path):
    monkeypatch.delenv("ELECTORATE_CXX", raising=False)
    monkeypatch.setenv("CXX", "g++-9")
    monkeypatch.setattr(backend, "compiles", lambda *command: False)
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"ziglang \(CXX=g\+\+-9 does not compile C\+\+20\)$"):
        backend.choose_compiler(tmp_path)


def test_zig_is_the_compiler_of_cmake(backend, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("ELECTORATE_CXX", "zig")
    monkeypatch.setenv("CXX", "g++")
    monkeypatch.setenv("CMAKE_ARGS", "-DA=1")
    monkeypatch.setattr(backend, "find_spec", lambda name: object())
    monkeypatch.setattr(backend, "compiles", lambda *command: True)
    backend.choose_compiler(tmp_path)
    assert capsys.readouterr().out.count("\n") == 1
    assert backend.os.environ["CXX"] == str(tmp_path / "zig-c++")
    assert backend.os.environ["CMAKE_ARGS"] == "-DA=1 -DELECTORATE_ZIG=ON"
    assert "-m' 'ziglang' 'c++'" in (tmp_path / "zig-c++").read_text(encoding="utf-8")


POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
POSIX_CALLS = {
    "os": "chown chroot confstr fchmod fchown fdatasync fork forkpty getegid geteuid getgid getgroups getloadavg "
    "getpgid getpriority getuid killpg lchown lockf major mkfifo mknod nice openpty pathconf posix_fadvise "
    "posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork sched_getaffinity "
    "sched_setaffinity sched_yield sendfile setpgid setpriority setsid setuid statvfs sync sysconf tcgetpgrp ttyname "
    "uname wait3 wait4 waitid",
    "signal": "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm "
    "pthread_sigmask setitimer siginterrupt sigwait",
    "socket": "AF_UNIX socketpair",
}


def posix_only(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Of a piece of code: what exists on POSIX systems only, and the question that must stand before it."""
    for node in ast.walk(tree):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else names
        yield from (
            (name, r"(except|suppress).*(ImportError|ModuleNotFoundError)") for name in names if name in POSIX_MODULES
        )
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            if name in POSIX_CALLS.get(module, "").split():
                yield f"{module}.{name}", rf"hasattr\({module}, '{name}'\)|(except|suppress).*AttributeError"


def test_what_only_posix_has_is_never_called_without_another_way():
    assert list(posix_only(ast.parse("import os, fcntl\nos.posix_fallocate(3, 0, 1)"))) != []
    found = []
    for path in sorted((ROOT / "electorate").rglob("*.py")):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            text = ast.unparse(statement)
            found += [
                f"{path.name}: {name}" for name, question in posix_only(statement) if not re.search(question, text)
            ]
    assert found == []


def pinned() -> dict[str, str]:
    lines = (ROOT / "requirements-oldest.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def lower_bounds() -> list[tuple[str, str]]:
    """The names and lower bounds of the dependencies, of all extras and of all dependency groups."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = configuration["project"]
    optional = [*project["optional-dependencies"].values(), *configuration["dependency-groups"].values()]
    lines = [*project["dependencies"], *(line for group in optional for line in group if isinstance(line, str))]
    found = [re.match(r"([\w-]+)(?:\[[^]]*\])?>=([\d.]+)", line) for line in lines]
    return [(match[1], match[2]) for match in found if match]


def test_the_oldest_releases_are_the_lower_bounds():
    pins, bounds = pinned(), lower_bounds()
    wrong = [(name, low) for name, low in bounds if name in pins and not f"{pins[name]}.0".startswith(f"{low}.")]
    assert wrong == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.split(r"[>\[]", line)[0] for line in project["dependencies"]} <= set(pins)
    assert set(pins) <= {name for name, _ in bounds}


def test_the_oldest_releases_are_tested_without_the_records_of_the_pinned_numpy():
    """The bits of tests/golden are those of one release of NumPy."""
    recipes = (ROOT / "Makefile").read_text(encoding="utf-8").split("\n\n")
    oldest = next(recipe for recipe in recipes if recipe.startswith("test-fast-oldest:"))
    assert "--ignore=tests/golden" in oldest
    assert "installed-test-tools" in oldest
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert not [line for line in groups["test-tools"] if line.startswith("numpy")]
