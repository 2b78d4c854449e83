"""A small sweep whose tables are computed by hand in the tests."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jobs.tallies import AttemptIdentity, ProblemFacts, Tally, tally
from workers.records import Gates, Outcome, PaperClass, Verdict

PAPER_CLASSES = {
    Outcome.CORRECT: PaperClass.CORRECT,
    Outcome.PARSE_FAILURE: PaperClass.PARSE,
    Outcome.SEMANTIC_ERROR: PaperClass.BINDING,
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
UNPARSED = {Outcome.PARSE_FAILURE, Outcome.SEMANTIC_ERROR, Outcome.INFRASTRUCTURE}


@dataclass
class Sweep:
    """Problems, attempts and verdicts, built one attempt at a time."""

    problems: list[ProblemFacts]
    attempts: list[AttemptIdentity]
    verdicts: list[Verdict]

    @classmethod
    def of(cls, *problems: ProblemFacts) -> Sweep:
        return cls(list(problems), [], [])

    def add(self, model: str, problem: str, *results: str | None, regime: str = "default") -> None:
        """One sample for each result: `outcome`, `outcome/sub`, or None for no verdict."""
        for result in results:
            identity = (problem, model, regime)
            sample = sum(attempt[1:4] == identity for attempt in self.attempts)
            attempt = AttemptIdentity(f"{problem}/{model}/{regime}/{sample}", *identity, sample)
            self.attempts.append(attempt)
            if result is not None:
                has_config = next(each.has_config for each in self.problems if each.id == problem)
                self.verdicts.append(self.verdict(attempt, result, has_config=has_config))

    @staticmethod
    def verdict(attempt: AttemptIdentity, result: str, *, has_config: bool = True) -> Verdict:
        name, _, sub = result.partition("/")
        outcome = Outcome(name)
        return Verdict(
            attempt=attempt.id,
            problem=attempt.problem,
            model=attempt.model,
            regime=attempt.regime,
            sample=attempt.sample,
            outcome=outcome,
            sub=sub or None,
            paper_class=PAPER_CLASSES.get(outcome) if has_config else None,
            family=outcome.family,
            gates=Gates(parsed=outcome not in UNPARSED),
            message=result,
            grader_version="0",
        )

    def tally(self) -> Tally:
        return tally(self.problems, self.attempts, self.verdicts)


@pytest.fixture
def small_sweep() -> Sweep:
    """Two models; `beta` has two ungraded attempts, and `silver` has no config."""
    sweep = Sweep.of(
        ProblemFacts("clock", has_config=True, labels={"difficulty": 2}),
        ProblemFacts("ring", has_config=True, labels={"difficulty": 10}),
        ProblemFacts("silver", has_config=False),
    )
    sweep.add("alpha", "clock", "correct", "correct", "parse_failure/grammar", "deadlock")
    sweep.add(
        "alpha",
        "ring",
        "correct",
        "safety_violation",
        "resource_limit/wall",
        "semantic_error/unknown_operator",
    )
    sweep.add("alpha", "silver", "parsed")
    sweep.add("beta", "clock", "correct", "infrastructure/node")
    sweep.add("beta", "ring", "liveness_violation", None)
    return sweep


@pytest.fixture
def new_sweep() -> type[Sweep]:
    """The builder, for tests that need a sweep of their own."""
    return Sweep
