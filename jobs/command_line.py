"""Commands to show: what a user can paste to go on, in the way that this process was started."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def command_line(*arguments: str) -> str:
    """A command with these arguments, quoted for a shell."""
    return shlex.join([*_program(), *arguments])


def _program() -> tuple[str, ...]:
    """`python -m jobs` when that is how this process was started, else `tlagrid`."""
    started_as = Path(sys.argv[0])
    if started_as.name == "__main__.py" and started_as.parent.name == "jobs":
        return ("python", "-m", "jobs")
    return ("tlagrid",)
