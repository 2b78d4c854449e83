"""What the caller asks of a run's supervisor and what comes back, as JSON over a socket.

A message is its length in 8 bytes, then its text. Paths and arguments are bytes that need not be
UTF-8; they travel as strings with surrogate escapes, which JSON can carry.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from typing import Any

from workers.enforcement import Enforcement
from workers.limits import Limits
from workers.node_pressure import NodePressure


class CallerGoneError(Exception):
    """The caller died or gave up: there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run, where, and within which limits."""

    program: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    scratch: str
    stdout: str
    stderr: str
    limits: Limits
    enforcement: Enforcement
    core_locks: str
    """Folder in which runs of this node claim their cores."""

    def encode(self) -> bytes:
        """The message."""
        fields = asdict(self) | {"enforcement": self.enforcement.to_fields()}
        return _message(fields)

    @classmethod
    def receive(cls, connection: socket.socket) -> RunRequest:
        """Read the message.

        Raises:
            CallerGoneError: the caller ended before it was complete.
        """
        length = int.from_bytes(_receive_exactly(connection, 8), "big")
        fields: dict[str, Any] = json.loads(_receive_exactly(connection, length))
        return cls(
            **{
                **fields,
                "argv": tuple(fields["argv"]),
                "limits": Limits(**fields["limits"]),
                "enforcement": Enforcement.from_fields(fields["enforcement"]),
            }
        )


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a run ended and what it used, or why there was none."""

    error: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    limit: str | None = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_memory_bytes: int = 0
    output_bytes: int = 0
    scratch_bytes: int = 0
    scratch_files: int = 0
    cores: tuple[int, ...] = ()
    cores_shared: bool = False
    pressure: NodePressure = NodePressure()  # noqa: RUF009 - immutable

    def encode(self) -> bytes:
        """The text; the end of the connection ends it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, text: bytes) -> RunReport:
        """Read the text.

        Raises:
            ValueError: it is not complete.
        """
        fields: dict[str, Any] = json.loads(text)
        return cls(
            **{
                **fields,
                "cores": tuple(fields["cores"]),
                "pressure": NodePressure(**fields["pressure"]),
            }
        )


def _message(fields: dict[str, Any]) -> bytes:
    text = json.dumps(fields).encode()
    return len(text).to_bytes(8, "big") + text


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise CallerGoneError
        parts += part
    return bytes(parts)
