"""What a sweep will do on this machine, settled before anything is started or written.

Everything that would make the run fail or wait for ever is found here: faults of the input, tools
that are missing or not the pinned ones, a quota that needs more cores than are given, a label
that no problem carries. What remains is a plan that can be started, or shown by a dry run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from cluster.runs import (
    AttemptIdentity,
    ProblemIdentity,
    RunDescription,
    check_run_name,
    create_or_resume,
    read_attempts,
)
from cluster.store import Store
from jobs.exit_codes import BadUsageError
from jobs.manifests import AttemptEntry
from jobs.problem_faults import ProblemFault, find_problem_faults
from jobs.run_lookup import unknown_name
from jobs.sweep_file import Sweep, ToolchainPins, load_sweep
from workers.records import Attempt, Problem, Quota
from workers.toolchain import ToolchainError, Tools, find_tools
from workers.version import __version__

if TYPE_CHECKING:
    from cluster.dispatch import PendingAttempt


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep that can be run on this machine."""

    sweep: Sweep
    run: str
    """The run's name."""
    tools: Tools
    slots: int
    """Cores to grade on."""
    problems: tuple[Problem, ...]
    """Those that have attempts, in the order of the manifest."""
    faults: tuple[ProblemFault, ...]
    """Of these problems: their attempts will be ungraded."""


def plan_sweep(path: Path, *, run: str | None = None, jobs: int | None = None) -> SweepPlan:
    """Read a sweep and settle how it runs here; starts and writes nothing.

    Args:
        path: a sweep file, or a folder with one or with a plain manifest.
        run: the run's name; by default the sweep suggests one.
        jobs: cores to grade on; by default as many as this machine has cores and memory for.

    Raises:
        InputError: with every fault of the sweep and its manifest.
        RunNameError: `run` cannot name a run.
        BadUsageError: a quota needs more cores than `jobs`, or a report's label does not exist.
        ToolchainError: Java or TLC is missing, or not what the sweep pins.
    """
    name = None if run is None else check_run_name(run)
    sweep = load_sweep(path)
    attempted = {entry.problem for entry in sweep.attempts}
    problems = tuple(problem for id_, problem in sweep.problems.items() if id_ in attempted)
    slots = default_slots(sweep.settings.quota) if jobs is None else jobs
    _require_cores(problems, sweep.settings.quota, slots)
    _require_labels(problems, sweep.report.by)
    tools = find_tools()
    _require_pins(sweep.pins, tools)
    return SweepPlan(
        sweep=sweep,
        run=name or sweep.name,
        tools=tools,
        slots=slots,
        problems=problems,
        faults=tuple(find_problem_faults(problems, tools)),
    )


def freeze(store: Store, plan: SweepPlan) -> RunDescription:
    """Create the plan's run, or resume the one that is the same in all that counts.

    Raises:
        InputError: a text changed since the plan was made.
        RunMismatchError: a run of this name exists with other inputs, settings or tools.
        StoreError: the store cannot be read or written.
    """
    return create_or_resume(
        store,
        plan.run,
        problems=map(ProblemIdentity.of, plan.problems),
        attempts=(AttemptIdentity.of(entry.load()) for entry in plan.sweep.attempts),
        settings=plan.sweep.settings,
        toolchain=plan.tools.fingerprint,
        tlagrid_version=__version__,
    )


def pending_attempts(store: Store, run: RunDescription, sweep: Sweep) -> Iterator[PendingAttempt]:
    """The run's attempts for the driver, whose texts are read when their turn comes."""
    from cluster.dispatch import PendingAttempt

    entries = {entry.id: entry for entry in sweep.attempts}
    for identity in read_attempts(store, run):
        entry = entries[identity.id]
        yield PendingAttempt(identity, partial(_load, sweep.problems[entry.problem], entry))


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_slots(quota: Quota) -> int:
    """Cores to grade on: all, unless the attempts at work could exceed the memory together."""
    at_a_time = max(1, int(psutil.virtual_memory().total) // quota.memory_bytes)
    return min(available_cores(), at_a_time * quota.cores)


def quota_of(problem: Problem, quota: Quota) -> Quota:
    """The quota of attempts at a problem."""
    return quota if problem.quota is None else problem.quota.applied_to(quota)


def _load(problem: Problem, entry: AttemptEntry) -> tuple[Problem, Attempt]:
    return problem, entry.load()


def _require_cores(problems: Sequence[Problem], quota: Quota, slots: int) -> None:
    widest = max(problems, key=lambda problem: quota_of(problem, quota).cores, default=None)
    if widest is None:
        return
    cores = quota_of(widest, quota).cores
    if cores > slots:
        raise BadUsageError(
            f"problem {widest.id}: its quota has {cores} cores, and the sweep runs on {slots}; "
            f"pass --jobs {cores} or more, or lower the quota's cores"
        )


def _require_labels(problems: Sequence[Problem], labels: Sequence[str]) -> None:
    known = {name for problem in problems for name in problem.labels}
    for label in labels:
        if label not in known:
            raise BadUsageError(f"report.by: {unknown_name('label', label, known)}")


def _require_pins(pins: ToolchainPins, tools: Tools) -> None:
    found = tools.fingerprint
    faults = []
    if pins.tla2tools_sha256 not in (None, found.tla2tools_sha256):
        faults.append(
            f"tla2tools_sha256 {pins.tla2tools_sha256}, but {tools.tla2tools} has "
            f"{found.tla2tools_sha256}; set TLAGRID_TLA2TOOLS to the pinned jar"
        )
    # A pin may leave out the vendor: `25.0.2` is kept by `25.0.2 Eclipse Adoptium`.
    if pins.java_version not in (None, found.java_version, found.java_version.partition(" ")[0]):
        faults.append(
            f"java_version {pins.java_version}, but {tools.java} is {found.java_version}; "
            "set TLAGRID_JAVA to the pinned one"
        )
    if faults:
        raise ToolchainError("\n".join(f"the sweep pins {fault}" for fault in faults))
