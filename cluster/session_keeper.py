"""The process that tidies up after an embedded Ray session, whatever happened to its driver.

When a driver is killed with SIGKILL, Ray's own daemons die with it and the workers follow
within seconds, but the two agents that Ray 2.60 starts beside its raylet stay for good, and so
does the session's folder. The keeper is a small process in a session of its own that holds one
end of a pipe: end of file means that the driver is gone, by whichever way. It then ends what
is left of *its* session and removes the folder, and with it the folder in which the workers kept
their temporary files, which a worker that is killed cannot tidy up itself. A driver that ends in
order writes a word first, and the keeper need not wait for anything to die by itself.

A process belongs to the session when it looks like one of Ray's *and* points to this session's
folder. Some set their title, `ray::...`, and with that their environment is overwritten: these
have the folder as the current one. The others have it in their command line and environment.
Graded programs and their supervisors match neither, and no other Ray cluster of the host does.

If the keeper was killed too, the next driver's `sweep_abandoned` does the same work.

Run as `python -P session_keeper.py FOLDER` with the pipe as standard input; it imports nearly
nothing of ours, so that it starts fast and stays small.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from pathlib import Path

import orjson
import psutil

PREFIX = "tlagrid-ray-"
SCRATCH_PREFIX = "tlagrid-work-"
SESSION_VARIABLE = "TLAGRID_RAY_SESSION"
STOPPED = b"stopped"

_OWNER = "owner.json"
_GRACE_SECONDS = 2.0
_END_SECONDS = 15.0
_UNOWNED_SECONDS = 3600.0


def main() -> None:
    """Wait for the driver's end, then tidy up."""
    folder = Path(sys.argv[1])
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    if sys.stdin.buffer.read() != STOPPED:
        # The workers are going by themselves just now; their supervisors end what they graded.
        time.sleep(_GRACE_SECONDS)
    end_session(folder)


def write_owner(folder: Path, scratch: Path | None = None) -> None:
    """Note in the session's folder which process it belongs to, this one, and what goes with it.

    `scratch` is the folder for the temporary files of the session's workers.
    """
    owner = {
        "pid": os.getpid(),
        "started": _started(os.getpid()),
        "where": _here(),
        "scratch": None if scratch is None else str(scratch),
    }
    (folder / _OWNER).write_bytes(orjson.dumps(owner))


def end_session(folder: Path) -> None:
    """Kill the processes of the session and remove its folders."""
    scratch = _scratch(folder)
    deadline = time.monotonic() + _END_SECONDS
    while (members := _members(folder)) and time.monotonic() < deadline:
        for process in members:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(members, timeout=1)
    for each in (scratch, folder):
        if each is not None:
            _remove(each, deadline)


def sweep_abandoned(root: Path) -> None:
    """End the sessions under `root` whose drivers are gone without having been tidied up."""
    for folder in root.glob(f"{PREFIX}*"):
        if _is_abandoned(folder):
            end_session(folder)


def _scratch(folder: Path) -> Path | None:
    try:
        noted = orjson.loads((folder / _OWNER).read_bytes())["scratch"]
        scratch = None if noted is None else Path(noted)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # Nothing but what a session made is ever removed.
    return scratch if scratch and scratch.name.startswith(SCRATCH_PREFIX) else None


def _remove(folder: Path, deadline: float) -> None:
    """Remove a folder in which something that is being killed may still write for a moment."""
    from workers.tree_removal import remove_tree  # found by path where this is the program

    remove_tree(folder)
    while folder.is_dir() and time.monotonic() < deadline:
        time.sleep(0.1)
        remove_tree(folder)


def _members(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        # An error: it is gone meanwhile, or another user's.
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and _is_member(process, folder):
                found.append(process)
    return found


def _is_member(process: psutil.Process, folder: Path) -> bool:
    command = process.cmdline()
    if not command or process.status() == psutil.STATUS_ZOMBIE:
        return False
    if command[0].startswith("ray::"):
        return Path(process.cwd()).is_relative_to(folder)
    name = str(folder)
    return bool(
        any(name in part for part in command) and process.environ().get(SESSION_VARIABLE) == name
    )


def _is_abandoned(folder: Path) -> bool:
    try:
        status = folder.lstat()
        if folder.is_symlink() or status.st_uid != os.getuid():
            return False
        owner = orjson.loads((folder / _OWNER).read_bytes())
        pid, started, where = owner["pid"], owner["started"], owner["where"]
    except FileNotFoundError:
        # Killed before it could sign, or another driver that is about to.
        return folder.is_dir() and time.time() - status.st_mtime > _UNOWNED_SECONDS
    except (OSError, ValueError, KeyError):
        return False
    # A process id means nothing to another host or container that shares the folder.
    return bool(where == _here() and _started(pid) != started)


def _started(pid: int) -> float | None:
    """When the process began, or `None` when there is no such process."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return float(process.create_time())
    except psutil.NoSuchProcess:
        return None


def _here() -> str:
    namespace = ""
    with contextlib.suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} {namespace}"


if __name__ == "__main__":
    main()
