from typing import Any

import pytest
from pydantic import ValidationError

from jobs.manifest_lines import AttemptLine, IdentityFields, ProblemLine, is_module_name


@pytest.mark.parametrize(
    ("name", "is_name"),
    [
        ("Clock", True),
        ("2PC", True),
        ("_a", True),
        ("12", False),
        ("a/b", False),
        ("", False),
        ("A\n", False),
    ],
)
def test_only_what_a_header_can_declare_is_a_module_name(name: str, is_name: bool) -> None:
    assert is_module_name(name) is is_name


def test_the_default_id_is_problem_model_regime_and_sample() -> None:
    fields = IdentityFields(problem="p", model="m", regime="r", sample=3)
    assert fields.attempt_id == "p/m/r/3"
    assert IdentityFields(problem="p", model="m", id="a").attempt_id == "a"


def test_labels_keep_their_types() -> None:
    labels = {"text": "1", "number": 1, "real": 1.0, "flag": True, "unknown": None}
    line = ProblemLine(schema_version=1, id="p", module="M", labels=labels)
    assert [type(value) for value in line.labels.values()] == [str, int, float, bool, type(None)]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_a_number_that_no_reader_of_results_could_hold_is_refused(number: int) -> None:
    with pytest.raises(ValidationError):
        ProblemLine(schema_version=1, id="p", module="M", labels={"n": number})
    line: dict[str, Any] = {"schema_version": 1, "problem": "p", "model": "m", "text": ""}
    with pytest.raises(ValidationError):
        AttemptLine.model_validate(line | {"sample": number}, strict=True)
