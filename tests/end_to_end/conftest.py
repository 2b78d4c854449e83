"""The command as a user starts it: a process of its own, from the source tree, not installed.

Every process has a private folder for temporary files, so that what it leaves behind, files as
well as processes, can be told from everything else on the machine.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from cluster.ledger import read_verdicts
from cluster.store import LocalStore
from workers.records import Verdict

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "jobs" / "demo"

_OURS = ("PYTHONPATH", "COLUMNS", "TMPDIR", "TLAGRID_STORE", "TLAGRID_CONFIG")
_TOOLS = ("TLAGRID_JAVA", "TLAGRID_TLA2TOOLS", "TLAGRID_COMMUNITY_MODULES")

DEMO_SECONDS = 1500.0
"""On two idle cores it takes about three minutes."""


@dataclass(frozen=True)
class Running:
    """A started command; its output goes to files, which nobody has to empty."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8")

    @property
    def output(self) -> str:
        """All of it, for a test that failed."""
        return f"{self.stdout}\n--- standard error ---\n{self.stderr}"

    @property
    def code(self) -> int | None:
        return self.process.poll()

    def wait(self, seconds: float = 300.0) -> Running:
        self.process.wait(seconds)
        return self


class Tlagrid:
    """`python -m jobs`, with the tools that the tests run with and nothing else of ours."""

    root = ROOT
    """The source tree, for the `PYTHONPATH` of a command in another folder."""

    def __init__(self, logs: Path, temporary: Path, cache: Path) -> None:
        self._logs = logs
        self._started: list[Running] = []
        plain = {name: value for name, value in os.environ.items() if name not in _OURS}
        # Some commands start in another current folder.
        tools = {name: str(Path(plain[name]).absolute()) for name in _TOOLS if plain.get(name)}
        private = {"TMPDIR": str(temporary), "TLAGRID_CACHE": str(cache)}
        self._environment = plain | tools | private

    def __call__(
        self,
        *arguments: str | Path,
        stdin: bytes = b"",
        cwd: Path = ROOT,
        seconds: float = 300.0,
        **settings: str | Path,
    ) -> Running:
        """Run a command to its end."""
        return self.start(*arguments, stdin=stdin, cwd=cwd, **settings).wait(seconds)

    def start(
        self,
        *arguments: str | Path,
        stdin: bytes = b"",
        cwd: Path = ROOT,
        **settings: str | Path,
    ) -> Running:
        """Start a command in a process group of its own, as a shell does.

        `settings` are environment variables.
        """
        folder = Path(tempfile.mkdtemp(dir=self._logs))
        (folder / "stdin").write_bytes(stdin)
        with (
            (folder / "stdin").open("rb") as source,
            (folder / "stdout").open("wb") as out,
            (folder / "stderr").open("wb") as err,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", "jobs", *map(str, arguments)],
                cwd=cwd,
                env=self._environment | {name: str(value) for name, value in settings.items()},
                stdin=source,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._started.append(Running(process, folder))
        return self._started[-1]

    @staticmethod
    def arguments_of(line: str) -> list[str]:
        """The arguments of a command that another one printed, which a user can copy."""
        program, *rest = shlex.split(line)
        assert Path(shutil.which(program) or "").samefile(sys.executable), line
        assert rest[:2] == ["-m", "jobs"], line
        return rest[2:]

    def close(self) -> None:
        """End what a failed test left running."""
        for running in self._started:
            running.process.kill()
            running.process.wait()


@dataclass(frozen=True)
class DemoSweep:
    """The demo, graded once for all tests, and what was left when its process had ended."""

    command: tuple[str, ...]
    finished: Running
    store: Path
    run: str
    verdicts: tuple[Verdict, ...]
    temporary_files: tuple[str, ...]
    processes: tuple[str, ...]


@pytest.fixture(scope="session")
def demo() -> Path:
    """The folder of the demo sweep."""
    return DEMO


@pytest.fixture(scope="session")
def tlagrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tlagrid]:
    """The command."""
    temporary = _temporary_folder()
    command = Tlagrid(tmp_path_factory.mktemp("logs"), temporary, tmp_path_factory.mktemp("cache"))
    yield command
    command.close()
    shutil.rmtree(temporary, ignore_errors=True)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for the `TMPDIR` of the commands of one test."""
    folder = _temporary_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def demo_sweep(tlagrid: Tlagrid, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoSweep]:
    """The demo sweep, graded into a fresh store."""
    temporary = _temporary_folder()
    store = tmp_path_factory.mktemp("demo") / "store"
    command = ("sweep", "jobs/demo", "--store", str(store))
    finished = tlagrid(*command, TMPDIR=temporary, seconds=DEMO_SECONDS)
    files = tuple(str(path) for path in temporary.iterdir())
    processes = tuple(processes_with(temporary))
    runs = [path.name for path in (store / "runs").iterdir()]
    assert len(runs) == 1, finished.output
    verdicts = tuple(read_verdicts(LocalStore(store), runs[0]))
    yield DemoSweep(command, finished, store, runs[0], verdicts, files, processes)
    shutil.rmtree(temporary, ignore_errors=True)


@pytest.fixture(scope="session")
def processes_of() -> Callable[[Path], list[str]]:
    """What runs with a given folder for temporary files."""
    return processes_with


def processes_with(temporary: Path) -> list[str]:
    """The command lines of all processes that work in a folder for temporary files.

    Java has it in its command line, commands and Ray's daemons have it in their environment, and
    Ray's workers, which overwrite their environment, run in it.
    """
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            command = process.cmdline()
            places = [*command, *process.environ().values()]
            with suppress(psutil.Error):
                places.append(process.cwd())
            if process.status() != psutil.STATUS_ZOMBIE and any(
                str(temporary) in place for place in places
            ):
                found.append(f"{process.pid} {' '.join(command)}"[:200])
    return found


def _temporary_folder() -> Path:
    """Short, because Ray's sockets lie in it, and their paths are limited to 107 bytes."""
    return Path(tempfile.mkdtemp(prefix="tg", dir="/tmp"))
