"""Attempts and verdicts to test with."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.store import LocalStore
from workers.records import Attempt, Outcome, Problem, Verdict

MakeAttempt = Callable[..., Attempt]
MakeVerdict = Callable[..., Verdict]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture(scope="session")
def problem() -> Problem:
    return Problem(id="clock", module="Clock", config="SPECIFICATION Spec\n", labels={"tier": 1})


@pytest.fixture(scope="session")
def make_attempt() -> MakeAttempt:
    def make(sample: int, text: str = "correct") -> Attempt:
        return Attempt(
            id=f"clock/m/default/{sample}", problem="clock", model="m", sample=sample, text=text
        )

    return make


@pytest.fixture(scope="session")
def make_verdict() -> MakeVerdict:
    def make(
        attempt: str, outcome: Outcome = Outcome.CORRECT, sub: str | None = None, message: str = "-"
    ) -> Verdict:
        return Verdict(
            attempt=attempt,
            problem="clock",
            model="m",
            regime="default",
            sample=0,
            outcome=outcome,
            sub=sub,
            family=outcome.family,
            message=message,
            grader_version="0",
        )

    return make


@pytest.fixture(scope="module")
def standin_calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make `standin_grader` importable here and in what is started; yield its folder of calls."""
    here = str(Path(__file__).parent)
    calls = tmp_path_factory.mktemp("calls")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STANDIN_CALLS", str(calls))
        path = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        patch.setenv("PYTHONPATH", os.pathsep.join(path))
        patch.setattr(sys, "path", [here, *sys.path])
        yield calls
