"""What a run is: its inputs, settings and tools, frozen when it starts.

A run may be killed and started again any number of times, and its tables must be those of one
undisturbed run. So the first start writes down what is graded (one identity line per problem and
attempt, with the SHA-256 of the text instead of the text), under which settings and with which
tools; a later start that brings anything else is refused and told what differs.

The lists are written before `run.json`, which makes the run exist. What was decided is the
ledger's business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal, Self

import orjson
from pydantic import Field, ValidationError

from cluster.lines import SUFFIX, compress_lines, read_lines
from cluster.store import MissingObjectError, Store, StoreError
from workers.records import (
    SCHEMA_VERSION,
    Attempt,
    Digest,
    GradingSettings,
    Kind,
    Label,
    Problem,
    Record,
    Toolchain,
    Usage,
)

_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NAMED_IN_A_MESSAGE = 3


class RunNameError(ValueError):
    """The name cannot be a run's name."""


class RunMismatchError(Exception):
    """A run of this name exists with other inputs, settings or tools; the message says which."""


class ProblemIdentity(Record):
    """A problem as a run's reports need it; `sha256` stands for all of its record."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str
    kind: Kind
    module: str
    has_config: bool
    labels: dict[str, Label]
    sha256: Digest

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The identity of a problem."""
        record = orjson.dumps(problem.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
        return cls(
            id=problem.id,
            kind=problem.kind,
            module=problem.module,
            has_config=problem.config is not None,
            labels=dict(sorted(problem.labels.items())),
            sha256=hashlib.sha256(record).hexdigest(),
        )


class AttemptIdentity(Record):
    """An attempt without its text."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str
    problem: str
    model: str
    regime: str
    sample: int
    usage: Usage | None = None
    text_sha256: Digest

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        """The identity of an attempt."""
        return cls(
            id=attempt.id,
            problem=attempt.problem,
            model=attempt.model,
            regime=attempt.regime,
            sample=attempt.sample,
            usage=attempt.usage,
            text_sha256=hashlib.sha256(attempt.text.encode()).hexdigest(),
        )


class FrozenList(Record):
    """A list of identities in the store."""

    key: str
    sha256: Digest
    count: int = Field(ge=0)


class RunDescription(Record):
    """`runs/<name>/run.json`: what is graded, how and with what."""

    schema_version: Literal[1] = SCHEMA_VERSION
    name: str
    created: datetime
    tlagrid_version: str
    """Version that started the run. Not compared: it does not decide anything by itself."""
    settings: GradingSettings
    toolchain: Toolchain | None = None
    problems: FrozenList
    attempts: FrozenList


def check_run_name(name: str) -> str:
    """Return the name when it can name a run, which becomes a folder of the store.

    Raises:
        RunNameError: it cannot.
    """
    if not _RUN_NAME.fullmatch(name):
        raise RunNameError(
            f"run name {name!r} is not valid: use up to 100 letters, digits, dots, underscores "
            "and hyphens, beginning with a letter or a digit"
        )
    return name


def create_or_resume(
    store: Store,
    name: str,
    *,
    problems: Iterable[ProblemIdentity],
    attempts: Iterable[AttemptIdentity],
    settings: GradingSettings,
    toolchain: Toolchain | None,
    tlagrid_version: str,
) -> RunDescription:
    """Freeze a new run, or return the one of this name when it is the same in all that counts.

    Raises:
        RunNameError: the name cannot name a run.
        RunMismatchError: the run exists with other inputs, settings or tools.
        StoreError: the store cannot be read or written.
    """
    check_run_name(name)
    offered = RunDescription(
        name=name,
        created=datetime.now(UTC),
        tlagrid_version=tlagrid_version,
        settings=settings,
        toolchain=toolchain,
        problems=_store_list(store, name, "problems", problems),
        attempts=_store_list(store, name, "attempts", attempts),
    )
    try:
        existing = read_run(store, name)
    except MissingObjectError:
        store.put(_run_key(name), offered.model_dump_json(indent=2).encode())
        # Two first starts at once may both come here; the later write is the run.
        existing = read_run(store, name)
    differences = _differences(store, existing, offered)
    if differences:
        raise RunMismatchError(
            f"run {name} exists in {store.uri} and differs: {'; '.join(differences)}. "
            "Choose another --run, or bring back what it was started with"
        )
    return existing


def read_run(store: Store, name: str) -> RunDescription:
    """The description of a run.

    Raises:
        RunNameError: the name cannot name a run.
        MissingObjectError: there is no such run.
        StoreError: its description cannot be read.
    """
    key = _run_key(check_run_name(name))
    try:
        return RunDescription.model_validate_json(store.get(key))
    except ValidationError as error:
        raise StoreError(f"store {store.uri}: {key} is not a run's description: {error}") from error


def list_runs(store: Store) -> Iterator[RunDescription]:
    """The runs of a store, by name; a folder in which no run came to exist is left out."""
    for name in store.list_folders("runs/"):
        try:
            yield read_run(store, name)
        except (MissingObjectError, RunNameError):
            continue


def read_problems(store: Store, run: RunDescription) -> Iterator[ProblemIdentity]:
    """The problems that the run grades attempts of, in the order of its manifest."""
    for line in read_lines(store, run.problems.key):
        yield ProblemIdentity.model_validate_json(line)


def read_attempts(store: Store, run: RunDescription) -> Iterator[AttemptIdentity]:
    """The attempts that the run grades, in the order of its manifest."""
    for line in read_lines(store, run.attempts.key):
        yield AttemptIdentity.model_validate_json(line)


def _run_key(name: str) -> str:
    return f"runs/{name}/run.json"


def _store_list(store: Store, run: str, what: str, identities: Iterable[Record]) -> FrozenList:
    lines = compress_lines(identity.model_dump_json().encode() for identity in identities)
    key = f"runs/{run}/{what}-{lines.sha256}{SUFFIX}"
    if not store.exists(key):
        store.put(key, lines.data)
    return FrozenList(key=key, sha256=lines.sha256, count=lines.count)


def _differences(store: Store, was: RunDescription, now: RunDescription) -> list[str]:
    """What makes `now` another run than `was`, in words."""
    found = []
    for what in ("problems", "attempts"):
        old: FrozenList = getattr(was, what)
        new: FrozenList = getattr(now, what)
        if old.sha256 != new.sha256:
            found += _list_differences(what, _lines_by_id(store, old), _lines_by_id(store, new))
    found += _field_differences("settings", was.settings.model_dump(), now.settings.model_dump())
    found += _field_differences("toolchain", _dump(was.toolchain), _dump(now.toolchain))
    return found


def _dump(toolchain: Toolchain | None) -> dict[str, Any]:
    return {} if toolchain is None else toolchain.model_dump()


def _field_differences(where: str, was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    found = []
    for name in sorted(was.keys() | now.keys()):
        old, new = was.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _field_differences(f"{where}.{name}", old, new)
        elif old != new:
            found.append(f"{where}.{name} was {old}, is {new}")
    return found


def _lines_by_id(store: Store, frozen: FrozenList) -> dict[str, bytes]:
    """Digests of a list's lines by id: read only to explain a mismatch."""
    return {
        orjson.loads(line)["id"]: hashlib.sha256(line).digest()
        for line in read_lines(store, frozen.key)
    }


def _list_differences(what: str, was: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """Added, removed and changed lines; none when only the order differs."""
    changed = [name for name, digest in now.items() if was.get(name, digest) != digest]
    groups = {
        "added": [name for name in now if name not in was],
        "removed": [name for name in was if name not in now],
        "changed": changed,
    }
    return [f"{len(ids)} {what} {how} ({_some(ids)})" for how, ids in groups.items() if ids]


def _some(ids: list[str]) -> str:
    shown = ", ".join(ids[:_NAMED_IN_A_MESSAGE])
    return shown + (", ..." if len(ids) > _NAMED_IN_A_MESSAGE else "")
