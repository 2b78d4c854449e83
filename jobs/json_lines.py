"""JSON Lines, read strictly and with the place of every line.

The standard parser forgives what would silently change a manifest: of two equal keys the last one
wins, `NaN` is a number, `1e999` is infinity. Here each of these is a fault of its line. Lines are
read one at a time as bytes, so that a manifest of any size needs the memory of its longest line
and a line can be found again by its byte offset.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from jobs.input_errors import FaultLog, Place


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Where a line lies in its file."""

    file: Path
    number: int
    """1-based."""
    offset: int
    """Bytes from the start of the file."""
    length: int
    """Bytes, with the line break."""


def read_json_lines(file: Path, log: FaultLog) -> Iterator[tuple[LinePlace, dict[str, Any]]]:
    """Every line of a file that holds a JSON object; blank lines are skipped.

    A line that holds something else is noted in `log`.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open("rb") as stream:
        offset = 0
        for number, raw in enumerate(stream, start=1):
            start, offset = offset, offset + len(raw)
            text = raw
            if number == 1 and raw.startswith(codecs.BOM_UTF8):
                start, text = start + len(codecs.BOM_UTF8), raw[len(codecs.BOM_UTF8) :]
            if not text.strip():
                continue
            value = parse_json_object(text, log.at(file, number))
            if value is not None:
                yield LinePlace(file, number, start, len(text)), value


def parse_json_object(raw: bytes, place: Place) -> dict[str, Any] | None:
    """The JSON object in `raw`; `None` when there is none, with the reason noted at `place`.

    A repeated key is noted too, and the object is still returned for further checks.
    """
    try:
        value, repeated = _decode(raw.decode().rstrip())
    except UnicodeDecodeError as error:
        place.add(None, f"not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8")
        return None
    except json.JSONDecodeError as error:
        column = f"column {error.colno}"
        where = column if error.lineno == 1 else f"line {error.lineno}, {column}"
        place.add(None, f"not JSON: {error.msg} at {where}")
        return None
    except (ValueError, RecursionError) as error:
        place.add(None, f"not JSON: {error}")
        return None
    if not isinstance(value, dict):
        place.add(None, f"must be a JSON object, not {_json_type(value)}")
        return None
    for path in repeated:
        place.add(path, "the key appears more than once")
    return value


class _Repeating(dict[str, Any]):
    """An object some of whose keys appeared more than once."""

    repeated: tuple[str, ...] = ()


class _RepeatedKeyError(Exception):
    """The text has an object with a repeated key."""


def _decode(text: str) -> tuple[Any, list[str]]:
    """The JSON value and the dotted paths of repeated keys, which nearly no line has."""
    try:
        return _STRICT.decode(text), []
    except _RepeatedKeyError:
        value = _TOLERANT.decode(text)
        return value, list(_repeated_keys(value))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _RepeatedKeyError
    return value


def _any_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    value = _Repeating(pairs)
    value.repeated = tuple(name for name in value if names.count(name) > 1)
    return value


def _repeated_keys(value: Any) -> Iterator[str]:
    """Dotted paths of repeated keys. A repetition inside an overridden value is not looked for."""
    if isinstance(value, _Repeating):
        yield from value.repeated
    if isinstance(value, dict):
        inner: Iterator[tuple[str, Any]] = iter(value.items())
    elif isinstance(value, list):
        inner = ((str(index), item) for index, item in enumerate(value))
    else:
        return
    for name, item in inner:
        for path in _repeated_keys(item):
            yield f"{name}.{path}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:20]} is out of range")
    return number


def _json_type(value: object) -> str:
    match value:
        case list():
            return "an array"
        case str():
            return "a string"
        case None:
            return "null"
        case bool():
            return "a boolean"
        case _:
            return "a number"


_STRICT, _TOLERANT = (
    json.JSONDecoder(object_pairs_hook=hook, parse_constant=_refuse_constant, parse_float=_finite)
    for hook in (_unique_keys, _any_keys)
)
