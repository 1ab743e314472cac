"""The examples of the site run: every block of Python on the pages of the algorithms, and on some others."""

import re
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted((DOCS / "algorithms").glob("*.md"))
OTHERS = [
    DOCS / "check_up.md",
    DOCS / "regression.md",
    DOCS / "exports.md",
    DOCS / "explain.md",
    DOCS / "out_of_core.md",
]
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
