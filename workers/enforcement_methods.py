"""What each way of enforcement does about each limit: prevents, detects, or does not cover.

The same table, with what can slip through, stands in docs/quotas.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from workers.confinement import SHARED_MEMORY
from workers.enforcement import Enforcement, Tier


class Strength(StrEnum):
    """How well a limit holds."""

    PREVENTS = "prevents"
    """More cannot be used."""
    DETECTS = "detects"
    """More is noticed, soon or at the end, and ends the run."""
    NOT_COVERED = "not covered"


@dataclass(frozen=True, slots=True)
class Method:
    """How one limit is held."""

    subject: str
    strength: Strength
    how: str


def methods_of(enforcement: Enforcement) -> Iterator[Method]:
    """How each limit is held, in the order of docs/quotas.md."""
    prevents, detects = Strength.PREVENTS, Strength.DETECTS
    counters = {
        Tier.CGROUP_V2: "the group's cpu.stat",
        Tier.CGROUP_V1: "the group's cpuacct.usage",
        Tier.SAMPLING: "/proc and the times of reaped processes",
    }
    in_group = enforcement.tier is not Tier.SAMPLING
    yield Method("wall", prevents, "a timer, then SIGKILL for the whole tree")
    yield Method("cpu", detects, f"{counters[enforcement.tier]}, read ten times a second")
    if enforcement.tier is Tier.CGROUP_V2:
        yield Method("memory", prevents, "memory.max without swap; the group dies as one")
    elif enforcement.tier is Tier.CGROUP_V1:
        yield Method("memory", prevents, "memory.limit_in_bytes, swap included; we end the rest")
    else:
        yield Method(
            "memory",
            detects,
            "proportional set sizes and memory behind descriptors, ten times a second",
        )
    yield _shared_memory(enforcement, in_group=in_group)
    if in_group:
        yield Method("processes", prevents, "pids.max; the first refused fork ends the run")
    else:
        yield Method("processes", detects, "processes and threads, counted ten times a second")
    yield Method("output", prevents, "two pipes; what is over the limit is not written")
    yield Method(
        "scratch", detects, "the folder is walked, and deleted files that are open are added"
    )
    if enforcement.cpuset and enforcement.private_shm:
        yield Method("cores", prevents, "the cpuset controller, out of the command's sight")
    else:
        yield Method("cores", Strength.NOT_COVERED, "an affinity, which a program can widen again")
    yield Method("open files", prevents, "RLIMIT_NOFILE")
    yield Method("core dumps", prevents, "RLIMIT_CORE")


def _shared_memory(enforcement: Enforcement, *, in_group: bool) -> Method:
    if in_group and enforcement.private_shm:
        how = "counted as memory of the group, in a folder of the run's own"
        return Method(SHARED_MEMORY, Strength.PREVENTS, how)
    if in_group:
        how = "counted as memory of the group; files that were closed again stay"
        return Method(SHARED_MEMORY, Strength.PREVENTS, how)
    if enforcement.private_shm:
        how = "a folder of the run's own, limited in size and counted as memory"
        return Method(SHARED_MEMORY, Strength.PREVENTS, how)
    return Method(
        SHARED_MEMORY, Strength.DETECTS, "files that are open at a sample count as memory"
    )
