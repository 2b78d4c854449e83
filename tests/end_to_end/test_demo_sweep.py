"""The demo sweep, graded once on a real Ray with a real Java, and everything one can ask of it."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from jobs.conformance import compare, read_expectations, version_in_use
from workers.limits import Limit
from workers.records import Family, Outcome, Toolchain, TraceReference, Verdict

if TYPE_CHECKING:
    from tests.end_to_end.conftest import DemoSweep, Tlagrid

pytestmark = pytest.mark.timeout(1800)  # the first test of all waits for the whole sweep

UNSAFE = "door-lock/quill-small/default/1"
"""Its guard is missing: two visitors are in the room after three states."""
STUTTERING = "coin-return/quill-large/default/3"
"""Fairness of the wrong action: its counterexample ends in stuttering."""
UNREADABLE_CONFIG = "cuckoo/quill-small/default/0"

EVERY_VERDICT_HAS = {
    *("schema_version", "attempt", "problem", "model", "regime", "sample", "outcome", "sub"),
    *("flags", "paper_class", "family", "codes", "message", "property", "states", "probes"),
    *("units", "resources", "queue_seconds", "toolchain", "traces", "node", "cached"),
    "grader_version",
}


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def evidence(sweep: DemoSweep, trace: TraceReference) -> bytes:
    """Read as the store's page describes it, without our own reader."""
    with (sweep.store / trace.pack).open("rb") as pack:
        pack.seek(trace.offset)
        return zstandard.ZstdDecompressor().decompress(pack.read(trace.length))


def evidence_of(sweep: DemoSweep, verdict: Verdict) -> dict[str, bytes]:
    return {trace.name: evidence(sweep, trace) for trace in verdict.traces}


def table(sweep: DemoSweep, tlagrid: Tlagrid, name: str, *options: str) -> dict[str, Any]:
    finished = tlagrid("report", sweep.run, "--store", sweep.store, "--json", *options)
    assert finished.code == 0, finished.output
    (found,) = [each for each in json.loads(finished.stdout)["tables"] if each["name"] == name]
    return dict(found)


@pytest.fixture(scope="module")
def toolchain(demo_sweep: DemoSweep) -> Toolchain:
    toolchain = next(verdict.toolchain for verdict in demo_sweep.verdicts if verdict.toolchain)
    assert toolchain is not None
    return toolchain


def test_every_attempt_is_decided_as_expected(
    demo_sweep: DemoSweep, demo: Path, toolchain: Toolchain
) -> None:
    version = version_in_use(toolchain)
    expectations = read_expectations(demo / "expected.jsonl", version)
    assert expectations.keys() == {line["id"] for line in lines_of(demo / "attempts.jsonl")}
    result = compare(expectations, demo_sweep.verdicts, version=version)
    assert [str(difference) for difference in result.unexpected] == []
    assert result.agreeing == len(expectations)


def test_every_outcome_is_reached(demo_sweep: DemoSweep) -> None:
    reached = {verdict.outcome for verdict in demo_sweep.verdicts}
    # Which modules hold operators that reach outside depends on the tools.
    assert set(Outcome) - reached <= {Outcome.FORBIDDEN_OPERATOR}


def test_every_limit_by_which_a_run_is_stopped_is_reached(demo_sweep: DemoSweep) -> None:
    limited = {
        verdict.sub for verdict in demo_sweep.verdicts if verdict.outcome is Outcome.RESOURCE_LIMIT
    }
    assert {limit.value for limit in Limit} <= limited


def test_every_attempt_has_exactly_one_verdict(demo_sweep: DemoSweep, demo: Path) -> None:
    attempts = [line["id"] for line in lines_of(demo / "attempts.jsonl")]
    stored = []
    for segment in (demo_sweep.store / "runs" / demo_sweep.run / "results").iterdir():
        with segment.open("rb") as compressed:
            reader = zstandard.ZstdDecompressor().stream_reader(compressed)
            stored += [json.loads(line)["attempt"] for line in reader.read().splitlines()]
    assert Counter(stored) == Counter(attempts)
    assert Counter(verdict.attempt for verdict in demo_sweep.verdicts) == Counter(attempts)


def test_all_evidence_that_a_verdict_names_is_there_and_what_it_was(demo_sweep: DemoSweep) -> None:
    for verdict in demo_sweep.verdicts:
        for trace in verdict.traces:
            content = evidence(demo_sweep, trace)
            assert len(content) == trace.size
            assert hashlib.sha256(content).hexdigest() == trace.sha256


def test_the_answer_itself_is_among_the_evidence(demo_sweep: DemoSweep, demo: Path) -> None:
    files = {line["id"]: demo / line["text"]["path"] for line in lines_of(demo / "attempts.jsonl")}
    for verdict in demo_sweep.verdicts:
        answer = files[verdict.attempt].read_bytes()
        kept = evidence_of(demo_sweep, verdict).get("answer.txt", b"")
        assert kept == answer.decode(errors="replace").encode(), verdict.attempt
        assert ("invalid_utf8" in verdict.flags) == (kept != answer)


def test_the_deciding_line_is_a_line_of_the_log_that_it_names(demo_sweep: DemoSweep) -> None:
    decided = [verdict for verdict in demo_sweep.verdicts if verdict.decided_by]
    for verdict in decided:
        assert verdict.decided_by is not None
        log = evidence_of(demo_sweep, verdict)[verdict.decided_by.log].decode(errors="replace")
        line = log.split("\n")[verdict.decided_by.line - 1].strip()
        if verdict.decided_by.log.startswith("tlc."):
            assert line == verdict.decided_by.text
        else:
            assert line  # SANY's messages begin there, and may have several lines
    by_a_message = {Outcome.CORRECT, Outcome.SAFETY_VIOLATION, Outcome.SEMANTIC_ERROR}
    assert by_a_message <= {verdict.outcome for verdict in decided}


def test_every_counterexample_has_the_states_that_tlc_printed(demo_sweep: DemoSweep) -> None:
    counted = Counter[Outcome]()
    for verdict in demo_sweep.verdicts:
        pieces = evidence_of(demo_sweep, verdict)
        if "counterexample.itf.json" in pieces:
            itf = json.loads(pieces["counterexample.itf.json"])
            printed = len(re.findall(rb"^@!@!@STARTMSG 2217:4", pieces["tlc.stdout"], re.MULTILINE))
            # An initial state stands in the message itself.
            assert len(itf["states"]) == (printed or 1), verdict.attempt
            for state in itf["states"]:
                assert state.keys() - {"#meta"} == set(itf["vars"])
            counted[verdict.outcome] += 1
    violations = (Outcome.SAFETY_VIOLATION, Outcome.LIVENESS_VIOLATION, Outcome.DEADLOCK)
    assert all(counted[outcome] for outcome in violations)


def test_nothing_is_left_behind(demo_sweep: DemoSweep) -> None:
    assert demo_sweep.processes == ()
    assert demo_sweep.temporary_files == ()


def test_the_sweep_ends_with_its_tables_and_with_what_to_do_next(
    demo_sweep: DemoSweep, tlagrid: Tlagrid
) -> None:
    finished = demo_sweep.finished
    assert finished.code == 0, finished.output
    for title in ("pass@k", "pass@k by difficulty", "Parse and correct rates", "Failures by class"):
        assert f"\n{title}\n" in f"\n{finished.stdout}"
    assert f"{demo_sweep.store}/packs" in finished.stdout
    _, _, printed = finished.stdout.partition("next:\n")
    commands = [tlagrid.arguments_of(line) for line in printed.splitlines()]
    assert [command[0] for command in commands] == ["report", "trace"]
    for command in commands:
        assert tlagrid(*command).code == 0


def test_the_same_command_again_grades_nothing_and_prints_the_same(
    demo_sweep: DemoSweep, tlagrid: Tlagrid, tmp_path: Path
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text('raise SystemExit("Ray is not needed here")\n')

    def files() -> dict[Path, int]:
        everything = demo_sweep.store.rglob("*")
        return {path: path.stat().st_mtime_ns for path in everything if path.is_file()}

    before = files()
    again = tlagrid(*demo_sweep.command, PYTHONPATH=tmp_path)
    assert again.code == 0, again.output
    assert files() == before
    count = re.compile(r"\d+ graded now, \d+ already had a verdict")
    total = len(demo_sweep.verdicts)
    assert count.findall(again.stdout) == [f"0 graded now, {total} already had a verdict"]
    assert count.sub("", again.stdout) == count.sub("", demo_sweep.finished.stdout)


def test_the_json_report_holds_every_verdict_with_all_its_fields(
    demo_sweep: DemoSweep, tlagrid: Tlagrid
) -> None:
    finished = tlagrid("report", demo_sweep.run, "--store", demo_sweep.store, "--json")
    report = json.loads(finished.stdout)
    assert {each["attempt"] for each in report["verdicts"]} == {
        verdict.attempt for verdict in demo_sweep.verdicts
    }
    for verdict in report["verdicts"]:
        assert verdict.keys() >= EVERY_VERDICT_HAS
        assert verdict["states"].keys() == {"generated", "distinct", "queue", "depth"}
        assert {"cpu_seconds", "wall_seconds", "peak_memory_bytes", "measured_by"} <= verdict[
            "resources"
        ].keys()


def test_csv_and_json_give_the_same_numbers(
    demo_sweep: DemoSweep, tlagrid: Tlagrid, tmp_path: Path
) -> None:
    arguments = ("report", demo_sweep.run, "--store", demo_sweep.store, "--k", "1,2")
    finished = tlagrid(*arguments, "--csv", tmp_path / "csv", "--json")
    assert finished.code == 0, finished.output
    tables = json.loads(finished.stdout)["tables"]
    assert {path.stem for path in (tmp_path / "csv").iterdir()} == {t["name"] for t in tables}
    for each in tables:
        with (tmp_path / "csv" / f"{each['name']}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        expected = [
            {name: text for key, value in row.items() for name, text in csv_fields(key, value)}
            for row in each["rows"]
        ]
        assert [{k: v for k, v in row.items() if v} for row in rows] == expected


def csv_fields(key: str, value: Any) -> list[tuple[str, str]]:
    """The fields of a row's value that are not empty."""
    match value:
        case None:
            return []
        case {"low": low, "high": high}:
            return [(f"{key}_low", str(low)), (f"{key}_high", str(high))]
        case {"count": count, "of": of}:
            return [(key, str(count)), (f"{key}_of", str(of))]
        case float():
            return [(name, str(value)) for name in (key, f"{key}_low", f"{key}_high")]
        case _:
            return [(key, str(value))]


def test_one_table_is_shown_alone(demo_sweep: DemoSweep, tlagrid: Tlagrid) -> None:
    arguments = ("report", demo_sweep.run, "--store", demo_sweep.store, "--table")
    alone = tlagrid(*arguments, "failures")
    assert alone.code == 0
    assert alone.stdout.startswith("Failures by class\n")
    assert alone.stdout.rstrip("\n") in demo_sweep.finished.stdout
    unknown = tlagrid(*arguments, "failure")
    assert unknown.code == 2
    assert "'failure'" in unknown.stderr
    assert "failures" in unknown.stderr


@pytest.mark.parametrize(
    ("options", "among"),
    [
        ((), "dict"),
        (("--no-fixtures",), "float"),
        (("--by", "difficulty"), "float"),
        (("--by", "category"), "float"),
    ],
)
def test_pass_at_k_is_the_share_of_all_draws_of_k_samples_that_hold_a_correct_one(
    demo_sweep: DemoSweep, demo: Path, tlagrid: Tlagrid, options: tuple[str, ...], among: str
) -> None:
    problems = {
        line["id"]: line["labels"]
        for line in lines_of(demo / "problems.jsonl")
        if "config" in line and not ("--no-fixtures" in options and line["labels"].get("fixture"))
    }
    label = options[1] if options[:1] == ("--by",) else None
    rows = table(demo_sweep, tlagrid, "summary", "--k", "1,2,3,4,5", *options)["rows"]
    assert rows
    seen = set[str]()
    for row in rows:
        samples: dict[str, list[Verdict]] = {}
        for verdict in demo_sweep.verdicts:
            labels = problems.get(verdict.problem)
            if (
                labels is not None
                and verdict.model == row["model"]
                and (label is None or labels[label] == row[f"label:{label}"])
            ):
                samples.setdefault(verdict.problem, []).append(verdict)
        for k in range(1, 6):
            assert row[f"pass@{k}"] == pytest.approx(drawn(samples, k)), (row, k)
            seen.add(type(row[f"pass@{k}"]).__name__)
    assert {among, "NoneType"} <= seen


def drawn(samples: dict[str, list[Verdict]], k: int) -> Any:
    """pass@k, by going through all draws of k samples."""
    low, high = [], []
    for verdicts in samples.values():
        draws = list(combinations(verdicts, k))
        if not draws:
            return None
        solved = [any(each.outcome is Outcome.CORRECT for each in draw) for draw in draws]
        unknown = [any(each.family is Family.INFRASTRUCTURE for each in draw) for draw in draws]
        low.append(sum(solved) / len(draws))
        high.append(sum(map(max, solved, unknown)) / len(draws))
    if not samples:
        return None
    bounds = {"low": sum(low) / len(low), "high": sum(high) / len(high)}
    return bounds if low != high else bounds["low"]


def test_rates_and_failures_are_counts_of_the_verdicts(
    demo_sweep: DemoSweep, demo: Path, tlagrid: Tlagrid
) -> None:
    configured = {line["id"] for line in lines_of(demo / "problems.jsonl") if "config" in line}
    rates = table(demo_sweep, tlagrid, "rates")["rows"]
    failures = table(demo_sweep, tlagrid, "failures")["rows"]
    for rate, failure in zip(rates, failures, strict=True):
        mine = [verdict for verdict in demo_sweep.verdicts if verdict.model == rate["model"]]
        graded = [verdict for verdict in mine if verdict.family is not Family.INFRASTRUCTURE]
        decided = [verdict for verdict in graded if verdict.problem in configured]
        correct = sum(verdict.outcome is Outcome.CORRECT for verdict in decided)
        parsed = sum(verdict.gates.parsed is True for verdict in graded)
        assert rate["parsed"] == {"count": parsed, "of": len(graded)}
        assert rate["correct"] == {"count": correct, "of": len(decided)}
        classes = Counter(
            str(verdict.paper_class)
            for verdict in decided
            if verdict.outcome is not Outcome.CORRECT
        )
        names = {name: re.sub(r"[ -]", "_", name) for name in classes}
        assert {name: failure[key] for name, key in names.items()} == dict(classes)
        assert failure["total"] == classes.total() == len(decided) - correct


def test_what_infrastructure_failed_is_ungraded_and_no_failure_of_a_model(
    demo_sweep: DemoSweep, tlagrid: Tlagrid
) -> None:
    ungraded = [each for each in demo_sweep.verdicts if each.family is Family.INFRASTRUCTURE]
    assert UNREADABLE_CONFIG in {verdict.attempt for verdict in ungraded}
    reasons = Counter((verdict.model, str(verdict.sub)) for verdict in ungraded)
    shown = table(demo_sweep, tlagrid, "ungraded")["rows"]
    assert {(row["model"], row["reason"]): row["attempts"] for row in shown} == dict(reasons)
    models = Counter(verdict.model for verdict in ungraded)
    outcomes = table(demo_sweep, tlagrid, "outcomes")["rows"]
    assert "infrastructure" not in {row["outcome"] for row in outcomes}
    for row in table(demo_sweep, tlagrid, "rates")["rows"]:
        assert row["ungraded"] == models[row["model"]]
        for name in ("parse_rate", "correct_rate"):
            if models[row["model"]]:
                assert 0 <= row[name]["low"] < row[name]["high"] <= 1
            else:
                assert isinstance(row[name], float)


def test_by_a_label_every_attempt_is_in_one_of_its_rows(
    demo_sweep: DemoSweep, tlagrid: Tlagrid
) -> None:
    by = table(demo_sweep, tlagrid, "rates", "--by", "difficulty")["rows"]
    plain = table(demo_sweep, tlagrid, "rates")["rows"]
    assert {row["label:difficulty"] for row in by} == {"easy", "medium", "hard"}
    sums = Counter[str]()
    for row in by:
        sums[row["model"]] += row["attempts"]
    assert sums == Counter({row["model"]: row["attempts"] for row in plain})
    unknown = tlagrid("report", demo_sweep.run, "--store", demo_sweep.store, "--by", "difficult")
    assert unknown.code == 2
    assert "difficulty" in unknown.stderr


def test_without_fixtures_the_tables_say_what_is_left_out(
    demo_sweep: DemoSweep, demo: Path, tlagrid: Tlagrid
) -> None:
    fixtures = {
        line["id"]
        for line in lines_of(demo / "problems.jsonl")
        if line["labels"].get("fixture") is True
    }
    left_out = sum(verdict.problem in fixtures for verdict in demo_sweep.verdicts)
    rates = table(demo_sweep, tlagrid, "rates", "--no-fixtures")
    total = sum(row["attempts"] for row in rates["rows"])
    assert total == len(demo_sweep.verdicts) - left_out
    (note,) = [note for note in rates["footnotes"] if note.startswith("Without fixtures")]
    assert f"{len(fixtures)} problems and {left_out} attempts" in note


def test_status_and_runs_say_where_the_run_stands(demo_sweep: DemoSweep, tlagrid: Tlagrid) -> None:
    total = len(demo_sweep.verdicts)
    graded = sum(verdict.family is not Family.INFRASTRUCTURE for verdict in demo_sweep.verdicts)
    store = ("--store", demo_sweep.store)
    status = tlagrid("status", demo_sweep.run, *store)
    assert status.code == 0, status.output
    assert re.search(r"^state +finished$", status.stdout, re.MULTILINE)
    assert re.search(rf"^graded +{graded} of {total}$", status.stdout, re.MULTILINE)
    document = json.loads(tlagrid("status", demo_sweep.run, *store, "--json").stdout)
    assert (document["attempts"], document["graded"]) == (total, graded)
    assert sum(document["ungraded"].values()) == total - graded
    assert sum(document["outcomes"].values()) == total
    (run,) = json.loads(tlagrid("runs", *store, "--json").stdout)["runs"]
    assert run == {key: document[key] for key in run}
    assert demo_sweep.run in tlagrid("runs", *store).stdout


def test_trace_shows_the_counterexample_and_marks_what_each_step_changed(
    demo_sweep: DemoSweep, tlagrid: Tlagrid, tmp_path: Path
) -> None:
    arguments = ("trace", demo_sweep.run, UNSAFE, "--store", demo_sweep.store)
    assert tlagrid(*arguments, "--itf", tmp_path / "trace.itf.json").code == 0
    itf = json.loads((tmp_path / "trace.itf.json").read_text(encoding="utf-8"))
    assert len(itf["states"]) == 3
    inside = [person for person, place in itf["states"][-1]["pc"]["#map"] if place == "cs"]
    assert len(inside) == 2
    shown = tlagrid(*arguments)
    assert shown.code == 0, shown.output
    assert shown.stdout.startswith("FAIL  safety_violation  of MutualExclusion")
    assert "Decided by tlc.stdout, line " in shown.stdout
    assert "> Invariant MutualExclusion is violated." in shown.stdout
    _, *steps = re.split(r"^  \d+  ", shown.stdout.partition("Counterexample")[2], flags=re.M)
    assert len(steps) == 3
    for number, (before, after) in enumerate(zip(itf["states"], itf["states"][1:], strict=False)):
        changed = {name for name in itf["vars"] if before[name] != after[name]}
        assert set(re.findall(r"^    \* (\w+)", steps[number + 1], re.M)) == changed != set()
    assert "* " not in steps[0]


def test_trace_says_how_a_behaviour_goes_on_for_ever(
    demo_sweep: DemoSweep, tlagrid: Tlagrid
) -> None:
    arguments = ("trace", demo_sweep.run, STUTTERING, "--store", demo_sweep.store)
    shown = tlagrid(*arguments)
    assert shown.stdout.startswith("FAIL  liveness_violation  of Detected")
    assert "Stuttering" in shown.stdout
    itf = json.loads(tlagrid(*arguments, "--itf", "-").stdout)
    assert itf["loop"] == len(itf["states"]) - 1


def test_trace_prints_a_log_as_it_is(demo_sweep: DemoSweep, tlagrid: Tlagrid) -> None:
    (verdict,) = [each for each in demo_sweep.verdicts if each.attempt == UNSAFE]
    arguments = ("trace", demo_sweep.run, UNSAFE, "--store", demo_sweep.store, "--log")
    log = tlagrid(*arguments, "tlc.stdout")
    assert log.stdout.encode() == evidence_of(demo_sweep, verdict)["tlc.stdout"]
    missing = tlagrid(*arguments, "tlc.log")
    assert missing.code == 2
    assert "tlc.stdout" in missing.stderr


def test_trace_tells_a_fault_of_the_problem_from_one_of_the_candidate(
    demo_sweep: DemoSweep, tlagrid: Tlagrid
) -> None:
    shown = tlagrid("trace", demo_sweep.run, UNREADABLE_CONFIG, "--store", demo_sweep.store)
    assert shown.code == 0, shown.output
    assert shown.stdout.startswith("UNGRADED  infrastructure/unreadable_config")
    assert "not the candidate" in shown.stdout
    unknown = tlagrid(
        "trace", demo_sweep.run, "cuckoo/quill/default/0", "--store", demo_sweep.store
    )
    assert unknown.code == 2
    assert UNREADABLE_CONFIG in unknown.stderr
