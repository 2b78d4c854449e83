"""`tlagrid runs`: what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from jobs.commands.options import JsonOption, StoreOption, examples

if TYPE_CHECKING:
    from jobs.run_state import RunState
    from jobs.tables import Table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("runs", epilog=examples("tlagrid runs --store /data/tlagrid"))(runs)


def runs(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the runs of a store with their counts."""
    from cluster.runs import list_runs
    from jobs.output import output_console, print_json
    from jobs.rendering import render_text
    from jobs.run_lookup import find_store
    from jobs.run_state import look_at
    from workers.records import SCHEMA_VERSION

    opened = find_store(store)
    states = [look_at(opened, run) for run in list_runs(opened)]
    if as_json:
        documents = [state.document() for state in states]
        print_json({"schema_version": SCHEMA_VERSION, "store": opened.uri, "runs": documents})
    elif states:
        render_text([_table(opened.uri, states)], output_console())
    else:
        typer.echo(f"{opened.uri} has no runs")


def _table(store: str, states: list[RunState]) -> Table:
    from jobs.tables import Column, ColumnKind, Table

    return Table(
        name="runs",
        title=f"Runs in {store}",
        columns=(
            Column("run", "run", ColumnKind.NAME),
            Column("state", "state", ColumnKind.NAME),
            Column("last_activity", "last activity", ColumnKind.NAME),
            Column("attempts", "attempts", ColumnKind.COUNT),
            Column("graded", "graded", ColumnKind.COUNT),
            Column("ungraded", "ungraded", ColumnKind.COUNT),
        ),
        rows=tuple(
            (
                state.run.name,
                state.state,
                f"{state.last_activity:%Y-%m-%d %H:%M}",
                state.attempts,
                state.graded,
                state.ungraded,
            )
            for state in states
        ),
    )
