"""Figures against the kernel's own, as the programs themselves read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workers.enforcement import Tier
from workers.limits import Limits
from workers.runner import examine_node, run

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=30,
    cpu_seconds=30,
    memory_bytes=100 * MIB,
    processes=10,
    scratch_bytes=MIB,
    output_bytes=MIB,
)
OWN_FIGURES = """
import resource
def used():
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
def high_water():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
"""
EXIT_SECONDS = 0.03
"""What an interpreter uses after it has read its own figures."""


def test_the_cpu_time_of_a_tree_of_short_lived_children_is_the_kernels(bench: Bench) -> None:
    result = bench.python(
        OWN_FIGURES
        + """
for _ in range(200):
    child = fork()
    if child == 0:
        burn(0.008)
        os._exit(0)
    os.waitpid(child, 0)
print(used())
"""
    )
    own = float(result.stdout.read_text())
    tolerance = 0.1 if bench.enforcement.tier is Tier.SAMPLING else 0.02
    assert abs(result.cpu_seconds - own) <= tolerance * own + EXIT_SECONDS


def test_the_cpu_time_of_children_side_by_side_is_the_kernels(bench: Bench) -> None:
    result = bench.python(
        OWN_FIGURES
        + """
for _ in range(25):
    for _ in range(8):
        if fork() == 0:
            burn(0.008)
            os._exit(0)
    for _ in range(8): os.wait()
print(used())
"""
    )
    own = float(result.stdout.read_text())
    tolerance = 0.1 if bench.enforcement.tier is Tier.SAMPLING else 0.02
    assert abs(result.cpu_seconds - own) <= tolerance * own + EXIT_SECONDS


def test_the_peak_memory_of_a_process_is_its_high_water_mark(bench: Bench) -> None:
    result = bench.python(
        OWN_FIGURES
        + """
held = b"x" * (200 << 20)
del held
time.sleep(0.3)
print(high_water())
"""
    )
    own = int(result.stdout.read_text())
    assert own > 200 * MIB
    # Only a control group keeps a peak; samples may come beside it.
    tolerance = 0.15 if bench.enforcement.tier is Tier.SAMPLING else 0.05
    assert abs(result.peak_memory_bytes - own) <= tolerance * own


def test_files_add_to_the_peak_memory_of_a_group_and_not_of_processes(bench: Bench) -> None:
    """A control group's mark has the page cache in it, which samples of processes have not."""
    result = bench.python(
        OWN_FIGURES
        + """
held = b"x" * (100 << 20)
with open("file", "wb") as file:
    for _ in range(200): file.write(bytes(1 << 20))
time.sleep(0.3)
print(high_water())
"""
    )
    own = int(result.stdout.read_text())
    if bench.enforcement.tier is not Tier.SAMPLING:
        own += 200 * MIB
    assert abs(result.peak_memory_bytes - own) <= 0.15 * own


def test_files_and_folders_are_counted_with_the_space_they_take(bench: Bench) -> None:
    result = bench.run(
        [
            "/bin/sh",
            "-c",
            "mkdir -p a/b && for n in 1 2 3 4; do head -c 102400 /dev/zero > a/b/$n; done",
        ]
    )
    assert (result.exit_code, result.limit) == (0, None)
    assert result.scratch_files == 6
    assert 409_600 <= result.scratch_bytes < 500_000


def test_a_run_says_how_it_was_enforced_and_how_measured(bench: Bench) -> None:
    result = bench.run(["/bin/true"])
    assert result.enforced_by == str(bench.enforcement)
    assert str(bench.enforcement.tier) in result.enforced_by
    assert result.measured_by


def test_without_a_choice_the_best_tier_enforces(tmp_path: Path) -> None:
    """The node has the best first, and ends with what needs no privilege."""
    available = list(examine_node().enforcements)
    assert str(available[-1]) == Tier.SAMPLING
    (tmp_path / "scratch").mkdir()
    result = run(
        ["/bin/true"],
        environment={},
        scratch=tmp_path / "scratch",
        spool=tmp_path / "spool",
        limits=LIMITS,
    )
    assert result.enforced_by == str(available[0])
