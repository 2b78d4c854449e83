"""A process by a name that no later process can have: pids are given away again.

The name holds the machine, its boot, the pid namespace, the pid and the time of the start in ticks
since the boot (proc(5)). Folders for temporary files can outlive a boot and can be shared by
machines.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"([0-9a-f]{8})-([0-9a-f]{8})-(\d+)-(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot of one machine."""

    machine: str
    """A digest of the machine's id and name."""
    boot: str
    """The first 8 digits of the boot's random id."""
    namespace: int
    pid: int
    started: int

    def __str__(self) -> str:
        return f"{self.machine}-{self.boot}-{self.namespace}-{self.pid}-{self.started}"

    @property
    def is_ended(self) -> bool:
        """Whether the process is surely gone; False for one that we could not see."""
        if self.machine != _machine():
            return False
        if self.boot != _boot():
            return True
        if self.namespace != _namespace():
            return False
        started = start_ticks(self.pid)
        return started is None or started != self.started


def this_process() -> ProcessIdentity:
    """Who is asking."""
    pid = os.getpid()
    return ProcessIdentity(_machine(), _boot(), _namespace(), pid, start_ticks(pid) or 0)


def identity_in(name: str) -> ProcessIdentity | None:
    """The identity that a name contains, such as a folder's; `None` when there is none."""
    found = _NAME.search(name)
    if found is None:
        return None
    machine, boot, *numbers = found.groups()
    return ProcessIdentity(machine, boot, *map(int, numbers))


def start_ticks(pid: int) -> int | None:
    """When a process started; `None` when it is gone or a zombie."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name may contain spaces and brackets; the last bracket ends it.
    fields = line[line.rindex(b")") + 2 :].split()
    return None if fields[0] in {b"Z", b"X"} else int(fields[19])


def _machine() -> str:
    try:
        known = Path("/etc/machine-id").read_text()
    except OSError:
        known = ""
    return hashlib.sha256(f"{known} {socket.gethostname()}".encode()).hexdigest()[:8]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return "0" * 8


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return 0
