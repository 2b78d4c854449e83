"""Who drives a run, for `status` and for a word of warning to a second driver.

A heartbeat never locks anything: after a crash the same command must simply work, and two
drivers on one run are wasteful but safe, since readers of the ledger keep one verdict per
attempt.
"""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from typing import Literal, Self

import psutil
from pydantic import Field, ValidationError

from cluster.store import MissingObjectError, Store
from workers.records import SCHEMA_VERSION, Record

BEAT_SECONDS = 10.0
STALE_AFTER = timedelta(seconds=60)
"""A driver on another host that was silent for so long counts as gone."""


class Heartbeat(Record):
    """`runs/<run>/heartbeat.json`."""

    schema_version: Literal[1] = SCHEMA_VERSION
    host: str
    pid: int
    process_started: float
    """Seconds since the epoch; with it a reused process id is told apart."""
    epoch: int = Field(ge=1)
    beat: datetime
    ended: bool = False

    @classmethod
    def of_this_process(cls, epoch: int, *, ended: bool = False) -> Self:
        """A heartbeat of now."""
        return cls(
            host=socket.gethostname(),
            pid=os.getpid(),
            process_started=psutil.Process().create_time(),
            epoch=epoch,
            beat=datetime.now(UTC),
            ended=ended,
        )

    @property
    def is_own(self) -> bool:
        """Whether this process wrote it."""
        return (
            self.host == socket.gethostname()
            and self.pid == os.getpid()
            and abs(psutil.Process().create_time() - self.process_started) < 1
        )

    @property
    def is_live(self) -> bool:
        """Whether its driver is at work: looked up on this host, else judged by its age."""
        if self.ended:
            return False
        if self.host != socket.gethostname():
            return datetime.now(UTC) - self.beat < STALE_AFTER
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.process_started) < 1
            return same and bool(process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


def read_heartbeat(store: Store, run: str) -> Heartbeat | None:
    """The last heartbeat of a run; `None` when there is none that can be read."""
    try:
        return Heartbeat.model_validate_json(store.get(_key(run)))
    except (MissingObjectError, ValidationError):
        return None


def write_heartbeat(store: Store, run: str, heartbeat: Heartbeat) -> None:
    """Replace a run's heartbeat."""
    store.put(_key(run), heartbeat.model_dump_json().encode())


def _key(run: str) -> str:
    return f"runs/{run}/heartbeat.json"
