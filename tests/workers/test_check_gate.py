"""Decisions of the check gate, from recorded runs of TLC and from what no run may look like."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from workers.check_gate import decide_check, state_counts
from workers.config_file import ConfigError, ConfigFile, read_config
from workers.decision import Decision
from workers.limits import Limit
from workers.records import Outcome, PaperClass, StateCounts
from workers.runner import ProcessResult
from workers.tool_mode import parse_transcript, read_transcript

Recorded = Callable[[str, str], ProcessResult]
MakeResult = Callable[..., ProcessResult]

CASES = Path(__file__).parent / "logs" / "cases"
FRAME = "@!@!@"


@dataclass(frozen=True)
class Expected:
    """What a case is, and the codes with which each version says so."""

    outcome: Outcome
    codes: str
    codes_current: str | None = None
    """`None` where current TLC says the same as 2.15."""
    sub: str | None = None
    violated: str | None = None

    def of(self, version: str) -> tuple[Outcome, str | None, str | None, tuple[str, ...]]:
        current = version == "current" and self.codes_current is not None
        codes = (self.codes_current or "" if current else self.codes).split()
        stated = tuple(sorted(code if ":" in code else f"{code}:1" for code in codes))
        return self.outcome, self.sub, self.violated, stated


def binding(code: str, sub: str = "undefined_name") -> Expected:
    return Expected(Outcome.CONFIG_BINDING, code, sub=sub)


def evaluation(codes: str, codes_current: str | None = None) -> Expected:
    return Expected(Outcome.RUNTIME_ERROR, codes, codes_current)


def assertion(codes: str, codes_current: str | None = None) -> Expected:
    return Expected(Outcome.SAFETY_VIOLATION, codes, codes_current)


def temporal(codes: str, codes_current: str | None = None) -> Expected:
    return Expected(Outcome.MALFORMED_TEMPORAL, codes, codes_current)


def limit(sub: str, codes: str, codes_current: str | None = None) -> Expected:
    return Expected(Outcome.RESOURCE_LIMIT, codes, codes_current, sub=sub)


def safety(violated: str, codes: str = "2110 2121") -> Expected:
    return Expected(Outcome.SAFETY_VIOLATION, codes, violated=violated)


def liveness(violated: str | None, codes: str, codes_current: str | None = None) -> Expected:
    return Expected(Outcome.LIVENESS_VIOLATION, codes, codes_current, violated=violated)


CORRECT = Expected(Outcome.CORRECT, "")
DEADLOCK = Expected(Outcome.DEADLOCK, "2114 2121")
UNREADABLE = Expected(Outcome.INFRASTRUCTURE, "1000", sub="unreadable_config")

EXPECTED: dict[str, Expected] = {
    "ActionPropertyEvaluation": evaluation("2103 2113 2121"),
    "ActionPropertyViolated": liveness("Grows", "2112 2121"),
    "AppliedOutsideDomain": evaluation("1000 2103 2121"),
    "AssertInAssumption": evaluation("2105"),
    "AssertInConstraint": assertion("1000 2103", "2103 2121 2132"),
    "AssertInInit": assertion("1000 2103"),
    "AssertInInvariant": assertion("2111 2121"),
    "AssertInNext": assertion("1000 2103", "2103 2121 2132"),
    "AssertInPostcondition": evaluation("2405"),
    "AssertInProperty": assertion("1000", "2103 2121 2132"),
    "AssumptionEvaluation": evaluation("2105"),
    "AssumptionFalse": Expected(Outcome.ASSUMPTION_FAILURE, "2104"),
    "AssumptionsOnly": CORRECT,
    "CardinalityOfNaturals": evaluation("1000 2103", "2103 2121 2181"),
    "ConfigMissingName": UNREADABLE,
    "ConfigNegative": UNREADABLE,
    "ConfigNoReplacement": UNREADABLE,
    "ConfigNoValue": UNREADABLE,
    "ConfigTwice": UNREADABLE,
    "ConstantExtra": CORRECT,
    "ConstantReplacementExtra": binding("2226"),
    "ConstantUnassigned": binding("2222", "unassigned_constant"),
    "Correct": CORRECT,
    "CorrectLive": CORRECT,
    "CorrectWithoutDeadlockCheck": CORRECT,
    "CounterexampleDeep": safety("Shallow"),
    "CounterexampleValues": safety("Small"),
    "Deadlock": DEADLOCK,
    "DeadlockAndLiveness": DEADLOCK,
    "DivisionByZero": evaluation("1000 2103", "2103 2121 2179"),
    "FingerprintInInit": evaluation("-1", "1000"),
    "FingerprintInNext": evaluation("1000 2147", "1000 2121 2147"),
    "FingerprintInfinite": evaluation("1000 2103", "1000 2103 2121"),
    "HeadOfEmpty": evaluation("1000 2103", "2103 2121 2184"),
    "HeapInInit": limit("memory", "1000 2103"),
    "HeapInInvariant": limit("memory", "1002"),
    "HeapInNext": limit("memory", "1000 2103", "1001 2121"),
    "InitEvaluation": evaluation("1000 2103"),
    "InitIncomplete": evaluation("2102"),
    "InvariantConstant": Expected(Outcome.CORRECT, "", "2149:3"),
    "InvariantEvaluation": evaluation("2111 2121"),
    "InvariantIsConstant": binding("2230"),
    "InvariantNotBoolean": evaluation("2102 2103"),
    "InvariantOfSeveral": safety("Small"),
    "InvariantTemporal": temporal("2146"),
    "InvariantUndefined": binding("2229"),
    "InvariantViolated": safety("Small"),
    "InvariantViolatedInitially": safety("Positive", "2107"),
    "InvariantWithArgument": binding("2228"),
    "LiveActionFormula": temporal("2214"),
    "LiveCannotHandle": temporal("2213"),
    "LiveTemporalQuantifier": temporal("2213"),
    "LivenessEvaluation": evaluation("1000", "1000 2103 2121"),
    "LivenessLasso": liveness("Settles", "2116 2264"),
    "LivenessNotBoolean": temporal("1000", "1000 2121"),
    "LivenessOfSeveral": liveness(None, "2116 2264"),
    "LivenessStuttering": liveness("Two", "2116 2264"),
    "ModuleOverrideUnknown": binding("2245"),
    "ModuloZero": evaluation("1000 2103", "2103 2121 2169"),
    "NextIncomplete": evaluation("2109 2121"),
    "NextMissing": evaluation("2115"),
    "NoBehaviour": binding("2231", "no_behaviour_spec"),
    "NoStates": CORRECT,
    "OrderedTypes": evaluation("1000 2103", "2103 2121 2266"),
    "OverflowInNext": evaluation("1000 2103", "2103 2121 2178"),
    "PostconditionEvaluation": evaluation("2405"),
    "PostconditionFalse": Expected(Outcome.ASSUMPTION_FAILURE, "2404"),
    "PropertyAction": temporal("2241", "2272"),
    "PropertyAngleAction": temporal("2241", "2274"),
    "PropertySquareAction": temporal("2241", "2273"),
    "Refinement": liveness("Refined", "2108"),
    "RefinementViolatedInitially": liveness("Other", "2108"),
    "SafetyFormulaUnderProperty": liveness("Never", "2116 2264"),
    "SafetyUnderProperty": safety("Small"),
    "SearchCutShort": Expected(Outcome.RUNTIME_ERROR, "", sub="search_cut_short"),
    "SetTooLarge": limit("set_size", "1000 2103", "1000 2103 2121"),
    "SpecAndInit": binding("2227"),
    "SpecNotConjunction": binding("2231", "no_behaviour_spec"),
    "SpecTwoNext": temporal("2240"),
    "SpecificationUndefined": binding("2229"),
    "SpoofAssert": assertion("1000 2103", "2103 2121 2132"),
    "SpoofControlCharacters": DEADLOCK,
    "SpoofDisk": evaluation("1000 2103 2121"),
    "SpoofMemory": assertion("1000 2103", "2103 2121 2132"),
    "SpoofMemoryValue": evaluation("1000 2103 2121"),
    "SpoofPrint": DEADLOCK,
    "SpoofSet": assertion("1000 2103", "2103 2121 2132"),
    "SpoofState": safety("Small"),
    "StackOverflowInInit": limit("stack", "1000 2103"),
    "StackOverflowInInvariant": limit("stack", "2102 2103"),
    "StackOverflowRecursive": limit("stack", "1000 2103", "1005 2121"),
    "StatePredicateUnderProperty": liveness("Positive", "2108", "2108 2255:3"),
    "SubSeqOutside": evaluation("1000 2103", "2103 2121 2183"),
    "SubstitutionArity": binding("2225"),
    "SubstitutionNotConstant": binding("2281"),
    "SubstitutionTwice": binding("2223"),
    "SubstitutionUndefined": binding("2224"),
    "TlcGetUndefined": evaluation("1000 2103", "1000 2103 2121"),
    "WrongArgument": evaluation("1000 2103", "2103 2121 2283"),
    "ZeroToZero": evaluation("1000 2103", "2103 2121 2180"),
}
"""Cases that both versions decide alike."""

DIFFERENT: dict[str, dict[str, Expected]] = {
    # 2.15 finds a behaviour that violates <>TRUE.
    "LiveTautology": {"2.15": liveness("Sure", "2116 2264"), "current": CORRECT},
    # 2.15 takes a specification that begins with \EE for one without an initial predicate.
    "SpecTemporalQuantifier": {
        "2.15": binding("2231", "no_behaviour_spec"),
        "current": temporal("2301"),
    },
    # 2.15 knows no Unicode; its SANY refuses before TLC runs.
    "SpoofUnicode": {"current": DEADLOCK},
    # 2.15 names no property when several are configured; current says which.
    "LivenessLasso": {
        "2.15": liveness(None, "2116 2264"),
        "current": EXPECTED["LivenessLasso"],
    },
}
"""Cases that the versions decide differently."""

CONFIG_ONLY = {"ConfigBom", "ConfigHugeNumber", "ConfigOpenComment", "ConfigUnlexable"}
"""Configurations that TLC misreads without saying so, and that we therefore refuse before."""

NEEDS_CURRENT = {"AssertInPostcondition", "PostconditionEvaluation", "PostconditionFalse"}


def expectations(version: str) -> list[tuple[str, Expected]]:
    left_out = NEEDS_CURRENT if version == "2.15" else set[str]()
    different = {case: by[version] for case, by in DIFFERENT.items() if version in by}
    alike = {
        case: e for case, e in EXPECTED.items() if case not in DIFFERENT | dict.fromkeys(left_out)
    }
    return sorted({**alike, **different}.items())


def config_of(case: str) -> ConfigFile:
    try:
        return read_config((CASES / f"{case}.cfg").read_text(encoding="utf-8"))
    except ConfigError:
        return ConfigFile("")


def decided(result: ProcessResult, config: ConfigFile | None = None) -> Decision:
    return decide_check(read_transcript(result.stdout), result, config or ConfigFile(""))


def test_every_recorded_case_is_expected_to_be_something() -> None:
    recorded = {path.stem for path in CASES.glob("*.cfg")}
    assert recorded == set(EXPECTED) | set(DIFFERENT) | CONFIG_ONLY


@pytest.mark.parametrize(
    ("version", "case", "expected"),
    [(v, case, expected) for v in ("2.15", "current") for case, expected in expectations(v)],
)
def test_a_recorded_run_is_decided(
    recorded: Recorded, version: str, case: str, expected: Expected
) -> None:
    result = recorded(version, case)
    transcript = read_transcript(result.stdout)
    decision = decide_check(transcript, result, config_of(case))
    found = (decision.outcome, decision.sub, decision.property, transcript.codes())
    assert found == expected.of(version)
    assert decision.decided_by is not None
    lines = result.stdout.read_bytes().decode("utf-8", "replace").split("\n")
    assert decision.decided_by.log == "tlc.stdout"
    assert decision.decided_by.text == lines[decision.decided_by.line - 1]
    assert not decision.decided_by.text.startswith((FRAME, "TLC threw", "The exception was"))
    assert not decision.message.startswith(FRAME)


@pytest.mark.parametrize("case", sorted(CONFIG_ONLY))
def test_a_configuration_that_tlc_misreads_is_refused_before_it_runs(case: str) -> None:
    with pytest.raises(ConfigError):
        read_config((CASES / f"{case}.cfg").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize(
    ("case", "counts"),
    [
        ("Correct", StateCounts(generated=4, distinct=3, queue=0, depth=3)),
        ("SearchCutShort", StateCounts(generated=9, distinct=6, queue=2, depth=4)),
        ("InvariantViolated", StateCounts(generated=3, distinct=3, queue=0, depth=3)),
        ("NoBehaviour", StateCounts()),
    ],
)
def test_state_counts_are_those_that_tlc_prints_last(
    recorded: Recorded, version: str, case: str, counts: StateCounts
) -> None:
    assert state_counts(read_transcript(recorded(version, case).stdout)) == counts


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize("case", ["NoStates", "AssumptionsOnly"])
def test_a_pass_without_a_state_is_flagged(recorded: Recorded, version: str, case: str) -> None:
    assert decided(recorded(version, case)).flags == ("no_states",)


def test_flags_of_other_decisions(recorded: Recorded) -> None:
    assert decided(recorded("2.15", "Correct")).flags == ()
    assert decided(recorded("2.15", "StackOverflowRecursive")).flags == ("time_dependent",)
    assert decided(recorded("2.15", "HeapInNext")).flags == ()
    assert decided(recorded("2.15", "SetTooLarge")).flags == ()


def message(code: int, text: str = "-", severity: int = 1) -> str:
    return f"{FRAME}STARTMSG {code}:{severity} {FRAME}\n{text}\n{FRAME}ENDMSG {code} {FRAME}\n"


EXCEPTION = "The exception was a"
SUCCESS = message(2193, "Model checking completed. No error has been found.", 0)
COUNTS = message(
    2199, "1,004 states generated, 1,003 distinct states found, 0 states left on queue.", 0
)
SMALL = read_config("INVARIANT Small\nPROPERTY Live\n")
VIOLATION = message(2110, "Invariant Small is violated.")


def test_large_counts_are_read_with_their_separators() -> None:
    transcript = parse_transcript(COUNTS.encode().splitlines(keepends=True))
    assert state_counts(transcript) == StateCounts(generated=1004, distinct=1003, queue=0)


@pytest.mark.parametrize(
    ("stdout", "exit_code"),
    [
        (SUCCESS + COUNTS, 1),  # it did not end well
        (SUCCESS + COUNTS, 12),
        (SUCCESS + COUNTS, 255),
        (SUCCESS, 0),  # no statistics
        (COUNTS, 0),  # no success
        ("", 0),
        ("", 12),
        (SUCCESS + COUNTS + VIOLATION, 0),
        (VIOLATION, 0),
        (VIOLATION, 11),
        (VIOLATION, 13),
        (VIOLATION, 255),
        (message(2114), 12),
        (message(2114), 0),
        (message(2116), 11),
        (message(2116), 14),
        (message(2104), 12),
        (message(2107), 13),
        (message(2108), 12),
        (message(2112), 12),
        (message(2132), 12),
        (message(2111), 10),
        (message(2111), 0),
        (message(2105), 75),
        (message(2229), 12),
        (message(2229), 150),
        (message(2146), 12),
        (message(1000), 12),
        (message(1000, "an error") + SUCCESS + COUNTS, 0),
        (message(3002), 150),  # SANY alone accepted it
        (message(9999), 255),  # nobody knows this code
        (message(9999) + SUCCESS + COUNTS, 0),
        (message(2128, "This is a TLC bug", 2), 255),
        (message(2161), 255),
        (message(2100), 255),
        (message(1102), 1),
        (message(1000, "The exception was a java.io.IOException\n: No space left on device"), 255),
    ],
)
def test_what_contradicts_itself_or_is_the_tools_own_trouble_is_nobodys_failure(
    make_result: MakeResult, stdout: str, exit_code: int
) -> None:
    decision = decided(make_result(stdout, exit_code=exit_code), SMALL)
    assert decision.outcome is Outcome.INFRASTRUCTURE
    assert decision.sub in {"contradiction", "tool_failure"}
    assert decision.paper_class is None


def test_a_thread_that_cannot_be_started_is_no_lack_of_memory(make_result: MakeResult) -> None:
    """Java 25 says so where a group's limit on processes refuses one."""
    text = (
        "Java ran out of memory.\njava.lang.OutOfMemoryError: unable to create native thread: "
        "possibly out of memory or process/resource limits reached"
    )
    ended = {"exit_code": None, "signal": 9, "limit": Limit.PROCESSES}
    decision = decided(make_result(message(1001, text), **ended))
    assert (decision.outcome, decision.sub) == (Outcome.RESOURCE_LIMIT, "processes")
    assert decided(make_result(message(1001, text), exit_code=153)).sub == "memory"


def test_an_evaluation_error_that_exits_with_0_is_no_pass(make_result: MakeResult) -> None:
    """TLC does this when evaluation fails while it checks liveness."""
    for text in (
        "Attempted to apply",
        f": {FRAME}STARTMSG 2184:0 {FRAME}\nx\n{FRAME}ENDMSG 2184 {FRAME}",
    ):
        decision = decided(make_result(message(1000, text) + COUNTS, exit_code=0))
        assert decision.outcome is Outcome.RUNTIME_ERROR


@pytest.mark.parametrize("exit_code", [12, 13])
def test_a_temporal_violation_exits_with_12_where_the_formula_is_a_safety_property(
    make_result: MakeResult, exit_code: int
) -> None:
    decision = decided(make_result(message(2116), exit_code=exit_code), SMALL)
    assert (decision.outcome, decision.property) == (Outcome.LIVENESS_VIOLATION, "Live")


@pytest.mark.parametrize("later", [message(2116), message(2404), VIOLATION, message(1001)])
def test_the_first_decisive_message_decides(make_result: MakeResult, later: str) -> None:
    decision = decided(make_result(message(2121) + message(2114) + later, exit_code=11))
    assert decision.outcome is Outcome.DEADLOCK


@pytest.mark.parametrize(
    ("text", "sub"),
    [
        (message(2111, "x") + message(1001), "memory"),
        (message(1000, f"{EXCEPTION} java.lang.OutOfMemoryError\n: Java heap space"), "memory"),
        (message(1000, "Java heap space"), "memory"),
        (message(1000, "java.lang.OutOfMemoryError: GC overhead limit exceeded"), "memory"),
        (message(1003), "memory"),
        (message(2102, "x") + message(1005), "stack"),
        (message(1000, f"{EXCEPTION} java.lang.StackOverflowError") + message(2103), "stack"),
    ],
)
@pytest.mark.parametrize("exit_code", [0, 1, 75, 255, None])
def test_exhaustion_wins_over_the_evaluation_error_that_it_causes(
    make_result: MakeResult, text: str, sub: str, exit_code: int | None
) -> None:
    result = make_result(text, exit_code=exit_code, limit=None if exit_code else Limit.WALL)
    decision = decided(result)
    assert (decision.outcome, decision.sub) == (Outcome.RESOURCE_LIMIT, sub)
    assert decision.paper_class is PaperClass.RESOURCE


@pytest.mark.parametrize("text", [
    'The second argument was:\n"java.lang.OutOfMemoryError"',
    'The second argument was:\n"Java heap space"',
    "the value of Java heap space",
    'No space left on device"',
    '"a set: Attempted to construct a set with too many elements"',
])  # fmt: skip
def test_a_text_of_the_candidate_does_not_pass_for_a_limit_or_a_fault(
    make_result: MakeResult, text: str
) -> None:
    decision = decided(make_result(message(1000, text), exit_code=75))
    assert decision.outcome is Outcome.RUNTIME_ERROR


@pytest.mark.parametrize("fired", Limit)
def test_a_limit_without_a_decisive_message_decides(make_result: MakeResult, fired: Limit) -> None:
    for exit_code, signal in ((None, 9), (0, None)):
        result = make_result(
            message(2200, "Progress", 0), exit_code=exit_code, signal=signal, limit=fired
        )
        decision = decided(result)
        assert (decision.outcome, decision.sub) == (Outcome.RESOURCE_LIMIT, fired.value)
        expected = ("time_dependent",) if fired in {Limit.WALL, Limit.CPU} else ()
        assert decision.flags == expected
        assert decision.paper_class is PaperClass.RESOURCE


def test_success_over_a_limit_is_a_limit(make_result: MakeResult) -> None:
    decision = decided(make_result(SUCCESS + COUNTS, exit_code=0, limit=Limit.MEMORY))
    assert (decision.outcome, decision.sub) == (Outcome.RESOURCE_LIMIT, "memory")


@pytest.mark.parametrize("fired", Limit)
def test_a_limit_after_a_decisive_message_comes_too_late(
    make_result: MakeResult, fired: Limit
) -> None:
    """TLC was stopped while it printed the counterexample."""
    cut = VIOLATION + message(2121) + f"{FRAME}STARTMSG 2217:4 {FRAME}\n1: <Initial predicate>\nx"
    decision = decided(make_result(cut, exit_code=None, signal=9, limit=fired), SMALL)
    assert (decision.outcome, decision.property) == (Outcome.SAFETY_VIOLATION, "Small")


@pytest.mark.parametrize("signal", [6, 9, 11, 15])
@pytest.mark.parametrize("stdout", ["", message(2200, "Progress", 0), VIOLATION, SUCCESS + COUNTS])
def test_a_signal_that_we_did_not_send_is_nobodys_failure(
    make_result: MakeResult, signal: int, stdout: str
) -> None:
    decision = decided(make_result(stdout, exit_code=None, signal=signal), SMALL)
    assert decision.outcome is Outcome.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("stderr", "sub"),
    [
        ('Exception in thread "main" java.lang.StackOverflowError\n\tat tlc2.TLC', "stack"),
        ('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n', "memory"),
        ("java.lang.OutOfMemoryError: Java heap space\nDumping heap to ...\n", "memory"),
    ],
)
def test_a_tlc_that_died_without_a_message_is_explained_by_its_error_stream(
    make_result: MakeResult, stderr: str, sub: str
) -> None:
    decision = decided(make_result("", stderr, exit_code=1))
    assert (decision.outcome, decision.sub) == (Outcome.RESOURCE_LIMIT, sub)


def test_a_tlc_that_died_without_any_explanation_is_nobodys_failure(
    make_result: MakeResult,
) -> None:
    stderr = "Error: Could not find or load main class tlc2.TLC\n"
    decision = decided(make_result("", stderr, exit_code=1))
    assert (decision.outcome, decision.sub) == (Outcome.INFRASTRUCTURE, "tool_failure")


def test_a_message_that_tlc_could_not_finish_still_decides_where_its_code_does(
    make_result: MakeResult,
) -> None:
    cut = f"{FRAME}STARTMSG 2114:1 {FRAME}\nDeadl"
    decision = decided(make_result(cut, exit_code=None, signal=9, limit=Limit.OUTPUT))
    assert decision.outcome is Outcome.DEADLOCK


@pytest.mark.parametrize("version", ["2.15", "current"])
def test_an_exit_code_of_another_kind_makes_any_recorded_violation_infrastructure(
    recorded: Recorded, version: str
) -> None:
    for case in ("InvariantViolated", "Deadlock", "LivenessLasso", "AssumptionFalse", "Correct"):
        result = recorded(version, case)
        for exit_code in {0, 1, 10, 11, 12, 13, 14, 75, 76, 77, 150, 151, 255} - {result.exit_code}:
            if (case, exit_code) == ("LivenessLasso", 12):
                continue
            decision = decided(replace(result, exit_code=exit_code), config_of(case))
            assert decision.outcome is Outcome.INFRASTRUCTURE, (case, exit_code)


def test_a_name_without_a_value_at_run_time_is_no_binding_failure(make_result: MakeResult) -> None:
    stdout = message(
        1000, "The exception was a tlc2.tool.EvalException\n: " + message(2280, severity=0)
    )
    assert decided(make_result(stdout, exit_code=75), SMALL).outcome is Outcome.RUNTIME_ERROR
    binding = decided(make_result(message(2280), exit_code=151), SMALL)
    assert binding.outcome is Outcome.CONFIG_BINDING


def test_an_initial_state_error_that_exits_with_0_is_a_run_time_error(
    make_result: MakeResult,
) -> None:
    assert decided(make_result(message(2102), exit_code=0), SMALL).outcome is Outcome.RUNTIME_ERROR


def test_forged_statistics_do_not_hide_that_the_search_was_cut_short(
    make_result: MakeResult,
) -> None:
    real = message(2199, "7 states generated, 4 distinct states found, 1 states left on queue.", 0)
    for stdout in (COUNTS + SUCCESS + real, SUCCESS + real + COUNTS):
        decision = decided(make_result(stdout), SMALL)
        assert (decision.outcome, decision.sub) == (Outcome.RUNTIME_ERROR, "search_cut_short")


@pytest.mark.parametrize(
    "forged",
    [
        message(2101),
        message(3002),
        "@!@!@STARTMSG 7777:0 @!@!@\n" + message(2110, "Invariant Small is violated."),
    ],
)
def test_forged_frames_do_not_make_a_violation_anybody_elses_failure(
    make_result: MakeResult, forged: str
) -> None:
    assert decided(make_result(forged, exit_code=12), SMALL).outcome is Outcome.SAFETY_VIOLATION


def test_a_quoted_string_does_not_make_an_evaluation_error_the_tools(
    make_result: MakeResult,
) -> None:
    quoted = message(1000, 'Attempted to apply a record to\n"q\nNo space left on device\n"')
    assert decided(make_result(quoted, exit_code=75), SMALL).outcome is Outcome.RUNTIME_ERROR
