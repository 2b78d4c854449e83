from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.store import LocalStore

RESULTS = {
    "alpha": {"clock": ["correct", "deadlock"], "toy": ["correct", "correct"]},
    "beta": {"clock": ["safety_violation", None], "toy": ["deadlock", "deadlock"]},
}


@pytest.fixture
def report(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> Callable[..., Any]:
    make_run("nightly", RESULTS)
    return lambda *options: tlagrid("report", "nightly", "--store", store.uri, *options)


def test_the_report_shows_all_tables_in_80_columns(report: Callable[..., Any]) -> None:
    result = report()
    assert result.exit_code == 0
    titles = ("pass@k", "Parse and correct rates", "Failures by class", "Outcomes", "Ungraded")
    places = [result.stdout.index(title) for title in titles]
    assert places == sorted(places)
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    assert "\x1b" not in result.stdout
    (alpha,) = [row for row in result.stdout.splitlines() if row.startswith("alpha")][:1]
    assert alpha.split() == ["alpha", "default", "2", "4", "0", "75.0%", "100.0%"]


def test_one_table_by_a_label_with_chosen_k(report: Callable[..., Any]) -> None:
    result = report("--table", "summary", "--by", "tier", "--k", "5,1")
    rows = [row.split() for row in result.stdout.splitlines() if row.startswith("alpha")]
    assert rows == [
        ["alpha", "default", "bronze", "1", "2", "0", "100.0%", "n/a"],
        ["alpha", "default", "gold", "1", "2", "0", "50.0%", "n/a"],
    ]
    assert "Outcomes" not in result.stdout


def test_json_has_the_run_the_tables_and_every_verdict(report: Callable[..., Any]) -> None:
    result = report("--json")
    document = json.loads(result.stdout)
    assert document["run"]["name"] == "nightly"
    assert document["run"]["attempts"]["count"] == 8
    assert [table["name"] for table in document["tables"]] == [
        "summary",
        "rates",
        "failures",
        "outcomes",
        "ungraded",
    ]
    assert len(document["verdicts"]) == 7
    keys = {
        "schema_version",
        "attempt",
        "problem",
        "model",
        "regime",
        "sample",
        "outcome",
        "sub",
        "flags",
        "paper_class",
        "family",
        "codes",
        "message",
        "property",
        "states",
        "probes",
        "units",
        "resources",
        "queue_seconds",
        "toolchain",
        "traces",
        "node",
        "cached",
        "grader_version",
    }
    assert all(keys <= verdict.keys() for verdict in document["verdicts"])


def test_json_of_a_run_without_verdicts_is_a_document_too(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("new", {"m": {"clock": [None]}})
    document = json.loads(tlagrid("report", "new", "--store", store.uri, "--json").stdout)
    assert document["verdicts"] == []


def test_json_of_many_verdicts_is_written_in_pieces_that_fit_together(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("large", {"m": {"clock": ["correct"] * 401}})
    document = json.loads(tlagrid("report", "large", "--store", store.uri, "--json").stdout)
    assert sorted(verdict["sample"] for verdict in document["verdicts"]) == list(range(401))


def test_fixtures_can_be_left_out_and_every_table_says_so(report: Callable[..., Any]) -> None:
    document = json.loads(report("--no-fixtures", "--json").stdout)
    (alpha, _beta) = document["tables"][0]["rows"]
    assert (alpha["samples"], alpha["pass@1"]) == (2, 0.5)
    note = "Without fixtures: 1 problem and 4 attempts left out."
    assert all(note in table["footnotes"] for table in document["tables"])
    assert {verdict["problem"] for verdict in document["verdicts"]} == {"clock"}


def test_csv_files_are_written_beside_the_text(report: Callable[..., Any], tmp_path: Path) -> None:
    result = report("--csv", str(tmp_path / "csv"), "--table", "outcomes")
    assert [path.name for path in (tmp_path / "csv").iterdir()] == ["outcomes.csv"]
    with (tmp_path / "csv" / "outcomes.csv").open() as file:
        assert sum(int(row["attempts"]) for row in csv.DictReader(file)) == 7
    assert "outcomes.csv" in result.stderr
    assert "Outcomes" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--table", "sumary"], "there is no table 'sumary'; there is: failures, outcomes, rates"),
        (["--by", "colour"], "labels there are: fixture, tier"),
        (["--k", "0"], "give numbers from 1 up"),
        (["--k", "one"], "give numbers from 1 up"),
        (["--csv", __file__], "is a file; name a folder"),
        (["--html", "x"], "No such option"),
    ],
)
def test_what_does_not_exist_is_bad_usage_that_names_what_does(
    report: Callable[..., Any], options: list[str], message: str
) -> None:
    result = report(*options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
