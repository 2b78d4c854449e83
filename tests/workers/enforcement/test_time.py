"""Time: slept away, burnt by threads, and burnt by processes that no sample sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workers.enforcement import Tier
from workers.limits import Limit

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

# The hash holds no lock of the interpreter, so that the threads run side by side.
SPIN = """
import hashlib, threading
def spin(): hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1 << 30)
for _ in range(4): threading.Thread(target=spin).start()
"""


def test_a_sleeper_ends_by_the_wall_limit(bench: Bench) -> None:
    result = bench.stops("while True: time.sleep(1)", Limit.WALL, wall_seconds=1)
    assert result.wall_seconds >= 1
    assert bench.seconds - 1 < 2
    assert result.cpu_seconds < 0.5


def test_many_threads_that_spin_end_by_the_cpu_limit(bench: Bench) -> None:
    result = bench.stops(SPIN, Limit.CPU, cpu_seconds=0.5)
    assert 0.5 <= result.cpu_seconds < 1.5


def test_a_program_that_ignores_the_kernels_own_warning_ends_by_the_cpu_limit(
    bench: Bench,
) -> None:
    bench.stops(
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN); burn(100)", Limit.CPU, cpu_seconds=1
    )


@pytest.mark.parametrize(
    ("seconds", "wait"),
    # Until they are reaped, the times of processes are known in ticks of 10 ms.
    [(0.003, "os.waitpid(child, 0)"), (0.03, "time.sleep(0.035)")],
    ids=["reaped", "left as zombies"],
)
def test_cpu_burnt_between_samples_by_short_lived_children_counts(
    bench: Bench, seconds: float, wait: str
) -> None:
    result = bench.stops(
        f"""
for _ in range(10_000):
    child = fork()
    if child == 0:
        burn({seconds})
        os._exit(0)
    {wait}
""",
        Limit.CPU,
        cpu_seconds=0.5,
        # Zombies are processes.
        processes=5_000,
    )
    assert 0.5 <= result.cpu_seconds < 1.5


def test_cpu_burnt_between_samples_by_orphans_counts(bench: Bench) -> None:
    result = bench.stops(
        """
for _ in range(10_000):
    child = fork()
    if child == 0:
        if fork() == 0: burn(0.003)
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.004)
""",
        Limit.CPU,
        cpu_seconds=0.5,
        processes=5_000,
    )
    assert 0.5 <= result.cpu_seconds < 1.5


def test_cpu_burnt_by_children_that_nobody_waits_for_counts_in_a_cgroup(bench: Bench) -> None:
    """The kernel adds nothing to a parent that ignores SIGCHLD; only a group has the sum.

    The sampling tier knows such a child up to its last sample, so all that it promises is that
    the wall limit holds.
    """
    sampling = bench.enforcement.tier is Tier.SAMPLING
    result = bench.python(
        """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(10_000):
    if fork() == 0:
        burn(0.003)
        os._exit(0)
    time.sleep(0.004)
""",
        cpu_seconds=1,
        wall_seconds=3 if sampling else 30,
    )
    assert result.limit in ({Limit.CPU, Limit.WALL} if sampling else {Limit.CPU})
    bench.check_cleanup(result)
