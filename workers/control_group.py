"""What a control group does for a run, whichever version of control groups it is.

A run's group counts exactly, prevents what it can, and ends all members at once. The folders are
named after the guard process that made them, so that a group whose guard is gone can be told from
a living one's (`workers.leftovers`).
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from workers.limits import Limits

PREFIX = "tlagrid-"
INSIDE = "run"
"""The group in a run's group that its processes are in. The limits are those of the outer one: a
command that mounts control groups in namespaces of its own sees no more than the inner one."""

RAISED_BYTES = 8 << 20
"""The kernel lets some charges through at the limit; more than this means that it was raised."""

_REMOVE_SECONDS = 2.0
_LINKS_OF_A_LEAF = 2


class ControlGroup(Protocol):
    """One run's group."""

    wake: int | None
    """A descriptor that becomes readable when a limit is reached, where the kernel has one."""

    def set_up(self, limits: Limits, cpus: Sequence[int]) -> None:
        """Make the group with its limits. Raises OSError when the kernel refuses."""

    def heed_wake(self) -> None:
        """Take note of what `wake` tells."""

    def enter(self) -> None:
        """Move the calling process in. Raises OSError when the kernel refuses."""

    def cpu_seconds(self) -> float:
        """CPU time of all members, past ones included."""

    def peak_bytes(self) -> int:
        """Most memory that the members had together; 0 where the kernel does not keep it."""

    def exceeded(self, limits: Limits) -> str | None:
        """`memory` or `processes` when this group's own limit was hit, not an ancestor's."""

    def pids(self) -> set[int]:
        """Its members now."""

    def kill(self) -> bool:
        """Send SIGKILL to all members as one; True when there were some."""

    def remove(self) -> None:
        """Kill what is left and remove the group."""


def read(path: Path) -> str:
    """Text of one of the kernel's small files; empty when it is not there.

    Raises:
        OSError: it is there and cannot be read, such as for want of descriptors.
    """
    try:
        return path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        if error.errno in {errno.ENODEV, errno.EOPNOTSUPP}:  # removed, or of a threaded group
            return ""
        raise


def read_number(path: Path, default: int = 0) -> int:
    """A file's number; the default where there is none or it says `max`."""
    text = read(path).strip()
    return int(text) if text.isdigit() else default


def read_fields(path: Path) -> dict[str, int]:
    """Lines `name number`, such as those of cpu.stat and memory.events."""
    pairs = (line.split() for line in read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def members(folder: Path) -> list[int]:
    """Processes in a group; empty when it is gone."""
    return [int(pid) for pid in read(folder / "cgroup.procs").split()]


def all_members(folder: Path) -> list[int]:
    """Processes in a group and in the groups that they may have made in it."""
    return [pid for each in subtree(folder) for pid in members(each)]


def subtree(folder: Path) -> list[Path]:
    """A group and the groups in it, the deepest first; nothing when it is gone."""
    try:
        if folder.stat().st_nlink <= _LINKS_OF_A_LEAF:
            return [folder]
        with os.scandir(folder) as listing:
            inner = [entry.path for entry in listing if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return [*(each for path in inner for each in subtree(Path(path))), folder]


def folder_of(group: str, root: str, mount_point: str) -> str:
    """Where a group lies whose path /proc/self/cgroup gives, cgroups(7).

    A container may see a part of the hierarchy mounted: mountinfo's `root`, proc(5).
    """
    if root == "/":
        return f"{mount_point}/{group.strip('/')}".rstrip("/")
    if group == root or group.startswith(f"{root}/"):
        return f"{mount_point}{group[len(root) :]}"
    return mount_point


def was_full(folder: Path, processes: int) -> bool:
    """Whether a fork was refused for this group's own limit and not for an ancestor's.

    pids.events counts both where the fork was tried (before Linux 6.11, and in version 1), which
    can be a group that a member made. Where there is no mark (pids.peak, Linux 6.1) the ancestors
    are asked whether they are full.
    """
    if not any(read_fields(each / "pids.events").get("max") for each in subtree(folder)):
        return False
    peak = read_number(folder / "pids.peak", -1)
    if peak >= 0:
        return peak >= processes
    return not any(
        read_number(above / "pids.current") >= read_number(above / "pids.max", 1 << 62)
        for above in folder.parents
        if (above / "pids.max").exists()
    )


def remove_folder(folder: Path) -> None:
    """Remove a group and those in it, for a moment busy with members that are exiting.

    Raises:
        OSError: it is still busy after two seconds.
    """
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        try:
            for each in subtree(folder):
                each.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)
        else:
            return
