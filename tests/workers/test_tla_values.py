import json
import time
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.tla_values import ItfValue, read_value

Printed: TypeAlias = "tuple[str, ItfValue]"
"""A value as TLC prints it, and as ITF."""

ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", '"': '\\"', "\\": "\\\\"}
identifiers = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
model_values = identifiers.filter(lambda name: name not in {"TRUE", "FALSE"})


def quoted(text: str) -> str:
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"'


def integer(number: int) -> ItfValue:
    return number if abs(number) < 2**53 else {"#bigint": str(number)}


def joined(parts: list[str], separator: str, opening: str, closing: str, gap: str) -> str:
    return opening + gap + (separator + gap).join(parts) + gap + closing


def composed(values: st.SearchStrategy[Printed]) -> st.SearchStrategy[Printed]:
    gaps = st.sampled_from(["", " ", "\n  "])
    several = st.lists(values, max_size=4)

    def printed_set(items: list[Printed], gap: str) -> Printed:
        return joined([t for t, _ in items], ",", "{", "}", gap), {"#set": [v for _, v in items]}

    def printed_tuple(items: list[Printed], gap: str) -> Printed:
        return joined([t for t, _ in items], ",", "<<", ">>", gap), [v for _, v in items]

    def printed_record(fields: dict[str, Printed], gap: str) -> Printed:
        parts = [f"{name} |-> {text}" for name, (text, _) in fields.items()]
        return joined(parts, ",", "[", "]", gap), {name: v for name, (_, v) in fields.items()}

    def printed_function(pairs: list[tuple[Printed, Printed]], gap: str) -> Printed:
        parts = [f"{key} :> {value}" for (key, _), (value, _) in pairs]
        return joined(parts, " @@", "(", ")", gap), {"#map": [[k, v] for (_, k), (_, v) in pairs]}

    return st.one_of(
        st.builds(printed_set, several, gaps),
        st.builds(printed_tuple, several, gaps),
        st.builds(
            printed_record, st.dictionaries(identifiers, values, min_size=1, max_size=3), gaps
        ),
        st.builds(
            printed_function,
            st.lists(st.tuples(values, values), min_size=1, max_size=3),
            gaps,
        ),
    )


scalars: st.SearchStrategy[Printed] = st.one_of(
    st.integers().map(lambda number: (str(number), integer(number))),
    st.text().map(lambda text: (quoted(text), text)),
    st.sampled_from([("TRUE", True), ("FALSE", False)]),
    model_values.map(lambda name: (name, name)),
)


@given(st.recursive(scalars, composed, max_leaves=15))
def test_a_printed_value_is_read_back(printed: Printed) -> None:
    text, value = printed
    assert read_value(text) == value


@given(st.text())
def test_no_text_makes_the_reader_fail(text: str) -> None:
    json.dumps(read_value(text))


@given(
    st.lists(
        st.sampled_from(
            ["{", "}", "<<", ">>", "[", "]", "(", ")", ",", "|->", ":>", "@@", "..", "1", "-", "a",
             '"', "\\", " ", "TRUE", "\n", "٣", "\u2028"]
        ),
        max_size=30,
    ).map("".join)
)  # fmt: skip
def test_no_mixture_of_symbols_makes_the_reader_fail(text: str) -> None:
    json.dumps(read_value(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1..3", {"#set": [1, 2, 3]}),
        ("-1..1", {"#set": [-1, 0, 1]}),
        ("3..1", {"#set": []}),
        ("{}", {"#set": []}),
        ("<<>>", []),
        ("<< >>", []),
        ("{1..2, {}}", {"#set": [{"#set": [1, 2]}, {"#set": []}]}),
        ("2147483648", 2147483648),
        ("9007199254740993", {"#bigint": "9007199254740993"}),
        ('"a\\"b\\\\n"', 'a"b\\n'),
        ("(3 :> <<1>> @@ 5 :> <<1>>)", {"#map": [[3, [1]], [5, [1]]]}),
        ("1a", "1a"),  # a model value of the configuration
    ],
)
def test_values_that_tlc_prints(text: str, value: ItfValue) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    "text",
    ["SUBSET {1, 2}", "[{1} -> {2}]", "", "{1", "<<1", "[a |-> ]", "(1 :> )", "{1} {2}", "1..",
     '"open', "[a |-> 1", "x = 1", "@@", "1..1000000000", "9" * 5000, "{" * 5000, "<<" * 100_000],
)  # fmt: skip
def test_what_is_no_plain_value_is_kept_as_text(text: str) -> None:
    assert read_value(text) == {"#unserializable": " ".join(text.split())}


def test_many_intervals_do_not_fill_the_memory() -> None:
    started = time.process_time()
    value = read_value("<<" + ", ".join(["1..9999"] * 5000) + ">>")
    assert time.process_time() - started < 5
    assert value == {"#unserializable": ("1..9999, " * 5000).strip(", ").join(["<<", ">>"])}
