"""Options that several commands share, and how examples stand in their help."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from jobs.exit_codes import BadUsageError

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="TLAGRID_STORE",
        metavar="URI",
        help="Where runs are kept; ./tlagrid-runs by default.",
    ),
]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's name; `tlagrid runs` lists them.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Write one JSON document to standard output.")
]
RequireEnforcementOption = Annotated[
    Literal["cgroup-v2", "cgroup-v1", "sampling"] | None,
    typer.Option(
        "--require-enforcement",
        help="Grade only where limits are held at least like this; docs/quotas.md has the table.",
    ),
]
KOption = Annotated[
    str | None,
    typer.Option("--k", metavar="K,...", help="The k of pass@k, such as 1,5,10."),
]


def examples(*commands: str, note: str = "") -> str:
    r"""The end of a command's help; `\b` keeps its lines as they are."""
    heading = "Example:" if len(commands) == 1 else "Examples:"
    lines = "\n".join(["\b", heading, *(f"  {command}" for command in commands)])
    return f"{lines}\n\n{note}" if note else lines


def parse_ks(text: str | None) -> tuple[int, ...] | None:
    """The numbers of `--k 1,5,10`, in rising order; `None` when the option was not given.

    Raises:
        BadUsageError: it is no list of numbers from 1 up.
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise BadUsageError(f"--k {text!r}: give numbers from 1 up with commas, such as 1,5,10")
    return tuple(sorted({int(part) for part in parts}))
