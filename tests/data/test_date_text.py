"""Dates written as text, against the standard library's formatting of the same dates."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.data.date_text import PARTS, GuessedDates, guess_date_order, parse_date, part_of_dates

EPOCH = datetime(1970, 1, 1)
FORMS = {
    "%Y-%m-%d": "ymd",
    "%Y/%m/%d": "ymd",
    "%Y-%m-%dT%H:%M:%S": "ymd",
    "%Y-%m-%d %H:%M:%S.%f": "ymd",
    "%d.%m.%Y": "dmy",
    "%d/%m/%Y %H:%M": "dmy",
    "%m/%d/%Y": "mdy",
    "%m-%d-%Y %I:%M %p": "mdy",
    "%d %B %Y": "dmy",
    "%b %d, %Y": "mdy",
    "%d-%b-%Y": "ymd",
    "%A, %d %b %Y": "dmy",
}
moments = st.datetimes(datetime(1970, 1, 2), datetime(2068, 12, 31))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(moment=moments, form=st.sampled_from(sorted(FORMS)))
def test_what_was_formatted_is_read_again(moment: datetime, form: str) -> None:
    text = moment.strftime(form)
    expected = (datetime.strptime(text, form) - EPOCH) / timedelta(days=1)
    found = parse_date(text, FORMS[form])
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("offset", [-7.5, 0, 5.75])
def test_time_zones(offset: float) -> None:
    moment = datetime(2024, 2, 29, 23, 30, tzinfo=timezone(timedelta(hours=offset)))
    assert parse_date(moment.isoformat(), "ymd") == pytest.approx(moment.timestamp() / 86_400)
    assert parse_date("2024-02-29 12:00Z", "ymd") == datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp() / 86_400


@pytest.mark.parametrize(
    "text", ["2024-13-01", "2023-02-29", "12", "12/2024", "a 12, 2024", "1.5.7", "2024-01-01 25:99"]
)
def test_other_texts_are_no_dates(text: str) -> None:
    assert all(parse_date(text, order) is None for order in ("ymd", "dmy", "mdy"))


def guess(*texts: str) -> GuessedDates | None:
    return guess_date_order(texts, np.ones(len(texts), dtype=np.int64))


def test_the_order_is_guessed_from_all_texts() -> None:
    assert guess("1/2/2024", "13/2/2024") == ("dmy", False)
    assert guess("1/2/2024", "2/13/2024") == ("mdy", False)
    assert guess("1/2/2024", "2/3/2024") == ("mdy", True)
    assert guess("1.2.2024", "2.3.2024") == ("dmy", True)
    assert guess("2024-05-01", "?") == ("ymd", False)
    assert guess("3 May 2024", "4 Jun 2024") == ("ymd", False)  # a named month reads the same in any order
    assert guess("1.5", "2.5") is None
    assert guess("1/2/2024", "apple") is None
    assert guess("?") is None


@settings(derandomize=True, max_examples=50, deadline=None)
@given(moment=moments)
def test_parts(moment: datetime) -> None:
    days = np.array([(moment - EPOCH) / timedelta(days=1), np.nan])
    expected = {"month": moment.month, "weekday": moment.weekday(), "day": moment.day, "hour": moment.hour}
    for part in PARTS:
        found = part_of_dates(days, part)
        assert np.isnan(found[1])
        if part in expected and not (part == "hour" and moment.minute == 59):
            assert found[0] == expected[part]
