from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.ledger import Ledger
from cluster.runs import RunMismatchError
from cluster.store import LocalStore
from jobs.dry_run import show_dry_run
from jobs.sweep_plan import SweepPlan, freeze, plan_sweep
from workers.records import Outcome, Resources, Verdict


def plan_of(folder: Path, *texts: str) -> SweepPlan:
    folder.mkdir(exist_ok=True)
    problem = {"schema_version": 1, "id": "p", "module": "P"}
    attempts = [
        {"schema_version": 1, "problem": "p", "model": f"m{n}", "text": text}
        for n, text in enumerate(texts)
    ]
    (folder / "problems.jsonl").write_text(json.dumps(problem))
    lines = "".join(json.dumps(attempt) + "\n" for attempt in attempts)
    (folder / "attempts.jsonl").write_text(lines)
    return plan_sweep(folder, run="run")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def verdict(model: str, outcome: Outcome, sub: str | None = None) -> Verdict:
    return Verdict(
        attempt=f"p/{model}/default/0",
        problem="p",
        model=model,
        regime="default",
        sample=0,
        outcome=outcome,
        sub=sub,
        family=outcome.family,
        message="-",
        resources=Resources(cpu_seconds=36.0),
        grader_version="0",
    )


def test_a_dry_run_of_a_run_in_progress_counts_what_is_left_and_changes_no_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = LocalStore(tmp_path / "store")
    plan = plan_of(tmp_path / "sweep", "one", "two", "three", "four")
    freeze(store, plan)
    ledger = Ledger(store, "run")
    ledger.append(
        [
            verdict("m0", Outcome.PARSED),
            verdict("m1", Outcome.INFRASTRUCTURE, "node"),
            verdict("m2", Outcome.INFRASTRUCTURE, "broken_context"),
        ]
    )
    ledger.close()
    before = files_of(tmp_path / "store")
    show_dry_run(store, plan, limit=None, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["run_exists"] is True
    assert document["by_model"] == {"m1": 1, "m3": 1}
    assert (document["to_grade"], document["already_had_a_verdict"]) == (2, 2)
    assert document["cpu_hours"]["likely"] == pytest.approx(2 * 36 / 3600)
    show_dry_run(store, plan, limit=1, as_json=False)
    text = capsys.readouterr().out
    assert "to grade:  1" in text
    assert "run (resumed)" in text
    assert files_of(tmp_path / "store") == before


def test_a_dry_run_is_refused_where_the_start_would_be(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    freeze(store, plan_of(tmp_path / "sweep", "one"))
    before = files_of(tmp_path / "store")
    with pytest.raises(RunMismatchError):
        show_dry_run(store, plan_of(tmp_path / "sweep", "two"), limit=None, as_json=False)
    assert files_of(tmp_path / "store") == before
