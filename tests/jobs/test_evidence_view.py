from __future__ import annotations

import io

from rich.console import Console

from jobs.evidence_view import print_evidence
from workers.records import Outcome, TraceReference, Verdict


def shown(**fields: object) -> str:
    verdict = Verdict.model_validate(
        {
            "attempt": "lock/m/default/0",
            "problem": "lock",
            "model": "m",
            "regime": "default",
            "sample": 0,
            "outcome": Outcome.DEADLOCK,
            "family": Outcome.DEADLOCK.family,
            "message": "",
            "grader_version": "0.1",
            **fields,
        }
    )
    output = io.StringIO()
    print_evidence(verdict, Console(file=output, width=80, color_system=None))
    return output.getvalue()


def test_each_piece_is_listed_with_its_size() -> None:
    trace = TraceReference(
        name="tlc.stdout", sha256="0" * 64, pack="p", offset=0, length=9, size=1234
    )
    assert "  tlc.stdout      1,234 bytes\n" in shown(traces=(trace,))


def test_an_attempt_without_evidence_says_so() -> None:
    assert "No evidence is stored" in shown()


def test_the_circumstances_of_the_grading_are_told() -> None:
    text = shown(node="n1", queue_seconds=2.0, cached=True)
    assert "by tlagrid 0.1, on node n1, after 2.0 s in the queue, taken from the cache" in " ".join(
        text.split()
    )
