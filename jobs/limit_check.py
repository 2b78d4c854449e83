"""Which limits hold on this node, and how: a program is run into each, and must be stopped."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jobs.check_row import Row, Status
from workers.enforcement import Enforcement, Refusal, Tier
from workers.enforcement_methods import Method, Strength, methods_of
from workers.leftovers import scratch_prefix
from workers.limits import Limit, Limits
from workers.runner import RunnerError, examine_node, node_enforcement, run

_LIMITS = Limits(
    wall_seconds=15,
    cpu_seconds=10,
    memory_bytes=150_000_000,
    processes=16,
    scratch_bytes=1_000_000,
    output_bytes=1_000_000,
)
_BEST = Enforcement(Tier.CGROUP_V2, cpuset=True, private_shm=True)
_SLEEP = "\nimport time; time.sleep(20)"
_PROGRAMS: dict[Limit, str] = {
    Limit.WALL: _SLEEP,
    Limit.CPU: "while True: pass",
    Limit.MEMORY: f"block = bytearray(b'x') * 300_000_000{_SLEEP}",
    Limit.PROCESSES: f"import os\nfor _ in range(5): os.fork(){_SLEEP}",
    Limit.OUTPUT: f"print('x' * 3_000_000, flush=True){_SLEEP}",
    Limit.SCRATCH: f"open('file', 'wb').write(bytes(3_000_000)){_SLEEP}",
}


def check_limits() -> Iterator[Row]:
    """Say what holds the limits here, try each, and say what would hold them better."""
    try:
        examination, enforcement = examine_node(), node_enforcement()
    except RunnerError as error:
        yield Row("enforcement", Status.MISSING, str(error), "free memory and processes; try again")
        return
    chosen = enforcement == examination.enforcements[0]
    detail = f"{enforcement}" + ("" if chosen else f"; {examination.enforcements[0]} would work")
    yield Row(
        "enforcement",
        Status.OK if chosen else Status.WARNING,
        detail,
        None if chosen else "unset TLAGRID_ENFORCEMENT",
    )
    refusals = [each for each in examination.refusals if _is_better(each, enforcement)]
    refusals.sort(key=lambda each: each.name not in set(Tier))  # a tier mends the most
    for refusal in refusals:
        yield Row(f"better: {refusal.name}", Status.INFO, refusal.reason, refusal.remedy)
    remedy = refusals[0].remedy if refusals else None
    for method, best in zip(methods_of(enforcement), methods_of(_BEST), strict=True):
        yield _row(method, enforcement, None if method.strength is best.strength else remedy)


def _is_better(refusal: Refusal, enforcement: Enforcement) -> bool:
    """Whether what the node refuses would hold limits better than what it offers."""
    return refusal.name not in set(Tier) or not enforcement.tier.is_at_least(Tier(refusal.name))


def _row(method: Method, enforcement: Enforcement, remedy: str | None) -> Row:
    name = f"{method.subject} limit"
    how = f"{method.strength} ({method.how})"
    held = Status.INFO if method.strength is Strength.NOT_COVERED else Status.OK
    if method.subject not in set(Limit):
        return Row(name, held, how, remedy)
    limit = Limit(method.subject)
    try:
        fired, seconds = _run_into(limit, enforcement)
    except (RunnerError, OSError) as error:
        return Row(name, Status.MISSING, str(error), "free memory, processes and disk; try again")
    if fired is limit:
        return Row(name, held, f"{how}; stopped after {seconds:.1f} s", remedy)
    what = f"stopped by the {fired} limit instead" if fired else "not stopped"
    return Row(name, Status.MISSING, f"{how}; {what}", "try again when the machine is less busy")


def _run_into(limit: Limit, enforcement: Enforcement) -> tuple[Limit | None, float]:
    limits = _LIMITS
    if limit is Limit.WALL:
        limits = replace(limits, wall_seconds=1)
    if limit is Limit.CPU:
        limits = replace(limits, cpu_seconds=0.5)
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        result = run(
            [sys.executable, "-I", "-S", "-c", _PROGRAMS[limit]],
            environment={},
            scratch=scratch,
            spool=Path(folder, "spool"),
            limits=limits,
            enforcement=enforcement,
        )
        return result.limit, result.wall_seconds
