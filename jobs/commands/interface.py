"""`tlagrid interface`: the names that a problem's configuration needs, for prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.commands.options import JsonOption, examples
from jobs.exit_codes import BadUsageError

if TYPE_CHECKING:
    from jobs.config_interface import ConfigInterface

_DEFAULT_MANIFESTS = ("sweep.toml", "problems.jsonl")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "interface",
        epilog=examples(
            "tlagrid interface door-lock --manifest my-sweep/",
            "tlagrid interface Clock.cfg",
        ),
    )(interface_command)


def interface_command(
    problem: Annotated[
        str,
        typer.Argument(metavar="PROBLEM", help="A problem's id, or the path of a .cfg file."),
    ],
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="M",
            help=(
                "Sweep, folder or problems.jsonl with the problem; "
                "by default ./sweep.toml or ./problems.jsonl."
            ),
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the names that the configuration needs from a module.

    The text can go into a prompt as it is: it makes attempts of the config-aware regime.
    """
    from jobs.config_interface import interface_of

    module, name, config = _config(problem, manifest)
    interface = None if config is None else interface_of(_read(name, config))
    if as_json:
        from jobs.output import print_json

        print_json(_document(problem, module, interface))
    elif interface is None:
        typer.echo(f"Problem {problem} has no configuration: it needs no names.")
    else:
        typer.echo(interface.as_prompt(module))


def _config(problem: str, manifest: Path | None) -> tuple[str | None, str, str | None]:
    """The module's name, what to call the configuration, and its text."""
    if manifest is None and problem.endswith(".cfg"):
        return None, problem, _file(Path(problem))
    from jobs.run_lookup import unknown_name
    from jobs.sweep_file import load_sweep

    source = manifest or _default_manifest()
    problems = load_sweep(source, with_attempts=False).problems
    if problem not in problems:
        raise BadUsageError(f"{source}: {unknown_name('problem', problem, problems)}")
    found = problems[problem]
    return found.module, f"problem {problem}: config", found.config


def _file(path: Path) -> str:
    from jobs.input_errors import FaultLog
    from jobs.text_fields import FileText, read_utf8

    log = FaultLog()
    text = read_utf8(FileText(path), field=None, place=log.at(path))
    log.raise_if_any()
    return text or ""


def _default_manifest() -> Path:
    found = next((Path(name) for name in _DEFAULT_MANIFESTS if Path(name).is_file()), None)
    if found is None:
        raise BadUsageError(
            "there is neither sweep.toml nor problems.jsonl here; name one with --manifest, or "
            "give the path of a .cfg file"
        )
    return found


def _read(name: str, config: str) -> Any:
    from workers.config_file import ConfigError, read_config

    try:
        return read_config(config)
    except ConfigError as error:
        raise BadUsageError(f"{name}: TLC cannot read it: {error}") from error


def _document(
    problem: str, module: str | None, interface: ConfigInterface | None
) -> dict[str, Any]:
    from workers.records import SCHEMA_VERSION

    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "problem": problem,
        "module": module,
        "has_config": interface is not None,
    }
    if interface is None:
        return document
    return document | {
        "names": list(interface.names()),
        "defined": {keyword: list(names) for keyword, names in interface.defined},
        "constants": [
            {"name": each.name, "module": each.module, "value": each.value}
            for each in interface.constants
        ],
        "replacements": [
            {"name": each.name, "module": each.module, "definition": each.value}
            for each in interface.replacements
        ],
        "deadlock_checked": interface.deadlock_checked,
        "prompt": interface.as_prompt(module),
    }
