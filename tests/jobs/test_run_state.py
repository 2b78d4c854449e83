from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.heartbeat import Heartbeat, write_heartbeat
from cluster.ledger import Ledger
from cluster.runs import AttemptIdentity, ProblemIdentity, RunDescription, create_or_resume
from cluster.store import LocalStore
from jobs.run_state import State, look_at
from workers.records import (
    Attempt,
    GradingSettings,
    Outcome,
    Problem,
    Resources,
    Verdict,
)

ATTEMPTS = [Attempt(id=f"a{n}", problem="p", model="m", sample=n, text="") for n in range(4)]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def run(store: LocalStore) -> RunDescription:
    return create_or_resume(
        store,
        "run",
        problems=[ProblemIdentity.of(Problem(id="p", module="P"))],
        attempts=map(AttemptIdentity.of, ATTEMPTS),
        settings=GradingSettings(),
        toolchain=None,
        tlagrid_version="0",
    )


def record(
    store: LocalStore, *results: tuple[str, Outcome, str | None], ended: bool = True
) -> None:
    ledger = Ledger(store, "run")
    ledger.append(
        Verdict(
            attempt=attempt,
            problem="p",
            model="m",
            regime="default",
            sample=0,
            outcome=outcome,
            sub=sub,
            family=outcome.family,
            message="-",
            resources=Resources(cpu_seconds=None if outcome.family == "infrastructure" else 2.0),
            grader_version="0",
        )
        for attempt, outcome, sub in results
    )
    if ended:
        ledger.close()
    else:
        ledger.flush()


def test_a_run_that_nobody_began_waits(store: LocalStore, run: RunDescription) -> None:
    state = look_at(store, run)
    assert (state.state, state.graded, state.waiting) == (State.INCOMPLETE, 0, 4)
    assert (state.rate, state.eta_seconds, state.driver) == (None, None, None)
    assert state.last_activity == run.created


def test_counts_tell_graded_waiting_failed_and_the_problems_faults_apart(
    store: LocalStore, run: RunDescription
) -> None:
    record(
        store,
        ("a0", Outcome.PARSED, None),
        ("a1", Outcome.INFRASTRUCTURE, "node"),
        ("a2", Outcome.INFRASTRUCTURE, "broken_context"),
    )
    state = look_at(store, run)
    assert (state.graded, state.ungraded, state.waiting, state.failed) == (1, 3, 1, 1)
    assert state.reasons == {"node": 1, "broken_context": 1, "not_graded_yet": 1}
    assert (state.cpu_seconds, state.measured) == (2.0, 1)
    assert state.state is State.INCOMPLETE


def test_a_run_is_finished_when_another_start_would_grade_nothing(
    store: LocalStore, run: RunDescription
) -> None:
    record(store, *((f"a{n}", Outcome.PARSED, None) for n in range(3)))
    record(store, ("a3", Outcome.INFRASTRUCTURE, "node"))
    assert look_at(store, run).state is State.INCOMPLETE
    record(store, ("a3", Outcome.INFRASTRUCTURE, "missing_config"))
    state = look_at(store, run)
    assert state.state is State.FINISHED
    assert (state.graded, state.failed) == (3, 0)


def test_the_failure_to_look_at_first_does_not_depend_on_the_order_of_grading(
    store: LocalStore, run: RunDescription
) -> None:
    record(store, ("a3", Outcome.DEADLOCK, None), ("a1", Outcome.PARSE_FAILURE, "grammar"))
    assert look_at(store, run).failure == "a1"


def test_the_rate_is_that_of_the_last_driver(store: LocalStore, run: RunDescription) -> None:
    record(store, ("a0", Outcome.PARSED, None), ("a1", Outcome.PARSED, None))
    record(store, ("a2", Outcome.PARSED, None))
    now = datetime.now(UTC)
    beat = Heartbeat.of_this_process(2, ended=True).model_copy(
        update={"beat": now, "process_started": (now - timedelta(seconds=4)).timestamp()}
    )
    write_heartbeat(store, "run", beat)
    assert look_at(store, run).rate == pytest.approx(0.25)


def test_a_live_driver_makes_a_run_running_with_time_left(
    store: LocalStore, run: RunDescription
) -> None:
    record(store, ("a0", Outcome.PARSED, None), ended=False)
    state = look_at(store, run)
    assert state.state is State.RUNNING
    assert state.rate is not None
    assert state.eta_seconds == pytest.approx(3 / state.rate)
