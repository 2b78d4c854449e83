import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from workers.core_pinning import Cores
from workers.enforcement import Enforcement, Tier
from workers.launch import Launch, StartError
from workers.limits import Limits
from workers.run_protocol import RunRequest
from workers.runner import ProcessResult, RunnerError, examine_node, run

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=256 * MIB,
    processes=100,
    scratch_bytes=MIB,
    output_bytes=MIB,
)
REPORT = """
import os, resource, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
def show(*values): print(*values, flush=True)
"""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.outputs = [os.pipe() for _ in range(2)]

    def run(self, program: str, **changes: Any) -> ProcessResult:
        given: dict[str, Any] = {"limits": LIMITS, "environment": {}} | changes
        argv = [sys.executable, "-I", "-S", "-c", REPORT + program]
        spool = self.folder / f"spool{len(list(self.folder.iterdir()))}"
        return run(argv, scratch=self.scratch, spool=spool, **given)

    def answer(self, program: str, **changes: Any) -> list[str]:
        result = self.run(program, **changes)
        assert result.exit_code == 0, result.stderr.read_text()
        return result.stdout.read_text().split()

    def launch(
        self,
        argv: Sequence[str] = ("/bin/true",),
        environment: Mapping[str, str] | None = None,
        **changes: Any,
    ) -> Launch:
        request = RunRequest(
            program=argv[0],
            argv=tuple(argv),
            environment={},
            scratch=str(self.scratch),
            stdout="",
            stderr="",
            limits=LIMITS,
            enforcement=Enforcement(Tier.SAMPLING),
            core_locks="",
        )
        cpus = tuple(os.sched_getaffinity(0))
        fields: dict[str, Any] = {"group": None, "cores": Cores(cpus, shared=False)} | changes
        outputs = (self.outputs[0][1], self.outputs[1][1])
        return Launch(request, dict(environment or {}), outputs, **fields)

    def close(self) -> None:
        for pipe in self.outputs:
            for end in pipe:
                os.close(end)


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


class RefusingGroup:
    """A control group that lets nobody in."""

    wake = None

    def enter(self) -> None:
        raise PermissionError(13, "Permission denied", "cgroup.procs")


def wait_until(holds: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_gains_no_privileges_by_executing_another(bench: Bench) -> None:
    assert bench.answer('show(status["NoNewPrivs"])') == ["1"]


def test_a_program_is_the_first_that_the_kernel_takes_when_memory_runs_out(bench: Bench) -> None:
    assert bench.answer('show(open("/proc/self/oom_score_adj").read())') == ["1000"]


def test_a_program_is_bound_to_its_cores(bench: Bench) -> None:
    result = bench.run("show(*sorted(os.sched_getaffinity(0)))")
    assert tuple(map(int, result.stdout.read_text().split())) == result.cores


def test_a_program_does_not_inherit_its_supervisors_priority(bench: Bench) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert bench.answer("show(os.getpriority(os.PRIO_PROCESS, 0))") == [str(own)]


def test_the_kernels_own_limits_stand_beside_what_is_counted(bench: Bench) -> None:
    names = ["CORE", "NOFILE", "FSIZE", "CPU"]
    program = f"show(*(resource.getrlimit(getattr(resource, 'RLIMIT_' + n))[1] for n in {names}))"
    limits = replace(LIMITS, open_files=50, cpu_seconds=7.5, scratch_bytes=300 * MIB)
    assert bench.answer(program, limits=limits) == ["1", "50", str(600 * MIB), "9"]
    # A file in /dev/shm may be as large as memory.
    assert bench.answer(program)[2] == str(512 * MIB)


def test_private_memory_has_a_brake_only_where_no_group_counts_it(bench: Bench) -> None:
    program = "show(resource.getrlimit(resource.RLIMIT_DATA)[1])"
    for enforcement in examine_node().enforcements:
        (brake,) = bench.answer(program, enforcement=enforcement)
        if enforcement.tier is Tier.SAMPLING:
            assert 2 * LIMITS.memory_bytes <= int(brake) < 2 * LIMITS.memory_bytes + (2 << 30)
        else:
            assert int(brake) == resource.getrlimit(resource.RLIMIT_DATA)[1]


def test_files_are_made_for_this_user_alone(bench: Bench) -> None:
    bench.answer('open("file", "w").close(); os.mkdir("folder")')
    assert (bench.scratch / "file").stat().st_mode & 0o777 == 0o600
    assert (bench.scratch / "folder").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("limit", ["memory_bytes", "scratch_bytes"])
def test_a_limit_that_the_kernel_cannot_hold_is_not_taken_for_the_commands_failure(
    bench: Bench, limit: str
) -> None:
    try:
        result = bench.run("", limits=replace(LIMITS, **{limit: 1 << 62}))
    except RunnerError:
        return
    assert result.exit_code == 0


def test_cpu_time_without_a_limit_is_not_taken_for_the_commands_failure(bench: Bench) -> None:
    try:
        result = bench.run("", limits=replace(LIMITS, cpu_seconds=float("inf")))
    except RunnerError:
        return
    assert result.exit_code == 0


def test_a_program_dies_with_its_supervisor_guard_and_keeper(bench: Bench) -> None:
    """Nobody is left to end it; the kernel does."""
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            bench.run(
                "import time\nopen('pids.tmp', 'w').write(f'{os.getpid()} {os.getppid()}')\n"
                "os.rename('pids.tmp', 'pids'); time.sleep(600)"
            )
        except RunnerError as error:
            errors.append(error)

    thread = Thread(target=attempt)
    thread.start()
    wait_until((bench.scratch / "pids").exists, 60)
    main, supervisor = map(int, (bench.scratch / "pids").read_text().split())
    guard = parent_of(supervisor)
    keeper = parent_of(guard)
    assert parent_of(keeper) == os.getpid()
    for pid in (keeper, guard, supervisor):
        os.kill(pid, signal.SIGKILL)
    thread.join()
    assert "ended without a result" in str(errors[0])
    wait_until(lambda: not is_alive(main))
    assert bench.answer("show('next')") == ["next"]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return line.rpartition(")")[2].split()[0] not in "ZX"


# What cannot be started


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["/absent"], "/absent cannot be started: .*No such file"),
        (["/etc/passwd"], "/etc/passwd cannot be started: .*Permission denied"),
        (["/bin/true", "\ud800"], "/bin/true cannot be started: .*surrogates not allowed"),
        (["/bin/true", "x" * 200_000], "/bin/true cannot be started: .*Argument list too long"),
    ],
    ids=["absent", "no program", "not to be encoded", "too long"],
)
def test_what_cannot_be_executed_says_why(bench: Bench, argv: list[str], reason: str) -> None:
    with pytest.raises(StartError, match=reason):
        bench.launch(argv).start()


def test_a_variable_that_cannot_be_passed_on_is_an_error(bench: Bench) -> None:
    with pytest.raises(StartError, match="/bin/true cannot be started"):
        bench.launch(environment={"A=B": "x"}).start()


def test_a_scratch_folder_that_is_gone_is_an_error(bench: Bench) -> None:
    bench.scratch.rmdir()
    with pytest.raises(StartError, match=r"cannot be started: .*No such file.*scratch"):
        bench.launch().start()


def test_a_program_that_its_group_does_not_take_does_not_run(bench: Bench) -> None:
    argv = ["/bin/sh", "-c", "echo x > ran"]
    with pytest.raises(StartError, match=r"cannot be started: .*Permission denied.*cgroup\.procs"):
        bench.launch(argv, group=RefusingGroup()).start()
    assert not (bench.scratch / "ran").exists()


def test_cores_that_were_taken_away_are_an_error(bench: Bench) -> None:
    with pytest.raises(StartError, match=r"cannot be started: .*Invalid argument"):
        bench.launch(cores=Cores((1023,), shared=False)).start()


def test_a_start_that_failed_leaves_no_child_and_no_descriptor(bench: Bench) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(StartError):
        bench.launch(["/absent"]).start()
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if children.exists():
        states = [Path(f"/proc/{pid}/stat").read_text() for pid in children.read_text().split()]
        assert not any(" Z " in state for state in states)
