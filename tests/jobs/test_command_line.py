from __future__ import annotations

from pathlib import Path

import pytest

from jobs.command_line import command_line


def make_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment with Python and tlagrid, in the current folder and not active."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    make_program(tmp_path / ".venv/bin/tlagrid")
    python = make_program(tmp_path / ".venv/bin/python")
    monkeypatch.setattr("sys.executable", str(python))
    return tmp_path / ".venv/bin"


def test_in_an_active_environment_the_name_alone_will_do(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(environment))
    monkeypatch.setattr("sys.argv", [str(environment / "tlagrid")])
    assert command_line("report", "nightly") == "tlagrid report nightly"
    monkeypatch.setattr("sys.argv", ["/src/jobs/__main__.py"])
    assert command_line("report", "nightly") == "python -m jobs report nightly"


def test_elsewhere_the_command_names_the_environment_s_own_program(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [str(environment / "tlagrid")])
    assert command_line("runs") == ".venv/bin/tlagrid runs"
    monkeypatch.setattr("sys.argv", ["/src/jobs/__main__.py"])
    assert command_line("runs") == ".venv/bin/python -m jobs runs"


def test_another_python_on_the_path_is_not_taken_for_ours(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_program(tmp_path / "elsewhere/python")
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.setattr("sys.argv", ["/src/jobs/__main__.py"])
    assert command_line("runs") == ".venv/bin/python -m jobs runs"


def test_arguments_are_quoted_for_a_shell(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(environment))
    monkeypatch.setattr("sys.argv", [str(environment / "tlagrid")])
    assert command_line("sweep", "my sweep/") == "tlagrid sweep 'my sweep/'"
