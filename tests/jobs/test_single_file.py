from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from jobs.exit_codes import BadUsageError
from jobs.input_errors import InputError
from jobs.single_file import SingleFile, read_single_file
from workers.records import ExtractRule

CLOCK = "---- MODULE Clock ----\nEXTENDS Naturals, Util\n====\n"
UTIL = "---- MODULE Util ----\nEXTENDS Deeper\n====\n"
DEEPER = "---- MODULE Deeper ----\n====\n"


def read(
    file: Path | str,
    *,
    config: Path | None = None,
    context: Path | None = None,
    module: str | None = None,
) -> SingleFile:
    return read_single_file(
        str(file), config=config, context=context, module=module, rule=ExtractRule.ROBUST
    )


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    for name, text in {"Clock": CLOCK, "Util": UTIL, "Deeper": DEEPER}.items():
        (tmp_path / f"{name}.tla").write_text(text)
    return tmp_path / "Clock.tla"


def test_configuration_and_imports_beside_the_file_are_taken_and_named(clock: Path) -> None:
    clock.with_suffix(".cfg").write_text("INIT Init\nNEXT Next\n")
    task = read(clock)
    assert task.problem.config == "INIT Init\nNEXT Next\n"
    assert task.problem.context == {"Deeper": DEEPER, "Util": UTIL}
    assert task.notes == (
        "Clock.tla: module Clock",
        f"configuration {clock.with_suffix('.cfg')}, found beside the file",
        f"imported modules from {clock.parent}: Deeper, Util",
    )


def test_without_a_configuration_the_task_is_to_parse(clock: Path) -> None:
    task = read(clock)
    assert task.problem.config is None
    assert any("parse only" in note for note in task.notes)


def test_a_module_that_nothing_imports_is_left_alone(clock: Path) -> None:
    (clock.parent / "Other.tla").write_bytes(b"\xff not even text")
    assert "Other" not in read(clock).problem.context


def test_a_standard_module_in_the_same_folder_is_not_taken_unasked(clock: Path) -> None:
    naturals = "---- MODULE Naturals ----\n====\n"
    (clock.parent / "Naturals.tla").write_text(naturals)
    assert "Naturals" not in read(clock).problem.context
    assert read(clock, context=clock.parent).problem.context["Naturals"] == naturals


def test_a_folder_of_context_replaces_the_files_own(clock: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert read(clock, context=empty).problem.context == {}


def test_prose_around_the_module_is_counted_in_lines(tmp_path: Path) -> None:
    answer = tmp_path / "answer.md"
    answer.write_text("Sure!\n---- MODULE A ----\n====\nDone.\n")
    assert read(answer).notes[0] == "answer.md: module A, lines 2 to 3 of the file"


def test_the_problem_asks_for_the_name_that_the_module_has(clock: Path) -> None:
    assert read(clock).problem.module == "Clock"
    assert read(clock, module="Watch").problem.module == "Watch"


def test_bytes_that_are_not_utf8_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "A.tla"
    file.write_bytes(b"---- MODULE A ----\n\\* caf\xe9\n====\n")
    assert not read(file).attempt.valid_utf8


def test_standard_input_brings_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CLOCK.encode())))
    task = read("-")
    assert task.label == "standard input"
    assert task.problem.context == {}
    assert task.config_file is None


def test_what_is_not_there_is_named(clock: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(BadUsageError, match=r"--config \S+missing: no such file"):
        read(clock, config=missing)
    with pytest.raises(BadUsageError, match=r"--context \S+missing: no such folder"):
        read(clock, context=missing)
    with pytest.raises(BadUsageError, match=r"missing: cannot be read"):
        read(missing)


def test_a_configuration_that_is_not_utf8_is_an_input_error(clock: Path) -> None:
    clock.with_suffix(".cfg").write_bytes(b"INIT \xff")
    with pytest.raises(InputError, match="not UTF-8 at byte 6"):
        read(clock)


def test_an_imported_file_that_holds_another_module_is_an_error(clock: Path) -> None:
    (clock.parent / "Util.tla").write_text(DEEPER)
    with pytest.raises(BadUsageError, match="holds no module Util"):
        read(clock)
