"""Counts and durations in words, the same in progress lines, `status` and closing lines."""

from __future__ import annotations

from collections.abc import Mapping

from workers.records import Family, Outcome


def verdicts_in_words(outcomes: Mapping[Outcome, int]) -> str:
    """Such as `48 correct, 7 parsed, 60 failed, 4 limit, 2 ungraded`; correct is always there."""
    families = dict.fromkeys(Family, 0)
    for outcome, count in outcomes.items():
        families[outcome.family] += count
    parsed = outcomes.get(Outcome.PARSED, 0)
    parts = {
        "correct": families[Family.CORRECT] - parsed,
        "parsed": parsed,
        "failed": families[Family.CANDIDATE],
        "limit": families[Family.LIMIT],
        "ungraded": families[Family.INFRASTRUCTURE],
    }
    shown = (f"{count} {name}" for name, count in parts.items() if count or name == "correct")
    return ", ".join(shown)


def duration(seconds: float) -> str:
    """Hours, minutes and seconds: `1:02:03`, `4:05`."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(count: int, noun: str) -> str:
    """`1 attempt`, `2 attempts`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
