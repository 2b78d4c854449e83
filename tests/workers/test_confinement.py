import ctypes
import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workers.confinement import SHARED_MEMORY, shared_memory_bytes

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
NOBODY = 65534
FILES_ONLY = 0b11011
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER and CAP_FSETID, capabilities(7)."""

PRELUDE = """
import ctypes, errno, json, os, subprocess, sys
from workers.confinement import (
    drop_capabilities, enter_private_namespaces, hide, shared_memory_bytes
)
folder = sys.argv[1]
def error_of(action, *arguments):
    try: action(*arguments)
    except OSError as error: return error.errno
def answer(*values): print(json.dumps(values))
def become_nobody():
    os.setgroups([]); os.setresgid(*[65534] * 3); os.setresuid(*[65534] * 3)
"""


def confined(program: str, folder: Path) -> Any:
    """What a process answers that confines itself."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program, folder],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_allowed() -> bool:
    try:
        confined('enter_private_namespaces(1 << 20, 16, b"/"); answer()', Path("/"))
    except AssertionError:
        return False
    return True


privileged = pytest.mark.skipif(not is_allowed(), reason="mount namespaces need CAP_SYS_ADMIN")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def shm_file() -> Iterator[Path]:
    """A file in the shared memory of the whole machine."""
    with tempfile.NamedTemporaryFile(dir=SHARED_MEMORY) as file:
        yield Path(file.name)


@pytest.fixture
def shm_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def segment() -> Iterator[int]:
    """A System V segment of the whole machine."""
    libc = ctypes.CDLL(None)
    number = libc.shmget(0, 4096, 0o600)
    assert number >= 0
    yield number
    libc.shmctl(number, 0, None)


def segments() -> list[int]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [int(line.split()[1]) for line in lines]


@privileged
def test_files_in_shared_memory_are_the_processs_own(tmp_path: Path, shm_file: Path) -> None:
    before = sorted(os.listdir(SHARED_MEMORY))  # noqa: PTH208
    seen, used = confined(
        """
enter_private_namespaces(8 << 20, 100, os.fsencode(folder))
seen = os.listdir("/dev/shm")
with open("/dev/shm/tlagrid-test-private", "wb") as file: file.write(bytes(3 << 20))
answer(seen, shared_memory_bytes())
""",
        tmp_path,
    )
    assert seen == []
    assert 3 * MIB <= used < 4 * MIB
    assert shm_file.name in before
    assert not Path(SHARED_MEMORY, "tlagrid-test-private").exists()


@privileged
def test_the_private_folder_is_limited_in_bytes_and_files(tmp_path: Path) -> None:
    assert confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
def fill():
    with open("/dev/shm/large", "wb", buffering=0) as file:
        for _ in range(100): file.write(bytes(1 << 20))
def litter():
    for number in range(100): open(f"/dev/shm/{number}", "w").close()
full = error_of(fill)
os.unlink("/dev/shm/large")
answer(full, error_of(litter), len(os.listdir("/dev/shm")) < 20)
""",
        tmp_path,
    ) == [errno.ENOSPC, errno.ENOSPC, True]


@privileged
def test_any_user_may_use_the_private_folder(tmp_path: Path) -> None:
    mode, flags = confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
answer(os.stat("/dev/shm").st_mode & 0o7777, os.statvfs("/dev/shm").f_flag)
""",
        tmp_path,
    )
    assert mode == 0o1777
    assert flags & (os.ST_NOSUID | os.ST_NODEV) == os.ST_NOSUID | os.ST_NODEV


@privileged
def test_system_v_segments_are_the_processs_own(tmp_path: Path, segment: int) -> None:
    assert segment in segments()
    before = segments()
    inside = confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
before = len(open("/proc/sysvipc/shm").readlines()) - 1
made = ctypes.CDLL(None).shmget(0x7a11, 4096, 0o1600)
answer(before, made >= 0, len(open("/proc/sysvipc/shm").readlines()) - 1)
""",
        tmp_path,
    )
    assert inside == [0, True, 1]
    assert segments() == before


@privileged
def test_a_scratch_folder_in_shared_memory_stays_the_same_folder(
    shm_folder: Path, shm_file: Path
) -> None:
    (shm_folder / "before").write_text("outside")
    assert confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
with open(f"{folder}/after", "w") as file: file.write("inside")
answer(open(f"{folder}/before").read(), os.listdir("/dev/shm"))
""",
        shm_folder,
    ) == ["outside", [shm_folder.name]]
    assert (shm_folder / "after").read_text() == "inside"


@privileged
def test_nothing_is_mounted_for_anybody_else(tmp_path: Path) -> None:
    confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
hide([folder])
answer()
""",
        tmp_path,
    )
    sources = [line.split()[-2] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    assert "tlagrid" not in sources


@privileged
def test_hidden_folders_are_empty_and_cannot_be_written(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("secret")
    assert confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
hide([f"{folder}/one", f"{folder}/two"])
listed = [os.listdir(f"{folder}/{name}") for name in ("one", "two", "three")]
below = subprocess.run(["/bin/ls", f"{folder}/one"], stdout=subprocess.PIPE).stdout.decode()
answer(listed, below, error_of(os.mkdir, f"{folder}/one/new"))
""",
        tmp_path,
    ) == [[[], [], ["file"]], "", errno.EROFS]
    assert (tmp_path / "one" / "file").read_text() == "secret"


@privileged
def test_what_is_hidden_cannot_be_uncovered_without_capabilities(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("secret")
    assert confined(
        """
enter_private_namespaces(4 << 20, 20, os.fsencode(folder))
hide([folder])
drop_capabilities()
def call(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        return ctypes.get_errno()
path = os.fsencode(folder)
outside = f"/proc/{os.getppid()}/root{folder}"
answer(call("umount2", path, 2), call("unshare", 0x20000), error_of(os.listdir, outside))
""",
        tmp_path,
    ) == [errno.EPERM, errno.EPERM, errno.EACCES]


@as_root
def test_only_capabilities_over_files_are_left_after_execution(tmp_path: Path) -> None:
    (lines,) = confined(
        """
drop_capabilities()
status = subprocess.run(["/bin/cat", "/proc/self/status"], stdout=subprocess.PIPE, text=True)
answer([line.split() for line in status.stdout.splitlines() if line.startswith("Cap")])
""",
        tmp_path,
    )
    sets = {name.rstrip(":"): int(value, 16) for name, value in lines}
    assert set(sets) == {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
    assert all(value & ~FILES_ONLY == 0 for value in sets.values())
    assert sets["CapInh"] == sets["CapAmb"] == 0


@as_root
def test_root_without_capabilities_cannot_raise_limits_but_can_use_others_files(
    tmp_path: Path,
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("x")
    theirs.chmod(0)
    os.chown(theirs, NOBODY, NOBODY)
    assert confined(
        """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
drop_capabilities()
def raise_limit(): resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
try: raised = error_of(raise_limit)
except ValueError: raised = "not allowed"
answer(raised, open(f"{folder}/theirs").read(), error_of(os.setuid, 65534))
""",
        tmp_path,
    ) == ["not allowed", "x", errno.EPERM]


@as_root
def test_an_ordinary_user_has_none_to_drop(tmp_path: Path) -> None:
    assert confined("become_nobody(); answer(drop_capabilities())", tmp_path) == [None]


@as_root
def test_an_ordinary_user_is_refused_by_name_of_the_call(tmp_path: Path) -> None:
    assert (
        confined(
            """
become_nobody()
try: enter_private_namespaces(1 << 20, 16, b"/")
except OSError as error: first = [error.errno, error.filename]
try: hide([folder])
except OSError as error: answer(first, [error.errno, error.filename])
""",
            tmp_path,
        )
        == [[errno.EPERM, "unshare"]] * 2
    )


@privileged
def test_a_scratch_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    program = 'answer(error_of(enter_private_namespaces, 1 << 20, 16, b"/absent/folder"))'
    assert confined(program, tmp_path) == [errno.ENOENT]


def test_what_files_in_shared_memory_use_is_told() -> None:
    assert shared_memory_bytes() >= 0
