from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from jobs.output import log, output_console, print_json, warn


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("120", 120), ("x", 80), ("0", 80)])
def test_without_a_terminal_the_width_is_fixed_or_that_of_columns(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert output_console().width == width
    assert output_console().is_terminal is False


def test_json_goes_to_standard_output_and_the_rest_to_standard_error(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    print_json({"at": datetime(2026, 1, 2, tzinfo=UTC), "name": "ü"})
    log("a line")
    warn("beware")
    out, err = capfdbinary.readouterr()
    assert json.loads(out) == {"at": "2026-01-02T00:00:00Z", "name": "ü"}
    assert err == b"a line\nwarning: beware\n"
