from __future__ import annotations

from jobs.log_excerpt import Location
from jobs.source_excerpt import Source, excerpt_source

ANSWER = "Here it is:\n```\n---- MODULE M ----\nx ==\t1\ny == Count(x)\n====\n```\n"


def shown(source: Source, location: Location, width: int = 80) -> str:
    excerpt = excerpt_source(source, location, width)
    assert excerpt is not None
    return excerpt.plain


def test_lines_are_numbered_as_in_the_answer_that_the_module_stands_in() -> None:
    source = Source.of("answer.md", ANSWER, ANSWER.index("----"))
    assert shown(source, Location("M", 3, 6, 3, 10)) == (
        "3 | ---- MODULE M ----\n"
        "4 | x ==    1\n"
        "5 > y == Count(x)\n"
        "  |      ^^^^^\n"
        "6 | ====\n"
        "7 | ```"
    )
    assert source.place(3) == "answer.md:5"


def test_a_tab_takes_as_many_columns_as_sany_counts() -> None:
    source = Source.of("M.tla", "a\n\tb == c")
    assert "\n  |         ^\n" in shown(source, Location("M", 2, 9, 2, 9)) + "\n"


def test_a_module_that_begins_within_a_line_is_marked_at_the_right_column() -> None:
    text = "Answer: ---- MODULE M ---- x"
    source = Source.of("M.tla", text, text.index("----"))
    assert shown(source, Location("M", 1, 20, 1, 20)).endswith("| " + " " * 27 + "^")


def test_a_place_in_a_long_line_is_in_sight() -> None:
    source = Source.of("M.tla", "x" * 500 + "HERE" + "y" * 500)
    lines = shown(source, Location("M", 1, 501, 1, 504), 60).split("\n")
    assert all(len(line) <= 60 for line in lines)
    caret = lines[1].index("^")
    assert lines[0][caret : caret + 4] == "HERE"


def test_a_line_that_the_text_does_not_have_gives_nothing() -> None:
    assert excerpt_source(Source.of("M.tla", "one"), Location("M", 9, 1, 9, 1), 80) is None


def test_control_characters_of_a_candidate_are_not_sent_to_the_terminal() -> None:
    assert "\x1b" not in shown(Source.of("M.tla", "\x1b[2J"), Location("M", 1, 1, 1, 1))
