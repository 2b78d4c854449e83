"""`tlagrid sweep`: run or resume a sweep on this machine.

Exit code: 0 when every attempt that was to be graded has a verdict that stands, also where the
verdict is that the problem itself is at fault; 3 when attempts stayed ungraded because the
infrastructure failed. The tables are printed in both cases, and the same command tries again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from jobs.command_line import command_line
from jobs.commands.options import (
    JsonOption,
    KOption,
    RequireEnforcementOption,
    StoreOption,
    examples,
    parse_ks,
)
from jobs.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.runs import RunDescription
    from cluster.store import Store
    from jobs.run_state import RunState
    from jobs.sweep_plan import SweepPlan
    from jobs.sweep_run import SweepResult
    from jobs.tables import Table

_WARNINGS_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "sweep",
        epilog=examples(
            "tlagrid sweep my-sweep/ --dry-run",
            "tlagrid sweep my-sweep/ --jobs 4",
            note=(
                "Interrupt it at any time: the same command goes on where it stopped. Exit code 3: "
                "attempts stayed ungraded because the infrastructure failed."
            ),
        ),
    )(sweep)


def sweep(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="SWEEP",
            help="A sweep file (TOML), or a folder with sweep.toml or with problems.jsonl and "
            "attempts.jsonl.",
        ),
    ],
    *,
    store: StoreOption = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="NAME",
            help="The run's name; by default the sweep's name and a digest of its inputs.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            metavar="N",
            help="Cores to grade on; by default as many as there are cores and memory for.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be graded; start and write nothing."),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="Grade at most N attempts now."),
    ] = None,
    k: KOption = None,
    require_enforcement: RequireEnforcementOption = None,
    as_json: JsonOption = False,
) -> None:
    """Grade the attempts of a sweep, or go on with one."""
    from jobs.output import log
    from jobs.run_lookup import find_store
    from jobs.sweep_plan import freeze, plan_sweep

    ks = parse_ks(k)
    plan = plan_sweep(path, run=run, jobs=jobs)
    opened = find_store(store, plan.sweep.store)
    _warn_about(plan)
    if dry_run:
        from jobs.dry_run import show_dry_run

        show_dry_run(opened, plan, limit=limit, as_json=as_json)
        return
    frozen = freeze(opened, plan)
    log(f"run {frozen.name} in {opened.uri}")
    try:
        result = _grade(opened, frozen, plan, limit, require_enforcement)
    except KeyboardInterrupt:
        given = {
            "--store": store,
            "--run": run,
            "--jobs": jobs,
            "--limit": limit,
            "--k": k,
            "--require-enforcement": require_enforcement,
        }
        _say_interrupted(opened, frozen, path, given, as_json=as_json)
    tables, strata = _tables(opened, frozen, plan, ks)
    if as_json:
        _print_json(opened, plan, result, tables, strata)
    else:
        _print_text(opened, store, result, [tables[0], *strata.values(), *tables[1:]])
    if result.after.failed:
        log(
            f"{result.after.failed} attempts are ungraded because the infrastructure failed; "
            "the same command tries them again"
        )
        raise typer.Exit(ExitCode.INFRASTRUCTURE)


def _warn_about(plan: SweepPlan) -> None:
    from jobs.output import warn
    from jobs.sweep_plan import available_cores

    for fault in plan.faults[:_WARNINGS_SHOWN]:
        warn(f"{fault}; attempts that need it stay ungraded")
    if len(plan.faults) > _WARNINGS_SHOWN:
        warn(f"and {len(plan.faults) - _WARNINGS_SHOWN} more faults of problems")
    if plan.slots > available_cores():
        warn(
            f"--jobs {plan.slots} on {available_cores()} cores: checks slow each other down and "
            "may run into their wall clock"
        )


def _grade(
    store: Store, run: RunDescription, plan: SweepPlan, limit: int | None, tier: str | None
) -> SweepResult:
    from jobs import sweep_run
    from jobs.counts import counted
    from jobs.output import log, log_console, warn
    from jobs.progress_view import progress_view
    from workers.enforcement import Tier

    def say_start(before: RunState) -> None:
        left = before.waiting + before.failed
        tools = plan.tools.fingerprint
        log(f"TLC {tools.tla2tools_version}, Java {tools.java_version}")
        log(
            f"{counted(left if limit is None else min(left, limit), 'attempt')} to grade, "
            f"{before.attempts - left} already have a verdict; "
            f"starting Ray on {counted(plan.slots, 'core')}"
        )

    with progress_view(log_console()) as show:
        return sweep_run.grade_rest(
            store,
            run,
            plan,
            limit=limit,
            required_tier=Tier(tier) if tier else None,
            on_start=say_start,
            on_progress=show,
            on_warning=warn,
        )


def _say_interrupted(
    store: Store,
    run: RunDescription,
    path: Path,
    given: dict[str, str | int | None],
    *,
    as_json: bool,
) -> NoReturn:
    from jobs.output import log
    from jobs.run_state import look_at

    options = [str(part) for pair in given.items() if pair[1] is not None for part in pair]
    state = look_at(store, run)
    log(
        f"interrupted: {state.attempts - state.waiting} of {state.attempts} attempts have a "
        "verdict, which is kept. To go on:"
    )
    log(f"  {command_line('sweep', str(path), *options, *(['--json'] if as_json else []))}")
    raise typer.Exit(ExitCode.INTERRUPTED)


def _tables(
    store: Store, run: RunDescription, plan: SweepPlan, ks: tuple[int, ...] | None
) -> tuple[list[Table], dict[str, Table]]:
    """All tables, and pass@k by each label that the sweep's report asks for."""
    from dataclasses import replace

    from jobs.run_tables import tables_of, tally_run

    counts = tally_run(store, run)
    wanted = ks or plan.sweep.report.k
    strata = {}
    for label in plan.sweep.report.by:
        summary = tables_of(counts, ks=wanted, by=label)[0]
        strata[label] = replace(summary, title=f"{summary.title} by {label}")
    return tables_of(counts, ks=wanted), strata


def _print_json(
    store: Store,
    plan: SweepPlan,
    result: SweepResult,
    tables: Sequence[Table],
    strata: dict[str, Table],
) -> None:
    from dataclasses import asdict

    from jobs.output import print_json
    from jobs.rendering import json_tables
    from workers.records import SCHEMA_VERSION

    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "store": store.uri,
            "graded_now": result.graded_now,
            "already_had_a_verdict": result.already,
            **result.after.document(),
            "problem_faults": [asdict(fault) for fault in plan.faults],
            "tables": json_tables(tables),
            "by": {label: json_tables([table])[0] for label, table in strata.items()},
        }
    )


def _print_text(
    store: Store, named_store: str | None, result: SweepResult, tables: Sequence[Table]
) -> None:
    from jobs.output import output_console
    from jobs.rendering import render_text
    from jobs.run_lookup import store_arguments

    after = result.after
    name, where = after.run.name, store_arguments(named_store, store)
    render_text(tables, output_console())
    ungraded = ", ".join(f"{count} {reason}" for reason, count in sorted(after.reasons.items()))
    typer.echo()
    typer.echo(f"{result.graded_now} graded now, {result.already} already had a verdict")
    if ungraded:
        typer.echo(f"{after.ungraded} ungraded: {ungraded}")
    typer.echo(f"run:      {name}")
    typer.echo(f"verdicts: {store.uri}/runs/{name}/results")
    typer.echo(f"evidence: {store.uri}/packs")
    typer.echo("next:")
    typer.echo(f"  {command_line('report', name, *where)}")
    typer.echo(f"  {command_line('trace', name, after.failure or 'ATTEMPT', *where)}")
