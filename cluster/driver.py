"""Drive a sweep: batches out to Ray, verdicts into the ledger, failures of machines retried.

The driver must be connected to a Ray (`cluster.embedded_ray` starts one). It keeps about twice as
many tasks in flight as there are cores, takes results as they complete and holds no texts but
those of the batches that it is handing out. It may be killed at any moment: what the ledger has
is not graded again, and the rest is.

A limit on time that was reached on a busy node proves little. Such an attempt is graded once more
at the end, alone on a node, before its verdict counts.

Ray's own retries are off, since it cannot tell a failed machine from a verdict. What is retried
here, by `RetryPolicy`: a task that raised, a worker or node that died, a task that hangs, and
verdicts that say that the infrastructure failed. If it stays so, that is the attempt's verdict,
and a later start of the same run tries again.

Left out so far: admission of nodes and learned durations, which matter with many nodes.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from cluster.dispatch import Batch, PendingAttempt, RetryPolicy, Work, WorkQueue, batch_size
from cluster.dispatch import elsewhere as node_elsewhere
from cluster.grading_task import BatchResult, GraderPathError, Plan, grade_batch_on_ray
from cluster.ledger import Ledger, read_verdicts
from cluster.progress import Progress, Tally
from cluster.runs import AttemptIdentity, RunDescription
from cluster.store import Store, StoreError
from workers.enforcement import Tier
from workers.records import Outcome, Verdict
from workers.runner import EnforcementMissingError

if TYPE_CHECKING:
    import ray

GRADER = "workers.grading:grade"

_IN_FLIGHT_PER_SLOT = 2
_TICK_SECONDS = 0.25
_NODES_SECONDS = 5.0


class NotConnectedError(Exception):
    """This process is not connected to a Ray cluster."""


def run_sweep(
    store: Store,
    run: RunDescription,
    attempts: Iterable[PendingAttempt],
    *,
    tlagrid_version: str,
    grader: str = GRADER,
    limit: int | None = None,
    retry: RetryPolicy = RetryPolicy(),  # noqa: B008 - immutable
    required_tier: Tier | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Progress:
    """Grade what the run has no final verdict for yet; return where it stands then.

    Args:
        store: where the run is; workers open it by its URI.
        run: the frozen description (`cluster.runs.create_or_resume`).
        attempts: all attempts of the run, in the order in which to grade them.
        tlagrid_version: version noted in verdicts that the driver itself must give.
        grader: import path of the grading function, resolved in the worker.
        limit: grade at most so many attempts now.
        retry: how infrastructure failures are retried.
        required_tier: nodes with a weaker enforcement grade nothing.
        on_progress: called at the start, after results, and at the end.
        on_warning: called with what the user should know, such as a second driver.

    Raises:
        NotConnectedError: there is no Ray.
        GraderPathError: workers cannot import the grader.
        InputChangedError: an attempt's text is not the one that the run was started with.
        StoreError: the store failed; the run can be resumed.
        KeyboardInterrupt: SIGINT or SIGTERM came. What was done is in the ledger.
    """
    import ray

    if not ray.is_initialized():
        raise NotConnectedError("not connected to Ray; start one with cluster.embedded_ray")
    ledger = Ledger(store, run.name)
    if other := ledger.other_driver:
        on_warning(
            f"process {other.pid} on {other.host} seems to drive run {run.name} too; "
            "the run stays correct, but attempts may be graded twice"
        )
    tally = Tally(run.attempts.count)
    final = set()
    for verdict in read_verdicts(store, run.name):
        if not verdict.retryable:
            final.add(verdict.attempt)
            tally.count_earlier(verdict)
    tally.plan(limit)
    fresh = itertools.islice(_without(attempts, final), limit)
    sweep = _Sweep(
        plan=Plan(store.uri, grader, run.settings, required_tier),
        queue=WorkQueue(fresh, run.settings, retry),
        ledger=ledger,
        tally=tally,
        on_progress=on_progress,
        tlagrid_version=tlagrid_version,
    )
    with _stop_on_signal() as stop:
        try:
            sweep.drive(stop)
        finally:
            sweep.cancel()
            ledger.close()
    if stop.signal is not None:
        raise KeyboardInterrupt(
            f"stopped by {stop.signal.name}; run the same command again to go on"
        )
    return sweep.report()


def _without(attempts: Iterable[PendingAttempt], taken: set[str]) -> Iterator[PendingAttempt]:
    """The attempts whose ids are not taken, each once."""
    for pending in attempts:
        if pending.identity.id not in taken:
            taken.add(pending.identity.id)
            yield pending


@dataclass(slots=True)
class _Stop:
    """Set by the first signal; the second SIGINT does not wait."""

    signal: signal.Signals | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)


@contextlib.contextmanager
def _stop_on_signal() -> Iterator[_Stop]:
    """Note SIGINT and SIGTERM instead of breaking off in the middle of a write."""
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python delivers signals to the main thread, whose business it is then
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class _Flight:
    """A task under way."""

    works: tuple[Work, ...]
    cores: int
    budget_seconds: float
    starts_after: int
    """It begins when so many tasks have ended in all: those before it in Ray's queue."""
    started: float | None = None


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes that can grade, as of the last look: Ray's ids to their cores."""

    cores: dict[str, int]

    @property
    def ids(self) -> list[str]:
        return sorted(self.cores)

    @property
    def largest(self) -> int:
        return max(self.cores.values(), default=0)

    @property
    def slots(self) -> int:
        return max(1, sum(self.cores.values()))

    def tasks(self, cores: int) -> int:
        """How many tasks of so many cores run at a time."""
        return max(1, sum(have // cores for have in self.cores.values()))


@dataclass(slots=True)
class _Sweep:
    """The state of one `run_sweep`."""

    plan: Plan
    queue: WorkQueue
    ledger: Ledger
    tally: Tally
    on_progress: Callable[[Progress], None]
    tlagrid_version: str
    _task: Any = None
    _flights: dict[ray.ObjectRef[BatchResult], _Flight] = field(default_factory=dict)
    _ended: int = 0
    _seconds_per_attempt: float | None = None
    _nodes: _Nodes = field(default_factory=lambda: _Nodes({}))
    _nodes_seen: float = float("-inf")

    def drive(self, stop: _Stop) -> None:
        """Hand out and collect until nothing is left, or a signal came."""
        import ray

        self._task = ray.remote(max_retries=0)(grade_batch_on_ray)
        self.on_progress(self.report())
        while stop.signal is None:
            self._look_at_nodes()
            self._hand_out()
            if not self._flights and not self.queue.waiting:
                break
            before = self._ended, self.tally.undecided
            self._collect()
            self._give_up_on_hung()
            self.ledger.tick()
            if before != (self._ended, self.tally.undecided):
                self.on_progress(self.report())
        self.ledger.flush()
        self.on_progress(self.report())

    def report(self) -> Progress:
        """How the sweep stands."""
        return self.tally.progress(retrying=self.queue.waiting)

    def cancel(self) -> None:
        """End the tasks that are still under way."""
        import ray

        for ref in self._flights:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.cancel(ref, force=True)
        self._flights.clear()

    def _look_at_nodes(self) -> None:
        import ray

        now = time.monotonic()
        if now - self._nodes_seen < _NODES_SECONDS:
            return
        self._nodes_seen = now
        alive = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        cores = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in alive}
        self._nodes = _Nodes({node: count for node, count in cores.items() if count})

    def _hand_out(self) -> None:
        while self._cores_in_flight() < _IN_FLIGHT_PER_SLOT * self._nodes.slots:
            size = batch_size(self.tally.undecided, self._nodes.slots, self._seconds_per_attempt)
            batch = self.queue.next_batch(size, time.monotonic())
            if batch is None and not self._flights:
                batch = self.queue.next_confirmation(self._nodes.largest)
            if batch is None:
                return
            if batch.cores > self._nodes.largest:
                # Ray would queue it for ever.
                self._record_each(
                    batch.works,
                    f"the quota asks for {batch.cores} cores, and the largest node has "
                    f"{self._nodes.largest}; start with more --jobs, or lower the quota's cores",
                )
            else:
                self._submit(batch)

    def _submit(self, batch: Batch) -> None:
        from ray.util.scheduling_strategies import (
            NodeAffinitySchedulingStrategy,
        )

        node = node_elsewhere(self._nodes.ids, batch.works[0].failed_on)
        ref = self._task.options(
            num_cpus=batch.cores,
            scheduling_strategy=(
                NodeAffinitySchedulingStrategy(node, soft=True) if node else "DEFAULT"
            ),
        ).remote(self.plan, batch.inputs, time.time())
        widest = max([batch.cores, *(flight.cores for flight in self._flights.values())])
        ahead = max(0, len(self._flights) + 1 - self._nodes.tasks(widest))
        self._flights[ref] = _Flight(
            batch.works, batch.cores, batch.budget_seconds, self._ended + ahead
        )

    def _cores_in_flight(self) -> int:
        return sum(flight.cores for flight in self._flights.values())

    def _collect(self) -> None:
        import ray

        if not self._flights:
            time.sleep(_TICK_SECONDS)  # only retries are left, and none is due
            return
        refs = list(self._flights)
        ready, _ = ray.wait(refs, num_returns=1, timeout=_TICK_SECONDS, fetch_local=False)
        if ready:
            ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0, fetch_local=False)
        for ref in ready:
            flight = self._flights.pop(ref)
            self._ended += 1
            try:
                result = ray.get(ref)
            except ray.exceptions.RayError as error:
                self._batch_failed(flight, error)
            else:
                self._take(flight, result)

    def _take(self, flight: _Flight, result: BatchResult) -> None:
        now = time.monotonic()
        each = result.seconds / len(flight.works)
        known = self._seconds_per_attempt
        self._seconds_per_attempt = each if known is None else 0.8 * known + 0.2 * each
        works = {work.pending.identity.id: work for work in flight.works}
        for verdict in result.verdicts:
            work = works[verdict.attempt]
            if verdict.unconfirmed and not work.confirming:
                self.queue.confirm(work)
            elif not verdict.retryable or not self.queue.fail(work, result.node, now):
                self._record(verdict)
        for failure in result.failures:
            work = works[failure.attempt]
            if not self.queue.fail(work, result.node, now):
                self._record(self._verdict(work.pending.identity, "grader", failure.message))

    def _batch_failed(self, flight: _Flight, error: ray.exceptions.RayError) -> None:
        import ray

        cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
        if isinstance(cause, GraderPathError):
            raise GraderPathError(str(cause)) from None
        nodes = ray.exceptions.RayError | StoreError | OSError | MemoryError
        ours = not isinstance(cause, nodes | EnforcementMissingError)
        first_line = str(cause).strip().partition("\n")[0]
        self._failed(flight, "grader" if ours else "node", f"{type(cause).__name__}: {first_line}")

    def _give_up_on_hung(self) -> None:
        import ray

        now = time.monotonic()
        for ref, flight in list(self._flights.items()):
            if flight.started is None and self._ended >= flight.starts_after:
                flight.started = now
            if flight.started is not None and now - flight.started > flight.budget_seconds:
                del self._flights[ref]
                self._ended += 1
                # Forgotten from here on: a result that comes late is nobody's.
                ray.cancel(ref, force=True)
                self._failed(flight, "node", f"no answer within {flight.budget_seconds:.0f} s")

    def _failed(self, flight: _Flight, sub: str, message: str) -> None:
        now = time.monotonic()
        if len(flight.works) > 1:
            self.queue.split(flight.works, now)
            return
        (work,) = flight.works
        if not self.queue.fail(work, "", now):
            self._record(self._verdict(work.pending.identity, sub, message))

    def _record_each(self, works: tuple[Work, ...], message: str) -> None:
        for work in works:
            self._record(self._verdict(work.pending.identity, "node", message))

    def _record(self, verdict: Verdict) -> None:
        self.ledger.append([verdict])
        self.tally.count(verdict)

    def _verdict(self, identity: AttemptIdentity, sub: str, message: str) -> Verdict:
        return Verdict(
            attempt=identity.id,
            problem=identity.problem,
            model=identity.model,
            regime=identity.regime,
            sample=identity.sample,
            outcome=Outcome.INFRASTRUCTURE,
            sub=sub,
            family=Outcome.INFRASTRUCTURE.family,
            message=f"not graded: {message}",
            grader_version=self.tlagrid_version,
        )
