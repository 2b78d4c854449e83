import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workers.limits import Limit, Limits
from workers.runner import RunnerError, run

LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=1 << 30,
    processes=100,
    scratch_bytes=1 << 20,
    output_bytes=1 << 20,
)
DAEMON = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    with open("daemon.tmp", "w") as f: f.write(str(os.getpid()))
    os.rename("daemon.tmp", "daemon")
    time.sleep(600)
while not os.path.exists("daemon"): time.sleep(0.01)
"""


def attempt(folder: Path, program: str, limits: Limits = LIMITS) -> Limit | None:
    (folder / "scratch").mkdir()
    argv = [sys.executable, "-I", "-S", "-c", program]
    scratch, spool = folder / "scratch", folder / "spool"
    return run(argv, environment={}, scratch=scratch, spool=spool, limits=limits).limit


def daemon_is_gone(folder: Path) -> bool:
    return not Path("/proc", (folder / "scratch" / "daemon").read_text()).exists()


def test_a_command_that_kills_its_supervisor_is_swept_by_the_guard(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="ended without a result"):
        attempt(tmp_path, DAEMON + "os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)")
    assert daemon_is_gone(tmp_path)


def test_a_command_cannot_freeze_its_supervisor(tmp_path: Path) -> None:
    limit = attempt(
        tmp_path,
        DAEMON + "os.kill(os.getppid(), signal.SIGSTOP); time.sleep(600)",
        replace(LIMITS, wall_seconds=1),
    )
    assert limit is Limit.WALL
    assert daemon_is_gone(tmp_path)


def test_a_command_cannot_freeze_all_that_watch_it(tmp_path: Path) -> None:
    limit = attempt(
        tmp_path,
        DAEMON
        + """
def parent(pid): return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
supervisor = os.getppid()
guard = parent(supervisor)
for each in (parent(guard), guard, supervisor): os.kill(each, signal.SIGSTOP)
time.sleep(600)
""",
        replace(LIMITS, wall_seconds=1),
    )
    assert limit is Limit.WALL
    assert daemon_is_gone(tmp_path)


def test_a_command_cannot_end_its_supervisor_with_soft_signals(tmp_path: Path) -> None:
    program = "import os, signal\nfor s in (1, 2, 3, 15): os.kill(os.getppid(), s)"
    assert attempt(tmp_path, program) is None


def test_a_command_that_reads_its_own_output_does_not_confuse_the_spool(tmp_path: Path) -> None:
    program = """if True:
        import os
        own = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
        for _ in range(200):
            os.write(1, b"x")
            try: os.read(own, 10)
            except BlockingIOError: pass
        os.close(own)
        os.write(1, b"end")
    """
    assert attempt(tmp_path, program) is None
    assert (tmp_path / "spool" / "stdout").read_bytes().endswith(b"end")


def test_the_supervisor_carries_nothing_of_the_callers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    attempt(
        tmp_path,
        "import os; print(open(f'/proc/{os.getppid()}/environ').read())",
    )
    assert "s3cret" not in (tmp_path / "spool" / "stdout").read_text()


def test_a_module_in_the_scratch_folder_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "select.py").write_text("raise SystemExit")
    result = run(
        ["/bin/true"],
        environment={"PYTHONPATH": str(tmp_path / "scratch")},
        scratch=tmp_path / "scratch",
        spool=tmp_path / "spool",
        limits=LIMITS,
    )
    assert result.exit_code == 0
