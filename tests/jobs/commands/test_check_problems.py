from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

REFERENCE = (
    "---- MODULE M ----\nVARIABLE x\nInit == x = {bound}\nNext == x' = 0\nInv == x = 0\n====\n"
)


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Path]:
    def write(**bounds: int | None) -> Path:
        lines = []
        for name, bound in bounds.items():
            line = {"schema_version": 1, "id": name, "module": "M"}
            line["config"] = "INIT Init NEXT Next INVARIANT Inv"
            if bound is not None:
                line["reference"] = REFERENCE.format(bound=bound)
            lines.append(json.dumps(line))
        file = tmp_path / "problems.jsonl"
        file.write_text("\n".join(lines) + "\n")
        return file

    return write


def test_a_reference_that_fails_makes_the_answer_no(
    tlagrid: Callable[..., Result], manifest: Callable[..., Path]
) -> None:
    result = tlagrid("check-problems", manifest(good=0, bad=1), "--jobs", "1")
    assert result.exit_code == 1
    assert "1 of 2 references pass, 1 fixture" in result.stdout
    assert "the reference ends as safety_violation: Invariant Inv is violated" in result.stdout
    assert "[2/2] bad: safety_violation" in result.stderr


def test_json_lists_every_problem_in_the_order_of_the_manifest(
    tlagrid: Callable[..., Result], manifest: Callable[..., Path]
) -> None:
    result = tlagrid("check-problems", manifest(one=0, two=None), "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document["passes"] is True
    assert [each["problem"] for each in document["problems"]] == ["one", "two"]
    assert document["problems"][0]["verdict"]["states"]["distinct"] == 1
    assert document["problems"][1]["remarks"][0]["name"] == "no_reference"


def test_a_manifest_with_faults_is_bad_input(
    tlagrid: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "problems.jsonl").write_text('{"schema_version": 1, "id": "x"}\n')
    result = tlagrid("check-problems", tmp_path / "problems.jsonl")
    assert result.exit_code == 2
    assert "problems.jsonl:1: module: is missing" in result.stderr
