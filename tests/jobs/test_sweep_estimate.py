from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from cluster.runs import AttemptIdentity, FrozenList, RunDescription
from jobs.run_state import RunState
from jobs.sweep_estimate import estimate
from workers.records import Attempt, GradingSettings, Problem, Quota, QuotaChange

QUOTA = Quota(cpu_seconds=600, wall_seconds=300, parse_wall_seconds=60)


def state(cpu_seconds: float, measured: int) -> RunState:
    frozen = FrozenList(key="k", sha256="0" * 64, count=0)
    run = RunDescription(
        name="run",
        created=datetime.now(UTC),
        tlagrid_version="0",
        settings=GradingSettings(),
        problems=frozen,
        attempts=frozen,
    )
    return RunState(
        run=run,
        outcomes=Counter(),
        reasons=Counter(),
        cpu_seconds=cpu_seconds,
        measured=measured,
        failure=None,
        driver=None,
        live=False,
        rate=None,
    )


def identities(problem: str, count: int, model: str = "m") -> list[AttemptIdentity]:
    attempts = (
        Attempt(id=f"{problem}{n}", problem=problem, model=model, sample=n, text="")
        for n in range(count)
    )
    return [AttemptIdentity.of(attempt) for attempt in attempts]


@pytest.mark.parametrize(
    ("problem", "cores", "seconds"),
    [
        (Problem(id="p", module="P"), 2, 120),  # parse alone, bounded by its wall clock
        (Problem(id="p", module="P"), 64, 600),  # bounded by the CPU seconds
        (Problem(id="p", module="P", config="INIT I"), 1, 60 + 300),
        (Problem(id="p", module="P", config="INIT I"), 64, 600 + 600),
        (
            Problem(id="p", module="P", config="INIT I", quota=QuotaChange(wall_seconds=10)),
            1,
            60 + 10,
        ),
    ],
)
def test_the_bound_is_what_the_quotas_allow_on_this_machine(
    problem: Problem, cores: int, seconds: float
) -> None:
    result = estimate(
        identities("p", 3), problems={"p": problem}, quota=QUOTA, cores=cores, state=state(0, 0)
    )
    assert result.most_cpu_hours == pytest.approx(3 * seconds / 3600)
    assert result.likely_cpu_hours is None


def test_earlier_verdicts_of_the_run_give_a_likely_figure() -> None:
    problems = {"p": Problem(id="p", module="P"), "q": Problem(id="q", module="Q")}
    result = estimate(
        [*identities("p", 3), *identities("q", 1, model="n")],
        problems=problems,
        quota=QUOTA,
        cores=1,
        state=state(cpu_seconds=20, measured=10),
    )
    assert result.likely_cpu_hours == pytest.approx(4 * 2 / 3600)
    assert (result.to_grade, result.by_problem, result.by_model) == (
        4,
        {"p": 3, "q": 1},
        {"m": 3, "n": 1},
    )
