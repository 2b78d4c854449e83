"""JSON lines in compressed objects whose names carry the SHA-256 of the lines.

Both a run's frozen inputs and its verdicts are kept this way. A reader verifies the whole object
before it hands out the first line, so that a truncated or damaged object is an error that names
it and never a shorter run. Memory holds the compressed object and one line.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import zstandard

from cluster.store import Store, StoreError

SUFFIX = ".jsonl.zst"

_LEVEL = 3
_NAMED_SHA256 = re.compile(rf"(?:^|[-/])([0-9a-f]{{64}}){re.escape(SUFFIX)}$")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Lines:
    """Compressed lines, ready to be stored under a name that carries `sha256`."""

    data: bytes
    sha256: str
    count: int


def compress_lines(lines: Iterable[bytes]) -> Lines:
    """Compress lines, each without its newline, as they come."""
    digest = hashlib.sha256()
    count = 0
    buffer = io.BytesIO()
    with zstandard.ZstdCompressor(level=_LEVEL).stream_writer(buffer, closefd=False) as writer:
        for line in lines:
            writer.write(line)
            writer.write(b"\n")
            digest.update(line)
            digest.update(b"\n")
            count += 1
    return Lines(buffer.getvalue(), digest.hexdigest(), count)


def read_lines(store: Store, key: str) -> Iterator[bytes]:
    """The lines of a stored object, without their newlines.

    Raises:
        MissingObjectError: there is no such object.
        StoreError: it is truncated or corrupt.
    """
    named = _NAMED_SHA256.search(key)
    if named is None:
        raise StoreError(f"store {store.uri}: {key} does not carry a SHA-256 in its name")
    data = store.get(key)
    digest = hashlib.sha256()
    try:
        with _reader(data) as reader:
            while chunk := reader.read(_CHUNK):
                digest.update(chunk)
    except zstandard.ZstdError as error:
        raise StoreError(f"store {store.uri}: {key} is corrupt: {error}") from error
    if digest.hexdigest() != named.group(1):
        raise StoreError(
            f"store {store.uri}: {key} is truncated or corrupt: "
            "its lines do not have the SHA-256 that its name carries"
        )
    with io.BufferedReader(_reader(data), _CHUNK) as lines:
        for line in lines:
            yield line.rstrip(b"\n")


def _reader(data: bytes) -> zstandard.ZstdDecompressionReader:
    return zstandard.ZstdDecompressor().stream_reader(data)
