"""Sweeps on disk, runs in a store, and the command to try on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cluster.ledger import Ledger
from cluster.runs import AttemptIdentity, ProblemIdentity, RunDescription, create_or_resume
from cluster.store import LocalStore
from jobs.cli import app
from workers.records import (
    Attempt,
    Gates,
    GradingSettings,
    Outcome,
    Problem,
    Resources,
    Verdict,
)

Command = Callable[..., Result]
MakeRun = Callable[..., RunDescription]
WriteSweep = Callable[..., Path]

PROBLEMS = (
    Problem(id="clock", module="Clock", config="INIT Init\nNEXT Next\n", labels={"tier": "gold"}),
    Problem(id="toy", module="Toy", config="", labels={"tier": "bronze", "fixture": True}),
)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "TLAGRID_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tlagrid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run the command in this process, in an empty folder."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)

    def invoke(*arguments: str | Path) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def make_run(store: LocalStore) -> MakeRun:
    """A run in the store: `{model: {problem: [result, ...]}}`; `None` is an attempt to come.

    A result is `outcome` or `outcome/sub`.
    """

    def make(
        name: str, results: dict[str, dict[str, list[str | None]]], *, ended: bool = True
    ) -> RunDescription:
        attempts: list[Attempt] = []
        verdicts: list[Verdict] = []
        for model, by_problem in results.items():
            for problem, samples in by_problem.items():
                for sample, result in enumerate(samples):
                    attempt = Attempt(
                        id=f"{problem}/{model}/default/{sample}",
                        problem=problem,
                        model=model,
                        sample=sample,
                        text=f"{model} {sample}",
                    )
                    attempts.append(attempt)
                    if result is not None:
                        verdicts.append(verdict_on(attempt, result))
        run = create_or_resume(
            store,
            name,
            problems=map(ProblemIdentity.of, PROBLEMS),
            attempts=map(AttemptIdentity.of, attempts),
            settings=GradingSettings(),
            toolchain=None,
            tlagrid_version="0",
        )
        ledger = Ledger(store, name)
        ledger.append(verdicts)
        if ended:
            ledger.close()
        else:
            ledger.flush()
        return run

    return make


def verdict_on(attempt: Attempt, result: str) -> Verdict:
    name, _, sub = result.partition("/")
    outcome = Outcome(name)
    return Verdict(
        attempt=attempt.id,
        problem=attempt.problem,
        model=attempt.model,
        regime=attempt.regime,
        sample=attempt.sample,
        outcome=outcome,
        sub=sub or None,
        family=outcome.family,
        gates=Gates(parsed=outcome is Outcome.CORRECT),
        message=result,
        resources=Resources(cpu_seconds=1.5),
        grader_version="0",
    )


@pytest.fixture
def write_sweep(tmp_path: Path) -> WriteSweep:
    """A folder with a sweep whose attempts have the given texts, one sample each."""

    def write(*texts: str, toml: str = "", config: str = "INIT Init\nNEXT Next\n") -> Path:
        folder = tmp_path / "small"
        folder.mkdir(exist_ok=True)
        problem = {
            "schema_version": 1,
            "id": "clock",
            "module": "Clock",
            "config": config,
            "labels": {"tier": "gold"},
        }
        attempts = [
            {"schema_version": 1, "problem": "clock", "model": "m", "sample": n, "text": text}
            for n, text in enumerate(texts)
        ]
        (folder / "problems.jsonl").write_text(json.dumps(problem) + "\n")
        lines = "".join(json.dumps(attempt) + "\n" for attempt in attempts)
        (folder / "attempts.jsonl").write_text(lines)
        head = 'problems = "problems.jsonl"\nattempts = "attempts.jsonl"\n'
        (folder / "sweep.toml").write_text(head + toml)
        return folder

    return write
