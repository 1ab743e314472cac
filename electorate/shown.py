"""Texts of strangers, made safe to show: in a terminal without escapes, in a spreadsheet without formulas.

Column names, categories and labels come from files; they are shown literally and can do nothing.
"""

import unicodedata

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
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
    if len(text) < 2 or not text.startswith(FORMULAS) or _is_number(text):
        return text
    return "'" + text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
