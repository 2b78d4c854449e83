"""Exit codes, and which error ends the command with which of them.

Commands raise; this module says what that means. An input error is many lines, one for each
fault; every other error that we know is one message. What is not known here is a bug of tlagrid,
and keeps its traceback.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the exit code of every command means."""

    DONE = 0
    NO = 1
    """The command did its work, and the answer is no: a failed check, a regression."""
    BAD_INPUT = 2
    """Bad usage or bad input; nothing ran."""
    INFRASTRUCTURE = 3
    """The node, the tools, the store or tlagrid itself failed."""
    INTERRUPTED = 130
    """By a signal; what was done is saved."""


class BadUsageError(Exception):
    """What was asked for cannot be done as asked; the message says what can."""


# By name, because importing these modules takes longer than `tlagrid --help` may take; an error
# that was raised has its module imported already.
_BAD_INPUT = frozenset(
    {
        "cluster.dispatch.InputChangedError",
        "cluster.runs.RunMismatchError",
        "cluster.runs.RunNameError",
        "jobs.exit_codes.BadUsageError",
        "jobs.input_errors.InputError",
        "jobs.tallies.UnknownLabelError",
    }
)
_INFRASTRUCTURE = frozenset(
    {
        "builtins.OSError",
        "cluster.driver.NotConnectedError",
        "cluster.embedded_ray.RayStartError",
        "cluster.grading_task.GraderPathError",
        "cluster.store.StoreError",
        "jobs.tallies.TallyError",
        "workers.runner.EnforcementMissingError",
        "workers.runner.RunnerError",
        "workers.toolchain.ToolchainError",
    }
)


def exit_code_of(error: Exception) -> ExitCode | None:
    """The exit code for an error whose message tells all; `None` for what only a bug can raise."""
    names = {f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__}
    if names & _BAD_INPUT:
        return ExitCode.BAD_INPUT
    return ExitCode.INFRASTRUCTURE if names & _INFRASTRUCTURE else None
