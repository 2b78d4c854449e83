"""The processes that stand beside one run: start a command, watch its tree, end it.

`workers.runner` starts this in an isolated interpreter with two descriptors as arguments: one
end of a socket pair, and a pidfd of the caller or -1. Over the socket come the request and
then nothing: its end of file, like the caller's death, means "kill everything". Back goes one
answer. Both are fields separated by NUL, the one byte that no argument, path or environment
entry can contain.

Two processes come of it. The *guard* is the caller's child and only waits for the other, the
*supervisor*: a worker's direct children are what Ray kills when a worker goes, and the
supervisor has to outlive that to sweep. If the supervisor itself is killed, its orphans become
the guard's and the guard sweeps. While the guard lives it also reaps the supervisor, so none
is left behind as a zombie in a container whose first process never waits.

Standard library only, and little of it: each import delays every run.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import sys
import time

from workers.process_tree import Accounts, Tree, become_subreaper, kill_tree
from workers.tree_usage import Caps, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # The C half of `signal`: the Python half builds enums, as slow as half an interpreter start.
    import _signal as signal

_SAMPLE_SECONDS = 0.1
_CHUNK_BYTES = 1 << 16
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


def main() -> None:
    """Split into guard and supervisor; both end once nothing of the command is left."""
    # The caller's death is one of these becoming readable.
    control, *callers = (int(argument) for argument in sys.argv[1:3] if argument != "-1")
    lifelines = (control, *callers)
    for descriptor in lifelines:
        os.set_inheritable(descriptor, False)
    # Dispositions and masks are inherited over exec: a caller that ignores SIGCHLD would make
    # the kernel reap our children unseen. What ends us is the caller's end, not a signal.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    become_subreaper()
    supervisor = os.fork()
    if supervisor:
        for descriptor in lifelines:
            os.close(descriptor)
        _guard(supervisor)
    else:
        become_subreaper()
        _supervise(control, lifelines)
    os._exit(0)  # an orderly interpreter shutdown would only take time


def _guard(supervisor: int) -> None:
    """Wait for the supervisor, and sweep in its place if it did not end well."""
    while True:
        _, status = os.waitpid(supervisor, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.kill(supervisor, signal.SIGCONT)  # a command may try to freeze its supervisor
    if status:
        kill_tree(Tree(os.getpid()), Accounts(main=0))


def _supervise(control: int, lifelines: tuple[int, ...]) -> None:
    try:
        answer = _Run(_read_request(control), lifelines).answer()
    except _CallerGoneError:
        return
    except _StartError as error:
        answer = ("error", str(error))
    except BaseException as error:
        _send(control, ("error", f"{type(error).__name__}: {error}"))
        raise  # an exit status that is not 0 tells the guard to sweep
    _send(control, answer)


class _CallerGoneError(Exception):
    """The caller died or gave up: there is nobody to answer."""


class _StartError(Exception):
    """The command could not be started."""


class _Request:
    """What to run, where, and within which limits."""

    def __init__(self, fields: list[bytes]) -> None:
        self.wall_seconds = float(fields[0])
        self.output_bytes = int(fields[1])
        self.caps = Caps(float(fields[2]), int(fields[3]), int(fields[4]), int(fields[5]))
        self.scratch, self.stdout, self.stderr, self.program = fields[6:10]
        environment = 11 + int(fields[10])
        self.argv = fields[11:environment]
        entries = (entry.partition(b"=") for entry in fields[environment:])
        self.environment = {name: value for name, _, value in entries}


class _Run:
    """One command from its start to the last of its descendants."""

    def __init__(self, request: _Request, lifelines: tuple[int, ...]) -> None:
        self._request = request
        self._lifelines = lifelines
        self._wake, wake_writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_writer, False)
        # The handler must exist for the wake-up byte to be written, and has nothing to do.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        self._spool = _Spool(request)
        self._started = time.monotonic()
        self._accounts = Accounts(_start(request, self._spool.writers))
        self._spool.close_writers()
        self._tree = Tree(os.getpid())
        self._usage = Usage(request.caps, request.scratch, self._tree, self._accounts)
        self._poller = select.poll()
        for descriptor in (*lifelines, self._wake, *self._spool.readers):
            self._poller.register(descriptor, select.POLLIN)

    def answer(self) -> tuple[str, ...]:
        """Tell how the command ended, once nothing of it is left."""
        try:
            limit = self._watch()
        finally:
            kill_tree(self._tree, self._accounts)
        self._spool.drain()
        limit = limit or ("output" if self._spool.over else self._usage.final_limit())
        code = os.waitstatus_to_exitcode(self._accounts.main_status)
        return (
            "result",
            str(code) if code >= 0 else "",
            str(-code) if code < 0 else "",
            limit or "",
            repr(self._usage.cpu_seconds),
            repr(self._accounts.main_ended - self._started),
            str(self._usage.peak_bytes),
            str(self._spool.bytes),
        )

    def _watch(self) -> str | None:
        """Return when the main process has ended (None) or a limit has fired (its name)."""
        deadline = self._started + self._request.wall_seconds
        sample_at = self._started + _SAMPLE_SECONDS
        while True:
            self._serve_until(min(sample_at, deadline))
            self._accounts.reap()
            if self._accounts.main_ended:
                return None
            if self._spool.over:
                return "output"
            now = time.monotonic()
            if now >= deadline:
                return "wall"
            if now >= sample_at:
                if limit := self._usage.limit():
                    return limit
                cost = time.monotonic() - now
                sample_at = now + max(_SAMPLE_SECONDS, 5 * cost)

    def _serve_until(self, moment: float) -> None:
        """Copy output as it comes; return at the moment, or earlier when anything happened."""
        pause = max(0.0, moment - time.monotonic())
        for descriptor, _ in self._poller.poll(pause * 1000):
            if descriptor in self._lifelines:
                raise _CallerGoneError
            if descriptor == self._wake:
                os.read(self._wake, _CHUNK_BYTES)
            elif self._spool.copy(descriptor) == b"":
                self._poller.unregister(descriptor)


class _Spool:
    """The command's two pipes, and the files that they are copied to up to the cap."""

    def __init__(self, request: _Request) -> None:
        self.bytes = 0
        self.over = False
        self._cap = request.output_bytes
        self._files: dict[int, tuple[int, str]] = {}
        self.writers: list[int] = []
        for path in (os.fsdecode(request.stdout), os.fsdecode(request.stderr)):
            # O_EXCL: what an earlier run said is evidence.
            target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            self._files[reader] = (target, path)
            self.writers.append(writer)

    @property
    def readers(self) -> list[int]:
        """The pipes' reading ends."""
        return list(self._files)

    def close_writers(self) -> None:
        """Leave the writing ends to the command alone, or the pipes would never end."""
        for writer in self.writers:
            os.close(writer)

    def copy(self, reader: int) -> bytes | None:
        """Copy a chunk of one pipe; empty at its end, None when it holds nothing for now."""
        try:
            chunk = os.read(reader, _CHUNK_BYTES)
        except BlockingIOError:  # a command can read its own output through /proc/self/fd
            return None
        target, path = self._files[reader]
        kept = chunk[: self._cap - self.bytes]
        self.over = self.over or len(kept) < len(chunk)
        self.bytes += len(kept)
        while kept:
            try:
                kept = kept[os.write(target, kept) :]
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from None
        return chunk

    def drain(self) -> None:
        """Copy what is left in the pipes.

        The writers are dead, so an empty pipe is a finished one: not waiting for end of file
        keeps a foreign process that was handed a descriptor from holding the run up.
        """
        for reader in self._files:
            while self.copy(reader):
                pass


def _start(request: _Request, outputs: list[int]) -> int:
    """Fork and execute the command; returns its pid once it is executing."""
    failure, failure_writer = os.pipe()
    supervisor = os.getpid()
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    main = os.fork()
    if not main:
        try:
            _execute(request, outputs, supervisor)
        except (OSError, ValueError) as error:
            os.write(failure_writer, str(error).encode("utf-8", "replace"))
        finally:
            os._exit(127)
    os.close(failure_writer)
    reason = os.read(failure, _CHUNK_BYTES)  # the writing end closes when exec succeeds
    os.close(failure)
    if reason:
        os.waitpid(main, 0)
        raise _StartError(f"{os.fsdecode(request.program)} cannot be started: {reason.decode()}")
    # Among a thousand runnable children of a fork bomb we would get a thousandth of a core.
    try:
        os.setpriority(os.PRIO_PROCESS, 0, niceness - 20)
    except PermissionError:
        return main  # an ordinary user may not: slower, still right
    return main


def _execute(request: _Request, outputs: list[int], supervisor: int) -> None:
    """Become the command, in the state that it is promised; all other descriptors close."""
    os.setsid()
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        raise OSError("the supervisor died")
    # Without set-user-id programs no descendant becomes a user that we could not kill.
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    # 1, not 0: no file can be that small, and a core_pattern that is a pipe honours only this
    # value (fs/coredump.c), else a crash handler of the host would collect candidates' cores.
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    core = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (core, core))
    _prefer_as_oom_victim()
    os.umask(0o077)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    os.chdir(request.scratch)
    os.execve(request.program, request.argv, request.environment)  # noqa: S606


def _prefer_as_oom_victim() -> None:
    """Let the kernel take the command rather than us or the worker when memory runs out."""
    try:
        os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"1000")
    except OSError:
        return  # a read-only /proc: the kernel decides by size alone


def _read_request(control: int) -> _Request:
    """Read a request: its length in 8 bytes, then its fields."""
    length = int.from_bytes(_read_exactly(control, 8), "big")
    return _Request(_read_exactly(control, length).split(b"\0"))


def _read_exactly(descriptor: int, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = os.read(descriptor, count - len(parts))
        if not part:
            raise _CallerGoneError
        parts += part
    return parts


def _send(control: int, fields: tuple[str, ...]) -> None:
    """Answer; a caller that died meanwhile needs none."""
    answer = "\0".join(fields).encode("utf-8", "replace")
    try:
        while answer:
            answer = answer[os.write(control, answer) :]
    except (BrokenPipeError, ConnectionResetError):
        return
