import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workers.confinement import SHARED_MEMORY
from workers.open_files import SharedMemory, deleted_bytes

MIB = 1 << 20
SIZE = 24 * MIB
HOLD = """
import sys
held = []
for path, size in zip(sys.argv[1::2], sys.argv[2::2]):
    file = open(path, "wb", buffering=0)
    for _ in range(int(size) >> 20): file.write(bytes(1 << 20))
    held.append(file)
print("held", flush=True)
sys.stdin.read()
"""

Hold = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder in the machine's shared memory that stands for all of it."""
    try:
        with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
            status = os.statvfs(folder)
            if status.f_bavail * status.f_frsize < 4 * SIZE:
                pytest.skip(f"{SHARED_MEMORY} has no {4 * SIZE >> 20} MiB left")
            yield Path(folder)
    except OSError as error:
        pytest.skip(f"{SHARED_MEMORY} cannot be written: {error}")


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Start a process that writes files and keeps them open."""
    processes = []

    def start(*files: tuple[Path, int]) -> "subprocess.Popen[bytes]":
        arguments = [str(part) for file in files for part in file]
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", HOLD, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in processes:
        process.communicate()


def test_files_that_a_run_has_open_count_with_their_blocks(shm: Path, hold: Hold) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    process = hold((shm / "a", SIZE), (shm / "b", SIZE))
    assert files.bytes([process.pid]) == 2 * SIZE


def test_a_file_that_several_have_open_counts_once(shm: Path, hold: Hold) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    first = hold((shm / "a", SIZE), (shm / "a", SIZE))
    second = hold((shm / "a", SIZE))
    assert files.bytes([first.pid, second.pid]) == SIZE


def test_a_file_that_was_deleted_while_open_counts_as_long_as_it_is_open(
    shm: Path, hold: Hold
) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    process = hold((shm / "a", SIZE))
    (shm / "a").unlink()
    assert files.bytes([process.pid]) == SIZE
    files.remove_leftovers()


def test_files_of_other_processes_do_not_count(shm: Path, hold: Hold) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    hold((shm / "theirs", SIZE))
    mine = hold()
    assert files.bytes([mine.pid]) == 0
    files.remove_leftovers()
    assert (shm / "theirs").exists()


def test_processes_that_are_gone_have_nothing_open(shm: Path, hold: Hold) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    process = hold((shm / "a", SIZE))
    process.communicate()
    assert files.bytes([process.pid]) == 0


def test_memory_that_only_a_descriptor_names_counts() -> None:
    program = (
        "import os, sys\nheld = os.memfd_create('held')\n"
        f"for _ in range({SIZE >> 20}): os.write(held, bytes(1 << 20))\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    for private in (False, True):
        shared = SharedMemory(private=private, folder="/nowhere")
        before = shared.bytes([])
        with subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            assert shared.bytes([process.pid]) - before == SIZE


def test_deleted_files_count_while_they_are_open(tmp_path: Path, hold: Hold) -> None:
    process = hold((tmp_path / "gone", SIZE), (tmp_path / "there", SIZE))
    assert deleted_bytes([process.pid], bytes(tmp_path)) == 0
    (tmp_path / "gone").unlink()
    assert deleted_bytes([process.pid], bytes(tmp_path)) == SIZE
    process.communicate()
    assert deleted_bytes([process.pid], bytes(tmp_path)) == 0


def test_what_a_run_made_and_had_open_is_removed_after_it(shm: Path, hold: Hold) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    (shm / "folder").mkdir()
    process = hold((shm / "a", SIZE), (shm / "folder" / "b", SIZE))
    files.bytes([process.pid])
    process.communicate()
    files.remove_leftovers()
    assert not (shm / "a").exists()
    assert not (shm / "folder" / "b").exists()


def test_what_was_there_before_the_run_stays(shm: Path, hold: Hold) -> None:
    (shm / "before").write_bytes(b"x")
    (shm / "shared").mkdir()
    (shm / "shared" / "before").write_bytes(b"x")
    files = SharedMemory(private=False, folder=str(shm))
    process = hold((shm / "before", SIZE), (shm / "shared" / "before", MIB))
    assert files.bytes([process.pid]) == SIZE + MIB
    process.communicate()
    files.remove_leftovers()
    assert (shm / "before").exists()
    assert (shm / "shared" / "before").exists()


def test_a_later_file_of_the_same_name_is_not_taken_for_the_runs(shm: Path, hold: Hold) -> None:
    files = SharedMemory(private=False, folder=str(shm))
    process = hold((shm / "a", SIZE))
    files.bytes([process.pid])
    (shm / "other").write_bytes(b"somebody else's")  # before the first goes, or its number is free
    process.communicate()
    (shm / "other").rename(shm / "a")
    files.remove_leftovers()
    assert (shm / "a").read_bytes() == b"somebody else's"


def test_where_there_is_no_shared_memory_nothing_counts(tmp_path: Path) -> None:
    files = SharedMemory(private=False, folder=str(tmp_path / "absent"))
    assert files.bytes([os.getpid()]) == 0
    files.remove_leftovers()
