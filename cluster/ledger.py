"""What was decided about the attempts of a run: append-only segments, one verdict per attempt.

A store has no append, so the driver writes immutable segments of verdicts,
`runs/<run>/results/<epoch>-<sequence>-<sha256>.jsonl.zst`. Each start of a driver is a new
epoch, and the order of names is the order of writing. A driver that is killed loses at most the
verdicts that it had not flushed, and these attempts are graded again.

Of an attempt's verdicts, readers keep the first one that settles it; a verdict that another try
could better (`Verdict.retryable`) counts only while there is nothing else, and the last such one
is kept. Later verdicts are dropped and counted. So neither a repeated write, nor a second driver,
nor a late result can change a table.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from cluster.heartbeat import BEAT_SECONDS, Heartbeat, read_heartbeat, write_heartbeat
from cluster.lines import SUFFIX, compress_lines, read_lines
from cluster.runs import check_run_name
from cluster.store import Store, StoreError
from workers.records import Verdict

FLUSH_VERDICTS = 200
FLUSH_SECONDS = 5.0

_SEGMENT = re.compile(rf"(\d{{6}})-(\d{{8}})-[0-9a-f]{{64}}{re.escape(SUFFIX)}")


class Ledger:
    """The writing end of one run's verdicts, held by its driver. Opening it begins an epoch."""

    def __init__(
        self,
        store: Store,
        run: str,
        *,
        flush_verdicts: int = FLUSH_VERDICTS,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self.store = store
        self.run = check_run_name(run)
        self._flush_verdicts = flush_verdicts
        self._flush_seconds = flush_seconds
        self._buffer: list[Verdict] = []
        self._oldest = 0.0
        self._sequence = 0
        previous = read_heartbeat(store, run)
        self.other_driver = (
            previous if previous and previous.is_live and not previous.is_own else None
        )
        """Another driver that seems to be at work on this run: worth a warning, no more."""
        epochs = [int(key.rpartition("/")[2].split("-")[0]) for key in segments(store, run)[-1:]]
        self.epoch = 1 + max([*epochs, previous.epoch if previous else 0])
        self._beat()

    def append(self, verdicts: Iterable[Verdict]) -> None:
        """Take verdicts; they are durable after the next flush, which may be now."""
        if not self._buffer:
            self._oldest = time.monotonic()
        self._buffer.extend(verdicts)
        if len(self._buffer) >= self._flush_verdicts:
            self.flush()

    def tick(self) -> None:
        """Do what is due by the clock: flush old verdicts, beat the heart."""
        now = time.monotonic()
        if self._buffer and now - self._oldest >= self._flush_seconds:
            self.flush()
        if now - self._last_beat >= BEAT_SECONDS:
            self._beat()

    def flush(self) -> None:
        """Make everything that was appended durable."""
        if not self._buffer:
            return
        lines = compress_lines(verdict.model_dump_json().encode() for verdict in self._buffer)
        name = f"{self.epoch:06}-{self._sequence:08}-{lines.sha256}{SUFFIX}"
        self.store.put(f"runs/{self.run}/results/{name}", lines.data)
        self._sequence += 1
        self._buffer.clear()

    def close(self) -> None:
        """Flush, and say that no driver is at work any more."""
        self.flush()
        self._beat(ended=True)

    def _beat(self, *, ended: bool = False) -> None:
        heartbeat = Heartbeat.of_this_process(self.epoch, ended=ended)
        write_heartbeat(self.store, self.run, heartbeat)
        self._last_beat = time.monotonic()


class VerdictStream:
    """Exactly one verdict per attempt of a run that has any. Iterating reads the segments anew.

    Memory holds the ids of the attempts and one segment.
    """

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = check_run_name(run)
        self.duplicates = 0
        """Verdicts on attempts that were settled already, as of the last complete iteration."""

    def __iter__(self) -> Iterator[Verdict]:
        """Yield the settling verdicts in the order of writing, then those another try may better.

        Raises:
            StoreError: a segment is truncated, corrupt or cannot be read; the message names it.
        """
        self.duplicates = 0
        settled: set[str] = set()
        unsettled: dict[str, str] = {}
        for key in segments(self._store, self._run):
            for verdict in _read_segment(self._store, key):
                if verdict.attempt in settled:
                    self.duplicates += 1
                elif verdict.retryable:
                    unsettled[verdict.attempt] = key
                else:
                    settled.add(verdict.attempt)
                    unsettled.pop(verdict.attempt, None)
                    yield verdict
        for key in sorted(set(unsettled.values())):
            last = {
                verdict.attempt: verdict
                for verdict in _read_segment(self._store, key)
                if unsettled.get(verdict.attempt) == key
            }
            yield from last.values()


def read_verdicts(store: Store, run: str) -> VerdictStream:
    """The verdicts of a run, one per attempt."""
    return VerdictStream(store, run)


def count_of_epoch(store: Store, run: str, epoch: int) -> int:
    """How many verdicts one start of a driver has made durable; with its time, a rate."""
    prefix = f"runs/{run}/results/{epoch:06}-"
    keys = (key for key in segments(store, run) if key.startswith(prefix))
    return sum(1 for key in keys for _ in read_lines(store, key))


def segments(store: Store, run: str) -> list[str]:
    """The keys of a run's segments in the order of writing."""
    prefix = f"runs/{run}/results/"
    keys = list(store.list_keys(prefix))
    for key in keys:
        if not _SEGMENT.fullmatch(key.removeprefix(prefix)):
            raise StoreError(
                f"store {store.uri}: {key} is not a segment of verdicts; move it elsewhere"
            )
    return keys


def _read_segment(store: Store, key: str) -> Iterator[Verdict]:
    for number, line in enumerate(read_lines(store, key), start=1):
        try:
            yield Verdict.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(
                f"store {store.uri}: {key}:{number} is not a verdict that this version "
                f"can read: {error}"
            ) from error
