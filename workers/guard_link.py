"""This process's guard, seen from the worker: started at the first run, kept, replaced if killed.

The guard (`workers.guard`) runs in an isolated interpreter: the caller's environment may hold
credentials, and every process of this user can read it in /proc.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from workers.enforcement import Enforcement, Examination, Refusal
from workers.leftovers import sweep

GROUP_SETTING = "TLAGRID_CGROUP"

_ROOT = Path(__file__).resolve().parent.parent
# Last on the path, the packages beside ours cannot shadow the standard library. (A package, and
# not the path of a script, because a script is compiled anew each time.)
_PROGRAM = "import sys; sys.path.append(sys.argv.pop()); from workers.guard import main; main()"
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0
_WAKE_SECONDS = 0.2
_PACKET_BYTES = 1 << 16


class GuardError(Exception):
    """The guard cannot be started or does not answer."""


class Guard:
    """The guard of one process, and what it found out about the node."""

    def __init__(self) -> None:
        """Start it. Raises GuardError."""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = _start(theirs)
            self.examination = self._receive_examination()
        except (OSError, ValueError) as error:
            self._control.close()
            raise GuardError(f"the guard of this worker's runs did not start: {error}") from error

    def connect(self, enforcement: Enforcement) -> socket.socket:
        """Ask for a supervisor, and return the connection to it.

        Raises:
            GuardError: the guard is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                packet = json.dumps(enforcement.to_fields()).encode()
                socket.send_fds(self._control, [packet], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise GuardError(f"the guard of this worker's runs is gone: {error}") from error
        return ours

    @property
    def is_gone(self) -> bool:
        """Whether it has ended or is about to: its end of the control socket is closed."""
        if self._control.fileno() < 0:
            return True
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        return bool(poller.poll(0))

    def wake(self) -> None:
        """Undo what a command may have done that stops keeper, guard and supervisor.

        The keeper that goes on sees that the guard stands still, and the guard that supervisors
        do; each lets its children go on.
        """
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)

    def await_end(self, seconds: float) -> bool:
        """Wait for a guard that is going to sweep and end; False when it does not."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_WAKE_SECONDS)
                return True
            self.wake()
        return False

    def stop(self) -> None:
        """Let it end, once its runs have."""
        self._control.close()
        self.await_end(_STOP_SECONDS)

    def _receive_examination(self) -> Examination:
        self._control.settimeout(_START_SECONDS)
        fields = json.loads(self._control.recv(_PACKET_BYTES) or b"null")
        self._control.settimeout(None)
        if fields is None:
            raise ValueError("it ended at once")
        return Examination(
            tuple(map(Enforcement.from_fields, fields["enforcements"])),
            tuple(Refusal(**refusal) for refusal in fields["refusals"]),
        )


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    library_path = os.environ.get("LD_LIBRARY_PATH")  # the interpreter may need it to load
    try:
        opened = os.pidfd_open(os.getpid())
        caller = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
        os.close(opened)
    except OSError:  # refused by some sandboxes; the socket alone tells of nearly every death
        caller = -1
    # Not 0 to 2, which a worker that has closed its own would give us, and which are replaced.
    control = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, 3)
    group = os.environ.get(GROUP_SETTING, "")
    arguments = [str(control), str(caller), group, str(_ROOT)]
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={} if library_path is None else {"LD_LIBRARY_PATH": library_path},
            cwd="/",
            pass_fds=[control] if caller < 0 else [control, caller],
            start_new_session=True,
        )
    finally:
        os.close(control)
        if caller >= 0:
            os.close(caller)


class _ThisProcess:
    """The one guard of the process that this module is loaded in."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew, as in a process that has just been forked: the guard is its parent's."""
        self._lock = threading.Lock()
        self._guard: Guard | None = None

    def guard(self) -> Guard:
        """The guard, started if there is none that lives."""
        with self._lock:
            if self._guard is None or self._guard.is_gone:
                self._guard = Guard()
                # Nobody may be left to tidy up after an earlier one, such as one that was killed.
                sweep(self._guard.examination)
            return self._guard

    def stop(self) -> None:
        """Let the guard end with this process."""
        if self._guard is not None:
            self._guard.stop()


_this_process = _ThisProcess()
atexit.register(_this_process.stop)
os.register_at_fork(after_in_child=_this_process.forget)


def this_guard() -> Guard:
    """The guard of this process, started if need be.

    Raises:
        GuardError: it does not start.
    """
    return _this_process.guard()
