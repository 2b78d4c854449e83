from __future__ import annotations

import pytest

from jobs.counts import counted, duration, verdicts_in_words
from workers.records import Outcome


def test_verdicts_in_words_add_up_by_family() -> None:
    outcomes = {
        Outcome.CORRECT: 48,
        Outcome.PARSED: 7,
        Outcome.DEADLOCK: 20,
        Outcome.PARSE_FAILURE: 40,
        Outcome.RESOURCE_LIMIT: 4,
        Outcome.INFRASTRUCTURE: 2,
    }
    assert verdicts_in_words(outcomes) == "48 correct, 7 parsed, 60 failed, 4 limit, 2 ungraded"
    assert verdicts_in_words({}) == "0 correct"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0:00"), (59.6, "1:00"), (245, "4:05"), (3723, "1:02:03"), (360000, "100:00:00")],
)
def test_durations_read_as_clocks(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_one_is_singular() -> None:
    assert [counted(count, "attempt") for count in (0, 1, 2)] == [
        "0 attempts",
        "1 attempt",
        "2 attempts",
    ]
