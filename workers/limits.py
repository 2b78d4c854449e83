"""The limits of one run, and the names under which they fire."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum


class Limit(StrEnum):
    """What a run was stopped for; the values are the sub-kinds of `resource_limit`."""

    WALL = "wall"
    CPU = "cpu"
    MEMORY = "memory"
    OUTPUT = "output"
    SCRATCH = "scratch"
    PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a whole process tree may use; a run that uses more is killed as one.

    Raises ValueError for a limit that is not positive.
    """

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int
    """Memory of all processes together, pages that they share once; none of it may be swap."""
    processes: int
    """Processes and threads that exist at the same time, as the kernel's pids controller counts."""
    scratch_bytes: int
    """Bytes allocated below the scratch folder."""
    output_bytes: int
    """Standard output and standard error together."""
    scratch_files: int = 20_000
    """Files and folders below the scratch folder; more of them fire `SCRATCH`, too."""
    open_files: int = 4096
    """Descriptors of one process (RLIMIT_NOFILE): more cannot be opened, and nothing fires."""
    cores: int = 1
    """Physical cores that the run may use (`workers.core_pinning`)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(
                    f"limit {field.name} is {getattr(self, field.name)}; it must be above 0"
                )
