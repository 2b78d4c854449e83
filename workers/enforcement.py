"""Which means this node has to hold a run to its limits: tiers, each tried and not assumed.

Three tiers. Control groups of version 2 or 1 count exactly and prevent; they need root or a
delegated group. `sampling` needs nothing: a supervisor looks at the tree in /proc ten times a
second and adds what the kernel reports of the processes that it reaps; it detects. Beside any of
them a run may have a /dev/shm of its own (`workers.confinement`) and be confined to its cores by
the cpuset controller. docs/quotas.md tells limit by limit what that means.

The examination runs in the guard process (`workers.guard`), which has one thread and can fork.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from workers import cgroup_v1, cgroup_v2, confinement
from workers.control_group import PREFIX, ControlGroup, read
from workers.limits import Limits
from workers.process_identity import this_process

_TRIAL_LIMITS = Limits(
    wall_seconds=10,
    cpu_seconds=10,
    memory_bytes=64 * 1024**2,
    processes=16,
    scratch_bytes=1024**2,
    output_bytes=1024**2,
)
_TRIAL_SECONDS = 5.0


class Tier(StrEnum):
    """How a run's process tree is counted and held, the strongest first."""

    CGROUP_V2 = "cgroup-v2"
    CGROUP_V1 = "cgroup-v1"
    SAMPLING = "sampling"

    def is_at_least(self, other: Tier) -> bool:
        """Whether this tier holds everything that the other one does."""
        order = list(Tier)
        return order.index(self) <= order.index(other)


@dataclass(frozen=True, slots=True)
class Enforcement:
    """One way of holding runs to their limits that works on this node."""

    tier: Tier
    parents: dict[str, str] = field(default_factory=dict)
    """Folders below which runs' groups are made: by controller in version 1, `unified` in 2."""
    cpuset: bool = False
    """Whether the group confines the run to its cores."""
    private_shm: bool = False
    """Whether a run has a /dev/shm of its own and cannot see control groups."""
    hidden: tuple[str, ...] = ()
    """Where control groups are mounted."""

    def __str__(self) -> str:
        extras = [name for name in ("cpuset", "private_shm") if getattr(self, name)]
        return "+".join([self.tier, *(name.replace("_", "-") for name in extras)])

    def group(self, name: str) -> ControlGroup | None:
        """The control group of a run, not made yet; `None` in a tier without."""
        if self.tier is Tier.CGROUP_V2:
            return cgroup_v2.GroupV2(self.parents["unified"], name)
        if self.tier is Tier.CGROUP_V1:
            return cgroup_v1.GroupV1(self.parents, name)
        return None

    @property
    def group_folders(self) -> list[Path]:
        """Where groups of runs lie, those of other guards included."""
        return [Path(folder) for folder in self.parents.values()]

    def to_fields(self) -> dict[str, Any]:
        """A form that JSON can carry."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Enforcement:
        """Read that form back."""
        return cls(**{**fields, "tier": Tier(fields["tier"]), "hidden": tuple(fields["hidden"])})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something better that this node does not offer, why, and what would change that."""

    name: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Examination:
    """What works here, best first, and what does not; `sampling` always works."""

    enforcements: tuple[Enforcement, ...]
    refusals: tuple[Refusal, ...]

    def best(self, at_most: Tier | None = None) -> Enforcement:
        """The strongest one, or the strongest not above a tier."""
        return next(
            each for each in self.enforcements if at_most is None or at_most.is_at_least(each.tier)
        )


def examine(named_group: str | None = None) -> Examination:
    """Try every tier on this node; takes some milliseconds, and forks.

    Args:
        named_group: the delegated control group that the user names (`TLAGRID_CGROUP`).
    """
    membership, mounts = read(Path("/proc/self/cgroup")), read(Path("/proc/self/mountinfo"))
    refusals: list[Refusal] = []
    hidden = tuple(_control_group_mounts(mounts))
    private = _try_namespaces(hidden, refusals)
    groups = (
        _version_2(membership, mounts, named_group, refusals),
        _version_1(membership, mounts, refusals),
    )
    found = [replace(each, private_shm=private, hidden=hidden) for each in groups if each]
    if private:
        found.append(Enforcement(Tier.SAMPLING, private_shm=True, hidden=hidden))
    found.append(Enforcement(Tier.SAMPLING))
    return Examination(tuple(found), tuple(refusals))


def _control_group_mounts(mounts: str) -> Iterator[str]:
    """Mount points of control groups, none below another: covering the highest is enough."""
    points = sorted(
        line.split()[4]
        for line in mounts.splitlines()
        if line.partition(" - ")[2].startswith(("cgroup ", "cgroup2 "))
    )
    common = "/sys/fs/cgroup"
    if any(point == common or point.startswith(f"{common}/") for point in points):
        yield common
    yield from (point for point in points if not f"{point}/".startswith(f"{common}/"))


def _version_2(
    membership: str, mounts: str, named: str | None, refusals: list[Refusal]
) -> Enforcement | None:
    remedy = (
        "start with `systemd-run --user --scope -p Delegate=yes ...`, or name a delegated group "
        "in TLAGRID_CGROUP"
    )
    reasons = []
    for parent in cgroup_v2.parent_candidates(membership, mounts, named):
        try:
            cpuset = cgroup_v2.prepare(parent)
            enforcement = Enforcement(Tier.CGROUP_V2, {"unified": parent}, cpuset=cpuset)
            _try_group(enforcement)
        except (cgroup_v2.DelegationError, OSError) as error:
            reasons.append(_reason(error))
        else:
            _note_cpuset(enforcement, refusals)
            return enforcement
    reason = "; ".join(dict.fromkeys(reasons)) or "control groups v2 are not mounted"
    refusals.append(Refusal(Tier.CGROUP_V2, reason, remedy))
    return None


def _version_1(membership: str, mounts: str, refusals: list[Refusal]) -> Enforcement | None:
    remedy = "run as root where the v1 controllers are mounted writable, or delegate a v2 group"
    parents, missing = cgroup_v1.parents_of_this_process(membership, mounts)
    if missing:
        reason = f"the controllers {', '.join(missing)} are not mounted in a v1 hierarchy"
        refusals.append(Refusal(Tier.CGROUP_V1, reason, remedy))
        return None
    reasons = []
    # The cpuset controller is optional: try without when it is what does not work.
    for chosen in (parents, {k: v for k, v in parents.items() if k in cgroup_v1.NEEDED}):
        enforcement = Enforcement(Tier.CGROUP_V1, chosen, cpuset="cpuset" in chosen)
        try:
            _try_group(enforcement)
        except OSError as error:
            reasons.append(_reason(error))
        else:
            _note_cpuset(enforcement, refusals)
            return enforcement
    refusals.append(Refusal(Tier.CGROUP_V1, "; ".join(dict.fromkeys(reasons)), remedy))
    return None


def _reason(error: Exception) -> str:
    """What went wrong and in which folder, without the name that the trial gave its group."""
    if isinstance(error, OSError) and error.filename:
        return f"{Path(error.filename).parent}: {error.strerror}"
    return str(error)


def _note_cpuset(enforcement: Enforcement, refusals: list[Refusal]) -> None:
    if not enforcement.cpuset:
        reason = "the cpuset controller is not there, or not ours to use"
        refusals.append(Refusal("cpuset", reason, "delegate the cpuset controller, too"))


def _try_group(enforcement: Enforcement) -> None:
    """Make a group, put a process in, kill it with the group, remove the group.

    Raises:
        OSError: some of that does not work.
    """
    group = enforcement.group(f"{PREFIX}{this_process()}-trial")
    if group is None:
        return
    try:
        group.set_up(_TRIAL_LIMITS, sorted(os.sched_getaffinity(0))[:1])
        entered, entered_writer = os.pipe()
        child = _fork(lambda: _enter_and_wait(group, entered_writer))
        os.close(entered_writer)
        answer = os.read(entered, 1)  # empty: the child ended without having entered
        os.close(entered)
        if not answer:
            os.waitpid(child, 0)
            raise OSError(errno.EPERM, "a process cannot be moved into a new group")
        group.kill()
        if not _is_killed(child):
            raise OSError(errno.EPERM, "a group's processes cannot be killed together")
        group.cpu_seconds()
        group.exceeded(_TRIAL_LIMITS)
    finally:
        with suppress(OSError):
            group.remove()


def _enter_and_wait(group: ControlGroup, writer: int) -> None:
    group.enter()
    os.write(writer, b"x")
    time.sleep(2 * _TRIAL_SECONDS)


def _is_killed(child: int) -> bool:
    """Whether the child dies by a signal in time; it is dead in any case afterwards."""
    deadline = time.monotonic() + _TRIAL_SECONDS
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.WIFSIGNALED(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _try_namespaces(hidden: tuple[str, ...], refusals: list[Refusal]) -> bool:
    def attempt() -> None:
        confinement.enter_private_namespaces(1 << 20, 16, b"/")
        confinement.hide(hidden)
        confinement.drop_capabilities()

    _, status = os.waitpid(_fork(attempt), 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        reason = os.strerror(code) if code > 0 else f"the trial was killed by signal {-code}"
        refusals.append(
            Refusal(
                "private /dev/shm",
                f"a mount namespace cannot be made: {reason}",
                "run as root, or give the container CAP_SYS_ADMIN",
            )
        )
    return not code


def _fork(action: Callable[[], None]) -> int:
    """Run the action in a child, which exits with 0 or the number of the error."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        action()
        code = 0
    except OSError as error:
        code = error.errno or 1
    finally:
        os._exit(code)
