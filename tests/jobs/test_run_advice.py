"""Messages as TLC 2.15 prints them."""

from __future__ import annotations

import pytest

from jobs.advice_material import Material
from jobs.run_advice import advise_on_running
from workers.records import Outcome, Verdict


def advice(message: str, sub: str | None = None) -> list[str]:
    verdict = Verdict(
        attempt="a",
        problem="p",
        model="m",
        regime="default",
        sample=0,
        outcome=Outcome.RUNTIME_ERROR,
        sub=sub,
        family=Outcome.RUNTIME_ERROR.family,
        message=message,
        grader_version="0",
    )
    return list(advise_on_running(verdict, Material()))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("TLC encountered a non-enumerable quantifier bound Nat.", "finite sets only"),
        ("TLC attempted to evaluate an unbounded CHOOSE.", "Bound the quantifier"),
        ("The following variable is not assigned: last.", "UNCHANGED"),
        ("Attempted to apply Head to the empty sequence.", "guard the place"),
        ("Attempted to apply tuple <<>> to integer 0 which is out of domain.", "guard the place"),
        ('Attempted to check if the value: "id" is an element of 1..3', "different kinds"),
        ("Attempted to apply the operator overridden by the Java method", "arguments"),
    ],
)
def test_an_evaluation_error_is_explained(message: str, expected: str) -> None:
    (text,) = advice(message)
    assert expected in text


def test_ending_the_search_is_named() -> None:
    assert "TLCSet" in advice("3 states left", "search_cut_short")[0]


def test_nothing_is_said_about_what_is_not_known() -> None:
    assert advice("Something that no version has printed yet") == []
