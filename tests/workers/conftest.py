"""Recordings of SANY and TLC (made by scripts/record_tool_logs), and the real tools."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.limits import Limit
from workers.records import Attempt, Problem
from workers.runner import ProcessResult
from workers.toolchain import TLA2TOOLS_SETTING, Tools, find_tools

LOGS = Path(__file__).parent / "logs"
CURRENT_JAR = os.environ.get("TLAGRID_TEST_CURRENT_TLA2TOOLS")

Recorded = Callable[[str, str], ProcessResult]
MakeResult = Callable[..., ProcessResult]
MakeProblem = Callable[..., Problem]
MakeAttempt = Callable[..., Attempt]

versions = [
    "2.15",
    pytest.param(
        "current",
        marks=[
            pytest.mark.current_tlc,
            pytest.mark.skipif(
                CURRENT_JAR is None, reason="TLAGRID_TEST_CURRENT_TLA2TOOLS names no current TLC"
            ),
        ],
    ),
]


@pytest.fixture(scope="session")
def make_result(tmp_path_factory: pytest.TempPathFactory) -> MakeResult:
    """What a run of a tool left: its streams are texts, bytes or files."""

    def stream(content: str | bytes | Path) -> Path:
        if isinstance(content, Path):
            return content
        path = tmp_path_factory.mktemp("stream") / "log"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def make(
        stdout: str | bytes | Path = "",
        stderr: str | bytes | Path = "",
        exit_code: int | None = 0,
        *,
        signal: int | None = None,
        limit: Limit | None = None,
    ) -> ProcessResult:
        return ProcessResult(
            exit_code=exit_code,
            signal=signal,
            limit=limit,
            cpu_seconds=1.0,
            wall_seconds=1.0,
            peak_memory_bytes=1,
            output_bytes=1,
            stdout=stream(stdout),
            stderr=stream(stderr),
            enforced_by="-",
            measured_by="-",
        )

    return make


@pytest.fixture(scope="session")
def recorded(make_result: MakeResult) -> Recorded:
    """The recording of a case by one version of the tools."""

    def read(version: str, case: str) -> ProcessResult:
        folder = LOGS / version / case
        stderr = folder / "stderr"
        return make_result(
            folder / "stdout",
            stderr if stderr.exists() else "",
            int((folder / "exit").read_text(encoding="utf-8")),
        )

    return read


@pytest.fixture(params=versions)
def tools(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """The real tools, in use for what is graded in the test; both versions where both are."""
    for name in [name for name in os.environ if name.startswith("TLAGRID_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    if request.param == "current":
        monkeypatch.setenv(TLA2TOOLS_SETTING, str(CURRENT_JAR))
    return find_tools()


@pytest.fixture(scope="session")
def make_problem() -> MakeProblem:
    def make(module: str = "Clock", **fields: object) -> Problem:
        return Problem.model_validate({"id": module.lower(), "module": module, **fields})

    return make


@pytest.fixture(scope="session")
def make_attempt() -> MakeAttempt:
    def make(text: str, **fields: object) -> Attempt:
        values = {"id": "a", "problem": "clock", "model": "m", "text": text, **fields}
        return Attempt.model_validate(values)

    return make
