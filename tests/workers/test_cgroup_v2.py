import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from workers import cgroup_v2
from workers.cgroup_v2 import CALLERS, DelegationError, GroupV2, parent_candidates, prepare
from workers.control_group import PREFIX, all_members, members, read_fields, read_number
from workers.guard_link import GROUP_SETTING
from workers.limits import Limits
from workers.process_identity import this_process

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=64 * MIB,
    processes=50,
    scratch_bytes=MIB,
    output_bytes=MIB,
)

# Which groups could hold those of runs

PROC = "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
UNIFIED = f"{PROC}30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = f"""{PROC}31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""


def handed_to_us(_: str) -> bool:
    return True


def not_ours(_: str) -> bool:
    return False


def test_beside_a_leaf_comes_first_and_below_it_second() -> None:
    session = "/user.slice/user-1000.slice/user@1000.service/run.scope"
    assert parent_candidates(f"0::{session}\n", UNIFIED, None, handed_to_us) == [
        "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service",
        f"/sys/fs/cgroup{session}",
    ]
    assert parent_candidates("0::/session\n", UNIFIED, None, handed_to_us) == [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/session",
    ]


def test_runs_stay_within_the_limits_of_the_service_that_they_are_started_in() -> None:
    service = "/system.slice/grading.service"
    assert parent_candidates(f"0::{service}\n", UNIFIED, None, not_ours) == [
        f"/sys/fs/cgroup{service}"
    ]
    assert parent_candidates(f"0::{service}/{CALLERS}\n", UNIFIED, None, not_ours) == [
        f"/sys/fs/cgroup{service}",
        f"/sys/fs/cgroup{service}/{CALLERS}",
    ]


def test_at_the_root_of_a_cgroup_namespace_there_is_only_that() -> None:
    assert parent_candidates("0::/\n", UNIFIED, None) == ["/sys/fs/cgroup"]


@pytest.mark.parametrize("mounts", ["", PROC, HYBRID.replace(" cgroup2 ", " tmpfs ")])
def test_without_a_mount_of_version_2_there_is_none(mounts: str) -> None:
    assert parent_candidates("8:memory:/x\n0::/session\n", mounts, None) == []


def test_a_kernel_that_puts_no_process_into_version_2_has_none() -> None:
    assert parent_candidates("8:memory:/x\n1:name=systemd:/x\n", HYBRID, None) == []


def test_on_a_hybrid_host_version_2_is_where_it_is_mounted() -> None:
    membership = "8:memory:/elsewhere\n1:name=systemd:/a/b\n0::/a/b\n"
    assert parent_candidates(membership, HYBRID, None, handed_to_us) == [
        "/sys/fs/cgroup/unified/a",
        "/sys/fs/cgroup/unified/a/b",
    ]


def test_a_named_group_is_the_only_one() -> None:
    assert parent_candidates("0::/session\n", UNIFIED, "/sys/fs/cgroup/mine") == [
        "/sys/fs/cgroup/mine"
    ]
    assert parent_candidates("", "", "/named") == ["/named"]
    assert parent_candidates("0::/\n", UNIFIED, "") == ["/sys/fs/cgroup"]


def test_a_container_that_sees_a_part_of_the_hierarchy_has_its_groups_in_that() -> None:
    mounts = UNIFIED.replace(" / /sys/fs", " /user.slice/pod /sys/fs")
    assert parent_candidates("0::/user.slice/pod/worker\n", mounts, None, handed_to_us) == [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/worker",
    ]


# With a kernel that is played


FILES = {
    "memory": ["memory.max", "memory.swap.max", "memory.oom.group", "memory.current"],
    "pids": ["pids.max", "pids.current", "pids.events"],
    "cpuset": ["cpuset.cpus"],
}


class Kernel:
    """Rules of the kernel for groups below a folder: which files there are, and who may be where.

    A group has the files of the controllers that its parent hands on, and cannot hand on any
    while it has processes of its own.
    """

    def __init__(self, root: Path, offered: str, without: tuple[str, ...] = ()) -> None:
        self.root = root
        self.dead: set[int] = set()
        self.refused: dict[str, int] = {}
        """Error numbers for what is written into cgroup.subtree_control."""
        self._without = without
        self._mkdir = os.mkdir
        self._write_text = Path.write_text
        self._fill(root, offered)

    def _fill(self, folder: Path, controllers: str) -> None:
        names = ["cgroup.procs", "cgroup.subtree_control"]
        names += [name for controller in controllers.split() for name in FILES[controller]]
        for name in set(names) - set(self._without):
            self._write_text(folder / name, "")
        self._write_text(folder / "cgroup.controllers", f"{controllers}\n")

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        self._mkdir(path, mode)
        self._fill(path, (path.parent / "cgroup.subtree_control").read_text())

    def write_text(self, path: Path, text: str) -> int:
        if not path.exists():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        if path.name == "cgroup.subtree_control":
            self._hand_on(path, text)
        elif path.name == "cgroup.procs":
            self._move(path, int(text))
        else:
            self._write_text(path, text)
        return len(text)

    def _hand_on(self, path: Path, text: str) -> None:
        controller = text.removeprefix("+")
        if controller in self.refused:
            number = self.refused[controller]
            raise OSError(number, os.strerror(number), str(path))
        if members(path.parent):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))
        self._write_text(path, f"{path.read_text()} {controller}".strip())

    def _move(self, path: Path, pid: int) -> None:
        if pid in self.dead:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        for other in (self.root, *self.root.iterdir()):
            if pid in members(other):
                self.put(other, *[each for each in members(other) if each != pid])
        self.put(path.parent, *members(path.parent), pid)

    def put(self, folder: Path, *pids: int) -> None:
        """Have these processes in a group."""
        self._write_text(folder / "cgroup.procs", "".join(f"{pid}\n" for pid in pids))


Play = Callable[..., Kernel]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    def start(offered: str = "cpuset memory pids", without: tuple[str, ...] = ()) -> Kernel:
        root = tmp_path / "delegated"
        root.mkdir()
        kernel = Kernel(root, offered, without)

        def write_text(path: Path, text: str) -> int:
            return kernel.write_text(path, text)

        monkeypatch.setattr(os, "mkdir", kernel.mkdir)
        monkeypatch.setattr(Path, "write_text", write_text)
        return kernel

    return start


@pytest.fixture
def stranger() -> Iterator[int]:
    """The pid of another user's process."""
    if os.geteuid() != 0:
        yield 1
        return
    with subprocess.Popen(["/bin/sleep", "600"], user=NOBODY) as process:
        yield process.pid
        process.kill()


def test_the_controllers_are_handed_on(play: Play) -> None:
    kernel = play()
    assert prepare(str(kernel.root))
    handed_on = (kernel.root / "cgroup.subtree_control").read_text().split()
    assert sorted(handed_on) == ["cpuset", "memory", "pids"]
    assert not (kernel.root / CALLERS).exists()


def test_a_group_that_is_ready_needs_no_writing(play: Play) -> None:
    kernel = play()
    prepare(str(kernel.root))
    kernel.refused = dict.fromkeys(("memory", "pids", "cpuset"), errno.EROFS)
    assert prepare(str(kernel.root))


def test_without_cpuset_runs_are_not_bound(play: Play) -> None:
    assert not prepare(str(play("memory pids").root))


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EACCES])
def test_a_cpuset_that_is_refused_is_left_out(play: Play, number: int) -> None:
    kernel = play()
    kernel.refused = {"cpuset": number}
    assert not prepare(str(kernel.root))


@pytest.mark.parametrize(
    ("offered", "named"), [("cpuset", "memory, pids"), ("memory", "pids"), ("pids", "memory")]
)
def test_controllers_that_are_missing_are_named(play: Play, offered: str, named: str) -> None:
    kernel = play(offered)
    with pytest.raises(DelegationError, match=f"{kernel.root} does not offer .* {named}$"):
        prepare(str(kernel.root))


def test_a_group_that_does_not_exist_offers_nothing(tmp_path: Path) -> None:
    with pytest.raises(DelegationError, match="does not offer"):
        prepare(str(tmp_path / "absent"))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_group_that_is_not_delegated_is_refused_with_the_reason(play: Play, number: int) -> None:
    kernel = play()
    kernel.refused = {"memory": number}
    with pytest.raises(DelegationError, match=f"{kernel.root}: {os.strerror(number)}"):
        prepare(str(kernel.root))
    assert not (kernel.root / CALLERS).exists()


def test_our_processes_make_room_in_a_leaf(play: Play) -> None:
    kernel = play()
    kernel.put(kernel.root, os.getpid(), os.getpid() + 1)
    assert prepare(str(kernel.root))
    assert members(kernel.root) == []
    assert members(kernel.root / CALLERS) == [os.getpid(), os.getpid() + 1]


def test_a_leaf_that_is_there_already_serves_again(play: Play) -> None:
    kernel = play()
    os.mkdir(kernel.root / CALLERS)  # noqa: PTH102 - the played kernel fills it
    kernel.put(kernel.root, os.getpid())
    assert prepare(str(kernel.root))
    assert members(kernel.root / CALLERS) == [os.getpid()]


def test_a_process_that_ends_meanwhile_is_not_in_the_way(play: Play) -> None:
    kernel = play()
    kernel.put(kernel.root, os.getpid(), 4_000_000)
    kernel.dead = {4_000_000}
    move = kernel._move

    def move_and_bury(path: Path, pid: int) -> None:
        kernel.put(kernel.root, *[each for each in members(kernel.root) if each != 4_000_000])
        move(path, pid)

    kernel._move = move_and_bury  # type: ignore[method-assign]
    assert prepare(str(kernel.root))


def test_processes_of_others_are_not_moved(play: Play, stranger: int) -> None:
    kernel = play()
    kernel.put(kernel.root, os.getpid(), stranger)
    with pytest.raises(DelegationError, match=rf"of other users are in it \({stranger} is one\)"):
        prepare(str(kernel.root))
    assert members(kernel.root) == [os.getpid(), stranger]
    assert not (kernel.root / CALLERS).exists()


def test_a_group_that_stays_busy_is_refused(play: Play) -> None:
    kernel = play()
    kernel.refused = {"memory": errno.EBUSY}
    with pytest.raises(DelegationError, match="busy"):
        prepare(str(kernel.root))


def ready_group(kernel: Kernel, limits: Limits = LIMITS) -> tuple[GroupV2, Path]:
    prepare(str(kernel.root))
    group = GroupV2(str(kernel.root), "run")
    group.set_up(limits, [1, 3])
    return group, kernel.root / "run"


def test_the_limits_are_written(play: Play) -> None:
    _, folder = ready_group(play())
    assert (folder / "memory.max").read_text() == str(64 * MIB)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "memory.oom.group").read_text() == "1"
    assert (folder / "pids.max").read_text() == "50"
    assert (folder / "cpuset.cpus").read_text() == "1,3"


def test_a_kernel_without_swap_has_no_limit_for_it(play: Play) -> None:
    _, folder = ready_group(play(without=("memory.swap.max",)))
    assert not (folder / "memory.swap.max").exists()


def test_a_group_without_the_cpuset_controller_is_not_bound(play: Play) -> None:
    _, folder = ready_group(play("memory pids"))
    assert not (folder / "cpuset.cpus").exists()


@pytest.mark.parametrize("name", ["memory.max", "memory.oom.group", "pids.max"])
def test_a_kernel_that_lacks_what_is_needed_refuses_the_group(play: Play, name: str) -> None:
    with pytest.raises(PermissionError):
        ready_group(play(without=(name,)))


def test_a_name_that_is_taken_is_refused(play: Play) -> None:
    kernel = play()
    ready_group(kernel)
    with pytest.raises(FileExistsError):
        ready_group(kernel)


def test_the_kernel_needs_nobody_to_be_woken(play: Play) -> None:
    group, _ = ready_group(play())
    assert group.wake is None
    group.heed_wake()
    assert group.exceeded(LIMITS) is None


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param(
            {"memory.peak": 64 * MIB, "memory.events": "low 0\nhigh 0\nmax 200\noom 0\noom_kill 0"},
            None,
            id="page cache fills a group without harm",
        ),
        pytest.param(
            {"memory.events": "low 0\nhigh 0\nmax 35\noom 1\noom_kill 3\noom_group_kill 1"},
            "memory",
            id="out of memory at its own limit",
        ),
        pytest.param(
            {"memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0"},
            None,
            id="killed for an ancestor's shortage",
        ),
        pytest.param(
            {"memory.peak": 64 * MIB + 300 * 1024}, None, id="charges that the kernel lets through"
        ),
        pytest.param({"memory.peak": 80 * MIB}, "memory", id="a raised limit, by the peak"),
        pytest.param(
            {"memory.current": 80 * MIB}, "memory", id="a raised limit, on a kernel without a peak"
        ),
        pytest.param({"pids.current": 50, "pids.events": "max 0"}, None, id="all processes"),
        pytest.param({"pids.current": 51}, "processes", id="a raised limit on processes"),
        pytest.param({"pids.events": "max 1"}, "processes", id="a refused fork"),
        pytest.param(
            {"pids.events": "max 1", "pids.peak": 50}, "processes", id="a refused fork at the mark"
        ),
        pytest.param(
            {"pids.events": "max 1", "pids.peak": 12}, None, id="a fork refused below the mark"
        ),
        pytest.param(
            {"pids.events": "max 1", "../pids.max": 20, "../pids.current": 20},
            None,
            id="a full ancestor",
        ),
        pytest.param(
            {"pids.events": "max 1", "../pids.max": "max", "../pids.current": 20},
            "processes",
            id="an ancestor without a limit",
        ),
        pytest.param(
            {"pids.events": "max 1", "memory.events": "oom 1"}, "memory", id="memory comes first"
        ),
    ],
)
def test_a_limit_is_exceeded_when_it_was_the_groups_own(
    tmp_path: Path, files: dict[str, object], limit: str | None
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(f"{content}\n")
    assert GroupV2(str(tmp_path), "run").exceeded(LIMITS) == limit


def test_figures_come_from_the_kernels_files(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    group = GroupV2(str(tmp_path), "run")
    assert (group.cpu_seconds(), group.peak_bytes()) == (0.0, 0)
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n")
    (folder / "memory.peak").write_text("4096\n")
    assert (group.cpu_seconds(), group.peak_bytes()) == (1.5, 4096)


def test_a_kernel_that_cannot_kill_a_group_has_it_frozen_and_killed_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "cgroup.freeze").write_text("0")
    sleepers = [subprocess.Popen(["/bin/sleep", "600"]) for _ in range(3)]
    monkeypatch.setattr(
        cgroup_v2, "all_members", lambda _: [each.pid for each in sleepers if each.poll() is None]
    )
    group = GroupV2(str(tmp_path), "run")
    assert group.kill()
    assert [each.wait() for each in sleepers] == [-signal.SIGKILL] * 3
    assert (folder / "cgroup.freeze").read_text() == "0"
    assert not group.kill()


# For real


def delegated_group() -> tuple[str, str]:
    """A group that can hold ours, or why there is none."""
    candidates = parent_candidates(
        Path("/proc/self/cgroup").read_text(),
        Path("/proc/self/mountinfo").read_text(),
        os.environ.get(GROUP_SETTING),
    )
    reasons = ["control groups v2 are not mounted"]
    for candidate in candidates:
        try:
            prepare(candidate)
            trial = Path(candidate, f"{PREFIX}{this_process()}-probe")
            trial.mkdir()
            trial.rmdir()
        except (DelegationError, OSError) as error:
            reasons.append(str(error))
        else:
            return candidate, ""
    return "", reasons[-1]


PARENT, WHY_NOT = delegated_group()
real = pytest.mark.skipif(not PARENT, reason=f"no delegated group of version 2: {WHY_NOT}")

ENTER = """
import json, os, sys, time
from workers.cgroup_v2 import GroupV2
GroupV2(*json.loads(sys.argv[1])).enter()
with open("/proc/self/oom_score_adj", "w") as file: file.write(sys.argv[2])
print("in", flush=True)
"""
GROW = """
held = b'x' * ({mib} << 20)
print("grown", flush=True)
time.sleep(600)
"""
FORK_FOR_EVER = """
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: time.sleep(0.001)
"""


class Bench:
    """Groups below the delegated one, and processes in them."""

    def __init__(self) -> None:
        self.name = f"{PREFIX}{this_process()}-test"
        self.made: list[GroupV2] = []
        self.folders: list[Path] = []
        self.processes: list[subprocess.Popen[str]] = []

    def group(self, limits: Limits = LIMITS, parent: str = PARENT) -> GroupV2:
        group = GroupV2(parent, f"{self.name}{len(self.made)}")
        self.made.append(group)
        group.set_up(limits, sorted(os.sched_getaffinity(0))[:1])
        return group

    def inner(self) -> Path:
        """A group between the delegated one and those of runs."""
        folder = Path(PARENT, f"{self.name}-inner{len(self.folders)}")
        folder.mkdir()
        self.folders.append(folder)
        return folder

    def parent(self, name: str, limit: int) -> str:
        folder = self.inner()
        prepare(str(folder))
        (folder / name).write_text(str(limit))
        return str(folder)

    def start(self, group: GroupV2, program: str, oom_score: int = 0) -> "subprocess.Popen[str]":
        where = json.dumps([str(group._parent), group._folder.name])
        process = subprocess.Popen(
            [sys.executable, "-c", ENTER + program, where, str(oom_score)],
            env={"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        assert self.answer(process) == "in"
        return process

    def answer(self, process: "subprocess.Popen[str]") -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for group in self.made:
            with suppress(OSError):
                group.remove()
        for process in self.processes:
            process.communicate()
        for folder in self.folders:
            with suppress(FileNotFoundError):
                (folder / CALLERS).rmdir()
            folder.rmdir()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@real
def test_the_kernel_takes_the_limits(bench: Bench) -> None:
    folder = bench.group()._folder
    assert read_number(folder / "memory.max") == 64 * MIB
    assert read_number(folder / "memory.swap.max", 0) == 0
    assert read_number(folder / "memory.oom.group") == 1
    assert read_number(folder / "pids.max") == 50
    if (folder / "cpuset.cpus").exists():
        first = min(os.sched_getaffinity(0))
        assert (folder / "cpuset.cpus").read_text() == f"{first}\n"


@real
def test_a_process_enters_and_is_counted(bench: Bench) -> None:
    group = bench.group()
    process = bench.start(
        group,
        """
held = b'x' * (20 << 20)
end = time.process_time() + 0.2
while time.process_time() < end: pass
print(open("/proc/self/cgroup").read().strip(), flush=True)
time.sleep(600)
""",
    )
    assert f"/{group._folder.name}" in bench.answer(process)
    assert all_members(group._folder) == [process.pid]
    assert 0.2 <= group.cpu_seconds() < 20
    if (group._folder / "memory.peak").exists():
        assert 20 * MIB <= group.peak_bytes() < 64 * MIB
    assert group.exceeded(LIMITS) is None


@real
def test_a_group_that_is_out_of_memory_dies_as_one(bench: Bench) -> None:
    group = bench.group()
    bystander = bench.start(group, "time.sleep(600)")
    process = bench.start(group, GROW.format(mib=200))
    assert process.wait(60) == bystander.wait(60) == -signal.SIGKILL
    assert group.exceeded(LIMITS) == "memory"
    assert group.peak_bytes() <= LIMITS.memory_bytes


@real
def test_a_group_is_not_blamed_when_a_sibling_filled_their_parent(bench: Bench) -> None:
    parent = bench.parent("memory.max", 64 * MIB)
    with suppress(FileNotFoundError):
        Path(parent, "memory.swap.max").write_text("0")
    limits = replace(LIMITS, memory_bytes=256 * MIB)
    sibling, group = bench.group(limits, parent), bench.group(limits, parent)
    assert bench.answer(bench.start(sibling, GROW.format(mib=40))) == "grown"
    process = bench.start(group, GROW.format(mib=40), oom_score=1000)
    assert process.wait(60) == -signal.SIGKILL
    assert read_fields(group._folder / "memory.events")["oom_kill"] > 0
    assert group.exceeded(limits) is None
    assert sibling.exceeded(limits) is None


@real
def test_a_group_that_a_member_raised_is_over_its_limit_when_it_uses_more(bench: Bench) -> None:
    group = bench.group()
    (group._folder / "memory.max").write_text("max")
    (group._folder / "pids.max").write_text("max")
    assert bench.answer(bench.start(group, GROW.format(mib=90))) == "grown"
    assert group.exceeded(LIMITS) == "memory"
    program = "for _ in range(6): os.fork() or time.sleep(600)\nprint('forked', flush=True)"
    assert bench.answer(bench.start(group, program)) == "forked"
    assert group.exceeded(replace(LIMITS, memory_bytes=1 << 30, processes=5)) == "processes"


@real
def test_a_fork_that_is_refused_is_counted(bench: Bench) -> None:
    group = bench.group(replace(LIMITS, processes=5))
    bench.start(group, FORK_FOR_EVER)
    wait_until(lambda: read_fields(group._folder / "pids.events").get("max"))
    assert group.exceeded(replace(LIMITS, processes=5)) == "processes"


@real
def test_a_fork_that_an_ancestor_refused_is_not_the_groups_doing(bench: Bench) -> None:
    group = bench.group(LIMITS, bench.parent("pids.max", 5))
    bench.start(group, FORK_FOR_EVER)
    events = [each / "pids.events" for each in (group._folder, group._parent)]
    wait_until(lambda: any(read_fields(path).get("max") for path in events))
    assert group.exceeded(LIMITS) is None


@real
@pytest.mark.parametrize("frozen", [False, True], ids=["as one", "one by one"])
def test_a_tree_that_forks_all_the_time_is_killed(
    bench: Bench, frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = bench.group()
    if frozen:  # as on a kernel before 5.14
        write = group._write

        def write_what_there_is(name: str, text: str) -> None:
            if name == "cgroup.kill":
                raise FileNotFoundError
            write(name, text)

        monkeypatch.setattr(group, "_write", write_what_there_is)
    process = bench.start(group, FORK_FOR_EVER)
    wait_until(lambda: read_number(group._folder / "pids.current") > 20)
    assert group.kill()
    assert process.wait(60) == -signal.SIGKILL
    assert all_members(group._folder) == []
    assert not group.kill()
    group.remove()
    assert not group._folder.exists()


@real
def test_a_frozen_and_a_stopped_member_are_killed_all_the_same(bench: Bench) -> None:
    group = bench.group()
    stopped = bench.start(group, "time.sleep(600)")
    stopped.send_signal(signal.SIGSTOP)
    frozen = bench.start(group, "time.sleep(600)")
    (group._folder / "cgroup.freeze").write_text("1")
    assert group.kill()
    assert stopped.wait(60) == frozen.wait(60) == -signal.SIGKILL


@real
def test_removing_kills_what_is_left(bench: Bench) -> None:
    group = bench.group()
    process = bench.start(group, "time.sleep(600)")
    group.remove()
    assert process.wait(60) == -signal.SIGKILL
    assert not group._folder.exists()
    group.remove()  # a second time does no harm


@real
def test_a_group_is_removed_with_groups_that_a_member_made_in_it(bench: Bench) -> None:
    group = bench.group()
    process = bench.start(
        group,
        """
inner = "/".join([*json.loads(sys.argv[1]), "inner"])
os.mkdir(inner)
with open(inner + "/cgroup.procs", "w") as file: file.write("0")
print("inside", flush=True)
time.sleep(600)
""",
    )
    assert bench.answer(process) == "inside"
    try:
        group.remove()
        assert process.wait(2) == -signal.SIGKILL
        assert not group._folder.exists()
    finally:
        process.kill()
        process.wait()
        with suppress(FileNotFoundError):
            (group._folder / "inner").rmdir()


@real
def test_our_processes_make_room_in_a_real_group(bench: Bench) -> None:
    folder = bench.inner()
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        try:
            (folder / "cgroup.procs").write_text(str(process.pid))
            prepare(str(folder))
            assert members(folder / CALLERS) == [process.pid]
            bench.group(parent=str(folder))
        finally:
            process.kill()


@real
def test_a_real_group_with_processes_of_others_is_refused(bench: Bench) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can put another user's process into a group")
    folder = bench.inner()
    with subprocess.Popen(["/bin/sleep", "600"], user=NOBODY) as process:
        try:
            (folder / "cgroup.procs").write_text(str(process.pid))
            with pytest.raises(DelegationError, match=f"{process.pid} is one"):
                prepare(str(folder))
            assert members(folder) == [process.pid]
        finally:
            process.kill()
