"""What a dry run tells: how much there is to grade, and how much CPU time that can take.

The upper bound is what the quotas allow: each tool may use its CPU seconds, and no more than its
wall clock on all cores of this machine. It is far above what a sweep takes, since most checks end
in seconds. Where the run has verdicts already, the mean of what they took gives a better guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster.runs import AttemptIdentity
from jobs.run_state import RunState
from jobs.sweep_plan import quota_of
from workers.records import Problem, Quota

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Estimate:
    """The attempts that a start would grade, and the CPU time for them."""

    to_grade: int
    by_problem: Mapping[str, int]
    by_model: Mapping[str, int]
    most_cpu_hours: float
    """What the quotas allow on this machine."""
    likely_cpu_hours: float | None
    """From the run's verdicts; `None` without any."""


def estimate(
    to_grade: Iterable[AttemptIdentity],
    *,
    problems: Mapping[str, Problem],
    quota: Quota,
    cores: int,
    state: RunState,
) -> Estimate:
    """Count the attempts and bound their CPU time.

    Args:
        to_grade: the attempts that a start would grade.
        problems: by id, those of the attempts.
        quota: the sweep's.
        cores: of this machine.
        state: of the run, for what earlier verdicts took.
    """
    by_problem = Counter[str]()
    by_model = Counter[str]()
    for attempt in to_grade:
        by_problem[attempt.problem] += 1
        by_model[attempt.model] += 1
    count = by_problem.total()
    most = sum(
        times * _most_cpu_seconds(problems[problem], quota, cores)
        for problem, times in by_problem.items()
    )
    mean = state.cpu_seconds / state.measured if state.measured else None
    return Estimate(
        to_grade=count,
        by_problem=by_problem,
        by_model=by_model,
        most_cpu_hours=most / _SECONDS_PER_HOUR,
        likely_cpu_hours=None if mean is None else count * mean / _SECONDS_PER_HOUR,
    )


def _most_cpu_seconds(problem: Problem, sweep_quota: Quota, cores: int) -> float:
    quota = quota_of(problem, sweep_quota)
    most = min(quota.cpu_seconds, quota.parse_wall_seconds * cores)
    if problem.config is not None:
        most += min(quota.cpu_seconds, quota.wall_seconds * cores)
    return most
