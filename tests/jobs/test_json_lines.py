import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.input_errors import FaultLog
from jobs.json_lines import LinePlace, parse_json_object, read_json_lines


def read(
    path: Path, content: bytes
) -> tuple[list[tuple[LinePlace, dict[str, Any]]], list[tuple[int | None, str | None, str]]]:
    path.write_bytes(content)
    log = FaultLog()
    lines = list(read_json_lines(path, log))
    return lines, [(fault.line, fault.field, fault.message) for fault in log.faults]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines.jsonl"


def test_blank_lines_and_a_byte_order_mark_are_tolerated(file: Path) -> None:
    lines, faults = read(file, b'\xef\xbb\xbf\n\n{"a": 1}\r\n   \n{"a": 2}')
    assert [value for _, value in lines] == [{"a": 1}, {"a": 2}]
    assert [place.number for place, _ in lines] == [3, 5]
    assert faults == []


def test_a_line_is_found_again_by_its_offset_and_length(file: Path) -> None:
    lines, _ = read(file, '\ufeff{"a": "ü"}\n\n{"b": 2}\n'.encode())
    content = file.read_bytes()
    for place, value in lines:
        assert json.loads(content[place.offset : place.offset + place.length]) == value


def test_a_line_separator_inside_a_string_does_not_end_the_line(file: Path) -> None:
    lines, faults = read(file, '{"a": "x\u2028y\x85z"}\n'.encode())
    assert lines[0][1] == {"a": "x\u2028y\x85z"}
    assert faults == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b'{"a": 1} x', "not JSON: Extra data at column 10"),
        (b'{"a": NaN}', "not JSON: NaN is not a JSON number"),
        (b'{"a": -Infinity}', "not JSON: -Infinity is not a JSON number"),
        (b'{"a": 1e999}', "not JSON: the number 1e999 is out of range"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8 of the line; save the file as UTF-8"),
        (b"[1]", "must be a JSON object, not an array"),
        (b'"a"', "must be a JSON object, not a string"),
        (b"null", "must be a JSON object, not null"),
        (b"true", "must be a JSON object, not a boolean"),
        (b"1", "must be a JSON object, not a number"),
    ],
)
def test_a_line_that_holds_no_object_is_one_fault_and_the_next_line_is_read(
    file: Path, line: bytes, message: str
) -> None:
    lines, faults = read(file, line + b'\n{"a": 1}\n')
    assert faults == [(1, None, message)]
    assert [value for _, value in lines] == [{"a": 1}]


@pytest.mark.parametrize("line", [b"[" * 200_000, b'{"a": ' + b"9" * 10_000 + b"}"])
def test_a_line_beyond_the_parsers_limits_is_a_fault_like_any_other(
    file: Path, line: bytes
) -> None:
    _, faults = read(file, line)
    assert [(number, field) for number, field, _ in faults] == [(1, None)]


def test_repeated_keys_are_faults_at_every_depth(file: Path) -> None:
    lines, faults = read(file, b'{"a": 1, "b": {"c": 1, "c": 2}, "d": [{"e": 1, "e": 1}], "a": 2}')
    message = "the key appears more than once"
    assert faults == [(1, "a", message), (1, "b.c", message), (1, "d.0.e", message)]
    assert lines[0][1]["a"] == 2


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_json_lines(tmp_path / "missing.jsonl", FaultLog()))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)  # fmt: skip


@given(st.dictionaries(st.text(), values, max_size=4))
def test_what_json_writes_is_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    log = FaultLog()
    assert (
        parse_json_object(json.dumps(value).encode(), log.at(tmp_path_factory.getbasetemp()))
        == value
    )
    assert log.faults == []
