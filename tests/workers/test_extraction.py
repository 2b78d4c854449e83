import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.extraction import extract_module
from workers.records import ExtractRule

ROBUST, PUBLISHED = ExtractRule.ROBUST, ExtractRule.PUBLISHED
MODULE = """---- MODULE Clock ----
EXTENDS Naturals
(* A comment with ==== and <think> in it *)
VARIABLE hour
Fence == "```"
Init == hour = 0
---- MODULE Inner ----
x == 1
====
Next == hour' = (hour + 1) % 24
====
"""
OTHER = "---- MODULE Other ----\ny == 2\n====\n"

# Prose of a model: no header, no fence, no reasoning tag.
prose = st.text(alphabet=st.characters(exclude_characters="-`<", codec="utf-8"), max_size=60)
lines = prose.map(lambda text: text + "\n")


@given(
    before=lines,
    after=lines,
    fence=st.sampled_from(["", "```", "```tla", "```tlaplus", "  ```tla+", "````"]),
    reasoning=st.sampled_from(
        ["", "<think>short</think>", f"<think>\nA draft:\n```\n{OTHER}```\n</think>\n",
         f"<thinking>{OTHER}</thinking>", f"the prompt opened it {OTHER}</think>",
         "<THINK>x</Think>", f"<think>one</think><think>{OTHER}</think>"]
    ),
    bom=st.booleans(),
    crlf=st.booleans(),
)  # fmt: skip
def test_whatever_is_wrapped_around_a_module_is_cut_and_the_module_kept(
    before: str, after: str, fence: str, reasoning: str, bom: bool, crlf: bool
) -> None:
    module = MODULE.replace("\n", "\r\n") if crlf else MODULE
    opening, closing = (fence + "\n", fence.lstrip()[:3] + "\n") if fence else ("", "")
    raw = f"{chr(0xFEFF) * bom}{reasoning}{before}{opening}{module}{closing}{after}"
    extracted = extract_module(raw, ROBUST)
    assert extracted.name == "Clock"
    assert extracted.text.rstrip("\r\n") == module.rstrip("\r\n")
    record = extracted.record
    assert raw[record.start : record.end] == extracted.text.rstrip("\r\n")
    assert record.length == len(raw)
    assert record.module == "Clock"
    assert record.fenced is bool(fence)


def test_a_module_alone_is_kept_as_it_is() -> None:
    extracted = extract_module(MODULE, ROBUST)
    assert extracted.text == MODULE
    assert extracted.companions == {}
    assert not extracted.record.fenced


def test_the_first_module_is_the_answer_and_the_following_ones_are_kept_aside() -> None:
    raw = f"```tla\n{MODULE}```\nand\n```tla\n{OTHER}```\nor in text:\n{OTHER.replace('2', '3')}"
    extracted = extract_module(raw, ROBUST)
    assert extracted.name == "Clock"
    assert extracted.companions == {"Other": OTHER}


def test_a_following_module_that_is_cut_off_is_not_kept() -> None:
    extracted = extract_module(MODULE + "---- MODULE Other ----\ny == ", ROBUST)
    assert extracted.companions == {}


@pytest.mark.parametrize(
    "raw",
    ["", "I cannot do that.", "```tla\n```", "--- MODULE Clock ---\n====", "<think>\n" + MODULE,
     "x == 1\n====", "\ufeff", f"<think>{MODULE}</think>\nI could not solve it."],
)  # fmt: skip
def test_an_answer_without_a_module_has_none(raw: str) -> None:
    extracted = extract_module(raw, ROBUST)
    assert extracted.name is None
    assert extracted.record.module is None
    assert extracted.record.length == len(raw)


@pytest.mark.parametrize("ending", ["", "```\nThat was all.\n", "\n```"])
def test_a_module_that_is_cut_off_ends_with_its_fence_or_with_the_answer(ending: str) -> None:
    cut = "---- MODULE Clock ----\nInit == hour = "
    extracted = extract_module(f"```tla\n{cut}\n{ending}", ROBUST)
    assert extracted.text.strip() == cut.strip()
    assert extracted.record.fenced


def test_a_tag_inside_the_module_is_no_reasoning() -> None:
    raw = '---- MODULE M ----\nx == "<think>"\n\\* </think>\n====\n'
    assert extract_module(raw, ROBUST).text == raw


def test_the_published_rule_takes_the_first_span_and_knows_no_nesting() -> None:
    raw = f"<think>{OTHER}</think>\n```tla\n{MODULE}```\n"
    assert extract_module(raw, PUBLISHED).text == OTHER
    inner_cut = extract_module(MODULE, PUBLISHED)
    assert inner_cut.text.endswith("with ====\n")  # the equals signs of the comment
    assert inner_cut.name == "Clock"


def test_the_published_rule_takes_the_whole_text_where_no_span_closes() -> None:
    raw = "prose\n---- MODULE Clock ----\nx == 1\n"
    extracted = extract_module(raw, PUBLISHED)
    assert extracted.text == raw
    assert extracted.name == "Clock"


@given(st.text(), st.sampled_from(ExtractRule))
@example("---- MODULE A ----" * 3, ROBUST)
def test_no_answer_makes_extraction_fail(raw: str, rule: ExtractRule) -> None:
    extracted = extract_module(raw, rule)
    assert 0 <= extracted.record.start <= extracted.record.end <= len(raw)
    assert extracted.name is None or extracted.name in extracted.text


@given(
    st.lists(
        st.sampled_from(
            ["```", "\n", "<think>", "</think>", "---- MODULE M ----", "====", "(*", "*)", '"', " "]
        ),
        max_size=30,
    ).map("".join),
    st.sampled_from(ExtractRule),
)
def test_no_mixture_of_delimiters_makes_extraction_fail(raw: str, rule: ExtractRule) -> None:
    extracted = extract_module(raw, rule)
    if extracted.name is not None:
        assert extracted.text.rstrip("\n") == raw[
            extracted.record.start : extracted.record.end
        ].rstrip("\n")


@pytest.mark.parametrize(
    "piece",
    ["<think>", "<think></think>", "</think>", "```\n", "---- MODULE M ----\n```\n", "----", "a",
     "---- MODULE M ----\n====\n", "====\n", "<think>---- MODULE M ----</think>", "----\n",
     " ", "<"],
)  # fmt: skip
@pytest.mark.parametrize("rule", ExtractRule)
def test_hostile_answers_are_read_in_about_linear_time(piece: str, rule: ExtractRule) -> None:
    filler = piece * (100_000 // len(piece))
    started = time.process_time()
    for raw in (filler, filler + MODULE, MODULE + filler):
        extract_module(raw, rule)
    # A fraction of a second; a quadratic reading would take a minute.
    assert time.process_time() - started < 5


def test_a_header_that_prose_quotes_in_a_line_is_not_the_answer() -> None:
    answer = (
        "The module starts with `---- MODULE Clock ----` as asked.\n\n"
        "```\n\\* for ---- MODULE Clock ----\nINIT Init\n```\n\n"
        "```tla\n---- MODULE Clock ----\nA == 1\n====\n```\n"
    )
    extracted = extract_module(answer, ExtractRule.ROBUST)
    assert extracted.text == "---- MODULE Clock ----\nA == 1\n====\n"
