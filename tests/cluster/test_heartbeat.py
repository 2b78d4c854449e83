from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import psutil

from cluster.heartbeat import Heartbeat, read_heartbeat, write_heartbeat
from cluster.store import LocalStore


def test_the_own_heartbeat_is_live_until_it_says_that_it_ended() -> None:
    beat = Heartbeat.of_this_process(3)
    assert beat.is_own
    assert beat.is_live
    assert not Heartbeat.of_this_process(3, ended=True).is_live


def test_a_killed_driver_of_this_host_is_not_live() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = psutil.Process(process.pid).create_time()
        beat = Heartbeat.of_this_process(1).model_copy(
            update={"pid": process.pid, "process_started": started}
        )
        assert beat.is_live
        assert not beat.is_own
        process.kill()
        psutil.wait_procs([psutil.Process(process.pid)], timeout=10)
        assert not beat.is_live
    assert not beat.is_live


def test_a_process_that_took_over_the_id_is_not_the_driver() -> None:
    beat = Heartbeat.of_this_process(1)
    reused = beat.model_copy(update={"process_started": beat.process_started - 1000})
    assert not reused.is_live
    assert not reused.is_own


def test_a_driver_of_another_host_is_judged_by_its_silence() -> None:
    elsewhere = Heartbeat.of_this_process(1).model_copy(update={"host": "elsewhere"})
    assert elsewhere.is_live
    old = datetime.now(UTC) - timedelta(minutes=2)
    assert not elsewhere.model_copy(update={"beat": old}).is_live


def test_a_heartbeat_that_cannot_be_read_is_none(store: LocalStore) -> None:
    assert read_heartbeat(store, "x") is None
    beat = Heartbeat.of_this_process(5)
    write_heartbeat(store, "x", beat)
    assert read_heartbeat(store, "x") == beat
    store.put("runs/x/heartbeat.json", b"{")
    assert read_heartbeat(store, "x") is None
