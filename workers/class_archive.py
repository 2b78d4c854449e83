"""A class-data archive that halves the start of Java, made once per machine and toolchain.

A check of a small specification is mostly Java loading and verifying the same classes again, and
the runtime of the `embedded` extra comes without any archive. An archive of the classes that SANY
and TLC load (JEP 310) is made by running TLC on a tiny specification and dumping what it loaded;
it changes speed only. Java itself checks that an archive fits its version and jars, and does
without one that does not.

The archive lies in `TLAGRID_CACHE`, or `tlagrid` in the user's cache folder. Only `prepare` makes
one, before a sweep; a grading uses what is there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from workers.limits import Limits
from workers.runner import RunnerError, run
from workers.toolchain import Tools, child_environment

CACHE_SETTING = "TLAGRID_CACHE"

_LIMITS = Limits(
    wall_seconds=120,
    cpu_seconds=120,
    memory_bytes=4 * 1024**3,
    processes=256,
    scratch_bytes=1024**3,
    output_bytes=64 * 1024**2,
)

_MODULE = """---- MODULE Warmup ----
EXTENDS Integers, Sequences, FiniteSets, TLC
VARIABLES count, log
Init == count = 0 /\\ log = <<>>
Step == count < 3 /\\ count' = count + 1 /\\ log' = Append(log, [at |-> count, set |-> {count}])
Rest == count = 3 /\\ UNCHANGED <<count, log>>
Spec == Init /\\ [][Step \\/ Rest]_<<count, log>> /\\ WF_<<count, log>>(Step)
TypeOK == count \\in 0..3 /\\ Cardinality(DOMAIN log) <= 3
Ends == <>(count = 3)
====
"""
_CONFIG = "SPECIFICATION Spec\nINVARIANT TypeOK\nPROPERTY Ends\n"


def find_archive(tools: Tools, environment: Mapping[str, str] | None = None) -> Path | None:
    """The archive for these tools, or `None` when there is none."""
    archive = _archive(tools, os.environ if environment is None else environment)
    return archive if archive is not None and archive.is_file() else None


def prepare(tools: Tools, environment: Mapping[str, str] | None = None) -> Path | None:
    """Make the archive unless it is there; `None` when it cannot be made, which only costs time.

    Takes some seconds of CPU the first time. While another process makes it, this one goes
    without.
    """
    archive = _archive(tools, os.environ if environment is None else environment)
    if archive is None or archive.is_file():
        return archive
    with suppress(OSError, RunnerError):
        archive.parent.mkdir(parents=True, exist_ok=True)
        with _lock(archive.with_suffix(".lock")) as locked:
            if locked and not archive.is_file():
                _make(tools, archive)
    return archive if archive.is_file() else None


def _archive(tools: Tools, environment: Mapping[str, str]) -> Path | None:
    named = environment.get(CACHE_SETTING)
    cache = environment.get("XDG_CACHE_HOME")
    try:
        folder = Path(named) if named else Path(cache or Path.home() / ".cache") / "tlagrid"
        made_of = [str(tools.java.resolve()), tools.class_path, tools.fingerprint.digest]
        for jar in tools.class_path.split(os.pathsep):
            made_of.append(str(Path(jar).stat().st_mtime_ns))
    except (OSError, RuntimeError):
        return None
    name = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:32]
    return folder.absolute() / f"classes-{name}.jsa"


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Whether this process is the one that makes the archive; released with the process."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _make(tools: Tools, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as name:
        folder = Path(name)
        scratch = folder / "scratch"
        scratch.mkdir()
        (scratch / "Warmup.tla").write_text(_MODULE)
        (scratch / "Warmup.cfg").write_text(_CONFIG)
        java = [str(tools.java), "-XX:+UseSerialGC", "-XX:-UsePerfData"]
        classes, dumped = folder / "classes", folder / "archive.jsa"
        program = ["-cp", tools.class_path, "tlc2.TLC", "-tool", "-workers", "1", "Warmup.tla"]
        temporary = f"-Djava.io.tmpdir={scratch}"
        listing = [*java, f"-XX:DumpLoadedClassList={classes}", temporary, *program]
        dumping = [
            *java,
            "-Xshare:dump",
            f"-XX:SharedClassListFile={classes}",
            f"-XX:SharedArchiveFile={dumped}",
            "-cp",
            tools.class_path,
        ]
        for step, command in (("list", listing), ("dump", dumping)):
            spool = folder / step
            spool.mkdir()
            result = run(
                command,
                environment=child_environment(scratch),
                scratch=scratch,
                spool=spool,
                limits=_LIMITS,
            )
            if result.exit_code != 0 or result.limit is not None:
                return
        dumped.chmod(0o444)
        dumped.rename(archive)
