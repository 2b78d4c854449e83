"""What a run sees of the machine's shared memory and control groups, where privileges allow.

Files in /dev/shm and System V segments are memory that belongs to no process and outlives them
all. With a mount and an IPC namespace of its own (mount_namespaces(7), ipc_namespaces(7)) a run
has a private /dev/shm, whose size is limited and which goes with its last process. The command
itself sees no control groups and has no capabilities, so that one that runs as root cannot raise
its own limits: files of control groups check the user alone, setrlimit(2) checks CAP_SYS_RESOURCE.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from contextlib import suppress

from workers.prctl import CAPBSET_DROP, prctl

SHARED_MEMORY = "/dev/shm"  # noqa: S108

_CLONE_NEWNS = 0x0002_0000
_CLONE_NEWIPC = 0x0800_0000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_BIND = 1, 2, 4, 4096
_MS_REC_PRIVATE = 0x4000 | 0x4_0000
_LAST_CAPABILITY = 40
_CAPABILITY_VERSION_3 = 0x2008_0522
_KEPT_CAPABILITIES = frozenset({0, 1, 3, 4})
"""CAP_CHOWN, DAC_OVERRIDE, FOWNER, FSETID: root's way with files, which a root that grades in
another user's folders needs. Without CAP_DAC_READ_SEARCH no file opens by handle."""

_libc = ctypes.CDLL(None, use_errno=True)


def enter_private_namespaces(shm_bytes: int, shm_files: int, scratch: bytes) -> None:
    """Give this process and its children a /dev/shm and System V IPC of their own.

    A scratch folder below the shared /dev/shm stays visible where it is.

    Raises:
        OSError: the kernel refuses.
    """
    _unshare(_CLONE_NEWNS | _CLONE_NEWIPC)
    _mount(None, b"/", None, _MS_REC_PRIVATE)
    # Opened here, for what is on a mount of another namespace cannot be bound, mount(2).
    kept = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        options = f"size={shm_bytes},nr_inodes={shm_files},mode=1777".encode()
        _mount(b"tlagrid", SHARED_MEMORY.encode(), b"tmpfs", _MS_NOSUID | _MS_NODEV, options)
        if os.path.realpath(scratch).startswith(SHARED_MEMORY.encode() + b"/"):
            os.makedirs(scratch)  # noqa: PTH103
            _mount(f"/proc/self/fd/{kept}".encode(), scratch, None, _MS_BIND)
    finally:
        os.close(kept)


def shared_memory_bytes() -> int:
    """Bytes that files in this process's /dev/shm use."""
    status = os.statvfs(SHARED_MEMORY)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def hide(folders: Sequence[str]) -> None:
    """Cover folders, for this process and its children, with an empty one.

    Raises:
        OSError: the kernel refuses.
    """
    _unshare(_CLONE_NEWNS)
    for folder in folders:
        _mount(b"tlagrid", os.fsencode(folder), b"tmpfs", _MS_RDONLY, b"size=4096")


def drop_capabilities() -> None:
    """Give up all capabilities but those over files, for good: capabilities(7).

    No effect on a user who has none.

    Raises:
        OSError: the kernel refuses.
    """
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in _KEPT_CAPABILITIES:
            with suppress(OSError):  # not privileged, or a kernel that does not know it
                prctl(CAPBSET_DROP, capability)
    low = sum(1 << capability for capability in _KEPT_CAPABILITIES)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()
    if _libc.capget(header, before):
        return
    after = (ctypes.c_uint32 * 6)(before[0] & low, before[1] & low, 0, 0, 0, 0)
    _check(_libc.capset(header, after), "capset")


def _unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def _mount(
    source: bytes | None, target: bytes, kind: bytes | None, flags: int, options: bytes = b""
) -> None:
    flag_bits = ctypes.c_ulong(flags)
    _check(_libc.mount(source, target, kind, flag_bits, options), f"mount {os.fsdecode(target)}")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
