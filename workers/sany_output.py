"""Parse what SANY prints into records, once.

SANY has no machine-readable mode: it exits 255 on parse errors and 0 on semantic errors, and
prints both in prose. The shapes below are those of SANY 2.1 (TLC 2.15) and SANY 2.2 (current);
semantic messages are classified by the fixed beginning that SANY's source gives them. A message
with an unknown beginning is still an error, of sub-kind `other`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class SanyErrorKind(StrEnum):
    """What SANY objects to; parse kinds and semantic kinds."""

    GRAMMAR = "grammar"
    LEXICAL = "lexical"
    MISSING_MODULE = "missing_module"
    MODULE_NAME = "module_name"
    UNKNOWN_OPERATOR = "unknown_operator"
    ARITY = "arity"
    DUPLICATE = "duplicate"
    TEMPORAL = "temporal"
    STACK = "stack"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class SanyError:
    """One objection of SANY."""

    kind: SanyErrorKind
    message: str
    module: str | None
    """Module that the error is located in, where SANY says so."""
    log: str
    """Stream that printed it: `stdout` or `stderr`."""
    line: int
    """Line in that stream, from 1."""
    text: str
    """That line."""


@dataclass(frozen=True, slots=True)
class SanyReport:
    """What one run of SANY said."""

    processed: tuple[str, ...]
    """Modules whose semantic processing began."""
    parse_errors: tuple[SanyError, ...]
    semantic_errors: tuple[SanyError, ...]
    failed: bool
    """Whether SANY said that it gave up, or Java did."""

    @property
    def silent(self) -> bool:
        """Whether there is no complaint of any kind."""
        return not (self.parse_errors or self.semantic_errors or self.failed)


_SEMANTIC_KINDS: tuple[tuple[str, SanyErrorKind], ...] = (
    (r"Unknown operator: ", SanyErrorKind.UNKNOWN_OPERATOR),
    (r"Could not find declaration or definition of symbol ", SanyErrorKind.UNKNOWN_OPERATOR),
    (r"Couldn't resolve (?:in|pre|post)fix\s+operator symbol ", SanyErrorKind.UNKNOWN_OPERATOR),
    (r"The operator .* requires \d+ arguments?", SanyErrorKind.ARITY),
    (r"Operator used with the wrong number of arguments", SanyErrorKind.ARITY),
    (r"Operator with incorrect arity ", SanyErrorKind.ARITY),
    (r"Wrong number of arguments ", SanyErrorKind.ARITY),
    (r"Too many arguments for operator ", SanyErrorKind.ARITY),
    (r"Expected arity ", SanyErrorKind.ARITY),
    (r"Expected operator (?:of arity|argument with arity) ", SanyErrorKind.ARITY),
    (r"Lambda expression with arity ", SanyErrorKind.ARITY),
    (r"Function '.*' is defined with \d+ parameters", SanyErrorKind.ARITY),
    (r"Operator .* already defined or declared", SanyErrorKind.DUPLICATE),
    (r"Multiply-defined (?:symbol|module) ", SanyErrorKind.DUPLICATE),
    (r"Duplicate ", SanyErrorKind.DUPLICATE),
    (r"Non-unique fields in constructor", SanyErrorKind.DUPLICATE),
    (r"Repeated formal parameter ", SanyErrorKind.DUPLICATE),
    (r"Multiple substitutions for symbol ", SanyErrorKind.DUPLICATE),
    (r"\[\] followed by action not of form ", SanyErrorKind.TEMPORAL),
    (r"<> followed by action not of form ", SanyErrorKind.TEMPORAL),
    (r"Action used where only temporal formula ", SanyErrorKind.TEMPORAL),
    (r"Action-level bound of quantified temporal formula", SanyErrorKind.TEMPORAL),
    (r"Temporal formula used as set", SanyErrorKind.TEMPORAL),
    (r"Level error: assumptions must be level 0", SanyErrorKind.OTHER),
    (r"Level error", SanyErrorKind.TEMPORAL),
    (r".* has both temporal formula and action as arguments", SanyErrorKind.TEMPORAL),
)
_KINDS = tuple((re.compile(pattern), kind) for pattern, kind in _SEMANTIC_KINDS)

_PROCESSING = re.compile(r"Semantic processing of module (\S+)$")
_LOCATION = re.compile(r"line \d+, col \d+ to line \d+, col \d+ of module (\S+)$")
_NO_LOCATION = re.compile(r"(?:Unknown location|In module \S+)$")
_MISSING = re.compile(
    r"Cannot find source file for module (\S+)(?: imported in module (\S+?))?\.?$"
)
_WRONG_NAME = re.compile(r"File name '.*' does not match the name '.*' of the top level module")
_CIRCULAR = "Circular dependency among .tla files"
_FATAL = "Fatal errors while parsing TLA+ spec in file "
_PARSING = re.compile(r"Parsing file (\S.*?\.tla)(?: \(.*\))?$")
_STACK_OVERFLOW = "java.lang.StackOverflowError"
_UNCAUGHT = re.compile(r'Exception in thread "')


def missing_module(error: SanyError) -> str | None:
    """The module that SANY did not find, when that is the error."""
    found = _MISSING.match(error.text)
    return found[1] if found else None


def read_report(stdout: Path, stderr: Path) -> SanyReport:
    """Parse both streams of one run of SANY."""
    parse_errors: list[SanyError] = []
    semantic_errors: list[SanyError] = []
    processed: list[str] = []
    failed = False
    for log, path in (("stdout", stdout), ("stderr", stderr)):
        lines = _lines(path)
        parse_errors.extend(_parse_errors(log, lines))
        semantic_errors.extend(_semantic_errors(log, lines))
        processed.extend(m[1] for line in lines if (m := _PROCESSING.match(line)))
        failed |= any(line.startswith(_FATAL) or _UNCAUGHT.match(line) for line in lines)
    return SanyReport(
        processed=tuple(dict.fromkeys(processed)),
        parse_errors=tuple(parse_errors),
        semantic_errors=tuple(dict.fromkeys(semantic_errors)),
        failed=failed,
    )


def _lines(path: Path) -> list[str]:
    data = path.read_bytes().decode("utf-8", errors="replace")
    return [line.rstrip("\r") for line in data.split("\n")]


def _parse_errors(log: str, lines: list[str]) -> Iterator[SanyError]:
    module: str | None = None
    for number, line in enumerate(lines, start=1):
        if parsing := _PARSING.match(line):
            module = Path(parsing[1]).stem
        kind, message = _parse_error(line, lines, number)
        if kind is None:
            continue
        at = number
        if kind is SanyErrorKind.GRAMMAR:
            at, _ = _message_after(lines, number)
        yield SanyError(
            kind, message, _module_at_fault(kind, line, module), log, at, _at(lines, at)
        )


def _module_at_fault(kind: SanyErrorKind, line: str, parsing: str | None) -> str | None:
    """The module that a parse error lies in, as far as SANY says so.

    SANY resolves imports after it has parsed further files: then the file that it parsed last
    is not the one at fault.
    """
    if kind in {SanyErrorKind.GRAMMAR, SanyErrorKind.LEXICAL}:
        return parsing
    missing = _MISSING.match(line)
    return missing[2] if missing else None


def _at(lines: list[str], number: int) -> str:
    return lines[number - 1].strip() if number <= len(lines) else ""


def _parse_error(line: str, lines: list[str], number: int) -> tuple[SanyErrorKind | None, str]:
    if line.startswith("***Parse Error***"):
        following = (text.strip() for text in lines[number : number + 4])
        detail = " ".join(text for text in following if text and "stack trace" not in text)
        return SanyErrorKind.GRAMMAR, detail
    if line.startswith(("Lexical error at ", "Lexical {error")):
        return SanyErrorKind.LEXICAL, line
    if missing := _MISSING.match(line):
        importer = f" imported in module {missing[2]}" if missing[2] else ""
        return SanyErrorKind.MISSING_MODULE, f"cannot find module {missing[1]}{importer}"
    if _WRONG_NAME.match(line):
        return SanyErrorKind.MODULE_NAME, line
    if line.startswith(_CIRCULAR):
        return SanyErrorKind.OTHER, " ".join(
            text.strip() for text in lines[number - 1 : number + 2]
        )
    if _UNCAUGHT.match(line) and _STACK_OVERFLOW in line:
        return SanyErrorKind.STACK, "SANY's stack overflowed: the text nests too deeply"
    return None, ""


def _semantic_errors(log: str, lines: list[str]) -> Iterator[SanyError]:
    """Errors of `Semantic errors:` blocks: a location, a blank line, the message, blank lines.

    Warnings have the same shape under `*** Warnings:` and are no errors.
    """
    in_errors = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("*** Errors:"):
            in_errors = True
        elif line.startswith(("*** Warnings:", "Semantic processing of module", _FATAL)):
            in_errors = False
        location = _LOCATION.match(line)
        if not in_errors or not (location or _NO_LOCATION.match(line)):
            continue
        first, message = _message_after(lines, number)
        if message.startswith(("Cannot find source file", "Could not parse module")):
            continue
        if _WRONG_NAME.match(message) or message.startswith(_CIRCULAR):
            continue
        module = location[1] if location else None
        yield SanyError(_semantic_kind(message), message, module, log, first, _at(lines, first))


def _message_after(lines: list[str], number: int) -> tuple[int, str]:
    """The paragraph after a location line, and the number of its first line."""
    start = number
    while start < len(lines) and not lines[start].strip():
        start += 1
    end = start
    while end < len(lines) and lines[end].strip():
        end += 1
    return start + 1, "\n".join(line.rstrip() for line in lines[start:end])


def _semantic_kind(message: str) -> SanyErrorKind:
    for pattern, kind in _KINDS:
        if pattern.match(message):
            return kind
    return SanyErrorKind.OTHER
