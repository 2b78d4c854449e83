"""What a control group does for a run, whichever version of control groups it is.

A run's group counts exactly, prevents what it can, and ends all members at once. The folders are
named after the guard process that made them, so that a group whose guard is gone can be told from
a living one's (`workers.leftovers`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from workers.limits import Limits

PREFIX = "tlagrid-"
RAISED_BYTES = 8 << 20
"""The kernel lets some charges through at the limit; more than this means that it was raised."""

_REMOVE_SECONDS = 2.0


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

    def kill(self) -> bool:
        """Send SIGKILL to all members as one; True when there were some."""

    def remove(self) -> None:
        """Kill what is left and remove the group."""


def read(path: Path) -> str:
    """Text of one of the kernel's small files; empty when it is not there."""
    try:
        return path.read_text()
    except OSError:
        return ""


def read_number(path: Path, default: int = 0) -> int:
    """A file's number; the default where there is none or it says `max`."""
    text = read(path).strip()
    return int(text) if text.isdigit() else default


def read_fields(path: Path) -> dict[str, int]:
    """Lines `name number`, such as those of cpu.stat and memory.events."""
    pairs = (line.split() for line in read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def members(folder: Path) -> list[int]:
    """Processes in the group of this folder; empty when it is gone."""
    return [int(pid) for pid in read(folder / "cgroup.procs").split()]


def was_full(folder: Path, processes: int) -> bool:
    """Whether a fork was refused for this group's own limit and not for an ancestor's.

    pids.events counts both where the fork was tried (before Linux 6.11, and in version 1). Where
    there is no mark (pids.peak, Linux 6.6) the ancestors are asked whether they are full.
    """
    if not read_fields(folder / "pids.events").get("max"):
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
    """Remove a group's folder, for a moment busy with members that are exiting.

    Raises:
        OSError: it is still busy after two seconds.
    """
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        try:
            os.rmdir(folder)  # noqa: PTH106 - pathlib imports more
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)
        else:
            return
