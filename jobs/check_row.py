"""One line of what `tlagrid doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check came out."""

    OK = "ok"
    MISSING = "missing"
    """Required, and not there or not working."""
    WARNING = "warning"
    """Grading works, but not all of it or not everywhere."""
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was checked."""

    name: str
    status: Status
    detail: str
    remedy: str | None = None
    """The command or setting that mends it."""
