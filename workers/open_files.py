"""What a run holds in files that a walk through folders does not find, seen by who has them open.

Files in /dev/shm, memfds and System V segments are memory of no process once they are written and
not mapped; deleted files take space on the disk until they are closed. A sample sees those that
the run's processes have open at that moment. Where /dev/shm is shared with the whole node, what
was seen there and did not exist before the run is removed after it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress

from workers.confinement import SHARED_MEMORY, shared_memory_bytes

_BLOCK_BYTES = 512
_SEGMENTS = "/proc/sysvipc/shm"
_CREATOR, _RESIDENT = 4, 14  # columns of that file, proc(5)


class SharedMemory:
    """Memory of one run outside its processes, for tiers in which no group counts it."""

    def __init__(self, *, private: bool, folder: str = SHARED_MEMORY) -> None:
        """Note what there is before the run; `private`: nobody but the run sees the folder."""
        self._private = private
        self._folder = folder
        self._names = set() if private else set(_listing(folder))
        self._seen: dict[str, tuple[int, int]] = {}

    def bytes(self, pids: Collection[int]) -> int:
        """Bytes of what these processes have open, or of all that is the run's own."""
        sizes: dict[tuple[int, int], int] = {}
        for path, status in _open_files(pids):
            key = (status.st_dev, status.st_ino)
            in_folder = not self._private and path.startswith(f"{self._folder}/")
            if in_folder or path.startswith("/memfd:"):
                sizes[key] = status.st_blocks * _BLOCK_BYTES
            if in_folder and self._is_new(path):
                self._seen[path] = key
        own = shared_memory_bytes() if self._private else 0
        return own + sum(sizes.values()) + self._segments(pids)

    def remove_leftovers(self) -> None:
        """Remove files that the run made and was seen to have open; its processes are dead."""
        for path, key in self._seen.items():
            with suppress(OSError):
                status = os.lstat(path)
                if (status.st_dev, status.st_ino) == key:
                    os.unlink(path)  # noqa: PTH108 - pathlib is not needed here

    def _is_new(self, path: str) -> bool:
        return path.removeprefix(f"{self._folder}/").partition("/")[0] not in self._names

    def _segments(self, pids: Collection[int]) -> int:
        """Resident bytes of System V segments: of those that the processes made, or of all."""
        try:
            with open(_SEGMENTS) as file:  # noqa: PTH123
                lines = file.readlines()[1:]
        except OSError:
            return 0
        rows = (line.split() for line in lines)
        return sum(
            int(row[_RESIDENT]) for row in rows if self._private or int(row[_CREATOR]) in pids
        )


def deleted_bytes(pids: Collection[int], scratch: bytes) -> int:
    """Bytes of deleted files on the scratch folder's file system that these processes have open."""
    device = os.stat(scratch).st_dev  # noqa: PTH116
    sizes = {
        status.st_ino: status.st_blocks * _BLOCK_BYTES
        for _, status in _open_files(pids)
        if status.st_nlink == 0 and status.st_dev == device and stat.S_ISREG(status.st_mode)
    }
    return sum(sizes.values())


def _open_files(pids: Collection[int]) -> Iterator[tuple[str, os.stat_result]]:
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        for descriptor in _listing(folder):
            with suppress(OSError):  # closed meanwhile
                link = f"{folder}/{descriptor}"
                yield os.readlink(link), os.stat(link)  # noqa: PTH115, PTH116


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:  # gone, or a process that hides itself
        return []
