"""Lines of a module with a mark under the place that a tool complained about.

Tools speak of the module as it was staged. A person has the answer that the module was taken
from, where it stands below prose or a fence: lines are shown and numbered as in that answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.log_excerpt import Location
from jobs.printable import printable

if TYPE_CHECKING:
    from rich.text import Text

_CONTEXT = 2
_MOST_MARKED = 6


@dataclass(frozen=True, slots=True)
class Source:
    """A text that a module stands in."""

    label: str
    """How a person knows the text: a file's name."""
    lines: tuple[str, ...]
    lines_before: int = 0
    """Lines of the text before the module's first line."""
    columns_before: int = 0
    """Characters before the module on its first line."""

    @classmethod
    def of(cls, label: str, text: str, start: int = 0) -> Source:
        """A text whose module begins at a character offset."""
        return cls(
            label=label,
            lines=tuple(line.rstrip("\r") for line in text.split("\n")),
            lines_before=text.count("\n", 0, start),
            columns_before=start - (text.rfind("\n", 0, start) + 1),
        )

    def place(self, line: int) -> str:
        """`label:line` for a line of the module."""
        return f"{self.label}:{line + self.lines_before}"


def excerpt_source(source: Source, location: Location, width: int) -> Text | None:
    """The lines around a location with carets under it; `None` when the text has no such line.

    SANY counts a tab as up to eight columns; so is it shown.
    """
    from rich.text import Text

    first = location.line + source.lines_before
    last = min(location.end_line + source.lines_before, first + _MOST_MARKED - 1, len(source.lines))
    if not 1 <= first <= len(source.lines):
        return None
    numbers = range(max(1, first - _CONTEXT), min(len(source.lines), last + _CONTEXT) + 1)
    gutter = len(str(numbers[-1]))
    text = Text()
    for number in numbers:
        line = printable(source.lines[number - 1].expandtabs(8))
        marked = first <= number <= last
        start, end = _columns(source, location, number, line) if marked else (0, 0)
        shift = max(0, end - (width - gutter - 6)) if len(line) > width - gutter - 4 else 0
        shift = min(shift, max(0, start - 8))
        shown = line[shift : shift + max(10, width - gutter - 4)]
        text.append(
            f"{number:>{gutter}} {'>' if marked else '|'} ", style="red" if marked else "dim"
        )
        text.append(shown + "\n", style="bold" if marked else "")
        if marked:
            carets = " " * (start - shift) + "^" * max(1, min(end - start, len(shown)))
            text.append(f"{' ' * gutter} | ", style="dim")
            text.append(carets.rstrip() + "\n", style="bold red")
    text.rstrip()
    return text


def _columns(source: Source, location: Location, number: int, line: str) -> tuple[int, int]:
    """Where on one shown line the marked span begins and ends, from 0."""
    first = location.line + source.lines_before
    last = location.end_line + source.lines_before
    shift = source.columns_before if number == source.lines_before + 1 else 0
    indent = len(line) - len(line.lstrip())
    start = location.column - 1 + shift if number == first else indent
    if number < last:
        end = len(line)
    else:
        end = start + 1 if location.end_column is None else location.end_column + shift
    return start, max(start + 1, end)
