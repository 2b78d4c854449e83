"""Which cores a run gets: whole physical cores of its own, as far as the node has them.

A run that wanders over all cores disturbs its neighbours' caches, and two runs on the siblings of
one core (simultaneous multithreading) slow each other down by a third and more. So a run is bound
to whole physical cores, within what this process itself may use (a container's cpuset), and while
it lives it holds a file lock on each, by which the other workers of this user on the node know.
The kernel releases the lock with the process. Where more runs are scheduled than there are
physical cores, they share them evenly.

Topology: /sys/devices/system/cpu/cpuN/topology/thread_siblings_list, sysfs-devices-system-cpu.
"""

from __future__ import annotations

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path

_SYSFS = Path("/sys/devices/system/cpu")
_MOST_RUNS_PER_CORE = 64


@dataclass(frozen=True, slots=True)
class Cores:
    """CPUs of one run, with the locks that keep them."""

    cpus: tuple[int, ...]
    """Numbers of logical CPUs: all siblings of each physical core."""
    shared: bool
    """Whether another run had a claim on one of them already."""


def claim_cores(count: int, folder: Path, sysfs: Path = _SYSFS) -> Cores:
    """Claim `count` physical cores for the rest of this process's life.

    Args:
        count: physical cores wanted; all that this process may use if there are fewer.
        folder: where the locks are, the same for all workers of this user on the node.
        sysfs: the kernel's description of the CPUs.
    """
    cores = physical_cores(os.sched_getaffinity(0), sysfs)
    if len(cores) <= count:
        cpus = tuple(sorted(cpu for core in cores for cpu in core))
        return Cores(cpus, shared=False)
    try:
        _make_private(folder)
    except OSError:
        # Without locks nobody knows what is taken: all cores are better than everyone's first.
        return Cores(tuple(sorted(os.sched_getaffinity(0))), shared=True)
    claimed: list[tuple[int, ...]] = []
    for turn in range(_MOST_RUNS_PER_CORE):
        for core in cores:
            if core not in claimed and _lock(folder / f"core-{core[0]}-{turn}"):
                claimed.append(core)
                if len(claimed) == count:
                    cpus = tuple(sorted(cpu for each in claimed for cpu in each))
                    return Cores(cpus, shared=turn > 0)
    return Cores(tuple(sorted(os.sched_getaffinity(0))), shared=True)


def physical_cores(allowed: set[int], sysfs: Path = _SYSFS) -> list[tuple[int, ...]]:
    """The allowed CPUs, grouped by physical core, in the order of their numbers."""
    left = set(allowed)
    cores = []
    while left:
        first = min(left)
        siblings = {first} | (_siblings(first, sysfs) & left)
        cores.append(tuple(sorted(siblings)))
        left -= siblings
    return cores


def _siblings(cpu: int, sysfs: Path) -> set[int]:
    try:
        text = (sysfs / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
        return read_cpu_list(text)
    except (OSError, ValueError):  # hidden by the container: each CPU counts as a core
        return {cpu}


def read_cpu_list(text: str) -> set[int]:
    """Read the kernel's list format, such as `0-3,8`.

    Raises:
        ValueError: it is not of that form.
    """
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to somebody else")


def _lock(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    return True  # the descriptor stays open, and with it the lock, as long as this process
