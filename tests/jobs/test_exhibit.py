from __future__ import annotations

from jobs.exhibit import Exhibit
from jobs.log_excerpt import Location
from workers.counterexample import Counterexample, CounterexampleState
from workers.records import DecidingLine, Extraction, ExtractRule, Outcome, Verdict

ANSWER = "Sure:\n---- MODULE M ----\nInv ==\n  x > 0\n====\n"
START = ANSWER.index("----")
LOG = (
    b"@!@!@STARTMSG 2104:1 @!@!@\nAssumption line 3, col 3 to line 3, col 7 of module M is false.\n"
)
BEHAVIOUR = Counterexample(
    states=(CounterexampleState(index=1, action=None, variables={"x": "0"}, changed=()),)
)


def exhibit(*, evidence: dict[str, bytes] | None = None, **fields: object) -> Exhibit:
    outcome = Outcome(str(fields.pop("outcome", "assumption_failure")))
    verdict = Verdict.model_validate(
        {
            "attempt": "a",
            "problem": "p",
            "model": "m",
            "regime": "default",
            "sample": 0,
            "outcome": outcome,
            "family": outcome.family,
            "message": "false",
            "decided_by": DecidingLine(log="tlc.stdout", line=2, text="Assumption"),
            "extraction": Extraction(
                rule=ExtractRule.ROBUST, module="M", start=START, end=len(ANSWER)
            ),
            "grader_version": "0",
            **fields,
        }
    )
    texts = {
        "answer.txt": ANSWER.encode(),
        "module.tla": ANSWER[START:].encode(),
        "tlc.stdout": LOG,
    }
    return Exhibit(verdict, {**texts, **(evidence or {})}, "answer.md")


def test_the_error_is_placed_in_the_text_that_the_user_has() -> None:
    shown = exhibit()
    assert shown.error_location == Location("M", 3, 3, 3, 7)
    assert shown.sources["M"].place(3) == "answer.md:4"


def test_the_violated_property_is_found_in_the_candidate() -> None:
    assert exhibit(property="Inv").property_location == Location("M", 2, 1, 3, None)
    assert exhibit(property="Nowhere").property_location is None


def test_a_pass_has_no_error_location() -> None:
    assert exhibit(outcome="correct").error_location is None


def test_a_counterexample_of_a_later_version_is_left_to_its_itf_file() -> None:
    assert exhibit(evidence={"counterexample.json": b'{"new": 1}'}).counterexample is None


def test_json_has_verdict_counterexample_and_advice() -> None:
    content = BEHAVIOUR.model_dump_json().encode()
    document = exhibit(evidence={"counterexample.json": content}).as_json()
    assert document["verdict"]["outcome"] == "assumption_failure"
    assert document["counterexample"]["states"][0]["variables"] == {"x": "0"}
    assert document["advice"]


def test_without_evidence_the_verdict_alone_remains() -> None:
    bare = Exhibit(exhibit().verdict, {}, "answer.md")
    assert bare.log_excerpt is None
    assert bare.sources == {}
    assert bare.counterexample is None
