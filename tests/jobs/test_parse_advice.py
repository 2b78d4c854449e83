"""Messages as SANY of TLC 2.15 prints them."""

from __future__ import annotations

import pytest

from jobs.advice_material import Material
from jobs.parse_advice import advise_on_parsing
from workers.records import Outcome, Verdict


def advice(kind: str, message: str, material: Material | None = None) -> str:
    name, _, sub = kind.partition("/")
    outcome = Outcome(name)
    verdict = Verdict(
        attempt="a",
        problem="p",
        model="m",
        regime="default",
        sample=0,
        outcome=outcome,
        sub=sub or None,
        family=outcome.family,
        message=message,
        grader_version="0",
    )
    return " ".join(advise_on_parsing(verdict, material or Material()))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Unknown operator: `Cardinality'.", "FiniteSets: add it to EXTENDS"),
        ("Unknown operator: `Len'.", "Sequences: add it to EXTENDS"),
        ("Could not find declaration or definition of symbol '..'.", "Naturals: add it"),
        ("Couldn't resolve infix operator symbol `+'.", "Naturals: add it"),
    ],
)
def test_a_standard_operator_is_traced_to_its_module(message: str, expected: str) -> None:
    module = Material(module="---- MODULE M ----\nEXTENDS TLC\n====\n")
    assert expected in advice("semantic_error/unknown_operator", message, module)


def test_a_misspelt_name_is_matched_with_the_modules_own() -> None:
    module = Material(module="---- MODULE M ----\nMessages == {}\nx == Mesages\n====\n")
    text = advice("semantic_error/unknown_operator", "Unknown operator: `Mesages'.", module)
    assert text == "Did you mean Messages, which the module has?"


def test_a_name_of_nobody_is_to_be_defined() -> None:
    text = advice("semantic_error/unknown_operator", "Unknown operator: `Quorum'.")
    assert text.startswith("Define Quorum before its first use")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('Encountered "<EOF>" at line 13, column 38', "ends inside the module"),
        ('Encountered "CONSTRAINT" at line 3, column 1', "configuration file"),
        ('Encountered "=" at line 3, column 6', "`==`"),
        ('Encountered "Beginning of definition" at line 9', "not finished"),
        ("Precedence conflict between ops \\lor and \\land.", "parentheses"),
        ('Encountered "buffer" at line 9, column 2', "just before"),
    ],
)
def test_a_grammar_error_is_explained_by_its_token(message: str, expected: str) -> None:
    assert expected in advice("parse_failure/grammar", message)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (r'Lexical error at line 1, column 1.  Encountered: "\u2203" (8707), after', r"Write \E"),
        ('Lexical error at line 1, column 1.  Encountered: ";" (59), after : ""', "no `;`"),
        ('Lexical error at line 1, column 1.  Encountered: "?" (63), after : ""', "'?'"),
    ],
)
def test_a_strange_character_is_named_with_its_spelling(message: str, expected: str) -> None:
    assert expected in advice("parse_failure/lexical", message)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (" \n", "empty"),
        ("<think>First I ", "cut before the answer"),
        ("-- MODULE M --\n", "four dashes"),
        ("I cannot do that.", "header"),
    ],
)
def test_an_answer_without_a_module_is_told_why(answer: str, expected: str) -> None:
    assert expected in advice("parse_failure/no_module", "no module", Material(answer=answer))


def test_a_misspelt_standard_module_is_recognised() -> None:
    text = advice("parse_failure/missing_module", "cannot find module FiniteSet imported in M")
    assert text == "The standard module is called FiniteSets."


def test_a_missing_module_is_to_be_provided() -> None:
    text = advice("parse_failure/missing_module", "cannot find module Quux imported in module M")
    assert "--context DIR" in text


def test_redefining_a_standard_operator_is_told_apart() -> None:
    text = advice("semantic_error/duplicate", "Operator Append already defined or declared.")
    assert "Sequences defines Append already" in text
    own = advice("semantic_error/duplicate", "Operator Init already defined or declared.")
    assert "keep one" in own


def test_a_missing_substitution_is_named() -> None:
    message = "Substitution missing for symbol slot declared at line 8"
    assert "WITH slot <- ..." in advice("semantic_error/other", message)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("[] followed by action not of form [A]_v.", "[][A]_vars"),
        ("The invariant P is not a state predicate (one with no primes", "single states"),
        ("TLC cannot handle the temporal formula line 41", "finite sets"),
        ("The property VotesStand is not correctly defined.", "temporal formula"),
    ],
)
def test_temporal_mistakes_are_told_apart(message: str, expected: str) -> None:
    assert expected in advice("malformed_temporal", message)
