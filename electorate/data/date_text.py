"""Dates written as text, and their parts: days since 1970, month, weekday, day of the month, hour.

The order of day and month is guessed from all texts of a column.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from electorate.data.number_text import MOSTLY, is_placeholder
from electorate.exact import Floats, Ints

ORDERS = ("ymd", "mdy", "dmy")
PARTS = ("days", "month", "weekday", "day", "hour")
EPOCH = date(1970, 1, 1).toordinal()
TURN = 69  # two-digit years from here on are of the 20th century, as in POSIX
LONGEST_DATE = 48  # characters
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? +)?"
CLOCK = (
    r"(?:(?:[T ]|, )(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,9})?))? ?(?P<half>[ap]\.?m\.?)?"
    r" ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
)
NAMED_MONTH = r"(?P<name>[a-z]{3,9})\.?"
FORMS = {
    "ymd": (r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})",),
    "dmy": (r"(?P<d>\d{1,2})(?P<s>[-/. ])(?P<m>\d{1,2})(?P=s)(?P<y>\d{4}|\d{2})",),
    "mdy": (r"(?P<m>\d{1,2})(?P<s>[-/. ])(?P<d>\d{1,2})(?P=s)(?P<y>\d{4}|\d{2})",),
    "name": (
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[-/. ]+{NAMED_MONTH},?[-/. ]*(?P<y>\d{{4}}|\d{{2}})",
        rf"{NAMED_MONTH}[- ]+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?[- ]+(?P<y>\d{{4}})",
        rf"(?P<y>\d{{4}})[- ]+{NAMED_MONTH}[- ]+(?P<d>\d{{1,2}})",
    ),
}
PATTERNS = {
    order: [re.compile(WEEKDAY + form + CLOCK, re.IGNORECASE | re.ASCII) for form in (*FORMS[order], *FORMS["name"])]
    for order in ORDERS
}


def parse_date(text: str, order: str) -> float | None:
    """Return the days since 1970-01-01, with the time of day as a fraction; None for a text that is no date."""
    text = " ".join(text.split())
    if not 6 <= len(text) <= LONGEST_DATE:
        return None
    found = next((match for pattern in PATTERNS[order] if (match := pattern.fullmatch(text))), None)
    if found is None:
        return None
    parts = found.groupdict()
    year, month = int(parts["y"]), _month(parts)
    if len(parts["y"]) == 2:
        year += 1900 if year >= TURN else 2000
    try:
        days = date(year, month, int(parts["d"])).toordinal() - EPOCH
    except ValueError:
        return None
    seconds = _seconds(parts)
    return None if seconds is None else days + seconds / 86_400


def _month(parts: dict[str, Any]) -> int:
    """Return the number of a month, 0 for another word."""
    if parts.get("name") is None:
        return int(parts["m"])
    start = parts["name"][:3].casefold()
    return MONTHS.index(start) + 1 if start in MONTHS else 0


def _seconds(parts: dict[str, Any]) -> float | None:
    """The time of day in UTC."""
    if parts["hour"] is None:
        return 0.0
    hour, minute, second = int(parts["hour"]), int(parts["minute"]), float(parts["second"] or 0)
    half = (parts["half"] or "")[:1].casefold()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 24 or minute > 59 or second >= 61:
        return None
    zone = parts["zone"]
    shift = 0 if zone is None or zone[0].isalpha() else int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return hour * 3600 + minute * 60 + second - (-shift if zone and zone[0] == "-" else shift)


class GuessedDates(NamedTuple):
    """order: of day, month and year. is_ambiguous: another order reads as many texts."""

    order: str
    is_ambiguous: bool


def guess_date_order(texts: Sequence[str], counts: Ints) -> GuessedDates | None:
    """Return the order of texts with their numbers of rows, None where fewer than 95% of the rows hold dates."""
    known = np.array([not is_placeholder(text) for text in texts], dtype=np.bool_)
    words = [text for text, is_known in zip(texts, known, strict=True) if is_known]
    weight = counts[known]
    if not len(words) or all(parse_date(text, order) is None for text in words[:20] for order in ORDERS):
        return None
    totals = {}
    for order in ORDERS:
        parsed = [parse_date(text, order) is not None for text in words]
        totals[order] = int(weight[np.array(parsed)].sum())
    most = max(totals.values())
    if most < MOSTLY * weight.sum():
        return None
    best = [order for order in ORDERS if totals[order] == most]
    has_dots = sum("." in text for text in words) > len(words) / 2
    first = "dmy" if has_dots and "dmy" in best else best[0]  # 3.4.2024 is written where the day comes first
    by_names_only = len(best) == len(ORDERS)
    return GuessedDates(first, len(best) > 1 and not by_names_only)


def part_of_dates(days: Floats, part: str) -> Floats:
    """Return one part of dates, given as days since 1970-01-01; NaN stays NaN."""
    if part == "days":
        return days
    known = np.isfinite(days)
    whole = np.floor(np.where(known, days, 0.0))
    if part == "hour":
        found = np.floor((np.where(known, days, 0.0) - whole) * 24 + 1e-9)
    elif part == "weekday":
        found = (whole + 3) % 7  # 1970-01-01 was a Thursday; Monday is 0
    else:
        at = whole.astype(np.int64).astype("datetime64[D]")
        month = at.astype("datetime64[M]")
        found = (at - month).astype(np.float64) + 1 if part == "day" else month.astype(np.int64) % 12 + 1.0
    return np.where(known, found, np.nan)
