"""The records that travel between manifests, workers, the store and the reports.

All are immutable pydantic models; everything that is written to disk carries
`schema_version`, and a reader accepts every older version. A value that is unknown is
`None`, never 0: a state count that TLC did not print is not a count of zero.
"""

from __future__ import annotations

import builtins
import hashlib
import re
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from workers.node_pressure import NodePressure

SCHEMA_VERSION: Literal[1] = 1

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Label = StrictStr | StrictBool | StrictInt | float | None


class Record(BaseModel):
    """Base of all records: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kind(StrEnum):
    """What an attempt at a problem is."""

    SPECIFICATION = "specification"
    PROOF = "proof"


class Family(StrEnum):
    """Whose result an outcome is; only the first three count in a rate's denominator."""

    CORRECT = "correct"
    CANDIDATE = "candidate"
    LIMIT = "limit"
    INFRASTRUCTURE = "infrastructure"


class Outcome(StrEnum):
    """What the checkers decided about an attempt at a specification."""

    CORRECT = "correct"
    PARSED = "parsed"
    PARSE_FAILURE = "parse_failure"
    SEMANTIC_ERROR = "semantic_error"
    MALFORMED_TEMPORAL = "malformed_temporal"
    CONFIG_BINDING = "config_binding"
    ASSUMPTION_FAILURE = "assumption_failure"
    SAFETY_VIOLATION = "safety_violation"
    LIVENESS_VIOLATION = "liveness_violation"
    DEADLOCK = "deadlock"
    RUNTIME_ERROR = "runtime_error"
    FORBIDDEN_OPERATOR = "forbidden_operator"
    RESOURCE_LIMIT = "resource_limit"
    INFRASTRUCTURE = "infrastructure"

    @property
    def family(self) -> Family:
        """The one family that this outcome belongs to."""
        match self:
            case Outcome.CORRECT | Outcome.PARSED:
                return Family.CORRECT
            case Outcome.RESOURCE_LIMIT:
                return Family.LIMIT
            case Outcome.INFRASTRUCTURE:
                return Family.INFRASTRUCTURE
            case _:
                return Family.CANDIDATE


SUBKINDS: dict[Outcome, frozenset[str]] = {
    Outcome.PARSE_FAILURE: frozenset(
        {"grammar", "lexical", "missing_module", "module_name", "no_module"}
    ),
    Outcome.SEMANTIC_ERROR: frozenset({"unknown_operator", "arity", "duplicate", "other"}),
    Outcome.CONFIG_BINDING: frozenset(
        {"unassigned_constant", "undefined_name", "no_behaviour_spec"}
    ),
    Outcome.RUNTIME_ERROR: frozenset({"search_cut_short"}),
    Outcome.RESOURCE_LIMIT: frozenset(
        {"wall", "cpu", "memory", "output", "scratch", "processes", "set_size", "stack"}
    ),
    Outcome.INFRASTRUCTURE: frozenset(
        {
            "unreadable_config",
            "missing_config",
            "broken_context",
            "toolchain_unsupported",
            "tool_failure",
            "contradiction",
            "node",
            "grader",
        }
    ),
}
"""The sub-kinds of each outcome; an outcome that is not listed has none."""

PROBLEM_FAULTS = frozenset(
    {"unreadable_config", "missing_config", "broken_context", "toolchain_unsupported"}
)
"""Infrastructure sub-kinds that the problem's definition causes: retrying cannot help."""


class PaperClass(StrEnum):
    """The eight failure classes of the TLA+-Bench paper, and its pass."""

    CORRECT = "correct"
    PARSE = "parse"
    BINDING = "config-binding"
    TEMPORAL = "malformed temporal"
    DEADLOCK = "deadlock"
    SAFETY = "safety"
    LIVENESS = "liveness"
    RUNTIME = "run-time error"
    RESOURCE = "resource limit"


class Quota(Record):
    """What one attempt may use; every field is a hard limit, applied to the process tree.

    `heap_bytes` is the JVM's pinned `-Xmx`: the default heap depends on the node's memory, and
    with it the verdict would. It must lie below `memory_bytes`, which covers the whole tree.
    """

    cpu_seconds: float = Field(600.0, gt=0, allow_inf_nan=False)
    wall_seconds: float = Field(300.0, gt=0, allow_inf_nan=False)
    parse_wall_seconds: float = Field(60.0, gt=0, allow_inf_nan=False)
    memory_bytes: int = Field(3_000_000_000, gt=0)
    heap_bytes: int = Field(2 * 1024**3, ge=16 * 1024**2)
    processes: int = Field(256, gt=0)
    scratch_bytes: int = Field(4 * 1024**3, gt=0)
    output_bytes: int = Field(64 * 1024**2, gt=0)
    cores: int = Field(1, gt=0)
    scratch_files: int = Field(20_000, gt=0)
    open_files: int = Field(4096, ge=64)

    @model_validator(mode="after")
    def _heap_fits(self) -> Self:
        if self.heap_bytes >= self.memory_bytes:
            raise ValueError(
                f"heap_bytes ({self.heap_bytes}) must be below memory_bytes ({self.memory_bytes}): "
                "the JVM needs memory beside its heap"
            )
        return self


class QuotaChange(Record):
    """The fields of a quota that a problem or a sweep sets; the rest keeps its default."""

    cpu_seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    wall_seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    parse_wall_seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    memory_bytes: int | None = Field(None, gt=0)
    heap_bytes: int | None = Field(None, ge=16 * 1024**2)
    processes: int | None = Field(None, gt=0)
    scratch_bytes: int | None = Field(None, gt=0)
    output_bytes: int | None = Field(None, gt=0)
    cores: int | None = Field(None, gt=0)
    scratch_files: int | None = Field(None, gt=0)
    open_files: int | None = Field(None, ge=64)

    def applied_to(self, quota: Quota) -> Quota:
        """The quota with these fields changed.

        Raises:
            pydantic.ValidationError: the result contradicts itself (heap not below memory).
        """
        return Quota.model_validate(quota.model_dump() | self.model_dump(exclude_none=True))


class Problem(Record):
    """A task that models attempt: for a specification, a module and its model-checking config."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str = Field(min_length=1)
    kind: Literal[Kind.SPECIFICATION] = Kind.SPECIFICATION
    module: str = Field(min_length=1)
    """Name of the reference module, which the prompt asks for."""
    reference: str | None = None
    config: str | None = None
    """TLC configuration; `None` means that only the parse gate applies."""
    context: dict[str, str] = Field(default_factory=dict)
    """Modules that a solution may import: name to text."""
    labels: dict[str, Label] = Field(default_factory=dict)
    """Free scalars for stratifying reports: tier, difficulty, category, source, fixture, ..."""
    mapping: str | None = None
    """Refinement mapping from the candidate to the reference, where it is not the identity."""
    quota: QuotaChange | None = None


class Usage(Record):
    """What producing an attempt cost; unknown is `None`, never 0."""

    input_tokens: int | None = Field(None, ge=0)
    output_tokens: int | None = Field(None, ge=0)
    cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    tool_calls: int | None = Field(None, ge=0)


class Attempt(Record):
    """One answer of one model to one problem, as raw text."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str = Field(min_length=1)
    problem: str = Field(min_length=1)
    model: str = Field(min_length=1)
    regime: str = Field("default", min_length=1)
    sample: int = Field(0, ge=0)
    text: str
    valid_utf8: bool = True
    """False when the text's bytes were not UTF-8 and were decoded with replacement characters."""
    usage: Usage | None = None

    @model_validator(mode="before")
    @classmethod
    def _replace_lone_surrogates(cls, fields: Any) -> Any:
        """JSON can spell half a surrogate pair, which no UTF-8 can: treat it like a bad byte."""
        text = fields.get("text") if isinstance(fields, dict) else None
        if isinstance(text, str) and _LONE_SURROGATE.search(text):
            return fields | {"text": _LONE_SURROGATE.sub("\ufffd", text), "valid_utf8": False}
        return fields


class ExtractRule(StrEnum):
    """How the module is found in a model's answer (GRADING-SPECS: extract)."""

    ROBUST = "robust"
    PUBLISHED = "published"


class IoOperators(StrEnum):
    """Whether candidates may use operators that reach outside the model checker."""

    REFUSE = "refuse"
    ALLOW = "allow"


class GradingSettings(Record):
    """Everything beside the inputs and the tools that can change a decision."""

    quota: Quota = Quota()
    extract: ExtractRule = ExtractRule.ROBUST
    io_operators: IoOperators = IoOperators.REFUSE
    seed: int = 1
    fp: int = 0
    stack_bytes: int = 4 * 1024**2
    """Java's pinned `-Xss`: four times its usual default, so that deep recursion that is meant
    passes, and small enough that recursion without end is found in about a second."""


class StateCounts(Record):
    """TLC's closing statistics (messages 2199 and 2194); `None` where it printed none."""

    generated: int | None = None
    distinct: int | None = None
    queue: int | None = None
    depth: int | None = None


class Gates(Record):
    """How far an attempt came; `None` means that the gate was not reached."""

    parsed: bool | None = None
    """Strict SANY accepted it."""
    bound: bool | None = None
    """The configuration's names were found in it."""
    checked: bool | None = None
    """TLC explored the state graph without complaint."""


class Resources(Record):
    """What grading used, summed over the stages that ran."""

    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    peak_memory_bytes: int | None = None
    measured_by: str | None = None
    enforced_by: str | None = None
    """The tier that held the limits, such as `cgroup-v2+cpuset+private-shm`."""
    pressure: NodePressure | None = None
    """How busy the node was during the stage that decided."""
    starved: bool | None = None
    """Whether a busy node had a part in a limit on time that decided; `None` where none did."""
    scratch_bytes: int | None = None
    """The most that a stage was found to have in its folder."""
    output_bytes: int | None = None
    cores: tuple[int, ...] = ()
    """CPUs that the last stage was bound to."""
    cores_shared: bool | None = None
    """Whether another run had a claim on one of them."""


class Toolchain(Record):
    """Fingerprint of the tools that spoke: contents, not paths."""

    tla2tools_sha256: str
    tla2tools_version: str
    community_modules_sha256: str | None = None
    java_version: str
    flags: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over the fields that can change a decision."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Extraction(Record):
    """What was taken from the raw text, in characters."""

    rule: ExtractRule
    module: str | None = None
    start: int = 0
    end: int = 0
    length: int = 0
    """Length of the raw text; what lies outside [start, end) was cut."""
    fenced: bool = False


class DecidingLine(Record):
    """The line of a tool's log that decided the outcome."""

    log: str
    """Name of the evidence that holds the line, such as `tlc.stdout`."""
    line: int = Field(ge=1)
    text: str


class TraceReference(Record):
    """Where a piece of evidence lies in the store."""

    name: str
    sha256: str
    pack: str
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    """Stored (compressed) bytes at `offset` of the pack."""
    size: int = Field(ge=0)
    """Bytes of the evidence itself."""


class Verdict(Record):
    """What was decided about one attempt, by what, and where the evidence lies."""

    schema_version: Literal[1] = SCHEMA_VERSION
    attempt: str
    problem: str
    model: str
    regime: str
    sample: int
    outcome: Outcome
    sub: str | None = None
    flags: tuple[str, ...] = ()
    paper_class: PaperClass | None = None
    """`None` for infrastructure and for problems without a config."""
    family: Family
    gates: Gates = Gates()
    codes: tuple[str, ...] = ()
    """TLC message codes of severity 1 (error) and 3 (warning) as `code:severity`, sorted."""
    message: str
    decided_by: DecidingLine | None = None
    property: str | None = None
    states: StateCounts = StateCounts()
    probes: dict[str, Any] = Field(default_factory=dict)
    units: dict[str, Any] = Field(default_factory=dict)
    resources: Resources = Resources()
    queue_seconds: float | None = None
    toolchain: Toolchain | None = None
    extraction: Extraction | None = None
    keys: dict[str, str] = Field(default_factory=dict)
    """Stage (`parse`, `check`) to the digest of everything its decision depends on."""
    traces: tuple[TraceReference, ...] = ()
    node: str | None = None
    cached: bool = False
    grader_version: str

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.family is not self.outcome.family:
            raise ValueError(f"family {self.family} does not belong to outcome {self.outcome}")
        if self.sub is not None and self.sub not in SUBKINDS.get(self.outcome, frozenset()):
            raise ValueError(f"outcome {self.outcome} has no sub-kind {self.sub!r}")
        return self

    @builtins.property  # the field `property` hides the name here
    def retryable(self) -> bool:
        """Whether another node or another try could decide what this one could not."""
        return self.family is Family.INFRASTRUCTURE and self.sub not in PROBLEM_FAULTS

    @builtins.property
    def unconfirmed(self) -> bool:
        """Whether a busy node may have decided it: a limit on time, reached without time to run."""
        return "time_dependent" in self.flags and self.resources.starved is True


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimal."""
