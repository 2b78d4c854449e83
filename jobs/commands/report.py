"""`tlagrid report`: the tables of a run, as text, CSV or JSON."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import (
    JsonOption,
    KOption,
    RunArgument,
    StoreOption,
    examples,
    parse_ks,
)
from jobs.exit_codes import BadUsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cluster.runs import RunDescription
    from cluster.store import Store
    from jobs.tables import Table
    from workers.records import Verdict

_VERDICTS_AT_A_TIME = 200


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "report",
        epilog=examples(
            "tlagrid report my-sweep-1a2b3c4d --by difficulty --k 1,4",
            "tlagrid report my-sweep-1a2b3c4d --json | jq '.verdicts[] | .outcome'",
        ),
    )(report)


def report(
    run: RunArgument,
    *,
    store: StoreOption = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Only this one: summary, rates, failures, outcomes or ungraded.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="LABEL", help="A row for each value of this label."),
    ] = None,
    k: KOption = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="DIR", help="Also write a CSV file for each table there."),
    ] = None,
    no_fixtures: Annotated[
        bool,
        typer.Option("--no-fixtures", help="Leave out problems whose label fixture is true."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the tables of a run; with --json also every verdict."""
    from jobs.output import log, output_console
    from jobs.rendering import render_text, write_csv
    from jobs.run_lookup import find_run, find_store
    from jobs.run_tables import choose_table, tables_of, tally_run, verdicts_at

    ks = parse_ks(k)
    opened = find_store(store)
    description = find_run(opened, run)
    counts = tally_run(opened, description, fixtures=not no_fixtures)
    tables = choose_table(tables_of(counts, ks=ks, by=by), table)
    if csv is not None:
        if csv.exists() and not csv.is_dir():
            raise BadUsageError(f"--csv {csv}: is a file; name a folder")
        for path in write_csv(tables, csv):
            log(f"wrote {path}")
    if as_json:
        verdicts = verdicts_at(opened, description, counts.problems)
        _write_json(opened, description, tables, verdicts)
    else:
        render_text(tables, output_console())


def _write_json(
    store: Store, run: RunDescription, tables: Sequence[Table], verdicts: Iterator[Verdict]
) -> None:
    """One document, written as the verdicts are read: memory holds a few of them."""
    import orjson

    from jobs.rendering import json_tables
    from workers.records import SCHEMA_VERSION

    head = orjson.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "run": run.model_dump(mode="json"),
            "store": store.uri,
            "tables": json_tables(tables),
        }
    )
    typer.echo(head.removesuffix(b"}") + b',"verdicts":[', nl=False)
    separator = b"\n"
    while chunk := list(islice(verdicts, _VERDICTS_AT_A_TIME)):
        lines = b",\n".join(verdict.model_dump_json().encode() for verdict in chunk)
        typer.echo(separator + lines, nl=False)
        separator = b",\n"
    typer.echo(b"\n]}")
