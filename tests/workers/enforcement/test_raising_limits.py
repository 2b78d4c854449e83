"""Programs that first do what they can to have their limits raised.

Control groups of others are left alone: a program writes to the files of groups of ours only. In
the sampling tier there are none, and what it does to groups changes nothing that this tier uses.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from workers.limits import Limit

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

MIB = 1 << 20

RLIMITS = """
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        number = getattr(resource, name)
        for new in ((-1, -1), (resource.getrlimit(number)[1],) * 2):
            try: resource.setrlimit(number, new)
            except (OSError, ValueError): pass
"""
FIND_GROUPS = """
import glob
MOUNTS = ["/sys/fs/cgroup", *glob.glob("/sys/fs/cgroup/*")]
with open("/proc/self/cgroup") as lines:
    OWN = {line.rstrip("\\n").split(":", 2)[2] for line in lines}
FOLDERS = set()
for path in OWN:
    while "tlagrid" in path:
        FOLDERS |= {mount + path for mount in MOUNTS if os.path.isdir(mount + path)}
        path = os.path.dirname(path)
def write(path, text):
    try:
        with open(path, "w") as file: file.write(text)
    except OSError: pass
"""
GROUP_FILES = (
    FIND_GROUPS
    + """
every = f"0-{os.cpu_count() - 1}"
for folder in sorted(FOLDERS):
    for name, text in [
        ("memory.memsw.limit_in_bytes", "-1"), ("memory.limit_in_bytes", "-1"),
        ("memory.max", "max"), ("memory.high", "max"), ("memory.swap.max", "max"),
        ("memory.oom_control", "1"), ("memory.oom.group", "0"), ("memory.use_hierarchy", "0"),
        ("pids.max", "max"), ("cpuacct.usage", "0"), ("cpuset.cpus", every),
        ("cgroup.subtree_control", "-memory -pids -cpu"), ("notify_on_release", "1"),
    ]:
        if os.path.exists(f"{folder}/{name}"): write(f"{folder}/{name}", text)
"""
)
ROOT_GROUP = FIND_GROUPS + 'for mount in MOUNTS: write(f"{mount}/cgroup.procs", "0")\n'
NESTED_GROUP = (
    FIND_GROUPS
    + """
for folder in sorted(FOLDERS, key=len, reverse=True):
    try: os.makedirs(f"{folder}/inner/most")
    except OSError: continue
    write(f"{folder}/inner/most/cgroup.procs", "0")
"""
)
GROW = "held = [b'x' * (1 << 20) for _ in range(400)]; time.sleep(100)"
FORK = """
for _ in range(8):
    try: fork()
    except OSError: time.sleep(0.01)
time.sleep(100)
"""
SPIN = "burn(100)"
FILL = """
with open("file", "wb", buffering=0) as file:
    for _ in range(10_000): file.write(bytes(1 << 20))
"""


@pytest.mark.parametrize(
    ("attack", "limit", "limits"),
    [
        pytest.param(GROW, Limit.MEMORY, {"memory_bytes": 100 * MIB}, id="memory"),
        pytest.param(FORK, Limit.PROCESSES, {"processes": 20}, id="processes"),
        pytest.param(SPIN, Limit.CPU, {"cpu_seconds": 1}, id="cpu"),
        pytest.param(FILL, Limit.SCRATCH, {"scratch_bytes": 50 * MIB}, id="scratch"),
    ],
)
@pytest.mark.parametrize(
    "raising",
    [RLIMITS, GROUP_FILES, ROOT_GROUP, NESTED_GROUP],
    ids=["rlimits", "group files", "root group", "nested group"],
)
def test_the_limit_fires_all_the_same(
    bench: Bench, raising: str, attack: str, limit: Limit, limits: dict[str, int]
) -> None:
    bench.stops(raising + attack, limit, **limits)


def test_a_run_that_freezes_its_own_group_ends_by_the_wall_limit(bench: Bench) -> None:
    bench.stops(
        FIND_GROUPS
        + """
for folder in sorted(FOLDERS):
    for name, text in (("freezer.state", "FROZEN"), ("cgroup.freeze", "1")):
        if os.path.exists(f"{folder}/{name}"): write(f"{folder}/{name}", text)
time.sleep(100)
""",
        Limit.WALL,
        wall_seconds=1,
    )


def test_a_run_that_moved_its_child_away_takes_it_down(bench: Bench) -> None:
    result = bench.python(
        """
if fork() == 0:
    os.setsid()
    if fork() == 0:
"""
        + "\n".join(f"        {line}" for line in ROOT_GROUP.splitlines())
        + """
        open("away", "w").close()
        time.sleep(100)
    os._exit(0)
os.wait()
while not os.path.exists("away"): time.sleep(0.01)
"""
    )
    assert (result.exit_code, result.limit) == (0, None)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core is all there is")
def test_a_run_does_not_leave_its_cores(bench: Bench) -> None:
    result = bench.python(
        FIND_GROUPS
        + """
print(*sorted(os.sched_getaffinity(0)))
for folder in sorted(FOLDERS):
    if os.path.exists(f"{folder}/cpuset.cpus"):
        write(f"{folder}/cpuset.cpus", f"0-{os.cpu_count() - 1}")
try: os.sched_setaffinity(0, range(os.cpu_count()))
except OSError: pass
print(*sorted(os.sched_getaffinity(0)))
""",
        cores=1,
    )
    assert (result.exit_code, result.limit) == (0, None)
    before, after = (
        {int(core) for core in line.split()} for line in result.stdout.read_text().splitlines()
    )
    assert before == set(result.cores)
    assert len(before) == 1
    # Without a mount namespace, the owner of a delegated group can write its files.
    if bench.enforcement.cpuset and bench.enforcement.private_shm:
        assert after == before
    else:
        # Affinity alone is a request to the kernel that every process may change.
        assert after == os.sched_getaffinity(0)


def test_a_run_that_spins_on_cores_that_are_not_its_own_ends_by_the_cpu_limit(
    bench: Bench,
) -> None:
    bench.stops(
        """
import hashlib, threading
def spin():
    try: os.sched_setaffinity(0, range(os.cpu_count()))
    except OSError: pass
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1 << 30)
for _ in range(4): threading.Thread(target=spin).start()
""",
        Limit.CPU,
        cpu_seconds=1,
        cores=1,
    )


def test_a_crash_after_raising_the_limit_on_core_files_leaves_none(bench: Bench) -> None:
    result = bench.python(RLIMITS + "os.kill(os.getpid(), signal.SIGSEGV)")
    assert (result.limit, result.signal) == (None, 11)
    assert {path.name for path in bench.scratch.iterdir()} == {"pids", "groups"}
