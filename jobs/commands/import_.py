"""`tlagrid import`: make a manifest from a layout of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobs.command_line import command_line
from jobs.commands.options import JsonOption, examples

_LAYOUT = """Make a sweep from a folder of problems and model outputs.

\b
The folder's layout:
  problems/PROBLEM/   reference.tla or <Module>.tla
                      reference.cfg or <Module>.cfg (optional)
                      context/*.tla, problem.json (optional)
  attempts/MODEL/[REGIME/]PROBLEM/SAMPLE.tla (or .txt, .md)
  attempts/MODEL/[REGIME/]PROBLEM.tla for a single sample
"""


def register(app: typer.Typer) -> None:
    """Add the group and its commands."""
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog=examples("tlagrid import folder my-outputs/ my-sweep/"),
    )

    @group.callback()
    def _import() -> None:
        """Make a manifest from a layout of files."""

    group.command(
        "folder", help=_LAYOUT, epilog=examples("tlagrid import folder my-outputs/ my-sweep/")
    )(import_folder_command)
    app.add_typer(group, name="import")


def import_folder_command(
    src: Annotated[Path, typer.Argument(metavar="SRC", help="The folder to read.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The sweep to write: a new or empty folder.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Make a sweep from a folder of problems and model outputs."""
    from jobs.counts import counted
    from jobs.importers.folder import import_folder
    from jobs.output import print_json
    from workers.records import SCHEMA_VERSION

    imported = import_folder(src, out)
    if as_json:
        counts = {"problems": imported.problems, "attempts": imported.attempts}
        print_json({"schema_version": SCHEMA_VERSION, "sweep": str(out), **counts})
        return
    problems, attempts = (
        counted(imported.problems, "problem"),
        counted(imported.attempts, "attempt"),
    )
    typer.echo(f"{out}: {problems}, {attempts}")
    typer.echo(f"next: {command_line('sweep', str(out))}")
