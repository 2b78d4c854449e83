"""What a sweep would do, without starting or writing anything.

The run is created or resumed by the code of the real start, on a store that forgets what is
written to it: inputs that another run of the name does not have are refused here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import typer

from cluster.dry_store import DryStore
from cluster.ledger import read_verdicts
from cluster.runs import AttemptIdentity, RunDescription, read_attempts
from cluster.store import Store
from jobs.counts import counted
from jobs.output import output_console, print_json
from jobs.rendering import render_text
from jobs.run_state import RunState, look_at
from jobs.sweep_estimate import Estimate, estimate
from jobs.sweep_plan import SweepPlan, available_cores, freeze
from jobs.tables import Column, ColumnKind, Table
from workers.records import SCHEMA_VERSION


def show_dry_run(store: Store, plan: SweepPlan, *, limit: int | None, as_json: bool) -> None:
    """Print what a start of the plan would grade, and what that can cost.

    Raises:
        InputError: a text changed since the plan was made.
        RunMismatchError: the start would be refused.
        StoreError: the store cannot be read.
    """
    exists = store.exists(f"runs/{plan.run}/run.json")
    dry = DryStore(store)
    run = freeze(dry, plan)
    state = look_at(dry, run)
    cost = estimate(
        _to_grade(dry, run, limit),
        problems=plan.sweep.problems,
        quota=plan.sweep.settings.quota,
        cores=available_cores(),
        state=state,
    )
    if as_json:
        _print_json(store, plan, state, cost, exists=exists)
    else:
        _print_text(store, plan, state, cost, exists=exists)


def _to_grade(store: Store, run: RunDescription, limit: int | None) -> Iterator[AttemptIdentity]:
    final = {each.attempt for each in read_verdicts(store, run.name) if not each.retryable}
    open_attempts = (each for each in read_attempts(store, run) if each.id not in final)
    for number, attempt in enumerate(open_attempts):
        if number == limit:
            return
        yield attempt


def _print_json(
    store: Store, plan: SweepPlan, state: RunState, cost: Estimate, *, exists: bool
) -> None:
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "dry_run": True,
            "run": plan.run,
            "run_exists": exists,
            "store": store.uri,
            "cores": plan.slots,
            "attempts": state.attempts,
            "already_had_a_verdict": _settled(state),
            "to_grade": cost.to_grade,
            "by_problem": cost.by_problem,
            "by_model": cost.by_model,
            "cpu_hours": {"at_most": cost.most_cpu_hours, "likely": cost.likely_cpu_hours},
            "problem_faults": [
                {"problem": fault.problem, "sub": fault.sub, "message": fault.message}
                for fault in plan.faults
            ],
            "toolchain": plan.tools.fingerprint.model_dump(mode="json"),
        }
    )


def _print_text(
    store: Store, plan: SweepPlan, state: RunState, cost: Estimate, *, exists: bool
) -> None:
    tools = plan.tools.fingerprint
    render_text(
        [
            _counts("To grade, by problem", "problem", cost.by_problem),
            _counts("To grade, by model", "model", cost.by_model),
        ],
        output_console(),
    )
    typer.echo()
    typer.echo(f"run:       {plan.run} ({'resumed' if exists else 'new'})")
    typer.echo(f"store:     {store.uri}")
    typer.echo(f"tools:     TLC {tools.tla2tools_version}, Java {tools.java_version}")
    typer.echo(f"cores:     {plan.slots}")
    typer.echo(f"attempts:  {state.attempts}, {_settled(state)} already have a verdict")
    typer.echo(f"to grade:  {cost.to_grade}")
    typer.echo(f"problems:  {len(plan.problems)}, {counted(len(plan.faults), 'fault')} found")
    typer.echo(f"CPU hours: {_cost(cost)}")
    typer.echo("This was a dry run: nothing was started and nothing was written.")


def _counts(title: str, what: str, counts: Mapping[str, int]) -> Table:
    columns = (
        Column(what, what, ColumnKind.NAME),
        Column("attempts", "attempts", ColumnKind.COUNT),
    )
    return Table(f"by_{what}", title, columns, tuple(sorted(counts.items())))


def _cost(cost: Estimate) -> str:
    most = f"at most {_hours(cost.most_cpu_hours)} by the quotas"
    if cost.likely_cpu_hours is None:
        return most
    return f"about {_hours(cost.likely_cpu_hours)} by this run's verdicts; {most}"


def _hours(hours: float) -> str:
    return f"{hours:.1f}" if hours >= 1 or hours == 0 else f"{hours:.3f}"


def _settled(state: RunState) -> int:
    return state.attempts - state.waiting - state.failed
