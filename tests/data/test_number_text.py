"""Numbers written as text, against the numbers they were written from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.data.number_text import NumberFormat, guess_number_format, is_placeholder

POINT, COMMA = NumberFormat("."), NumberFormat(",")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0.0),
        ("-1.5", -1.5),
        ("+2", 2.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1,234", 1234.0),
        ("1,234,567.25", 1234567.25),
        ("12,34,567", 1234567.0),
        ("1 234.5", 1234.5),
        ("1\N{NO-BREAK SPACE}234", 1234.0),
        ("1'234.5", 1234.5),
        ("$1,234.00", 1234.0),
        ("-$5", -5.0),
        ("$-5", -5.0),
        ("5-", -5.0),
        ("€ 7.5", 7.5),
        ("7.5 EUR", 7.5),
        ("USD 12", 12.0),
        ("R$ 3.2", 3.2),
        ("12 %", 12.0),
        ("3.5%", 3.5),
        ("(300)", -300.0),
        ("($1,000.50)", -1000.5),
        ("\N{MINUS SIGN}4", -4.0),
    ],
)
def test_a_decimal_point(text: str, number: float) -> None:
    assert POINT.parse(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,5", 1.5),
        ("1.234,5", 1234.5),
        ("1 234,5", 1234.5),
        ("-0,25", -0.25),
        ("1.234.567", 1234567.0),
        ("3,5 €", 3.5),
    ],
)
def test_a_decimal_comma(text: str, number: float) -> None:
    assert COMMA.parse(text) == number


@pytest.mark.parametrize(
    "text", ["", "?", "abc", "1.2.3", "007", "1,23", "12,34", "1e", "--5", "1-2", "12:30", "$", "%", "3 kg", "9" * 99]
)
def test_other_texts_are_no_numbers(text: str) -> None:
    assert POINT.parse(text) is None


@settings(derandomize=True, max_examples=200, deadline=None)
@given(number=st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: round(x, 2)), sign=st.sampled_from(["", "$", "€ "]))
def test_what_was_formatted_is_read_again(number: float, sign: str) -> None:
    text = f"{number:,.2f}"
    assert POINT.parse(sign + text) == number
    european = text.translate(str.maketrans(",.", ".,"))
    assert COMMA.parse(european + " EUR") == number
    assert POINT.parse(text.replace(",", "\N{NARROW NO-BREAK SPACE}")) == number


def guess(*texts: str) -> NumberFormat | None:
    return guess_number_format(texts, np.ones(len(texts), dtype=np.int64))


def test_the_decimal_sign_is_guessed_from_all_texts() -> None:
    assert guess("1,234", "5,678") == NumberFormat(".")  # thousands
    assert guess("1,234", "5,6") == NumberFormat(",")
    assert guess("1.5", "2.25", "?") == NumberFormat(".")
    assert guess("1.234,5", "2") == NumberFormat(",")
    assert guess("70 kg", "71.5 kg") == NumberFormat(".", "kg")
    assert guess("70,5 kg", "71 kg", "n.a.") == NumberFormat(",", "kg")
    assert guess("low", "high") is None
    assert guess("1", "2", "many") is None
    assert guess("?", "-") is None
    assert guess() is None


def test_a_few_mistakes_are_missing_values() -> None:
    texts = ["1.5", "2.5", "oops"]
    found = guess_number_format(texts, np.array([60, 38, 2]))
    assert found == NumberFormat(".")
    np.testing.assert_array_equal(found.numbers([*texts, 3, None]), [1.5, 2.5, np.nan, 3.0, np.nan])
    assert guess_number_format(texts, np.array([60, 30, 10])) is None


@pytest.mark.parametrize("text", ["?", " ? ", "N/A", "n.a.", "--", "", "Unknown"])
def test_placeholders(text: str) -> None:
    assert is_placeholder(text)
    assert not is_placeholder(text + "1")
