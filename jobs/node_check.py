"""What this node has for grading, each thing tried and not assumed.

A missing Java, a jar of the wrong kind, a limit that does not hold or a full disk is found here
in seconds rather than as infrastructure failures of a sweep.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from cluster.store import LocalStore, Store, StoreError
from jobs.check_row import Row, Status
from jobs.limit_check import check_limits
from workers.grading import grade
from workers.records import Attempt, GradingSettings, Outcome, Problem, Quota, Verdict
from workers.runner import RunnerError
from workers.toolchain import (
    COMMUNITY_MODULES_SETTING,
    INSTALL_HINT,
    TLA2TOOLS_SETTING,
    ToolchainError,
    Tools,
    find_tools,
)

_SMALLEST_DISK = 256 * 1024**2
_COMMUNITY_MODULE = "SequencesExt"


def check_node(store: Store) -> Iterator[Row]:
    """Check everything, a row at a time; takes a few seconds."""
    yield _python()
    yield _ray()
    try:
        tools = find_tools()
    except ToolchainError as error:
        yield Row("tools", Status.MISSING, str(error), f"mend that setting, or {INSTALL_HINT}")
    else:
        yield from _tools(tools)
        yield _known_correct()
        yield _known_violation()
    yield Row("tlapm", Status.INFO, "not used by this version")
    yield from check_limits()
    yield _isolation()
    yield _disk()
    yield _store(store)


def _python() -> Row:
    return Row("Python", Status.OK, f"{sys.version.split()[0]} ({sys.executable})")


def _ray() -> Row:
    try:
        import ray
    except ImportError as error:
        return Row("Ray", Status.MISSING, str(error), "pip install tlagrid")
    return Row("Ray", Status.OK, str(ray.__version__))


def _tools(tools: Tools) -> Iterator[Row]:
    fingerprint = tools.fingerprint
    yield Row("Java", Status.OK, f"{fingerprint.java_version} ({tools.java})")
    yield Row(
        "TLC",
        Status.OK,
        f"{fingerprint.tla2tools_version} ({tools.tla2tools}, "
        f"sha256 {fingerprint.tla2tools_sha256})",
    )
    if _COMMUNITY_MODULE in tools.standard_modules:
        yield Row(
            "CommunityModules", Status.OK, str(tools.community_modules or "beside the TLC jar")
        )
    else:
        yield Row(
            "CommunityModules",
            Status.INFO,
            "none: problems whose solutions import them cannot be graded here",
            f"set {COMMUNITY_MODULES_SETTING} to a CommunityModules-deps.jar",
        )
    if "CHECK_DEADLOCK" not in tools.config_keywords:
        yield Row(
            "TLC's age",
            Status.INFO,
            "this TLC is of 2020: no POSTCONDITION, no Unicode operators, no TLCExt and Json",
            f"set {TLA2TOOLS_SETTING} to a current tla2tools.jar",
        )


_COUNTER = """---- MODULE Counter ----
EXTENDS Naturals
VARIABLE count
Init == count = 0
Next == count' = (count + 1) % 4
Small == count < {bound}
====
"""


def _known_correct() -> Row:
    return _known("grading a correct specification", bound=4, expected=Outcome.CORRECT)


def _known_violation() -> Row:
    return _known("finding a violation", bound=3, expected=Outcome.SAFETY_VIOLATION)


def _known(name: str, *, bound: int, expected: Outcome) -> Row:
    """Grade a specification with four states whose verdict is known."""
    problem = Problem(id="doctor", module="Counter", config="INIT Init NEXT Next INVARIANT Small")
    attempt = Attempt(
        id="doctor", problem="doctor", model="doctor", text=_COUNTER.format(bound=bound)
    )
    try:
        verdict = grade(problem, attempt, GradingSettings()).verdict
    except (ToolchainError, RunnerError, OSError) as error:
        return Row(name, Status.MISSING, str(error), f"set {TLA2TOOLS_SETTING} to another jar")
    if verdict.outcome is expected and verdict.states.distinct == 4:
        seconds = verdict.resources.cpu_seconds or 0.0
        return Row(name, Status.OK, f"{verdict.outcome}, 4 states, {seconds:.1f} s of CPU")
    return Row(
        name,
        Status.MISSING,
        f"expected {expected} with 4 states, got {_found(verdict)}",
        f"run {INSTALL_HINT}, or set {TLA2TOOLS_SETTING} and TLAGRID_JAVA to others",
    )


def _found(verdict: Verdict) -> str:
    return f"{verdict.outcome} with {verdict.states.distinct} states: {verdict.message}"


def _isolation() -> Row:
    return Row(
        "isolation",
        Status.WARNING,
        "this version has none beyond a scrubbed environment and a private folder: a candidate "
        "runs as you and has to be trusted like any program that you run",
        "grade candidates that you do not trust in a container or on a machine of their own",
    )


def _disk() -> Row:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    wanted = Quota().scratch_bytes
    detail = f"{free / 1e9:.1f} GB free in {folder}"
    remedy = "free space there, or set TMPDIR to a folder on a larger disk"
    if free < _SMALLEST_DISK:
        return Row("temporary folder", Status.MISSING, detail, remedy)
    if free < wanted:
        needs = f"{detail}; one attempt may use {wanted / 1e9:.1f} GB"
        return Row("temporary folder", Status.WARNING, needs, remedy)
    if _file_system(Path(folder).resolve()) == "tmpfs":
        in_memory = f"{detail}, in memory (tmpfs): a run's files count as its memory, too"
        return Row(
            "temporary folder", Status.WARNING, in_memory, "set TMPDIR to a folder on a disk"
        )
    return Row("temporary folder", Status.OK, detail)


def _file_system(folder: Path) -> str:
    """The type of the file system that a folder is on."""
    mounts = {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
    holding = [point for point in (folder, *folder.parents) if point in mounts]
    return str(mounts[holding[0]]) if holding else ""


def _store(store: Store) -> Row:
    """Write, read and delete an object, and leave the store as it was."""
    key, data = f"doctor/{secrets.token_hex(8)}", b"tlagrid doctor"
    with _as_it_was(store, "doctor"):
        try:
            store.put(key, data)
            same = store.get(key) == data
            store.delete(key)
        except StoreError as error:
            return Row("store", Status.MISSING, str(error), "choose another --store")
    if not same:
        return Row(
            "store", Status.MISSING, f"{store.uri} gives back other bytes", "choose another --store"
        )
    return Row("store", Status.OK, f"{store.uri} can be written and read")


@contextlib.contextmanager
def _as_it_was(store: Store, name: str) -> Iterator[None]:
    """Remove the folders that a local store makes for a first object."""
    if not isinstance(store, LocalStore):
        yield
        return
    folder = Path(store.uri, name)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    finally:
        for each in made:
            with contextlib.suppress(OSError):  # not empty: somebody else uses it by now
                each.rmdir()
