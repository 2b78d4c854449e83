"""A Ray task that runs a program which does what it can to outlive its run.

Loaded in Ray workers by import path. The task works in a folder: it notes its worker there, waits
for the file `go`, and runs the program in the folder `scratch`, where the program notes each of
its processes.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from workers.limits import Limits
from workers.runner import run

# A plain child; one in its own session that ignores what it can; a daemon, forked twice; one that
# replaces itself all the time. The ids are read from /proc, so that they are those which others
# see. The name of its scratch folder is in the command line of every process.
PROGRAM = """
import os, signal, time
log = os.open("noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def note(name):
    with open("/proc/self/stat") as file: line = file.read()
    os.write(log, f"{name} {line.split()[0]} {line.rpartition(')')[2].split()[19]}\\n".encode())
def linger(name):
    note(name)
    while True: time.sleep(600)
note("main")
if os.fork() == 0: linger("child")
if os.fork() == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    linger("stubborn")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: linger("daemon")
    os._exit(0)
if os.fork() == 0:
    while True:
        note("restless")
        time.sleep(0.05)
        if os.fork(): os._exit(0)
while not os.path.exists("end"): time.sleep(0.02)
"""

_GO_SECONDS = 60.0


def run_candidate(folder: str, wall_seconds: float) -> tuple[int | None, str | None]:
    """Run the program until its folder holds a file `end`; returns exit code and limit."""
    place = Path(folder)
    scratch = place / "scratch"
    scratch.mkdir()
    limits = Limits(
        wall_seconds=wall_seconds,
        cpu_seconds=60,
        memory_bytes=512 << 20,
        processes=64,
        scratch_bytes=16 << 20,
        output_bytes=1 << 20,
    )
    # What the runner starts once for a worker is there after a first run.
    run(["/bin/true"], environment={}, scratch=scratch, spool=place / "first", limits=limits)
    (place / "worker.tmp").write_text(str(os.getpid()), encoding="utf-8")
    (place / "worker.tmp").rename(place / "worker")
    _wait_for(place / "go")
    argv = [sys.executable, "-I", "-S", "-c", PROGRAM, str(scratch)]
    result = run(argv, environment={}, scratch=scratch, spool=place / "spool", limits=limits)
    return result.exit_code, None if result.limit is None else str(result.limit)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + _GO_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} does not appear")
        time.sleep(0.02)
