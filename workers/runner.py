"""Run one external program within hard limits that hold for its whole process tree.

A timeout on a direct child is not a quota: solvers and JVMs start children, children leave
their session, and a killed worker leaves them running. So each run gets a supervisor process
of its own (`workers.supervisor`), which measures and limits all descendants, and kills every
one of them when the program ends, when a limit fires, or when the caller goes, however it goes.
When `run` returns or raises, nothing that it started is alive. Programs are never asked to
stop: a verdict must not come from one that was told to hurry up.

How a limit is held depends on the node (`workers.enforcement`): by control groups where there are
some that we may use, by sampling elsewhere. docs/quotas.md tells limit by limit what each tier
prevents, what it detects, and what it cannot see.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workers.enforcement import Enforcement, Examination, Tier
from workers.guard_link import Guard, GuardError, this_guard
from workers.limits import Limit, Limits
from workers.node_pressure import BUSY_SHARE, NodePressure
from workers.run_protocol import RunReport, RunRequest

TIER_SETTING = "TLAGRID_ENFORCEMENT"
"""Names the strongest tier to use, to compare tiers; by default the best that works."""

_MEASURED_BY = {
    Tier.CGROUP_V2: "cgroup-v2",
    Tier.CGROUP_V1: "cgroup-v1",
    Tier.SAMPLING: "proc-sampling+rusage",
}
_CORE_LOCKS = "/tmp/tlagrid-cores"  # noqa: S108 - one for all on the node, whatever TMPDIR says
_FULL_SHARE = 0.9
_WAIT_SLICE_SECONDS = 0.2
_GRACE_SECONDS = 90.0  # above the time that supervisor and guard each allow for killing


class RunnerError(Exception):
    """The run has no result for a reason that is not the command's: node, disk, set-up."""


class EnforcementMissingError(Exception):
    """This node cannot hold limits as strictly as is required."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a run ended and what it used.

    Of `exit_code` and `signal` (the main process's) one is None. `limit` is None when no limit
    fired: a signal without a limit came from elsewhere, such as the kernel out of memory. A
    program that ended on its own keeps its exit code even if it turned out to be over a limit.
    `stdout` and `stderr` are complete unless `limit` is `output`, then cut at the limit.
    """

    exit_code: int | None
    signal: int | None
    limit: Limit | None
    cpu_seconds: float
    wall_seconds: float
    peak_memory_bytes: int
    output_bytes: int
    stdout: Path
    stderr: Path
    enforced_by: str
    """The tier and what goes with it, such as `cgroup-v1+cpuset+private-shm`."""
    measured_by: str
    scratch_bytes: int = 0
    """The most bytes that were found allocated below the scratch folder."""
    scratch_files: int = 0
    cores: tuple[int, ...] = ()
    """CPUs that the run was bound to."""
    cores_shared: bool = False
    """Whether another run was bound to some of them as well."""
    pressure: NodePressure = NodePressure()  # noqa: RUF009 - immutable
    starved: bool | None = None
    """Whether a busy node had a part in a limit on time; `None` if none fired."""


def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    scratch: Path,
    spool: Path,
    limits: Limits,
    enforcement: Enforcement | None = None,
) -> ProcessResult:
    """Run a command in `scratch` and return once nothing that it started is alive.

    The program is a path (relative to `scratch` if relative) or is looked up in the PATH of
    `environment`, which is all the environment it gets beside `TLAGRID_RUN`, the run's name.
    Standard input is empty. Output goes to the files `stdout` and `stderr` in `spool`, a folder
    outside `scratch` that holds no other run's output. The limits are held by `enforcement`, one
    of `examine_node()`'s, or the best of them. Can be called from any thread.

    Raises RunnerError if there is no result for the command to answer for, and ValueError for
    arguments that contradict each other. On any other exception, such as KeyboardInterrupt,
    everything is killed before it propagates.
    """
    scratch, spool = scratch.resolve(), spool.resolve()
    if not argv:
        raise ValueError("argv is empty; it must name a program")
    if spool.is_relative_to(scratch):
        raise ValueError(f"spool folder {spool} is inside scratch folder {scratch}; move it out")
    if not scratch.is_dir():
        raise RunnerError(f"scratch folder {scratch} does not exist; create it first")
    if unnamed := [name for name in environment if not name or "=" in name]:
        raise ValueError(f"environment has the name {unnamed[0]!r}; no variable can be called so")
    for text in (*argv, *(part for entry in environment.items() for part in entry)):
        if "\0" in text:
            raise ValueError(f"an argument or environment entry contains NUL: {text!r}")
    program = _program(argv[0], environment)
    try:
        spool.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunnerError(f"spool folder {spool} cannot be made: {error.strerror}") from error
    guard = _guard()
    enforcement = enforcement or _chosen(guard.examination)
    request = RunRequest(
        program=program,
        argv=tuple(argv),
        environment=dict(environment),
        scratch=str(scratch),
        stdout=str(spool / "stdout"),
        stderr=str(spool / "stderr"),
        limits=limits,
        enforcement=enforcement,
        core_locks=f"{_CORE_LOCKS}-{os.geteuid()}",
    )
    report = _supervised(guard, request)
    if report is None or report.error is not None:
        reason = report.error if report else None
        raise RunnerError(
            f"run of {argv[0]} in {scratch}: "
            + (reason or "its supervisor ended without a result; it was killed (out of memory?)")
        )
    return ProcessResult(
        exit_code=report.exit_code,
        signal=report.signal,
        limit=Limit(report.limit) if report.limit else None,
        cpu_seconds=report.cpu_seconds,
        wall_seconds=report.wall_seconds,
        peak_memory_bytes=report.peak_memory_bytes,
        output_bytes=report.output_bytes,
        stdout=spool / "stdout",
        stderr=spool / "stderr",
        enforced_by=str(enforcement),
        measured_by=_MEASURED_BY[enforcement.tier],
        scratch_bytes=report.scratch_bytes,
        scratch_files=report.scratch_files,
        cores=report.cores,
        cores_shared=report.cores_shared,
        pressure=report.pressure,
        starved=_was_starved(report, limits),
    )


def _was_starved(report: RunReport, limits: Limits) -> bool | None:
    """Whether a busy node kept a run that a limit on time ended from its cores.

    A node is busy as soon as the run itself has more threads than cores. So one that used its
    cores nearly all the time had them, whatever the node says, unless the hypervisor took them
    away.
    """
    if report.limit not in {Limit.WALL, Limit.CPU}:
        return None
    steal = report.pressure.steal or 0.0
    had_its_cores = report.cpu_seconds >= _FULL_SHARE * report.wall_seconds * limits.cores
    return report.pressure.is_high and (steal > BUSY_SHARE or not had_its_cores)


def examine_node() -> Examination:
    """The ways of holding limits that work here, tried once per process; the best comes first.

    Raises:
        RunnerError: they cannot be tried.
    """
    return _guard().examination


def node_enforcement() -> Enforcement:
    """What runs of this process are held by: the best there is, or up to `TLAGRID_ENFORCEMENT`.

    Raises:
        RunnerError: it cannot be found out, or that setting names no tier.
    """
    return _chosen(_guard().examination)


def require_enforcement(tier: Tier | None) -> None:
    """Make sure that runs of this process are held by a tier at least as strong as the given one.

    Raises:
        EnforcementMissingError: they are not; the message says what the node has instead.
        RunnerError: as `node_enforcement`.
    """
    if tier is None:
        return
    examination = examine_node()
    enforcement = _chosen(examination)
    if enforcement.tier.is_at_least(tier):
        return
    if examination.enforcements[0].tier.is_at_least(tier):
        remedy = f"{TIER_SETTING} is {os.environ.get(TIER_SETTING)}: unset it"
    else:
        remedy = "; ".join(
            f"{each.name}: {each.reason} ({each.remedy})" for each in examination.refusals
        )
    raise EnforcementMissingError(
        f"{tier} is required, and {socket.gethostname()} uses {enforcement}. {remedy}"
    )


def _guard() -> Guard:
    try:
        return this_guard()
    except GuardError as error:
        raise RunnerError(str(error)) from error


def _chosen(examination: Examination) -> Enforcement:
    setting = os.environ.get(TIER_SETTING)
    if not setting:
        return examination.enforcements[0]
    for enforcement in examination.enforcements:
        if str(enforcement) == setting:
            return enforcement
    try:
        return examination.best(Tier(setting))
    except ValueError:
        choice = ", ".join(dict.fromkeys([*Tier, *map(str, examination.enforcements)]))
        raise RunnerError(f"{TIER_SETTING} is {setting!r}; it must be one of {choice}") from None


def _program(name: str, environment: Mapping[str, str]) -> str:
    if "/" in name:
        return name
    path = environment.get("PATH", os.defpath)
    found = shutil.which(name, path=path)
    if found is None:
        raise RunnerError(f"program {name} is not in the run's PATH ({path}); give its full path")
    return found


def _supervised(guard: Guard, request: RunRequest) -> RunReport | None:
    """Hand the request to a supervisor; return its report once nothing of the run is alive."""
    try:
        connection = guard.connect(request.enforcement)
    except GuardError:  # killed since the last run: its successor serves
        guard = _guard()
        try:
            connection = guard.connect(request.enforcement)
        except GuardError as error:
            raise RunnerError(str(error)) from error
    answer = bytearray()
    ended = False
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died: the answer is empty
            connection.sendall(request.encode())
        deadline = time.monotonic() + request.limits.wall_seconds + _GRACE_SECONDS
        ended = _receive(guard, connection, answer, deadline)
    finally:
        if not ended:
            _abandon(guard, connection)
        connection.close()
    try:
        return RunReport.decode(bytes(answer))
    except ValueError:
        if guard.is_gone and not guard.await_end(_GRACE_SECONDS):
            raise RunnerError("the run's guard was killed, and its keeper does not end") from None
        return None


def _receive(guard: Guard, connection: socket.socket, answer: bytearray, deadline: float) -> bool:
    """Read the answer to its end of file, which comes when the run and its supervisor are gone.

    In slices, for an interrupt that another thread asks for (`_thread.interrupt_main`, Ray's
    cancel) does not wake a blocked system call. False when the deadline passed.
    """
    connection.settimeout(_WAIT_SLICE_SECONDS)
    while time.monotonic() < deadline:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            guard.wake()
            continue
        except ConnectionResetError:  # it died before it read the whole request
            return True
        if not part:
            return True
        answer += part
    return False


def _abandon(guard: Guard, connection: socket.socket) -> None:
    """Have everything killed, and wait until it is; an interrupt meanwhile is kept until then."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
    interrupt: KeyboardInterrupt | None = None
    deadline = time.monotonic() + _GRACE_SECONDS
    while True:
        try:
            ended = _receive(guard, connection, bytearray(), deadline)
        except KeyboardInterrupt as error:
            interrupt = error
            continue
        if interrupt is not None:
            raise interrupt
        if not ended:
            raise RunnerError(
                f"the run's processes are still alive {_GRACE_SECONDS:g} s after they were to be "
                "killed; the node needs a look (a dead network file system?)"
            )
        return
