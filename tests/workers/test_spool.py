import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.spool import Spool

MakeSpool = Callable[[int], Spool]

chunks = st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=50)), max_size=20)


@pytest.fixture
def make_spool(tmp_path: Path) -> MakeSpool:
    return lambda cap: Spool(str(tmp_path / "stdout"), str(tmp_path / "stderr"), cap)


def saved(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()


def test_each_pipe_goes_to_its_own_file(make_spool: MakeSpool, tmp_path: Path) -> None:
    spool = make_spool(100)
    os.write(spool.writers[0], b"out")
    os.write(spool.writers[1], b"error")
    assert [spool.copy(reader) for reader in spool.readers] == [b"out", b"error"]
    assert saved(tmp_path) == (b"out", b"error")
    assert (spool.bytes, spool.over) == (8, False)


def test_an_empty_pipe_and_a_finished_one_are_told_apart(make_spool: MakeSpool) -> None:
    spool = make_spool(100)
    assert [spool.copy(reader) for reader in spool.readers] == [None, None]
    spool.close_writers()
    assert [spool.copy(reader) for reader in spool.readers] == [b"", b""]


@pytest.mark.parametrize(("size", "over"), [(9, False), (10, False), (11, True), (10_000, True)])
def test_only_more_than_the_cap_is_over(
    make_spool: MakeSpool, tmp_path: Path, size: int, over: bool
) -> None:
    spool = make_spool(10)
    os.write(spool.writers[0], b"x" * size)
    spool.drain()
    assert (spool.bytes, spool.over) == (min(size, 10), over)
    assert saved(tmp_path) == (b"x" * min(size, 10), b"")


def test_both_pipes_share_the_cap(make_spool: MakeSpool, tmp_path: Path) -> None:
    spool = make_spool(10)
    os.write(spool.writers[0], b"123456")
    os.write(spool.writers[1], b"123456")
    spool.drain()
    assert (spool.bytes, spool.over) == (10, True)
    assert saved(tmp_path) == (b"123456", b"1234")


@settings(max_examples=50)
@given(chunks=chunks, cap=st.integers(0, 300))
def test_what_fits_under_the_cap_is_kept_in_order(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[tuple[int, bytes]], cap: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(str(folder / "stdout"), str(folder / "stderr"), cap)
    expected, left = [b"", b""], cap
    for which, chunk in chunks:
        os.write(spool.writers[which], chunk)
        spool.copy(spool.readers[which])
        expected[which] += chunk[:left]
        left -= len(chunk[:left])
    spool.close_writers()
    assert saved(folder) == tuple(expected)
    assert spool.bytes == cap - left
    assert spool.over == (sum(len(chunk) for _, chunk in chunks) > cap)
    for reader in spool.readers:
        os.close(reader)


def test_draining_takes_all_that_is_left_and_waits_for_no_foreign_writer(
    make_spool: MakeSpool, tmp_path: Path
) -> None:
    spool = make_spool(1_000_000)
    os.set_blocking(spool.writers[0], False)
    size = 0
    with suppress(BlockingIOError):
        while True:
            size += os.write(spool.writers[0], bytes(1000))
    spool.drain()
    assert saved(tmp_path) == (bytes(size), b"")
    assert not spool.over


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_what_an_earlier_run_said_is_not_overwritten(
    make_spool: MakeSpool, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("evidence")
    with pytest.raises(FileExistsError):
        make_spool(10)
    assert (tmp_path / name).read_text() == "evidence"


def test_a_link_in_the_place_of_a_file_is_not_followed(
    make_spool: MakeSpool, tmp_path: Path
) -> None:
    (tmp_path / "stdout").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        make_spool(10)
    assert not (tmp_path / "elsewhere").exists()


def test_a_disk_that_refuses_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "stdout"), str(tmp_path / "stderr"), 100)
    target = next(
        int(link.name)
        for link in Path("/proc/self/fd").iterdir()
        if link.is_symlink() and os.path.realpath(link) == str(tmp_path / "stdout")
    )
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, target)
    os.close(full)
    os.write(spool.writers[0], b"x")
    with pytest.raises(OSError, match=r"No space left on device: '.*/stdout'"):
        spool.copy(spool.readers[0])


def test_no_pipe_or_file_is_inherited_by_a_program(make_spool: MakeSpool) -> None:
    spool = make_spool(10)
    targets = [target for target, _ in spool._files.values()]
    opened = [*spool.readers, *spool.writers, *targets]
    assert len(set(opened)) == 6
    assert not any(os.get_inheritable(descriptor) for descriptor in opened)
