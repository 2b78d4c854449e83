"""Run one external program within hard limits that hold for its whole process tree.

A timeout on a direct child is not a quota: solvers and JVMs start children, children leave
their session, and a killed worker leaves them running. So each run gets a supervisor process
of its own (`workers.supervisor`), which measures and limits all descendants, and kills every
one of them when the program ends, when a limit fires, or when the caller goes, however it goes.
When `run` returns or raises, nothing that it started is alive. Programs are never asked to
stop: a verdict must not come from one that was told to hurry up.

Needs no privileges and no control groups: usage is sampled from /proc ten times a second, and
completed by what the kernel reports as processes are reaped. What this tier cannot do:

- It detects, it does not prevent. Memory, processes and scratch bytes can exceed their limit
  until the next sample (0.1 s; 0.5 s and more for scratch, by the number of files). Growth
  that came and went between two samples is noticed afterwards for the memory of each single
  process and for CPU time, not for the memory of several together, the number of processes,
  or scratch files that were deleted again.
- Memory is that of processes (shared pages once): neither files in /dev/shm nor page cache
  nor swap. `peak_memory_bytes` is never below the 10 MB of the interpreter that the command
  was started from.
- CPU time of processes whose parent ignores SIGCHLD is known only up to their last sample.
- Scratch bytes are those allocated below the scratch folder. Files elsewhere, deleted files
  that are still open, and folders that cannot be listed are not counted.
- The command runs as the caller's own user. One that attacks its supervisor and guard at once
  (`kill -9 -1`) escapes, and takes the caller with it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

ENFORCED_BY = "proc-sampling"
MEASURED_BY = "proc-sampling+rusage"

_ROOT = Path(__file__).resolve().parent.parent
# The caller's environment may hold credentials, and every process of this user can read it in
# /proc; so the interpreter is isolated and gets its import path from us. Last on the path, the
# packages beside ours cannot shadow the standard library. (A package, and not the path of a
# script, because a script is compiled anew each time.)
_PROGRAM = "import sys; sys.path.append(sys.argv.pop());from workers.supervisor import main; main()"
_WAIT_SLICE_SECONDS = 0.2
_GRACE_SECONDS = 90.0  # above the time that supervisor and guard each allow for killing


class RunnerError(Exception):
    """The run has no result for a reason that is not the command's: node, disk, set-up."""


class Limit(StrEnum):
    """What a run was stopped for; the values are the sub-kinds of `resource_limit`."""

    WALL = "wall"
    CPU = "cpu"
    MEMORY = "memory"
    OUTPUT = "output"
    SCRATCH = "scratch"
    PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a whole process tree may use; a run that uses more is killed.

    `processes` counts those that exist at the same time, `output_bytes` standard output and
    standard error together. Raises ValueError for a limit that is not positive.
    """

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int
    processes: int
    scratch_bytes: int
    output_bytes: int

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(
                    f"limit {field.name} is {getattr(self, field.name)}; it must be above 0"
                )


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
    measured_by: str


def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    scratch: Path,
    spool: Path,
    limits: Limits,
) -> ProcessResult:
    """Run a command in `scratch` and return once nothing that it started is alive.

    The program is a path (relative to `scratch` if relative) or is looked up in the PATH of
    `environment`, which is all the environment it gets. Standard input is empty. Output goes to
    the files `stdout` and `stderr` in `spool`, a folder outside `scratch` that holds no other
    run's output. Can be called from any thread.

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
    stdout, stderr = spool / "stdout", spool / "stderr"
    program = _program(argv[0], environment)
    request = _request(
        [
            *(limits.wall_seconds, limits.output_bytes, limits.cpu_seconds, limits.memory_bytes),
            *(limits.processes, limits.scratch_bytes, scratch, stdout, stderr, program),
            *(len(argv), *argv, *(f"{name}={value}" for name, value in environment.items())),
        ]
    )
    try:
        spool.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunnerError(f"spool folder {spool} cannot be made: {error.strerror}") from error
    answer = _supervised(request, limits.wall_seconds + _GRACE_SECONDS)
    match answer.decode("utf-8", "replace").split("\0"):
        case ["result", code, signal, limit, cpu, wall, peak, output]:
            return ProcessResult(
                exit_code=int(code) if code else None,
                signal=int(signal) if signal else None,
                limit=Limit(limit) if limit else None,
                cpu_seconds=float(cpu),
                wall_seconds=float(wall),
                peak_memory_bytes=int(peak),
                output_bytes=int(output),
                stdout=stdout,
                stderr=stderr,
                enforced_by=ENFORCED_BY,
                measured_by=MEASURED_BY,
            )
        case ["error", reason]:
            raise RunnerError(f"run of {argv[0]} in {scratch}: {reason}")
        case _:
            raise RunnerError(
                f"run of {argv[0]} in {scratch}: its supervisor ended without a result; it was "
                "killed (out of memory?) or could not start"
            )


def _program(name: str, environment: Mapping[str, str]) -> str:
    if "/" in name:
        return name
    path = environment.get("PATH", os.defpath)
    found = shutil.which(name, path=path)
    if found is None:
        raise RunnerError(f"program {name} is not in the run's PATH ({path}); give its full path")
    return found


def _request(values: Sequence[object]) -> bytes:
    encoded = [os.fsencode(str(value)) for value in values]
    for value in encoded:
        if b"\0" in value:
            raise ValueError(f"an argument or environment entry contains NUL: {value!r}")
    return b"\0".join(encoded)


def _supervised(request: bytes, patience: float) -> bytes:
    """Start a supervisor, send the request, return its answer after it has ended."""
    ours, theirs = socket.socketpair()
    guard: subprocess.Popen[bytes] | None = None
    try:
        with theirs:
            guard = _start_guard(theirs)
        ours.sendall(len(request).to_bytes(8, "big") + request)
        return _receive(ours, time.monotonic() + patience)
    except OSError as error:
        raise RunnerError(f"the run's supervisor cannot be started or reached: {error}") from error
    finally:
        # Shut down, not only closed: a copy of our end in a child that another thread forks
        # would keep a closed one open.
        with suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)
        ours.close()
        if guard is not None:
            _await_end(guard)


def _start_guard(theirs: socket.socket) -> subprocess.Popen[bytes]:
    library_path = os.environ.get("LD_LIBRARY_PATH")  # the interpreter may need it to load
    try:
        caller = os.pidfd_open(os.getpid())
    except OSError:  # refused by some sandboxes; the socket alone tells of nearly every death
        caller = -1
    control = theirs.fileno()
    arguments = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(control), str(caller), str(_ROOT)]
    try:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={} if library_path is None else {"LD_LIBRARY_PATH": library_path},
            cwd="/",
            pass_fds=[control] if caller < 0 else [control, caller],
            start_new_session=True,
        )
    finally:
        if caller >= 0:
            os.close(caller)


def _receive(ours: socket.socket, deadline: float) -> bytes:
    """Read the answer, to its end of file.

    In slices, for an interrupt that another thread asks for (`_thread.interrupt_main`, Ray's
    cancel) does not wake a blocked system call.
    """
    ours.settimeout(_WAIT_SLICE_SECONDS)
    answer = b""
    while time.monotonic() < deadline:
        try:
            part = ours.recv(1 << 16)
        except TimeoutError:
            continue
        except ConnectionResetError:  # it died before it read the whole request
            return answer
        if not part:
            return answer
        answer += part
    raise RunnerError("the run's supervisor does not answer, long after the wall limit")


def _await_end(guard: subprocess.Popen[bytes]) -> None:
    """Wait until guard and supervisor, and so all of the command, are gone.

    An interrupt meanwhile is kept until then.
    """
    deadline = time.monotonic() + _GRACE_SECONDS
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            guard.wait(timeout=max(0.0, deadline - time.monotonic()))
        except KeyboardInterrupt as error:
            interrupt = error
            continue
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()
            raise RunnerError(
                f"the run's processes are still alive {_GRACE_SECONDS:g} s after they were to be "
                "killed; the node needs a look (a dead network file system?)"
            ) from interrupt
        if interrupt is not None:
            raise interrupt
        return
