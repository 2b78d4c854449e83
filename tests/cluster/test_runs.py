from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cluster.runs import (
    AttemptIdentity,
    ProblemIdentity,
    RunDescription,
    RunMismatchError,
    RunNameError,
    check_run_name,
    create_or_resume,
    list_runs,
    read_attempts,
    read_problems,
    read_run,
)
from cluster.store import LocalStore, MissingObjectError, StoreError
from workers.records import Attempt, GradingSettings, Problem, Quota, Toolchain

MakeAttempt = Callable[..., Attempt]

SETTINGS = GradingSettings()
TOOLS = Toolchain(tla2tools_sha256="a" * 64, tla2tools_version="2.15", java_version="25")


@pytest.fixture
def start(store: LocalStore, problem: Problem, make_attempt: MakeAttempt) -> Callable[..., Any]:
    def start(
        name: str = "nightly",
        attempts: Sequence[Attempt] = (make_attempt(0), make_attempt(1)),
        problems: Sequence[Problem] = (problem,),
        settings: GradingSettings = SETTINGS,
        toolchain: Toolchain | None = TOOLS,
        version: str = "0.1.0",
    ) -> RunDescription:
        return create_or_resume(
            store,
            name,
            problems=map(ProblemIdentity.of, problems),
            attempts=map(AttemptIdentity.of, attempts),
            settings=settings,
            toolchain=toolchain,
            tlagrid_version=version,
        )

    return start


Start = Callable[..., RunDescription]


def test_a_run_keeps_identities_and_no_texts(
    store: LocalStore, start: Start, problem: Problem, make_attempt: MakeAttempt
) -> None:
    secret = make_attempt(0, "---- MODULE Clock ----")
    run = start(attempts=[secret])
    assert list(read_attempts(store, run)) == [AttemptIdentity.of(secret)]
    assert list(read_problems(store, run)) == [ProblemIdentity.of(problem)]
    assert run.attempts.count == 1
    assert not any("MODULE" in line.model_dump_json() for line in read_attempts(store, run))


def test_the_same_command_resumes_the_run_as_it_was_started(start: Start) -> None:
    assert start(version="0.2.0") == start(version="0.3.0")


def test_inputs_in_another_order_are_the_same_run(start: Start, make_attempt: MakeAttempt) -> None:
    first = start(attempts=[make_attempt(0), make_attempt(1)])
    assert start(attempts=[make_attempt(1), make_attempt(0)]) == first


def test_other_attempts_are_refused_by_name(start: Start, make_attempt: MakeAttempt) -> None:
    start(attempts=[make_attempt(0), make_attempt(1)])
    with pytest.raises(RunMismatchError) as refused:
        start(attempts=[make_attempt(1, "other text"), make_attempt(2)])
    message = str(refused.value)
    assert "1 attempts added (clock/m/default/2)" in message
    assert "1 attempts removed (clock/m/default/0)" in message
    assert "1 attempts changed (clock/m/default/1)" in message
    assert "--run" in message


def test_a_changed_problem_is_refused(start: Start, problem: Problem) -> None:
    start()
    changed = problem.model_copy(update={"config": "INIT Init\n"})
    with pytest.raises(RunMismatchError, match=r"1 problems changed \(clock\)"):
        start(problems=[changed])


def test_other_settings_and_tools_are_refused_by_name(start: Start) -> None:
    start()
    with pytest.raises(RunMismatchError, match=r"settings\.quota\.wall_seconds was 300\.0, is 9"):
        start(settings=GradingSettings(quota=Quota(wall_seconds=9)))
    with pytest.raises(RunMismatchError, match=r"toolchain\.tla2tools_version was 2\.15, is 2\.19"):
        start(toolchain=TOOLS.model_copy(update={"tla2tools_version": "2.19"}))


def test_a_refused_start_changes_nothing(
    store: LocalStore, start: Start, make_attempt: MakeAttempt
) -> None:
    run = start()
    with pytest.raises(RunMismatchError):
        start(attempts=[make_attempt(7)])
    assert read_run(store, "nightly") == run


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", ".hidden", "a b", "ä", "x" * 101])
def test_a_name_that_is_no_folder_name_is_refused(start: Start, name: str) -> None:
    with pytest.raises(RunNameError, match="is not valid"):
        start(name)
    with pytest.raises(RunNameError, match="is not valid"):
        check_run_name(name)


def test_runs_are_listed_by_name(store: LocalStore, start: Start) -> None:
    assert list(list_runs(store)) == []
    runs = [start("b"), start("a")]
    store.put("runs/half-started/problems-x", b"")
    assert list(list_runs(store)) == runs[::-1]


def test_a_run_that_does_not_exist_is_told(store: LocalStore) -> None:
    with pytest.raises(MissingObjectError, match=r"runs/nightly/run\.json"):
        read_run(store, "nightly")


def test_a_damaged_description_names_the_object(store: LocalStore, start: Start) -> None:
    start()
    store.put("runs/nightly/run.json", b'{"schema_version": 1, "name": "nightly"')
    with pytest.raises(StoreError, match=r"runs/nightly/run\.json is not a run's description"):
        start()
