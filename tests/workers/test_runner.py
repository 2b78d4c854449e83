import _thread
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from workers.limits import Limit, Limits
from workers.node_pressure import NodePressure
from workers.records import SUBKINDS, Outcome
from workers.run_protocol import RunReport
from workers.runner import ProcessResult, RunnerError, _was_starved, examine_node, run

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=1024 * MIB,
    processes=100,
    scratch_bytes=100 * MIB,
    output_bytes=MIB,
)
ROOT = Path(__file__).resolve().parents[2]

# Programs for `python`: a daemon that leaves its parent, its session and its shell behind, and
# a loop that burns CPU time for a while.
DAEMON = """
import os, sys, time
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open("daemon.tmp", "w") as f: f.write(str(os.getpid()))
            os.rename("daemon.tmp", "daemon")
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not os.path.exists("daemon"): time.sleep(0.01)
"""
BURN = """
import os, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""


class Bench:
    """Runs commands in a folder of its own, each run with a new spool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.runs = 0

    def run(
        self,
        argv: Sequence[str],
        limits: Limits = LIMITS,
        environment: Mapping[str, str] | None = None,
    ) -> ProcessResult:
        self.runs += 1
        return run(
            argv,
            environment=environment or {},
            scratch=self.scratch,
            spool=self.folder / f"spool{self.runs}",
            limits=limits,
        )

    def python(self, program: str, limits: Limits = LIMITS) -> ProcessResult:
        return self.run([sys.executable, "-I", "-S", "-c", program], limits)

    def pid(self, name: str) -> int:
        return int((self.scratch / name).read_text())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def is_alive(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return line.rpartition(")")[2].split()[0] not in "ZX"


def children() -> list[str]:
    """Pids of this process's children, among them the guard that serves all its runs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            line = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if line.rpartition(")")[2].split()[1] == str(os.getpid()):
            found.append(stat.parent.name)
    return found


def groups() -> set[Path]:
    """Control groups of runs, wherever this node's tier makes them."""
    folders = examine_node().enforcements[0].group_folders
    return {group for folder in folders for group in folder.glob("tlagrid-*-*")}


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)


def caller(bench: Bench, program: str, before: str = "") -> "subprocess.Popen[bytes]":
    """Start a Python process that runs `program` (as Python) with `run`."""
    script = f"""
import os, resource, signal, sys
from pathlib import Path
from workers.limits import Limits
from workers.runner import RunnerError, run
{before}
try:
    print(run([sys.executable, "-I", "-S", "-c", {program!r}], environment={{}},
          scratch=Path({str(bench.scratch)!r}), spool=Path({str(bench.folder / "spool")!r}),
          limits={LIMITS!r}))
except RunnerError as error:
    print("RunnerError:", error)
"""
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )


def test_the_limits_are_the_subkinds_of_a_resource_limit() -> None:
    assert {str(limit) for limit in Limit} <= SUBKINDS[Outcome.RESOURCE_LIMIT]


def test_a_limit_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="memory_bytes is 0"):
        replace(LIMITS, memory_bytes=0)


# How a run ends


def test_a_program_that_ends_well_has_exit_code_0_and_no_limit(bench: Bench) -> None:
    result = bench.run(["/bin/true"])
    assert (result.exit_code, result.signal, result.limit) == (0, None, None)
    assert 0 < result.cpu_seconds < 5
    assert 0 < result.wall_seconds < 30
    assert 0 < result.peak_memory_bytes < 50 * MIB
    assert result.output_bytes == 0
    assert result.enforced_by == str(examine_node().enforcements[0])


def test_the_exit_code_is_the_programs(bench: Bench) -> None:
    result = bench.run(["/bin/sh", "-c", "exit 77"])
    assert (result.exit_code, result.signal, result.limit) == (77, None, None)


def test_a_signal_from_elsewhere_is_reported_without_a_limit(bench: Bench) -> None:
    result = bench.run(["/bin/sh", "-c", "kill -9 $$"])
    assert (result.exit_code, result.signal, result.limit) == (None, signal.SIGKILL, None)


def test_a_crash_leaves_no_core_file(bench: Bench) -> None:
    result = bench.run(["/bin/sh", "-c", "ulimit -c unlimited; kill -SEGV $$"])
    assert (result.exit_code, result.signal, result.limit) == (None, signal.SIGSEGV, None)
    assert list(bench.scratch.iterdir()) == []


# What a program is given


def test_the_environment_is_exactly_the_one_given(bench: Bench) -> None:
    given = {"A": "1", "WITH": "x=y\nz", "ÜMLAUT": "é", "EMPTY": ""}
    result = bench.run(["/usr/bin/env", "-0"], environment=given)
    expected = {f"{name}={value}".encode() for name, value in given.items()}
    found = set(result.stdout.read_bytes().split(b"\0"))
    assert {entry for entry in found if not entry.startswith(b"TLAGRID_RUN=")} == expected | {b""}


def test_without_an_environment_there_is_only_the_runs_name(bench: Bench) -> None:
    assert re.fullmatch(rb"TLAGRID_RUN=[\w-]+\n", bench.run(["/usr/bin/env"]).stdout.read_bytes())


def test_the_program_is_looked_up_in_the_path_given(bench: Bench) -> None:
    result = bench.run(["sh", "-c", "echo $0"], environment={"PATH": "/nowhere:/bin"})
    assert result.stdout.read_bytes() == b"sh\n"


def test_arguments_arrive_unchanged(bench: Bench) -> None:
    arguments = ["", "a b", "ü", "\udcff", "-x", "\n"]
    result = bench.run(["/usr/bin/printf", "%s|", *arguments])
    assert result.stdout.read_bytes() == b"".join(os.fsencode(a) + b"|" for a in arguments)


def test_standard_input_is_empty(bench: Bench) -> None:
    result = bench.run(["/bin/cat"])
    assert (result.exit_code, result.output_bytes) == (0, 0)


def test_a_program_has_its_own_session_in_its_scratch_folder_and_nothing_else_open(
    bench: Bench,
) -> None:
    result = bench.python("""if True:
        import os, signal
        print(os.getcwd(), os.getsid(0) == os.getpid(), oct(os.umask(0)))
        print(*(n for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)))
        status = open("/proc/self/status").read()
        print(*(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")))
    """)
    lines = result.stdout.read_text().splitlines()
    assert lines == [f"{bench.scratch} True 0o77", "0 1 2", "0" * 16]


def test_a_program_that_is_missing_is_an_error_of_the_runner(bench: Bench) -> None:
    with pytest.raises(RunnerError, match=r"/nowhere/java cannot be started: .*No such file"):
        bench.run(["/nowhere/java"])
    with pytest.raises(RunnerError, match=r"java-x is not in the run's PATH \(/nowhere\)"):
        bench.run(["java-x"], environment={"PATH": "/nowhere"})


def test_a_program_that_cannot_be_executed_is_an_error_of_the_runner(bench: Bench) -> None:
    (bench.scratch / "text").write_text("not a program")
    with pytest.raises(RunnerError, match=r"text cannot be started: .*Permission denied"):
        bench.run(["./text"])


def test_folders_that_do_not_fit_are_refused(bench: Bench) -> None:
    def attempt(scratch: Path, spool: Path) -> None:
        run(["/bin/true"], environment={}, scratch=scratch, spool=spool, limits=LIMITS)

    with pytest.raises(RunnerError, match=r"scratch folder .* does not exist"):
        attempt(bench.folder / "absent", bench.folder / "spool")
    with pytest.raises(ValueError, match="inside scratch"):
        attempt(bench.scratch, bench.scratch / "spool")
    attempt(bench.scratch, bench.folder / "spool")
    with pytest.raises(RunnerError, match=r"File exists: '.*/spool/stdout'"):
        attempt(bench.scratch, bench.folder / "spool")


# Limits


def test_a_sleeper_ends_by_the_wall_limit(bench: Bench) -> None:
    result = bench.run(["/bin/sleep", "600"], replace(LIMITS, wall_seconds=0.3))
    assert (result.exit_code, result.signal, result.limit) == (None, signal.SIGKILL, Limit.WALL)
    assert 0.3 <= result.wall_seconds < 10
    assert result.cpu_seconds < 0.3


def test_a_program_that_ignores_every_signal_ends_all_the_same(bench: Bench) -> None:
    result = bench.python(
        """if True:
        import signal, time
        for s in signal.valid_signals() - {9, 19}: signal.signal(s, signal.SIG_IGN)
        time.sleep(600)
        """,
        replace(LIMITS, wall_seconds=1),
    )
    assert result.limit is Limit.WALL


@pytest.mark.parametrize(
    ("limit", "cpu", "pressure", "cores", "starved"),
    [
        pytest.param("wall", 5.0, NodePressure(cpu=0.5), 1, True, id="waited on a busy node"),
        pytest.param("wall", 9.5, NodePressure(cpu=0.9), 1, False, id="had its core all the time"),
        pytest.param("wall", 9.5, NodePressure(cpu=0.9), 2, True, id="had one of two cores"),
        pytest.param("wall", 0.1, NodePressure(cpu=0.01), 1, False, id="slept on a calm node"),
        pytest.param("wall", 9.9, NodePressure(steal=0.3), 1, True, id="the hypervisor took it"),
        pytest.param("cpu", 5.0, NodePressure(memory=0.2), 1, True, id="waited for memory"),
        pytest.param("wall", 0.1, NodePressure(), 1, False, id="a node that tells nothing"),
        pytest.param("memory", 5.0, NodePressure(cpu=0.5), 1, None, id="not about time"),
        pytest.param(None, 5.0, NodePressure(cpu=0.5), 1, None, id="no limit"),
    ],
)
def test_a_limit_on_time_is_doubted_where_a_busy_node_kept_the_run_from_its_cores(
    limit: str | None, cpu: float, pressure: NodePressure, cores: int, starved: bool | None
) -> None:
    report = RunReport(limit=limit, cpu_seconds=cpu, wall_seconds=10.0, pressure=pressure)
    assert _was_starved(report, replace(LIMITS, cores=cores)) is starved


def test_threads_that_spin_end_by_the_cpu_limit(bench: Bench) -> None:
    result = bench.python(
        BURN
        + "import threading\nfor _ in range(3): threading.Thread(target=burn, args=(600,)).start()",
        replace(LIMITS, cpu_seconds=0.5),
    )
    assert (result.signal, result.limit) == (signal.SIGKILL, Limit.CPU)
    assert 0.5 < result.cpu_seconds < 2


def test_a_process_that_grows_ends_by_the_memory_limit(bench: Bench) -> None:
    result = bench.python(
        "import time; x = b'x' * (150 << 20); time.sleep(600)",
        replace(LIMITS, memory_bytes=100 * MIB),
    )
    assert (result.signal, result.limit) == (signal.SIGKILL, Limit.MEMORY)
    assert 100 * MIB <= result.peak_memory_bytes < 200 * MIB


def test_output_up_to_the_limit_is_complete(bench: Bench) -> None:
    result = bench.python(
        "import os\nfor _ in range(1000): os.write(1, bytes(range(256))); os.write(2, b'\\xff\\n')",
        replace(LIMITS, output_bytes=258_000),
    )
    assert (result.exit_code, result.limit, result.output_bytes) == (0, None, 258_000)
    assert result.stdout.read_bytes() == bytes(range(256)) * 1000
    assert result.stderr.read_bytes() == b"\xff\n" * 1000


def test_one_byte_more_fires_the_output_limit(bench: Bench) -> None:
    result = bench.run(["/usr/bin/printf", "12345678901"], replace(LIMITS, output_bytes=10))
    assert result.limit is Limit.OUTPUT
    assert result.stdout.read_bytes() == b"1234567890"
    assert result.output_bytes == 10


def test_a_flood_of_output_ends_by_its_limit(bench: Bench) -> None:
    result = bench.run(["/bin/sh", "-c", "yes >&2 & yes"], replace(LIMITS, output_bytes=3_000_001))
    assert result.limit is Limit.OUTPUT
    assert result.stdout.stat().st_size + result.stderr.stat().st_size == 3_000_001


def test_a_program_that_closes_its_output_is_still_watched(bench: Bench) -> None:
    result = bench.run(
        ["/bin/sh", "-c", "echo last; exec >&- 2>&-; exec sleep 600"],
        replace(LIMITS, wall_seconds=0.5),
    )
    assert result.limit is Limit.WALL
    assert result.cpu_seconds < 0.3
    assert result.stdout.read_bytes() == b"last\n"


def test_what_was_written_before_a_kill_is_kept(bench: Bench) -> None:
    result = bench.run(
        ["/bin/sh", "-c", "head -c 60000 /dev/zero; exec sleep 600"],
        replace(LIMITS, wall_seconds=1),
    )
    assert result.stdout.read_bytes() == bytes(60_000)


def test_a_program_that_fills_its_scratch_folder_ends_by_the_scratch_limit(bench: Bench) -> None:
    result = bench.python(
        """if True:
        import os, time
        os.mkdir("deep")
        for i in range(40):
            with open(f"deep/{i}", "wb") as f: f.write(bytes(1 << 20))
        time.sleep(600)
        """,
        replace(LIMITS, scratch_bytes=30 * MIB),
    )
    assert (result.signal, result.limit) == (signal.SIGKILL, Limit.SCRATCH)


def test_a_fork_bomb_ends_by_the_limit_on_processes(bench: Bench) -> None:
    result = bench.python(
        """if True:
        import os, time
        log = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for _ in range(7):
            os.fork()
            os.write(log, b"%d\\n" % os.getpid())
        time.sleep(600)
        """,
        replace(LIMITS, processes=20),
    )
    assert result.limit is Limit.PROCESSES
    pids = bench.scratch / "pids"
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


def test_a_bomb_that_replaces_its_dead_leaves_nothing(bench: Bench) -> None:
    result = bench.python(
        """if True:
        import os, time
        log = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        def keep(depth):
            while True:
                if os.fork() == 0:
                    os.setsid()
                    os.write(log, b"%d\\n" % os.getpid())
                    if depth: keep(depth - 1)
                    time.sleep(600)
                os.wait()
        for _ in range(3):
            if os.fork() == 0: keep(3)
        keep(3)
        """,
        replace(LIMITS, wall_seconds=1.5),
    )
    assert result.limit is Limit.WALL
    pids = (bench.scratch / "pids").read_text().split()
    assert pids
    assert not any(is_alive(int(pid)) for pid in pids)


# Death


def test_a_daemon_does_not_outlive_the_program_nor_hold_it_up(bench: Bench) -> None:
    result = bench.python(DAEMON + "daemon(); print('bye')")
    assert (result.exit_code, result.limit) == (0, None)
    assert result.stdout.read_bytes() == b"bye\n"
    assert not is_alive(bench.pid("daemon"))


def test_a_killed_caller_leaves_nothing_behind(bench: Bench) -> None:
    process = caller(
        bench, DAEMON + "open('main', 'w').write(f'{os.getppid()}')\ndaemon(); time.sleep(600)"
    )
    wait_for(bench.scratch / "daemon")
    pids = [bench.pid("main"), bench.pid("daemon")]
    assert all(is_alive(pid) for pid in pids)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 2
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_caller_that_ignores_and_blocks_sigchld_gets_right_results(bench: Bench) -> None:
    before = (
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM])"
    )
    output, _ = caller(bench, DAEMON + "daemon(); sys.exit(5)", before).communicate()
    assert b"exit_code=5, signal=None, limit=None" in output
    assert not is_alive(bench.pid("daemon"))


def test_a_spool_disk_that_is_full_is_an_error_of_the_runner(bench: Bench) -> None:
    # A limit on the size of files stands in for a full disk.
    before = "resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))"
    output, _ = caller(
        bench, DAEMON + "daemon(); os.write(1, bytes(20000)); time.sleep(600)", before
    ).communicate()
    assert b"RunnerError: " in output
    assert b"File too large" in output
    assert b"spool/stdout" in output
    assert not is_alive(bench.pid("daemon"))


def test_an_interrupt_kills_everything_before_it_propagates(bench: Bench) -> None:
    def interrupt() -> None:
        wait_for(bench.scratch / "daemon")
        _thread.interrupt_main()

    bench.run(["/bin/true"])
    before, groups_before = children(), groups()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        bench.python(DAEMON + "daemon(); time.sleep(600)")
    thread.join()
    assert not is_alive(bench.pid("daemon"))
    assert children() == before
    assert groups() <= groups_before


def test_two_runs_at_once_do_not_see_each_other(tmp_path: Path) -> None:
    benches = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        benches.append(Bench(tmp_path / name))
    with ThreadPoolExecutor(2) as pool:
        ended = pool.submit(benches[0].run, ["/bin/sleep", "600"], replace(LIMITS, wall_seconds=1))
        other = pool.submit(benches[1].run, ["/bin/sh", "-c", "sleep 2; echo done"])
        assert ended.result().limit is Limit.WALL
        assert other.result().exit_code == 0
        assert other.result().stdout.read_bytes() == b"done\n"


def test_fifty_runs_leave_no_descriptor_no_zombie_and_no_child(bench: Bench) -> None:
    bench.run(["/bin/true"])
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    guards = children()
    for _ in range(50):
        bench.run(["/bin/true"])
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert children() == guards
