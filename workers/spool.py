"""A command's two output pipes, copied to files up to a cap."""

from __future__ import annotations

import os

_CHUNK_BYTES = 1 << 16


class Spool:
    """Standard output and error of one run; `over` once they hold more than the cap together."""

    def __init__(self, stdout: str, stderr: str, cap: int) -> None:
        self.bytes = 0
        self.over = False
        self._cap = cap
        self._files: dict[int, tuple[int, str]] = {}
        writers = []
        for path in (stdout, stderr):
            # O_EXCL: what an earlier run said is evidence.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            target = os.open(path, flags, 0o644)
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            self._files[reader] = (target, path)
            writers.append(writer)
        self.writers = (writers[0], writers[1])

    @property
    def readers(self) -> list[int]:
        """The pipes' reading ends."""
        return list(self._files)

    def close_writers(self) -> None:
        """Leave the writing ends to the command alone, or the pipes would never end."""
        for writer in self.writers:
            os.close(writer)

    def copy(self, reader: int) -> bytes | None:
        """Copy a chunk of one pipe; empty at its end, None when it holds nothing for now."""
        try:
            chunk = os.read(reader, _CHUNK_BYTES)
        except BlockingIOError:  # a command can read its own output through /proc/self/fd
            return None
        target, path = self._files[reader]
        kept = chunk[: self._cap - self.bytes]
        self.over = self.over or len(kept) < len(chunk)
        self.bytes += len(kept)
        while kept:
            try:
                kept = kept[os.write(target, kept) :]
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from None
        return chunk

    def drain(self) -> None:
        """Copy what is left in the pipes.

        The writers are dead, so an empty pipe is a finished one: not waiting for end of file
        keeps a foreign process that was handed a descriptor from holding the run up.
        """
        for reader in self._files:
            while self.copy(reader):
                pass
