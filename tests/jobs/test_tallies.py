from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from copy import copy
from typing import Any

import pytest

from jobs.tables import build_tables
from jobs.tallies import (
    AttemptIdentity,
    ProblemFacts,
    TallyError,
    UnknownLabelError,
    tally,
)
from workers.records import Label, Outcome, Verdict


def test_attempts_without_a_verdict_and_infrastructure_are_ungraded_with_their_reasons(
    small_sweep: Any,
) -> None:
    alpha, beta = small_sweep.tally().groups()
    assert alpha.ungraded == {}
    assert beta.ungraded == {"node": 1, "not_graded_yet": 1}
    assert {result.outcome: count for result, count in beta.graded.items()} == {
        Outcome.CORRECT: 1,
        Outcome.LIVENESS_VIOLATION: 1,
    }
    assert beta.attempts == 4


def test_infrastructure_without_a_sub_kind_is_still_ungraded(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("alpha", "clock", "infrastructure")
    (group,) = sweep.tally().groups()
    assert group.ungraded == {"unspecified": 1}


def test_the_order_of_attempts_and_verdicts_does_not_matter(small_sweep: Any) -> None:
    tables = build_tables(small_sweep.tally(), by="difficulty")
    for seed in range(5):
        shuffle = random.Random(seed)
        for rows in (small_sweep.problems, small_sweep.attempts, small_sweep.verdicts):
            shuffle.shuffle(rows)
        assert build_tables(small_sweep.tally(), by="difficulty") == tables


def test_groups_are_split_by_regime(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("alpha", "clock", "correct", regime="default")
    sweep.add("alpha", "clock", "deadlock", "deadlock", regime="config-aware")
    groups = sweep.tally().groups()
    assert [(group.regime, group.attempts) for group in groups] == [
        ("config-aware", 2),
        ("default", 1),
    ]


def test_strata_sort_numbers_by_size_then_words_and_the_unlabelled_last(new_sweep: Any) -> None:
    labels: list[Label] = ["hard", 10, 9, None, True, "easy", "nan", 2.5]
    sweep = new_sweep.of(
        *(ProblemFacts(f"p{i}", True, {"d": label}) for i, label in enumerate(labels)),
        ProblemFacts("unlabelled", True),
    )
    for problem in sweep.problems:
        sweep.add("alpha", problem.id, "correct")
    groups = sweep.tally().groups("d")
    strata = [group.stratum for group in groups]
    assert strata == ["2.5", "9", "10", "easy", "hard", "nan", "true", None]
    assert groups[-1].problems == {"p3", "unlabelled"}


def test_an_unknown_label_is_refused_and_the_known_ones_are_named(small_sweep: Any) -> None:
    with pytest.raises(UnknownLabelError, match="'dificulty'; labels there are: difficulty"):
        small_sweep.tally().groups("dificulty")


def test_an_attempt_at_an_unknown_problem_is_refused(small_sweep: Any) -> None:
    with pytest.raises(TallyError, match="attempt 'clock/alpha/default/0' is at problem 'clock'"):
        tally([], small_sweep.attempts, small_sweep.verdicts)


def test_a_verdict_that_belongs_to_no_attempt_is_refused(small_sweep: Any) -> None:
    with pytest.raises(TallyError, match="belongs to no attempt of this run"):
        tally(small_sweep.problems, small_sweep.attempts[:4], small_sweep.verdicts)


def test_a_second_verdict_on_the_same_attempts_is_refused(small_sweep: Any) -> None:
    doubled = [*small_sweep.verdicts, small_sweep.verdicts[0]]
    with pytest.raises(TallyError, match="5 verdicts on 4 attempts of 'alpha'"):
        tally(small_sweep.problems, small_sweep.attempts, doubled)


@pytest.mark.parametrize(
    ("has_config", "outcome"), [(True, "parsed"), (False, "correct")], ids=["parsed", "correct"]
)
def test_a_result_that_its_problem_cannot_have_is_refused(
    new_sweep: Any, has_config: bool, outcome: str
) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=has_config))
    sweep.add("alpha", "clock", outcome)
    with pytest.raises(TallyError, match=f"is {outcome}, but problem 'clock' has (a|no) config"):
        sweep.tally()


def test_memory_does_not_grow_with_the_number_of_attempts(new_sweep: Any) -> None:
    problems = [ProblemFacts(f"p{i}", has_config=True) for i in range(20)]
    base = new_sweep.verdict(AttemptIdentity("", "p0", "m0", "default", 0), "correct")

    def attempts(count: int) -> Iterator[AttemptIdentity]:
        for i in range(count):
            yield AttemptIdentity(f"a{i}", f"p{i % 20}", f"m{i % 3}", "default", i)

    def verdicts(count: int) -> Iterator[Verdict]:
        for each in attempts(count):
            verdict = copy(base)
            # Cheaper than `model_copy` where every allocation is traced.
            verdict.__dict__.update(each._asdict(), attempt=each.id)
            yield verdict

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            result = tally(problems, attempts(count), verdicts(count))
            assert sum(group.graded.total() for group in result.groups()) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2_000)
    small, large = peak(2_000), peak(200_000)
    # One reference kept for each attempt would already be 1.6 MB.
    assert large - small < 200_000
