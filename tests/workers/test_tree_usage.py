import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workers.limits import Limit, Limits
from workers.runner import ProcessResult, run

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=1024 * MIB,
    processes=100,
    scratch_bytes=100 * MIB,
    output_bytes=MIB,
)
BURN = """
import os, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""


def attempt(folder: Path, program: str, limits: Limits = LIMITS) -> ProcessResult:
    (folder / "scratch").mkdir()
    argv = [sys.executable, "-I", "-S", "-c", program]
    scratch, spool = folder / "scratch", folder / "spool"
    return run(argv, environment={}, scratch=scratch, spool=spool, limits=limits)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("child = os.fork()", id="reaped-by-their-parent"),
        pytest.param("child = os.fork()\n if not child and os.fork(): os._exit(0)", id="orphans"),
    ],
)
def test_short_lived_children_count_for_the_cpu_limit(tmp_path: Path, kind: str) -> None:
    program = f"{BURN}\nwhile True:\n {kind}\n if not child: burn(0.02); os._exit(0)\n os.wait()"
    result = attempt(tmp_path, program, replace(LIMITS, cpu_seconds=0.7, processes=10_000))
    assert result.limit is Limit.CPU
    assert 0.7 < result.cpu_seconds < 4


def test_children_whose_parent_ignores_their_end_count_as_far_as_they_were_seen(
    tmp_path: Path,
) -> None:
    program = f"""{BURN}
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    child = os.fork()
    if not child: burn(0.5); os._exit(0)
    try: os.waitpid(child, 0)
    except ChildProcessError: pass
"""
    result = attempt(tmp_path, program, replace(LIMITS, cpu_seconds=1.2))
    assert result.limit is Limit.CPU


def test_cpu_time_agrees_with_the_kernels_for_a_tree_of_short_lived_children(
    tmp_path: Path,
) -> None:
    result = attempt(
        tmp_path,
        BURN
        + """
for _ in range(15):
    if not os.fork(): burn(0.08); os._exit(0)
    os.wait()
import resource
both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(sum(used.ru_utime + used.ru_stime for used in both))
""",
    )
    assert result.cpu_seconds == pytest.approx(float(result.stdout.read_text()), rel=0.1)


def test_cpu_time_over_the_limit_counts_though_no_sample_saw_it(tmp_path: Path) -> None:
    result = attempt(tmp_path, BURN + "burn(0.05)", replace(LIMITS, cpu_seconds=0.03))
    assert result.limit is Limit.CPU
    assert result.cpu_seconds > 0.03


def test_memory_of_many_children_is_added_up(tmp_path: Path) -> None:
    result = attempt(
        tmp_path,
        "import os, time\nfor _ in range(4):\n if not os.fork(): break\n"
        "x = b'x' * (30 << 20); time.sleep(600)",
        replace(LIMITS, memory_bytes=100 * MIB),
    )
    assert result.limit is Limit.MEMORY


def test_memory_that_children_share_counts_once(tmp_path: Path) -> None:
    result = attempt(
        tmp_path,
        "import os, time\nx = b'x' * (60 << 20)\nfor _ in range(4):\n if not os.fork(): break\n"
        "time.sleep(1)",
        replace(LIMITS, memory_bytes=150 * MIB),
    )
    assert (result.exit_code, result.limit) == (0, None)
    assert 60 * MIB < result.peak_memory_bytes < 120 * MIB


def test_memory_given_back_before_any_sample_still_counts(tmp_path: Path) -> None:
    result = attempt(tmp_path, "b'x' * (150 << 20)", replace(LIMITS, memory_bytes=100 * MIB))
    assert result.limit is Limit.MEMORY
