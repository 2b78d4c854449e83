"""The logs here are shortened recordings of TLC 2.15."""

from __future__ import annotations

from jobs.log_excerpt import Location, excerpt_log
from workers.records import DecidingLine

SANY_SEMANTIC = b"""
****** SANY2 Version 2.1 created 24 February 2014

Parsing file /tmp/run/DoorLock.tla
Semantic processing of module DoorLock
Semantic errors:

*** Errors: 1

line 24, col 20 to line 24, col 24 of module DoorLock

Unknown operator: `Count'.


"""
SANY_GRAMMAR = b"""
Parsing file /tmp/run/Clock.tla
***Parse Error***
Encountered "<EOF>" at line 13, column 38 and token "hour"

Residual stack trace follows:
IF THEN ELSE starting at line 13, column 31.
"""
TLC_EVALUATION = b"""@!@!@STARTMSG 1000:1 @!@!@
TLC threw an unexpected exception.
This was probably caused by an error in the spec or model.
Attempted to apply Head to the empty sequence.
@!@!@ENDMSG 1000 @!@!@
@!@!@STARTMSG 2103:1 @!@!@
The error occurred when TLC was evaluating the nested
expressions at the following positions:
0. Line 20, column 37 to line 20, column 77 in Shelf
1. Line 20, column 22 to line 20, column 32 in Shelf


@!@!@ENDMSG 2103 @!@!@
@!@!@STARTMSG 2186:0 @!@!@
Finished in 3230ms at (2026-12-01 08:06:37)
@!@!@ENDMSG 2186 @!@!@
"""


def test_a_semantic_error_is_shown_with_its_location() -> None:
    line = DecidingLine(log="sany.stdout", line=12, text="Unknown operator: `Count'.")
    excerpt = excerpt_log(line, {"sany.stdout": SANY_SEMANTIC})
    assert excerpt is not None
    assert excerpt.lines == (
        (10, "line 24, col 20 to line 24, col 24 of module DoorLock"),
        (12, "Unknown operator: `Count'."),
    )
    assert excerpt.deciding == 1
    assert excerpt.locations == (Location("DoorLock", 24, 20, 24, 24),)


def test_a_parse_error_is_located_in_the_file_that_was_being_parsed() -> None:
    line = DecidingLine(log="sany.stdout", line=3, text="Encountered")
    excerpt = excerpt_log(line, {"sany.stdout": SANY_GRAMMAR})
    assert excerpt is not None
    assert [text for _, text in excerpt.lines] == [
        'Encountered "<EOF>" at line 13, column 38 and token "hour"',
        "IF THEN ELSE starting at line 13, column 31.",
    ]
    assert excerpt.deciding == 0
    assert excerpt.locations[0] == Location("Clock", 13, 38, 13, None)


def test_an_evaluation_error_is_located_at_the_innermost_expression() -> None:
    line = DecidingLine(log="tlc.stdout", line=2, text="TLC threw an unexpected exception.")
    excerpt = excerpt_log(line, {"tlc.stdout": TLC_EVALUATION})
    assert excerpt is not None
    assert excerpt.lines[excerpt.deciding] == (4, "Attempted to apply Head to the empty sequence.")
    assert excerpt.locations[0] == Location("Shelf", 20, 22, 20, 32)
    assert not any("Finished" in text for _, text in excerpt.lines)


def test_the_stack_is_found_behind_the_behaviour_where_current_tlc_prints_it() -> None:
    behaviour = (
        b"@!@!@STARTMSG 2217:4 @!@!@\n1: <Initial predicate>\nx = 0\n@!@!@ENDMSG 2217 @!@!@\n"
    )
    stack = TLC_EVALUATION.index(b"@!@!@STARTMSG 2103")
    log = TLC_EVALUATION[:stack] + behaviour + TLC_EVALUATION[stack:]
    line = DecidingLine(log="tlc.stdout", line=4, text="Attempted to apply Head")
    excerpt = excerpt_log(line, {"tlc.stdout": log})
    assert excerpt is not None
    assert excerpt.locations[0] == Location("Shelf", 20, 22, 20, 32)
    assert not any("Initial predicate" in text for _, text in excerpt.lines)


def test_the_end_of_a_cut_log_is_found_by_its_text() -> None:
    log = b"head\n[tlagrid: 999 bytes cut here]\nnoise\nDeadlock reached.\n@!@!@ENDMSG 2114 @!@!@\n"
    line = DecidingLine(log="tlc.stdout", line=70_000, text="Deadlock reached.")
    excerpt = excerpt_log(line, {"tlc.stdout": log})
    assert excerpt is not None
    assert excerpt.lines == ((None, "Deadlock reached."),)


def test_a_line_that_was_cut_out_has_no_excerpt() -> None:
    line = DecidingLine(log="tlc.stdout", line=70_000, text="Deadlock reached.")
    assert excerpt_log(line, {"tlc.stdout": b"a\n[tlagrid: 9 bytes cut here]\nb"}) is None


def test_a_log_that_was_not_kept_has_no_excerpt() -> None:
    assert excerpt_log(DecidingLine(log="tlc.stdout", line=1, text="x"), {}) is None
