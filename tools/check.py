"""Run the tests nearest to a change, in a minute: python tools/check.py [COMMIT].

The change is what git knows since COMMIT (else since the branch left main), and files that are not committed. The
import graph finds the test files that reach a changed file and the algorithms whose golden records it could change.
Nothing else is collected. What does not fit into SECONDS is named, folder by folder.
"""

import ast
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60
MOST_FILES = 12  # that are collected
CLOSE = 2  # imports between a changed file and an estimator whose golden records come first
STRUCTURE = ["tests/test_layers.py", "tests/test_registry.py", "tests/test_house.py"]  # of any change of the package
SOURCES = ("electorate", "studies", "tests", "tools")
TOPS = ("", "studies", "tests", "tests/algorithms", "tests/training", "tests/engines", "tests/model", "tools")
LANE = ["--fast", "-m", "not slow and not process and not gpu"]
NO_TESTS = 5  # pytest's exit status
Graph = dict[str, set[str]]


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def changed(base: str | None) -> set[str]:
    """Paths that differ from a commit: by default from where this branch left main. core/ is seen as its binding."""
    base = base or (git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"])[0]
    paths = {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}
    return {"electorate/kernels/__init__.py" if path.startswith("core/") else path for path in paths}


@cache
def path_of(module: str) -> str | None:
    """The file of a module, from any folder that the tests import from."""
    name = module.replace(".", "/")
    places = [Path(top) / file for top in TOPS for file in (f"{name}.py", f"{name}/__init__.py")]
    return next((place.as_posix() for place in places if (ROOT / place).is_file()), None)


def imported(tree: ast.Module, public: dict[str, str], everywhere: bool) -> Iterator[str]:
    """Modules that a file imports, inside functions only if wanted; a public name stands for the module that has it."""
    for node in ast.walk(tree):
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not everywhere and (for_types or isinstance(node, ast.FunctionDef)):
            node.body = []  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from [node.module, *(public.get(name.removeprefix("electorate."), name) for name in names)]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("electorate", "el"):
            yield public.get(node.attr, "")


def import_graph(public: dict[str, str]) -> Graph:
    """Every Python file and the files that it imports; what functions of the package import is for special cases."""
    trees = {path: ast.parse(path.read_text("utf-8")) for top in SOURCES for path in (ROOT / top).rglob("*.py")}
    named = {path.relative_to(ROOT).as_posix(): tree for path, tree in trees.items()}
    modules = {name: imported(tree, public, not name.startswith("electorate/")) for name, tree in named.items()}
    return {name: {path for one in found if (path := path_of(one))} for name, found in modules.items()}


def distances(graph: Graph, start: set[str]) -> dict[str, int]:
    """Files that import one of `start`, directly or not, and through how many others."""
    found, edge = dict.fromkeys(start, 0), start
    while edge:
        edge = {path for path, others in graph.items() if path not in found and others & edge}
        found |= dict.fromkeys(edge, max(found.values()) + 1)
    return found


def nearest_tests(reached: dict[str, int], graph: Graph) -> list[str]:
    """Test files that reach a changed file: the same name first, then few steps, then those that import little."""
    tests = [path for path in reached if Path(path).name.startswith("test_") and (ROOT / path).is_file()]
    stems = {Path(path).stem.removeprefix("test_") for path, steps in reached.items() if not steps}
    named = {path for path in tests if any(stem in Path(path).stem for stem in stems)}
    return sorted(tests, key=lambda path: (path not in named, reached[path], len(graph.get(path, ())), path))


def golden_records(names: list[str]) -> list[str]:
    from tests.golden.cases import cases

    titles = {title.split(" | ")[0]: None for title, case in cases().items() if type(case.model).__name__ in names}
    paths = [f"tests/golden/test_paths.py::test_models_and_files_are_those_recorded[{name}]" for name in names]
    return [*paths, *(f"tests/golden/test_golden.py::test_models_are_those_recorded[{title}]" for title in titles)]


class Deadline:
    """Ends a run of pytest after SECONDS, and keeps the files that it left out, and whether a test failed."""

    def __init__(self) -> None:
        self.end, self.left, self.failed = time.monotonic() + SECONDS, set[str](), False

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed

    def pytest_runtest_teardown(self, item: Any) -> None:
        if time.monotonic() > self.end:
            items = item.session.items
            self.left = {other.nodeid.split("::")[0] for other in items[items.index(item) + 1 :]}
            item.session.shouldstop = f"{SECONDS} seconds are over"


def main(base: str | None = None) -> int:
    sys.path[:0] = [str(ROOT), str(ROOT / "studies"), str(ROOT / "tests")]
    from electorate.registry import ALGORITHMS, MODULES

    deadline, graph = Deadline(), import_graph(MODULES)
    reached = distances(graph, changed(base))
    steps = {name: reached.get(str(path_of(entry.module)), len(graph)) for name, entry in ALGORITHMS.items()}
    own = [name for name, far in steps.items() if far <= CLOSE]
    more = [name for name, far in steps.items() if CLOSE < far < len(graph)]
    near = [path for path in nearest_tests(reached, graph) if path not in STRUCTURE]
    structure = [path for path in STRUCTURE if any(name.startswith("electorate/") for name in reached)]
    tests = [*structure, *near[:2], *golden_records(own), *near[2:MOST_FILES], *golden_records(more)]
    status = int(pytest.main([*LANE, *tests], plugins=[deadline])) if tests else NO_TESTS
    left = Counter(str(Path(path).parent) for path in {*near[MOST_FILES:], *deadline.left})
    names = ", ".join(f"{folder} ({n})" for folder, n in sorted(left.items()))
    print(f"left out, run `make test` for them: {names}" if left else f"{len(tests)} files and records, none left out")
    return int(deadline.failed or (status not in (0, NO_TESTS) and not deadline.left))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
