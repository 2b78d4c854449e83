"""Where runs, evidence and verdicts are kept: named objects that are written whole or not at all.

A store maps keys such as `runs/nightly/run.json` to bytes. Everything above it (packs, the
ledger) relies on three things only: a `put` is atomic and may be repeated, a `get` sees what an
earlier `put` of any process wrote, and `list_keys` yields keys in the order of their names. There
is no append and no conditional write, because not every S3-compatible store has them.

This version has the local folder. `LocalStore` survives a crash of the process and of the
machine: an object is written to a temporary file, flushed to the disk, renamed, and the rename
is flushed too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

_KEY_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=+-]{0,199}")
_TEMPORARY = ".tmp-"


class StoreError(Exception):
    """The store cannot do what was asked; the message names the object and the way out."""


class MissingObjectError(StoreError):
    """There is no object under the key."""


class Store(Protocol):
    """Named, immutable-by-convention objects. Every method raises `StoreError`."""

    @property
    def uri(self) -> str:
        """What `open_store` takes to open the same store in another process."""

    def put(self, key: str, data: bytes) -> None:
        """Write the object atomically; repeating it changes nothing."""

    def get(self, key: str) -> bytes:
        """The whole object. Raises `MissingObjectError`."""

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """`length` bytes at `offset`. Raises `MissingObjectError`; too short is a `StoreError`."""

    def list_keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with `prefix`, in the order of their UTF-8 names."""

    def list_folders(self, prefix: str) -> Iterator[str]:
        """The distinct names between `prefix` (which ends with `/`) and the next `/`, in order."""

    def exists(self, key: str) -> bool:
        """Whether there is an object under the key."""

    def delete(self, key: str) -> None:
        """Remove the object; removing what is not there changes nothing."""


def open_store(uri: str) -> Store:
    """Open the store that a user named: a folder's path or a `file://` URI.

    Raises:
        StoreError: the URI names a kind of store that this version does not have.
    """
    scheme, separator, _ = uri.partition("://")
    if not separator:
        return LocalStore(Path(uri).expanduser())
    if scheme == "file":
        parts = urlsplit(uri)
        if parts.netloc not in {"", "localhost"}:
            raise StoreError(f"store {uri}: a file URI names a folder of this host: file:///path")
        return LocalStore(Path(unquote(parts.path)))
    if scheme == "s3":
        raise StoreError(
            f"store {uri}: this version keeps runs in a local folder only; "
            "pass a folder's path with --store or TLAGRID_STORE"
        )
    raise StoreError(f"store {uri}: unknown scheme {scheme!r}; pass a folder's path")


def check_key(key: str) -> str:
    """Return the key when it is a safe relative name, valid in a folder and in S3 alike.

    Raises:
        StoreError: a part is empty, begins with a dot, or has a character beyond `A-Za-z0-9._=+-`.
    """
    if not all(_KEY_PART.fullmatch(part) for part in key.split("/")):
        raise StoreError(
            f"key {key!r} is not valid: parts between slashes begin with a letter, a digit or _ "
            "and go on with letters, digits and any of . _ = + -"
        )
    return key


class LocalStore:
    """A store in a folder, made by the first `put`."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        if self._root.exists() and not self._root.is_dir():
            raise StoreError(f"store {self._root} is a file, not a folder; choose another --store")

    @property
    def uri(self) -> str:
        """The folder's absolute path."""
        return str(self._root)

    def put(self, key: str, data: bytes) -> None:
        """Write the object atomically and durably.

        Raises:
            StoreError: the folder cannot be written, or the disk is full.
        """
        target = self._path(key)
        temporary = target.with_name(_TEMPORARY + secrets.token_hex(8))
        try:
            _make_folder(target.parent)
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(target)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise
            _flush_folder(target.parent)
        except OSError as error:
            raise self._failure("write", key, error) from error

    def get(self, key: str) -> bytes:
        """The whole object.

        Raises:
            MissingObjectError: there is none.
            StoreError: it cannot be read.
        """
        try:
            return self._path(key).read_bytes()
        except OSError as error:
            raise self._failure("read", key, error) from error

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """`length` bytes at `offset`.

        Raises:
            MissingObjectError: there is no such object.
            StoreError: it cannot be read, or ends before the range does.
        """
        try:
            with self._path(key).open("rb") as file:
                file.seek(offset)
                data = file.read(length)
        except OSError as error:
            raise self._failure("read", key, error) from error
        if len(data) != length:
            raise StoreError(
                f"store {self._root}: {key} ends before byte {offset + length}: it is truncated"
            )
        return data

    def list_keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with `prefix`, in name order, one folder in memory at a time."""
        folder, _, _ = prefix.rpartition("/")
        yield from self._walk(f"{folder}/" if folder else "", prefix)

    def list_folders(self, prefix: str) -> Iterator[str]:
        """The names of the folders directly under `prefix`, in order."""
        for name in self._names(prefix):
            if name.endswith("/"):
                yield name[:-1]

    def exists(self, key: str) -> bool:
        """Whether there is an object under the key."""
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        """Remove the object; removing what is not there changes nothing."""
        path = self._path(key)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise self._failure("delete", key, error) from error

    def _walk(self, base: str, prefix: str) -> Iterator[str]:
        for name in self._names(base):
            key = base + name
            if name.endswith("/"):
                if key.startswith(prefix) or prefix.startswith(key):
                    yield from self._walk(key, prefix)
            elif key.startswith(prefix):
                yield key

    def _names(self, base: str) -> list[str]:
        """Entries of one folder, folders with a `/`: their order is then that of whole keys."""
        folder = self._path(base.rstrip("/")) if base else self._root
        try:
            with os.scandir(folder) as entries:
                names = [
                    f"{entry.name}/" if entry.is_dir() else entry.name
                    for entry in entries
                    if not entry.name.startswith(".")
                ]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._failure("list", base, error) from error
        return sorted(names, key=os.fsencode)

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    def _failure(self, action: str, key: str, error: OSError) -> StoreError:
        if isinstance(error, FileNotFoundError | IsADirectoryError) and action == "read":
            return MissingObjectError(f"store {self._root}: there is no {key}")
        what = f"store {self._root}: cannot {action} {key}: {error.strerror or error}"
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                return StoreError(f"{what}; free space there, then run the same command again")
            case errno.EACCES | errno.EPERM | errno.EROFS:
                return StoreError(f"{what}; make the folder writable or choose another --store")
            case _:
                return StoreError(what)


def _make_folder(folder: Path) -> None:
    """Create the folder and its parents, and flush each new name to the disk."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _flush_folder(new.parent)


def _flush_folder(folder: Path) -> None:
    # A rename is durable only once the folder that holds the name is (fsync(2), NOTES).
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
