import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workers.enforcement import Enforcement, Tier
from workers.guard_link import GROUP_SETTING, Guard, GuardError, this_guard

ROOT = Path(__file__).resolve().parents[2]
SAMPLING = Enforcement(Tier.SAMPLING)


@pytest.fixture
def guard() -> Iterator[Guard]:
    """A second guard of this process, beside the one that serves its runs."""
    guard = Guard()
    yield guard
    if guard._control.fileno() >= 0:
        guard.stop()


def wait_until(holds: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return line.rpartition(")")[2].split()[0] not in "ZX"


def guard_of(keeper: int) -> int:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[1] == str(keeper):
            return int(stat.parent.name)
    raise AssertionError(f"{keeper} has no child")


def test_a_guard_has_examined_the_node_before_it_serves(guard: Guard) -> None:
    assert guard.examination.enforcements[-1] == SAMPLING
    assert guard.examination == this_guard().examination
    assert not guard.is_gone


def test_a_guard_that_is_let_go_ends_with_its_keeper(guard: Guard) -> None:
    keeper = guard._process.pid
    pids = [keeper, guard_of(keeper)]
    assert all(is_alive(pid) for pid in pids)
    guard.stop()
    assert not any(is_alive(pid) for pid in pids)
    assert guard._process.returncode == 0


def test_a_guard_that_was_killed_is_gone_and_takes_no_run(guard: Guard) -> None:
    os.kill(guard_of(guard._process.pid), signal.SIGKILL)
    wait_until(lambda: guard.is_gone)
    assert guard.await_end(5)
    with pytest.raises(GuardError, match=r"guard of this worker's runs is gone: .*Broken pipe"):
        guard.connect(SAMPLING)


def test_a_guard_that_goes_on_is_not_waited_for_without_end(guard: Guard) -> None:
    assert not guard.await_end(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_guard_is_not_ended_by_a_signal_that_asks(guard: Guard, number: int) -> None:
    keeper = guard._process.pid
    for pid in (guard_of(keeper), keeper):
        os.kill(pid, number)
    guard.connect(SAMPLING).close()
    assert not guard.await_end(0.05)
    assert not guard.is_gone


def test_a_guard_carries_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/needed/to/load")
    guard = Guard()
    try:
        keeper = guard._process.pid
        for pid in (keeper, guard_of(keeper)):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert environment == b"LD_LIBRARY_PATH=/needed/to/load\0"
    finally:
        guard.stop()


def test_a_guard_holds_no_folder_and_no_descriptor_of_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "file").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        guard = Guard()
        try:
            keeper = guard._process.pid
            for pid in (keeper, guard_of(keeper)):
                process = Path(f"/proc/{pid}")
                assert os.readlink(process / "cwd") == "/"  # noqa: PTH115
                links = [os.readlink(each) for each in (process / "fd").iterdir()]  # noqa: PTH115
                assert links.count("/dev/null") == 3
                assert all(
                    link.startswith(("socket:", "pipe:", "anon_inode:", "/dev/null", "pidfd:"))
                    for link in links
                ), links
                assert os.getsid(pid) == keeper
        finally:
            guard.stop()


def test_the_group_that_a_user_names_is_what_the_guard_examines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(GROUP_SETTING, "/sys/fs/cgroup/absent")
    guard = Guard()
    try:
        refusals = {each.name: each.reason for each in guard.examination.refusals}
        assert "/sys/fs/cgroup/absent" in refusals[Tier.CGROUP_V2]
    finally:
        guard.stop()


@pytest.mark.parametrize(
    "executable", ["/bin/false", "/absent/python"], ids=["ends at once", "absent"]
)
def test_a_guard_that_does_not_start_is_an_error(
    monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(GuardError, match="guard of this worker's runs did not start: "):
        Guard()
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


# The guard of this process


def test_threads_that_ask_together_share_one_guard() -> None:
    with ThreadPoolExecutor(20) as pool:
        guards = set(pool.map(lambda _: this_guard(), range(20)))
    assert len(guards) == 1


def test_a_guard_that_was_killed_is_replaced() -> None:
    first = this_guard()
    assert this_guard() is first
    os.kill(guard_of(first._process.pid), signal.SIGKILL)
    assert first.await_end(5)
    second = this_guard()
    assert second is not first
    assert not second.is_gone
    assert this_guard() is second


def worker(program: str) -> "subprocess.Popen[str]":
    """A process that uses the guard of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", f"import os, sys\n{program}"],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


OWN = """
from workers.guard_link import this_guard
def keeper(): return this_guard()._process.pid
"""


def test_a_forked_process_gets_a_guard_of_its_own_and_leaves_its_parents_alone() -> None:
    process = worker(
        OWN
        + """
print(keeper(), flush=True)
child = os.fork()
if not child:
    print(keeper(), os.getpid(), flush=True)
    sys.exit()
os.waitpid(child, 0)
print(keeper(), this_guard().is_gone, flush=True)
"""
    )
    output, _ = process.communicate()
    first, of_child, again = (line.split() for line in output.splitlines())
    assert again == [first[0], "False"]
    assert of_child[0] != first[0]
    pids = [int(first[0]), int(of_child[0])]
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_a_process_forked_while_another_thread_starts_the_guard_starts_its_own() -> None:
    process = worker(
        OWN
        + """
import signal, threading, time
thread = threading.Thread(target=this_guard)
thread.start()
time.sleep(0.01)
child = os.fork()
if not child:
    signal.alarm(20)
    print(keeper() > 0, flush=True)
    os._exit(0)
status = os.waitpid(child, 0)[1]
thread.join()
print(status, flush=True)
"""
    )
    assert process.communicate()[0].split() == ["True", "0"]


def test_a_worker_ends_at_once_though_a_child_that_it_forked_lives_on() -> None:
    process = worker(
        OWN
        + """
import time
print(keeper(), flush=True)
if not os.fork():
    os.close(1)
    time.sleep(600)
    os._exit(0)
print(open(f"/proc/self/task/{os.getpid()}/children").read(), flush=True)
"""
    )
    assert process.stdout is not None
    keeper = int(process.stdout.readline())
    children = [int(pid) for pid in process.stdout.readline().split()]
    try:
        wait_until(lambda: not is_alive(process.pid), 4)
        wait_until(lambda: not is_alive(keeper))
    finally:
        for pid in children:
            if pid != keeper:
                os.kill(pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(
    "end", ["", "sys.exit(3)", "raise ValueError", "os._exit(0)", "os.kill(os.getpid(), 9)"]
)
def test_a_guard_ends_with_its_worker_however_that_ends(end: str) -> None:
    process = worker(f"sys.stderr = None\n{OWN}\nprint(keeper(), flush=True)\n{end}")
    keeper = int(process.communicate()[0])
    wait_until(lambda: not is_alive(keeper))
