"""The descendants of one process: find them, reap them, kill every one of them.

The process is a subreaper: every orphan among its descendants becomes its child, whatever
sessions and groups were made. Hence "wait4 says that there are no children" means exactly
that nothing is left alive, and no list of pids has to be trusted for that.

"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Container, Iterable

from workers.prctl import SET_CHILD_SUBREAPER, prctl

_FULL_SCAN_SECONDS = 1.0
_KILL_SECONDS = 30.0
_STOP_ROUNDS = 50
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def become_subreaper() -> None:
    """Adopt the orphans among the descendants; not inherited over fork, prctl(2)."""
    prctl(SET_CHILD_SUBREAPER, 1)


def kill_tree(tree: Tree, reap: Callable[[], bool]) -> None:
    """Kill until nothing is left, and reap all of it.

    `reap` reaps what has ended and tells whether something is left. Raises TimeoutError naming
    the processes which a SIGKILL did not end (in the kernel, as a rule, waiting for a device).
    """
    give_up = time.monotonic() + _KILL_SECONDS
    pause = 0.001
    while reap():
        stopped = _stop_all(tree)
        for process in stopped.values():
            _signal(process, signal.SIGKILL)
        if time.monotonic() > give_up:
            pids = ", ".join(str(pid) for pid in sorted(stopped))
            raise TimeoutError(
                f"processes {pids} did not die within {_KILL_SECONDS:g} s of SIGKILL"
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _stop_all(tree: Tree) -> dict[int, Process]:
    """Stop everyone, so that nobody starts the next one while the others are killed.

    Stopping tells no parent, while a killed child wakes a parent that would fork again. Each round
    looks only at who is new, so it is shorter than the one before even against a fork bomb. The
    bound is for a command that keeps waking its stopped processes.
    """
    stopped: dict[int, Process] = {}
    for _ in range(_STOP_ROUNDS):
        awake = tree.scan(full=True, known=stopped)
        if not awake:
            break
        for process in awake:
            _signal(process, signal.SIGSTOP)
            stopped[process.pid] = process
    return stopped


class Accounts:
    """What the kernel reports of the processes that this one reaped."""

    def __init__(self, main: int) -> None:
        self.cpu_seconds = 0.0
        self.largest_bytes = 0
        self.main_status = 0
        self.main_ended = 0.0
        self._main = main

    def reap(self) -> bool:
        """Reap all that has ended; True while children are left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            self.cpu_seconds += usage.ru_utime + usage.ru_stime  # with its reaped descendants'
            self.largest_bytes = max(self.largest_bytes, usage.ru_maxrss * 1024)
            if pid == self._main:
                self.main_status, self.main_ended = status, time.monotonic()


class Process:
    """A line of /proc/PID/stat, proc(5)."""

    __slots__ = ("own_ticks", "parent", "pid", "reaped_ticks", "rss_bytes", "started", "threads")

    def __init__(self, pid: int, line: bytes) -> None:
        # The name may contain spaces and brackets; the last bracket ends it.
        fields = line[line.rindex(b")") + 2 :].split()
        self.pid = pid
        self.parent = int(fields[1])
        self.own_ticks = int(fields[11]) + int(fields[12])
        self.reaped_ticks = int(fields[13]) + int(fields[14])
        self.threads = int(fields[17])
        self.started = int(fields[19])
        self.rss_bytes = int(fields[21]) * _PAGE_BYTES


class Tree:
    """The descendants of one process, found by their parents in /proc.

    Processes that turned out not to descend from it are not read again, for they never will;
    so a scan costs by the tree's size, not the machine's. Their pids can be given away again,
    which is why they are forgotten once a second and before killing.
    """

    def __init__(self, root: int, spared: Iterable[int] = ()) -> None:
        """The descendants of `root`, without those that are spared and theirs."""
        self._root = root
        self._spared = frozenset(spared)
        self._foreign: set[int] = set()
        self._forget_at = 0.0

    def scan(self, *, full: bool = False, known: Container[int] = ()) -> list[Process]:
        """Return all descendants, zombies among them, without those that are `known`.

        `full` trusts no earlier scan.
        """
        if full or time.monotonic() >= self._forget_at:
            self._foreign.clear()
            self._forget_at = time.monotonic() + _FULL_SCAN_SECONDS
        pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208
        found: dict[int, Process] = {}
        for pid in pids:
            if pid in self._foreign or pid in known:
                continue
            if process := read_process(pid):
                found[pid] = process
        # None: the parent was not seen, ask again at the next scan.
        descends: dict[int, bool | None] = {self._root: True, 0: False}
        descends.update(dict.fromkeys(self._spared, False))
        descends.update(dict.fromkeys(self._foreign, False))
        for pid in found:
            path = []
            at = pid
            while at not in descends and at in found:
                descends[at] = None
                path.append(at)
                at = found[at].parent
            belongs = True if at in known else descends.get(at)
            descends.update(dict.fromkeys(path, belongs))
        self._foreign.intersection_update(pids)
        self._foreign.update(pid for pid in found if descends[pid] is False)
        return [process for pid, process in found.items() if descends[pid] and pid != self._root]


def read_proc(pid: int, name: str) -> bytes:
    """Read one small file of /proc/PID: empty if the process is gone or not ours to see."""
    try:
        descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:  # ended between open and read
        return b""
    finally:
        os.close(descriptor)


def read_process(pid: int) -> Process | None:
    """Read a process's line; `None` if it is gone."""
    line = read_proc(pid, "stat")
    if not line:
        return None
    process = Process(pid, line)
    if process.threads > 1 and not process.rss_bytes:
        # Its first thread has ended, whose line it is; the memory is in those of the others.
        process.rss_bytes = max(map(_thread_rss_bytes, _threads(pid)), default=0)
    return process


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return []


def _thread_rss_bytes(thread: str) -> int:
    line = read_proc(int(thread), "stat")
    return Process(int(thread), line).rss_bytes if line else 0


def _signal(process: Process, number: int) -> None:
    """Signal the process unless its pid has gone to another one."""
    now = read_process(process.pid)
    if now and now.started == process.started:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return
