"""A run's control group, version 2: one folder below a group that was delegated to us.

Kernel page admin-guide/cgroup-v2. Two of its rules shape this module. A group that hands
controllers to its children cannot have processes of its own ("no internal processes"), so the
worker's own group has to be a leaf beside the runs' groups. And only who may write a group's
cgroup.procs and cgroup.subtree_control has it delegated: root, or a user to whom systemd
(`Delegate=yes`) or a container runtime gave a subtree.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from workers.control_group import (
    INSIDE,
    RAISED_BYTES,
    all_members,
    folder_of,
    members,
    read,
    read_fields,
    read_number,
    remove_folder,
    was_full,
)
from workers.limits import Limits

NEEDED = ("memory", "pids")
CALLERS = "tlagrid-callers"
"""Where processes of a delegated group go to make room for runs' groups beside them."""

_KILL_SECONDS = 10.0


class DelegationError(Exception):
    """A group cannot hold the groups of runs; the message says why."""


class GroupV2:
    """The folder of one run."""

    def __init__(self, parent: str, name: str) -> None:
        """Name the folder below `parent`, which `prepare` has made ready."""
        self._parent = Path(parent)
        self._folder = self._parent / name
        self.wake: int | None = None

    def set_up(self, limits: Limits, cpus: Sequence[int]) -> None:
        """Make the folder and write the limits."""
        folder = self._folder
        os.mkdir(folder, 0o755)  # noqa: PTH102
        os.mkdir(folder / INSIDE, 0o755)  # noqa: PTH102
        (folder / "memory.max").write_text(str(limits.memory_bytes))
        swap = folder / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")
        (folder / "memory.oom.group").write_text("1")
        (folder / "pids.max").write_text(str(limits.processes))
        if (folder / "cpuset.cpus").exists():
            (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))

    def heed_wake(self) -> None:
        """Nothing wakes in this version: the kernel kills the group as one by itself."""

    def enter(self) -> None:
        """Move the calling process in."""
        (self._folder / INSIDE / "cgroup.procs").write_text("0")

    def cpu_seconds(self) -> float:
        """CPU time from cpu.stat, in microseconds there; no controller is needed for it."""
        return read_fields(self._folder / "cpu.stat").get("usage_usec", 0) / 1e6

    def peak_bytes(self) -> int:
        """The high-water mark of memory, tmpfs and page cache included: memory.peak, Linux 5.19."""
        return read_number(self._folder / "memory.peak")

    def exceeded(self, limits: Limits) -> str | None:
        """Which limit was hit; above the limit means that a member raised it."""
        current = read_number(self._folder / "memory.current")
        if max(self.peak_bytes(), current) > limits.memory_bytes + RAISED_BYTES:
            return "memory"
        # `oom` counts where the limit was, `oom_kill` where the victim was: an ancestor's
        # shortage gives the second without the first.
        if read_fields(self._folder / "memory.events").get("oom"):
            return "memory"
        if read_number(self._folder / "pids.current") > limits.processes:
            return "processes"
        if was_full(self._folder, limits.processes):
            return "processes"
        return None

    def pids(self) -> set[int]:
        """Its members now."""
        return set(all_members(self._folder))

    def kill(self) -> bool:
        """Kill all members as one (cgroup.kill, Linux 5.14), or freeze them and kill each."""
        deadline = time.monotonic() + _KILL_SECONDS
        found = False
        while pids := all_members(self._folder):
            found = True
            try:
                self._write("cgroup.kill", "1")
            except OSError:
                self._kill_frozen(pids)
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)
        return found

    def _kill_frozen(self, pids: Sequence[int]) -> None:
        with suppress(OSError):
            self._write("cgroup.freeze", "1")
        for pid in {*pids, *all_members(self._folder)}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(OSError):
            self._write("cgroup.freeze", "0")

    def _write(self, name: str, text: str) -> None:
        # Without O_CREAT: a file that the kernel does not have is an error.
        descriptor = os.open(self._folder / name, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def remove(self) -> None:
        """Kill what is left and remove the folder."""
        self.kill()
        remove_folder(self._folder)


def is_delegated(folder: str) -> bool:
    """Whether the group was handed to us: by its owner, or by systemd's mark for root."""
    if os.geteuid() != 0:
        return os.access(folder, os.W_OK)
    for mark in ("trusted.delegate", "user.delegate"):
        with suppress(OSError):
            if os.getxattr(folder, mark) == b"1":
                return True
    return False


def parent_candidates(
    membership: str,
    mounts: str,
    named: str | None,
    delegated: Callable[[str], bool] = is_delegated,
) -> list[str]:
    """Groups that could hold the groups of runs, the likeliest first.

    Args:
        membership: the text of /proc/self/cgroup, cgroups(7).
        mounts: the text of /proc/self/mountinfo, proc(5).
        named: the group that the user names, which is then the only one.
        delegated: tells whether a group was handed to us.
    """
    if named:
        return [named]
    own = next((line[3:] for line in membership.splitlines() if line.startswith("0::")), None)
    mounted = next(
        (
            line.split()[3:5]
            for line in mounts.splitlines()
            if line.partition(" - ")[2].startswith("cgroup2 ")
        ),
        None,
    )
    if own is None or mounted is None:
        return []
    root, mount_point = mounted
    group = folder_of(own, root, mount_point)
    # The group above ours is a slice or a service's, with limits that are not ours to leave,
    # unless we moved here ourselves or systemd made it over to us.
    above = os.path.dirname(group)  # noqa: PTH120
    inside = group != mount_point
    if inside and (group == f"{above}/{CALLERS}" or delegated(above)):
        return [above, group]
    return [group]


def prepare(parent: str) -> bool:
    """Make a group ready to hold the groups of runs; True when these can be bound to CPUs, too.

    Moves our own processes into a leaf when they are in the way.

    Raises:
        DelegationError: it is not delegated to us, or lacks a controller.
    """
    folder = Path(parent)
    offered = read(folder / "cgroup.controllers").split()
    if missing := [name for name in NEEDED if name not in offered]:
        raise DelegationError(f"{parent} does not offer the controllers {', '.join(missing)}")
    for name in NEEDED:
        try:
            _enable(folder, name)
        except OSError as error:
            raise DelegationError(f"{parent}: {error.strerror}") from error
    if "cpuset" not in offered:
        return False
    try:
        _enable(folder, "cpuset")
    except OSError:
        return False
    return True


def _enable(folder: Path, controller: str) -> None:
    control = folder / "cgroup.subtree_control"
    if controller in read(control).split():
        return
    try:
        control.write_text(f"+{controller}")
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        _make_room(folder)
        control.write_text(f"+{controller}")


def _make_room(folder: Path) -> None:
    """Move the group's processes into a leaf of it, if all of them are this user's."""
    pids = members(folder)
    strangers = [pid for pid in pids if _owner(pid) not in {os.geteuid(), None}]
    if strangers:
        raise PermissionError(
            errno.EPERM, f"processes of other users are in it ({strangers[0]} is one)"
        )
    leaf = folder / CALLERS
    leaf.mkdir(exist_ok=True)
    for pid in pids:
        with suppress(ProcessLookupError):
            (leaf / "cgroup.procs").write_text(str(pid))


def _owner(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
    except OSError:
        return None
