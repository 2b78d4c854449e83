import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.config_file import (
    KEYWORDS,
    ConfigError,
    UnsupportedKeywordError,
    read_config,
)

NEWER_KEYWORDS = {"ALIAS", "CHECK_DEADLOCK", "POSTCONDITION", "POSTCONDITIONS", "_PERIODIC",
                  "_POSSIBLE", "_RL_REWARD"}  # fmt: skip
KEYWORDS_OF_2_15 = KEYWORDS - NEWER_KEYWORDS


def constants(text: str) -> list[tuple[str, bool, str, str | None]]:
    return [(c.name, c.replaced, c.value, c.module) for c in read_config(text).constants]


def test_names_are_collected_under_every_spelling_of_their_keyword() -> None:
    config = read_config(
        """SPECIFICATION Spec
INVARIANT A B
INVARIANTS C
    D \\* a comment E
PROPERTY P
PROPERTIES Q
CONSTRAINTS (* no (* nested *) name *) Bounded
ACTION_CONSTRAINT Step
VIEW Seen
SYMMETRY Swaps
CHECK_DEADLOCK FALSE
ALIAS Shown
POSTCONDITION Post
"""
    )
    assert config.names("SPECIFICATION") == ("Spec",)
    assert config.names("INVARIANT") == ("A", "B", "C", "D")
    assert config.names("PROPERTY") == ("P", "Q")
    assert config.names("CONSTRAINT") == ("Bounded",)
    assert config.names("ACTION_CONSTRAINT") == ("Step",)
    assert config.names("VIEW") == ("Seen",)
    assert config.names("SYMMETRY") == ("Swaps",)
    assert config.names("CHECK_DEADLOCK") == ("FALSE",)
    assert config.names("ALIAS") == ("Shown",)
    assert config.names("POSTCONDITION") == ("Post",)
    assert config.names("INIT") == ()


def test_constants_are_assigned_and_replaced() -> None:
    text = """CONSTANTS
  N = 3
  Name = "a \\" b"
  Flag = TRUE
  m = m
  Set = {1, {2, a}, "x", {}}
  Empty = {}
  Op <- Other
  Nat <- [Integers] Small
  Inner!Deep!N = 4
  Pair(1, a) = 5
CONSTANT Limit = [Base] 7
"""
    assert constants(text) == [
        ("N", False, "3", None),
        ("Name", False, '"a \\" b"', None),
        ("Flag", False, "TRUE", None),
        ("m", False, "m", None),
        ("Set", False, '{ 1 , { 2 , a } , "x" , { } }', None),
        ("Empty", False, "{ }", None),
        ("Op", True, "Other", None),
        ("Nat", True, "Small", "Integers"),
        ("Inner!Deep!N", False, "4", None),
        ("Pair", False, "5", None),
        ("Limit", False, "7", "Base"),
    ]


def test_statements_and_constants_know_their_line() -> None:
    config = read_config(
        "\\* top\nINIT Init (* two\nlines *)\nCONSTANT N = 1\n\nM = 2\nNEXT Next\n"
    )
    assert [(s.keyword, s.line) for s in config.statements] == [
        ("INIT", 2),
        ("CONSTANT", 4),
        ("NEXT", 7),
    ]
    assert [(c.name, c.line) for c in config.constants] == [("N", 4), ("M", 6)]


@pytest.mark.parametrize(
    "text", ["", "  \n", "\\* nothing", "(* nothing *)", "INVARIANT", "CONSTANTS"]
)
def test_a_configuration_can_name_nothing(text: str) -> None:
    assert read_config(text).names("INVARIANT") == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Spec", 1),
        ("SPECIFICATION", 1),
        ("\n\nINIT", 3),
        ("SPECIFICATION Spec\nSPECIFICATION Spec\n", 2),
        ("NEXT A\nNEXT B", 2),
        ("CHECK_DEADLOCK NO", 1),
        ("CHECK_DEADLOCK", 1),
        ("CHECK_DEADLOCK TRUE\nCHECK_DEADLOCK FALSE", 2),
        ("SPECIFICATION A B", 1),
        ("CONSTANT N", 1),
        ("CONSTANT N 3", 1),
        ("CONSTANT N =", 1),
        ("CONSTANT N <-", 1),
        ("CONSTANT\nN = {1, 2", 2),
        ("CONSTANT N = {1 2}", 1),
        ("CONSTANT N = {1,}", 1),
        ("CONSTANT N = -1", 1),
        ("CONSTANT N <- [M", 1),
        ("CONSTANT N <- [M] ", 1),
        ("CONSTANT N(1 = 2", 1),
        ("CONSTANT N(1) <- F", 1),
        ("SPECIFICATION Spec (* open", 1),
        # TLC's lexer stops at a character that it does not know and ignores the rest.
        ("SPECIFICATION Spec\nCONSTANT N = 3 ;\n", 2),
        ("\ufeffSPECIFICATION Spec", 1),
        ("SPECIFICATION Spec\nINVARIANT “Inv”", 2),
        # Beyond TLC's 32-bit integers.
        ("CONSTANT\nN = 2147483648", 2),
    ],
)
def test_what_tlc_cannot_read_is_an_error_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(text)
    assert caught.value.line == line
    assert f"line {line}: " in str(caught.value)


def test_the_largest_integer_of_tlc_is_no_error() -> None:
    assert constants("CONSTANT N = 2147483647") == [("N", False, "2147483647", None)]


def test_several_postconditions_are_none_too_many() -> None:
    assert read_config("POSTCONDITION A B\nPOSTCONDITION C").names("POSTCONDITION") == (
        "A",
        "B",
        "C",
    )


def test_a_tlc_that_knows_every_keyword_gets_the_file_as_it_is() -> None:
    text = "SPECIFICATION Spec\nCHECK_DEADLOCK FALSE\nALIAS Shown\nPOSTCONDITION Post\n"
    translated = read_config(text).translated_for(KEYWORDS)
    assert translated.text == text
    assert not translated.deadlock_off


@pytest.mark.parametrize(("value", "off"), [("FALSE", True), ("TRUE", False)])
def test_an_older_tlc_is_told_about_deadlock_on_its_command_line(value: str, off: bool) -> None:
    text = f"INVARIANT Inv\nCHECK_DEADLOCK\n  {value} \\* why\nALIAS Shown\nSPECIFICATION Spec\n"
    translated = read_config(text).translated_for(KEYWORDS_OF_2_15)
    assert translated.deadlock_off is off
    assert translated.text.count("\n") == text.count("\n")
    config = read_config(translated.text)
    assert [(s.keyword, s.names, s.line) for s in config.statements] == [
        ("INVARIANT", ("Inv",), 1),
        ("SPECIFICATION", ("Spec",), 5),
    ]


@pytest.mark.parametrize("keyword", sorted(NEWER_KEYWORDS - {"ALIAS", "CHECK_DEADLOCK"}))
def test_a_keyword_without_an_equivalent_is_unsupported_by_an_older_tlc(keyword: str) -> None:
    with pytest.raises(UnsupportedKeywordError) as caught:
        read_config(f"SPECIFICATION Spec\n{keyword} Post\n").translated_for(KEYWORDS_OF_2_15)
    assert (caught.value.line, caught.value.keyword) == (2, keyword)


@given(st.text())
def test_any_text_is_either_read_or_an_error(text: str) -> None:
    read_or_refused(text)


@given(
    st.lists(
        st.sampled_from(
            ["CONSTANT", "INVARIANT", "CHECK_DEADLOCK", "ALIAS", "TRUE", "N", "1", "=", "<-", "{",
             "}", "(", ")", "[", "]", ",", "!", "-", '"a"', '"', "(*", "*)", "\\*", "\n", ";"]
        ),
        max_size=25,
    ).map(" ".join)
)  # fmt: skip
def test_any_mixture_of_tokens_is_either_read_or_an_error(text: str) -> None:
    read_or_refused(text)


def read_or_refused(text: str) -> None:
    try:
        config = read_config(text)
    except ConfigError as error:
        if not 1 <= error.line <= text.count("\n") + 1:
            raise AssertionError(f"the text has no line {error.line}") from error
        return
    try:
        translated = config.translated_for(KEYWORDS_OF_2_15)
    except UnsupportedKeywordError:
        return
    again = read_config(translated.text)
    assert again.constants == config.constants
    assert {s.keyword for s in again.statements} <= KEYWORDS_OF_2_15
