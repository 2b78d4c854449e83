from __future__ import annotations

from pathlib import Path

import pytest

from cluster.dispatch import InputChangedError
from cluster.driver import NotConnectedError
from cluster.embedded_ray import RayStartError
from cluster.grading_task import GraderPathError
from cluster.runs import RunMismatchError, RunNameError
from cluster.store import MissingObjectError, StoreError
from jobs.exit_codes import BadUsageError, ExitCode, exit_code_of
from jobs.input_errors import InputError, InputFault
from jobs.tallies import TallyError, UnknownLabelError
from workers.runner import RunnerError
from workers.toolchain import ToolchainError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadUsageError("-"), 2),
        (InputError([InputFault(Path("f"), 1, "x", "-")]), 2),
        (RunNameError("-"), 2),
        (RunMismatchError("-"), 2),
        (UnknownLabelError("-"), 2),
        (InputChangedError("-"), 2),
        (ToolchainError("-"), 3),
        (StoreError("-"), 3),
        (MissingObjectError("-"), 3),
        (RayStartError("-"), 3),
        (NotConnectedError("-"), 3),
        (GraderPathError("-"), 3),
        (TallyError("-"), 3),
        (RunnerError("-"), 3),
        (PermissionError("-"), 3),
    ],
)
def test_known_errors_have_the_exit_code_of_the_contract(error: Exception, code: int) -> None:
    assert exit_code_of(error) == code


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), AssertionError()])
def test_what_only_a_bug_raises_is_not_explained_away(error: Exception) -> None:
    assert exit_code_of(error) is None


def test_exit_codes_are_those_of_the_contract() -> None:
    assert [int(code) for code in ExitCode] == [0, 1, 2, 3, 130]
