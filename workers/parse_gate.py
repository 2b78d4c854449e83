"""The parse gate: what strict SANY says about a candidate.

SANY alone decides, before TLC reads the configuration: TLC reads the configuration first, so a
bad one would hide a parse failure. Strict means that the exit code, the end of the semantic
processing and both streams agree, because SANY exits 0 on semantic errors and 255 on parse
errors, missing modules and wrong names.

An error that lies only in modules which the problem provides is the problem's fault, whatever
the candidate did: candidates cannot change those modules.
"""

from __future__ import annotations

from workers.decision import (
    UNKNOWN_OPERATOR_WORDS,
    Decision,
    infrastructure_decision,
    limit_decision,
    limit_flags,
    paper_class_of,
)
from workers.jvm import java_exhaustion
from workers.records import DecidingLine, Outcome
from workers.runner import ProcessResult
from workers.sany_output import SanyError, SanyErrorKind, SanyReport, missing_module
from workers.staging import StagedModules
from workers.toolchain import MODULES_OF_OTHER_RELEASES

_PARSE_ERROR_EXIT = 255
_UNCAUGHT_EXCEPTION_EXIT = 1


def decide_parse(
    report: SanyReport, result: ProcessResult, staged: StagedModules
) -> Decision | None:
    """The decision of the parse gate; `None` when the candidate passes."""
    errors = (*report.parse_errors, *report.semantic_errors)
    if (ended := _ended_early(errors, result)) is not None:
        return ended
    accepted = report.silent and result.exit_code == 0 and staged.root in report.processed
    if accepted:
        return None
    if errors and all(error.module in staged.context for error in errors):
        first = errors[0]
        return _decision(
            Outcome.INFRASTRUCTURE,
            first,
            sub="broken_context",
            prefix=f"the problem's module {first.module} does not analyse: ",
        )
    if result.exit_code == _PARSE_ERROR_EXIT and report.parse_errors:
        return _parse_failure(report.parse_errors)
    if result.exit_code == _PARSE_ERROR_EXIT and report.failed and not report.semantic_errors:
        return Decision(
            Outcome.PARSE_FAILURE,
            "SANY gave up without naming an error",
            paper_class=paper_class_of(Outcome.PARSE_FAILURE, saw_unknown_operator=False, sub=None),
        )
    if result.exit_code == 0 and report.semantic_errors and not report.parse_errors:
        return _semantic_failure(report.semantic_errors, staged)
    if result.exit_code == _UNCAUGHT_EXCEPTION_EXIT:
        return infrastructure_decision(
            "SANY did not run to its end; see the log of its error stream"
        )
    return infrastructure_decision(
        f"SANY's exit code {result.exit_code} and its messages contradict each other",
        sub="contradiction",
    )


def _ended_early(errors: tuple[SanyError, ...], result: ProcessResult) -> Decision | None:
    """A limit, or a death that is not SANY's own end."""
    overflow = next((e for e in errors if e.kind is SanyErrorKind.STACK), None)
    if overflow is not None:
        return _decision(Outcome.RESOURCE_LIMIT, overflow, sub="stack", flags=limit_flags("stack"))
    if result.limit is not None:
        return limit_decision(result.limit.value, f"SANY ran into the {result.limit} limit")
    if result.signal is not None:
        return infrastructure_decision(f"SANY was killed by signal {result.signal}, not by us")
    if java_exhaustion(result.stderr) == "memory":
        return limit_decision("memory", "SANY ran out of its heap")
    return None


def _parse_failure(errors: tuple[SanyError, ...]) -> Decision:
    first = errors[0]
    missing = missing_module(first)
    if missing in MODULES_OF_OTHER_RELEASES:
        return infrastructure_decision(
            f"{first.message}, a library module that the tools in use do not have; add it to the "
            "problem's context or set TLAGRID_COMMUNITY_MODULES or a newer TLAGRID_TLA2TOOLS",
            "toolchain_unsupported",
        )
    known = {
        SanyErrorKind.GRAMMAR,
        SanyErrorKind.LEXICAL,
        SanyErrorKind.MISSING_MODULE,
        SanyErrorKind.MODULE_NAME,
    }
    return _decision(
        Outcome.PARSE_FAILURE, first, sub=first.kind.value if first.kind in known else None
    )


def _semantic_failure(errors: tuple[SanyError, ...], staged: StagedModules) -> Decision:
    own = [error for error in errors if error.module not in staged.context] or list(errors)
    saw = any(UNKNOWN_OPERATOR_WORDS in error.message for error in errors)
    temporal = next((e for e in own if e.kind is SanyErrorKind.TEMPORAL), None)
    if temporal is not None:
        return _decision(Outcome.MALFORMED_TEMPORAL, temporal)
    return _decision(
        Outcome.SEMANTIC_ERROR, own[0], sub=own[0].kind.value, saw_unknown_operator=saw
    )


def _decision(
    outcome: Outcome,
    error: SanyError,
    *,
    sub: str | None = None,
    flags: tuple[str, ...] = (),
    prefix: str = "",
    saw_unknown_operator: bool = False,
) -> Decision:
    message = " ".join(error.message.split())
    return Decision(
        outcome=outcome,
        message=prefix + message,
        sub=sub,
        flags=flags,
        decided_by=DecidingLine(log=f"sany.{error.log}", line=error.line, text=error.text[:1000]),
        paper_class=paper_class_of(outcome, saw_unknown_operator=saw_unknown_operator, sub=sub),
    )
