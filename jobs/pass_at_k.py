"""pass@k: the chance that at least one of k samples of a model solves a problem.

The estimator is that of Chen et al. 2021 ("Evaluating Large Language Models Trained on Code",
equation 1): with n samples of which c are correct, 1 - C(n-c, k) / C(n, k) is unbiased, while
1 - (1 - c/n)^k is not. It is computed in exact integers and rounded once, so no order of the
problems and no size of n changes a digit.

Samples that are not graded (yet, or because the infrastructure failed) are neither correct nor
wrong. A group that has any gets bounds: the value if all of them fail and if all of them pass.

Confidence intervals are left out: a bound here says what is unknown about these samples, not
what other samples might have shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the largest value that the ungraded attempts leave possible."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"bounds need low <= high, not {self.low} and {self.high}")


Estimate = float | Bounds | None
"""A rate in [0, 1]; bounds where attempts are ungraded; `None` where it is not available."""


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """The samples of one model at one problem; those in neither count have failed."""

    samples: int
    correct: int
    ungraded: int = 0

    def __post_init__(self) -> None:
        if min(self.samples, self.correct, self.ungraded) < 0 or (
            self.correct + self.ungraded > self.samples
        ):
            raise ValueError(
                f"{self.correct} correct and {self.ungraded} ungraded of {self.samples} samples: "
                "counts must not be negative, nor add up to more than the samples"
            )


@dataclass(frozen=True, slots=True)
class PassAtK:
    """pass@k of one group of problems, and what it was computed from."""

    k: int
    value: Estimate
    problems: int
    samples: int
    ungraded: int


def mean_pass_at_k(problems: Iterable[SampleCounts], k: int) -> PassAtK:
    """Average pass@k over problems, each with equal weight whatever its number of samples.

    Problems may have unequal numbers of samples; then k is available only up to the smallest
    of them, because leaving a problem out for one k and not for another would average over
    different problems. Without any problem nothing is available.

    Raises:
        ValueError: k is below 1.
    """
    counts = tuple(problems)
    return PassAtK(
        k=k,
        value=_mean(counts, k),
        problems=len(counts),
        samples=sum(problem.samples for problem in counts),
        ungraded=sum(problem.ungraded for problem in counts),
    )


def largest_k(problems: Iterable[SampleCounts]) -> int:
    """Return the largest k that has a pass@k for these problems; 0 when there is none."""
    return min((problem.samples for problem in problems), default=0)


def pass_at_k(samples: int, correct: int, k: int) -> float | None:
    """Estimate pass@k of one problem; `None` when there are fewer than k samples.

    Raises:
        ValueError: k is below 1, or `correct` is not between 0 and `samples`.
    """
    if k < 1:
        raise ValueError(f"pass@{k} does not exist: k must be at least 1")
    if not 0 <= correct <= samples:
        raise ValueError(f"{correct} correct of {samples} samples is not possible")
    if k > samples:
        return None
    draws = math.comb(samples, k)
    # Division of two integers rounds correctly once, also where they exceed a float's range.
    return (draws - math.comb(samples - correct, k)) / draws


def _mean(counts: tuple[SampleCounts, ...], k: int) -> Estimate:
    low = _mean_point(((each.samples, each.correct) for each in counts), k)
    if low is None or not any(each.ungraded for each in counts):
        return low
    high = _mean_point(((each.samples, each.correct + each.ungraded) for each in counts), k)
    return None if high is None else Bounds(low, high)


def _mean_point(counts: Iterable[tuple[int, int]], k: int) -> float | None:
    values = []
    for samples, correct in counts:
        value = pass_at_k(samples, correct, k)
        if value is None:
            return None
        values.append(value)
    # fsum rounds the exact sum: the order of the problems cannot show.
    return math.fsum(values) / len(values) if values else None
