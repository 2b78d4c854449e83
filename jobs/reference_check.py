"""Is a problem sound: does its own reference pass, under the quota that attempts get?

What can be seen without running comes first (`jobs.problem_faults`, names that nothing defines);
then each reference is graded like an attempt. Remarks are no failures: a fixture or a problem
without a configuration is fine as long as tables can tell it apart.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from jobs.config_interface import interface_of
from jobs.definitions import read_names
from jobs.problem_faults import ProblemFault, find_problem_faults
from workers.config_file import ConfigError, read_config
from workers.grading import grade
from workers.records import Attempt, Family, GradingSettings, Problem, Verdict
from workers.toolchain import find_tools


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about a problem."""

    name: str
    """For machines: `fixture`, `no_reference`, `no_config`, `nondeterministic`, ..."""
    message: str


@dataclass(frozen=True, slots=True)
class ProblemCheck:
    """What was found about one problem."""

    problem: str
    faults: tuple[ProblemFault, ...]
    """Why attempts would stay ungraded here; seen without running anything."""
    remarks: tuple[Remark, ...]
    verdict: Verdict | None = None
    """On the reference; `None` when there is none."""

    @property
    def passes(self) -> bool:
        """Whether attempts at the problem can be graded and its reference, if any, passes."""
        if self.verdict is None:
            return not self.faults
        return self.verdict.family is Family.CORRECT

    @property
    def undecided(self) -> bool:
        """Whether this node failed to say."""
        return self.verdict is not None and self.verdict.retryable


def check_problems(
    problems: Sequence[Problem], settings: GradingSettings, *, jobs: int
) -> Iterator[ProblemCheck]:
    """Check problems, `jobs` at a time, and yield each as soon as it is done.

    A reference that ran into a limit on time because the node was busy is checked again at the
    end, alone.

    Raises:
        ToolchainError: Java or TLC is missing.
    """
    tools = find_tools()  # before the threads, which all need it
    faults = find_problem_faults(problems, tools)

    def check(problem: Problem) -> ProblemCheck:
        own = tuple(fault for fault in faults if fault.problem == problem.id)
        return _check(problem, own, settings)

    unconfirmed = set()
    for finished in _in_threads(check, problems, jobs):
        if finished.verdict is not None and finished.verdict.unconfirmed:
            unconfirmed.add(finished.problem)
        else:
            yield finished
    for problem in problems:
        if problem.id in unconfirmed:
            yield check(problem)


def _in_threads(
    check: Callable[[Problem], ProblemCheck], problems: Sequence[Problem], jobs: int
) -> Iterator[ProblemCheck]:
    waiting: queue.SimpleQueue[Problem | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[ProblemCheck | Exception] = queue.SimpleQueue()

    def work() -> None:
        while (problem := waiting.get()) is not None:
            try:
                done.put(check(problem))
            except Exception as error:  # noqa: BLE001 - raised again below, where it can be seen
                done.put(error)

    workers = min(jobs, len(problems))
    for each in (*problems, *(None for _ in range(workers))):
        waiting.put(each)
    for _ in range(workers):
        # Daemons, so that an interrupt need not wait for them; their tools die with us.
        threading.Thread(target=work, daemon=True).start()
    for _ in problems:
        finished = done.get()
        if isinstance(finished, Exception):
            raise finished
        yield finished


def _check(
    problem: Problem, faults: tuple[ProblemFault, ...], settings: GradingSettings
) -> ProblemCheck:
    check = ProblemCheck(problem.id, faults, tuple(_static_remarks(problem)))
    if problem.reference is None:
        return check
    attempt = Attempt(
        id=f"{problem.id}/reference",
        problem=problem.id,
        model="reference",
        text=problem.reference,
    )
    verdict = grade(problem, attempt, settings).verdict
    return replace(
        check, verdict=verdict, remarks=(*check.remarks, *_graded_remarks(problem, verdict))
    )


def _static_remarks(problem: Problem) -> Iterator[Remark]:
    if problem.reference is None:
        yield Remark("no_reference", "there is no reference, so only its definition was checked")
    if problem.config is None:
        yield Remark("no_config", "there is no configuration: attempts are parsed only")
        return
    try:
        interface = interface_of(read_config(problem.config))
    except ConfigError:
        return  # a fault, and reported as such
    texts = [*problem.context.values(), *([problem.reference] if problem.reference else [])]
    missing = interface.missing_from(map(read_names, texts)) if problem.reference else ()
    if missing:
        yield Remark(
            "undefined_name",
            f"the configuration needs {', '.join(missing)}, which neither the reference nor the "
            "context defines",
        )


def _graded_remarks(problem: Problem, verdict: Verdict) -> Iterator[Remark]:
    if "nondeterministic" in verdict.flags:
        yield Remark(
            "nondeterministic", "random values decide: the seed is fixed, another may say otherwise"
        )
    distinct = verdict.states.distinct
    if verdict.family is Family.CORRECT and distinct is not None and distinct <= 1:
        marked = problem.labels.get("fixture") is True
        count = "one reachable state" if distinct else "no reachable state"
        advice = "" if marked else "; mark it with the label fixture"
        yield Remark("fixture", f"the reference has {count}: a trivial fixture{advice}")
