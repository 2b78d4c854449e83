import ctypes
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers import enforcement as module
from workers.cgroup_v1 import GroupV1, parents_of_this_process
from workers.cgroup_v2 import GroupV2
from workers.control_group import PREFIX
from workers.enforcement import Enforcement, Examination, Refusal, Tier, examine
from workers.guard_link import GROUP_SETTING
from workers.limits import Limits

ROOT = Path(__file__).resolve().parents[2]
EXAMINE = """
import ctypes, json, os, sys
from dataclasses import asdict
from workers.enforcement import examine
if sys.argv[2] == "nobody":
    os.setgroups([]); os.setresgid(*[65534] * 3); os.setresuid(*[65534] * 3)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self stays its own
print(json.dumps(asdict(examine(sys.argv[1] or None))))
print(json.dumps([os.getpid(), os.listdir("/proc/self/fd")]))
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: print("no child")
"""
names = st.text(max_size=20)
enforcements = st.builds(
    Enforcement,
    tier=st.sampled_from(Tier),
    parents=st.dictionaries(names, names, max_size=4),
    cpuset=st.booleans(),
    private_shm=st.booleans(),
    hidden=st.lists(names, max_size=3).map(tuple),
)
SAMPLING = Enforcement(Tier.SAMPLING)


class Node:
    """What an examination in a process of its own finds, and what it leaves."""

    def __init__(self, named_group: str = "", user: str = "") -> None:
        done = subprocess.run(
            [sys.executable, "-c", EXAMINE, named_group, user],
            env={"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found, left, self.children = done.stdout.splitlines()
        fields = json.loads(found)
        self.enforcements = [Enforcement.from_fields(each) for each in fields["enforcements"]]
        self.refusals = [Refusal(**each) for each in fields["refusals"]]
        self.pid, self.descriptors = json.loads(left)

    def reason(self, name: str) -> str:
        return next(each.reason for each in self.refusals if each.name == name)


@pytest.fixture(scope="module")
def node() -> Node:
    return Node(os.environ.get(GROUP_SETTING, ""))


# The value


def test_tiers_are_ordered_by_what_they_hold() -> None:
    tiers = [Tier.CGROUP_V2, Tier.CGROUP_V1, Tier.SAMPLING]
    for index, tier in enumerate(tiers):
        assert [tier.is_at_least(other) for other in tiers] == [
            index <= place for place in range(3)
        ]


@given(enforcement=enforcements)
def test_an_enforcement_travels_as_json(enforcement: Enforcement) -> None:
    fields = json.loads(json.dumps(enforcement.to_fields()))
    assert Enforcement.from_fields(fields) == enforcement


def test_an_enforcement_is_named_by_its_tier_and_what_goes_with_it() -> None:
    assert str(SAMPLING) == "sampling"
    assert str(Enforcement(Tier.CGROUP_V1, cpuset=True)) == "cgroup-v1+cpuset"
    best = Enforcement(Tier.CGROUP_V2, cpuset=True, private_shm=True)
    assert str(best) == "cgroup-v2+cpuset+private-shm"


def test_each_tier_has_its_kind_of_group(tmp_path: Path) -> None:
    parents = {name: str(tmp_path) for name in ("cpuacct", "freezer", "memory", "pids")}
    assert SAMPLING.group("x") is None
    assert SAMPLING.group_folders == []
    first = Enforcement(Tier.CGROUP_V1, parents)
    assert isinstance(first.group("x"), GroupV1)
    assert first.group_folders == [tmp_path] * 4
    second = Enforcement(Tier.CGROUP_V2, {"unified": str(tmp_path)})
    assert isinstance(second.group("x"), GroupV2)
    assert second.group_folders == [tmp_path]
    assert list(tmp_path.iterdir()) == []


def test_the_best_is_the_strongest_not_above_a_tier() -> None:
    second, first = Enforcement(Tier.CGROUP_V2), Enforcement(Tier.CGROUP_V1)
    examination = Examination((second, first, SAMPLING), ())
    assert examination.best() == second
    assert [examination.best(tier) for tier in Tier] == [second, first, SAMPLING]
    assert Examination((second, SAMPLING), ()).best(Tier.CGROUP_V1) == SAMPLING


# This node


def test_what_works_comes_best_first_and_sampling_always_works(node: Node) -> None:
    tiers = [each.tier for each in node.enforcements]
    assert tiers == sorted(tiers, key=list(Tier).index)
    assert node.enforcements[-1] == SAMPLING
    names = [str(each) for each in node.enforcements]
    assert len(set(names)) == len(names)


def test_what_does_not_work_is_refused_with_a_reason_and_a_remedy(node: Node) -> None:
    offered = {str(each.tier) for each in node.enforcements}
    if node.enforcements[0].private_shm:
        offered.add("private /dev/shm")
    refused = [each.name for each in node.refusals]
    assert sorted([*refused, *offered]) == sorted([*Tier, "private /dev/shm"])
    assert all(each.reason and each.remedy for each in node.refusals)


def test_an_examination_leaves_no_group_no_child_and_no_descriptor(node: Node) -> None:
    parents = [folder for each in node.enforcements for folder in each.group_folders]
    membership, mounts = (Path("/proc/self", name).read_text() for name in ("cgroup", "mountinfo"))
    parents += [Path(path) for path in parents_of_this_process(membership, mounts)[0].values()]
    assert [left for each in parents for left in each.glob(f"{PREFIX}*-{node.pid}-*")] == []
    assert node.children == "no child"
    assert len(node.descriptors) == 4  # the standard ones and the listing's own


def test_all_that_is_private_hides_control_groups(node: Node) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    for each in node.enforcements:
        if each.private_shm:
            assert bool(each.hidden) == (" cgroup" in mounts)
        assert all(os.path.isdir(folder) for folder in each.hidden)  # noqa: PTH112


def test_a_named_group_that_is_not_there_is_refused_by_its_name(node: Node) -> None:
    named = Node("/sys/fs/cgroup/absent")
    assert "/sys/fs/cgroup/absent" in named.reason(Tier.CGROUP_V2)
    assert not any(each.tier is Tier.CGROUP_V2 for each in named.enforcements)


def test_a_delegated_group_can_be_named(node: Node) -> None:
    best = node.enforcements[0]
    if best.tier is not Tier.CGROUP_V2:
        pytest.skip(f"no delegated group of version 2: {node.reason(Tier.CGROUP_V2)}")
    assert best in Node(best.parents["unified"]).enforcements


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an ordinary user")
def test_an_ordinary_user_without_delegation_has_sampling_and_reads_why() -> None:
    node = Node(user="nobody")
    assert node.enforcements == [SAMPLING]
    assert [each.name for each in node.refusals] == [
        "private /dev/shm",
        Tier.CGROUP_V2,
        Tier.CGROUP_V1,
    ]
    assert os.strerror(errno.EPERM) in node.reason("private /dev/shm")
    assert "TLAGRID_CGROUP" in next(
        each.remedy for each in node.refusals if each.name == Tier.CGROUP_V2
    )


# Other nodes


def played(monkeypatch: pytest.MonkeyPatch, membership: str, mounts: str) -> Examination:
    texts = {Path("/proc/self/cgroup"): membership, Path("/proc/self/mountinfo"): mounts}
    monkeypatch.setattr(module, "read", texts.__getitem__)
    return examine()


def test_a_node_without_control_groups_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    examination = played(monkeypatch, "", "22 27 0:21 / /proc rw - proc proc rw\n")
    assert {each.tier for each in examination.enforcements} == {Tier.SAMPLING}
    assert all(each.hidden == () for each in examination.enforcements)
    reasons = {each.name: each.reason for each in examination.refusals}
    assert "v2 are not mounted" in reasons[Tier.CGROUP_V2]
    assert "cpuacct, freezer, memory, pids are not mounted" in reasons[Tier.CGROUP_V1]


def test_the_highest_mounts_of_control_groups_are_hidden() -> None:
    lines = [
        "1 0 0:1 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
        "2 0 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        "3 0 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
        "4 0 0:4 / /elsewhere/cgroup rw - cgroup2 cgroup2 rw",
        "5 0 0:5 / /sys/fs/cgroup2 rw - tmpfs cgroup rw",
        "6 0 0:6 / /data rw - ext4 /dev/cgroup rw",
    ]
    mounts = "\n".join(lines)
    assert list(module._control_group_mounts(mounts)) == ["/sys/fs/cgroup", "/elsewhere/cgroup"]


V1_MEMBERSHIP = "".join(
    f"{number}:{name}:/\n"
    for number, name in enumerate(("cpuacct", "freezer", "memory", "pids", "cpuset"), 1)
)
V1_MOUNTS = "".join(
    f"{number} 0 0:9 / /played/{name} rw - cgroup cgroup rw,{name}\n"
    for number, name in enumerate(("cpuacct", "freezer", "memory", "pids", "cpuset"), 1)
)


def test_version_1_is_tried_without_cpuset_where_that_does_not_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def attempt(enforcement: Enforcement) -> None:
        if enforcement.cpuset:
            raise PermissionError(errno.EACCES, "Permission denied", "cpuset.cpus")

    monkeypatch.setattr(module, "_try_group", attempt)
    best = played(monkeypatch, V1_MEMBERSHIP, V1_MOUNTS).enforcements[0]
    assert (best.tier, best.cpuset) == (Tier.CGROUP_V1, False)
    assert sorted(best.parents) == ["cpuacct", "freezer", "memory", "pids"]


def test_version_1_that_cannot_be_written_is_refused_with_the_kernels_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examination = played(monkeypatch, V1_MEMBERSHIP, V1_MOUNTS)
    refusal = next(each for each in examination.refusals if each.name == Tier.CGROUP_V1)
    assert refusal.reason.startswith("/played/")
    assert refusal.reason.endswith(": No such file or directory")


class Group:
    """A control group that works, but for what a test takes away."""

    wake = None

    def __init__(self) -> None:
        self.entered, self._writer = os.pipe()
        self.removed = False
        self.pid = 0

    def set_up(self, limits: Limits, cpus: Sequence[int]) -> None: ...
    def heed_wake(self) -> None: ...

    def enter(self) -> None:
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, lest a failed test leave it
        os.write(self._writer, b"%d" % os.getpid())

    def cpu_seconds(self) -> float:
        return 0.0

    def peak_bytes(self) -> int:
        return 0

    def exceeded(self, limits: Limits) -> str | None:
        return None

    def kill(self) -> bool:
        self.pid = int(os.read(self.entered, 20))
        os.kill(self.pid, 9)
        return True

    def remove(self) -> None:
        self.removed = True


Attempt = Callable[[Group], None]


@pytest.fixture
def attempt(monkeypatch: pytest.MonkeyPatch) -> Attempt:
    def on(group: Group) -> None:
        monkeypatch.setattr(Enforcement, "group", lambda *_: group)
        module._try_group(Enforcement(Tier.CGROUP_V2))

    return on


def test_a_group_that_works_is_removed_after_its_trial(attempt: Attempt) -> None:
    group = Group()
    attempt(group)
    assert group.removed


def test_a_group_that_takes_nobody_is_refused(attempt: Attempt) -> None:
    class Closed(Group):
        def enter(self) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    group = Closed()
    with pytest.raises(OSError, match="cannot be moved into a new group"):
        attempt(group)
    assert group.removed


def test_a_group_that_cannot_be_killed_is_refused_and_its_trial_ended(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Immortal(Group):
        def kill(self) -> bool:
            self.pid = int(os.read(self.entered, 20))
            time.sleep(0.05)  # real ones look for a while whether members are left
            return True

    monkeypatch.setattr(module, "_TRIAL_SECONDS", 0.2)
    group = Immortal()
    with pytest.raises(OSError, match="cannot be killed together"):
        attempt(group)
    assert group.removed
    assert not Path(f"/proc/{group.pid}").exists()


def test_a_group_that_cannot_be_made_is_refused(attempt: Attempt) -> None:
    class Unmade(Group):
        def set_up(self, limits: Limits, cpus: Sequence[int]) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    group = Unmade()
    with pytest.raises(OSError, match="No space left"):
        attempt(group)
    assert group.removed


def test_a_group_that_cannot_be_removed_at_once_was_still_good(attempt: Attempt) -> None:
    class Busy(Group):
        def remove(self) -> None:
            raise OSError(errno.EBUSY, "Device or resource busy")

    attempt(Busy())
