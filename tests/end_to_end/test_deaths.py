"""Nothing that a candidate started outlives its run, whichever way the run or its Ray goes."""

from __future__ import annotations

import importlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import ray
from ray.exceptions import RayError, TaskCancelledError, WorkerCrashedError

from cluster import session_keeper
from cluster.embedded_ray import embedded_ray

pytestmark = pytest.mark.timeout(240)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

DEATH_SECONDS = 5.0
WALL_SECONDS = 4.0
"""Of the run that ends by this limit, which is after its processes have noted themselves."""
LONG_SECONDS = 200.0

NAMES = frozenset({"main", "child", "stubborn", "daemon", "restless"})
"""What the program of `standin_candidate` calls its processes."""
HELPER = re.compile(r"\bworkers[./]\w*(supervisor|guard)")
"""Found in the command lines of the runner's own processes."""


class Process(NamedTuple):
    pid: int
    started: int
    """In clock ticks since the machine's start: with it a pid is never taken for another one."""


class Living(NamedTuple):
    parent: int
    command: str


def living() -> dict[Process, Living]:
    """All processes of the machine; zombies are dead."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            line = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
            state, parent, *rest = line.rpartition(")")[2].split()
            if state not in "ZX":
                found[Process(int(folder.name), int(rest[17]))] = Living(int(parent), command)
    return found


class Candidate:
    """One run of the program of `standin_candidate`, seen from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.worker = Process(0, 0)
        self.helpers: set[Process] = set()
        self.lasting: set[Process] = set()

    def start(self, is_running: Callable[[], bool]) -> None:
        """Let the waiting task run the program, and return once all processes are there."""

        def wait(holds: Callable[[], object]) -> None:
            deadline = time.monotonic() + 60
            while not holds():
                assert is_running(), "the task ended before its time"
                assert time.monotonic() < deadline, self._noted()
                time.sleep(0.02)

        wait((self.folder / "worker").exists)
        pid = int((self.folder / "worker").read_text(encoding="utf-8"))
        before = living()
        (self.worker,) = (process for process in before if process.pid == pid)
        self.lasting = {each for each in before if HELPER.search(before[each].command)}
        (self.folder / "go").touch()
        wait(lambda: {name for name, _ in self._noted()} == NAMES)
        wait(lambda: [name for name, _ in self._noted()].count("restless") > 2)
        now = living()
        lingering = {process for name, process in self._noted() if name != "restless"}
        assert lingering <= now.keys(), "a process died before its time"
        self.helpers = self._find_helpers(now)
        assert self.helpers

    def await_end(self, *, worker_lives: bool) -> None:
        """Fail unless all that belongs to the run is gone in time.

        A helper that was there before the run may serve its worker, as long as that lives.
        """
        deadline = time.monotonic() + DEATH_SECONDS
        due = self.helpers - self.lasting if worker_lives else self.helpers | {self.worker}
        while left := self._left(due):
            assert time.monotonic() < deadline, self._names(left)
            time.sleep(0.05)
        assert (self.worker in living()) == worker_lives

    def clear(self) -> None:
        """Kill what a failed test left."""
        deadline = time.monotonic() + 10
        due = self.helpers - self.lasting if self.worker in living() else self.helpers
        while (left := self._left(due)) and time.monotonic() < deadline:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    def _left(self, due: set[Process]) -> dict[Process, Living]:
        """Which processes of the program, and which of those that are due, live."""
        noted = self._noted()
        if left := self._look(due):
            return left
        # Looking takes longer than a process needs to replace itself. It cannot hide for long, and
        # it notes itself.
        time.sleep(0.2)
        left = self._look(due)
        return left if left or self._noted() == noted else self._left(due)

    def _look(self, due: set[Process]) -> dict[Process, Living]:
        now = living()
        wanted = due | {process for _, process in self._noted()}
        return {
            process: found
            for process, found in now.items()
            if process in wanted or str(self.scratch) in found.command
        }

    def _names(self, processes: Iterable[Process]) -> list[str]:
        """For a message: how the program calls them, or what else they are."""
        names = dict.fromkeys(self.helpers, "helper") | {self.worker: "worker"}
        names |= {process: name for name, process in self._noted()}
        return [f"{names.get(each, 'not noted')} {each.pid}" for each in processes]

    def _noted(self) -> list[tuple[str, Process]]:
        try:
            lines = (self.scratch / "noted").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [
            (name, Process(int(pid), int(started)))
            for name, pid, started in (line.split() for line in lines)
        ]

    def _find_helpers(self, now: dict[Process, Living]) -> set[Process]:
        """The runner's own processes above and beside the program, and below the worker."""
        by_pid = {process.pid: process for process in now}
        (main,) = (process for name, process in self._noted() if name == "main")

        def line(process: Process) -> Iterator[Process]:
            """The process, its parent and so on."""
            at: Process | None = process
            while at:
                yield at
                at = by_pid.get(now[at].parent)

        helpers = {process for process in now if HELPER.search(now[process].command)}
        roots = {self.worker} | helpers.intersection(line(main))
        return {helper for helper in helpers if not roots.isdisjoint(line(helper))}


@pytest.fixture
def candidate(tmp_path: Path) -> Iterator[Candidate]:
    candidate = Candidate(tmp_path)
    yield candidate
    candidate.clear()


@pytest.fixture(scope="module", autouse=True)
def module_path() -> Iterator[None]:
    """Make `standin_candidate` and the source tree importable here and in what is started."""
    ours = [str(HERE), str(ROOT)]
    with pytest.MonkeyPatch.context() as patch:
        path = [*ours, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        patch.setenv("PYTHONPATH", os.pathsep.join(path))
        patch.setattr(sys, "path", [*ours, *sys.path])
        yield


# The run or its worker goes, Ray stays


@pytest.fixture(scope="module")
def task() -> Iterator[Any]:
    """The task of `standin_candidate`, on a Ray of our own."""
    with embedded_ray(1):
        candidates = importlib.import_module("standin_candidate")
        yield ray.remote(max_retries=0)(candidates.run_candidate)


@dataclass(frozen=True)
class Death:
    cause: Callable[[Candidate, Any], object]
    """Called with the reference of the task's result, too."""
    end: type[RayError] | tuple[int | None, str | None]
    """What getting the task's result comes to: an exception, or exit code and limit."""
    worker_lives: bool = False
    wall_seconds: float = LONG_SECONDS


def is_pending(result: Any) -> bool:
    """Raises what the task failed with, if it did."""
    done, pending = ray.wait([result], timeout=0)
    ray.get(done)
    return bool(pending)


def kill_group(pid: int) -> None:
    group = os.getpgid(pid)
    assert group != os.getpgrp()
    os.killpg(group, signal.SIGKILL)


DEATHS = {
    "worker killed": Death(lambda c, _: os.kill(c.worker.pid, signal.SIGKILL), WorkerCrashedError),
    "process group of the worker killed": Death(
        lambda c, _: kill_group(c.worker.pid), WorkerCrashedError
    ),
    "cancelled by force": Death(lambda _, ref: ray.cancel(ref, force=True), TaskCancelledError),
    "cancelled": Death(lambda _, ref: ray.cancel(ref), TaskCancelledError, worker_lives=True),
    "program ended": Death(lambda c, _: (c.scratch / "end").touch(), (0, None), worker_lives=True),
    "wall limit": Death(
        # It began to count before the program noted anything.
        lambda *_: time.sleep(WALL_SECONDS),
        (None, "wall"),
        worker_lives=True,
        wall_seconds=WALL_SECONDS,
    ),
}


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS.keys())
def test_nothing_outlives_a_run_that_ends_or_loses_its_worker(
    task: Any, candidate: Candidate, death: Death
) -> None:
    result = task.remote(str(candidate.folder), death.wall_seconds)
    try:
        candidate.start(lambda: is_pending(result))
        death.cause(candidate, result)
        candidate.await_end(worker_lives=death.worker_lives)
        if isinstance(death.end, tuple):
            assert ray.get(result, timeout=60) == death.end
        else:
            with pytest.raises(death.end):
                ray.get(result, timeout=60)
    finally:
        ray.cancel(result, force=True)


# The driver goes, and its Ray with it

DRIVER = """
import select, sys
from cluster.embedded_ray import embedded_ray
from standin_candidate import run_candidate
with embedded_ray(1) as session:
    import ray
    result = ray.remote(max_retries=0)(run_candidate).remote(sys.argv[1], float(sys.argv[2]))
    print(session.folder, flush=True)
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        ray.get(ray.wait([result], timeout=0)[0])  # raises what the task failed with
"""


@pytest.fixture
def driver(candidate: Candidate) -> Iterator[subprocess.Popen[str]]:
    """A process with a Ray of its own that runs the candidate, and ends when told so."""
    arguments = [str(candidate.folder), str(LONG_SECONDS)]
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        try:
            assert folder
            yield process
        finally:
            process.kill()
            process.wait()
            deadline = time.monotonic() + 30
            while folder and Path(folder).exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            if folder:
                session_keeper.end_session(Path(folder))  # its own keeper has done it, as a rule


def kill(driver: subprocess.Popen[str]) -> None:
    driver.kill()


def end(driver: subprocess.Popen[str]) -> None:
    driver.communicate("\n", timeout=60)
    assert driver.returncode == 0


@pytest.mark.parametrize("cause", [kill, end])
def test_nothing_outlives_its_driver(
    driver: subprocess.Popen[str],
    candidate: Candidate,
    cause: Callable[[subprocess.Popen[str]], None],
) -> None:
    candidate.start(lambda: driver.poll() is None)
    cause(driver)
    candidate.await_end(worker_lives=False)


# A node goes, its cluster and the driver stay

HEAD = "127.0.0.3"
NODES = {"kill_raylet": "127.0.0.4", "remove_gracefully": "127.0.0.5"}
"""A node for each way to lose one."""

CLUSTER = """
import os, shlex, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Ray prints, too
import ray
from ray.cluster_utils import Cluster
from standin_candidate import run_candidate

cluster = Cluster()
def add(address, cpus):
    return cluster.add_node(
        node_ip_address=address,
        num_cpus=cpus,
        include_dashboard=False,
        object_store_memory=80 << 20,
    )
head, *others = sys.argv[1:]
add(head, 0)
nodes = {address: add(address, 1) for address in others}
ray.init(address=cluster.address, _node_ip_address=head, log_to_driver=False)
task = ray.remote(max_retries=0)(run_candidate)
results = []

def start(address, folder, wall_seconds):
    there = task.options(resources={f"node:{address}": 0.01})
    results.append(there.remote(folder, float(wall_seconds)))

def check():
    ray.get(ray.wait(results[-1:], timeout=0)[0])  # raises what the task failed with

def kill_raylet(address):
    raylet = nodes[address].all_processes["raylet"][0].process
    raylet.kill()
    raylet.wait()  # while it is a zombie, its workers take it for alive

def remove_gracefully(address):
    cluster.remove_node(nodes[address], allow_graceful=True)

print("ready", file=answers, flush=True)
for line in sys.stdin:
    command, *arguments = shlex.split(line)
    globals()[command](*arguments)
    print("done", file=answers, flush=True)
ray.shutdown()
cluster.shutdown()
"""


class FakeCluster:
    """A process with a cluster of several nodes on this machine, which does as it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def is_pending(self) -> bool:
        """Fail when the task that was started last has failed."""
        self("check")
        return True

    def __call__(self, *command: object) -> None:
        assert self.process.stdin is not None
        print(*command, file=self.process.stdin, flush=True)
        self.await_answer("done")

    def await_answer(self, answer: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{answer}\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    # Short, because Ray's sockets lie in it, and their paths are limited to 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="tg", dir="/tmp"))
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    settings = {
        "RAY_TMPDIR": str(folder),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        session_keeper.SESSION_VARIABLE: str(folder),
    }
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, HEAD, *NODES.values()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=plain | settings,
    ) as process:
        try:
            cluster = FakeCluster(process)
            cluster.await_answer("ready")
            yield cluster
            process.communicate(timeout=60)
            assert process.returncode == 0
        finally:
            process.kill()
            process.wait()
            session_keeper.end_session(folder)
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("cause", NODES)
def test_nothing_outlives_its_node(cluster: FakeCluster, candidate: Candidate, cause: str) -> None:
    address = NODES[cause]
    cluster("start", address, candidate.folder, LONG_SECONDS)
    candidate.start(cluster.is_pending)
    cluster(cause, address)
    candidate.await_end(worker_lives=False)
