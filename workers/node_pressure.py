"""How busy the node was while a run lasted: time that tasks of the whole node stood waiting.

Wall time says something about a candidate only on a node that had time for it. The kernel counts
for how long some task waited for a CPU, for memory or for the disk (pressure stall information,
/proc/pressure, kernel page accounting/psi), how long the hypervisor ran somebody else (`steal`
in /proc/stat, proc(5)), and how long the container was kept from running by its CPU quota
(`throttled` in cpu.stat, kernel page admin-guide/cgroup-v2). A figure that the node does not
offer is unknown, not 0.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from workers.control_group import folder_of

BUSY_SHARE = 0.1
"""A node is under pressure when more than this share of the time was spent waiting."""


@dataclass(frozen=True, slots=True)
class NodePressure:
    """Shares of a run's wall time, 0 to 1; `None` where the node does not tell."""

    cpu: float | None = None
    memory: float | None = None
    io: float | None = None
    steal: float | None = None
    """Of all CPUs' time."""
    throttled: float | None = None

    @property
    def is_high(self) -> bool:
        """Whether a wall limit on such a node says little about the candidate."""
        shares = (self.cpu, self.memory, self.io, self.steal, self.throttled)
        return any(share is not None and share > BUSY_SHARE for share in shares)


class PressureMeter:
    """Reads the node's counters now, and again at the end of a run."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        """Start to measure, for the machine and the container that `proc` describes."""
        self._proc = proc
        self._cpu_stats = _throttling_files(
            _text(proc / "self" / "cgroup"), _text(proc / "self" / "mountinfo")
        )
        self._began = time.monotonic()
        self._before = self._read()

    def pressure(self) -> NodePressure:
        """The shares since this meter was made."""
        seconds = max(time.monotonic() - self._began, 1e-3)
        shares: dict[str, float] = {}
        for (name, source), now in self._read().items():
            if (before := self._before.get((name, source))) is not None:
                share = round(min(1.0, max(0.0, (now - before) / seconds)), 4)
                shares[name] = max(share, shares.get(name, 0.0))
        return NodePressure(**shares)

    def _read(self) -> dict[tuple[str, str], float]:
        """Seconds by figure and by the file that they come from."""
        found: dict[tuple[str, str], float] = {}
        for name in ("cpu", "memory", "io"):
            text = _text(self._proc / "pressure" / name)
            if total := re.search(r"^some .*\btotal=(\d+)", text, re.MULTILINE):
                found[name, ""] = int(total[1]) / 1e6
        if line := re.search(r"^cpu +(.*)$", _text(self._proc / "stat"), re.MULTILINE):
            figures = line[1].split()
            if len(figures) > 7:
                ticks = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
                found["steal", ""] = int(figures[7]) / ticks
        for path in self._cpu_stats:
            if (throttled := _throttled(_text(path))) is not None:
                found["throttled", str(path)] = throttled
        return found


def _throttling_files(membership: str, mounts: str) -> list[Path]:
    """The cpu.stat files of this process's control group and of those above it, as far as seen.

    Args:
        membership: the text of /proc/self/cgroup, cgroups(7).
        mounts: the text of /proc/self/mountinfo, proc(5).
    """
    own = {}
    for line in membership.splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    files = []
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        controllers = options.split(" ")[-1].split(",")
        if kind == "cgroup2" and "" in own:
            path = own[""]
        elif kind == "cgroup" and "cpu" in controllers and "cpu" in own:
            path = own["cpu"]
        else:
            continue
        root, mount_point = before.split()[3:5]
        group = Path(folder_of(path, root, mount_point))
        above = [folder for folder in group.parents if folder.is_relative_to(mount_point)]
        files += [folder / "cpu.stat" for folder in (group, *above)]
    return files


def _throttled(text: str) -> float | None:
    """Seconds from cpu.stat: microseconds in version 2, nanoseconds in version 1."""
    found = re.search(r"^throttled_(usec|time) (\d+)$", text, re.MULTILINE)
    return int(found[2]) / (1e6 if found[1] == "usec" else 1e9) if found else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
