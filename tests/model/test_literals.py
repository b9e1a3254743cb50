"""Numbers of the author: read, and written the way people write them."""

import math

import pytest

from amplint.model.literals import constant_text, number, number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1e9, "-1e9"),
        (2.98e-8, "2.98e-8"),
        (65536.0, "65536"),
        (0.5, "0.5"),
        (-1e4, "-10000"),
        (math.inf, "inf"),
        (1e-12, "1e-12"),
    ],
)
def test_a_number_is_written_as_people_write_it(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("text", "shown"), [("-1e09", "-1e09"), ("-1e9", "-1e9"), ("-(10 ** 9)", "-(10 ** 9)"), ("BIG", "-1e9")]
)
def test_a_constant_keeps_the_words_of_its_author(text: str, shown: str) -> None:
    assert number(text) in (None, -1e9)
    assert constant_text(text, -1e9) == shown
