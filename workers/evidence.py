"""What grading one attempt yields: the verdict, and the evidence that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from workers.records import Verdict


@dataclass(frozen=True, slots=True)
class Evidence:
    """One named piece of evidence, such as a tool's log or the counterexample."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Graded:
    """A verdict whose `traces` are still empty, and the evidence that is to be stored first."""

    verdict: Verdict
    evidence: tuple[Evidence, ...]
