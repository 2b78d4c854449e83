"""`tlagrid grade`: grade one file in this process and show why it was decided so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jobs.commands.options import JsonOption, RequireEnforcementOption, examples
from jobs.exit_codes import BadUsageError, ExitCode

if TYPE_CHECKING:
    from workers.records import Verdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "grade",
        epilog=examples(
            "tlagrid grade Clock.tla",
            "tlagrid grade answer.md --config Clock.cfg --context modules/",
            "my-model 'Specify a clock.' | tlagrid grade - --config Clock.cfg --json",
            note="Exit code 1: the candidate failed, or ran into a limit.",
        ),
    )(grade_command)


def grade_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A module, or a model's answer around one; - reads standard input."
        ),
    ],
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE.cfg",
            help="TLC configuration; by default the .cfg beside FILE. Without one: parse only.",
        ),
    ] = None,
    context: Annotated[
        Path | None,
        typer.Option(
            "--context",
            metavar="DIR",
            help="Folder of modules that FILE may import; by default the folder of FILE.",
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(
            "--module",
            metavar="NAME",
            help="Name that the module should have; by default the name that it has.",
        ),
    ] = None,
    extract: Annotated[
        Literal["robust", "published"],
        typer.Option(help="How the module is found in the text; published: the paper's rule."),
    ] = "robust",
    itf: Annotated[
        Path | None,
        typer.Option("--itf", metavar="FILE", help="Write the counterexample as ITF JSON."),
    ] = None,
    wall_seconds: Annotated[
        float | None,
        typer.Option(
            "--wall-seconds", metavar="N", help="Wall-clock limit of TLC; 300 by default."
        ),
    ] = None,
    require_enforcement: RequireEnforcementOption = None,
    as_json: JsonOption = False,
) -> None:
    """Grade one file now: what was decided, by which line, and what to try next."""
    from jobs.exhibit import ITF, Exhibit
    from jobs.single_file import read_single_file
    from workers.enforcement import Tier
    from workers.grading import grade
    from workers.records import ExtractRule, GradingSettings, Quota
    from workers.runner import require_enforcement as require

    if as_json and str(itf) == "-":
        raise BadUsageError("--itf - and --json both want standard output; give --itf a file")
    if wall_seconds is not None and not 0 < wall_seconds < float("inf"):
        raise BadUsageError(f"--wall-seconds {wall_seconds}: must be a number above 0")
    quota = Quota() if wall_seconds is None else Quota(wall_seconds=wall_seconds)
    settings = GradingSettings(quota=quota, extract=ExtractRule(extract))
    task = read_single_file(
        file, config=config, context=context, module=module, rule=settings.extract
    )
    require(Tier(require_enforcement) if require_enforcement else None)
    graded = grade(task.problem, task.attempt, settings)
    exhibit = Exhibit(
        verdict=graded.verdict,
        evidence={each.name: each.content for each in graded.evidence},
        answer_label=task.label,
        config=task.problem.config,
        context=task.problem.context,
    )
    if itf is not None:
        _write_itf(itf, exhibit.evidence.get(ITF))
    if as_json:
        from jobs.output import print_json

        inputs = {
            "file": file,
            "config": None if task.config_file is None else str(task.config_file),
            "context": sorted(task.problem.context),
        }
        print_json({**exhibit.as_json(), "inputs": inputs})
    elif itf is None or str(itf) != "-":
        from rich.text import Text

        from jobs.output import output_console
        from jobs.printable import printable
        from jobs.verdict_view import print_verdict

        console = output_console()
        for note in task.notes:
            console.print(Text(printable(note), style="dim"), soft_wrap=True)
        console.print()
        print_verdict(exhibit, console)
    raise typer.Exit(exit_code_for(graded.verdict))


def exit_code_for(verdict: Verdict) -> ExitCode:
    """The exit code that says what was decided about one file."""
    from workers.records import PROBLEM_FAULTS, Family

    match verdict.family:
        case Family.CORRECT:
            return ExitCode.DONE
        case Family.CANDIDATE | Family.LIMIT:
            return ExitCode.NO
        case Family.INFRASTRUCTURE:
            # A fault of what the user brought, unless only other tools could read it.
            at_fault = verdict.sub in PROBLEM_FAULTS - {"toolchain_unsupported"}
            return ExitCode.BAD_INPUT if at_fault else ExitCode.INFRASTRUCTURE


def _write_itf(path: Path, content: bytes | None) -> None:
    if content is None:
        typer.echo("no counterexample, so no ITF is written", err=True)
    elif str(path) != "-":
        path.write_bytes(content + b"\n")
        typer.echo(f"wrote {path}", err=True)
    else:
        sys.stdout.buffer.write(content + b"\n")
