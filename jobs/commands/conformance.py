"""`tlagrid conformance`: grade cases with known outcomes and say where a verdict differs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import JsonOption, examples
from jobs.exit_codes import ExitCode

if TYPE_CHECKING:
    from jobs.conformance import Conformance


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "conformance",
        epilog=examples(
            "tlagrid conformance my-cases/ --known known-differences.jsonl",
            note=(
                "The folder is a sweep with an expected.jsonl beside it. Exit code 1: a verdict "
                "differs from what is expected, and not by a known difference."
            ),
        ),
    )(conformance)


def conformance(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A sweep with an expected.jsonl beside it.")
    ],
    *,
    known: Annotated[
        Path | None,
        typer.Option("--known", metavar="FILE", help="Accepted differences, one JSON a line."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URI",
            help="Where the run is kept, and resumed from; by default a new temporary folder, so "
            "that everything is graded anew.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, metavar="N", help="Cores to grade on.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Grade a folder of cases with known outcomes and compare."""
    from cluster.ledger import read_verdicts
    from cluster.store import open_store
    from jobs.conformance import (
        compare,
        read_expectations,
        read_known_differences,
        version_in_use,
    )
    from jobs.output import log, log_console, warn
    from jobs.progress_view import progress_view
    from jobs.sweep_plan import freeze, plan_sweep
    from jobs.sweep_run import grade_rest

    plan = plan_sweep(folder, run=None, jobs=jobs)
    version = version_in_use(plan.tools.fingerprint)
    expectations = read_expectations(folder / "expected.jsonl", version)
    accepted = read_known_differences(known) if known else []
    opened = open_store(store or tempfile.mkdtemp(prefix="tlagrid-conformance-"))
    run = freeze(opened, plan)
    log(f"run {run.name} in {opened.uri}, against what is expected of TLC {version}")
    with progress_view(log_console()) as show:
        grade_rest(
            opened,
            run,
            plan,
            limit=None,
            on_start=lambda _: None,
            on_progress=show,
            on_warning=warn,
        )
    result = compare(expectations, read_verdicts(opened, run.name), accepted, version)
    _print(result, as_json=as_json)
    if not result.passed:
        raise typer.Exit(ExitCode.NO)


def _print(result: Conformance, *, as_json: bool) -> None:
    from dataclasses import asdict

    from jobs.output import print_json

    if as_json:
        stale = [difference.model_dump() for difference in result.stale]
        print_json({**asdict(result), "stale": stale, "passed": result.passed})
        return
    for difference in result.unexpected:
        typer.echo(f"DIFFERS {difference}")
    for gone in result.stale:
        typer.echo(f"STALE   {gone.attempt}: {gone.field}: no longer {gone.actual}")
    for difference in result.known:
        typer.echo(f"known   {difference}")
    typer.echo(
        f"{result.compared} verdicts compared: {result.agreeing} agree in everything that is "
        f"stated, {len(result.known)} known and {len(result.unexpected)} unexpected differences; "
        f"nothing is expected of {result.without_expectation} more"
    )
