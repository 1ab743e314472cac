"""tools/check.py finds what a change touches."""

import importlib.util
from pathlib import Path

import pytest

from electorate.registry import MODULES

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check", ROOT / "tools" / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def graph(check):
    return check.import_graph(MODULES)


def test_imports_of_public_names_are_those_of_their_modules(graph):
    assert "electorate/estimators/vadaboost.py" in graph["tests/algorithms/test_vadaboost.py"]
    assert "electorate/algorithms/vadaboost.py" in graph["electorate/estimators/vadaboost.py"]
    assert "tests/dask_cluster.py" in graph["tests/engines/test_dask.py"]


def test_imports_inside_functions_of_the_package_do_not_count(check):
    assert list(check.imported(check.ast.parse("import a\ndef f():\n    import b"), {}, False)) == ["a"]
    assert list(check.imported(check.ast.parse("import a\ndef f():\n    import b"), {}, True)) == ["a", "b"]


def test_the_tests_of_an_algorithm_are_the_nearest(check, graph):
    reached = check.distances(graph, {"electorate/algorithms/vadaboost.py"})
    assert check.nearest_tests(reached, graph)[0] == "tests/algorithms/test_vadaboost.py"
    assert reached["electorate/estimators/vadaboost.py"] == 1
    assert "electorate/estimators/adaboost.py" not in reached


def test_a_test_reaches_itself(check, graph):
    reached = check.distances(graph, {"tests/test_check.py"})
    assert check.nearest_tests(reached, graph) == ["tests/test_check.py"]


def test_golden_records_are_those_of_the_algorithm(check):
    records = check.golden_records(["VadaBoostClassifier"])
    assert "tests/golden/test_golden.py::test_models_are_those_recorded[VadaBoost, stumps]" in records
    assert not any("AdaBoost_R" in record for record in records)


def test_what_is_left_out_is_named(check, monkeypatch, capsys):
    monkeypatch.setattr(check, "changed", lambda base: {"electorate/algorithms/vadaboost.py"})

    def run(arguments, plugins):
        assert arguments.index("tests/algorithms/test_vadaboost.py") < len(arguments) - 1
        plugins[0].left = {"tests/golden/test_golden.py"}
        return 2

    monkeypatch.setattr(check.pytest, "main", run)
    assert check.main() == 0
    assert "tests/golden (1)" in capsys.readouterr().out
