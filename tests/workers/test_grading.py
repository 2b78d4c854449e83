from collections.abc import Callable

from workers.grading import grade
from workers.records import Attempt, GradingSettings, Outcome, Problem


def test_an_attempt_at_a_specification_is_graded_as_one(
    make_problem: Callable[..., Problem], make_attempt: Callable[..., Attempt]
) -> None:
    attempt = make_attempt("no module here", id="clock/m/default/7", sample=7)
    graded = grade(make_problem(config="SPECIFICATION Spec\n"), attempt, GradingSettings())
    assert graded.verdict.outcome is Outcome.PARSE_FAILURE
    assert (graded.verdict.attempt, graded.verdict.sample) == ("clock/m/default/7", 7)
    assert graded.verdict.traces == ()
