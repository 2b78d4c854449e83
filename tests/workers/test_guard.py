import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from workers.enforcement import Enforcement
from workers.guard_link import this_guard
from workers.leftovers import kill_processes, remove_groups
from workers.limits import Limits
from workers.process_identity import ProcessIdentity, identity_in, start_ticks, this_process
from workers.runner import ProcessResult, RunnerError, examine_node, run

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=1 << 30,
    processes=100,
    scratch_bytes=1 << 20,
    output_bytes=1 << 20,
)

# A main process, a child, and a daemon in a session of its own; each says who it is. They end
# when they are told to.
FAMILY = """
import os, time
def note(name):
    with open(name + ".tmp", "w") as file:
        line = open("/proc/self/stat").read()
        started = line.rpartition(")")[2].split()[19]
        file.write(f"{os.getpid()} {started} {os.getppid()} {os.environ['TLAGRID_RUN']}")
    os.rename(name + ".tmp", name)
if os.fork() == 0:
    note("child")
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        note("daemon")
    time.sleep(600)
note("main")
while not os.path.exists("go"): time.sleep(0.01)
"""
WORKER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from workers.enforcement import Enforcement
from workers.leftovers import kill_processes, remove_groups
from workers.limits import Limits
from workers.runner import run
folder, enforcement, limits, program, count = json.loads(sys.argv[1])
def one(number):
    scratch = Path(folder, f"{number}")
    scratch.mkdir()
    return run(
        [sys.executable, "-I", "-S", "-c", program],
        environment={}, scratch=scratch, spool=Path(folder, f"spool{number}"),
        limits=Limits(**limits), enforcement=Enforcement.from_fields(enforcement),
    ).exit_code
with ThreadPoolExecutor(count) as pool:
    print(*pool.map(one, range(count)))
"""


@dataclass(frozen=True)
class Family:
    """The processes of a run, and those that stand around it."""

    members: list[ProcessIdentity]
    supervisor: int
    guard: int
    keeper: int
    name: str

    @classmethod
    def of(cls, scratch: Path) -> "Family":
        names = ("main", "child", "daemon")
        wait_until(lambda: all((scratch / name).exists() for name in names), 60)
        notes = [(scratch / name).read_text().split() for name in names]
        own = this_process()
        members = [replace(own, pid=int(pid), started=int(started)) for pid, started, _, _ in notes]
        supervisor = int(notes[0][2])
        guard = parent_of(supervisor)
        return cls(members, supervisor, guard, parent_of(guard), notes[0][3])

    def lost_its_guard(self) -> bool:
        identity = identity_in(self.name)
        return identity is None or identity.is_ended

    def is_gone(self) -> bool:
        return all(member.is_ended for member in self.members)

    def groups(self, enforcement: Enforcement) -> list[Path]:
        """Control groups of the run that exist."""
        return [
            group for parent in enforcement.group_folders if (group := parent / self.name).exists()
        ]

    def check_gone(self, enforcement: Enforcement) -> None:
        """Within five seconds, nothing of it may be left."""
        wait_until(self.is_gone)
        wait_until(lambda: self.groups(enforcement) == [])


class Bench:
    """Runs of this process, in the background."""

    def __init__(self, folder: Path, enforcement: Enforcement) -> None:
        self.folder = folder
        self.enforcement = enforcement
        self.pool = ThreadPoolExecutor()
        self.runs = 0
        self.families: list[Family] = []

    def start(self, program: str) -> tuple[Path, "Future[ProcessResult]"]:
        self.runs += 1
        scratch = self.folder / f"{self.runs}"
        scratch.mkdir()
        future = self.pool.submit(
            run,
            [sys.executable, "-I", "-S", "-c", program],
            environment={},
            scratch=scratch,
            spool=self.folder / f"spool{self.runs}",
            limits=LIMITS,
            enforcement=self.enforcement,
        )
        return scratch, future

    def family(self) -> tuple[Family, Path, "Future[ProcessResult]"]:
        scratch, future = self.start(FAMILY)
        self.families.append(Family.of(scratch))
        return self.families[-1], scratch, future

    def close(self) -> None:
        """Wait for the runs; a guard that lost its keeper is not left to the next test."""
        self.pool.shutdown()
        kill_processes()
        remove_groups(self.enforcement)
        for family in self.families:
            if not is_alive(family.keeper) and not family.lost_its_guard():
                os.kill(family.guard, signal.SIGKILL)
                wait_until(family.lost_its_guard)

    def check_next_run(self) -> None:
        _, future = self.start("print('next')")
        assert future.result().stdout.read_text() == "next\n"


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            line = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if line.rpartition(")")[2].split()[1] == str(pid):
            found.add(int(stat.parent.name))
    return found


def is_alive(pid: int) -> bool:
    return start_ticks(pid) is not None


def wait_until(holds: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(params=examine_node().enforcements, ids=str)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Runs held in each of the ways that this node has."""
    bench = Bench(tmp_path, request.param)
    yield bench
    bench.close()


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def check_lost(future: "Future[ProcessResult]") -> None:
    """Nothing is known of the run, but that it was killed and no limit was the reason."""
    error = future.exception()
    if error is None:  # another process on this node tidied up before the supervisor was killed
        result = future.result()
        assert (result.signal, result.limit) == (signal.SIGKILL, None)
    else:
        assert isinstance(error, RunnerError)
        assert "ended without a result" in str(error)


@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("supervisor",), id="supervisor"),
        pytest.param(("guard",), id="guard"),
        pytest.param(("guard", "supervisor"), id="guard and supervisor"),
        pytest.param(("supervisor", "guard"), id="supervisor and guard"),
        pytest.param(("keeper", "supervisor"), id="keeper and supervisor"),
    ],
)
def test_a_run_that_loses_who_watches_it_is_ended_whole(
    bench: Bench, victims: tuple[str, ...]
) -> None:
    family, _, future = bench.family()
    kill(*(getattr(family, victim) for victim in victims))
    check_lost(future)
    family.check_gone(bench.enforcement)
    bench.check_next_run()
    assert not is_alive(family.supervisor)


def test_a_run_ends_well_without_its_keeper(bench: Bench) -> None:
    family, scratch, future = bench.family()
    kill(family.keeper)
    (scratch / "go").touch()
    result = future.result()
    assert (result.exit_code, result.limit) == (0, None)
    assert family.is_gone()
    assert family.groups(bench.enforcement) == []
    bench.check_next_run()


def test_a_run_without_keeper_and_guard_is_ended_by_its_supervisor(bench: Bench) -> None:
    family, scratch, future = bench.family()
    kill(family.keeper, family.guard)
    (scratch / "go").touch()
    if future.result().exit_code != 0:
        check_lost(future)
    assert family.is_gone()
    assert family.groups(bench.enforcement) == []
    bench.check_next_run()


def test_what_a_run_leaves_that_lost_all_its_watchers_is_gone_after_the_next_one(
    bench: Bench,
) -> None:
    family, _, future = bench.family()
    kill(family.keeper, family.guard, family.supervisor)
    check_lost(future)
    bench.check_next_run()
    family.check_gone(bench.enforcement)


def test_a_keeper_that_was_stopped_ends_with_its_worker_all_the_same(bench: Bench) -> None:
    worker = start_worker(bench.folder, bench.enforcement, FAMILY, 1)
    family = Family.of(bench.folder / "0")
    os.kill(family.keeper, signal.SIGSTOP)
    try:
        (bench.folder / "0" / "go").touch()
        assert worker.communicate()[0] == "0\n"
        wait_until(lambda: not is_alive(family.keeper), 1)
    finally:
        with suppress(ProcessLookupError):
            os.kill(family.keeper, signal.SIGKILL)
    assert family.is_gone()


def test_other_runs_go_on_when_one_loses_its_supervisor(bench: Bench) -> None:
    (lost, _, failed), (other, scratch, future) = bench.family(), bench.family()
    assert lost.guard == other.guard
    kill(lost.supervisor)
    check_lost(failed)
    assert lost.is_gone()
    assert not any(member.is_ended for member in other.members)
    (scratch / "go").touch()
    assert future.result().exit_code == 0
    assert other.is_gone()


def test_all_runs_of_a_guard_that_is_killed_are_ended(bench: Bench) -> None:
    families = [bench.family() for _ in range(3)]
    kill(families[0][0].guard)
    for family, _, future in families:
        check_lost(future)
        family.check_gone(bench.enforcement)
    bench.check_next_run()


@pytest.mark.parametrize("who", ["supervisor", "guard"])
def test_a_watcher_that_is_stopped_goes_on(bench: Bench, who: str) -> None:
    family, scratch, future = bench.family()
    os.kill(getattr(family, who), signal.SIGSTOP)
    (scratch / "go").touch()
    assert future.result().exit_code == 0
    assert family.is_gone()
    bench.check_next_run()


def test_twenty_runs_at_once_each_have_their_own_result(bench: Bench) -> None:
    bench.check_next_run()
    keeper = this_guard()._process.pid
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    started = [bench.start(f"print({number})") for number in range(20)]
    results = [future.result() for _, future in started]
    assert [int(result.stdout.read_text()) for result in results] == list(range(20))
    assert {result.exit_code for result in results} == {0}
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
    (guard,) = children_of(keeper)
    wait_until(lambda: children_of(guard) == set())
    identity = f"-{guard}-{start_ticks(guard)}-"
    groups = [path for each in bench.enforcement.group_folders for path in each.glob("tlagrid-*")]
    assert not any(identity in path.name for path in groups)


def start_worker(
    folder: Path, enforcement: Enforcement, program: str, count: int
) -> "subprocess.Popen[str]":
    job = [str(folder), enforcement.to_fields(), asdict(LIMITS), program, count]
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, json.dumps(job)],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_worker_that_is_killed_during_five_runs_leaves_nothing(bench: Bench) -> None:
    worker = start_worker(bench.folder, bench.enforcement, FAMILY, 5)
    families = [Family.of(bench.folder / f"{number}") for number in range(5)]
    (guard,) = {family.guard for family in families}
    kill(worker.pid)
    worker.communicate()
    for family in families:
        family.check_gone(bench.enforcement)
    wait_until(lambda: not is_alive(guard))
    assert not any(is_alive(family.supervisor) for family in families)
    wait_until(lambda: not is_alive(families[0].keeper))


def test_guard_and_keeper_end_when_their_worker_has_ended(bench: Bench) -> None:
    worker = start_worker(bench.folder, bench.enforcement, FAMILY, 2)
    families = [Family.of(bench.folder / f"{number}") for number in range(2)]
    for number in range(2):
        (bench.folder / f"{number}" / "go").touch()
    assert worker.communicate()[0] == "0 0\n"
    wait_until(lambda: not is_alive(families[0].guard))
    wait_until(lambda: not is_alive(families[0].keeper))
    assert all(family.is_gone() for family in families)


def test_a_process_that_forks_after_a_run_has_a_guard_of_its_own(bench: Bench) -> None:
    bench.check_next_run()
    own = this_guard()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            bench.pool, bench.runs = ThreadPoolExecutor(), 100
            bench.check_next_run()
            os.write(writer, f"{this_guard()._process.pid}".encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    keeper = int(os.read(reader, 100))
    os.close(reader)
    assert keeper != own._process.pid
    wait_until(lambda: not is_alive(keeper))
    bench.check_next_run()
    assert this_guard() is own


def test_a_run_is_named_after_its_guard(bench: Bench) -> None:
    family, scratch, future = bench.family()
    identity = identity_in(family.name)
    assert identity is not None
    assert (identity.pid, identity.started) == (family.guard, start_ticks(family.guard))
    assert len(family.groups(bench.enforcement)) == len(bench.enforcement.group_folders)
    (scratch / "go").touch()
    future.result()
    assert family.groups(bench.enforcement) == []
