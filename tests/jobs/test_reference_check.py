"""Real SANY and TLC, on specifications of a few states."""

from __future__ import annotations

import pytest

from jobs import reference_check
from jobs.reference_check import ProblemCheck, check_problems
from workers.evidence import Graded
from workers.records import (
    Attempt,
    GradingSettings,
    Outcome,
    Problem,
    QuotaChange,
    Resources,
    Verdict,
)

COUNTER = """---- MODULE Counter ----
EXTENDS Naturals{more}
VARIABLE count
Init == count = 0
Next == count' = {next}
Small == count < {bound}
====
"""
CONFIG = "INIT Init NEXT Next INVARIANT Small"


def problem(
    name: str, *, bound: int = 4, step: str = "(count + 1) % 4", more: str = "", **fields: object
) -> Problem:
    reference = COUNTER.format(bound=bound, next=step, more=more)
    given = {"id": name, "module": "Counter", "reference": reference, "config": CONFIG}
    return Problem.model_validate({**given, **fields})


@pytest.fixture(scope="module")
def checks() -> dict[str, ProblemCheck]:
    problems = [
        problem("sound"),
        problem("fails", bound=3),
        problem("fixture", step="count"),
        problem("random", step="RandomElement({0})", more=", TLC"),
        problem("unnamed", config="INIT Init NEXT Next INVARIANT Tiny"),
        problem("silver", config=None),
        problem("bare", reference=None),
        problem("unreadable", reference=None, config="INVARIANT Small Small NEXT"),
        problem("short", step="count + 1", quota=QuotaChange(wall_seconds=1), bound=10**9),
    ]
    return {each.problem: each for each in check_problems(problems, GradingSettings(), jobs=2)}


def remarks(check: ProblemCheck) -> list[str]:
    return [remark.name for remark in check.remarks]


def test_a_sound_problem_passes_without_remarks(checks: dict[str, ProblemCheck]) -> None:
    assert checks["sound"].passes
    assert remarks(checks["sound"]) == []


def test_a_reference_that_violates_its_property_does_not_pass(
    checks: dict[str, ProblemCheck],
) -> None:
    verdict = checks["fails"].verdict
    assert verdict is not None
    assert verdict.outcome is Outcome.SAFETY_VIOLATION
    assert not checks["fails"].passes


def test_a_reference_of_one_state_is_a_fixture(checks: dict[str, ProblemCheck]) -> None:
    assert checks["fixture"].passes
    assert remarks(checks["fixture"]) == ["fixture"]


def test_random_values_are_flagged(checks: dict[str, ProblemCheck]) -> None:
    assert "nondeterministic" in remarks(checks["random"])


def test_a_name_that_nothing_defines_is_flagged(checks: dict[str, ProblemCheck]) -> None:
    (remark,) = checks["unnamed"].remarks
    assert remark.name == "undefined_name"
    assert "Tiny" in remark.message
    assert not checks["unnamed"].passes


def test_a_problem_without_a_configuration_is_parsed(checks: dict[str, ProblemCheck]) -> None:
    assert checks["silver"].passes
    assert remarks(checks["silver"]) == ["no_config"]


def test_a_problem_without_a_reference_is_only_looked_at(checks: dict[str, ProblemCheck]) -> None:
    assert checks["bare"].verdict is None
    assert checks["bare"].passes
    assert remarks(checks["bare"]) == ["no_reference"]


def test_an_unreadable_configuration_fails_without_a_reference_too(
    checks: dict[str, ProblemCheck],
) -> None:
    assert [fault.sub for fault in checks["unreadable"].faults] == ["unreadable_config"]
    assert not checks["unreadable"].passes


def test_a_reference_is_held_to_the_problems_own_quota(checks: dict[str, ProblemCheck]) -> None:
    verdict = checks["short"].verdict
    assert verdict is not None
    assert (verdict.outcome, verdict.sub) == (Outcome.RESOURCE_LIMIT, "wall")
    assert not checks["short"].passes


def test_a_reference_that_a_busy_node_may_have_stopped_is_checked_again_alone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[str] = []

    def grade(problem: Problem, attempt: Attempt, settings: GradingSettings) -> Graded:
        starved = problem.id == "slow" and looked_at.count("slow") == 0
        looked_at.append(problem.id)
        outcome = Outcome.RESOURCE_LIMIT if starved else Outcome.CORRECT
        verdict = Verdict(
            **attempt.model_dump(include={"problem", "model", "regime", "sample"}),
            attempt=attempt.id,
            outcome=outcome,
            sub="wall" if starved else None,
            flags=("time_dependent",) if starved else (),
            family=outcome.family,
            message="-",
            resources=Resources(starved=True if starved else None),
            grader_version="0",
        )
        return Graded(verdict, ())

    monkeypatch.setattr(reference_check, "grade", grade)
    problems = [problem("slow"), problem("quick"), problem("other")]
    found = list(check_problems(problems, GradingSettings(), jobs=1))
    assert looked_at == ["slow", "quick", "other", "slow"]
    assert [check.problem for check in found] == ["quick", "other", "slow"]
    assert all(check.passes for check in found)
