"""That a sweep is graded on a real Ray, stopped and resumed, is tested with the command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.progress import Progress
from cluster.runs import RunDescription
from cluster.store import LocalStore
from jobs import sweep_run
from jobs.run_state import RunState
from jobs.sweep_plan import SweepPlan
from workers.toolchain import find_tools


def test_workers_get_the_plans_tools_and_absolute_paths_and_nothing_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "config.toml").touch()
    monkeypatch.setenv("TLAGRID_CONFIG", "settings/config.toml")
    monkeypatch.delenv("TLAGRID_JAVA", raising=False)
    seen: dict[str, str] = {}

    @contextmanager
    def look(slots: int) -> Iterator[None]:
        seen.update(os.environ, slots=str(slots))
        yield

    waiting = SimpleNamespace(waiting=1, failed=0)
    monkeypatch.setattr(sweep_run, "embedded_ray", look)
    monkeypatch.setattr(sweep_run, "run_sweep", lambda *_, **__: None)
    monkeypatch.setattr(sweep_run, "pending_attempts", lambda *_: iter(()))
    monkeypatch.setattr(sweep_run, "look_at", lambda *_: waiting)
    tools = replace(find_tools(), community_modules=Path("lib/CommunityModules.jar"))
    plan = cast(SweepPlan, SimpleNamespace(tools=tools, slots=3, sweep=None))
    before = dict(os.environ)

    def ignore(_: RunState | Progress | str) -> None:
        pass

    sweep_run.grade_rest(
        LocalStore(tmp_path / "store"),
        cast(RunDescription, None),
        plan,
        limit=None,
        on_start=ignore,
        on_progress=ignore,
        on_warning=ignore,
    )
    assert seen["slots"] == "3"
    assert seen["TLAGRID_CONFIG"] == str(tmp_path / "settings" / "config.toml")
    assert seen["TLAGRID_COMMUNITY_MODULES"] == str(tmp_path / "lib" / "CommunityModules.jar")
    assert Path(seen["TLAGRID_JAVA"]).samefile(tools.java)
    assert Path(seen["TLAGRID_TLA2TOOLS"]).samefile(tools.tla2tools)
    assert dict(os.environ) == before


def test_a_finished_run_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("something was started")

    finished = SimpleNamespace(waiting=0, failed=0, graded=5, attempts=6)
    monkeypatch.setattr(sweep_run, "embedded_ray", refuse)
    monkeypatch.setattr(sweep_run, "look_at", lambda *_: finished)
    result = sweep_run.grade_rest(
        cast(LocalStore, None),
        cast(RunDescription, None),
        cast(SweepPlan, None),
        limit=None,
        on_start=refuse,
        on_progress=refuse,
        on_warning=refuse,
    )
    assert (result.graded_now, result.already) == (0, 6)
