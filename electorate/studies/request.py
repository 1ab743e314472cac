"""What a study is asked for, and the lines it keeps so that the same command goes on where it was.

A study is a module with `OFFERS`, the tables and figures it can make, `NEEDS_DATA`, those that read data sets, and
`reproduce(request)`, which returns Markdown.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """what: "table 1". quick: a small version, said to be one. only: data sets, all if there are none."""

    what: str
    quick: bool
    data: Path
    out: Path
    only: tuple[str, ...] = ()


class Lines:
    """Results in a text file, one JSON line each, by a key; a last line that was cut off is as if never written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    key, value = json.loads(line)
                    self.found[json.dumps(key)] = value

    def get(self, key: list[Any]) -> Any:
        """None if it is not there."""
        return self.found.get(json.dumps(key))

    def put(self, key: list[Any], value: Any) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _drop_what_was_cut(self.path)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([key, value]) + "\n")
        self.found[json.dumps(key)] = value


def _drop_what_was_cut(path: Path) -> None:
    """Else the next line would be joined to it."""
    if not path.exists():
        return
    whole = path.read_bytes()
    end = whole.rfind(b"\n") + 1
    if end < len(whole):
        os.truncate(path, end)
