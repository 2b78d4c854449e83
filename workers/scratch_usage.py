"""What a run's scratch folder holds: walked again and again while the run lives.

Bytes count as allocated, not as apparent: a sparse file uses what it uses. A file with several
names counts once, links are not followed. A folder that the run has locked is opened up, and one
that lies so deep that it has no path counts as more than any limit: no tool needs such a one.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager

_PAUSE_SECONDS = 0.1
_SLICE_SECONDS = 0.04
_SLICE_ENTRIES = 64
_MORE_THAN_ANY = 1 << 62
_DUTY = 10
"""A walk is followed by a pause at least this many times as long as what it took."""

_BLOCK_BYTES = 512  # the unit of st_blocks whatever the file system's own, stat(2)


class ScratchUsage:
    """Bytes and files of one folder against their limits, walked in slices of bounded cost."""

    def __init__(self, folder: bytes, most_bytes: int, most_files: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._walk: Iterator[tuple[int, int]] | None = None
        self._walked_seconds = 0.0
        self._next_at = 0.0
        self._last = (0, 0)
        self.deleted_bytes = 0
        """Of deleted files that are still open, which no walk finds."""
        self.bytes = 0
        """The most that a finished walk found, or one that was over a limit."""
        self.files = 0

    def is_over(self) -> bool:
        """Go on with the walk for a little while; True when a limit is exceeded."""
        now = time.monotonic()
        if self._walk is None:
            if now < self._next_at:
                return False
            self._walk, self._walked_seconds = contents(self._folder), 0.0
        for found in self._walk:
            if self._exceeds(found):
                self._walk = None
                # Files that moved during the walk were counted twice: look again at once.
                return self.ends_over()
            self._last = found
            if time.monotonic() >= now + _SLICE_SECONDS:
                self._walked_seconds += _SLICE_SECONDS
                return False
        self._note(self._last)
        self._walk = None
        self._walked_seconds += time.monotonic() - now
        self._next_at = now + max(_PAUSE_SECONDS, _DUTY * self._walked_seconds)
        return False

    def ends_over(self) -> bool:
        """Walk through all of it; True when a limit is exceeded."""
        for found in contents(self._folder):
            self._last = found
            if self._exceeds(found):
                break
        self._note(self._last)
        return self._exceeds(self._last)

    def _exceeds(self, found: tuple[int, int]) -> bool:
        in_all = found[0] + self.deleted_bytes
        return in_all > self._most_bytes or found[1] > self._most_files

    def _note(self, found: tuple[int, int]) -> None:
        self.bytes = max(self.bytes, found[0] + self.deleted_bytes)
        self.files = max(self.files, found[1])


def contents(folder: bytes) -> Iterator[tuple[int, int]]:
    """Yield bytes allocated and entries below the folder: sums so far now and then, last all."""
    sums = _Sums()
    # Breadth first: a folder of a thousand folders is counted before they are opened one by one.
    folders = deque([folder])
    while folders:
        try:
            with _listed(folders.popleft()) as listing:
                for entry in listing:
                    sums.add(entry)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    if sums.entries % _SLICE_ENTRIES == 0:
                        yield sums.bytes, sums.entries
        except FileNotFoundError:  # deleted meanwhile
            continue
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            sums.bytes = sums.entries = _MORE_THAN_ANY
    yield sums.bytes, sums.entries


class _Sums:
    """What a walk has found so far."""

    def __init__(self) -> None:
        self.bytes = 0
        self.entries = 0
        self._linked: set[tuple[int, int]] = set()

    def add(self, entry: os.DirEntry[bytes]) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted meanwhile
            return
        self.entries += 1
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            if (status.st_dev, status.st_ino) in self._linked:
                return
            self._linked.add((status.st_dev, status.st_ino))
        self.bytes += status.st_blocks * _BLOCK_BYTES


def _listed(folder: bytes) -> AbstractContextManager[Iterator[os.DirEntry[bytes]]]:
    try:
        return os.scandir(folder)
    except PermissionError:
        os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101
        return os.scandir(folder)
