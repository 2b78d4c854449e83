"""Compare a run's verdicts with the outcomes that are known for its attempts.

A folder of known cases is a sweep with an `expected.jsonl` beside it: per attempt and version of
TLC (`2.15`, `current`) the outcome, and where stated the sub-kind, flags, property and state
counts. `null` for a version means that nothing is expected of it; a version that is not listed
is expected to do what 2.15 does. Flags are compared as far as the file speaks of them: a flag
that occurs nowhere in it is none of its business.

Where a verdict differs for a good reason, a list of known differences says so, attempt by attempt
and field by field; a known difference that no longer occurs is reported like a new one, so that
the list stays true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from jobs.input_errors import InputError, InputFault
from workers.records import Outcome, Toolchain, Verdict

OLD_TLC = "2.15"
CURRENT_TLC = "current"
_FIRST_CURRENT_YEAR = 2021

LineT = TypeVar("LineT", bound=BaseModel)


class Expectation(BaseModel):
    """What must come out of one attempt under one version of TLC; `None` is not stated."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    outcome: Outcome
    sub: str | None = None
    flags: tuple[str, ...] | None = None
    property: str | None = None
    distinct: int | None = None
    generated: int | None = None


class _ExpectedLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    attempt: str
    expected: dict[str, Expectation | None]


class KnownDifference(BaseModel):
    """A difference that is accepted, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempt: str
    tlc: str
    field: str
    expected: str
    actual: str
    because: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one verdict that is not as expected."""

    attempt: str
    field: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.attempt}: {self.field}: expected {self.expected}, got {self.actual}"


@dataclass(frozen=True, slots=True)
class Conformance:
    """The outcome of a comparison."""

    compared: int
    agreeing: int
    without_expectation: int
    known: tuple[Difference, ...]
    unexpected: tuple[Difference, ...]
    stale: tuple[KnownDifference, ...]
    """Known differences of graded attempts that no longer occur."""

    @property
    def passed(self) -> bool:
        """Whether everything is as expected or known."""
        return not self.unexpected and not self.stale


def version_in_use(toolchain: Toolchain) -> str:
    """The name under which expectations for this TLC are filed: `2.15` or `current`."""
    year = re.search(r"\b(\d{4})-\d\d-\d\d\b", toolchain.tla2tools_version)
    return OLD_TLC if year is not None and int(year[1]) < _FIRST_CURRENT_YEAR else CURRENT_TLC


def read_expectations(file: Path, version: str) -> dict[str, Expectation | None]:
    """Expectations by attempt.

    Raises:
        InputError: the file cannot be read or a line is not of the form.
    """
    lines = _read_lines(file, _ExpectedLine)
    return {line.attempt: line.expected.get(version, line.expected.get(OLD_TLC)) for line in lines}


def read_known_differences(file: Path) -> list[KnownDifference]:
    """The list of accepted differences.

    Raises:
        InputError: the file cannot be read or a line is not of the form.
    """
    return _read_lines(file, KnownDifference)


def compare(
    expectations: Mapping[str, Expectation | None],
    verdicts: Iterable[Verdict],
    known: Iterable[KnownDifference] = (),
    version: str = OLD_TLC,
) -> Conformance:
    """Compare verdicts with expectations; attempts without a verdict differ, too."""
    spoken_of = {
        flag for expected in expectations.values() if expected for flag in expected.flags or ()
    }
    accepted = {(k.attempt, k.field, k.expected, k.actual): k for k in known if k.tlc == version}
    known_found: list[Difference] = []
    unexpected: list[Difference] = []
    compared = agreeing = 0
    missing = {attempt for attempt, expected in expectations.items() if expected is not None}
    for verdict in verdicts:
        expected = expectations.get(verdict.attempt)
        missing.discard(verdict.attempt)
        if expected is None:
            continue
        compared += 1
        differences = list(_differences(expected, verdict, spoken_of))
        agreeing += not differences
        for difference in differences:
            key = (difference.attempt, difference.field, difference.expected, difference.actual)
            (known_found if key in accepted else unexpected).append(difference)
    unexpected.extend(Difference(a, "verdict", "one", "none") for a in sorted(missing))
    found = {(d.attempt, d.field, d.expected, d.actual) for d in known_found}
    return Conformance(
        compared=compared,
        agreeing=agreeing,
        without_expectation=sum(expected is None for expected in expectations.values()),
        known=tuple(known_found),
        unexpected=tuple(unexpected),
        stale=tuple(
            k for key, k in accepted.items() if key not in found and k.attempt in expectations
        ),
    )


def _differences(
    expected: Expectation, verdict: Verdict, spoken_of: set[str]
) -> Iterable[Difference]:
    pairs: list[tuple[str, Any, Any]] = [("outcome", expected.outcome, verdict.outcome)]
    if expected.sub is not None:
        pairs.append(("sub", expected.sub, verdict.sub))
    if expected.flags is not None:
        actual = sorted(set(verdict.flags) & spoken_of)
        pairs.append(("flags", sorted(expected.flags), actual))
    if expected.property is not None:
        pairs.append(("property", expected.property, verdict.property))
    for name in ("distinct", "generated"):
        count = getattr(expected, name)
        if count is not None:
            pairs.append((name, count, getattr(verdict.states, name)))
    for name, wanted, got in pairs:
        if wanted != got:
            yield Difference(verdict.attempt, name, _shown(wanted), _shown(got))


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _read_lines(file: Path, kind: type[LineT]) -> list[LineT]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([InputFault(file, None, None, str(error))]) from error
    rows: list[LineT] = []
    faults: list[InputFault] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            for fault in error.errors():
                where = ".".join(map(str, fault["loc"])) or None
                faults.append(InputFault(file, number, where, fault["msg"]))
    if faults:
        raise InputError(faults)
    return rows
