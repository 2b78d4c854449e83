from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.heartbeat import Heartbeat, read_heartbeat, write_heartbeat
from cluster.ledger import Ledger, count_of_epoch, read_verdicts, segments
from cluster.store import LocalStore, StoreError
from workers.records import Outcome, Verdict

MakeVerdict = Callable[..., Verdict]

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("append"),
            st.sampled_from("abc"),
            st.sampled_from(
                [
                    (Outcome.CORRECT, None),
                    (Outcome.DEADLOCK, None),
                    (Outcome.INFRASTRUCTURE, "node"),
                    (Outcome.INFRASTRUCTURE, "missing_config"),
                ]
            ),
        ),
        st.tuples(st.just("flush"), st.none(), st.none()),
        st.tuples(st.just("crash"), st.none(), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_readers_see_one_verdict_per_attempt_whatever_happens_to_drivers(
    tmp_path_factory: pytest.TempPathFactory,
    make_verdict: MakeVerdict,
    steps: list[tuple[str, str, tuple[Outcome, str | None]]],
) -> None:
    store = LocalStore(tmp_path_factory.mktemp("ledger"))
    ledger = Ledger(store, "run")
    durable: list[Verdict] = []
    buffered: list[Verdict] = []
    for number, (step, attempt, decided) in enumerate(steps):
        if step == "append":
            verdict = make_verdict(attempt, *decided, message=str(number))
            ledger.append([verdict])
            buffered.append(verdict)
        elif step == "flush":
            ledger.flush()
            durable, buffered = durable + buffered, []
        else:
            ledger, buffered = Ledger(store, "run"), []
    expected: dict[str, Verdict] = {}
    duplicates = 0
    for verdict in durable:
        before = expected.get(verdict.attempt)
        if before is not None and not before.retryable:
            duplicates += 1
        else:
            expected[verdict.attempt] = verdict
    stream = read_verdicts(store, "run")
    read = list(stream)
    assert sorted(read, key=lambda verdict: verdict.attempt) == [
        expected[attempt] for attempt in sorted(expected)
    ]
    assert stream.duplicates == duplicates


def test_verdicts_come_in_the_order_of_writing(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    for attempts in ("ca", "b", "d"):
        ledger = Ledger(store, "run", flush_verdicts=1)
        for attempt in attempts:
            ledger.append([make_verdict(attempt)])
    assert [verdict.attempt for verdict in read_verdicts(store, "run")] == list("cabd")
    assert [Path(key).name[:15] for key in segments(store, "run")] == [
        "000001-00000000",
        "000001-00000001",
        "000002-00000000",
        "000003-00000000",
    ]


def test_verdicts_are_flushed_by_number_and_by_age(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    ledger = Ledger(store, "run", flush_verdicts=2, flush_seconds=0.05)
    ledger.append([make_verdict("a")])
    ledger.tick()
    assert list(read_verdicts(store, "run")) == []
    ledger.append([make_verdict("b")])
    assert len(list(read_verdicts(store, "run"))) == 2
    ledger.append([make_verdict("c")])
    time.sleep(0.06)
    ledger.tick()
    assert len(list(read_verdicts(store, "run"))) == 3


def test_a_failed_flush_keeps_the_verdicts_for_the_next(
    store: LocalStore, make_verdict: MakeVerdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(store, "run")
    ledger.append([make_verdict("a")])
    with monkeypatch.context() as patch:

        def fail(self: LocalStore, key: str, data: bytes) -> None:
            raise StoreError("disk full")

        patch.setattr(LocalStore, "put", fail)
        with pytest.raises(StoreError):
            ledger.flush()
    ledger.close()
    assert [verdict.attempt for verdict in read_verdicts(store, "run")] == ["a"]


def test_a_damaged_segment_is_an_error_that_names_it(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    ledger = Ledger(store, "run", flush_verdicts=1)
    ledger.append([make_verdict("a")])
    ledger.append([make_verdict("b")])
    key = segments(store, "run")[1]
    store.put(key, store.get(key)[:-3])
    read = iter(read_verdicts(store, "run"))
    assert next(read).attempt == "a"
    with pytest.raises(StoreError, match=rf"runs/run/results/{Path(key).name} is .*corrupt"):
        next(read)


def test_a_stray_object_among_the_segments_is_named(store: LocalStore) -> None:
    store.put("runs/run/results/notes.txt", b"")
    with pytest.raises(StoreError, match=r"results/notes\.txt is not a segment"):
        list(read_verdicts(store, "run"))


def test_two_drivers_at_once_leave_one_verdict_per_attempt(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    first, second = Ledger(store, "run"), Ledger(store, "run")
    assert first.epoch != second.epoch
    for ledger, message in ((second, "second"), (first, "first")):
        ledger.append([make_verdict(attempt, message=message) for attempt in "ab"])
        ledger.close()
    stream = read_verdicts(store, "run")
    assert {verdict.attempt: verdict.message for verdict in stream} == {"a": "first", "b": "first"}
    assert stream.duplicates == 2


def test_a_live_driver_is_seen_and_a_crashed_one_is_not(store: LocalStore) -> None:
    here = Heartbeat.of_this_process(4)
    other = here.model_copy(update={"host": "elsewhere"})
    write_heartbeat(store, "run", other)
    ledger = Ledger(store, "run")
    assert ledger.other_driver == other
    assert ledger.epoch == 5
    crashed = here.model_copy(update={"process_started": 0.0})
    write_heartbeat(store, "run", crashed)
    assert Ledger(store, "run").other_driver is None


def test_a_closed_ledger_says_that_nobody_drives(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    ledger = Ledger(store, "run")
    ledger.append([make_verdict("a")])
    beat = read_heartbeat(store, "run")
    assert beat is not None
    assert beat.is_live
    ledger.close()
    beat = read_heartbeat(store, "run")
    assert beat is not None
    assert beat.ended
    assert [verdict.attempt for verdict in read_verdicts(store, "run")] == ["a"]


def test_verdicts_are_counted_by_the_start_that_made_them_durable(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    for attempts in ("abc", "de"):
        ledger = Ledger(store, "run", flush_verdicts=2)
        for attempt in attempts:
            ledger.append([make_verdict(attempt)])
        ledger.close()
    assert [count_of_epoch(store, "run", epoch) for epoch in (1, 2, 3)] == [3, 2, 0]
