from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import Ledger, read_verdicts
from cluster.store import LocalStore
from jobs import sweep_run
from workers.records import Outcome, Verdict

REPOSITORY = Path(__file__).resolve().parents[3]

WITH_STANDIN = """
from jobs import sweep_run
from jobs.cli import main
sweep_run.GRADER = "standin_grader:grade"
main()
"""

TEN_MISTAKES_PROBLEMS = """\
{"schema_version": 1, "id": "a", "module": "A", "config": {"path": "missing.cfg"}}
{"schema_version": 1, "id": "a", "module": "A"}
{"schema_version": 1, "id": "b", "modul": "B", "module": "B"}
{"schema_version": 9, "id": "c", "module": "C"}
not json
"""
TEN_MISTAKES_ATTEMPTS = """\
{"schema_version": 1, "problem": "nobody", "model": "m", "text": ""}
{"schema_version": 1, "problem": "a", "model": "m", "sample": -1, "text": ""}
{"schema_version": 1, "problem": "a", "model": "m", "text": {"path": "../outside"}}
{"schema_version": 1, "problem": "a", "model": "m", "sample": 2}
"""


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Grade with the stand-in of the cluster's tests; the folder of its calls."""
    calls = tmp_path / "calls"
    calls.mkdir()
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests" / "cluster")])
    monkeypatch.setenv("STANDIN_CALLS", str(calls))
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setattr(sweep_run, "GRADER", "standin_grader:grade")
    return calls


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where Ray would be started."""

    def refuse(slots: int) -> Any:
        raise AssertionError(f"Ray was started on {slots} cores")

    monkeypatch.setattr(sweep_run, "embedded_ray", refuse)


@pytest.fixture
def idle_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ray that grades nothing."""

    @contextmanager
    def idle(slots: int) -> Iterator[None]:
        yield

    monkeypatch.setattr(sweep_run, "embedded_ray", idle)
    monkeypatch.setattr(sweep_run, "run_sweep", lambda *_, **__: None)


def tables_in(stdout: str) -> str:
    return stdout.partition(" graded now")[0].rpartition("\n")[0]


def test_an_interrupted_sweep_goes_on_and_a_finished_one_starts_nothing(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    store: LocalStore,
    standin: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["correct", "deadlock", "infrastructure unreadable_config", "hang-once", "correct"]
    folder = write_sweep(*texts, toml='[report]\nk = [1, 2]\nby = ["tier"]\n')
    command = ["sweep", str(folder), "--store", store.uri, "--run", "nightly", "--jobs", "2"]
    with subprocess.Popen(
        [sys.executable, "-c", WITH_STANDIN, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 90
        while len(list(read_verdicts(store, "nightly"))) < 4 and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert "interrupted: 4 of 5 attempts have a verdict" in stderr
    assert f" {' '.join(command)}\n" in stderr
    assert "Traceback" not in stderr

    resumed = tlagrid(*command)
    assert resumed.exit_code == 0
    assert "1 graded now, 4 already had a verdict" in resumed.stdout
    assert "1 ungraded: 1 unreadable_config" in resumed.stdout
    assert "pass@k by tier" in resumed.stdout
    assert f" report nightly --store {store.uri}" in resumed.stdout
    assert f" trace nightly clock/m/default/1 --store {store.uri}" in resumed.stdout
    assert len({path.name.partition("@")[0] for path in standin.iterdir()}) == 5
    assert len(list(standin.iterdir())) == 6  # only the one that hung was graded twice

    def refuse(slots: int) -> Any:
        raise AssertionError(f"Ray was started on {slots} cores")

    monkeypatch.setattr(sweep_run, "embedded_ray", refuse)
    again = tlagrid(*command)
    assert again.exit_code == 0
    assert "0 graded now, 5 already had a verdict" in again.stdout
    assert tables_in(again.stdout) == tables_in(resumed.stdout)
    assert "pass@k by tier" in tables_in(again.stdout)

    document = json.loads(tlagrid(*command, "--json").stdout)
    assert (document["graded_now"], document["already_had_a_verdict"]) == (0, 5)
    assert document["state"] == "finished"
    assert document["by"]["tier"]["rows"][0]["label:tier"] == "gold"


def test_ungraded_attempts_of_a_failing_infrastructure_end_with_3_and_the_tables(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    store: LocalStore,
    idle_ray: None,
) -> None:
    folder = write_sweep("one")
    command = ("sweep", folder, "--store", store.uri, "--run", "nightly")
    assert tlagrid(*command).exit_code == 0
    _record_node_failure(store)
    result = tlagrid(*command)
    assert result.exit_code == 3
    assert "Ungraded attempts" in result.stdout
    assert "the same command tries them again" in result.stderr


def _record_node_failure(store: LocalStore) -> None:
    ledger = Ledger(store, "nightly")
    ledger.append(
        [
            Verdict(
                attempt="clock/m/default/0",
                problem="clock",
                model="m",
                regime="default",
                sample=0,
                outcome=Outcome.INFRASTRUCTURE,
                sub="node",
                family=Outcome.INFRASTRUCTURE.family,
                message="-",
                grader_version="0",
            )
        ]
    )
    ledger.close()


def test_ten_mistakes_give_ten_messages_and_nothing_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "problems.jsonl").write_text(TEN_MISTAKES_PROBLEMS)
    (folder / "attempts.jsonl").write_text(TEN_MISTAKES_ATTEMPTS)
    toml = 'problems = "problems.jsonl"\nattempts = "attempts.jsonl"\nextract = "magic"\n'
    (folder / "sweep.toml").write_text(toml)
    store = tmp_path / "store"
    result = subprocess.run(
        [sys.executable, "-m", "jobs", "sweep", folder, "--store", store],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 10, result.stderr
    files = [f"{folder}/{name}:" for name in ("problems.jsonl", "attempts.jsonl", "sweep.toml")]
    assert all(line.startswith(tuple(files)) for line in lines)
    places = sorted(":".join(line.removeprefix(f"{folder}/").split(":")[:3]) for line in lines)
    assert places == [
        "attempts.jsonl:1: problem",
        "attempts.jsonl:2: sample",
        "attempts.jsonl:3: text.path",
        "attempts.jsonl:4: text",
        "problems.jsonl:1: config.path",
        "problems.jsonl:2: id",
        "problems.jsonl:3: modul",
        "problems.jsonl:4: schema_version",
        "problems.jsonl:5: not JSON",
        "sweep.toml:3: extract",
    ]
    assert not store.exists()


def test_problem_faults_are_warnings_before_the_run(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    store: LocalStore,
    idle_ray: None,
) -> None:
    folder = write_sweep("one", config="NONSENSE x\n")
    result = tlagrid("sweep", folder, "--store", store.uri)
    assert result.exit_code == 0
    warning, *_ = result.stderr.splitlines()
    assert warning.startswith("warning: problem clock: TLC cannot read the config: line 1")


def test_a_dry_run_starts_and_writes_nothing(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    tmp_path: Path,
    no_ray: None,
) -> None:
    folder = write_sweep("one", "two", "three")
    command = ("sweep", folder, "--store", tmp_path / "store", "--dry-run")
    result = tlagrid(*command)
    assert result.exit_code == 0
    assert "attempts:  3, 0 already have a verdict" in result.stdout
    assert not (tmp_path / "store").exists()
    document = json.loads(tlagrid(*command, "--limit", "2", "--json").stdout)
    assert document["to_grade"] == 2
    assert document["by_model"] == {"m": 2}
    assert document["cpu_hours"]["at_most"] > 0
    assert document["cpu_hours"]["likely"] is None
    assert not (tmp_path / "store").exists()


def test_the_store_of_the_sweep_file_is_used_unless_another_is_named(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    tmp_path: Path,
    idle_ray: None,
) -> None:
    folder = write_sweep("one", toml='store = "kept"\n')
    result = tlagrid("sweep", folder)
    assert (folder / "kept" / "runs").is_dir()
    assert f"--store {folder / 'kept'}" in result.stdout
    tlagrid("sweep", folder, "--store", tmp_path / "other")
    assert (tmp_path / "other" / "runs").is_dir()


@pytest.mark.parametrize(
    ("options", "toml", "code", "message"),
    [
        (["--jobs", "2"], "[quota.specification]\ncores = 3\n", 2, "pass --jobs 3 or more"),
        (["--run", "a/b"], "", 2, "run name 'a/b' is not valid"),
        (["--k", "0"], "", 2, "give numbers from 1 up"),
        (["--limit", "0"], "", 2, "--limit"),
        ([], '[report]\nby = ["colour"]\n', 2, "there is no label 'colour'; there is: tier"),
        ([], '[toolchain]\njava_version = "7.0"\n', 3, "the sweep pins java_version 7.0"),
        (["--address", "auto"], "", 2, "No such option"),
        (["--store", "s3://bucket/prefix"], "", 2, "local folder only"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_written(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_ray: None,
    options: list[str],
    toml: str,
    code: int,
    message: str,
) -> None:
    store = tmp_path / "store"
    monkeypatch.setenv("TLAGRID_STORE", str(store))
    result = tlagrid("sweep", write_sweep("one", toml=toml), *options)
    assert result.exit_code == code
    assert message in result.stderr
    assert not store.exists()


def test_other_inputs_under_the_same_run_name_are_refused(
    tlagrid: Callable[..., Any],
    write_sweep: Callable[..., Path],
    store: LocalStore,
    idle_ray: None,
) -> None:
    command = ("sweep", write_sweep("one"), "--store", store.uri, "--run", "nightly")
    assert tlagrid(*command).exit_code == 0
    write_sweep("one", "two")
    for options in ([], ["--dry-run"]):
        result = tlagrid(*command, *options)
        assert result.exit_code == 2
        assert "1 attempts added (clock/m/default/1)" in result.stderr
