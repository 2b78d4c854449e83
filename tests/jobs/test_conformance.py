"""Comparing verdicts with known outcomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.conformance import (
    Difference,
    Expectation,
    KnownDifference,
    compare,
    read_expectations,
    read_known_differences,
    version_in_use,
)
from jobs.input_errors import InputError
from workers.records import Outcome, StateCounts, Toolchain, Verdict


def verdict(attempt: str, outcome: Outcome, **fields: object) -> Verdict:
    return Verdict.model_validate(
        {
            "attempt": attempt,
            "problem": "p",
            "model": "m",
            "regime": "default",
            "sample": 0,
            "outcome": outcome,
            "family": outcome.family,
            "message": "",
            "grader_version": "0",
            **fields,
        }
    )


def toolchain(version: str) -> Toolchain:
    return Toolchain(tla2tools_sha256="0" * 64, tla2tools_version=version, java_version="25")


def test_equal_verdicts_agree() -> None:
    expected = {"a": Expectation(outcome=Outcome.CORRECT, flags=(), distinct=3, generated=4)}
    counts = StateCounts(distinct=3, generated=4)
    result = compare(expected, [verdict("a", Outcome.CORRECT, states=counts)])
    assert result.passed
    assert (result.compared, result.agreeing) == (1, 1)


@pytest.mark.parametrize(
    ("expected", "fields", "field"),
    [
        (Expectation(outcome=Outcome.DEADLOCK), {}, "outcome"),
        (Expectation(outcome=Outcome.CORRECT, distinct=3), {}, "distinct"),
        (Expectation(outcome=Outcome.CORRECT, flags=("no_states",)), {}, "flags"),
        (Expectation(outcome=Outcome.CORRECT, property="Inv"), {}, "property"),
    ],
)
def test_each_stated_field_is_compared(
    expected: Expectation, fields: dict[str, object], field: str
) -> None:
    result = compare({"a": expected}, [verdict("a", Outcome.CORRECT, **fields)])
    assert [difference.field for difference in result.unexpected] == [field]
    assert not result.passed


def test_a_sub_kind_that_is_not_stated_is_not_compared() -> None:
    got = verdict("a", Outcome.SEMANTIC_ERROR, sub="arity")
    assert compare({"a": Expectation(outcome=Outcome.SEMANTIC_ERROR)}, [got]).passed
    stated = Expectation(outcome=Outcome.SEMANTIC_ERROR, sub="duplicate")
    assert compare({"a": stated}, [got]).unexpected == (
        Difference("a", "sub", "duplicate", "arity"),
    )


def test_a_flag_that_the_file_never_mentions_is_not_compared() -> None:
    expected = {"a": Expectation(outcome=Outcome.CORRECT, flags=())}
    renamed = verdict("a", Outcome.CORRECT, flags=("renamed",))
    assert compare(expected, [renamed]).passed
    expected["b"] = Expectation(outcome=Outcome.CORRECT, flags=("renamed",))
    result = compare(expected, [renamed, verdict("b", Outcome.CORRECT, flags=("renamed",))])
    assert [difference.attempt for difference in result.unexpected] == ["a"]


def test_an_attempt_without_a_verdict_differs() -> None:
    result = compare({"a": Expectation(outcome=Outcome.CORRECT), "b": None}, [])
    assert [difference.attempt for difference in result.unexpected] == ["a"]
    assert result.without_expectation == 1


def test_a_known_difference_is_accepted_for_its_version_only_and_must_still_occur() -> None:
    known = KnownDifference(
        attempt="a",
        tlc="2.15",
        field="outcome",
        expected="deadlock",
        actual="correct",
        because="the log says so",
    )
    expected = {"a": Expectation(outcome=Outcome.DEADLOCK)}
    got = [verdict("a", Outcome.CORRECT)]
    assert compare(expected, got, [known]).passed
    assert not compare(expected, got, [known], version="current").passed
    mended = compare(expected, [verdict("a", Outcome.DEADLOCK)], [known])
    assert mended.stale == (known,)
    assert not mended.passed


def test_the_version_in_use_comes_from_the_build_date() -> None:
    assert version_in_use(toolchain("2.15, 2020-01-30, d5b5a7f")) == "2.15"
    assert version_in_use(toolchain("2026-04-29, cc6b616")) == "current"
    assert version_in_use(toolchain("unknown")) == "current"


def test_a_version_that_is_not_listed_is_expected_to_do_what_the_old_one_does(
    tmp_path: Path,
) -> None:
    file = tmp_path / "expected.jsonl"
    file.write_text(
        '{"attempt": "a", "expected": {"2.15": {"outcome": "correct"}}}\n'
        '{"attempt": "b", "expected": {"2.15": {"outcome": "correct"}, "current": null}}\n'
    )
    expectations = read_expectations(file, "current")
    assert expectations == {"a": Expectation(outcome=Outcome.CORRECT), "b": None}


def test_a_broken_line_is_named_with_file_line_and_field(tmp_path: Path) -> None:
    file = tmp_path / "expected.jsonl"
    file.write_text('{"attempt": "a", "expected": {"2.15": {"outcome": "corect"}}}\n{}\n')
    with pytest.raises(InputError) as error:
        read_expectations(file, "2.15")
    text = str(error.value)
    assert "expected.jsonl:1: expected.2.15.outcome" in text
    assert "expected.jsonl:2: attempt" in text


def test_an_unknown_field_of_a_known_difference_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "known.jsonl"
    file.write_text('{"attempt": "a", "tlc": "2.15", "because": "x", "why": "y"}\n')
    with pytest.raises(InputError, match="why"):
        read_known_differences(file)
