"""Escapes untrusted text for terminals and spreadsheets.

Column names, categories and labels come from files; they are shown literally and can do nothing.
"""

import re
import unicodedata

# A spreadsheet runs a cell that begins with one of these signs, in either width, and may trim what cannot be seen
# before it. Both expressions are for Python and for pyarrow.
FORMULA = "^(?:[\t\r\n]|[\\s\x00-\x20\xa0\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])(?s:.)"
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+|inf|nan)([eE][+-]?[0-9]+)?\s*$"
# Categories of characters that do not stand for themselves: controls, formats (also those that turn the direction of
# a line), halves of pairs, private ones, and separators of lines and paragraphs.
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def literal(text: object, longest: int = 200) -> str:
    """A text for a terminal or a log: what cannot be seen is written as an escape; what is too long is cut."""
    raw = str(text)
    cut = raw if len(raw) <= longest else raw[: longest - 3] + "..."
    return "".join(_escape(c) if unicodedata.category(c) in HIDDEN else c for c in cut)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def cell(value: object) -> str:
    """A value for a CSV cell: a text that a spreadsheet would run gets an apostrophe before it.

    Numbers, and a sign alone, are no formulas.
    """
    text = str(value)
    return "'" + text if re.match(FORMULA, text) and not re.match(NUMBER, text) else text
