"""A driver that is killed, interrupted or terminated in the middle, and the same command again."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cluster.ledger import read_verdicts
from cluster.packs import read_trace
from cluster.store import LocalStore

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Running, Tlagrid

pytestmark = pytest.mark.timeout(900)

PROBLEMS = ("wall-clock", "flag-post", "railway-crossing")
"""Quick ones; of each, the first five attempts."""
ATTEMPTS_EACH = 5
ENDLESS = """---- MODULE PriceHistory ----
EXTENDS Naturals
VARIABLE count
Spec == count = 0 /\\ [][count' = count + 1]_count
====
"""
"""Holds the sweep up until its wall clock ends it, however fast the machine is."""
ENDLESS_SECONDS = 8


@dataclass(frozen=True)
class SmallSweep:
    """A sweep of sixteen attempts, and an undisturbed run of it."""

    folder: Path
    attempts: frozenset[str]
    run: str
    tables: dict[str, str]


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few problems and attempts of the demo, and one that ends by its wall clock."""
    folder = tmp_path_factory.mktemp("small")
    for name in PROBLEMS:
        for kind in ("problems", "attempts"):
            shutil.copytree(demo / "files" / kind / name, folder / "files" / kind / name)

    def lines(name: str) -> list[dict[str, Any]]:
        text = (demo / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    problems = [line for line in lines("problems.jsonl") if line["id"] in PROBLEMS]
    attempts = [
        line
        for name in PROBLEMS
        for line in [each for each in lines("attempts.jsonl") if each["problem"] == name][
            :ATTEMPTS_EACH
        ]
    ]
    head = {"schema_version": 1, "problem": "endless", "model": "heron-7b"}
    problem = {
        "schema_version": 1,
        "id": "endless",
        "module": "PriceHistory",
        "config": "SPECIFICATION Spec\n",
        "labels": {"difficulty": "hard"},
        "quota": {"wall_seconds": ENDLESS_SECONDS},
    }
    for name, content in (
        ("problems.jsonl", [*problems, problem]),
        ("attempts.jsonl", [*attempts, head | {"text": ENDLESS}]),
    ):
        text = "".join(json.dumps(line) + "\n" for line in content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def undisturbed(
    folder: Path, tlagrid: Tlagrid, tmp_path_factory: pytest.TempPathFactory
) -> SmallSweep:
    store = tmp_path_factory.mktemp("undisturbed")
    finished = tlagrid("sweep", folder, "--store", store, "--jobs", "2")
    assert finished.code == 0, finished.output
    (run,) = [path.name for path in (store / "runs").iterdir()]
    verdicts = list(read_verdicts(LocalStore(store), run))
    assert len(verdicts) == len(PROBLEMS) * ATTEMPTS_EACH + 1
    attempts = frozenset(verdict.attempt for verdict in verdicts)
    return SmallSweep(folder, attempts, run, tables(tlagrid, run, store))


def tables(tlagrid: Tlagrid, run: str, store: Path) -> dict[str, str]:
    """What `report` prints."""
    printed = {}
    for options in ((), ("--by", "difficulty"), ("--no-fixtures",)):
        finished = tlagrid("report", run, "--store", store, "--k", "1,2,4", *options)
        assert finished.code == 0, finished.output
        printed[" ".join(options)] = finished.stdout
    return printed


def wait_for(condition: Callable[[], object], seconds: float, running: Running) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert running.code is None, running.output
        assert time.monotonic() < deadline, running.output
        time.sleep(0.05)


def packs(store: Path) -> int:
    """How many batches workers have stored."""
    return len(list(store.glob("packs/*/*.pack")))


def wait_for_packs(store: Path, count: int, running: Running) -> None:
    wait_for(lambda: packs(store) >= count, 300, running)


def segments(store: Path) -> list[Path]:
    return list(store.glob("runs/*/results/*.zst"))


def one_verdict_each(store: Path, sweep: SmallSweep) -> bool:
    verdicts = read_verdicts(LocalStore(store), sweep.run)
    counts = Counter(verdict.attempt for verdict in verdicts)
    return counts == Counter(sweep.attempts) and verdicts.duplicates == 0


def test_a_killed_driver_leaves_no_process_and_the_same_command_completes_the_run(
    undisturbed: SmallSweep,
    tlagrid: Tlagrid,
    processes_of: Callable[[Path], list[str]],
    temporary: Path,
    tmp_path: Path,
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    delay = random.Random(seed).uniform(0, 2)
    logging.getLogger(__name__).warning("seed %s: killed after another %s s", seed, delay)
    command = ("sweep", undisturbed.folder, "--store", tmp_path, "--jobs", "2")
    driver = tlagrid.start(*command, TMPDIR=temporary)
    wait_for(lambda: segments(tmp_path), 300, driver)
    time.sleep(delay)
    working = processes_of(temporary)
    assert driver.code is None, driver.output
    os.kill(driver.process.pid, signal.SIGKILL)
    killed = time.monotonic()
    driver.process.wait()
    assert any("ray" in process for process in working), working
    assert any("java" in process for process in working), working
    while left := processes_of(temporary):
        assert time.monotonic() - killed < 15, left
        time.sleep(0.2)

    store = LocalStore(tmp_path)
    before = list(read_verdicts(store, undisturbed.run))
    assert 0 < len(before) < len(undisturbed.attempts)
    for verdict in before:
        for trace in verdict.traces:
            read_trace(store, trace)  # raises where evidence is missing or damaged
    status = tlagrid("status", undisturbed.run, "--store", tmp_path)
    assert "incomplete" in status.stdout

    again = tlagrid(*command, TMPDIR=temporary)
    assert again.code == 0, again.output
    assert "seems to drive" not in again.stderr
    rest = len(undisturbed.attempts) - len(before)
    assert f"{rest} graded now, {len(before)} already had a verdict" in again.stdout
    assert one_verdict_each(tmp_path, undisturbed)
    assert tables(tlagrid, undisturbed.run, tmp_path) == undisturbed.tables
    assert processes_of(temporary) == []
    assert list(temporary.iterdir()) == []

    third = tlagrid(*command, TMPDIR=temporary)
    assert third.code == 0, third.output
    assert f"0 graded now, {len(undisturbed.attempts)} already had a verdict" in third.stdout
    assert "starting Ray" not in third.stderr


def test_ctrl_c_and_terminate_save_the_work_and_print_the_command_that_goes_on(
    undisturbed: SmallSweep,
    tlagrid: Tlagrid,
    processes_of: Callable[[Path], list[str]],
    temporary: Path,
    tmp_path: Path,
) -> None:
    command = ["sweep", str(undisturbed.folder), "--store", str(tmp_path), "--jobs", "2"]
    saved = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        before = packs(tmp_path)
        driver = tlagrid.start(*command, TMPDIR=temporary)
        wait_for_packs(tmp_path, before + 3, driver)
        if number == signal.SIGINT:
            os.killpg(driver.process.pid, number)  # a terminal sends it to the whole group
        else:
            driver.process.send_signal(number)
        driver.wait(60)
        assert driver.code == 130, driver.output
        assert "Traceback" not in driver.stderr
        assert processes_of(temporary) == []
        assert list(temporary.iterdir()) == []
        kept = len(list(read_verdicts(LocalStore(tmp_path), undisturbed.run)))
        assert saved < kept < len(undisturbed.attempts)
        saved = kept
        message = f"interrupted: {kept} of {len(undisturbed.attempts)} attempts have a verdict"
        assert message in driver.stderr
        command = tlagrid.arguments_of(driver.stderr.splitlines()[-1])
    last = tlagrid(*command, TMPDIR=temporary)
    assert last.code == 0, last.output
    assert one_verdict_each(tmp_path, undisturbed)
    assert tables(tlagrid, undisturbed.run, tmp_path) == undisturbed.tables


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_ray_starts_leaves_nothing_behind(
    number: signal.Signals,
    folder: Path,
    tlagrid: Tlagrid,
    processes_of: Callable[[Path], list[str]],
    temporary: Path,
    tmp_path: Path,
) -> None:
    command = ("sweep", folder, "--store", tmp_path, "--jobs", "2")
    driver = tlagrid.start(*command, TMPDIR=temporary)
    wait_for(lambda: any(temporary.glob("tlagrid-ray-*/r/*")), 120, driver)
    driver.process.send_signal(number)
    driver.wait(60)
    assert driver.code == 130, driver.output
    assert "Traceback" not in driver.stderr
    deadline = time.monotonic() + 15
    while processes_of(temporary) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_of(temporary) == []
    assert list(temporary.iterdir()) == []
