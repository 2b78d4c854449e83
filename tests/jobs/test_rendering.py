from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from jobs.pass_at_k import Bounds
from jobs.rendering import json_tables, render_text, write_csv
from jobs.tables import Column, ColumnKind, Table, Value, build_tables
from jobs.tallies import ProblemFacts


def text_of(tables: list[Table], width: int = 80) -> str:
    file = io.StringIO()
    render_text(tables, Console(file=file, width=width))
    return file.getvalue()


def one_rate(value: Value) -> list[Table]:
    columns = (
        Column("model", "model", ColumnKind.NAME),
        Column("rate", "rate", ColumnKind.RATE),
    )
    return [Table("rates", "Rates", columns, (("alpha", value),))]


def fields_of(text: str, start: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(start)]


def test_text_shows_points_ranges_and_not_available(small_sweep: Any) -> None:
    text = text_of(build_tables(small_sweep.tally()), width=120)
    summary = text.split("Parse and correct rates")[0]
    assert fields_of(summary, "alpha") == [
        ["alpha", "default", "2", "8", "0", "37.5%", "66.7%", "87.5%", "100.0%"]
    ]
    assert fields_of(summary, "beta") == [
        ["beta", "default", "2", "4", "2", "25.0-75.0%", "50.0-100.0%", "n/a", "n/a"]
    ]


def test_text_shows_counts_beside_rates(small_sweep: Any) -> None:
    text = text_of(build_tables(small_sweep.tally()))
    rates = text.split("Parse and correct rates")[1].split("Failures by class")[0]
    assert fields_of(rates, "alpha") == [
        ["alpha", "default", "9", "7/9", "77.8%", "3/8", "37.5%", "0"]
    ]


def test_text_leaves_out_tables_without_rows(small_sweep: Any) -> None:
    assert "Ungraded attempts" in text_of(build_tables(small_sweep.tally()))
    small_sweep.attempts = [each for each in small_sweep.attempts if each.model == "alpha"]
    small_sweep.verdicts = [each for each in small_sweep.verdicts if each.model == "alpha"]
    assert "Ungraded attempts" not in text_of(build_tables(small_sweep.tally()))


def test_a_run_without_attempts_says_so(new_sweep: Any) -> None:
    assert text_of(build_tables(new_sweep.of().tally())) == "No attempts.\n"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_console_and_no_name_is_cut(new_sweep: Any, width: int) -> None:
    model = "an-organisation/a-model-with-a-remarkably-long-name-and-version-2026-01-31"
    sweep = new_sweep.of(ProblemFacts("clock", True, {"category": "distributed-consensus"}))
    sweep.add(model, "clock", *["correct", "infrastructure/node"] * 12, regime="config-aware")
    text = text_of(build_tables(sweep.tally(), by="category"), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for k in range(1, 25):
        assert f"pass@{k}" in text.split()
    if width == 200:
        assert model in text
    # A folded name continues at the start of the following lines.
    first_block = text.split("\n\n")[0]
    folded = [line.split("  ")[0].strip() for line in first_block.splitlines()]
    assert model in "".join(folded)


def test_a_name_is_folded_after_a_separator_where_it_has_one() -> None:
    columns = (
        Column("outcome", "outcome", ColumnKind.NAME),
        Column("rate", "rate", ColumnKind.RATE),
    )
    names = ("liveness_violation", "unseparatedandverylong")
    table = Table("outcomes", "Outcomes", columns, tuple((name, 0.5) for name in names))
    lines = text_of([table], width=22).splitlines()[-4:]
    assert [line.split()[0] for line in lines] == [
        "liveness_",
        "violation",
        "unseparatedandv",
        "erylong",
    ]


def test_a_table_that_is_too_wide_is_continued_with_its_names(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("alpha", "clock", *["correct"] * 20)
    summary = text_of(build_tables(sweep.tally())[:1])
    blocks = fields_of(summary, "alpha")
    assert len(blocks) > 1
    assert all(block[:2] == ["alpha", "default"] for block in blocks)
    assert sum(block.count("100.0%") for block in blocks) == 20


def test_text_off_a_terminal_carries_no_escape_codes(small_sweep: Any) -> None:
    assert "\x1b" not in text_of(build_tables(small_sweep.tally()))


def test_names_can_neither_style_nor_steer_the_terminal(new_sweep: Any) -> None:
    sweep = new_sweep.of(ProblemFacts("clock", has_config=True))
    sweep.add("[red]alpha[/red]\x1b[2J\n", "clock", "correct")
    file = io.StringIO()
    render_text(build_tables(sweep.tally()), Console(file=file, width=120, force_terminal=True))
    assert "[red]alpha[/red]\\x1b[2J\\n" in file.getvalue()
    assert "\x1b[2J" not in file.getvalue()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0%"),
        (1.0, "100.0%"),
        (1 / 3000, "<0.1%"),
        (2999 / 3000, ">99.9%"),
        (1 / 3, "33.3%"),
        (Bounds(0.0, 1 / 3), "0.0-33.3%"),
        (None, "n/a"),
    ],
)
def test_percentages_have_one_decimal_and_never_round_to_none_or_all(
    value: Value, shown: str
) -> None:
    assert fields_of(text_of(one_rate(value)), "alpha") == [["alpha", shown]]


def test_json_has_numbers_nulls_and_bounds(small_sweep: Any) -> None:
    document = json.loads(json.dumps(json_tables(build_tables(small_sweep.tally()))))
    tables = {table["name"]: table for table in document}
    beta = tables["summary"]["rows"][1]
    assert beta["pass@1"] == {"low": 0.25, "high": 0.75}
    assert beta["pass@3"] is None
    assert beta["samples"] == 4
    alpha = tables["rates"]["rows"][0]
    assert alpha["parsed"] == {"count": 7, "of": 9}
    assert alpha["parse_rate"] == 7 / 9
    assert [column["key"] for column in tables["rates"]["columns"]] == list(alpha)


def test_csv_parses_back_with_one_file_for_each_table(small_sweep: Any, tmp_path: Path) -> None:
    tables = build_tables(small_sweep.tally())
    paths = write_csv(tables, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"{table.name}.csv" for table in tables]
    with paths[0].open(encoding="utf-8", newline="") as file:
        alpha, beta = csv.DictReader(file)
    assert [float(alpha[key]) for key in ("pass@1", "pass@1_low", "pass@1_high")] == [0.375] * 3
    assert (beta["pass@1"], beta["pass@1_low"], beta["pass@1_high"]) == ("", "0.25", "0.75")
    assert (beta["pass@3"], beta["pass@3_low"], beta["pass@3_high"]) == ("", "", "")
    with paths[1].open(encoding="utf-8", newline="") as file:
        rates = next(csv.DictReader(file))
    assert (rates["parsed"], rates["parsed_of"], float(rates["parse_rate"])) == ("7", "9", 7 / 9)


def test_csv_of_a_table_without_rows_replaces_that_of_an_earlier_report(
    small_sweep: Any, tmp_path: Path
) -> None:
    write_csv(build_tables(small_sweep.tally()), tmp_path)
    small_sweep.attempts = [each for each in small_sweep.attempts if each.model == "alpha"]
    small_sweep.verdicts = [each for each in small_sweep.verdicts if each.model == "alpha"]
    write_csv(build_tables(small_sweep.tally()), tmp_path)
    assert (tmp_path / "ungraded.csv").read_text() == "model,regime,reason,attempts\n"


def test_csv_columns_do_not_depend_on_what_is_known(tmp_path: Path) -> None:
    headers = set()
    for number, value in enumerate([0.5, Bounds(0.25, 0.75), None]):
        (path,) = write_csv(one_rate(value), tmp_path / str(number))
        header, row = csv.reader(io.StringIO(path.read_text()))
        assert len(header) == len(row)
        headers.add(tuple(header))
    assert headers == {("model", "rate", "rate_low", "rate_high")}


def test_output_is_the_same_bytes_whatever_the_order_and_timing_of_verdicts(
    small_sweep: Any, tmp_path: Path
) -> None:
    def outputs(folder: Path) -> list[bytes]:
        tables = build_tables(small_sweep.tally(), by="difficulty")
        files = [path.read_bytes() for path in write_csv(tables, folder)]
        return [text_of(tables).encode(), json.dumps(json_tables(tables)).encode(), *files]

    before = outputs(tmp_path / "before")
    shuffle = random.Random(1)
    shuffle.shuffle(small_sweep.attempts)
    shuffle.shuffle(small_sweep.verdicts)
    small_sweep.verdicts = [
        verdict.model_copy(update={"queue_seconds": shuffle.random(), "node": "another"})
        for verdict in small_sweep.verdicts
    ]
    assert outputs(tmp_path / "after") == before
