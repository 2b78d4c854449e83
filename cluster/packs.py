"""Evidence in packs: all that a worker learned about one batch of attempts, in one object.

One object per batch keeps a store with a high price per request usable. Inside, each piece of
evidence is a zstd frame of its own, so that a trace is one ranged read away; equal pieces are
kept once. A pack's key is the SHA-256 of its bytes: writing it again changes nothing, and
a reader notices every damaged byte.

    magic | frame | frame | ... | index frame | index offset (8 bytes, big-endian) | magic

The index lists the frames and repeats the batch's verdicts, so that a pack can be read on its
own. A verdict inside has empty `traces` (they would have to name the pack's hash, which depends
on them); `read_pack` puts them back.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import orjson
import zstandard
from pydantic import Field, ValidationError

from cluster.store import Store, StoreError
from workers.evidence import Graded
from workers.records import SCHEMA_VERSION, Digest, Record, TraceReference, Verdict

_MAGIC = b"tlagrid-pack-1\n"
_TRAILER = struct.Struct(">Q")
_LEVEL = 6


class Frame(Record):
    """One stored piece of evidence."""

    sha256: Digest
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    """Compressed bytes."""
    size: int = Field(ge=0)
    """Bytes once decompressed."""


class PackedAttempt(Record):
    """One attempt's verdict, without its traces, and the frames of its evidence by name."""

    verdict: Verdict
    evidence: tuple[tuple[str, int], ...]
    """Name, and position in the index's `frames`."""


class PackIndex(Record):
    """What a pack holds."""

    schema_version: int = SCHEMA_VERSION
    frames: tuple[Frame, ...]
    attempts: tuple[PackedAttempt, ...]


@dataclass(frozen=True, slots=True)
class SealedPack:
    """A pack that is ready to be stored, and its verdicts with references into it."""

    key: str
    data: bytes
    verdicts: tuple[Verdict, ...]


class PackWriter:
    """Collects the graded attempts of one batch; holds their evidence compressed."""

    def __init__(self) -> None:
        self._body = bytearray(_MAGIC)
        self._frames: list[Frame] = []
        self._position: dict[str, int] = {}
        self._attempts: list[PackedAttempt] = []
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)

    def add(self, graded: Graded) -> None:
        """Add one attempt's evidence and verdict."""
        names = tuple((piece.name, self._frame(piece.content)) for piece in graded.evidence)
        verdict = graded.verdict.model_copy(update={"traces": ()})
        self._attempts.append(PackedAttempt(verdict=verdict, evidence=names))

    def seal(self) -> SealedPack:
        """Close the pack; equal evidence and verdicts give equal bytes."""
        index = PackIndex(frames=tuple(self._frames), attempts=tuple(self._attempts))
        frame = self._compressor.compress(index.model_dump_json().encode())
        data = bytes(self._body) + frame + _TRAILER.pack(len(self._body)) + _MAGIC
        sha256 = hashlib.sha256(data).hexdigest()
        key = f"packs/{sha256[:2]}/{sha256}.pack"
        return SealedPack(key, data, _with_traces(index, key))

    def _frame(self, content: bytes) -> int:
        sha256 = hashlib.sha256(content).hexdigest()
        position = self._position.get(sha256)
        if position is None:
            compressed = self._compressor.compress(content)
            frame = Frame(
                sha256=sha256, offset=len(self._body), length=len(compressed), size=len(content)
            )
            position = self._position[sha256] = len(self._frames)
            self._frames.append(frame)
            self._body += compressed
        return position


def read_trace(store: Store, reference: TraceReference) -> bytes:
    """The evidence that a verdict cites.

    Raises:
        MissingObjectError: its pack is gone.
        StoreError: the stored bytes are not what the verdict cites.
    """
    where = f"{reference.pack} at {reference.offset} ({reference.name})"
    compressed = store.get_range(reference.pack, reference.offset, reference.length)
    content = _decompress(compressed, reference.size, f"store {store.uri}: {where}")
    if hashlib.sha256(content).hexdigest() != reference.sha256:
        raise StoreError(f"store {store.uri}: {where} is corrupt: its SHA-256 differs")
    return content


def read_pack(store: Store, key: str) -> tuple[Verdict, ...]:
    """The verdicts that a pack holds, with their traces.

    Raises:
        MissingObjectError: there is no such pack.
        StoreError: it is truncated or corrupt.
    """
    data = store.get(key)
    what = f"store {store.uri}: {key}"
    if hashlib.sha256(data).hexdigest() != key.rpartition("/")[2].removesuffix(".pack"):
        raise StoreError(f"{what} is corrupt: its bytes do not have the SHA-256 that names it")
    end = len(data) - len(_MAGIC) - _TRAILER.size
    if end < 0 or not (data.startswith(_MAGIC) and data.endswith(_MAGIC)):
        raise StoreError(f"{what} is not a pack that this version can read")
    (start,) = _TRAILER.unpack_from(data, end)
    try:
        size = zstandard.frame_content_size(data[start:end])
        text = _decompress(data[start:end], size, what)
        return _with_traces(PackIndex.model_validate(orjson.loads(text)), key)
    except (orjson.JSONDecodeError, ValidationError, zstandard.ZstdError) as error:
        raise StoreError(f"{what} has an index that this version cannot read: {error}") from error


def _with_traces(index: PackIndex, key: str) -> tuple[Verdict, ...]:
    return tuple(
        attempt.verdict.model_copy(
            update={
                "traces": tuple(
                    TraceReference(name=name, pack=key, **index.frames[position].model_dump())
                    for name, position in attempt.evidence
                )
            }
        )
        for attempt in index.attempts
    )


def _decompress(compressed: bytes, size: int, what: str) -> bytes:
    """Decompress one frame whose size is known, never allocating more than that."""
    try:
        declared = zstandard.frame_content_size(compressed)
        if declared != size:
            raise StoreError(f"{what} is corrupt: it holds {declared} bytes, not {size}")
        return zstandard.ZstdDecompressor().decompress(compressed, max_output_size=max(size, 1))
    except zstandard.ZstdError as error:
        raise StoreError(f"{what} is corrupt: {error}") from error
