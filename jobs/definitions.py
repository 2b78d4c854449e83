"""Which names a module defines or declares at its top level, and where.

For people: to say which names a configuration finds in a module and which it misses, and to show
the definition of a violated invariant. TLC alone decides whether a name is there. Definitions
inside LET are left out, as are operators that are symbols; comments and strings are skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workers.module_text import without_comments

_NAME = r"[0-9_]*[A-Za-z][0-9A-Za-z_]*"
_TOKEN = re.compile(
    r"(?P<let>\bLET\b)|(?P<within>\bIN\b)"
    rf"|(?P<list>\b(?:CONSTANTS?|VARIABLES?)\b)(?P<names>\s++{_NAME}[ \t]*+(?:\([_, \t]*+\))?+"
    rf"(?:\s*+,\s*+{_NAME}[ \t]*+(?:\([_, \t]*+\))?+)*+)"
    rf"|^[ \t]*+(?:LOCAL[ \t]++)?+(?P<name>{_NAME})[ \t]*+"
    r"(?:\((?:[^()\n]|\([^()\n]*+\))*+\)|\[[^\]\n]*+\])?+\s*+(?:==(?!=)|≜)",
    re.MULTILINE,
)
"""Candidates are hostile: this takes linear time on any text."""

_LONGEST_DEFINITION = 12


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition and the lines that it takes, from 1, at most a dozen."""

    name: str
    line: int
    end_line: int


@dataclass(slots=True)
class ModuleNames:
    """The names of one module text, in the order of the text."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        """Whether the name is defined or declared."""
        return name in self.definitions or name in self.constants or name in self.variables


def read_names(text: str) -> ModuleNames:
    """The names that a module's text defines or declares, its nested modules included."""
    plain = without_comments(text)
    names = ModuleNames()
    starts: list[tuple[str, int]] = []
    lets = 0
    for match in _TOKEN.finditer(plain):
        if match["let"]:
            lets += 1
        elif match["within"]:
            lets = max(0, lets - 1)
        elif match["list"]:
            known = names.constants if match["list"].startswith("C") else names.variables
            known.extend(re.findall(_NAME, match["names"]))
        elif not lets:
            starts.append((match["name"], plain.count("\n", 0, match.start("name"))))
    lines = plain.split("\n")
    following = [*(line for _, line in starts[1:]), len(lines)]
    # Without a definition there is still the end of the text.
    for (name, line), limit in zip(starts, following, strict=False):
        end = _end(lines, line, min(limit, line + _LONGEST_DEFINITION))
        names.definitions.setdefault(name, Definition(name, line + 1, end))
    return names


def _end(lines: list[str], start: int, limit: int) -> int:
    """The last line, from 1, before a blank line, a separator or the end of the module."""
    for number in range(start + 1, limit):
        if not lines[number].strip() or lines[number].lstrip().startswith(("----", "====")):
            return number
    return limit
