"""What hatchling asks when it builds the package: the readme for the index, and a word to unsupported Pythons.

Links of README.md that lead to files of the repository lead nowhere on an index: there only their text is kept.
"""

import re
import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

OLDEST, TOO_NEW = (3, 11), (3, 15)
LOCAL_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|mailto:|#)[^)\s]+\)")


class PackageMetadata(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        refuse_python(sys.version_info[:2])
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_local_links(text)}


def refuse_python(version: tuple[int, int]) -> None:
    """Older releases of pip name a dependency that they cannot find, not the Python that is the cause."""
    if not OLDEST <= version < TOO_NEW:
        raise SystemExit(f"electorate needs Python 3.11 to 3.14; this is Python {version[0]}.{version[1]}")


def without_local_links(text: str) -> str:
    return LOCAL_LINK.sub(r"\1", text)
