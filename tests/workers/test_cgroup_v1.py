import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from workers.cgroup_v1 import NEEDED, OPTIONAL, GroupV1, parents_of_this_process
from workers.control_group import INSIDE, PREFIX, read_fields, read_number
from workers.limits import Limits
from workers.process_identity import this_process

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=64 * MIB,
    processes=50,
    scratch_bytes=MIB,
    output_bytes=MIB,
)
CONTROLLERS = (*NEEDED, *OPTIONAL)

# Where this process's groups lie

PLAIN_MEMBERSHIP = """\
12:cpuset:/
11:cpu,cpuacct:/user.slice
10:pids:/user.slice/user-0.slice/session-1.scope
9:freezer:/
8:memory:/user.slice/user-0.slice/session-1.scope
7:net_cls,net_prio:/
1:name=systemd:/user.slice/user-0.slice/session-1.scope
0::/user.slice/user-0.slice/session-1.scope
"""
PLAIN_MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
25 22 0:22 / /sys/fs/cgroup ro,nosuid shared:5 - tmpfs tmpfs ro,mode=755
26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid shared:6 - cgroup2 cgroup2 rw,nsdelegate
27 25 0:24 / /sys/fs/cgroup/systemd rw,nosuid shared:7 - cgroup cgroup rw,xattr,name=systemd
28 25 0:25 / /sys/fs/cgroup/cpuset rw,nosuid shared:8 - cgroup cgroup rw,cpuset
29 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
30 25 0:27 / /sys/fs/cgroup/pids rw,nosuid shared:10 - cgroup cgroup rw,pids
31 25 0:28 / /sys/fs/cgroup/freezer rw,nosuid shared:11 - cgroup cgroup rw,freezer
32 25 0:29 / /sys/fs/cgroup/memory rw,nosuid shared:12 - cgroup cgroup rw,memory
33 25 0:30 / /sys/fs/cgroup/net_cls,net_prio rw shared:13 - cgroup cgroup rw,net_cls,net_prio
"""


def test_on_a_plain_host_each_controller_has_this_process_in_its_own_group() -> None:
    session = "user.slice/user-0.slice/session-1.scope"
    assert parents_of_this_process(PLAIN_MEMBERSHIP, PLAIN_MOUNTS) == (
        {
            "cpuset": "/sys/fs/cgroup/cpuset",
            "cpuacct": "/sys/fs/cgroup/cpu,cpuacct/user.slice",
            "pids": f"/sys/fs/cgroup/pids/{session}",
            "freezer": "/sys/fs/cgroup/freezer",
            "memory": f"/sys/fs/cgroup/memory/{session}",
        },
        [],
    )


def container(own: str, root: str) -> tuple[dict[str, str], list[str]]:
    membership = "\n".join(f"{n}:{name}:{own}" for n, name in enumerate(CONTROLLERS, 1))
    mounts = "\n".join(
        f"{40 + n} 39 0:{30 + n} {root} /sys/fs/cgroup/{name} rw,relatime master:{n} - cgroup "
        f"cgroup rw,{name}"
        for n, name in enumerate(CONTROLLERS)
    )
    return parents_of_this_process(membership, mounts)


def test_in_a_container_the_mounted_part_is_the_containers_group() -> None:
    parents, missing = container(own="/docker/4f2a", root="/docker/4f2a")
    assert missing == []
    assert parents == {name: f"/sys/fs/cgroup/{name}" for name in CONTROLLERS}


def test_a_group_inside_a_container_lies_below_the_mounted_part() -> None:
    parents, _ = container(own="/docker/4f2a/init/worker", root="/docker/4f2a")
    assert parents["memory"] == "/sys/fs/cgroup/memory/init/worker"


def test_a_part_whose_name_only_begins_alike_is_not_above_the_group() -> None:
    parents, _ = container(own="/docker/4f2abc", root="/docker/4f2a")
    assert parents["memory"] == "/sys/fs/cgroup/memory"


def test_with_a_cgroup_namespace_the_group_is_the_mounted_root() -> None:
    parents, _ = container(own="/", root="/")
    assert parents["pids"] == "/sys/fs/cgroup/pids"


def test_a_controller_that_is_not_mounted_is_missing() -> None:
    mounts = "".join(
        line for line in PLAIN_MOUNTS.splitlines(keepends=True) if "rw,pids" not in line
    )
    parents, missing = parents_of_this_process(PLAIN_MEMBERSHIP, mounts)
    assert missing == ["pids"]
    assert "pids" not in parents


def test_a_host_with_version_2_alone_has_none() -> None:
    mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
    assert parents_of_this_process("0::/session\n", mounts) == ({}, list(NEEDED))


def test_cpuset_is_not_needed() -> None:
    mounts = "".join(
        line for line in PLAIN_MOUNTS.splitlines(keepends=True) if "cpuset" not in line
    )
    parents, missing = parents_of_this_process(PLAIN_MEMBERSHIP, mounts)
    assert missing == []
    assert "cpuset" not in parents


def test_a_named_hierarchy_is_not_taken_for_a_controller() -> None:
    membership = PLAIN_MEMBERSHIP.replace("8:memory:", "8:name=memory:")
    mounts = PLAIN_MOUNTS.replace("rw,memory", "rw,name=memory")
    assert parents_of_this_process(membership, mounts)[1] == ["memory"]


# A run's group, with a kernel that is played


class Kernel:
    """Makes files in a new folder, as the kernel does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, memsw: bool, events: bool) -> None:
        self._files = {
            "memory": ["memory.limit_in_bytes", "memory.oom_control", "memory.swappiness"],
            "cpuset": ["cpuset.mems", "cpuset.cpus"],
            "pids": ["pids.max"],
        }
        if memsw:
            self._files["memory"].append("memory.memsw.limit_in_bytes")
        self._events = events
        self._mkdir = os.mkdir
        monkeypatch.setattr(os, "mkdir", self.mkdir)

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        self._mkdir(path, mode)
        for name in self._files.get(path.parent.name, ()):
            (path / name).write_text("")
        if path.parent.name == "memory" and not self._events:
            # A file that cannot be written to, like one that is not there.
            self._mkdir(path / "cgroup.event_control")


@pytest.fixture
def played(tmp_path: Path) -> dict[str, str]:
    """Parents in a played hierarchy."""
    for name in CONTROLLERS:
        (tmp_path / name).mkdir()
    (tmp_path / "cpuset" / "cpuset.effective_mems").write_text("0-1\n")
    return {name: str(tmp_path / name) for name in CONTROLLERS}


def text(parents: dict[str, str], controller: str, name: str) -> str:
    return Path(parents[controller], "run", name).read_text()


def test_the_limits_are_written_and_swap_counts_as_memory(
    played: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Kernel(monkeypatch, memsw=True, events=True)
    GroupV1(played, "run").set_up(LIMITS, [1, 3])
    assert text(played, "memory", "memory.limit_in_bytes") == str(64 * MIB)
    assert text(played, "memory", "memory.memsw.limit_in_bytes") == str(64 * MIB)
    assert text(played, "memory", "memory.swappiness") == ""
    assert text(played, "pids", "pids.max") == "50"
    assert text(played, "cpuset", "cpuset.cpus") == "1,3"
    assert text(played, "cpuset", "cpuset.mems") == "0-1"


def test_where_swap_is_not_counted_none_is_used(
    played: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Kernel(monkeypatch, memsw=False, events=True)
    GroupV1(played, "run").set_up(LIMITS, [0])
    assert text(played, "memory", "memory.swappiness") == "0"
    assert not Path(played["memory"], "run", "memory.memsw.limit_in_bytes").exists()


def test_without_cpuset_there_is_no_such_folder(
    played: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Kernel(monkeypatch, memsw=True, events=True)
    needed = {name: played[name] for name in NEEDED}
    GroupV1(needed, "run").set_up(LIMITS, [0])
    assert not Path(played["cpuset"], "run").exists()


def test_without_events_there_is_no_descriptor_and_samples_tell(
    played: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Kernel(monkeypatch, memsw=True, events=False)
    group = GroupV1(played, "run")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    group.set_up(LIMITS, [0])
    assert group.wake is None
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    memory_is(played, peak=64 * MIB, kills=1)
    assert group.exceeded(LIMITS) == "memory"


def memory_is(parents: dict[str, str], *, peak: int, kills: int) -> None:
    folder = Path(parents["memory"], "run")
    folder.mkdir(exist_ok=True)
    (folder / "memory.max_usage_in_bytes").write_text(f"{peak}\n")
    (folder / "memory.oom_control").write_text(
        f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n"
    )


@pytest.mark.parametrize(
    ("peak", "kills", "limit"),
    [
        pytest.param(64 * MIB, 0, None, id="page cache fills a group without harm"),
        pytest.param(64 * MIB, 1, "memory", id="killed at the limit"),
        pytest.param(64 * MIB - 256 * 1024, 1, "memory", id="killed a batch of charges below it"),
        pytest.param(40 * MIB, 1, None, id="killed for an ancestor's shortage"),
        pytest.param(64 * MIB + 256 * 1024, 0, None, id="charges that the kernel lets through"),
        pytest.param(80 * MIB, 0, "memory", id="above the limit, which was raised"),
    ],
)
def test_memory_is_exceeded_when_it_was_the_groups_own_limit(
    played: dict[str, str], peak: int, kills: int, limit: str | None
) -> None:
    memory_is(played, peak=peak, kills=kills)
    assert GroupV1(played, "run").exceeded(LIMITS) == limit


def test_a_wake_at_the_limit_tells_before_anything_was_killed(played: dict[str, str]) -> None:
    group = GroupV1(played, "run")
    memory_is(played, peak=64 * MIB, kills=0)
    group.heed_wake()
    assert group.exceeded(LIMITS) == "memory"


def test_a_wake_far_below_the_limit_is_an_ancestors(played: dict[str, str]) -> None:
    group = GroupV1(played, "run")
    memory_is(played, peak=40 * MIB, kills=0)
    group.heed_wake()
    assert group.exceeded(LIMITS) is None


def test_processes_are_exceeded_by_a_refused_fork_or_a_raised_limit(
    played: dict[str, str],
) -> None:
    group = GroupV1(played, "run")
    folder = Path(played["pids"], "run")
    folder.mkdir()
    (folder / "pids.current").write_text("50\n")
    (folder / "pids.events").write_text("max 0\n")
    assert group.exceeded(LIMITS) is None
    (folder / "pids.events").write_text("max 1\n")
    assert group.exceeded(LIMITS) == "processes"
    (folder / "pids.events").write_text("max 0\n")
    (folder / "pids.current").write_text("51\n")
    assert group.exceeded(LIMITS) == "processes"


def test_cpu_time_is_counted_in_nanoseconds(played: dict[str, str]) -> None:
    folder = Path(played["cpuacct"], "run")
    folder.mkdir()
    (folder / "cpuacct.usage").write_text("1500000000\n")
    assert GroupV1(played, "run").cpu_seconds() == 1.5


# A run's group, for real


def why_not() -> str | None:
    """Why this machine has no version 1 that we can use."""
    parents, missing = real_parents()
    if missing:
        return f"the controllers {', '.join(missing)} are not mounted in a v1 hierarchy"
    for name in NEEDED:
        if not os.access(parents[name], os.W_OK):
            return f"{parents[name]} cannot be written"
    return None


def real_parents() -> tuple[dict[str, str], list[str]]:
    return parents_of_this_process(
        Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()
    )


WHY_NOT = why_not()
real = pytest.mark.skipif(WHY_NOT is not None, reason=f"no control groups v1: {WHY_NOT}")

ENTER = """
import json, os, sys, time
from workers.cgroup_v1 import GroupV1
GroupV1(json.loads(sys.argv[1]), sys.argv[2]).enter()
with open("/proc/self/oom_score_adj", "w") as file: file.write(sys.argv[3])
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
    """Groups below this process's own, and processes in them."""

    def __init__(self) -> None:
        self.parents, _ = real_parents()
        self.name = f"{PREFIX}{this_process()}-test"
        self.made: list[GroupV1] = []
        self.folders: list[Path] = []
        self.processes: list[subprocess.Popen[str]] = []

    def group(self, limits: Limits, parents: dict[str, str] | None = None) -> GroupV1:
        group = GroupV1(parents or self.parents, f"{self.name}{len(self.made)}")
        self.made.append(group)
        group.set_up(limits, sorted(os.sched_getaffinity(0))[:1])
        return group

    def parent(self, controller: str, name: str, limit: str) -> dict[str, str]:
        """Parents of which one is a group of its own, with a limit."""
        folder = Path(self.parents[controller], f"{self.name}-parent")
        folder.mkdir()
        self.folders.append(folder)
        with suppress(OSError):  # the only way since Linux 5.11
            (folder / "memory.use_hierarchy").write_text("1")
        (folder / name).write_text(limit)
        return self.parents | {controller: str(folder)}

    def start(self, group: GroupV1, program: str, oom_score: int = 0) -> "subprocess.Popen[str]":
        parents = json.dumps({name: str(path) for name, path in group._parents.items()})
        name = group._memory.name
        process = subprocess.Popen(
            [sys.executable, "-c", ENTER + program, parents, name, str(oom_score)],
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
            folder.rmdir()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def folder(group: GroupV1, controller: str) -> Path:
    return group._folders[controller]


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@real
def test_the_kernel_takes_the_limits(bench: Bench) -> None:
    group = bench.group(LIMITS)
    memory = folder(group, "memory")
    assert read_number(memory / "memory.limit_in_bytes") == 64 * MIB
    assert read_number(memory / "memory.memsw.limit_in_bytes", 64 * MIB) == 64 * MIB
    assert read_number(folder(group, "pids") / "pids.max") == 50
    if "cpuset" in bench.parents:
        first = min(os.sched_getaffinity(0))
        assert (folder(group, "cpuset") / "cpuset.cpus").read_text() == f"{first}\n"
    assert group.exceeded(LIMITS) is None


@real
def test_a_name_that_is_taken_is_refused(bench: Bench) -> None:
    group = bench.group(LIMITS)
    with pytest.raises(FileExistsError):
        GroupV1(bench.parents, folder(group, "memory").name).set_up(LIMITS, [0])


@real
def test_a_process_enters_and_is_counted(bench: Bench) -> None:
    group = bench.group(LIMITS)
    process = bench.start(
        group,
        """
held = b'x' * (20 << 20)
end = time.process_time() + 0.2
while time.process_time() < end: pass
print(open("/proc/self/cgroup").read().count(sys.argv[2]), flush=True)
time.sleep(600)
""",
    )
    assert bench.answer(process) == str(len(bench.parents))
    assert all(
        (folder(group, name) / INSIDE / "cgroup.procs").read_text() == f"{process.pid}\n"
        for name in bench.parents
    )
    assert 0.2 <= group.cpu_seconds() < 5
    assert 20 * MIB <= group.peak_bytes() < 64 * MIB
    assert group.exceeded(LIMITS) is None


@real
def test_memory_that_runs_out_wakes_and_is_the_groups_own_doing(bench: Bench) -> None:
    group = bench.group(LIMITS)
    process = bench.start(group, GROW.format(mib=200), oom_score=1000)
    if group.wake is not None:
        assert select.select([group.wake], [], [], 30)[0]
        group.heed_wake()
    assert process.wait(30) == -signal.SIGKILL
    assert group.exceeded(LIMITS) == "memory"
    assert group.peak_bytes() <= LIMITS.memory_bytes


@real
def test_a_group_is_not_blamed_when_a_sibling_filled_their_parent(bench: Bench) -> None:
    parents = bench.parent("memory", "memory.limit_in_bytes", str(64 * MIB))
    limits = replace(LIMITS, memory_bytes=256 * MIB)
    sibling, group = bench.group(limits, parents), bench.group(limits, parents)
    assert bench.answer(bench.start(sibling, GROW.format(mib=40))) == "grown"
    process = bench.start(group, GROW.format(mib=40), oom_score=1000)
    assert process.wait(30) == -signal.SIGKILL
    if group.wake is not None and select.select([group.wake], [], [], 0)[0]:
        group.heed_wake()
    assert group.exceeded(limits) is None
    assert sibling.exceeded(limits) is None


@real
def test_a_group_that_a_member_raised_is_over_its_limit_when_it_uses_more(bench: Bench) -> None:
    group = bench.group(LIMITS)
    for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes"):
        with suppress(FileNotFoundError):
            (folder(group, "memory") / name).write_text("-1")
    (folder(group, "pids") / "pids.max").write_text("max")
    assert bench.answer(bench.start(group, GROW.format(mib=90))) == "grown"
    assert group.exceeded(LIMITS) == "memory"
    assert group.exceeded(replace(LIMITS, memory_bytes=1 << 30, processes=50)) is None
    program = "for _ in range(6): os.fork() or time.sleep(600)\nprint('forked', flush=True)"
    assert bench.answer(bench.start(group, program)) == "forked"
    assert group.exceeded(replace(LIMITS, memory_bytes=1 << 30, processes=5)) == "processes"


@real
def test_a_fork_that_is_refused_is_counted(bench: Bench) -> None:
    group = bench.group(replace(LIMITS, processes=5))
    bench.start(group, FORK_FOR_EVER)
    events = folder(group, "pids") / INSIDE / "pids.events"
    wait_until(lambda: read_fields(events).get("max"))
    assert group.exceeded(replace(LIMITS, processes=5)) == "processes"


@real
def test_a_fork_that_an_ancestor_refused_is_not_the_groups_doing(bench: Bench) -> None:
    parents = bench.parent("pids", "pids.max", "5")
    group = bench.group(LIMITS, parents)
    bench.start(group, FORK_FOR_EVER)
    pids = folder(group, "pids")
    wait_until(lambda: read_number(pids / "pids.current") == 5)
    events = [path / "pids.events" for path in (pids / INSIDE, pids, pids.parent)]
    wait_until(lambda: any(read_fields(path).get("max") for path in events))
    assert group.exceeded(LIMITS) is None


@real
def test_a_tree_that_forks_all_the_time_is_killed_as_one(bench: Bench) -> None:
    group = bench.group(LIMITS)
    process = bench.start(group, FORK_FOR_EVER)
    pids = folder(group, "pids")
    wait_until(lambda: read_number(pids / "pids.current") > 20)
    assert group.kill()
    assert process.wait(30) == -signal.SIGKILL
    assert all((folder(group, name) / "cgroup.procs").read_text() == "" for name in bench.parents)
    assert not group.kill()
    group.remove()
    assert not any(folder(group, name).exists() for name in bench.parents)


@real
def test_a_member_that_froze_itself_in_the_inner_group_is_killed(bench: Bench) -> None:
    group = bench.group(LIMITS)
    process = bench.start(group, "time.sleep(600)")
    state = folder(group, "freezer") / INSIDE / "freezer.state"
    state.write_text("FROZEN")
    wait_until(lambda: state.read_text() == "FROZEN\n")
    assert group.kill()
    assert process.wait(10) == -signal.SIGKILL


@real
def test_a_frozen_and_a_stopped_member_are_killed_all_the_same(bench: Bench) -> None:
    group = bench.group(LIMITS)
    stopped = bench.start(group, "time.sleep(600)")
    stopped.send_signal(signal.SIGSTOP)
    frozen = bench.start(group, "time.sleep(600)")
    (folder(group, "freezer") / "freezer.state").write_text("FROZEN")
    assert group.kill()
    assert stopped.wait(30) == frozen.wait(30) == -signal.SIGKILL


@real
def test_removing_kills_what_is_left(bench: Bench) -> None:
    group = bench.group(LIMITS)
    process = bench.start(group, "time.sleep(600)")
    group.remove()
    assert process.wait(30) == -signal.SIGKILL
    assert not any(folder(group, name).exists() for name in bench.parents)
    group.remove()  # a second time does no harm


@real
def test_a_group_is_removed_with_groups_that_a_member_made_in_it(bench: Bench) -> None:
    group = bench.group(LIMITS)
    process = bench.start(
        group,
        """
inner = json.loads(sys.argv[1])
inner = [f"{inner[name]}/{sys.argv[2]}/inner" for name in ("memory", "freezer", "pids", "cpuacct")]
for path in inner:
    os.mkdir(path)
    with open(path + "/cgroup.procs", "w") as file: file.write("0")
print("inside", flush=True)
time.sleep(600)
""",
    )
    assert bench.answer(process) == "inside"
    try:
        group.remove()
        assert process.wait(1) == -signal.SIGKILL
        assert not any(folder(group, name).exists() for name in bench.parents)
    finally:
        process.kill()
        process.wait()
        for name in bench.parents:
            with suppress(OSError):
                (folder(group, name) / "inner").rmdir()
