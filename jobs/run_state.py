"""Where a run stands, read from its store: for `status`, `runs` and the end of a sweep.

One pass over the verdicts; memory holds counts only (and the ids that the ledger's reader needs).
The rate is that of the last start of its driver, from the verdicts that it has stored and the
time since its process began.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from cluster.heartbeat import Heartbeat, read_heartbeat
from cluster.ledger import count_of_epoch, read_verdicts
from cluster.runs import RunDescription
from cluster.store import Store
from jobs.tallies import NOT_GRADED_YET
from workers.records import PROBLEM_FAULTS, Family, Outcome


class State(StrEnum):
    """What a run is doing."""

    RUNNING = "running"
    FINISHED = "finished"
    """Nothing is left that another start would grade."""
    INCOMPLETE = "incomplete"
    """Nobody drives it, and starting it again would grade more."""


@dataclass(frozen=True, slots=True)
class RunState:
    """One look at a run."""

    run: RunDescription
    outcomes: Counter[Outcome]
    """Of all verdicts, `infrastructure` among them."""
    reasons: Counter[str]
    """Why attempts are ungraded: sub-kinds of `infrastructure`, or `not_graded_yet`."""
    cpu_seconds: float
    """Of all verdicts that say how much CPU time they took."""
    measured: int
    """How many verdicts do."""
    failure: str | None
    """Of the attempts that failed by their own fault, the one whose id comes first."""
    driver: Heartbeat | None
    """The last driver's last word."""
    live: bool
    """Whether that driver is at work."""
    rate: float | None
    """Verdicts per second of that driver; `None` when it has none yet."""

    @property
    def attempts(self) -> int:
        """Attempts of the run."""
        return self.run.attempts.count

    @property
    def graded(self) -> int:
        """Attempts with a verdict about the attempt."""
        return self.attempts - self.ungraded

    @property
    def ungraded(self) -> int:
        """Attempts without one, for whatever reason."""
        return self.reasons.total()

    @property
    def waiting(self) -> int:
        """Attempts that grading has not come to."""
        return self.reasons[NOT_GRADED_YET]

    @property
    def failed(self) -> int:
        """Attempts that infrastructure failed and that another start would try again."""
        final = sum(self.reasons[fault] for fault in PROBLEM_FAULTS)
        return self.ungraded - self.waiting - final

    @property
    def state(self) -> State:
        """What the run is doing."""
        if self.live:
            return State.RUNNING
        return State.INCOMPLETE if self.waiting or self.failed else State.FINISHED

    @property
    def eta_seconds(self) -> float | None:
        """Seconds until the driver that is at work has come to every attempt."""
        return self.waiting / self.rate if self.live and self.rate else None

    @property
    def last_activity(self) -> datetime:
        """When a driver was last heard of, or the run was created."""
        return self.run.created if self.driver is None else self.driver.beat

    def document(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "run": self.run.name,
            "state": self.state,
            "created": self.run.created,
            "attempts": self.attempts,
            "graded": self.graded,
            "ungraded": dict(sorted(self.reasons.items())),
            "outcomes": {
                outcome.value: self.outcomes[outcome]
                for outcome in Outcome
                if self.outcomes[outcome]
            },
            "cpu_seconds": round(self.cpu_seconds, 3),
            "rate_per_second": self.rate,
            "eta_seconds": self.eta_seconds,
            "last_activity": self.last_activity,
            "driver": None
            if self.driver is None
            else {"host": self.driver.host, "pid": self.driver.pid, "live": self.live},
        }


def look_at(store: Store, run: RunDescription) -> RunState:
    """Count what the store knows of a run.

    Raises:
        StoreError: the run cannot be read.
    """
    outcomes = Counter[Outcome]()
    reasons = Counter[str]()
    cpu_seconds, measured = 0.0, 0
    failure: str | None = None
    for verdict in read_verdicts(store, run.name):
        outcomes[verdict.outcome] += 1
        if verdict.family is Family.INFRASTRUCTURE:
            reasons[verdict.sub or "unspecified"] += 1
        elif verdict.family is Family.CANDIDATE:
            failure = min(failure or verdict.attempt, verdict.attempt)
        if verdict.resources.cpu_seconds is not None:
            cpu_seconds += verdict.resources.cpu_seconds
            measured += 1
    if (waiting := run.attempts.count - outcomes.total()) > 0:
        reasons[NOT_GRADED_YET] = waiting
    driver = read_heartbeat(store, run.name)
    live = driver is not None and driver.is_live
    return RunState(
        run=run,
        outcomes=outcomes,
        reasons=reasons,
        cpu_seconds=cpu_seconds,
        measured=measured,
        failure=failure,
        driver=driver,
        live=live,
        rate=_rate(store, run.name, driver, live=live),
    )


def _rate(store: Store, run: str, driver: Heartbeat | None, *, live: bool) -> float | None:
    if driver is None:
        return None
    until = datetime.now(UTC) if live else driver.beat
    seconds = until.timestamp() - driver.process_started
    verdicts = count_of_epoch(store, run, driver.epoch)
    return verdicts / seconds if verdicts and seconds > 0 else None
