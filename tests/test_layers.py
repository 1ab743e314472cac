"""Packages do not import each other in circles, and the modules at the bottom import nothing above them."""

import ast
import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "electorate"
BOTTOM = {"exact", "kernels", "messages", "threads", "text", "registry", "optional"}


def part_of(path: Path) -> str:
    """The package, or the module of the root, that a file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """What a module imports of this package when it runs, also inside functions; not for type checking only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("electorate.")}


def graph() -> dict[str, set[str]]:
    edges: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        here = part_of(path)
        there = imported(ast.parse(path.read_text()))
        edges[here] |= {name for name in there if name != here and _exists(name)}
    return edges


def _exists(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def reachable(edges: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in edges.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def test_no_circle_of_packages():
    edges = graph()
    assert len(edges) > 20
    assert [name for name in sorted(edges) if name in reachable(edges, name)] == []


def test_the_bottom_imports_nothing_above_it():
    edges = graph()
    assert {name: edges[name] for name in BOTTOM if edges.get(name, set()) - BOTTOM} == {}


def test_kernels_see_arrays_only():
    assert graph()["kernels"] == set()


def test_no_test_replaces_the_clock_of_the_process():
    """The event loop of a Dask client in the same process would sleep for ever: replace `time` in one module."""
    tests = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(tests) > 100
    assert not any(re.search(r"(setattr|patch)\(\s*(time,|[\"']time\.)", text) for text in tests)
