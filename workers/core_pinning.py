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
import struct
from dataclasses import dataclass
from pathlib import Path

_SYSFS = Path("/sys/devices/system/cpu")
_MOST_RUNS_PER_CORE = 64
# struct flock, fcntl(2): a write lock on all of a file, which belongs to the open file.
_WHOLE_FILE = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


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
    everything = Cores(tuple(sorted(os.sched_getaffinity(0))), shared=True)
    try:
        _make_private(folder)
    except OSError:
        # Without locks nobody knows what is taken: all cores are better than everyone's first.
        return everything
    # A core can be free in the first turn and taken in a later one, whose owner came second.
    cores.sort(key=lambda core: _claims(folder, core))
    claimed: list[tuple[int, ...]] = []
    shared = False
    for turn in range(_MOST_RUNS_PER_CORE):
        for core in cores:
            if core in claimed:
                continue
            others = _claims(folder, core)
            if _lock(_claim(folder, core, turn)):
                claimed.append(core)
                shared = shared or others > 0
                if len(claimed) == min(count, len(cores)):
                    cpus = tuple(sorted(cpu for each in claimed for cpu in each))
                    return Cores(cpus, shared)
    return everything


def _claims(folder: Path, core: tuple[int, ...]) -> int:
    """How many runs have a claim on a core."""
    return sum(_is_locked(path) for path in folder.glob(f"core-{core[0]}-*"))


def _claim(folder: Path, core: tuple[int, ...], turn: int) -> Path:
    return folder / f"core-{core[0]}-{turn}"


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
    """Lock a file for as long as this process lives; False when it is taken."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _WHOLE_FILE)
    except OSError:
        os.close(descriptor)
        return False
    return True  # the descriptor stays open, and with it the lock


def _is_locked(path: Path) -> bool:
    """Look without locking, which would be in the way of others that claim at this moment."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _WHOLE_FILE)
    finally:
        os.close(descriptor)
    return bool(struct.unpack_from("h", found)[0] != fcntl.F_UNLCK)
