from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.pass_at_k import Bounds, PassAtK, SampleCounts, largest_k, mean_pass_at_k, pass_at_k


@st.composite
def sample_counts(draw: st.DrawFn, *, ungraded: bool = True) -> SampleCounts:
    samples = draw(st.integers(1, 8))
    correct = draw(st.integers(0, samples))
    unknown = draw(st.integers(0, samples - correct)) if ungraded else 0
    return SampleCounts(samples, correct, unknown)


def low_and_high(result: PassAtK) -> tuple[float, float]:
    assert result.value is not None
    if isinstance(result.value, Bounds):
        return result.value.low, result.value.high
    return result.value, result.value


@given(st.integers(1, 8), st.data())
def test_the_estimate_is_the_share_of_k_subsets_that_hold_a_correct_sample(
    samples: int, data: st.DataObject
) -> None:
    correct = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    subsets = list(itertools.combinations([True] * correct + [False] * (samples - correct), k))
    assert pass_at_k(samples, correct, k) == float(Fraction(sum(map(any, subsets)), len(subsets)))


@given(st.integers(1, 300), st.data())
def test_the_estimate_equals_the_product_form_of_the_paper(
    samples: int, data: st.DataObject
) -> None:
    correct = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    failing = math.prod(1 - k / i for i in range(samples - correct + 1, samples + 1))
    expected = 1.0 if samples - correct < k else 1 - failing
    assert pass_at_k(samples, correct, k) == pytest.approx(expected, abs=1e-9)


def test_thousands_of_samples_overflow_nothing() -> None:
    assert pass_at_k(5000, 1, 2500) == 0.5


@given(st.integers(1, 30), st.data())
def test_more_samples_drawn_or_more_correct_never_lower_the_estimate(
    samples: int, data: st.DataObject
) -> None:
    correct = data.draw(st.integers(0, samples))
    values = [pass_at_k(samples, correct, k) for k in range(1, samples + 1)]
    assert values == sorted(value for value in values if value is not None)
    if correct < samples:
        k = data.draw(st.integers(1, samples))
        better, value = pass_at_k(samples, correct + 1, k), pass_at_k(samples, correct, k)
        assert better is not None
        assert value is not None
        assert better >= value


@given(st.integers(1, 50), st.data())
def test_one_draw_is_the_success_rate_and_all_draws_ask_whether_any_is_correct(
    samples: int, data: st.DataObject
) -> None:
    correct = data.draw(st.integers(0, samples))
    assert pass_at_k(samples, correct, 1) == correct / samples
    assert pass_at_k(samples, correct, samples) == float(correct > 0)


@given(sample_counts(), st.integers(1, 5))
def test_more_draws_than_samples_are_not_available(counts: SampleCounts, beyond: int) -> None:
    k = counts.samples + beyond
    assert pass_at_k(counts.samples, counts.correct, k) is None
    assert mean_pass_at_k([counts], k).value is None


def test_the_problem_with_the_fewest_samples_limits_k_for_the_whole_group() -> None:
    problems = [SampleCounts(4, 4), SampleCounts(2, 1)]
    assert largest_k(problems) == 2
    assert mean_pass_at_k(problems, 2).value == 1.0
    assert mean_pass_at_k(problems, 3).value is None


def test_every_problem_weighs_the_same_whatever_its_number_of_samples() -> None:
    assert mean_pass_at_k([SampleCounts(1, 1), SampleCounts(9, 0)], 1).value == 0.5


def test_a_result_says_what_it_was_computed_from() -> None:
    assert mean_pass_at_k([SampleCounts(4, 2, 1), SampleCounts(4, 0)], 1) == PassAtK(
        k=1, value=Bounds(0.25, 0.375), problems=2, samples=8, ungraded=1
    )


@given(st.lists(sample_counts(), min_size=1, max_size=12), st.randoms(), st.integers(1, 4))
def test_the_order_of_problems_does_not_change_a_digit(
    problems: list[SampleCounts], shuffle: random.Random, k: int
) -> None:
    shuffled = list(problems)
    shuffle.shuffle(shuffled)
    assert mean_pass_at_k(problems, k) == mean_pass_at_k(shuffled, k)


@given(st.lists(sample_counts(), min_size=1, max_size=5), st.data())
def test_bounds_hold_the_point_of_every_completion_and_are_reached(
    problems: list[SampleCounts], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, largest_k(problems)))
    low, high = low_and_high(mean_pass_at_k(problems, k))
    points = []
    choices = [sorted({0, each.ungraded, each.ungraded // 2}) for each in problems]
    for passing in itertools.product(*choices):
        completed = [
            SampleCounts(each.samples, each.correct + more)
            for each, more in zip(problems, passing, strict=True)
        ]
        points.append(low_and_high(mean_pass_at_k(completed, k))[0])
    assert min(points) == low
    assert max(points) == high


@given(st.lists(sample_counts(), min_size=1, max_size=5))
def test_there_is_a_point_exactly_when_everything_is_graded(problems: list[SampleCounts]) -> None:
    everything = all(each.ungraded == 0 for each in problems)
    assert isinstance(mean_pass_at_k(problems, 1).value, float) == everything


def test_without_problems_nothing_is_available() -> None:
    assert mean_pass_at_k([], 1) == PassAtK(k=1, value=None, problems=0, samples=0, ungraded=0)
    assert largest_k([]) == 0


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        mean_pass_at_k([SampleCounts(4, 1)], k)


@pytest.mark.parametrize("counts", [(1, 2, 0), (2, 1, 2), (2, -1, 0), (2, 0, -1)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="counts must not be negative"):
        SampleCounts(*counts)
    with pytest.raises(ValueError, match="is not possible"):
        pass_at_k(1, 2, 1)


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ValueError, match="low <= high"):
        Bounds(0.5, 0.25)
