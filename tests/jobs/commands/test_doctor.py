from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from typer.testing import Result

from jobs import node_check
from jobs.check_row import Row, Status


def report(monkeypatch: pytest.MonkeyPatch, *rows: Row) -> None:
    def check_node(_store: object) -> Iterator[Row]:
        return iter(rows)

    monkeypatch.setattr(node_check, "check_node", check_node)


def test_each_row_that_fails_says_what_mends_it(
    tlagrid: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    report(
        monkeypatch,
        Row("Python", Status.OK, "3.11"),
        Row("Java", Status.MISSING, "no Java", "pip install it"),
    )
    result = tlagrid("doctor")
    assert result.exit_code == 1
    assert result.stdout == (
        "ok       Python: 3.11\n"
        "missing  Java: no Java\n"
        "         -> pip install it\n"
        "\nNot ready to grade: Java\n"
    )


def test_warnings_do_not_make_a_node_unfit(
    tlagrid: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    report(monkeypatch, Row("isolation", Status.WARNING, "none"))
    result = tlagrid("doctor", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "schema_version": 1,
        "ready": True,
        "checks": [
            {"name": "isolation", "status": "warning", "detail": "none", "remedy": None},
        ],
    }
