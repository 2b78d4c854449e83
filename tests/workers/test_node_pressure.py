import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers import node_pressure
from workers.node_pressure import BUSY_SHARE, NodePressure, PressureMeter

TICKS = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
KINDS = ("cpu", "memory", "io", "steal", "throttled")
V2_MOUNT = "30 23 0:26 {root} {point} rw - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = "40 23 0:27 {root} {point} rw - cgroup cgroup rw,cpu,cpuacct\n"


class Node:
    """A /proc that a test writes, and a clock that it sets."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.groups = folder / "groups"
        (self.proc / "pressure").mkdir(parents=True)
        (self.proc / "self").mkdir()
        self.now = 1000.0

    def wait(self, **micros: int) -> None:
        """Let tasks have waited for so many microseconds altogether."""
        for name, total in micros.items():
            (self.proc / "pressure" / name).write_text(
                f"some avg10=99.00 avg60=0.00 avg300=0.00 total={total}\n"
                "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
            )

    def steal(self, ticks: int, kind: str = "cpu ") -> None:
        (self.proc / "stat").write_text(
            f"{kind} 11 22 33 44 55 66 77 {ticks} 88 99\n"
            "cpu0 11 22 33 44 55 66 77 123456 88 99\nintr 1 2 3\n"
        )

    def groups_are(self, membership: str, mount: str, root: str = "/") -> None:
        (self.proc / "self" / "cgroup").write_text(membership)
        point = self.groups
        text = mount.format(root=root, point=point)
        (self.proc / "self" / "mountinfo").write_text(
            f"22 27 0:21 / /proc rw - proc proc rw\n{text}"
        )

    def throttle(self, group: str, text: str) -> None:
        folder = self.groups / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.stat").write_text(f"nr_periods 5\nnr_throttled 3\n{text}\n")

    def meter(self) -> PressureMeter:
        return PressureMeter(self.proc)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node(tmp_path)
    monkeypatch.setattr(node_pressure, "time", SimpleNamespace(monotonic=lambda: node.now))
    return node


def test_a_node_that_tells_nothing_is_unknown_and_not_idle(node: Node) -> None:
    meter = node.meter()
    node.now += 10
    assert meter.pressure() == NodePressure(None, None, None, None, None)
    assert not meter.pressure().is_high


def test_what_was_waited_is_a_share_of_the_runs_time(node: Node) -> None:
    node.wait(cpu=5_000_000, memory=0, io=1)
    meter = node.meter()
    node.now += 10
    node.wait(cpu=7_000_000, memory=0, io=500_001)
    assert meter.pressure() == NodePressure(cpu=0.2, memory=0.0, io=0.05)


def test_a_figure_that_appears_during_the_run_stays_unknown(node: Node) -> None:
    meter = node.meter()
    node.now += 10
    node.wait(cpu=7_000_000)
    assert meter.pressure().cpu is None


def test_a_figure_that_goes_away_is_unknown(node: Node) -> None:
    node.wait(cpu=7_000_000)
    meter = node.meter()
    node.now += 10
    (node.proc / "pressure" / "cpu").unlink()
    assert meter.pressure().cpu is None


def test_pressure_that_the_kernel_has_switched_off_is_unknown(node: Node) -> None:
    (node.proc / "pressure" / "cpu").mkdir()  # reading gives an error, as with psi=0
    assert node.meter().pressure().cpu is None


def test_shares_stay_between_nothing_and_all(node: Node) -> None:
    node.wait(cpu=0, io=5_000_000)
    meter = node.meter()
    node.now += 1
    node.wait(cpu=9_000_000, io=0)  # counters of a machine that was moved can jump
    assert meter.pressure() == NodePressure(cpu=1.0, io=0.0)


def test_a_run_without_any_length_has_a_share_all_the_same(node: Node) -> None:
    node.wait(cpu=0)
    assert node.meter().pressure() == NodePressure(cpu=0.0)


def test_steal_is_the_hypervisors_share_of_all_cpus_time(node: Node) -> None:
    node.steal(1000)
    meter = node.meter()
    node.now += 10
    node.steal(1000 + 3 * TICKS)
    assert meter.pressure() == NodePressure(steal=0.3)


def test_a_kernel_that_counts_no_steal_leaves_it_unknown(node: Node) -> None:
    (node.proc / "stat").write_text("cpu  11 22 33 44 55 66 77\n")
    meter = node.meter()
    node.now += 10
    assert meter.pressure().steal is None


def test_throttled_time_is_microseconds_in_version_2(node: Node) -> None:
    node.groups_are("0::/a\n", V2_MOUNT)
    node.throttle("a", "throttled_usec 1000000")
    meter = node.meter()
    node.now += 10
    node.throttle("a", "throttled_usec 5000000")
    assert meter.pressure() == NodePressure(throttled=0.4)


def test_throttled_time_is_nanoseconds_in_version_1(node: Node) -> None:
    node.groups_are("3:memory:/m\n2:cpu,cpuacct:/a\n0::/\n", V1_MOUNT)
    node.throttle("a", "throttled_time 1000000000")
    meter = node.meter()
    node.now += 10
    node.throttle("a", "throttled_time 5000000000")
    assert meter.pressure() == NodePressure(throttled=0.4)


def test_a_container_that_sees_a_part_of_the_hierarchy_is_found(node: Node) -> None:
    node.groups_are("2:cpu,cpuacct:/docker/c/worker\n", V1_MOUNT, root="/docker/c")
    node.throttle("worker", "throttled_time 0")
    meter = node.meter()
    node.now += 10
    node.throttle("worker", "throttled_time 5000000000")
    assert meter.pressure() == NodePressure(throttled=0.5)


def test_a_group_without_a_quota_of_its_own_is_throttled_with_those_above(node: Node) -> None:
    node.groups_are("0::/pod/container\n", V2_MOUNT)
    node.throttle("pod/container", "usage_usec 12")
    node.throttle("pod", "throttled_usec 0")
    meter = node.meter()
    node.now += 10
    node.throttle("pod", "throttled_usec 2000000")
    assert meter.pressure() == NodePressure(throttled=0.2)


def test_what_an_ancestor_was_throttled_earlier_does_not_hide_what_happens_now(node: Node) -> None:
    node.groups_are("0::/pod/container\n", V2_MOUNT)
    node.throttle("pod", "throttled_usec 90000000")
    node.throttle("pod/container", "throttled_usec 0")
    meter = node.meter()
    node.now += 10
    node.throttle("pod/container", "throttled_usec 5000000")
    assert meter.pressure() == NodePressure(throttled=0.5)


def test_all_figures_are_told_together(node: Node) -> None:
    node.wait(cpu=0, memory=0, io=0)
    node.steal(0)
    node.groups_are("0::/\n", V2_MOUNT)
    node.throttle("", "throttled_usec 0")
    meter = node.meter()
    node.now += 1
    assert meter.pressure() == NodePressure(0.0, 0.0, 0.0, 0.0, 0.0)


@given(
    shares=st.fixed_dictionaries(
        dict.fromkeys(KINDS, st.none() | st.floats(0, 1) | st.just(BUSY_SHARE))
    )
)
def test_pressure_is_high_when_any_known_share_is_above_the_threshold(
    shares: dict[str, float | None],
) -> None:
    high = any(share > BUSY_SHARE for share in shares.values() if share is not None)
    assert NodePressure(**shares).is_high == high


def test_the_threshold_itself_is_not_high() -> None:
    assert not NodePressure(*[BUSY_SHARE] * 5).is_high
    for kind in KINDS:
        assert NodePressure(**{kind: BUSY_SHARE + 0.001}).is_high


def test_the_real_node_is_read() -> None:
    pressure = PressureMeter().pressure()
    offered = [name for name in ("cpu", "memory", "io") if Path("/proc/pressure", name).exists()]
    assert all(getattr(pressure, name) is not None for name in offered)
    assert pressure.steal is not None
