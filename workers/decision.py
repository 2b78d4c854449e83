"""What one stage decided, before it becomes a verdict, and the paper's name for it."""

from __future__ import annotations

from dataclasses import dataclass

from workers.records import DecidingLine, Outcome, PaperClass


@dataclass(frozen=True, slots=True)
class Decision:
    """An outcome with its reason."""

    outcome: Outcome
    message: str
    sub: str | None = None
    flags: tuple[str, ...] = ()
    property: str | None = None
    decided_by: DecidingLine | None = None
    paper_class: PaperClass | None = None


PAPER_CLASSES: dict[Outcome, PaperClass] = {
    Outcome.CORRECT: PaperClass.CORRECT,
    Outcome.PARSE_FAILURE: PaperClass.PARSE,
    Outcome.MALFORMED_TEMPORAL: PaperClass.TEMPORAL,
    Outcome.CONFIG_BINDING: PaperClass.BINDING,
    Outcome.ASSUMPTION_FAILURE: PaperClass.RUNTIME,
    Outcome.SAFETY_VIOLATION: PaperClass.SAFETY,
    Outcome.LIVENESS_VIOLATION: PaperClass.LIVENESS,
    Outcome.DEADLOCK: PaperClass.DEADLOCK,
    Outcome.RUNTIME_ERROR: PaperClass.RUNTIME,
    Outcome.FORBIDDEN_OPERATOR: PaperClass.RUNTIME,
    Outcome.RESOURCE_LIMIT: PaperClass.RESOURCE,
}
"""The paper's class of each outcome that has a fixed one.

`semantic_error` is not here: the released grader put it under config-binding when it saw the
words "Unknown operator" and under malformed temporal otherwise. Neither are `parsed`, which the
paper counts in parse rates only, and `infrastructure`.
"""

UNKNOWN_OPERATOR_WORDS = "Unknown operator"


def paper_class_of(
    outcome: Outcome, *, saw_unknown_operator: bool, sub: str | None
) -> PaperClass | None:
    """The class that the paper's grader would have given, or `None` where it has none.

    Args:
        outcome: tlagrid's outcome.
        saw_unknown_operator: whether SANY printed "Unknown operator".
        sub: the outcome's sub-kind; the published labels count a missing or unreadable
            configuration as binding, although it is the problem's fault.
    """
    if outcome is Outcome.SEMANTIC_ERROR:
        return PaperClass.BINDING if saw_unknown_operator else PaperClass.TEMPORAL
    if outcome is Outcome.INFRASTRUCTURE and sub in {"unreadable_config", "missing_config"}:
        return PaperClass.BINDING
    return PAPER_CLASSES.get(outcome)


_TIME_DEPENDENT = frozenset({"wall", "cpu", "stack"})
"""Limits that another machine may not run into; the stack, because frames shrink as code is
compiled."""


def limit_decision(sub: str, message: str) -> Decision:
    """The candidate ran into a limit; `sub` is a sub-kind of `resource_limit`."""
    return Decision(
        outcome=Outcome.RESOURCE_LIMIT,
        message=message,
        sub=sub,
        flags=limit_flags(sub),
        paper_class=PAPER_CLASSES[Outcome.RESOURCE_LIMIT],
    )


def limit_flags(sub: str) -> tuple[str, ...]:
    """Flags of a verdict that a limit decided."""
    return ("time_dependent",) if sub in _TIME_DEPENDENT else ()


def infrastructure_decision(message: str, sub: str = "tool_failure") -> Decision:
    """Nobody's failure but ours; `sub` is a sub-kind of `infrastructure`."""
    return Decision(
        outcome=Outcome.INFRASTRUCTURE,
        message=message,
        sub=sub,
        paper_class=paper_class_of(Outcome.INFRASTRUCTURE, saw_unknown_operator=False, sub=sub),
    )
