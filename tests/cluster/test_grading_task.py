from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.grading_task import GraderPathError, Plan, grade_batch, load_grader
from cluster.packs import read_trace
from cluster.store import LocalStore, StoreError
from workers.records import Attempt, GradingSettings, Outcome, Problem

MakeAttempt = Callable[..., Attempt]

pytestmark = pytest.mark.usefixtures("standin_calls")


def plan_for(store: LocalStore, grader: str = "standin_grader:grade") -> Plan:
    return Plan(store.uri, grader, GradingSettings())


def test_the_evidence_is_stored_when_the_verdicts_are_returned(
    store: LocalStore, problem: Problem, make_attempt: MakeAttempt
) -> None:
    batch = ((problem, make_attempt(0)), (problem, make_attempt(1, "deadlock")))
    result = grade_batch(plan_for(store), batch, time.time())
    assert [verdict.outcome for verdict in result.verdicts] == [Outcome.CORRECT, Outcome.DEADLOCK]
    logs = [read_trace(store, verdict.traces[0]) for verdict in result.verdicts]
    assert logs == [b"graded 'correct'", b"graded 'deadlock'"]
    assert len(list(store.list_keys("packs/"))) == 1


def test_an_exception_of_the_grader_costs_only_its_own_attempt(
    store: LocalStore, problem: Problem, make_attempt: MakeAttempt
) -> None:
    batch = ((problem, make_attempt(0, "raise")), (problem, make_attempt(1)))
    result = grade_batch(plan_for(store), batch, time.time())
    assert [verdict.sample for verdict in result.verdicts] == [1]
    (failure,) = result.failures
    assert failure.attempt == "clock/m/default/0"
    assert "LookupError: the grader does not know" in failure.message
    assert "standin_grader.py:" in failure.message


def test_no_verdict_is_returned_when_the_evidence_cannot_be_stored(
    tmp_path: Path, problem: Problem, make_attempt: MakeAttempt
) -> None:
    store = LocalStore(tmp_path / "store")
    store.put("packs", b"in the way")
    with pytest.raises(StoreError, match="cannot write packs/"):
        grade_batch(plan_for(store), ((problem, make_attempt(0)),), time.time())


def test_waiting_is_measured_apart_from_running(
    store: LocalStore, problem: Problem, make_attempt: MakeAttempt
) -> None:
    batch = ((problem, make_attempt(0, "sleep 0.2")), (problem, make_attempt(1)))
    result = grade_batch(plan_for(store), batch, time.time() - 5)
    first, second = (verdict.queue_seconds or 0 for verdict in result.verdicts)
    assert 5 <= first < second
    assert second - first >= 0.2
    assert all(verdict.node for verdict in result.verdicts)


@pytest.mark.parametrize(
    "path", ["standin_grader", "standin_grader:absent", "absent_module:grade", ":grade", ""]
)
def test_a_grader_that_does_not_exist_is_named(path: str) -> None:
    with pytest.raises(GraderPathError, match=f"grader '{path}' cannot be imported"):
        load_grader(path)
