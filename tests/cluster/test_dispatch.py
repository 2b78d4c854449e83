from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.dispatch import (
    LARGEST_BATCH,
    Batch,
    InputChangedError,
    PendingAttempt,
    RetryPolicy,
    WorkQueue,
    batch_size,
    elsewhere,
)
from cluster.runs import AttemptIdentity
from workers.records import Attempt, GradingSettings, Problem, Quota, QuotaChange

MakeAttempt = Callable[..., Attempt]

POLICY = RetryPolicy(tries=3, first_delay_seconds=1, factor=5)
SETTINGS = GradingSettings(quota=Quota(wall_seconds=100, parse_wall_seconds=20))


@pytest.fixture
def queue_of(problem: Problem) -> Callable[..., WorkQueue]:
    def make(
        attempts: Sequence[Attempt],
        problems: Sequence[Problem] = (),
    ) -> WorkQueue:
        pairs = zip(problems or [problem] * len(attempts), attempts, strict=True)
        pending = [
            PendingAttempt(AttemptIdentity.of(pair[1]), lambda pair=pair: pair)  # type: ignore[misc]
            for pair in pairs
        ]
        return WorkQueue(iter(pending), SETTINGS, POLICY)

    return make


QueueOf = Callable[..., WorkQueue]


def samples(batch: Batch | None) -> list[int]:
    return [] if batch is None else [attempt.sample for _, attempt in batch.inputs]


def test_fresh_attempts_come_in_batches_in_their_order(
    queue_of: QueueOf, make_attempt: MakeAttempt
) -> None:
    queue = queue_of([make_attempt(number) for number in range(5)])
    assert [samples(queue.next_batch(2, now=0)) for _ in range(4)] == [[0, 1], [2, 3], [4], []]


def test_texts_are_loaded_only_when_their_turn_comes(
    problem: Problem, make_attempt: MakeAttempt
) -> None:
    loaded = []

    def pending(number: int) -> PendingAttempt:
        attempt = make_attempt(number)

        def load() -> tuple[Problem, Attempt]:
            loaded.append(number)
            return problem, attempt

        return PendingAttempt(AttemptIdentity.of(attempt), load)

    queue = WorkQueue(map(pending, range(100)), SETTINGS, RetryPolicy())
    queue.next_batch(3, now=0)
    assert loaded == [0, 1, 2]


def test_a_batch_asks_for_one_number_of_cores(
    queue_of: QueueOf, problem: Problem, make_attempt: MakeAttempt
) -> None:
    wide = problem.model_copy(update={"quota": QuotaChange(cores=2)})
    queue = queue_of([make_attempt(n) for n in range(4)], [problem, problem, wide, wide])
    batches = [queue.next_batch(8, now=0) for _ in range(2)]
    assert [samples(batch) for batch in batches] == [[0, 1], [2, 3]]
    assert [batch.cores for batch in batches if batch] == [1, 2]


def test_long_texts_travel_in_small_batches(queue_of: QueueOf, make_attempt: MakeAttempt) -> None:
    queue = queue_of([make_attempt(number, "x" * 1_500_000) for number in range(4)])
    assert [samples(queue.next_batch(8, now=0)) for _ in range(3)] == [[0, 1], [2, 3], []]


def test_the_budget_covers_the_quotas_of_the_whole_batch(
    queue_of: QueueOf, make_attempt: MakeAttempt
) -> None:
    batch = queue_of([make_attempt(0), make_attempt(1)]).next_batch(2, now=0)
    assert batch is not None
    assert batch.budget_seconds == 2 * 120 * 1.5 + 120


def test_a_failed_attempt_is_tried_again_alone_and_later_each_time(
    queue_of: QueueOf, make_attempt: MakeAttempt
) -> None:
    queue = queue_of([make_attempt(0), make_attempt(1), make_attempt(2)])
    first = queue.next_batch(1, now=0)
    assert first is not None
    assert queue.fail(first.works[0], "n1", now=0)
    assert samples(queue.next_batch(8, now=0.5)) == [1, 2]
    second = queue.next_batch(8, now=1.0)
    assert second is not None
    assert samples(second) == [0]
    assert second.works[0].failed_on == {"n1"}
    assert queue.fail(second.works[0], "n2", now=1.0)
    assert queue.next_batch(8, now=5.9) is None
    third = queue.next_batch(8, now=6.0)
    assert third is not None
    assert not queue.fail(third.works[0], "n1", now=6.0)
    assert queue.waiting == 0


def test_a_failed_batch_is_split_and_nobody_is_charged(
    queue_of: QueueOf, make_attempt: MakeAttempt
) -> None:
    queue = queue_of([make_attempt(0), make_attempt(1)])
    batch = queue.next_batch(2, now=0)
    assert batch is not None
    queue.split(batch.works, now=0)
    again = [queue.next_batch(8, now=9) for _ in range(2)]
    assert [samples(batch) for batch in again] == [[0], [1]]
    assert [batch.works[0].failures for batch in again if batch] == [0, 0]


def test_a_text_that_changed_since_the_start_is_refused(
    problem: Problem, make_attempt: MakeAttempt
) -> None:
    identity = AttemptIdentity.of(make_attempt(0, "as it was"))
    pending = PendingAttempt(identity, lambda: (problem, make_attempt(0, "edited")))
    queue = WorkQueue(iter([pending]), SETTINGS, RetryPolicy())
    with pytest.raises(InputChangedError, match="clock/m/default/0: its text changed"):
        queue.next_batch(1, now=0)


@given(
    undecided=st.integers(0, 10**6),
    slots=st.integers(1, 1000),
    seconds=st.none() | st.floats(0, 1000),
)
def test_batches_stay_between_one_and_the_largest(
    undecided: int, slots: int, seconds: float | None
) -> None:
    assert 1 <= batch_size(undecided, slots, seconds) <= LARGEST_BATCH


def test_batches_are_small_for_slow_attempts_and_near_the_end() -> None:
    assert batch_size(10_000, 2, None) == 1
    assert batch_size(10_000, 2, 0.01) == LARGEST_BATCH
    assert batch_size(10_000, 2, 2.0) == 2
    assert batch_size(10_000, 2, 300.0) == 1
    assert batch_size(16, 2, 0.01) == 2
    assert batch_size(3, 2, 0.01) == 1


def test_another_node_is_chosen_only_where_there_is_one() -> None:
    assert elsewhere(["a", "b"], frozenset({"a"})) == "b"
    assert elsewhere(["a", "b"], frozenset({"a", "b"})) is None
    assert elsewhere(["a", "b"], frozenset()) is None
    assert elsewhere(["a"], frozenset({"a"})) is None


def test_what_a_busy_node_decided_comes_again_at_the_end_alone_on_a_whole_node(
    queue_of: QueueOf, make_attempt: MakeAttempt
) -> None:
    queue = queue_of([make_attempt(0), make_attempt(1)])
    first = queue.next_batch(1, now=0)
    assert first is not None
    queue.confirm(first.works[0])
    assert queue.waiting == 1
    assert samples(queue.next_batch(8, now=0)) == [1]
    again = queue.next_confirmation(cores=8)
    assert again is not None
    assert (samples(again), again.cores, again.works[0].confirming) == ([0], 8, True)
    assert queue.next_confirmation(cores=8) is None
    assert queue.waiting == 0


def test_confirmations_wait_for_retries(queue_of: QueueOf, make_attempt: MakeAttempt) -> None:
    queue = queue_of([make_attempt(0), make_attempt(1)])
    batch = queue.next_batch(2, now=0)
    assert batch is not None
    queue.confirm(batch.works[0])
    queue.fail(batch.works[1], "n1", now=0)
    assert queue.next_confirmation(cores=8) is None
    assert samples(queue.next_batch(8, now=9)) == [1]
    assert samples(queue.next_confirmation(cores=8)) == [0]
