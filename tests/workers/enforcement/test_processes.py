"""Processes that multiply, that leave their family, and that do not listen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.limits import Limit

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

# It stops at 2048 processes, in case that nothing else stops it.
FORK_BOMB = """
for _ in range(11):
    try: fork()
    except OSError: time.sleep(0.01)
time.sleep(100)
"""
DAEMON = """
def daemon(work):
    if fork() == 0:
        os.setsid()
        if fork() == 0:
            open("daemon", "w").close()
            work()
        os._exit(0)
    os.wait()
    while not os.path.exists("daemon"): time.sleep(0.01)
"""


def test_a_fork_bomb_ends_by_the_limit_on_processes(bench: Bench) -> None:
    bench.stops(FORK_BOMB, Limit.PROCESSES, processes=50)


def test_processes_that_replace_each_other_without_end_do_not_escape(bench: Bench) -> None:
    """At one time there are few of them; whoever kills one by one always comes too late."""
    bench.stops(
        """
def runaway():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if fork() != 0: os._exit(0)
        os.setsid()
for _ in range(4):
    if fork() == 0: runaway()
while True: time.sleep(1)
""",
        Limit.WALL,
        wall_seconds=1,
    )


def test_threads_count_as_processes(bench: Bench) -> None:
    bench.stops(
        """
import threading
threading.stack_size(65536)
for _ in range(300):
    try: threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
    except RuntimeError: pass
time.sleep(100)
""",
        Limit.PROCESSES,
        processes=50,
    )


def test_a_program_that_dies_because_it_may_not_fork_ended_by_the_limit(bench: Bench) -> None:
    """Where the limit prevents, its victim ends on its own; the verdict is the same."""
    bench.stops(
        """
for _ in range(60):
    if fork() == 0: time.sleep(100)
time.sleep(100)
""",
        Limit.PROCESSES,
        processes=20,
    )


def test_as_many_processes_as_allowed_are_no_reason_to_stop(bench: Bench) -> None:
    result = bench.python(
        """
for _ in range(19):
    if fork() == 0:
        time.sleep(1)
        os._exit(0)
for _ in range(19): os.wait()
""",
        processes=20,
    )
    assert (result.exit_code, result.limit) == (0, None)


def test_a_daemon_in_its_own_session_ends_with_the_main_process(bench: Bench) -> None:
    result = bench.python(DAEMON + "daemon(lambda: time.sleep(100)); print('bye')")
    assert (result.exit_code, result.limit) == (0, None)
    assert result.stdout.read_bytes() == b"bye\n"
    bench.check_cleanup(result)


def test_a_daemon_in_its_own_session_is_measured_with_the_rest(bench: Bench) -> None:
    bench.stops(
        DAEMON + "daemon(lambda: burn(100)); time.sleep(100)",
        Limit.CPU,
        cpu_seconds=0.5,
    )


def test_a_child_that_ignores_every_signal_ends_with_the_rest(bench: Bench) -> None:
    bench.stops(
        """
if fork() == 0:
    os.setpgid(0, 0)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    open("deaf", "w").close()
    while True: time.sleep(1)
while not os.path.exists("deaf"): time.sleep(0.01)
time.sleep(100)
""",
        Limit.WALL,
        wall_seconds=1,
    )


def test_a_child_that_ignores_every_signal_does_not_hold_up_a_run_that_ended(
    bench: Bench,
) -> None:
    result = bench.python(
        """
if fork() == 0:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    open("deaf", "w").close()
    while True: time.sleep(1)
while not os.path.exists("deaf"): time.sleep(0.01)
sys.exit(4)
"""
    )
    assert (result.exit_code, result.limit) == (4, None)
    bench.check_cleanup(result)


def test_a_stopped_child_ends_with_the_rest(bench: Bench) -> None:
    bench.stops(
        """
child = fork()
if child == 0:
    while True: time.sleep(1)
os.kill(child, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
""",
        Limit.WALL,
        wall_seconds=1,
    )
