"""Every public class and function documents all of its parameters in numpydoc's format, positional ones in order."""

import doctest
import inspect
import re

import pytest

from electorate.messages import WorkerLostError
from electorate.modelfile import ModelFormatError
from electorate.registry import ALGORITHMS, FAMILIES
from tests.common.public_calls import OBJECTS

DOCUMENTED = OBJECTS | {"ModelFormatError": ModelFormatError, "WorkerLostError": WorkerLostError}
ESTIMATOR_SECTIONS = ("Parameters", "Attributes", "See Also", "References", "Examples")


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section of a docstring."""
    lines = inspect.cleandoc(text).split("\n")
    found: dict[str, list[str]] = {}
    for number, line in enumerate(lines[:-1]):
        if line and set(lines[number + 1]) == {"-"}:
            found[line] = []
        elif found and set(line) != {"-"}:
            found[list(found)[-1]].append(line)
    return found


def entries(lines: list[str]) -> list[str]:
    """The names that a section describes; `a, b : type` describes two."""
    heads = [re.match(r"([\w*, ]+) : \S", line) for line in lines]
    return [name.strip() for head in heads if head for name in head[1].split(",")]


def parameters(value: object, keyword_only: bool = True) -> list[str]:
    found = inspect.signature(value).parameters
    named = [name for name in found if name not in ("self", "args", "kwargs")]
    return [name for name in named if keyword_only or found[name].kind != inspect.Parameter.KEYWORD_ONLY]


def takes_parameters(value: object) -> bool:
    return callable(value) and not (isinstance(value, type) and issubclass(value, BaseException))


@pytest.mark.parametrize("name", [name for name, value in DOCUMENTED.items() if takes_parameters(value)])
def test_every_parameter_is_described(name):
    value = DOCUMENTED[name]
    assert value.__doc__, name
    found = entries(sections(value.__doc__).get("Parameters", []))
    assert sorted(found) == sorted(parameters(value))
    positional = parameters(value, keyword_only=False)
    assert found[: len(positional)] == positional


@pytest.mark.parametrize("name", [name for name, value in DOCUMENTED.items() if inspect.isfunction(value)])
def test_functions_say_what_they_return(name):
    assert "Returns" in sections(DOCUMENTED[name].__doc__)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_estimators_have_all_sections(name):
    found = sections(DOCUMENTED[name].__doc__)
    assert [section for section in ESTIMATOR_SECTIONS if section not in found] == []
    assert any(".. [1]" in line for line in found["References"])
    others = [re.match(r"(\w+) : ", line)[1] for line in found["See Also"] if line.strip()]
    assert all(other in OBJECTS for other in others)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_have_examples(name):
    assert {"Parameters", "Examples"} <= set(sections(DOCUMENTED[name].__doc__)) or not parameters(DOCUMENTED[name])


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [case] = doctest.DocTestFinder(recurse=False).find(DOCUMENTED[name], name, globs={})
    assert case.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(case).failed == 0
