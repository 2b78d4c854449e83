"""Start a command in the state that it is promised, and inside its limits from the first moment.

Standard input is empty, output goes to two pipes, nothing else is open; signals are as they come,
it has a session of its own, and it dies with its supervisor.
"""

from __future__ import annotations

import os
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass

from workers import confinement
from workers.control_group import ControlGroup
from workers.core_pinning import Cores
from workers.limits import Limits
from workers.prctl import SET_DUMPABLE, SET_NO_NEW_PRIVS, SET_PDEATHSIG, prctl
from workers.run_protocol import RunRequest

_CHUNK_BYTES = 1 << 16
_UNTOUCHED_BYTES = 1 << 30
_LARGEST = 1 << 60
_LONGEST_SECONDS = 10**9


class StartError(Exception):
    """The command could not be started."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that is about to be started."""

    request: RunRequest
    environment: dict[str, str]
    outputs: tuple[int, int]
    group: ControlGroup | None
    cores: Cores

    def start(self) -> int:
        """Fork and execute; returns the pid once the command is executing.

        Raises:
            StartError: it cannot be executed.
        """
        failure, failure_writer = os.pipe()
        supervisor = os.getpid()
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        main = os.fork()
        if not main:
            try:
                self._execute(supervisor)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is not the command's
                os.write(failure_writer, str(error).encode("utf-8", "replace"))
            finally:
                os._exit(127)
        os.close(failure_writer)
        reason = os.read(failure, _CHUNK_BYTES)  # the writing end closes when exec succeeds
        os.close(failure)
        if reason:
            os.waitpid(main, 0)
            raise StartError(f"{self.request.program} cannot be started: {reason.decode()}")
        # Among a thousand runnable children of a fork bomb we would get a thousandth of a core.
        with suppress(PermissionError):  # an ordinary user may not: slower, still right
            os.setpriority(os.PRIO_PROCESS, 0, niceness - 20)
        return main

    def _execute(self, supervisor: int) -> None:
        """Become the command; all other descriptors close."""
        os.setsid()
        prctl(SET_DUMPABLE, 1)  # the guard's is off, and this has to write in /proc
        prctl(SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            raise OSError("the supervisor died")
        if self.group is not None:
            self.group.enter()
        os.sched_setaffinity(0, self.cores.cpus)
        # Without set-user-id programs no descendant becomes a user that we could not kill.
        prctl(SET_NO_NEW_PRIVS, 1)
        for number in signal.valid_signals():
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)
        _limit_resources(self.request.limits, counted_by_group=self.group is not None)
        _prefer_as_oom_victim()
        os.umask(0o077)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(self.outputs[0], 1)
        os.dup2(self.outputs[1], 2)
        os.chdir(self.request.scratch)
        if self.request.enforcement.private_shm:
            confinement.hide(self.request.enforcement.hidden)
        confinement.drop_capabilities()
        os.execve(self.request.program, self.request.argv, self.environment)  # noqa: S606


def _limit_resources(limits: Limits, *, counted_by_group: bool) -> None:
    """Limits of the kernel on each single process, setrlimit(2): brakes beside what counts."""
    # 1, not 0: no file can be that small, and a core_pattern that is a pipe honours only this
    # value (fs/coredump.c), else a crash handler of the host would collect candidates' cores.
    _lower(resource.RLIMIT_CORE, 1)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    # Well above what is counted, so that the counted limit is what is seen to fire.
    largest_file = max(limits.scratch_bytes, limits.memory_bytes)  # the latter in /dev/shm
    _lower(resource.RLIMIT_FSIZE, 2 * largest_file)
    _lower(resource.RLIMIT_CPU, int(min(limits.cpu_seconds, _LONGEST_SECONDS)) + 2)
    if not counted_by_group:
        # Private writable memory. RLIMIT_AS would count what a JVM only reserves; even so, it
        # starts with a heap and stacks that it has not touched yet.
        _lower(resource.RLIMIT_DATA, 2 * limits.memory_bytes + _UNTOUCHED_BYTES)


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = min(value, _LARGEST if hard == resource.RLIM_INFINITY else hard)
    resource.setrlimit(kind, (limit, limit))


def _prefer_as_oom_victim() -> None:
    """Let the kernel take the command rather than us or the worker when memory runs out."""
    with suppress(OSError):  # a read-only /proc: the kernel decides by size alone
        os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"1000")
