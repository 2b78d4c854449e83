from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobs.printable import paragraph, printable


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    assert printable(text).isprintable()


def test_an_escape_sequence_is_shown_and_not_sent() -> None:
    assert printable("a\x1b[31mb") == r"a\x1b[31mb"


def test_half_a_surrogate_pair_can_be_shown() -> None:
    printable("\ud800").encode()


def test_a_paragraph_hangs_below_its_first_word() -> None:
    assert paragraph("one two three four five six", 20, first="- ") == (
        "- one two three four\n  five six"
    )
