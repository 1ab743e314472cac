"""What the package says of itself: the readme of an index, and a word to unsupported Pythons."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def hook(monkeypatch):
    """The hook; hatchling is there only while a package is built."""
    name = "hatchling.metadata.plugin.interface"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(MetadataHookInterface=object))
    spec = importlib.util.spec_from_file_location("package_metadata", ROOT / "tools" / "package_metadata.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_of_an_index_has_no_link_to_a_file(hook):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https?://|#)", hook.readme_for_index(text)) == []
    assert re.findall(r"\]\((?!https?://|#)", hook.readme_for_index(text, "https://example.org/electorate")) == []
    kept = "[a](https://example.org/x) and [b](#part)"
    assert hook.readme_for_index(kept + " [c](docs/c.md)") == kept + " c"
    assert hook.readme_for_index("![d](docs/d.svg)\n[c](docs/c.md)", "https://e.org/r") == (
        "![d](https://e.org/r/raw/main/docs/d.svg)\n[c](https://e.org/r/blob/main/docs/c.md)"
    )


def test_addresses_are_those_of_the_repository(hook):
    assert hook.addresses("") == {}
    assert all(address.startswith("https://e.org/r") for address in hook.addresses("https://e.org/r").values())


def test_other_pythons_are_refused_by_name(hook):
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert wanted == f">={'.'.join(map(str, hook.OLDEST))},<{'.'.join(map(str, hook.TOO_NEW))}"
    hook.refuse_python((3, 11))
    for version in ((3, 10), (3, 15)):
        with pytest.raises(SystemExit, match=r"needs Python 3\.11 to 3\.14"):
            hook.refuse_python(version)


def pinned() -> dict[str, str]:
    lines = (ROOT / "requirements-oldest.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def lower_bounds() -> list[tuple[str, str]]:
    """The names and lower bounds of the dependencies and of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    found = [re.match(r"([\w-]+)(?:\[[^]]*\])?>=([\d.]+)", line) for line in [*project["dependencies"], *extras]]
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
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert not [line for line in extras["test-tools"] if line.startswith("numpy")]
