from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cluster.progress import Tally
from workers.records import Outcome, Verdict

MakeVerdict = Callable[..., Verdict]


def test_what_earlier_starts_decided_counts_but_not_for_the_rate(make_verdict: MakeVerdict) -> None:
    tally = Tally(total=10)
    tally.count_earlier(make_verdict("a"))
    tally.count_earlier(make_verdict("b", Outcome.INFRASTRUCTURE, "missing_config"))
    tally.plan(limit=None)
    tally.count(make_verdict("c", Outcome.DEADLOCK))
    tally.count(make_verdict("d"))
    progress = replace(tally.progress(retrying=1), seconds=4.0)
    assert (progress.graded, progress.ungraded, progress.remaining) == (3, 1, 6)
    assert progress.outcomes == {
        Outcome.CORRECT: 2,
        Outcome.DEADLOCK: 1,
        Outcome.INFRASTRUCTURE: 1,
    }
    assert progress.rate == 0.5
    assert progress.eta_seconds == 12.0
    assert progress.retrying == 1


def test_nothing_is_known_of_the_rate_before_the_first_verdict() -> None:
    tally = Tally(total=10)
    tally.plan(limit=None)
    progress = tally.progress(retrying=0)
    assert progress.rate is None
    assert progress.eta_seconds is None


def test_a_limit_bounds_what_is_planned(make_verdict: MakeVerdict) -> None:
    tally = Tally(total=10)
    tally.count_earlier(make_verdict("a"))
    tally.plan(limit=3)
    assert tally.undecided == 3
    tally.plan(limit=30)
    assert tally.undecided == 9
