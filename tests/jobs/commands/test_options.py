from __future__ import annotations

import pytest

from jobs.commands.options import examples, parse_ks
from jobs.exit_codes import BadUsageError


@pytest.mark.parametrize(
    ("text", "ks"), [(None, None), ("1", (1,)), ("10, 1,5", (1, 5, 10)), ("4,4", (4,))]
)
def test_ks_are_numbers_in_rising_order(text: str | None, ks: tuple[int, ...] | None) -> None:
    assert parse_ks(text) == ks


@pytest.mark.parametrize("text", ["", "0", "1,,2", "-1", "1.5", "x", "²"])
def test_what_is_no_list_of_ks_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadUsageError, match="such as 1,5,10"):
        parse_ks(text)


def test_examples_keep_their_lines() -> None:
    assert examples("tlagrid runs") == "\b\nExample:\n  tlagrid runs"
    assert examples("a", "b", note="More.") == "\b\nExamples:\n  a\n  b\n\nMore."
