"""Decisions of the parse gate, from recorded runs of SANY and from what no run may look like."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from workers.decision import Decision
from workers.limits import Limit
from workers.parse_gate import decide_parse
from workers.records import Outcome, PaperClass
from workers.runner import ProcessResult
from workers.sany_output import read_report
from workers.staging import StagedModules

Recorded = Callable[[str, str], ProcessResult]
MakeResult = Callable[..., ProcessResult]

CONTEXT = {"BrokenBase": "-", "UnknownBase": "-"}
PARSE, SEMANTIC, TEMPORAL = (
    Outcome.PARSE_FAILURE,
    Outcome.SEMANTIC_ERROR,
    Outcome.MALFORMED_TEMPORAL,
)


def decided(result: ProcessResult, root: str = "Clock") -> Decision | None:
    context = {name: text for name, text in CONTEXT.items() if name != root}
    staged = StagedModules(root, {root: "-"}, context, renamed=False)
    return decide_parse(read_report(result.stdout, result.stderr), result, staged)


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize(
    ("case", "outcome", "sub", "paper_class"),
    [
        ("ParseGrammar", PARSE, "grammar", PaperClass.PARSE),
        ("ParseTruncated", PARSE, "grammar", PaperClass.PARSE),
        ("ParseLexical", PARSE, "lexical", PaperClass.PARSE),
        ("ParseMissingModule", PARSE, "missing_module", PaperClass.PARSE),
        ("ParseModuleName", PARSE, "module_name", PaperClass.PARSE),
        ("ParseCircular", PARSE, None, PaperClass.PARSE),
        ("BrokenBase", PARSE, "grammar", PaperClass.PARSE),
        ("SemanticUnknownOperator", SEMANTIC, "unknown_operator", PaperClass.BINDING),
        ("SemanticSeveral", SEMANTIC, None, PaperClass.BINDING),
        ("SemanticUnknownInfix", SEMANTIC, "unknown_operator", PaperClass.TEMPORAL),
        ("SemanticArity", SEMANTIC, "arity", PaperClass.TEMPORAL),
        ("SemanticDuplicate", SEMANTIC, "duplicate", PaperClass.TEMPORAL),
        ("SemanticAssumptionLevel", SEMANTIC, "other", PaperClass.TEMPORAL),
        ("SemanticSubstitution", SEMANTIC, "other", PaperClass.TEMPORAL),
        ("TemporalBoxAction", TEMPORAL, None, PaperClass.TEMPORAL),
        ("TemporalDiamondAction", TEMPORAL, None, PaperClass.TEMPORAL),
        ("TemporalLeadsToAction", TEMPORAL, None, PaperClass.TEMPORAL),
        ("TemporalQuantifierBound", TEMPORAL, None, PaperClass.TEMPORAL),
        ("TemporalEnabled", TEMPORAL, None, PaperClass.TEMPORAL),
        ("ParseTooDeep", Outcome.RESOURCE_LIMIT, "stack", PaperClass.RESOURCE),
        ("UsesBrokenBase", Outcome.INFRASTRUCTURE, "broken_context", None),
        ("UsesUnknownBase", Outcome.INFRASTRUCTURE, "broken_context", None),
    ],
)
def test_a_recorded_run_is_decided(
    recorded: Recorded,
    version: str,
    case: str,
    outcome: Outcome,
    sub: str | None,
    paper_class: PaperClass | None,
) -> None:
    result = recorded(version, case)
    decision = decided(result, case)
    assert decision is not None
    assert decision.outcome is outcome
    assert decision.sub == sub or case == "SemanticSeveral"
    assert decision.paper_class is paper_class
    assert decision.flags == (("time_dependent",) if sub == "stack" else ())
    assert decision.decided_by is not None
    log = {"sany.stdout": result.stdout, "sany.stderr": result.stderr}[decision.decided_by.log]
    assert 1 <= decision.decided_by.line <= log.read_bytes().count(b"\n") + 1


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize("case", ["Accepted", "PlusCalUntranslated"])
def test_an_accepted_module_passes(recorded: Recorded, version: str, case: str) -> None:
    assert decided(recorded(version, case), case) is None


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize("exit_code", [1, 2, 150, 255])
def test_acceptance_with_another_exit_code_is_nobodys_failure(
    recorded: Recorded, version: str, exit_code: int
) -> None:
    decision = decided(replace(recorded(version, "Accepted"), exit_code=exit_code), "Accepted")
    assert decision is not None
    assert decision.outcome is Outcome.INFRASTRUCTURE


def test_another_module_than_the_candidates_was_accepted(recorded: Recorded) -> None:
    decision = decided(recorded("2.15", "Accepted"), "Clock")
    assert decision is not None
    assert (decision.outcome, decision.sub) == (Outcome.INFRASTRUCTURE, "contradiction")


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize(
    ("case", "exit_code"),
    [("ParseGrammar", 0), ("ParseLexical", 12), ("SemanticArity", 255), ("TemporalBoxAction", 12)],
)
def test_errors_that_the_exit_code_contradicts_are_nobodys_failure(
    recorded: Recorded, version: str, case: str, exit_code: int
) -> None:
    decision = decided(replace(recorded(version, case), exit_code=exit_code), case)
    assert decision is not None
    assert (decision.outcome, decision.sub) == (Outcome.INFRASTRUCTURE, "contradiction")


@pytest.mark.parametrize("exit_code", [0, 1, 137, 255])
def test_a_silent_sany_decides_nothing(make_result: MakeResult, exit_code: int) -> None:
    decision = decided(make_result("", exit_code=exit_code))
    assert decision is not None
    assert decision.outcome is Outcome.INFRASTRUCTURE
    assert decision.paper_class is None


def test_java_without_sany_is_nobodys_failure(make_result: MakeResult) -> None:
    stderr = "Error: Could not find or load main class tla2sany.SANY\n"
    decision = decided(make_result("", stderr, exit_code=1))
    assert decision is not None
    assert (decision.outcome, decision.sub) == (Outcome.INFRASTRUCTURE, "tool_failure")


@pytest.mark.parametrize("fired", Limit)
def test_a_limit_on_sany_is_the_candidates(make_result: MakeResult, fired: Limit) -> None:
    decision = decided(make_result("Parsing", exit_code=None, signal=9, limit=fired))
    assert decision is not None
    assert (decision.outcome, decision.sub) == (Outcome.RESOURCE_LIMIT, fired.value)
    assert ("time_dependent" in decision.flags) is (fired in {Limit.WALL, Limit.CPU})
    assert decision.paper_class is PaperClass.RESOURCE


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize("case", ["Accepted", "ParseGrammar", "SemanticArity"])
def test_a_signal_that_we_did_not_send_is_nobodys_failure(
    recorded: Recorded, version: str, case: str
) -> None:
    killed = replace(recorded(version, case), exit_code=None, signal=9)
    decision = decided(killed, case)
    assert decision is not None
    assert decision.outcome is Outcome.INFRASTRUCTURE


def test_errors_in_a_context_module_and_in_the_candidate_are_the_candidates(
    make_result: MakeResult,
) -> None:
    def error(module: str, text: str) -> str:
        return f"line 1, col 1 to line 1, col 2 of module {module}\n\n{text}\n\n\n"

    log = (
        "Semantic processing of module UnknownBase\nSemantic errors:\n\n*** Errors: 1\n\n"
        + error("UnknownBase", "Unknown operator: `Missing'.")
        + "Semantic processing of module Clock\nSemantic errors:\n\n*** Errors: 1\n\n"
        + error("Clock", "The operator F requires 1 arguments.")
    )
    decision = decided(make_result(log, exit_code=0))
    assert decision is not None
    assert (decision.outcome, decision.sub) == (Outcome.SEMANTIC_ERROR, "arity")
    assert decision.paper_class is PaperClass.BINDING  # the words are in the log
