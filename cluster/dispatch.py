"""What is graded next: fresh attempts in batches, failed ones again, singly and after a while.

At the very end come attempts that a busy node decided: each alone, on a node that does nothing
else for us meanwhile.

Only infrastructure failures come back here. An attempt that failed alone has used up one of its
tries; when a batch fails as a whole, nobody knows which attempt did it, so the batch is split
and nobody is charged. No clock and no Ray in here: the driver brings both.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cluster.runs import AttemptIdentity
from workers.records import Attempt, GradingSettings, Problem, Quota

LARGEST_BATCH = 8
BATCH_SECONDS = 5.0
"""A batch aims at no more work than this: an interrupted one is lost, and progress should move."""

_BATCH_CHARACTERS = 4_000_000
_GRACE_FACTOR = 1.5
_GRACE_SECONDS = 120.0


class InputChangedError(Exception):
    """An attempt's text is not the one that the run was started with."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often an attempt is tried when infrastructure fails, and how long it waits between."""

    tries: int = 3
    first_delay_seconds: float = 1.0
    factor: float = 5.0

    def delay(self, failures: int) -> float:
        """Seconds to wait after the given number of failures."""
        return float(self.first_delay_seconds * self.factor ** max(0, failures - 1))


@dataclass(frozen=True, slots=True)
class PendingAttempt:
    """An attempt to grade, whose text is loaded only when its turn comes."""

    identity: AttemptIdentity
    load: Callable[[], tuple[Problem, Attempt]]


@dataclass(frozen=True, slots=True)
class Work:
    """A pending attempt and what became of it so far."""

    pending: PendingAttempt
    failures: int = 0
    failed_on: frozenset[str] = frozenset()
    """Ids of nodes that could not grade it, as far as they are known."""
    confirming: bool = False
    """Whether a busy node may have decided it before, so that it is graded alone now."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one task grades. All of it asks for the same number of cores."""

    works: tuple[Work, ...]
    inputs: tuple[tuple[Problem, Attempt], ...]
    cores: int
    budget_seconds: float
    """Longest time that grading can take while everything works; beyond it the task hangs."""


def batch_size(undecided: int, slots: int, seconds_per_attempt: float | None) -> int:
    """How many attempts the next batch should have.

    Few enough that every slot gets several batches and none takes much longer than
    `BATCH_SECONDS`; one while it is unknown how long an attempt takes.
    """
    if seconds_per_attempt is None:
        return 1
    by_share = undecided // (4 * max(1, slots))
    by_time = int(BATCH_SECONDS / max(seconds_per_attempt, 1e-3))
    return max(1, min(LARGEST_BATCH, by_share, by_time))


class WorkQueue:
    """Fresh attempts in their order, and retries when they are due."""

    def __init__(
        self, fresh: Iterator[PendingAttempt], settings: GradingSettings, policy: RetryPolicy
    ) -> None:
        self._fresh = fresh
        self._settings = settings
        self._policy = policy
        self._held: tuple[PendingAttempt, Problem, Attempt] | None = None
        self._retries: list[tuple[float, int, Work]] = []
        self._confirmations: list[Work] = []
        self._order = itertools.count()

    @property
    def waiting(self) -> int:
        """How many retries and confirmations wait."""
        return len(self._retries) + len(self._confirmations)

    def next_batch(self, size: int, now: float) -> Batch | None:
        """The next batch of at most `size` attempts; `None` when there is nothing at this time.

        Raises:
            InputChangedError: a text changed since the run was frozen.
            OSError: a text cannot be loaded.
        """
        if self._retries and self._retries[0][0] <= now:
            work = heapq.heappop(self._retries)[2]
            return self._batch([work], [_load(work.pending)])
        works: list[Work] = []
        inputs: list[tuple[Problem, Attempt]] = []
        characters = 0
        while len(works) < size and (item := self._take()):
            pending, problem, attempt = item
            characters += len(attempt.text)
            if works and (
                characters > _BATCH_CHARACTERS
                or self._quota(problem).cores != self._quota(inputs[0][0]).cores
            ):
                self._held = item
                break
            works.append(Work(pending))
            inputs.append((problem, attempt))
        return self._batch(works, inputs) if works else None

    def next_confirmation(self, cores: int) -> Batch | None:
        """An attempt to confirm, asking for all `cores` of a node; for when nothing else runs.

        Raises:
            InputChangedError, OSError: as `next_batch`.
        """
        if self._retries or not self._confirmations:
            return None
        work = self._confirmations.pop(0)
        batch = self._batch([work], [_load(work.pending)])
        return replace(batch, cores=max(cores, batch.cores))

    def confirm(self, work: Work) -> None:
        """Queue the attempt once more for the end."""
        self._confirmations.append(replace(work, confirming=True))

    def split(self, works: Sequence[Work], now: float) -> None:
        """Queue the attempts of a failed batch again, each alone and none charged."""
        for work in works:
            self._push(now + self._policy.delay(0), work)

    def fail(self, work: Work, node: str, now: float) -> bool:
        """Charge one failure; queue the attempt again and return whether it has tries left."""
        failed = replace(
            work,
            failures=work.failures + 1,
            failed_on=work.failed_on | ({node} if node else set()),
        )
        if failed.failures >= self._policy.tries:
            return False
        self._push(now + self._policy.delay(failed.failures), failed)
        return True

    def _push(self, due: float, work: Work) -> None:
        heapq.heappush(self._retries, (due, next(self._order), work))

    def _take(self) -> tuple[PendingAttempt, Problem, Attempt] | None:
        if self._held is not None:
            held, self._held = self._held, None
            return held
        pending = next(self._fresh, None)
        return None if pending is None else (pending, *_load(pending))

    def _quota(self, problem: Problem) -> Quota:
        quota = self._settings.quota
        return quota if problem.quota is None else problem.quota.applied_to(quota)

    def _batch(self, works: list[Work], inputs: list[tuple[Problem, Attempt]]) -> Batch:
        quotas = [self._quota(problem) for problem, _ in inputs]
        walls = sum(quota.parse_wall_seconds + quota.wall_seconds for quota in quotas)
        budget = walls * _GRACE_FACTOR + _GRACE_SECONDS
        return Batch(tuple(works), tuple(inputs), quotas[0].cores, budget)


def elsewhere(nodes: Sequence[str], failed_on: frozenset[str]) -> str | None:
    """The node on which to try again: one that has not failed; `None` leaves the choice to Ray."""
    if len(nodes) < 2 or not failed_on:
        return None
    return next((node for node in nodes if node not in failed_on), None)


def _load(pending: PendingAttempt) -> tuple[Problem, Attempt]:
    problem, attempt = pending.load()
    sha256 = hashlib.sha256(attempt.text.encode()).hexdigest()
    if sha256 != pending.identity.text_sha256:
        raise InputChangedError(
            f"attempt {attempt.id}: its text changed since the run was started; "
            "bring the old text back, or start a run of another name"
        )
    return problem, attempt
