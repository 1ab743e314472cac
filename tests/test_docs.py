"""The examples of the site run: every block of Python on the pages of the algorithms, and on some others.

The gallery, examples/plot_*.py, is run by `make docs`, which fails if an example fails.
"""

import ast
import re
import warnings
from pathlib import Path

import pytest

from electorate.registry import PUBLIC

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted((DOCS / "algorithms").glob("*.md"))
NAMES = (
    "getting_started",
    "families",
    "check_up",
    "regression",
    "exports",
    "explain",
    "out_of_core",
    "stacking",
    "compare",
)
OTHERS = [DOCS / f"{name}.md" for name in NAMES]
EXAMPLES = sorted((DOCS.parent / "examples").glob("*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for number, block in enumerate(BLOCK.findall(page.read_text())):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def test_every_algorithm_has_a_page_with_an_example():
    for page in PAGES:
        text = page.read_text()
        assert page.stem == "index" or len(BLOCK.findall(text)) == 1
    linked = (DOCS / "algorithms" / "index.md").read_text()
    assert all(f"{page.stem}.md" in linked for page in PAGES if page.stem != "index")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_of_the_gallery_have_a_title_a_text_and_a_picture(example):
    tree = ast.parse(example.read_text())
    title, line, text = (ast.get_docstring(tree) or "").split("\n", 2)
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert len(text.split()) > 20
    assert "plt.show()" in example.read_text()


def test_the_gallery_is_complete():
    topics = ["adaboost", "samme_r", "margins", "certificates", "intervals", "thinning", "own", "rules", "dask"]
    topics += ["memory", "gpu"]
    assert [topic for topic in topics if not any(topic in example.stem for example in EXAMPLES)] == []


def test_every_public_name_has_a_page():
    listed = set(re.findall(r"^   ([\w.]+)$", (DOCS / "api.rst").read_text(), re.MULTILINE))
    pages = {f"{package}.{name}".removeprefix("electorate.") for package, names in PUBLIC.items() for name in names}
    assert pages <= listed


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_to_pages_of_the_site(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)#\s]+\.md)", text):
        target = (page.parent / link).resolve()
        assert "://" in link or (target.is_file() and target.is_relative_to(DOCS)), link
