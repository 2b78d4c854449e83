from __future__ import annotations

from typing import Any

import pytest

from jobs.pass_at_k import Bounds
from jobs.tables import Ratio, Table, Value, build_tables
from jobs.tallies import ProblemFacts, UnknownLabelError


def rows(table: Table) -> list[dict[str, Value]]:
    return [
        dict(zip([column.key for column in table.columns], row, strict=True)) for row in table.rows
    ]


def named(tables: list[Table], name: str) -> Table:
    return next(table for table in tables if table.name == name)


def test_tables_come_in_reading_order_and_rows_have_a_value_for_each_column(
    small_sweep: Any,
) -> None:
    for by in (None, "difficulty"):
        tables = build_tables(small_sweep.tally(), by=by)
        names = [table.name for table in tables]
        assert names == ["summary", "rates", "failures", "outcomes", "ungraded"]
        for table in tables:
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert len({column.key for column in table.columns}) == len(table.columns)


def test_summary_gives_pass_at_every_k_with_bounds_and_not_available(small_sweep: Any) -> None:
    alpha, beta = rows(named(build_tables(small_sweep.tally()), "summary"))
    assert alpha == {
        "model": "alpha",
        "regime": "default",
        "problems": 2,
        "samples": 8,
        "ungraded": 0,
        "pass@1": 0.375,
        "pass@2": pytest.approx((5 / 6 + 1 / 2) / 2),
        "pass@3": 0.875,
        "pass@4": 1.0,
    }
    assert beta == {
        "model": "beta",
        "regime": "default",
        "problems": 2,
        "samples": 4,
        "ungraded": 2,
        "pass@1": Bounds(0.25, 0.75),
        "pass@2": Bounds(0.5, 1.0),
        "pass@3": None,
        "pass@4": None,
    }


def test_summary_shows_the_asked_k_even_where_no_row_has_it(small_sweep: Any) -> None:
    summary = named(build_tables(small_sweep.tally(), ks=[10, 1, 1]), "summary")
    assert [column.key for column in summary.columns[-2:]] == ["pass@1", "pass@10"]
    assert [row["pass@10"] for row in rows(summary)] == [None, None]
    assert any("fewer than k samples" in note for note in summary.footnotes)


def test_k_below_one_is_refused(small_sweep: Any) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        build_tables(small_sweep.tally(), ks=[0])


def test_a_resource_limit_counts_as_a_failure(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("alpha", "clock", "correct", "resource_limit/wall")
    tables = build_tables(sweep.tally())
    (summary,), (rates,) = rows(named(tables, "summary")), rows(named(tables, "rates"))
    assert summary["pass@1"] == 0.5
    assert rates["correct"] == Ratio(1, 2)


def test_rates_have_the_form_of_table_6(small_sweep: Any) -> None:
    alpha, beta = rows(named(build_tables(small_sweep.tally()), "rates"))
    assert alpha == {
        "model": "alpha",
        "regime": "default",
        "attempts": 9,
        "parsed": Ratio(7, 9),
        "parse_rate": 7 / 9,
        "correct": Ratio(3, 8),
        "correct_rate": 3 / 8,
        "ungraded": 0,
    }
    assert beta == {
        "model": "beta",
        "regime": "default",
        "attempts": 4,
        "parsed": Ratio(2, 2),
        "parse_rate": Bounds(0.5, 1.0),
        "correct": Ratio(1, 2),
        "correct_rate": Bounds(0.25, 0.75),
        "ungraded": 2,
    }


def test_failures_have_the_form_of_table_a4(small_sweep: Any) -> None:
    failures = named(build_tables(small_sweep.tally()), "failures")
    assert [column.title for column in failures.columns] == [
        "model",
        "regime",
        "parse",
        "config-binding",
        "malformed temporal",
        "deadlock",
        "safety",
        "liveness",
        "run-time error",
        "resource limit",
        "total",
        "graded",
        "ungraded",
    ]
    assert failures.rows == (
        ("alpha", "default", 1, 1, 0, 1, 1, 0, 0, 1, 5, 8, 0),
        ("beta", "default", 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 2),
    )


def test_correct_and_failures_add_up_to_graded(small_sweep: Any) -> None:
    tables = build_tables(small_sweep.tally(), by="difficulty")
    pairs = zip(rows(named(tables, "failures")), rows(named(tables, "rates")), strict=True)
    for failures, rates in pairs:
        if isinstance(rates["correct"], Ratio):
            assert isinstance(failures["total"], int)
            assert rates["correct"].count + failures["total"] == failures["graded"]


def test_a_failure_without_a_class_is_shown_apart_not_dropped(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("alpha", "clock", "deadlock", "deadlock")
    sweep.verdicts[0] = sweep.verdicts[0].model_copy(update={"paper_class": None})
    (failures,) = rows(named(build_tables(sweep.tally()), "failures"))
    assert (failures["deadlock"], failures["unclassified"], failures["total"]) == (1, 1, 2)


def test_outcomes_list_sub_kinds_in_the_order_of_the_taxonomy(small_sweep: Any) -> None:
    outcomes = rows(named(build_tables(small_sweep.tally()), "outcomes"))
    assert [(row["outcome"], row["sub"], row["attempts"]) for row in outcomes[:7]] == [
        ("correct", None, 3),
        ("parsed", None, 1),
        ("parse_failure", "grammar", 1),
        ("semantic_error", "unknown_operator", 1),
        ("safety_violation", None, 1),
        ("deadlock", None, 1),
        ("resource_limit", "wall", 1),
    ]
    assert [row["share"] for row in outcomes[:2]] == [3 / 9, 1 / 9]
    assert outcomes[7]["share"] == Bounds(0.25, 0.75)
    assert all(row["outcome"] != "infrastructure" for row in outcomes)


def test_ungraded_names_the_reasons_and_is_empty_when_everything_is_graded(
    small_sweep: Any,
) -> None:
    assert named(build_tables(small_sweep.tally()), "ungraded").rows == (
        ("beta", "default", "node", 1),
        ("beta", "default", "not_graded_yet", 1),
    )
    small_sweep.attempts = [each for each in small_sweep.attempts if each.model == "alpha"]
    small_sweep.verdicts = [each for each in small_sweep.verdicts if each.model == "alpha"]
    assert named(build_tables(small_sweep.tally()), "ungraded").rows == ()


def test_before_anything_is_graded_nothing_is_shown_as_zero(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("alpha", "clock", None, "infrastructure/node")
    tables = build_tables(sweep.tally())
    (summary,), (rates,) = rows(named(tables, "summary")), rows(named(tables, "rates"))
    (failures,) = rows(named(tables, "failures"))
    assert summary["pass@1"] == Bounds(0.0, 1.0)
    assert (rates["parsed"], rates["correct"]) == (None, None)
    assert (rates["parse_rate"], rates["correct_rate"]) == (Bounds(0.0, 1.0), Bounds(0.0, 1.0))
    assert (failures["parse"], failures["total"], failures["graded"]) == (None, None, 0)


def test_problems_without_a_config_count_in_parse_rates_only(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("silver", has_config=False))
    sweep.add("alpha", "silver", "parsed", "parse_failure/grammar")
    tables = build_tables(sweep.tally(), ks=[1])
    (summary,), (rates,) = rows(named(tables, "summary")), rows(named(tables, "rates"))
    (failures,) = rows(named(tables, "failures"))
    assert (summary["problems"], summary["pass@1"]) == (0, None)
    assert (rates["parse_rate"], rates["correct"], rates["correct_rate"]) == (0.5, None, None)
    assert failures["total"] is None
    assert any("Left out: 2 attempts" in note for note in named(tables, "summary").footnotes)


def test_a_label_gives_each_of_its_values_a_row_with_numbers_by_size(small_sweep: Any) -> None:
    rates = rows(named(build_tables(small_sweep.tally(), by="difficulty"), "rates"))
    assert [(row["model"], row["label:difficulty"], row["correct"]) for row in rates] == [
        ("alpha", "2", Ratio(2, 4)),
        ("alpha", "10", Ratio(1, 4)),
        ("alpha", None, None),
        ("beta", "2", Ratio(1, 1)),
        ("beta", "10", Ratio(0, 1)),
    ]


def test_an_unknown_label_is_refused(small_sweep: Any) -> None:
    with pytest.raises(UnknownLabelError, match="difficulty"):
        build_tables(small_sweep.tally(), by="tier")


def test_rows_over_different_problems_come_with_a_warning(small_sweep: Any) -> None:
    warning = "Rows cover different sets of problems: compare them with care."
    tables = build_tables(small_sweep.tally())
    assert warning not in named(tables, "summary").footnotes
    assert warning in named(tables, "rates").footnotes


def test_ranges_are_explained_only_where_there_are_any(small_sweep: Any) -> None:
    explained = [
        table.name
        for table in build_tables(small_sweep.tally())
        if any(note.startswith("A range") for note in table.footnotes)
    ]
    assert explained == ["summary", "rates", "outcomes"]
    small_sweep.attempts = [each for each in small_sweep.attempts if each.model == "alpha"]
    small_sweep.verdicts = [each for each in small_sweep.verdicts if each.model == "alpha"]
    notes = [note for table in build_tables(small_sweep.tally()) for note in table.footnotes]
    assert not any(note.startswith("A range") for note in notes)
