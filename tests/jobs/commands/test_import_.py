from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.sweep_file import load_sweep


def test_import_folder_makes_a_sweep_and_says_what_to_do_next(
    tlagrid: Callable[..., Any], tmp_path: Path
) -> None:
    problem = tmp_path / "src" / "problems" / "clock"
    problem.mkdir(parents=True)
    (problem / "Clock.tla").write_text("---- MODULE Clock ----\n====\n")
    answers = tmp_path / "src" / "attempts" / "m" / "clock"
    answers.mkdir(parents=True)
    (answers / "0.tla").write_text("---- MODULE Clock ----\n====\n")
    (answers / "1.md").write_text("no")
    out = tmp_path / "out"
    result = tlagrid("import", "folder", tmp_path / "src", out)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == f"{out}: 1 problem, 2 attempts"
    assert f"sweep {out}" in result.stdout
    assert len(load_sweep(out).attempts) == 2

    again = tlagrid("import", "folder", tmp_path / "src", out)
    assert again.exit_code == 2
    assert "is not an empty folder" in again.stderr

    other = tlagrid("import", "folder", tmp_path / "src", tmp_path / "other", "--json")
    assert json.loads(other.stdout) == {
        "schema_version": 1,
        "sweep": str(tmp_path / "other"),
        "problems": 1,
        "attempts": 2,
    }


def test_a_folder_without_the_layout_is_refused_and_nothing_is_written(
    tlagrid: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "src" / "problems").mkdir(parents=True)
    result = tlagrid("import", "folder", tmp_path / "src", tmp_path / "out")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 2
    assert not (tmp_path / "out").exists()
