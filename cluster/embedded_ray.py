"""A Ray of our own on this machine, started for one sweep and stopped after it.

`ray.init()` as it comes joins whatever cluster it finds, writes a token into the home folder,
prints, and leaves processes behind when its driver is killed. Here a session has a private
folder and token, free ports, the loopback address where the system has enough of it, and a
keeper (`cluster.session_keeper`) that tidies up after a SIGKILL. Settings of other Ray clusters
in the environment (`RAY_ADDRESS` and all its kin) do not apply to it and are put aside. Its
workers have a folder for temporary files of their own, where the user's would be, which goes with
the session: a worker that is killed leaves its scratch folders behind.

Ray puts the driver's current folder first on its workers' module path, where a stranger's
`workers/` would shadow ours. So Ray is started from inside the session's folder, which is then
the workers' current folder, too: what workers are to find by path must be absolute.

Call it on the main thread: Ray's daemons are bound to the life of the thread that starts them
(PR_SET_PDEATHSIG, prctl(2)).
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from cluster import session_keeper
from cluster.session_keeper import PREFIX, SCRATCH_PREFIX, SESSION_VARIABLE

_TOKEN = secrets.token_hex(32)
"""One per process, not per session: Ray keeps the first token that it reads."""

_OBJECT_STORE_BYTES = 128 * 1024**2
_LONGEST_ROOT = 16
"""Our folder and Ray's name for a socket take 90 of the 107 bytes that unix(7) allows."""

_KEEPER_SECONDS = 20.0


class RayStartError(Exception):
    """Ray could not be started on this machine."""


@dataclass(frozen=True, slots=True)
class EmbeddedRay:
    """A running local Ray."""

    slots: int
    """Cores that it schedules."""
    folder: Path
    """Its private folder, gone when the session ends."""


@contextlib.contextmanager
def embedded_ray(slots: int) -> Iterator[EmbeddedRay]:
    """Start a local Ray with `slots` cores, and stop it (and nothing else) at the end.

    Raises:
        RayStartError: it did not start, or this process is connected to a Ray already.
        KeyboardInterrupt: SIGINT or SIGTERM came while it started.
    """
    if slots < 1:
        raise RayStartError(f"cannot start Ray with {slots} slots; at least 1 is needed")
    if threading.current_thread() is not threading.main_thread():
        raise RayStartError("Ray has to be started on the main thread: it dies with its thread")
    root = _session_root()
    session_keeper.sweep_abandoned(root)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX)).resolve()
    session_keeper.write_owner(folder, scratch)
    with _keeper(folder, scratch), _environment(folder, scratch), _quiet_ray():
        _start(folder, slots)
        import ray

        try:
            yield EmbeddedRay(slots, folder)
        finally:
            ray.shutdown()


def _start(folder: Path, slots: int) -> None:
    import ray
    from ray._raylet import Config  # type: ignore[attr-defined]

    if ray.is_initialized():
        raise RayStartError("this process is connected to a Ray cluster already")
    # This process may have read Ray's settings before ours were in the environment.
    Config.initialize("")
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(_TOKEN)
    inside = folder / "r"
    inside.mkdir()
    outside = Path.cwd()
    try:
        os.chdir(inside)
        with _signals_wait():
            ray.init(
                address="local",
                num_cpus=slots,
                num_gpus=0,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=_OBJECT_STORE_BYTES,
                _temp_dir=str(inside),
                # 127.0.0.1 is rewritten to the host's address, the rest of 127/8 is not (Linux
                # only).
                _node_ip_address="127.0.0.2" if sys.platform == "linux" else None,
                # A worker that was killed for want of memory is an infrastructure failure like
                # others; Ray would run its task again without end.
                _system_config={"task_oom_retries": 0},
            )
    except KeyboardInterrupt:
        ray.shutdown()
        raise
    except Exception as error:
        ray.shutdown()
        raise RayStartError(f"Ray did not start in {folder}: {error}") from error
    finally:
        os.chdir(outside)


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Put an interrupt off until Ray is there; a second one does not wait.

    An exception that is raised while Ray forks is lost (`os.register_at_fork`), and so is a
    SIGTERM: Ray handles it by an exception, with a handler that stays in place after the start.
    """
    from ray._private import utils

    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    rays_own = utils.set_sigterm_handler
    utils.set_sigterm_handler = lambda _: None
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        utils.set_sigterm_handler = rays_own
    if came:
        raise KeyboardInterrupt


def _session_root() -> Path:
    """The system's folder for temporary files, or `/tmp` where sockets' paths would be too long."""
    root = Path(tempfile.gettempdir()).resolve()
    return root if len(os.fsencode(root)) <= _LONGEST_ROOT else Path("/tmp")  # noqa: S108


@contextlib.contextmanager
def _keeper(folder: Path, scratch: Path) -> Iterator[None]:
    command = [sys.executable, "-P", session_keeper.__file__, str(folder)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # a Ctrl-C in the terminal is not meant for it
    ) as process:
        try:
            yield
        finally:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                process.communicate(session_keeper.STOPPED, timeout=_KEEPER_SECONDS)
            for each in (scratch, folder):
                shutil.rmtree(each, ignore_errors=True)


@contextlib.contextmanager
def _environment(folder: Path, scratch: Path) -> Iterator[None]:
    """Put the environment right for Ray and what it starts, and put it back afterwards."""
    before = dict(os.environ)
    for name in before:
        if name.startswith("RAY_"):
            del os.environ[name]
    os.environ |= {
        SESSION_VARIABLE: str(folder),
        "TMPDIR": str(scratch),
        # Ray listens on all interfaces, and who may connect may run programs: so ask for a token.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
        "RAY_USAGE_STATS_ENABLED": "0",
        # Under `uv run`, Ray would build a second environment for its workers.
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    }
    path = [*_source_tree(), *filter(None, before.get("PYTHONPATH", "").split(os.pathsep))]
    if path:
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(part).absolute()) for part in path)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


@contextlib.contextmanager
def _quiet_ray() -> Iterator[None]:
    """Keep Ray's reports of dead workers, which the driver deals with, out of standard output.

    `log_to_driver=False` does not cover them, and no setting does in Ray 2.60.
    """
    from ray._private import worker

    before = worker._worker_logs_enabled
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = before


def _source_tree() -> list[str]:
    """The folder that holds our packages, unless workers find them as installed ones."""
    home = Path(__file__).resolve().parents[1]
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    return [] if home in installed else [str(home)]
