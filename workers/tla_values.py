"""Read values as TLC prints them, into the JSON of the Informal Trace Format (ITF).

TLC prints constant values: numbers, strings, booleans, model values, sets, tuples, records and
functions `(1 :> "a" @@ 2 :> "b")`. What it cannot enumerate it prints unevaluated
(`SUBSET {1, 2}`, `[S -> T]`); such text is kept as ITF's `#unserializable`, never guessed at.

ITF (Apalache ADR-015): sets `{"#set": [...]}`, functions `{"#map": [[key, value], ...]}`, records
as objects, sequences as lists. TLC does not tell tuples from sequences; both become lists. Model
values become strings, as in Apalache's uninterpreted constants.
"""

from __future__ import annotations

import re
from typing import TypeAlias

ItfValue: TypeAlias = "bool | int | str | list[ItfValue] | dict[str, ItfValue]"

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>-?[0-9]{1,4000})(?![A-Za-z_0-9])"
    r'|(?P<string>"(?:[^"\\]++|\\.)*+")'
    r"|(?P<name>[0-9]*[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol><<|>>|\|->|:>|@@|\.\.|[{}\[\](),])"
    r")",
    re.DOTALL,
)
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\f": "\f", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_LARGEST_DEPTH = 75
"""orjson writes 254 levels: a function has three, and a counterexample some of its own."""
_LARGEST_INTERVALS = 10_000
"""Numbers in all intervals of a value together: one that TLC writes in few characters is large."""
_LARGEST_JSON_INTEGER = 2**53


class _UnreadableError(Exception):
    """The text is no plain constant value."""


def read_value(text: str) -> ItfValue:
    """The ITF JSON of a value that TLC printed; unreadable text becomes `#unserializable`."""
    try:
        reader = _Reader(text)
        value = reader.value(0)
        reader.expect_end()
    except _UnreadableError:
        return {"#unserializable": " ".join(text.split())}
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise _UnreadableError
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()
        self._next = 0
        self._enumerated = 0

    def _peek(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise _UnreadableError
        self._next += 1
        return self._tokens[self._next - 1]

    def _expect(self, symbol: str) -> None:
        if self._take() != ("symbol", symbol):
            raise _UnreadableError

    def expect_end(self) -> None:
        if self._next != len(self._tokens):
            raise _UnreadableError

    def value(self, depth: int) -> ItfValue:
        if depth > _LARGEST_DEPTH:
            raise _UnreadableError
        kind, token = self._take()
        if kind == "number":
            return self._number(int(token))
        if kind == "string":
            return _ESCAPE.sub(lambda m: _ESCAPES.get(m[0], m[0]), token[1:-1])
        if kind == "name":
            return {"TRUE": True, "FALSE": False}.get(token, token)
        match token:
            case "{":
                return {"#set": self._items("}", depth)}
            case "<<":
                return self._items(">>", depth)
            case "[":
                return self._record(depth)
            case "(":
                return self._function(depth)
            case _:
                raise _UnreadableError

    def _number(self, first: int) -> ItfValue:
        if self._peek() != "..":
            return _integer(first)
        self._next += 1
        kind, token = self._take()
        if kind != "number":
            raise _UnreadableError
        self._enumerated += max(0, int(token) - first + 1)
        if self._enumerated > _LARGEST_INTERVALS:
            raise _UnreadableError
        return {"#set": [_integer(number) for number in range(first, int(token) + 1)]}

    def _items(self, closing: str, depth: int) -> list[ItfValue]:
        items: list[ItfValue] = []
        if self._peek() == closing:
            self._next += 1
            return items
        while True:
            items.append(self.value(depth + 1))
            _, token = self._take()
            if token == closing:
                return items
            if token != ",":
                raise _UnreadableError

    def _record(self, depth: int) -> ItfValue:
        fields: dict[str, ItfValue] = {}
        while True:
            kind, name = self._take()
            if kind not in {"name", "number"}:
                raise _UnreadableError
            self._expect("|->")
            fields[name] = self.value(depth + 1)
            _, token = self._take()
            if token == "]":
                return fields
            if token != ",":
                raise _UnreadableError

    def _function(self, depth: int) -> ItfValue:
        pairs: list[ItfValue] = []
        while True:
            key = self.value(depth + 1)
            self._expect(":>")
            pairs.append([key, self.value(depth + 1)])
            _, token = self._take()
            if token == ")":
                return {"#map": pairs}
            if token != "@@":
                raise _UnreadableError


def _integer(number: int) -> ItfValue:
    return number if abs(number) < _LARGEST_JSON_INTEGER else {"#bigint": str(number)}
