import os
import sys
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.limits import Limit, Limits
from workers.runner import run
from workers.scratch_usage import ScratchUsage, contents

MIB = 1 << 20


def measure(folder: Path) -> int:
    return list(contents(bytes(folder)))[-1][0]


def blocks(*paths: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in paths)


def test_files_count_with_the_blocks_they_use_at_any_depth(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(os.urandom(100_000))
    assert measure(tmp_path) == blocks(tmp_path / "a", deep, deep / "file")
    assert measure(tmp_path) >= 100_000


def test_a_sparse_file_uses_what_it_uses(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert measure(tmp_path) < 1 << 20


def test_a_file_with_two_names_counts_once_and_links_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    (tmp_path / "big").write_bytes(os.urandom(1_000_000))
    (folder / "file").write_bytes(os.urandom(50_000))
    os.link(folder / "file", folder / "same")
    (folder / "link").symlink_to(tmp_path / "big")
    (folder / "around").symlink_to(folder)
    links = (folder / "link", folder / "around")
    assert measure(folder) == blocks(folder / "file", *links)


def test_a_folder_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    assert measure(tmp_path / "absent") == 0


@settings(max_examples=200)
@given(cap=st.integers(0, 1 << 20))
def test_a_folder_exceeds_exactly_the_caps_below_its_size(cap: int) -> None:
    folder = Path(__file__).parent
    usage = ScratchUsage(bytes(folder), cap, 1_000_000)
    assert usage.ends_over() == (measure(folder) > cap)


@settings(max_examples=50)
@given(cap=st.integers(1, 60))
def test_files_and_folders_count_against_a_limit_of_their_own(cap: int) -> None:
    folder = Path(__file__).parent / "logs" / "2.15"
    entries = sum(len(folders) + len(files) for _, folders, files in os.walk(folder))
    assert list(contents(bytes(folder)))[-1][1] == entries
    assert ScratchUsage(bytes(folder), 1 << 40, cap).ends_over() == (entries > cap)


def test_walks_in_slices_find_the_same_as_one_walk(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / str(number)).write_bytes(b"x")
    usage = ScratchUsage(bytes(tmp_path), 1 << 40, 1 << 40)
    deadline = time.monotonic() + 60
    while usage.files == 0:
        assert not usage.is_over()
        assert time.monotonic() < deadline
    assert (usage.bytes, usage.files) == (measure(tmp_path), 3000)
    (tmp_path / "big").write_bytes(bytes(2 * MIB))
    small = ScratchUsage(bytes(tmp_path), MIB, 1 << 40)
    while not small.is_over():
        assert time.monotonic() < deadline
    assert small.bytes > MIB


def test_scratch_bytes_over_the_limit_count_though_the_program_has_ended(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    result = run(
        [sys.executable, "-I", "-S", "-c", "open('file', 'wb').write(bytes(3_000_000))"],
        environment={},
        scratch=tmp_path / "scratch",
        spool=tmp_path / "spool",
        limits=Limits(
            wall_seconds=60,
            cpu_seconds=60,
            memory_bytes=1024 * MIB,
            processes=100,
            scratch_bytes=2 * MIB,
            output_bytes=MIB,
        ),
    )
    assert result.limit is Limit.SCRATCH
