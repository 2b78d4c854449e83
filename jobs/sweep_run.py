"""Run a planned sweep on a Ray of our own, or find that nothing is left to grade.

Ray takes seconds to start and 400 MB; a run that is finished does without. Workers have another
current folder than the command: the settings that name files are made absolute for them, and the
tools are those that the plan found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from cluster.driver import GRADER, run_sweep
from cluster.embedded_ray import embedded_ray
from cluster.progress import Progress
from cluster.runs import RunDescription
from cluster.store import Store
from jobs.run_state import RunState, look_at
from jobs.sweep_plan import SweepPlan, pending_attempts
from workers.class_archive import CACHE_SETTING, prepare
from workers.enforcement import Tier
from workers.runner import require_enforcement
from workers.toolchain import (
    COMMUNITY_MODULES_SETTING,
    CONFIG_SETTING,
    JAVA_SETTING,
    TLA2TOOLS_SETTING,
    Tools,
)
from workers.version import __version__


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What one start of a sweep did, and where the run stands now."""

    before: RunState
    after: RunState

    @property
    def graded_now(self) -> int:
        """Attempts that have a verdict about the attempt since this start."""
        return self.after.graded - self.before.graded

    @property
    def already(self) -> int:
        """Attempts whose verdict stood before, so that this start left them alone."""
        return self.before.attempts - self.before.waiting - self.before.failed


def grade_rest(
    store: Store,
    run: RunDescription,
    plan: SweepPlan,
    *,
    limit: int | None,
    required_tier: Tier | None = None,
    on_start: Callable[[RunState], None],
    on_progress: Callable[[Progress], None],
    on_warning: Callable[[str], None],
) -> SweepResult:
    """Grade what the run has no final verdict for.

    Args:
        store: where the run is.
        run: the frozen run of the plan.
        plan: what to grade, and on how many cores.
        limit: grade at most so many attempts now.
        required_tier: refuse to grade where limits are held less strictly.
        on_start: called before Ray is started, if it is.
        on_progress: as in `run_sweep`.
        on_warning: as in `run_sweep`.

    Raises:
        EnforcementMissingError: this node does not have the required tier.
        RayStartError: Ray could not be started.
        KeyboardInterrupt: stopped by a signal; what was done is stored.
        StoreError, InputError, InputChangedError: see `run_sweep`; the run can be resumed.
    """
    before = look_at(store, run)
    if not (before.waiting or before.failed):
        return SweepResult(before, before)
    require_enforcement(required_tier)
    on_start(before)
    prepare(plan.tools)
    with (
        _terminated_like_interrupted(),
        _environment_of_workers(plan.tools),
        embedded_ray(plan.slots),
    ):
        run_sweep(
            store,
            run,
            pending_attempts(store, run, plan.sweep),
            tlagrid_version=__version__,
            grader=GRADER,
            limit=limit,
            required_tier=required_tier,
            on_progress=on_progress,
            on_warning=on_warning,
        )
    return SweepResult(before, look_at(store, run))


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, also before and after the driver is at work."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread, whose business it is then
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _environment_of_workers(tools: Tools) -> Iterator[None]:
    settings = {
        JAVA_SETTING: str(tools.java.absolute()),
        TLA2TOOLS_SETTING: str(tools.tla2tools.absolute()),
    }
    if tools.community_modules is not None:
        settings[COMMUNITY_MODULES_SETTING] = str(tools.community_modules.absolute())
    for name in (CACHE_SETTING, CONFIG_SETTING):
        if path := os.environ.get(name):
            settings[name] = str(Path(path).absolute())
    before = {name: os.environ.get(name) for name in settings}
    os.environ |= settings
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
