"""The part of a tool's log that decided a verdict, and the places in modules that it names.

TLC's messages are framed, SANY's are paragraphs. Line numbers of a verdict are those of the whole
log; of a very long log only head and tail are kept as evidence, and then the deciding line is
looked for by its text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from workers.records import DecidingLine

_CUT_MARK = re.compile(r"\[tlagrid: \d+ bytes cut here\]$")
_LOCATION = re.compile(
    r"[Ll]ine (\d+), col(?:umn)? (\d+)"
    r"(?: to line (\d+), col(?:umn)? (\d+))?"
    r"(?: (?:of module|in) (\w+))?"
)
_PARSING = re.compile(r"Parsing file (?:.*/)?([^/]+?)\.tla\b")
_STACK_CODE = 2103
"""TLC's list of the nested expressions that it was evaluating; the last is the innermost."""
_START = re.compile(r"@!@!@STARTMSG (\d+):")
_FRAME = "@!@!@"
_LONGEST = 14
_PARSE_ERROR = "***Parse Error***"
_PREAMBLE = (
    _PARSE_ERROR,
    "Residual stack trace follows",
    "TLC threw an unexpected exception",
    "This was probably caused by an error in the spec or model",
    "See the User Output or TLC Console",
    "The exception was a ",
)
"""Beginnings of lines that tools print before they say what is wrong."""


@dataclass(frozen=True, slots=True)
class Location:
    """A span of a module's text, lines and columns from 1."""

    module: str | None
    line: int
    column: int
    end_line: int
    end_column: int | None
    """`None` when the tool named only where it stopped."""


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """The deciding lines of a log."""

    log: str
    lines: tuple[tuple[int | None, str], ...]
    """Number in the log (`None` where the log as kept does not tell) and text."""
    deciding: int
    """Index in `lines` of the line that the verdict names, or of the first telling one after."""
    locations: tuple[Location, ...]
    """Places that the excerpt names, the most telling first."""


def excerpt_log(decided_by: DecidingLine, evidence: Mapping[str, bytes]) -> LogExcerpt | None:
    """The deciding part of a log; `None` when the log was not kept or lost that part."""
    content = evidence.get(decided_by.log)
    if content is None:
        return None
    lines = [line.rstrip("\r") for line in content.decode("utf-8", errors="replace").split("\n")]
    cut = next((i for i, line in enumerate(lines) if _CUT_MARK.search(line)), None)
    index: int | None = decided_by.line - 1
    if cut is not None and decided_by.line > cut:
        index = next((i for i in range(cut, len(lines)) if lines[i] == decided_by.text), None)
    if index is None or index >= len(lines):
        return None
    of_tlc = decided_by.log.startswith("tlc.")
    chosen = list(_message(lines, index) if of_tlc else _paragraphs(lines, index))[:_LONGEST]
    telling = [i for i in chosen if not lines[i].lstrip(": ").startswith(_PREAMBLE)]
    chosen = telling or [index]
    deciding = next((i for i in chosen if i >= index), chosen[0])
    texts = [lines[i] for i in chosen]
    parsing = [m[1] for line in lines[:index] if (m := _PARSING.match(line))]
    return LogExcerpt(
        log=decided_by.log,
        lines=tuple((i + 1 if cut is None or i < cut else None, lines[i]) for i in chosen),
        deciding=chosen.index(deciding),
        locations=tuple(_locations(texts, parsing[-1] if parsing and not of_tlc else None)),
    )


def _message(lines: list[str], index: int) -> Iterator[int]:
    """Text of the message around a line, and of the stack of positions that explains it.

    2.15 prints the stack at once, current TLC after the behaviour that leads to the error.
    """
    end = yield from _until_end(lines, index)
    for position in range(end, len(lines)):
        start = _START.match(lines[position])
        if start is not None and int(start[1]) == _STACK_CODE:
            yield from _until_end(lines, position + 1)
            return


def _until_end(lines: list[str], index: int) -> Generator[int, None, int]:
    """Lines with text up to the end of the message that they stand in, which is returned."""
    depth = 0
    for position in range(index, len(lines)):
        if _FRAME in lines[position]:
            depth += 1 if "STARTMSG" in lines[position] else -1
            if depth < 0:
                return position
        elif lines[position].strip():
            yield position
    return len(lines)


def _paragraphs(lines: list[str], index: int) -> Iterator[int]:
    """The paragraph around a line, with the location that SANY prints before a message."""
    before = index - 1
    while before >= 0 and not lines[before].strip():
        before -= 1
    if before >= 0 and _LOCATION.match(lines[before]):
        yield before
    if lines[index].startswith(_PARSE_ERROR):
        yield from (i for i in range(index, min(index + 5, len(lines))) if lines[i].strip())
        return
    for position in range(index, len(lines)):
        if not lines[position].strip():
            return
        yield position


def _locations(texts: list[str], parsed_module: str | None) -> Iterator[Location]:
    """Locations of the message itself first, then those of the stack from the innermost out."""
    stack: list[Location] = []
    for text in texts:
        for match in _LOCATION.finditer(text):
            line, column = int(match[1]), int(match[2])
            location = Location(
                module=match[5] or parsed_module,
                line=line,
                column=column,
                end_line=int(match[3]) if match[3] else line,
                end_column=int(match[4]) if match[4] else None,
            )
            if re.match(r"\d+\. Line ", text):
                stack.insert(0, location)
            else:
                yield location
    yield from stack
