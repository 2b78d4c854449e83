"""What a process tree uses: sampled while it lives, exact where the kernel keeps count.

CPU time, memory, processes and scratch bytes against the limits of one run. What sampling
cannot see is told in `workers.runner`. Standard library only, like the supervisor.
"""

from __future__ import annotations

import os
import time

from workers.process_tree import Accounts, Process, Tree, read_proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WALK_SECONDS = 0.5
_WALK_SLICE_SECONDS = 0.005
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_BLOCK_BYTES = 512  # the unit of st_blocks whatever the file system's own, stat(2)


class Caps:
    """The limits that this module decides."""

    def __init__(
        self, cpu_seconds: float, memory_bytes: int, processes: int, scratch_bytes: int
    ) -> None:
        self.cpu_seconds = cpu_seconds
        self.memory_bytes = memory_bytes
        self.processes = processes
        self.scratch_bytes = scratch_bytes


class Usage:
    """The usage of one run's tree, sample by sample."""

    def __init__(self, caps: Caps, scratch: bytes, tree: Tree, accounts: Accounts) -> None:
        self._caps = caps
        self._tree = tree
        self._accounts = accounts
        self._scratch = scratch
        self._walk = _ScratchWalk(scratch, caps.scratch_bytes)
        self._sampled_peak = 0
        self._own_ticks: dict[tuple[int, int], int] = {}
        self._vanished_ticks = 0

    def limit(self) -> str | None:
        """Sample, and name the limit that the tree is over, if any.

        A scan is not a snapshot: a child read alive may be counted again in the parent that
        reaped it meanwhile. Only what a second look at once confirms is over.
        """
        over = self._sample()
        return over if over and over == self._sample() else None

    def final_limit(self) -> str | None:
        """Name the limit that the finished run is over: what no sample saw counts too."""
        if self.cpu_seconds > self._caps.cpu_seconds:
            return "cpu"
        if self._accounts.largest_bytes > self._caps.memory_bytes:
            return "memory"
        if exceeds(self._scratch, self._caps.scratch_bytes):
            return "scratch"
        return None

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the finished tree.

        The kernel's figure lacks processes whose parent ignores SIGCHLD (they are reaped
        unaccounted), the sum of what was last seen of each process lacks what came after.
        Both are at most the truth, so the larger one is the better.
        """
        return max(self._accounts.cpu_seconds, self._seen_seconds)

    @property
    def peak_bytes(self) -> int:
        """The most that a sample found, or the kernel's own mark of the largest process."""
        return max(self._sampled_peak, self._accounts.largest_bytes)

    @property
    def _seen_seconds(self) -> float:
        return (self._vanished_ticks + sum(self._own_ticks.values())) / _TICKS_PER_SECOND

    def _sample(self) -> str | None:
        self._accounts.reap()
        processes = self._tree.scan()
        if self._sample_cpu(processes) > self._caps.cpu_seconds:
            return "cpu"
        if self._sample_memory(processes) > self._caps.memory_bytes:
            return "memory"
        if len(processes) > self._caps.processes:
            return "processes"
        if self._walk.is_over():
            return "scratch"
        return None

    def _sample_cpu(self, processes: list[Process]) -> float:
        now = {(process.pid, process.started): process.own_ticks for process in processes}
        self._vanished_ticks += sum(
            ticks for key, ticks in self._own_ticks.items() if key not in now
        )
        self._own_ticks = now
        living = sum(process.own_ticks + process.reaped_ticks for process in processes)
        kernel = self._accounts.cpu_seconds + living / _TICKS_PER_SECOND
        return max(kernel, self._seen_seconds)

    def _sample_memory(self, processes: list[Process]) -> int:
        """Measure the tree's memory, pages that its processes share counted once.

        Resident sets count shared pages once per process, so their sum is an upper bound:
        the costly proportional figures are read only where that bound would matter.
        """
        memory = sum(process.rss_bytes for process in processes)
        if memory > min(self._sampled_peak, self._caps.memory_bytes):
            if len(processes) > 1:
                largest = max(process.rss_bytes for process in processes)
                memory = max(largest, sum(_proportional_bytes(process) for process in processes))
            self._sampled_peak = max(self._sampled_peak, memory)
        return memory


class _ScratchWalk:
    """Walks through the scratch folder again and again, each in slices of bounded cost."""

    def __init__(self, folder: bytes, cap: int) -> None:
        self._folder = folder
        self._cap = cap
        self._walk: Iterator[int] | None = None
        self._slices = 0
        self._next_at = 0.0

    def is_over(self) -> bool:
        """Go on with the walk for a little while."""
        now = time.monotonic()
        if self._walk is None:
            if now < self._next_at:
                return False
            self._walk, self._slices = allocated(self._folder), 0
        self._slices += 1
        for total in self._walk:
            if total > self._cap:
                self._walk = None
                # Files that moved during the walk were counted twice: look again at once.
                return exceeds(self._folder, self._cap)
            if time.monotonic() >= now + _WALK_SLICE_SECONDS:
                return False
        self._walk = None
        self._next_at = now + max(_WALK_SECONDS, 10 * self._slices * _WALK_SLICE_SECONDS)
        return False


def exceeds(folder: bytes, cap: int) -> bool:
    """Tell whether more than `cap` bytes are allocated below the folder."""
    return any(total > cap for total in allocated(folder))


def allocated(folder: bytes) -> Iterator[int]:
    """Yield the bytes allocated below the folder: the sum so far now and then, at last all.

    Allocated, not apparent: a sparse file uses what it uses. A file with several names counts
    once, links are not followed, and what cannot be listed does not count.
    """
    total = entries = 0
    linked: set[tuple[int, int]] = set()
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as listing:
                for entry in listing:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # deleted meanwhile
                        continue
                    entries += 1
                    if entries % 64 == 0:
                        yield total
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif status.st_nlink > 1:
                        if (status.st_dev, status.st_ino) in linked:
                            continue
                        linked.add((status.st_dev, status.st_ino))
                    total += status.st_blocks * _BLOCK_BYTES
        except OSError:
            continue
    yield total


def _proportional_bytes(process: Process) -> int:
    """Return the process's resident pages, each divided by the number of its users (PSS)."""
    for line in read_proc(process.pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return process.rss_bytes
