from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.runner import ProcessResult
from workers.tool_mode import Message, Transcript, parse_transcript, read_transcript

Recorded = Callable[[str, str], ProcessResult]
FRAME = "@!@!@"

# Text of a message or of a candidate, on lines that begin no frame.
texts = st.text(alphabet=st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=30)
harmless = st.one_of(
    texts.filter(lambda text: FRAME not in text),
    texts.map(lambda text: f'"{text}{FRAME}STARTMSG 2193:0 {FRAME}'),
    st.just(f" {FRAME}STARTMSG 2193:0 {FRAME}"),
    st.just(f"{FRAME}STARTMSG 2193 {FRAME}"),
    st.just(f"{FRAME}STARTMSG 2193:0 {FRAME} \u2028 more"),
    st.just(f'"more": {FRAME}STARTMSG 2193:0 {FRAME}'),
)


@st.composite
def messages(draw: st.DrawFn, depth: int = 2) -> Message:
    nested = draw(st.lists(messages(depth - 1), max_size=2)) if depth else []
    return Message(
        code=draw(st.integers(0, 30000)),
        severity=draw(st.integers(0, 4)),
        line=0,
        lines=draw(st.lists(harmless, max_size=3)),
        nested=nested,
        complete=True,
    )


def framed(message: Message, prefix: str = "") -> list[str]:
    return [
        f"{prefix}{FRAME}STARTMSG {message.code}:{message.severity} {FRAME}",
        *message.lines[:1],
        *(line for inner in message.nested for line in framed(inner, ": ")),
        *message.lines[1:],
        f"{FRAME}ENDMSG {message.code} {FRAME}",
    ]


def same(found: Message, expected: Message) -> bool:
    return (
        (found.code, found.severity, found.complete)
        == (expected.code, expected.severity, expected.complete)
        and found.lines == expected.lines
        and len(found.nested) == len(expected.nested)
        and all(map(same, found.nested, expected.nested))
    )


def parsed(lines: Iterable[str]) -> Transcript:
    return parse_transcript(f"{line}\n".encode() for line in lines)


@given(st.lists(st.one_of(messages(), harmless), max_size=5))
def test_framed_messages_are_read_back_and_what_stands_between_them_is_not(
    parts: list[Message | str],
) -> None:
    expected = [part for part in parts if isinstance(part, Message)]
    lines: list[str] = []
    for part in parts:
        lines += framed(part) if isinstance(part, Message) else [part]
    found = parsed(lines).messages
    assert len(found) == len(expected)
    assert all(map(same, found, expected))
    for message in found:
        assert lines[message.line - 1].startswith(f"{FRAME}STARTMSG {message.code}:")


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_no_bytes_make_the_parser_fail(lines: list[bytes]) -> None:
    walk(parse_transcript(lines))


@given(
    st.lists(
        st.sampled_from(
            [b"@!@!@STARTMSG 1:1 @!@!@\n", b"@!@!@STARTMSG 2:1 @!@!@\r\n", b": ", b"text\n",
             b"@!@!@ENDMSG 1 @!@!@\n", b"@!@!@ENDMSG 2 @!@!@", b"@!@!@", b"\xff\n", b"\x00",
             b"@!@!@STARTMSG " + b"9" * 5000 + b":1 @!@!@\n",
             b"@!@!@ENDMSG " + b"9" * 5000 + b" @!@!@\n"]
        ),
        max_size=20,
    )
)  # fmt: skip
def test_no_mixture_of_frames_makes_the_parser_fail(parts: list[bytes]) -> None:
    walk(parse_transcript(b"".join(parts).splitlines(keepends=True)))


def walk(transcript: Transcript) -> None:
    transcript.errors()
    transcript.codes()
    for message in transcript.messages:
        for part in message.all():
            assert isinstance(part.text, str)


def test_frames_that_never_end_can_be_nested_without_limit() -> None:
    transcript = parsed([f"{FRAME}STARTMSG 1000:1 {FRAME}"] * 5000)
    assert sum(1 for message in transcript.messages for _ in message.all()) == 5000


def test_a_message_that_tlc_could_not_finish_is_incomplete() -> None:
    (message,) = parsed([f"{FRAME}STARTMSG 2110:1 {FRAME}", "Invariant I is viol"]).messages
    assert not message.complete
    assert message.text == "Invariant I is viol"


def test_the_end_of_a_message_ends_what_was_left_open_inside_it() -> None:
    transcript = parsed(
        [
            f"{FRAME}STARTMSG 1000:1 {FRAME}",
            f": {FRAME}STARTMSG 2132:0 {FRAME}",
            "cut off",
            f"{FRAME}ENDMSG 1000 {FRAME}",
            f"{FRAME}STARTMSG 2186:0 {FRAME}",
            f"{FRAME}ENDMSG 2186 {FRAME}",
        ]
    )
    assert [message.code for message in transcript.messages] == [1000, 2186]
    assert [message.code for message in transcript.messages[0].nested] == [2132]


def test_codes_are_those_of_errors_and_warnings_once_each_without_the_collector_hint() -> None:
    transcript = parsed(
        line
        for code, severity in ((2401, 3), (2110, 1), (2110, 1), (2128, 2), (300, 3), (2217, 4))
        for line in framed(Message(code, severity, 0))
    )
    assert transcript.codes() == ("2110:1", "2128:2", "300:3")
    assert [message.code for message in transcript.errors()] == [2110, 2110, 2128]


def test_the_first_top_level_message_is_found() -> None:
    inner = Message(2193, 0, 0, ["inner"])
    first, second = Message(2193, 0, 0, ["first"]), Message(2193, 0, 0, ["second"])
    transcript = parsed(
        line for m in (Message(1, 1, 0, nested=[inner]), first, second) for line in framed(m)
    )
    found = transcript.find(1234, 2193)
    assert found is not None
    assert found.text == "first"
    assert transcript.find(7) is None


@pytest.mark.parametrize(
    ("version", "case", "codes"),
    [
        *((v, "SpoofPrint", {2114, 2121}) for v in ("2.15", "current")),
        *((v, "SpoofControlCharacters", {2114, 2121}) for v in ("2.15", "current")),
        *((v, "SpoofState", {2110, 2121}) for v in ("2.15", "current")),
        ("2.15", "SpoofAssert", {1000, 2103}),
        ("current", "SpoofAssert", {2132, 2121, 2103}),
        ("current", "SpoofUnicode", {2114, 2121}),
    ],
)
def test_frames_in_what_a_candidate_prints_are_no_messages(
    recorded: Recorded, version: str, case: str, codes: set[int]
) -> None:
    result = recorded(version, case)
    assert result.stdout.read_bytes().count(b"STARTMSG 2193:0 @!@!@") >= 1
    transcript = read_transcript(result.stdout)
    assert transcript.find(2193) is None
    assert {message.code for message in transcript.errors()} == codes


@pytest.mark.parametrize("version", ["2.15", "current"])
def test_recorded_runs_have_no_message_left_open(recorded: Recorded, version: str) -> None:
    for case in ("Correct", "AssertInConstraint", "LivenessLasso", "FingerprintInInit"):
        for message in read_transcript(recorded(version, case).stdout).messages:
            assert all(part.complete for part in message.all())


def test_a_message_nested_behind_the_class_of_an_exception_is_seen(recorded: Recorded) -> None:
    wrapped = read_transcript(recorded("2.15", "AssertInConstraint").stdout).find(1000)
    assert wrapped is not None
    assert [message.code for message in wrapped.nested] == [2132]
