"""A run's control group, version 1: one folder in each controller's own hierarchy.

Kernel pages admin-guide/cgroup-v1: memory, pids, cpuacct, cpusets, freezer-subsystem. Version 1
kills a single process when memory runs out, where a run has to die as one: an event descriptor
wakes the supervisor, who ends the rest. (To turn the kernel's killer off would be worse: then a
write to a tmpfs fails with ENOMEM, no event tells, and the command's error looks like its own.)
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from workers.control_group import (
    INSIDE,
    RAISED_BYTES,
    all_members,
    folder_of,
    read,
    read_fields,
    read_number,
    remove_folder,
    subtree,
    was_full,
)
from workers.limits import Limits

NEEDED = ("cpuacct", "freezer", "memory", "pids")
OPTIONAL = ("cpuset",)
_PAGES_SLACK = 1 << 20
"""Charges are made in batches per CPU (64 pages), so usage can stop short of the limit."""

_KILL_SECONDS = 10.0


class GroupV1:
    """Folders of one run below its worker's own groups."""

    def __init__(self, parents: Mapping[str, str], name: str) -> None:
        """Name the folders; `parents` maps each controller to the folder of the worker's group."""
        self._parents = {controller: Path(path) for controller, path in parents.items()}
        self._folders = {controller: path / name for controller, path in self._parents.items()}
        self._memory = self._folders["memory"]
        self._pids = self._folders["pids"]
        self._out_of_memory = False
        self.wake: int | None = None

    def set_up(self, limits: Limits, cpus: Sequence[int]) -> None:
        """Make the folders and write the limits."""
        for folder in self._folders.values():
            os.mkdir(folder, 0o755)  # noqa: PTH102
            os.mkdir(folder / INSIDE, 0o755)  # noqa: PTH102
        limit = str(limits.memory_bytes)
        (self._memory / "memory.limit_in_bytes").write_text(limit)
        swap_limit = self._memory / "memory.memsw.limit_in_bytes"
        if swap_limit.exists():
            swap_limit.write_text(limit)
        else:  # swap is not accounted for on this kernel: at least use none
            (self._memory / "memory.swappiness").write_text("0")
        self._ask_for_events()
        (self._pids / "pids.max").write_text(str(limits.processes))
        if "cpuset" in self._folders:
            nodes = read(self._parents["cpuset"] / "cpuset.effective_mems").strip()
            for cpuset in (self._folders["cpuset"], self._folders["cpuset"] / INSIDE):
                (cpuset / "cpuset.mems").write_text(nodes or "0")
                (cpuset / "cpuset.cpus").write_text(",".join(map(str, cpus)))

    def _ask_for_events(self) -> None:
        """Have a descriptor become readable when memory runs out; without, samples tell later."""
        event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with (self._memory / "memory.oom_control").open() as control:
                request = f"{event} {control.fileno()}"
                (self._memory / "cgroup.event_control").write_text(request)
        except OSError:
            os.close(event)
        else:
            self.wake = event

    def heed_wake(self) -> None:
        """Note that memory ran out, in this group or in an ancestor."""
        if self.wake is not None:
            os.eventfd_read(self.wake)
        self._out_of_memory = True

    def enter(self) -> None:
        """Move the calling process into every folder."""
        for folder in self._folders.values():
            (folder / INSIDE / "cgroup.procs").write_text("0")

    def cpu_seconds(self) -> float:
        """CPU time from cpuacct.usage, in nanoseconds there."""
        return read_number(self._folders["cpuacct"] / "cpuacct.usage") / 1e9

    def peak_bytes(self) -> int:
        """The high-water mark of memory, page cache and tmpfs included."""
        return read_number(self._memory / "memory.max_usage_in_bytes")

    def exceeded(self, limits: Limits) -> str | None:
        """Which limit was hit; above the limit means that a member raised it."""
        full = limits.memory_bytes - _PAGES_SLACK
        if (peak := self.peak_bytes()) > limits.memory_bytes + RAISED_BYTES:
            return "memory"
        # An ancestor's shortage wakes and kills as well, but there the peak is below our limit.
        if peak >= full and (self._out_of_memory or self._kills()):
            return "memory"
        if read_number(self._pids / "pids.current") > limits.processes:
            return "processes"
        if was_full(self._pids, limits.processes):
            return "processes"
        return None

    def _kills(self) -> int:
        """Members that the kernel killed, counted where each of them was."""
        return sum(
            read_fields(folder / "memory.oom_control").get("oom_kill", 0)
            for folder in subtree(self._memory)
        )

    def kill(self) -> bool:
        """Freeze, signal everyone, thaw: nobody can fork in between."""
        freezer = self._folders["freezer"]
        deadline = time.monotonic() + _KILL_SECONDS
        found = False
        while pids := self.pids():
            found = True
            with suppress(OSError):
                (freezer / "freezer.state").write_text("FROZEN")
            for pid in pids | self.pids():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            # A frozen process does not even die, and a command can have frozen an inner group.
            for folder in subtree(freezer):
                with suppress(OSError):
                    (folder / "freezer.state").write_text("THAWED")
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)
        return found

    def pids(self) -> set[int]:
        """Its members now, in whichever hierarchy."""
        return {pid for folder in self._folders.values() for pid in all_members(folder)}

    def remove(self) -> None:
        """Kill what is left and remove the folders."""
        if self.wake is not None:
            os.close(self.wake)
            self.wake = None
        self.kill()
        for folder in self._folders.values():
            remove_folder(folder)


def parents_of_this_process(membership: str, mounts: str) -> tuple[dict[str, str], list[str]]:
    """Folders of this process's groups by controller, and the controllers that are missing.

    Args:
        membership: the text of /proc/self/cgroup, cgroups(7).
        mounts: the text of /proc/self/mountinfo, proc(5).
    """
    own = {}
    for line in membership.splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        own.update(dict.fromkeys(filter(None, names.split(",")), path))
    found: dict[str, str] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        if kind != "cgroup":
            continue
        root, mount_point = before.split()[3:5]
        for controller in options.split()[-1].split(","):
            if controller in own and controller in (*NEEDED, *OPTIONAL):
                found[controller] = folder_of(own[controller], root, mount_point)
    return found, [controller for controller in NEEDED if controller not in found]
