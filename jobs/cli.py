"""The `tlagrid` command: one module of `jobs.commands` for each subcommand.

Here is what they have in common: the check that our own packages are the ones imported, and the
exit code and message of every error. Importing this module is cheap, so that help and usage
errors come at once; commands import what they need when they run.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jobs.commands import (
    check_problems,
    conformance,
    doctor,
    grade,
    import_,
    interface,
    report,
    runs,
    status,
    sweep,
    trace,
)
from jobs.commands.options import examples
from jobs.exit_codes import ExitCode, exit_code_of
from jobs.origin import OriginError, check_origin

_IN_ORDER_OF_HELP = (
    doctor,
    grade,
    check_problems,
    sweep,
    status,
    runs,
    report,
    trace,
    interface,
    import_,
    conformance,
)


def main() -> None:
    """Run the command with the process's arguments; does not return."""
    try:
        check_origin()
    except OriginError as error:
        typer.echo(f"tlagrid: {error}", err=True)
        raise SystemExit(ExitCode.INFRASTRUCTURE) from error
    try:
        app()
    except Exception as error:
        traceback.print_exception(error)
        typer.echo("tlagrid: this is a bug of tlagrid; the traceback above tells where", err=True)
        raise SystemExit(ExitCode.INFRASTRUCTURE) from error


class _Commands(TyperGroup):
    """The commands, with our exit codes for the errors that they raise."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            typer.echo("tlagrid: interrupted", err=True)
            raise typer.Exit(ExitCode.INTERRUPTED) from error
        except BrokenPipeError as error:
            _forget_output()
            # Whoever closed the pipe (`| head`) has read what they wanted.
            raise typer.Exit(ExitCode.DONE) from error
        except Exception as error:
            code = exit_code_of(error)
            if code is None:
                raise
            typer.echo(str(error), err=True)
            raise typer.Exit(code) from error
        return result


def _forget_output() -> None:
    """Let Python's own flush at exit find an output that takes everything."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    name="tlagrid",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help reads the same in a log, in a narrow terminal and on a slow machine.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "tlagrid doctor",
        "tlagrid sweep my-sweep/",
        "tlagrid report my-sweep-1a2b3c4d --by difficulty",
        note=(
            "Exit codes: 0 done, 1 the answer is no, 2 bad usage or input, 3 infrastructure, "
            "130 interrupted (work is saved)."
        ),
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from workers.version import __version__

        typer.echo(f"tlagrid {__version__}")
        raise typer.Exit


@app.callback()
def _tlagrid(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Grade TLA+ specifications written by language models, at scale and reproducibly."""


for _command in _IN_ORDER_OF_HELP:
    _command.register(app)
