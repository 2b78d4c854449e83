import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from jobs.input_errors import FaultLog, InputError, InputFault
from workers.records import Usage


def test_a_fault_reads_file_line_field_message() -> None:
    fault = InputFault(Path("problems.jsonl"), 17, "config.path", "no such file")
    assert str(fault) == "problems.jsonl:17: config.path: no such file"


def test_a_fault_without_line_or_field_leaves_them_out() -> None:
    assert str(InputFault(Path("sweep.toml"), None, None, "not TOML")) == "sweep.toml: not TOML"


def test_an_error_prints_all_faults_by_file_and_line_one_each() -> None:
    log = FaultLog()
    log.at(Path("b"), 2).add("x", "second")
    log.at(Path("b"), 1).add("x", "first")
    log.at(Path("a"), 9).add("x", "other file")
    with pytest.raises(InputError) as caught:
        log.raise_if_any()
    assert str(caught.value).splitlines() == [
        "a:9: x: other file",
        "b:1: x: first",
        "b:2: x: second",
    ]


def test_a_reading_without_faults_ends_quietly() -> None:
    FaultLog().raise_if_any()


def test_an_error_survives_pickling() -> None:
    error = InputError([InputFault(Path("a"), 1, None, "wrong")])
    assert str(pickle.loads(pickle.dumps(error))) == "a:1: wrong"


def test_a_line_break_in_a_name_cannot_forge_a_second_fault() -> None:
    fault = InputFault(Path("a"), 1, "x\nb:2: y", "half a pair \ud800")
    assert str(fault) == "a:1: x\\nb:2: y: half a pair \\ud800"


def test_every_fault_of_a_record_is_noted_with_its_dotted_path() -> None:
    log = FaultLog()
    with pytest.raises(ValidationError) as caught:
        Usage.model_validate({"input_tokens": -1, "tool_calls": "3", "token": 1}, strict=True)
    log.at(Path("a"), 1).add_validation(
        caught.value, prefix="usage", known=("input_tokens", "tool_calls", "tokens")
    )
    assert [str(fault) for fault in log.faults] == [
        "a:1: usage.input_tokens: should be greater than or equal to 0, not -1",
        "a:1: usage.tool_calls: should be a valid integer, not '3'",
        "a:1: usage.token: unknown field; did you mean 'tokens'?",
    ]
