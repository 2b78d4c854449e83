from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest

from cluster.embedded_ray import RayStartError, embedded_ray

REPOSITORY = Path(__file__).resolve().parents[2]

# Somebody's own Ray, in the way that ray.init starts one, which says when it still answers.
THEIRS = """
import sys
import ray
ray.init(
    address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[1]
)
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.readline()
print(ray.get(ray.remote(lambda: "alive").remote()), flush=True)
sys.stdin.readline()
"""

OURS = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from cluster.embedded_ray import embedded_ray
before = dict(os.environ)
with embedded_ray(2) as session:
    import ray

    @ray.remote(max_retries=0)
    def look():
        import cluster
        import workers
        return cluster.__file__, workers.__file__, {**os.environ}

    @ray.remote(max_retries=0)
    def die():
        os.kill(os.getpid(), 9)

    files = ray.get(look.remote())
    try:
        ray.get(die.remote())
    except ray.exceptions.WorkerCrashedError:
        time.sleep(1)  # for Ray to report it, in whichever way it does
    address = ray.get_runtime_context().gcs_address
    cpus = ray.cluster_resources()["CPU"]
assert os.environ == before
print(json.dumps([address, cpus, str(session.folder), *files[:2], "RAY_ADDRESS" in files[2]]))
"""


@pytest.mark.timeout(240)
def test_a_session_is_our_own_and_leaves_nothing_behind(tmp_path: Path) -> None:
    # A stranger's package in the current folder, and a cluster that a bare ray.init() would join.
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "__init__.py").touch()
    home = tmp_path / "home"
    home.mkdir()
    environment = os.environ | {"RAY_AUTH_MODE": "disabled", "HOME": str(home)}
    environment.pop("PYTHONPATH", None)
    # Sockets below pytest's folder would have too long a path.
    with (
        tempfile.TemporaryDirectory(
            prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder,
        subprocess.Popen(
            [sys.executable, "-c", THEIRS, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as theirs,
    ):
        try:
            assert theirs.stdin is not None
            assert theirs.stdout is not None
            their_address = theirs.stdout.readline().strip()
            done = subprocess.run(
                [sys.executable, "-P", "-c", OURS, REPOSITORY],
                cwd=tmp_path,
                env=environment | {"RAY_ADDRESS": their_address},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.stderr == ""
            address, cpus, our_folder, *files, their_variable = json.loads(done.stdout)
            theirs.stdin.write("\n")
            theirs.stdin.flush()
            assert theirs.stdout.readline().strip() == "alive"
        finally:
            theirs.communicate(timeout=60)  # ends it in order: a killed one would leave its agents
    assert address != their_address
    assert cpus == 2
    assert files == [
        str(REPOSITORY / package / "__init__.py") for package in ("cluster", "workers")
    ]
    assert not their_variable
    assert not Path(our_folder).exists()
    assert not [process for process in psutil.process_iter() if _names(process, our_folder)]
    assert list(home.iterdir()) == []


def test_a_session_needs_a_slot() -> None:
    with pytest.raises(RayStartError, match="0 slots"), embedded_ray(0):
        pass


def test_a_session_is_not_started_beside_the_main_thread() -> None:
    caught: list[RayStartError] = []

    def start() -> None:
        try:
            with embedded_ray(1):
                pass
        except RayStartError as error:
            caught.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in str(caught[0])


def _names(process: psutil.Process, folder: str) -> bool:
    try:
        return folder in " ".join(process.cmdline()) or process.cwd().startswith(folder)
    except psutil.Error:
        return False
