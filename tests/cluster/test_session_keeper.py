from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import orjson
import psutil
import pytest

from cluster import session_keeper
from cluster.session_keeper import (
    PREFIX,
    SCRATCH_PREFIX,
    SESSION_VARIABLE,
    end_session,
    sweep_abandoned,
)


class Processes:
    """Idle processes with a given command line, title, environment and current folder."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(
        self, *arguments: str, title: str = "", session: str = "", cwd: Path = Path("/")
    ) -> psutil.Process:
        environment = os.environ | ({SESSION_VARIABLE: session} if session else {})
        process = self._stack.enter_context(
            subprocess.Popen(
                [title or sys.executable, "-c", "input()", *arguments],
                executable=sys.executable,
                stdin=subprocess.PIPE,
                env=environment,
                cwd=cwd,
            )
        )
        self._stack.callback(process.kill)
        return psutil.Process(process.pid)


@pytest.fixture
def processes() -> Iterator[Processes]:
    with ExitStack() as stack:
        yield Processes(stack)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / f"{PREFIX}x"
    (folder / "r").mkdir(parents=True)
    return folder


def is_running(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def test_only_rays_processes_of_the_session_end_with_it(
    folder: Path, tmp_path: Path, processes: Processes
) -> None:
    daemon = processes.start(f"--session={folder}/r", session=str(folder))
    agent = processes.start(title="ray::DashboardAgent", cwd=folder / "r")
    strangers = [
        processes.start(title="ray::IDLE", cwd=tmp_path),
        processes.start(f"--session={tmp_path}/other", session=str(tmp_path / "other")),
        processes.start(f"{folder}/r/log"),
        processes.start("graded program", session=str(folder), cwd=folder / "r"),
    ]
    end_session(folder)
    assert not is_running(daemon)
    assert not is_running(agent)
    assert all(is_running(process) for process in strangers)
    assert not folder.exists()


def own(folder: Path, **changes: object) -> None:
    session_keeper.write_owner(folder)
    owner = orjson.loads((folder / "owner.json").read_bytes())
    (folder / "owner.json").write_bytes(orjson.dumps(owner | changes))


def test_the_session_of_a_live_driver_is_left_alone(folder: Path) -> None:
    own(folder)
    sweep_abandoned(folder.parent)
    assert folder.exists()


def test_the_session_of_a_dead_driver_is_swept(folder: Path, processes: Processes) -> None:
    own(folder, started=1.0)
    agent = processes.start(title="ray::RuntimeEnvAgent", cwd=folder / "r")
    sweep_abandoned(folder.parent)
    assert not folder.exists()
    assert not is_running(agent)


def test_the_temporary_files_of_the_workers_go_with_their_session(
    folder: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / f"{SCRATCH_PREFIX}x"
    (scratch / "tlagrid-run-y").mkdir(parents=True)
    session_keeper.write_owner(folder, scratch)
    end_session(folder)
    assert not scratch.exists()
    assert not folder.exists()


def test_no_other_folder_is_ever_removed_with_a_session(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    own(folder, scratch=str(precious))
    end_session(folder)
    assert precious.exists()
    assert not folder.exists()


def test_a_session_of_another_host_or_container_is_left_alone(folder: Path) -> None:
    own(folder, started=1.0, where="elsewhere pid:[1]")
    sweep_abandoned(folder.parent)
    assert folder.exists()


def test_a_session_that_is_not_signed_yet_is_left_alone_while_it_is_young(folder: Path) -> None:
    sweep_abandoned(folder.parent)
    assert folder.exists()
    old = time.time() - 7200
    os.utime(folder, (old, old))
    sweep_abandoned(folder.parent)
    assert not folder.exists()


def test_a_link_with_the_name_of_a_session_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(target)
    old = time.time() - 7200
    os.utime(target, (old, old))
    sweep_abandoned(tmp_path)
    assert target.exists()


@pytest.mark.parametrize("last_word", [session_keeper.STOPPED, b""])
def test_the_keeper_tidies_up_when_its_pipe_ends_by_whichever_way(
    folder: Path, processes: Processes, last_word: bytes
) -> None:
    agent = processes.start(title="ray::DashboardAgent", cwd=folder / "r")
    command = [sys.executable, "-P", session_keeper.__file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as keeper:
        time.sleep(0.3)
        assert keeper.poll() is None
        assert is_running(agent)
        keeper.communicate(last_word, timeout=30)
    assert not is_running(agent)
    assert not folder.exists()
