import pytest

from workers.decision import PAPER_CLASSES, paper_class_of
from workers.records import Outcome, PaperClass


@pytest.mark.parametrize(
    ("outcome", "paper_class"),
    [
        (Outcome.CORRECT, PaperClass.CORRECT),
        (Outcome.PARSE_FAILURE, PaperClass.PARSE),
        (Outcome.MALFORMED_TEMPORAL, PaperClass.TEMPORAL),
        (Outcome.CONFIG_BINDING, PaperClass.BINDING),
        (Outcome.ASSUMPTION_FAILURE, PaperClass.RUNTIME),
        (Outcome.SAFETY_VIOLATION, PaperClass.SAFETY),
        (Outcome.LIVENESS_VIOLATION, PaperClass.LIVENESS),
        (Outcome.DEADLOCK, PaperClass.DEADLOCK),
        (Outcome.RUNTIME_ERROR, PaperClass.RUNTIME),
        (Outcome.FORBIDDEN_OPERATOR, PaperClass.RUNTIME),
        (Outcome.RESOURCE_LIMIT, PaperClass.RESOURCE),
        (Outcome.PARSED, None),
        (Outcome.INFRASTRUCTURE, None),
    ],
)
@pytest.mark.parametrize("saw", [True, False])
def test_an_outcome_has_the_class_of_the_paper(
    outcome: Outcome, paper_class: PaperClass | None, saw: bool
) -> None:
    assert paper_class_of(outcome, saw_unknown_operator=saw, sub=None) is paper_class


def test_a_semantic_error_is_what_the_released_grader_took_it_for() -> None:
    def classify(*, saw: bool) -> PaperClass | None:
        return paper_class_of(Outcome.SEMANTIC_ERROR, saw_unknown_operator=saw, sub="arity")

    assert classify(saw=True) is PaperClass.BINDING
    assert classify(saw=False) is PaperClass.TEMPORAL


@pytest.mark.parametrize(
    ("sub", "paper_class"),
    [
        ("unreadable_config", PaperClass.BINDING),
        ("missing_config", PaperClass.BINDING),
        ("broken_context", None),
        ("toolchain_unsupported", None),
        ("node", None),
        ("contradiction", None),
    ],
)
def test_only_a_bad_configuration_among_our_faults_has_a_class(
    sub: str, paper_class: PaperClass | None
) -> None:
    found = paper_class_of(Outcome.INFRASTRUCTURE, saw_unknown_operator=False, sub=sub)
    assert found is paper_class


def test_every_outcome_is_classified_or_knowingly_left_out() -> None:
    without = {Outcome.PARSED, Outcome.INFRASTRUCTURE, Outcome.SEMANTIC_ERROR}
    assert set(PAPER_CLASSES) == set(Outcome) - without
