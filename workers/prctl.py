"""Attributes of this process that Python has no name for: prctl(2)."""

from __future__ import annotations

import ctypes
import os

SET_PDEATHSIG = 1
SET_DUMPABLE = 4
CAPBSET_DROP = 24
SET_CHILD_SUBREAPER = 36
SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """Set one.

    Raises:
        OSError: the kernel refuses.
    """
    if _libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"prctl {option}")
