from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from jobs.definitions import read_names

MODULE = """---- MODULE M ----
EXTENDS Naturals
CONSTANTS N, Op(_, _),
          Last
VARIABLES x,
          y \\* z
(* Hidden == 1
   (* nested *) AlsoHidden == 2 *)
vars == <<x, y>>
LOCAL Mine(a, b(_)) == LET inner == a
                           other == b(a)
                       IN inner
f[i \\in 1..3] == i
Inv ==
  /\\ x > 0
  /\\ y # "Fake == 1"

Other == TRUE
====
"""


def test_definitions_and_declarations_are_found() -> None:
    names = read_names(MODULE)
    assert list(names.definitions) == ["vars", "Mine", "f", "Inv", "Other"]
    assert names.constants == ["N", "Op", "Last"]
    assert names.variables == ["x", "y"]


def test_a_definition_knows_its_lines() -> None:
    definition = read_names(MODULE).definitions["Inv"]
    assert (definition.line, definition.end_line) == (14, 16)


def test_a_definition_ends_before_the_next_one() -> None:
    definition = read_names(MODULE).definitions["vars"]
    assert (definition.line, definition.end_line) == (9, 9)


def test_the_closing_line_belongs_to_no_definition() -> None:
    definition = read_names(MODULE).definitions["Other"]
    assert (definition.line, definition.end_line) == (18, 18)


def test_membership_covers_every_kind_of_name() -> None:
    names = read_names(MODULE)
    assert all(name in names for name in ("Inv", "N", "x"))
    assert "inner" not in names
    assert "Hidden" not in names


@given(st.text(alphabet='ab()*"\\[],=\n LETIN'))
def test_any_text_can_be_read(text: str) -> None:
    names = read_names(text)
    lines = text.count("\n") + 1
    assert all(1 <= each.line <= each.end_line <= lines for each in names.definitions.values())


def test_a_large_hostile_text_is_read_quickly() -> None:
    started = time.monotonic()
    for piece in ("(*", 'a"', "x(", "CONSTANT a,", "a \\*", "LET ", "a[", "9_"):
        read_names(piece * 20_000)
    assert time.monotonic() - started < 30  # quadratic time would be hours
