"""The process that stands beside one run: starts the command, watches its tree, ends it.

The guard (`workers.guard`) forks one for each run, with a connection to the caller. Over it come
the request and then nothing: its end of file, like the caller's death, means "kill everything".
Back goes one report, when nothing of the command is left.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from workers import confinement
from workers.core_pinning import claim_cores
from workers.group_usage import GroupUsage
from workers.launch import Launch, StartError
from workers.leftovers import RUN_VARIABLE
from workers.node_pressure import PressureMeter
from workers.open_files import SharedMemory, deleted_bytes
from workers.process_tree import Accounts, Tree, kill_tree
from workers.run_protocol import CallerGoneError, RunReport, RunRequest
from workers.scratch_usage import ScratchUsage
from workers.spool import Spool
from workers.tree_usage import SampledUsage

_SAMPLE_SECONDS = 0.1
_FIRST_SAMPLE_SECONDS = 0.02
_LOOK_SECONDS = 0.5
_CHUNK_BYTES = 1 << 16
_KINDS_OF_LIMITS = 16  # RLIM_NLIMITS
_SHM_SLACK_BYTES = 1 << 20


def supervise(connection: socket.socket, caller: int | None, name: str) -> None:
    """Serve one request and report; returns once nothing of the command is left.

    Args:
        connection: to the caller.
        caller: a pidfd of the caller, if it could make one.
        name: what this run's control group is called.
    """
    try:
        request = RunRequest.receive(connection)
        lifelines = [connection.fileno(), *([] if caller is None else [caller])]
        report = _Run(request, lifelines, name).report()
    except CallerGoneError:
        return
    except StartError as error:
        report = RunReport(error=str(error))
    except BaseException as error:
        _send(connection, RunReport(error=f"{type(error).__name__}: {error}"))
        raise  # an exit status that is not 0 tells the guard to sweep
    _send(connection, report)


def _send(connection: socket.socket, report: RunReport) -> None:
    """Report; a caller that died meanwhile needs nothing."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(report.encode())


class _Run:
    """One command from its start to the last of its descendants."""

    def __init__(self, request: RunRequest, lifelines: list[int], name: str) -> None:
        self._request = request
        self._limits = request.limits
        self._lifelines = lifelines
        self._own_limits = _own_limits()
        self._wake = _wake_on_child_end()
        self._spool = Spool(request.stdout, request.stderr, self._limits.output_bytes)
        self._folder = scratch = os.fsencode(request.scratch)
        self._scratch = ScratchUsage(
            scratch, self._limits.scratch_bytes, self._limits.scratch_files
        )
        self._cores = claim_cores(self._limits.cores, Path(request.core_locks))
        if request.enforcement.private_shm:
            confinement.enter_private_namespaces(
                # Room for a little more than is allowed, so that a full one is over the limit.
                self._limits.memory_bytes + _SHM_SLACK_BYTES,
                self._limits.scratch_files,
                scratch,
            )
        self._shared_memory = SharedMemory(private=request.enforcement.private_shm)
        self._group = request.enforcement.group(name)
        try:
            if self._group is not None:
                self._group.set_up(self._limits, self._cores.cpus)
            self._pressure = PressureMeter()
            self._started = time.monotonic()
            environment = request.environment | {RUN_VARIABLE: name}
            outputs = self._spool.writers
            main = Launch(request, environment, outputs, self._group, self._cores).start()
        except BaseException:
            if self._group is not None:
                self._group.remove()
            raise
        self._accounts = Accounts(main)
        self._spool.close_writers()
        self._tree = Tree(os.getpid())
        self._usage = self._usage_by(request)
        self._poller = select.poll()
        group_wake = [] if self._group is None or self._group.wake is None else [self._group.wake]
        for descriptor in (*lifelines, self._wake, *group_wake, *self._spool.readers):
            self._poller.register(descriptor, select.POLLIN)

    def _usage_by(self, request: RunRequest) -> GroupUsage | SampledUsage:
        if self._group is not None and request.enforcement.private_shm:
            return GroupUsage(self._group, self._limits, self._accounts, None)
        sampled = SampledUsage(self._limits, self._tree, self._accounts, self._shared_memory.bytes)
        if self._group is None:
            return sampled
        return GroupUsage(self._group, self._limits, self._accounts, sampled)

    def _pids(self) -> Collection[int]:
        if self._group is not None:
            return self._group.pids()
        return [process.pid for process in self._tree.scan()]

    def report(self) -> RunReport:
        """Tell how the command ended, once nothing of it is left."""
        try:
            try:
                limit = self._watch()
            finally:
                self._end()
            return self._report(limit)
        finally:
            if self._group is not None:
                self._group.remove()

    def _report(self, limit: str | None) -> RunReport:
        self._spool.drain()
        limit = limit or self._final_limit()
        code = os.waitstatus_to_exitcode(self._accounts.main_status)
        return RunReport(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            limit=limit,
            cpu_seconds=self._usage.cpu_seconds,
            wall_seconds=self._accounts.main_ended - self._started,
            peak_memory_bytes=self._usage.peak_bytes,
            output_bytes=self._spool.bytes,
            scratch_bytes=self._scratch.bytes,
            scratch_files=self._scratch.files,
            cores=self._cores.cpus,
            cores_shared=self._cores.shared,
            pressure=self._pressure.pressure(),
        )

    def _final_limit(self) -> str | None:
        self._scratch.deleted_bytes = 0  # everyone who had some open is dead
        over_scratch = self._scratch.ends_over()
        if self._spool.over:
            return "output"
        ended = os.waitstatus_to_exitcode(self._accounts.main_status)
        too_large = ended == -signal.SIGXFSZ  # a single file, larger than all may be
        return self._usage.final_limit() or ("scratch" if over_scratch or too_large else None)

    def _end(self) -> None:
        """Kill all of it: the group as one, then whatever left the group."""
        with suppress(OSError):  # killing comes first, and what cannot be read is told then
            _restore_own_limits(self._own_limits)
        if self._group is not None and self._accounts.reap():
            self._group.kill()
        if self._group is None:
            # On the command's own cores it stands still while we look: else processes that each
            # start the next one and end are always gone before a signal reaches them.
            with suppress(OSError):
                os.sched_setaffinity(0, self._cores.cpus)
        kill_tree(self._tree, self._accounts.reap)
        self._shared_memory.remove_leftovers()

    def _watch(self) -> str | None:
        """Return when the main process has ended (None) or a limit has fired (its name)."""
        deadline = self._started + self._limits.wall_seconds
        # Sooner at first: much is over within the first tenth of a second.
        interval = _FIRST_SAMPLE_SECONDS
        look_at = self._started + _LOOK_SECONDS
        sample_at = self._started + interval
        while True:
            woken = self._serve_until(min(sample_at, deadline))
            self._accounts.reap()
            if self._accounts.main_ended:
                return None
            if self._spool.over:
                return "output"
            now = time.monotonic()
            if now >= deadline:
                return "wall"
            if woken or now >= sample_at:
                _restore_own_limits(self._own_limits)
                if limit := self._usage.limit():
                    return limit
                if now >= look_at:
                    self._scratch.deleted_bytes = deleted_bytes(self._pids(), self._folder)
                    look_at = time.monotonic() + _LOOK_SECONDS
                if self._scratch.is_over():
                    return "scratch"
                cost = time.monotonic() - now
                interval = min(2 * interval, _SAMPLE_SECONDS)
                sample_at = now + max(interval, 5 * cost)

    def _serve_until(self, moment: float) -> bool:
        """Copy output as it comes; return at the moment, or earlier when anything happened.

        True when the group reached a limit.
        """
        woken = False
        pause = max(0.0, moment - time.monotonic())
        for descriptor, _ in self._poller.poll(pause * 1000):
            if descriptor in self._lifelines:
                raise CallerGoneError
            if descriptor == self._wake:
                os.read(self._wake, _CHUNK_BYTES)
            elif self._group is not None and descriptor == self._group.wake:
                self._group.heed_wake()
                woken = True
            elif self._spool.copy(descriptor) == b"":
                self._poller.unregister(descriptor)
        return woken


def _wake_on_child_end() -> int:
    """A descriptor that becomes readable when a child ends."""
    wake, writer = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(writer, False)
    # The handler must exist for the wake-up byte to be written, and has nothing to do.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return wake


def _own_limits() -> dict[int, tuple[int, int]]:
    return {kind: resource.getrlimit(kind) for kind in range(_KINDS_OF_LIMITS)}


def _restore_own_limits(limits: dict[int, tuple[int, int]]) -> None:
    """Undo what a command of the same user can do to us, prlimit(2).

    Raises:
        OSError: we cannot; without descriptors or memory we would measure nothing.
    """
    for kind, limit in limits.items():
        if resource.getrlimit(kind) != limit:
            try:
                resource.setrlimit(kind, limit)
            except ValueError as error:
                raise OSError("the command has lowered its supervisor's own limits") from error
