"""The registry, the static types, the files and the documentation list the same names."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import electorate
from electorate.registry import ALGORITHMS, FAMILIES, PUBLIC

ROOT = Path(__file__).parent.parent
ENDINGS = ("Classifier", "Regressor")


@pytest.mark.parametrize("package", PUBLIC)
def test_static_types_list_the_public_names(package):
    stub = ast.parse((ROOT / package.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module != "electorate"]
    listed = {alias.asname: node.module for node in imports for alias in node.names if alias.asname == alias.name}
    names = PUBLIC[package]
    missing = [f"from {names[name]} import {name} as {name}" for name in names if name not in listed]
    assert missing == [], f"add these lines to the __init__.pyi of {package}"
    assert listed == names


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_can_be_imported(package):
    imported = import_module(package)
    assert set(imported.__all__) == set(PUBLIC[package]) == set(dir(imported))
    for name, module in PUBLIC[package].items():
        assert getattr(imported, name) is getattr(import_module(module), name)
        assert f"{package}.{name}" not in sys.modules, "importing this module would replace the function"
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = imported.no_such_name


def test_every_estimator_is_registered():
    found = {name for name in electorate.__all__ if name.endswith(ENDINGS)}
    others = {"ThinnedClassifier", "CertifiedClassifier", "CrossFittedClassifier"}
    assert found - others - {"StackedClassifier", "StackedRegressor"} == set(ALGORITHMS)
    for algorithm in ALGORITHMS.values():
        assert algorithm.is_classifier == (algorithm.vote in ("sum", "samme"))


def test_every_family_is_registered():
    modules = {module for module in sys.modules.values() if getattr(module, "__name__", "").startswith("electorate.")}
    families = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and hasattr(value, "best") and name in electorate.__all__
    }
    assert families <= set(FAMILIES)


@pytest.mark.parametrize("page", ["docs/api.rst", "docs/algorithms/index.md", "README.md"])
def test_the_documentation_lists_every_algorithm(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [name for name in ALGORITHMS if not re.search(rf"\b{name}\b", text)]
    assert missing == []


def modules_after(program: str) -> set[str]:
    """The modules that a new process has imported after a program."""
    program += "\nimport sys; print('modules:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.rpartition("modules:")[2].split())


@pytest.mark.process
def test_the_registry_imports_nothing_else():
    mine = {name for name in modules_after("import electorate.registry") if name.startswith("electorate")}
    assert mine == {"electorate", "electorate.registry"}


SHOW_HELP = """
from electorate.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
EXTRAS = {"matplotlib", "polars", "dask", "cupy", "highspy"}  # scikit-learn imports pandas itself


@pytest.mark.process
@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("import electorate", {"numpy", "sklearn", "scipy"}),
        (SHOW_HELP, {"numpy", "sklearn", "scipy"}),
        ("from electorate import AdaBoostClassifier", {"electorate.kernels._core_v2", "electorate.comparison"}),
        ("from electorate import *", {"electorate.kernels._core_v2"} | EXTRAS),
    ],
)
def test_what_is_imported_late(program, heavy):
    assert modules_after(program) & heavy == set()
