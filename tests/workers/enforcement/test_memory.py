"""Memory, in whichever process and whichever form it is held."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from workers.enforcement import Tier
from workers.limits import Limit
from workers.runner import examine_node

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

MIB = 1 << 20
# Stops at 400 MB, in case that nothing else stops it.
SHARED_FILE = """
file = open("/dev/shm/" + os.environ["TOKEN"], "wb", buffering=0)
for _ in range(400): file.write(bytes(1 << 20))
"""


in_every_tier = pytest.mark.parametrize(
    "enforcement", examine_node().enforcements, indirect=True, ids=str
)


def test_a_process_that_grows_ends_by_the_memory_limit(bench: Bench) -> None:
    result = bench.stops(
        "held = [b'x' * (1 << 20) for _ in range(400)]; time.sleep(100)",
        Limit.MEMORY,
        memory_bytes=100 * MIB,
    )
    assert result.peak_memory_bytes > 95 * MIB


def test_memory_in_many_children_counts_together(bench: Bench) -> None:
    bench.stops(
        """
for _ in range(10):
    if fork() == 0:
        held = b"x" * (20 << 20)
        time.sleep(100)
time.sleep(100)
""",
        Limit.MEMORY,
        memory_bytes=100 * MIB,
    )


def test_a_run_whose_grown_child_was_killed_for_it_does_not_go_on(bench: Bench) -> None:
    """Where the kernel kills one process for the group, the run dies as one all the same."""
    bench.stops(
        """
while True:
    child = fork()
    if child == 0:
        held = [b"x" * (1 << 20) for _ in range(400)]
        time.sleep(100)
    os.waitpid(child, 0)
""",
        Limit.MEMORY,
        memory_bytes=100 * MIB,
    )


def test_a_program_that_ends_because_its_child_was_killed_ended_by_the_limit(
    bench: Bench,
) -> None:
    bench.stops(
        """
child = fork()
if child == 0:
    held = [b"x" * (1 << 20) for _ in range(400)]
    time.sleep(100)
os.waitpid(child, 0)
sys.exit(3)
""",
        Limit.MEMORY,
        memory_bytes=100 * MIB,
    )


def test_pages_that_processes_share_count_once(bench: Bench) -> None:
    result = bench.python(
        """
held = b"x" * (100 << 20)
for _ in range(5):
    if fork() == 0:
        time.sleep(1)
        os._exit(0)
for _ in range(5): os.wait()
""",
        memory_bytes=200 * MIB,
    )
    assert (result.exit_code, result.limit) == (0, None)
    assert 95 * MIB < result.peak_memory_bytes < 150 * MIB


@in_every_tier
def test_an_open_file_on_dev_shm_is_memory(bench: Bench) -> None:
    """In the sampling tier without a private /dev/shm: as long as it is open at a sample."""
    bench.stops(SHARED_FILE + "time.sleep(100)", Limit.MEMORY, memory_bytes=100 * MIB)


@in_every_tier
def test_memory_behind_a_descriptor_alone_is_memory(bench: Bench) -> None:
    bench.stops(
        """
held = os.memfd_create("held")
for _ in range(400): os.write(held, bytes(1 << 20))
time.sleep(100)
""",
        Limit.MEMORY,
        memory_bytes=100 * MIB,
    )


def test_memory_of_a_process_whose_first_thread_has_ended_counts(bench: Bench) -> None:
    bench.stops(
        """
import ctypes, threading
def hold():
    held = b"x" * (200 << 20)
    time.sleep(100)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
""",
        Limit.MEMORY,
        memory_bytes=100 * MIB,
    )


@in_every_tier
def test_a_closed_file_on_dev_shm_is_memory(bench: Bench) -> None:
    if bench.enforcement.tier is Tier.SAMPLING and not bench.enforcement.private_shm:
        pytest.skip("without a cgroup or a private /dev/shm, nothing tells whose the file is")
    bench.stops(SHARED_FILE + "file.close(); time.sleep(100)", Limit.MEMORY, memory_bytes=100 * MIB)


@in_every_tier
def test_a_file_on_dev_shm_does_not_outlive_a_run_that_ends_well(bench: Bench) -> None:
    if not bench.enforcement.private_shm:
        pytest.skip("without a private /dev/shm, nothing tells whose the file is")
    result = bench.python('open("/dev/shm/" + os.environ["TOKEN"], "w").write("x" * 1000)')
    assert (result.exit_code, result.limit) == (0, None)


@in_every_tier
def test_files_on_dev_shm_below_the_limit_are_allowed(bench: Bench) -> None:
    result = bench.python(
        """
path = "/dev/shm/" + os.environ["TOKEN"]
with open(path, "wb") as file:
    for _ in range(30): file.write(bytes(1 << 20))
    file.flush()
    time.sleep(0.5)
print(os.path.getsize(path))
os.unlink(path)
""",
        memory_bytes=100 * MIB,
    )
    assert (result.exit_code, result.limit) == (0, None)
    assert result.stdout.read_bytes() == b"%d\n" % (30 * MIB)


def test_files_in_the_page_cache_do_not_fire_the_memory_limit(bench: Bench) -> None:
    """The kernel takes their pages back when a group needs them."""
    if b"tmpfs" in subprocess.check_output(["/bin/df", "--output=fstype", bench.scratch]):
        pytest.skip("temporary files are in memory here, where they count as such")
    result = bench.python(
        """
for number in range(3):
    with open(f"file{number}", "wb") as file:
        for _ in range(50): file.write(b"x" * (1 << 20))
    with open(f"file{number}", "rb") as file:
        while file.read(1 << 20): pass
""",
        memory_bytes=60 * MIB,
    )
    assert (result.exit_code, result.limit) == (0, None)
