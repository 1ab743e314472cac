"""Spellings of one text that differ only by case or by space: "Yes", "yes " and "YES"."""

from collections.abc import Sequence
from typing import Any

from electorate.arrays import Ints


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
