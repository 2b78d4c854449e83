"""The manifest: which problems there are, and which attempts at them are to be graded.

`problems.jsonl` and `attempts.jsonl` hold one JSON object a line. Problems are few and stay in
memory. Attempts are many: a reading checks every one, digests its text and forgets the text; what
stays is its identity and its place, from which `AttemptEntry.load` takes the text when its turn
comes. A text that changed in between is an error, since the sweep's digest speaks of the old one.

The readers note faults and go on; `sweep_file` raises all of them at once. A line with a fault
still defines its id, so that one mistake gives one message.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jobs.input_errors import FaultLog, InputError, Place
from jobs.json_lines import LinePlace, parse_json_object, read_json_lines
from jobs.manifest_lines import AttemptLine, IdentityFields, ProblemLine, is_module_name
from jobs.text_fields import locate_text, read_utf8
from workers.module_text import module_name_of
from workers.records import Attempt, Kind, Problem, Quota, Usage


@dataclass(frozen=True, slots=True)
class AttemptEntry:
    """Who made an attempt at what, and where its text lies."""

    id: str
    problem: str
    model: str
    regime: str
    sample: int
    text_sha256: str
    """Digest of the text's bytes, in lower-case hexadecimal."""
    place: LinePlace

    def load(self) -> Attempt:
        """The attempt with its text, read again from where it lies.

        Bytes that are not UTF-8 become replacement characters, and `valid_utf8` says so.

        Raises:
            InputError: the manifest's line or the text is not what it was when the sweep was read.
        """
        content, usage = self._read_again()
        text = content.decode(errors="replace")
        return Attempt(
            id=self.id,
            problem=self.problem,
            model=self.model,
            regime=self.regime,
            sample=self.sample,
            text=text,
            valid_utf8=text.encode() == content,
            usage=usage,
        )

    def _read_again(self) -> tuple[bytes, Usage | None]:
        log = FaultLog()
        place = log.at(self.place.file, self.place.number)
        try:
            with self.place.file.open("rb") as stream:
                stream.seek(self.place.offset)
                value = parse_json_object(stream.read(self.place.length), place)
            line = None if value is None else AttemptLine.model_validate(value, strict=True)
            if line is not None and line.attempt_id == self.id and line.key == self.key:
                root = self.place.file.parent
                source = locate_text(line.text, root=root, field="text", place=place)
                content = None if source is None else source.content()
                if content is not None and _sha256(content) == self.text_sha256:
                    return content, line.usage
        except ValidationError as error:
            place.add_validation(error)
        except OSError as error:
            place.add("text", f"cannot be read: {error.strerror or error}")
        place.add(
            "text",
            f"attempt {self.id!r} is not what it was when the sweep was read; "
            "leave the inputs alone while a sweep runs, and start it again",
        )
        raise InputError(log.faults)

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What no two attempts of a sweep share."""
        return self.problem, self.model, self.regime, self.sample


@dataclass(slots=True)
class ProblemReading:
    """The problems of a manifest, and what is known of those that have faults."""

    problems: dict[str, Problem] = field(default_factory=dict)
    """By id; without those that have a fault."""
    defined: dict[str, LinePlace] = field(default_factory=dict)
    """Every id that a line defines, however faulty the line."""
    proofs: set[str] = field(default_factory=set)
    """Ids of proof problems, which this version does not grade."""
    complete: bool = True
    """False when a file could not be read: then an id may well be defined in it."""


def read_problems(files: Iterable[Path], log: FaultLog, *, quota: Quota | None) -> ProblemReading:
    """The problems of all files together; faults go to `log`.

    `quota` is what a problem's own quota changes; `None` when it is not known, which leaves the
    combination of the two unchecked.
    """
    reading = ProblemReading()
    for file in files:
        try:
            for line, value in read_json_lines(file, log):
                _read_problem(line, value, reading, log, quota)
        except OSError as error:
            log.at(file).add(None, f"cannot be read: {error.strerror or error}")
            reading.complete = False
    return reading


def read_attempts(
    files: Iterable[Path], log: FaultLog, *, problems: ProblemReading
) -> list[AttemptEntry]:
    """The attempts of all files together, in the order of the lines; faults go to `log`."""
    entries: list[AttemptEntry] = []
    seen: dict[str | tuple[str, str, str, int], LinePlace] = {}
    for file in files:
        try:
            for line, value in read_json_lines(file, log):
                entry = _read_attempt(line, value, problems, seen, log.at(file, line.number))
                if entry is not None:
                    entries.append(entry)
        except OSError as error:
            log.at(file).add(None, f"cannot be read: {error.strerror or error}")
    return entries


def _read_problem(
    line: LinePlace,
    value: dict[str, Any],
    reading: ProblemReading,
    log: FaultLog,
    quota: Quota | None,
) -> None:
    place = log.at(line.file, line.number)
    faults_before = len(log.faults)
    _define(value, line, reading, place)
    if value.get("kind") == Kind.PROOF:
        place.add("kind", "proof problems are not supported by this version; take the line out")
        return
    fields: ProblemLine | None = None
    try:
        fields = ProblemLine.model_validate(value, strict=True)
    except ValidationError as error:
        place.add_validation(error, known=tuple(ProblemLine.model_fields))
    texts = {
        name: _problem_text(value[name], name, place)
        for name in ("reference", "config", "mapping")
        if value.get(name) is not None
    }
    module, reference = value.get("module"), texts.get("reference")
    if reference is not None and isinstance(module, str) and is_module_name(module):
        check_module_header(reference, module, "reference", place)
    context = _context(value.get("context"), place)
    if fields is None:
        return
    _check_quota(fields, quota, place)
    if len(log.faults) == faults_before:
        reading.problems[fields.id] = Problem(
            id=fields.id,
            module=fields.module,
            context=context,
            labels=fields.labels,
            quota=fields.quota,
            **texts,
        )


def _define(value: dict[str, Any], line: LinePlace, reading: ProblemReading, place: Place) -> None:
    problem = value.get("id")
    if not isinstance(problem, str) or not problem:
        return
    first = reading.defined.setdefault(problem, line)
    if first is not line:
        place.add("id", f"problem {problem!r} is already defined at {_shown(first)}")
    if value.get("kind") == Kind.PROOF:
        reading.proofs.add(problem)


def _check_quota(fields: ProblemLine, quota: Quota | None, place: Place) -> None:
    if fields.quota is None or quota is None:
        return
    try:
        fields.quota.applied_to(quota)
    except ValidationError as error:
        place.add_validation(error, prefix="quota")


def check_module_header(text: str, name: str, field: str | None, place: Place) -> None:
    """Note a fault of `field` unless the text's first module header declares `name`."""
    declared = module_name_of(text)
    if declared is None:
        place.add(field, f"has no module header; it should start with ---- MODULE {name} ----")
    elif declared != name:
        place.add(field, f"is module {declared!r}, but should be module {name!r}")


def _problem_text(value: Any, field: str, place: Place) -> str | None:
    source = locate_text(value, root=place.file.parent, field=field, place=place)
    return None if source is None else read_utf8(source, field=field, place=place)


def _context(value: Any, place: Place) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, given in value.items() if isinstance(value, dict) else ():
        text = _problem_text(given, f"context.{name}", place)
        if text is not None:
            check_module_header(text, name, f"context.{name}", place)
            texts[name] = text
    return texts


def _read_attempt(
    line: LinePlace,
    value: dict[str, Any],
    problems: ProblemReading,
    seen: dict[str | tuple[str, str, str, int], LinePlace],
    place: Place,
) -> AttemptEntry | None:
    faults_before = len(place.log.faults)
    identity: IdentityFields | None
    try:
        identity = AttemptLine.model_validate(value, strict=True)
    except ValidationError as error:
        place.add_validation(error, known=tuple(AttemptLine.model_fields))
        identity = _identity_alone(value)
    problem = value.get("problem")
    if isinstance(problem, str) and problem:
        if problem not in problems.defined and problems.complete:
            place.add("problem", f"no problem has the id {problem!r}")
        if value.get("claims") is not None and problem not in problems.proofs:
            place.add("claims", "belong to attempts at proofs, and this is a specification")
    if identity is not None:
        _check_unique(identity, line, seen, place)
    digest = _text_digest(value["text"], place) if "text" in value else None
    if identity is None or digest is None or len(place.log.faults) > faults_before:
        return None
    return AttemptEntry(
        id=identity.attempt_id,
        # Equal names in a hundred thousand entries are one string.
        problem=sys.intern(identity.problem),
        model=sys.intern(identity.model),
        regime=sys.intern(identity.regime),
        sample=identity.sample,
        text_sha256=digest,
        place=line,
    )


def _identity_alone(value: dict[str, Any]) -> IdentityFields | None:
    """Who a faulty line is about, so that its duplicates are found in the same reading."""
    known = {name: value[name] for name in IdentityFields.model_fields if name in value}
    try:
        return IdentityFields.model_validate(known, strict=True)
    except ValidationError:
        return None


def _check_unique(
    identity: IdentityFields,
    line: LinePlace,
    seen: dict[str | tuple[str, str, str, int], LinePlace],
    place: Place,
) -> None:
    same_id = seen.setdefault(identity.attempt_id, line)
    same_key = seen.setdefault(identity.key, line)
    if same_key is not line and (identity.id is None or same_id is not same_key):
        place.add(
            "sample",
            "the same problem, model, regime and sample as the attempt at "
            f"{_shown(same_key)}; number the samples",
        )
    if same_id is not line and (identity.id is not None or same_id is not same_key):
        place.add("id", f"attempt {identity.attempt_id!r} is already at {_shown(same_id)}")


def _text_digest(value: Any, place: Place) -> str | None:
    source = locate_text(value, root=place.file.parent, field="text", place=place)
    if source is None:
        return None
    try:
        return source.sha256()
    except OSError as error:
        place.add("text", f"cannot be read: {error.strerror or error}")
        return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _shown(line: LinePlace) -> str:
    return f"{line.file}:{line.number}"
