"""`tlagrid doctor`: what this node has for grading, each thing tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from jobs.commands.options import JsonOption, StoreOption, examples
from jobs.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from jobs.check_row import Row


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "doctor",
        epilog=examples(
            "tlagrid doctor",
            "TLAGRID_TLA2TOOLS=tla2tools.jar tlagrid doctor --store /data/runs",
            note="Exit code 1: something required is missing; the row says what mends it.",
        ),
    )(doctor_command)


def doctor_command(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Try everything that grading needs on this machine, and say what mends what is missing."""
    from jobs.check_row import Status
    from jobs.node_check import check_node
    from jobs.output import output_console, print_json
    from jobs.run_lookup import find_store

    console = output_console()
    rows = []
    for row in check_node(find_store(store)):
        rows.append(row)
        if not as_json:
            _print(row, console)
    missing = [row for row in rows if row.status is Status.MISSING]
    if as_json:
        print_json(_document(rows))
    elif missing:
        names = ", ".join(row.name for row in missing)
        console.print(f"\nNot ready to grade: {names}", style="bold red", markup=False)
    else:
        console.print("\nReady to grade.", style="bold green")
    raise typer.Exit(ExitCode.NO if missing else ExitCode.DONE)


def _print(row: Row, console: Console) -> None:
    from rich.text import Text

    from jobs.printable import paragraph

    styles = {"ok": "green", "missing": "bold red", "warning": "yellow", "info": "dim"}
    head = f"{row.status:<8} "
    text = Text(paragraph(f"{row.name}: {row.detail}", console.width, first=head))
    text.stylize(styles[row.status], 0, len(head))
    console.print(text)
    if row.remedy is not None:
        margin = " " * len(head)
        console.print(Text(paragraph(f"-> {row.remedy}", console.width, first=margin), "cyan"))


def _document(rows: list[Row]) -> dict[str, object]:
    from workers.records import SCHEMA_VERSION

    return {
        "schema_version": SCHEMA_VERSION,
        "ready": all(row.status != "missing" for row in rows),
        "checks": [
            {
                "name": row.name,
                "status": row.status.value,
                "detail": row.detail,
                "remedy": row.remedy,
            }
            for row in rows
        ],
    }
