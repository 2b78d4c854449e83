"""What earlier runs left on this node, whose guards and workers are gone: found and removed.

Normally nothing is left: guards end what workers leave, and keepers what guards leave. All of
them can be killed at once, though (a machine short of memory, a `kill -9 -1`), and then the next
process that grades tidies up. Owners are told by pid, start time, boot and pid namespace
(`workers.process_identity`), so that a pid that was given away again protects nothing and harms
nobody.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from workers.control_group import PREFIX
from workers.enforcement import Enforcement, Examination
from workers.process_identity import ProcessIdentity, identity_in, start_ticks, this_process
from workers.tree_removal import remove_tree

RUN_VARIABLE = "TLAGRID_RUN"
"""In the environment of every command: the identity of the guard that it runs under."""

_GUARD = b"from workers.guard import main"
"""In the command lines of keepers, guards and supervisors (`workers.guard_link`)."""

_SCRATCH = "tlagrid-run-"


def scratch_prefix() -> str:
    """What temporary folders of this process's runs begin with: its name, for `remove_scratch`."""
    return f"{_SCRATCH}{this_process()}-"


def sweep(examination: Examination) -> None:
    """Remove what is left of runs whose guards and workers are gone; the caller has a guard."""
    wake_guards()
    for enforcement in examination.enforcements:
        remove_groups(enforcement)
    kill_processes()
    with suppress(OSError):  # there is none
        remove_scratch(Path(tempfile.gettempdir()))


def wake_guards() -> None:
    """Let guards go on that a command has stopped: one whose worker is gone then ends its runs."""
    for pid in _pids():
        with suppress(OSError):
            ours = os.stat(f"/proc/{pid}").st_uid in {0, os.geteuid()}  # noqa: PTH116
            line = Path(f"/proc/{pid}/stat").read_bytes()
            stopped = line[line.rindex(b")") + 2 : line.rindex(b")") + 3] == b"T"
            if ours and stopped and _GUARD in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGCONT)


def remove_groups(enforcement: Enforcement) -> int:
    """Remove control groups whose guards are gone, with the processes in them; return how many."""
    names = {
        folder.name
        for parent in enforcement.group_folders
        for folder in _folders(parent)
        if _is_abandoned(folder.name)
    }
    for name in names:
        group = enforcement.group(name)
        if group is not None:
            with suppress(OSError):
                group.remove()
    return len(names)


def kill_processes() -> int:
    """Kill processes of runs whose guards are gone; return how many.

    They are told by their environment, which a program can overwrite in its own memory; one that
    did so is found by its control group alone.
    """
    killed = 0
    for pid, identity, started in list(_marked_processes()):
        if identity.is_ended and start_ticks(pid) == started:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    return killed


def remove_scratch(folder: Path) -> int:
    """Remove folders of gradings in `folder` whose workers are gone; return how many."""
    removed = 0
    for each in folder.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            ours = each.lstat().st_uid == os.geteuid() and not each.is_symlink()
            if ours and _is_abandoned(each.name):
                remove_tree(each)
                removed += not each.exists()
    return removed


def _folders(parent: Path) -> Iterator[Path]:
    try:
        yield from (each for each in parent.iterdir() if each.name.startswith(PREFIX))
    except OSError:
        return


def _is_abandoned(name: str) -> bool:
    identity = identity_in(name)
    return identity is not None and identity.is_ended


def _marked_processes() -> Iterator[tuple[int, ProcessIdentity, int | None]]:
    mark = f"{RUN_VARIABLE}=".encode()
    for pid in _pids():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # ended, or another user's
            continue
        for variable in environment.split(b"\0"):
            if variable.startswith(mark):
                identity = identity_in(variable.decode("ascii", "replace"))
                if identity is not None:
                    yield pid, identity, start_ticks(pid)


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208
