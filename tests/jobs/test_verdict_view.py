"""How a verdict looks; the logs are shortened recordings of TLC 2.15."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from jobs.exhibit import Exhibit
from jobs.verdict_view import headline, print_verdict
from workers.counterexample import Counterexample, CounterexampleState
from workers.records import (
    DecidingLine,
    Extraction,
    ExtractRule,
    Outcome,
    PaperClass,
    Resources,
    StateCounts,
    Toolchain,
    Verdict,
)

ANSWER = """Here is the clock.
```tla
---- MODULE Clock ----
VARIABLE hour
Init == hour = 1
Tick == hour' = hour + 1
InRange == hour < 3
====
```
"""
START, END = ANSWER.index("----"), ANSWER.index("====") + 5
VIOLATION_LOG = b"""@!@!@STARTMSG 2110:1 @!@!@
Invariant InRange is violated.
@!@!@ENDMSG 2110 @!@!@
"""
UNKNOWN_LOG = b"""*** Errors: 1

line 4, col 23 to line 4, col 23 of module Clock

Couldn't resolve infix operator symbol `+'.
"""


def make(kind: str, **fields: object) -> Verdict:
    name, _, sub = kind.partition("/")
    outcome = Outcome(name)
    return Verdict.model_validate(
        {
            "attempt": "a",
            "problem": "p",
            "model": "m",
            "regime": "default",
            "sample": 0,
            "outcome": outcome,
            "sub": sub or None,
            "family": outcome.family,
            "message": "what happened",
            "extraction": Extraction(
                rule=ExtractRule.ROBUST, module="Clock", start=START, end=END, fenced=True
            ),
            "grader_version": "0",
            **fields,
        }
    )


def shown(verdict: Verdict, width: int = 80, **evidence: bytes) -> str:
    texts = {"answer.txt": ANSWER.encode(), "module.tla": ANSWER[START:END].encode()}
    named = {name.replace("_", "."): content for name, content in evidence.items()}
    exhibit = Exhibit(verdict, {**texts, **named}, "answer.md", config="INVARIANT InRange")
    output = io.StringIO()
    print_verdict(exhibit, Console(file=output, width=width, color_system=None))
    return output.getvalue()


def test_a_safety_violation_is_shown_from_the_log_to_the_advice() -> None:
    behaviour = Counterexample(
        states=tuple(
            CounterexampleState(
                index=number,
                action=None
                if number == 1
                else "Tick line 4, col 9 to line 4, col 24 of module Clock",
                variables={"hour": str(number)},
                changed=("hour",) if number > 1 else (),
            )
            for number in (1, 2, 3)
        )
    )
    verdict = make(
        "safety_violation",
        paper_class=PaperClass.SAFETY,
        message="Invariant InRange is violated.",
        property="InRange",
        decided_by=DecidingLine(log="tlc.stdout", line=2, text="Invariant InRange is violated."),
        states=StateCounts(generated=3000, distinct=3, queue=0, depth=3),
        resources=Resources(cpu_seconds=1.25, wall_seconds=2.0, peak_memory_bytes=101_000_000),
        toolchain=Toolchain(tla2tools_sha256="0" * 64, tla2tools_version="2.15", java_version="25"),
    )
    content = behaviour.model_dump_json().encode()
    assert shown(verdict, tlc_stdout=VIOLATION_LOG, counterexample_json=content) == (
        "FAIL  safety_violation  of InRange   (in the paper's classes: safety)\n"
        "\n"
        "Decided by tlc.stdout, line 2\n"
        "  > Invariant InRange is violated.\n"
        "\n"
        "InRange is defined at answer.md:7\n"
        "    InRange == hour < 3\n"
        "\n"
        "Counterexample: 3 states, * marks what a step changed\n"
        "  1  initial state\n"
        "      hour = 1\n"
        "  2  Tick  (answer.md:6)\n"
        "    * hour = 2   (was 1)\n"
        "  3  Tick  (answer.md:6)\n"
        "    * hour = 3   (was 2)\n"
        "\n"
        "States   3,000 generated, 3 distinct, 0 left on the queue, depth 3\n"
        "Used     2.0 s, 1.2 s of CPU, at most 101 MB\n"
        "Tools    TLC 2.15, Java 25\n"
        "\n"
        "What to try next\n"
        "  - InRange holds until its last step, Tick, and is false after it: that step\n"
        "    needs a guard, changes too much, or InRange asks for too much.\n"
    )


def test_an_error_is_marked_in_the_users_own_lines() -> None:
    verdict = make(
        "semantic_error/unknown_operator",
        message="Couldn't resolve infix operator symbol `+'.",
        decided_by=DecidingLine(log="sany.stdout", line=5, text="Couldn't resolve"),
    )
    text = shown(verdict, sany_stdout=UNKNOWN_LOG)
    assert (
        "At answer.md:6\n"
        "4 | VARIABLE hour\n"
        "5 | Init == hour = 1\n"
        "6 > Tick == hour' = hour + 1\n"
        "  |                       ^\n"
        "7 | InRange == hour < 3\n"
        "8 | ====\n"
    ) in text
    assert "+ is defined in the standard module Naturals: add it to EXTENDS." in text


def test_a_pass_shows_the_one_line_that_decided() -> None:
    log = b"Model checking completed. No error has been found.\n  Estimates of the probability\n"
    line = DecidingLine(log="tlc.stdout", line=1, text="Model checking completed.")
    text = shown(make("correct", decided_by=line), tlc_stdout=log)
    assert text.startswith("PASS  correct\n")
    assert "Estimates" not in text
    assert "What to try next" not in text


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("correct", "PASS  correct"),
        ("parse_failure/grammar", "FAIL  parse_failure/grammar"),
        ("resource_limit/wall", "LIMIT  resource_limit/wall"),
        ("infrastructure/node", "UNGRADED  infrastructure/node"),
    ],
)
def test_the_family_is_a_word_and_not_only_a_colour(kind: str, expected: str) -> None:
    assert headline(make(kind)) == expected


def test_flags_are_explained() -> None:
    assert "flag renamed: the module has another name" in shown(make("correct", flags=("renamed",)))


def test_a_limit_on_time_that_a_busy_machine_may_have_caused_is_not_to_be_believed() -> None:
    held = Resources(starved=True, enforced_by="cgroup-v2+cpuset")
    text = shown(make("resource_limit/wall", flags=("time_dependent",), resources=held))
    assert "the machine was busy: grade it again when it is calm" in text
    assert "held by cgroup-v2+cpuset" in text
    calm = make(
        "resource_limit/wall", flags=("time_dependent",), resources=Resources(starved=False)
    )
    assert "busy" not in shown(calm)


def test_a_verdict_whose_log_is_gone_still_shows_its_line() -> None:
    line = DecidingLine(log="tlc.stdout", line=7, text="Deadlock reached.")
    assert "  > Deadlock reached.\n" in shown(make("deadlock", decided_by=line))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    log = b"x " * 300 + b"\n"
    line = DecidingLine(log="tlc.stdout", line=1, text="x")
    text = shown(make("deadlock", decided_by=line, message="m " * 100), width, tlc_stdout=log)
    assert all(len(each) <= width for each in text.split("\n"))


def test_escape_sequences_of_a_candidate_do_not_reach_the_terminal() -> None:
    line = DecidingLine(log="tlc.stdout", line=1, text="\x1b[2J")
    text = shown(make("deadlock", decided_by=line, message="\x1b[31m"), tlc_stdout=b"\x1b[2J\n")
    assert "\x1b" not in text
