"""What is wrong with a user's input, all of it at once, each with its place.

Reading a sweep must not stop at the first mistake: whoever mends a manifest of thousands of lines
wants every message in one go. Readers therefore hand their faults to a `FaultLog` and go on; the
outermost reader ends with `raise_if_any`. Faults of the environment (a full disk, a lost node)
are not input faults and do not belong here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


@dataclass(frozen=True, slots=True)
class InputFault:
    """One mistake in the input and where it is."""

    file: Path
    """As the user can open it: relative when the user gave a relative path."""
    line: int | None
    """1-based; `None` when the fault concerns the whole file."""
    field: str | None
    """Dotted path of the field, such as `config.path` or `context.Util`."""
    message: str

    def __str__(self) -> str:
        """One line: `problems.jsonl:17: config.path: no such file ...`."""
        place = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        parts = (place, self.message) if self.field is None else (place, self.field, self.message)
        return _printable(": ".join(parts))


class InputError(Exception):
    """Input that cannot be graded; holds every fault that was found, by file and line."""

    def __init__(self, faults: Sequence[InputFault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: (str(fault.file), fault.line or 0)))
        super().__init__(self.faults)

    def __str__(self) -> str:
        """All faults, one a line."""
        return "\n".join(str(fault) for fault in self.faults)


@dataclass(slots=True)
class FaultLog:
    """Collects the faults of one reading, whichever files they are in."""

    faults: list[InputFault] = field(default_factory=list)

    def at(self, file: Path, line: int | None = None) -> Place:
        """The place that the next faults are about."""
        return Place(self, file, line)

    def raise_if_any(self) -> None:
        """End a reading.

        Raises:
            InputError: there was at least one fault.
        """
        if self.faults:
            raise InputError(self.faults)


@dataclass(frozen=True, slots=True)
class Place:
    """A file or one of its lines, whose faults go to a log."""

    log: FaultLog
    file: Path
    line: int | None

    def add(self, field: str | None, message: str) -> None:
        """Note a fault of this place."""
        self.log.faults.append(InputFault(self.file, self.line, field, message))

    def add_validation(
        self, error: ValidationError, *, prefix: str = "", known: Sequence[str] = ()
    ) -> None:
        """Note every fault of a record that pydantic refused.

        `prefix` is the dotted path of the record within the line; `known` are the names of the
        record's own fields, of which an unknown name may be a misspelling.
        """
        for details in error.errors(include_url=False):
            path = ".".join(part for part in (prefix, *map(str, details["loc"])) if part)
            self.add(path or None, _explain(details, known))


_PLAIN_WORDS = {
    "missing": "is missing",
    "string_too_short": "must not be empty",
    "string_unicode": "is not valid Unicode: it contains half of a surrogate pair",
}


def _explain(details: ErrorDetails, known: Sequence[str]) -> str:
    kind, path, value = details["type"], details["loc"], _excerpt(details["input"])
    if kind in _PLAIN_WORDS:
        return _PLAIN_WORDS[kind]
    if kind == "extra_forbidden":
        close = get_close_matches(str(path[-1]), known, n=1) if len(path) == 1 else []
        return f"unknown field; did you mean {close[0]!r}?" if close else "unknown field"
    if kind == "value_error":
        return str(details["ctx"]["error"])
    if kind in ("model_type", "dict_type"):
        return f"must be an object with named fields, not {value}"
    message = details["msg"].removeprefix("Input ").removeprefix("String ")
    return f"{message}, not {value}"


def _excerpt(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _printable(text: str) -> str:
    """Names in a message come from the input: a line break in one must not forge a second fault."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
