"""Parse the messages that TLC prints with `-tool` into records, once.

TLC frames every message: `@!@!@STARTMSG <code>:<severity> @!@!@`, the text, and
`@!@!@ENDMSG <code> @!@!@` (`tlc2.output.MP`). Severities: 0 none, 1 error, 2 TLC bug, 3 warning,
4 state. Everything between messages is the candidate's output (`Print`) or SANY's progress.

A frame counts only at the start of a line. TLC prints strings quoted and with their newlines
escaped (tried with Print, Assert and state values on 2.15 and current), with two exceptions: the
texts of some evaluation errors quote a string as it is, and `TLCModelValue` of current TLCExt makes
a value that prints unquoted. So frames can be imitated, and who decides from messages must not
believe them against the exit code (`workers.check_gate`).

Messages nest when one is raised while another is built: the inner frame stands inside the outer
one's text, on a line of its own, after `: ` where an exception's text begins, and after the
exception's class where one exception wraps another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ERROR = 1
BUG = 2
WARNING = 3

_START = re.compile(
    r"(?:: )?(?:[A-Za-z][\w.$ ]*: )?@!@!@STARTMSG (-?[0-9]{1,9}):([0-9]{1,9}) @!@!@\s*$"
)
_END = re.compile(r"@!@!@ENDMSG (-?[0-9]{1,9}) @!@!@\s*$")
_FRAME = "@!@!@"

_IGNORED_CODES = frozenset({2401})
"""2401 advises another garbage collector, which is none of the candidate's business."""


@dataclass(slots=True)
class Message:
    """One message of TLC."""

    code: int
    severity: int
    line: int
    """Line of the start frame in the log, from 1."""
    lines: list[str] = field(default_factory=list)
    """The message's own text, without nested messages."""
    nested: list[Message] = field(default_factory=list)
    complete: bool = False
    """Whether the end frame was seen; a killed TLC leaves its last message open."""

    @property
    def text(self) -> str:
        """The message's own text, stripped."""
        return "\n".join(self.lines).strip()

    def all(self) -> Iterator[Message]:
        """This message and everything nested in it, outermost first."""
        pending = [self]
        while pending:
            message = pending.pop()
            yield message
            pending.extend(reversed(message.nested))


@dataclass(frozen=True, slots=True)
class Transcript:
    """All top-level messages of one run, in order."""

    messages: tuple[Message, ...]

    def find(self, *codes: int) -> Message | None:
        """The first top-level message with one of these codes."""
        return next((message for message in self.messages if message.code in codes), None)

    def errors(self) -> tuple[Message, ...]:
        """Top-level messages of severity 1 and 2, in order."""
        return tuple(m for m in self.messages if m.severity in {ERROR, BUG})

    def codes(self) -> tuple[str, ...]:
        """`code:severity` of top-level errors and warnings, each once, sorted."""
        return tuple(
            sorted(
                {
                    f"{message.code}:{message.severity}"
                    for message in self.messages
                    if message.severity in {ERROR, BUG, WARNING}
                    and message.code not in _IGNORED_CODES
                }
            )
        )


def read_transcript(log: Path) -> Transcript:
    """Parse the standard output of TLC from a file, line by line."""
    with log.open("rb") as file:
        return parse_transcript(file)


def parse_transcript(lines: Iterable[bytes]) -> Transcript:
    r"""Parse the standard output of TLC.

    Args:
        lines: the output split at `\n` only; other separators are legal inside TLA+ strings.
    """
    messages: list[Message] = []
    stack: list[Message] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip(b"\r\n").decode("utf-8", errors="replace")
        if _FRAME not in line:
            if stack:
                stack[-1].lines.append(line)
            continue
        if start := _START.match(line):
            message = Message(int(start[1]), int(start[2]), number)
            (stack[-1].nested if stack else messages).append(message)
            stack.append(message)
        elif (end := _END.match(line)) and any(int(end[1]) == open_.code for open_ in stack):
            # What is still open inside has lost its own end.
            while stack[-1].code != int(end[1]):
                stack.pop()
            stack.pop().complete = True
        elif stack:
            stack[-1].lines.append(line)
    return Transcript(tuple(messages))
