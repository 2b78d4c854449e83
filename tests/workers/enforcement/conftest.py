"""Hostile programs, and what must hold after each of them in every tier that this node has.

A program finds `note`, `fork` and `burn` defined. It writes down who it is in files of its scratch
folder, and its environment holds a token, which its descendants cannot take off; so survivors are
found by what they wrote, with their start times, and by the token if they wrote nothing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from workers.enforcement import Enforcement, Tier
from workers.limits import Limit, Limits
from workers.process_identity import this_process
from workers.runner import ProcessResult, examine_node, run

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=30,
    cpu_seconds=30,
    memory_bytes=1024 * MIB,
    processes=100,
    scratch_bytes=500 * MIB,
    output_bytes=MIB,
)
"""None of them fires before the one that a test sets."""
CLEANUP_SECONDS = 2.0
TOTAL_SECONDS = 28.0
"""Loose, and well below `LIMITS.wall_seconds`."""

GROUPS = Path("/sys/fs/cgroup")
RUN_GROUP = f"tlagrid-{this_process().machine}-"
SHARED_MEMORY = Path("/dev/shm")

PRELUDE = """
import os, signal, sys, time
NOTES = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note():
    # /proc says who this is for whoever reads it outside.
    with open("/proc/self/stat") as stat: line = stat.read()
    start = line.rpartition(")")[2].split()[19]
    os.write(NOTES, f"{line.split()[0]} {start}\\n".encode())
def fork():
    pid = os.fork()
    if pid == 0: note()
    return pid
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
note()
with open("/proc/self/cgroup") as groups, open("groups", "w") as copy: copy.write(groups.read())
"""


class Bench:
    """One run in a folder of its own, and the search for what it left."""

    def __init__(self, folder: Path, enforcement: Enforcement) -> None:
        self.enforcement = enforcement
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir(parents=True)
        self.spool = folder / "spool"
        self.token = f"tlagrid-test-{uuid4().hex}"
        """In the environment of the run; programs name their files outside scratch by it."""
        self.seconds = 0.0
        """What `run` took, from call to return."""

    def run(self, argv: Sequence[str], limits: Limits = LIMITS) -> ProcessResult:
        started = time.monotonic()
        try:
            return run(
                argv,
                environment={"TOKEN": self.token},
                scratch=self.scratch,
                spool=self.spool,
                limits=limits,
                enforcement=self.enforcement,
            )
        finally:
            self.seconds = time.monotonic() - started

    def python(self, program: str, **limits: Any) -> ProcessResult:
        """Run a program under `LIMITS` with some changed; nothing of it may be left afterwards."""
        argv = [sys.executable, "-I", "-S", "-c", PRELUDE + program]
        result = self.run(argv, replace(LIMITS, **limits))
        self.check_nothing_is_left()
        return result

    def stops(self, program: str, limit: Limit, **limits: Any) -> ProcessResult:
        """Run a program that must end by this limit, cleaned up in time."""
        result = self.python(program, **limits)
        assert result.limit is limit, (result, self.errors())
        self.check_cleanup(result)
        return result

    def check_nothing_is_left(self) -> None:
        assert self.survivors() == []
        assert self.groups_left() == []
        assert self.files_left() == []

    def check_cleanup(self, result: ProcessResult) -> None:
        """Killing and removing, together, are quick; removes the scratch folder."""
        # Its CPU time, because how busy other programs keep the node is not the run's doing.
        started = time.thread_time()
        shutil.rmtree(self.scratch)
        removing = time.thread_time() - started
        assert self.seconds < TOTAL_SECONDS
        assert self.seconds - result.wall_seconds + removing < CLEANUP_SECONDS

    def errors(self) -> str:
        return (self.spool / "stderr").read_text(errors="replace")[-2000:]

    def survivors(self) -> list[str]:
        notes = self.scratch / "pids"
        noted = [line.split() for line in notes.read_text().split("\n")] if notes.exists() else []
        found = [pid for pid, start in filter(None, noted) if is_alive(pid, start)]
        return found + [
            process.name
            for process in Path("/proc").glob("[0-9]*")
            if self.token.encode() in environment_of(process) and is_alive(process.name)
        ]

    def groups_left(self) -> list[Path]:
        """Control groups of the run that still exist."""
        groups = self.scratch / "groups"
        if not groups.exists():
            return []
        lines = groups.read_text().splitlines()
        own = {path for line in lines if RUN_GROUP in (path := line.split(":", 2)[2])}
        if self.enforcement.tier is not Tier.SAMPLING:
            assert own, f"the run was in no group of ours: {lines}"
        roots = [GROUPS, *GROUPS.iterdir()]
        return [left for root in roots for path in own if (left := Path(f"{root}{path}")).exists()]

    def files_left(self) -> list[Path]:
        """Files of the run outside its scratch folder, apart from its output."""
        expected = {self.scratch, self.spool, self.spool / "stdout", self.spool / "stderr"}
        beside = {*self.folder.iterdir(), *self.spool.iterdir()} - expected
        shared = [path for path in SHARED_MEMORY.iterdir() if self.token in path.name]
        return [*beside, *shared, *Path(tempfile.gettempdir()).iterdir()]


def is_alive(pid: str, start: str | None = None) -> bool:
    """Whether a process runs and, if a start time is given, is not a later one of this number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields[0] not in "ZX" and start in (None, fields[19])


def environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


ALL = examine_node().enforcements


@pytest.fixture(params=[ALL[0], *ALL[1:][-1:]], ids=str)
def enforcement(request: pytest.FixtureRequest) -> Enforcement:
    """The strongest and the weakest tier of this node; what lies between is their mixture."""
    chosen = request.param
    assert isinstance(chosen, Enforcement)
    return chosen


@pytest.fixture
def make_bench(
    enforcement: Enforcement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Bench]]:
    """Benches beside each other; temporary files have a folder of their own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    benches: list[Bench] = []

    def make() -> Bench:
        benches.append(Bench(tmp_path / uuid4().hex, enforcement))
        return benches[-1]

    yield make
    # What a failed test left would fill the memory of the node.
    for bench in benches:
        for file in SHARED_MEMORY.glob(f"*{bench.token}*"):
            file.unlink()


@pytest.fixture
def bench(make_bench: Callable[[], Bench]) -> Bench:
    return make_bench()
