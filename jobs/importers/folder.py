"""A manifest out of a plain folder of problems and model outputs.

    problems/<problem>/   reference.tla or <Module>.tla, reference.cfg or <Module>.cfg (optional),
                          context/*.tla, problem.json (optional: module, labels, quota)
    attempts/<model>/[<regime>/]<problem>/<sample>.tla    also .txt and .md
    attempts/<model>/[<regime>/]<problem>.tla             a single sample, number 0

A folder below a model is a problem's when a problem has its name, else a regime's. A file that
has no place in the layout is a fault, because it is more often a slip (`refrence.cfg`) than a
note; names that start with a dot are skipped. The problem's folder may lack a reference when
`problem.json` names the module.

The whole source is read and checked before anything is written.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from jobs.input_errors import FaultLog, Place
from jobs.json_lines import parse_json_object
from jobs.manifest_lines import Labels, ModuleName
from jobs.manifests import check_module_header
from jobs.text_fields import FileText, locate_file, read_utf8
from workers.module_text import module_name_of
from workers.records import SCHEMA_VERSION, Quota, QuotaChange, Record

_ANSWER_SUFFIXES = (".tla", ".txt", ".md")
_SWEEP = 'problems = "problems.jsonl"\nattempts = "attempts.jsonl"\n'


@dataclass(frozen=True, slots=True)
class Imported:
    """How much an import found."""

    problems: int
    attempts: int


class _ProblemJson(Record):
    """What `problem.json` may say."""

    module: ModuleName | None = None
    labels: Labels = Field(default_factory=dict)
    quota: QuotaChange | None = None


@dataclass(slots=True)
class _Manifest:
    """The lines to write, and the files that they cite: path below the output, and source."""

    problems: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    copies: dict[str, Path] = field(default_factory=dict)

    def cite(self, source: Path, *parts: str) -> dict[str, str]:
        """The text field for a file that is to be copied."""
        path = "/".join(("files", *parts))
        self.copies[path] = source
        return {"path": path}


def import_folder(src: Path, out: Path) -> Imported:
    """Write a manifest with `sweep.toml` and copies of all texts into an empty or new folder.

    Raises:
        InputError: with every fault of the source, and when `out` is not empty.
        OSError: `out` cannot be written.
    """
    log = FaultLog()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        log.at(out).add(None, "exists and is not an empty folder; name a new one")
    manifest = _Manifest()
    problems = _read_problems(src, manifest, log)
    _read_attempts(src, problems, manifest, log)
    log.raise_if_any()
    _write(manifest, out)
    return Imported(len(manifest.problems), len(manifest.attempts))


def _read_problems(src: Path, manifest: _Manifest, log: FaultLog) -> set[str]:
    """Names of all problems; the lines of those without faults go to the manifest."""
    names = set()
    for folder in _entries(src / "problems", log):
        if folder.is_dir():
            names.add(folder.name)
            _read_problem(src, folder, manifest, log)
        else:
            log.at(folder).add(None, "is not a folder; each problem has one of its own")
    if not names and (src / "problems").is_dir():
        log.at(src / "problems").add(None, "holds no problems")
    return names


def _read_problem(src: Path, folder: Path, manifest: _Manifest, log: FaultLog) -> None:
    about = _read_problem_json(src, folder, log)
    modules: list[Path] = []
    configs: list[Path] = []
    context: dict[str, dict[str, str]] = {}
    for entry in _entries(folder, log):
        if entry.name == "context" and entry.is_dir():
            context = _read_context(src, folder.name, entry, manifest, log)
        elif entry.suffix == ".tla":
            modules.append(entry)
        elif entry.suffix == ".cfg":
            configs.append(entry)
        elif entry.name != "problem.json":
            log.at(entry).add(None, "has no place in a problem's folder")
    line: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "id": folder.name,
        "kind": "specification",
        "module": about.module,
        "context": context,
        "labels": about.labels,
    }
    reference = _only(modules, "put the modules that it imports into context/", log)
    if reference is not None:
        line["module"] = _reference_module(src, reference, about.module, log)
        line["reference"] = manifest.cite(reference, "problems", folder.name, reference.name)
    elif about.module is None and not modules:
        log.at(folder).add(None, "has no .tla file and no problem.json that names the module")
    config = _only(configs, "a problem has one configuration", log)
    if config is not None:
        _check_config(src, config, line["module"], log)
        line["config"] = manifest.cite(config, "problems", folder.name, config.name)
    if about.quota is not None:
        line["quota"] = about.quota.model_dump(exclude_none=True)
    manifest.problems.append(line)


def _check_config(src: Path, config: Path, module: str | None, log: FaultLog) -> None:
    if module is not None and config.stem not in ("reference", module):
        log.at(config).add(None, f"should be called reference.cfg or {module}.cfg")
    _utf8(src, config, log)


def _read_problem_json(src: Path, folder: Path, log: FaultLog) -> _ProblemJson:
    path = folder / "problem.json"
    place = log.at(path)
    text = _utf8(src, path, log) if path.exists() else None
    value = None if text is None else parse_json_object(text.encode(), place)
    if value is None:
        return _ProblemJson()
    try:
        about = _ProblemJson.model_validate(value, strict=True)
    except ValidationError as error:
        place.add_validation(error, known=tuple(_ProblemJson.model_fields))
        return _ProblemJson()
    try:
        (about.quota or QuotaChange()).applied_to(Quota())
    except ValidationError as error:
        place.add_validation(error, prefix="quota")
    return about


def _read_context(
    src: Path, problem: str, folder: Path, manifest: _Manifest, log: FaultLog
) -> dict[str, dict[str, str]]:
    context = {}
    for entry in _entries(folder, log):
        if entry.suffix != ".tla":
            log.at(entry).add(None, "is not a .tla file; context/ holds modules only")
            continue
        text = _utf8(src, entry, log)
        if text is not None:
            check_module_header(text, entry.stem, None, log.at(entry))
        context[entry.stem] = manifest.cite(entry, "problems", problem, "context", entry.name)
    return context


def _reference_module(src: Path, reference: Path, named: str | None, log: FaultLog) -> str | None:
    """The module that the reference declares, which must be the one that its name promises."""
    text = _utf8(src, reference, log)
    if text is None:
        return named
    declared = module_name_of(text)
    promised = named or (declared if reference.stem == "reference" else reference.stem)
    check_module_header(text, promised or "Name", None, log.at(reference))
    if reference.stem not in ("reference", promised):
        log.at(reference).add(None, f"should be called reference.tla or {promised}.tla")
    return promised


def _only(files: list[Path], advice: str, log: FaultLog) -> Path | None:
    for extra in files[1:]:
        log.at(extra).add(None, f"there is also {files[0].name}; {advice}")
    return files[0] if len(files) == 1 else None


def _read_attempts(src: Path, problems: set[str], manifest: _Manifest, log: FaultLog) -> None:
    for model in _entries(src / "attempts", log):
        if not model.is_dir():
            log.at(model).add(None, "is not a folder; each model has one of its own")
            continue
        first: dict[tuple[str, str, int], Path] = {}
        for answer in _answers(model, problems, log):
            same = first.setdefault((answer.regime, answer.problem, answer.sample), answer.path)
            if same is not answer.path:
                log.at(answer.path).add(None, f"is the same sample as {same}")
            _attempt(src, model.name, answer, manifest, log)


@dataclass(frozen=True, slots=True)
class _Answer:
    regime: str
    problem: str
    sample: int
    path: Path


def _answers(model: Path, problems: set[str], log: FaultLog) -> Iterator[_Answer]:
    for entry in _entries(model, log):
        if not entry.is_dir() or entry.name in problems:
            yield from _answers_of_entry(entry, "default", problems, log)
            continue
        below = _entries(entry, log)
        if any((path.name if path.is_dir() else path.stem) in problems for path in below):
            for path in below:
                yield from _answers_of_entry(path, entry.name, problems, log)
        else:
            log.at(entry).add(
                None, f"there is no problem {entry.name!r}, and no problem's answers below it"
            )


def _answers_of_entry(
    entry: Path, regime: str, problems: set[str], log: FaultLog
) -> Iterator[_Answer]:
    """The samples in a problem's folder, or the single sample of a file with a problem's name."""
    if entry.is_dir() and entry.name in problems:
        for sample in _entries(entry, log):
            yield from _answer(sample, regime, entry.name, sample.stem, log)
    elif not entry.is_dir() and entry.stem in problems:
        yield from _answer(entry, regime, entry.stem, "0", log)
    else:
        name = entry.name if entry.is_dir() else entry.stem
        log.at(entry).add(None, f"there is no problem {name!r}")


def _answer(path: Path, regime: str, problem: str, sample: str, log: FaultLog) -> Iterator[_Answer]:
    if path.suffix not in _ANSWER_SUFFIXES or path.is_dir():
        log.at(path).add(None, f"is not a file that ends in {', '.join(_ANSWER_SUFFIXES)}")
    elif not re.fullmatch(r"[0-9]{1,9}", sample):
        log.at(path).add(None, f"should be named by its sample number, such as 0{path.suffix}")
    else:
        yield _Answer(regime, problem, int(sample), path)


def _attempt(src: Path, model: str, answer: _Answer, manifest: _Manifest, log: FaultLog) -> None:
    if not _is_inside(src, answer.path, log.at(answer.path)):
        return
    name = f"{answer.sample}{answer.path.suffix}"
    text = manifest.cite(answer.path, "attempts", model, answer.regime, answer.problem, name)
    manifest.attempts.append(
        {
            "schema_version": SCHEMA_VERSION,
            "problem": answer.problem,
            "model": model,
            "regime": answer.regime,
            "sample": answer.sample,
            "text": text,
        }
    )


def _entries(folder: Path, log: FaultLog) -> list[Path]:
    """What a folder holds, by name; names that a manifest cannot hold are faults."""
    entries = []
    try:
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith("."):
                continue
            try:
                entry.name.encode()
                entries.append(entry)
            except UnicodeEncodeError:
                log.at(entry).add(None, "the name is not UTF-8; rename it")
    except OSError as error:
        log.at(folder).add(None, f"cannot be read: {error.strerror or error}")
    return entries


def _is_inside(src: Path, path: Path, place: Place) -> bool:
    relative = str(path.relative_to(src))
    return locate_file(relative, root=src, field=None, place=place) is not None


def _utf8(src: Path, path: Path, log: FaultLog) -> str | None:
    place = log.at(path)
    if not _is_inside(src, path, place):
        return None
    return read_utf8(FileText(path), field=None, place=place)


def _write(manifest: _Manifest, out: Path) -> None:
    """Texts first and `sweep.toml` last: a folder with a sweep file is complete."""
    out.mkdir(parents=True, exist_ok=True)
    for path, source in sorted(manifest.copies.items()):
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    for name, lines in (
        ("problems.jsonl", manifest.problems),
        ("attempts.jsonl", manifest.attempts),
    ):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    (out / "sweep.toml").write_text(_SWEEP, encoding="utf-8", newline="\n")
