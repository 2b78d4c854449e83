"""What a Ray worker does with one batch: grade it, store the evidence, return verdicts as data.

The evidence of the whole batch goes into one pack, which is stored before any verdict is
returned: whoever reads a verdict finds its evidence. An exception of the grader for one attempt
is a result, too, so that it does not cost the others of the batch. What is raised from here
(the store failed, memory ran out) is the node's or ours, never the candidate's.

`grade_batch_on_ray` is what the driver makes a task of; `grade_batch` needs no Ray.
"""

from __future__ import annotations

import importlib
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace

from cluster.packs import PackWriter
from cluster.store import open_store
from workers.enforcement import Tier
from workers.evidence import Graded
from workers.records import Attempt, GradingSettings, Problem, Verdict
from workers.runner import require_enforcement

Grader = Callable[[Problem, Attempt, GradingSettings], Graded]


class GraderPathError(ValueError):
    """The grader's import path names nothing that can be called."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What all batches of a sweep have in common."""

    store_uri: str
    grader: str
    """Import path `package.module:function`."""
    settings: GradingSettings
    required_tier: Tier | None = None
    """A node whose enforcement is weaker takes no work."""


@dataclass(frozen=True, slots=True)
class GraderFailure:
    """The grader raised while grading this attempt."""

    attempt: str
    message: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """One verdict or one failure for every attempt of the batch."""

    verdicts: tuple[Verdict, ...]
    failures: tuple[GraderFailure, ...]
    seconds: float
    node: str = ""
    """Ray's id of the node."""


def grade_batch_on_ray(
    plan: Plan, batch: tuple[tuple[Problem, Attempt], ...], submitted_at: float
) -> BatchResult:
    """`grade_batch` inside a Ray task: adds the node's id."""
    import ray

    result = grade_batch(plan, batch, submitted_at)
    return replace(result, node=ray.get_runtime_context().get_node_id())


def grade_batch(
    plan: Plan, batch: tuple[tuple[Problem, Attempt], ...], submitted_at: float
) -> BatchResult:
    """Grade the attempts one after the other.

    `submitted_at` is the driver's `time.time()`; a verdict's `queue_seconds` run from there to
    the moment when its own grading begins.

    Raises:
        GraderPathError: the plan names no grader.
        StoreError: the evidence cannot be stored.
        EnforcementMissingError: this node does not hold limits as strictly as the plan requires.
    """
    started = time.monotonic()
    require_enforcement(plan.required_tier)
    grade = load_grader(plan.grader)
    pack = PackWriter()
    failures = []
    for problem, attempt in batch:
        queue_seconds = max(0.0, time.time() - submitted_at)
        try:
            graded = grade(problem, attempt, plan.settings)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not cost the batch
            failures.append(GraderFailure(attempt.id, _describe(error)))
            continue
        verdict = graded.verdict
        measured = {"queue_seconds": queue_seconds, "node": verdict.node or socket.gethostname()}
        pack.add(Graded(verdict.model_copy(update=measured), graded.evidence))
    sealed = pack.seal()
    if sealed.verdicts:
        open_store(plan.store_uri).put(sealed.key, sealed.data)
    return BatchResult(sealed.verdicts, tuple(failures), time.monotonic() - started)


def load_grader(path: str) -> Grader:
    """Import the function that a path such as `workers.grading:grade` names.

    Raises:
        GraderPathError: there is none.
    """
    module, _, name = path.partition(":")
    try:
        grader: Grader = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise GraderPathError(
            f"grader {path!r} cannot be imported on {socket.gethostname()}: {error}"
        ) from error
    return grader


def _describe(error: Exception) -> str:
    """The error and the place it comes from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
