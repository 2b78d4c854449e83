from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from jobs.commands.grade import exit_code_for
from workers.records import Outcome, Verdict

MODULE = """---- MODULE Counter ----
EXTENDS Naturals
VARIABLE count
Init == count = 0
Next == count' = (count + 1) % 4
Small == count < 3
====
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    file = tmp_path / "Counter.tla"
    file.write_text(MODULE)
    file.with_suffix(".cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Small\n")
    return file


def test_a_violation_is_shown_and_ends_with_1(
    tlagrid: Callable[..., Result], counter: Path, tmp_path: Path
) -> None:
    itf = tmp_path / "trace.itf.json"
    result = tlagrid("grade", counter, "--itf", itf)
    assert result.exit_code == 1
    assert "FAIL  safety_violation  of Small" in result.stdout
    assert "    * count = 3   (was 2)" in result.stdout
    assert "found beside the file" in result.stdout
    assert len(json.loads(itf.read_text())["states"]) == 4


def test_json_is_one_document_with_what_was_read(
    tlagrid: Callable[..., Result], counter: Path
) -> None:
    result = tlagrid("grade", counter, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["verdict"]["property"] == "Small"
    assert document["counterexample"]["states"][-1]["changed"] == ["count"]
    assert document["inputs"]["config"].endswith("Counter.cfg")


def test_a_pass_ends_with_0(tlagrid: Callable[..., Result], counter: Path) -> None:
    counter.with_suffix(".cfg").unlink()
    result = tlagrid("grade", counter)
    assert result.exit_code == 0
    assert "PASS  parsed" in result.stdout


def test_a_file_that_is_not_there_is_bad_input(tlagrid: Callable[..., Result]) -> None:
    result = tlagrid("grade", "nowhere.tla")
    assert result.exit_code == 2
    assert "nowhere.tla: cannot be read" in result.stderr


def test_two_documents_on_one_output_are_refused(
    tlagrid: Callable[..., Result], counter: Path
) -> None:
    assert tlagrid("grade", counter, "--json", "--itf", "-").exit_code == 2


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("correct", 0),
        ("deadlock", 1),
        ("resource_limit/wall", 1),
        ("infrastructure/unreadable_config", 2),
        ("infrastructure/toolchain_unsupported", 3),
        ("infrastructure/tool_failure", 3),
    ],
)
def test_the_exit_code_says_whose_fault_it_is(kind: str, code: int) -> None:
    name, _, sub = kind.partition("/")
    outcome = Outcome(name)
    verdict = Verdict(
        attempt="a",
        problem="p",
        model="m",
        regime="default",
        sample=0,
        outcome=outcome,
        sub=sub or None,
        family=outcome.family,
        message="",
        grader_version="0",
    )
    assert exit_code_for(verdict) == code
