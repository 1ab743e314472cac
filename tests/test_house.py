"""The size of the package, as limits that only fall: whoever makes something smaller lowers the limit with it.

A line of code holds code: no docstring, comment or blank line. A package is a folder beside the modules of the root.
The files that a fit visits are those of which a function runs; kernels and their twins do not count.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import electorate
from electorate import AdaBoostClassifier, MedBoostRegressor, Trees, VadaBoostClassifier
from electorate.registry import MODULES, PUBLIC

PACKAGE = Path(electorate.__file__).parent
SHORT = 3  # lines of a function
PREPOSITIONS = {"Of", "As", "At", "By", "For", "From", "In", "To", "With"}
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def own_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def nodes(kind: Any) -> list[Any]:
    return [node for path in own_files() for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kind)]


def docstring_of(node: Any) -> set[int]:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return set()


def code_lines(text: str) -> int:
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | DEFINITIONS):
            documented |= docstring_of(node)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def visited(model: Any) -> set[str]:
    """The files of the package, without kernels, in which a function runs while the model is fitted a second time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] > 0 if hasattr(model, "predict_proba") else X[:, 0]
    model.fit(X, y)
    found: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    inside = {Path(name).relative_to(PACKAGE) for name in found if name.startswith(str(PACKAGE))}
    return {str(path) for path in inside if path.parts[0] != "kernels"}


def test_lines_of_code_are_counted_without_docstrings_and_comments() -> None:
    text = '"""Doc."""\n\n# comment\nx = (\n    1,\n)\n\n\ndef f():\n    """Doc."""\n    return 1  # why\n'
    assert code_lines(text) == 5


def test_packages_and_files() -> None:
    packages = {path.relative_to(PACKAGE).parts[0] for path in own_files() if path.parent != PACKAGE}
    assert len(packages) <= 17, sorted(packages)
    assert len(own_files()) <= 300


def test_code() -> None:
    assert sum(code_lines(path.read_text()) for path in own_files()) <= 35_750


def test_code_of_the_studies() -> None:
    files = sorted((PACKAGE.parent / "studies" / "electorate_studies").glob("*.py"))
    assert len(files) <= 22
    assert sum(code_lines(path.read_text(encoding="utf-8")) for path in files) <= 3_595


def test_short_functions() -> None:
    """Functions of a few lines make a reader jump; helpers that are called once belong into their caller."""
    functions = nodes(ast.FunctionDef)
    short = [f for f in functions if f.body[-1].end_lineno - f.body[0].lineno + 1 - len(docstring_of(f)) <= SHORT]
    assert len(short) <= 2075


def test_names() -> None:
    assert len(MODULES) <= 45
    twice = [name for name, count in Counter(node.name for node in nodes(ast.ClassDef)).items() if count > 1]
    assert twice == []
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders.isdisjoint(MODULES)


def test_method_resolution() -> None:
    """A reader of an estimator opens at most ten classes."""
    public = {getattr(import_module(package), name) for package, names in PUBLIC.items() for name in names}
    for value in public:
        if isinstance(value, type) and hasattr(value, "fit"):
            own = [base.__name__ for base in value.__mro__ if base.__module__.startswith("electorate.")]
            assert len(own) <= 10, own


def test_docstrings_have_a_subject() -> None:
    """A docstring that begins with a preposition leaves out what it is about."""
    texts = [ast.get_docstring(node) for node in nodes(ast.FunctionDef | ast.ClassDef)]
    assert len([text for text in texts if text and text.split()[0] in PREPOSITIONS]) <= 10


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        (AdaBoostClassifier(Trees(4), n_estimators=3), 42),
        (VadaBoostClassifier(n_estimators=3), 42),
        (MedBoostRegressor(n_estimators=3), 43),
    ],
)
def test_files_that_a_fit_visits(model: Any, limit: int) -> None:
    assert len(visited(model)) <= limit, sorted(visited(model))
