"""Text of strangers on a terminal: candidates, logs and manifests are not trusted with escapes."""

from __future__ import annotations

import textwrap


def printable(text: str) -> str:
    """One line, in which every character that could steer a terminal is shown as an escape."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )


def paragraph(text: str, width: int, *, first: str = "  ", rest: str | None = None) -> str:
    """A sentence broken into lines of at most `width` characters.

    Args:
        text: one line, shown as by `printable`.
        width: of the terminal.
        first: what the first line begins with.
        rest: what the other lines begin with; spaces below `first` by default.
    """
    return textwrap.fill(
        printable(text),
        max(width, 20),
        initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
        break_on_hyphens=False,
    )
