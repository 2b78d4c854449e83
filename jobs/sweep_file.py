"""The sweep file: which manifest to grade, under which rules, and how to report it.

A sweep is a TOML file, a folder with a `sweep.toml`, or a folder with `problems.jsonl` and
`attempts.jsonl` and nothing to set. Reading one reads its whole manifest, so that everything that
is wrong with the input, in whichever file, is reported at once and before anything runs.

The digests made here are independent of where the files lie and of the order of their lines: the
same inputs moved to another machine are the same sweep.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from jobs.input_errors import FaultLog, InputError
from jobs.manifest_lines import Name
from jobs.manifests import AttemptEntry, read_attempts, read_problems
from jobs.toml_document import TomlDocument, read_toml
from workers.records import (
    Digest,
    ExtractRule,
    GradingSettings,
    IoOperators,
    Problem,
    Quota,
    QuotaChange,
    Record,
)

_FILE_NAME = "sweep.toml"
_PLAIN_FOLDER = {"problems": "problems.jsonl", "attempts": "attempts.jsonl"}


def _list_as_tuple(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list")
    return tuple(value)


def _one_or_more(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a string or a list of strings that is not empty")
    return tuple(value)


def _refuse_only(policy: str) -> str:
    if policy == "allow":
        raise ValueError(
            "only nodes that isolate candidates may allow IO operators, and this version isolates "
            'none; use "refuse"'
        )
    return policy


def _no_probes(probes: tuple[Any, ...]) -> tuple[Any, ...]:
    if probes:
        raise ValueError("this version has no probes; take the key out or leave the list empty")
    return probes


Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_more)]
PassAt = Annotated[int, Field(ge=1)]


class ReportSettings(Record):
    """What the sweep's closing report shows."""

    k: Annotated[tuple[PassAt, ...], BeforeValidator(_list_as_tuple)] | None = None
    """The k of pass@k; `None`: every k up to the samples that there are."""
    by: Names = ()
    """Labels of problems to stratify by."""


class ToolchainPins(Record):
    """The tools that the sweep wants to be graded with; compared with the node's at start."""

    tla2tools_sha256: Digest | None = None
    java_version: Name | None = None


class _Quotas(Record):
    specification: QuotaChange = QuotaChange()
    proof: QuotaChange = QuotaChange()


class _SweepFile(Record):
    problems: Names
    attempts: Names
    extract: Literal["robust", "published"] = "robust"
    io_operators: Annotated[Literal["refuse", "allow"], AfterValidator(_refuse_only)] = "refuse"
    quota: _Quotas = _Quotas()
    probes: Annotated[
        tuple[Any, ...], BeforeValidator(_list_as_tuple), AfterValidator(_no_probes)
    ] = ()
    toolchain: ToolchainPins = ToolchainPins()
    store: Name | None = None
    report: ReportSettings = ReportSettings()


@dataclass(frozen=True, slots=True)
class Sweep:
    """Everything that a run needs to know, read and checked."""

    source: Path
    """The file or folder that it was read from."""
    name: str
    """Suggested name of the run: the source's name and a digest of inputs and settings."""
    problems: Mapping[str, Problem]
    """By id, in the order of the manifest."""
    attempts: Sequence[AttemptEntry]
    """In the order of the manifest; their texts are loaded one by one."""
    settings: GradingSettings
    proof_quota: QuotaChange
    """Kept for the version that grades proofs."""
    pins: ToolchainPins
    store: str | None
    """A URI, or a folder relative to the working folder."""
    report: ReportSettings
    inputs_digest: str
    """SHA-256 over the problems and over the attempts' identities and texts."""


def load_sweep(path: Path, *, with_attempts: bool = True) -> Sweep:
    """Read a sweep and its whole manifest.

    Without attempts, which is enough to check or show problems, `path` may also be a file of
    problems.

    Raises:
        InputError: with every fault of the sweep file and of all manifest files.
    """
    log = FaultLog()
    document = _read_document(path, log, with_attempts=with_attempts)
    if document is None:
        raise InputError(log.faults)
    fields = _read_fields(document, log)
    quota = _specification_quota(document, log)
    problem_files, all_found = _files(document, "problems", log)
    problems = read_problems(problem_files, log, quota=quota)
    problems.complete = problems.complete and all_found
    attempts: list[AttemptEntry] = []
    if with_attempts:
        attempt_files, _ = _files(document, "attempts", log)
        attempts = read_attempts(attempt_files, log, problems=problems)
    if log.faults or fields is None or quota is None:
        raise InputError(log.faults)
    settings = GradingSettings(
        quota=quota,
        extract=ExtractRule(fields.extract),
        io_operators=IoOperators(fields.io_operators),
    )
    inputs_digest = _digest_inputs(problems.problems, attempts)
    return Sweep(
        source=path,
        name=_run_name(path, inputs_digest, settings),
        problems=problems.problems,
        attempts=attempts,
        settings=settings,
        proof_quota=fields.quota.proof,
        pins=fields.toolchain,
        store=_store(fields.store, _folder(document)),
        report=fields.report,
        inputs_digest=inputs_digest,
    )


def _read_document(path: Path, log: FaultLog, *, with_attempts: bool) -> TomlDocument | None:
    """The sweep file, or what it would say for a path that has none."""
    if path.is_dir():
        if (path / _FILE_NAME).exists():
            return read_toml(path / _FILE_NAME, log)
        if (path / _PLAIN_FOLDER["problems"]).exists():
            return TomlDocument(path, dict(_PLAIN_FOLDER), {})
        log.at(path).add(None, f"the folder has neither {_FILE_NAME} nor problems.jsonl")
        return None
    if path.suffix == ".jsonl":
        if not with_attempts:
            return TomlDocument(path, _PLAIN_FOLDER | {"problems": path.name}, {})
        log.at(path).add(
            None, f"is one half of a manifest; give its folder {path.parent} or a sweep file"
        )
        return None
    return read_toml(path, log)


def _read_fields(document: TomlDocument, log: FaultLog) -> _SweepFile | None:
    try:
        return _SweepFile.model_validate(document.value, strict=True)
    except ValidationError as error:
        document.add_validation(log, error, known=tuple(_SweepFile.model_fields))
        return None


def _specification_quota(document: TomlDocument, log: FaultLog) -> Quota | None:
    """The quota of specifications; contradictions in either kind's quota are noted."""
    quotas: dict[str, Quota] = {}
    given = document.value.get("quota", {})
    for kind in _Quotas.model_fields:
        try:
            change = _Quotas.model_validate(
                {kind: given[kind]} if kind in given else {}, strict=True
            )
        except (TypeError, ValidationError):
            continue  # noted with the other fields of the file
        try:
            quotas[kind] = getattr(change, kind).applied_to(Quota())
        except ValidationError as error:
            document.add_validation(log, error, prefix=f"quota.{kind}")
    return quotas.get("specification")


def _files(document: TomlDocument, key: str, log: FaultLog) -> tuple[list[Path], bool]:
    """The files that a key's paths and globs name, each once; and whether all were found."""
    given = document.value.get(key)
    patterns = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    folder = _folder(document)
    files: dict[Path, Path] = {}
    all_found = bool(patterns)
    for pattern in patterns:
        found: list[Path] = []
        if not isinstance(pattern, str) or not pattern:
            pass  # noted with the other fields of the file
        elif "://" in pattern:
            document.add(log, key, f"{pattern!r}: this version reads local files only")
        elif not (found := _matches(folder, pattern)):
            document.add(log, key, f"no file matches {pattern!r} below {folder}")
        all_found = all_found and bool(found)
        for file in found:
            files.setdefault(file.resolve(), file)
    return list(files.values()), all_found


def _matches(folder: Path, pattern: str) -> list[Path]:
    literal = folder / pattern
    if literal.is_file():
        return [literal]
    root, relative = folder, pattern
    if Path(pattern).is_absolute():
        root, relative = Path(literal.anchor), str(literal.relative_to(literal.anchor))
    try:
        return sorted(found for found in root.glob(relative) if found.is_file())
    except ValueError:  # `**` beside other characters
        return []


def _folder(document: TomlDocument) -> Path:
    """What paths are relative to; the document of a folder without `sweep.toml` is the folder."""
    return document.path if document.path.is_dir() else document.path.parent


def _digest_inputs(problems: Mapping[str, Problem], attempts: Iterable[AttemptEntry]) -> str:
    digest = hashlib.sha256()
    for _, problem in sorted(problems.items()):
        # Without defaults, so that a field that a later version adds changes no old digest.
        fields = problem.model_dump(mode="json", exclude_defaults=True)
        digest.update(json.dumps(fields, sort_keys=True).encode() + b"\n")
    for entry in sorted(attempts, key=lambda entry: entry.id):
        identity = (entry.id, *entry.key, entry.text_sha256)
        digest.update(json.dumps(identity).encode() + b"\n")
    return digest.hexdigest()


def _run_name(path: Path, inputs_digest: str, settings: GradingSettings) -> str:
    """The folder's name for a folder and for the `sweep.toml` in it, which are the same sweep."""
    resolved = path.resolve()
    stem = resolved.parent.name if path.name == _FILE_NAME else resolved.stem
    if path.is_dir():
        stem = resolved.name
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "sweep"
    decided_by = f"{inputs_digest}\n{settings.model_dump_json()}"
    return f"{readable}-{hashlib.sha256(decided_by.encode()).hexdigest()[:8]}"


def _store(store: str | None, folder: Path) -> str | None:
    """A store's folder is relative to the sweep file, like every path in it."""
    if store is None or "://" in store:
        return store
    return str(folder / store)
