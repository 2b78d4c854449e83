"""Grade one attempt, whatever its kind: the one entry point that the cluster calls."""

from __future__ import annotations

from workers.evidence import Graded
from workers.records import Attempt, GradingSettings, Kind, Problem
from workers.specification import grade_specification


def grade(problem: Problem, attempt: Attempt, settings: GradingSettings) -> Graded:
    """Grade one attempt in this process.

    Raises:
        ToolchainError: a tool that the problem's kind needs is missing on this node.
    """
    match problem.kind:
        case Kind.SPECIFICATION:
            return grade_specification(problem, attempt, settings)
