"""How far a sweep has come."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from workers.records import Family, Outcome, Verdict


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a sweep; the counts cover the whole run, the rate only this start of it."""

    total: int
    """Attempts of the run."""
    graded: int
    """Attempts with a verdict about the attempt."""
    ungraded: int
    """Attempts whose verdict is that infrastructure, or the problem itself, failed."""
    planned: int
    """Attempts that this start is to decide."""
    decided: int
    """Attempts that this start has decided."""
    retrying: int
    """Attempts that failed by infrastructure and wait for another try."""
    outcomes: Mapping[Outcome, int]
    seconds: float
    """Since this start."""

    @property
    def remaining(self) -> int:
        """Attempts of the run without a verdict."""
        return self.total - self.graded - self.ungraded

    @property
    def rate(self) -> float | None:
        """Attempts decided per second; unknown before the first one."""
        return self.decided / self.seconds if self.decided and self.seconds > 0 else None

    @property
    def eta_seconds(self) -> float | None:
        """Seconds until this start has decided what it plans to; unknown without a rate."""
        return None if self.rate is None else (self.planned - self.decided) / self.rate


class Tally:
    """Counts verdicts as they are recorded."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._outcomes: Counter[Outcome] = Counter()
        self._started = time.monotonic()
        self._planned = 0
        self._decided = 0

    @property
    def undecided(self) -> int:
        """Attempts that this start has still to decide."""
        return self._planned - self._decided

    def count_earlier(self, verdict: Verdict) -> None:
        """Count a verdict that an earlier start recorded."""
        self._outcomes[verdict.outcome] += 1

    def plan(self, limit: int | None) -> None:
        """Plan to decide what is open, or at most `limit` of it; the clock starts."""
        open_attempts = self._total - self._outcomes.total()
        self._planned = open_attempts if limit is None else min(limit, open_attempts)
        self._started = time.monotonic()

    def count(self, verdict: Verdict) -> None:
        """Count a verdict of this start."""
        self._outcomes[verdict.outcome] += 1
        self._decided += 1

    def progress(self, retrying: int) -> Progress:
        """How things stand now."""
        ungraded = sum(
            count
            for outcome, count in self._outcomes.items()
            if outcome.family is Family.INFRASTRUCTURE
        )
        return Progress(
            total=self._total,
            graded=self._outcomes.total() - ungraded,
            ungraded=ungraded,
            planned=self._planned,
            decided=self._decided,
            retrying=retrying,
            outcomes=dict(self._outcomes),
            seconds=time.monotonic() - self._started,
        )
