from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cluster.runs import RunMismatchError, RunNameError
from cluster.store import LocalStore
from jobs.exit_codes import BadUsageError
from jobs.input_errors import InputError
from jobs.sweep_plan import (
    available_cores,
    default_slots,
    freeze,
    pending_attempts,
    plan_sweep,
)
from workers.records import Quota
from workers.toolchain import ToolchainError, find_tools

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A sweep with two problems, one of them without attempts."""

    def make(toml: str = "", texts: tuple[bytes, ...] = (b"text",)) -> Path:
        problems = [
            {"schema_version": 1, "id": name, "module": "P", "labels": {"tier": name}}
            for name in ("unused", "p")
        ]
        attempts = []
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.txt").write_bytes(text)
            attempts.append(
                {
                    "schema_version": 1,
                    "problem": "p",
                    "model": "m",
                    "sample": number,
                    "text": {"path": f"{number}.txt"},
                    "usage": {"input_tokens": 7},
                }
            )
        for name, lines in (("problems", problems), ("attempts", attempts)):
            manifest = "".join(json.dumps(line) + "\n" for line in lines)
            (tmp_path / f"{name}.jsonl").write_text(manifest)
        head = 'problems = "problems.jsonl"\nattempts = "attempts.jsonl"\n'
        (tmp_path / "sweep.toml").write_text(head + toml)
        return tmp_path / "sweep.toml"

    return make


def test_a_plan_has_the_attempted_problems_and_the_sweeps_name(write: Write) -> None:
    plan = plan_sweep(write(), jobs=1)
    assert [problem.id for problem in plan.problems] == ["p"]
    assert plan.run == plan.sweep.name
    assert plan.slots == 1
    assert plan_sweep(write(), run="nightly").run == "nightly"


def test_pins_are_kept_by_the_same_contents_and_versions(write: Write) -> None:
    found = find_tools().fingerprint
    version = found.java_version.split()[0]
    pins = f'[toolchain]\ntla2tools_sha256 = "{found.tla2tools_sha256}"\njava_version = '
    for java in (version, found.java_version):
        assert plan_sweep(write(f'{pins}"{java}"\n')).tools.fingerprint == found


def test_all_broken_pins_are_told_with_the_setting_that_mends_them(write: Write) -> None:
    toml = f'[toolchain]\ntla2tools_sha256 = "{"0" * 64}"\njava_version = "1.2"\n'
    with pytest.raises(ToolchainError) as refused:
        plan_sweep(write(toml))
    first, second = str(refused.value).splitlines()
    assert "TLAGRID_TLA2TOOLS" in first
    assert "TLAGRID_JAVA" in second


def test_a_quota_wider_than_the_jobs_is_refused_with_the_problem(write: Write) -> None:
    sweep = write("[quota.specification]\ncores = 5\n")
    with pytest.raises(BadUsageError, match=r"problem p: its quota has 5 cores, .* --jobs 5"):
        plan_sweep(sweep, jobs=4)
    assert plan_sweep(sweep, jobs=5).slots == 5


def test_a_label_that_only_unattempted_problems_could_have_is_refused(write: Write) -> None:
    with pytest.raises(BadUsageError, match="there is no label 'tear'; there is: tier"):
        plan_sweep(write('[report]\nby = ["tear"]\n'))


def test_a_bad_run_name_is_refused_before_the_sweep_is_read(tmp_path: Path) -> None:
    with pytest.raises(RunNameError):
        plan_sweep(tmp_path / "missing", run="../up")


def test_the_default_uses_all_cores_unless_memory_is_short() -> None:
    total = psutil.virtual_memory().total
    assert default_slots(Quota(memory_bytes=200_000_000, heap_bytes=100_000_000)) <= (
        available_cores()
    )
    assert default_slots(Quota(memory_bytes=total, heap_bytes=100_000_000)) == 1
    assert default_slots(Quota(memory_bytes=2 * total, heap_bytes=100_000_000)) == 1


def test_a_frozen_run_hands_out_every_attempt_with_its_text(write: Write, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    plan = plan_sweep(write(texts=(b"one", b"not UTF-8: \xff")))
    run = freeze(store, plan)
    pending = list(pending_attempts(store, run, plan.sweep))
    loaded = [each.load() for each in pending]
    assert [each.identity.id for each in pending] == ["p/m/default/0", "p/m/default/1"]
    assert [attempt.text for _, attempt in loaded] == ["one", "not UTF-8: \ufffd"]
    assert [attempt.valid_utf8 for _, attempt in loaded] == [True, False]
    assert pending[0].identity.usage is not None
    assert freeze(store, plan) == run


def test_other_texts_are_another_run_and_texts_that_change_meanwhile_are_refused(
    write: Write, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path / "store")
    plan = plan_sweep(write(texts=(b"one",)), run="r")
    freeze(store, plan)
    other = plan_sweep(write(texts=(b"two",)), run="r")
    with pytest.raises(RunMismatchError, match="1 attempts changed"):
        freeze(store, other)
    with pytest.raises(InputError, match="is not what it was"):
        freeze(store, plan)
