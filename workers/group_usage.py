"""What a run uses, as its control group counts it."""

from __future__ import annotations

from workers.control_group import ControlGroup
from workers.limits import Limits
from workers.process_tree import Accounts
from workers.tree_usage import SampledUsage


class GroupUsage:
    """The usage of one run by the kernel's own counters.

    Where the command could leave its group (it runs as the user who owns the groups and sees
    them), the tree is sampled as well.
    """

    def __init__(
        self,
        group: ControlGroup,
        limits: Limits,
        accounts: Accounts,
        sampled: SampledUsage | None,
    ) -> None:
        self._group = group
        self._limits = limits
        self._accounts = accounts
        self._sampled = sampled

    def limit(self) -> str | None:
        """Name the limit that the run is over, if any."""
        self._accounts.reap()
        return self._own_limit() or (self._sampled.limit() if self._sampled else None)

    def final_limit(self) -> str | None:
        """Name the limit that the finished run is over."""
        return self._own_limit() or (self._sampled.final_limit() if self._sampled else None)

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all members."""
        return max(self._group.cpu_seconds(), self._sampled.cpu_seconds if self._sampled else 0.0)

    @property
    def peak_bytes(self) -> int:
        """The group's high-water mark, or what was sampled on kernels that keep none."""
        own = self._group.peak_bytes()
        return own or (self._sampled.peak_bytes if self._sampled else self._accounts.largest_bytes)

    def _own_limit(self) -> str | None:
        if self._group.cpu_seconds() > self._limits.cpu_seconds:
            return "cpu"
        return self._group.exceeded(self._limits)
