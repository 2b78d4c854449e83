"""`tlagrid check-problems`: does every reference still pass under its quota?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.commands.options import JsonOption, RequireEnforcementOption, examples
from jobs.exit_codes import ExitCode

if TYPE_CHECKING:
    from jobs.reference_check import ProblemCheck
    from jobs.tables import Table

_NO_REFERENCE = "no reference"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "check-problems",
        epilog=examples(
            "tlagrid check-problems my-sweep/",
            "tlagrid check-problems problems.jsonl --jobs 4 --json",
            note="Exit code 1: a reference does not pass, or attempts would stay ungraded.",
        ),
    )(check_problems_command)


def check_problems_command(
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="A sweep, its folder, or a problems.jsonl.")
    ],
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            min=1,
            help="References graded at a time; one per core by default.",
        ),
    ] = None,
    require_enforcement: RequireEnforcementOption = None,
    as_json: JsonOption = False,
) -> None:
    """Grade every reference under its quota, and flag problems that need a look.

    Flagged are trivial fixtures, missing imports, missing or unreadable configurations, keywords
    and modules that the tools lack, names that nothing defines, and nondeterminism.
    """
    from jobs.output import log, print_json
    from jobs.reference_check import check_problems
    from jobs.sweep_file import load_sweep
    from workers.enforcement import Tier
    from workers.runner import require_enforcement as require

    require(Tier(require_enforcement) if require_enforcement else None)
    sweep = load_sweep(manifest, with_attempts=False)
    problems = list(sweep.problems.values())
    found: dict[str, ProblemCheck] = {}
    limit = jobs or len(os.sched_getaffinity(0))
    for check in check_problems(problems, sweep.settings, jobs=limit):
        found[check.problem] = check
        log(f"[{len(found)}/{len(problems)}] {check.problem}: {_result(check)}")
    checks = [found[problem.id] for problem in problems]
    if as_json:
        print_json(_document(checks))
    else:
        _print(checks)
    raise typer.Exit(_exit_code(checks))


def _exit_code(checks: Sequence[ProblemCheck]) -> ExitCode:
    if any(not check.passes and not check.undecided for check in checks):
        return ExitCode.NO
    return ExitCode.INFRASTRUCTURE if any(c.undecided for c in checks) else ExitCode.DONE


def _result(check: ProblemCheck) -> str:
    verdict = check.verdict
    if verdict is None:
        return _NO_REFERENCE
    return f"{verdict.outcome}/{verdict.sub}" if verdict.sub else str(verdict.outcome)


def _print(checks: Sequence[ProblemCheck]) -> None:
    from jobs.output import output_console
    from jobs.printable import paragraph
    from jobs.rendering import render_text

    console = output_console()
    render_text([_table(checks)], console)
    for check in checks:
        messages = list(_messages(check))
        if messages:
            console.print()
            console.print(paragraph(check.problem, console.width, first=""), markup=False)
        for message in messages:
            console.print(paragraph(message, console.width, first="  - "), markup=False)
    console.print()
    console.print(_summary(checks), markup=False)


def _table(checks: Sequence[ProblemCheck]) -> Table:
    from jobs.tables import Column, ColumnKind, Table

    return Table(
        name="problems",
        title="Problems",
        columns=(
            Column("problem", "problem", ColumnKind.NAME),
            Column("reference", "reference", ColumnKind.NAME),
            Column("remarks", "remarks", ColumnKind.NAME),
            Column("states", "distinct states", ColumnKind.COUNT),
            Column("cpu_seconds", "CPU seconds", ColumnKind.COUNT),
        ),
        rows=tuple(
            (
                check.problem,
                _result(check),
                ", ".join(_names(check)) or None,
                None if check.verdict is None else check.verdict.states.distinct,
                _seconds(check),
            )
            for check in checks
        ),
    )


def _seconds(check: ProblemCheck) -> str | None:
    seconds = None if check.verdict is None else check.verdict.resources.cpu_seconds
    return None if seconds is None else f"{seconds:.1f}"


def _names(check: ProblemCheck) -> list[str]:
    names = [fault.sub for fault in check.faults] + [remark.name for remark in check.remarks]
    return list(dict.fromkeys(names))


def _messages(check: ProblemCheck) -> list[str]:
    messages = [fault.message for fault in check.faults]
    subs = {fault.sub for fault in check.faults}
    if not check.passes and check.verdict is not None and check.verdict.sub not in subs:
        messages.insert(0, f"the reference ends as {_result(check)}: {check.verdict.message}")
    return messages + [remark.message for remark in check.remarks]


def _summary(checks: Sequence[ProblemCheck]) -> str:
    from jobs.counts import counted

    graded = [check for check in checks if check.verdict is not None]
    passed = sum(check.passes for check in graded)
    parts = [
        counted(len(checks), "problem"),
        f"{passed} of {counted(len(graded), 'reference')} pass",
    ]
    names = Counter(name for check in checks for name in _names(check))
    parts += [f"{count} {name}" for name, count in sorted(names.items())]
    return ", ".join(parts)


def _document(checks: Sequence[ProblemCheck]) -> dict[str, Any]:
    from workers.records import SCHEMA_VERSION

    return {
        "schema_version": SCHEMA_VERSION,
        "passes": all(check.passes for check in checks),
        "problems": [
            {
                "problem": check.problem,
                "passes": check.passes,
                "faults": [{"sub": fault.sub, "message": fault.message} for fault in check.faults],
                "remarks": [
                    {"name": remark.name, "message": remark.message} for remark in check.remarks
                ],
                "verdict": (
                    None if check.verdict is None else check.verdict.model_dump(mode="json")
                ),
            }
            for check in checks
        ],
    }
