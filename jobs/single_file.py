"""Make a problem and an attempt of one file, as TLC's own users lay files out.

Beside `Clock.tla` they keep `Clock.cfg` and the modules that Clock extends, and TLC finds both
there. So a configuration of the same stem and the modules of the same folder are taken without
being named, and `notes` says what was taken: in a sweep nothing is ever picked up like this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobs.exit_codes import BadUsageError
from jobs.input_errors import FaultLog
from jobs.text_fields import FileText, read_utf8
from workers.extraction import ExtractedModule, extract_module
from workers.module_text import imports_of, module_name_of
from workers.records import Attempt, ExtractRule, Problem
from workers.toolchain import find_tools

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class SingleFile:
    """One file as a problem and an attempt at it."""

    problem: Problem
    attempt: Attempt
    label: str
    """What to call the file."""
    config_file: Path | None
    notes: tuple[str, ...]
    """What was read, one sentence each."""


def read_single_file(
    file: str,
    *,
    config: Path | None,
    context: Path | None,
    module: str | None,
    rule: ExtractRule,
) -> SingleFile:
    """Read a file and what belongs to it.

    Args:
        file: path of the answer, or `-` for standard input.
        config: its configuration; by default `<stem>.cfg` beside it, if there is one.
        context: folder of the modules that it imports; by default its own folder.
        module: name that the module should have; by default the one that it has.
        rule: how the module is found in the text.

    Raises:
        BadUsageError: a file or folder is not there.
        InputError: a file is not UTF-8 or cannot be read.
        ToolchainError: the tools are missing; they say which modules are standard.
    """
    path = None if file == STANDARD_INPUT else Path(file)
    content = sys.stdin.buffer.read() if path is None else _content(path)
    text = content.decode(errors="replace")
    label = "standard input" if path is None else path.name
    extracted = extract_module(text, rule)
    config_file = _config_file(path, config)
    folder = _context_folder(path, context)
    modules = {} if folder is None else _imported(extracted, folder, is_given=context is not None)
    name = module or extracted.name or (path.stem if path else "Module")
    problem = Problem(
        id=name,
        module=name,
        config=None if config_file is None else _text(config_file),
        context=modules,
    )
    attempt = Attempt(
        id=label,
        problem=name,
        model="file",
        text=text,
        valid_utf8=text.encode() == content,
    )
    notes = (
        _about_answer(label, text, extracted),
        _about_config(config_file, given=config is not None),
        *_about_modules(modules, folder),
    )
    return SingleFile(problem, attempt, label, config_file, notes)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadUsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _config_file(path: Path | None, given: Path | None) -> Path | None:
    if given is not None:
        if not given.is_file():
            raise BadUsageError(f"--config {given}: no such file")
        return given
    beside = None if path is None else path.with_suffix(".cfg")
    return beside if beside is not None and beside != path and beside.is_file() else None


def _context_folder(path: Path | None, given: Path | None) -> Path | None:
    if given is not None and not given.is_dir():
        raise BadUsageError(f"--context {given}: no such folder")
    return given or (None if path is None else path.parent)


def _imported(extracted: ExtractedModule, folder: Path, *, is_given: bool) -> dict[str, str]:
    """Modules of the folder that the file imports, also through one another.

    Standard modules come from the tools, unless the folder was given and has its own.
    """
    passed_over = set() if is_given else set(find_tools().standard_modules)
    passed_over |= {str(extracted.name), *extracted.companions}
    found: dict[str, str] = {}
    pending = imports_of(extracted.text)
    while pending:
        name = pending.pop()
        path = folder / f"{name}.tla"
        if name in found or name in passed_over or not path.is_file():
            continue
        text = _text(path)
        if module_name_of(text) != name:
            raise BadUsageError(f"{path}: holds no module {name}; its header should name it")
        found[name] = text
        pending.extend(imports_of(text))
    return dict(sorted(found.items()))


def _text(path: Path) -> str:
    log = FaultLog()
    text = read_utf8(FileText(path), field=None, place=log.at(path))
    log.raise_if_any()
    return text or ""


def _about_answer(label: str, text: str, extracted: ExtractedModule) -> str:
    record = extracted.record
    if record.module is None:
        return f"{label}: no module found"
    first = text.count("\n", 0, record.start) + 1
    last = text.count("\n", 0, record.end) + 1
    whole = not text[: record.start].strip("\ufeff \t\r\n") and not text[record.end :].strip()
    where = "" if whole else f", lines {first} to {last} of the file"
    return f"{label}: module {record.module}{where}"


def _about_config(config: Path | None, *, given: bool) -> str:
    if config is None:
        return "no configuration (--config, or a .cfg of the same name): parse only"
    return f"configuration {config}{'' if given else ', found beside the file'}"


def _about_modules(modules: Iterable[str], folder: Path | None) -> list[str]:
    names = ", ".join(modules)
    return [f"imported modules from {folder}: {names}"] if names else []
