"""The version, the readme and the addresses of the package; refuses older Pythons. Called by scikit-build-core.

Links and pictures of README.md that are files of the repository do not exist on an index. If the environment variable
ELECTORATE_REPOSITORY holds the address of the repository (https://HOST/OWNER/electorate), they become links to it, and
the project gets its addresses. Without it, only the texts of links are kept, and pictures are left out.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OLDEST = (3, 11)
LOCAL = r"\((?!https?://|mailto:|#)([^)\s]+)\)"
PICTURE = re.compile(r"!\[([^\]]*)\]" + LOCAL)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]" + LOCAL)


def get_requires_for_dynamic_metadata(settings: Mapping[str, Any]) -> list[str]:
    refuse_python(sys.version_info[:2])  # before anything is installed for the build
    return []


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    refuse_python(sys.version_info[:2])
    repository = os.environ.get("ELECTORATE_REPOSITORY", "").rstrip("/")
    text = Path("README.md").read_text(encoding="utf-8")
    readme = {"content-type": "text/markdown", "text": readme_for_index(text, repository)}
    return {"version": version(), "readme": readme, "urls": addresses(repository)}


def version() -> str:
    """Return the version, which is written in electorate/__init__.py and nowhere else."""
    text = Path("electorate/__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]  # type: ignore[index]


def refuse_python(version: tuple[int, int]) -> None:
    """Older releases of pip name a dependency that they cannot find, not the Python that is the cause."""
    if version < OLDEST:
        raise SystemExit(f"electorate needs Python 3.11 or later; this is Python {version[0]}.{version[1]}")


def readme_for_index(text: str, repository: str = "") -> str:
    """Return the readme with absolute links, or without links to files where there is no address."""
    if not repository:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    text = PICTURE.sub(rf"![\1]({repository}/raw/main/\2)", text)
    return LINK.sub(rf"[\1]({repository}/blob/main/\2)", text)


def addresses(repository: str) -> dict[str, str]:
    if not repository:
        return {}
    return {
        "Source": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
