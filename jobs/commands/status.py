"""`tlagrid status`: where a run stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from jobs.commands.options import JsonOption, RunArgument, StoreOption, examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobs.run_state import RunState

_NAMES_WIDTH = 15
_TIED = "\N{NO-BREAK SPACE}"
"""Between a count and what it counts, where a line must not end."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status", epilog=examples("tlagrid status my-sweep-1a2b3c4d"))(status)


def status(run: RunArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show where a run stands."""
    from jobs.run_lookup import find_run, find_store
    from jobs.run_state import look_at
    from workers.records import SCHEMA_VERSION

    opened = find_store(store)
    state = look_at(opened, find_run(opened, run))
    if as_json:
        from jobs.output import print_json

        document = {"schema_version": SCHEMA_VERSION, "store": opened.uri, **state.document()}
        print_json(document)
        return
    _print_text(opened.uri, state)


def _print_text(store: str, state: RunState) -> None:
    import textwrap

    from jobs.output import output_console

    width = output_console().width
    for name, value in _lines(store, state):
        lines = textwrap.wrap(
            value,
            width - _NAMES_WIDTH,
            # Names of runs and folders stay in one piece, for whoever copies them.
            break_long_words=False,
            break_on_hyphens=False,
        )
        for number, line in enumerate(lines):
            shown = line.replace(_TIED, " ")
            typer.echo(f"{name if number == 0 else '':<{_NAMES_WIDTH}}{shown}")


def _lines(store: str, state: RunState) -> Iterator[tuple[str, str]]:
    from jobs.counts import duration
    from jobs.run_state import State

    yield "run", state.run.name
    yield "store", store
    driver = f", by process {state.driver.pid} on {state.driver.host}" if state.driver else ""
    yield "state", f"{state.state}{driver if state.state is State.RUNNING else ''}"
    yield "graded", f"{state.graded} of {state.attempts}"
    reasons = ", ".join(
        f"{count}{_TIED}{reason}" for reason, count in sorted(state.reasons.items())
    )
    yield "ungraded", f"{state.ungraded}: {reasons}" if reasons else "0"
    yield "outcomes", _outcomes(state) or "none yet"
    yield "rate", "unknown" if state.rate is None else f"{state.rate:.2f} attempts per second"
    if state.eta_seconds is not None:
        yield "time left", duration(state.eta_seconds)
    yield "CPU time", duration(state.cpu_seconds)
    yield "last activity", f"{state.last_activity:%Y-%m-%d %H:%M:%S} UTC"


def _outcomes(state: RunState) -> str:
    from workers.records import Family

    counts = (
        (outcome, count)
        for outcome, count in state.outcomes.most_common()
        if outcome.family is not Family.INFRASTRUCTURE
    )
    return ", ".join(f"{count}{_TIED}{outcome}" for outcome, count in counts)
