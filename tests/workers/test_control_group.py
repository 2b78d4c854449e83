import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers import control_group
from workers.control_group import (
    all_members,
    folder_of,
    members,
    read,
    read_fields,
    read_number,
    remove_folder,
    was_full,
)


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """A run's group, two levels below a root that has no limit."""
    folder = tmp_path / "root" / "parent" / "run"
    folder.mkdir(parents=True)
    limit(folder, 10, current=3)
    limit(folder.parent, "max", current=4)
    return folder


def limit(folder: Path, most: int | str, current: int) -> None:
    (folder / "pids.max").write_text(f"{most}\n")
    (folder / "pids.current").write_text(f"{current}\n")


def refuse_forks(folder: Path, count: int) -> None:
    (folder / "pids.events").write_text(f"max {count}\n")


def test_a_file_that_is_not_there_reads_as_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "absent") == ""
    assert read_fields(tmp_path / "absent") == {}
    assert members(tmp_path / "absent") == []
    assert read_number(tmp_path / "absent", 7) == 7


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A counter that reads as 0 for want of descriptors would undo a limit."""
    with pytest.raises(IsADirectoryError):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "number"), [("0\n", 0), ("67108864\n", 67108864), ("max\n", 7), ("", 7)]
)
def test_a_limit_is_a_number_or_the_default(tmp_path: Path, text: str, number: int) -> None:
    (tmp_path / "file").write_text(text)
    assert read_number(tmp_path / "file", 7) == number


@given(fields=st.dictionaries(st.text("abc_", min_size=1), st.integers(0, 1 << 64)))
def test_fields_are_read_as_the_kernel_writes_them(fields: dict[str, int]) -> None:
    class File:
        def read_text(self) -> str:
            return "".join(f"{name} {value}\n" for name, value in fields.items())

    assert read_fields(File()) == fields  # type: ignore[arg-type]


def test_lines_of_another_form_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("oom_kill_disable 0\nname max\nthree 1 2\n\nunder_oom 1\n")
    assert read_fields(tmp_path / "file") == {"oom_kill_disable": 0, "under_oom": 1}


def test_members_are_the_pids_in_the_group(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("17\n4242\n")
    assert members(tmp_path) == [17, 4242]


def test_groups_in_a_group_have_members_of_it_as_well(tmp_path: Path) -> None:
    deep = tmp_path / "inner" / "most"
    deep.mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    for folder, pids in ((tmp_path, "1\n2\n"), (deep, "3\n"), (tmp_path / "beside", "")):
        (folder / "cgroup.procs").write_text(pids)
    assert sorted(all_members(tmp_path)) == [1, 2, 3]
    assert all_members(deep) == [3]
    assert all_members(tmp_path / "absent") == []


@pytest.mark.parametrize(
    ("group", "root", "folder"),
    [
        ("/", "/", "/sys/fs/cgroup"),
        ("/a/b", "/", "/sys/fs/cgroup/a/b"),
        ("/docker/c", "/docker/c", "/sys/fs/cgroup"),
        ("/docker/c/a", "/docker/c", "/sys/fs/cgroup/a"),
        ("/docker/cc", "/docker/c", "/sys/fs/cgroup"),
        ("/", "/docker/c", "/sys/fs/cgroup"),
    ],
)
def test_a_group_lies_below_the_part_that_is_mounted(group: str, root: str, folder: str) -> None:
    assert folder_of(group, root, "/sys/fs/cgroup") == folder


def test_a_fork_refused_in_a_group_that_a_member_made_counts(group: Path) -> None:
    (group / "inner").mkdir()
    refuse_forks(group, 0)
    refuse_forks(group / "inner", 1)
    assert was_full(group, 10)


def test_a_group_whose_forks_all_succeeded_was_not_full(group: Path) -> None:
    assert not was_full(group, 10)
    refuse_forks(group, 0)
    assert not was_full(group, 10)


def test_the_high_water_mark_tells_that_it_was_the_groups_own_limit(group: Path) -> None:
    refuse_forks(group, 3)
    (group / "pids.peak").write_text("10\n")
    assert was_full(group, 10)


def test_a_fork_refused_below_the_limit_is_an_ancestors_doing(group: Path) -> None:
    refuse_forks(group, 3)
    (group / "pids.peak").write_text("9\n")
    assert not was_full(group, 10)


def test_without_a_mark_a_full_ancestor_takes_the_blame(group: Path) -> None:
    refuse_forks(group, 1)
    limit(group.parent, 20, current=20)
    assert not was_full(group, 10)


def test_without_a_mark_ancestors_with_room_leave_it_to_the_group(group: Path) -> None:
    refuse_forks(group, 1)
    assert was_full(group, 10)
    limit(group.parent, 20, current=19)
    assert was_full(group, 10)


def test_a_full_ancestor_is_seen_at_any_height(group: Path) -> None:
    refuse_forks(group, 1)
    limit(group.parent.parent, 50, current=50)
    assert not was_full(group, 10)


def test_a_folder_that_is_gone_counts_as_removed(tmp_path: Path) -> None:
    remove_folder(tmp_path / "absent")


def test_a_folder_goes_with_those_in_it(tmp_path: Path) -> None:
    (tmp_path / "group" / "inner" / "most").mkdir(parents=True)
    (tmp_path / "group" / "beside").mkdir()
    remove_folder(tmp_path / "group")
    assert not (tmp_path / "group").exists()


def test_a_folder_that_is_busy_for_a_moment_is_removed_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "group"
    folder.mkdir()
    (folder / "file").touch()
    timer = threading.Timer(0.05, (folder / "file").unlink)
    timer.start()
    remove_folder(folder)
    timer.join()
    assert not folder.exists()


def test_a_folder_that_stays_busy_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_group, "_REMOVE_SECONDS", 0.05)
    folder = tmp_path / "group"
    folder.mkdir()
    (folder / "file").touch()
    with pytest.raises(OSError, match="not empty"):
        remove_folder(folder)
    assert folder.exists()
