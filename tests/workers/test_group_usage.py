from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from workers.group_usage import GroupUsage
from workers.limits import Limits
from workers.process_tree import Accounts
from workers.tree_usage import SampledUsage

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=10,
    memory_bytes=100 * MIB,
    processes=100,
    scratch_bytes=MIB,
    output_bytes=MIB,
)


@dataclass
class Group:
    """A control group's counters."""

    cpu: float = 0.0
    peak: int = 0
    hit: str | None = None
    wake: int | None = None

    def set_up(self, limits: Limits, cpus: Sequence[int]) -> None: ...
    def heed_wake(self) -> None: ...
    def enter(self) -> None: ...
    def remove(self) -> None: ...

    def pids(self) -> set[int]:
        return set()

    def kill(self) -> bool:
        return False

    def cpu_seconds(self) -> float:
        return self.cpu

    def peak_bytes(self) -> int:
        return self.peak

    def exceeded(self, limits: Limits) -> str | None:
        assert limits == LIMITS
        return self.hit


class ReapedTree(Accounts):
    """What was reaped of a run, without any children left."""

    def __init__(self) -> None:
        super().__init__(0)
        self.reaped = 0

    def reap(self) -> bool:
        self.reaped += 1
        return False


class Sampled(SampledUsage):
    """What samples found."""

    def __init__(self, over: str | None = None, finally_over: str | None = None) -> None:
        self.over, self.finally_over = over, finally_over
        self.cpu, self.peak = 0.0, 0

    def limit(self) -> str | None:
        return self.over

    def final_limit(self) -> str | None:
        return self.finally_over

    @property
    def cpu_seconds(self) -> float:
        return self.cpu

    @property
    def peak_bytes(self) -> int:
        return self.peak


def usage(group: Group, sampled: Sampled | None = None) -> GroupUsage:
    return GroupUsage(group, LIMITS, ReapedTree(), sampled)


def limits_of(used: GroupUsage) -> tuple[str | None, str | None]:
    return used.limit(), used.final_limit()


def test_a_run_within_its_limits_is_over_none() -> None:
    assert limits_of(usage(Group(cpu=10.0, peak=100 * MIB))) == (None, None)


def test_cpu_time_beyond_the_limit_counts_while_it_runs_and_at_its_end() -> None:
    assert limits_of(usage(Group(cpu=10.01))) == ("cpu", "cpu")


@pytest.mark.parametrize("hit", ["memory", "processes"])
def test_a_limit_that_the_group_hit_is_the_runs(hit: str) -> None:
    assert limits_of(usage(Group(hit=hit))) == (hit, hit)


def test_a_tree_that_may_have_left_its_group_is_sampled_as_well() -> None:
    assert limits_of(usage(Group(), Sampled("processes", "memory"))) == ("processes", "memory")
    assert limits_of(usage(Group(), Sampled())) == (None, None)


def test_the_groups_own_word_comes_before_what_was_sampled() -> None:
    assert limits_of(usage(Group(hit="memory"), Sampled("cpu", "cpu"))) == ("memory", "memory")


def test_children_that_ended_are_reaped_at_each_look() -> None:
    accounts = ReapedTree()
    used = GroupUsage(Group(), LIMITS, accounts, None)
    used.limit()
    used.limit()
    assert accounts.reaped == 2


def test_cpu_time_is_the_larger_of_what_the_group_counted_and_what_was_sampled() -> None:
    sampled = Sampled()
    sampled.cpu = 3.0
    assert usage(Group(cpu=2.0)).cpu_seconds == 2.0
    assert usage(Group(cpu=2.0), sampled).cpu_seconds == 3.0
    assert usage(Group(cpu=4.0), sampled).cpu_seconds == 4.0


def test_the_peak_is_the_groups_and_only_without_one_what_else_is_known() -> None:
    sampled = Sampled()
    sampled.peak = 3 * MIB
    assert usage(Group(peak=2 * MIB), sampled).peak_bytes == 2 * MIB
    assert usage(Group(peak=0), sampled).peak_bytes == 3 * MIB
    accounts = ReapedTree()
    accounts.largest_bytes = MIB
    assert GroupUsage(Group(), replace(LIMITS), accounts, None).peak_bytes == MIB
