from __future__ import annotations

import pytest

from jobs.command_line import command_line


@pytest.mark.parametrize(
    ("started_as", "program"),
    [
        ("/home/me/venv/bin/tlagrid", "tlagrid"),
        ("/src/jobs/__main__.py", "python -m jobs"),
        ("/usr/lib/pytest/__main__.py", "tlagrid"),
    ],
)
def test_a_command_to_paste_begins_as_this_one_was_started(
    monkeypatch: pytest.MonkeyPatch, started_as: str, program: str
) -> None:
    monkeypatch.setattr("sys.argv", [started_as])
    assert command_line("report", "nightly") == f"{program} report nightly"


def test_arguments_are_quoted_for_a_shell() -> None:
    assert command_line("sweep", "my sweep/") == "tlagrid sweep 'my sweep/'"
