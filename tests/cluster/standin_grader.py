"""A grader that obeys the attempt's text: quick, without Java, and able to die on demand.

Loaded in Ray workers by import path. Every call leaves a file `<attempt>@<time>` in the folder
`STANDIN_CALLS`, if that is set.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from workers.evidence import Evidence, Graded
from workers.records import Attempt, GradingSettings, Outcome, Problem, Resources, Verdict


def grade(problem: Problem, attempt: Attempt, settings: GradingSettings) -> Graded:
    calls = _note_call(attempt.id)
    match attempt.text.split():
        case ["sleep", seconds]:
            time.sleep(float(seconds))
        case ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["die-once"] if calls == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["hang-once"] if calls == 1:
            time.sleep(600)
        case ["raise"]:
            raise LookupError("the grader does not know what to do")
        case ["infrastructure", sub]:
            return _graded(attempt, Outcome.INFRASTRUCTURE, sub)
        case ["infrastructure-once", sub] if calls == 1:
            return _graded(attempt, Outcome.INFRASTRUCTURE, sub)
        case ["starved", until] if calls <= int(until):
            return _starved(attempt)
        case ["deadlock"]:
            return _graded(attempt, Outcome.DEADLOCK)
    return _graded(attempt, Outcome.CORRECT)


def _starved(attempt: Attempt) -> Graded:
    """A wall limit that was reached on a busy node."""
    graded = _graded(attempt, Outcome.RESOURCE_LIMIT, "wall")
    measured = {"flags": ("time_dependent",), "resources": Resources(starved=True)}
    return replace(graded, verdict=graded.verdict.model_copy(update=measured))


def _note_call(attempt: str) -> int:
    folder = Path(os.environ["STANDIN_CALLS"])
    name = attempt.replace("/", "_")
    (folder / f"{name}@{time.time_ns()}").touch()
    return len(list(folder.glob(f"{name}@*")))


def _graded(attempt: Attempt, outcome: Outcome, sub: str | None = None) -> Graded:
    verdict = Verdict(
        attempt=attempt.id,
        problem=attempt.problem,
        model=attempt.model,
        regime=attempt.regime,
        sample=attempt.sample,
        outcome=outcome,
        sub=sub,
        family=outcome.family,
        message=f"the text asks for {outcome}",
        grader_version="stand-in",
    )
    return Graded(verdict, (Evidence("log", f"graded {attempt.text!r}".encode()),))
