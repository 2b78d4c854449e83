from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from jobs import cli

REPOSITORY = Path(__file__).resolve().parents[2]

HEAVY = ("ray", "pydantic", "rich", "orjson", "zstandard", "psutil", "cluster.store")


def commands() -> list[list[str]]:
    """Every command and subcommand, as its words."""
    found = []
    pending: list[tuple[list[str], Any]] = [([], typer.main.get_command(cli.app))]
    while pending:
        words, command = pending.pop()
        below = getattr(command, "commands", {})
        pending += [([*words, name], each) for name, each in below.items()]
        if not below:
            found.append(words)
    return sorted(found)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


def test_the_commands_of_the_contract_are_there() -> None:
    contract = {
        "check-problems",
        "doctor",
        "grade",
        "import folder",
        "interface",
        "report",
        "runs",
        "status",
        "sweep",
        "trace",
    }
    assert contract <= {" ".join(words) for words in commands()}


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_with_an_example_and_json(words: list[str]) -> None:
    result = CliRunner().invoke(cli.app, [*words, "--help"])
    assert result.exit_code == 0
    _, _, examples = result.stdout.partition("Example")
    assert f"tlagrid {' '.join(words)}" in examples
    assert "--json" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from jobs.cli import app; "
        "result = CliRunner().invoke(app, ['--help']); assert result.exit_code == 0; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = python("-c", code)
    assert result.stdout == "[]\n", result.stderr


def test_it_runs_from_the_source_tree_without_installation() -> None:
    result = python("-m", "jobs", "--version")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("tlagrid ")


@pytest.mark.parametrize("arguments", [[], ["stats"], ["sweep"], ["sweep", "x", "--colour"]])
def test_bad_usage_ends_with_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 2
    assert result.stderr


def test_a_bug_ends_with_3_and_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise LookupError("nobody thought of this")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 3
    stderr = capsys.readouterr().err
    assert "LookupError: nobody thought of this" in stderr
    assert "bug of tlagrid" in stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "jobs", "runs", "--json", "--store", tmp_path / "store"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        stderr = process.stderr.read()
    assert (process.returncode, stderr) == (0, b"")
