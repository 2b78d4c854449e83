"""Where output goes: results to standard output, everything else to standard error.

Without a terminal the width is that of `COLUMNS`, or 80: a log must not depend on the window of
whoever happened to start it.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

import orjson
import typer
from rich.console import Console

_WIDTH = 80


def output_console() -> Console:
    """For results that people read."""
    return _console(sys.stdout)


def log_console() -> Console:
    """For progress."""
    return _console(sys.stderr)


def log(message: str) -> None:
    """One line on standard error, as it is."""
    typer.echo(message, err=True)


def warn(message: str) -> None:
    """A warning on standard error."""
    log(f"warning: {message}")


def print_json(document: Any) -> None:
    """The one JSON document of a `--json`."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
    typer.echo(orjson.dumps(document, option=options), nl=False)


def _console(stream: TextIO) -> Console:
    if stream.isatty():
        return Console(file=stream, highlight=False)
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdigit() and int(columns) else _WIDTH
    return Console(
        file=stream, width=width, highlight=False, force_terminal=False, color_system=None
    )
