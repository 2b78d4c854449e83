"""A TOML file whose keys know their lines.

`tomllib` gives the line of a syntax error only. To say where a wrong value stands, the raw text is
scanned for `key =` and `[table]` at the start of lines; a key that this does not find (inside an
inline table, say) gets the line of the nearest key or table around it, at worst none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jobs.input_errors import FaultLog, Place

_TABLE = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_SYNTAX_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, slots=True)
class TomlDocument:
    """A parsed TOML file and the lines of its keys."""

    path: Path
    value: dict[str, Any]
    lines: dict[str, int]
    """Dotted key to 1-based line."""

    def add(self, log: FaultLog, field: str | None, message: str) -> None:
        """Note a fault of a field, with the field's line where it was found."""
        self._place(log, field).add(field, message)

    def add_validation(
        self,
        log: FaultLog,
        error: ValidationError,
        *,
        prefix: str = "",
        known: Sequence[str] = (),
    ) -> None:
        """Note every fault of a record that pydantic refused, each with its field's line."""
        without_lines = FaultLog()
        without_lines.at(self.path).add_validation(error, prefix=prefix, known=known)
        for fault in without_lines.faults:
            self.add(log, fault.field, fault.message)

    def _place(self, log: FaultLog, field: str | None) -> Place:
        while field and field not in self.lines:
            field = field.rpartition(".")[0]
        return log.at(self.path, self.lines.get(field) if field else None)


def read_toml(path: Path, log: FaultLog) -> TomlDocument | None:
    """The document at a path; `None` when it cannot be read, with the reason noted in `log`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return TomlDocument(path, tomllib.loads(text), _key_lines(text))
    except OSError as error:
        log.at(path).add(None, f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        log.at(path).add(None, f"not UTF-8 at byte {error.start + 1}; save the file as UTF-8")
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = _SYNTAX_PLACE.search(message)
        line = int(found[1]) if found else None
        shown = f"{message[: found.start()]} at column {found[2]}" if found else message
        log.at(path, line).add(None, f"not TOML: {shown}")
    return None


def _key_lines(text: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = _dotted(header[1])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault(f"{table}.{_dotted(key[1])}" if table else _dotted(key[1]), number)
    return lines


def _dotted(key: str) -> str:
    """A key without the blanks and quotes that TOML allows around its parts."""
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
