"""`tlagrid trace`: the evidence behind a stored verdict."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import JsonOption, RunArgument, StoreOption, examples
from jobs.exit_codes import BadUsageError

if TYPE_CHECKING:
    from cluster.store import Store
    from workers.records import Verdict

_STANDARD_OUTPUT = "-"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "trace",
        epilog=examples(
            "tlagrid trace nightly door-lock/my-model/default/0",
            "tlagrid trace nightly door-lock/my-model/default/0 --log tlc.stdout",
            "tlagrid trace nightly door-lock/my-model/default/0 --itf trace.itf.json",
        ),
    )(trace_command)


def trace_command(
    run: RunArgument,
    attempt: Annotated[
        str, typer.Argument(metavar="ATTEMPT", help="An attempt's id: problem/model/regime/sample.")
    ],
    *,
    store: StoreOption = None,
    itf: Annotated[
        str | None,
        typer.Option(
            "--itf", metavar="FILE", help="Write the counterexample as ITF JSON; - to the output."
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            metavar="NAME",
            help="Print one piece of evidence as it is, such as tlc.stdout.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show why an attempt was decided so: deciding lines, counterexample, tool logs."""
    from jobs.exhibit import ITF, Exhibit
    from jobs.run_lookup import find_run, find_store

    if sum((log is not None, itf is not None, as_json)) > 1:
        raise BadUsageError("--log, --itf and --json exclude each other")
    opened = find_store(store)
    verdict = _verdict(opened, find_run(opened, run).name, attempt)
    evidence = _evidence(opened, verdict)
    if log is not None:
        sys.stdout.buffer.write(_named(evidence, log, verdict))
        return
    if itf is not None:
        _write_itf(_named(evidence, ITF, verdict), itf)
        return
    exhibit = Exhibit(verdict=verdict, evidence=evidence, answer_label="answer.txt")
    if as_json:
        from jobs.output import print_json

        print_json({**exhibit.as_json(), "run": run, "store": opened.uri})
        return
    from jobs.evidence_view import print_evidence
    from jobs.output import output_console
    from jobs.verdict_view import print_verdict

    console = output_console()
    print_verdict(exhibit, console)
    print_evidence(verdict, console)


def _verdict(store: Store, run: str, attempt: str) -> Verdict:
    from cluster.ledger import read_verdicts
    from cluster.runs import read_attempts, read_run
    from jobs.run_lookup import unknown_name

    found = next((each for each in read_verdicts(store, run) if each.attempt == attempt), None)
    if found is not None:
        return found
    known = {each.id for each in read_attempts(store, read_run(store, run))}
    if attempt in known:
        raise BadUsageError(
            f"run {run}: attempt {attempt!r} has no verdict yet; `tlagrid status {run}` shows how "
            "far the run is"
        )
    raise BadUsageError(f"run {run}: {unknown_name('attempt', attempt, known)}")


def _evidence(store: Store, verdict: Verdict) -> Mapping[str, bytes]:
    from cluster.packs import read_trace

    return {each.name: read_trace(store, each) for each in verdict.traces}


def _named(evidence: Mapping[str, bytes], name: str, verdict: Verdict) -> bytes:
    if name in evidence:
        return evidence[name]
    there = ", ".join(evidence) or "nothing: it ended before a tool ran"
    raise BadUsageError(f"attempt {verdict.attempt}: no evidence {name!r}; there is {there}")


def _write_itf(content: bytes, target: str) -> None:
    if target == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(content + b"\n")
    else:
        Path(target).write_bytes(content + b"\n")
        typer.echo(f"wrote {target}", err=True)
