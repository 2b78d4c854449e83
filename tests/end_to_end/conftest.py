"""The command as a user starts it: a process of its own, from the source tree, not installed.

Each process has a private folder for temporary files, so that what it leaves behind, files and
processes, can be told from everything else on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from cluster.ledger import read_verdicts
from cluster.store import LocalStore
from workers.records import Verdict

Finished = subprocess.CompletedProcess[str]
Start = Callable[..., subprocess.Popen[str]]

ROOT = Path(__file__).resolve().parents[2]
DEMO = "jobs/demo"


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


def _private_folder() -> Path:
    """Short, because Ray's sockets lie below it, and a socket's path has at most 107 bytes."""
    return Path(tempfile.mkdtemp(prefix="tg", dir="/tmp"))


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A private folder for temporary files, for `TMPDIR`."""
    folder = _private_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of all commands: the tools that the tests run with, and nothing else of us.

    All share one cache, as the commands of one user do.
    """
    ours = ("PYTHONPATH", "COLUMNS", "TLAGRID_STORE", "TLAGRID_CONFIG", "TMPDIR")
    plain = {name: value for name, value in os.environ.items() if name not in ours}
    # Settings are found from another current folder, too.
    for name in ("TLAGRID_JAVA", "TLAGRID_TLA2TOOLS", "TLAGRID_COMMUNITY_MODULES"):
        if path := plain.get(name):
            plain[name] = str(Path(path).absolute())
    folder = _private_folder()
    yield plain | {"TMPDIR": str(folder), "TLAGRID_CACHE": str(tmp_path_factory.mktemp("cache"))}
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def start(environment: dict[str, str]) -> Iterator[Start]:
    """Start `tlagrid ARGUMENTS` in a process group of its own, as a shell would.

    Keywords in capitals are environment variables; the others are those of `Popen`.
    """
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path, cwd: Path = ROOT, **keywords: object) -> (
        subprocess.Popen[str]
    ):
        settings = {name: str(value) for name, value in keywords.items() if name.isupper()}
        process = subprocess.Popen(
            [sys.executable, "-m", "jobs", *map(str, arguments)],
            cwd=cwd,
            env=environment | settings,
            text=True,
            encoding="utf-8",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with process:
            process.kill()
