"""Escapes untrusted text for terminals and spreadsheets.

Column names, categories and labels come from files. They are printed literally and have no effect.
"""

import re
import unicodedata

# A spreadsheet evaluates a cell that begins with one of these characters, in either width, and may trim invisible ones
# before it. Both expressions are for Python and for pyarrow.
FORMULA = "^(?:[\t\r\n]|[\\s\x00-\x20\xa0\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])(?s:.)"
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+|inf|nan)([eE][+-]?[0-9]+)?\s*$"
# Unicode categories that are escaped: controls, formats (also those that change the direction of a line), surrogates,
# private characters, and separators of lines and paragraphs.
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def literal(text: object, longest: int = 200) -> str:
    """A text for a terminal or a log: invisible characters are escaped, and a long text is cut."""
    raw = str(text)
    cut = raw if len(raw) <= longest else raw[: longest - 3] + "..."
    hidden = {c for c in cut if unicodedata.category(c) in HIDDEN}
    return "".join(c.encode("unicode_escape").decode("ascii") if c in hidden else c for c in cut)


def cell(value: object) -> str:
    """A value for a CSV cell: a text that a spreadsheet would evaluate gets an apostrophe before it.

    Numbers, and a sign alone, are not formulas.
    """
    text = str(value)
    return "'" + text if re.match(FORMULA, text) and not re.match(NUMBER, text) else text
