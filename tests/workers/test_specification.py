"""Whole gradings with the real SANY and TLC; few, because each starts two Java machines."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workers.evidence import Graded
from workers.records import (
    Attempt,
    ExtractRule,
    Family,
    Gates,
    GradingSettings,
    Outcome,
    PaperClass,
    Problem,
    QuotaChange,
)
from workers.specification import grade_specification
from workers.stage_keys import check_key, parse_key
from workers.toolchain import Tools

MakeProblem = Callable[..., Problem]
MakeAttempt = Callable[..., Attempt]

CLOCK = """---- MODULE Clock ----
EXTENDS Naturals
VARIABLE hour
Init == hour = 0
Next == hour' = (hour + 1) % 24
Spec == Init /\\ [][Next]_hour
InRange == hour \\in 0..23
====
"""
CONFIG = "SPECIFICATION Spec\nINVARIANT InRange\n"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where gradings make their folders; whatever a test does, it must be empty at its end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def evidence(graded: Graded) -> dict[str, bytes]:
    return {piece.name: piece.content for piece in graded.evidence}


def test_a_correct_answer_in_its_usual_wrapping_is_correct_whatever_the_callers_environment(
    tools: Tools,
    make_problem: MakeProblem,
    make_attempt: MakeAttempt,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.setenv(name, "-Xmx1k -Duser.language=tr -Dfile.encoding=UTF-16")
    monkeypatch.setenv("CLASSPATH", "/nonexistent")
    monkeypatch.setenv("LC_ALL", "tr_TR.ISO-8859-9")
    problem = make_problem(config=CONFIG + "CHECK_DEADLOCK FALSE\n", labels={"tier": 1})
    crlf = CLOCK.replace("\n", "\r\n")
    attempt = make_attempt(f"\ufeff<think>Hm.</think>\r\nHere:\r\n```tla\r\n{crlf}```\r\nDone.\r\n")
    settings = GradingSettings()

    graded = grade_specification(problem, attempt, settings)

    verdict = graded.verdict
    assert (verdict.outcome, verdict.sub, verdict.flags) == (Outcome.CORRECT, None, ())
    assert verdict.family is Family.CORRECT
    assert verdict.paper_class is PaperClass.CORRECT
    assert verdict.gates == Gates(parsed=True, bound=True, checked=True)
    counts = verdict.states
    assert (counts.generated, counts.distinct, counts.queue, counts.depth) == (25, 24, 0, 24)
    assert verdict.codes == ()
    assert verdict.toolchain is not None
    assert verdict.toolchain.tla2tools_sha256 == tools.fingerprint.tla2tools_sha256
    assert verdict.keys == {
        "parse": parse_key(problem, attempt, settings, tools.fingerprint),
        "check": check_key(problem, attempt, settings, tools.fingerprint),
    }
    assert verdict.resources.cpu_seconds is not None
    assert verdict.resources.cpu_seconds > 0
    found = evidence(graded)
    assert found["module.tla"].decode() == crlf.rstrip("\r\n") + "\n"
    assert found["answer.txt"].decode() == attempt.text
    assert b"@!@!@STARTMSG 2193:0" in found["tlc.stdout"]
    assert verdict.decided_by is not None
    line = found["tlc.stdout"].decode().split("\n")[verdict.decided_by.line - 1]
    assert line.strip() == verdict.decided_by.text


def test_many_gradings_at_once_do_not_disturb_each_other(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    problem = make_problem(config=CONFIG)
    attempts = [make_attempt(CLOCK, id=str(number)) for number in range(12)]
    with ThreadPoolExecutor(len(attempts)) as pool:
        verdicts = list(pool.map(lambda a: grade_specification(problem, a).verdict, attempts))
    assert [(v.attempt, v.outcome, v.message) for v in verdicts] == [
        (str(number), Outcome.CORRECT, verdicts[0].message) for number in range(12)
    ]


def test_sany_2_15_deletes_standard_modules_from_its_temporary_folder(
    tools: Tools, tmp_path: Path
) -> None:
    """Why every grading has a temporary folder of its own: another run may still read them."""
    if tools.knows_generate_spec_te:
        pytest.skip("current SANY unpacks into a folder of its own")
    (tmp_path / "Clock.tla").write_text(CLOCK)
    shared = tmp_path / "shared"
    shared.mkdir()
    of_another_run = shared / "Naturals.tla"
    of_another_run.write_text("being read by another SANY")
    jar = str(tools.tla2tools)
    command = [str(tools.java), f"-Djava.io.tmpdir={shared}", "-cp", jar, "tla2sany.SANY"]
    subprocess.run([*command, "Clock.tla"], cwd=tmp_path, capture_output=True, check=True)
    assert not of_another_run.exists()


def test_the_answer_cannot_replace_a_module_of_the_problem(
    tools: Tools, make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    base = "---- MODULE Base ----\nEXTENDS Naturals\nSafe(x) == x < 2\n====\n"
    answer = (
        "---- MODULE Clock ----\nEXTENDS Base\nVARIABLE x\nInit == x = 0\n"
        "Next == x' = (x + 1) % 3\nSpec == Init /\\ [][Next]_x\nInRange == Safe(x)\n====\n"
        "---- MODULE Base ----\nEXTENDS Naturals\nSafe(x) == TRUE\n====\n"
    )
    graded = grade_specification(
        make_problem(config=CONFIG, context={"Base": base}), make_attempt(answer)
    )
    verdict = graded.verdict
    assert (verdict.outcome, verdict.property) == (Outcome.SAFETY_VIOLATION, "InRange")
    assert verdict.paper_class is PaperClass.SAFETY
    assert verdict.gates == Gates(parsed=True, bound=True, checked=False)
    assert {"counterexample.json", "counterexample.itf.json"} <= evidence(graded).keys()


def test_what_is_odd_about_an_accepted_answer_is_flagged(
    tools: Tools, make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    answer = (
        "---- MODULE Watch ----\nEXTENDS Helper, TLC\n"
        '(* --algorithm tick variable t = "\ufffd"; begin skip; end algorithm *)\n'
        "Pick == RandomElement({1, one})\n====\n"
        "and its helper\n---- MODULE Helper ----\none == 1\n====\n"
    )
    problem = make_problem(reference=CLOCK)
    verdict = grade_specification(problem, make_attempt(answer, valid_utf8=False)).verdict
    assert verdict.outcome is Outcome.PARSED
    assert verdict.flags == ("invalid_utf8", "nondeterministic", "renamed", "untranslated_pluscal")
    assert verdict.paper_class is None
    assert verdict.gates == Gates(parsed=True)
    assert verdict.keys.keys() == {"parse"}


@pytest.mark.parametrize(
    "base", ["---- MODULE Base ----\nx ==\n====\n", "---- MODULE Base ----\nx == Missing\n====\n"]
)
def test_a_context_module_that_does_not_analyse_is_the_problems_fault(
    make_problem: MakeProblem, make_attempt: MakeAttempt, base: str
) -> None:
    answer = CLOCK.replace("EXTENDS Naturals", "EXTENDS Naturals, Base")
    problem = make_problem(config=CONFIG, context={"Base": base})
    verdict = grade_specification(problem, make_attempt(answer)).verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.INFRASTRUCTURE, "broken_context")
    assert not verdict.retryable
    assert verdict.paper_class is None
    assert "Base" in verdict.message


@pytest.mark.parametrize(
    ("name", "context", "reference"),
    [
        ("Naturals", {}, None),
        ("Base", {"Base": "---- MODULE Base ----\n====\n"}, None),
        ("Watch", {"MC": "---- MODULE MC ----\nEXTENDS Clock\n====\n"}, None),
    ],
)
def test_a_name_that_clashes_is_a_parse_failure_without_a_run(
    make_problem: MakeProblem,
    make_attempt: MakeAttempt,
    name: str,
    context: dict[str, str],
    reference: str | None,
) -> None:
    problem = make_problem(config=CONFIG, context=context, reference=reference)
    graded = grade_specification(
        problem, make_attempt(CLOCK.replace("MODULE Clock", f"MODULE {name}"))
    )
    verdict = graded.verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.PARSE_FAILURE, "module_name")
    assert verdict.paper_class is PaperClass.PARSE
    assert verdict.gates == Gates(parsed=False)
    assert verdict.resources.cpu_seconds is None


@pytest.mark.parametrize("text", ["", "I am sorry.", "<think>" + CLOCK, "```tla\n```"])
def test_an_answer_without_a_module_is_a_parse_failure_without_a_run(
    make_problem: MakeProblem, make_attempt: MakeAttempt, text: str
) -> None:
    graded = grade_specification(make_problem(config=CONFIG), make_attempt(text))
    verdict = graded.verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.PARSE_FAILURE, "no_module")
    assert verdict.paper_class is PaperClass.PARSE
    assert evidence(graded).keys() <= {"answer.txt"}


def test_the_extraction_rule_is_that_of_the_settings(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    attempt = make_attempt(f"<think>---- MODULE Draft ----\n====\n</think>\n{CLOCK}")
    settings = GradingSettings(extract=ExtractRule.PUBLISHED)
    verdict = grade_specification(make_problem(), attempt, settings).verdict
    assert verdict.extraction is not None
    assert verdict.extraction.rule is ExtractRule.PUBLISHED
    assert verdict.extraction.module == "Draft"
    assert (verdict.outcome, verdict.flags) == (Outcome.PARSED, ("renamed",))


def test_a_bad_configuration_is_the_problems_fault_and_hides_no_parse_failure(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    problem = make_problem(config="SPECIFICATION\n")
    accepted = grade_specification(problem, make_attempt(CLOCK)).verdict
    assert (accepted.outcome, accepted.sub) == (Outcome.INFRASTRUCTURE, "unreadable_config")
    assert accepted.paper_class is PaperClass.BINDING
    assert not accepted.retryable
    assert accepted.gates == Gates(parsed=True)
    refused = grade_specification(problem, make_attempt(CLOCK.replace("= 0", "= "))).verdict
    assert (refused.outcome, refused.sub) == (Outcome.PARSE_FAILURE, "grammar")


def test_a_configuration_for_a_newer_tlc_is_nobodys_failure(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    problem = make_problem(config=CONFIG + "POSTCONDITION InRange\n")
    verdict = grade_specification(problem, make_attempt(CLOCK)).verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.INFRASTRUCTURE, "toolchain_unsupported")
    assert "POSTCONDITION" in verdict.message
    assert not verdict.retryable


def test_a_search_that_does_not_end_is_stopped_by_the_problems_own_quota(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    problem = make_problem(
        config="SPECIFICATION Spec\n", quota=QuotaChange(wall_seconds=4).model_dump()
    )
    verdict = grade_specification(problem, make_attempt(CLOCK.replace("% 24", ""))).verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.RESOURCE_LIMIT, "wall")
    assert verdict.flags == ("time_dependent",)
    assert verdict.family is Family.LIMIT
    assert verdict.paper_class is PaperClass.RESOURCE
    assert verdict.states.distinct is None


def test_output_without_end_is_stopped_and_what_is_kept_of_it_is_bounded(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    problem = make_problem(
        config="SPECIFICATION Spec\n", quota=QuotaChange(output_bytes=2_000_000).model_dump()
    )
    answer = CLOCK.replace("Naturals", "Naturals, TLC").replace("% 24", "")
    answer = answer.replace("hour' =", "PrintT([n \\in 1..5000 |-> n]) /\\ hour' =")
    graded = grade_specification(problem, make_attempt(answer))
    assert (graded.verdict.outcome, graded.verdict.sub) == (Outcome.RESOURCE_LIMIT, "output")
    log = evidence(graded)["tlc.stdout"]
    assert b"bytes cut here" in log
    assert len(log) < 1_200_000


def test_a_control_character_beside_a_library_with_io_operators_is_no_fault_of_ours(
    tools: Tools, make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    """The syntax tree is exported as XML, which cannot hold every character of a string."""
    if "Json" not in tools.standard_modules:
        pytest.skip("this TLC has no standard module with IO operators")
    answer = CLOCK.replace("Naturals", "Naturals, Json").replace(
        "====", 'Odd == "\x01\ufffe" (* \x02 ]]> & *)\n===='
    )
    verdict = grade_specification(make_problem(config=CONFIG), make_attempt(answer)).verdict
    assert verdict.outcome is Outcome.CORRECT


def test_a_missing_import_is_the_candidates_even_when_sany_parsed_a_context_module_last(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    problem = make_problem(context={"Ticks": "---- MODULE Ticks ----\nStep == 1\n====\n"})
    attempt = make_attempt(CLOCK.replace("EXTENDS Naturals", "EXTENDS Naturals, Ticks, Nowhere"))
    verdict = grade_specification(problem, attempt).verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.PARSE_FAILURE, "missing_module")
    assert "Nowhere" in verdict.message
    assert verdict.decided_by is not None
    assert "Nowhere" in verdict.decided_by.text


def test_a_missing_library_excuses_no_text_that_is_wrong_by_itself(
    make_problem: MakeProblem, make_attempt: MakeAttempt
) -> None:
    with_library = CLOCK.replace("EXTENDS Naturals", "EXTENDS Naturals, TLAPS")
    excused = grade_specification(make_problem(), make_attempt(with_library)).verdict
    assert (excused.outcome, excused.sub) == (Outcome.INFRASTRUCTURE, "toolchain_unsupported")
    assert "TLAGRID_COMMUNITY_MODULES" in excused.message
    broken = with_library.replace("(hour + 1)", "((hour + 1)")
    verdict = grade_specification(make_problem(), make_attempt(broken)).verdict
    assert verdict.outcome is Outcome.PARSE_FAILURE
