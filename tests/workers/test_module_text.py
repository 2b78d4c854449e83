import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.module_text import (
    ModuleSpan,
    find_modules,
    has_untranslated_pluscal,
    imports_of,
    module_name_of,
    scan_module,
)

names = st.from_regex(r"[0-9]{0,2}[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: name not in {"EXTENDS", "INSTANCE", "MODULE"}
)
harmless_lines = st.sampled_from(
    [
        "x == 1",
        'text == "---- MODULE Fake ---- ===="',
        "(* ---- MODULE Fake ---- EXTENDS Fake (* nested *) ==== *)",
        "\\* ==== and INSTANCE Fake",
        "y == a - b -- c --- d",
        "z == x = y == 2",
        'quoted == "\\"==== (*"',
        "----------------",
        "THEOREM x",
        "",
    ]
)


@st.composite
def modules(draw: st.DrawFn, depth: int = 2) -> tuple[str, ModuleSpan]:
    """A module's text, and a span with the names that it imports and nests."""
    span = ModuleSpan(draw(names), 0)
    text = f"{'-' * draw(st.integers(4, 9))} MODULE {span.name} {'-' * draw(st.integers(4, 9))}\n"
    extended = draw(st.lists(names, max_size=3, unique=True))
    if extended:
        comma = draw(st.sampled_from([", ", ",", " (* , *) , ", "\n, "]))
        text += f"EXTENDS {comma.join(extended)}\n"
        span.imports.extend(extended)
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["line", "instance", "nested"]))
        if kind == "nested" and depth:
            inner_text, inner = draw(modules(depth - 1))
            text += inner_text
            span.nested.append(inner)
        elif kind == "instance":
            name = draw(names)
            text += draw(st.sampled_from(["INSTANCE ", "LOCAL INSTANCE ", "I(a) == INSTANCE\n "]))
            text += name + draw(st.sampled_from(["\n", " WITH x <- y, z <- w\n"]))
            if name not in span.imports:
                span.imports.append(name)
        else:
            text += draw(harmless_lines) + "\n"
    return text + "=" * draw(st.integers(4, 9)) + "\n", span


def same(found: ModuleSpan, expected: ModuleSpan) -> bool:
    return (
        found.name == expected.name
        and found.imports == expected.imports
        and len(found.nested) == len(expected.nested)
        and all(map(same, found.nested, expected.nested))
    )


@settings(max_examples=60)
@given(modules(), st.text(alphabet="prose -=(*\n\"'`", max_size=40))
def test_a_module_is_found_whole_with_what_it_imports_and_nests(
    module: tuple[str, ModuleSpan], after: str
) -> None:
    text, expected = module
    found = scan_module(text + after, 0)
    assert same(found, expected)
    assert text[found.start : found.end] + "\n" == text


@settings(max_examples=40)
@given(st.lists(modules(depth=1), max_size=3))
def test_modules_that_follow_each_other_are_all_found(
    parts: list[tuple[str, ModuleSpan]],
) -> None:
    text = 'Some (* prose " here.\n'.join(["", *(text for text, _ in parts)])
    found = find_modules(text)
    assert [span.name for span in found] == [span.name for _, span in parts]


@given(st.text())
def test_no_text_makes_the_scanner_fail(text: str) -> None:
    for span in find_modules(text):
        assert text[span.start :].startswith("----")
    imports_of(text)
    has_untranslated_pluscal(text)


pieces = st.sampled_from(
    ["----", "-", " MODULE ", "M", "1", "====", "(*", "*)", "\\*", '"', "\\", "\n", "\r", " ",
     "EXTENDS ", "INSTANCE ", ",", "```", "\u2028", "\x00", "--algorithm", "BEGIN TRANSLATION"]
)  # fmt: skip


@given(st.lists(pieces, max_size=60).map("".join))
def test_no_mixture_of_delimiters_makes_the_scanner_fail(text: str) -> None:
    spans = find_modules(text)
    ends = [span.end for span in spans]
    assert all(end is not None for end in ends[:-1])
    imports_of(text)


@pytest.mark.parametrize(
    "piece",
    ["-", "- ", "----", "---- ", "---- MODULE ", "---- MODULE M", "---- MODULE 0", "(*", "(* *)",
     '"', '"\\', "\\", "=", "=== ", "EXTENDS ", "a", "a ", "0_", "```\n", "--fair ", "\\*",
     "---- MODULE M ----\n", "---- MODULE M ----\n====\n", "\\* BEGIN TRANSLATIO", " ", "\n"],
)  # fmt: skip
def test_hostile_texts_are_scanned_in_about_linear_time(piece: str) -> None:
    filler = piece * (100_000 // len(piece))
    started = time.process_time()
    for text in (filler, "---- MODULE M ----\n" + filler, "---- MODULE " + filler):
        find_modules(text)
        imports_of(text)
        has_untranslated_pluscal(text)
    # A fraction of a second; a quadratic scan would take a minute.
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("---- MODULE Clock ----", "Clock"),
        ("-------- MODULE Clock --------", "Clock"),
        ("----MODULE Clock----", "Clock"),
        ("---- MODULE 2PC ----", "2PC"),
        ("---- MODULE _under_1 ----", "_under_1"),
        ('text (* before " it ---- MODULE Clock ----', "Clock"),
        ("--- MODULE Clock ----", None),
        ("---- MODULE Clock ---", None),
        ("---- MODULE 123 ----", None),
        ("---- MODULES Clock ----", None),
        ("---- MODULE ----", None),
        ("---- MODULE Two Names ----", None),
        ("---- module Clock ----", None),
        ("", None),
    ],
)
def test_a_header_needs_four_dashes_on_each_side_and_one_name(text: str, name: str | None) -> None:
    assert module_name_of(text) == name


def test_a_module_that_is_cut_off_has_no_end() -> None:
    (span,) = find_modules("---- MODULE M ----\nx == 1\n")
    assert span.end is None


def test_a_fence_ends_a_module_only_where_a_fence_is_open() -> None:
    text = "---- MODULE M ----\nx == 1\n```\n====\n"
    assert scan_module(text, 0, fenced=True).end is None
    assert scan_module(text, 0, fenced=False).end == len(text) - 1


def test_a_text_without_a_header_has_no_module_to_scan() -> None:
    with pytest.raises(ValueError, match="no module header"):
        scan_module("x == 1", 0)


def test_imports_of_nested_modules_count_and_nested_modules_do_not() -> None:
    text = """---- MODULE Outer ----
EXTENDS Naturals, Base
---- MODULE Inner ----
EXTENDS Sequences, Base
====
I == INSTANCE Inner
O(x) == INSTANCE Other WITH y <- x
====
"""
    assert imports_of(text) == ["Naturals", "Base", "Other", "Sequences"]


def test_names_after_a_list_of_extended_modules_are_no_imports() -> None:
    text = "---- MODULE M ----\nEXTENDS A, B\nVARIABLE x, y\nCONSTANT c\n====\n"
    assert imports_of(text) == ["A", "B"]


@pytest.mark.parametrize(
    ("body", "untranslated"),
    [
        ("(* --algorithm a { skip } *)", True),
        ("(* --fair algorithm a { skip } *)", True),
        ("(* --algorithm a { skip } *)\n\\* BEGIN TRANSLATION\nx == 1\n\\* END TRANSLATION", False),
        ("(* --algorithm a *)\n\\* BEGIN TRANSLATION (chksum(pcal) = 1)\n", False),
        ("(* an algorithm *)", False),
        ("x == 1", False),
    ],
)
def test_pluscal_counts_as_untranslated_without_a_translation(
    body: str, untranslated: bool
) -> None:
    assert has_untranslated_pluscal(f"---- MODULE M ----\n{body}\n====\n") is untranslated
