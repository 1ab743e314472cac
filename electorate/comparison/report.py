"""A comparison as CSV, dataframe and Python code, and aligned text.

Names come from the package or the user and are escaped.
"""

import csv
import io
import math
import re
from importlib import import_module
from typing import Any

from electorate.registry import MODULES, import_lines
from electorate.text import cell as safe

Table = dict[str, list[Any]]
LONGEST_CODE = 10_000  # characters


def as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe(name) for name in table])
    writer.writerows([_exact(value) for value in row] for row in zip(*table.values(), strict=True))
    return out.getvalue()


def _exact(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return safe(value)


def as_frame(table: Table, library: str, name: str) -> Any:
    """A dataframe of the preferred library, or else of one that is installed. name: the attribute to use instead."""
    for each in sorted(["pandas", "polars", "pyarrow"], key=lambda each: each != library):
        try:
            module = import_module(each)
        except ImportError:
            continue
        return module.table(table) if each == "pyarrow" else module.DataFrame(table)
    raise ImportError(f"no dataframe library is installed: pip install pandas, or use .{name}")


def align(rows: list[list[str]], left: set[int]) -> str:
    """Cells in columns, right-aligned except for the columns `left`; negative numbers count from the last."""
    left = {k % len(rows[0]) for k in left}
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(text.ljust(w) if i in left else text.rjust(w) for i, (text, w) in cells).rstrip())
    return "\n".join(lines)


def as_code(model: Any, cleans: bool) -> str:
    """The Python code that makes an unfitted estimator like this one, and fits it. cleans: after the check-up.

    Only the outermost estimator of another library is imported.
    """
    text = " ".join(model.__repr__(N_CHAR_MAX=LONGEST_CODE).split())
    own = type(model).__name__
    used = {name for name in MODULES if re.search(rf"\b{name}\(", text)} | ({"check_up"} if cleans else set())
    imports = import_lines(used)
    wrapped = [name for name in ("PeerClassifier", "PeerRegressor") if f"{name}(" in text]
    imports += [f"from electorate.estimators.peers import {', '.join(wrapped)}"] if wrapped else []
    if own not in (*used, *wrapped):
        public = type(model).__module__.partition("._")[0]
        imports.append(f"from {public} import {own}")
    fit = f"check_up(X, y).fit({text}, X, y)" if cleans else f"{text}.fit(X, y)"
    return "\n".join(imports) + "; " + fit
