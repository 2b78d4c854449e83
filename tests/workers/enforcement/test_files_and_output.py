"""Output and files without end. None of these programs would fit on the disk if nothing held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workers.limits import Limit

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

MIB = 1 << 20
TEN_GIGABYTES = "10_000"  # of 1 MiB each


def test_output_without_end_is_cut_at_its_limit(bench: Bench) -> None:
    result = bench.stops(
        f"for _ in range({TEN_GIGABYTES}): os.write(1, b'y\\n' * (1 << 19))",
        Limit.OUTPUT,
        output_bytes=3_000_001,
    )
    assert result.output_bytes == 3_000_001
    assert result.stdout.stat().st_size == 3_000_001
    assert result.stdout.read_bytes() == b"y\n" * 1_500_000 + b"y"


def test_output_of_children_counts_together_on_both_streams(bench: Bench) -> None:
    result = bench.stops(
        f"""
for child in range(4):
    if fork() == 0:
        for _ in range({TEN_GIGABYTES}): os.write(1 + child % 2, b"x" * (1 << 20))
        os._exit(0)
time.sleep(100)
""",
        Limit.OUTPUT,
        output_bytes=3_000_001,
    )
    assert result.stdout.stat().st_size + result.stderr.stat().st_size == 3_000_001


def test_a_program_that_closes_its_output_is_still_measured(bench: Bench) -> None:
    result = bench.stops(
        "os.write(1, b'last\\n'); os.close(1); os.close(2); burn(100)",
        Limit.CPU,
        cpu_seconds=1,
    )
    assert result.stdout.read_bytes() == b"last\n"


def test_a_program_that_closes_its_output_still_ends_by_the_wall_limit(bench: Bench) -> None:
    result = bench.stops(
        "os.write(1, b'last\\n'); os.closerange(0, 100); time.sleep(100)",
        Limit.WALL,
        wall_seconds=1,
    )
    assert result.stdout.read_bytes() == b"last\n"


@pytest.mark.parametrize(
    "program",
    [
        # Fails by itself where the size of a single file is limited: the verdict is the same.
        f"""
with open("file", "wb", buffering=0) as file:
    for _ in range({TEN_GIGABYTES}): file.write(bytes(1 << 20))
""",
        f"""
with open("file", "wb", buffering=0) as file:
    for _ in range({TEN_GIGABYTES}):
        try: file.write(bytes(1 << 20))
        except OSError: time.sleep(0.01)
""",
        f"""
os.mkdir("folder")
for number in range({TEN_GIGABYTES}):
    with open(f"folder/{{number}}", "wb", buffering=0) as file: file.write(bytes(1 << 20))
""",
        f"""
for child in range(4):
    if fork() == 0:
        for number in range({TEN_GIGABYTES}):
            with open(f"{{child}}-{{number}}", "wb", buffering=0) as file:
                file.write(bytes(1 << 18))
        os._exit(0)
for _ in range(4): os.wait()
""",
    ],
    ids=["one file", "one file in spite of errors", "many files", "many files of many processes"],
)
def test_files_without_end_end_by_the_scratch_limit(bench: Bench, program: str) -> None:
    result = bench.stops(program, Limit.SCRATCH, scratch_bytes=50 * MIB)
    assert result.scratch_bytes >= 49 * MIB


@pytest.mark.parametrize(
    "make",
    ["os.close(os.open(path, os.O_CREAT))", "os.symlink('nowhere', path)", "os.mkdir(path)"],
    ids=["files", "links", "folders"],
)
def test_a_million_tiny_files_end_by_the_scratch_limit(bench: Bench, make: str) -> None:
    result = bench.stops(
        f"""
for number in range(1_000_000):
    if number % 1000 == 0:
        folder = f"folder{{number}}"
        os.mkdir(folder)
    path = f"{{folder}}/{{number}}"
    {make}
""",
        Limit.SCRATCH,
        scratch_files=2_000,
        scratch_bytes=10_000 * MIB,
    )
    assert result.scratch_files > 2_000


def test_deleted_files_that_are_still_open_take_their_space(bench: Bench) -> None:
    bench.stops(
        """
held = []
for number in range(400):
    held.append(open("file", "wb", buffering=0))
    os.unlink("file")
    held[-1].write(bytes(1 << 20))
    if number > 100: time.sleep(0.05)
""",
        Limit.SCRATCH,
        scratch_bytes=50 * MIB,
    )


def test_folders_too_deep_for_a_path_end_by_the_scratch_limit(bench: Bench) -> None:
    bench.stops(
        """
for _ in range(40):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
time.sleep(100)
""",
        Limit.SCRATCH,
    )


def test_as_many_files_as_allowed_are_no_reason_to_stop(bench: Bench) -> None:
    # `pids` and `groups` are files, too.
    result = bench.python(
        "os.mkdir('folder')\nfor n in range(97): open(f'folder/{n}', 'w').close()\ntime.sleep(1)",
        scratch_files=100,
    )
    assert (result.exit_code, result.limit) == (0, None)
    assert result.scratch_files == 100


def test_open_files_are_limited_without_a_verdict(bench: Bench) -> None:
    result = bench.python(
        """
opened = []
try:
    while len(opened) < 1000: opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(error.strerror, max(opened))
""",
        open_files=64,
    )
    assert (result.exit_code, result.limit) == (0, None)
    assert result.stdout.read_text() == "Too many open files 63\n"
