"""What a process tree uses: sampled while it lives, exact where the kernel keeps count.

CPU time, memory and processes against the limits of one run, without control groups. What
sampling cannot see is told in docs/quotas.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from workers.limits import Limits
from workers.process_tree import Accounts, Process, Tree, read_proc, read_process

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

MemoryOutside = Callable[[Collection[int]], int]
"""Bytes that the processes with these pids hold outside themselves (`workers.open_files`)."""


class SampledUsage:
    """The usage of one run's tree, sample by sample."""

    def __init__(
        self, limits: Limits, tree: Tree, accounts: Accounts, shared_memory: MemoryOutside
    ) -> None:
        self._limits = limits
        self._tree = tree
        self._accounts = accounts
        self._shared_memory = shared_memory
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
        if self.cpu_seconds > self._limits.cpu_seconds:
            return "cpu"
        shared = self._shared_memory(())
        self._sampled_peak = max(self._sampled_peak, shared)
        if max(self._accounts.largest_bytes, shared) > self._limits.memory_bytes:
            return "memory"
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
        # First, and nothing else then: to look closer at each of a fork bomb's would take longer
        # than it needs to fork as many again.
        if sum(process.threads for process in processes) > self._limits.processes:
            return "processes"
        if self._sample_cpu(processes) > self._limits.cpu_seconds:
            return "cpu"
        if self._sample_memory(processes) > self._limits.memory_bytes:
            return "memory"
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
        shared = self._shared_memory([process.pid for process in processes])
        memory = sum(process.rss_bytes for process in processes) + shared
        if memory > min(self._sampled_peak, self._limits.memory_bytes):
            if len(processes) > 1 or shared:
                largest = max((process.rss_bytes for process in processes), default=0)
                memory = max(largest, _proportional_bytes(processes, shared))
            self._sampled_peak = max(self._sampled_peak, memory)
        return memory


def _proportional_bytes(processes: list[Process], shared: int) -> int:
    """Resident pages, each divided by the number of its users (PSS), and what is not mapped.

    Files in /dev/shm that are mapped are among the resident pages already.
    """
    total = mapped = 0
    for process in processes:
        figures = dict(
            line.split(b":", 1)
            for line in read_proc(process.pid, "smaps_rollup").splitlines()
            if line.startswith(b"Pss")
        )
        if figures:
            total += _kilobytes(figures.get(b"Pss"))
            mapped += _kilobytes(figures.get(b"Pss_Shmem"))
        elif now := read_process(process.pid):  # not ours to look into, or just ended
            total += now.rss_bytes
    return total + max(0, shared - mapped)


def _kilobytes(figure: bytes | None) -> int:
    return 0 if figure is None else int(figure.split()[0]) * 1024
