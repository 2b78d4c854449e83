"""What one line of a manifest may say: its fields, their types, and which of them are required.

The records are checked strictly (`"3"` is not a sample number and `true` is not 1), as
`model_validate(line, strict=True)`. Text fields stay as they were written: `text_fields` finds
the texts. A field whose value may be unknown takes `null` for "not given".
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from workers.records import SCHEMA_VERSION, QuotaChange, Record, Usage

_INT64 = 2**63


def is_module_name(name: str) -> bool:
    """Whether a module header can declare this name: it may start with a digit, not be a number."""
    return re.fullmatch(r"[0-9_]*[A-Za-z][0-9A-Za-z_]*", name) is not None


def _readable_version(version: int) -> int:
    if version != SCHEMA_VERSION:
        raise ValueError(f"this version reads schema_version {SCHEMA_VERSION}, not {version}")
    return version


def _module_name(name: str) -> str:
    if name and not is_module_name(name):
        raise ValueError(
            f"{name!r} is not a TLA+ module name: letters, digits and _, with a letter"
        )
    return name


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return value
    raise ValueError("must be a string, a boolean, a number of at most 64 bits or null")


SchemaVersion = Annotated[int, AfterValidator(_readable_version)]
Name = Annotated[str, Field(min_length=1)]
ModuleName = Annotated[Name, AfterValidator(_module_name)]
Labels = dict[str, Annotated[Any, AfterValidator(_scalar)]]


class ProblemLine(Record):
    """A line of `problems.jsonl` for a specification problem."""

    schema_version: SchemaVersion
    id: Name
    kind: Literal["specification"] = "specification"
    module: ModuleName
    reference: Any = None
    config: Any = None
    context: dict[str, Any] = Field(default_factory=dict)
    labels: Labels = Field(default_factory=dict)
    mapping: Any = None
    quota: QuotaChange | None = None


class IdentityFields(Record):
    """The fields that say which attempt a line is, in the order of the default id."""

    problem: Name
    model: Name
    regime: Name = "default"
    sample: int = Field(0, ge=0, lt=_INT64)
    id: Name | None = None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What no two attempts of a sweep may share."""
        return self.problem, self.model, self.regime, self.sample

    @property
    def attempt_id(self) -> str:
        """The given id, or `problem/model/regime/sample`."""
        return self.id or "/".join(map(str, self.key))


class AttemptLine(IdentityFields):
    """A line of `attempts.jsonl`."""

    schema_version: SchemaVersion
    text: Any
    usage: Usage | None = None
    claims: Any = None
    """Belongs to attempts at proofs; refused where the problem is known to be a specification."""
