from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import ray

from cluster import dispatch
from cluster.dispatch import PendingAttempt, RetryPolicy
from cluster.driver import NotConnectedError, run_sweep
from cluster.embedded_ray import EmbeddedRay, embedded_ray
from cluster.grading_task import GraderPathError
from cluster.heartbeat import Heartbeat, write_heartbeat
from cluster.ledger import read_verdicts, segments
from cluster.packs import read_trace
from cluster.progress import Progress
from cluster.runs import AttemptIdentity, ProblemIdentity, RunDescription, create_or_resume
from cluster.store import LocalStore
from workers.enforcement import Tier
from workers.records import Attempt, Family, GradingSettings, Outcome, Problem, QuotaChange, Verdict
from workers.runner import examine_node

MakeAttempt = Callable[..., Attempt]

REPOSITORY = Path(__file__).resolve().parents[2]
SOON = RetryPolicy(tries=3, first_delay_seconds=0.05, factor=1)


@pytest.fixture(scope="module")
def calls(standin_calls: Path) -> Path:
    return standin_calls


@pytest.fixture(scope="module")
def ray_session(calls: Path) -> Iterator[EmbeddedRay]:
    with embedded_ray(2) as session:
        yield session


class Sweep:
    """A run over given texts, which can be started again and again."""

    def __init__(self, store: LocalStore, pairs: list[tuple[Problem, Attempt]]) -> None:
        self.store = store
        self.pairs = pairs
        self.seen: list[Progress] = []
        self.warnings: list[str] = []
        self.run = freeze(store, pairs)

    def start(self, **options: object) -> Progress:
        arguments = {
            "grader": "standin_grader:grade",
            "retry": SOON,
            "on_progress": self.seen.append,
        } | options
        return run_sweep(
            self.store,
            self.run,
            [PendingAttempt(AttemptIdentity.of(pair[1]), lambda p=pair: p) for pair in self.pairs],  # type: ignore[misc]
            tlagrid_version="0",
            on_warning=self.warnings.append,
            **arguments,  # type: ignore[arg-type]
        )

    def verdicts(self) -> list[Verdict]:
        verdicts = sorted(read_verdicts(self.store, self.run.name), key=lambda v: v.sample)
        assert len({verdict.attempt for verdict in verdicts}) == len(verdicts)
        return verdicts


def freeze(store: LocalStore, pairs: list[tuple[Problem, Attempt]]) -> RunDescription:
    problems = {problem.id: problem for problem, _ in pairs}
    return create_or_resume(
        store,
        "run",
        problems=map(ProblemIdentity.of, problems.values()),
        attempts=(AttemptIdentity.of(attempt) for _, attempt in pairs),
        settings=GradingSettings(),
        toolchain=None,
        tlagrid_version="0",
    )


@pytest.fixture
def sweep_of(
    store: LocalStore,
    problem: Problem,
    make_attempt: MakeAttempt,
    ray_session: EmbeddedRay,
    calls: Path,
) -> Callable[..., Sweep]:
    for call in calls.iterdir():
        call.unlink()

    def make(*texts: str, problem: Problem = problem) -> Sweep:
        return Sweep(
            store, [(problem, make_attempt(number, text)) for number, text in enumerate(texts)]
        )

    return make


SweepOf = Callable[..., Sweep]


def calls_of(calls: Path) -> list[int]:
    """How often each sample was graded."""
    samples = [int(call.name.partition("@")[0].rpartition("_")[2]) for call in calls.iterdir()]
    return [samples.count(sample) for sample in range(max(samples, default=-1) + 1)]


def test_a_wall_limit_on_a_busy_node_counts_only_after_a_second_look(
    sweep_of: SweepOf, calls: Path
) -> None:
    sweep = sweep_of("starved 1", "starved 9", "correct")
    progress = sweep.start()
    assert [verdict.outcome for verdict in sweep.verdicts()] == [
        *(Outcome.CORRECT, Outcome.RESOURCE_LIMIT, Outcome.CORRECT)
    ]
    assert calls_of(calls) == [2, 2, 1]
    assert (progress.graded, progress.retrying) == (3, 0)


def test_a_node_with_a_weaker_enforcement_than_required_takes_no_work(
    sweep_of: SweepOf, calls: Path
) -> None:
    """Workers are told of a tier that no node has: version 2 where there is version 1, or none."""
    if examine_node().enforcements[0].tier is Tier.CGROUP_V2:
        pytest.skip("this node has the strongest tier")
    sweep = sweep_of("correct")
    sweep.start(required_tier=Tier.CGROUP_V2)
    (verdict,) = sweep.verdicts()
    assert (verdict.outcome, verdict.sub) == (Outcome.INFRASTRUCTURE, "node")
    assert "cgroup-v2 is required" in verdict.message
    assert calls_of(calls) == []


def test_every_attempt_is_graded_once_with_its_evidence(sweep_of: SweepOf, calls: Path) -> None:
    sweep = sweep_of(*["correct", "deadlock"] * 20)
    progress = sweep.start()
    verdicts = sweep.verdicts()
    assert [v.outcome for v in verdicts] == [Outcome.CORRECT, Outcome.DEADLOCK] * 20
    assert read_trace(sweep.store, verdicts[1].traces[0]) == b"graded 'deadlock'"
    assert calls_of(calls) == [1] * 40
    assert (progress.total, progress.graded, progress.ungraded, progress.remaining) == (
        40,
        40,
        0,
        0,
    )
    assert progress.outcomes == {Outcome.CORRECT: 20, Outcome.DEADLOCK: 20}
    assert sweep.seen[0].remaining == 40
    assert sweep.seen[-1].remaining == 0
    assert sweep.warnings == []


def test_starting_a_finished_run_again_grades_nothing(sweep_of: SweepOf, calls: Path) -> None:
    sweep = sweep_of("correct", "deadlock", "infrastructure missing_config")
    sweep.start()
    before = segments(sweep.store, "run"), calls_of(calls)
    progress = sweep.start()
    assert (segments(sweep.store, "run"), calls_of(calls)) == before
    assert (progress.graded, progress.ungraded, progress.planned) == (2, 1, 0)


def test_a_limit_grades_so_many_and_the_next_start_the_rest(sweep_of: SweepOf, calls: Path) -> None:
    sweep = sweep_of(*["correct"] * 5)
    progress = sweep.start(limit=2)
    assert (progress.graded, progress.planned, progress.remaining) == (2, 2, 3)
    assert [v.sample for v in sweep.verdicts()] == [0, 1]
    sweep.start()
    assert [v.sample for v in sweep.verdicts()] == [0, 1, 2, 3, 4]
    assert calls_of(calls) == [1] * 5


def test_an_attempt_whose_worker_was_killed_is_graded_again(sweep_of: SweepOf, calls: Path) -> None:
    sweep = sweep_of("correct", "die-once", "correct")
    sweep.start()
    assert [v.outcome for v in sweep.verdicts()] == [Outcome.CORRECT] * 3
    assert calls_of(calls)[1] == 2


def test_a_worker_that_always_dies_is_the_machines_failure_and_costs_nobody_else(
    sweep_of: SweepOf, calls: Path
) -> None:
    sweep = sweep_of(*["correct"] * 24, "die", *["correct"] * 15)
    progress = sweep.start()
    verdicts = sweep.verdicts()
    assert (progress.graded, progress.ungraded) == (39, 1)
    assert (verdicts[24].outcome, verdicts[24].sub) == (Outcome.INFRASTRUCTURE, "node")
    assert "WorkerCrashedError" in verdicts[24].message
    assert {v.outcome for v in verdicts[:24] + verdicts[25:]} == {Outcome.CORRECT}


def test_a_grader_that_raises_is_our_failure_after_three_tries(
    sweep_of: SweepOf, calls: Path
) -> None:
    sweep = sweep_of("raise", "correct")
    sweep.start()
    failed, graded = sweep.verdicts()
    assert (failed.outcome, failed.sub, failed.family) == (
        Outcome.INFRASTRUCTURE,
        "grader",
        Family.INFRASTRUCTURE,
    )
    assert "LookupError: the grader does not know what to do" in failed.message
    assert graded.outcome is Outcome.CORRECT
    assert calls_of(calls) == [3, 1]


def test_infrastructure_verdicts_are_retried_unless_the_problem_is_at_fault(
    sweep_of: SweepOf, calls: Path
) -> None:
    sweep = sweep_of(
        "infrastructure-once tool_failure", "infrastructure tool_failure",
        "infrastructure missing_config",
    )  # fmt: skip
    sweep.start()
    assert calls_of(calls) == [2, 3, 1]
    assert [v.sub for v in sweep.verdicts()] == [None, "tool_failure", "missing_config"]
    # The next start tries again what a machine may decide better, and only that.
    sweep.start()
    assert calls_of(calls) == [2, 6, 1]
    assert len(sweep.verdicts()) == 3


def test_a_task_that_hangs_is_ended_and_graded_again(
    sweep_of: SweepOf, calls: Path, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_GRACE_SECONDS", 1.0)
    quick = problem.model_copy(update={"quota": QuotaChange(wall_seconds=1, parse_wall_seconds=1)})
    sweep = sweep_of("hang-once", problem=quick)
    sweep.start()
    assert [v.outcome for v in sweep.verdicts()] == [Outcome.CORRECT]
    assert calls_of(calls) == [2]


def test_a_quota_that_no_node_can_serve_is_told_instead_of_waiting(
    sweep_of: SweepOf, problem: Problem
) -> None:
    wide = problem.model_copy(update={"quota": QuotaChange(cores=3)})
    sweep = sweep_of("correct", problem=wide)
    sweep.start()
    (verdict,) = sweep.verdicts()
    assert verdict.outcome is Outcome.INFRASTRUCTURE
    assert "asks for 3 cores, and the largest node has 2" in verdict.message


def test_a_grader_that_workers_cannot_import_stops_the_sweep(sweep_of: SweepOf) -> None:
    sweep = sweep_of("correct")
    with pytest.raises(GraderPathError, match="'absent:grade' cannot be imported"):
        sweep.start(grader="absent:grade")
    assert sweep.verdicts() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_what_was_done_and_the_next_start_goes_on(
    sweep_of: SweepOf, number: signal.Signals
) -> None:
    sweep = sweep_of(*["correct"] * 6, *["sleep 30"] * 2, *["correct"] * 4)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), number))

    def six_are_done(progress: Progress) -> None:
        if progress.decided == 6 and timer.ident is None:
            timer.start()

    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt, match=f"stopped by {number.name}"):
        sweep.start(on_progress=six_are_done)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    done = [v.sample for v in sweep.verdicts()]
    assert {0, 1, 2, 3, 4, 5} <= set(done)
    assert not {6, 7} & set(done)


def test_a_second_driver_is_warned_of(sweep_of: SweepOf) -> None:
    sweep = sweep_of("correct")
    other = Heartbeat.of_this_process(7).model_copy(update={"host": "elsewhere", "pid": 42})
    write_heartbeat(sweep.store, "run", other)
    sweep.start()
    assert "process 42 on elsewhere seems to drive run run too" in sweep.warnings[0]
    assert len(sweep.verdicts()) == 1


DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from cluster.dispatch import PendingAttempt
from cluster.driver import run_sweep
from cluster.embedded_ray import embedded_ray
from cluster.ledger import read_verdicts
from cluster.runs import AttemptIdentity, read_run
from cluster.store import open_store
from workers.enforcement import Tier
from workers.records import Attempt, Problem

store = open_store(sys.argv[2])
problem = Problem.model_validate_json(sys.argv[3])
lines = Path(sys.argv[4]).read_text().splitlines()
attempts = [Attempt.model_validate_json(line) for line in lines]
pending = [PendingAttempt(AttemptIdentity.of(a), lambda a=a: (problem, a)) for a in attempts]
with embedded_ray(2) as session:
    print(session.folder, flush=True)
    run_sweep(
        store, read_run(store, "run"), pending, tlagrid_version="0", grader="standin_grader:grade"
    )
"""


def test_a_driver_killed_midway_is_resumed_and_leaves_no_process(
    sweep_of: SweepOf, calls: Path, problem: Problem, tmp_path: Path
) -> None:
    sweep = sweep_of(*["sleep 0.2"] * 60, "raise", "die-once")
    listed = tmp_path / "attempts.jsonl"
    listed.write_text("".join(f"{pair[1].model_dump_json()}\n" for pair in sweep.pairs))
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            DRIVER,
            str(REPOSITORY),
            sweep.store.uri,
            problem.model_dump_json(),
            str(listed),
        ],
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        assert driver.stdout is not None
        folder = driver.stdout.readline().strip()
        _wait_until(lambda: len(segments(sweep.store, "run")) > 0)
        os.kill(driver.pid, signal.SIGKILL)
    _wait_until(lambda: not _processes_of(folder) and not Path(folder).exists())
    before = {v.attempt for v in sweep.verdicts()}
    assert 0 < len(before) < 60
    sweep.start()
    verdicts = sweep.verdicts()
    assert [v.sample for v in verdicts] == list(range(62))
    assert [v.outcome for v in verdicts[:60]] == [Outcome.CORRECT] * 60
    assert (verdicts[60].sub, verdicts[61].outcome) == ("grader", Outcome.CORRECT)
    assert all(calls_of(calls)[v.sample] == 1 for v in verdicts if v.attempt in before)
    assert sweep.warnings == []
    for verdict in verdicts:
        for trace in verdict.traces:
            read_trace(sweep.store, trace)


def test_without_ray_the_driver_says_what_is_missing(
    store: LocalStore, problem: Problem, make_attempt: MakeAttempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    run = freeze(store, [(problem, make_attempt(0))])
    with pytest.raises(NotConnectedError, match="not connected to Ray"):
        run_sweep(store, run, [], tlagrid_version="0")


def _wait_until(holds: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _processes_of(folder: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if folder in " ".join(process.cmdline()) or process.cwd().startswith(folder):
                found.append(process)
        except psutil.Error:
            continue
    return found
