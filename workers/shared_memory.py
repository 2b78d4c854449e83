"""Memory of a run in files of /dev/shm, where the run shares that folder with the whole node.

Such files belong to nobody's resident memory once they are written and not mapped. What a sample
can see is which of them the run's processes have open at that moment; so that is counted, and what
was seen and did not exist before the run is removed after it. Files that were closed before any
sample saw them are missed. The samples cost a look at the folder's size until that grows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from workers.confinement import SHARED_MEMORY

_GROWTH_BYTES = 4 << 20
_BLOCK_BYTES = 512


class SharedMemoryFiles:
    """Files of the node's /dev/shm that one run has open."""

    def __init__(self, folder: str = SHARED_MEMORY) -> None:
        """Note what is in the folder before the run."""
        self._folder = folder
        self._before = self._used()
        self._names = set(self._listing())
        self._seen: dict[str, tuple[int, int]] = {}

    def bytes(self, pids: Iterable[int]) -> int:
        """Bytes of the files that these processes have open."""
        if self._used() - self._before < _GROWTH_BYTES:
            return 0
        sizes: dict[tuple[int, int], int] = {}
        for pid in pids:
            for path, status in self._open_files(pid):
                key = (status.st_dev, status.st_ino)
                sizes[key] = status.st_blocks * _BLOCK_BYTES
                if path.removeprefix(f"{self._folder}/").partition("/")[0] not in self._names:
                    self._seen[path] = key
        return sum(sizes.values())

    def remove_leftovers(self) -> None:
        """Remove what the run made and was seen to have open; its processes are dead."""
        for path, key in self._seen.items():
            with suppress(OSError):
                status = os.lstat(path)
                if (status.st_dev, status.st_ino) == key:
                    os.unlink(path)  # noqa: PTH108 - pathlib is not loaded here

    def _open_files(self, pid: int) -> Iterable[tuple[str, os.stat_result]]:
        folder = f"/proc/{pid}/fd"
        try:
            descriptors = os.listdir(folder)  # noqa: PTH208
        except OSError:
            return
        for descriptor in descriptors:
            link = f"{folder}/{descriptor}"
            with suppress(OSError):
                path = os.readlink(link)  # noqa: PTH115
                if path.startswith(f"{self._folder}/"):
                    yield path, os.stat(link)  # noqa: PTH116

    def _used(self) -> int:
        try:
            status = os.statvfs(self._folder)
        except OSError:
            return 0
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def _listing(self) -> list[str]:
        try:
            return os.listdir(self._folder)  # noqa: PTH208
        except OSError:
            return []
