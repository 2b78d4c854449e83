"""Commands to show: what a user can paste to go on, in the way that this process was started.

From a virtual environment that is not active, a bare `python` or `tlagrid` would be another one or
none; then the environment's own interpreter is named.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def command_line(*arguments: str) -> str:
    """A command with these arguments, quoted for a shell."""
    return shlex.join([*_program(), *arguments])


def _program() -> tuple[str, ...]:
    """`tlagrid`, or `python -m jobs` when that is how this process was started."""
    started_as = Path(sys.argv[0])
    if started_as.name == "__main__.py" and started_as.parent.name == "jobs":
        return (_interpreter(), "-m", "jobs")
    return ("tlagrid",) if shutil.which("tlagrid") else (_near(started_as),)


def _interpreter() -> str:
    found = shutil.which("python")
    if found is not None and Path(found).absolute() == Path(sys.executable).absolute():
        return "python"
    return _near(Path(sys.executable))


def _near(program: Path) -> str:
    """A path as one would type it here."""
    absolute = program.absolute()
    here = Path.cwd()
    return os.path.relpath(absolute, here) if absolute.is_relative_to(here) else str(absolute)
