"""A store whose writes are forgotten, for saying what a command would do.

A dry run that takes the very path of the real one cannot disagree with it, provided that nothing
it writes arrives. Reads see the dry run's own writes first, then the store below.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from cluster.store import Store, StoreError, check_key


class DryStore:
    """Reads another store; keeps writes in memory and drops them with itself."""

    def __init__(self, below: Store) -> None:
        self._below = below
        self._written: dict[str, bytes] = {}

    @property
    def uri(self) -> str:
        """Of the store below: another process that opens it sees none of the writes."""
        return self._below.uri

    def put(self, key: str, data: bytes) -> None:
        """Keep the object in memory."""
        self._written[check_key(key)] = data

    def get(self, key: str) -> bytes:
        """The whole object."""
        return self._written[key] if key in self._written else self._below.get(key)

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """`length` bytes at `offset`."""
        if key not in self._written:
            return self._below.get_range(key, offset, length)
        data = self._written[key][offset : offset + length]
        if len(data) != length:
            raise StoreError(f"store {self.uri}: {key} ends before byte {offset + length}")
        return data

    def list_keys(self, prefix: str) -> Iterator[str]:
        """The keys of both that begin with `prefix`, in name order."""
        own = sorted(key for key in self._written if key.startswith(prefix))
        yield from _distinct(heapq.merge(self._below.list_keys(prefix), own))

    def list_folders(self, prefix: str) -> Iterator[str]:
        """The folders of both directly under `prefix`, in name order."""
        below = (key.removeprefix(prefix) for key in self._written if key.startswith(prefix))
        own = sorted({name.partition("/")[0] for name in below if "/" in name})
        yield from _distinct(heapq.merge(self._below.list_folders(prefix), own))

    def exists(self, key: str) -> bool:
        """Whether there is an object under the key."""
        return key in self._written or self._below.exists(key)

    def delete(self, key: str) -> None:
        """Refused: a dry run has nothing to delete.

        Raises:
            StoreError: always.
        """
        raise StoreError(f"store {self.uri}: a dry run does not delete {key}")


def _distinct(names: Iterator[str]) -> Iterator[str]:
    """Names in order, without repetitions."""
    last = None
    for name in names:
        if name != last:
            yield name
        last = name
