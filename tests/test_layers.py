"""Packages do not import each other in circles, and the modules at the bottom import nothing above them."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from electorate.registry import PUBLIC

PACKAGE = Path(__file__).parent.parent / "electorate"
STUDIES = PACKAGE.parent / "studies" / "electorate_studies"
FORMULAS = ("electorate.simulate", "electorate.theory")  # numbers in, numbers out: every name of these is public
OF_COMPARISON = "electorate.comparison.building_blocks"  # the one module of the comparison that studies may use
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


STARTS = {
    "Popen",
    "fork",
    "get_context",
    "run_python",
    "LocalCluster",
    "make_client",
    "the_client",
    "client",
    "ENGINES['dask']",
}


def words_of(node: ast.AST) -> set[str]:
    """The names that a function uses, its arguments, the calls of subprocess, and the engines that it asks for."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            found.add("Popen" if ast.unparse(part.value) == "subprocess" else part.attr)
        elif isinstance(part, ast.Name | ast.arg):
            found.add(part.id if isinstance(part, ast.Name) else part.arg)
        elif isinstance(part, ast.Subscript):
            found.add(ast.unparse(part))
    return found


def starting(tree: ast.Module) -> set[str]:
    """Functions of a file that start a process, or use one that does."""
    used = {node.name: words_of(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    while more := {name for name, words in used.items() if name not in found and words & (STARTS | found)}:
        found |= more
    return found


def test_tests_that_start_processes_have_the_marker():
    unmarked = []
    for path in Path(__file__).parent.rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        whole = any(isinstance(node, ast.Assign) and "mark.process" in ast.unparse(node.value) for node in tree.body)
        marked = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and any(word in ast.unparse(one) for one in node.decorator_list for word in ("mark.process", "mark.gpu"))
        }
        found = starting(tree) - marked
        unmarked += [f"{path.name}: {name}" for name in found if name.startswith("test_") and not whole]
    assert unmarked == []


def test_studies_use_public_names_and_one_module_of_the_comparison():
    private = set()
    for path in STUDIES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                private |= {alias.name for alias in node.names if alias.name.startswith("electorate.")}
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "electorate":
                names = {alias.name for alias in node.names if not _is_public(node.module, alias.name)}
                private |= {f"{path.name}: {node.module}.{name}" for name in names}
    assert private == set()
    assert len(list(STUDIES.glob("*.py"))) > 10


def _is_public(module: str, name: str) -> bool:
    full = f"{module}.{name}"
    if name.startswith("_"):
        return False
    return name in PUBLIC.get(module, ()) or OF_COMPARISON in (module, full) or full.startswith(FORMULAS)
