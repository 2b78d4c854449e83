"""Remove a folder that a candidate has filled: however deep, and whatever it may have locked.

`shutil.rmtree` recurses once per level and gives up on folders without permissions; both would
let a candidate leave its files for good, or end the grader with a RecursionError. Here every
folder is opened up and moved to the top before it is emptied, so that no path grows with the depth.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def remove_tree(root: Path) -> None:
    """Remove the folder as far as possible; links are removed, not followed.

    Nothing may write in it any more. What cannot be removed (another user's) stays, with the
    folders that hold it.
    """
    with suppress(OSError):
        if not stat.S_ISDIR(root.lstat().st_mode):
            return
        root.chmod(stat.S_IRWXU)
    mark = secrets.token_hex(8)
    waiting = [str(root)]
    emptied = []
    while waiting:
        folder = waiting.pop()
        emptied.append(folder)
        for inner in _files_removed(folder):
            moved = f"{root}/{mark}-{len(emptied)}-{len(waiting)}"
            with suppress(OSError):
                # A folder that is moved needs to be writable itself: its `..` changes.
                os.chmod(inner, stat.S_IRWXU)  # noqa: PTH101 - paths here are texts
                os.rename(inner, moved)  # noqa: PTH104
                waiting.append(moved)
    for folder in reversed(emptied):
        with suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106


def _files_removed(folder: str) -> list[str]:
    """Remove the files of a folder and return the paths of the folders in it."""
    inner = []
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.path)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108
    return inner
