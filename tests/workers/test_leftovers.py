import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from workers.control_group import PREFIX
from workers.enforcement import Enforcement, Tier
from workers.leftovers import (
    RUN_VARIABLE,
    kill_processes,
    remove_groups,
    remove_scratch,
    scratch_prefix,
)
from workers.process_identity import ProcessIdentity, start_ticks, this_process
from workers.runner import examine_node

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
SCRATCH = "tlagrid-run-"


@pytest.fixture(scope="module")
def living() -> Iterator[ProcessIdentity]:
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        yield replace(this_process(), pid=process.pid, started=start_ticks(process.pid) or 0)
        process.kill()


@pytest.fixture(scope="module")
def dead() -> ProcessIdentity:
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        identity = replace(this_process(), pid=process.pid, started=start_ticks(process.pid) or 0)
        process.kill()
    return identity


def replaced(living: ProcessIdentity) -> ProcessIdentity:
    """A process that is dead, whose pid another one has."""
    return replace(living, started=living.started - 1)


def elsewhere(dead: ProcessIdentity) -> ProcessIdentity:
    """A process of a container that we do not see into."""
    return replace(dead, namespace=dead.namespace + 1)


def of_an_earlier_boot(living: ProcessIdentity) -> ProcessIdentity:
    return replace(living, boot=other(living.boot))


def of_another_machine(living: ProcessIdentity) -> ProcessIdentity:
    """A process of a machine with which this one shares a folder."""
    return replace(living, machine=other(living.machine), boot=other(living.boot))


def other(name: str) -> str:
    return "ffffffff" if name == "00000000" else "00000000"


# Scratch folders


def scratch(folder: Path, identity: ProcessIdentity) -> Path:
    made = folder / f"{SCRATCH}{identity}-x7_k"
    (made / "scratch").mkdir(parents=True)
    (made / "scratch" / "file").write_text("x")
    return made


def test_the_folder_of_a_dead_worker_is_removed_with_what_is_in_it(
    tmp_path: Path, dead: ProcessIdentity
) -> None:
    folders = [scratch(tmp_path / name, dead) for name in ("here", "there")]
    assert remove_scratch(tmp_path / "here") == 1
    assert [folder.exists() for folder in folders] == [False, True]


def test_the_folder_of_a_living_worker_stays(tmp_path: Path, living: ProcessIdentity) -> None:
    folders = [scratch(tmp_path, living), scratch(tmp_path, this_process())]
    assert remove_scratch(tmp_path) == 0
    assert all((folder / "scratch" / "file").exists() for folder in folders)


def test_this_process_names_its_folders_so_that_they_stay(tmp_path: Path) -> None:
    folder = tmp_path / f"{scratch_prefix()}abc"
    folder.mkdir()
    assert remove_scratch(tmp_path) == 0
    assert folder.exists()


def test_a_pid_that_was_given_away_again_protects_no_folder(
    tmp_path: Path, living: ProcessIdentity
) -> None:
    folder = scratch(tmp_path, replaced(living))
    assert remove_scratch(tmp_path) == 1
    assert not folder.exists()


def test_the_folder_of_a_worker_in_another_container_stays(
    tmp_path: Path, dead: ProcessIdentity
) -> None:
    folder = scratch(tmp_path, elsewhere(dead))
    assert remove_scratch(tmp_path) == 0
    assert folder.exists()


def test_the_folder_of_a_worker_on_another_machine_stays(
    tmp_path: Path, living: ProcessIdentity
) -> None:
    folder = scratch(tmp_path, of_another_machine(living))
    assert remove_scratch(tmp_path) == 0
    assert folder.exists()


def test_the_folder_of_a_worker_of_an_earlier_boot_is_removed(
    tmp_path: Path, living: ProcessIdentity
) -> None:
    folder = scratch(tmp_path, of_an_earlier_boot(living))
    assert remove_scratch(tmp_path) == 1
    assert not folder.exists()


def test_folders_of_other_programs_stay(tmp_path: Path, dead: ProcessIdentity) -> None:
    for name in (f"other-{dead}", f"{SCRATCH}notes", f"x{SCRATCH}{dead}", SCRATCH):
        (tmp_path / name).mkdir()
    assert remove_scratch(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 4


def test_a_link_with_such_a_name_is_not_followed(tmp_path: Path, dead: ProcessIdentity) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (tmp_path / f"{SCRATCH}{dead}-x").symlink_to(kept)
    assert remove_scratch(tmp_path) == 0
    assert (kept / "file").exists()


def test_links_inside_go_but_not_what_they_lead_to(tmp_path: Path, dead: ProcessIdentity) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder = scratch(tmp_path, dead)
    (folder / "scratch" / "around").symlink_to(kept)
    (folder / "scratch" / "file link").symlink_to(kept / "file")
    assert remove_scratch(tmp_path) == 1
    assert not folder.exists()
    assert (kept / "file").read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_stays(tmp_path: Path, dead: ProcessIdentity) -> None:
    folder = scratch(tmp_path, dead)
    os.chown(folder, NOBODY, NOBODY)
    assert remove_scratch(tmp_path) == 0
    assert folder.exists()


LOCK_AND_REMOVE = """
import ctypes, os, sys
from pathlib import Path
from workers.leftovers import remove_scratch
if os.geteuid() == 0:
    os.setgroups([]); os.setresgid(*[65534] * 3); os.setresuid(*[65534] * 3)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: who it is stays readable for it
folder = Path(sys.argv[1])
(folder / "scratch" / "inner").mkdir(parents=True)
(folder / "scratch" / "inner" / "file").write_text("x")
(folder / "scratch" / "file").write_text("x")
Path(folder, sys.argv[2]).chmod(0)
print(remove_scratch(folder.parent))
"""


@pytest.mark.parametrize("locked", ["scratch/inner", "scratch", "."])
def test_a_folder_that_a_tool_has_locked_is_removed_all_the_same(
    dead: ProcessIdentity, locked: str
) -> None:
    """As an ordinary user, whom the mode of a folder binds."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o777)
        folder = Path(parent, f"{SCRATCH}{dead}-x")
        done = subprocess.run(
            [sys.executable, "-c", LOCK_AND_REMOVE, folder, locked],
            env={"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            check=True,
        )
        assert done.stdout == b"1\n"
        assert not folder.exists()


def test_a_folder_as_deep_as_a_tool_can_make_it_is_removed(
    tmp_path: Path, dead: ProcessIdentity
) -> None:
    folder = scratch(tmp_path, dead)
    nest = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    try:
        subprocess.run([sys.executable, "-c", nest], cwd=folder, check=True)
        assert remove_scratch(tmp_path) == 1
        assert not folder.exists()
    finally:
        subprocess.run(["/bin/rm", "-rf", folder], check=True)


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert remove_scratch(tmp_path / "absent") == 0


# Processes


Mark = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def mark() -> Iterator[Mark]:
    """Start a process that carries the name of a run."""
    processes = []

    def start(name: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(["/bin/sleep", "600"], env={RUN_VARIABLE: name})
        processes.append(process)
        environment = Path(f"/proc/{process.pid}/environ")
        deadline = time.monotonic() + 5
        while not environment.read_bytes():  # not there yet right after exec
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def goes_on(process: "subprocess.Popen[bytes]") -> bool:
    """Whether it has not been killed, which would take it a moment."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.1)
    return process.returncode is None


def test_processes_of_a_dead_guard_are_killed(mark: Mark, dead: ProcessIdentity) -> None:
    processes = [mark(f"{PREFIX}{dead}-{number}") for number in (1, 20)]
    assert kill_processes() >= 2
    assert [process.wait(5) for process in processes] == [-signal.SIGKILL] * 2


def test_processes_of_a_living_guard_stay(mark: Mark, living: ProcessIdentity) -> None:
    process = mark(f"{PREFIX}{living}-1")
    kill_processes()
    assert goes_on(process)


def test_a_pid_that_was_given_away_again_protects_no_process(
    mark: Mark, living: ProcessIdentity
) -> None:
    process = mark(f"{PREFIX}{replaced(living)}-1")
    kill_processes()
    assert process.wait(5) == -signal.SIGKILL
    assert not living.is_ended


def test_processes_of_a_guard_in_another_container_stay(mark: Mark, dead: ProcessIdentity) -> None:
    process = mark(f"{PREFIX}{elsewhere(dead)}-1")
    kill_processes()
    assert goes_on(process)


def test_processes_of_a_guard_on_another_machine_stay(mark: Mark, living: ProcessIdentity) -> None:
    process = mark(f"{PREFIX}{of_another_machine(living)}-1")
    kill_processes()
    assert goes_on(process)


@pytest.mark.parametrize("name", ["", "tlagrid-", "1-2-3-4", "mine"])
def test_a_variable_that_names_no_guard_marks_nobody(mark: Mark, name: str) -> None:
    process = mark(name)
    kill_processes()
    assert goes_on(process)


def test_a_name_in_another_variable_marks_nobody(dead: ProcessIdentity) -> None:
    environment = {f"X_{RUN_VARIABLE}": f"{dead}", "X": f"{RUN_VARIABLE}={dead}"}
    with subprocess.Popen(["/bin/sleep", "600"], env=environment) as process:
        kill_processes()
        assert goes_on(process)
        process.kill()


# Control groups


def group_folders(parent: Path, *identities: ProcessIdentity) -> list[Path]:
    folders = [parent / f"{PREFIX}{identity}-1" for identity in identities]
    for folder in folders:
        folder.mkdir()
    return folders


def test_only_groups_whose_guards_are_gone_are_removed(
    tmp_path: Path, dead: ProcessIdentity, living: ProcessIdentity
) -> None:
    gone = group_folders(tmp_path, dead, replaced(living))
    kept = group_folders(tmp_path, living, this_process(), elsewhere(dead))
    for name in ("tlagrid-callers", f"other-{dead}-1"):
        (tmp_path / name).mkdir()
        kept.append(tmp_path / name)
    assert remove_groups(Enforcement(Tier.CGROUP_V2, {"unified": str(tmp_path)})) == 2
    assert not any(folder.exists() for folder in gone)
    assert all(folder.exists() for folder in kept)


def test_a_group_of_version_1_goes_from_every_hierarchy_that_still_has_it(
    tmp_path: Path, dead: ProcessIdentity
) -> None:
    parents = {name: tmp_path / name for name in ("cpuacct", "freezer", "memory", "pids")}
    for folder in parents.values():
        folder.mkdir()
    left = [*group_folders(parents["pids"], dead), *group_folders(parents["memory"], dead)]
    enforcement = Enforcement(
        Tier.CGROUP_V1, {name: str(folder) for name, folder in parents.items()}
    )
    assert remove_groups(enforcement) == 1
    assert not any(folder.exists() for folder in left)


def test_without_groups_there_is_nothing_to_remove(tmp_path: Path) -> None:
    assert remove_groups(Enforcement(Tier.SAMPLING)) == 0
    assert remove_groups(Enforcement(Tier.CGROUP_V2, {"unified": str(tmp_path / "absent")})) == 0


def test_a_real_group_goes_with_the_processes_in_it(dead: ProcessIdentity) -> None:
    grouped = [each for each in examine_node().enforcements if each.tier is not Tier.SAMPLING]
    if not grouped:
        pytest.skip("this node has no control groups that we may use")
    for enforcement in grouped:
        folders = [parent / f"{PREFIX}{dead}-9" for parent in enforcement.group_folders]
        with subprocess.Popen(["/bin/sleep", "600"]) as process:
            try:
                for folder in folders:
                    folder.mkdir()
                    join(folder, process.pid)
                assert remove_groups(enforcement) >= 1
                assert process.wait(5) == -signal.SIGKILL
                assert not any(folder.exists() for folder in folders)
            finally:
                process.kill()
                process.wait()
                for folder in folders:
                    with suppress(FileNotFoundError):
                        folder.rmdir()


def join(folder: Path, pid: int) -> None:
    """Move a process into a group; a cpuset of version 1 takes nobody before it has CPUs."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (folder / name).exists() and (folder.parent / name).exists():
            (folder / name).write_text((folder.parent / name).read_text().strip())
    deadline = time.monotonic() + 5
    while True:
        try:
            (folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            return
