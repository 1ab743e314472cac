"""Numbers written as text: "1.234,50", "$1,234.00", "12 %", "(300)", "70 kg".

A format is guessed from the distinct texts of a column. Texts that only stand for a missing value, such as "?", are
known by their spelling.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.data.factors import as_number
from electorate.exact import Floats, Ints

PLACEHOLDERS = frozenset(
    """ ? ?? - -- --- \N{EM DASH} . .. ... * na n.a. n.a n/a #n/a nan nil none null <na> missing unknown unk n.d. nd
    #value! #div/0! #ref! """.split()  # noqa: SIM905
) | {"", "not available", "not known"}
CURRENCIES = "usd|eur|gbp|chf|jpy|cny|inr|brl|sek|nok|dkk|pln|czk|huf|aud|cad|nzd|mxn|zar|krw|try|rub|us|kr|zł|rs|r"
MOSTLY = 0.95  # share of the rows, of those that are not missing, that must be numbers
DECIMALS = (".", ",")
LONGEST_UNIT = 12
LONGEST_NUMBER = 64  # characters
GROUPS = {
    ".": r"[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}|[0-9]{1,3}(?:[ '\u2019_][0-9]{3})+",
    ",": r"[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]{1,3}(?:[ '\u2019_][0-9]{3})+",
}
DIGITS = {
    sign: re.compile(rf"({groups}|0|[1-9][0-9]*)?(?:{re.escape(sign)}([0-9]*))?([eE][+-]?[0-9]{{1,3}})?")
    for sign, groups in GROUPS.items()
}
CURRENCY = re.compile(rf"(?:^(?:{CURRENCIES})\.?(?=[ 0-9.,+-])|(?<=[ 0-9.,])(?:{CURRENCIES})\.?$)", re.IGNORECASE)
CODE = re.compile(r"^\s*0[0-9]+\s*$")  # "05491" is a code, and no number
UNIT = re.compile(rf"(?<=[0-9.,]) ?([^\W\d_][^\d]{{0,{LONGEST_UNIT - 1}}})$")


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return len(text) <= LONGEST_NUMBER and " ".join(text.split()).casefold() in PLACEHOLDERS


@dataclass(frozen=True)
class NumberFormat:
    """decimal: the sign before the fraction, "." or ",". unit: a text after every number, such as "kg", or empty."""

    decimal: str = "."
    unit: str = ""

    def parse(self, text: str) -> float | None:
        """Return the number; None for other texts, also for codes such as "007"."""
        if len(text) > LONGEST_NUMBER:
            return None
        text, negative = " ".join(text.split()), False  # split() takes no-break spaces too
        if self.unit:
            text = text.removesuffix(self.unit).rstrip()
        if text.startswith("(") and text.endswith(")"):
            text, negative = text[1:-1].strip(), True
        sign, text = _split_sign(_without_money(text))
        found = DIGITS[self.decimal].fullmatch(text)
        if found is None or not (found[1] or found[2]):
            return None
        whole, fraction, exponent = (part or "" for part in found.groups())
        number = float(f"{re.sub('[^0-9]', '', whole) or 0}.{fraction or 0}{exponent}")
        if math.isinf(number):
            return None
        return -number if negative != (sign == "-") else number

    def numbers(self, values: Sequence[Any]) -> Floats:
        """Return values, texts or numbers already, as numbers; NaN for those that are none."""
        found = [self.parse(value) if isinstance(value, str) else as_number(value) for value in values]
        return np.array(found, dtype=np.float64)

    def stored(self) -> dict[str, Any]:
        return {"decimal": self.decimal, "unit": self.unit}


def _without_money(text: str) -> str:
    """Remove signs and codes of currencies, and a percent sign at the end."""
    text = "".join(sign for sign in text if unicodedata.category(sign) != "Sc").strip()
    return CURRENCY.sub("", text.removesuffix("%").rstrip()).strip()


def _split_sign(text: str) -> tuple[str, str]:
    """A sign before or after the digits, and the rest."""
    text = text.replace("\N{MINUS SIGN}", "-")
    if text[:1] in ("+", "-"):
        return text[0], text[1:].lstrip()
    return ("-", text[:-1].rstrip()) if text.endswith("-") else ("", text)


def guess_number_format(texts: Sequence[str], counts: Ints) -> NumberFormat | None:
    """Return the format of texts with their numbers of rows, None where fewer than 95% of the rows hold numbers."""
    known = np.array([not is_placeholder(text) for text in texts], dtype=np.bool_)
    words = [text for text, is_known in zip(texts, known, strict=True) if is_known]
    weight = counts[known]
    if not len(words) or any(CODE.fullmatch(word) for word in words):
        return None
    best, most = None, MOSTLY * weight.sum()
    for unit in dict.fromkeys(("", _common_unit(words, weight))):
        for decimal in DECIMALS:
            found = NumberFormat(decimal, unit)
            parsed = np.isfinite(found.numbers(words))
            total = float(weight[parsed].sum())
            if total >= most and (best is None or total > most):
                best, most = found, total
    return best


def _common_unit(texts: Sequence[str], counts: Ints) -> str:
    """The text after the numbers of nearly all rows, or nothing."""
    totals: dict[str, int] = {}
    for text, count in zip(texts, counts.tolist(), strict=True):
        found = UNIT.search(" ".join(text.split())) if len(text) <= LONGEST_NUMBER else None
        if found is not None:
            totals[found[1]] = totals.get(found[1], 0) + count
    unit = max(totals, key=lambda each: totals[each], default="")
    return unit if unit and totals[unit] >= MOSTLY * counts.sum() else ""


# ---------------------------------------------------------------- spellings


def plain_spelling(text: str) -> str:
    """Return a text without case and extra space. Case counts in single characters, which are often codes."""
    squeezed = " ".join(text.split())
    return squeezed.casefold() if len(squeezed) > 1 else squeezed


def common_spellings(texts: Sequence[str], counts: Ints) -> dict[str, str]:
    """Return the commonest spelling by the plain one, of texts with several; those without extra space come first."""
    groups: dict[str, list[tuple[bool, int, str]]] = {}
    for text, count in zip(texts, counts.tolist(), strict=True):
        groups.setdefault(plain_spelling(text), []).append((text != " ".join(text.split()), -count, text))
    return {plain: min(group)[2] for plain, group in sorted(groups.items()) if len(group) > 1}


def merge_spellings(values: Sequence[Any], common: dict[str, str]) -> list[Any]:
    """Return values with the commonest spelling of each text."""
    return [common.get(plain_spelling(value), value) if isinstance(value, str) else value for value in values]
