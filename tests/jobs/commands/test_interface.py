from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

PROMPT = (
    "Module `Clock` must define these names, exactly as written here:\n"
    "- initial predicate (INIT): `Init`\n"
    "- next-state action (NEXT): `Next`\n"
)


def test_a_problem_of_a_manifest_gives_text_for_a_prompt(
    tlagrid: Callable[..., Result], write_sweep: Callable[..., Path]
) -> None:
    result = tlagrid("interface", "clock", "--manifest", write_sweep("x"))
    assert result.exit_code == 0
    assert result.stdout == PROMPT


def test_the_manifest_of_the_working_folder_is_the_default(
    tlagrid: Callable[..., Result],
    write_sweep: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(write_sweep("x"))
    assert tlagrid("interface", "clock").stdout == PROMPT


def test_a_configuration_file_will_do(tlagrid: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "M.cfg").write_text("CONSTANT N = 3\nCHECK_DEADLOCK FALSE\n")
    document = json.loads(tlagrid("interface", tmp_path / "M.cfg", "--json").stdout)
    assert document["names"] == ["N"]
    assert document["constants"] == [{"name": "N", "module": None, "value": "3"}]
    assert document["deadlock_checked"] is False


def test_an_unknown_problem_is_told_with_its_neighbours(
    tlagrid: Callable[..., Result], write_sweep: Callable[..., Path]
) -> None:
    result = tlagrid("interface", "clok", "--manifest", write_sweep("x"))
    assert result.exit_code == 2
    assert "Did you mean clock?" in result.stderr


def test_without_a_manifest_the_way_out_is_named(tlagrid: Callable[..., Result]) -> None:
    result = tlagrid("interface", "clock")
    assert result.exit_code == 2
    assert "--manifest" in result.stderr


def test_an_unreadable_configuration_is_bad_input(
    tlagrid: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "M.cfg").write_text("INIT A\nINIT B\n")
    result = tlagrid("interface", tmp_path / "M.cfg")
    assert result.exit_code == 2
    assert "line 2: INIT appears twice" in result.stderr
